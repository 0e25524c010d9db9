/*
 * cmd_sandbox_supervisor.c - factory sandbox-supervisor: the process outside of one local sandbox
 * that starts bubblewrap and watches limits. Not for people: the local provider starts it. Tests:
 * tests/cli/t0503-sandbox-supervisor.sh
 */
#include "cli/cmd.h"
#include "sandbox/local.h"

static int exec(struct cli *cli, struct args *args)
{
    (void)cli;
    return local_supervisor_main(args->count + 1, args->words - 1);
}

const struct cmd cmd_sandbox_supervisor = {
    .name = "sandbox-supervisor",
    .words = "...",
    .summary = "keeps one local sandbox",
    .max_words = -1,
    .hidden = true,
    .raw = true,
    .exec = exec,
};
