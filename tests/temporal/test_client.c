/*
 * test_client.c - durable.h's client calls on a Temporal server, as another program makes them.
 * No worker runs: runs wait for their first task. Driven by t8120-calls.sh.
 *
 * Usage: test_client HOST:PORT [many]    one line a case (client.h); many: 1000 runs, not 200
 */
#include "client.h"

#include <pthread.h>
#include <sys/stat.h>
#include <time.h>

#define MIB (1024 * 1024)

static dur_engine *engine;

/* --- starting ----------------------------------------------------------------------------------
 */

static void begin(const char *name, const char *id, dur_start_options options, int wanted,
                  const char *needle)
{
    int rc = dur_start(engine, "Flow", id, "{\"a\":[1]}", &options);
    returns(engine, name, rc, wanted, needle);
}

static const char *run_of(const char *id, char *out, size_t size)
{
    dur_description *d = NULL;
    out[0] = '\0';
    if (dur_describe(engine, id, &d) == DUR_OK) {
        snprintf(out, size, "%s", d->run_id);
    }
    dur_description_free(d);
    return out;
}

static void policies(void)
{
    char first[64], second[64];
    dur_start_options reject = {.reuse = DUR_REUSE_REJECT};
    dur_start_options failed_only = {.reuse = DUR_REUSE_FAILED_ONLY};
    dur_start_options use = {.conflict = DUR_CONFLICT_USE_EXISTING};
    dur_start_options replace = {.conflict = DUR_CONFLICT_TERMINATE_EXISTING};
    dur_start_options named = {.request_id = "order-7"};

    begin("a run starts", "p", (dur_start_options){0}, DUR_OK, NULL);
    run_of("p", first, sizeof(first));
    begin("its id is taken", "p", (dur_start_options){0}, DUR_EXISTS, "the id p is taken");
    begin("USE_EXISTING", "p", use, DUR_OK, NULL);
    same("changes nothing", run_of("p", second, sizeof(second)), first);
    begin("TERMINATE_EXISTING", "p", replace, DUR_OK, NULL);
    verdict(strcmp(run_of("p", second, sizeof(second)), first) != 0, "makes another", "%s", second);
    returns(engine, "it ends", dur_terminate(engine, "p", "test"), DUR_OK, NULL);
    begin("REJECT", "p", reject, DUR_EXISTS, "the id p is taken");
    begin("FAILED_ONLY", "p", failed_only, DUR_OK, NULL);
    begin("a request", "q", named, DUR_OK, NULL);
    run_of("q", first, sizeof(first));
    begin("the same request again", "q", named, DUR_OK, NULL);
    same("is the same run", run_of("q", second, sizeof(second)), first);
}

static void refusals(void)
{
    dur_start_options attributes = {.search_attributes = "{\"Unknown\":1}"};
    dur_start_options memo = {.memo = "[1]"};
    dur_start_options cron = {.cron = "every day"};
    dur_start_options both = {.cron = "@daily", .start_delay_ms = 1};
    dur_start_options queue = {.task_queue = ""};
    dur_start_options priority = {.priority = 6};

    begin("a search attribute that nobody made", "r", attributes, DUR_INVALID,
          "search-attribute create");
    begin("a memo that is no object", "r", memo, DUR_INVALID, "JSON object");
    begin("a cron text that is none", "r", cron, DUR_INVALID, "cron");
    begin("cron and a delay", "r", both, DUR_INVALID, "cron");
    begin("no task queue", "r", queue, DUR_INVALID, "task queue");
    begin("priority 6", "r", priority, DUR_INVALID, "1 to 5");
    begin("no id", "", (dur_start_options){0}, DUR_INVALID, "workflow id");
    returns(engine, "input that is no JSON", dur_start(engine, "Flow", "r", "{", NULL), DUR_INVALID,
            "not JSON");
    returns(engine, "nothing came of it", dur_describe(engine, "r", &(dur_description *){NULL}),
            DUR_NOT_FOUND, "no run has the id r");
}

/* --- what was asked for is there ----------------------------------------------------------------
 */

static void describes(void)
{
    static const char *const types[] = {"Fatal", NULL};
    dur_retry_policy retry = {.maximum_attempts = 3, .non_retryable_types = types};
    dur_start_options o = {
        .task_queue = "orders",
        .memo = "{\"who\":[\"ada\",1]}",
        .search_attributes = "{\"CustomerId\":\"c\xc3\xa9\",\"Amount\":12,\"Tags\":[\"a\",\"b\"],"
                             "\"Due\":{\"type\":\"Datetime\",\"value\":\"2026-01-02T03:04:05Z\"}}",
        .execution_timeout_ms = 3600000,
        .run_timeout_ms = 60000,
        .task_timeout_ms = 5000,
        .start_delay_ms = 600000,
        .retry = &retry,
        .priority = 2};
    dur_description *d = NULL;
    char *json = NULL;

    begin("with every option", "d", o, DUR_OK, NULL);
    returns(engine, "describe", dur_describe(engine, "d", &d), DUR_OK, NULL);
    if (!d) {
        return;
    }
    same("type", d->type, "Flow");
    same("task queue, without the prefix", d->task_queue, "orders");
    same("memo", d->memo, o.memo);
    verdict(strstr(d->search_attributes, "\"CustomerId\":\"c\xc3\xa9\"") &&
                strstr(d->search_attributes, "\"Tags\":[\"a\",\"b\"]") &&
                strstr(d->search_attributes, "{\"type\":\"Datetime\",\"value\":\"2026-01-02T03:04"),
            "search attributes", "%s", d->search_attributes);
    numbers("status", d->status, DUR_RUNNING);
    numbers("attempt", d->attempt, 1);
    numbers("events", d->history_events, 1);
    verdict(d->begins_ns - d->started_ns == 600000000000, "begins", "%lld",
            (long long)(d->begins_ns - d->started_ns));
    same("the first of its chain", d->first_run_id, d->run_id);
    verdict(!d->result && !d->failure && !d->parked && !d->paused && !d->next_run_id && !d->parent,
            "nothing else", "%s", d->failure ? d->failure : "");
    dur_description_free(d);
    returns(engine, "history", dur_history(engine, "d", &json), DUR_OK, NULL);
    verdict(json && strstr(json, "\"workflowTaskTimeout\":\"5s\"") &&
                strstr(json, "\"workflowRunTimeout\":\"60s\"") &&
                strstr(json, "\"nonRetryableErrorTypes\":[\"Fatal\"]") &&
                strstr(json, "\"priorityKey\":2") && strstr(json, "site-orders"),
            "the start event has it all", "%s", json ? json : "");
    dur_free(json);
}

/* --- telling -----------------------------------------------------------------------------------
 */

static int count(const char *id, const char *what)
{
    char *json = NULL;
    int found = 0;
    if (dur_history(engine, id, &json) != DUR_OK) {
        return -1;
    }
    for (const char *at = json; (at = strstr(at, what)); at += strlen(what)) {
        found++;
    }
    dur_free(json);
    return found;
}

#define SIGNALED "\"EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED\""
#define CANCEL "\"EVENT_TYPE_WORKFLOW_EXECUTION_CANCEL_REQUESTED\""

static void signals(void)
{
    dur_start_options replace = {.conflict = DUR_CONFLICT_TERMINATE_EXISTING};
    char first[64], second[64];

    returns(engine, "signal with start",
            dur_signal_with_start(engine, "Flow", "s", NULL, "go", "1", NULL), DUR_OK, NULL);
    run_of("s", first, sizeof(first));
    returns(engine, "again: the open run",
            dur_signal_with_start(engine, "Flow", "s", NULL, "go", "2", NULL), DUR_OK, NULL);
    same("is the same", run_of("s", second, sizeof(second)), first);
    returns(engine, "a signal", dur_signal(engine, "s", "go", "{\"x\":3}"), DUR_OK, NULL);
    returns(engine, "once", dur_signal_once(engine, "s", "go", NULL, "key"), DUR_OK, NULL);
    returns(engine, "and again", dur_signal_once(engine, "s", "go", NULL, "key"), DUR_OK, NULL);
    numbers("signals in the history", count("s", SIGNALED), 4);
    returns(engine, "replacing it",
            dur_signal_with_start(engine, "Flow", "s", NULL, "go", "2", &replace), DUR_OK, NULL);
    verdict(strcmp(run_of("s", second, sizeof(second)), first) != 0, "another run", "%s", second);
    numbers("has one", count("s", SIGNALED), 1);
    returns(engine, "to nobody", dur_signal(engine, "nobody", "go", NULL), DUR_NOT_FOUND,
            "no open run has the id nobody");
}

static void ends(void)
{
    char id[128], run[64];
    char *result = NULL;
    dur_description *d = NULL;

    begin("one to cancel", "e", (dur_start_options){0}, DUR_OK, NULL);
    snprintf(id, sizeof(id), "e@%s", run_of("e", run, sizeof(run)));
    returns(engine, "cancel", dur_cancel(engine, id, "enough"), DUR_OK, NULL);
    returns(engine, "cancel again", dur_cancel(engine, "e", NULL), DUR_OK, NULL);
    numbers("one request", count("e", CANCEL), 1);
    returns(engine, "cancel nobody", dur_cancel(engine, "nobody", NULL), DUR_NOT_FOUND, NULL);
    returns(engine, "it is open", dur_result(engine, "e", 0, &result), DUR_TIMED_OUT,
            "run e is still open");
    returns(engine, "for 300 ms", dur_result(engine, "e", 300, &result), DUR_TIMED_OUT, NULL);
    returns(engine, "terminate", dur_terminate(engine, id, "that's it"), DUR_OK, NULL);
    returns(engine, "its end", dur_result(engine, "e", -1, &result), DUR_FAILED,
            "run e ended as Terminated: terminated: that's it");
    returns(engine, "terminate again", dur_terminate(engine, "e", NULL), DUR_NOT_FOUND, NULL);
    returns(engine, "signal it", dur_signal(engine, id, "go", NULL), DUR_NOT_FOUND, NULL);
    returns(engine, "cancel it", dur_cancel(engine, "e", NULL), DUR_NOT_FOUND, NULL);
    returns(engine, "describe it", dur_describe(engine, id, &d), DUR_OK, NULL);
    if (d) {
        numbers("terminated", d->status, DUR_TERMINATED);
        verdict(d->failure && strstr(d->failure, "terminatedFailureInfo"), "says so", "%s",
                d->failure ? d->failure : "");
        verdict(d->closed_ns > d->started_ns, "closed", "%lld", (long long)d->closed_ns);
    }
    dur_description_free(d);
    returns(engine, "no result of nobody", dur_result(engine, "nobody", 0, &result), DUR_NOT_FOUND,
            "no run has the id nobody");
}

static void pauses(void)
{
    dur_description *d = NULL;
    char *run = NULL;

    begin("one to pause", "h", (dur_start_options){0}, DUR_OK, NULL);
    returns(engine, "pause", dur_pause(engine, "h", "wait"), DUR_OK, NULL);
    returns(engine, "pause again", dur_pause(engine, "h", "wait"), DUR_OK, NULL);
    if (dur_describe(engine, "h", &d) == DUR_OK) {
        numbers("paused", d->status, DUR_PAUSED);
        same("why", d->paused, "wait");
        dur_description_free(d);
    }
    returns(engine, "resume", dur_resume(engine, "h", "go"), DUR_OK, NULL);
    returns(engine, "resume again", dur_resume(engine, "h", NULL), DUR_OK, NULL);
    returns(engine, "pause nobody", dur_pause(engine, "nobody", NULL), DUR_NOT_FOUND, NULL);
    returns(engine, "resume nobody", dur_resume(engine, "nobody", NULL), DUR_NOT_FOUND, NULL);
    returns(engine, "nothing to reset", dur_reset(engine, "h", &run, NULL), DUR_INVALID,
            "has not run its code yet");
    returns(engine, "reset nobody", dur_reset(engine, "nobody", &run, NULL), DUR_NOT_FOUND, NULL);
}

static void asks(void)
{
    dur_update_options quick = {.timeout_ms = 300};
    dur_update_options admitted = {.wait = DUR_WAIT_ADMITTED};
    char *result = NULL;

    begin("one to ask", "a", (dur_start_options){0}, DUR_OK, NULL);
    returns(engine, "no worker answers", dur_query(engine, "a", "state", NULL, 300, &result),
            DUR_TIMED_OUT, "does a worker serve");
    returns(engine, "query nobody", dur_query(engine, "nobody", "state", NULL, 300, &result),
            DUR_NOT_FOUND, NULL);
    returns(engine, "no worker updates", dur_update(engine, "a", "add", "1", &result, &quick),
            DUR_TIMED_OUT, "is not accepted yet");
    returns(engine, "update nobody", dur_update(engine, "nobody", "add", "1", &result, &quick),
            DUR_NOT_FOUND, NULL);
    returns(engine, "only admitted", dur_update(engine, "a", "add", "1", &result, &admitted),
            DUR_INVALID, "DUR_WAIT_ACCEPTED");
    returns(engine, "no such update", dur_update_result(engine, "a", "none", 0, &result),
            DUR_NOT_FOUND, "has no update none");
}

/* --- ids and sizes ------------------------------------------------------------------------------
 */

static void ids(void)
{
    char longest[1002], run[64], named[1100];
    dur_description *d = NULL;

    memset(longest, 'x', sizeof(longest) - 1);
    longest[1000] = '\0';
    begin("1000 bytes", longest, (dur_start_options){0}, DUR_OK, NULL);
    snprintf(named, sizeof(named), "%s@%s", longest, run_of(longest, run, sizeof(run)));
    returns(engine, "and its run", dur_describe(engine, named, &d), DUR_OK, NULL);
    dur_description_free(d);
    longest[1000] = 'x';
    longest[1001] = '\0';
    begin("1001 bytes", longest, (dur_start_options){0}, DUR_INVALID, NULL);
    returns(engine, "nobody has that", dur_terminate(engine, longest, NULL), DUR_NOT_FOUND, NULL);
    begin("any letters", "\xe2\x82\xac @ a/b?c%20'\"", (dur_start_options){0}, DUR_OK, NULL);
    returns(engine, "found", dur_signal(engine, "\xe2\x82\xac @ a/b?c%20'\"", "\xc3\xa4", NULL),
            DUR_OK, NULL);
    returns(engine, "bytes that are no letters", dur_signal(engine, "\xff", "go", NULL),
            DUR_NOT_FOUND, NULL);
    returns(engine, "a run of another id",
            dur_signal(engine, "p@0198c504-e431-787f-a871-2bf426943d58", "go", NULL), DUR_NOT_FOUND,
            NULL);
    returns(engine, "no id", dur_cancel(engine, NULL, NULL), DUR_NOT_FOUND, NULL);
}

/* JSON text of so many bytes. */
static char *text_of(size_t bytes)
{
    char *text = malloc(bytes + 1);
    memset(text, 'y', bytes);
    text[0] = text[bytes - 1] = '"';
    text[bytes] = '\0';
    return text;
}

static void sizes(void)
{
    char *large = text_of(2 * MIB - 100);
    char *larger = text_of(2 * MIB);
    char *largest = text_of(2 * MIB + 1);
    char *json = NULL;

    returns(engine, "input of 2 MiB", dur_start(engine, "Flow", "big", large, NULL), DUR_OK, NULL);
    returns(engine, "is there", dur_history(engine, "big", &json), DUR_OK, NULL);
    verdict(json && strlen(json) > 2 * MIB, "to its end", "%zu", json ? strlen(json) : 0);
    dur_free(json);
    returns(engine, "with its wrapping above the server's limit",
            dur_start(engine, "Flow", "bigger", larger, NULL), DUR_LIMIT, NULL);
    returns(engine, "above ours", dur_start(engine, "Flow", "bigger", largest, NULL), DUR_LIMIT,
            "larger than");
    returns(engine, "a signal of 2 MiB", dur_signal(engine, "big", "go", large), DUR_OK, NULL);
    free(large);
    free(larger);
    free(largest);
}

/* --- many ---------------------------------------------------------------------------------------
 */

#define THREADS 8
#define PER_THREAD_MAX 125

static int per_thread = 25; /* runs */

struct many {
    int thread;
    int failed;
    char error[256];
};

static void *start_many(void *arg)
{
    struct many *m = arg;
    char id[64];
    for (int i = 0; i < per_thread; i++) {
        snprintf(id, sizeof(id), "many-%d-%d", m->thread, i);
        dur_start_options o = {.task_queue = "crowd"};
        dur_description *d = NULL;
        int rc = dur_start(engine, "Crowd", id, "1", &o);
        rc = rc ? rc : dur_signal(engine, id, "go", NULL);
        rc = rc || i % 8 ? rc : dur_describe(engine, id, &d);
        dur_description_free(d);
        if (rc != DUR_OK) {
            m->failed++;
            snprintf(m->error, sizeof(m->error), "%s", dur_error(engine));
        }
        if (rc == DUR_OK && dur_signal(engine, "nobody", "go", NULL) != DUR_NOT_FOUND) {
            m->failed++;
        }
    }
    return NULL;
}

static void crowd(void)
{
    pthread_t threads[THREADS];
    struct many many[THREADS] = {{0}};
    for (int i = 0; i < THREADS; i++) {
        many[i].thread = i;
        pthread_create(&threads[i], NULL, start_many, &many[i]);
    }
    int failed = 0;
    const char *error = "";
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        failed += many[i].failed;
        error = many[i].failed ? many[i].error : error;
    }
    verdict(failed == 0, "many runs of eight threads", "%d failed: %s", failed, error);
}

struct seen {
    char marks[THREADS][PER_THREAD_MAX];
    int rows, twice, in_page, stop_at;
    int64_t token;
};

static int see(void *user, int64_t token, const dur_description *d)
{
    struct seen *seen = user;
    int thread = 0, i = 0;
    if (sscanf(d->workflow_id, "many-%d-%d", &thread, &i) == 2 && thread < THREADS &&
        i < per_thread) {
        seen->twice += seen->marks[thread][i]++ != 0;
    }
    seen->rows++;
    seen->in_page++;
    seen->token = token;
    return seen->stop_at && seen->in_page == seen->stop_at;
}

static void pages(const char *name, int limit, int stop_at)
{
    struct seen seen = {.stop_at = stop_at};
    int rc = DUR_OK;
    do {
        seen.in_page = 0;
        rc = dur_list_where(engine, "WorkflowType = 'Crowd'", seen.token, limit, see, &seen);
    } while (rc == DUR_OK && seen.in_page > 0 && seen.rows < 2000);
    verdict(rc == DUR_OK && seen.rows == THREADS * per_thread && seen.twice == 0, name,
            "%s, %d rows, %d twice: %s", dur_code_name(rc), seen.rows, seen.twice,
            dur_error(engine));
}

/* A list lags behind what was done. */
static void settle(const char *filter, int wanted)
{
    struct seen seen = {0};
    for (int i = 0; i < 100 && seen.rows < wanted; i++) {
        struct timespec pause = {0, 100000000};
        seen = (struct seen){0};
        (void)dur_list_where(engine, filter, 0, 1000, see, &seen);
        if (seen.rows < wanted) {
            nanosleep(&pause, NULL);
        }
    }
}

static int first(void *user, int64_t token, const dur_description *d)
{
    (void)token;
    snprintf(user, 64, "%s %s %s %s", d->workflow_id, d->type, d->task_queue,
             dur_status_name(d->status));
    return 1;
}

static void lists(void)
{
    char row[64] = "";
    struct seen seen = {0};

    settle("WorkflowType = 'Crowd'", THREADS * per_thread);
    pages("pages of 37", 37, 0);
    pages("pages of 100 of which 41 are taken", 100, 41);
    pages("one page", 1000, 0);
    returns(engine, "a filter",
            dur_list_where(engine, "WorkflowId = 'many-3-5'", 0, 10, first, row), DUR_OK, NULL);
    same("its row", row, "many-3-5 Crowd crowd Running");
    returns(engine, "no row", dur_list_where(engine, "WorkflowId = 'none'", 0, 10, see, &seen),
            DUR_OK, NULL);
    numbers("is no row", seen.rows, 0);
    returns(engine, "no limit, no rows", dur_list(engine, 0, 0, 0, see, &seen), DUR_OK, NULL);
    numbers("none", seen.rows, 0);
    returns(engine, "no filter", dur_list_where(engine, "Workflow ~ 3", 0, 10, see, &seen),
            DUR_INVALID, "filter: ");
    returns(engine, "a token of nobody", dur_list(engine, 0, 123456789, 10, see, &seen),
            DUR_INVALID, "begin anew");
    settle("ExecutionStatus = 'Terminated'", 1);
    returns(engine, "by status", dur_list(engine, DUR_TERMINATED, 0, 1, first, row), DUR_OK, NULL);
    verdict(strstr(row, " Terminated"), "is of that status", "%s", row);
}

static int collect(void *user, const void *bytes, size_t len)
{
    *(size_t *)user += len;
    return bytes && *(size_t *)user > 100000 ? 1 : 0;
}

static void exports(void)
{
    size_t len = 0;
    returns(engine, "in protobuf", dur_export(engine, "s", DUR_FORM_PROTOBUF, collect, &len),
            DUR_OK, NULL);
    verdict(len > 100, "bytes", "%zu", len);
    len = 0;
    returns(engine, "broken off", dur_export(engine, "big", DUR_FORM_JSON, collect, &len), DUR_IO,
            NULL);
    returns(engine, "of nobody", dur_export(engine, "nobody", DUR_FORM_JSON, collect, &len),
            DUR_NOT_FOUND, NULL);
}

/* --- sealed payloads ----------------------------------------------------------------------------
 */

#define KEY_A "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
#define KEY_B "ICEiIyQlJicoKSorLC0uLzAxMjM0NTY3ODk6Ozw9Pj8="

static const char *keyring(const char *path, const char *id, const char *key, mode_t mode)
{
    FILE *file = fopen(path, "w");
    fprintf(file, "{\"active\":\"%s\",\"keys\":{\"%s\":\"%s\"}}", id, id, key);
    fclose(file);
    chmod(path, mode);
    return path;
}

/* What another handle, with that keyring, sees of the run "secret". */
static void sees(const char *target, const char *file, const char *what, const char *wanted)
{
    dur_connect_options o = {.keyring_file = file, .queue_prefix = "site-"};
    dur_engine *other;
    dur_description *d = NULL;
    char *json = NULL;
    if (dur_connect(&other, target, &o) == DUR_OK && dur_describe(other, "secret", &d) == DUR_OK &&
        dur_history(other, "secret", &json) == DUR_OK) {
        same(what, d->memo, wanted);
        int is_plain = strstr(json, "IlNFQ1JFVCI=") != NULL; /* "SECRET" */
        verdict(is_plain == !strstr(wanted, "$sealed"), "in its history", "%s", json);
    } else {
        verdict(0, what, "%s", dur_error(other));
    }
    dur_description_free(d);
    dur_free(json);
    dur_close(other);
}

static void seals(const char *target)
{
    dur_connect_options o = {.keyring_file = keyring("a.json", "a", KEY_A, 0600)};
    dur_start_options start = {.memo = "{\"m\":\"SECRET\"}"};
    dur_engine *one;
    returns(NULL, "with a keyring", dur_connect(&one, target, &o), DUR_OK, NULL);
    returns(one, "a run with secrets", dur_start(one, "Flow", "secret", "\"SECRET\"", &start),
            DUR_OK, NULL);
    returns(one, "and a signal", dur_signal(one, "secret", "go", "\"SECRET\""), DUR_OK, NULL);
    dur_close(one);
    sees(target, "a.json", "with the key", "{\"m\":\"SECRET\"}");
    sees(target, NULL, "without", "{\"m\":{\"$sealed\":\"(sealed with the key a)\"}}");
    sees(target, keyring("b.json", "b", KEY_B, 0600), "with another",
         "{\"m\":{\"$sealed\":\"(sealed with the key a)\"}}");
    sees(target, keyring("c.json", "a", KEY_B, 0600), "with another of that name",
         "{\"m\":{\"$sealed\":\"(sealed with the key a)\"}}");
    o.keyring_file = keyring("d.json", "a", KEY_A, 0644);
    int rc = dur_connect(&one, target, &o);
    returns(one, "a file that all may read", rc, DUR_INVALID, "d.json");
    dur_close(one);
}

int main(int argc, char **argv)
{
    dur_connect_options o = {.queue_prefix = "site-"};
    if (argc > 2) {
        per_thread = PER_THREAD_MAX;
    }
    returns(NULL, "connect", dur_connect(&engine, argv[1], &o), DUR_OK, NULL);
    policies();
    refusals();
    describes();
    signals();
    ends();
    pauses();
    asks();
    ids();
    sizes();
    exports();
    crowd();
    lists();
    seals(argv[1]);
    dur_close(engine);
    return 0;
}
