/*
 * cmd_replay.c - factory replay RUN | FILE | --all: this program's workflow code against histories.
 *
 * Owns: where the history comes from (a run of the store, a file in Temporal's JSON or protobuf
 * form, every open run) and how the verdict is told. Must not: write to a store, or decide what
 * fits (dur_replay does).
 * Tests: tests/cli/t0730-replay.sh
 */
#include "base/fs.h"
#include "base/json.h"
#include "cli/cmd.h"
#include "cli/exitcode.h"
#include "cli/find.h"
#include "cli/format.h"
#include "cli/replay_all.h"
#include "factory/factory.h"

#define FILE_BYTES_MAX ((size_t)1 << 30)

static const struct cmd_option options[] = {
    {"all", 'a', NULL, "every open run of the store"},
    {"json", 0, NULL, "JSON instead of text"},
    {0},
};

/* What is told of one history or many. */
struct telling {
    struct str text;
    struct str json_text;
    struct json_out json;
    bool is_json;
    int count, bad, worst;
};

static const char *verdict_name(int code)
{
    return code == DUR_OK          ? "fits"
           : code == DUR_MISMATCH  ? "mismatch"
           : code == DUR_NOT_FOUND ? "no such workflow"
                                   : "cannot be read";
}

static int status_of(int code)
{
    return code == DUR_OK          ? EXIT_OK
           : code == DUR_MISMATCH  ? EXIT_MISMATCH
           : code == DUR_NOT_FOUND ? EXIT_NOT_FOUND
           : code == DUR_INVALID   ? EXIT_USAGE
                                   : EXIT_ERROR;
}

/* A mismatch is the worst that can be told. */
static int worse(int a, int b)
{
    return a == EXIT_MISMATCH || b == EXIT_OK ? a : b;
}

static void tell(struct telling *t, const struct replayed *run, bool in_list)
{
    t->count++;
    t->bad += run->code != DUR_OK;
    t->worst = worse(t->worst, status_of(run->code));
    if (t->is_json) {
        json_begin_object(&t->json);
        if (!in_list) {
            json_kv_i64(&t->json, "schema", 1);
        }
        json_kv_str(&t->json, "history", run->workflow_id);
        json_kv_str(&t->json, "run_id", run->run_id);
        json_kv_str(&t->json, "type", run->type);
        json_kv_str(&t->json, "verdict", verdict_name(run->code));
        json_kv_str(&t->json, "report", run->report);
        json_end_object(&t->json);
        return;
    }
    format_clean(&t->text, run->workflow_id, strlen(run->workflow_id));
    if (run->code == DUR_OK) {
        str_add(&t->text, ": the code fits its history\n");
    } else {
        str_addf(&t->text, ": %s\n", verdict_name(run->code));
        str_add(&t->text, run->report ? run->report : "");
        if (!str_ends(str_c(&t->text), "\n")) {
            str_addc(&t->text, '\n');
        }
    }
}

static int finish(struct telling *t)
{
    if (t->is_json) {
        str_addc(&t->json_text, '\n');
    }
    cli_print(t->is_json ? &t->json_text : &t->text);
    return t->worst;
}

/* --- one history ------------------------------------------------------------------------------ */

static void replay_bytes(struct telling *t, dur_engine *engine, const char *name, const void *bytes,
                         size_t len)
{
    char *report = NULL;
    struct replayed run = {.workflow_id = name};
    run.code = dur_replay_bytes(engine, bytes, len, &report);
    run.report = run.code == DUR_OK ? NULL : report ? report : dur_error(engine);
    tell(t, &run, false);
    dur_free(report);
}

/* An engine without a store of anybody's. */
static int replay_file(struct telling *t, const char *path)
{
    autostr struct str bytes = {0};
    struct err err = {0};
    dur_engine *engine = NULL;
    int rc = str_eq(path, "-") ? fs_read_fd(0, FILE_BYTES_MAX, &bytes, &err)
                               : fs_read_file(path, FILE_BYTES_MAX, &bytes, &err);
    if (rc < 0) {
        int status = cli_fail(&err);
        return str_eq(err.name, "FileNotFound") ? EXIT_NOT_FOUND : status;
    }
    rc = dur_test_open(&engine, NULL);
    rc = rc ? rc : factory_register_workflows(engine);
    if (rc == DUR_OK) {
        replay_bytes(t, engine, path, str_c(&bytes), bytes.len);
    }
    int status = rc == DUR_OK ? EXIT_OK : cli_error(EXIT_ERROR, "%s", dur_error(engine));
    dur_close(engine);
    return status;
}

static int replay_run(struct cli *cli, struct telling *t, const char *word)
{
    autoarena struct arena *arena = arena_new();
    const char *id;
    char *json = NULL;
    int status = cli_look(cli, false);
    if (status != EXIT_OK) {
        return status;
    }
    dur_description *d = NULL; /* any workflow's own id, else a run of the factory */
    if (dur_describe(cli->engine, word, &d) == DUR_OK) {
        id = word;
        dur_description_free(d);
    } else if ((status = find_run(cli, arena, word, &id)) != EXIT_OK) {
        return status;
    }
    if (dur_history(cli->engine, id, &json) != DUR_OK ||
        factory_register_workflows(cli->engine) != DUR_OK) {
        dur_free(json);
        return cli_error(EXIT_ERROR, "%s", dur_error(cli->engine));
    }
    replay_bytes(t, cli->engine, find_run_id(id), json, strlen(json));
    dur_free(json);
    return EXIT_OK;
}

/* --- all -------------------------------------------------------------------------------------- */

static void on_run(void *user, const struct replayed *run)
{
    struct telling *t = user;
    if (t->is_json || run->code != DUR_OK) {
        tell(t, run, true);
    } else {
        t->count++;
    }
}

static int replay_open_runs(struct cli *cli, struct telling *t)
{
    int status = cli_look(cli, false);
    if (status != EXIT_OK) {
        return status;
    }
    if (t->is_json) {
        json_begin_object(&t->json);
        json_kv_i64(&t->json, "schema", 1);
        json_key(&t->json, "runs");
        json_begin_array(&t->json);
    }
    int rc = factory_register_workflows(cli->engine);
    rc = rc ? rc : replay_all(cli->config, cli->engine, on_run, t);
    if (rc != DUR_OK) {
        return cli_error(EXIT_ERROR, "%s", dur_error(cli->engine));
    }
    if (t->is_json) {
        json_end_array(&t->json);
        json_kv_i64(&t->json, "open", t->count);
        json_kv_i64(&t->json, "fit", t->count - t->bad);
        json_end_object(&t->json);
    } else {
        format_count(&t->text, t->count, "open run");
        str_addf(&t->text, ", %d of them fit%s this program\n", t->count - t->bad,
                 t->count - t->bad == 1 ? "s" : "");
    }
    return EXIT_OK;
}

static int exec(struct cli *cli, struct args *args)
{
    struct telling t = {.is_json = args_has(args, "json")};
    bool all = args_has(args, "all");
    const char *word = args->count > 0 ? args->words[0] : NULL;
    if (all == (word != NULL)) {
        return cli_error(EXIT_USAGE, "replay: name a run or a file, or say --all");
    }
    t.json = json_writer(&t.json_text, 2);
    bool is_file = word && (str_eq(word, "-") || strchr(word, '/') || fs_exists(word));
    int status = all       ? replay_open_runs(cli, &t)
                 : is_file ? replay_file(&t, word)
                           : replay_run(cli, &t, word);
    if (status == EXIT_OK) {
        status = finish(&t);
    }
    str_free(&t.text);
    str_free(&t.json_text);
    return status;
}

const struct cmd cmd_replay = {
    .name = "replay",
    .words = "RUN|FILE",
    .summary = "this program's workflow code against a history",
    .max_words = 1,
    .options = options,
    .exec = exec,
};
