/*
 * sealed.c - a program whose payloads are sealed, on either host: the same run, calls and checks.
 *
 * Owns: one workflow that meets everything that carries a payload; each value holds a word that no
 * file and no server may show. Usage: sealed TARGET RING tell|look|history; TARGET is HOST:PORT or
 * a database; RING "-" is none. The lines of tell and look are client.h's; history prints it.
 * Run by t8150-sealed.sh. Must not: need anything but durable.h and C99.
 */
#include <pthread.h>
#include <time.h>

#include "client.h"

#define WORD "swordfish"
#define JSON "{\"word\":\"" WORD "\"}"
#define WAIT_MS 30000

static char token[4096];
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static dur_engine *engine;

/* --- the run -----------------------------------------------------------------------------------
 */

static int flaky(dur_activity *act, const char *input, const char **result, void *user)
{
    (void)user;
    if (dur_activity_attempt(act) == 1) {
        dur_heartbeat_sync(act, JSON);
        dur_failure_options o = {
            .type = "Flaky", .message = "lost the " WORD, .details = JSON, .kind = DUR_TRANSIENT};
        return dur_fail_with(act, &o);
    }
    const char *details = dur_heartbeat_details(act);
    *result = details && strcmp(details, JSON) == 0 ? input : "\"no details\"";
    return DUR_OK;
}

static int echo(dur_activity *act, const char *input, const char **result, void *user)
{
    (void)act;
    (void)user;
    *result = input;
    return DUR_OK;
}

static int doomed(dur_activity *act, const char *input, const char **result, void *user)
{
    (void)input;
    (void)result;
    (void)user;
    return dur_fail(act, DUR_PERMANENT, "Doomed", "by the %s", WORD);
}

static int later(dur_activity *act, const char *input, const char **result, void *user)
{
    (void)input;
    (void)result;
    (void)user;
    pthread_mutex_lock(&mutex);
    snprintf(token, sizeof(token), "%s", dur_activity_token(act));
    pthread_mutex_unlock(&mutex);
    return DUR_PENDING;
}

static int say(void *arg, const char **result)
{
    (void)arg;
    *result = JSON;
    return DUR_OK;
}

static int ask(dur_ctx *ctx, const char *input, const char **result, void *arg)
{
    (void)ctx;
    (void)arg;
    *result = input;
    return DUR_OK;
}

static int refuse_null(dur_ctx *ctx, const char *input, void *arg)
{
    (void)arg;
    return strcmp(input, "null") == 0 ? dur_fail_run(ctx, "Empty", "there is no %s", WORD) : DUR_OK;
}

static int tell(dur_ctx *ctx, const char *input, const char **result, void *arg)
{
    (void)arg;
    *result = input;
    return strcmp(input, "0") == 0 ? dur_fail_run(ctx, "Zero", "no %s", WORD) : DUR_OK;
}

static int kid(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)user;
    int rc = dur_receive(ctx, "name", -1, NULL);
    *result = input;
    return rc;
}

#define STEP(call)                                                                                 \
    if ((rc = (call)) != DUR_OK) {                                                                 \
        return rc;                                                                                 \
    }

static int story(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    const char *text = NULL;
    int rc;
    (void)user;
    if (strcmp(input, "\"fail " WORD "\"") == 0) {
        return dur_fail_run(ctx, "Doomed", "by the %s", WORD);
    }
    dur_on_query(ctx, "ask", ask, NULL);
    dur_on_update(ctx, "tell", refuse_null, tell, NULL);
    dur_activity_options quick = {.retry = {.initial_interval_ms = 1}};
    dur_local_options local = {.start_to_close_ms = 10000};
    dur_child_options child = {.workflow_id = "kid", .memo = JSON};
    STEP(dur_side_effect(ctx, say, NULL, &text));
    STEP(dur_mutable_side_effect(ctx, "m", say, NULL, NULL, &text));
    STEP(dur_mutable_side_effect(ctx, "m", say, NULL, NULL, &text));
    STEP(dur_upsert_memo(ctx, "{\"more\":\"" WORD "\"}"));
    STEP(dur_run(ctx, "flaky", input, &text, &quick));
    STEP(dur_run_local(ctx, "echo", text, &text, &local));
    if (dur_run(ctx, "doomed", text, NULL, NULL) != DUR_FAILED ||
        !strstr(dur_failure(ctx)->cause->message, WORD)) {
        return dur_fail_run(ctx, "Wrong", "the failure came without its message");
    }
    dur_future *f = dur_start_child(ctx, "kid", text, &child);
    STEP(dur_child_started(ctx, f, NULL));
    STEP(dur_await(ctx, dur_signal_external(ctx, "kid", "name", JSON), NULL));
    STEP(dur_await(ctx, f, &text));
    STEP(dur_run(ctx, "later", text, &text, NULL));
    STEP(dur_receive(ctx, "word", -1, &text));
    if (strcmp(text, "\"again " WORD "\"") == 0) {
        return dur_continue_as_new(ctx, "\"fail " WORD "\"", NULL);
    }
    *result = text;
    return DUR_OK;
}

/* --- the calls ---------------------------------------------------------------------------------
 */

static void open_target(const char *target, const char *ring)
{
    ring = strcmp(ring, "-") == 0 ? NULL : ring;
    dur_options file = {.keyring_file = ring, .reserve_bytes = -1};
    dur_connect_options server = {.keyring_file = ring};
    int rc = strchr(target, ':') ? dur_connect(&engine, target, &server)
                                 : dur_open(&engine, target, &file);
    returns(engine, "opened", rc, DUR_OK, NULL);
    if (rc != DUR_OK) {
        exit(1);
    }
    dur_register_workflow(engine, "story", story, NULL);
    dur_register_workflow(engine, "kid", kid, NULL);
    dur_register_activity(engine, "flaky", flaky, NULL);
    dur_register_activity(engine, "doomed", doomed, NULL);
    dur_register_activity(engine, "later", later, NULL);
    dur_register_activity(engine, "echo", echo, NULL);
}

static void *serve(void *unused)
{
    (void)unused;
    returns(engine, "served", dur_serve(engine, DUR_UNTIL_STOPPED), DUR_OK, NULL);
    return NULL;
}

/* The token of the activity that waits, once there is one. */
static void take_token(char *out, size_t size)
{
    for (int i = 0; i < WAIT_MS / 10; i++) {
        struct timespec nap = {0, 10 * 1000 * 1000};
        pthread_mutex_lock(&mutex);
        snprintf(out, size, "%s", token);
        token[0] = '\0';
        pthread_mutex_unlock(&mutex);
        if (*out) {
            return;
        }
        nanosleep(&nap, NULL);
    }
    verdict(0, "an activity waits for its outcome", "%s", "none came");
    exit(1);
}

static void ask_all(const char *id)
{
    char *answer = NULL;
    dur_update_options u1 = {.update_id = "u1", .timeout_ms = WAIT_MS};
    dur_update_options other = {.timeout_ms = WAIT_MS};
    returns(engine, "updated", dur_update(engine, id, "tell", JSON, &answer, &u1), DUR_OK, NULL);
    same("the update's result", answer, JSON);
    dur_free(answer);
    answer = NULL;
    returns(engine, "an update fails", dur_update(engine, id, "tell", "0", &answer, &other),
            DUR_FAILED, WORD);
    dur_free(answer);
    answer = NULL;
    returns(engine, "an update is rejected", dur_update(engine, id, "tell", NULL, &answer, &other),
            DUR_REJECTED, WORD);
    dur_free(answer);
    answer = NULL;
    returns(engine, "asked", dur_query(engine, id, "ask", JSON, WAIT_MS, &answer), DUR_OK, NULL);
    same("the answer", answer, JSON);
    dur_free(answer);
}

static void play(const char *id, const char *word)
{
    char it[4096];
    dur_start_options o = {.memo = JSON};
    returns(engine, "started", dur_start(engine, "story", id, JSON, &o), DUR_OK, NULL);
    take_token(it, sizeof(it));
    ask_all(id);
    returns(engine, "heartbeat", dur_complete_heartbeat(engine, it, JSON), DUR_OK, NULL);
    returns(engine, "completed", dur_complete(engine, it, JSON), DUR_OK, NULL);
    returns(engine, "signalled", dur_signal(engine, id, "word", word), DUR_OK, NULL);
}

static void tell_all(void)
{
    pthread_t thread;
    char *result = NULL;
    dur_description *d = NULL;
    pthread_create(&thread, NULL, serve, NULL);
    play("one", JSON);
    returns(engine, "the result comes", dur_result(engine, "one", WAIT_MS, &result), DUR_OK, NULL);
    same("the result", result, JSON);
    dur_free(result);
    play("two", "\"again " WORD "\"");
    returns(engine, "the next run fails", dur_result(engine, "two", WAIT_MS, NULL), DUR_FAILED,
            WORD);
    returns(engine, "described", dur_describe(engine, "one", &d), DUR_OK, NULL);
    verdict(strstr(d->memo, "\"word\":\"" WORD) && strstr(d->memo, "\"more\":\"" WORD),
            "the memo, in whichever order", "%s", d->memo);
    same("the described result", d->result, JSON);
    dur_description_free(d);
    dur_stop(engine);
    pthread_join(thread, NULL);
}

static void look(void)
{
    dur_description *d = NULL;
    returns(engine, "described without the key", dur_describe(engine, "one", &d), DUR_OK, NULL);
    verdict(!strstr(d->memo, WORD) && strstr(d->memo, "sealed"), "its memo", "%s", d->memo);
    verdict(d->status == DUR_COMPLETED, "its status", "%s", dur_status_name(d->status));
    dur_description_free(d);
    returns(engine, "no result without the key", dur_result(engine, "one", WAIT_MS, NULL),
            DUR_INVALID, "sealed with the key");
    returns(engine, "nor a message", dur_result(engine, "two", WAIT_MS, NULL), DUR_FAILED, NULL);
    verdict(!strstr(dur_error(engine), WORD), "of the failure", "%s", dur_error(engine));
}

int main(int argc, char **argv)
{
    char *json = NULL;
    if (argc != 4) {
        return 2;
    }
    if (strcmp(argv[3], "history") == 0) {
        freopen("/dev/null", "w", stdout);
    }
    open_target(argv[1], argv[2]);
    if (strcmp(argv[3], "tell") == 0) {
        tell_all();
    } else if (strcmp(argv[3], "look") == 0) {
        look();
    } else if (dur_history(engine, "one", &json) == DUR_OK) {
        fprintf(stderr, "%s", json);
        dur_free(json);
    }
    dur_close(engine);
    return 0;
}
