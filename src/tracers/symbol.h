// symbol.h - one function of a vendor's library, as a row of its table. Needs nothing but C: the layout tests
// compile the vendors' ABI headers alone.
#ifndef FP_TRACERS_SYMBOL_H
#define FP_TRACERS_SYMBOL_H

#include <stdbool.h>
#include <stddef.h>

struct fp_symbol {
    const char *name;
    size_t offset; // of its pointer in the vendor's struct of functions
    bool required; // a recording cannot do without; what is not and is lacking becomes NULL
};

#endif
