/*
 * cmd_doctor.c - factory doctor: is this machine fit, and is all well?
 *
 * Owns: the row of the configuration, and printing (factory/doctor.h has the checks). Works with a
 * configuration that does not validate: what can be checked without it is.
 * Tests: tests/cli/t0200-doctor.sh
 */
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/term.h"
#include "cli/cmd.h"
#include "cli/doctor_server.h"
#include "engine/admin.h"
#include "cli/exitcode.h"
#include "factory/doctor.h"

#define TEXT_COLUMN 22 /* where texts begin: behind check and status */
#define CHECK_COLUMNS 15

static const struct cmd_option options[] = {
    {"json", 0, NULL, "JSON instead of text"},
    {"offline", 0, NULL, "start no sandbox, ask no server"},
    {0},
};

static int count_problems(const char *text)
{
    int count = 0;
    for (; *text; text++) {
        count += text[0] == '\n' && text[1] != ' '; /* "  write: ..." belongs to its line */
    }
    return count + 1;
}

static void check_config(struct doctor *d, struct cli *cli)
{
    autostr struct str problems = {0};
    const char *file = config_find(cli->config_path);
    if (config_check(cli->config_path, &cli->config, &problems) != 0) {
        int count = count_problems(str_c(&problems));
        doctor_bad(d, "configuration", "D-001", "factory config validate names them all",
                   "%d problem%s; the first: %.*s", count, count == 1 ? "" : "s",
                   (int)strcspn(str_c(&problems), "\n"), str_c(&problems));
        config_load_lenient(cli->config_path, &cli->config, NULL);
        return;
    }
    const struct config *c = cli->config;
    if (!file) {
        doctor_bad(d, "configuration", "D-002", "factory init", "there is no " CONFIG_FILE_NAME);
        return;
    }
    doctor_ok(d, "configuration", "%s, %zu agent%s, %zu profile%s, digest %.12s", file,
              c->harness_count, c->harness_count == 1 ? "" : "s", c->profile_count,
              c->profile_count == 1 ? "" : "s", c->digest);
    if (c->harness_count == 0) {
        doctor_bad(d, "configuration", "D-002", "add a section [harnesses.NAME]",
                   "no agent is declared");
    }
    if (c->profile_count == 0) {
        doctor_bad(d, "configuration", "D-003", "add a section [verification.default.build]",
                   "no gates are declared");
    }
}

/* --- printing --------------------------------------------------------------------------------- */

#define CLOCK_DAYS 7

/* Timers bear it, but cron, logs and evidence show the wrong time around it. */
static void check_clock(struct doctor *d)
{
    struct admin_clock clock;
    autoarena struct arena *arena = arena_new();
    int64_t since_ns = clock_wall_ns() - CLOCK_DAYS * DUR_DAYS * NS_PER_MS;
    if (!d->engine || admin_clock(d->engine, arena, since_ns, &clock) != DUR_OK ||
        clock.sets == 0) {
        return;
    }
    doctor_bad(d, "clock", "D-033",
               "let one service keep the time, and slew it; sqlite3 -readonly "
               "factory.db 'SELECT * FROM clock_jumps' lists all",
               "set %lld time%s in %d days, by up to %+.1f s", (long long)clock.sets,
               clock.sets == 1 ? "" : "s", CLOCK_DAYS, (double)clock.largest_ns / (double)NS_PER_S);
}

static const char *colour_of(enum doctor_status status)
{
    switch (status) {
    case DOCTOR_OK:
        return "\033[32m";
    case DOCTOR_WARN:
        return "\033[33m";
    case DOCTOR_FAIL:
        return "\033[31m";
    case DOCTOR_NONE:
        break;
    }
    return "";
}

/* Words from column `at` on, further lines indented to `indent`; width 0: one line. */
static void add_wrapped(struct str *out, const char *text, size_t at, size_t indent, size_t width)
{
    bool begun = false;
    while (*text) {
        size_t len = strcspn(text, " ");
        size_t columns = term_columns(text, len);
        if (begun && width && at + 1 + columns > width) {
            str_addf(out, "\n%*s", (int)indent, "");
            at = indent;
        } else if (begun) {
            str_addc(out, ' ');
            at++;
        }
        str_addn(out, text, len);
        at += columns;
        begun = true;
        text += len + (text[len] == ' ');
    }
    str_addc(out, '\n');
}

static void print_row(struct str *out, const struct doctor_row *row, size_t width, bool colour)
{
    const char *shown = row->status == DOCTOR_NONE ? "—" : doctor_status_name(row->status);
    size_t check = term_columns(row->check, strlen(row->check));
    size_t status = term_columns(shown, strlen(shown));
    size_t at = TEXT_COLUMN;
    str_addf(out, "%s%*s ", row->check, check < CHECK_COLUMNS ? (int)(CHECK_COLUMNS - check) : 0,
             "");
    if (check > CHECK_COLUMNS) {
        at += check - CHECK_COLUMNS;
    }
    str_addf(out, "%s%s%s%*s", colour ? colour_of(row->status) : "", shown,
             colour && row->status != DOCTOR_NONE ? "\033[0m" : "", (int)(6 - status), "");
    if (row->code) {
        str_addf(out, "%s  ", row->code);
        at += strlen(row->code) + 2;
    }
    add_wrapped(out, row->text, at, TEXT_COLUMN, width);
    if (row->fix) {
        str_addf(out, "%*sfix: ", TEXT_COLUMN, "");
        add_wrapped(out, row->fix, TEXT_COLUMN + 5, TEXT_COLUMN + 5, width);
    }
}

static void print_text(const struct doctor *d)
{
    autostr struct str out = {0};
    bool tty = term_is_tty(STDOUT_FILENO);
    size_t width = tty ? (size_t)term_width(STDOUT_FILENO) : 0;
    size_t warnings = 0, failures = 0;
    for (size_t i = 0; i < d->count; i++) {
        print_row(&out, &d->rows[i], width, term_colour(STDOUT_FILENO));
        warnings += d->rows[i].status == DOCTOR_WARN;
        failures += d->rows[i].status == DOCTOR_FAIL;
    }
    if (failures || warnings) {
        str_addf(&out, "%zu failure%s, %zu warning%s\n", failures, failures == 1 ? "" : "s",
                 warnings, warnings == 1 ? "" : "s");
    } else {
        str_add(&out, "all is well\n");
    }
    cli_print(&out);
}

static void print_json(const struct doctor *d)
{
    autostr struct str out = {0};
    struct json_out w = cli_json_begin(&out);
    json_kv_bool(&w, "ok", doctor_worst(d) != DOCTOR_FAIL);
    json_kv_i64(&w, "engine_pid", d->engine_pid);
    json_kv_i64(&w, "commit_us", d->commit_us);
    json_key(&w, "checks");
    json_begin_array(&w);
    for (size_t i = 0; i < d->count; i++) {
        const struct doctor_row *row = &d->rows[i];
        json_begin_object(&w);
        json_kv_str(&w, "check", row->check);
        json_kv_str(&w, "status",
                    row->status == DOCTOR_FAIL ? "fail" : doctor_status_name(row->status));
        json_kv_str(&w, "code", row->code);
        json_kv_str(&w, "text", row->text);
        json_kv_str(&w, "fix", row->fix);
        json_end_object(&w);
    }
    json_end_array(&w);
    cli_json_end(&w);
    cli_print(&out);
}

static int exec(struct cli *cli, struct args *args)
{
    struct doctor d = {0};
    check_config(&d, cli);
    if (cli->config && config_is_remote(cli->config)) {
        doctor_server(&d, cli->config, args_has(args, "offline"));
    }
    if (cli->config) {
        doctor_run(&d, cli->config, args_has(args, "offline"));
        check_clock(&d);
    }
    if (args_has(args, "json")) {
        print_json(&d);
    } else {
        print_text(&d);
    }
    int status = doctor_worst(&d) == DOCTOR_FAIL ? EXIT_ERROR : EXIT_OK;
    doctor_free(&d);
    return status;
}

const struct cmd cmd_doctor = {
    .name = "doctor",
    .words = "",
    .summary = "check this machine and the store",
    .options = options,
    .exec = exec,
};
