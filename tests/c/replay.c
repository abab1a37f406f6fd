// replay.c - loads recorded activity buffers, makes their dead name pointers live again, and walks them by
// stride.
//
// In:  NAME.bin (u64 size, then that many bytes, for each buffer) and NAME.strings (buffer, offset of the
//      pointer, text).
// Out: struct replay. See replay.h.

#include "replay.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const replay_sets[] = {
    "11.8.87-early",  "11.8.87-late",
    "11.8.87-tiny",   "12.0.146-late",
    "12.1.105-late",  "12.2.142-late",
    "12.3.101-late",  "12.4.127-late",
    "12.5.82-late",   "12.6.80-late",
    "12.8.90-early",  "12.8.90-late",
    "12.8.90-tiny",   "12.9.79-late",
    "13.0.85-early",  "13.0.85-late",
    "13.0.85-refuse", "13.0.85-tiny",
    "13.1.115-late",  "13.2.86-late",
    "13.3.75-late",   "13.4.92-late",
    "13.5.25-early",  "13.5.25-late",
    "13.5.25-tiny",   NULL,
};

// Sizes that differ among the releases [HEADER: the fact sheet's table, compiled from each release's wheel].
struct replay_release {
    const char *prefix;
    uint32_t api_version;
    uint16_t kernel, memcpy, memset, overhead, synchronization, memory;
};

static const struct replay_release releases[] = {
    { "11.8.", 18, 200, 88, 88, 40, 40, 120 },       { "12.0.", 18, 208, 88, 88, 40, 40, 120 },
    { "12.1.", 18, 208, 88, 88, 40, 40, 120 },       { "12.2.", 20, 208, 88, 88, 40, 40, 120 },
    { "12.3.", 21, 208, 88, 88, 48, 40, 120 },       { "12.4.", 22, 208, 88, 88, 56, 40, 120 },
    { "12.5.", 23, 208, 88, 88, 56, 40, 120 },       { "12.6.", 24, 208, 88, 88, 56, 40, 128 },
    { "12.8.", 26, 208, 96, 88, 56, 56, 128 },       { "12.9.", 28, 208, 96, 88, 56, 56, 128 },
    { "13.0.", 130001, 216, 96, 88, 56, 56, 128 },   { "13.1.", 130101, 224, 96, 88, 56, 56, 128 },
    { "13.2.", 130202, 224, 96, 88, 56, 56, 128 },   { "13.3.", 130301, 232, 96, 88, 56, 56, 128 },
    { "13.4.", 130401, 248, 112, 104, 56, 56, 128 }, { "13.5.", 130500, 248, 112, 104, 56, 56, 128 },
};

static const struct replay_release *iterated;

static const struct replay_release *release_of(const char *name) {
    for (size_t i = 0; i < sizeof(releases) / sizeof(releases[0]); i++) {
        if (strncmp(name, releases[i].prefix, strlen(releases[i].prefix)) == 0) {
            return &releases[i];
        }
    }
    return NULL;
}

static bool read_buffers(struct replay *set, FILE *file) {
    uint64_t size = 0;
    while (fread(&size, sizeof(size), 1, file) == 1) {
        if (size == 0 || size > (1u << 24)) {
            return false;
        }
        struct replay_buffer *grown = realloc(set->buffers, (set->buffer_count + 1) * sizeof(*grown));
        if (grown == NULL) {
            return false;
        }
        set->buffers = grown;
        uint8_t *bytes = malloc(size);
        if (bytes == NULL) {
            return false;
        }
        set->buffers[set->buffer_count++] = (struct replay_buffer){ bytes, size };
        if (fread(bytes, 1, size, file) != size) {
            return false;
        }
    }
    return set->buffer_count > 0;
}

// One line: which buffer, where in it the pointer stands, the text that it led to.
static bool read_text(struct replay *set, char *line) {
    size_t buffer = 0;
    size_t offset = 0;
    int text_at = 0;
    if (sscanf(line, "%zu %zu %n", &buffer, &offset, &text_at) != 2 || buffer >= set->buffer_count) {
        return false;
    }
    line[strcspn(line, "\n")] = '\0';
    char **grown = realloc(set->texts, (set->text_count + 1) * sizeof(*grown));
    if (grown == NULL) {
        return false;
    }
    set->texts = grown;
    char *text = strdup(line + text_at);
    if (text == NULL) {
        return false;
    }
    set->texts[set->text_count++] = text;
    if (offset + sizeof(uint64_t) > set->buffers[buffer].valid_size) {
        return false;
    }
    uint64_t address = (uintptr_t)text;
    memcpy(set->buffers[buffer].bytes + offset, &address, sizeof(address));
    return true;
}

static bool read_texts(struct replay *set, FILE *file) {
    char *line = NULL; // a mangled name of torch's has thousands of characters
    size_t room = 0;
    bool good = true;
    while (good && getline(&line, &room, file) > 0) {
        good = read_text(set, line);
    }
    free(line);
    return good;
}

static bool read_part(struct replay *set, const char *stem, const char *extension,
                      bool (*reader)(struct replay *, FILE *)) {
    char path[4096];
    snprintf(path, sizeof(path), "%s%s", stem, extension);
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        return false;
    }
    bool good = reader(set, file);
    fclose(file);
    return good;
}

bool replay_load_files(struct replay *set, const char *stem) {
    *set = (struct replay){ .release = NULL };
    if (read_part(set, stem, ".bin", read_buffers) && read_part(set, stem, ".strings", read_texts)) {
        return true;
    }
    replay_free(set);
    return false;
}

bool replay_load(struct replay *set, const char *name) {
    char stem[4096];
    snprintf(stem, sizeof(stem), "%s/buffers/cupti-h200/%s", FIXTURES, name);
    if (release_of(name) == NULL || !replay_load_files(set, stem)) {
        *set = (struct replay){ .release = NULL };
        return false;
    }
    set->release = release_of(name);
    set->api_version = set->release->api_version;
    return true;
}

void replay_free(struct replay *set) {
    for (size_t i = 0; i < set->buffer_count; i++) {
        free(set->buffers[i].bytes);
    }
    for (size_t i = 0; i < set->text_count; i++) {
        free(set->texts[i]);
    }
    free(set->buffers);
    free(set->texts);
    *set = (struct replay){ 0 };
}

const char *replay_text(const struct replay *set, uint64_t address) {
    for (size_t i = 0; i < set->text_count; i++) {
        if ((uintptr_t)set->texts[i] == address) {
            return set->texts[i];
        }
    }
    return NULL;
}

static size_t size_in(const struct replay_release *release, uint32_t kind) {
    switch (kind) {
    case 1:
        return release->memcpy;
    case 2:
        return release->memset;
    case 3:
    case 10:
        return release->kernel;
    case 4:
    case 5:
        return 40;
    case 17:
        return release->overhead;
    case 22:
        return 96;
    case 38:
        return release->synchronization;
    case 39:
        return 24;
    case 49:
        return release->memory;
    default:
        return 0;
    }
}

size_t replay_record_size(const struct replay *set, uint32_t kind) {
    return size_in(set->release, kind);
}

void replay_iterate(const struct replay *set) {
    iterated = set->release;
}

// CUPTI's own results: 12 at the end of the buffer, 21 on a kind it does not know.
uint32_t replay_next_record(uint8_t *buffer, size_t valid_size, void **record) {
    uint8_t *next = *record;
    uint32_t kind = 0;
    if (next == NULL) {
        next = buffer;
    } else {
        memcpy(&kind, next, sizeof(kind));
        next += size_in(iterated, kind);
    }
    size_t left = valid_size - (size_t)(next - buffer);
    if (left < sizeof(kind)) {
        return 12;
    }
    memcpy(&kind, next, sizeof(kind));
    size_t size = size_in(iterated, kind);
    if (size == 0) {
        return 21;
    }
    if (size > left) {
        return 12;
    }
    *record = next;
    return 0;
}
