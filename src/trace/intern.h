// intern.h - one small number for each distinct text.
//
// In:  texts in any order.
// Out: ids 0, 1, 2, ... in order of first sight, and the text of an id. The copy of the text lives until
//      the table is freed. One thread at a time.
#ifndef FLAGPROF_TRACE_INTERN_H
#define FLAGPROF_TRACE_INTERN_H

#include <stdint.h>

#include "trace/text.h"

struct fp_intern;

#define FP_NO_ID UINT32_MAX

// NULL when memory is out.
struct fp_intern *fp_intern_new(void);
void fp_intern_free(struct fp_intern *table); // NULL is allowed

// The id of `text`, new or old; FP_NO_ID when memory is out.
uint32_t fp_intern_add(struct fp_intern *table, struct fp_text text);

// As above with the text's fp_text_hash.
uint32_t fp_intern_add_hashed(struct fp_intern *table, struct fp_text text, uint64_t hash);

// FP_NO_ID when the text was never added.
uint32_t fp_intern_find(const struct fp_intern *table, struct fp_text text);

// The text of an id that fp_intern_add returned.
struct fp_text fp_intern_text(const struct fp_intern *table, uint32_t id);

uint32_t fp_intern_count(const struct fp_intern *table);

// Bytes of text and tables held.
size_t fp_intern_bytes(const struct fp_intern *table);

#endif
