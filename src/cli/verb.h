/*
 * verb.h - what the verbs of `factory engine` share.
 *
 * Owns: opening what they work on (--db PATH: any libdurable store; --address HOST:PORT: any
 * Temporal server; else the factory's engine), and the way they report. To add a verb: a row in
 * verb_list.h, a struct cmd verb_NAME whose name is "engine NAME" in a file engine_NOUN.c, a
 * section in docs/man/factory-engine.1.scd, a test in tests/cli/t0700-engine.sh.
 */
#ifndef CLI_VERB_H
#define CLI_VERB_H

#include "cli/cmd.h"

/* The options every verb begins with: where the runs are. */
#define VERB_PLACE                                                                                 \
    {"db", 0, "PATH", "a store of libdurable; default: the factory's engine"},                     \
        {"keyring", 0, "FILE", "of --db or --address: the keys of sealed payloads"},               \
        {"address", 0, "HOST:PORT", "a Temporal server"},                                          \
    {                                                                                              \
        "namespace", 0, "NAME", "of that server; default: $TEMPORAL_NAMESPACE, else default"       \
    }
#define VERB_JSON                                                                                  \
    {                                                                                              \
        "json", 0, NULL, "JSON instead of text"                                                    \
    }

extern const struct cmd *const verb_table[]; /* NULL-terminated, in verb_list.h's order */

const char *verb_name(const struct cmd *verb); /* without "engine " */
const struct cmd *verb_find(const char *name); /* NULL when there is none */

/* cli->engine is open on the store that --db names (one of an older version is refused: its own
 * program upgrades it), or the server that --address does. 0, or a status after the error was
 * printed. */
int verb_open(struct cli *cli, const struct args *args, bool write);
/* Not the factory's own: names of runs are taken as they are. */
bool verb_is_elsewhere(const struct args *args);
/* Status and message of a durable.h call that failed. */
int verb_fail(struct cli *cli, int code);
/* "signal 'go' sent to order-42", or {"schema":1,"id":...,"done":...}; the status is EXIT_OK. */
int verb_done(struct cli *cli, const struct args *args, const char *id, const char *fmt, ...)
    printf_like(4, 5);

#endif
