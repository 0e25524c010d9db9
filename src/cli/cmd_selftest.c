/*
 * cmd_selftest.c - factory selftest: does this disk hold its word, and does the engine on it?
 *
 * Owns: options, where, and printing (selftest/selftest.h does the work). Must not: need a
 * configuration that validates, or touch a store.
 * Tests: tests/cli/t0260-selftest.sh
 */
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/term.h"
#include "cli/cmd.h"
#include "cli/exitcode.h"
#include "cli/format.h"
#include "selftest/selftest.h"

#define JOBS_MAX 64

static const struct cmd_option options[] = {
    {"dir", 0, "DIR", "on that disk; default: where the store is"},
    {"power-loss", 0, NULL, "cut the power too, as far as a model can"},
    {"full", 0, NULL, "every operation, however long it takes; default: a sample"},
    {"time", 0, "DURATION", "how long the sample may take; default: 12s"},
    {"seed", 0, "N", "which operations the sample has, and what the power cut forgets"},
    {"jobs", 0, "N", "processes at once; default: two for each processor"},
    {"json", 0, NULL, "JSON instead of text"},
    {0},
};

/* --- text ------------------------------------------------------------------------------------- */

/* "83 µs", "1.2 ms", "1.5 s" */
static void add_latency(struct str *out, int64_t ns)
{
    double us = (double)ns / (double)NS_PER_US;
    if (us < 1000) {
        str_addf(out, us < 10 ? "%.1f µs" : "%.0f µs", us);
    } else if (us < 1000000) {
        str_addf(out, us < 100000 ? "%.1f ms" : "%.0f ms", us / 1000);
    } else {
        str_addf(out, "%.1f s", us / 1000000);
    }
}

static void add_latencies(struct str *out, const char *what, const struct probe_latency *l)
{
    str_addf(out, "%-11s", what);
    str_add(out, "p50 ");
    add_latency(out, l->p50_ns);
    str_add(out, ", p99 ");
    add_latency(out, l->p99_ns);
    str_add(out, ", max ");
    add_latency(out, l->max_ns);
    str_addc(out, '\n');
}

static void print_probe(struct str *out, const struct probe *probe, const char *dir, size_t width)
{
    autostr struct str place = {0};
    str_addf(&place, "%s, ", probe->fs_name);
    if (probe->free_bytes >= 0) {
        format_bytes(&place, probe->free_bytes);
        str_add(&place, " free");
    }
    if (probe->write_cache[0]) {
        str_addf(&place, ", drive cache: %s", probe->write_cache);
    }
    str_add(out, "directory  ");
    format_cut_middle(out, dir, width > 11 ? width - 11 : SIZE_MAX);
    str_addf(out, "\ndisk       %s\n", str_c(&place));
    add_latencies(out, "overwrite", &probe->overwrite);
    add_latencies(out, "append", &probe->append);
    if (probe->commits_per_s > 0) {
        add_latencies(out, "commit", &probe->commit);
        str_addf(out, "           %lld a second, one after the other\n",
                 (long long)probe->commits_per_s);
    }
}

static void print_warnings(struct str *out, const struct probe *probe, size_t width, bool colour)
{
    for (int i = 0; i < probe->warning_count; i++) {
        const struct probe_warning *warning = &probe->warnings[i];
        autofree char *text = mem_printf("%s  %s", warning->code, warning->text);
        autostr struct str lines = {0};
        format_colour(out, colour, warning->is_failure ? COLOUR_RED : COLOUR_YELLOW,
                      warning->is_failure ? "FAIL" : "warn");
        format_wrap(&lines, text, 11, width);
        str_add(out, str_c(&lines) + 4); /* beside the word, which takes four of the eleven */
    }
}

static void add_verdict(struct str *out, const struct selftest_report *report, bool full,
                        bool power_loss)
{
    const struct sweep_table *table = &report->table;
    struct sweep_row sum = sweep_sum(table);
    int warnings = report->probe.warning_count;
    if (!report->is_swept && probe_failed(&report->probe)) {
        str_add(out, "FAILED  no store can be kept here");
        return;
    }
    if (table->stopped || !report->is_swept) {
        str_addf(out, "STOPPED  after %lld points, %lld harmed", (long long)sum.points,
                 (long long)sweep_harmed(table));
        return;
    }
    if (!selftest_passed(report)) {
        str_addf(out, "FAILED  %lld of %lld points harmed: %lld lost, %lld corrupt, %lld otherwise",
                 (long long)sweep_harmed(table), (long long)sum.points,
                 (long long)sum.harm[SWEEP_LOST], (long long)sum.harm[SWEEP_CORRUPT],
                 (long long)(sweep_harmed(table) - sum.harm[SWEEP_LOST] - sum.harm[SWEEP_CORRUPT]));
        return;
    }
    str_add(out, "PASSED  ");
    str_add(out, warnings ? "the engine holds its word, but see the warning: "
                          : "disk holds its word: ");
    if (full) {
        str_addf(out, "%lld points x %d faults", (long long)table->operations,
                 power_loss ? FAULT_MODES - 1 : FAULT_MODES - 3);
    } else {
        str_addf(out, "%lld of %lld points", (long long)sum.points, (long long)table->total);
    }
    str_addf(out, ", 0 lost, 0 corrupt; fsync p50 %.2f ms",
             (double)report->probe.overwrite.p50_ns / (double)NS_PER_MS);
}

static void print_text(const struct selftest_report *report, const char *dir,
                       const struct args *args)
{
    autostr struct str out = {0}, verdict = {0};
    size_t width = term_is_tty(STDOUT_FILENO) ? cli_width() : SIZE_MAX;
    bool colour = cli_colour();
    print_probe(&out, &report->probe, dir, width);
    print_warnings(&out, &report->probe, width, colour);
    if (sweep_sum(&report->table).points > 0) {
        str_addc(&out, '\n');
        sweep_print(&out, &report->table);
        str_addc(&out, '\n');
    }
    str_add(&verdict, "SELFTEST: ");
    add_verdict(&verdict, report, args_has(args, "full"), args_has(args, "power-loss"));
    format_wrap(&out, str_c(&verdict), 0, width);
    cli_print(&out);
}

/* --- JSON ------------------------------------------------------------------------------------- */

static void put_latency(struct json_out *w, const char *name, const struct probe_latency *l)
{
    json_key(w, name);
    json_begin_object(w);
    json_kv_i64(w, "count", l->count);
    json_kv_i64(w, "p50_ns", l->p50_ns);
    json_kv_i64(w, "p99_ns", l->p99_ns);
    json_kv_i64(w, "max_ns", l->max_ns);
    json_end_object(w);
}

static void put_probe(struct json_out *w, const struct probe *probe)
{
    json_key(w, "probe");
    json_begin_object(w);
    json_kv_str(w, "file_system", probe->fs_name);
    json_kv_str(w, "mount_options", probe->mount_options);
    json_kv_str(w, "write_cache", probe->write_cache);
    json_kv_i64(w, "free_bytes", probe->free_bytes);
    put_latency(w, "plain", &probe->plain);
    put_latency(w, "overwrite", &probe->overwrite);
    put_latency(w, "append", &probe->append);
    put_latency(w, "commit", &probe->commit);
    json_kv_i64(w, "commits_per_s", probe->commits_per_s);
    json_key(w, "warnings");
    json_begin_array(w);
    for (int i = 0; i < probe->warning_count; i++) {
        json_begin_object(w);
        json_kv_str(w, "code", probe->warnings[i].code);
        json_kv_bool(w, "is_failure", probe->warnings[i].is_failure);
        json_kv_str(w, "text", probe->warnings[i].text);
        json_end_object(w);
    }
    json_end_array(w);
    json_end_object(w);
}

static void put_sweep(struct json_out *w, const struct sweep_table *table)
{
    json_key(w, "sweep");
    json_begin_object(w);
    json_kv_i64(w, "operations", table->operations);
    json_kv_i64(w, "commits", table->commits);
    json_kv_i64(w, "total", table->total);
    json_kv_i64(w, "points", sweep_sum(table).points);
    json_kv_i64(w, "harmed", sweep_harmed(table));
    json_kv_i64(w, "elapsed_ms", table->elapsed_ns / NS_PER_MS);
    json_key(w, "faults");
    json_begin_array(w);
    for (int mode = 0; mode < FAULT_MODES; mode++) {
        const struct sweep_row *row = &table->rows[mode];
        if (row->points > 0) {
            json_begin_object(w);
            json_kv_str(w, "fault", fault_disk_mode_name((enum fault_mode)mode));
            json_kv_i64(w, "points", row->points);
            json_kv_i64(w, "died", row->died);
            json_kv_i64(w, "unreached", row->unreached);
            for (int harm = 0; harm < SWEEP_HARMS; harm++) {
                json_kv_i64(w, sweep_harm_name((enum sweep_harm)harm), row->harm[harm]);
            }
            json_end_object(w);
        }
    }
    json_end_array(w);
    json_key(w, "findings");
    json_begin_array(w);
    for (int i = 0; i < table->finding_count; i++) {
        json_begin_object(w);
        json_kv_str(w, "fault", fault_disk_mode_name(table->findings[i].mode));
        json_kv_i64(w, "operation", table->findings[i].at);
        json_kv_str(w, "harm", sweep_harm_name(table->findings[i].harm));
        json_kv_str(w, "text", table->findings[i].why);
        json_end_object(w);
    }
    json_end_array(w);
    json_end_object(w);
}

static void print_json(const struct selftest_report *report, const char *dir, long long seed)
{
    autostr struct str out = {0};
    struct json_out w = cli_json_begin(&out);
    json_kv_bool(&w, "passed", selftest_passed(report));
    json_kv_bool(&w, "stopped", report->table.stopped || (!report->is_swept && cli_interrupted()));
    json_kv_str(&w, "dir", dir);
    json_kv_i64(&w, "seed", seed);
    put_probe(&w, &report->probe);
    put_sweep(&w, &report->table);
    cli_json_end(&w);
    cli_print(&out);
}

/* --- running ---------------------------------------------------------------------------------- */

struct shown {
    bool is_possible;
    int64_t points; /* as written last */
};

/* One line on a terminal, written again in place, on standard error. */
static bool show_progress(void *user, const struct sweep_table *so_far)
{
    struct shown *shown = user;
    int64_t points = sweep_sum(so_far).points;
    if (shown->is_possible && points > shown->points) {
        shown->points = points;
        dprintf(STDERR_FILENO, "\r\033[K%lld of %lld points, %lld harmed", (long long)points,
                (long long)so_far->total, (long long)sweep_harmed(so_far));
    }
    return cli_interrupted();
}

/* Where the store is or will be: the nearest directory that exists. Status; caller frees *ret. */
static int find_dir(struct cli *cli, const struct args *args, char **ret)
{
    struct err err = {0};
    const char *given = args_get(args, "dir");
    if (given && !fs_is_dir(given)) {
        return cli_error(EXIT_NOT_FOUND, "there is no directory %s", given);
    }
    if (!given && config_load_lenient(cli->config_path, &cli->config, &err) < 0) {
        return cli_fail(&err);
    }
    char *dir = mem_strdup(given ? given : cli->config->data_dir);
    while (!fs_is_dir(dir)) {
        char *above = fs_dirname(dir);
        free(dir);
        dir = above;
    }
    *ret = dir;
    return EXIT_OK;
}

static int exec(struct cli *cli, struct args *args)
{
    struct err err = {0};
    struct selftest_report report;
    autofree char *dir = NULL;
    long long seed = 1, jobs = 0, limit_ms = 0;
    struct shown shown = {.is_possible = term_rewrites(STDERR_FILENO)};
    int status = args_number(cli, args, "seed", 0, INT32_MAX, &seed);
    status = status == EXIT_OK ? args_number(cli, args, "jobs", 1, JOBS_MAX, &jobs) : status;
    status = status == EXIT_OK ? args_duration_ms(cli, args, "time", &limit_ms) : status;
    status = status == EXIT_OK ? find_dir(cli, args, &dir) : status;
    if (status != EXIT_OK) {
        return status;
    }
    cli_catch_interrupt(); /* the directory does not stay behind */
    int rc = selftest_run(&(struct selftest_options){.dir = dir,
                                                     .power_loss = args_has(args, "power-loss"),
                                                     .full = args_has(args, "full"),
                                                     .limit_ms = limit_ms,
                                                     .jobs = (int)jobs,
                                                     .seed = (uint64_t)seed,
                                                     .progress = show_progress,
                                                     .progress_user = &shown},
                          &report, &err);
    if (shown.points > 0) {
        dprintf(STDERR_FILENO, "\r\033[K");
    }
    if (rc < 0) {
        return cli_fail(&err);
    }
    if (args_has(args, "json")) {
        print_json(&report, dir, seed);
    } else {
        print_text(&report, dir, args);
    }
    return cli_interrupted() ? EXIT_DETACHED : selftest_passed(&report) ? EXIT_OK : EXIT_ERROR;
}

const struct cmd cmd_selftest = {
    .name = "selftest",
    .words = "",
    .summary = "put this disk, and the engine on it, to the test",
    .options = options,
    .exec = exec,
};
