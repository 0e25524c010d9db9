/*
 * test_engine_queue.c - task queues with limits through durable.h: slots, keys, rate, priorities;
 * also over the death of an engine.
 */
#include "engine/admin.h"
#include "tests/lib/engine_fixture.h"

static atomic_int running, most, finished;
static atomic_int running_of[3], most_of[3]; /* by key */
static atomic_int hold;                      /* "work" waits while it is set */
static char order[512];                      /* names in the order in which they started */
static pthread_mutex_t order_mutex = PTHREAD_MUTEX_INITIALIZER;

static void raise_to(atomic_int *at, int value)
{
    int old = atomic_load(at);
    while (old < value && !atomic_compare_exchange_weak(at, &old, value)) {
    }
}

/* {"key": 0..2, "name": text, "ms": how long} */
static int work(dur_activity *act, const char *input, const char **result, void *user)
{
    int key = (int)dur_json_int(input, "/key", 0);
    int64_t until = clock_mono_ns() + dur_json_int(input, "/ms", 1) * NS_PER_MS;
    (void)result;
    (void)user;
    pthread_mutex_lock(&order_mutex);
    size_t at = strlen(order);
    snprintf(order + at, sizeof(order) - at, "%s ", dur_json_string(act, input, "/name"));
    pthread_mutex_unlock(&order_mutex);
    raise_to(&most, atomic_fetch_add(&running, 1) + 1);
    raise_to(&most_of[key], atomic_fetch_add(&running_of[key], 1) + 1);
    while (clock_mono_ns() < until || atomic_load(&hold)) {
        clock_sleep_ms(1);
    }
    atomic_fetch_sub(&running_of[key], 1);
    atomic_fetch_sub(&running, 1);
    atomic_fetch_add(&finished, 1);
    return dur_json_bool(input, "/fail", 0) && dur_activity_attempt(act) == 1
               ? dur_fail(act, DUR_TRANSIENT, "Once", "first attempt")
               : DUR_OK;
}

/* {"queue": name, "count": n, "keys": k, "ms": t, "fail": bool}: all at once. */
static int fan(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    static const char *const keys[] = {"a", "b", "c"};
    dur_future *futures[64];
    int64_t count = dur_json_int(input, "/count", 1);
    int64_t key_count = dur_json_int(input, "/keys", 0);
    (void)result;
    (void)user;
    for (int64_t i = 0; i < count; i++) {
        int64_t key = key_count ? i % key_count : 0;
        const char *in =
            dur_ctx_jsonf(ctx, "{\"name\":%q,\"key\":%i64,\"ms\":%i64,\"fail\":%b}",
                          dur_ctx_jsonf(ctx, "n%i64", i), key, dur_json_int(input, "/ms", 1),
                          dur_json_bool(input, "/fail", 0));
        futures[i] = dur_start_activity(
            ctx, "work", in,
            &(dur_activity_options){.task_queue = dur_ctx_json_string(ctx, input, "/queue"),
                                    .retry = {.initial_interval_ms = 1},
                                    .concurrency_key = key_count ? keys[key] : NULL});
    }
    for (int64_t i = 0; i < count; i++) {
        int rc = dur_await(ctx, futures[i], NULL);
        if (rc != DUR_OK) {
            return rc;
        }
    }
    return DUR_OK;
}

/* One slot is taken; then five come, the last one first in rank. */
static int ranked(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    static const int ranks[] = {0, 5, 2, 0, 1};
    const char *queue = dur_ctx_json_string(ctx, input, "/queue");
    dur_future *futures[5];
    (void)result;
    (void)user;
    dur_future *first = dur_start_activity(ctx, "work", "{\"name\":\"first\"}",
                                           &(dur_activity_options){.task_queue = queue});
    dur_receive(ctx, "go", -1, NULL);
    for (int i = 0; i < 5; i++) {
        futures[i] =
            dur_start_activity(ctx, "work", dur_ctx_jsonf(ctx, "{\"name\":\"r%d\"}", ranks[i]),
                               &(dur_activity_options){.task_queue = queue, .priority = ranks[i]});
    }
    int rc = dur_await(ctx, first, NULL);
    for (int i = 0; i < 5 && rc == DUR_OK; i++) {
        rc = dur_await(ctx, futures[i], NULL);
    }
    return rc;
}

static void fixture_register(dur_engine *engine)
{
    dur_register_activity(engine, "work", work, NULL);
    dur_register_workflow(engine, "fan", fan, NULL);
    dur_register_workflow(engine, "ranked", ranked, NULL);
    cr_assert_eq(dur_lane(engine, "plain", 1), DUR_OK);
    cr_assert_eq(dur_queue(engine, "keyed", &(dur_queue_options){.slots = 8, .per_key = 2}),
                 DUR_OK);
    cr_assert_eq(dur_queue(engine, "one", &(dur_queue_options){.slots = 1, .per_key = 9}), DUR_OK);
    cr_assert_eq(dur_queue(engine, "rated",
                           &(dur_queue_options){.slots = 64, .rate_per_s = 20.0, .burst = 2}),
                 DUR_OK);
}

static void start(dur_engine *engine, const char *type, const char *id, const char *input)
{
    cr_assert_eq(dur_start(engine, type, id, input, NULL), DUR_OK, "%s", dur_error(engine));
}

Test(queue, of_one_key_only_so_many_at_once, .timeout = 60)
{
    autofree char *path = temp_path("e.db");
    dur_engine *engine = open_engine(path);
    start(engine, "fan", "w", "{\"queue\":\"keyed\",\"count\":30,\"keys\":3,\"ms\":3}");
    start(engine, "fan", "v", "{\"queue\":\"keyed\",\"count\":10,\"keys\":1,\"ms\":3}");
    serve_until_idle(engine);
    cr_assert_eq(atomic_load(&finished), 40);
    cr_assert_leq(atomic_load(&most), 6);
    for (int i = 0; i < 3; i++) {
        cr_assert_leq(atomic_load(&most_of[i]), 2);
        cr_assert_geq(atomic_load(&most_of[i]), 1);
    }
    check_history(engine, "w");
    autoarena struct arena *arena = arena_new();
    struct history history = read_history(engine, arena, "w");
    const struct priority *p =
        ev_activity_task_scheduled(find_event(&history, EVENT_ACTIVITY_TASK_SCHEDULED))->priority;
    cr_assert_str_eq(p->fairness_key, "a");
    dur_close(engine);
}

Test(queue, slots_of_a_queue_with_limits, .timeout = 60)
{
    autofree char *path = temp_path("e.db");
    dur_engine *engine = open_engine(path);
    start(engine, "fan", "w", "{\"queue\":\"one\",\"count\":20,\"fail\":true}");
    serve_until_idle(engine);
    cr_assert_eq(atomic_load(&finished), 40); /* each was retried once */
    cr_assert_eq(atomic_load(&most), 1);
    check_history(engine, "w");
    dur_close(engine);
}

Test(queue, a_rate_spreads_starts, .timeout = 60)
{
    autofree char *path = temp_path("e.db");
    dur_engine *engine = open_engine(path);
    start(engine, "fan", "w", "{\"queue\":\"rated\",\"count\":8}");
    int64_t since = clock_mono_ns();
    serve_until_idle(engine);
    /* Two at once, six more at 50 ms each: it cannot be faster, however slow the machine is. */
    cr_assert_geq(clock_mono_ns() - since, 290 * NS_PER_MS);
    cr_assert_eq(atomic_load(&finished), 8);
    dur_close(engine);
}

static void check_ranks(const char *queue)
{
    autofree char *path = temp_path("e.db");
    dur_engine *engine = open_engine(path);
    pthread_t thread = serve_begin(engine);
    autofree char *input = mem_printf("{\"queue\":\"%s\"}", queue);
    order[0] = '\0';
    atomic_store(&hold, 1);
    start(engine, "ranked", "w", input);
    wait_until(atomic_load(&running) == 1);
    cr_assert_eq(dur_signal(engine, "w", "go", NULL), DUR_OK);
    struct admin_activities list = {0};
    autoarena struct arena *arena = arena_new();
    wait_until(admin_activities(engine, arena, "w", &list) == DUR_OK && list.count == 6);
    atomic_store(&hold, 0);
    char *result = NULL;
    cr_assert_eq(dur_result(engine, "w", WAIT_MS, &result), DUR_OK, "%s", dur_error(engine));
    dur_free(result);
    cr_assert_str_eq(order, "first r1 r2 r0 r0 r5 ");
    check_history(engine, "w");
    serve_end(engine, thread);
    dur_close(engine);
}

Test(queue, priorities_rank_those_that_wait, .timeout = 60)
{
    check_ranks("plain");
    check_ranks("one");
}

Test(queue, nothing_is_counted_twice_over_a_crash, .timeout = 60)
{
    autofree char *path = temp_path("e.db");
    dur_engine *engine = open_engine(path);
    start(engine, "fan", "w", "{\"queue\":\"keyed\",\"count\":30,\"keys\":3,\"ms\":20}");
    for (int i = 0; i < 3; i++) {
        pid_t child = serve_in_child(path);
        int64_t before = events_of(engine, "w");
        wait_until(events_of(engine, "w") > before);
        kill_child(child);
    }
    serve_until_idle(engine);
    cr_assert_leq(atomic_load(&most), 6);
    char *result = NULL;
    cr_assert_eq(dur_result(engine, "w", 0, &result), DUR_OK, "%s", dur_error(engine));
    dur_free(result);
    check_history(engine, "w");
    struct admin_queues queues = {0};
    autoarena struct arena *arena = arena_new();
    cr_assert_eq(admin_queues(engine, arena, &queues), DUR_OK);
    cr_assert_eq(queues.count, 3);
    cr_assert_str_eq(queues.rows[0].name, "keyed");
    cr_assert_eq(queues.rows[0].per_key, 2);
    cr_assert_eq(queues.rows[0].waiting + queues.rows[0].running + queues.rows[0].backoff, 0);
    dur_close(engine);
}

Test(queue, nonsense_is_refused, .timeout = 60)
{
    autofree char *path = temp_path("e.db");
    dur_engine *engine = open_engine(path);
    cr_assert_eq(dur_queue(engine, "", NULL), DUR_INVALID);
    cr_assert_eq(dur_queue(engine, NULL, NULL), DUR_INVALID);
    cr_assert_eq(dur_queue(NULL, "q", NULL), DUR_INVALID);
    cr_assert_eq(dur_queue(engine, "q", &(dur_queue_options){.slots = -1}), DUR_INVALID);
    cr_assert_eq(dur_queue(engine, "q", &(dur_queue_options){.rate_per_s = -0.5}), DUR_INVALID);
    cr_assert_eq(dur_queue(engine, "q", &(dur_queue_options){.rate_per_s = 0.0 / 0.0}),
                 DUR_INVALID);
    cr_assert_eq(dur_queue(engine, "q", &(dur_queue_options){.burst = -1}), DUR_INVALID);
    cr_assert_eq(dur_queue(engine, "q", &(dur_queue_options){.per_key = -1}), DUR_INVALID);
    cr_assert_eq(dur_queue(engine, "q", NULL), DUR_OK);
    dur_close(engine);
}
