/*
 * serving.c - driving an engine of a real server: serving, stepping, stopping, who serves, and what
 * is refused. For t8050-serving.sh, built as embedders build.
 *
 *     serving HOST:PORT CASE      ends with 0 when the case holds, and says "CASE: ..."
 *
 * Owns: nothing on the server but runs and task queues whose names begin with the case's.
 */
#include <durable.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PATIENCE_MS 30000

static const char *server, *name;
static char id[80];
static dur_engine *engine;

static void demand(int holds, int line, const char *what)
{
    if (!holds) {
        fprintf(stderr, "%s:%d: not so: %s (%s)\n", name, line, what, dur_error(engine));
        exit(1);
    }
}
#define CHECK(condition) demand((condition) != 0, __LINE__, #condition)
#define OK(call) demand((call) == DUR_OK, __LINE__, #call)

/* --- the program ------------------------------------------------------------------------------ */

static int twice(dur_activity *act, const char *input, const char **result, void *user)
{
    (void)user;
    *result = dur_jsonf(act, "%i64", 2 * dur_json_int(input, "", 0));
    return DUR_OK;
}

/* An activity may call the engine; workflow code may not. */
static int calls(dur_activity *act, const char *input, const char **result, void *user)
{
    (void)input;
    (void)user;
    *result = dur_jsonf(act, "%d", dur_signal(engine, dur_activity_workflow_id(act), "go", "5"));
    return DUR_OK;
}

static int state(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)input;
    *result = dur_ctx_jsonf(ctx, "%q", *(const char **)user);
    return DUR_OK;
}

static int flow(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    const char *at = "began";
    const char *one, *by;
    (void)user;
    int rc = dur_on_query(ctx, "state", state, &at);
    int within = dur_signal(engine, "somebody", "go", NULL); /* refused, nothing is sent */
    if (rc == DUR_OK) {
        rc = dur_run(ctx, "Twice", input, &one, NULL);
    }
    if (rc == DUR_OK) {
        rc = dur_sleep(ctx, 50);
        at = "waits";
    }
    if (rc == DUR_OK) {
        rc = dur_receive(ctx, "go", -1, &by);
    }
    if (rc == DUR_OK) {
        *result = dur_ctx_jsonf(ctx, "[%j,%j,%d]", one, by, within);
    }
    return rc;
}

static int asks_by_activity(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    const char *sent, *got;
    (void)user;
    int rc = dur_run(ctx, "Calls", input, &sent, NULL);
    if (rc == DUR_OK && (rc = dur_receive(ctx, "go", -1, &got)) == DUR_OK) {
        *result = dur_ctx_jsonf(ctx, "[%j,%j]", sent, got);
    }
    return rc;
}

static int sql(dur_sql *s, const char *input, const char **result, void *user)
{
    (void)s;
    (void)input;
    (void)result;
    (void)user;
    return DUR_OK;
}

static int transacts(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)user;
    return dur_run_transaction(ctx, "Sql", input, result);
}

static dur_engine *connect_as(const char *prefix, int64_t idle_exit_ms)
{
    dur_connect_options options = {0};
    dur_engine *e;
    int rc;
    options.queue_prefix = prefix;
    options.idle_exit_ms = idle_exit_ms;
    rc = dur_connect(&e, server, &options);
    engine = e;
    CHECK(rc == DUR_OK);
    OK(dur_register_workflow(e, "Flow", flow, NULL));
    OK(dur_register_workflow(e, "AsksByActivity", asks_by_activity, NULL));
    OK(dur_register_workflow(e, "Transacts", transacts, NULL));
    OK(dur_register_activity(e, "Twice", twice, NULL));
    OK(dur_register_activity(e, "Calls", calls, NULL));
    OK(dur_register_transaction(e, "Sql", sql, NULL));
    return e;
}

static void expect(const char *run, const char *wanted)
{
    char *result = NULL;
    OK(dur_result(engine, run, PATIENCE_MS, &result));
    if (strcmp(result, wanted) != 0) {
        fprintf(stderr, "%s gave %s, not %s\n", run, result, wanted);
        exit(1);
    }
    dur_free(result);
}

static void *serve(void *e)
{
    int rc = dur_serve(e, DUR_UNTIL_STOPPED);
    CHECK(rc == DUR_OK);
    return NULL;
}

/* --- cases ------------------------------------------------------------------------------------ */

/* One thread serves; others of the program start, ask and signal. */
static void serves(void)
{
    pthread_t server_thread;
    char *answer = NULL;
    int64_t pid = 0;
    int i;
    CHECK(dur_served_by(engine, &pid) == 0);
    CHECK(pthread_create(&server_thread, NULL, serve, engine) == 0);
    OK(dur_start(engine, "Flow", id, "21", NULL));
    do { /* the run may not have come so far yet */
        dur_free(answer);
        OK(dur_query(engine, id, "state", NULL, PATIENCE_MS, &answer));
    } while (strcmp(answer, "\"waits\"") != 0);
    dur_free(answer);
    CHECK(dur_served_by(engine, &pid) == 1);
    CHECK(pid == getpid());
    CHECK(dur_serve(engine, DUR_UNTIL_STOPPED) == DUR_BUSY);
    CHECK(dur_step(engine, 0) < 0);
    CHECK(dur_register_activity(engine, "Late", twice, NULL) == DUR_INVALID);
    OK(dur_signal(engine, id, "go", "7"));
    expect(id, "[42,7,-5]");
    for (i = 0; i < 2; i++) { /* it stops, and serves again */
        dur_stop(engine);
        CHECK(pthread_join(server_thread, NULL) == 0);
        if (i == 0) {
            CHECK(pthread_create(&server_thread, NULL, serve, engine) == 0);
        }
    }
}

/* A poll() loop; while nothing happens it sleeps. */
static void steps(void)
{
    struct pollfd fd;
    int passes = 0, rc = 0;
    char *result = NULL;
    fd.fd = dur_fd(engine);
    fd.events = POLLIN;
    OK(dur_start(engine, "Flow", id, "4", NULL));
    OK(dur_signal(engine, id, "go", "1"));
    while (dur_result(engine, id, 0, &result) == DUR_TIMED_OUT) {
        CHECK(poll(&fd, 1, PATIENCE_MS) == 1);
        while ((rc = dur_step(engine, 0)) > 0) {
        }
        CHECK(rc == 0);
    }
    CHECK(result && strcmp(result, "[8,1,-5]") == 0);
    dur_free(result);
    while (poll(&fd, 1, 300) == 1) { /* what is left of the run */
        CHECK(dur_step(engine, 0) >= 0);
        CHECK(++passes < 200);
    }
    CHECK(dur_step(engine, 20) == 0);
    CHECK(dur_serve(engine, DUR_UNTIL_STOPPED) == DUR_BUSY);
    dur_stop(engine);
    CHECK(poll(&fd, 1, PATIENCE_MS) == 1);
    while ((rc = dur_step(engine, -1)) >= 0) {
    }
    CHECK(rc == DUR_CANCELLED);
    CHECK(dur_step(engine, 0) >= 0); /* begins anew; dur_close ends it */
}

static void on_term(int number)
{
    (void)number;
    dur_stop(engine);
}

static void *end_soon(void *unused)
{
    struct timespec pause = {0, 300 * 1000 * 1000};
    (void)unused;
    nanosleep(&pause, NULL);
    kill(getpid(), SIGTERM); /* to whichever thread takes signals: the program's own */
    return NULL;
}

static void stops(void)
{
    struct sigaction action;
    sigset_t term;
    pthread_t thread;
    memset(&action, 0, sizeof(action));
    action.sa_handler = on_term;
    CHECK(sigaction(SIGTERM, &action, NULL) == 0);
    sigemptyset(&term);
    sigaddset(&term, SIGTERM);
    CHECK(pthread_create(&thread, NULL, end_soon, NULL) == 0);
    OK(dur_serve(engine, DUR_UNTIL_STOPPED));
    CHECK(pthread_join(thread, NULL) == 0);
}

/* Until nothing is open; activities on the thread that serves. */
static void idles(void)
{
    OK(dur_lane(engine, "default", 0));
    OK(dur_start(engine, "AsksByActivity", id, NULL, NULL));
    OK(dur_serve(engine, DUR_UNTIL_IDLE));
    expect(id, "[0,5]");
}

static void exits(void)
{
    OK(dur_start(engine, "AsksByActivity", id, NULL, NULL));
    OK(dur_serve(engine, DUR_UNTIL_STOPPED)); /* idle_exit_ms */
    expect(id, "[0,5]");
}

/* A workflow of a queue of its own, served by an engine that declares it. */
static void queues(void)
{
    dur_start_options own = {0};
    dur_description *d = NULL;
    pthread_t thread;
    own.task_queue = "own";
    OK(dur_lane(engine, "own", 2));
    OK(dur_start(engine, "Flow", id, "1", &own));
    CHECK(pthread_create(&thread, NULL, serve, engine) == 0);
    OK(dur_signal(engine, id, "go", "2"));
    expect(id, "[2,2,-5]");
    OK(dur_describe(engine, id, &d));
    CHECK(strcmp(d->task_queue, "own") == 0); /* without the prefix */
    dur_description_free(d);
    dur_stop(engine);
    CHECK(pthread_join(thread, NULL) == 0);
}

/* SQL of a task has no place on a server: the task fails, the run waits for other code. */
static void refuses(void)
{
    struct timespec pause = {0, 50 * 1000 * 1000};
    dur_description *d = NULL;
    pthread_t thread;
    int i;
    OK(dur_start(engine, "Transacts", id, NULL, NULL));
    CHECK(pthread_create(&thread, NULL, serve, engine) == 0);
    for (i = 0; i < PATIENCE_MS / 50 && !(d && d->parked); i++) {
        nanosleep(&pause, NULL);
        dur_description_free(d);
        OK(dur_describe(engine, id, &d));
    }
    CHECK(d->parked && strstr(d->parked, "there is no store here"));
    dur_description_free(d);
    OK(dur_terminate(engine, id, "seen"));
    dur_stop(engine);
    CHECK(pthread_join(thread, NULL) == 0);
}

/* Two engines of one program, each with its own queues; the other's runs are not touched. */
static void pairs(void)
{
    char other_id[100], prefix[100];
    dur_engine *first = engine;
    dur_engine *second;
    pthread_t threads[2];
    snprintf(other_id, sizeof(other_id), "%s-other", id);
    snprintf(prefix, sizeof(prefix), "%s-second-", name);
    second = connect_as(prefix, 0);
    OK(dur_start(second, "AsksByActivity", other_id, NULL, NULL));
    engine = first;
    OK(dur_start(first, "AsksByActivity", id, NULL, NULL));
    CHECK(pthread_create(&threads[0], NULL, serve, first) == 0);
    expect(id, "[0,5]");
    CHECK(dur_result(first, other_id, 200, NULL) == DUR_TIMED_OUT);
    CHECK(pthread_create(&threads[1], NULL, serve, second) == 0);
    expect(other_id, "[0,5]");
    dur_stop(first);
    dur_stop(second);
    CHECK(pthread_join(threads[0], NULL) == 0);
    CHECK(pthread_join(threads[1], NULL) == 0);
    dur_close(second);
}

static volatile sig_atomic_t waits;

static void *wait_for(void *run)
{
    CHECK(dur_result(engine, run, 100, NULL) == DUR_TIMED_OUT);
    waits = 1;
    CHECK(dur_result(engine, run, -1, NULL) == DUR_CANCELLED);
    return NULL;
}

/* Closing while a thread serves waits for it; who waits for a run is told. */
static void closes(void)
{
    struct timespec pause = {0, 500 * 1000 * 1000};
    char waiting_id[100];
    pthread_t thread, waiter;
    CHECK(pthread_create(&thread, NULL, serve, engine) == 0);
    OK(dur_start(engine, "AsksByActivity", id, NULL, NULL));
    expect(id, "[0,5]");
    snprintf(waiting_id, sizeof(waiting_id), "%s-waits", id);
    OK(dur_start(engine, "Flow", waiting_id, "1", NULL));
    CHECK(pthread_create(&waiter, NULL, wait_for, waiting_id) == 0);
    do {
        nanosleep(&pause, NULL);
    } while (!waits);
    dur_close(engine);
    CHECK(pthread_join(thread, NULL) == 0);
    CHECK(pthread_join(waiter, NULL) == 0);
    connect_as("", 0);
    OK(dur_terminate(engine, waiting_id, "seen"));
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
        int64_t idle_exit_ms;
    } cases[] = {{"serves", serves, 0}, {"steps", steps, 0},     {"stops", stops, 0},
                 {"idles", idles, 0},   {"exits", exits, 500},   {"queues", queues, 0},
                 {"pairs", pairs, 0},   {"refuses", refuses, 0}, {"closes", closes, 0}};
    char prefix[64];
    size_t i;
    server = argc > 2 ? argv[1] : "";
    name = argc > 2 ? argv[2] : "";
    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        if (strcmp(name, cases[i].name) == 0) {
            snprintf(id, sizeof(id), "%s-%d", name, (int)getpid());
            snprintf(prefix, sizeof(prefix), "%s-%d-", name, (int)getpid());
            connect_as(prefix, cases[i].idle_exit_ms);
            cases[i].run();
            dur_close(engine);
            printf("%s: as it should be\n", name);
            return 0;
        }
    }
    fprintf(stderr, "serving HOST:PORT CASE\n");
    return 2;
}
