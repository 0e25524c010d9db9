/*
 * soak.c - a day's work under the virtual clock, with retention on: nothing may grow.
 *
 * Usage: soak RUNS [DIRECTORY [keep]]     so many runs over 24 hours (`make soak`: 100000); keep:
 *                                         retention is off, so that it must fail
 * Every minute some runs are started; each runs two activities, one of them with a payload that
 * becomes a blob now and then, sleeps up to half an hour, and some have a child. Closed runs stay
 * for an hour. Once an hour: pages of the file, bytes of the WAL, resident memory, runs in the
 * store. Owns: the load, the table, and the verdict: from the third hour on none of the four may
 * exceed what it was in the second and third by more than a tenth (and a little for small loads).
 * Status: 0 flat, 1 something grew or is not whole, 2 wrong call.
 * Tests: tests/soak/run-soak.sh
 */
#include <errno.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/str.h"
#include "engine/engine.h"
#include "journal/store.h"

#define MINUTES (24 * 60)
#define KEEP_MS (60 * 60 * 1000)
#define BEGIN_NS 1767225600000000000LL /* 2026-01-01T00:00:00Z */
#define BIG_BYTES 20000
#define WARM_HOURS 3

struct hour {
    int64_t db_bytes, wal_bytes, rss_bytes, runs;
};

static int work(dur_activity *act, const char *input, const char **result, void *user)
{
    (void)user;
    int64_t number = dur_json_int(input, "", 0);
    size_t bytes = number % 40 == 0 ? BIG_BYTES : 100;
    char *text = dur_activity_alloc(act, bytes + 3);
    memset(text, 'a' + (int)(number % 26), bytes + 1);
    snprintf(text + 1, 21, "%020lld", (long long)number); /* every large one is another */
    text[21] = 'x';
    text[0] = text[bytes + 1] = '"';
    *result = text;
    return DUR_OK;
}

static int flow(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)user;
    int64_t number = dur_json_int(input, "", 0);
    int rc = dur_run(ctx, "work", input, NULL, NULL);
    if (rc == DUR_OK) {
        rc = dur_sleep(ctx, 1000 * (1 + (number * 7919) % 1800));
    }
    if (rc == DUR_OK && number % 10 == 3) {
        rc = dur_run_child(ctx, "Flow", dur_ctx_jsonf(ctx, "%i64", number + 1000001), NULL, NULL);
    }
    if (rc == DUR_OK) {
        rc = dur_run(ctx, "work", dur_ctx_jsonf(ctx, "%i64", number + 1), result, NULL);
        *result = NULL;
    }
    return rc;
}

static dur_engine *open_engine(const char *path, bool keeps)
{
    dur_engine *engine;
    dur_options o = {
        .reserve_bytes = -1, .min_free_bytes = -1, .keep_closed_ms = keeps ? 0 : KEEP_MS};
    if (dur_open(&engine, path, &o) != DUR_OK) {
        fprintf(stderr, "soak: %s\n", dur_error(engine));
        exit(1);
    }
    engine->pace = pace_new(BEGIN_NS);
    engine->clock = pace_clock(engine->pace);
    engine->test_limit_ns = INT64_MAX / 4;
    dur_register_activity(engine, "work", work, NULL);
    dur_register_workflow(engine, "Flow", flow, NULL);
    dur_lane(engine, "default", 0); /* on this thread: no hand-over to wait for */
    return engine;
}

static void must(dur_engine *engine, int rc, const char *what)
{
    if (rc != DUR_OK) {
        fprintf(stderr, "soak: %s: %s\n", what, dur_error(engine));
        exit(1);
    }
}

static int64_t resident_bytes(void)
{
    struct err err;
    autostr struct str text = {0};
    long long pages = 0;
    malloc_trim(0);
    if (fs_read_file("/proc/self/statm", 4096, &text, &err) == 0) {
        sscanf(str_c(&text), "%*d %lld", &pages);
    }
    return pages * (int64_t)sysconf(_SC_PAGESIZE);
}

static struct hour look(dur_engine *engine)
{
    struct err err = {0};
    struct store_facts facts = {0};
    int64_t counts[EXECUTION_STATUS_COUNT] = {0};
    if (store_facts(engine->store, &facts, &err) < 0 ||
        execution_counts(store_db(engine->store), counts, &err) < 0) {
        fprintf(stderr, "soak: %s\n", err.text);
        exit(1);
    }
    return (struct hour){facts.db_bytes, facts.wal_bytes, resident_bytes(), counts[0]};
}

static int64_t more(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* true: it exceeds what it was by more than a tenth and the slack. */
static bool has_grown(const char *what, int hour, int64_t now, int64_t warm, int64_t slack)
{
    if (now <= warm + warm / 10 + slack) {
        return false;
    }
    printf("GREW: %s, hour %d: %lld, when warm %lld\n", what, hour, (long long)now,
           (long long)warm);
    return true;
}

static int judge(const struct hour *hours, int count)
{
    struct hour warm = {0};
    int grown = 0;
    for (int i = 1; i < WARM_HOURS; i++) {
        warm.db_bytes = more(warm.db_bytes, hours[i].db_bytes);
        warm.wal_bytes = more(warm.wal_bytes, hours[i].wal_bytes);
        warm.rss_bytes = more(warm.rss_bytes, hours[i].rss_bytes);
        warm.runs = more(warm.runs, hours[i].runs);
    }
    for (int i = WARM_HOURS; i < count; i++) {
        grown += has_grown("file", i, hours[i].db_bytes, warm.db_bytes, 512 << 10);
        grown += has_grown("WAL", i, hours[i].wal_bytes, warm.wal_bytes, 2 << 20);
        grown += has_grown("memory", i, hours[i].rss_bytes, warm.rss_bytes, 4 << 20);
        grown += has_grown("runs", i, hours[i].runs, warm.runs, 20);
    }
    return grown;
}

static void run_minute(dur_engine *engine, int64_t first, int64_t end)
{
    for (int64_t number = first; number < end; number++) {
        char id[32], input[32];
        snprintf(id, sizeof(id), "flow-%lld", (long long)number);
        snprintf(input, sizeof(input), "%lld", (long long)number);
        must(engine, dur_start(engine, "Flow", id, input, NULL), id);
    }
    must(engine, dur_test_advance(engine, 60 * 1000), "a minute");
}

static int soak(const char *path, int64_t runs, bool keeps)
{
    struct hour hours[24];
    int hour = 0;
    struct err err = {0};
    dur_engine *engine = open_engine(path, keeps);
    printf("hour   runs    file KiB     WAL KiB  memory KiB\n");
    for (int minute = 0; minute < MINUTES; minute++) {
        run_minute(engine, runs * minute / MINUTES, runs * (minute + 1) / MINUTES);
        if ((minute + 1) % 60 == 0) {
            struct hour now = hours[hour++] = look(engine);
            printf("%4d %6lld %11lld %11lld %11lld\n", hour, (long long)now.runs,
                   (long long)now.db_bytes / 1024, (long long)now.wal_bytes / 1024,
                   (long long)now.rss_bytes / 1024);
            fflush(stdout);
        }
    }
    int grown = judge(hours, hour);
    if (store_check(engine->store, &err) < 0) {
        printf("NOT WHOLE: %s\n", err.text);
        grown++;
    }
    dur_close(engine);
    printf("%lld runs in 24 hours: %s\n", (long long)runs, grown ? "something grew" : "flat");
    return grown ? 1 : 0;
}

int main(int argc, char **argv)
{
    struct err err;
    char *end = NULL;
    errno = 0;
    long long runs = argc > 1 ? strtoll(argv[1], &end, 10) : 0;
    if (runs < 1440 || *end || errno) {
        fprintf(stderr, "usage: soak RUNS [DIRECTORY]: at least 1440 runs\n");
        return 2;
    }
    autofree char *prefix = mem_printf("%s/soak", argc > 2 ? argv[2] : ".");
    autofree char *dir = NULL;
    if (fs_make_temp_dir(prefix, &dir, &err) < 0) {
        fprintf(stderr, "soak: %s\n", err.text);
        return 1;
    }
    autofree char *path = fs_join(dir, "soak.db");
    int status = soak(path, runs, argc > 3 && strcmp(argv[3], "keep") == 0);
    fs_remove_tree(dir, NULL);
    return status;
}
