// shorten.c - long names in few columns, still told apart.
//
// In:  texts, a width.
// Out: a C++ name that is too long first loses what tells least: its return type, its parameters and the
//      namespaces. What is still too long is shown by its beginning and end; among those that came out
//      alike, the stretch where they part.

#include "cli/shorten.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

size_t fp_text_width(const char *text, size_t size) {
    size_t width = 0;
    for (size_t i = 0; i < size; i++)
        width += ((unsigned char)text[i] & 0xC0) != 0x80;
    return width;
}

size_t fp_text_offset(const char *text, size_t size, size_t n) {
    size_t i = 0;
    while (i < size && n) {
        i++;
        while (i < size && ((unsigned char)text[i] & 0xC0) == 0x80)
            i++;
        n--;
    }
    return i;
}

struct entry {
    const char *whole;
    char *plain; // a C++ name without what tells least; NULL: the text is none, or it fits
    char *shown; // NULL: the whole fits
    size_t place;
};

static const char *shown_of(const struct entry *entry) {
    return entry->shown ? entry->shown : entry->whole;
}

static const char *plain_of(const struct entry *entry) {
    return entry->plain ? entry->plain : entry->whole;
}

static int by_shown(const void *left, const void *right) {
    const struct entry *a = left, *b = right;
    int order = strcmp(shown_of(a), shown_of(b));
    if (!order)
        order = strcmp(plain_of(a), plain_of(b));
    if (!order)
        order = strcmp(a->whole, b->whole);
    return order ? order : a->place < b->place ? -1 : a->place > b->place;
}

// Where the parameters of a function's name begin: at the bracket that the last character closes. `size` where
// there are none.
static size_t parameters_of(const char *text, size_t size) {
    size_t depth = 0;
    for (size_t i = size; i-- > 1 && text[size - 1] == ')';) {
        depth += text[i] == ')';
        depth -= text[i] == '(';
        if (!depth)
            return i;
    }
    return size;
}

static bool in_word(char c) {
    return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

// The characters of a namespace at `at`, its colons with it; 0 where none begins.
static size_t namespace_at(const char *at) {
    static const char unnamed[] = "(anonymous namespace)::";
    size_t size = 0;
    if (strncmp(at, unnamed, sizeof(unnamed) - 1) == 0)
        return sizeof(unnamed) - 1;
    while (in_word(at[size]))
        size++;
    return size && at[size] == ':' && at[size + 1] == ':' ? size + 2 : 0;
}

// "void at::native::fill<4, at::Half>(int)" as "fill<4, Half>". NULL: the text is no C++ signature, or memory is out.
static char *plain_name(const char *whole) {
    size_t size = strlen(whole), used = 0;
    bool returns = strncmp(whole, "void ", 5) == 0;
    if (!strpbrk(whole, "<(") || (!returns && !strstr(whole, "::")))
        return NULL;
    char *plain = calloc(size + 1, 1);
    size_t end = parameters_of(whole, size);
    for (size_t i = returns ? 5 : 0; plain && i < end;) {
        size_t skip = namespace_at(whole + i);
        bool word = in_word(whole[i]);
        i += skip;
        if (skip)
            continue;
        do
            plain[used++] = whole[i++];
        while (word && i < end && in_word(whole[i]));
    }
    if (plain && !used) { // nothing but a type and brackets
        free(plain);
        return NULL;
    }
    return plain;
}

// `head` characters of the beginning, "..", then those from `from` on, as many as there is room for; ".."
// again where that does not reach the end.
static char *assemble(const char *whole, size_t head, size_t from, size_t width) {
    size_t size = strlen(whole), wide = fp_text_width(whole, size), room = width - head - 2;
    if (from + room >= wide)
        from = wide - room;
    else
        room -= 2;
    size_t head_end = fp_text_offset(whole, size, head), start = fp_text_offset(whole, size, from),
           stop = start + fp_text_offset(whole + start, size - start, room);
    char *shown = NULL;
    if (asprintf(&shown, "%.*s..%.*s%s", (int)head_end, whole, (int)(stop - start), whole + start,
                 stop < size ? ".." : "") < 0)
        return NULL;
    return shown;
}

static void take(struct entry *entry, char *shown) {
    if (!shown)
        return;
    free(entry->shown);
    entry->shown = shown;
}

// The characters that two texts begin with alike.
static size_t common(const char *a, const char *b) {
    size_t i = 0;
    while (a[i] && a[i] == b[i])
        i++;
    return fp_text_width(a, i);
}

// Calls `mend` for every run of texts that read the same and are not.
static void each_run(struct entry *entries, size_t count, size_t width,
                     void (*mend)(struct entry *run, size_t count, size_t width)) {
    qsort(entries, count, sizeof(*entries), by_shown);
    for (size_t from = 0, to; from < count; from = to) {
        for (to = from + 1; to < count && strcmp(shown_of(&entries[from]), shown_of(&entries[to])) == 0; to++)
            ;
        if (strcmp(entries[from].whole, entries[to - 1].whole) != 0)
            mend(&entries[from], to - from, width);
    }
}

// The run is in order of its whole texts: what the first and the last share, all share.
static void show_difference(struct entry *run, size_t count, size_t width) {
    bool in_plain = strcmp(plain_of(&run[0]), plain_of(&run[count - 1])) != 0;
    const char *first = in_plain ? plain_of(&run[0]) : run[0].whole,
               *last = in_plain ? plain_of(&run[count - 1]) : run[count - 1].whole;
    size_t parts = common(first, last), head = width / 3;
    for (size_t i = 0; i < count; i++) {
        const char *text = in_plain ? plain_of(&run[i]) : run[i].whole;
        if (run[i].shown && fp_text_width(text, strlen(text)) > width)
            take(&run[i], assemble(text, head, parts > head + 2 ? parts - 2 : head, width));
    }
}

static void number(struct entry *run, size_t count, size_t width) {
    size_t which = 0;
    for (size_t i = 0; i < count; i++) {
        which += i == 0 || strcmp(run[i].whole, run[i - 1].whole) != 0;
        char mark[24], *shown = NULL;
        int marked = snprintf(mark, sizeof(mark), " #%zu", which);
        if (!run[i].shown)
            continue;
        size_t size = strlen(run[i].shown);
        if (asprintf(&shown, "%.*s%s", (int)fp_text_offset(run[i].shown, size, width - (size_t)marked),
                     run[i].shown, mark) >= 0)
            take(&run[i], shown);
    }
}

void fp_shorten(char **texts, size_t count, size_t width) {
    struct entry *entries = calloc(count ? count : 1, sizeof(*entries));
    size_t longer = 0;
    if (!entries)
        return;
    for (size_t i = 0; i < count; i++) {
        size_t size = strlen(texts[i]), wide = fp_text_width(texts[i], size), tail = (width - 2) / 3;
        entries[i] = (struct entry){ .whole = texts[i], .place = i };
        longer += wide > width;
        if (wide <= width)
            continue;
        entries[i].plain = plain_name(texts[i]);
        const char *plain = plain_of(&entries[i]);
        wide = fp_text_width(plain, strlen(plain));
        entries[i].shown =
            wide > width ? assemble(plain, width - 2 - tail, wide - tail, width) : strdup(plain);
    }
    if (longer) {
        each_run(entries, count, width, show_difference);
        each_run(entries, count, width, number);
    }
    for (size_t i = 0; i < count; i++) {
        free(entries[i].plain);
        if (entries[i].shown) {
            size_t place = entries[i].place;
            free(texts[place]);
            texts[place] = entries[i].shown;
        }
    }
    free(entries);
}
