/*
 * test_asking.c - queries, updates, results, resets and descriptions of runs that a worker of this
 * very program serves on a Temporal server. Driven by t8120-calls.sh.
 *
 * Usage: test_asking HOST:PORT    one line a case (client.h)
 */
#include "client.h"

#include <pthread.h>
#include <time.h>

#define QUEUE "asking"

static dur_engine *engine;

/* --- what runs ---------------------------------------------------------------------------------
 */

struct account {
    int64_t balance;
    int is_closed;
};

static int show(dur_ctx *ctx, const char *input, const char **result, void *arg)
{
    const struct account *a = arg;
    if (input && dur_json_bool(input, "/fail", 0)) {
        return dur_fail_run(ctx, "NoView", "not today");
    }
    *result = dur_ctx_jsonf(ctx, "{\"balance\":%i64}", a->balance);
    return DUR_OK;
}

static int is_positive(dur_ctx *ctx, const char *input, void *arg)
{
    (void)arg;
    return dur_json_int(input, "/amount", 0) > 0
               ? DUR_OK
               : dur_fail_run(ctx, "Negative", "only in, not out");
}

static int pay_in(dur_ctx *ctx, const char *input, const char **result, void *arg)
{
    struct account *a = arg;
    if (dur_json_bool(input, "/held", 0)) {
        int rc = dur_receive(ctx, "release", -1, NULL);
        if (rc != DUR_OK) {
            return rc;
        }
    }
    if (dur_json_bool(input, "/forever", 0)) {
        return dur_sleep(ctx, DUR_DAYS);
    }
    if (dur_json_int(input, "/amount", 0) > 1000) {
        return dur_fail_run(ctx, "TooMuch", "at most 1000");
    }
    a->balance += dur_json_int(input, "/amount", 0);
    *result = dur_ctx_jsonf(ctx, "%i64", a->balance);
    return DUR_OK;
}

static int account(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    struct account *a = dur_ctx_alloc(ctx, sizeof(*a));
    (void)input;
    (void)user;
    dur_on_query(ctx, "balance", show, a);
    dur_on_update(ctx, "pay", is_positive, pay_in, a);
    int rc = dur_receive(ctx, "close", -1, NULL);
    if (rc == DUR_OK) {
        *result = dur_ctx_jsonf(ctx, "{\"left\":%i64}", a->balance);
    }
    return rc;
}

/* {"left":N}: continues as new N times. */
static int chain(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    int left = (int)dur_json_int(input, "/left", 0);
    (void)user;
    if (left > 0) {
        return dur_continue_as_new(ctx, dur_ctx_jsonf(ctx, "{\"left\":%d}", left - 1), NULL);
    }
    *result = "\"the last one\"";
    return DUR_OK;
}

static int fails(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)input;
    (void)result;
    (void)user;
    return dur_fail_run(ctx, "Broken", "attempt %d", dur_attempt(ctx));
}

static int parent(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    dur_child_options o = {.workflow_id = "asked-child"};
    (void)input;
    (void)user;
    return dur_run_child(ctx, "Account", NULL, result, &o);
}

static int is_changed; /* the code of tomorrow */

static int turns(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)input;
    (void)result;
    (void)user;
    if (is_changed && dur_sleep(ctx, 1) != DUR_OK) {
        return DUR_FAILED;
    }
    return dur_receive(ctx, "go", -1, NULL);
}

static int draw(void *arg, const char **result)
{
    (void)arg;
    *result = "1";
    return DUR_OK;
}

#define DRAWS 600

/* An event for each: more than a page of a history has. */
static int draws(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    int rc = DUR_OK;
    (void)input;
    (void)user;
    for (int i = 0; i < DRAWS && rc == DUR_OK; i++) {
        rc = dur_side_effect(ctx, draw, NULL, result);
    }
    return rc;
}

static void *serve(void *arg)
{
    (void)arg;
    returns(engine, "serving ends well", dur_serve(engine, DUR_UNTIL_STOPPED), DUR_OK, NULL);
    return NULL;
}

/* --- asking ------------------------------------------------------------------------------------
 */

static void start(const char *type, const char *id, const char *input)
{
    dur_start_options o = {.task_queue = QUEUE};
    int rc = dur_start(engine, type, id, input, &o);
    if (rc != DUR_OK) {
        returns(engine, "a start", rc, DUR_OK, NULL);
    }
}

static void query(const char *name, const char *id, const char *which, const char *input,
                  int wanted, const char *answer)
{
    char *result = NULL;
    int rc = dur_query(engine, id, which, input, 20000, &result);
    returns(engine, name, rc, wanted, wanted == DUR_OK ? NULL : answer);
    if (rc == DUR_OK && wanted == DUR_OK) {
        verdict(result && strstr(result, answer), "and its answer", "%s", result ? result : "");
    }
    dur_free(result);
}

static void queries(void)
{
    start("Account", "aq", NULL);
    query("a query", "aq", "balance", NULL, DUR_OK, "{\"balance\":0}");
    query("an unknown one", "aq", "colour", NULL, DUR_FAILED, "UnknownQuery: ");
    query("one that fails", "aq", "balance", "{\"fail\":true}", DUR_FAILED, ": not today");
    query("where it stands", "aq", "__stack_trace", NULL, DUR_OK, "test_asking.c");
    query("what it offers", "aq", "__temporal_workflow_metadata", NULL, DUR_OK, "balance");
    returns(engine, "its end", dur_signal(engine, "aq", "close", NULL), DUR_OK, NULL);
    returns(engine, "is waited for", dur_result(engine, "aq", 20000, NULL), DUR_OK, NULL);
    query("a closed run", "aq", "balance", NULL, DUR_OK, "{\"balance\":0}");
}

static void update(const char *name, const char *input, const char *update_id, int wanted,
                   const char *answer)
{
    char *result = NULL;
    dur_update_options o = {.update_id = update_id, .timeout_ms = 20000};
    int rc = dur_update(engine, "au", "pay", input, &result, &o);
    returns(engine, name, rc, wanted, wanted == DUR_OK ? NULL : answer);
    if (rc == DUR_OK) {
        same("and its result", result, answer);
    } else {
        verdict(result && strstr(result, "applicationFailureInfo"), "and its failure", "%s",
                result ? result : "NULL");
    }
    dur_free(result);
}

static void outcome(const char *name, const char *update_id, int64_t timeout_ms, int wanted,
                    const char *needle)
{
    char *result = NULL;
    int rc = dur_update_result(engine, "au", update_id, timeout_ms, &result);
    returns(engine, name, rc, wanted, needle);
    if (rc == DUR_OK) {
        verdict(result && *result, "with a result", "%s", result ? result : "NULL");
    }
    dur_free(result);
}

static void updates(void)
{
    char *result = NULL;
    dur_update_options held = {.update_id = "held", .wait = DUR_WAIT_ACCEPTED, .timeout_ms = 20000};
    dur_update_options cut = {.update_id = "cut", .wait = DUR_WAIT_ACCEPTED, .timeout_ms = 20000};
    dur_update_options brief = {.update_id = "held", .timeout_ms = 300};

    start("Account", "au", NULL);
    update("an update", "{\"amount\":5}", "first", DUR_OK, "5");
    update("the same again", "{\"amount\":5}", "first", DUR_OK, "5");
    update("another", "{\"amount\":6}", NULL, DUR_OK, "11");
    update("refused", "{\"amount\":0}", "none", DUR_REJECTED, "update none was rejected: ");
    outcome("left no trace", "none", 0, DUR_NOT_FOUND, "has no update none");
    update("failed", "{\"amount\":2000}", "much", DUR_FAILED, "TooMuch: at most 1000");
    outcome("and is known", "much", 0, DUR_FAILED, "TooMuch");
    returns(engine, "accepted",
            dur_update(engine, "au", "pay", "{\"amount\":1,\"held\":true}", &result, &held), DUR_OK,
            NULL);
    verdict(!result, "without a result", "%s", result ? result : "");
    outcome("not there yet", "held", 0, DUR_TIMED_OUT, "accepted and not completed");
    returns(engine, "not in 300 ms",
            dur_update(engine, "au", "pay", "{\"amount\":1,\"held\":true}", &result, &brief),
            DUR_TIMED_OUT, "accepted and not completed");
    returns(engine, "what it waits for", dur_signal(engine, "au", "release", NULL), DUR_OK, NULL);
    outcome("waited for", "held", 20000, DUR_OK, NULL);
    returns(engine, "one that nobody knows",
            dur_update(engine, "au", "draw", "{}", &result, &(dur_update_options){0}), DUR_REJECTED,
            NULL);
    dur_free(result);
    result = NULL;
    returns(engine, "one that will be cut off",
            dur_update(engine, "au", "pay", "{\"amount\":1,\"forever\":true}", &result, &cut),
            DUR_OK, NULL);
    returns(engine, "the end", dur_signal(engine, "au", "close", NULL), DUR_OK, NULL);
    returns(engine, "of the run", dur_result(engine, "au", 20000, &result), DUR_OK, NULL);
    same("with its result", result, "{\"left\":12}");
    dur_free(result);
    result = NULL;
    outcome("cut off", "cut", 20000, DUR_FAILED, NULL);
    outcome("an old one is still known", "first", 0, DUR_OK, NULL);
    returns(engine, "an update of a closed run",
            dur_update(engine, "au", "pay", "{\"amount\":1}", &result, &brief), DUR_OK, NULL);
    dur_free(result);
    brief.update_id = "late";
    returns(engine, "a new one", dur_update(engine, "au", "pay", "{\"amount\":1}", &result, &brief),
            DUR_NOT_FOUND, "no open run has the id au");
}

/* --- results -----------------------------------------------------------------------------------
 */

static void results(void)
{
    static const char broken[] = "ended as Failed: application Broken: attempt 2";
    dur_retry_policy retry = {.initial_interval_ms = 1, .maximum_attempts = 2};
    dur_start_options o = {.task_queue = QUEUE, .retry = &retry};
    dur_description *d = NULL;
    char *result = NULL;

    start("Chain", "ac", "{\"left\":2}");
    returns(engine, "a chain of three", dur_result(engine, "ac", 20000, &result), DUR_OK, NULL);
    same("has the last one's result", result, "\"the last one\"");
    dur_free(result);
    returns(engine, "the last one", dur_describe(engine, "ac", &d), DUR_OK, NULL);
    if (d) {
        same("result", d->result, "\"the last one\"");
        verdict(strcmp(d->first_run_id, d->run_id) != 0, "first of the chain", "%s",
                d->first_run_id);
        numbers("completed", d->status, DUR_COMPLETED);
        char id[128];
        snprintf(id, sizeof(id), "ac@%s", d->first_run_id);
        dur_description *first = NULL;
        returns(engine, "the first one", dur_describe(engine, id, &first), DUR_OK, NULL);
        numbers("continued", first ? first->status : 0, DUR_CONTINUED_AS_NEW);
        verdict(first && first->next_run_id, "by another", "%s", id);
        dur_description_free(first);
        returns(engine, "its result is the chain's", dur_result(engine, id, 0, NULL), DUR_OK, NULL);
    }
    dur_description_free(d);
    d = NULL;
    returns(engine, "one that is retried", dur_start(engine, "Fails", "af", NULL, &o), DUR_OK,
            NULL);
    returns(engine, "fails in the end", dur_result(engine, "af", 20000, NULL), DUR_FAILED, broken);
    returns(engine, "described", dur_describe(engine, "af", &d), DUR_OK, NULL);
    numbers("attempt", d ? d->attempt : 0, 2);
    verdict(d && d->failure && strstr(d->failure, "\"type\":\"Broken\""), "failure", "%s",
            d && d->failure ? d->failure : "");
    dur_description_free(d);
    start("Account", "ax", NULL);
    query("one that runs", "ax", "balance", NULL, DUR_OK, "0");
    returns(engine, "is cancelled", dur_cancel(engine, "ax", "enough"), DUR_OK, NULL);
    returns(engine, "and ends so", dur_result(engine, "ax", 20000, NULL), DUR_CANCELLED,
            "run ax was cancelled");
}

static void families(void)
{
    dur_description *d = NULL;
    char *result = NULL;

    start("Parent", "asked-parent", NULL);
    for (int i = 0; i < 200 && dur_signal(engine, "asked-child", "close", NULL) != DUR_OK; i++) {
        struct timespec pause = {0, 50000000};
        nanosleep(&pause, NULL);
    }
    returns(engine, "a parent", dur_result(engine, "asked-parent", 20000, &result), DUR_OK, NULL);
    same("has its child's result", result, "{\"left\":0}");
    dur_free(result);
    returns(engine, "the child", dur_describe(engine, "asked-child", &d), DUR_OK, NULL);
    verdict(d && d->parent && strncmp(d->parent, "asked-parent@", 13) == 0, "knows its parent",
            "%s", d && d->parent ? d->parent : "NULL");
    dur_description_free(d);
}

struct bytes {
    char *at;
    size_t len;
};

static int keep(void *user, const void *bytes, size_t len)
{
    struct bytes *kept = user;
    kept->at = realloc(kept->at, kept->len + len);
    memcpy(kept->at + kept->len, bytes, len);
    kept->len += len;
    return 0;
}

static void histories(void)
{
    struct bytes kept = {0};
    dur_description *d = NULL;
    char *report = NULL;
    char *json = NULL;
    char last[64];

    start("Draws", "al", NULL);
    returns(engine, "a long history", dur_result(engine, "al", 60000, NULL), DUR_OK, NULL);
    returns(engine, "is described", dur_describe(engine, "al", &d), DUR_OK, NULL);
    numbers("with all its events", d ? d->history_events : 0, DRAWS + 5);
    dur_description_free(d);
    returns(engine, "in JSON", dur_history(engine, "al", &json), DUR_OK, NULL);
    snprintf(last, sizeof(last), "\"eventId\":\"%d\"", DRAWS + 5);
    verdict(json && strstr(json, last), "to its last event", "%s", json ? json : "NULL");
    returns(engine, "replays", dur_replay(engine, json, &report), DUR_OK, NULL);
    dur_free(json);
    returns(engine, "in protobuf", dur_export(engine, "al", DUR_FORM_PROTOBUF, keep, &kept), DUR_OK,
            NULL);
    returns(engine, "replays, too", dur_replay_bytes(engine, kept.at, kept.len, &report), DUR_OK,
            NULL);
    free(kept.at);
}

struct wait {
    int rc;
    char *result;
};

static void *wait_for(void *arg)
{
    struct wait *wait = arg;
    wait->rc = dur_result(engine, "ar", 60000, &wait->result);
    return NULL;
}

static void resets(void)
{
    dur_reset_options early = {.event_id = 2};
    struct wait wait = {0};
    pthread_t thread;
    char *run = NULL;
    char *result = NULL;

    start("Account", "ar", NULL);
    query("a run", "ar", "balance", NULL, DUR_OK, "0");
    pthread_create(&thread, NULL, wait_for, &wait);
    returns(engine, "no end of a task", dur_reset(engine, "ar", &run, &early), DUR_INVALID,
            "event 2 of run ar does not end a workflow task: the nearest that do are 4 and 4");
    returns(engine, "is taken back", dur_reset(engine, "ar", &run, NULL), DUR_OK, NULL);
    verdict(run && strlen(run) == 36, "by another run", "%s", run ? run : "NULL");
    dur_free(run);
    returns(engine, "which goes on", dur_signal(engine, "ar", "close", NULL), DUR_OK, NULL);
    pthread_join(thread, NULL);
    numbers("and whose result comes to who waited", wait.rc, DUR_OK);
    same("as it is", wait.result, "{\"left\":0}");
    dur_free(wait.result);
    returns(engine, "a closed run, too", dur_reset(engine, "ar", NULL, NULL), DUR_OK, NULL);
    returns(engine, "ends again: its signal came again", dur_result(engine, "ar", 20000, &result),
            DUR_OK, NULL);
    dur_free(result);
}

/* The run "ap" waits, and the code is another now. */
static void parks(void)
{
    dur_description *d = NULL;
    char *result = NULL;

    is_changed = 1;
    returns(engine, "a signal for other code", dur_signal(engine, "ap", "go", NULL), DUR_OK, NULL);
    for (int i = 0; i < 200; i++) {
        struct timespec pause = {0, 50000000};
        dur_description_free(d);
        d = NULL;
        if (dur_describe(engine, "ap", &d) != DUR_OK || d->parked) {
            break;
        }
        nanosleep(&pause, NULL);
    }
    verdict(d && d->parked && strstr(d->parked, "test_asking.c"), "parks the run", "%s",
            d && d->parked ? d->parked : "NULL");
    dur_description_free(d);
    returns(engine, "which answers no query",
            dur_query(engine, "ap", "__stack_trace", NULL, 1000, &result), DUR_TIMED_OUT, NULL);
    returns(engine, "and can be ended", dur_terminate(engine, "ap", "test"), DUR_OK, NULL);
}

/* Serves while `ask` asks. */
static void with_worker(const char *target, void (*ask)(void))
{
    dur_connect_options o = {.queue_prefix = "asked-"};
    pthread_t server;
    returns(NULL, "connect", dur_connect(&engine, target, &o), DUR_OK, NULL);
    dur_register_workflow(engine, "Account", account, NULL);
    dur_register_workflow(engine, "Chain", chain, NULL);
    dur_register_workflow(engine, "Fails", fails, NULL);
    dur_register_workflow(engine, "Parent", parent, NULL);
    dur_register_workflow(engine, "Draws", draws, NULL);
    dur_register_workflow(engine, "Turns", turns, NULL);
    dur_lane(engine, QUEUE, 1);
    pthread_create(&server, NULL, serve, NULL);
    ask();
    dur_stop(engine);
    pthread_join(server, NULL);
    dur_close(engine);
}

static void all(void)
{
    queries();
    updates();
    results();
    families();
    resets();
    histories();
    start("Turns", "ap", NULL);
    query("a run of today", "ap", "__stack_trace", NULL, DUR_OK, "test_asking.c");
}

int main(int argc, char **argv)
{
    (void)argc;
    with_worker(argv[1], all);
    with_worker(argv[1], parks);
    return 0;
}
