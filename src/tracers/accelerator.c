// accelerator.c - which accelerator is used of those that this process knows (flagprof.h tells the order).
//
// In:  the rows (rows.h), FLAGOS_ACCELERATOR, FLAGOS_TRACER_LIBRARY, what each tracer's open says.
// Out: one opened accelerator, kept to the end of the process, and for each row why it was refused. A
//      refused row is tried again at the next call: the library or the driver may have been loaded since.

#include "tracers/accelerator.h"

#include "base/env.h"
#include "base/log.h"
#include "flagprof/flagprof.h"
#include "tracers/exports.h"
#include "tracers/faces.h"
#include "tracers/libraries.h"
#include "tracers/rows.h"
#include "tracers/unavailable.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct fp_accelerator *chosen;

static void set_reason(struct fp_row *row, int status, const char *text) {
    row->status = status;
    if (!row->reason || strcmp(row->reason, text) != 0)
        row->reason = strdup(text);
}

// What a person asked for, and whose is the library that was named.
struct wish {
    const char *named, *library;
    const struct fp_row *library_owner;
    struct fp_row *rows;
    size_t row_count;
};

static struct fp_row *find_row(const struct wish *wish, const char *accelerator) {
    for (size_t at = 0; at < wish->row_count; at++)
        if (strcmp(wish->rows[at].is.accelerator, accelerator) == 0)
            return &wish->rows[at];
    return NULL;
}

// By a function of the vendor's own before one of CUPTI's, which several vendors offer.
static struct fp_row *owner_by_file(const struct wish *wish, const char *path) {
    struct fp_exports *exports = NULL;
    struct fp_error err = { "" };
    struct fp_row *owner = NULL;
    if (fp_exports_read(&exports, path, &err) != 0) {
        fp_log("accelerator", "FLAGOS_TRACER_LIBRARY: %s", err.text);
        return wish->row_count == 1 ? wish->rows : NULL;
    }
    const char *face = fp_face_of_file(exports, path);
    if (face)
        owner = find_row(wish, face);
    for (size_t at = 0; !face && !owner && at < wish->row_count; at++)
        if (wish->rows[at].is.library_symbol && fp_exports_has(exports, wish->rows[at].is.library_symbol))
            owner = &wish->rows[at];
    fp_exports_free(exports);
    return owner;
}

// A bare name that the loader alone can find: it has to be opened to be looked at.
static struct fp_row *owner_by_loader(const struct wish *wish) {
    char path[FP_LIBRARY_PATH_BYTES];
    struct link_map *map = NULL;
    void *handle = dlopen(wish->library, RTLD_LAZY | RTLD_LOCAL);
    if (handle && dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 &&
        snprintf(path, sizeof(path), "%s", map->l_name) < (int)sizeof(path))
        return owner_by_file(wish, path);
    fp_log("accelerator", "FLAGOS_TRACER_LIBRARY: %s", handle ? "it has no file" : dlerror());
    return wish->row_count == 1 ? wish->rows : NULL;
}

// The tracer that FLAGOS_ACCELERATOR names, else the one that the library shows itself to be made for. Its file is
// read for that and not opened, since a library begins to act when it is opened. NULL: no library is named, or it is nobody's.
static struct fp_row *owner_of(const struct wish *wish) {
    char path[FP_LIBRARY_PATH_BYTES];
    if (!wish->library)
        return NULL;
    if (wish->named)
        return find_row(wish, wish->named);
    return fp_exports_file(wish->library, path, sizeof(path)) ? owner_by_file(wish, path)
                                                              : owner_by_loader(wish);
}

static struct wish read_wish(void) {
    struct wish wish = { .named = fp_env_text("FLAGOS_ACCELERATOR"),
                         .library = fp_env_text("FLAGOS_TRACER_LIBRARY") };
    wish.rows = fp_rows(&wish.row_count);
    wish.library_owner = owner_of(&wish);
    return wish;
}

// ---- Trying

static void try_row(const struct wish *wish, struct fp_row *row) {
    if (row->accelerator.tracer || row->broken)
        return;
    struct fp_error err = { "" };
    struct fp_tracer *tracer = NULL;
    struct fp_tracer_options options = {
        .size = sizeof(options),
        .library = row == wish->library_owner ? wish->library : NULL,
        .accelerator = row->is.accelerator,
    };
    const struct fp_tracer_ops *ops = row->is.ops;
    int status = ops->open(&options, &tracer, &err);
    if (status != 0) {
        fp_log("accelerator", "%s (%s): %s", row->is.accelerator, ops->name, err.text);
        set_reason(row, status, err.text[0] ? err.text : strerror(-status));
        return;
    }
    if (!tracer) {
        set_reason(row, -ENODEV, "its open answers 0 and gives no tracer: that is a fault of the tracer's");
        return;
    }
    struct fp_tracer_description description = { .size = sizeof(description) };
    ops->describe(tracer, &description);
    fp_log("accelerator", "%s (%s): usable, %s, version %s%s", row->is.accelerator, ops->name,
           description.library_path ? description.library_path : "no library",
           description.version ? description.version : "unknown", description.simulated ? ", simulated" : "");
    row->simulated = description.simulated != NULL;
    row->status = 0;
    row->accelerator = (struct fp_accelerator){ row->is.accelerator, ops, tracer };
}

static bool is_wanted(const struct wish *wish, const struct fp_row *row) {
    return !wish->named || strcmp(wish->named, row->is.accelerator) == 0;
}

// What people call an accelerator, its maker or its tool kit, and the row that is meant.
static const char *meant_by(const struct wish *wish) {
    static const struct {
        const char *said, *accelerator;
    } rows[] = {
        { "nvidia", "cuda" },   { "cupti", "cuda" },   { "gpu", "cuda" },      { "t-head", "ppu" },
        { "thead", "ppu" },     { "maca", "metax" },   { "mcpti", "metax" },   { "moore", "musa" },
        { "mthreads", "musa" }, { "mupti", "musa" },   { "amd", "dcu" },       { "rocm", "dcu" },
        { "hip", "dcu" },       { "hygon", "dcu" },    { "huawei", "ascend" }, { "npu", "ascend" },
        { "cann", "ascend" },   { "mspti", "ascend" }, { "enflame", "gcu" },   { "tops", "gcu" },
    };
    for (size_t at = 0; at < wish->row_count; at++)
        if (strcasecmp(wish->named, wish->rows[at].is.accelerator) == 0)
            return wish->rows[at].is.accelerator;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        if (strcasecmp(wish->named, rows[i].said) == 0 && find_row(wish, rows[i].accelerator))
            return rows[i].accelerator;
    return NULL;
}

static void explain_unknown(const struct wish *wish, struct fp_error *err) {
    char names[sizeof(err->text)] = "";
    size_t used = 0;
    const char *meant = meant_by(wish);
    for (size_t at = 0; at < wish->row_count && used < sizeof(names); at++)
        used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%s", used ? ", " : "",
                                 wish->rows[at].is.accelerator);
    if (meant)
        fp_error_set(err, "set FLAGOS_ACCELERATOR=%s: %.60s names no accelerator; known are: %s", meant,
                     wish->named, names);
    else
        fp_error_set(err, "FLAGOS_ACCELERATOR=%.60s names no accelerator; known are: %s", wish->named, names);
}

// Several rows, several reasons: too much for a line on a terminal, where the first word should help.
static void write_all(const struct wish *wish, char *text, size_t room) {
    size_t used = (size_t)snprintf(text, room, "`flagprof info` says why for each of ");
    bool first = true;
    for (size_t at = 0; at < wish->row_count && used < room; at++)
        if (wish->rows[at].is.ops != &fp_unavailable_ops) {
            used += (size_t)snprintf(text + used, room - used, "%s%s", first ? "" : ", ",
                                     wish->rows[at].is.accelerator);
            first = false;
        }
    if (used < room)
        snprintf(text + used, room - used,
                 "; without hardware, `import flagos` simulates one (docs/simulator.md)");
}

static void explain(const struct wish *wish, struct fp_error *err) {
    char text[sizeof(err->text)] = "";
    size_t used = 0, told = 0;
    for (size_t at = 0; at < wish->row_count && used < sizeof(text); at++) {
        const struct fp_row *row = &wish->rows[at];
        // What cannot be traced at all is no news to those who did not ask for it.
        bool news = wish->named || row->is.ops != &fp_unavailable_ops;
        told += row->reason && is_wanted(wish, row) && news;
        if (row->reason && is_wanted(wish, row) && news)
            used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s: %s", used ? "; " : "",
                                     row->is.accelerator, row->reason);
    }
    if (told > 1)
        write_all(wish, text, sizeof(text));
    if (wish->library && !wish->library_owner)
        fp_error_set(err, "FLAGOS_TRACER_LIBRARY=%s is no library of a known tracer; %s", wish->library,
                     text);
    else if (wish->library_owner && wish->library_owner->reason)
        fp_error_set(err, "%s: %s", wish->library_owner->is.accelerator, wish->library_owner->reason);
    else
        fp_error_set(err, "%s", text);
}

// Real accelerators in the order of the rows, then simulated ones. A library that a person named is tried
// first, and what it serves is what that person wants.
static struct fp_accelerator *pick(const struct wish *wish) {
    if (wish->library_owner && !wish->named) {
        struct fp_row *owner = &wish->rows[wish->library_owner - wish->rows];
        try_row(wish, owner);
        if (owner->accelerator.tracer)
            return &owner->accelerator;
    }
    struct fp_accelerator *simulated = NULL;
    for (size_t at = 0; at < wish->row_count; at++) {
        struct fp_row *row = &wish->rows[at];
        if (!is_wanted(wish, row))
            continue;
        try_row(wish, row);
        if (row->accelerator.tracer && !row->simulated)
            return &row->accelerator;
        if (row->accelerator.tracer && !simulated)
            simulated = &row->accelerator;
    }
    return simulated;
}

static int choose_locked(const struct wish *wish, struct fp_error *err) {
    if (chosen)
        return 0;
    if (wish->named && !find_row(wish, wish->named)) {
        explain_unknown(wish, err);
        return -ENODEV;
    }
    chosen = pick(wish);
    if (chosen)
        return 0;
    explain(wish, err);
    return -ENODEV;
}

int fp_accelerator_choose(struct fp_accelerator **accelerator, struct fp_error *err) {
    pthread_mutex_lock(&lock);
    int result = 0;
    if (!chosen) {
        struct wish wish = read_wish();
        result = choose_locked(&wish, err);
    }
    *accelerator = chosen;
    pthread_mutex_unlock(&lock);
    return result;
}

typedef void (*visitor)(void *owner, const struct fp_candidate *candidate,
                        struct fp_accelerator *accelerator);

static void visit_row(const struct wish *wish, struct fp_row *row, visitor visit, void *owner) {
    bool usable = row->accelerator.tracer != NULL;
    struct fp_candidate candidate = {
        .size = sizeof(candidate),
        .accelerator = row->is.accelerator,
        .tracer = row->is.ops->name,
        .status = usable ? 0 : row->status,
        .reason = usable ? NULL : row->reason,
        .chosen = usable && chosen == &row->accelerator,
        .owns_library = row == wish->library_owner,
    };
    visit(owner, &candidate, usable ? &row->accelerator : NULL);
}

// A name in no row is a row all the same, for those who look: the tracer that it gets is the unavailable one.
static void visit_unknown(const struct wish *wish, visitor visit, void *owner) {
    static struct fp_error err; // its text outlives the visit, and is the same at each
    explain_unknown(wish, &err);
    struct fp_candidate candidate = { .size = sizeof(candidate),
                                      .accelerator = wish->named,
                                      .tracer = "unavailable",
                                      .status = -ENODEV,
                                      .reason = err.text };
    visit(owner, &candidate, NULL);
}

int fp_accelerator_each(visitor visit, void *owner) {
    pthread_mutex_lock(&lock);
    struct wish wish = read_wish();
    choose_locked(&wish, NULL);
    for (size_t at = 0; at < wish.row_count; at++)
        try_row(&wish, &wish.rows[at]);
    pthread_mutex_unlock(&lock);
    for (size_t at = 0; at < wish.row_count; at++)
        visit_row(&wish, &wish.rows[at], visit, owner);
    if (wish.named && !find_row(&wish, wish.named))
        visit_unknown(&wish, visit, owner);
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
