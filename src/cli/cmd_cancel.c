/*
 * cmd_cancel.c - factory cancel: ask a run to stop. Durable at once, also while no engine runs.
 * Owns: the request, and seeing that an engine acts on it. Needs no valid configuration to ask;
 * without one it cannot start an engine and says so.
 * Tests: tests/cli/t0640-cancel.sh
 */
#include <string.h>

#include "cli/cmd.h"
#include "cli/exitcode.h"
#include "cli/find.h"
#include "cli/spawn.h"
#include "cli/view.h"
#include "cli/watch.h"

static const struct cmd_option options[] = {
    {"reason", 'r', "TEXT", "why; kept in the history and in the result"},
    {"wait", 'w', NULL, "until it is over; exit status as run's"},
    {"json", 0, NULL, "JSON instead of text"},
    {0},
};

static void report(const struct view *view, bool was_over, bool served, bool json)
{
    autostr struct str out = {0};
    struct json_out w = json_writer(&out, 2);
    if (json) {
        json_begin_object(&w);
        json_kv_i64(&w, "schema", 1);
        json_kv_str(&w, "run_id", view->run_id);
        json_kv_bool(&w, "requested", !was_over);
        json_kv_str(&w, "state", view->state_name);
        json_kv_bool(&w, "engine_running", served);
        json_end_object(&w);
        str_addc(&out, '\n');
    } else if (was_over) {
        str_addf(&out, "%s is over already: %s\n", view->run_id, view->state_name);
    } else {
        str_addf(&out,
                 "%s: cancel requested; what it changed is collected and its sandboxes are"
                 " destroyed\n",
                 view->run_id);
    }
    cli_print(&out);
}

/* The request is durable; now somebody has to act on it. */
static int ensure_engine(struct cli *cli, bool *served)
{
    int status = EXIT_OK;
    *served = spawn_is_served(cli);
    if (!*served && !cli->config_is_guess) {
        status = spawn_engine(cli);
        *served = status == EXIT_OK;
    } else if (!*served) {
        cli_note("no engine is running, and without a valid configuration none can be started:"
                 " the run ends when one serves");
    }
    return status;
}

static int exec(struct cli *cli, struct args *args)
{
    autoarena struct arena *arena = arena_new();
    const char *id, *reason = args_get(args, "reason");
    bool served = true, json = args_has(args, "json");
    struct view view;
    int status = cli_look(cli, true);
    if (status != EXIT_OK || (status = find_run(cli, arena, args->words[0], &id)) ||
        (status = view_load(cli, arena, id, &view))) {
        return status;
    }
    int rc = view.is_over ? DUR_NOT_FOUND : dur_cancel(cli->engine, id, reason);
    if (rc != DUR_OK && rc != DUR_NOT_FOUND) {
        return cli_error(rc == DUR_BUSY || rc == DUR_FULL ? EXIT_BUSY : EXIT_ERROR, "%s",
                         dur_error(cli->engine));
    }
    if (rc == DUR_NOT_FOUND) { /* it is over, perhaps since a moment ago */
        status = view_load(cli, arena, id, &view);
    } else {
        status = ensure_engine(cli, &served);
    }
    if (status != EXIT_OK) {
        return status;
    }
    if (!args_has(args, "wait")) {
        report(&view, rc == DUR_NOT_FOUND, served, json);
        return rc == DUR_OK && served && cli->engine_pid ? spawn_settle(cli, id) : EXIT_OK;
    }
    return watch_until_done(cli, id, json ? WATCH_MANIFEST : WATCH_TEXT, !cli->config_is_guess);
}

const struct cmd cmd_cancel = {
    .name = "cancel",
    .words = "RUN",
    .summary = "stop a run; it cleans up and keeps its evidence",
    .min_words = 1,
    .max_words = 1,
    .options = options,
    .exec = exec,
};
