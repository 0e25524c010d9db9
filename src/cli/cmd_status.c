/*
 * cmd_status.c - factory status: where a run is, or how it ended.
 * Owns: the short form for a run that goes on. Works without an engine and without a valid
 * configuration.
 * Tests: tests/cli/t0615-status.sh
 */
#include <string.h>

#include "base/clock.h"
#include "cli/cmd.h"
#include "cli/exitcode.h"
#include "cli/find.h"
#include "cli/format.h"
#include "cli/now.h"
#include "cli/result.h"
#include "cli/watch.h"

static const struct cmd_option options[] = {
    {"watch", 'w', NULL, "follow it until it is over; exit status as run's"},
    {"json", 0, NULL, "JSON; with --watch one object a line whenever something happens"},
    {0},
};

static int print_open(struct cli *cli, struct arena *arena, const struct view *view,
                      const struct view_engine *engine, struct str *out)
{
    struct admin_history history;
    struct steps steps;
    autostr struct str source = {0}, line = {0};
    size_t width = cli_width();
    int64_t now_ns = clock_wall_ns();
    if (admin_history(cli->engine, arena, view->workflow_id, &history) != DUR_OK) {
        return cli_error(EXIT_ERROR, "%s", dur_error(cli->engine));
    }
    steps_read(arena, &history, false, &steps);
    view_source(&source, view);
    str_addf(&line, "%s   %s   ", view->run_id, view->state_name);
    format_age(&line, now_ns - view->started_ns);
    str_addf(&line, "   agent %s on %s", view->agent, str_c(&source));
    format_wrap(out, str_c(&line), 0, width);
    struct now now = {
        .cli = cli, .view = view, .engine = engine, .steps = &steps, .now_ns = now_ns};
    now_block(out, &now, width);
    return EXIT_OK;
}

static int exec(struct cli *cli, struct args *args)
{
    autoarena struct arena *arena = arena_new();
    autostr struct str out = {0};
    const char *id;
    struct view view;
    struct view_engine engine;
    bool json = args_has(args, "json");
    int status = cli_look(cli, false);
    if (status != EXIT_OK || (status = find_run(cli, arena, args->words[0], &id)) != EXIT_OK) {
        return status;
    }
    if (args_has(args, "watch")) {
        return watch_until_done(cli, id, json ? WATCH_NDJSON : WATCH_TEXT, false);
    }
    if ((status = view_load(cli, arena, id, &view)) != EXIT_OK ||
        (status = view_load_engine(cli, arena, &view, &engine)) != EXIT_OK) {
        return status;
    }
    if (json) {
        view_print_json(&out, &view, &engine, 2);
    } else if (view.is_over) {
        result_print(&out, &view, cli->config->data_dir, cli_width(), cli_colour());
    } else {
        status = print_open(cli, arena, &view, &engine, &out);
    }
    cli_print(&out);
    return status;
}

const struct cmd cmd_status = {
    .name = "status",
    .words = "RUN",
    .summary = "where a run is, or how it ended",
    .min_words = 1,
    .max_words = 1,
    .options = options,
    .exec = exec,
};
