/*
 * cmd_completion.c - factory completion SHELL: the shell's part of completion.
 *
 * Owns: printing the shims that are embedded at build time (contrib/completion/). They know nothing
 * of commands: they ask `factory __complete` (cmd_complete.c).
 * Tests: tests/cli/t0220-completion.sh
 */
#include "cli/cmd.h"
#include "cli/exitcode.h"

extern const char completion_bash[], completion_zsh[], completion_fish[]; /* generated */

static int exec(struct cli *cli, struct args *args)
{
    autostr struct str out = {0};
    const char *shell = args->words[0];
    (void)cli;
    if (str_eq(shell, "bash")) {
        str_add(&out, completion_bash);
    } else if (str_eq(shell, "zsh")) {
        str_add(&out, completion_zsh);
    } else if (str_eq(shell, "fish")) {
        str_add(&out, completion_fish);
    } else {
        return cli_error(EXIT_USAGE, "completion: expected bash, zsh or fish, found %s", shell);
    }
    cli_print(&out);
    return EXIT_OK;
}

const struct cmd cmd_completion = {
    .name = "completion",
    .words = "bash|zsh|fish",
    .summary = "print the completion script of a shell",
    .min_words = 1,
    .max_words = 1,
    .exec = exec,
};
