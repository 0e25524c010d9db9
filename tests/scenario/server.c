/*
 * server.c - scenarios on a Temporal server: the same code, and are the histories those of SQLite?
 *
 * Owns: plays through dur_connect, the fetching of the histories of all their runs, the comparison
 * with the golden ones. What cannot be the same, by a rule of Temporal, is made the same first
 * (level()); docs/histories.md has the rules. Must not: know any scenario.
 * Every play has task queues of its own (queue_prefix), and ids that no other scenario has: they
 * can share a namespace. Tests: tests/temporal/t8520-scenarios.sh.
 */
#include "harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/str.h"
#include "history/diff.h"
#include "history/json.h"
#include "history/validate.h"

#define RUNS_MAX 64
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
    const char *id; /* of the main ones; others begin with it */
    size_t count;
    struct {
        char *id; /* "ID@RUN" */
        int64_t started_ns;
    } items[RUNS_MAX];
};

static bool belongs(const char *id, const char *main_id)
{
    size_t len = strlen(main_id);
    return strncmp(id, main_id, len) == 0 && (id[len] == '\0' || id[len] == '-');
}

static int keep(void *user, int64_t token, const dur_description *d)
{
    struct runs *runs = user;
    (void)token;
    if (belongs(d->workflow_id, runs->id) && runs->count < RUNS_MAX) {
        runs->items[runs->count].id = mem_printf("%s@%s", d->workflow_id, d->run_id);
        runs->items[runs->count++].started_ns = d->started_ns;
    }
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
    autofree char *filter = mem_printf("WorkflowId STARTS_WITH '%s'", s->id);
    for (int64_t waited_ms = 0; waited_ms < LAG_MS; waited_ms += 50) {
        *runs = (struct runs){.id = s->id};
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

static char *compare(const struct play *play, size_t count)
{
    autostr struct str why = {0};
    for (size_t n = 1; n <= count; n++) {
        autoarena struct arena *arena = arena_new();
        struct history golden = {0};
        struct history actual = {0};
        autostr struct str want_text = {0};
        autostr struct str have_text = {0};
        autofree char *want = harness_golden(play->scenario, n);
        autofree char *have = mem_printf("%s/%s-%zu.json", play->dir, play->scenario->name, n);
        struct err err;
        if (fs_read_file(want, HISTORY_BYTES, &want_text, &err) < 0 ||
            fs_read_file(have, HISTORY_BYTES, &have_text, &err) < 0) {
            str_addf(&why, "%s\n", err.text);
            break;
        }
        harness_parse(want, arena, str_c(&want_text), &golden);
        harness_parse(have, arena, str_c(&have_text), &actual);
        autofree char *prefix = mem_printf("%s.", play->scenario->name);
        harness_level(&actual, prefix);
        harness_blank_times(arena, &golden);
        harness_blank_times(arena, &actual);
        for (size_t i = 0; i < golden.count || i < actual.count; i++) {
            autostr struct str difference = {0};
            if (i >= golden.count || i >= actual.count) {
                str_addf(&why, "run %zu: %zu events, SQLite %zu\n", n, actual.count, golden.count);
                break;
            }
            if (!event_equal(&golden.items[i], &actual.items[i], DIFF_NORMAL, &difference)) {
                str_addf(&why, "run %zu: %s\n", n, str_c(&difference));
            }
        }
    }
    return why.len ? str_take(&why) : NULL;
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
    autofree char *difference = bad ? mem_strdup(fetched)
                                : count != golden_count(s)
                                    ? mem_printf("%zu runs, SQLite %zu", count, golden_count(s))
                                    : compare(&play, count);
    harness_judge(!difference, s->name, "its histories are those of SQLite", difference);
}
