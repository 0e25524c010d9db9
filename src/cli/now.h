/*
 * now.h - what a run does at this moment, in words.
 *
 * Owns: the detail behind the step under way and the lines "now", "waiting", "engine" of status.
 * Sources: pending activities, the last line of the log that grows. Must not: write anything.
 */
#ifndef CLI_NOW_H
#define CLI_NOW_H

#include "base/str.h"
#include "cli/cli.h"
#include "cli/steps.h"
#include "cli/view.h"

struct now {
    struct cli *cli;
    const struct view *view;
    const struct view_engine *engine;
    const struct steps *steps;
    int64_t now_ns;
};

/* Behind the step under way: the agent's last line, a retry, a queue. One line, cleaned. */
void now_detail(struct str *out, const struct now *now);
/* The block of status for a run that goes on; lines of at most width. */
void now_block(struct str *out, const struct now *now, size_t width);
/* Last non-empty line of a log of evidence and the time it grew last; false: there is none. */
bool now_last_line(struct cli *cli, const char *run_id, const char *path, struct str *ret,
                   int64_t *ret_at_ns);

#endif
