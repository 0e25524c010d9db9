/*
 * cmd_describe.c - factory describe KIND NAME: everything about one thing. Kinds: run.
 * Owns: the sections: summary, steps, conditions, sandboxes, artifacts with their digests.
 * Tests: tests/cli/t0660-describe.sh
 */
#include <string.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/mem.h"
#include "cli/cmd.h"
#include "cli/exitcode.h"
#include "cli/find.h"
#include "cli/format.h"
#include "cli/now.h"
#include "cli/result.h"
#include "factory/ledger.h"

#define LABEL_COLUMNS 14
#define DIGEST_SHOWN 12

static const struct cmd_option options[] = {
    {"json", 0, NULL, "JSON: status, sandboxes, artifacts"},
    {0},
};

struct page {
    struct str *out;
    size_t width;
    bool colour;
    struct json_out *json;
    struct table table;
};

static void field(struct page *p, const char *name, const char *text)
{
    autostr struct str clean = {0};
    if (text && *text) {
        format_clean(&clean, text, strlen(text));
        format_pad(p->out, name, LABEL_COLUMNS);
        format_cut(p->out, str_c(&clean), p->width > 30 ? p->width - LABEL_COLUMNS : 30);
        str_addc(p->out, '\n');
    }
}

static void time_field(struct page *p, const char *name, int64_t ns)
{
    autostr struct str text = {0};
    if (ns) {
        time_format_rfc3339(&text, ns);
        field(p, name, str_c(&text));
    }
}

static void heading(struct page *p, const char *name)
{
    str_addc(p->out, '\n');
    format_colour(p->out, p->colour, COLOUR_BOLD, name);
    str_addc(p->out, '\n');
}

static void flush_table(struct page *p, const char *name)
{
    if (p->table.rows) {
        heading(p, name);
        table_print(&p->table, p->out, p->width, p->colour);
    }
    table_free(&p->table);
}

/* --- sections --------------------------------------------------------------------------------- */

static void print_summary(struct page *p, struct cli *cli, const struct view *v)
{
    autostr struct str took = {0};
    autofree char *dir = result_path(cli->config->data_dir, v->run_id, "");
    int64_t end = v->ended_ns ? v->ended_ns : clock_wall_ns();
    format_duration(&took, end - v->started_ns);
    field(p, "Run", v->run_id);
    field(p, "Result", v->state_name);
    field(p, "Error", v->error);
    field(p, "Repository", v->repository);
    field(p, "Revision", v->revision);
    field(p, "Baseline", v->commit);
    field(p, "Agent", v->agent);
    field(p, "Model", v->model);
    field(p, "Gates", v->profile);
    field(p, "Agent result", v->agent_result);
    field(p, "Verification", v->verification_result);
    field(p, "Cleanup", v->cleanup_result);
    time_field(p, "Started", v->started_ns);
    time_field(p, "Finished", v->ended_ns);
    field(p, v->is_over ? "Took" : "So far", str_c(&took));
    field(p, "Configuration", json_get_str(v->manifest, "config_digest"));
    field(p, "Task digest", json_get_str(v->manifest, "task_hash"));
    field(p, "Workflow", v->workflow_id);
    if (fs_is_dir(dir)) {
        field(p, "Evidence", dir);
    }
}

static int print_steps(struct page *p, struct cli *cli, struct arena *arena, const struct view *v)
{
    struct admin_history history;
    struct steps steps;
    if (v->is_past) {
        return EXIT_OK;
    }
    if (admin_history(cli->engine, arena, v->workflow_id, &history) != DUR_OK) {
        return cli_error(EXIT_ERROR, "%s", dur_error(cli->engine));
    }
    steps_read(arena, &history, v->is_over, &steps);
    heading(p, "Steps");
    for (int i = 0; i < STEP_COUNT; i++) {
        if (steps.step[i].started_ns) {
            steps_print(p->out, &steps.step[i], clock_wall_ns(), steps.step[i].detail, p->width,
                        p->colour);
            str_addc(p->out, '\n');
        }
    }
    return EXIT_OK;
}

static void print_conditions(struct page *p, const struct view *v)
{
    p->table = (struct table){
        .columns = 4, .heads = {"CONDITION", "STATUS", "REASON", "MESSAGE"}, .least = {0, 0, 0, 8}};
    for (const struct json *c = NULL; (c = view_next_condition(v, c));) {
        const char *cells[] = {json_get_str(c, "type"), json_get_str(c, "status"),
                               json_get_str(c, "reason"), json_get_str(c, "message")};
        table_add(&p->table, cells);
    }
    flush_table(p, "Conditions");
}

static int on_sandbox(void *user, const struct ledger_sandbox *s)
{
    struct page *p = user;
    autostr struct str created = {0}, gone = {0};
    if (p->json) {
        time_format_rfc3339(&created, s->created_ns);
        time_format_rfc3339(&gone, s->destroyed_ns);
        json_begin_object(p->json);
        json_kv_str(p->json, "sandbox_id", s->sandbox_id);
        json_kv_str(p->json, "role", s->role);
        json_kv_str(p->json, "provider", s->provider);
        json_kv_str(p->json, "created_at", str_c(&created));
        json_kv_str(p->json, "destroyed_at", s->destroyed_ns ? str_c(&gone) : NULL);
        json_end_object(p->json);
        return 0;
    }
    if (s->destroyed_ns) {
        str_add(&gone, "destroyed after ");
        format_duration(&gone, s->destroyed_ns - s->created_ns);
    } else {
        str_add(&gone, "not destroyed");
    }
    const char *cells[] = {s->sandbox_id, s->role, s->provider, str_c(&gone)};
    table_add(&p->table, cells);
    return 0;
}

static int on_artifact(void *user, const struct ledger_artifact *a)
{
    struct page *p = user;
    autostr struct str bytes = {0}, digest = {0};
    if (p->json) {
        json_begin_object(p->json);
        json_kv_str(p->json, "path", a->path);
        json_kv_str(p->json, "sha256", a->sha256);
        json_kv_i64(p->json, "bytes", a->bytes);
        json_end_object(p->json);
        return 0;
    }
    format_bytes(&bytes, a->bytes);
    str_addn(&digest, a->sha256, strnlen(a->sha256, DIGEST_SHOWN));
    const char *cells[] = {str_c(&digest), str_c(&bytes), a->path};
    table_add(&p->table, cells);
    return 0;
}

/* ledger NULL: it is on another host. */
static int print_text(struct page *p, struct cli *cli, struct ledger *ledger, struct arena *arena,
                      const struct view *v)
{
    struct err err = {0};
    print_summary(p, cli, v);
    int status = print_steps(p, cli, arena, v);
    if (status != EXIT_OK) {
        return status;
    }
    print_conditions(p, v);
    p->table = (struct table){
        .columns = 4, .heads = {"SANDBOX", "ROLE", "PROVIDER", "STATE"}, .least = {12, 0, 0, 8}};
    int rc = ledger ? ledger_list_sandboxes(ledger, v->run_id, on_sandbox, p, &err) : 0;
    flush_table(p, "Sandboxes");
    p->table = (struct table){.columns = 3,
                              .heads = {"SHA-256", "SIZE", "ARTIFACT"},
                              .least = {0, 0, 12},
                              .middle = {false, false, true}};
    if (ledger && rc == 0) {
        rc = ledger_list_artifacts(ledger, v->run_id, on_artifact, p, &err);
    }
    flush_table(p, "Artifacts (whole digests: --json)");
    return rc < 0 ? cli_fail(&err) : EXIT_OK;
}

static int print_json(struct page *p, struct cli *cli, struct ledger *ledger, struct arena *arena,
                      const struct view *v)
{
    struct err err = {0};
    autostr struct str status_text = {0};
    struct view_engine engine;
    struct json_out w = json_writer(p->out, 2);
    const struct json *root;
    int status = view_load_engine(cli, arena, v, &engine);
    if (status != EXIT_OK) {
        return status;
    }
    view_print_json(&status_text, v, &engine, 0);
    int rc = json_parse(arena, str_c(&status_text), status_text.len, &root, &err);
    p->json = &w;
    json_begin_object(&w);
    json_kv_i64(&w, "schema", 1);
    if (rc == 0) {
        json_kv(&w, "status", root);
    }
    json_key(&w, "sandboxes");
    json_begin_array(&w);
    if (ledger && rc == 0) {
        rc = ledger_list_sandboxes(ledger, v->run_id, on_sandbox, p, &err);
    }
    json_end_array(&w);
    json_key(&w, "artifacts");
    json_begin_array(&w);
    if (ledger && rc == 0) {
        rc = ledger_list_artifacts(ledger, v->run_id, on_artifact, p, &err);
    }
    json_end_array(&w);
    json_end_object(&w);
    str_addc(p->out, '\n');
    return rc < 0 ? cli_fail(&err) : EXIT_OK;
}

static int exec(struct cli *cli, struct args *args)
{
    autoarena struct arena *arena = arena_new();
    autostr struct str out = {0};
    autoledger struct ledger *ledger = NULL;
    struct err err = {0};
    struct view view;
    const char *id;
    struct page page = {.out = &out, .width = cli_width(), .colour = cli_colour()};
    if (!str_eq(args->words[0], "run") && !str_eq(args->words[0], "runs")) {
        return cli_error(EXIT_USAGE, "describe: no kind %s; kinds: run", args->words[0]);
    }
    int status = cli_look(cli, false);
    if (status != EXIT_OK || (status = find_run(cli, arena, args->words[1], &id)) ||
        (status = view_load(cli, arena, id, &view))) {
        return status;
    }
    autofree char *path = config_database_path(cli->config);
    if (config_is_remote(cli->config) && !fs_exists(path)) {
        cli_note("there is no ledger in %s: sandboxes and artifacts are told where the worker is",
                 cli->config->data_dir);
    } else if (ledger_open(path, true, &ledger, &err) < 0) {
        return cli_fail(&err);
    }
    status = args_has(args, "json") ? print_json(&page, cli, ledger, arena, &view)
                                    : print_text(&page, cli, ledger, arena, &view);
    if (status == EXIT_OK) {
        cli_print(&out);
    }
    return status;
}

const struct cmd cmd_describe = {
    .name = "describe",
    .words = "run RUN",
    .summary = "everything about one run",
    .min_words = 2,
    .max_words = 2,
    .options = options,
    .exec = exec,
};
