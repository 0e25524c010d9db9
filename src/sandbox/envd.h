/*
 * envd.h - the data plane: commands and files inside a sandbox, over the envd protocol.
 *
 * Owns: Connect-RPC (unary and streaming, JSON) and the file routes of envd, as spoken by the guest
 * daemon of local sandboxes (unix socket) and by envd itself. Must not: know how a sandbox is made,
 * or retry anything: each call is one attempt.
 *
 * Facts that every caller must know:
 *  - A command that exits with a non-zero code, or is killed, or runs out of time is a RESULT. An
 *    error means that it could not be run, or that nobody knows how it ended.
 *  - Error kinds: transient: the sandbox did not answer and nothing was started; ambiguous: the
 *    connection broke after the request was sent (look with envd_process_list or envd_job_look);
 *    permanent: refused (bad argument, no such directory, protocol violation).
 *  - Output goes to the callback completely and to the capture within its bound: the capture keeps
 *    the head and the tail and never changes the exit code.
 *  - `cancel` may be NULL and is looked at at least every 200 ms.
 *  - Secrets travel only in the environment and in file contents, never in argv.
 *
 * Thread rule: a struct envd belongs to one thread at a time; opening one costs nothing until its
 * first call. Callbacks run on the calling thread and may use the same envd for short calls
 * (signals, files, lists), not for another exec, connect or follow.
 *
 * Tests: tests/unit/test_sandbox_envd.c, tests/unit/test_sandbox_contract.c
 */
#ifndef SANDBOX_ENVD_H
#define SANDBOX_ENVD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/err.h"
#include "base/str.h"

/* Where an envd is. Zeroed is empty. */
struct envd_target {
    char *unix_socket; /* NULL: TCP */
    char *base_url;    /* "http://sandbox" or "http://49983-ID.domain", no slash at the end */
    char *user;        /* whom commands and files belong to inside */
    char **headers;    /* extra "Name: value" lines, NULL-terminated; NULL: none. May be secret. */
};
void envd_target_free(struct envd_target *target);
void envd_target_copy(struct envd_target *to, const struct envd_target *from);

struct envd;
struct envd *envd_open(const struct envd_target *target); /* copies; no I/O */
struct envd *envd_close(struct envd *envd);               /* NULL fine; returns NULL */
static inline void envd_cleanup_(struct envd **envd)
{
    *envd = envd_close(*envd);
}
#define autoenvd cleanup_with(envd_cleanup_)

/* Outcomes above zero; which call has which is said there. */
#define ENVD_ABSENT 1    /* no such path, process or job */
#define ENVD_CANCELLED 2 /* the flag was raised; *ret holds what was captured until then */
#define ENVD_LOST 3      /* a job that is not running and left no exit status */
#define ENVD_EXISTS 4    /* was there already */

/* Does it answer? 0; <0 transient. */
int envd_health(struct envd *envd, int64_t timeout_ms, struct err *err);
/* Ask until it answers; <0 transient "NotHealthy" when the time is over, or cancelled. */
int envd_wait_healthy(struct envd *envd, int64_t timeout_ms, const atomic_bool *cancel,
                      struct err *err);

/* --- commands ------------------------------------------------------------------------------ */

enum envd_stream { ENVD_STDOUT, ENVD_STDERR };

#define ENVD_CAPTURE_DEFAULT (256u * 1024)

struct envd_command {
    const char *const *argv; /* exactly one of argv and script; argv is never seen by a shell */
    const char *script; /* text of the factory's own, run by /bin/sh; positional: script_args */
    const char *const *script_args; /* $1...; NULL: none */
    const char *dir;                /* absolute; NULL: "/" */
    const char *const *env;  /* "NAME=value", NULL-terminated, added to the sandbox's; NULL: none */
    const void *stdin_bytes; /* at most one of bytes and path; neither: /dev/null */
    size_t stdin_len;
    const char *stdin_path; /* a file inside the sandbox */
    int64_t timeout_ms; /* <= 0: none. Enforced here, and a little later inside as well, so that it
                           holds when this process dies */
    int64_t grace_ms;   /* between SIGTERM and SIGKILL at time-out or cancel; 0: SIGKILL at once */
    size_t capture_bytes; /* per stream; 0: ENVD_CAPTURE_DEFAULT */
    /* Every byte, as it comes; NULL: none. Non-zero: stop, like a raised cancel flag. */
    int (*on_output)(void *user, enum envd_stream stream, const void *bytes, size_t len);
    /* Called about every second while nothing else happens, for heartbeats; NULL: none. Non-zero:
     * stop. */
    int (*on_idle)(void *user);
    void *user;
};

struct envd_result {
    int exit_code; /* 0..255; 128 + signal when killed by one; -1 unknown */
    int signal;    /* 0: it exited by itself */
    bool timed_out;
    int64_t pid;    /* inside */
    struct str out; /* captured: whole, or head + "[... N bytes left out ...]" line + tail */
    struct str err;
    uint64_t out_bytes; /* produced, whether captured or not */
    uint64_t err_bytes;
    bool out_cut;
    bool err_cut;
    int64_t started_ns; /* wall clock */
    int64_t duration_ns;
};
void envd_result_free(struct envd_result *result);
#define autoresult cleanup_with(envd_result_free)

/* Run a command to its end. When time is up or the flag is raised its whole process tree is killed
 * and what it had printed is kept.
 *   0               *ret is filled (non-zero exit and timed_out included); free it
 *   ENVD_CANCELLED  the same, stopped on request
 *  <0               it did not run, or (ambiguous) its end is not known */
int envd_exec(struct envd *envd, const struct envd_command *command, const atomic_bool *cancel,
              struct envd_result *ret, struct err *err);

/* Start it and do not wait. Its output is lost unless somebody connects: for long work use a job.
 * stdin stays open for envd_send_input when keep_stdin. tag may be NULL. */
int envd_start(struct envd *envd, const struct envd_command *command, const char *tag,
               bool keep_stdin, int64_t *ret_pid, struct err *err);

/* Listen to a process that runs already until it ends: what is still kept of its output, then what
 * follows. Returns as
 * envd_exec, but a raised flag or on_output's stop only stops listening, the process goes on;
 * command gives timeout_ms (stop listening), capture and callbacks only. ENVD_ABSENT: no such
 * process. */
int envd_connect(struct envd *envd, int64_t pid, const struct envd_command *command,
                 const atomic_bool *cancel, struct envd_result *ret, struct err *err);

struct envd_process {
    int64_t pid;
    char *tag; /* NULL: none */
    char *cmd; /* argv joined by blanks, for people */
};
struct envd_process_list {
    struct envd_process *items;
    size_t count;
};
void envd_process_list_free(struct envd_process_list *list);
#define autoprocesslist cleanup_with(envd_process_list_free)

/* Processes that were started through envd and still run. */
int envd_process_list(struct envd *envd, struct envd_process_list *ret, struct err *err);
/* SIGTERM (15) or SIGKILL (9) to a process; SIGKILL takes its whole tree. 0; ENVD_ABSENT. */
int envd_signal(struct envd *envd, int64_t pid, int signal, struct err *err);
int envd_send_input(struct envd *envd, int64_t pid, const void *bytes, size_t len, struct err *err);
int envd_close_stdin(struct envd *envd, int64_t pid, struct err *err);

/* --- jobs: long commands that outlive their starter --------------------------------------------
 *
 * A job is a command with a directory of its own inside the sandbox:
 *
 *     DIR/pid      process id of the command (leader of its own session)
 *     DIR/stdout   everything it printed
 *     DIR/stderr
 *     DIR/exit     its exit status in decimal, renamed into place when it has ended
 *
 * The directory is the idempotency key: it is made by mkdir(2) inside, so that however often and by
 * whomever a job is started it runs once. Any later process can follow it from any byte. */

/* 0: started now; ENVD_EXISTS: started before, by whoever (follow it). command's timeout_ms is the
 * bound that the sandbox itself enforces; its callbacks and capture are not used. */
int envd_job_start(struct envd *envd, const char *dir, const struct envd_command *command,
                   int64_t *ret_pid, struct err *err);

/* Where a follower is; keep it in heartbeat details. Zeroed: from the beginning. */
struct envd_job_pos {
    int64_t out_offset;
    int64_t err_offset;
};

/* Deliver its output from *pos on (updated after every callback) until it has ended.
 *   0               it has ended; *ret is filled. timed_out: command->timeout_ms passed, its tree
 * was killed, its last output was delivered ENVD_CANCELLED  the flag was raised or a callback said
 * stop: the job GOES ON (see envd_job_kill) ENVD_LOST       it is gone without an exit status
 * (killed); *ret holds its output ENVD_ABSENT     there is no such job command gives timeout_ms,
 * grace_ms, capture_bytes and callbacks only. */
int envd_job_follow(struct envd *envd, const char *dir, const struct envd_command *command,
                    struct envd_job_pos *pos, const atomic_bool *cancel, struct envd_result *ret,
                    struct err *err);

/* Its whole tree: SIGTERM, up to grace_ms, SIGKILL; returns when nothing of it runs. Ended already
 * is 0. ENVD_ABSENT: no such job. */
int envd_job_kill(struct envd *envd, const char *dir, int64_t grace_ms, struct err *err);

enum envd_job_state { ENVD_JOB_RUNNING, ENVD_JOB_ENDED, ENVD_JOB_LOST };
/* 0; ENVD_ABSENT. *ret_exit only for ENDED. */
int envd_job_look(struct envd *envd, const char *dir, enum envd_job_state *ret, int *ret_exit,
                  struct err *err);

/* --- files --------------------------------------------------------------------------------- */

/* Whole file, parents created; an existing one is replaced. Not atomic for readers inside. */
int envd_write_file(struct envd *envd, const char *path, const void *bytes, size_t len,
                    const atomic_bool *cancel, struct err *err);
/* The same from a descriptor, read from where it stands to its end; streamed. */
int envd_write_fd(struct envd *envd, const char *path, int fd, const atomic_bool *cancel,
                  struct err *err);
/* Append to *ret. 0; ENVD_ABSENT; <0 permanent "FileTooLarge" beyond max_bytes. */
int envd_read_file(struct envd *envd, const char *path, size_t max_bytes, struct str *ret,
                   const atomic_bool *cancel, struct err *err);
/* Bytes from `offset` on into a descriptor; streamed, short answers are errors. At most max_bytes
 * (0: no bound): beyond it permanent "FileTooLarge". *ret_bytes (may be NULL) = bytes written.
 * 0; ENVD_ABSENT. An offset at or beyond the end gives 0 bytes. */
int envd_read_fd(struct envd *envd, const char *path, uint64_t offset, uint64_t max_bytes, int fd,
                 uint64_t *ret_bytes, const atomic_bool *cancel, struct err *err);

enum envd_type { ENVD_FILE, ENVD_DIRECTORY, ENVD_SYMLINK, ENVD_OTHER };
struct envd_entry {
    char *name;
    char *path;
    enum envd_type type;
    uint64_t size;
    uint32_t mode; /* permission bits */
};
struct envd_entry_list {
    struct envd_entry *items;
    size_t count;
};
void envd_entry_free(struct envd_entry *entry);
void envd_entry_list_free(struct envd_entry_list *list);
#define autoentry cleanup_with(envd_entry_free)
#define autoentrylist cleanup_with(envd_entry_list_free)

int envd_stat(struct envd *envd, const char *path, struct envd_entry *ret, struct err *err);
/* With parents. 0; ENVD_EXISTS when it is a directory already. */
int envd_mkdir(struct envd *envd, const char *path, struct err *err);
/* One level. 0; ENVD_ABSENT. */
int envd_list_dir(struct envd *envd, const char *path, struct envd_entry_list *ret,
                  struct err *err);
int envd_remove(struct envd *envd, const char *path, struct err *err); /* a tree; absent is 0 */
int envd_move(struct envd *envd, const char *from, const char *to, struct err *err);

#endif
