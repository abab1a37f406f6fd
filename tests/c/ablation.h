// ablation.h - a countermeasure against what fails silently, switched off (src/tracers/ablation.h).
//
// In:  a tracer built with FP_ABLATION, `ops` and `library` set, a scenario in which the countermeasure is needed.
// Out: nothing; the test fails where the scenario fails with the countermeasure, or passes without it.
#ifndef TESTS_ABLATION_H
#define TESTS_ABLATION_H

#include "twin_sessions.h"

// `chances`: so many runs without it, for a fault that shows only where two threads meet; one of them must fail.
static inline void check_noticed(const char *countermeasure, const char *faults, void (*scenario)(void),
                                 int chances) {
    int status = 0;
    unsetenv("FLAGOS_TEST_ABLATE");
    run(faults, scenario);
    setenv("FLAGOS_TEST_ABLATE", countermeasure, 1);
    for (int turn = 0; turn < chances && WIFEXITED(status) && WEXITSTATUS(status) == 0; turn++)
        status = run_case(faults, scenario);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        fail_msg("%s without \"%s\" under [%s]: nothing was noticed", ops->name, countermeasure, faults);
}

#endif
