// text_arena.h - texts that a vendor promises only inside its callback, kept to the end of the process.
//
// In:  a text, in a callback: no lock is taken and nothing is allocated, the address space was reserved
//      before.
// Out: a pointer to the one copy of it. Callbacks of several threads may keep texts at once.
#ifndef FP_TRACERS_TEXT_ARENA_H
#define FP_TRACERS_TEXT_ARENA_H

#include <stddef.h>

struct fp_text_arena;

struct fp_text_arena *fp_text_arena_new(size_t bytes, size_t texts); // NULL: no address space
void fp_text_arena_free(struct fp_text_arena *arena); // nobody may hold a text of it. NULL is fine
// NULL for NULL and when the arena is full.
const char *fp_text_arena_keep(struct fp_text_arena *arena, const char *text);

#endif
