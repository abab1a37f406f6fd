// accelerator.c - which accelerator of those in the table is used (flagprof.h tells the order).
//
// In:  the table, FLAGOS_ACCELERATOR, FLAGOS_TRACER_LIBRARY, what each tracer's open says.
// Out: one opened accelerator, kept to the end of the process, and for each row why it was refused. A
//      refused row is tried again at the next call: the library or the driver may have been loaded since.

#include "tracers/accelerator.h"

#include "base/env.h"
#include "base/log.h"
#include "flagprof/flagprof.h"
#include "tracers/table.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS_MAX = 32 };

struct row_state {
    struct fp_accelerator accelerator; // tracer NULL: not usable so far
    bool simulated;
    int status;
    char *reason; // texts live to the end of the process: replaced ones are not freed
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct row_state states[ROWS_MAX];
static struct fp_accelerator *chosen;

static void set_reason(struct row_state *state, int status, const char *text) {
    state->status = status;
    if (!state->reason || strcmp(state->reason, text) != 0)
        state->reason = strdup(text);
}

// ---- Whose is the library that a person named?

static const struct fp_accelerator_row *find_row(const char *accelerator) {
    for (const struct fp_accelerator_row *row = fp_accelerator_rows; row->accelerator; row++)
        if (strcmp(row->accelerator, accelerator) == 0)
            return row;
    return NULL;
}

// The tracer that FLAGOS_ACCELERATOR names, else the one whose symbol the library exports. NULL: no
// library is named, or it is nobody's.
static const struct fp_accelerator_row *owner_of(const char *library, const char *named) {
    if (!library)
        return NULL;
    if (named)
        return find_row(named);
    void *handle = dlopen(library, RTLD_LAZY | RTLD_LOCAL);
    if (!handle) {
        fp_log("accelerator", "FLAGOS_TRACER_LIBRARY: %s", dlerror());
        return fp_accelerator_rows[0].accelerator && !fp_accelerator_rows[1].accelerator ? fp_accelerator_rows
                                                                                         : NULL;
    }
    // CUPTI's spellings are offered by other vendors' libraries beside their own, so its row is asked last.
    const struct fp_accelerator_row *owner = NULL;
    for (const struct fp_accelerator_row *row = fp_accelerator_rows; row->accelerator; row++)
        if (dlsym(handle, row->library_symbol))
            owner = row;
    return owner;
}

// ---- Trying

static void try_row(const struct fp_accelerator_row *row, const struct fp_accelerator_row *library_owner,
                    const char *library) {
    struct row_state *state = &states[row - fp_accelerator_rows];
    if (state->accelerator.tracer)
        return;
    struct fp_error err = { "" };
    struct fp_tracer *tracer = NULL;
    struct fp_tracer_options options = { .size = sizeof(options),
                                         .library = row == library_owner ? library : NULL };
    int status = row->ops->open(&options, &tracer, &err);
    fp_log("accelerator", "%s (%s): %s", row->accelerator, row->ops->name, status == 0 ? "usable" : err.text);
    if (status != 0) {
        set_reason(state, status, err.text[0] ? err.text : strerror(-status));
        return;
    }
    struct fp_tracer_description description = { .size = sizeof(description) };
    row->ops->describe(tracer, &description);
    state->simulated = description.simulated != NULL;
    state->status = 0;
    state->accelerator = (struct fp_accelerator){ row->accelerator, row->ops, tracer };
}

struct wish {
    const char *named, *library;
    const struct fp_accelerator_row *library_owner;
};

static struct wish read_wish(void) {
    struct wish wish = { .named = fp_env_text("FLAGOS_ACCELERATOR"),
                         .library = fp_env_text("FLAGOS_TRACER_LIBRARY") };
    wish.library_owner = owner_of(wish.library, wish.named);
    return wish;
}

static void list_names(char *text, size_t capacity) {
    size_t used = 0;
    text[0] = '\0';
    for (const struct fp_accelerator_row *row = fp_accelerator_rows; row->accelerator && used < capacity;
         row++)
        used += (size_t)snprintf(text + used, capacity - used, "%s%s", used ? ", " : "", row->accelerator);
}

static void explain(const struct wish *wish, struct fp_error *err) {
    char text[sizeof(err->text)] = "";
    size_t used = 0;
    for (const struct fp_accelerator_row *row = fp_accelerator_rows; row->accelerator && used < sizeof(text);
         row++) {
        const struct row_state *state = &states[row - fp_accelerator_rows];
        if (state->reason && (!wish->named || strcmp(wish->named, row->accelerator) == 0))
            used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s: %s", used ? "; " : "",
                                     row->accelerator, state->reason);
    }
    if (wish->library && !wish->library_owner)
        fp_error_set(err, "FLAGOS_TRACER_LIBRARY=%s is no library of a known tracer; %s", wish->library,
                     text);
    else
        fp_error_set(err, "%s", text);
}

// Real accelerators in the table's order, then simulated ones. A library that a person named is tried first,
// and what it serves is what that person wants.
static struct fp_accelerator *pick(const struct wish *wish) {
    if (wish->library_owner && !wish->named) {
        try_row(wish->library_owner, wish->library_owner, wish->library);
        struct row_state *state = &states[wish->library_owner - fp_accelerator_rows];
        if (state->accelerator.tracer)
            return &state->accelerator;
    }
    struct fp_accelerator *simulated = NULL;
    for (const struct fp_accelerator_row *row = fp_accelerator_rows; row->accelerator; row++) {
        struct row_state *state = &states[row - fp_accelerator_rows];
        if (wish->named && strcmp(wish->named, row->accelerator) != 0)
            continue;
        try_row(row, wish->library_owner, wish->library);
        if (state->accelerator.tracer && !state->simulated)
            return &state->accelerator;
        if (state->accelerator.tracer && !simulated)
            simulated = &state->accelerator;
    }
    return simulated;
}

static int choose_locked(struct fp_error *err) {
    if (chosen)
        return 0;
    struct wish wish = read_wish();
    if (wish.named && !find_row(wish.named)) {
        char names[200];
        list_names(names, sizeof(names));
        fp_error_set(err, "FLAGOS_ACCELERATOR=%s names no accelerator; known are: %s", wish.named, names);
        return -ENODEV;
    }
    chosen = pick(&wish);
    if (chosen)
        return 0;
    explain(&wish, err);
    return -ENODEV;
}

int fp_accelerator_choose(struct fp_accelerator **accelerator, struct fp_error *err) {
    pthread_mutex_lock(&lock);
    int result = choose_locked(err);
    *accelerator = chosen;
    pthread_mutex_unlock(&lock);
    return result;
}

int fp_accelerator_each(void (*visit)(void *owner, const struct fp_candidate *candidate,
                                      struct fp_accelerator *accelerator),
                        void *owner) {
    pthread_mutex_lock(&lock);
    struct wish wish = read_wish();
    choose_locked(NULL);
    size_t count = 0;
    for (const struct fp_accelerator_row *row = fp_accelerator_rows; row->accelerator; row++) {
        try_row(row, wish.library_owner, wish.library);
        count++;
    }
    pthread_mutex_unlock(&lock);
    for (size_t at = 0; at < count; at++) {
        const struct row_state *state = &states[at];
        bool usable = state->accelerator.tracer != NULL;
        struct fp_candidate candidate = {
            .size = sizeof(candidate),
            .accelerator = fp_accelerator_rows[at].accelerator,
            .tracer = fp_accelerator_rows[at].ops->name,
            .status = usable ? 0 : state->status,
            .reason = usable ? NULL : state->reason,
            .chosen = usable && chosen == &state->accelerator,
        };
        visit(owner, &candidate, usable ? &states[at].accelerator : NULL);
    }
    return 0;
}

// ---- What an accelerator is asked

const char *fp_accelerator_name(const struct fp_accelerator *accelerator) {
    return accelerator->name;
}

const char *fp_accelerator_tracer(const struct fp_accelerator *accelerator) {
    return accelerator->ops->name;
}

int fp_accelerator_describe(struct fp_accelerator *accelerator, struct fp_tracer_description *description) {
    return accelerator->ops->describe(accelerator->tracer, description);
}

int fp_accelerator_device_count(struct fp_accelerator *accelerator) {
    return accelerator->ops->device_count(accelerator->tracer);
}

int fp_accelerator_device(struct fp_accelerator *accelerator, uint32_t ordinal, struct fp_device *device) {
    return accelerator->ops->device(accelerator->tracer, ordinal, device);
}

int fp_accelerator_synchronize(struct fp_accelerator *accelerator, struct fp_error *err) {
    return accelerator->ops->synchronize ? accelerator->ops->synchronize(accelerator->tracer, err) : 0;
}

int fp_accelerator_prepare(struct fp_accelerator *accelerator, struct fp_error *err) {
    return accelerator->ops->prepare ? accelerator->ops->prepare(accelerator->tracer, err) : 0;
}
