/*
 * cmd.h - what a command is: one row, read by dispatch, help, completion and tests.
 *
 * Owns: struct cmd, its options, the parsed arguments. To add a command: cmd_NAME.c with its
 * row, one line in cmd_list.h, the file in Makefile.inc, a man page factory-NAME.1.scd, a test
 * tNNNN-NAME.sh; tests/tidy/commands.sh names what is missing.
 * Convention: exec returns the exit status (exitcode.h); errors are printed with cli_error() and
 * friends, once, on standard error, as "factory: ...".
 */
#ifndef CLI_CMD_H
#define CLI_CMD_H

#include <stdbool.h>
#include <stddef.h>

#include "cli/cli.h"

#define CMD_OPTIONS_MAX 32

struct cmd_option {
    const char *name;  /* long name without dashes; NULL ends the list */
    char letter;       /* 0: none */
    const char *value; /* name of its value for help ("PATH"), NULL: a switch */
    const char *help;
};

struct args {
    const struct cmd *cmd;
    const char *values[CMD_OPTIONS_MAX]; /* parallel to cmd->options; NULL: not given; a switch: see
                                            args_has */
    char **words;                        /* positional arguments */
    int count;
};

struct cmd {
    const char *name;
    const char *words;        /* positional arguments for the synopsis: "RUN", "" */
    const char *summary;      /* one line, lower case, no full stop */
    int min_words, max_words; /* max < 0: any number */
    bool hidden;              /* not for people: completion and help leave it out */
    bool raw;                 /* arguments are passed through unparsed */
    const struct cmd_option *options;
    int (*exec)(struct cli *cli, struct args *args);
};

extern const struct cmd *const cmd_table[];   /* NULL-terminated, in cmd_list.h's order */
const struct cmd *cmd_find(const char *name); /* NULL when there is none */

/* 0, or an exit status after an error was printed. */
int args_parse(struct cli *cli, const struct cmd *cmd, int argc, char **argv, struct args *ret);
const char *args_get(const struct args *args, const char *option); /* NULL: not given */
bool args_has(const struct args *args, const char *option); /* given, and not as --switch=false */
bool args_off(const struct args *args, const char *option); /* given as --switch=false */
/* Whole number in [min, max], or a duration in ms: 0 and *ret (untouched when not given), or a
 * status. */
int args_number(struct cli *cli, const struct args *args, const char *option, long long min,
                long long max, long long *ret);
int args_duration_ms(struct cli *cli, const struct args *args, const char *option, long long *ret);

void cmd_usage(struct str *out,
               const struct cmd *cmd); /* "usage: factory run [options]" + options */

#endif
