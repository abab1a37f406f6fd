// select.c - which events of a trace a person asked for.
//
// In:  texts of the command line, then the file.
// Out: yes or no for each event. What a test needs of the file is gathered in one reading (the origin of
//      times, the steps, the ids of named kernels) and, for steps, a second (the ids of what the steps
//      launched).

#include "analysis/select.h"

#include <errno.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/idmap.h"
#include "analysis/kinds.h"
#include "analysis/pattern.h"

struct range {
    uint64_t low, high;
};

struct range_list {
    struct range *ranges;
    size_t count;
};

// A regular expression with the answer for each name that was asked for before.
struct pattern {
    bool set;
    regex_t compiled;
    uint8_t *answers; // by name id: 0 not asked yet, 1 no, 2 yes
    size_t room;
};

struct step {
    uint64_t number;
    uint64_t pid; // hash of it
    int64_t start_ns, end_ns;
    bool chosen;
};

struct fp_select {
    bool all, ahead;
    bool has_from, has_to, from_absolute, to_absolute;
    int64_t from_ns, to_ns;   // as asked
    int64_t first_ns, end_ns; // in the file's own time
    const char *pid, *category;
    struct range_list devices, steps;
    bool has_devices, has_steps;
    struct pattern include, exclude, kernel;
    int64_t slowest, every;

    bool origin_known, zero_seen;
    int64_t origin_ns;
    struct step *found;
    size_t found_count, found_room;
    bool by_steps;                                   // steps were chosen, whichever way
    struct fp_idmap step_vendor, step_framework;     // ids of what the chosen steps' host events launched
    struct fp_idmap kernel_vendor, kernel_framework; // ids of the named kernels
    struct fp_idmap other_devices, chosen_devices;   // vendor ids of work on either side of --device
    uint64_t *lane_slices;                           // slices seen in each lane, for every n-th
    size_t lane_room;
    char finding[160];
};

// Reading the texts.

bool fp_select_time(const char *text, int64_t *ns, bool *absolute) {
    static const struct {
        const char *name;
        int shift;
    } units[] = { { "ns", 0 }, { "us", 3 }, { "ms", 6 }, { "s", 9 }, { "", 3 } };
    *absolute = *text == '@';
    text += *absolute;
    size_t size = strspn(text, "+-.0123456789eE");
    // "1e3s" is a number and a unit; "1.5e" is neither.
    for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++)
        if (strcmp(text + size, units[i].name) == 0)
            return fp_number_scaled((struct fp_text){ text, size }, units[i].shift, ns, NULL) ==
                       FP_NUMBER_OK &&
                   (text[size] || *absolute || *ns == 0); // 10 of what? Only 0 is the same in every unit
    return false;
}

// "0-3,7" to ranges.
static int read_ranges(const char *text, struct range_list *list) {
    while (*text) {
        size_t size = strcspn(text, ","), first = strspn(text, "0123456789");
        struct range range;
        if (!fp_number_u64((struct fp_text){ text, first }, &range.low))
            return -EINVAL;
        range.high = range.low;
        if (first < size &&
            (text[first] != '-' ||
             !fp_number_u64((struct fp_text){ text + first + 1, size - first - 1 }, &range.high)))
            return -EINVAL;
        struct range *grown = realloc(list->ranges, (list->count + 1) * sizeof(*grown));
        if (!grown)
            return -ENOMEM;
        list->ranges = grown;
        list->ranges[list->count++] = range;
        text += size + (text[size] == ',');
    }
    return list->count ? 0 : -EINVAL;
}

static bool in_ranges(const struct range_list *list, uint64_t value) {
    for (size_t i = 0; i < list->count; i++)
        if (value >= list->ranges[i].low && value <= list->ranges[i].high)
            return true;
    return false;
}

// Whether `text` is one of the pieces between the commas of `list`.
static bool in_list(const char *list, struct fp_text text) {
    for (;;) {
        size_t size = strcspn(list, ",");
        if (size == text.size && (!size || memcmp(list, text.at, size) == 0))
            return true;
        if (!list[size])
            return false;
        list += size + 1;
    }
}

static int compile(struct pattern *pattern, const char *option, const char *text, struct fp_error *err) {
    if (!text)
        return 0;
    int code = regcomp(&pattern->compiled, text, REG_EXTENDED | REG_NOSUB);
    if (code) {
        char why[128];
        regerror(code, &pattern->compiled, why, sizeof(why));
        if (code == REG_ESPACE)
            fp_error_set(err, "not enough memory for --%s '%s'", option, text);
        else
            fp_error_set(err, "--%s '%s' is no regular expression: %s", option, text, why);
        return code == REG_ESPACE ? -ENOMEM : -EINVAL;
    }
    pattern->set = true;
    return 0;
}

static int read_time(const char *option, const char *text, bool *has, bool *absolute, int64_t *ns,
                     struct fp_error *err) {
    if (!text)
        return 0;
    *has = true;
    if (fp_select_time(text, ns, absolute))
        return 0;
    if (text[strspn(text, "0123456789.")] == '\0')
        fp_error_set(
            err,
            "--%s %s has no unit: %sns, %sus, %sms or %ss after the trace's start, or @%s for a ts of "
            "the file",
            option, text, text, text, text, text, text);
    else
        fp_error_set(
            err,
            "--%s '%s' is no time. Write 1.5ms, 20us or 3s after the trace's start, or @ and a ts of "
            "the file",
            option, text);
    return -EINVAL;
}

static int read_list(const char *option, const char *text, bool *has, struct range_list *list,
                     struct fp_error *err) {
    if (!text)
        return 0;
    *has = true;
    int code = read_ranges(text, list);
    if (code)
        fp_error_set(err, "--%s '%s' is no list of numbers. Write 5 or 0-3,7", option, text);
    return code;
}

static int refuse_reversed(const struct fp_select *select, const struct fp_select_options *options,
                           struct fp_error *err) {
    if (!select->has_from || !select->has_to || select->from_absolute != select->to_absolute ||
        select->to_ns > select->from_ns)
        return 0;
    fp_error_set(err, "--to %s is not after --from %s: no time lies between them", options->to,
                 options->from);
    return -EINVAL;
}

static int read_texts(struct fp_select *select, const struct fp_select_options *options,
                      struct fp_error *err) {
    int code =
        read_time("from", options->from, &select->has_from, &select->from_absolute, &select->from_ns, err);
    if (!code)
        code = read_time("to", options->to, &select->has_to, &select->to_absolute, &select->to_ns, err);
    if (!code)
        code = refuse_reversed(select, options, err);
    if (!code)
        code = read_list("device", options->device, &select->has_devices, &select->devices, err);
    if (!code)
        code = read_list("step", options->step, &select->has_steps, &select->steps, err);
    if (!code)
        code = compile(&select->include, "include", options->include, err);
    if (!code)
        code = compile(&select->exclude, "exclude", options->exclude, err);
    if (!code)
        code = compile(&select->kernel, "kernel", options->kernel, err);
    return code;
}

int fp_select_new(const struct fp_select_options *given, struct fp_select **out, struct fp_error *err) {
    struct fp_select_options options = { 0 };
    memcpy(&options, given, given->size < sizeof(options) ? given->size : sizeof(options));
    struct fp_select *select = *out = calloc(1, sizeof(*select));
    if (!select) {
        fp_error_set(err, "not enough memory");
        return -ENOMEM;
    }
    int code = read_texts(select, &options, err);
    if (code) {
        fp_select_free(select);
        *out = NULL;
        return code;
    }
    select->first_ns =
        select->from_ns; // absolute ones need nothing of the file, and relative ones wait for it
    select->end_ns = select->to_ns;
    select->pid = options.pid;
    select->category = options.category;
    select->slowest = options.slowest;
    select->every = options.every;
    bool relative = (select->has_from && !select->from_absolute) || (select->has_to && !select->to_absolute);
    select->ahead = relative || select->has_devices || select->has_steps || select->kernel.set ||
                    select->slowest || select->every;
    select->all = !select->ahead && !select->has_from && !select->has_to && !select->pid &&
                  !select->category && !select->include.set && !select->exclude.set;
    return 0;
}

static void pattern_free(struct pattern *pattern) {
    if (pattern->set)
        regfree(&pattern->compiled);
    free(pattern->answers);
}

static void forget_file(struct fp_select *select) {
    fp_idmap_free(&select->step_vendor);
    fp_idmap_free(&select->step_framework);
    fp_idmap_free(&select->kernel_vendor);
    fp_idmap_free(&select->kernel_framework);
    fp_idmap_free(&select->other_devices);
    fp_idmap_free(&select->chosen_devices);
    select->found_count = 0;
    select->by_steps = false;
    select->origin_known = select->zero_seen = false;
    select->finding[0] = 0;
}

void fp_select_free(struct fp_select *select) {
    if (!select)
        return;
    forget_file(select);
    pattern_free(&select->include);
    pattern_free(&select->exclude);
    pattern_free(&select->kernel);
    free(select->devices.ranges);
    free(select->steps.ranges);
    free(select->found);
    free(select->lane_slices);
    free(select);
}

bool fp_select_all(const struct fp_select *select) {
    return select->all;
}

bool fp_select_needs_ahead(const struct fp_select *select) {
    return select->ahead;
}

bool fp_select_by_kind(const struct fp_select *select) {
    return select->category || select->include.set || select->exclude.set || select->kernel.set ||
           select->has_devices || select->by_steps || select->every;
}

const char *fp_select_finding(const struct fp_select *select) {
    return select->finding;
}

static void forget_answers(struct pattern *pattern) {
    if (pattern->answers)
        memset(pattern->answers, 0, pattern->room);
}

void fp_select_begin(struct fp_select *select) {
    forget_answers(&select->include);
    forget_answers(&select->exclude);
    forget_answers(&select->kernel);
    if (select->lane_slices)
        memset(select->lane_slices, 0, select->lane_room * sizeof(*select->lane_slices));
}

// Asking of one event.

// 1, 0, or -ENOMEM.
static int matches(struct pattern *pattern, const struct fp_trace_event *event) {
    if (event->name_id >= pattern->room) {
        size_t room = (size_t)event->name_id * 2 + 64;
        uint8_t *grown = realloc(pattern->answers, room);
        if (!grown)
            return -ENOMEM;
        memset(grown + pattern->room, 0, room - pattern->room);
        pattern->answers = grown;
        pattern->room = room;
    }
    uint8_t *answer = &pattern->answers[event->name_id];
    if (!*answer) {
        int match = fp_pattern_match(&pattern->compiled, event->name);
        if (match < 0)
            return match;
        *answer = match ? 2 : 1;
    }
    return *answer == 2;
}

static uint64_t pid_hash(const struct fp_trace_id *pid) {
    return pid->kind == FP_ID_TEXT ? fp_text_hash(pid->text.at, pid->text.size) : pid->number * 4 + pid->kind;
}

static int64_t end_of(const struct fp_trace_event *event) {
    int64_t end;
    if (event->dur_state != FP_NUMBER_OK || event->dur_ns < 0 ||
        __builtin_add_overflow(event->ts_ns, event->dur_ns, &end))
        return event->ts_ns;
    return end;
}

// A point lies in [from, to); a stretch only has to touch it.
static bool overlaps(int64_t start, int64_t end, int64_t from, int64_t to) {
    return start < to && (end > from || start >= from);
}

static bool has_number_of_device(const struct fp_trace_event *event, uint64_t *device) {
    if (fp_field_u64(fp_event_arg(event, FP_ARG_DEVICE), device))
        return true;
    *device = event->pid.number; // Kineto's device lanes have the device's number for a process id
    return event->pid.kind == FP_ID_NUMBER;
}

static bool is_step_name(struct fp_text name, uint64_t *number) {
    static const char start[] = "ProfilerStep#";
    size_t size = sizeof(start) - 1;
    return fp_text_begins(name, start) &&
           fp_number_u64((struct fp_text){ name.at + size, name.size - size }, number);
}

bool fp_select_in_time(const struct fp_select *select, int64_t start_ns, int64_t end_ns) {
    return overlaps(start_ns, end_ns, select->has_from ? select->first_ns : INT64_MIN,
                    select->has_to ? select->end_ns : INT64_MAX);
}

static bool in_time(const struct fp_select *select, const struct fp_trace_event *event) {
    if (!select->has_from && !select->has_to)
        return true;
    bool open = event->phase == 'B' || event->phase == 'b' || event->phase == 'S';
    return event->ts_state == FP_NUMBER_OK &&
           fp_select_in_time(select, event->ts_ns, open ? INT64_MAX : end_of(event));
}

// Whether the host event lies in a chosen step: of its own process where that has steps, else of any.
static bool in_steps(const struct fp_select *select, const struct fp_trace_event *event) {
    uint64_t pid = pid_hash(&event->pid);
    bool own = false, any = false;
    for (size_t i = 0; i < select->found_count; i++) {
        const struct step *step = &select->found[i];
        bool hit = step->chosen && overlaps(event->ts_ns, end_of(event), step->start_ns, step->end_ns);
        if (step->pid == pid) {
            if (hit)
                return true;
            own = true;
        }
        any = any || hit;
    }
    return !own && any;
}

// Device work follows what launched it, then its operator, and only where it names neither the clock.
static bool launched_in_steps(const struct fp_select *select, const struct fp_trace_event *event) {
    uint64_t id, number;
    if (event->category == FP_CAT_GPU_ANNOTATION && is_step_name(event->name, &number)) {
        for (size_t i = 0; i < select->found_count; i++)
            if (select->found[i].chosen && select->found[i].number == number)
                return true;
        return false;
    }
    if (fp_event_correlation(event, &id))
        return fp_idmap_find(&select->step_vendor, id) != NULL;
    if (fp_event_external_id(event, &id))
        return fp_idmap_find(&select->step_framework, id) != NULL;
    return event->ts_state == FP_NUMBER_OK && in_steps(select, event);
}

static int belongs_to_kernel(struct fp_select *select, const struct fp_trace_event *event) {
    uint64_t id;
    if (fp_event_is_work(event))
        return matches(&select->kernel, event);
    if (fp_event_is_host_call(event))
        return fp_event_correlation(event, &id) && fp_idmap_find(&select->kernel_vendor, id) != NULL;
    return event->category == FP_CAT_CPU_OP && fp_event_external_id(event, &id) &&
           fp_idmap_find(&select->kernel_framework, id) != NULL;
}

static bool on_device(const struct fp_select *select, const struct fp_trace_event *event) {
    uint64_t id;
    if (fp_event_on_device(event))
        return has_number_of_device(event, &id) && in_ranges(&select->devices, id);
    return !(fp_event_is_host_call(event) && fp_event_correlation(event, &id) &&
             fp_idmap_find(&select->other_devices, id) && !fp_idmap_find(&select->chosen_devices, id));
}

// The n-th, 2n-th ... slice of a lane, beginning with the first. 1, 0 or -ENOMEM.
static int is_nth(struct fp_select *select, const struct fp_trace_event *event) {
    if (event->lane >= select->lane_room) {
        size_t room = (size_t)event->lane * 2 + 64;
        uint64_t *grown = realloc(select->lane_slices, room * sizeof(*grown));
        if (!grown)
            return -ENOMEM;
        memset(grown + select->lane_room, 0, (room - select->lane_room) * sizeof(*grown));
        select->lane_slices = grown;
        select->lane_room = room;
    }
    return select->lane_slices[event->lane]++ % (uint64_t)select->every == 0;
}

int fp_select_test(struct fp_select *select, const struct fp_trace_event *event) {
    if (select->all)
        return 1;
    if (select->pid && !in_list(select->pid, event->pid.text))
        return 0;
    if (event->phase == 'M')
        return 1;
    if (!in_time(select, event))
        return 0;
    if (fp_event_is_flow(event) || event->phase == 'E' || event->phase == 'e' || event->phase == 'F')
        return 1;
    if (select->category && !in_list(select->category, event->cat))
        return 0;
    int code = select->include.set ? matches(&select->include, event) : 1;
    if (code == 1 && select->exclude.set) {
        code = matches(&select->exclude, event);
        code = code < 0 ? code : !code;
    }
    if (code == 1 && select->kernel.set)
        code = belongs_to_kernel(select, event);
    if (code == 1 && select->has_devices)
        code = on_device(select, event);
    if (code == 1 && select->by_steps)
        code = fp_event_on_device(event) ? launched_in_steps(select, event)
                                         : event->ts_state == FP_NUMBER_OK && in_steps(select, event);
    if (code == 1 && select->every && !select->by_steps && fp_event_is_slice(event))
        code = is_nth(select, event);
    return code;
}

// Reading ahead.

static int note_step(struct fp_select *select, const struct fp_trace_event *event) {
    uint64_t number;
    if (event->phase != 'X' || fp_event_on_device(event) || event->ts_state != FP_NUMBER_OK ||
        !is_step_name(event->name, &number))
        return 0;
    if (select->found_count == select->found_room) {
        size_t room = select->found_room * 2 + 16;
        struct step *grown = realloc(select->found, room * sizeof(*grown));
        if (!grown)
            return -ENOMEM;
        select->found = grown;
        select->found_room = room;
    }
    select->found[select->found_count++] =
        (struct step){ number, pid_hash(&event->pid), event->ts_ns, end_of(event), false };
    return 0;
}

// A time of 0 among epoch times is a record without one, not the trace's start.
static void note_origin(struct fp_select *select, const struct fp_trace_event *event) {
    if (event->ts_state != FP_NUMBER_OK || event->phase == 'M')
        return;
    if (event->ts_ns == 0) {
        select->zero_seen = true;
    } else if (!select->origin_known || event->ts_ns < select->origin_ns) {
        select->origin_ns = event->ts_ns;
        select->origin_known = true;
    }
}

static int remember_vendor(struct fp_idmap *map, const struct fp_trace_event *event) {
    uint64_t id;
    return !fp_event_correlation(event, &id) || fp_idmap_at(map, id, NULL) ? 0 : -ENOMEM;
}

static int remember_framework(struct fp_idmap *map, const struct fp_trace_event *event) {
    uint64_t id;
    return !fp_event_external_id(event, &id) || fp_idmap_at(map, id, NULL) ? 0 : -ENOMEM;
}

static int note_ids(struct fp_select *select, const struct fp_trace_event *event) {
    uint64_t device;
    int code = 0;
    if (!fp_event_is_work(event))
        return 0;
    if (select->has_devices) {
        bool chosen = has_number_of_device(event, &device) && in_ranges(&select->devices, device);
        code = remember_vendor(chosen ? &select->chosen_devices : &select->other_devices, event);
    }
    if (!code && select->kernel.set) {
        code = matches(&select->kernel, event);
        if (code == 1) {
            code = remember_vendor(&select->kernel_vendor, event);
            if (!code)
                code = remember_framework(&select->kernel_framework, event);
        }
    }
    return code;
}

static int first_look(void *user, const struct fp_trace_event *event) {
    struct fp_select *select = user;
    note_origin(select, event);
    int code = note_step(select, event);
    return code ? code : note_ids(select, event);
}

// The ids of what the chosen steps' host events launched.
static int second_look(void *user, const struct fp_trace_event *event) {
    struct fp_select *select = user;
    if (fp_event_on_device(event) || event->ts_state != FP_NUMBER_OK || !in_steps(select, event))
        return 0;
    int code = 0;
    if (fp_event_is_host_call(event))
        code = remember_vendor(&select->step_vendor, event);
    if (!code && event->category == FP_CAT_CPU_OP)
        code = remember_framework(&select->step_framework, event);
    return code;
}

static int look(struct fp_select *select, const char *path, const struct fp_reader_options *options,
                int (*each)(void *user, const struct fp_trace_event *event), struct fp_error *err) {
    struct fp_reader *reader;
    fp_select_begin(select);
    int code = fp_reader_open(path, options, &reader, err);
    if (code)
        return code;
    code = fp_reader_run(reader, each, select, err);
    if (code == -ENOMEM)
        fp_error_set(err, "%s: not enough memory to select events", path);
    fp_reader_close(reader);
    return code;
}

static const struct step *slowest_step(const struct fp_select *select) {
    const struct step *slowest = NULL;
    for (size_t i = 0; i < select->found_count; i++) {
        const struct step *step = &select->found[i];
        if (!slowest || step->end_ns - step->start_ns > slowest->end_ns - slowest->start_ns)
            slowest = step;
    }
    return slowest;
}

static uint64_t first_step(const struct fp_select *select) {
    uint64_t first = UINT64_MAX;
    for (size_t i = 0; i < select->found_count; i++)
        if (select->found[i].number < first)
            first = select->found[i].number;
    return first;
}

// Marks the steps that were asked for. 0, or -ENOENT with a sentence.
static int choose_steps(struct fp_select *select, const char *path, struct fp_error *err) {
    if (!select->has_steps && !select->slowest && !(select->every && select->found_count))
        return 0;
    const struct step *slowest = slowest_step(select);
    if (!slowest) {
        fp_error_set(err, "%s has no steps (no event named ProfilerStep#N); choose by --from and --to", path);
        return -ENOENT;
    }
    uint64_t first = first_step(select), last = first, middle = slowest->number;
    bool any = false;
    for (size_t i = 0; i < select->found_count; i++) {
        struct step *step = &select->found[i];
        uint64_t away = step->number > middle ? step->number - middle : middle - step->number;
        step->chosen = (!select->has_steps || in_ranges(&select->steps, step->number)) &&
                       (!select->slowest || away < (uint64_t)select->slowest) &&
                       (!select->every || (step->number - first) % (uint64_t)select->every == 0);
        any = any || step->chosen;
        last = step->number > last ? step->number : last;
    }
    if (!any) {
        fp_error_set(err, "%s has no such step; it has %llu to %llu", path, (unsigned long long)first,
                     (unsigned long long)last);
        return -ENOENT;
    }
    if (select->slowest)
        snprintf(select->finding, sizeof(select->finding), "the slowest step is %llu, %.3f ms",
                 (unsigned long long)middle, (double)(slowest->end_ns - slowest->start_ns) / 1e6);
    select->by_steps = true;
    return 0;
}

#define ZERO_IS_CLOSE_NS 3600000000000LL

static int64_t shifted(int64_t ns, int64_t origin) {
    int64_t sum;
    return __builtin_add_overflow(ns, origin, &sum) ? (ns < 0 ? INT64_MIN : INT64_MAX) : sum;
}

int fp_select_read_ahead(struct fp_select *select, const char *path, const struct fp_reader_options *options,
                         struct fp_error *err) {
    forget_file(select);
    int code = select->ahead ? look(select, path, options, first_look, err) : 0;
    if (!code)
        code = choose_steps(select, options && options->name ? options->name : path, err);
    if (!code && select->by_steps)
        code = look(select, path, options, second_look, err);
    if (code)
        return code;
    if (select->zero_seen && (!select->origin_known || select->origin_ns < ZERO_IS_CLOSE_NS))
        select->origin_ns = select->origin_known && select->origin_ns < 0 ? select->origin_ns : 0;
    else if (!select->origin_known)
        select->origin_ns = 0;
    if (!select->from_absolute)
        select->first_ns = shifted(select->from_ns, select->origin_ns);
    if (!select->to_absolute)
        select->end_ns = shifted(select->to_ns, select->origin_ns);
    if (select->every && !select->by_steps)
        snprintf(select->finding, sizeof(select->finding),
                 "the file has no steps: every %lldth slice of each lane is kept", (long long)select->every);
    fp_select_begin(select);
    return 0;
}
