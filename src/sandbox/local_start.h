/*
 * local_start.h - from a record to a running bubblewrap: the side of the child between fork and
 * exec.
 *
 * Owns: what a local sandbox can see (docs in local_start.c). Must not: be called in a process with
 * threads, or in one that still has other work: it changes user, mounts and limits of its caller.
 */
#ifndef SANDBOX_LOCAL_START_H
#define SANDBOX_LOCAL_START_H

#include "sandbox/local_record.h"

#define LOCAL_WORKSPACE "/workspace"
#define LOCAL_HOME "/home/user"
#define LOCAL_USER "user"
#define LOCAL_UID 1000 /* inside */

/* Become the sandbox: join its groups, drop rights, exec bubblewrap. Only returns on failure (-1).
 */
int local_start_exec(const struct local_record *record, int listen_fd, struct err *err);

/* The same for /usr/bin/true in namespaces of the same kinds: can sandboxes be made at all? */
int local_probe_exec(const char *bwrap, uid_t uid, gid_t gid, bool drop, struct err *err);

#endif
