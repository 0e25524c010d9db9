/*
 * local_internal.h - what local.c and local_create.c share.
 *
 * Owns: the concrete provider. Must not: be included outside sandbox/local*.c.
 */
#ifndef SANDBOX_LOCAL_INTERNAL_H
#define SANDBOX_LOCAL_INTERNAL_H

#include "sandbox/local.h"
#include "sandbox/local_record.h"

struct local_provider {
    struct provider base; /* first */
    char *data_dir;
    char *top; /* data_dir/sandboxes */
    char **guest_argv;
    char **supervisor_argv;
    char *bwrap;
    char **bind_sources;
    char *run_as;
    bool allow_share_net;
};

/* Who sandboxes run as, and which bubblewrap: the questions of both ping and create. */
struct local_host {
    uid_t uid;
    gid_t gid;
    bool drop;
    char *bwrap; /* absolute */
};
int local_host_find(const struct local_provider *local, struct local_host *ret, struct err *err);
void local_host_free(struct local_host *host);
/* Make a throw-away sandbox: permanent "NamespacesForbidden" with what to look at. */
int local_probe(const struct local_provider *local, const struct local_host *host, struct err *err);

/* The supervisor's environment: nothing of the operator's. */
extern const char *const local_outer_env[];

int local_create(struct provider *provider, const struct sandbox_spec *spec,
                 const atomic_bool *cancel, struct sandbox **ret, struct err *err);
int local_destroy(struct provider *provider, const char *id, struct err *err);
struct sandbox *local_handle(const struct local_record *record);

/* Static strings for every limit, or permanent "LimitNotEnforceable". Also drops the groups that
 * are not needed from *cgroups. */
int local_plan_limits(const struct sandbox_limits *limits, struct cgroup_set *cgroups,
                      struct sandbox_enforcement *ret, struct err *err);
int local_check_egress(const struct local_provider *local, const struct sandbox_egress *egress,
                       struct err *err);

#endif
