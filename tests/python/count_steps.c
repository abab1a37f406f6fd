// count_steps.c - counts the instructions that a program executes between two SIGUSR1 of its own, one by one.
//
// In:  the program and its arguments. Out: a line for each such pair on standard output, the count; the program's status,
//      77 where the system lets nobody trace. Only the thread that sends the signals is stepped.
//
// valgrind's callgrind counts the same (bench/idle_instructions.py), but translates all of torch's start first, which takes
// ten times as long.

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

static void become(char **command) {
    if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0) {
        fprintf(stderr, "no process may be traced here: %s\n", strerror(errno));
        _exit(77);
    }
    execvp(command[0], command);
    _exit(127);
}

int main(int argc, char **argv) {
    if (argc < 2)
        return 2;
    const pid_t pid = fork();
    if (pid == 0)
        become(argv + 1);
    unsigned long long steps = 0;
    int counting = 0, status = 0;
    while (waitpid(pid, &status, 0) == pid && WIFSTOPPED(status)) {
        int sent = WSTOPSIG(status);
        if (sent == SIGUSR1) {
            if (counting)
                printf("%llu\n", steps);
            counting = !counting;
            steps = 0;
        }
        steps += sent == SIGTRAP;
        const long passed_on = sent == SIGUSR1 || sent == SIGTRAP ? 0 : sent;
        if (ptrace(counting ? PTRACE_SINGLESTEP : PTRACE_CONT, pid, NULL, (void *)passed_on) != 0)
            break;
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
