/*
 * history.h - what the verbs of `factory history` share.
 *
 * Owns: turning a word of the command line into a history: a file, standard input, or a run. To add
 * a verb: a row in history_verbs (cmd_history.c), a struct cmd history_verb_NAME whose name is
 * "history NAME", a section in docs/man/factory-history.1.scd, a test in tests/cli.
 */
#ifndef CLI_HISTORY_H
#define CLI_HISTORY_H

#include "cli/verb.h"
#include "engine/admin.h"

extern const struct cmd history_verb_show;
extern const struct cmd history_verb_export;
extern const struct cmd history_verb_import;
extern const struct cmd history_verb_validate;
extern const struct cmd history_verb_diff;
extern const struct cmd *const history_verbs[];        /* NULL-terminated */
const struct cmd *history_verb_find(const char *name); /* NULL when there is none */

/* Is the word a file ("-" is standard input) and no run? A file that exists, or a word that can
 * only be meant as one: with a slash, or ending as histories' files do. */
bool history_word_is_file(const char *word);
/* Its bytes; 0 or a status after the error was printed. */
int history_read_file(const char *word, struct str *ret);
/* File or run; 0 or a status after the error was printed. */
int history_load(struct cli *cli, struct args *args, const char *word, struct admin_loaded **ret);
/* The store (--db, or the factory's) is open and *ret_id names the run. */
int history_find_run(struct cli *cli, struct args *args, struct arena *arena, const char *word,
                     const char **ret_id);

#endif
