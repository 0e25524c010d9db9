/*
 * engine_look.c - factory engine list | describe.
 *
 * Owns: how a workflow run of any type is shown. Must not: write to the store.
 * Tests: tests/cli/t0700-engine.sh
 */
#include "base/clock.h"
#include "base/json.h"
#include "base/mem.h"
#include "cli/exitcode.h"
#include "cli/format.h"
#include "cli/verb.h"

#define LIMIT_DEFAULT 20
#define LIMIT_MAX 1000000
#define CHILDREN_MAX 20 /* of a run, in its description */

static const struct cmd_option list_options[] = {
    VERB_PLACE,
    VERB_JSON,
    {"status", 's', "STATUS", "only runs with this status, such as Running"},
    {"filter", 'f', "FILTER", "only runs that pass, such as \"CustomerId = 'c1'\""},
    {"limit", 'n', "N", "at most so many; 0: all (default 20)"},
    {0},
};

/* A time as text, NULL for none. */
static const char *time_text(struct arena *arena, int64_t ns)
{
    autostr struct str text = {0};
    if (ns == 0) {
        return NULL;
    }
    time_format_rfc3339(&text, ns);
    return arena_strdup(arena, str_c(&text));
}

static void put_raw(struct json_out *w, const char *key, const char *json)
{
    if (json) {
        json_key(w, key);
        json_put_raw(w, json, strlen(json));
    } else {
        json_kv_str(w, key, NULL);
    }
}

static void put_run(struct json_out *w, const dur_description *d)
{
    autoarena struct arena *arena = arena_new();
    json_begin_object(w);
    json_kv_str(w, "workflow_id", d->workflow_id);
    json_kv_str(w, "run_id", d->run_id);
    json_kv_str(w, "type", d->type);
    json_kv_str(w, "task_queue", d->task_queue);
    json_kv_str(w, "status", dur_status_name(d->status));
    json_kv_str(w, "started_at", time_text(arena, d->started_ns));
    json_kv_str(w, "closed_at", time_text(arena, d->closed_ns));
    json_kv_i64(w, "history_events", d->history_events);
    json_kv_i64(w, "history_bytes", d->history_bytes);
    put_raw(w, "memo", d->memo);
    put_raw(w, "search_attributes", d->search_attributes);
    put_raw(w, "result", d->result);
    put_raw(w, "failure", d->failure);
    json_kv_str(w, "parked", d->parked);
    json_kv_str(w, "parent", d->parent);
    json_kv_str(w, "paused", d->paused);
    json_kv_i64(w, "attempt", d->attempt);
    json_kv_str(w, "first_run_id", d->first_run_id);
    json_kv_str(w, "next_run_id", d->next_run_id);
    json_kv_str(w, "begins_at", time_text(arena, d->begins_ns));
    json_end_object(w);
}

struct rows {
    struct table table;
    struct json_out *json;
    int64_t now_ns;
};

static int on_row(void *user, int64_t token, const dur_description *d)
{
    struct rows *r = user;
    autostr struct str age = {0};
    autostr struct str events = {0};
    (void)token;
    if (r->json) {
        put_run(r->json, d);
        return 0;
    }
    format_age(&age, r->now_ns - d->started_ns);
    if (d->history_events) {
        str_addf(&events, "%lld", (long long)d->history_events);
    } else {
        str_add(&events, "—"); /* a server counts them for its lists when a run has closed */
    }
    table_add(&r->table, (const char *const[]){d->workflow_id, d->type,
                                               d->parked ? "Parked" : dur_status_name(d->status),
                                               str_c(&age), str_c(&events)});
    return 0;
}

/* 0 and *ret, or a status after the error was printed. */
static int read_status(const char *word, dur_status *ret)
{
    const char *names[DUR_PAUSED];
    for (int i = DUR_RUNNING; i <= DUR_PAUSED; i++) {
        names[i - 1] = dur_status_name((dur_status)i);
        if (str_eq(names[i - 1], word)) {
            *ret = (dur_status)i;
            return EXIT_OK;
        }
    }
    const char *near = str_nearest(word, names, ARRAY_LEN(names));
    return cli_error(EXIT_USAGE, "engine list: no status %s%s%s%s", word,
                     near ? "; did you mean " : "; write Running, Completed, Failed, ...",
                     near ? near : "", near ? "?" : "");
}

/* Those of a status, or those that pass a filter (and are of that status). */
static int list_runs(struct cli *cli, const char *filter, const char *word, dur_status wanted,
                     int limit, struct rows *r)
{
    autostr struct str both = {0};
    if (!filter) {
        return dur_list(cli->engine, wanted, 0, limit, on_row, r);
    }
    if (!wanted || filter[strspn(filter, " \t\n")] == '\0') {
        return wanted ? dur_list(cli->engine, wanted, 0, limit, on_row, r)
                      : dur_list_where(cli->engine, filter, 0, limit, on_row, r);
    }
    str_addf(&both, "(%s) AND ExecutionStatus = '%s'", filter, word);
    return dur_list_where(cli->engine, str_c(&both), 0, limit, on_row, r);
}

static int list_exec(struct cli *cli, struct args *args)
{
    autostr struct str out = {0};
    struct json_out w = json_writer(&out, 2);
    struct rows r = {.table = {.columns = 5,
                               .heads = {"WORKFLOW", "TYPE", "STATUS", "AGE", "EVENTS"},
                               .least = {13, 8, 0, 0, 0},
                               .middle = {true, false, false, false, false}},
                     .json = args_has(args, "json") ? &w : NULL,
                     .now_ns = clock_wall_ns()};
    long long limit = LIMIT_DEFAULT;
    dur_status wanted = 0;
    const char *word = args_get(args, "status");
    int status = args_number(cli, args, "limit", 0, LIMIT_MAX, &limit);
    if (status || (word && (status = read_status(word, &wanted))) ||
        (status = verb_open(cli, args, false))) {
        return status;
    }
    if (r.json) {
        json_begin_object(&w);
        json_kv_i64(&w, "schema", 1);
        json_key(&w, "runs");
        json_begin_array(&w);
    }
    int rc =
        list_runs(cli, args_get(args, "filter"), word, wanted, limit ? (int)limit : LIMIT_MAX, &r);
    if (rc == DUR_OK && r.json) {
        json_end_array(&w);
        cli_json_end(&w);
    } else if (rc == DUR_OK && r.table.rows) {
        table_print(&r.table, &out, cli_width(), cli_colour());
    } else if (rc == DUR_OK) {
        str_add(&out, "no runs\n");
    }
    table_free(&r.table);
    if (rc != DUR_OK) {
        return verb_fail(cli, rc);
    }
    cli_print(&out);
    return EXIT_OK;
}

const struct cmd verb_list = {
    .name = "engine list",
    .words = "",
    .summary = "runs of all types, newest first",
    .options = list_options,
    .exec = list_exec,
};

/* --- describe ----------------------------------------------------------------------------------
 */

static const struct cmd_option describe_options[] = {VERB_PLACE, VERB_JSON, {0}};

static void field(struct str *out, const char *name, const char *value)
{
    if (value && *value) {
        str_addf(out, "%-12s ", name);
        format_clean(out, value, strlen(value));
        str_addc(out, '\n');
    }
}

static void print_text(struct str *out, const dur_description *d)
{
    autoarena struct arena *arena = arena_new();
    field(out, "workflow", d->workflow_id);
    field(out, "run", d->run_id);
    field(out, "type", d->type);
    field(out, "task queue", d->task_queue);
    field(out, "status", dur_status_name(d->status));
    field(out, "paused for", d->paused);
    field(out, "started", time_text(arena, d->started_ns));
    field(out, "begins", d->begins_ns ? time_text(arena, d->begins_ns) : NULL);
    field(out, "attempt", d->attempt > 1 ? arena_printf(arena, "%d", d->attempt) : NULL);
    field(out, "first run", str_eq(d->first_run_id, d->run_id) ? NULL : d->first_run_id);
    field(out, "next run", d->next_run_id);
    field(out, "closed", time_text(arena, d->closed_ns));
    field(out, "history",
          arena_printf(arena, "%lld events, %lld bytes", (long long)d->history_events,
                       (long long)d->history_bytes));
    field(out, "parent", d->parent);
    field(out, "memo", d->memo);
    field(out, "result", d->result);
    field(out, "failure", d->failure);
    if (d->parked) {
        str_addf(out, "parked\n%s", d->parked);
    }
}

/* One line per child, newest first. */
struct children {
    struct str *out;
    int count;
};

static int on_child(void *user, int64_t token, const dur_description *d)
{
    struct children *c = user;
    (void)token;
    if (c->count++ == CHILDREN_MAX) {
        return 1;
    }
    str_addf(c->out, "%-12s ", c->count > 1 ? "" : "children");
    format_clean(c->out, d->workflow_id, strlen(d->workflow_id));
    str_add(c->out, "  ");
    format_clean(c->out, d->type, strlen(d->type));
    str_addf(c->out, "  %s\n", dur_status_name(d->status));
    return 0;
}

static int print_children(struct cli *cli, struct str *out, const dur_description *d)
{
    autofree char *filter = mem_printf("ParentRunId = '%s'", d->run_id);
    struct children children = {.out = out};
    int rc = dur_list_where(cli->engine, filter, 0, CHILDREN_MAX + 1, on_child, &children);
    if (rc == DUR_OK && children.count > CHILDREN_MAX) {
        str_addf(out, "%-12s the others: factory engine list -n 0 -f \"%s\"\n", "", filter);
    }
    return rc;
}

static int describe_exec(struct cli *cli, struct args *args)
{
    autostr struct str out = {0};
    dur_description *d = NULL;
    int status = verb_open(cli, args, false);
    if (status != EXIT_OK) {
        return status;
    }
    int rc = dur_describe(cli->engine, args->words[0], &d);
    if (rc != DUR_OK) {
        return verb_fail(cli, rc);
    }
    if (args_has(args, "json")) {
        struct json_out w = cli_json_begin(&out);
        json_key(&w, "run");
        put_run(&w, d);
        cli_json_end(&w);
    } else {
        print_text(&out, d);
        rc = print_children(cli, &out, d);
    }
    dur_description_free(d);
    if (rc != DUR_OK) {
        return verb_fail(cli, rc);
    }
    cli_print(&out);
    return EXIT_OK;
}

const struct cmd verb_describe = {
    .name = "engine describe",
    .words = "WORKFLOW",
    .summary = "all that is known of a run",
    .min_words = 1,
    .max_words = 1,
    .options = describe_options,
    .exec = describe_exec,
};
