/*
 * proc_private.h - private to proc.c and proc_run.c: the pieces of waiting that both use.
 *
 * Deadlines are monotonic nanoseconds; negative means none. Stateless, thread-safe.
 */
#ifndef BASE_PROC_PRIVATE_H
#define BASE_PROC_PRIVATE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* waitid(2) without blocking: 0 ended (and reaped, if asked), 1 running, <0 errno is set. */
int proc_look(pid_t pid, bool reap, int *ret_exit, bool *ret_signalled);
/* What to give poll(2): until the deadline, at most most_ms (-1: for ever), short without pidfd. */
int proc_poll_ms(bool have_pidfd, int64_t deadline_ns, int most_ms);
int64_t proc_deadline(int64_t timeout_ms); /* timeout_ms < 0: none */

#endif
