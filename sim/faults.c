// faults.c - which faults are on.
//
// In:  FLAGOS_SIM_FAULTS, or a list that a test sets: words of faults.def, each perhaps with =N.
// Out: one question, asked by core and facades: is this fault on, and with which number.
#include "core.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    uint64_t fallback;
} table[] = {
#define FAULT(name, fallback, text) { #name, fallback },
#include "faults.def"
#undef FAULT
};

static struct {
    atomic_bool on;
    _Atomic uint64_t value;
} state[FLAGSIM_FAULT_COUNT];

static pthread_once_t once = PTHREAD_ONCE_INIT;
static atomic_int list_error;

static int fault_find(const char *word, size_t length) {
    for (int i = 0; i < FLAGSIM_FAULT_COUNT; i++)
        if (strlen(table[i].name) == length && !memcmp(table[i].name, word, length))
            return i;
    return -1;
}

static int switch_on(const char *word, size_t length) {
    const char *equals = memchr(word, '=', length);
    int fault = fault_find(word, equals ? (size_t)(equals - word) : length);
    if (fault < 0)
        return -EINVAL;
    uint64_t value = table[fault].fallback;
    if (equals) {
        char *end;
        value = strtoull(equals + 1, &end, 10);
        if (end == equals + 1 || end != word + length)
            return -EINVAL;
    }
    atomic_store(&state[fault].value, value);
    atomic_store(&state[fault].on, true);
    return 0;
}

static int apply(const char *list) {
    for (int i = 0; i < FLAGSIM_FAULT_COUNT; i++)
        atomic_store(&state[i].on, false);
    for (const char *word = list; word && *word;) {
        size_t length = strcspn(word, ",");
        if (length && switch_on(word, length)) {
            fprintf(stderr, "flagsim: FLAGOS_SIM_FAULTS names no fault '%.*s'; sim/faults.def lists them\n",
                    (int)length, word);
            return -EINVAL;
        }
        word += length + (word[length] == ',');
    }
    return 0;
}

static void read_environment(void) {
    atomic_store(&list_error, apply(getenv("FLAGOS_SIM_FAULTS")));
}

int faults_error(void) {
    pthread_once(&once, read_environment);
    return atomic_load(&list_error);
}

int flagsim_faults_set(const char *list) {
    pthread_once(&once, read_environment);
    int result = apply(list);
    atomic_store(&list_error, result);
    return result;
}

bool flagsim_fault_on(flagsim_fault fault) {
    pthread_once(&once, read_environment);
    return (unsigned)fault < FLAGSIM_FAULT_COUNT &&
           atomic_load_explicit(&state[fault].on, memory_order_relaxed);
}

uint64_t flagsim_fault_value(flagsim_fault fault) {
    return flagsim_fault_on(fault) ? atomic_load(&state[fault].value) : 0;
}

const char *flagsim_fault_name(flagsim_fault fault) {
    return (unsigned)fault < FLAGSIM_FAULT_COUNT ? table[fault].name : "?";
}
