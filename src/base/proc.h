/*
 * proc.h - child processes.
 *
 * Owns: spawning (posix_spawn, never fork in a threaded program), waiting with a deadline, killing
 * whole groups, capturing output within a bound. Must not: use a shell. Every child gets only the
 * descriptors it is given, default signal dispositions and an empty signal mask. Thread-safe.
 * A process that leaves its group on purpose (setsid) escapes proc_run's killing: what must not get
 * away belongs in a sandbox.
 */
#ifndef BASE_PROC_H
#define BASE_PROC_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/str.h"

struct proc_spec {
    /* NULL-terminated. argv[0] without '/' is looked up in the absolute directories of our PATH;
     * with '/' it is taken as it is, a relative one seen from `dir`. */
    const char *const *argv;
    const char *const *envp; /* NULL: inherit */
    const char *dir;         /* NULL: inherit */
    int stdin_fd;     /* 0 or -1: /dev/null; > 0: that descriptor (still owned by the caller) */
    int stdout_fd;    /* 0: capture when used with proc_run, else inherit; -1: /dev/null */
    int stderr_fd;    /* likewise */
    bool new_session; /* setsid in the child: it survives us and its group can be killed */
    bool new_group;   /* its own process group; proc_run always does that or more */
    const atomic_bool *cancel; /* proc_run: polled every 100 ms; true: killed, ERR_CANCELLED */
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

/* Error names: "ProgramNotFound", "DirectoryNotFound", "SpawnFailed". */
int proc_spawn(const struct proc_spec *spec, pid_t *ret_pid, struct err *err);
/* Spawn, feed stdin_bytes (may be NULL; goes before spec->stdin_fd), capture, wait.
 * timeout_ms <= 0: no deadline. A program that cannot be started is an error (name
 * "ProgramNotFound" for ENOENT); a non-zero exit is a result. When the program has ended, children
 * that it left in its group are killed: nothing outlives the call, and none of them can hold it up
 * by keeping the output open. */
int proc_run(const struct proc_spec *spec, const void *stdin_bytes, size_t stdin_len,
             size_t max_bytes, int64_t timeout_ms, struct proc_result *ret, struct err *err);
/* 0: exited (*ret_exit as in proc_result) and reaped; 1: still running when the deadline passed.
 * timeout_ms < 0: no deadline; 0: just look. Error "NotOurChild" for any other process. */
int proc_wait(pid_t pid, int64_t timeout_ms, int *ret_exit, struct err *err);
/* SIGKILL to the group that a child started with new_session or new_group leads. */
void proc_kill_group(pid_t pid);
bool proc_in_path(const char *program, char **ret_path); /* ret_path may be NULL; caller frees */
/* Start time of a pid from /proc (clock ticks since boot), to tell a process from its pid's
 * reuser. */
bool proc_start_ticks(pid_t pid, uint64_t *ret);

#endif
