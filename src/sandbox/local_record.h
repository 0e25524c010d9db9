/*
 * local_record.h - what is on disk about a local sandbox, and what it says about its life.
 *
 * Owns: the layout of <data_dir>/sandboxes/ and the file sandbox.json. Must not: kill or start
 * anything.
 *
 *     sandboxes/.new-ID/      being written; renamed to ID when complete, before anything starts
 *     sandboxes/ID/
 *         sandbox.json        labels, limits, how to start it; never changed
 *         supervisor          "PID TICKS BOOT\n" of the process outside; written before bubblewrap
 * runs ready               its creator saw it answer doomed              destroy() was asked for:
 * nothing may start any more ended               one line: why nothing runs any more usage what the
 * supervisor counted, "key value" lines log                 words of bubblewrap and of the guest
 *         fs/workspace fs/home fs/tmp   what the sandbox may write
 *     sandboxes/.gone-ID/     being removed
 *
 * Invariant: as long as anything of a sandbox runs, sandboxes/ID/sandbox.json is there.
 * No secret is ever in these files: the environment goes through the socket.
 */
#ifndef SANDBOX_LOCAL_RECORD_H
#define SANDBOX_LOCAL_RECORD_H

#include <sys/types.h>

#include "base/arena.h"
#include "base/err.h"
#include "sandbox/cgroup.h"
#include "sandbox/provider.h"

#define LOCAL_ID_PREFIX "sbx-"
#define LOCAL_BOOT_BYTES 40
#define LOCAL_CGROUP "factory-%s" /* name of its control groups, by id */
#define LOCAL_SOCKET "%s/%s.sock" /* run-time directory, id */

struct local_ident {
    pid_t pid; /* 0: not known */
    uint64_t ticks;
    char boot[LOCAL_BOOT_BYTES];
};

struct local_record {
    const char *id;
    const char *dir; /* absolute: sandboxes/ID */
    const char *socket;
    int64_t created_ns;
    struct sandbox_label *labels;
    size_t label_count;
    struct local_ident creator;
    uid_t uid; /* host user that it runs as */
    gid_t gid;
    bool drop; /* we are root and become uid before bubblewrap */
    const char *bwrap;
    const char *const *guest_argv;
    const struct sandbox_bind *binds;
    size_t bind_count;
    bool share_net;
    int64_t idle_ms;
    struct sandbox_limits limits;
    struct sandbox_enforcement enforced;
    struct cgroup_set cgroups;
};

/* Strings of *ret live in arena. 0; PROVIDER_GONE: no such directory; <0 permanent "BadRecord". */
int local_record_read(struct arena *arena, const char *top, const char *id,
                      struct local_record *ret, struct err *err);
/* sandbox.json into the directory `dir` (which is not record->dir while it is being made). */
int local_record_write(const struct local_record *record, const char *dir, struct err *err);

/* This process, now. */
void local_ident_self(struct local_ident *ret);
/* dir/supervisor. false: not written yet. */
bool local_ident_read(const char *dir, struct local_ident *ret);
int local_ident_write(const char *dir, const struct local_ident *ident, struct err *err);
/* Exactly this process lives, and since this boot. */
bool local_ident_alive(const struct local_ident *ident);

bool local_has_mark(const char *dir, const char *name);
int local_put_mark(const char *dir, const char *name, const char *text, struct err *err);

/* By looking. *ret_why (may be NULL) for DEAD: why, in arena, or NULL. */
enum sandbox_state local_record_state(struct arena *arena, const struct local_record *record,
                                      const char **ret_why);

#endif
