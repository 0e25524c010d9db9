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
#include <sys/types.h>

#include "base/err.h"
#include "base/json.h"
#include "base/str.h"
#include "durable.h"
#include "factory/config.h"

struct cli {
    const char *config_path; /* --config, or NULL */
    struct config *config;   /* after cli_config() or cli_look() */
    bool config_is_guess;    /* it does not validate: only its data_dir may be relied on */
    dur_engine *engine;      /* after cli_engine() or cli_look() */
    int64_t idle_exit_ms;    /* of an engine process: set before cli_engine() */
    pid_t engine_pid;        /* the engine that we started (spawn.h), 0 none */
    int64_t engine_log_from; /* where its words begin in engine.log */
    int engine_starts;
};

void cli_free(struct cli *cli);

/* "factory: ..." on standard error, one line (more when the text has more); returns status. */
int cli_error(int status, const char *fmt, ...) printf_like(2, 3);
int cli_fail(const struct err *err); /* the same for an error value; status from its name */
void cli_note(const char *fmt, ...) printf_like(1, 2); /* the same words, for what is no error */

/* Load the configuration once: 0, or an exit status after the error was printed. */
int cli_config(struct cli *cli);
/* cli_config and the store. read_only: commands that look; a store that does not exist yet is
 * status EXIT_NOT_FOUND with a message that says so. */
int cli_engine(struct cli *cli, bool read_only);
/* The engine for commands that look at runs or stop them: needs no valid configuration, only where
 * the store or the server is, and never creates one. write: to cancel. */
int cli_look(struct cli *cli, bool write);
/* The same without opening it: cli->config says where runs are, and if that is a file, it is there.
 */
int cli_look_for_store(struct cli *cli);

/* Print text on standard output; a closed pipe ends the program quietly. */
void cli_print(const struct str *text);
/* A JSON document of ours: {"schema":1, then what the caller writes; the end with its newline. */
struct json_out cli_json_begin(struct str *out);
void cli_json_end(struct json_out *w);
/* Columns for output on standard output: the terminal's or $COLUMNS; elsewhere nothing is cut. */
size_t cli_width(void);
bool cli_colour(void);

/* From now on Ctrl-C only sets what cli_interrupted() tells: for commands that wait. */
void cli_catch_interrupt(void);
bool cli_interrupted(void);
/* Sleeps, less when a signal arrives. */
void cli_pause_ms(int ms);

#endif
