/*
 * server.c - scenarios on a Temporal server: the same code, and are the histories those of SQLite?
 *
 * Owns: plays through dur_connect, the fetching of the histories of all their runs, the comparison
 * with the golden ones (level.c, compare.c), and the verdict of the code on them (judge.c). Must
 * not: know any scenario. Every play has task queues of its own (queue_prefix), and ids that no
 * other scenario has: they can share a namespace. Tests: tests/temporal/t8520-scenarios.sh.
 */
#include "harness.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/str.h"
#include "history/json.h"

#define RUNS_MAX 64
#define MIDST_OF_LARGE 8
#define LAG_MS 5000 /* lists lag behind what happened */

/* --- in the child --------------------------------------------------------------------------------
 */

static void play_it(const struct play *play)
{
    dur_engine *engine = harness_open(play, NULL, false);
    harness_serve(play, engine);
    dur_close(engine);
}

struct runs {
    size_t count;
    struct {
        char *id; /* "ID@RUN" */
        int64_t started_ns;
    } items[RUNS_MAX];
};

static int keep(void *user, int64_t token, const dur_description *d)
{
    struct runs *runs = user;
    (void)token;
    runs->items[runs->count].id = mem_printf("%s@%s", d->workflow_id, d->run_id);
    runs->items[runs->count++].started_ns = d->started_ns;
    return 0;
}

static void sort(struct runs *runs)
{
    for (size_t i = 1; i < runs->count; i++) {
        for (size_t j = i; j > 0 && runs->items[j].started_ns < runs->items[j - 1].started_ns;
             j--) {
            __typeof__(runs->items[0]) earlier = runs->items[j];
            runs->items[j] = runs->items[j - 1];
            runs->items[j - 1] = earlier;
        }
    }
}

static size_t golden_count(const struct scenario *s)
{
    if (s->no_golden) {
        return 1;
    }
    for (size_t n = 1;; n++) {
        autofree char *path = harness_golden(s, n);
        if (!fs_exists(path)) {
            return n - 1;
        }
    }
}

/* All runs of the scenario, oldest first. */
static void find_runs(dur_engine *engine, const struct scenario *s, struct runs *runs)
{
    autofree char *filter = mem_printf("TaskQueue = '%s.default'", s->name);
    for (int64_t waited_ms = 0; waited_ms < LAG_MS; waited_ms += 50) {
        *runs = (struct runs){0};
        int rc = dur_list_where(engine, filter, 0, RUNS_MAX, keep, runs);
        if (rc != DUR_OK) {
            harness_die(engine, "list", rc);
        }
        if (runs->count >= golden_count(s)) {
            break;
        }
        clock_sleep_ms(50);
    }
    sort(runs);
}

/* Writes the histories to DIR/NAME-1.json ...; each keeps to the rules, and the code replays it. */
static void fetch_all(const struct play *play)
{
    dur_engine *engine = harness_open(play, NULL, false);
    struct runs runs;
    find_runs(engine, play->scenario, &runs);
    for (size_t i = 0; i < runs.count; i++) {
        char *json = NULL;
        struct err err;
        int rc = dur_history(engine, runs.items[i].id, &json);
        if (rc != DUR_OK) {
            harness_die(engine, runs.items[i].id, rc);
        }
        autofree char *file = mem_printf("%s/%s-%zu.json", play->dir, play->scenario->name, i + 1);
        if (fs_write_file(file, json, strlen(json), 0644, &err) < 0) {
            harness_die(engine, err.text, DUR_IO);
        }
        dur_free(json);
        free(runs.items[i].id);
    }
    printf("%zu", runs.count);
    dur_close(engine);
}

/* --- in the parent -------------------------------------------------------------------------------
 */

static void load(struct arena *arena, const char *path, struct history *history)
{
    autostr struct str json = {0};
    struct err err;
    if (fs_read_file(path, HISTORY_BYTES, &json, &err) < 0) {
        printf("%s\n", err.text);
        return;
    }
    harness_parse(path, arena, str_c(&json), history);
}

/* In a child too: it prints what differs. */
static void compare_all(const struct play *play)
{
    const struct scenario *s = play->scenario;
    for (size_t n = 1; n <= golden_count(s); n++) {
        autoarena struct arena *arena = arena_new();
        autostr struct str difference = {0};
        struct history golden = {0};
        struct history actual = {0};
        autofree char *want = harness_golden(s, n);
        autofree char *have = mem_printf("%s/%s-%zu.json", play->dir, s->name, n);
        autofree char *prefix = mem_printf("%s.", s->name);
        load(arena, want, &golden);
        load(arena, have, &actual);
        harness_level(&golden, prefix);
        harness_level(&actual, prefix);
        harness_blank_times(arena, &golden);
        harness_blank_times(arena, &actual);
        compare_histories(s->name, n, &golden, &actual, &difference);
        printf("%s", str_c(&difference));
    }
}

/* --- what befalls a run --------------------------------------------------------------------------
 */

/* Waits until the main run has so many events; false: it has closed before. */
static bool has_come_to(dur_engine *engine, const struct play *play)
{
    for (;;) {
        dur_description *d = NULL;
        bool is_closed = false;
        int64_t events = 0;
        if (dur_describe(engine, play->scenario->id, &d) == DUR_OK) {
            events = d->history_events;
            is_closed = d->closed_ns != 0;
        }
        dur_description_free(d);
        if (events >= play->after || is_closed) {
            return !is_closed;
        }
        clock_sleep_ms(2);
    }
}

static void *kill_when_due(void *arg)
{
    const struct play *play = arg;
    dur_engine *engine = harness_open(play, NULL, false);
    if (has_come_to(engine, play)) {
        kill(getpid(), SIGKILL);
    }
    dur_close(engine);
    return NULL;
}

static void *cancel_when_due(void *arg)
{
    const struct play *play = arg;
    dur_engine *engine = harness_open(play, NULL, false);
    if (has_come_to(engine, play)) {
        dur_cancel(engine, play->scenario->id, "enough");
    }
    dur_close(engine);
    return NULL;
}

static void serve_with(const struct play *play, void *(*fn)(void *))
{
    struct play copy = *play;
    pthread_t thread;
    dur_engine *engine = harness_open(play, NULL, false);
    bool has_thread = pthread_create(&thread, NULL, fn, &copy) == 0;
    harness_serve(play, engine);
    if (has_thread) {
        pthread_join(thread, NULL);
    }
    dur_close(engine);
}

static void play_until_killed(const struct play *play)
{
    serve_with(play, kill_when_due);
}

static void play_cancelled(const struct play *play)
{
    serve_with(play, cancel_when_due);
}

/* The number of events after which something befalls it: in the midst of the longest main run. */
static int64_t midst(const struct scenario *s)
{
    autoarena struct arena *arena = arena_new();
    autofree char *path = harness_golden(s, 1);
    struct history golden = {0};
    if (s->no_golden) {
        return MIDST_OF_LARGE;
    }
    load(arena, path, &golden);
    return (int64_t)golden.count / 2;
}

void check_killed_on_server(const struct scenario *s, const char *server, const char *name_space)
{
    struct play play = {
        .scenario = s, .server = server, .name_space = name_space, .after = midst(s)};
    bool bad;
    if (s->no_server) {
        return;
    }
    autofree char *first = harness_child(play_until_killed, &play, &bad);
    autofree char *second = bad || first ? NULL : harness_child(play_it, &play, &bad);
    autofree char *got = bad ? NULL : harness_child(harness_outcome, &play, &bad);
    autofree char *want = bad ? NULL : harness_expected(s, got);
    autofree char *what =
        mem_printf("%s and another goes on",
                   first ? "closed before its worker was killed" : "its worker is killed");
    harness_judge(!bad && strcmp(got, want) == 0, s->name, what,
                  second && *second ? second
                  : got             ? got
                                    : first);
}

void check_cancelled_on_server(const struct scenario *s, const char *server, const char *name_space)
{
    struct play play = {
        .scenario = s, .server = server, .name_space = name_space, .after = midst(s)};
    bool bad;
    if (s->no_server || s->ignores_cancel) {
        return;
    }
    autofree char *played = harness_child(play_cancelled, &play, &bad);
    autofree char *later = bad ? NULL : harness_child(play_it, &play, &bad); /* what is left */
    autofree char *got = bad ? NULL : harness_child(harness_outcome, &play, &bad);
    bool has_ended = !bad && got && strncmp(got, "Running", strlen("Running")) != 0;
    autofree char *what = mem_printf("cancelled on the way, it ends as %.*s",
                                     got ? (int)strcspn(got, " ") : 0, got ? got : "");
    harness_judge(has_ended, s->name, what, got ? got : later ? later : played);
}

void check_on_server(const struct scenario *s, const char *server, const char *name_space,
                     const char *dir)
{
    struct play play = {.scenario = s, .server = server, .name_space = name_space, .dir = dir};
    bool bad;
    if (s->no_server) {
        return;
    }
    autofree char *played = harness_child(play_it, &play, &bad);
    autofree char *got = bad ? NULL : harness_child(harness_outcome, &play, &bad);
    autofree char *want = got ? harness_expected(s, got) : NULL;
    bool is_good = !bad && strcmp(got, want) == 0;
    autofree char *why = is_good ? NULL
                         : got   ? mem_printf("ended with %sexpected   %s", got, want)
                                 : mem_strdup(played);
    harness_judge(is_good, s->name, "ends on the server as on SQLite", why);
    if (!is_good) {
        return;
    }
    autofree char *fetched = harness_child(fetch_all, &play, &bad);
    size_t count = bad ? 0 : strtoul(fetched, NULL, 10);
    if (bad || count != golden_count(s)) {
        autofree char *what = mem_printf("%s runs, on SQLite %zu", fetched, golden_count(s));
        harness_judge(false, s->name, "all its runs are there", what);
        return;
    }
    if (!s->no_golden) {
        autofree char *difference = harness_child(compare_all, &play, &bad);
        autofree char *how = compare_words(s->name);
        harness_judge(!bad && *difference == '\0', s->name, how, difference);
    }
    judge_histories(s, dir);
}
