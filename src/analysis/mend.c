// mend.c - bytes that a strict parser refuses become what they must have meant.
//
// In:  text that the reader stepped through.
// Out: valid UTF-8, and JSON with known escapes only.

#include "analysis/mend.h"

#include <stdlib.h>
#include <string.h>

static void append(struct fp_mender *mender, const char *at, size_t size) {
    if (mender->failed)
        return;
    if (size > mender->room - mender->used) {
        size_t room = (mender->used + size) * 2 + 256;
        char *grown = realloc(mender->at, room);
        if (!grown) {
            mender->failed = true;
            return;
        }
        mender->at = grown;
        mender->room = room;
    }
    memcpy(mender->at + mender->used, at, size);
    mender->used += size;
}

static bool has_high_bytes(struct fp_text text) {
    unsigned char all = 0;
    for (size_t i = 0; i < text.size; i++)
        all |= (unsigned char)text.at[i];
    return all >= 0x80;
}

static bool is_utf8(struct fp_text text) {
    for (size_t i = 0; i < text.size;) {
        unsigned length = fp_utf8_length(text.at + i, text.size - i);
        if (!length)
            return false;
        i += length;
    }
    return true;
}

static bool is_hex4(const char *at, size_t size) {
    if (size < 4)
        return false;
    for (int i = 0; i < 4; i++)
        if (!((at[i] >= '0' && at[i] <= '9') || ((at[i] | 32) >= 'a' && (at[i] | 32) <= 'f')))
            return false;
    return true;
}

// The bytes of a good escape at `at`, or 0.
static size_t escape_size(const char *at, size_t size) {
    if (size >= 2 && at[1] && strchr("\"\\/bfnrt", at[1]))
        return 2;
    return size >= 6 && at[1] == 'u' && is_hex4(at + 2, size - 2) ? 6 : 0;
}

// Inside a string. Returns how many bytes of the text were dealt with.
static size_t mend_in_string(struct fp_mender *mender, const char *at, size_t size) {
    static const char hex[] = "0123456789abcdef";
    unsigned char c = (unsigned char)*at;
    if (c == '\\') {
        size_t good = escape_size(at, size);
        if (good) {
            append(mender, at, good);
            return good;
        }
        mender->mended.escapes++;
        append(mender, "\\\\", 2);
        return 1;
    }
    if (c < 0x20) {
        char escape[] = { '\\', 'u', '0', '0', hex[c >> 4], hex[c & 15] };
        mender->mended.controls++;
        append(mender, escape, sizeof(escape));
        return 1;
    }
    unsigned length = fp_utf8_length(at, size);
    if (!length) {
        mender->mended.utf8++;
        append(mender, "\xEF\xBF\xBD", 3);
        return 1;
    }
    append(mender, at, length);
    return length;
}

// Whether the byte stands between words. A zero byte does not: strchr would find it at the end of its own text.
static bool stands_between(char c) {
    return c && strchr(",:{}[] \t\r\n", c);
}

// A bare word outside strings: true, false, null and numbers stay, NaN and infinities become null.
static size_t mend_word(struct fp_mender *mender, const char *at, size_t size) {
    size_t length = 0;
    while (length < size && at[length] != '"' && !stands_between(at[length]))
        length++;
    if (!length)
        length = 1;
    struct fp_text word = { at, length };
    bool literal =
        fp_text_equals(word, "true") || fp_text_equals(word, "false") || fp_text_equals(word, "null");
    if (literal || fp_number_is_json(word)) {
        append(mender, at, length);
    } else {
        mender->mended.numbers++;
        append(mender, "null", 4);
    }
    return length;
}

// A comma with nothing but blanks between it and the bracket that closes.
static bool comma_is_last(struct fp_text text, size_t i) {
    for (i++; i < text.size && strchr(" \t\r\n", text.at[i]) && text.at[i];)
        i++;
    return i < text.size && (text.at[i] == '}' || text.at[i] == ']');
}

bool fp_mend_needed(const struct fp_mender *mender, struct fp_text text) {
    return mender->salvaged || (has_high_bytes(text) && !is_utf8(text));
}

static struct fp_text result(const struct fp_mender *mender) {
    return mender->failed ? (struct fp_text){ "", 0 } : (struct fp_text){ mender->at, mender->used };
}

struct fp_text fp_mend_json(struct fp_mender *mender, struct fp_text text) {
    if (!fp_mend_needed(mender, text))
        return text;
    mender->used = 0;
    bool in_string = false;
    for (size_t i = 0; i < text.size && !mender->failed;) {
        char c = text.at[i];
        if (in_string && c != '"') {
            i += mend_in_string(mender, text.at + i, text.size - i);
            continue;
        }
        if (c == '"')
            in_string = !in_string;
        if (c != '"' && !stands_between(c)) {
            i += mend_word(mender, text.at + i, text.size - i);
            continue;
        }
        if (!in_string && c == ',' && comma_is_last(text, i))
            mender->mended.commas++;
        else
            append(mender, &c, 1);
        i++;
    }
    return result(mender);
}

struct fp_text fp_mend_text(struct fp_mender *mender, struct fp_text text) {
    if (!has_high_bytes(text) || is_utf8(text))
        return text;
    mender->used = 0;
    for (size_t i = 0; i < text.size && !mender->failed;) {
        unsigned length = fp_utf8_length(text.at + i, text.size - i);
        mender->mended.utf8 += !length;
        append(mender, length ? text.at + i : "\xEF\xBF\xBD", length ? length : 3);
        i += length ? length : 1;
    }
    return result(mender);
}

void fp_mender_free(struct fp_mender *mender) {
    free(mender->at);
    *mender = (struct fp_mender){ 0 };
}
