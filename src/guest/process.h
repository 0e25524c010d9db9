/*
 * process.h - the processes of the sandbox: alive and ended.
 *
 * Owns: struct process and the table of them; their output, stdin queue, deadline and tree.
 * Must not: format anything for the wire (rpc_process.c, stream.c do).
 *
 *   RUNNING --direct child exited, both pipes at EOF--> ENDED --evicted--> gone
 *
 * `tree_gone` is apart from that: an ended process may have left descendants running, and a running
 * one's tree is gone only with it. Invariant: wait_status is valid exactly when `exited`. What is
 * broken never ends as if it were whole.
 */
#ifndef GUEST_PROCESS_H
#define GUEST_PROCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/str.h"
#include "guest/loop.h"
#include "guest/output.h"
#include "guest/state.h"
#include "guest/wire.h"

struct stream; /* stream.h */

/* Somebody who waits for room in a stdin queue; called once and forgotten. */
struct process_waiter {
    struct process_waiter *next;
    void (*wake)(void *user);
    void *user;
};

enum { OUT, ERR, STREAMS };

struct process {
    struct process *next;
    struct guest *guest;
    pid_t pid;
    pid_t supervisor;
    char *tag;    /* may be NULL */
    char *config; /* ProcessConfig as JSON */
    int64_t started_wall_ns;
    int64_t ended_wall_ns;
    struct watch pipe[STREAMS];
    struct output output[STREAMS];
    struct watch in;
    struct watch report;
    struct str in_queue; /* stdin bytes not yet written, from in_off on */
    size_t in_off;
    bool in_closing; /* close stdin once the queue is empty */
    bool held;       /* reading paused for a slow reader */
    bool exited;
    int wait_status;
    int64_t exited_mono_ns;
    bool ended;
    bool tree_gone;
    bool killing; /* SIGKILL until the tree is gone */
    bool timed_out;
    bool collected; /* a client has read the end */
    int broken;     /* the error for which some of its output, or of its input, was lost; 0: none */
    int kill_passes;
    int64_t killed_mono_ns;   /* when killing began */
    int64_t kill_next_ns;     /* mono */
    int64_t deadline_mono_ns; /* 0: none */
    struct stream *streams;
    struct process_waiter *waiters;
};

struct process_request {
    char *const *argv;
    char *const *envs; /* "NAME=value", NULL-terminated, after ours */
    const char *cwd;   /* absolute */
    const char *tag;
    const char *config;
    bool want_stdin;
    int64_t timeout_ms; /* <= 0: none */
};
int process_start(struct guest *guest, const struct process_request *request, struct process **ret,
                  struct wire_error *error);
/* By pid (> 0) or tag; living before ended, newer before older. NULL when there is none. */
struct process *process_find(const struct guest *guest, pid_t pid, const char *tag);
/* SIGTERM once to everything in the tree, or SIGKILL until nothing is left. */
int process_signal(struct process *process, int signal, struct wire_error *error);

#define PROCESS_INPUT_MAX ((size_t)1 << 20)
/* Queue bytes for stdin. 1: no room now; nothing was taken (process_wait_input, then again). */
int process_input(struct process *process, const char *bytes, size_t len, struct wire_error *error);
void process_wait_input(struct process *process, struct process_waiter *waiter);
void process_forget_waiter(struct process *process, const struct process_waiter *waiter);
int process_close_stdin(struct process *process, struct wire_error *error);

/* A reader moved on: read the pipes again if they were held up for it. */
void process_unhold(struct process *process);
/* SIGCHLD: reap what ended below us. */
void process_reap(struct guest *guest);
/* Deadlines, kill passes, ends, eviction; call after every turn of the loop. */
void process_housekeep(struct guest *guest);
/* When housekeeping is due at the latest; INT64_MAX: only events matter. */
int64_t process_due(const struct guest *guest);
size_t process_alive(const struct guest *guest); /* trees that are not gone, or not ended */
void process_kill_all(struct guest *guest);
void process_abandon_all(struct guest *guest); /* close every stdin; waiting requests go on */
void process_free_all(struct guest *guest);    /* streams are closed by now */

#endif
