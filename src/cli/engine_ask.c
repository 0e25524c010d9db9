/*
 * engine_ask.c - factory engine query | update: what a client asks a run, and its answer.
 *
 * Owns: these verbs. A query of a factory's run is answered by this process; of another store by
 * the engine that serves it. An update is durable whether or not an engine serves.
 * Tests: tests/cli/t0710-engine-ask.sh
 */
#include "base/json.h"
#include "cli/exitcode.h"
#include "cli/verb.h"
#include "factory/factory.h"

#define PATIENCE_MS 10000 /* for the engine that serves; --timeout says otherwise */

/* The answer as it is, or in a document. Frees result. */
static int print_answer(const struct args *args, const char *what, char *result, bool is_stale)
{
    autostr struct str out = {0};
    const char *answer = result ? result : "null";
    if (args_has(args, "json")) {
        struct json_out w = cli_json_begin(&out);
        json_kv_str(&w, "id", args->words[0]);
        json_kv_str(&w, what, args->words[1]);
        json_kv_bool_opt(&w, "stale", is_stale);
        json_kv_raw(&w, "result", answer, strlen(answer));
        json_end_object(&w);
    } else {
        str_add(&out, answer);
    }
    str_add(&out, "\n");
    cli_print(&out);
    dur_free(result);
    return EXIT_OK;
}

static int query_exec(struct cli *cli, struct args *args)
{
    long long timeout_ms = PATIENCE_MS;
    char *result = NULL;
    bool is_foreign = verb_is_elsewhere(args);
    int status = args_duration_ms(cli, args, "timeout", &timeout_ms);
    if (status != EXIT_OK || (status = verb_open(cli, args, is_foreign)) != EXIT_OK) {
        return status;
    }
    if (!is_foreign && factory_register_workflows(cli->engine) != DUR_OK) {
        return verb_fail(cli, DUR_FAILED);
    }
    int rc = dur_query(cli->engine, args->words[0], args->words[1],
                       args->count > 2 ? args->words[2] : NULL, timeout_ms, &result);
    if (rc < 0) {
        return verb_fail(cli, rc);
    }
    if (rc > 0) {
        cli_note("%s", dur_error(cli->engine));
    }
    return print_answer(args, "query", result, rc > 0);
}

static const struct cmd_option query_options[] = {
    VERB_PLACE, VERB_JSON, {"timeout", 0, "TIME", "how long to wait for an engine (10s)"}, {0}};

const struct cmd verb_query = {
    .name = "engine query",
    .words = "WORKFLOW NAME [JSON]",
    .summary = "ask a run about its state; leaves no trace",
    .min_words = 2,
    .max_words = 3,
    .options = query_options,
    .exec = query_exec,
};

static int stage_of(struct cli *cli, const struct args *args, dur_update_stage *ret)
{
    const char *word = args_get(args, "wait");
    (void)cli;
    *ret = str_eq(word, "accepted")   ? DUR_WAIT_ACCEPTED
           : str_eq(word, "admitted") ? DUR_WAIT_ADMITTED
                                      : DUR_WAIT_COMPLETED;
    if (word && *ret == DUR_WAIT_COMPLETED && !str_eq(word, "completed")) {
        return cli_error(EXIT_USAGE, "--wait takes admitted, accepted or completed, not %s", word);
    }
    return EXIT_OK;
}

static int update_exec(struct cli *cli, struct args *args)
{
    long long timeout_ms = 0;
    char *result = NULL;
    dur_update_options o = {.update_id = args_get(args, "update-id")};
    int status = args_duration_ms(cli, args, "timeout", &timeout_ms);
    if (status != EXIT_OK || (status = stage_of(cli, args, &o.wait)) != EXIT_OK ||
        (status = verb_open(cli, args, true)) != EXIT_OK) {
        return status;
    }
    o.timeout_ms = timeout_ms;
    int rc = dur_update(cli->engine, args->words[0], args->words[1],
                        args->count > 2 ? args->words[2] : NULL, &result, &o);
    if (rc != DUR_OK) {
        dur_free(result);
        return verb_fail(cli, rc);
    }
    if (o.wait != DUR_WAIT_COMPLETED && !result) {
        return verb_done(cli, args, args->words[0], "%s: update %s %s", args->words[0],
                         args->words[1], o.wait == DUR_WAIT_ACCEPTED ? "accepted" : "admitted");
    }
    return print_answer(args, "update", result, false);
}

static const struct cmd_option update_options[] = {
    VERB_PLACE,
    VERB_JSON,
    {"update-id", 0, "ID", "names the update: asking again asks for the same one"},
    {"wait", 0, "STAGE", "admitted, accepted or completed (the default)"},
    {"timeout", 0, "TIME", "how long to wait; the update goes on"},
    {0}};

const struct cmd verb_update = {
    .name = "engine update",
    .words = "WORKFLOW NAME [JSON]",
    .summary = "ask an open run to change, and wait for its answer",
    .min_words = 2,
    .max_words = 3,
    .options = update_options,
    .exec = update_exec,
};
