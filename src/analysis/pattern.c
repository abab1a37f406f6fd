// pattern.c - a name against a regular expression.
//
// In:  a span.
// Out: regexec's answer. The name is copied, since not every regexec that stands before glibc's (the
//      sanitizers' among them) believes that a text may end without a zero byte.

#include "analysis/pattern.h"

#include <errno.h>
#include <stdlib.h>

int fp_pattern_match(const regex_t *compiled, struct fp_text name) {
    char small[256], *copy = name.size < sizeof(small) ? small : malloc(name.size + 1);
    regmatch_t whole = { 0, (regoff_t)name.size };
    if (!copy)
        return -ENOMEM;
    if (name.size)
        memcpy(copy, name.at, name.size);
    copy[name.size] = 0;
    int code = regexec(compiled, copy, 1, &whole, REG_STARTEND);
    if (copy != small)
        free(copy);
    return code == REG_ESPACE ? -ENOMEM : code == 0;
}
