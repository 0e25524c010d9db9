/*
 * local.h - the provider that makes sandboxes on this machine, with bubblewrap.
 *
 * Owns: the configuration of the local provider and its constructor. Everything else is behind
 * sandbox/provider.h. Nothing is remembered between processes but <data_dir>/sandboxes/.
 */
#ifndef SANDBOX_LOCAL_H
#define SANDBOX_LOCAL_H

#include "sandbox/provider.h"

struct local_config {
    const char *data_dir; /* sandboxes live in <data_dir>/sandboxes/<id>/; created when absent */
    /* The program that is the guest daemon inside: argv without its options, e.g.
     * {"/usr/bin/factory", "guest", NULL}; argv[0] is a host path, bound read-only into the
     * sandbox. NULL: the running program itself with "guest". */
    const char *const *guest_argv;
    /* The program that is the supervisor outside: its main calls local_supervisor_main(), with
     * argv[0] the subcommand's name, e.g. {"/usr/bin/factory", "sandbox-supervisor", NULL}. NULL:
     * the running program itself with "sandbox-supervisor". */
    const char *const *supervisor_argv;
    const char *bwrap;    /* path or name; NULL: "bwrap" from PATH */
    bool allow_share_net; /* the operator permits egress policies with allow_internet = true */
    const char *const
        *bind_sources;  /* host paths at or below which spec->binds may lie; NULL: none */
    const char *run_as; /* as root only: the host user that sandboxes run as; NULL: "nobody" */
};

/* Copies config; makes data_dir. Always gives a provider: ping() tells whether it can work. */
struct provider *local_provider_new(const struct local_config *config);

/* What create() says of this policy, without making anything: 0, or permanent
 * "PolicyNotEnforceable". provider: one that local_provider_new made. */
int local_check_policy(const struct provider *provider, const struct sandbox_egress *egress,
                       struct err *err);

/* main() of the supervisor, one process per sandbox, outside of it: it starts bubblewrap, watches
 * the limits that the kernel does not, and outlives the engine. The program that embeds this
 * provider must call it for its supervisor_argv. argc/argv start at the subcommand's name. Returns
 * an exit status; must be called before any thread exists. */
int local_supervisor_main(int argc, char **argv);

#endif
