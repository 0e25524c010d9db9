/*
 * cmd_history.c - factory history [VERB] ...: histories of runs and in files.
 *
 * Owns: the choice of the verb; without one it is show. Must not: know a verb.
 * Tests: tests/cli/t0650-history.sh, tests/cli/t0655-history-files.sh
 */
#include "cli/exitcode.h"
#include "cli/history.h"

const struct cmd *const history_verbs[] = {
    &history_verb_show,     &history_verb_export, &history_verb_import,
    &history_verb_validate, &history_verb_diff,   NULL,
};

static const char *bare(const struct cmd *verb)
{
    return verb->name + strlen("history ");
}

const struct cmd *history_verb_find(const char *name)
{
    for (size_t i = 0; history_verbs[i]; i++) {
        if (str_eq(bare(history_verbs[i]), name)) {
            return history_verbs[i];
        }
    }
    return NULL;
}

static int print_verbs(void)
{
    autostr struct str out = {0};
    str_add(&out, "usage: factory history [VERB] [options] ...\n"
                  "histories of runs and in files\n\n");
    for (size_t i = 0; history_verbs[i]; i++) {
        str_addf(&out, "  %-10s %s\n", bare(history_verbs[i]), history_verbs[i]->summary);
    }
    str_add(&out, "\nWithout a verb it is show. factory history VERB --help says more.\n");
    cli_print(&out);
    return EXIT_OK;
}

static bool asks_help(const char *word)
{
    return str_eq(word, "--help") || str_eq(word, "-h");
}

static int exec(struct cli *cli, struct args *args)
{
    struct args verb_args;
    const struct cmd *verb = args->count ? history_verb_find(args->words[0]) : NULL;
    if (args->count == 0 ||
        (!verb && (asks_help(args->words[0]) || str_eq(args->words[0], "help")))) {
        return print_verbs();
    }
    int first = verb ? 1 : 0;
    verb = verb ? verb : &history_verb_show;
    for (int i = first; i < args->count && !str_eq(args->words[i], "--"); i++) {
        if (asks_help(args->words[i])) {
            autostr struct str out = {0};
            cmd_usage(&out, verb);
            cli_print(&out);
            return EXIT_OK;
        }
    }
    int status = args_parse(cli, verb, args->count - first, args->words + first, &verb_args);
    return status == EXIT_OK ? verb->exec(cli, &verb_args) : status;
}

const struct cmd cmd_history = {
    .name = "history",
    .words = "[show|export|import|validate|diff] RUN ...",
    .summary = "histories of runs and in files",
    .max_words = -1,
    .raw = true,
    .exec = exec,
};
