// similar.c - what stays of a name when template arguments, parameters and hashes are taken away.
//
// In:  a readable name.
// Out: text between <> and () is dropped, runs of digits become '#', a word of six or more hexadecimal
//      digits with a number among them becomes '#' as a whole.

#include "analysis/similar.h"

#include <ctype.h>

// Behind the bracket that closes the one at `i`; the end where none does.
static size_t bracket_end(struct fp_text name, size_t i) {
    size_t depth = 0;
    for (; i < name.size; i++) {
        char c = name.at[i];
        bool arrow = c == '>' && i && name.at[i - 1] == '-';
        if (c == '<' || c == '(')
            depth++;
        else if ((c == '>' && !arrow) || c == ')')
            depth -= depth > 0;
        if (!depth)
            return i + 1;
    }
    return name.size;
}

// The size of the word at `i` when it is a hash.
static size_t hash_size(struct fp_text name, size_t i) {
    size_t size = 0, digits = 0;
    while (i + size < name.size && isxdigit((unsigned char)name.at[i + size]))
        digits += isdigit((unsigned char)name.at[i + size++]) != 0;
    bool ends = i + size == name.size || !isalpha((unsigned char)name.at[i + size]);
    return size >= 6 && digits && ends ? size : 0;
}

size_t fp_name_skeleton(struct fp_text name, char *out) {
    size_t used = 0;
    bool within_word = false;
    for (size_t i = 0; i < name.size;) {
        char c = name.at[i];
        size_t hash = within_word ? 0 : hash_size(name, i);
        if (c == '<' || c == '(') {
            out[used++] = c;
            out[used++] = c == '<' ? '>' : ')';
            i = bracket_end(name, i);
        } else if (hash || isdigit((unsigned char)c)) {
            if (!used || out[used - 1] != '#')
                out[used++] = '#';
            i += hash;
            while (!hash && i < name.size && isdigit((unsigned char)name.at[i]))
                i++;
        } else {
            out[used++] = c;
            i++;
        }
        within_word = isalpha((unsigned char)c) != 0;
    }
    return used;
}
