/*
 * test_worker.c - a worker of a Temporal server, as another program is one: every primitive, and
 * what workers go through. Driven by t8200-worker.sh.
 *
 * Usage: test_worker HOST:PORT CASE [ARG...]    one line a verdict (client.h)
 * Every case has task queues of its own (queue_prefix), so that cases can share a server.
 */
#include <pthread.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include "client.h"
#include "flows.h"

#define MANY 200

static const char *address;
static const char *name_space; /* NULL: default */

static void nap(long ms)
{
    struct timespec ts = {ms / 1000, ms % 1000 * 1000000};
    nanosleep(&ts, NULL);
}

static double seconds(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

/* --- workers ---------------------------------------------------------------------------------- */

struct worker {
    dur_engine *engine;
    pthread_t thread;
    dur_until until;
    int rc;
};

static pthread_mutex_t log_mutex = PTHREAD_MUTEX_INITIALIZER;
static char log_text[65536];

static void keep_line(void *user, int level, const char *line)
{
    (void)user;
    pthread_mutex_lock(&log_mutex);
    size_t len = strlen(log_text);
    snprintf(log_text + len, sizeof(log_text) - len, "%d %s; ", level, line);
    pthread_mutex_unlock(&log_mutex);
}

/* The end of the log, in one line. */
static const char *logged(void)
{
    static char text[256];
    pthread_mutex_lock(&log_mutex);
    size_t len = strlen(log_text);
    const char *from = len > 200 ? log_text + len - 200 : log_text;
    snprintf(text, sizeof(text), "%.200s", from);
    pthread_mutex_unlock(&log_mutex);
    return text;
}

static int was_logged(const char *text)
{
    pthread_mutex_lock(&log_mutex);
    int found = strstr(log_text, text) != NULL;
    pthread_mutex_unlock(&log_mutex);
    return found;
}

static void *serve(void *arg)
{
    struct worker *w = arg;
    w->rc = dur_serve(w->engine, w->until);
    return NULL;
}

/* Connects and serves in a thread. */
static int begin(struct worker *w, const char *queue_prefix, int variant, int max_cached_runs)
{
    dur_connect_options o = {.name_space = name_space,
                             .queue_prefix = queue_prefix,
                             .max_cached_runs = max_cached_runs,
                             .on_log = keep_line};
    w->until = DUR_UNTIL_STOPPED;
    int rc = dur_connect(&w->engine, address, &o);
    if (rc) {
        verdict(0, "connects", "%s", dur_error(w->engine));
        return rc;
    }
    flows_register(w->engine, variant);
    return pthread_create(&w->thread, NULL, serve, w);
}

static void end(struct worker *w)
{
    double since = seconds();
    dur_stop(w->engine);
    pthread_join(w->thread, NULL);
    double took = seconds() - since;
    verdict(w->rc == DUR_OK, "the worker ends well", "%s: %s", dur_code_name(w->rc),
            dur_error(w->engine));
    verdict(took < 5, "and soon, with polls open", "%.1f s", took);
    dur_close(w->engine);
}

/* The id of run number i of a case. */
static const char *id_of(const char *what, int i)
{
    static char ids[8][128];
    static int next;
    next = (next + 1) % 8;
    snprintf(ids[next], sizeof(ids[next]), "%s-%d-%d", what, (int)getpid(), i);
    return ids[next];
}

static int start(struct worker *w, const char *type, const char *id, const char *input)
{
    int rc = dur_start(w->engine, type, id, input, NULL);
    if (rc) {
        verdict(0, "starts", "%s: %s", id, dur_error(w->engine));
    }
    return rc;
}

static void results(struct worker *w, const char *name, const char *id, const char *wanted)
{
    char *result = NULL;
    int rc = dur_result(w->engine, id, 60000, &result);
    verdict(rc == DUR_OK && result && strcmp(result, wanted) == 0, name,
            "%s: %s %s, not %s; log: %s", id, dur_code_name(rc),
            result ? result : dur_error(w->engine), wanted, logged());
    dur_free(result);
}

static void replays(struct worker *w, const char *name, const char *id)
{
    char *json = NULL, *report = NULL;
    int rc = dur_history(w->engine, id, &json);
    if (rc == DUR_OK) {
        rc = dur_replay(w->engine, json, &report);
    }
    verdict(rc == DUR_OK, name, "%s: %s %s", id, dur_code_name(rc),
            report ? report : dur_error(w->engine));
    dur_free(json);
    dur_free(report);
}

/* How often a word stands in a run's history. */
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

/* Waits until it stands there, or for a minute. */
static int comes(struct worker *w, const char *id, const char *word)
{
    for (int i = 0; i < 600 && count_in(w, id, word) == 0; i++) {
        nap(100);
    }
    return count_in(w, id, word);
}

/* The same for the log. */
static int is_logged(const char *text)
{
    for (int i = 0; i < 1200 && !was_logged(text); i++) {
        nap(50);
    }
    return was_logged(text);
}

static int64_t events_of(struct worker *w, const char *id)
{
    dur_description *d = NULL;
    int64_t n = dur_describe(w->engine, id, &d) == DUR_OK ? d->history_events : -1;
    dur_description_free(d);
    return n;
}

/* Waits until the history has so many events. */
static int64_t reaches(struct worker *w, const char *id, int64_t events)
{
    int64_t n = 0;
    for (int i = 0; i < 1200 && (n = events_of(w, id)) < events; i++) {
        nap(50);
    }
    return n;
}

/* --- cases ------------------------------------------------------------------------------------ */

static void primitives(void)
{
    struct worker w;
    if (begin(&w, "primitives-", 1, 0)) {
        return;
    }
    for (int i = 0; i < flow_count; i++) {
        int rc = dur_start(w.engine, flows[i].type, id_of(flows[i].type, i), flows[i].input,
                           &flows[i].options);
        verdict(rc == DUR_OK, "starts", "%s: %s", flows[i].type, dur_error(w.engine));
    }
    for (int i = 0; i < flow_count; i++) {
        const char *id = id_of(flows[i].type, i);
        char *result = NULL;
        int rc = dur_result(w.engine, id, 60000, &result);
        const char *said = rc == DUR_OK && result ? result : dur_error(w.engine);
        verdict(rc == flows[i].code && strstr(said, flows[i].result), flows[i].type,
                "%s %s, not %s; log: %s", dur_code_name(rc), said, flows[i].result, logged());
        dur_free(result);
        replays(&w, "its history replays", id);
    }
    end(&w);
}

/* A local activity that lasts longer than a workflow task may. */
static void slow_local(void)
{
    struct worker w;
    const char *id = id_of("slow_local", 0);
    dur_start_options o = {.task_timeout_ms = 8000};
    if (begin(&w, "slow-", 1, 0)) {
        return;
    }
    int rc = dur_start(w.engine, "slow_local", id, "9000", &o);
    verdict(rc == DUR_OK, "starts", "%s", dur_error(w.engine));
    results(&w, "a long local activity", id, "9000");
    numbers("kept its tasks alive", count_in(&w, id, "WORKFLOW_TASK_TIMED_OUT"), 0);
    replays(&w, "its history replays", id);
    end(&w);
}

static void small_cache(void)
{
    struct worker w;
    if (begin(&w, "small-", 1, 1)) {
        return;
    }
    for (int i = 0; i < 50; i++) {
        start(&w, "steps", id_of("small", i), "2");
    }
    int good = 0;
    for (int i = 0; i < 50; i++) {
        char *result = NULL;
        good += dur_result(w.engine, id_of("small", i), 60000, &result) == DUR_OK && result &&
                strcmp(result, "2") == 0;
        dur_free(result);
    }
    numbers("50 runs in a cache of one", good, 50);
    replays(&w, "one of them replays", id_of("small", 7));
    end(&w);
}

static void crowd(void)
{
    struct worker w;
    if (begin(&w, "crowd-", 1, 0)) {
        return;
    }
    for (int i = 0; i < MANY; i++) {
        start(&w, "sequence", id_of("crowd", i), NULL);
    }
    int good = 0;
    for (int i = 0; i < MANY; i++) {
        char *result = NULL;
        good += dur_result(w.engine, id_of("crowd", i), 120000, &result) == DUR_OK && result &&
                strcmp(result, "3") == 0;
        dur_free(result);
    }
    numbers("200 runs at once", good, MANY);
    end(&w);
}

static void queries(void)
{
    struct worker w, other;
    char *result = NULL;
    const char *id = id_of("queried", 0);
    if (begin(&w, "queries-", 1, 1)) {
        return;
    }
    start(&w, "account", id, NULL);
    reaches(&w, id, 4);
    dur_signal(w.engine, id, "bump", NULL);
    reaches(&w, id, 8);
    int rc = dur_query(w.engine, id, "sum", NULL, 10000, &result);
    verdict(rc == DUR_OK && strcmp(result, "1") == 0, "a run in memory answers", "%s %s",
            dur_code_name(rc), rc ? dur_error(w.engine) : result);
    dur_free(result);
    rc = dur_query(w.engine, id, "nonsense", NULL, 10000, &result);
    verdict(rc == DUR_FAILED && strstr(dur_error(w.engine), "UnknownQuery"), "an unknown query",
            "%s %s", dur_code_name(rc), dur_error(w.engine));
    rc = dur_query(w.engine, id, "__stack_trace", NULL, 10000, &result);
    verdict(rc == DUR_OK && strstr(result, "flows.c"), "the built-in stack trace", "%s %s",
            dur_code_name(rc), rc ? dur_error(w.engine) : result);
    dur_free(result);
    int64_t before = events_of(&w, id);
    start(&w, "sequence", id_of("queried", 1), NULL); /* throws the first out of the cache of one */
    results(&w, "another run", id_of("queried", 1), "3");
    rc = dur_query(w.engine, id, "sum", NULL, 10000, &result);
    verdict(rc == DUR_OK && strcmp(result, "1") == 0, "a cold run answers", "%s %s",
            dur_code_name(rc), rc ? dur_error(w.engine) : result);
    dur_free(result);
    numbers("no query left a trace", events_of(&w, id), before);
    end(&w);
    if (begin(&other, "queries-", 1, 0)) {
        return;
    }
    rc = dur_query(other.engine, id, "sum", NULL, 10000, &result);
    verdict(rc == DUR_OK && strcmp(result, "1") == 0, "another worker answers", "%s %s",
            dur_code_name(rc), rc ? dur_error(other.engine) : result);
    dur_free(result);
    dur_signal(other.engine, id, "bump", NULL);
    dur_signal(other.engine, id, "finish", NULL);
    results(&other, "it goes on there", id, "2");
    rc = dur_query(other.engine, id, "sum", NULL, 10000, &result);
    verdict(rc == DUR_OK && strcmp(result, "2") == 0, "a closed run answers", "%s %s",
            dur_code_name(rc), rc ? dur_error(other.engine) : result);
    dur_free(result);
    end(&other);
}

static void update(struct worker *w, const char *name, const char *id, const char *input,
                   int wanted, const char *text)
{
    char *result = NULL;
    dur_update_options o = {.timeout_ms = 30000};
    int rc = dur_update(w->engine, id, "add", input, &result, &o);
    const char *said = rc == DUR_OK && result ? result : dur_error(w->engine);
    verdict(rc == wanted && strstr(said, text), name, "%s %s", dur_code_name(rc), said);
    dur_free(result);
}

static void updates(void)
{
    struct worker w;
    const char *id = id_of("updated", 0);
    if (begin(&w, "updates-", 1, 1)) {
        return;
    }
    start(&w, "account", id, NULL);
    reaches(&w, id, 4);
    update(&w, "an update is accepted and completed", id, "2", DUR_OK, "2");
    int64_t before = events_of(&w, id);
    update(&w, "one is rejected", id, "-1", DUR_REJECTED, "Negative");
    update(&w, "and one more", id, "-2", DUR_REJECTED, "Negative");
    numbers("rejections leave no trace", events_of(&w, id), before);
    update(&w, "the run goes on after them", id, "3", DUR_OK, "5");
    update(&w, "a handler fails", id, "13", DUR_FAILED, "Unlucky");
    update(&w, "one that runs an activity", id, "5", DUR_OK, "10");
    start(&w, "sequence", id_of("updated", 1), NULL);
    results(&w, "another run", id_of("updated", 1), "3");
    update(&w, "a cold run", id, "1", DUR_OK, "11");
    update(&w, "a cold run rejects", id, "-1", DUR_REJECTED, "Negative");
    char *result = NULL;
    dur_update_options o = {.timeout_ms = 30000};
    int rc = dur_update(w.engine, id, "nobody", "1", &result, &o);
    verdict(rc == DUR_REJECTED && strstr(dur_error(w.engine), "add"),
            "a name without a handler says which there are", "%s %s", dur_code_name(rc),
            dur_error(w.engine));
    dur_free(result);
    dur_signal(w.engine, id, "finish", NULL);
    results(&w, "it ends", id, "11");
    replays(&w, "its history replays", id);
    end(&w);
}

static void signals(void)
{
    struct worker w;
    const char *id = id_of("busy", 0);
    char wanted[16];
    int sent = 0;
    if (begin(&w, "signals-", 1, 0)) {
        return;
    }
    start(&w, "busy", id, NULL);
    for (int i = 0; i < 6; i++) { /* most come while a task runs; it tries to close meanwhile */
        sent += dur_signal(w.engine, id, "tell", NULL) == DUR_OK;
        nap(60);
    }
    snprintf(wanted, sizeof(wanted), "%d", sent);
    results(&w, "signals that a server took during a task are all received", id, wanted);
    replays(&w, "its history replays", id);
    id = id_of("carry", 0);
    start(&w, "carry", id, "0");
    reaches(&w, id, 4);
    for (int i = 0; i < 3; i++) {
        dur_signal(w.engine, id, "tell", NULL);
    }
    dur_signal(w.engine, id, "go", NULL);
    results(&w, "signals left over go to the run that continues", id, "3");
    end(&w);
}

static void lengthy(void)
{
    struct worker w;
    char *result = NULL;
    const char *id = id_of("lengthy", 0);
    if (begin(&w, "lengthy-", 1, 1)) {
        return;
    }
    start(&w, "lengthy", id, "{\"rounds\":10,\"markers\":490}");
    int64_t n = reaches(&w, id, 4950);
    verdict(n >= 4950, "a history of 5000 events", "%lld", (long long)n);
    start(&w, "sequence", id_of("lengthy", 1), NULL);
    results(&w, "another run takes its place in memory", id_of("lengthy", 1), "3");
    int rc = dur_query(w.engine, id, "sum", NULL, 20000, &result);
    verdict(rc == DUR_OK && strcmp(result, "4900") == 0, "it is read again in pages", "%s %s",
            dur_code_name(rc), rc ? dur_error(w.engine) : result);
    dur_free(result);
    dur_signal(w.engine, id, "finish", NULL);
    results(&w, "and goes on", id, "4900");
    end(&w);
}

static void large(void)
{
    struct worker w;
    dur_description *d = NULL;
    if (begin(&w, "large-", 1, 0)) {
        return;
    }
    start(&w, "large", id_of("large", 0), "1");
    results(&w, "a value of 1.9 MB", id_of("large", 0), "\"done\"");
    start(&w, "large", id_of("large", 1), "3");
    verdict(comes(&w, id_of("large", 1), "more than the server takes at once"),
            "a task that is too large for the server fails, and says so", "%s", logged());
    dur_describe(w.engine, id_of("large", 1), &d);
    verdict(d && d->status == DUR_RUNNING, "the run waits for other code", "%d",
            d ? (int)d->status : -1);
    dur_description_free(d);
    dur_terminate(w.engine, id_of("large", 1), "test");
    end(&w);
}

/* Another code, then a mended one. */
static void changes(void)
{
    struct worker w;
    const char *id = id_of("changes", 0);
    dur_description *d = NULL;
    if (begin(&w, "changes-", 1, 0)) {
        return;
    }
    start(&w, "changes", id, NULL);
    reaches(&w, id, 10);
    end(&w);
    if (begin(&w, "changes-", 2, 0)) {
        return;
    }
    dur_signal(w.engine, id, "go", NULL);
    verdict(comes(&w, id, "NON_DETERMINISTIC_ERROR"),
            "changed code fails the task as nondeterministic", "%s", logged());
    verdict(was_logged("flows.c"), "the log has the report with the source line", "%s", logged());
    dur_describe(w.engine, id, &d);
    verdict(d && d->status == DUR_RUNNING && d->parked && strstr(d->parked, "timer"),
            "the run is open, and parked", "%s", d && d->parked ? d->parked : "");
    dur_description_free(d);
    int64_t before = events_of(&w, id);
    nap(1500);
    numbers("the server is not asked to try at once, again and again", events_of(&w, id), before);
    numbers("one failure is written", count_in(&w, id, "\"EVENT_TYPE_WORKFLOW_TASK_FAILED\""), 1);
    end(&w);
    if (begin(&w, "changes-", 1, 0)) {
        return;
    }
    results(&w, "the mended code goes on", id, "\"same\"");
    replays(&w, "its history replays", id);
    end(&w);
}

static void unknown_type(void)
{
    struct worker w;
    dur_description *d = NULL;
    const char *id = id_of("unknown", 0);
    if (begin(&w, "unknown-", 1, 0)) {
        return;
    }
    start(&w, "nobody", id, NULL);
    numbers("the task says what is missing", comes(&w, id, "has no workflow of type nobody"), 1);
    nap(1000);
    dur_describe(w.engine, id, &d);
    verdict(d && d->status == DUR_RUNNING, "the run waits", "%d", d ? (int)d->status : -1);
    dur_description_free(d);
    dur_terminate(w.engine, id, "test");
    start(&w, "transacts", id_of("unknown", 1), NULL);
    verdict(is_logged("store"), "a transaction has no store here", "%s", logged());
    dur_terminate(w.engine, id_of("unknown", 1), "test");
    start(&w, "indexes", id_of("unknown", 2), NULL);
    verdict(is_logged("NobodyMadeThis"), "what the server refuses is said", "%s", logged());
    dur_terminate(w.engine, id_of("unknown", 2), "test");
    end(&w);
}

static void two_workers(void)
{
    struct worker a, b;
    if (begin(&a, "two-", 1, 0) || begin(&b, "two-", 1, 0)) {
        return;
    }
    for (int i = 0; i < 40; i++) {
        start(&a, "steps", id_of("two", i), "4");
    }
    end(&a);
    int good = 0;
    for (int i = 0; i < 40; i++) {
        char *result = NULL;
        good += dur_result(b.engine, id_of("two", i), 60000, &result) == DUR_OK && result &&
                strcmp(result, "4") == 0;
        dur_free(result);
    }
    numbers("one of two workers leaves, and all runs end", good, 40);
    end(&b);
}

static void until_idle(void)
{
    struct worker w = {.until = DUR_UNTIL_IDLE};
    dur_connect_options o = {.queue_prefix = "idle-", .on_log = keep_line};
    if (dur_connect(&w.engine, address, &o)) {
        return;
    }
    flows_register(w.engine, 1);
    for (int i = 0; i < 5; i++) {
        start(&w, "steps", id_of("idle", i), "3");
    }
    serve(&w);
    verdict(w.rc == DUR_OK, "until idle", "%s", dur_error(w.engine));
    int good = 0;
    for (int i = 0; i < 5; i++) {
        dur_description *d = NULL;
        good += dur_describe(w.engine, id_of("idle", i), &d) == DUR_OK && d &&
                d->status == DUR_COMPLETED;
        dur_description_free(d);
    }
    numbers("means until all have ended", good, 5);
    dur_close(w.engine);
}

/* A program with an event loop of its own. */
static void steps(void)
{
    struct worker w = {0};
    dur_connect_options o = {.queue_prefix = "step-", .on_log = keep_line};
    const char *id = id_of("stepped", 0);
    dur_description *d = NULL;
    int rc, done = 0;
    if (dur_connect(&w.engine, address, &o)) {
        return;
    }
    flows_register(w.engine, 1);
    start(&w, "sequence", id, NULL);
    verdict(dur_fd(w.engine) >= 0, "there is a descriptor", "%s", dur_error(w.engine));
    for (int i = 0; i < 500 && !done; i++) {
        rc = dur_step(w.engine, 100);
        verdict(rc >= 0 || i > 0, "a step", "%s", dur_error(w.engine));
        if (rc < 0) {
            break;
        }
        done = dur_describe(w.engine, id, &d) == DUR_OK && d && d->status == DUR_COMPLETED;
        dur_description_free(d);
        d = NULL;
    }
    verdict(done, "steps run a workflow", "%s", logged());
    dur_stop(w.engine);
    while ((rc = dur_step(w.engine, 100)) >= 0) {
    }
    numbers("stopped", rc, DUR_CANCELLED);
    dur_close(w.engine);
}

/* --- of a script ------------------------------------------------------------------------------ */

/* serve PREFIX: until SIGTERM. */
static dur_engine *served;
static void on_term(int sig)
{
    (void)sig;
    dur_stop(served);
}

static int serve_alone(const char *prefix)
{
    dur_connect_options o = {.queue_prefix = prefix};
    int rc = dur_connect(&served, address, &o);
    if (rc) {
        fprintf(stderr, "%s\n", dur_error(served));
        return 1;
    }
    struct sigaction action = {.sa_handler = on_term};
    sigaction(SIGTERM, &action, NULL);
    flows_register(served, 1);
    rc = dur_serve(served, DUR_UNTIL_STOPPED);
    dur_close(served);
    return rc ? 1 : 0;
}

/* begin PREFIX ID TYPE INPUT */
static int begin_one(char **args)
{
    dur_engine *engine;
    dur_connect_options o = {.queue_prefix = args[0]};
    int rc = dur_connect(&engine, address, &o);
    rc = rc ? rc : dur_start(engine, args[2], args[1], args[3], NULL);
    if (rc) {
        fprintf(stderr, "%s\n", dur_error(engine));
    }
    dur_close(engine);
    return rc ? 1 : 0;
}

/* result ID: prints it. */
static int print_result(const char *id)
{
    dur_engine *engine;
    char *result = NULL;
    int rc = dur_connect(&engine, address, &(dur_connect_options){0});
    rc = rc ? rc : dur_result(engine, id, 60000, &result);
    printf("%s\n", rc ? dur_error(engine) : result);
    dur_free(result);
    dur_close(engine);
    return rc ? 1 : 0;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } cases[] = {
        {"primitives", primitives},
        {"slow_local", slow_local},
        {"small_cache", small_cache},
        {"crowd", crowd},
        {"queries", queries},
        {"updates", updates},
        {"signals", signals},
        {"lengthy", lengthy},
        {"large", large},
        {"changes", changes},
        {"unknown_type", unknown_type},
        {"two_workers", two_workers},
        {"until_idle", until_idle},
        {"steps", steps},
    };
    if (argc < 3) {
        return 2;
    }
    address = argv[1];
    name_space = getenv("TEST_NAMESPACE");
    if (strcmp(argv[2], "serve") == 0 && argc == 4) {
        return serve_alone(argv[3]);
    }
    if (strcmp(argv[2], "begin") == 0 && argc == 7) {
        return begin_one(argv + 3);
    }
    if (strcmp(argv[2], "result") == 0 && argc == 4) {
        return print_result(argv[3]);
    }
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        if (strcmp(cases[i].name, argv[2]) == 0) {
            cases[i].run();
            return 0;
        }
    }
    return 2;
}
