// secrets.h - access tokens and passwords that wrappers store in a trace's metadata.
//
// In:  JSON text.
// Out: whether it holds keys that name a secret and have a value; the text without those values. The
//      values themselves are never handed out.
#ifndef FLAGPROF_ANALYSIS_SECRETS_H
#define FLAGPROF_ANALYSIS_SECRETS_H

#include <stdbool.h>
#include <stddef.h>

#include "trace/text.h"

// *_TOKEN, *_SECRET, *PASSWORD, *_KEY and their like, in any case; not what a tokenizer calls a token.
bool fp_secret_key(struct fp_text key);

// A key beside the events whose own value is a secret, not removed yet.
bool fp_secret_header(struct fp_text key, struct fp_text value);

// Hands every secret's key to `each` (may be NULL), wherever it stands in the value: members of objects at
// any depth, pairs of name and value, and within texts KEY=VALUE, --key value, passwords in addresses and what
// looks like a token by its beginning: then the key is that of the text, empty where it has none. Returns how
// many there are.
size_t fp_secrets_find(struct fp_text value, void (*each)(void *user, struct fp_text key), void *user);

#define FP_SECRET_REMOVED "[removed]"

// The value with every secret's value replaced by FP_SECRET_REMOVED, in memory that the caller frees; *count
// says how many. {NULL, 0} when memory is out.
struct fp_text fp_secrets_remove(struct fp_text value, size_t *count);

#endif
