/*
 * find.h - from what somebody typed to a run.
 *
 * Owns: the ways to name a run: its whole id, a unique beginning of it, either without its "run-",
 * or the durable workflow id. Must not: write or create anything.
 */
#ifndef CLI_FIND_H
#define CLI_FIND_H

#include "base/arena.h"
#include "cli/cli.h"

/* The store is open. 0 with the workflow id in arena; else an exit status after the error was
 * printed: EXIT_NOT_FOUND with the nearest id, EXIT_USAGE when several runs begin so. */
int find_run(struct cli *cli, struct arena *arena, const char *word, const char **ret_workflow_id);
/* "run-5f0c..." of "factory-run-run-5f0c..."; the id itself when it is none of ours. */
const char *find_run_id(const char *workflow_id);

#endif
