/*
 * engine_work.c - factory engine queues | token | complete: activities from outside.
 *
 * Owns: these verbs. Completing is one durable transaction, whether or not an engine serves the
 * store. Tests: tests/cli/t0705-engine-work.sh
 */
#include "base/json.h"
#include "cli/exitcode.h"
#include "cli/format.h"
#include "cli/verb.h"
#include "engine/admin.h"
#include "factory/factory.h"

static const struct cmd_option plain_options[] = {VERB_PLACE, VERB_JSON, {0}};

/* --- queues ------------------------------------------------------------------------------------
 */

static void put_queue(struct json_out *w, const struct admin_queue *q)
{
    json_begin_object(w);
    json_kv_str(w, "name", q->name);
    json_kv_bool(w, "has_limits", q->slots > 0);
    json_kv_i64_opt(w, "slots", q->slots);
    if (q->rate_per_s > 0) {
        json_kv_double(w, "rate_per_s", q->rate_per_s);
        json_kv_i64(w, "burst", q->burst);
    }
    json_kv_i64_opt(w, "per_key", q->per_key);
    if (q->waiting == ADMIN_UNKNOWN) { /* of a server */
        json_kv_i64(w, "workers", q->pollers);
        json_end_object(w);
        return;
    }
    json_kv_i64(w, "waiting", q->waiting);
    json_kv_i64(w, "running", q->running);
    json_kv_i64(w, "backoff", q->backoff);
    json_kv_i64(w, "awaited", q->async);
    json_end_object(w);
}

static void add_row(struct table *table, struct arena *arena, const struct admin_queue *q)
{
    autostr struct str limits = {0};
    const int64_t values[] = {q->waiting, q->running, q->backoff, q->async};
    const char *cells[6] = {q->name};
    if (q->slots > 0) {
        str_addf(&limits, "%d at once", q->slots);
    }
    if (q->rate_per_s > 0) {
        str_addf(&limits, ", %g/s", q->rate_per_s);
    }
    if (q->per_key > 0) {
        str_addf(&limits, ", %d per key", q->per_key);
    }
    for (size_t i = 0; i < ARRAY_LEN(values); i++) {
        cells[i + 1] = arena_printf(arena, "%lld", (long long)values[i]);
    }
    cells[5] = str_c(&limits);
    table_add(table, cells);
}

/* What waits on a server's queue is the server's own business: it tells who asks for it. */
static void print_queues(struct str *out, struct arena *arena, const struct admin_queues *queues,
                         bool is_remote)
{
    struct table workers autotable = {.columns = 2, .heads = {"QUEUE", "WORKERS"}, .least = {8, 0}};
    struct table table autotable = {
        .columns = 6,
        .heads = {"QUEUE", "WAITING", "RUNNING", "BACKOFF", "AWAITED", "LIMITS"},
        .least = {8, 0, 0, 0, 0, 8}};
    for (size_t i = 0; i < queues->count; i++) {
        const struct admin_queue *q = &queues->rows[i];
        if (is_remote) {
            const char *cells[] = {q->name, arena_printf(arena, "%lld", (long long)q->pollers)};
            table_add(&workers, cells);
        } else {
            add_row(&table, arena, q);
        }
    }
    table_print(is_remote ? &workers : &table, out, cli_width(), cli_colour());
}

static int queues_exec(struct cli *cli, struct args *args)
{
    autoarena struct arena *arena = arena_new();
    autostr struct str out = {0};
    struct admin_queues queues = {0};
    int status = verb_open(cli, args, false);
    if (status != EXIT_OK) {
        return status;
    }
    bool is_own = !verb_is_elsewhere(args); /* a server does not list its queues: ours are named */
    int rc = is_own && admin_is_remote(cli->engine)
                 ? factory_declare_lanes(cli->config, cli->engine)
                 : DUR_OK;
    rc = rc ? rc : admin_queues(cli->engine, arena, &queues);
    if (rc != DUR_OK) {
        return verb_fail(cli, rc);
    }
    if (args_has(args, "json")) {
        struct json_out w = cli_json_begin(&out);
        json_key(&w, "queues");
        json_begin_array(&w);
        for (size_t i = 0; i < queues.count; i++) {
            put_queue(&w, &queues.rows[i]);
        }
        json_end_array(&w);
        cli_json_end(&w);
    } else if (queues.count == 0) {
        str_add(&out, "nothing is pending, and no limits are declared\n");
    } else {
        print_queues(&out, arena, &queues, admin_is_remote(cli->engine));
    }
    cli_print(&out);
    return EXIT_OK;
}

const struct cmd verb_queues = {
    .name = "engine queues",
    .words = "",
    .summary = "task queues: limits, what waits and runs",
    .options = plain_options,
    .exec = queues_exec,
};

/* --- token -------------------------------------------------------------------------------------
 */

static int token_exec(struct cli *cli, struct args *args)
{
    autostr struct str out = {0};
    char *token = NULL;
    int status = verb_open(cli, args, false);
    if (status != EXIT_OK) {
        return status;
    }
    int rc = dur_activity_token_of(cli->engine, args->words[0], args->words[1], &token);
    if (rc != DUR_OK) {
        return verb_fail(cli, rc);
    }
    str_addf(&out, "%s\n", token);
    dur_free(token);
    cli_print(&out);
    return EXIT_OK;
}

static const struct cmd_option token_options[] = {VERB_PLACE, {0}};

const struct cmd verb_token = {
    .name = "engine token",
    .words = "WORKFLOW ACTIVITY-ID",
    .summary = "the token of a pending activity's attempt",
    .min_words = 2,
    .max_words = 2,
    .options = token_options,
    .exec = token_exec,
};

/* --- complete ----------------------------------------------------------------------------------
 */

static const struct cmd_option complete_options[] = {
    VERB_PLACE,
    VERB_JSON,
    {"fail", 0, "TYPE", "it failed in this way; the word behind the token is the message"},
    {"permanent", 0, NULL, "with --fail: trying again cannot help"},
    {"cancelled", 0, NULL, "it stopped as it was asked to"},
    {"heartbeat", 0, NULL, "it is alive; the JSON is its details"},
    {0},
};

static int complete(struct cli *cli, const struct args *args, const char *what)
{
    const char *token = args->words[0];
    const char *text = args->count > 1 ? args->words[1] : NULL;
    const char *type = args_get(args, "fail");
    if (type) {
        return dur_complete_failed(cli->engine, token,
                                   args_has(args, "permanent") ? DUR_PERMANENT : DUR_TRANSIENT,
                                   type, text);
    }
    if (str_eq(what, "cancelled")) {
        return dur_complete_cancelled(cli->engine, token);
    }
    return str_eq(what, "alive") ? dur_complete_heartbeat(cli->engine, token, text)
                                 : dur_complete(cli->engine, token, text);
}

static int complete_exec(struct cli *cli, struct args *args)
{
    bool fails = args_has(args, "fail"), cancelled = args_has(args, "cancelled");
    bool alive = args_has(args, "heartbeat");
    const char *what = fails ? "failed" : cancelled ? "cancelled" : alive ? "alive" : "completed";
    if (fails + cancelled + alive > 1 || (args_has(args, "permanent") && !fails) ||
        (cancelled && args->count > 1)) {
        return cli_error(EXIT_USAGE, "engine complete: one of --fail, --cancelled, --heartbeat; "
                                     "--permanent goes with --fail, no result with --cancelled");
    }
    int status = verb_open(cli, args, true);
    if (status != EXIT_OK) {
        return status;
    }
    int rc = complete(cli, args, what);
    if (rc == DUR_CANCELLED) {
        return verb_done(cli, args, args->words[0], "reported alive: it should stop");
    }
    return rc == DUR_OK ? verb_done(cli, args, args->words[0], "reported %s", what)
                        : verb_fail(cli, rc);
}

const struct cmd verb_complete = {
    .name = "engine complete",
    .words = "TOKEN [JSON | MESSAGE]",
    .summary = "say how an activity that waits for its outcome ended",
    .min_words = 1,
    .max_words = 2,
    .options = complete_options,
    .exec = complete_exec,
};
