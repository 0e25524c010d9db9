/*
 * cmd_complete.c - factory __complete WORDS...: what the last word may become.
 *
 * Owns: one candidate a line, "WORD<tab>what it is"; ":files" and ":dirs" ask the shell to complete
 * paths. Reads the command table, the configuration's names and the store (read-only). Must not:
 * print an error, create anything, or take longer than LIMIT_MS: a completion that comes late is
 * worse than none.
 * Tests: tests/cli/t0230-complete.sh
 */
#include <signal.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/json.h"
#include "base/mem.h"
#include "cli/cmd.h"
#include "cli/exitcode.h"
#include "cli/find.h"
#include "cli/history.h"
#include "factory/factory.h"

#define LIMIT_MS 100
#define RUNS_MAX 200

struct completion {
    struct cli *cli;
    struct str out;
    const char *prefix; /* of candidates */
};

static void on_alarm(int number)
{
    (void)number;
    _exit(EXIT_OK);
}

static void limit_time(void)
{
    struct sigaction action = {.sa_handler = on_alarm};
    struct itimerval timer = {.it_value.tv_usec = LIMIT_MS * 1000};
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &timer, NULL);
}

static void offer(struct completion *c, const char *word, const char *what)
{
    if (str_starts(word, c->prefix)) {
        str_addf(&c->out, "%s\t%s\n", word, what);
    }
}

/* --- what the store and the configuration know -------------------------------------------------
 */

static bool load_config(struct completion *c)
{
    struct cli *cli = c->cli;
    return cli->config || config_load_lenient(cli->config_path, &cli->config, NULL) >= 0;
}

static int offer_run(void *user, int64_t token, const dur_description *d)
{
    autoarena struct arena *arena = arena_new();
    const struct json *memo;
    const char *state = NULL;
    (void)token;
    if (json_parse(arena, d->memo, strlen(d->memo), &memo, NULL) == 0) {
        state = json_get_str(memo, "state");
    }
    offer(user, find_run_id(d->workflow_id), state ? state : dur_status_name(d->status));
    return 0;
}

static int offer_row(void *user, const struct ledger_run *run)
{
    offer(user, run->run_id, run->state ? run->state : "run");
    return 0;
}

static void offer_runs(struct completion *c)
{
    struct err err = {0};
    if (!load_config(c)) {
        return;
    }
    autoledger struct ledger *ledger = NULL;
    autofree char *database = config_database_path(c->cli->config);
    if (!fs_exists(database)) {
        return;
    }
    if (config_is_remote(c->cli->config)) { /* a server is too far away for this */
        if (ledger_open(database, true, &ledger, &err) == 0) {
            ledger_list_runs(ledger, RUNS_MAX, offer_row, c, &err);
        }
    } else if (factory_open_engine(c->cli->config, true, 0, &c->cli->engine, &err) == 0) {
        dur_list(c->cli->engine, 0, 0, RUNS_MAX, offer_run, c);
    }
}

static void offer_sandboxes(struct completion *c)
{
    autosandboxlist struct sandbox_list list = {0};
    if (!load_config(c) || !fs_is_dir(c->cli->config->data_dir)) {
        return;
    }
    autoprovider struct provider *provider = factory_provider(c->cli->config);
    if (provider->ops->list(provider, &list, NULL) < 0) {
        return;
    }
    for (size_t i = 0; i < list.count; i++) {
        const char *run = sandbox_info_label(&list.items[i], LABEL_RUN);
        offer(c, list.items[i].id, run ? run : "sandbox");
    }
}

static void offer_agents(struct completion *c)
{
    for (size_t i = 0; load_config(c) && i < c->cli->config->harness_count; i++) {
        offer(c, c->cli->config->harnesses[i].name, "agent");
    }
}

static void offer_profiles(struct completion *c)
{
    for (size_t i = 0; load_config(c) && i < c->cli->config->profile_count; i++) {
        offer(c, c->cli->config->profiles[i].name, "verification profile");
    }
}

static void offer_gates(struct completion *c)
{
    for (size_t i = 0; load_config(c) && i < c->cli->config->profile_count; i++) {
        const struct profile_config *profile = &c->cli->config->profiles[i];
        for (size_t k = 0; k < profile->gate_count; k++) {
            offer(c, profile->gates[k].id, profile->name);
        }
    }
}

/* --- what a command takes ----------------------------------------------------------------------
 */

static void offer_commands(struct completion *c)
{
    for (size_t i = 0; cmd_table[i]; i++) {
        if (!cmd_table[i]->hidden) {
            offer(c, cmd_table[i]->name, cmd_table[i]->summary);
        }
    }
    offer(c, "help", "list the commands");
    if (c->prefix[0] == '-') {
        offer(c, "--config", "the configuration");
        offer(c, "--help", "list the commands");
        offer(c, "--version", "print versions");
    }
}

static void offer_verbs(struct completion *c)
{
    for (size_t i = 0; verb_table[i]; i++) {
        offer(c, verb_name(verb_table[i]), verb_table[i]->summary);
    }
    offer(c, "--help", "list the verbs");
}

static void offer_history_verbs(struct completion *c)
{
    for (size_t i = 0; history_verbs[i]; i++) {
        offer(c, history_verbs[i]->name + strlen("history "), history_verbs[i]->summary);
    }
}

static void offer_options(struct completion *c, const struct cmd *cmd)
{
    for (const struct cmd_option *o = cmd->options; o && o->name; o++) {
        autofree char *word = mem_printf("--%s", o->name);
        offer(c, word, o->help);
    }
    offer(c, "--help", "what the command does");
}

static void offer_value(struct completion *c, const struct cmd_option *option)
{
    if (str_eq(option->value, "FILE") || str_eq(option->value, "PATH")) {
        str_add(&c->out, ":files\n");
    } else if (str_eq(option->value, "DIR")) {
        str_add(&c->out, ":dirs\n");
    } else if (str_eq(option->name, "agent")) {
        offer_agents(c);
    } else if (str_eq(option->name, "verification")) {
        offer_profiles(c);
    } else if (str_eq(option->name, "gate")) {
        offer_gates(c);
    }
}

/* The option that word names when it takes its value from the next one, or NULL. */
static const struct cmd_option *takes_value(const struct cmd *cmd, const char *word)
{
    for (const struct cmd_option *o = cmd->options; o && o->name; o++) {
        bool is_long = str_starts(word, "--") && str_eq(word + 2, o->name);
        bool is_letter = word[0] == '-' && o->letter && word[1] == o->letter && !word[2];
        if (o->value && (is_long || is_letter)) {
            return o;
        }
    }
    return NULL;
}

/* Positional words are described by the row: "RUN", "validate|show", "[list|destroy|cleanup] [ID]".
 */
static void offer_positional(struct completion *c, const struct cmd *cmd, int index)
{
    autofree char *words = mem_strdup(cmd->words);
    char *at = words;
    for (; index > 0 && *at; index--) {
        at += strcspn(at, " ");
        at += strspn(at, " ");
    }
    at[strcspn(at, " ")] = '\0';
    at += strspn(at, "[");
    at[strcspn(at, "]")] = '\0';
    if (str_starts(at, "RUN")) {
        offer_runs(c);
    }
    if (strstr(at, "FILE")) {
        str_add(&c->out, ":files\n");
    } else if (str_eq(at, "ID")) {
        offer_sandboxes(c);
    }
    while (*at >= 'a' && *at <= 'z') {
        size_t len = strcspn(at, "|");
        autofree char *word = mem_strndup(at, len);
        offer(c, word, cmd->name);
        at += len + (at[len] == '|');
    }
}

static void complete_arguments(struct completion *c, const struct cmd *cmd, char **words, int count)
{
    const struct cmd_option *pending = NULL;
    int positional = 0;
    bool only_words = false;
    for (int i = 0; i < count; i++) {
        if (str_eq(words[i], "=")) { /* bash makes three words of --option=value */
            continue;
        }
        if (pending) {
            pending = NULL;
        } else if (!only_words && words[i][0] == '-') {
            pending = takes_value(cmd, words[i]);
            only_words = str_eq(words[i], "--");
        } else {
            positional++;
        }
    }
    if (str_eq(c->prefix, "=")) {
        c->prefix = "";
    }
    if (pending) {
        offer_value(c, pending);
    } else if (c->prefix[0] == '-' && !only_words) {
        offer_options(c, cmd);
    } else {
        offer_positional(c, cmd, positional);
    }
}

static void complete(struct completion *c, char **words, int count)
{
    int at = 0;
    c->prefix = count ? words[count - 1] : "";
    count -= count > 0;
    while (at < count && words[at][0] == '-') {
        if (str_eq(words[at], "--config") && at + 1 == count) {
            str_add(&c->out, ":files\n");
            return;
        }
        if (str_eq(words[at], "--config")) {
            c->cli->config_path = words[++at];
        } else if (str_starts(words[at], "--config=")) {
            c->cli->config_path = words[at] + strlen("--config=");
        }
        at++;
    }
    if (at >= count) {
        offer_commands(c);
        return;
    }
    const struct cmd *cmd = cmd_find(words[at]);
    if (cmd && str_eq(cmd->name, "engine")) {
        at++;
        if (at >= count) {
            offer_verbs(c);
            return;
        }
        cmd = verb_find(words[at]);
    }
    if (cmd && str_eq(cmd->name, "history")) {
        cmd = &history_verb_show;
        if (at + 1 >= count) {
            offer_history_verbs(c);
        } else if (history_verb_find(words[at + 1])) {
            cmd = history_verb_find(words[++at]);
        }
    }
    if (cmd && !cmd->hidden) {
        complete_arguments(c, cmd, words + at + 1, count - at - 1);
    }
}

static int exec(struct cli *cli, struct args *args)
{
    struct completion c = {.cli = cli};
    limit_time();
    complete(&c, args->words, args->count);
    cli_print(&c.out);
    str_free(&c.out);
    return EXIT_OK;
}

const struct cmd cmd_complete = {
    .name = "__complete",
    .words = "WORD...",
    .summary = "what the last word may become, for completion scripts",
    .max_words = -1,
    .hidden = true,
    .raw = true,
    .exec = exec,
};
