/*
 * connect.h - a Temporal server that the command line names, instead of the factory's engine.
 *
 * Owns: what a connection is made of then: --address, --namespace, and the variables that
 * Temporal's own tools read. This is the one place of the command line that connects; everything
 * behind it sees an engine.
 */
#ifndef CLI_CONNECT_H
#define CLI_CONNECT_H

#include "cli/cli.h"

/* cli->engine is connected. keyring: a file, or NULL. name_space NULL: $TEMPORAL_NAMESPACE, else
 * "default". Another host is spoken to within TLS. 0, or a status after the error was printed. */
int connect_to(struct cli *cli, const char *address, const char *name_space, const char *keyring);

#endif
