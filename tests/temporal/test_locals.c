/*
 * test_locals.c - activities and local activities through durable.h, on a real server, as another
 * program would have them. Driven by t8310-locals.sh.
 *
 * Usage: test_locals HOST:PORT CASE [ARG...]    one line a verdict (client.h)
 * Every case has task queues of its own (queue_prefix), so that cases can share a server.
 */
#include <pthread.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include "client.h"

static const char *address;
static const char *calls_file;        /* one line a call, over all processes */
static int told, released, has_token; /* by get() and add(): C99 has no atomics */
static const char *reason_told;
static pthread_t serving_thread;
static char token[4096]; /* when has_token */

static int get(const int *value)
{
    return __atomic_load_n(value, __ATOMIC_SEQ_CST);
}

static void add(int *value)
{
    __atomic_add_fetch(value, 1, __ATOMIC_SEQ_CST);
}

static void nap(long ms)
{
    struct timespec ts = {ms / 1000, ms % 1000 * 1000000};
    nanosleep(&ts, NULL);
}

/* --- activities --- */

static void count_call(void)
{
    FILE *f = calls_file ? fopen(calls_file, "a") : NULL;
    if (f) {
        fputs("x\n", f);
        fclose(f);
    }
}

static int calls(void)
{
    FILE *f = calls_file ? fopen(calls_file, "r") : NULL;
    int n = 0;
    for (int c; f && (c = getc(f)) != EOF;) {
        n += c == '\n';
    }
    if (f) {
        fclose(f);
    }
    return n;
}

/* {"fail": n attempts} */
static int flaky(dur_activity *act, const char *input, const char **result, void *user)
{
    (void)user;
    if (dur_activity_attempt(act) <= dur_json_int(input, "/fail", 0)) {
        return dur_fail(act, DUR_TRANSIENT, "Broken", "attempt %d", dur_activity_attempt(act));
    }
    *result = dur_jsonf(act, "%d", dur_activity_attempt(act));
    return DUR_OK;
}

/* Until it is told to stop, or for {"ms": n}. */
static int hang(dur_activity *act, const char *input, const char **result, void *user)
{
    int64_t ms = dur_json_int(input, "/ms", 3600000);
    const char *reason = NULL;
    (void)user;
    count_call();
    for (int64_t i = 0; i < ms && !get(&released); i += 10) {
        if (dur_activity_cancelled(act, &reason)) {
            __atomic_store_n(&reason_told, reason, __ATOMIC_SEQ_CST);
            add(&told);
            return DUR_CANCELLED;
        }
        nap(10);
    }
    *result = "\"over\"";
    return DUR_OK;
}

static int here(dur_activity *act, const char *input, const char **result, void *user)
{
    (void)input;
    (void)user;
    *result = dur_jsonf(act, "%b", pthread_equal(pthread_self(), serving_thread));
    return DUR_OK;
}

/* The first attempt leaves details and fails, the second gives its token away. */
static int relay(dur_activity *act, const char *input, const char **result, void *user)
{
    const char *before = dur_heartbeat_details(act);
    (void)input;
    (void)user;
    (void)result;
    if (!before) {
        dur_heartbeat(act, "{\"at\":1}");
        dur_heartbeat(act, "{\"at\":2}");
        return dur_fail(act, DUR_TRANSIENT, "Broken", "later");
    }
    dur_heartbeat_sync(act, before);
    snprintf(token, sizeof(token), "%s", dur_activity_token(act));
    add(&has_token);
    return DUR_PENDING;
}

/* --- workflows --- */

static int tell(dur_ctx *ctx, int rc, const char *value, const char **result)
{
    const dur_failure_info *f = rc == DUR_FAILED ? dur_failure(ctx) : NULL;
    while (f && f->cause) {
        f = f->cause;
    }
    *result = f ? dur_ctx_jsonf(ctx, "[%d,%q,%q]", rc, f->type, f->timeout_type)
                : dur_ctx_jsonf(ctx, "[%d,%j]", rc, value);
    return rc == DUR_UNWIND ? rc : DUR_OK;
}

static dur_local_options options_of(const char *input)
{
    dur_local_options o = {0};
    o.start_to_close_ms = dur_json_int(input, "/start", 0);
    o.schedule_to_close_ms = dur_json_int(input, "/close", 0);
    o.max_attempts = (int)dur_json_int(input, "/max", 0);
    o.local_retry_threshold_ms = dur_json_int(input, "/threshold", 0);
    o.retry.initial_interval_ms = dur_json_int(input, "/initial", 1);
    o.retry.backoff_coefficient = 1.0;
    o.cancellation = (dur_cancellation)dur_json_int(input, "/cancel", 0);
    return o;
}

static int local(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    const char *value = NULL;
    dur_local_options o = options_of(input);
    (void)user;
    int rc = dur_run_local(ctx, dur_ctx_json_string(ctx, input, "/type"), input, &value, &o);
    return tell(ctx, rc, value, result);
}

static int cancels(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    const char *value = NULL;
    dur_local_options o = options_of(input);
    (void)user;
    dur_future *f = dur_start_local(ctx, "hang", "{}", &o);
    int rc = dur_receive(ctx, "now", -1, NULL);
    if (rc == DUR_OK) {
        dur_cancel_future(ctx, f);
        rc = dur_await(ctx, f, &value);
    }
    const int end = tell(ctx, rc, value, result);
    const int slept = dur_sleep(ctx, 100); /* it lets go of the activity before it ends */
    return slept ? slept : end;
}

static int crowd(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    enum { MANY = 30 };
    dur_future *all[MANY];
    int64_t sum = 0;
    (void)input;
    (void)user;
    for (int i = 0; i < MANY; i++) {
        all[i] = dur_start_local(ctx, "flaky", i % 5 ? "{}" : "{\"fail\":1}",
                                 &(dur_local_options){.retry = {.initial_interval_ms = 1}});
    }
    for (int i = 0; i < MANY; i++) {
        const char *one = NULL;
        int rc = dur_await(ctx, all[i], &one);
        if (rc) {
            return rc;
        }
        sum += dur_json_int(one, "", 0);
    }
    *result = dur_ctx_jsonf(ctx, "%i64", sum);
    return DUR_OK;
}

static int remote_step(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    const char *value = NULL;
    dur_activity_options o = {0};
    (void)user;
    o.start_to_close_ms = 60000;
    o.retry.initial_interval_ms = 20;
    o.task_queue = dur_ctx_json_string(ctx, input, "/queue");
    o.cancellation = (dur_cancellation)dur_json_int(input, "/cancel", 0);
    int rc = dur_run(ctx, dur_ctx_json_string(ctx, input, "/type"), input, &value, &o);
    return tell(ctx, rc, value, result);
}

/* --- engines --- */

struct worker {
    dur_engine *engine;
    pthread_t thread;
    int rc;
};

static void *serve(void *arg)
{
    struct worker *w = arg;
    serving_thread = pthread_self();
    w->rc = dur_serve(w->engine, DUR_UNTIL_STOPPED);
    return NULL;
}

static int open_engine(struct worker *w, const char *queue_prefix)
{
    dur_connect_options o = {0};
    o.queue_prefix = queue_prefix;
    int rc = dur_connect(&w->engine, address, &o);
    verdict(rc == DUR_OK, "connects", "%s", dur_error(w->engine));
    dur_register_workflow(w->engine, "local", local, NULL);
    dur_register_workflow(w->engine, "cancels", cancels, NULL);
    dur_register_workflow(w->engine, "crowd", crowd, NULL);
    dur_register_workflow(w->engine, "remote", remote_step, NULL);
    dur_register_activity(w->engine, "flaky", flaky, NULL);
    dur_register_activity(w->engine, "hang", hang, NULL);
    dur_register_activity(w->engine, "here", here, NULL);
    dur_register_activity(w->engine, "relay", relay, NULL);
    return rc;
}

static int begin(struct worker *w, const char *queue_prefix)
{
    return open_engine(w, queue_prefix) || pthread_create(&w->thread, NULL, serve, w);
}

static void end(struct worker *w)
{
    dur_stop(w->engine);
    pthread_join(w->thread, NULL);
    returns(w->engine, "the worker ends well", w->rc, DUR_OK, NULL);
    dur_close(w->engine);
}

static const char *id_of(const char *what)
{
    static char ids[16][128];
    static int next;
    next = (next + 1) % 16;
    snprintf(ids[next], sizeof(ids[next]), "%s-%d-%d", what, (int)getpid(), next);
    return ids[next];
}

static const char *start(struct worker *w, const char *type, const char *input)
{
    const char *id = id_of(type);
    dur_start_options o = {0};
    o.task_timeout_ms = 2000; /* so that local activities outlive it */
    returns(w->engine, "starts", dur_start(w->engine, type, id, input, &o), DUR_OK, NULL);
    return id;
}

static void results(struct worker *w, const char *name, const char *id, const char *wanted)
{
    char *result = NULL;
    int rc = dur_result(w->engine, id, 60000, &result);
    same(name, rc == DUR_OK ? result : dur_error(w->engine), wanted);
    dur_free(result);
}

static void replays(struct worker *w, const char *id)
{
    char *json = NULL, *report = NULL;
    int rc = dur_history(w->engine, id, &json);
    if (rc == DUR_OK) {
        rc = dur_replay(w->engine, json, &report);
    }
    verdict(rc == DUR_OK, "its history replays", "%s: %s", id,
            report ? report : dur_error(w->engine));
    dur_free(json);
    dur_free(report);
}

static int count_in(struct worker *w, const char *id, const char *word)
{
    char *json = NULL;
    int count = 0;
    if (dur_history(w->engine, id, &json) == DUR_OK) {
        for (const char *at = json; (at = strstr(at, word)) != NULL; at += strlen(word)) {
            count++;
        }
    }
    dur_free(json);
    return count;
}

static void until(const int *value, int wanted)
{
    for (int i = 0; i < 3000 && get(value) < wanted; i++) {
        nap(10);
    }
    numbers("it came so far", get(value) >= wanted, 1);
}

static void until_called(int wanted)
{
    for (int i = 0; i < 3000 && calls() < wanted; i++) {
        nap(10);
    }
    numbers("it was called", calls(), wanted);
}

/* --- cases --- */

static void outcomes(void)
{
    static const struct {
        const char *name, *input, *wanted;
        int markers, timers;
    } cases[] = {
        {"a result", "{\"type\":\"flaky\"}", "[0,1]", 1, 0},
        {"retries in memory", "{\"type\":\"flaky\",\"fail\":3}", "[0,4]", 1, 0},
        {"a long back-off is a timer",
         "{\"type\":\"flaky\",\"fail\":1,\"initial\":300,\"threshold\":100}", "[0,2]", 2, 1},
        {"no attempt left", "{\"type\":\"flaky\",\"fail\":9,\"max\":2}", "[-1,\"Broken\",null]", 1,
         0},
        {"start-to-close", "{\"type\":\"hang\",\"start\":100,\"max\":2}",
         "[-1,\"Timeout\",\"StartToClose\"]", 1, 0},
        {"schedule-to-close", "{\"type\":\"hang\",\"close\":200}",
         "[-1,\"Timeout\",\"ScheduleToClose\"]", 1, 0},
        {"a type that is not here", "{\"type\":\"nowhere\",\"max\":2}",
         "[-1,\"ActivityNotRegistered\",null]", 1, 0},
        {"longer than its task may last", "{\"type\":\"hang\",\"ms\":5000}", "[0,\"over\"]", 1, 0},
    };
    enum { COUNT = sizeof(cases) / sizeof(cases[0]) };
    const char *ids[COUNT];
    struct worker w;
    if (begin(&w, "outcomes-")) {
        return;
    }
    for (int i = 0; i < COUNT; i++) {
        ids[i] = start(&w, "local", cases[i].input);
    }
    const char *many = start(&w, "crowd", NULL);
    for (int i = 0; i < COUNT; i++) {
        results(&w, cases[i].name, ids[i], cases[i].wanted);
        numbers("markers", count_in(&w, ids[i], "EVENT_TYPE_MARKER_RECORDED"), cases[i].markers);
        numbers("timers", count_in(&w, ids[i], "EVENT_TYPE_TIMER_STARTED"), cases[i].timers);
        numbers("no task was lost",
                count_in(&w, ids[i], "EVENT_TYPE_WORKFLOW_TASK_TIMED_OUT") +
                    count_in(&w, ids[i], "EVENT_TYPE_WORKFLOW_TASK_FAILED"),
                0);
        replays(&w, ids[i]);
    }
    results(&w, "thirty at once", many, "36");
    replays(&w, many);
    end(&w);
}

static void cancellations(void)
{
    static const char *const names[] = {"try cancel", "wait for it", "abandon"};
    static const dur_cancellation types[] = {DUR_TRY_CANCEL, DUR_WAIT_CANCEL, DUR_ABANDON};
    const char *ids[3];
    struct worker w;
    if (begin(&w, "cancellations-")) {
        return;
    }
    for (int i = 0; i < 3; i++) {
        char input[64];
        snprintf(input, sizeof(input), "{\"cancel\":%d}", (int)types[i]);
        ids[i] = start(&w, "cancels", input);
    }
    until_called(3);
    nap(3000); /* their tasks have been answered meanwhile, and the next ones */
    for (int i = 0; i < 3; i++) {
        returns(w.engine, "signals", dur_signal(w.engine, ids[i], "now", NULL), DUR_OK, NULL);
    }
    for (int i = 0; i < 3; i++) {
        results(&w, names[i], ids[i], "[-2,null]");
        replays(&w, ids[i]);
    }
    until(&told, 2);
    numbers("two were told", get(&told), 2);
    same("why", reason_told, "cancelled");
    end(&w);
    same("the abandoned one", reason_told, "stopping");
}

static void no_threads(void)
{
    struct worker w;
    if (open_engine(&w, "no-threads-")) {
        return;
    }
    returns(w.engine, "a lane without threads", dur_lane(w.engine, "inline", 0), DUR_OK, NULL);
    returns(w.engine, "the local one too", dur_lane(w.engine, "local", 0), DUR_OK, NULL);
    pthread_create(&w.thread, NULL, serve, &w);
    const char *one = start(&w, "remote", "{\"type\":\"here\",\"queue\":\"inline\"}");
    const char *two = start(&w, "local", "{\"type\":\"here\"}");
    const char *three = start(&w, "remote", "{\"type\":\"here\"}");
    results(&w, "an activity runs on the serving thread", one, "[0,true]");
    results(&w, "and a local one", two, "[0,true]");
    results(&w, "but not those of a lane with threads", three, "[0,false]");
    end(&w);
}

static void by_token(void)
{
    struct worker w;
    char *other = NULL;
    if (begin(&w, "by-token-")) {
        return;
    }
    const char *id = start(&w, "remote", "{\"type\":\"relay\"}");
    until(&has_token, 1);
    returns(w.engine, "a heartbeat from outside", dur_complete_heartbeat(w.engine, token, NULL),
            DUR_OK, NULL);
    returns(w.engine, "a token by the ids", dur_activity_token_of(w.engine, id, "1", &other),
            DUR_OK, NULL);
    returns(w.engine, "nobody asked it to stop", dur_complete_cancelled(w.engine, other),
            DUR_INVALID, NULL);
    returns(w.engine, "no token", dur_complete(w.engine, "x", "1"), DUR_INVALID,
            "no activity token");
    returns(w.engine, "no JSON", dur_complete(w.engine, token, "{"), DUR_INVALID, "JSON");
    returns(w.engine, "completes it", dur_complete(w.engine, token, "{\"a\":1}"), DUR_OK, NULL);
    results(&w, "the result", id, "[0,{\"a\":1}]");
    returns(w.engine, "once", dur_complete(w.engine, other, "2"), DUR_NOT_FOUND, "is not awaited");
    dur_free(other);
    end(&w);
}

/* The engine stops while they run; another one goes on. */
static void stops(void)
{
    struct worker w;
    if (begin(&w, "stops-")) {
        return;
    }
    const char *one = start(&w, "remote", "{\"type\":\"hang\"}");
    const char *two = start(&w, "local", "{\"type\":\"hang\"}");
    until_called(2);
    time_t since = time(NULL);
    end(&w);
    verdict(time(NULL) - since < 6, "and soon", "%d s", (int)(time(NULL) - since));
    numbers("both were told", get(&told), 2);
    same("why", reason_told, "stopping");
    add(&released);
    if (begin(&w, "stops-")) {
        return;
    }
    results(&w, "the activity goes on", one, "[0,\"over\"]");
    results(&w, "and the local one", two, "[0,\"over\"]");
    numbers("each began twice", calls(), 4);
    replays(&w, two);
    end(&w);
}

/* --- for the script: a process that serves until SIGTERM, one that starts, one that waits --- */

static dur_engine *serving_engine;

static void on_term(int number)
{
    (void)number;
    dur_stop(serving_engine);
}

static int serve_until_term(const char *queue_prefix)
{
    struct worker w;
    if (open_engine(&w, queue_prefix)) {
        return 1;
    }
    serving_engine = w.engine;
    signal(SIGTERM, on_term);
    int rc = dur_serve(w.engine, DUR_UNTIL_STOPPED);
    returns(w.engine, "serves", rc, DUR_OK, NULL);
    dur_close(w.engine);
    return 0;
}

static int begin_one(const char *queue_prefix, const char *id, const char *type, const char *input)
{
    struct worker w;
    dur_start_options o = {0};
    o.task_timeout_ms = 2000;
    if (open_engine(&w, queue_prefix)) {
        return 1;
    }
    returns(w.engine, "starts", dur_start(w.engine, type, id, input, &o), DUR_OK, NULL);
    dur_close(w.engine);
    return 0;
}

static int wait_for(const char *queue_prefix, const char *id, const char *wanted)
{
    struct worker w;
    if (open_engine(&w, queue_prefix)) {
        return 1;
    }
    results(&w, "it ends as it should", id, wanted);
    replays(&w, id);
    dur_close(w.engine);
    return 0;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } cases[] = {{"outcomes", outcomes},
                 {"cancellations", cancellations},
                 {"no_threads", no_threads},
                 {"by_token", by_token},
                 {"stops", stops}};
    if (argc < 3) {
        return 2;
    }
    address = argv[1];
    calls_file = getenv("CALLS_FILE");
    if (strcmp(argv[2], "serve") == 0 && argc == 4) {
        return serve_until_term(argv[3]);
    }
    if (strcmp(argv[2], "begin") == 0 && argc == 7) {
        return begin_one(argv[3], argv[4], argv[5], argv[6]);
    }
    if (strcmp(argv[2], "wait") == 0 && argc == 6) {
        return wait_for(argv[3], argv[4], argv[5]);
    }
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        if (strcmp(argv[2], cases[i].name) == 0) {
            cases[i].run();
            return 0;
        }
    }
    return 2;
}
