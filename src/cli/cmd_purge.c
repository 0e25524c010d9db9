/*
 * cmd_purge.c - factory purge: closed runs leave the store, now.
 *
 * Owns: what an operator says and is told; which runs may go is dur_purge's. Without --apply only
 * the plan is printed. The ledger and the evidence stay: a run whose history is gone is still
 * listed, described, and has its files.
 * Tests: tests/cli/t0270-purge.sh
 */
#include <stdlib.h>

#include "cli/cmd.h"
#include "cli/exitcode.h"
#include "cli/format.h"

#define KEEP_MAX 1000000000

static const struct cmd_option options[] = {
    {"older-than", 0, "DURATION", "runs that closed longer ago than this: 30d"},
    {"keep", 0, "N", "all closed runs but the newest N"},
    {"apply", 0, NULL, "remove them; without it only the plan is shown"},
    {"json", 0, NULL, "JSON instead of text"},
    {0},
};

/* What was said, or else what [engine] keep_runs and keep_runs_max say. */
static int read_limits(struct cli *cli, const struct args *args, dur_purge_options *ret)
{
    long long age_ms = 0, keep = 0;
    int status = args_duration_ms(cli, args, "older-than", &age_ms);
    if (status == EXIT_OK) {
        status = args_number(cli, args, "keep", 1, KEEP_MAX, &keep);
    }
    if (status != EXIT_OK) {
        return status;
    }
    if (!args_has(args, "older-than") && !args_has(args, "keep")) {
        age_ms = cli->config->keep_runs_ms;
        keep = cli->config->keep_runs_max;
    }
    if (age_ms == 0 && keep == 0) {
        return cli_error(EXIT_USAGE, "say which closed runs may go: --older-than 30d, --keep 1000; "
                                     "or set keep_runs in [engine]");
    }
    ret->older_than_ms = age_ms;
    ret->keep_runs = keep;
    return EXIT_OK;
}

static void print_text(const dur_purged *p, const dur_purge_options *o)
{
    autostr struct str out = {0};
    str_add(&out, o->dry_run ? "would remove " : "removed ");
    format_count(&out, p->runs, "closed run");
    str_add(&out, ": ");
    format_count(&out, p->events, "event");
    str_add(&out, ", ");
    format_bytes(&out, p->history_bytes);
    str_add(&out, " of history\n");
    if (o->dry_run && p->runs > 0) {
        str_add(&out, "this is the plan; --apply carries it out\n");
    } else if (!o->dry_run) {
        str_add(&out, "the file has become ");
        format_bytes(&out, p->freed_bytes);
        str_add(&out, " smaller\n");
    }
    cli_print(&out);
}

static void print_json(const dur_purged *p, const dur_purge_options *o)
{
    autostr struct str out = {0};
    struct json_out w = cli_json_begin(&out);
    json_kv_bool(&w, "applied", !o->dry_run);
    json_kv_i64(&w, "older_than_ms", o->older_than_ms);
    json_kv_i64(&w, "keep_runs", o->keep_runs);
    json_kv_i64(&w, "runs", p->runs);
    json_kv_i64(&w, "events", p->events);
    json_kv_i64(&w, "history_bytes", p->history_bytes);
    json_kv_i64(&w, "freed_bytes", p->freed_bytes);
    cli_json_end(&w);
    cli_print(&out);
}

static int exec(struct cli *cli, struct args *args)
{
    dur_purge_options o = {.dry_run = !args_has(args, "apply")};
    dur_purged purged = {0};
    int status = cli_look(cli, !o.dry_run);
    status = status == EXIT_OK ? read_limits(cli, args, &o) : status;
    if (status != EXIT_OK) {
        return status;
    }
    if (dur_purge(cli->engine, &purged, &o) != DUR_OK) {
        return cli_error(EXIT_ERROR, "%s", dur_error(cli->engine));
    }
    if (args_has(args, "json")) {
        print_json(&purged, &o);
    } else {
        print_text(&purged, &o);
    }
    return EXIT_OK;
}

const struct cmd cmd_purge = {
    .name = "purge",
    .words = "",
    .summary = "remove closed runs from the store",
    .options = options,
    .exec = exec,
};
