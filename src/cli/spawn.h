/*
 * spawn.h - an engine for whoever needs one.
 *
 * Owns: starting `factory worker --idle-exit` in the background, in a session of its own, when no
 * process serves the store; its log is DATA_DIR/engine.log; noticing that it died. Must not: kill
 * it.
 */
#ifndef CLI_SPAWN_H
#define CLI_SPAWN_H

#include "cli/cli.h"

/* Some process serves the runs, or has just begun to. */
bool spawn_is_served(struct cli *cli);
/* The store is open for writing and the configuration is valid. 0, or an exit status after the
 * error was printed. Two callers at once start two engines; the second stands by on the lock and
 * leaves when idle; on a server it leaves at once. */
int spawn_engine(struct cli *cli);
/* Look after it while waiting for a run, some times a second. 0: one serves or is about to.
 * SPAWN_AGAIN: there was none and another was started; *said (may be NULL) tells why, for people.
 * Otherwise an exit status: it cannot be started, and its last words were printed. */
#define SPAWN_AGAIN (-1)
int spawn_keep(struct cli *cli, struct str *said);
/* For callers that do not stay: until the run's first turn is over, or the engine failed to start.
 * 0 or an exit status. */
int spawn_settle(struct cli *cli, const char *workflow_id);

#endif
