// secrets.c - access tokens and passwords that wrappers store in a trace's metadata.
//
// In:  valid JSON text.
// Out: the places of secrets' values; callers see keys only. One walk over the text with a key remembered
//      for each member; nesting needs no stack, since a value follows its key at once.

#include "analysis/secrets.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static bool ends_with(const char *text, size_t size, const char *end) {
    size_t tail = strlen(end);
    return size >= tail && memcmp(text + size - tail, end, tail) == 0;
}

bool fp_secret_key(struct fp_text key) {
    static const char *endings[] = { "_TOKEN",     "_SECRET", "PASSWORD",     "PASSWD",
                                     "_KEY",       "APIKEY",  "_CREDENTIALS", "_CREDENTIAL",
                                     "PASSPHRASE", "_PAT",    "SECRET",       "AUTHTOKEN" };
    // Words that end likewise and are no secrets: of tokenizers, of tables, of key pairs.
    static const char *harmless[] = { "PAD_TOKEN",   "EOS_TOKEN",   "BOS_TOKEN", "UNK_TOKEN",    "SEP_TOKEN",
                                      "CLS_TOKEN",   "MASK_TOKEN",  "SORT_KEY",  "CACHE_KEY",    "PUBLIC_KEY",
                                      "PRIMARY_KEY", "FOREIGN_KEY", "PER_TOKEN", "PARTITION_KEY" };
    char upper[128];
    size_t size = 0, from = key.size > sizeof(upper) ? key.size - sizeof(upper) : 0; // the ending decides
    for (size_t i = from; i < key.size; i++)
        upper[size++] = key.at[i] == '-' || key.at[i] == '.' ? '_' : (char)toupper((unsigned char)key.at[i]);
    if (size == 5 && memcmp(upper, "TOKEN", 5) == 0)
        return true;
    for (size_t i = 0; i < sizeof(harmless) / sizeof(*harmless); i++)
        if (ends_with(upper, size, harmless[i]))
            return false;
    for (size_t i = 0; i < sizeof(endings) / sizeof(*endings); i++)
        if (ends_with(upper, size, endings[i]))
            return true;
    return false;
}

static const char *string_end(const char *at, const char *end) {
    for (at++; at < end && *at != '"'; at++)
        at += *at == '\\';
    return at < end ? at + 1 : end;
}

static const char *value_end(const char *at, const char *end) {
    if (*at == '"')
        return string_end(at, end);
    size_t depth = 0;
    while (at < end) {
        if (*at == '"') {
            at = string_end(at, end);
            continue;
        }
        depth += *at == '{' || *at == '[';
        if (*at == '}' || *at == ']') {
            if (!depth)
                return at;
            depth--;
        }
        if (!depth && *at == ',')
            return at;
        at++;
    }
    return end;
}

static const char *skip_blanks(const char *at, const char *end) {
    while (at < end && (*at == ' ' || *at == '\t' || *at == '\r' || *at == '\n'))
        at++;
    return at;
}

// A value worth hiding: a text or a list that is not empty. Numbers and switches are none.
static bool has_value(const char *at, const char *end) {
    if (end - at < 2 || (*at != '"' && *at != '{' && *at != '['))
        return false;
    const char *next = *at == '"' ? at + 1 : skip_blanks(at + 1, end);
    return next < end &&
           *next != (*at == '"' ? '"' : *at + 2); // in ASCII a bracket closes two places after it opens
}

// A text KEY=VALUE whose key names a secret: the key's length, else 0.
static size_t assignment(const char *at, const char *end) {
    const char *text = at + 1, *i = text;
    while (i < end && (isalnum((unsigned char)*i) || *i == '_' || *i == '-'))
        i++;
    if (i >= end || *i != '=' || i == text || i + 1 >= end || i[1] == '"')
        return 0;
    return fp_secret_key((struct fp_text){ text, (size_t)(i - text) }) ? (size_t)(i - text) : 0;
}

struct secret {
    struct fp_text key;
    const char *from, *to; // what is hidden
    bool whole;            // a whole value, else the part of a text behind '='
};

// The next secret at or behind `at`, which stands outside any string. False at the end.
static bool next_secret(const char **cursor, const char *end, struct secret *secret) {
    const char *at = *cursor;
    while (at < end) {
        if (*at != '"') {
            at++;
            continue;
        }
        const char *behind = string_end(at, end);
        const char *colon = skip_blanks(behind, end);
        if (colon < end && *colon == ':') {
            const char *value = skip_blanks(colon + 1, end);
            struct fp_text key = { at + 1, (size_t)(behind - at) - 2 };
            if (fp_secret_key(key) && has_value(value, end)) {
                *secret = (struct secret){ key, value, value_end(value, end), true };
                *cursor = secret->to;
                return true;
            }
            at = value;
            continue;
        }
        size_t key = assignment(at, behind);
        if (key) {
            *secret = (struct secret){ { at + 1, key }, at + 1 + key + 1, behind - 1, false };
            *cursor = behind;
            return true;
        }
        at = behind;
    }
    *cursor = at;
    return false;
}

size_t fp_secrets_find(struct fp_text value, void (*each)(void *user, struct fp_text key), void *user) {
    const char *cursor = value.at, *end = value.at + value.size;
    struct secret secret;
    size_t count = 0;
    while (next_secret(&cursor, end, &secret)) {
        count++;
        if (each)
            each(user, secret.key);
    }
    return count;
}

struct fp_text fp_secrets_remove(struct fp_text value, size_t *count) {
    const char *cursor = value.at, *end = value.at + value.size, *copied = value.at;
    // A hidden value may be shorter than what replaces it; a key of three letters is the least that precedes
    // it.
    char *out = malloc(value.size * 4 + sizeof(FP_SECRET_REMOVED) + 2), *to = out;
    struct secret secret;
    *count = 0;
    if (!out)
        return (struct fp_text){ NULL, 0 };
    while (next_secret(&cursor, end, &secret)) {
        const char *with = secret.whole ? "\"" FP_SECRET_REMOVED "\"" : FP_SECRET_REMOVED;
        memcpy(to, copied, (size_t)(secret.from - copied));
        to += secret.from - copied;
        memcpy(to, with, strlen(with));
        to += strlen(with);
        copied = secret.to;
        ++*count;
    }
    memcpy(to, copied, (size_t)(end - copied));
    to += end - copied;
    return (struct fp_text){ out, (size_t)(to - out) };
}
