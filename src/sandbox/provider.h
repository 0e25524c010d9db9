/*
 * provider.h - what a sandbox provider is: create, find, pause and destroy disposable machines.
 *
 * Owns: the control-plane vtable, the specification, the list entry and the handle. What happens
 * INSIDE a sandbox (commands, files) goes through one data-plane client, sandbox/envd.h, whatever
 * the provider. Must not: know runs, workflows, leases or retries; a provider gets a specification,
 * labels and a cancel flag.
 *
 * Life of a sandbox, by what list() says:
 *
 *     (nothing) --create--> CREATING --healthy--> RUNNING --suspend--> PAUSED
 *                               |                  ^  |                 |  |
 *                               |                  |  +---- resume -----+  |
 *                               v                  |                       v
 *                             DEAD <---- crash, idle timeout, kill --------+
 *     any state --destroy--> (nothing)
 *
 * DEAD is a sandbox in which nothing runs any more but which still has remains: destroy() it.
 *
 * Rules for every function pointer:
 *  - Error kinds. permanent: this will not work however often it is tried (bad specification,
 * policy or limit that cannot be enforced, missing program). transient: nothing was changed, try
 * again. ambiguous: it may have happened; call list() and look for the labels before trying again.
 *    cancelled: the flag was raised; like ambiguous, look before trying again.
 *  - `cancel` may be NULL; when it turns true the call returns within about 200 ms. destroy() and
 *    list() must work while everything else of the program is being cancelled: pass NULL there.
 *  - A provider is thread-safe. A struct sandbox is plain data, never changed after it was
 * returned: threads may share it; each opens its own envd.
 *  - Required pointers are never NULL. An optional pointer is NULL exactly when its capability bit
 * is not in capabilities(); its absence is reported as "not supported by NAME", never skipped in
 *    silence.
 *
 * Tests: tests/unit/test_sandbox_contract.c runs the same contract over every provider.
 */
#ifndef SANDBOX_PROVIDER_H
#define SANDBOX_PROVIDER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/err.h"
#include "sandbox/envd.h"

/* --- labels ------------------------------------------------------------------------------- */

/* Who owns a sandbox. The factory sets all of these; ownership is decided by LABEL_ORIGIN,
 * LABEL_RUN and LABEL_EXECUTION together, so that a later execution with the same run id can
 * neither adopt nor destroy an earlier one's sandbox. */
#define LABEL_ORIGIN "origin" /* always "factory" */
#define LABEL_ORIGIN_FACTORY "factory"
#define LABEL_RUN "run_id"
#define LABEL_EXECUTION "execution_id" /* the durable execution's own run id */
#define LABEL_ROLE "role"              /* "agent" or "verify" */
#define LABEL_HARNESS "harness"
#define LABEL_STORE "store_id" /* which ledger: tells our orphans from a neighbour's sandboxes */
#define LABEL_ENGINE "engine" /* where that execution lives; absent: "sqlite" */

#define SANDBOX_LABEL_MAX 32          /* labels per sandbox */
#define SANDBOX_LABEL_KEY_BYTES 64    /* [a-z0-9_.-]+ */
#define SANDBOX_LABEL_VALUE_BYTES 256 /* printable UTF-8 */

struct sandbox_label {
    const char *key;
    const char *value;
};

/* --- specification -------------------------------------------------------------------------- */

/* 0 = no limit asked for. A limit that is asked for is enforced or refused (permanent error
 * "LimitNotEnforceable", before anything starts), unless best_effort is true: then a limit without
 * a mechanism is left out and said so in sandbox_enforcement. */
struct sandbox_limits {
    int64_t cpu_milli;    /* 1000 = one processor */
    int64_t memory_bytes; /* all processes together */
    int64_t processes;    /* processes and threads together */
    int64_t disk_bytes;   /* everything the sandbox may write, /tmp and home included */
    bool best_effort;
};

/* How each limit is enforced: "cgroup" (kernel, hard), "rlimit" (kernel, hard, per process),
 * "watch" (a watcher process looks several times a second and kills), "host" (the machine has no
 * more than that anyway), "none" (asked for with best_effort, not enforceable here) or NULL (not
 * asked for). Static strings. */
struct sandbox_enforcement {
    const char *cpu;
    const char *memory;
    const char *processes;
    const char *disk;
    const char *network; /* "cut" or "open"; never NULL */
};

/* Zeroed = no network at all. A provider that cannot enforce a list refuses it before anything
 * starts (permanent error "PolicyNotEnforceable"). */
struct sandbox_egress {
    const char *policy; /* the policy's name, for error messages; may be NULL */
    bool allow_internet;
    const char *const *allow_out; /* NULL-terminated hosts or CIDRs; NULL or empty: none */
    const char *const *deny_out;
};

/* A host file or directory made visible read-only. The source must lie at or below one of the
 * places the operator declared to the provider, else permanent error "BindNotDeclared". */
struct sandbox_bind {
    const char *source; /* host path; must exist */
    const char *target; /* absolute path inside; never at or below /workspace, /proc, /dev */
};

struct sandbox_spec {
    const char *template_name; /* local: NULL or "" (this host's system) */
    const struct sandbox_label *labels;
    size_t label_count;
    /* "NAME=value", NULL-terminated; added to every command's environment. May hold secrets: never
     * written to disk, to logs, to errors or into an argument list. */
    const char *const *env;
    struct sandbox_limits limits;
    struct sandbox_egress egress;
    const struct sandbox_bind *binds;
    size_t bind_count;
    /* Nothing runs in it and no request came for so long: the sandbox ends; 0: never. */
    int64_t idle_timeout_ms;
    int64_t start_timeout_ms; /* until healthy; 0: the provider's default (30 s) */
};

/* --- what comes back ------------------------------------------------------------------------- */

enum sandbox_state {
    SANDBOX_CREATING, /* recorded, not yet answering; its creator may still be at work */
    SANDBOX_RUNNING,
    SANDBOX_PAUSED,
    SANDBOX_DEAD,
};
const char *sandbox_state_name(enum sandbox_state state); /* "creating" "running" ... ; not NULL */

/* A live sandbox's handle. */
struct sandbox {
    char *id;                  /* [A-Za-z0-9_-]{1,64} */
    const char *provider;      /* static: the provider's name */
    struct envd_target target; /* give it to envd_open() */
    struct sandbox_enforcement enforced;
    char *
        host_dir; /* local only: where /workspace can be read on the host, for forensics; or NULL */
};
struct sandbox *sandbox_free(struct sandbox *sandbox); /* forgets the handle, not the sandbox */
static inline void sandbox_cleanup_(struct sandbox **sandbox)
{
    *sandbox = sandbox_free(*sandbox);
}
#define autosandbox cleanup_with(sandbox_cleanup_)

struct sandbox_info {
    char *id;
    const char *provider; /* static */
    char *template_name;  /* "" when the provider has none */
    enum sandbox_state state;
    int64_t created_ns; /* wall clock */
    struct sandbox_label *labels;
    size_t label_count;
    char *ended; /* DEAD: why, when known ("idle timeout", "killed"), else NULL */
};
struct sandbox_list {
    struct sandbox_info *items; /* oldest first */
    size_t count;
};
void sandbox_list_free(struct sandbox_list *list); /* back to empty */
#define autosandboxlist cleanup_with(sandbox_list_free)
/* The value of a label, or NULL. */
const char *sandbox_info_label(const struct sandbox_info *info, const char *key);

/* What a sandbox uses now and how often it ran into its limits: "exit 137" explained. -1: unknown.
 */
struct sandbox_usage {
    int64_t memory_bytes;
    int64_t memory_peak_bytes;
    int64_t cpu_ns;
    int64_t processes;
    int64_t disk_bytes;
    int64_t memory_hits;  /* times that something was killed for memory */
    int64_t process_hits; /* times that a new process was refused */
    int64_t disk_hits;    /* times that something was killed for disk space */
};

/* --- the vtable ------------------------------------------------------------------------------ */

#define PROVIDER_CAN_SUSPEND 0x01u
#define PROVIDER_CAN_RESUME 0x02u
#define PROVIDER_CAN_STATE 0x04u
#define PROVIDER_CAN_UPDATE_NETWORK 0x08u
#define PROVIDER_CAN_PREVIEW 0x10u
#define PROVIDER_CAN_SNAPSHOT 0x20u
#define PROVIDER_CAN_USAGE 0x40u

/* Outcomes above zero of reattach() and state(). */
#define PROVIDER_GONE 1 /* no sandbox of that id: a fact, not a failure */
#define PROVIDER_DEAD 2 /* there are remains, but nothing runs: destroy() it */

struct provider;

struct provider_ops {
    /* ---- required ---- */

    const char *name; /* "local", "cube" */

    /* Bits of PROVIDER_CAN_*. Constant for a provider's life. No I/O. */
    unsigned (*capabilities)(const struct provider *provider);

    /* Can sandboxes be made here and now? Must notice what create() would trip over on every call:
     * missing program, forbidden namespaces, unreachable service, unknown template. Must leave
     * nothing behind. permanent: what to install or to change; transient: not reachable. */
    int (*ping)(struct provider *provider, const atomic_bool *cancel, struct err *err);

    /* Make a sandbox and wait until it answers. Must make it findable by list() with all its labels
     * before anything can run in it. Must refuse what it cannot enforce before anything starts.
     * Must undo on every failure that it can see; what it cannot see is for list() and destroy().
     *   0  running and healthy; *ret is the caller's
     *  <0  permanent "InvalidSpec", "PolicyNotEnforceable", "LimitNotEnforceable",
     * "BindNotDeclared", "ProgramMissing", "NamespacesForbidden"; transient (nothing is left
     * behind); ambiguous or cancelled (list() by labels and destroy what is found) */
    int (*create)(struct provider *provider, const struct sandbox_spec *spec,
                  const atomic_bool *cancel, struct sandbox **ret, struct err *err);

    /* A handle for a sandbox that somebody else made, perhaps a process that is dead by now. Must
     * not wake a paused one (its handle is returned, its envd does not answer). 0; PROVIDER_GONE;
     * PROVIDER_DEAD; <0 transient. */
    int (*reattach)(struct provider *provider, const char *id, const atomic_bool *cancel,
                    struct sandbox **ret, struct err *err);

    /* End it: every process in it dies, everything it wrote is gone, its record too, when this
     * returns 0. Idempotent: gone already is 0; an empty id is 0 and does nothing. Works on every
     * state and from every process. Two callers at once is fine. May take seconds. <0: transient or
     * ambiguous; call it again. */
    int (*destroy)(struct provider *provider, const char *id, struct err *err);

    /* Everything of this provider that exists, found by looking and not by remembering. Read-only;
     * wakes nothing. A sandbox that dies during the call may or may not be in it. Entries that
     * cannot be read are listed as DEAD without labels, never dropped. <0: transient. */
    int (*list)(struct provider *provider, struct sandbox_list *ret, struct err *err);

    void (*free)(struct provider *provider); /* forgets the provider; no sandbox is touched */

    /* ---- optional ---- */

    /* Stop every process in it, holding memory and files, and wait until all are stopped. Paused
     * already is 0. 0; PROVIDER_GONE; PROVIDER_DEAD; <0 transient. */
    int (*suspend)(struct provider *provider, const char *id, struct err *err);
    /* The opposite; must have seen it answer before returning 0. Running already is 0. */
    int (*resume)(struct provider *provider, const char *id, struct err *err);

    /* Without side effects: must not wake it. 0 and *ret; PROVIDER_GONE. */
    int (*state)(struct provider *provider, const char *id, enum sandbox_state *ret,
                 struct err *err);

    /* Replace the egress policy of a live sandbox as a whole. permanent "PolicyNotEnforceable". */
    int (*update_network)(struct provider *provider, const char *id,
                          const struct sandbox_egress *egress, struct err *err);

    /* A URL that reaches a TCP port inside. Caller frees *ret_url. permanent when paused or when no
     * routable domain is configured. */
    int (*preview)(struct provider *provider, const char *id, int port, char **ret_url,
                   struct err *err);

    /* Keep the machine's state under an id of its own. Caller frees *ret_snapshot_id. */
    int (*snapshot)(struct provider *provider, const char *id, char **ret_snapshot_id,
                    struct err *err);

    int (*usage)(struct provider *provider, const char *id, struct sandbox_usage *ret,
                 struct err *err);
};

/* The head of every provider; concrete ones embed it as their first member. */
struct provider {
    const struct provider_ops *ops;
};
/* NULL fine; returns NULL. */
struct provider *provider_free(struct provider *provider);
static inline void provider_cleanup_(struct provider **provider)
{
    *provider = provider_free(*provider);
}
#define autoprovider cleanup_with(provider_cleanup_)

/* Names of the bits ("suspend", "resume" ...), in bit order; NULL when bit is not one of them. */
const char *provider_capability_name(unsigned bit);
/* The checks that all providers share: labels, environment names, limits, binds. permanent
 * "InvalidSpec" naming the field. */
int sandbox_spec_check(const struct sandbox_spec *spec, struct err *err);

#endif
