// secrets.c - access tokens and passwords that wrappers store in a trace's metadata.
//
// In:  valid JSON text.
// Out: the places of secrets' values; callers see keys only. One walk over the text with a key remembered
//      for each member; nesting needs no stack, since a value follows its key at once. Texts are looked through for
//      command lines, addresses, JSON put into a text, and the beginnings that issuers give their tokens.

#include "analysis/secrets.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static bool ends_with(const char *text, size_t size, const char *end) {
    size_t tail = strlen(end);
    return size >= tail && memcmp(text + size - tail, end, tail) == 0;
}

// The key's end in capitals, its words parted by underscores: "clientSecret" and "client-secret" are CLIENT_SECRET.
static size_t in_capitals(struct fp_text key, char upper[128]) {
    size_t size = 0;
    for (size_t i = key.size > 60 ? key.size - 60 : 0; i < key.size; i++) { // the ending decides
        unsigned char c = (unsigned char)key.at[i];
        if (size && isupper(c) && islower((unsigned char)key.at[i - 1]))
            upper[size++] = '_';
        upper[size++] = c == '-' || c == '.' || c == ' ' ? '_' : (char)toupper(c);
    }
    return size;
}

bool fp_secret_key(struct fp_text key) {
    static const char *endings[] = {
        "_TOKEN",        "_SECRET",     "PASSWORD",
        "PASSWD",        "_KEY",        "APIKEY",
        "_CREDENTIALS",  "_PAT",        "SECRET",
        "AUTHTOKEN",     "_CREDENTIAL", "_PWD",
        "AUTHORIZATION", "PASSPHRASE",  "DB_PASS",
        "SQL_PASS",      "USER_PASS",   "ACCESS_KEY_ID",
        "BEARER",        "_COOKIE",     "CONNECTION_STRING",
        "ADMIN_PASS",    "_WEBHOOK",    "_JWT",
        "WEBHOOK_URL",   "_DSN",        "SMTP_PASS",
    };
    // Words that end likewise and are no secrets: of tokenizers, of tables, of key pairs, of Python's images.
    static const char *harmless[] = {
        "PAD_TOKEN",     "EOS_TOKEN",  "BOS_TOKEN",   "UNK_TOKEN",  "SEP_TOKEN",   "CLS_TOKEN",
        "MASK_TOKEN",    "SORT_KEY",   "CACHE_KEY",   "PUBLIC_KEY", "PRIMARY_KEY", "FOREIGN_KEY",
        "PER_TOKEN",     "END_TOKEN",  "START_TOKEN", "STOP_TOKEN", "FIRST_TOKEN", "PARTITION_KEY",
        "GPG_KEY",       "NEXT_TOKEN", "LAST_TOKEN",  "GROUP_KEY",  "IMAGE_TOKEN", "DICT_KEY",
        "SPECIAL_TOKEN", "HASH_KEY",
    };
    static const char *whole[] = { "TOKEN", "COOKIE" };
    char upper[128];
    size_t size = in_capitals(key, upper);
    for (size_t i = 0; i < sizeof(whole) / sizeof(*whole); i++)
        if (size == strlen(whole[i]) && memcmp(upper, whole[i], size) == 0)
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

// Removed before, or hidden by the one who wrote it, or nothing.
static bool is_hidden(struct fp_text text) {
    size_t same = 0;
    while (same < text.size && (text.at[same] == '*' || text.at[same] == 'x' || text.at[same] == 'X'))
        same++;
    return (same == text.size && same != 1 && same != 2) || fp_text_has(text, "removed]") ||
           fp_text_has(text, "REDACTED") || fp_text_has(text, "redacted");
}

// A value worth hiding: a text or a list that is not empty. Numbers and switches are none.
static bool has_value(const char *at, const char *end) {
    if (end - at < 2 || (*at != '"' && *at != '{' && *at != '['))
        return false;
    if (*at == '"')
        return !is_hidden((struct fp_text){ at + 1, (size_t)(string_end(at, end) - at) - 2 });
    const char *next = skip_blanks(at + 1, end);
    return next < end && *next != *at + 2; // in ASCII a bracket closes two places after it opens
}

bool fp_secret_header(struct fp_text key, struct fp_text value) {
    return value.size > 2 && value.at[0] == '"' && fp_secret_key(key) &&
           has_value(value.at, value.at + value.size);
}

struct secret {
    struct fp_text key;    // empty: the text itself looks like a secret, under no key
    const char *from, *to; // what is hidden
    bool whole;            // a whole value, else a part of a text
};

// ---- Within a text

// A text's bytes without its quotes, escapes as the file has them.
struct span {
    const char *begin, *end;
};

static bool is_word(char c) {
    return isalnum((unsigned char)c) || c == '_' || c == '-' || c == '.';
}

static bool is_token(char c) {
    return is_word(c) || (c && strchr("~+/=", c));
}

static const char *word_end(const char *at, const char *end) {
    while (at < end && is_word(*at))
        at++;
    return at;
}

// To the blank, separator or quote that ends a value in a command line, an address or a script.
static const char *value_stop(const char *at, const char *end) {
    while (at < end && !strchr(" \t;&,'\"`\\|)", *at))
        at++;
    return at;
}

static bool take(struct secret *secret, const char *key, const char *key_end, const char *from,
                 const char *to) {
    struct fp_text value = { from, (size_t)(to - from) };
    *secret = (struct secret){ { key, (size_t)(key_end - key) }, from, to, false };
    bool number = true;
    for (size_t i = 0; i < value.size; i++)
        number &= isdigit((unsigned char)value.at[i]) || value.at[i] == '.';
    return value.size && !number && !is_hidden(value);
}

// Behind a quote of JSON or Python that was put into a text: \" or '. NULL where there is none.
static const char *inner_quote(const char *at, const char *end) {
    if (at < end && *at == '\'')
        return at + 1;
    return end - at >= 2 && at[0] == '\\' && at[1] == '"' ? at + 2 : NULL;
}

// KEY=VALUE. At the text's beginning the value is all the rest, as in an environment's list.
static bool is_assignment(struct span text, const char *equals, struct secret *secret) {
    const char *key = equals;
    while (key > text.begin && is_word(key[-1]))
        key--;
    bool all = key == text.begin;
    while (key < equals && *key == '-')
        key++, all = false;
    if (key == equals || !fp_secret_key((struct fp_text){ key, (size_t)(equals - key) }))
        return false;
    const char *from = equals + 1, *quoted = inner_quote(from, text.end);
    from = quoted ? quoted : from;
    return take(secret, key, equals, from, all ? text.end : value_stop(from, text.end));
}

// --key value.
static bool is_option(struct span text, const char *at, struct secret *secret) {
    const char *behind = word_end(at + 2, text.end);
    if (behind >= text.end || *behind != ' ' || behind + 1 == text.end || behind[1] == '-' ||
        !fp_secret_key((struct fp_text){ at + 2, (size_t)(behind - at) - 2 }))
        return false;
    return take(secret, at + 2, behind, behind + 1, value_stop(behind + 1, text.end));
}

// \"KEY\": \"VALUE\" or 'KEY': 'VALUE'.
static bool is_member(struct span text, const char *at, struct secret *secret) {
    const char *key = inner_quote(at, text.end);
    if (!key)
        return false;
    const char *key_end = word_end(key, text.end), *behind = inner_quote(key_end, text.end);
    if (!behind || key == key_end || !fp_secret_key((struct fp_text){ key, (size_t)(key_end - key) }))
        return false;
    behind = skip_blanks(behind, text.end);
    if (behind >= text.end || *behind != ':')
        return false;
    const char *from = inner_quote(skip_blanks(behind + 1, text.end), text.end), *to = from;
    while (to && to < text.end && !inner_quote(to, text.end))
        to++;
    return from && take(secret, key, key_end, from, to);
}

// ://user:password@
static bool is_address(struct span text, const char *at, struct secret *secret) {
    const char *from = at + 3, *colon = NULL, *to = from;
    for (; to < text.end && *to != '@'; to++) {
        if (!isgraph((unsigned char)*to) || strchr("/?#\\\"'<>", *to))
            return false;
        if (*to == ':' && !colon)
            colon = to;
    }
    return to < text.end && colon && take(secret, at, at, colon + 1, to);
}

// What issuers begin their tokens with, and how many letters follow at least.
static const struct {
    const char *prefix;
    size_t least;
} issued[] = {
    { "ghp_", 20 },   { "gho_", 20 },       { "ghs_", 20 },   { "github_pat_", 20 }, { "hf_", 20 },
    { "sk-", 20 },    { "AKIA", 16 },       { "ASIA", 16 },   { "xoxb-", 16 },       { "xoxp-", 16 },
    { "glpat-", 16 }, { "eyJ", 40 },        { "Bearer ", 8 }, { "bearer ", 8 },      { "nvapi-", 20 },
    { "AIza", 30 },   { "-----BEGIN ", 1 },
};

static bool is_issued(struct span text, const char *at, struct secret *secret) {
    for (size_t i = 0; i < sizeof(issued) / sizeof(*issued); i++) {
        size_t size = strlen(issued[i].prefix);
        if ((size_t)(text.end - at) < size + issued[i].least || memcmp(at, issued[i].prefix, size) != 0)
            continue;
        if (*at == '-') // a private key, to the text's end; certificates are no secrets
            return fp_text_has((struct fp_text){ at, (size_t)(text.end - at) }, "PRIVATE KEY") &&
                   take(secret, at, at, at, text.end);
        bool digit = false;
        const char *to = at + size;
        while (to < text.end && is_token(*to))
            digit |= isdigit((unsigned char)*to++) != 0;
        return digit && (size_t)(to - at) >= size + issued[i].least && take(secret, at, at, at, to);
    }
    return false;
}

// The first secret in the text at or behind `at`.
static bool find_in_text(struct span text, const char *at, struct secret *secret) {
    for (; at < text.end; at++) {
        bool begins = at == text.begin || !is_word(at[-1]);
        if ((*at == '=' && is_assignment(text, at, secret)) ||
            (*at == ':' && text.end - at > 3 && memcmp(at, "://", 3) == 0 && is_address(text, at, secret)) ||
            ((*at == '\'' || *at == '\\') && is_member(text, at, secret)) ||
            (begins && *at == '-' && text.end - at > 3 && at[1] == '-' && is_option(text, at, secret)) ||
            (begins && strchr("ghsxAeBn-b", *at) && is_issued(text, at, secret)))
            return true;
    }
    return false;
}

// ---- Within a value

struct cursor {
    const char *at, *end;
    struct span text;   // the text that is being looked through; begin NULL: none
    struct fp_text key; // that a text stands under
};

// Whether the text at[..behind) is an option whose value is the list's next element, as in ["--token", "x"].
static bool is_listed_option(const char *at, const char *behind, const char *end, struct secret *secret) {
    const char *key = at + 1, *next = skip_blanks(behind, end);
    while (key < behind && *key == '-')
        key++;
    if (key == at + 1 || next >= end || *next != ',')
        return false;
    next = skip_blanks(next + 1, end);
    struct fp_text name = { key, (size_t)(behind - key) - 1 };
    if (key >= behind || !fp_secret_key(name) || next + 1 >= end || *next != '"' || next[1] == '-' ||
        !has_value(next, end))
        return false;
    *secret = (struct secret){ name, next, string_end(next, end), true };
    return true;
}

// {"name": "HF_TOKEN", "value": "x"}: the key is a value, too.
static bool is_named(struct fp_text key, const char *value, const char *end, struct secret *secret) {
    if (!fp_text_equals(key, "name") && !fp_text_equals(key, "key") && !fp_text_equals(key, "Name") &&
        !fp_text_equals(key, "Key"))
        return false;
    if (value >= end || *value != '"')
        return false;
    const char *behind = string_end(value, end), *next = skip_blanks(behind, end);
    struct fp_text name = { value + 1, (size_t)(behind - value) - 2 };
    if (next >= end || *next != ',' || !fp_secret_key(name))
        return false;
    next = skip_blanks(next + 1, end);
    if (end - next < 8 || (memcmp(next, "\"value\"", 7) != 0 && memcmp(next, "\"Value\"", 7) != 0))
        return false;
    next = skip_blanks(next + 7, end);
    next = next < end && *next == ':' ? skip_blanks(next + 1, end) : end;
    if (next >= end || *next != '"' || !has_value(next, end))
        return false;
    *secret = (struct secret){ name, next, string_end(next, end), true };
    return true;
}

// The text at[..behind) outside which the cursor stands. True with the secret that it names.
static bool meet_text(struct cursor *cursor, const char *at, const char *behind, struct secret *secret) {
    const char *colon = skip_blanks(behind, cursor->end);
    bool found;
    if (colon < cursor->end && *colon == ':') {
        const char *value = skip_blanks(colon + 1, cursor->end);
        cursor->key = (struct fp_text){ at + 1, (size_t)(behind - at) - 2 };
        cursor->at = value;
        found = fp_secret_key(cursor->key) && has_value(value, cursor->end);
        if (found)
            *secret = (struct secret){ cursor->key, value, value_end(value, cursor->end), true };
        else
            found = is_named(cursor->key, value, cursor->end, secret);
    } else {
        cursor->at = at + 1;
        cursor->text = (struct span){ at + 1, behind - 1 };
        found = is_listed_option(at, behind, cursor->end, secret);
    }
    if (found) {
        cursor->at = secret->to;
        cursor->text.begin = NULL;
    }
    return found;
}

// The next secret. False at the end.
static bool next_secret(struct cursor *cursor, struct secret *secret) {
    while (cursor->at < cursor->end) {
        if (cursor->text.begin) {
            if (find_in_text(cursor->text, cursor->at, secret)) {
                secret->key = secret->key.size ? secret->key : cursor->key;
                cursor->at = secret->to;
                return true;
            }
            cursor->at = cursor->text.end + 1;
            cursor->text.begin = NULL;
        } else if (*cursor->at != '"') {
            cursor->at++;
        } else if (meet_text(cursor, cursor->at, string_end(cursor->at, cursor->end), secret)) {
            return true;
        }
    }
    return false;
}

size_t fp_secrets_find(struct fp_text value, void (*each)(void *user, struct fp_text key), void *user) {
    struct cursor cursor = { .at = value.at, .end = value.at + value.size };
    struct secret secret;
    size_t count = 0;
    while (next_secret(&cursor, &secret)) {
        count++;
        if (each)
            each(user, secret.key);
    }
    return count;
}

struct fp_text fp_secrets_remove(struct fp_text value, size_t *count) {
    const char *end = value.at + value.size, *copied = value.at;
    struct cursor cursor = { .at = value.at, .end = end };
    // A hidden value may be shorter than what replaces it; "://u:p@" is the least around one.
    char *out = malloc(value.size * 4 + sizeof(FP_SECRET_REMOVED) + 2), *to = out;
    struct secret secret;
    *count = 0;
    if (!out)
        return (struct fp_text){ NULL, 0 };
    while (next_secret(&cursor, &secret)) {
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
