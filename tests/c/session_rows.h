// session_rows.h - tests of whole sessions as rows of a table.
//
// In:  a name that says what is pinned, the scenarios that must pass for it, the faults to pass them with.
// Out: cmocka's tests. Each scenario runs once with each of its faults, in a process of its own.
#ifndef SESSION_ROWS_H
#define SESSION_ROWS_H

#include "emulated.h"
#include "twin_sessions.h"

struct session {
    void (*scenario)(void);
    const char *faults; // of each process, separated by spaces; "": one process without any
    void (*run)(const char *faults, void (*scenario)(void));
};

#define PASSES(scenario, faults)                                                                             \
    { scenario, faults, run }
#define SESSIONS(name, ...)                                                                                  \
    {                                                                                                        \
#name, run_sessions, NULL, NULL, (struct session[]) {                                                \
            __VA_ARGS__, {                                                                                   \
                NULL, NULL, NULL                                                                             \
            }                                                                                                \
        }                                                                                                    \
    }

static inline void run_sessions(void **state) {
    for (const struct session *session = *state; session->scenario; session++) {
        const char *left = session->faults;
        if (session->scenario == scenario_forked)
            SKIP_IF_EMULATED(FORKS_BESIDE_THREADS);
        do {
            char faults[256];
            size_t length = strcspn(left, " ");
            assert_true(length < sizeof(faults));
            memcpy(faults, left, length);
            faults[length] = '\0';
            session->run(faults, session->scenario);
            left += length + (left[length] == ' ');
        } while (*left);
    }
}

#endif
