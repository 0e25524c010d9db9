/*
 * history_show.c - factory history show: the events of a history, as a table or as JSON.
 * Owns: the third column: what is worth telling of an event.
 * Tests: tests/cli/t0650-history.sh, tests/cli/t0655-history-files.sh
 */
#include "base/clock.h"
#include "base/json.h"
#include "base/term.h"
#include "cli/exitcode.h"
#include "cli/format.h"
#include "cli/history.h"

#define TYPE_COLUMNS 32

static const struct cmd_option options[] = {
    {"all", 'a', NULL, "workflow tasks too, which carry nothing of the run itself"},
    {"json", 0, NULL, "Temporal's JSON form, all events: {\"events\": [...]}"},
    VERB_PLACE,
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

static int print_json(const struct admin_loaded *loaded, struct str *out)
{
    autoarena struct arena *arena = arena_new();
    autostr struct str text = {0};
    const struct json *root;
    struct err err = {0};
    admin_loaded_print(loaded, DUR_FORM_JSON, &text);
    if (json_parse(arena, text.ptr, text.len, &root, &err) < 0) {
        return cli_fail(&err);
    }
    json_print(out, root, 2);
    str_addc(out, '\n');
    return EXIT_OK;
}

static int exec(struct cli *cli, struct args *args)
{
    autoloaded struct admin_loaded *loaded = NULL;
    autostr struct str out = {0};
    struct admin_history history;
    int status = history_load(cli, args, args->words[0], &loaded);
    if (status != EXIT_OK) {
        return status;
    }
    if (args_has(args, "json")) {
        status = print_json(loaded, &out);
    } else {
        admin_loaded_show(loaded, &history);
        print_table(&out, &history, args_has(args, "all"), cli_width());
    }
    if (status == EXIT_OK) {
        cli_print(&out);
    }
    return status;
}

const struct cmd history_verb_show = {
    .name = "history show",
    .words = "RUN|FILE",
    .summary = "the events of a run, or of a history in a file",
    .min_words = 1,
    .max_words = 1,
    .options = options,
    .exec = exec,
};
