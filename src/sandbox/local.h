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
    /* The program that watches a sandbox from outside (disk, idle time, memory without cgroups);
     * its main calls local_watch_main() with the arguments that follow. NULL: the running program
     * itself with "sandbox-watch". */
    const char *const *watch_argv;
    const char *bwrap;    /* path or name; NULL: "bwrap" from PATH */
    bool allow_share_net; /* the operator permits egress policies with allow_internet = true */
    const char *const
        *bind_sources;  /* host paths at or below which spec->binds may lie; NULL: none */
    const char *run_as; /* as root only: the host user that sandboxes run as; NULL: "nobody" */
};

/* Copies config. Does no I/O: ping() tells whether it can work. */
struct provider *local_provider_new(const struct local_config *config);

/* main() of the watcher: argv[0] is the subcommand's name. Returns an exit status. */
int local_watch_main(int argc, char **argv);

#endif
