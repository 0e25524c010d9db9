/*
 * proc.h - child processes.
 *
 * Owns: spawning (posix_spawn, never fork in a threaded program), waiting with a deadline, killing
 * whole groups, capturing output within a bound. Must not: use a shell. Every child gets only the
 * descriptors it is given. Thread-safe.
 */
#ifndef BASE_PROC_H
#define BASE_PROC_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/str.h"

struct proc_spec {
    const char *const *argv; /* NULL-terminated; argv[0] is looked up in PATH */
    const char *const *envp; /* NULL: inherit */
    const char *dir;         /* NULL: inherit */
    int stdin_fd;     /* 0 or -1: /dev/null; > 0: that descriptor (still owned by the caller) */
    int stdout_fd;    /* 0: capture when used with proc_run, else inherit; -1: /dev/null */
    int stderr_fd;    /* likewise */
    bool new_session; /* setsid in the child: it survives us and its group can be killed */
};

struct proc_result {
    int exit_code; /* 0..255, or 128+signal */
    bool signalled;
    bool timed_out; /* deadline passed: the whole process group was killed */
    struct str out; /* captured, at most max_bytes each; rest is read and dropped */
    struct str err;
    bool out_cut;
    bool err_cut;
};
void proc_result_free(struct proc_result *r);
#define autoproc cleanup_with(proc_result_free)

int proc_spawn(const struct proc_spec *spec, pid_t *ret_pid, struct err *err);
/* Spawn, feed stdin_bytes (may be NULL), capture, wait. timeout_ms <= 0: no deadline. A program
 * that cannot be started is an error (name "ProgramNotFound" for ENOENT); a non-zero exit is a
 * result. */
int proc_run(const struct proc_spec *spec, const void *stdin_bytes, size_t stdin_len,
             size_t max_bytes, int64_t timeout_ms, struct proc_result *ret, struct err *err);
/* 0: exited (*ret_exit as in proc_result); 1: still running when the deadline passed. */
int proc_wait(pid_t pid, int64_t timeout_ms, int *ret_exit, struct err *err);
bool proc_in_path(const char *program, char **ret_path); /* ret_path may be NULL; caller frees */
/* Start time of a pid from /proc (clock ticks since boot), to tell a process from its pid's reuser.
 */
bool proc_start_ticks(pid_t pid, uint64_t *ret);

#endif
