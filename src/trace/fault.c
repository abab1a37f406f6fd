// fault.c - where a fault lies, and why, in words that a person can act on.
//
// In:  a position in the current block.
// Out: line, column and byte; a sentence that never holds a raw byte of the file.

#include "trace/reader_internal.h"

#include <stdio.h>

static uint64_t count_lines(const char *text, size_t from, size_t to) {
    uint64_t count = 0;
    for (size_t i = from; i < to; i++)
        count += text[i] == '\n';
    return count;
}

void fp_reader_place_of(const struct fp_reader *reader, size_t at, struct fp_place *place) {
    const struct fp_block *block = reader->block;
    *place = (struct fp_place){ 0 };
    place->event = UINT64_MAX;
    place->byte = block->offset + at - block->head;
    place->line = at >= block->head ? block->head_line + count_lines(block->text, block->head, at)
                                    : block->head_line - count_lines(block->text, at, block->head);
    const char *newline = memrchr(block->text + block->start, '\n', at - block->start);
    size_t from = newline ? (size_t)(newline + 1 - block->text) : block->start;
    uint64_t before = newline ? 0 : block->offset + block->start - block->head - block->start_line_begin;
    for (size_t i = from; i < at; i++)
        before += ((unsigned char)block->text[i] & 0xC0) != 0x80;
    place->column = before + 1;
}

static bool word_at(const struct fp_text text, const char *word) {
    size_t size = strlen(word);
    return text.size >= size && strncasecmp(text.at, word, size) == 0;
}

// True when the text around a backslash looks like a path of Windows: "C:\" before, or further backslashes
// near.
static bool looks_like_path(const struct fp_block *block, size_t at) {
    if (at >= block->start + 2 && block->text[at - 1] == ':')
        return true;
    size_t to = at + 64 < block->end ? at + 64 : block->end,
           from = at >= block->start + 64 ? at - 64 : block->start;
    for (size_t i = at + 1; i < to && block->text[i] != '"'; i++)
        if (block->text[i] == '\\' || memcmp(block->text + i, ".py", 3) == 0)
            return true;
    for (size_t i = at; i-- > from && block->text[i] != '"';)
        if (block->text[i] == '\\')
            return true;
    return false;
}

static const char *cause_in_string(struct fp_reader *reader) {
    const struct fp_block *block = reader->block;
    size_t at = reader->fault.at;
    unsigned char c = (unsigned char)block->text[at], next = (unsigned char)block->text[at + 1];
    if (c != '\\') {
        snprintf(reader->cause, sizeof(reader->cause), "the byte 0x%02x stands bare in a text%s", c,
                 c == '\n' ? ": a line break, or the closing quote is missing" : "; JSON wants it escaped");
        return reader->cause;
    }
    if (next == 'u')
        return "\\u without four hexadecimal digits";
    bool letter = (next | 32) >= 'a' && (next | 32) <= 'z';
    if ((letter || next == '_' || next == '.' || (next >= '0' && next <= '9')) && looks_like_path(block, at))
        return "a backslash is not escaped; it looks like a Windows path";
    char shown[16];
    fp_text_show((struct fp_text){ block->text + at + 1, 1 }, shown, sizeof(shown));
    snprintf(reader->cause, sizeof(reader->cause), "a backslash is not escaped: \\%s is no escape of JSON",
             shown);
    return reader->cause;
}

const char *fp_fault_cause(const struct fp_reader *reader_const) {
    struct fp_reader *reader = (struct fp_reader *)reader_const;
    const struct fp_block *block = reader->block;
    size_t at = reader->fault.at;
    if (!reader->fault.cause)
        return cause_in_string(reader);
    struct fp_text rest = { block->text + at, block->end - at };
    char c = block->text[at], before = at > block->start ? block->text[at - 1] : 0;
    if (c == '#' || (c == '/' && (block->text[at + 1] == '/' || block->text[at + 1] == '*')))
        return "a comment; JSON has none";
    if (reader->place == FP_AT_TOP || reader->place == FP_AT_TRAILER)
        return reader->fault.cause;
    static const char *const not_finite[] = { "nan", "inf", "-nan", "-inf", "+inf", "+nan" };
    for (size_t i = 0; i < sizeof(not_finite) / sizeof(*not_finite); i++)
        if (word_at(rest, not_finite[i]))
            return "NaN and infinity are no numbers in JSON";
    if (before == '"' && c != ':' && c != ',' && c != '}' && c != ']')
        return "a double quote inside a text is not escaped (or a comma is missing)";
    if (word_at(rest, "None") || (c == 'T' && word_at(rest, "True")) || (c == 'F' && word_at(rest, "False")))
        return "this is Python, not JSON: None, True and False are null, true and false there";
    if (c >= '0' && c <= '9' && before == ',' && at > block->start + 1 && block->text[at - 2] >= '0' &&
        block->text[at - 2] <= '9')
        return "a comma within a number; JSON's decimal mark is a point";
    if (c == '\'')
        return "text in single quotes; JSON wants double quotes";
    if (c == '}')
        return "a comma stands before a closing brace, or a value is missing";
    if (c == ']')
        return "a comma stands before a closing bracket, or a value is missing";
    if (c == '{' && (before == '}' || before == ' ' || before == '\n'))
        return "a comma is missing before this brace";
    const char *quote = memchr(rest.at, '"', rest.size < 64 ? rest.size : 64);
    if (quote && quote[1] == ':')
        return "the opening quote of a key is missing";
    if ((unsigned char)c < 0x20 || (unsigned char)c >= 0x7F) {
        snprintf(reader->cause, sizeof(reader->cause), "the byte 0x%02x has no place here", (unsigned char)c);
        return reader->cause;
    }
    return reader->fault.cause;
}

// True when the escape at `at` is one of JSON's.
static bool escape_is_known(const struct fp_block *block, size_t at) {
    char next = block->text[at + 1];
    if (next == 'u') {
        for (size_t i = 2; i < 6; i++) {
            char c = block->text[at + i];
            if (!((c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'f')))
                return false;
        }
        return true;
    }
    return next && strchr("\"\\/bfnrt", next) != NULL;
}

bool fp_reader_check_specials(struct fp_reader *reader, size_t end) {
    const struct fp_block *block = reader->block;
    while (reader->special < block->special_end && block->special[reader->special] < end) {
        size_t at = block->special[reader->special++];
        if (block->text[at] == '\\' && escape_is_known(block, at))
            continue;
        reader->fault = (struct fp_fault){ at, NULL };
        return false;
    }
    return true;
}

void fp_reader_note_at(struct fp_reader *reader, enum fp_note_kind kind, size_t at, uint64_t event,
                       const char *text) {
    struct fp_note *note = &reader->notes[kind];
    note->count++;
    if (note->place_count == FP_NOTE_PLACES)
        return;
    struct fp_place *place = &note->places[note->place_count++];
    fp_reader_place_of(reader, at, place);
    place->event = event;
    snprintf(place->text, sizeof(place->text), "%s", text ? text : "");
}
