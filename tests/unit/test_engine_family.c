/*
 * test_engine_family.c - random families: runs that start, signal, cancel and leave each other,
 * while clients terminate and cancel some of them and engines come and go.
 *
 * One seed makes the programs of one store. In the end every history validates and is replayed by
 * the code, and both sides of every relation agree. FAMILY_SEEDS=N tries N seeds (default 12),
 * FAMILY_SEED=N only one.
 */
#include <sqlite3.h>
#include <stdlib.h>

#include "tests/lib/engine_fixture.h"

#define ROOTS 16
#define DEPTH_MAX 3
#define STEPS_MAX 12
#define CHILDREN_MAX 4
#define IDS 64

struct dice {
    uint64_t s;
};

static unsigned roll(struct dice *d, unsigned sides)
{
    d->s = d->s * 6364136223846793005ULL + 1442695040888963407ULL;
    return (unsigned)(d->s >> 33) % sides;
}

/* --- the program of every run -------------------------------------------------------------------
 */

struct brood {
    dur_future *f[CHILDREN_MAX];
    size_t count;
};

/* Ids are few, so that they clash and that runs find each other. */
static const char *some_id(dur_ctx *ctx, struct dice *d)
{
    return dur_ctx_jsonf(ctx, "run-%d", (int)roll(d, IDS));
}

static int begin_child(dur_ctx *ctx, struct dice *d, int64_t depth, struct brood *b)
{
    dur_retry_policy retry = {.initial_interval_ms = 1, .maximum_attempts = 2};
    dur_child_options o = {
        .workflow_id = roll(d, 3) ? some_id(ctx, d) : NULL,
        .parent_close = (dur_parent_close)roll(d, 3),
        .cancellation = (dur_cancellation)roll(d, 3),
        .reuse = (dur_reuse)roll(d, 2),
        .run_timeout_ms = roll(d, 4) ? 0 : 5,
        .retry = roll(d, 4) ? NULL : &retry,
    };
    if (depth == DEPTH_MAX || b->count == CHILDREN_MAX) {
        return DUR_OK;
    }
    b->f[b->count] = dur_start_child(
        ctx, "Member",
        dur_ctx_jsonf(ctx, "{\"seed\":%i64,\"depth\":%i64}", (int64_t)(d->s >> 17), depth + 1), &o);
    b->count++;
    return roll(d, 2) ? dur_child_started(ctx, b->f[b->count - 1], NULL) : DUR_OK;
}

static int one_step(dur_ctx *ctx, struct dice *d, int64_t depth, struct brood *b)
{
    dur_future *kid = b->count ? b->f[roll(d, (unsigned)b->count)] : NULL;
    switch (roll(d, 9)) {
    case 0:
        return dur_await(ctx, dur_signal_external(ctx, some_id(ctx, d), "s", "1"), NULL);
    case 1:
        return roll(d, 3) ? DUR_OK
                          : dur_await(ctx, dur_cancel_external(ctx, some_id(ctx, d), NULL), NULL);
    case 2:
        return dur_sleep(ctx, 1 + (int64_t)roll(d, 3));
    case 3:
        return dur_receive(ctx, "s", 2, NULL);
    case 4:
        return kid ? dur_await(ctx, kid, NULL) : DUR_OK;
    case 5:
        if (kid) {
            dur_cancel_future(ctx, kid);
        }
        return DUR_OK;
    case 6:
        return kid ? dur_await(ctx, dur_signal_child(ctx, kid, "s", "2"), NULL) : DUR_OK;
    default:
        return begin_child(ctx, d, depth, b);
    }
}

static int member(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    struct dice d = {(uint64_t)dur_json_int(input, "/seed", 1) +
                     (uint64_t)dur_json_int(input, "/again", 0)};
    int64_t depth = dur_json_int(input, "/depth", 0);
    struct brood b = {.count = 0};
    unsigned steps = 1 + roll(&d, STEPS_MAX);
    int rc = DUR_OK;
    (void)user;
    for (unsigned i = 0; i < steps && rc != DUR_UNWIND && !dur_is_cancelled(ctx); i++) {
        rc = one_step(ctx, &d, depth, &b);
    }
    if (rc == DUR_UNWIND || dur_is_cancelled(ctx)) {
        return rc == DUR_UNWIND ? rc : DUR_CANCELLED;
    }
    *result = "1";
    switch (roll(&d, 8)) {
    case 0:
        return dur_fail_run(ctx, "Dice", "no");
    case 1:
        if (dur_json_int(input, "/again", 0) < 2) {
            return dur_continue_as_new(
                ctx,
                dur_ctx_jsonf(ctx, "{\"seed\":%i64,\"depth\":%i64,\"again\":%i64}",
                              dur_json_int(input, "/seed", 1), depth,
                              dur_json_int(input, "/again", 0) + 1),
                NULL);
        }
        return DUR_OK;
    default:
        return DUR_OK;
    }
}

static void fixture_register(dur_engine *engine)
{
    dur_register_workflow(engine, "Member", member, NULL);
}

/* --- what must hold in the end ------------------------------------------------------------------
 */

static int check_one(void *user, int64_t token, const dur_description *d)
{
    autofree char *id = mem_printf("%s@%s", d->workflow_id, d->run_id);
    (void)token;
    check_history(user, id);
    return 0;
}

static int count(sqlite3 *db, const char *sql)
{
    sqlite3_stmt *stmt = NULL;
    cr_assert_eq(sqlite3_prepare_v2(db, sql, -1, &stmt, NULL), SQLITE_OK, "%s", sqlite3_errmsg(db));
    cr_assert_eq(sqlite3_step(stmt), SQLITE_ROW);
    int n = sqlite3_column_int(stmt, 0);
    sqlite3_finalize(stmt);
    return n;
}

/* Event types: 29 child initiated, 30 its start failed, 31 started, 32 to 36 ended, 37 signal asked
 * for, 38 and 39 its answers, 22 cancel asked for, 23 and 24 its answers. */
static void check_relations(const char *path, uint64_t seed)
{
    static const struct {
        const char *what, *sql;
    } rules[] = {
        {"a run is open", "SELECT count(*) FROM execution WHERE status = 1"},
        {"something is pending",
         "SELECT (SELECT count(*) FROM child) + (SELECT count(*) FROM task) "
         "+ (SELECT count(*) FROM timer)"},
        {"a started child has no run that knows its parent",
         "SELECT count(*) FROM event AS s WHERE s.type = 31 AND NOT EXISTS (SELECT 1 FROM "
         "execution "
         "AS e WHERE e.parent = s.execution AND e.run_id = s.attributes ->> "
         "'$.workflowExecution.runId')"},
        {"a child's end is told twice, or to nobody that waits",
         "SELECT abs((SELECT count(*) FROM event WHERE type BETWEEN 32 AND 36) - (SELECT count(*) "
         "FROM (SELECT DISTINCT execution, attributes ->> '$.workflowExecution.runId' FROM event "
         "WHERE type BETWEEN 32 AND 36)))"},
        /* but where clients terminated both before an engine looked */
        {"a child's end is not told to a parent that outlived it",
         "SELECT count(*) FROM execution AS e JOIN execution AS p ON p.id = e.parent "
         "JOIN event AS s ON s.execution = p.id AND s.type = 31 AND s.attributes ->> "
         "'$.workflowExecution.workflowId' = e.workflow_id "
         "WHERE e.next_run_id IS NULL AND p.closed_ns > e.closed_ns "
         "AND NOT (e.status = 5 AND p.status = 5) AND NOT EXISTS "
         "(SELECT 1 FROM event AS t WHERE t.execution = p.id AND t.type BETWEEN 32 AND 36 "
         "AND t.attributes ->> '$.workflowExecution.runId' = e.run_id)"},
        {"a signal that was answered well is in no history",
         "SELECT max(0, (SELECT count(*) FROM event WHERE type = 39) - "
         "(SELECT count(*) FROM event WHERE type = 26))"},
    };
    sqlite3 *db;
    cr_assert_eq(sqlite3_open(path, &db), SQLITE_OK);
    for (size_t i = 0; i < ARRAY_LEN(rules); i++) {
        cr_expect_eq(count(db, rules[i].sql), 0, "seed %llu: %s", (unsigned long long)seed,
                     rules[i].what);
    }
    fprintf(stderr, "seed %llu: %d runs, %d children, %d ends told, %d signals, %d terminated\n",
            (unsigned long long)seed, count(db, "SELECT count(*) FROM execution"),
            count(db, "SELECT count(*) FROM execution WHERE parent IS NOT NULL"),
            count(db, "SELECT count(*) FROM event WHERE type BETWEEN 32 AND 36"),
            count(db, "SELECT count(*) FROM event WHERE type = 39"),
            count(db, "SELECT count(*) FROM execution WHERE status = 5"));
    sqlite3_close(db);
}

static void play(uint64_t seed)
{
    autofree char *path = temp_path("family.db");
    dur_options options = {.max_cached_runs = 3, .chain_spacing_ms = -1};
    struct dice d = {seed * 7919 + 3};
    dur_engine *engine = open_with(path, options);
    for (int i = 0; i < ROOTS; i++) {
        autofree char *id = mem_printf("run-%d", i);
        autofree char *input = mem_printf("{\"seed\":%d,\"depth\":0}", (int)(roll(&d, 1U << 30)));
        cr_assert_eq(dur_start(engine, "Member", id, input, NULL), DUR_OK, "%s", dur_error(engine));
    }
    for (int round = 0; round < 4; round++) { /* engines come and go, clients interfere */
        pthread_t thread = serve_begin(engine);
        for (int i = 0; i < 5; i++) {
            autofree char *id = mem_printf("run-%d", (int)roll(&d, IDS));
            clock_sleep_ms(1 + (int64_t)roll(&d, 3));
            (void)(roll(&d, 2) ? dur_terminate(engine, id, "dice")
                               : dur_cancel(engine, id, "dice"));
        }
        serve_end(engine, thread);
        autofree char *id = mem_printf("run-%d", (int)roll(&d, IDS));
        dur_terminate(engine, id, "while nobody serves");
        dur_close(engine);
        engine = open_with(path, options);
    }
    serve_until_idle(engine);
    cr_assert_eq(dur_list(engine, 0, 0, 100000, check_one, engine), DUR_OK, "%s",
                 dur_error(engine));
    dur_close(engine);
    check_relations(path, seed);
}

Test(engine_family, both_sides_agree_in_the_end, .timeout = 600)
{
    const char *one = getenv("FAMILY_SEED");
    const char *many = getenv("FAMILY_SEEDS");
    uint64_t first = one ? strtoull(one, NULL, 10) : 1;
    uint64_t seeds = one ? 1 : many ? strtoull(many, NULL, 10) : 12;
    for (uint64_t seed = first; seed < first + seeds; seed++) {
        play(seed);
    }
}
