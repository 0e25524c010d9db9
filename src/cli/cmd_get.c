/*
 * cmd_get.c - factory get KIND: tables of what there is. Kinds: runs.
 * Owns: the table of runs, those in flight among them. Newest first; reads only as many as it
 * shows.
 * Tests: tests/cli/t0625-get.sh
 */
#include <ctype.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "cli/cmd.h"
#include "cli/exitcode.h"
#include "cli/format.h"
#include "cli/view.h"
#include "factory/factory.h"
#include "factory/workflow.h"

#define LIMIT_DEFAULT 20
#define LIMIT_MAX 100000
#define PAGE 200

static const struct cmd_option options[] = {
    {"limit", 'n', "N", "at most so many; default: 20, 0: all"},
    {"state", 's', "STATE", "only runs in this state: RUNNING, SUCCEEDED, AGENT_FAILED ..."},
    {"json", 0, NULL, "JSON: {\"schema\", \"runs\": [...]}"},
    {0},
};

struct rows {
    struct table table;
    struct json_out *json;
    const char *state; /* NULL: any */
    long long left;
    int64_t token; /* of the last row seen */
    int seen;      /* on this page */
    int64_t now_ns;
};

static void add_row(struct rows *r, const struct view *view)
{
    autostr struct str age = {0}, result = {0}, source = {0};
    format_age(&age, r->now_ns - view->started_ns);
    str_add(&result, view->state_name);
    if (!view->is_over) {
        str_addf(&result, " %s", view->parked ? "parked" : view->step);
    }
    view_source(&source, view);
    const char *cells[] = {view->run_id, str_c(&age), str_c(&result), view->agent, str_c(&source)};
    table_add(&r->table, cells);
}

static void add_json(struct rows *r, const struct view *view)
{
    autostr struct str started = {0}, finished = {0};
    struct json_out *w = r->json;
    time_format_rfc3339(&started, view->started_ns);
    time_format_rfc3339(&finished, view->ended_ns);
    json_begin_object(w);
    json_kv_str(w, "run_id", view->run_id);
    json_kv_str(w, "state", view->state_name);
    json_kv_bool(w, "finished", view->is_over);
    json_kv_str(w, "step", view->step);
    json_kv_bool(w, "parked", view->parked != NULL);
    json_kv_str(w, "started_at", str_c(&started));
    json_kv_str(w, "finished_at", view->ended_ns ? str_c(&finished) : NULL);
    json_kv_str(w, "agent", view->agent);
    json_kv_str(w, "repository", view->repository);
    json_kv_str(w, "revision", view->revision);
    json_kv_str(w, "commit", *view->commit ? view->commit : NULL);
    json_kv_str(w, "verification", view->profile);
    json_kv_str(w, "agent_result", view->agent_result);
    json_kv_str(w, "verification_result", view->verification_result);
    json_kv_str(w, "cleanup_result", view->cleanup_result);
    json_kv_str(w, "error", view->error);
    json_end_object(w);
}

static int on_row(void *user, int64_t token, const dur_description *d)
{
    struct rows *r = user;
    struct view view;
    autoarena struct arena *arena = arena_new();
    r->token = token;
    r->seen++;
    if (!str_eq(d->type, WORKFLOW_NAME)) {
        return 0;
    }
    view_read(arena, d, &view);
    if (r->state && !str_eq(view.state_name, r->state)) {
        return 0;
    }
    if (r->json) {
        add_json(r, &view);
    } else {
        add_row(r, &view);
    }
    return --r->left == 0;
}

/* States that the engine knows too: these runs it finds by an index. 0: any may be in this state.
 */
static dur_status status_of(const char *state)
{
    static const struct {
        const char *state;
        dur_status status;
    } table[] = {
        {"RUNNING", DUR_RUNNING},       {"FAILED", DUR_RUN_FAILED},      {"CANCELED", DUR_CANCELED},
        {"TERMINATED", DUR_TERMINATED}, {"TIMEDOUT", DUR_RUN_TIMED_OUT},
    };
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        if (str_eq(state, table[i].state)) {
            return table[i].status;
        }
    }
    return 0;
}

static int list(struct cli *cli, struct rows *r)
{
    dur_status status = status_of(r->state);
    do {
        int page = r->left < PAGE ? (int)r->left : PAGE;
        r->seen = 0;
        if (factory_list_runs(cli->config, cli->engine, status, r->token, r->state ? PAGE : page,
                              on_row, r) != DUR_OK) {
            return cli_error(EXIT_ERROR, "%s", dur_error(cli->engine));
        }
    } while (r->left > 0 && r->seen > 0);
    return EXIT_OK;
}

/* A state in any case of letters, or an error that lists them. */
static int read_state(const char *word, char *state, size_t size)
{
    static const char *const engine_states[] = {"FAILED", "CANCELED", "TERMINATED", "TIMEDOUT"};
    const char *known[STATE_COUNT + ARRAY_LEN(engine_states)];
    autostr struct str all = {0};
    size_t count = 0;
    str_copy(state, size, word);
    for (char *c = state; *c; c++) {
        *c = (char)(*c == '-' ? '_' : toupper((unsigned char)*c));
    }
    for (int i = 0; i < STATE_COUNT; i++) {
        known[count++] = run_state_name((enum run_state)i);
        str_addf(&all, "%s%s", i ? ", " : "", run_state_name((enum run_state)i));
    }
    for (size_t i = 0; i < ARRAY_LEN(engine_states); i++) {
        known[count++] = engine_states[i];
    }
    for (size_t i = 0; i < count; i++) {
        if (str_eq(known[i], state)) {
            return EXIT_OK;
        }
    }
    const char *near = str_nearest(state, known, count);
    return cli_error(EXIT_USAGE, "get: no state %s%s%s%s\nstates: %s", word,
                     near ? "; did you mean " : "", near ? near : "", near ? "?" : "", str_c(&all));
}

static int get_runs(struct cli *cli, struct rows *r, bool json)
{
    autostr struct str out = {0};
    struct json_out w = json_writer(&out, 2);
    if (json) {
        r->json = &w;
        json_begin_object(&w);
        json_kv_i64(&w, "schema", 1);
        json_key(&w, "runs");
        json_begin_array(&w);
    }
    int status = list(cli, r);
    if (status != EXIT_OK) {
        return status;
    }
    if (json) {
        json_end_array(&w);
        json_end_object(&w);
        str_addc(&out, '\n');
    } else if (r->table.rows) {
        table_print(&r->table, &out, cli_width(), cli_colour());
    } else {
        str_addf(&out, "no runs%s%s\n", r->state ? " are " : "", r->state ? r->state : "");
    }
    cli_print(&out);
    return EXIT_OK;
}

static int exec(struct cli *cli, struct args *args)
{
    static const char *const kinds[] = {"runs", "run"};
    char state[64];
    long long limit = LIMIT_DEFAULT;
    const char *wanted = args_get(args, "state");
    const char *near = str_nearest(args->words[0], kinds, 1);
    if (!str_eq(args->words[0], kinds[0]) && !str_eq(args->words[0], kinds[1])) {
        return cli_error(EXIT_USAGE, "get: no kind %s; kinds: runs%s", args->words[0],
                         near ? ". Did you mean runs?" : "");
    }
    int status = args_number(cli, args, "limit", 0, LIMIT_MAX, &limit);
    if (status != EXIT_OK || (wanted && (status = read_state(wanted, state, sizeof(state)))) ||
        (status = cli_look(cli, false))) {
        return status;
    }
    struct rows r = {
        .table = {.columns = 5,
                  .heads = {"RUN", "AGE", "RESULT", "AGENT", "REPOSITORY"},
                  .least = {13, 0, 0, 6, 12},
                  .middle = {false, false, false, false, true}},
        .state = wanted ? state : NULL,
        .left = limit ? limit : INT64_MAX,
        .now_ns = clock_wall_ns(),
    };
    status = get_runs(cli, &r, args_has(args, "json"));
    table_free(&r.table);
    return status;
}

const struct cmd cmd_get = {
    .name = "get",
    .words = "runs",
    .summary = "list runs, newest first",
    .min_words = 1,
    .max_words = 1,
    .options = options,
    .exec = exec,
};
