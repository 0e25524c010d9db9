/*
 * cmd_guest.c - factory guest: the daemon inside a local sandbox. Not for people: the local
 * provider starts it (sandbox/local.h).
 * Tests: tests/cli/t0502-guest.sh
 */
#include "cli/cmd.h"
#include "cli/exitcode.h"
#include "guest/guest.h"

static int exec(struct cli *cli, struct args *args)
{
    struct guest_options options;
    struct err err = {0};
    (void)cli;
    /* words[-1] is the command's own name: what guest_options_parse skips */
    if (guest_options_parse(args->count + 1, args->words - 1, &options, &err) < 0) {
        cli_fail(&err);
        return EXIT_USAGE;
    }
    return guest_main(&options);
}

const struct cmd cmd_guest = {
    .name = "guest",
    .words = "...",
    .summary = "the daemon inside a local sandbox",
    .max_words = -1,
    .hidden = true,
    .raw = true,
    .exec = exec,
};
