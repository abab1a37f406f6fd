// input.c - the files of a command line, as verbs read them.
//
// In:  paths, "-" among them.
// Out: what readers can open, as often as they need; sentences about what was odd.

#include "cli/input.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define STANDARD_INPUT "standard input"

struct fp_reader_options fp_input_reader_options(const struct fp_options *options, const char *path) {
    struct fp_reader_options reader = { .size = sizeof(reader) };
    reader.name = strcmp(path, "-") == 0 ? STANDARD_INPUT : path;
    reader.salvage = options->salvage;
    reader.threads = options->threads;
    return reader;
}

static int write_all(int fd, const char *at, size_t size) {
    while (size) {
        ssize_t step = write(fd, at, size);
        if (step < 0 && errno == EINTR)
            continue;
        if (step < 0)
            return -errno;
        at += step;
        size -= (size_t)step;
    }
    return 0;
}

static int copy_all(int from, int to) {
    enum { ROOM = 1 << 18 };
    char *bytes = malloc(ROOM);
    int code = bytes ? 0 : -ENOMEM;
    while (!code) {
        ssize_t got = read(from, bytes, ROOM);
        if (got == 0)
            break;
        if (got < 0)
            code = errno == EINTR ? 0 : -errno;
        else
            code = write_all(to, bytes, (size_t)got);
    }
    free(bytes);
    return code;
}

// What can be read only once is copied to a file that has no name any more.
static int spool(struct fp_input *input, int from, struct fp_error *err) {
    const char *folder = getenv("TMPDIR");
    char name[4096];
    snprintf(name, sizeof(name), "%s/flagprof-XXXXXX", folder && *folder ? folder : "/tmp");
    input->fd = mkostemp(name, O_CLOEXEC);
    int code = input->fd < 0 ? -errno : 0;
    if (!code) {
        unlink(name);
        code = copy_all(from, input->fd);
    }
    if (code) {
        fp_error_set(
            err,
            "%s must be read more than once, and copying it to %s failed: %s. TMPDIR names another folder",
            input->name, name, strerror(-code));
        return code;
    }
    snprintf(input->copy, sizeof(input->copy), "/proc/self/fd/%d", input->fd);
    input->path = input->copy;
    return 0;
}

static int spool_standard_input(struct fp_input *input, struct fp_error *err) {
    struct stat found;
    if (fstat(STDIN_FILENO, &found) != 0 || !S_ISREG(found.st_mode) || lseek(STDIN_FILENO, 0, SEEK_CUR) != 0)
        return spool(input, STDIN_FILENO, err);
    snprintf(input->copy, sizeof(input->copy), "/proc/self/fd/%d", STDIN_FILENO); // a file already
    input->path = input->copy;
    return 0;
}

static int spool_path(struct fp_input *input, const char *path, struct fp_error *err) {
    int from = open(path, O_RDONLY | O_CLOEXEC);
    if (from < 0)
        return 0; // the reader says why it cannot be opened
    int code = spool(input, from, err);
    close(from);
    return code;
}

static bool can_be_read_once(const char *path) {
    struct stat found;
    return stat(path, &found) == 0 && (S_ISFIFO(found.st_mode) || S_ISCHR(found.st_mode));
}

int fp_input_open(const char *path, bool again, struct fp_input *input, struct fp_error *err) {
    bool standard = strcmp(path, "-") == 0;
    int code = 0;
    *input = (struct fp_input){ .name = standard ? STANDARD_INPUT : path, .path = path, .fd = -1 };
    if (again && standard)
        code = spool_standard_input(input, err);
    else if (again && can_be_read_once(path))
        code = spool_path(input, path, err);
    if (code)
        fp_input_close(input);
    return code;
}

void fp_input_close(struct fp_input *input) {
    if (input->fd >= 0)
        close(input->fd);
    input->fd = -1;
}

static bool worth_saying(enum fp_note_kind kind) {
    return fp_note_severity(kind) >= FP_SEVERITY_WARNING || kind == FP_NOTE_LIST_NOT_CLOSED ||
           kind == FP_NOTE_TIME_ROUNDED || kind == FP_NOTE_HEADER_TOO_LARGE;
}

void fp_input_say_notes(const char *verb, const struct fp_input *input, const struct fp_reader *reader) {
    struct fp_reader_summary summary;
    fp_reader_summarise(reader, &summary);
    for (int kind = 0; kind < FP_NOTE_KINDS; kind++) {
        const struct fp_note *note = fp_reader_note(reader, (enum fp_note_kind)kind);
        char times[40] = "", where[80] = "";
        if (!note->count || !worth_saying((enum fp_note_kind)kind))
            continue;
        if (note->count > 1)
            snprintf(times, sizeof(times), " (%llu times)", (unsigned long long)note->count);
        if (note->place_count)
            snprintf(where, sizeof(where), "; first at line %llu, column %llu, byte %llu",
                     (unsigned long long)note->places[0].line, (unsigned long long)note->places[0].column,
                     (unsigned long long)note->places[0].byte);
        fp_say(verb, "%s: %s%s%s", input->name, fp_note_sentence((enum fp_note_kind)kind), times, where);
    }
    if (summary.faults)
        fp_say(verb,
               "%s: %llu events were read; %llu stretches of together %llu bytes were stepped over, with at "
               "least "
               "%llu events in them",
               input->name, (unsigned long long)summary.events, (unsigned long long)summary.faults,
               (unsigned long long)summary.lost_bytes, (unsigned long long)summary.lost_events);
    else if (!summary.events_complete)
        fp_say(verb, "%s: the file ends early; %llu events were read", input->name,
               (unsigned long long)summary.events);
}

static bool is_folder(const char *path) {
    struct stat found;
    size_t size = strlen(path);
    return (size && path[size - 1] == '/') || (stat(path, &found) == 0 && S_ISDIR(found.st_mode));
}

// The length of a file's name without what packing and format added to it.
static size_t stem_size(const char *name) {
    static const char *endings[] = { ".gz", ".zst", ".json" };
    size_t size = strlen(name);
    for (size_t i = 0; i < sizeof(endings) / sizeof(*endings); i++) {
        size_t tail = strlen(endings[i]);
        if (size > tail && memcmp(name + size - tail, endings[i], tail) == 0)
            size -= tail;
    }
    return size;
}

// What a file is called in a folder.
static const char *own_name(const char *path) {
    const char *slash = strrchr(path, '/');
    if (strcmp(path, "-") == 0 || strcmp(path, STANDARD_INPUT) == 0)
        return "trace.json";
    return slash ? slash + 1 : path;
}

char *fp_input_target(const struct fp_options *options, const struct fp_input *input, const char *ending,
                      struct fp_error *err) {
    const char *to = options->output;
    if (!to && options->path_count == 1 && isatty(STDOUT_FILENO)) {
        fp_error_set(err, "name the file to write: -o FILE (or -o - for the terminal)");
        return NULL;
    }
    if (options->path_count == 1 && (!to || !is_folder(to))) {
        char *target = strdup(to ? to : "-");
        if (!target)
            fp_error_set(err, "%s: not enough memory", input->name);
        return target;
    }
    if (to && !is_folder(to)) {
        fp_error_set(err, "%zu files need a folder to go to, and %s is none: -o FOLDER/", options->path_count,
                     to);
        return NULL;
    }
    if (!to) {
        fp_error_set(err, "name the folder for the %zu results: -o FOLDER/", options->path_count);
        return NULL;
    }
    const char *base = own_name(input->name);
    size_t stem = ending ? stem_size(base) : strlen(base), room = strlen(to) + strlen(base) + 32;
    char *target = malloc(room);
    if (target)
        snprintf(target, room, "%s/%.*s%s", to, (int)stem, base, ending ? ending : "");
    else
        fp_error_set(err, "not enough memory");
    return target;
}

bool fp_input_target_is_standard(const char *target) {
    struct stat named, standard;
    if (strcmp(target, "-") == 0)
        return true;
    return stat(target, &named) == 0 && !S_ISREG(named.st_mode) && fstat(STDOUT_FILENO, &standard) == 0 &&
           named.st_dev == standard.st_dev && named.st_ino == standard.st_ino;
}

struct target {
    const char *path, *name;
    size_t size; // of the name without its ending
};

static int compare_targets(const void *left, const void *right) {
    const struct target *a = left, *b = right;
    int order = strncmp(a->name, b->name, a->size < b->size ? a->size : b->size);
    return order ? order : (a->size > b->size) - (a->size < b->size);
}

int fp_input_targets_differ(const struct fp_options *options, const char *ending, struct fp_error *err) {
    struct target *targets = malloc((options->path_count + 1) * sizeof(*targets));
    int code = targets ? 0 : -ENOMEM;
    if (code)
        fp_error_set(err, "not enough memory");
    for (size_t i = 0; !code && i < options->path_count; i++) {
        const char *name = own_name(options->paths[i]);
        targets[i] = (struct target){ options->paths[i], name, ending ? stem_size(name) : strlen(name) };
    }
    if (!code)
        qsort(targets, options->path_count, sizeof(*targets), compare_targets);
    for (size_t i = 1; !code && i < options->path_count; i++)
        if (compare_targets(&targets[i - 1], &targets[i]) == 0) {
            fp_error_set(err, "%s and %s would be one file in %s. Write them to folders of their own",
                         targets[i - 1].path, targets[i].path,
                         options->output ? options->output : "the folder");
            code = -EEXIST;
        }
    free(targets);
    return code;
}
