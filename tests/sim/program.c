/*
 * program.c - random workflow programs (sim.h).
 *
 * Owns: the workflow "Program", which draws its steps from the seed in its input, and what it
 * calls. Its result folds the results of all steps in the order of the program, so it depends on
 * the seed alone: races are only between things whose winner is certain, signals and updates are
 * summed. Must not: let a step's result depend on attempts, crashes or time. Tests:
 * tests/sim/run-sim.sh
 */
#include <string.h>

#include "base/clock.h"
#include "engine/engine.h"
#include "tests/sim/sim.h"

#define LISTENER_GO "go"

const dur_migration sim_schema[] = {
    {"0001_init", "CREATE TABLE effect (step INTEGER NOT NULL) STRICT"}, {0}};

/* How an activity behaves; the number is in its input. */
enum behaviour {
    WELL,   /* gives its result */
    FLAKY,  /* fails until its third attempt */
    BROKEN, /* fails for good */
    ONCE,   /* may be started once only: nobody asks for its result */
    BEATS,  /* tells of its progress, fails, and finds it again */
    LARGE,  /* a result that becomes a blob */
    BEGINS, /* notes when it ran: a timer comes after it */
    ENDS,   /* the same: a timer came before it */
    BEHAVIOURS
};

struct program {
    struct dice dice;
    uint64_t seed;
    int lap, depth;
    int steps;
    uint64_t folded;
    int64_t updates, updates_sum, updates_wanted;
};

static int64_t boot_ns(dur_engine *engine)
{
    return pace_now_ns(engine->pace);
}

/* Results travel as JSON numbers: 48 bits pass through any reader. */
static int64_t small(uint64_t x)
{
    return (int64_t)(sim_mix(x) >> 16);
}

static void fold(struct program *p, int64_t value)
{
    p->folded = (uint64_t)small(p->folded * 31 + (uint64_t)value);
}

/* --- activities ------------------------------------------------------------------------------- */

static void note_start(struct board *board, uint64_t key, int behaviour, int64_t now_ns)
{
    struct slot *slot = board_slot(board, key);
    int starts = atomic_fetch_add(&slot->starts, 1) + 1;
    if (behaviour == ONCE && starts > 1) {
        board_break(board, INV_ONCE, "a step that may run once was started %d times", starts);
    }
    if (behaviour == ENDS && starts == 1) {
        atomic_store(&slot->ended_ns, now_ns);
    }
}

/* {"key":K,"value":V,"how":B,"ms":D} */
static int work(dur_activity *act, const char *input, const char **result, void *user)
{
    struct world *world = user;
    uint64_t key = (uint64_t)dur_json_int(input, "/key", 0);
    int how = (int)dur_json_int(input, "/how", WELL);
    int64_t ms = dur_json_int(input, "/ms", 0);
    int64_t value = small((uint64_t)dur_json_int(input, "/value", 0));
    const struct plant *plant = world->plant;
    value += plant && plant->finds == INV_OUTCOME && world->generation > 0 ? 1 : 0;
    if (how == ONCE) {
        note_start(world->board, key, how, 0);
    }
    if (ms > 0 && dur_test_sleep(act, ms) == DUR_CANCELLED) {
        return DUR_CANCELLED;
    }
    if (how == FLAKY && dur_activity_attempt(act) < 3) {
        return dur_fail(act, DUR_TRANSIENT, "Flaky", "attempt %d", dur_activity_attempt(act));
    }
    if (how == BROKEN) {
        return dur_fail(act, DUR_PERMANENT, "Broken", "for good");
    }
    if (how == BEATS && !dur_heartbeat_details(act)) {
        dur_heartbeat(act, "7");
        return dur_fail(act, DUR_TRANSIENT, "Beats", "once more");
    }
    if (how == BEGINS) {
        atomic_store(&board_slot(world->board, key)->begun_ns, boot_ns(world->engine));
    } else if (how == ENDS) {
        note_start(world->board, key, how, boot_ns(world->engine));
    }
    if (how == LARGE) {
        size_t bytes = 3000 + (size_t)(value % 20000);
        char *text = dur_activity_alloc(act, bytes + 3);
        memset(text, 'a' + (int)(value % 26), bytes + 1);
        text[0] = text[bytes + 1] = '"';
        *result = text;
    } else {
        *result = dur_jsonf(act, "%i64", value);
    }
    return DUR_OK;
}

static int effect(dur_sql *sql, const char *input, const char **result, void *user)
{
    const char *rows = NULL;
    (void)user;
    if (dur_sql_exec(sql, "INSERT INTO effect (step) VALUES (?1)", input) != DUR_OK ||
        dur_sql_rows(sql, "SELECT count(*) AS n FROM effect WHERE step = ?1", input, &rows) !=
            DUR_OK) {
        return DUR_FAILED;
    }
    *result = rows;
    return DUR_OK;
}

/* --- steps ------------------------------------------------------------------------------------ */

static uint64_t step_key(const struct program *p)
{
    return (uint64_t)small(p->seed * 1000003 + (uint64_t)(p->lap * 1000 + p->steps)) + 1;
}

static const char *work_input(dur_ctx *ctx, struct program *p, int how, int ms)
{
    return dur_ctx_jsonf(ctx, "{\"key\":%i64,\"value\":%i64,\"how\":%d,\"ms\":%d}",
                         (int64_t)step_key(p), small(dice_next(&p->dice)), how, ms);
}

/* Folds what a call gave: its number, its length, or that it failed. */
static int take(struct program *p, int code, const char *result)
{
    if (code == DUR_UNWIND || code == DUR_CANCELLED) {
        return code;
    }
    if (code != DUR_OK) {
        fold(p, 1000 + code);
    } else if (result && result[0] == '"') {
        fold(p, (int64_t)strlen(result));
    } else {
        fold(p, result ? dur_json_int(result, "", 17) : 18);
    }
    return DUR_OK;
}

static const dur_retry_policy quick = {.initial_interval_ms = 1000, .maximum_interval_ms = 10000};

static int run_work(dur_ctx *ctx, struct program *p)
{
    static const int hows[] = {WELL, WELL, FLAKY, BROKEN, BEATS, LARGE};
    const char *result = NULL;
    int how = hows[dice_roll(&p->dice, 6)];
    int ms = dice_roll(&p->dice, 3) ? dice_roll(&p->dice, 5000) : 0;
    dur_activity_options o = {.retry = quick, .heartbeat_ms = how == BEATS ? 60000 : 0};
    int rc = dur_run(ctx, "work", work_input(ctx, p, how, ms), &result, &o);
    return take(p, rc, result);
}

static int run_once(dur_ctx *ctx, struct program *p)
{
    dur_activity_options o = {.max_attempts = 1};
    int rc = dur_run(ctx, "work", work_input(ctx, p, ONCE, dice_roll(&p->dice, 3000)), NULL, &o);
    return rc == DUR_UNWIND || rc == DUR_CANCELLED ? rc : DUR_OK; /* a crash may have cost it */
}

static int run_parallel(dur_ctx *ctx, struct program *p)
{
    dur_future *futures[5];
    int count = 2 + dice_roll(&p->dice, 4);
    int rc = DUR_OK;
    dur_activity_options o = {.retry = quick};
    for (int i = 0; i < count; i++) {
        int how = dice_roll(&p->dice, 4) ? WELL : FLAKY;
        int ms = dice_roll(&p->dice, 4000);
        futures[i] = dur_start_activity(ctx, "work", work_input(ctx, p, how, ms), &o);
        p->steps++;
    }
    for (int i = 0; i < count && rc == DUR_OK; i++) {
        const char *result = NULL;
        int code = dur_await(ctx, futures[i], &result);
        rc = take(p, code, result);
    }
    return rc;
}

static int run_timer(dur_ctx *ctx, struct program *p)
{
    dur_activity_options o = {.retry = quick};
    int64_t ms = 1000 + dice_roll(&p->dice, 100000);
    const char *begins = work_input(ctx, p, BEGINS, 0);
    const char *ends = dur_ctx_jsonf(ctx, "{\"key\":%i64,\"value\":%i64,\"how\":%d,\"ms\":0}",
                                     (int64_t)step_key(p), ms, ENDS);
    /* the slot's key says how long, for who checks: two keys, one step */
    int rc = dur_run(ctx, "work", begins, NULL, &o);
    if (rc == DUR_OK) {
        rc = dur_sleep(ctx, ms);
    }
    if (rc == DUR_OK) {
        rc = dur_run(ctx, "work", ends, NULL, &o);
    }
    if (rc == DUR_OK) {
        rc = dur_run(ctx, "judge_timer", ends, NULL, &o);
    }
    fold(p, ms);
    return rc;
}

/* Between BEGINS and ENDS: no less than the timer, and no more than that, what was lost to crashes
 * and sleep,
 * and what retries and full lanes cost. */
static int judge_timer(dur_activity *act, const char *input, const char **result, void *user)
{
    static const int64_t slack_ns = 120 * NS_PER_S;
    struct world *world = user;
    struct slot *slot = board_slot(world->board, (uint64_t)dur_json_int(input, "/key", 0));
    int64_t ns = dur_json_int(input, "/value", 0) * NS_PER_MS;
    int64_t took = atomic_load(&slot->ended_ns) - atomic_load(&slot->begun_ns);
    (void)act;
    (void)result;
    if (took < ns) {
        board_break(world->board, INV_TIMERS, "a timer of %lld ms fired after %lld ms",
                    (long long)(ns / NS_PER_MS), (long long)(took / NS_PER_MS));
    }
    if (took > ns + atomic_load(&world->board->lost_ns) + slack_ns) {
        board_break(world->board, INV_TIMERS, "a timer of %lld ms fired after %lld ms, %lld lost",
                    (long long)(ns / NS_PER_MS), (long long)(took / NS_PER_MS),
                    (long long)(atomic_load(&world->board->lost_ns) / NS_PER_MS));
    }
    return DUR_OK;
}

static int run_child(dur_ctx *ctx, struct program *p)
{
    const char *result = NULL;
    const char *input = dur_ctx_jsonf(ctx, "{\"seed\":%i64,\"depth\":%d}",
                                      small(dice_next(&p->dice)), p->depth - 1);
    int rc = dur_run_child(ctx, "Program", input, &result, NULL);
    return take(p, rc, result);
}

static int run_listener(dur_ctx *ctx, struct program *p)
{
    const char *result = NULL;
    const char *value = dur_ctx_jsonf(ctx, "%i64", small(dice_next(&p->dice)));
    dur_future *child = dur_start_child(ctx, "Listener", NULL, NULL);
    int rc = dur_child_started(ctx, child, NULL);
    if (rc == DUR_OK) {
        rc = dur_await(ctx, dur_signal_child(ctx, child, LISTENER_GO, value), NULL);
    }
    if (rc == DUR_OK) {
        rc = dur_await(ctx, child, &result);
    }
    return take(p, rc, result);
}

static int listener(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)input;
    (void)user;
    return dur_receive(ctx, LISTENER_GO, -1, result);
}

/* A timer of a year and an activity that nobody waits for to the end. */
static int run_cancelled(dur_ctx *ctx, struct program *p)
{
    dur_ctx *scope = dur_scope(ctx);
    dur_future *timer = dur_timer(scope, 365 * DUR_DAYS);
    const char *input = work_input(ctx, p, WELL, 60000 + dice_roll(&p->dice, 9));
    dur_future *activity = dur_start_activity(scope, "work", input, NULL);
    int rc = dur_sleep(ctx, 10);
    dur_cancel_scope(scope);
    if (rc == DUR_OK) {
        fold(p, dur_await(scope, timer, NULL));
        fold(p, dur_await(scope, activity, NULL));
    }
    return rc;
}

/* The activity is done within seconds, whatever crashes; the timer takes a year. */
static int run_race(dur_ctx *ctx, struct program *p)
{
    dur_activity_options o = {.retry = quick};
    dur_future *futures[2] = {
        dur_timer(ctx, 365 * DUR_DAYS),
        dur_start_activity(ctx, "work", work_input(ctx, p, WELL, dice_roll(&p->dice, 1000)), &o)};
    int first = dur_select(ctx, futures, 2);
    if (first < 0) {
        return first;
    }
    fold(p, first);
    dur_cancel_future(ctx, futures[0]);
    return DUR_OK;
}

static int run_local(dur_ctx *ctx, struct program *p)
{
    const char *result = NULL;
    dur_local_options o = {.retry = quick};
    int how = dice_roll(&p->dice, 3) ? WELL : BROKEN;
    int rc = dur_run_local(ctx, "work", work_input(ctx, p, how, 0), &result, &o);
    return take(p, rc, result);
}

static int run_transaction(dur_ctx *ctx, struct program *p)
{
    const char *result = NULL;
    const char *input = dur_ctx_jsonf(ctx, "[%i64]", (int64_t)step_key(p));
    int rc = dur_run_transaction(ctx, "effect", input, &result);
    if (rc == DUR_OK) {
        fold(p, dur_json_int(result, "/0/n", -1));
    }
    return take(p, rc, NULL);
}

static int two(void *arg, const char **result)
{
    (void)arg;
    *result = "2";
    return DUR_OK;
}

static int run_recorded(dur_ctx *ctx, struct program *p)
{
    const char *result = NULL;
    int rc = dur_side_effect(ctx, two, NULL, &result);
    if (rc == DUR_OK) {
        rc = take(p, rc, result);
    }
    if (rc == DUR_OK) {
        fold(p, dur_code_version(ctx, "change", 1, 3));
        fold(p, dur_patched(ctx, "patch"));
        const char *attributes = dur_ctx_jsonf(ctx, "{\"Step\":%d}", p->steps);
        rc = dur_upsert_search_attributes(ctx, attributes);
    }
    return rc;
}

static int run_step(dur_ctx *ctx, struct program *p)
{
    p->steps++;
    switch (dice_roll(&p->dice, 14)) {
    case 0:
        return run_once(ctx, p);
    case 1:
        return run_parallel(ctx, p);
    case 2:
        return run_timer(ctx, p);
    case 3:
        return p->depth > 0 ? run_child(ctx, p) : run_work(ctx, p);
    case 4:
        return run_listener(ctx, p);
    case 5:
        return run_cancelled(ctx, p);
    case 6:
        return run_race(ctx, p);
    case 7:
        return run_local(ctx, p);
    case 8:
        return run_transaction(ctx, p);
    case 9:
        return run_recorded(ctx, p);
    case 10:
        return dur_sleep(ctx, dice_roll(&p->dice, 3600 * 1000));
    default:
        return run_work(ctx, p);
    }
}

/* --- handlers --------------------------------------------------------------------------------- */

static int on_sum(dur_ctx *ctx, const char *input, const char **result, void *arg)
{
    const struct program *p = arg;
    (void)input;
    *result = dur_ctx_jsonf(ctx, "%i64", p->updates_sum);
    return DUR_OK;
}

static int on_add(dur_ctx *ctx, const char *input, const char **result, void *arg)
{
    struct program *p = arg;
    int rc = dur_sleep(ctx, 5);
    if (rc == DUR_OK) {
        p->updates++;
        p->updates_sum += dur_json_int(input, "", 0);
        *result = input;
    }
    return rc;
}

static int has_updates(void *arg)
{
    const struct program *p = arg;
    return p->updates >= p->updates_wanted;
}

static int handlers_are_done(void *arg)
{
    return dur_all_handlers_finished(arg);
}

/* What clients send: all of it is wanted, in any order. */
static int hear(dur_ctx *ctx, struct program *p, int64_t signals)
{
    int64_t sum = 0;
    int rc = DUR_OK;
    for (int64_t i = 0; i < signals && rc == DUR_OK; i++) {
        const char *input = NULL;
        rc = dur_receive(ctx, "add", -1, &input);
        sum += rc == DUR_OK ? dur_json_int(input, "", 0) : 0;
    }
    if (rc == DUR_OK) {
        rc = dur_wait(ctx, has_updates, p, -1);
    }
    fold(p, sum);
    fold(p, p->updates_sum);
    return rc;
}

static int program(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    struct program *p = dur_ctx_alloc(ctx, sizeof(*p));
    int64_t laps = dur_json_int(input, "/laps", 0);
    int64_t signals = dur_json_int(input, "/signals", 0);
    (void)user;
    p->seed = (uint64_t)dur_json_int(input, "/seed", 0);
    p->lap = (int)dur_json_int(input, "/lap", 0);
    p->depth = (int)dur_json_int(input, "/depth", 0);
    p->folded = (uint64_t)dur_json_int(input, "/folded", 1);
    p->updates_wanted = p->lap == 0 ? dur_json_int(input, "/updates", 0) : 0;
    p->dice = dice_of(p->seed, (uint64_t)p->lap);
    int rc = dur_on_query(ctx, "sum", on_sum, p);
    if (rc == DUR_OK) {
        rc = dur_on_update(ctx, "add", NULL, on_add, p);
    }
    int count = 1 + dice_roll(&p->dice, 5);
    for (int i = 0; i < count && rc == DUR_OK; i++) {
        rc = run_step(ctx, p);
    }
    if (rc == DUR_OK && p->lap == 0) {
        rc = hear(ctx, p, signals);
    }
    if (rc == DUR_OK) {
        rc = dur_wait(ctx, handlers_are_done, ctx, -1);
    }
    if (rc == DUR_OK && p->lap < laps) {
        const char *next = dur_ctx_jsonf(
            ctx, "{\"seed\":%i64,\"depth\":%d,\"laps\":%i64,\"lap\":%d,\"folded\":%i64}",
            (int64_t)p->seed, p->depth, laps, p->lap + 1, (int64_t)p->folded);
        return dur_continue_as_new(ctx, next, NULL);
    }
    *result = dur_ctx_jsonf(ctx, "%i64", (int64_t)p->folded);
    return rc;
}

void program_register(dur_engine *engine, struct world *world)
{
    dur_register_activity(engine, "work", work, world);
    dur_register_activity(engine, "judge_timer", judge_timer, world);
    dur_register_transaction(engine, "effect", effect, NULL);
    dur_register_workflow(engine, "Program", program, world);
    dur_register_workflow(engine, "Listener", listener, NULL);
    dur_lane(engine, "default", 3);
}
