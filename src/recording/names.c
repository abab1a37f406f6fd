// names.c - every text of a recording, kept once and called by number (names.h).
//
// The vendor hands the same pointer over again for the same kernel, so a small cache from pointer to number
// answers nearly always. A pointer proves nothing by itself (a module may be unloaded and its memory reused):
// the text is compared too.

#include "recording/names.h"

#include "recording/demangle.h"

#include <stdlib.h>
#include <string.h>

enum { CACHE_SIZE = 1024, FIRST_CAPACITY = 256 };

struct name {
    char *raw;
    char *shown; // == raw where nothing was demangled
    size_t length;
    uint64_t hash;
};

struct fp_names {
    struct name *items; // items[0] is the empty text
    uint32_t count, capacity;
    uint32_t *slots; // open addressing over items, 0: free; a power of two, at most half full
    uint32_t slot_count;
    size_t text_bytes;
    struct {
        const char *pointer;
        uint32_t name;
        enum fp_name_form form;
    } cache[CACHE_SIZE];
};

static uint64_t hash_text(const char *text, size_t length, enum fp_name_form form) {
    uint64_t hash = 0x9e3779b97f4a7c15u ^ (uint64_t)form;
    for (; length >= 8; text += 8, length -= 8) {
        uint64_t word;
        memcpy(&word, text, 8);
        hash = (hash ^ word) * 0xff51afd7ed558ccdu;
        hash ^= hash >> 32;
    }
    uint64_t tail = 0;
    memcpy(&tail, text, length);
    hash = (hash ^ tail ^ (uint64_t)length << 56) * 0xc4ceb9fe1a85ec53u;
    return hash ^ hash >> 29;
}

struct fp_names *fp_names_new(void) {
    struct fp_names *names = calloc(1, sizeof(*names));
    if (!names)
        return NULL;
    names->items = calloc(FIRST_CAPACITY, sizeof(*names->items));
    names->slots = calloc((size_t)FIRST_CAPACITY * 2, sizeof(*names->slots));
    char *empty = calloc(1, 1);
    if (!names->items || !names->slots || !empty) {
        free(names->items);
        free(names->slots);
        free(empty);
        free(names);
        return NULL;
    }
    names->items[0].raw = names->items[0].shown = empty;
    names->count = 1;
    names->capacity = FIRST_CAPACITY;
    names->slot_count = FIRST_CAPACITY * 2;
    return names;
}

void fp_names_free(struct fp_names *names) {
    if (!names)
        return;
    for (uint32_t at = 0; at < names->count; at++) {
        if (names->items[at].shown != names->items[at].raw)
            free(names->items[at].shown);
        free(names->items[at].raw);
    }
    free(names->items);
    free(names->slots);
    free(names);
}

static uint32_t *find_slot(struct fp_names *names, const char *text, size_t length, uint64_t hash) {
    uint32_t at = (uint32_t)hash & (names->slot_count - 1);
    for (;; at = (at + 1) & (names->slot_count - 1)) {
        uint32_t name = names->slots[at];
        if (!name)
            return &names->slots[at];
        const struct name *item = &names->items[name];
        if (item->hash == hash && item->length == length && memcmp(item->raw, text, length) == 0)
            return &names->slots[at];
    }
}

static bool grow(struct fp_names *names) {
    uint32_t capacity = names->capacity * 2;
    struct name *items = realloc(names->items, capacity * sizeof(*items));
    if (!items)
        return false;
    names->items = items;
    uint32_t *slots = calloc((size_t)capacity * 2, sizeof(*slots));
    if (!slots)
        return false;
    free(names->slots);
    names->slots = slots;
    names->slot_count = capacity * 2;
    names->capacity = capacity;
    for (uint32_t name = 1; name < names->count; name++) {
        uint32_t at = (uint32_t)items[name].hash & (names->slot_count - 1);
        while (slots[at])
            at = (at + 1) & (names->slot_count - 1);
        slots[at] = name;
    }
    return true;
}

static uint32_t append(struct fp_names *names, const char *text, size_t length, uint64_t hash,
                       enum fp_name_form form, uint64_t *lost) {
    if (names->count == names->capacity && !grow(names))
        return 0;
    char *raw = malloc(length + 1);
    if (!raw)
        return 0;
    memcpy(raw, text, length);
    raw[length] = '\0';
    char *shown = raw;
    if (form == FP_NAME_MANGLED && length > 2 && raw[0] == '_' && raw[1] == 'Z') {
        bool no_memory;
        char *demangled = fp_demangle(raw, &no_memory);
        if (demangled)
            shown = demangled;
        else if (no_memory && lost)
            ++*lost; // it is shown as it came
    }
    uint32_t name = names->count++;
    names->items[name] = (struct name){ raw, shown, length, hash };
    names->text_bytes += length + 1 + (shown == raw ? 0 : strlen(shown) + 1);
    *find_slot(names, text, length, hash) = name;
    return name;
}

fp_name_id fp_names_add(struct fp_names *names, const char *text, enum fp_name_form form, uint64_t *lost) {
    if (!text || !*text)
        return (fp_name_id){ 0 };
    size_t line = ((uintptr_t)text >> 3 ^ (uintptr_t)text >> 13) & (CACHE_SIZE - 1);
    if (names->cache[line].pointer == text && names->cache[line].form == form &&
        strcmp(names->items[names->cache[line].name].raw, text) == 0)
        return (fp_name_id){ names->cache[line].name };
    size_t length = strlen(text);
    uint64_t hash = hash_text(text, length, form);
    uint32_t name = *find_slot(names, text, length, hash);
    if (!name)
        name = append(names, text, length, hash, form, lost);
    if (!name) {
        if (lost)
            ++*lost;
        return (fp_name_id){ 0 };
    }
    names->cache[line].pointer = text;
    names->cache[line].name = name;
    names->cache[line].form = form;
    return (fp_name_id){ name };
}

const char *fp_names_shown(const struct fp_names *names, uint32_t name) {
    return name < names->count ? names->items[name].shown : "";
}

size_t fp_names_bytes(const struct fp_names *names) {
    return sizeof(*names) + names->capacity * sizeof(*names->items) +
           names->slot_count * sizeof(*names->slots) + names->text_bytes;
}
