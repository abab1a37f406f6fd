// shorten.h - long names in few columns, still told apart.
//
// In:  texts that are safe for a terminal, and a width.
// Out: texts of at most that many columns; two that differ stay two.
#ifndef FP_CLI_SHORTEN_H
#define FP_CLI_SHORTEN_H

#include <stddef.h>

// How many columns of a terminal a text takes: characters, not bytes.
size_t fp_text_width(const char *text, size_t size);

// Byte offset of the n-th character.
size_t fp_text_offset(const char *text, size_t size, size_t n);

// Replaces every text (each from malloc) that is wider than `width`: a C++ name loses its return type, its
// parameters and namespaces; what is still too wide, its middle, with ".." in its place. Where two would then read the same, what differs is shown, and where that does not do a number
// behind them. `width` is 12 or more. When memory is out, texts stay as they are.
void fp_shorten(char **texts, size_t count, size_t width);

#endif
