/*
 * spawn.h - an engine for whoever needs one.
 * Owns: starting `factory worker --idle-exit` in the background, in a session of its own, when no process
 * serves the store; its log is DATA_DIR/engine.log. Must not: wait for it beyond its start.
 */
#ifndef CLI_SPAWN_H
#define CLI_SPAWN_H

#include "cli/cli.h"

/* cli_engine() was called. 0, or an exit status after an error was printed. Two callers at once start two
 * engines; the second stands by on the lock and leaves when idle. */
int spawn_engine(struct cli *cli);

#endif
