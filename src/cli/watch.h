/*
 * watch.h - following a run until it is over: progress while it goes on, the result block at its
 * end.
 *
 * Owns: what is shown meanwhile. On a terminal finished steps, the step under way and what comes
 * are rewritten in place; elsewhere each finished step is one plain line. Ctrl-C detaches: the run
 * goes on.
 */
#ifndef CLI_WATCH_H
#define CLI_WATCH_H

#include <stdbool.h>

#include "cli/cli.h"

enum watch_output {
    WATCH_TEXT,     /* steps and the result block */
    WATCH_MANIFEST, /* nothing, then the manifest as JSON: run --json */
    WATCH_NDJSON,   /* one status object a line whenever something changed: status --watch --json */
};

/* The store is open. keeps_engine: an engine that died is replaced (it is open for writing then).
 * Exit status of the result (factory/verdict.h), EXIT_DETACHED after Ctrl-C. */
int watch_until_done(struct cli *cli, const char *workflow_id, enum watch_output output,
                     bool keeps_engine);

#endif
