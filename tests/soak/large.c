/*
 * large.c - a store that grows past SQLite's lock page, and shrinks back across it.
 *
 * Usage: large [DIRECTORY [MIB]]     part of `make soak`; needs 1.2 GiB there for some seconds
 * The page at byte 2^30 of a SQLite file holds locks and never content: whoever moves or counts
 * pages must step over it. Runs with results of 2 MiB that hardly compress are closed until the
 * file is past it (MIB: past so many MiB instead; the verdict is then that the page was not
 * reached). Then, after reopening: the store is whole and every result is what was returned. Then
 * all but the newest go, whose pages lie beyond the lock page and have to move: the file is small
 * again, whole, and those runs' results are what they were.
 * Status: 0 all of that, 1 not, 2 wrong call.
 * Tests: tests/soak/run-soak.sh
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fs.h"
#include "base/mem.h"
#include "base/str.h"
#include "engine/engine.h"
#include "journal/store.h"

#define LOCK_BYTE (1LL << 30)
#define RESULT_BYTES ((size_t)2 << 20) /* the most that an activity may return */
#define KEPT 10
#define BEGIN_NS 1767225600000000000LL /* 2026-01-01T00:00:00Z */

/* A JSON string of RESULT_BYTES that is another for every number. */
static void fill(int64_t number, char *text)
{
    static const char ALPHABET[65] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    uint64_t state = (uint64_t)number * 0x9e3779b97f4a7c15ULL + 1;
    text[0] = text[RESULT_BYTES - 1] = '"';
    text[RESULT_BYTES] = 0;
    for (size_t i = 1; i < RESULT_BYTES - 1; i++) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        text[i] = ALPHABET[state >> 58];
    }
}

static int work(dur_activity *act, const char *input, const char **result, void *user)
{
    (void)user;
    char *text = dur_activity_alloc(act, RESULT_BYTES + 1);
    fill(dur_json_int(input, "", 0), text);
    *result = text;
    return DUR_OK;
}

static int flow(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)user;
    return dur_run(ctx, "work", input, result, NULL);
}

static void must(dur_engine *engine, int rc, const char *what)
{
    if (rc != DUR_OK) {
        fprintf(stderr, "large: %s: %s\n", what, dur_error(engine));
        exit(1);
    }
}

static dur_engine *open_engine(const char *path)
{
    dur_engine *engine;
    dur_options o = {.reserve_bytes = -1, .min_free_bytes = -1};
    must(engine, dur_open(&engine, path, &o), path);
    engine->pace = pace_new(BEGIN_NS);
    engine->clock = pace_clock(engine->pace);
    engine->test_limit_ns = INT64_MAX / 4;
    dur_register_activity(engine, "work", work, NULL);
    dur_register_workflow(engine, "Flow", flow, NULL);
    dur_lane(engine, "default", 0);
    return engine;
}

static int64_t file_bytes(dur_engine *engine)
{
    struct err err = {0};
    struct store_facts facts = {0};
    if (store_facts(engine->store, &facts, &err) < 0) {
        fprintf(stderr, "large: %s\n", err.text);
        exit(1);
    }
    return facts.db_bytes;
}

/* How many runs it took. */
static int64_t grow(const char *path, int64_t until_bytes)
{
    int64_t number = 0;
    dur_engine *engine = open_engine(path);
    while (file_bytes(engine) <= until_bytes) {
        char id[32], input[32];
        snprintf(id, sizeof(id), "flow-%lld", (long long)number);
        snprintf(input, sizeof(input), "%lld", (long long)number++);
        must(engine, dur_start(engine, "Flow", id, input, NULL), id);
        must(engine, dur_test_advance(engine, 1000), id);
        must(engine, dur_result(engine, id, 0, NULL), id);
    }
    printf("%lld runs: %lld MiB\n", (long long)number, (long long)file_bytes(engine) >> 20);
    dur_close(engine);
    return number;
}

/* How many things are wrong with the store and with the results of runs [first, end). */
static int look(dur_engine *engine, int64_t first, int64_t end)
{
    struct err err = {0};
    int wrong = 0;
    autofree char *expected = mem_alloc(RESULT_BYTES + 1);
    if (store_check(engine->store, &err) < 0) {
        printf("NOT WHOLE: %s\n", err.text);
        wrong++;
    }
    for (int64_t number = first; number < end; number++) {
        char id[32];
        char *result = NULL;
        snprintf(id, sizeof(id), "flow-%lld", (long long)number);
        fill(number, expected);
        int rc = dur_result(engine, id, 0, &result);
        if (rc != DUR_OK || !str_eq(result, expected)) {
            printf("WRONG: %s: %s\n", id, rc == DUR_OK ? "another result" : dur_error(engine));
            wrong++;
        }
        dur_free(result);
    }
    return wrong;
}

static int large(const char *path, int64_t until_bytes)
{
    int64_t runs = grow(path, until_bytes);
    dur_engine *engine = open_engine(path);
    int wrong = look(engine, 0, runs);
    int64_t grown = file_bytes(engine);
    if (grown <= LOCK_BYTE + (int64_t)RESULT_BYTES) {
        printf("TOO SMALL: %lld bytes do not reach past the lock page\n", (long long)grown);
        wrong++;
    }
    dur_purged purged = {0};
    must(engine, dur_purge(engine, &purged, &(dur_purge_options){.keep_runs = KEPT}), "purge");
    printf("%lld runs went: %lld MiB\n", (long long)purged.runs,
           (long long)file_bytes(engine) >> 20);
    int64_t limit = (KEPT + 10) * (int64_t)RESULT_BYTES;
    if (purged.runs != runs - KEPT || file_bytes(engine) > limit) {
        printf("NOT SHRUNK: %lld bytes, limit %lld\n", (long long)file_bytes(engine),
               (long long)limit);
        wrong++;
    }
    wrong += look(engine, runs - KEPT, runs);
    dur_close(engine);
    printf("past the lock page and back: %s\n", wrong ? "WRONG" : "whole");
    return wrong ? 1 : 0;
}

int main(int argc, char **argv)
{
    struct err err;
    char *end = NULL;
    errno = 0;
    long long mib = argc > 2 ? strtoll(argv[2], &end, 10) : (LOCK_BYTE >> 20) + 64;
    if (argc > 3 || (end && (*end || end == argv[2])) || errno || mib < 64 || mib > 1 << 20) {
        fprintf(stderr, "usage: large [DIRECTORY [MIB]]: at least 64 MiB\n");
        return 2;
    }
    autofree char *prefix = mem_printf("%s/large", argc > 1 ? argv[1] : ".");
    autofree char *dir = NULL;
    if (fs_make_temp_dir(prefix, &dir, &err) < 0) {
        fprintf(stderr, "large: %s\n", err.text);
        return 1;
    }
    autofree char *path = fs_join(dir, "large.db");
    int status = large(path, mib << 20);
    fs_remove_tree(dir, NULL);
    return status;
}
