/*
 * watch.h - watching a run until it is over: progress while it goes on, the result block at its end.
 */
#ifndef CLI_WATCH_H
#define CLI_WATCH_H

#include <stdbool.h>

#include "cli/cli.h"

/* Exit status of the result (factory/verdict.h), EXIT_DETACHED after Ctrl-C. */
int watch_until_done(struct cli *cli, const char *run_id, bool json);

#endif
