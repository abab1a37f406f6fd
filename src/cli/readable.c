// readable.c - names of kernels as a person reads them.
//
// In:  "_Z...", "Kernel: _Z...", "_Z...$jit$123$".
// Out: the mangled part demangled, what stands around it kept: two names that differ stay two.

#include "cli/readable.h"

#include <stdio.h>
#include <stdlib.h>

#include "recording/demangle.h"

// Where the mangled part begins: at the front, or behind a blank. `size` where there is none.
static size_t mangled_from(struct fp_text name) {
    for (size_t i = 0; i + 2 < name.size; i++)
        if (name.at[i] == '_' && name.at[i + 1] == 'Z' && (i == 0 || name.at[i - 1] == ' '))
            return i;
    return name.size;
}

char *fp_readable_name(struct fp_text name) {
    size_t from = mangled_from(name), to = from;
    while (to < name.size && name.at[to] != ' ')
        to++;
    const char *jit = memmem(name.at + from, to - from, "$jit$", 5); // a compiler's own suffix
    if (jit)
        to = (size_t)(jit - name.at);
    char *mangled = from < to ? strndup(name.at + from, to - from) : NULL;
    char *plain = mangled ? fp_demangle(mangled, NULL) : NULL, *readable = NULL;
    if (plain &&
        asprintf(&readable, "%.*s%s%.*s", (int)from, name.at, plain, (int)(name.size - to), name.at + to) < 0)
        readable = NULL;
    free(plain);
    free(mangled);
    return readable;
}
