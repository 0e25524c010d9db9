/*
 * cmd_history.c - factory history: the events of a run, as a table or in Temporal's JSON form.
 * Owns: the third column: what is worth telling of an event.
 * Tests: tests/cli/t0650-history.sh
 */
#include <string.h>

#include "base/clock.h"
#include "base/term.h"
#include "cli/cmd.h"
#include "cli/exitcode.h"
#include "cli/find.h"
#include "cli/format.h"
#include "engine/admin.h"

#define TYPE_COLUMNS 32

static const struct cmd_option options[] = {
    {"all", 'a', NULL, "workflow tasks too, which carry nothing of the run itself"},
    {"json", 0, NULL, "Temporal's JSON form, all events: {\"events\": [...]}"},
    {0},
};

static void tell(struct str *out, const struct admin_history *h, const struct admin_event *e)
{
    const struct admin_event *scheduled =
        e->scheduled_id > 0 && e->scheduled_id <= (int64_t)h->count
            ? &h->events[e->scheduled_id - 1]
            : NULL;
    autostr struct str text = {0};
    if (str_eq(e->type, "ActivityTaskStarted")) {
        str_addf(&text, "attempt %d", e->attempt);
    } else if (scheduled) {
        int64_t ns = e->time_ns - scheduled->time_ns;
        str_addf(&text, "%s, ", scheduled->name ? scheduled->name : "");
        if (ns < NS_PER_S) {
            str_addf(&text, "%lldms", (long long)(ns / NS_PER_MS));
        } else {
            format_duration(&text, ns);
        }
    } else if (e->name) {
        str_add(&text, e->name);
    }
    if (e->failure) {
        str_addf(&text, "%s%s", text.len ? ": " : "", e->failure);
    }
    format_clean(out, str_c(&text), text.len);
}

static void print_table(struct str *out, const struct admin_history *h, bool all, size_t width)
{
    for (size_t i = 0; i < h->count; i++) {
        const struct admin_event *e = &h->events[i];
        autostr struct str line = {0}, text = {0};
        if (!all && str_starts(e->type, "WorkflowTask") && !e->failure) {
            continue;
        }
        tell(&text, h, e);
        str_addf(&line, "%4lld  ", (long long)e->id);
        format_clock(&line, e->time_ns);
        str_add(&line, "  ");
        if (text.len) {
            format_pad(&line, e->type, TYPE_COLUMNS);
            str_addf(&line, "  %s", str_c(&text));
        } else {
            str_add(&line, e->type);
        }
        format_cut(out, str_c(&line), width);
        str_addc(out, '\n');
    }
    autostr struct str sum = {0}, hint = {0};
    format_count(&sum, (int64_t)h->count, "event");
    str_add(&sum, ", ");
    format_bytes(&sum, h->bytes);
    str_addf(&hint, "%s · --json gives Temporal's format", str_c(&sum));
    bool fits = term_columns(str_c(&hint), hint.len) <= width;
    str_addf(out, "%s\n", fits ? str_c(&hint) : str_c(&sum));
}

static int print_json(struct cli *cli, const char *id, struct str *out)
{
    autoarena struct arena *arena = arena_new();
    const struct json *root;
    struct err err = {0};
    char *text = NULL;
    if (dur_history(cli->engine, id, &text) != DUR_OK) {
        return cli_error(EXIT_ERROR, "%s", dur_error(cli->engine));
    }
    int rc = json_parse(arena, text, strlen(text), &root, &err);
    if (rc == 0) {
        json_print(out, root, 2);
        str_addc(out, '\n');
    }
    dur_free(text);
    return rc == 0 ? EXIT_OK : cli_fail(&err);
}

static int exec(struct cli *cli, struct args *args)
{
    autoarena struct arena *arena = arena_new();
    autostr struct str out = {0};
    struct admin_history history;
    const char *id;
    int status = cli_look(cli, false);
    if (status != EXIT_OK || (status = find_run(cli, arena, args->words[0], &id)) != EXIT_OK) {
        return status;
    }
    if (args_has(args, "json")) {
        status = print_json(cli, id, &out);
    } else if (admin_history(cli->engine, arena, id, &history) == DUR_OK) {
        print_table(&out, &history, args_has(args, "all"), cli_width());
    } else {
        status = cli_error(EXIT_ERROR, "%s", dur_error(cli->engine));
    }
    if (status == EXIT_OK) {
        cli_print(&out);
    }
    return status;
}

const struct cmd cmd_history = {
    .name = "history",
    .words = "RUN",
    .summary = "the events of a run",
    .min_words = 1,
    .max_words = 1,
    .options = options,
    .exec = exec,
};
