// text.c - escapes, UTF-8 and hashing of the reader's spans.
//
// In:  spans as the file has them.
// Out: decoded bytes, text that is safe to print, 64-bit hashes.

#include "trace/text.h"

unsigned fp_utf8_length(const char *text, size_t size) {
    const unsigned char *s = (const unsigned char *)text;
    if (!size)
        return 0;
    if (s[0] < 0x80)
        return 1;
    // The second byte's range is what keeps overlong forms, surrogates and values beyond U+10FFFF out.
    unsigned length = s[0] >= 0xF0 ? 4 : s[0] >= 0xE0 ? 3 : 2;
    unsigned low = s[0] == 0xE0 ? 0xA0 : s[0] == 0xF0 ? 0x90 : 0x80;
    unsigned high = s[0] == 0xED ? 0x9F : s[0] == 0xF4 ? 0x8F : 0xBF;
    if (s[0] < 0xC2 || s[0] > 0xF4 || size < length || s[1] < low || s[1] > high)
        return 0;
    for (unsigned i = 2; i < length; i++)
        if ((s[i] & 0xC0) != 0x80)
            return 0;
    return length;
}

static size_t utf8_write(uint32_t code, char *out) {
    if (code < 0x80) {
        out[0] = (char)code;
        return 1;
    }
    if (code < 0x800) {
        out[0] = (char)(0xC0 | code >> 6);
        out[1] = (char)(0x80 | (code & 0x3F));
        return 2;
    }
    if (code < 0x10000) {
        out[0] = (char)(0xE0 | code >> 12);
        out[1] = (char)(0x80 | (code >> 6 & 0x3F));
        out[2] = (char)(0x80 | (code & 0x3F));
        return 3;
    }
    out[0] = (char)(0xF0 | code >> 18);
    out[1] = (char)(0x80 | (code >> 12 & 0x3F));
    out[2] = (char)(0x80 | (code >> 6 & 0x3F));
    out[3] = (char)(0x80 | (code & 0x3F));
    return 4;
}

// Four hexadecimal digits behind "\u"; false where there are none.
static bool hex4(const char *at, size_t size, uint32_t *code) {
    uint32_t sum = 0;
    if (size < 4)
        return false;
    for (int i = 0; i < 4; i++) {
        char c = at[i];
        int digit = c >= '0' && c <= '9'   ? c - '0'
                    : c >= 'a' && c <= 'f' ? c - 'a' + 10
                    : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                           : -1;
        if (digit < 0)
            return false;
        sum = sum << 4 | (uint32_t)digit;
    }
    *code = sum;
    return true;
}

size_t fp_text_unescape(struct fp_text text, char *out) {
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    const char *at = text.at, *end = text.at + text.size;
    char *to_at = out;
    while (at < end) {
        if (*at != '\\' || at + 1 == end) {
            *to_at++ = *at++;
            continue;
        }
        const char *known = at[1] ? strchr(from, at[1]) : NULL;
        uint32_t code, low;
        if (known) {
            *to_at++ = to[known - from];
            at += 2;
        } else if (at[1] == 'u' && hex4(at + 2, (size_t)(end - at - 2), &code)) {
            at += 6;
            if (code >= 0xD800 && code < 0xDC00 && end - at >= 6 && at[0] == '\\' && at[1] == 'u' &&
                hex4(at + 2, 4, &low) && low >= 0xDC00 && low < 0xE000) {
                code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
                at += 6;
            } else if (code >= 0xD800 && code < 0xE000) {
                code = 0xFFFD;
            }
            to_at += utf8_write(code, to_at);
        } else {
            *to_at++ = *at++;
        }
    }
    return (size_t)(to_at - out);
}

char *fp_text_show(struct fp_text text, char *out, size_t room) {
    static const char hex[] = "0123456789abcdef";
    size_t used = 0, i = 0, cut = 0; // cut: the last place where "..." still fits
    while (i < text.size) {
        unsigned char c = (unsigned char)text.at[i];
        char piece[4];
        size_t piece_size, step = 1;
        if (c < 0x20 || c == 0x7F ||
            (c == 0xC2 && i + 1 < text.size && (unsigned char)text.at[i + 1] < 0xA0 &&
             (unsigned char)text.at[i + 1] >= 0x80)) {
            if (c == 0xC2) // the C1 controls, which some terminals obey
                c = (unsigned char)text.at[i + 1], step = 2;
            piece[0] = '\\', piece[1] = 'x', piece[2] = hex[c >> 4], piece[3] = hex[c & 15];
            piece_size = 4;
        } else {
            step = fp_utf8_length(text.at + i, text.size - i);
            piece_size = step ? step : 3;
            memcpy(piece, step ? text.at + i : "\xEF\xBF\xBD", piece_size);
            step += !step;
        }
        if (used + piece_size + 1 > room) {
            if (room > 4) {
                memcpy(out + cut, "...", 3);
                used = cut + 3;
            }
            break;
        }
        memcpy(out + used, piece, piece_size);
        used += piece_size;
        if (used + 4 <= room)
            cut = used;
        i += step;
    }
    if (room)
        out[used] = '\0';
    return out;
}

static uint64_t mix(uint64_t a, uint64_t b) {
    unsigned __int128 product = (unsigned __int128)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

uint64_t fp_text_hash(const char *text, size_t size) {
    const uint64_t k0 = 0xa0761d6478bd642fULL, k1 = 0xe7037ed1a0b428dbULL; // odd numbers with balanced bits
    uint64_t hash = size ^ k0, a = 0, b = 0;
    while (size > 16) {
        memcpy(&a, text, 8);
        memcpy(&b, text + 8, 8);
        hash = mix(a ^ k1, b ^ hash);
        text += 16;
        size -= 16;
    }
    a = b = 0;
    if (size >= 8) {
        memcpy(&a, text, 8);
        memcpy(&b, text + size - 8, 8);
    } else if (size >= 4) {
        uint32_t first, last;
        memcpy(&first, text, 4);
        memcpy(&last, text + size - 4, 4);
        a = first;
        b = last;
    } else if (size) {
        a = (uint64_t)(unsigned char)text[0] << 16 | (uint64_t)(unsigned char)text[size / 2] << 8 |
            (unsigned char)text[size - 1];
    }
    return mix(k1 ^ size, mix(a ^ k1, b ^ hash));
}
