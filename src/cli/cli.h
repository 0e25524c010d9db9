/*
 * cli.h - what every command has at hand.
 *
 * Owns: struct cli: streams, where the configuration is, the engine handle. Must not: know single
 * commands. One thread.
 */
#ifndef CLI_CLI_H
#define CLI_CLI_H

#include <stdbool.h>
#include <stdio.h>

#include "base/err.h"
#include "base/str.h"
#include "durable.h"
#include "factory/config.h"

struct cli {
    const char *config_path; /* --config, or NULL */
    struct config *config;   /* after cli_config() */
    dur_engine *engine;      /* after cli_engine() */
    int64_t idle_exit_ms;    /* of an engine process: set before cli_engine() */
};

void cli_free(struct cli *cli);

/* "factory: ..." on standard error, one line (more when the text has more); returns status. */
int cli_error(int status, const char *fmt, ...) printf_like(2, 3);
int cli_fail(const struct err *err); /* the same for an error value; status from its name */

/* Load the configuration once: 0, or an exit status after the error was printed. */
int cli_config(struct cli *cli);
/* cli_config and the store. read_only: commands that look; a store that does not exist yet is status
 * EXIT_NOT_FOUND with a message that says so. */
int cli_engine(struct cli *cli, bool read_only);

/* Print text on standard output; a closed pipe ends the program quietly. */
void cli_print(const struct str *text);

#endif
