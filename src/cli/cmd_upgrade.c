/*
 * cmd_upgrade.c - factory upgrade --check | --apply | --back: a store and a new program.
 *
 * Owns: what an operator does around a new version: --check replays every open run with this
 * program's code on a copy of the store and changes nothing; --apply brings the store's schema up
 * to date and leaves a copy of what was; --back takes the newest schema step away again for the
 * version before. Must not: touch a store that an engine serves (but for --check).
 * Tests: tests/cli/t0720-upgrade.sh
 */
#include <stdlib.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/json.h"
#include "base/mem.h"
#include "cli/cmd.h"
#include "cli/exitcode.h"
#include "cli/format.h"
#include "cli/replay_all.h"
#include "engine/upgrade.h"
#include "factory/factory.h"

static const struct cmd_option options[] = {
    {"check", 0, NULL, "replay every open run with this program; changes nothing"},
    {"apply", 0, NULL, "upgrade the store; a copy of what was stays beside it"},
    {"back", 0, NULL, "make the store one of the version before again"},
    {"json", 0, NULL, "JSON instead of text"},
    {0},
};

struct check {
    struct str text;
    struct json_out *json; /* NULL: text */
    int open, bad;
};

static void add_run(void *user, const struct replayed *run)
{
    struct check *c = user;
    const char *verdict = run->code == DUR_OK          ? "pass"
                          : run->code == DUR_MISMATCH  ? "needs a patch"
                          : run->code == DUR_NOT_FOUND ? "no such workflow"
                                                       : "cannot be read";
    c->open++;
    c->bad += run->code != DUR_OK;
    if (c->json) {
        json_begin_object(c->json);
        json_kv_str(c->json, "workflow_id", run->workflow_id);
        json_kv_str(c->json, "run_id", run->run_id);
        json_kv_str(c->json, "type", run->type);
        json_kv_str(c->json, "verdict", verdict);
        json_kv_str(c->json, "report", run->report);
        json_end_object(c->json);
        return;
    }
    str_addf(&c->text, "  %-16s ", verdict);
    format_clean(&c->text, run->workflow_id, strlen(run->workflow_id));
    str_addf(&c->text, " (%s)\n", run->type);
    if (run->report) {
        format_wrap(&c->text, run->report, 4, cli_width());
    }
}

/* "schema 1, this program writes 2" */
static void add_levels(struct str *out, const struct upgrade_levels *l)
{
    bool is_due = l->engine_has < l->engine_knows || l->app_has < l->app_knows;
    str_addf(out, "store: schema %d+%d; this program: %d+%d%s\n", l->engine_has, l->app_has,
             l->engine_knows, l->app_knows,
             is_due ? ": factory upgrade --apply is due" : "; nothing is due");
}

/* Replays the open runs of the copy. */
static int check_copy(struct check *c, const char *copy)
{
    dur_engine *engine;
    dur_options o = {.reserve_bytes = -1, .min_free_bytes = -1};
    factory_store_schema(&o);
    int rc = dur_open(&engine, copy, &o);
    if (rc == DUR_OK) {
        rc = factory_register_workflows(engine);
    }
    if (rc == DUR_OK) {
        rc = replay_all(NULL, engine, add_run, c);
    }
    int status = rc == DUR_OK          ? EXIT_OK
                 : rc == DUR_CANCELLED ? EXIT_DETACHED
                                       : cli_error(EXIT_ERROR, "%s", dur_error(engine));
    dur_close(engine);
    return status;
}

static int check(const char *path, const dur_options *o, bool json)
{
    struct err err = {0};
    struct upgrade_levels levels;
    autostr struct str out = {0};
    struct json_out w = json_writer(&out, 2);
    struct check c = {.json = json ? &w : NULL};
    autofree char *prefix = mem_printf("%s.check", path);
    autofree char *dir = NULL;
    if (upgrade_look(path, o, &levels, &err) < 0) {
        return cli_fail(&err);
    }
    cli_catch_interrupt(); /* the copy does not stay behind */
    if (fs_make_temp_dir(prefix, &dir, &err) < 0) {
        return cli_fail(&err);
    }
    if (json) {
        json_begin_object(&w);
        json_kv_i64(&w, "schema", 1);
        json_kv_i64(&w, "store_engine_schema", levels.engine_has);
        json_kv_i64(&w, "program_engine_schema", levels.engine_knows);
        json_kv_i64(&w, "store_factory_schema", levels.app_has);
        json_kv_i64(&w, "program_factory_schema", levels.app_knows);
        json_key(&w, "runs");
        json_begin_array(&w);
    }
    autofree char *copy = fs_join(dir, "store.db");
    int status = upgrade_copy(path, copy, &err) < 0 ? cli_fail(&err) : check_copy(&c, copy);
    (void)fs_remove_tree(dir, NULL);
    if (status == EXIT_OK && json) {
        json_end_array(&w);
        json_kv_bool(&w, "ok", c.bad == 0);
        cli_json_end(&w);
    } else if (status == EXIT_OK) {
        add_levels(&out, &levels);
        str_addf(&out, "%d open run%s: %d pass%s\n%s", c.open, c.open == 1 ? "" : "s",
                 c.open - c.bad, c.open - c.bad == 1 ? "es" : "", str_c(&c.text));
    }
    str_free(&c.text);
    if (status != EXIT_OK) {
        return status;
    }
    cli_print(&out);
    return c.bad ? EXIT_ERROR : EXIT_OK;
}

/* One line, or {"schema":1,"done":...,"copy":...}. */
static int report(bool json, const char *done, const char *copy)
{
    autostr struct str out = {0};
    if (json) {
        struct json_out w = cli_json_begin(&out);
        json_kv_str(&w, "done", done);
        json_kv_str(&w, "copy", copy);
        json_end_object(&w);
    } else {
        str_addf(&out, "%s%s%s", done, copy ? "; what was is in " : "", copy ? copy : "");
    }
    str_addc(&out, '\n');
    cli_print(&out);
    return EXIT_OK;
}

static int fail(const struct err *err)
{
    int status = cli_fail(err);
    return str_eq(err->name, "Served") || str_eq(err->name, "NewerFile") ? EXIT_BUSY : status;
}

static int apply(const char *path, const dur_options *o, bool json)
{
    struct err err = {0};
    autofree char *copy = NULL;
    int rc = upgrade_apply(path, o, &copy, &err);
    return rc < 0    ? fail(&err)
           : rc == 1 ? report(json, "nothing to upgrade", NULL)
                     : report(json, "the store is upgraded and checked", copy);
}

static int back(const char *path, const dur_options *o, bool json)
{
    struct err err = {0};
    autofree char *copy = NULL;
    autostr struct str needs = {0};
    int rc = upgrade_back(path, o, &needs, &copy, &err);
    if (rc == 1) {
        return cli_error(EXIT_BUSY,
                         "nothing was done: the version before could not go on with this store\n"
                         "%slet these end (or cancel them) and try again, or go back to the copy "
                         "that --apply left and lose what came since",
                         str_c(&needs));
    }
    return rc < 0 ? fail(&err) : report(json, "the store is one of the version before", copy);
}

static int exec(struct cli *cli, struct args *args)
{
    bool json = args_has(args, "json");
    bool wants_apply = args_has(args, "apply");
    bool wants_back = args_has(args, "back");
    dur_options o = {0};
    if (args_has(args, "check") + wants_apply + wants_back != 1) {
        return cli_error(EXIT_USAGE, "upgrade: say one of --check, --apply, --back");
    }
    int status = cli_look_for_store(cli);
    if (status != EXIT_OK) {
        return status;
    }
    if (config_is_remote(cli->config)) {
        return cli_error(
            EXIT_USAGE,
            "upgrade: runs are on the server at %s, and the ledger is brought up to "
            "date by factory worker and factory run; factory replay --all asks whether "
            "this program fits the open runs",
            cli->config->host_port);
    }
    factory_store_schema(&o);
    o.keyring_file = *cli->config->payload_keyring ? cli->config->payload_keyring : NULL;
    autofree char *path = config_database_path(cli->config);
    return wants_apply  ? apply(path, &o, json)
           : wants_back ? back(path, &o, json)
                        : check(path, &o, json);
}

const struct cmd cmd_upgrade = {
    .name = "upgrade",
    .words = "",
    .summary = "check open runs against this program; upgrade the store, or go back",
    .options = options,
    .exec = exec,
};
