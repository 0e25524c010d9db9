/*
 * replay_all.h - every open run of a store, replayed by the workflow code of this program.
 *
 * Owns: the walk. Must not: write to the store, or execute an activity.
 */
#ifndef CLI_REPLAY_ALL_H
#define CLI_REPLAY_ALL_H

#include <stdint.h>

#include "durable.h"
#include "factory/config.h"

struct replayed {
    const char *workflow_id;
    const char *run_id;
    const char *type;
    int code;           /* of dur_replay: DUR_OK, DUR_MISMATCH, DUR_NOT_FOUND (no such type here) */
    const char *report; /* why not, several lines; NULL when code is DUR_OK */
};
/* Calls each() for every open run, newest first, until Ctrl-C is noted (cli_catch_interrupt); of
 * this configuration's factory where a server has others' too (NULL: of the store).
 * DUR_OK, DUR_CANCELLED, or the code of what could not be read. */
int replay_all(const struct config *config, dur_engine *engine,
               void (*each)(void *user, const struct replayed *run), void *user);

#endif
