/*
 * human-approval - a decision that waits for people: asked, reminded, escalated, decided once.
 *
 *   human-approval DATABASE serve                       do what is due until nothing is open
 *   human-approval DATABASE ask REQUEST CENTS [MS]      each approver has MS milliseconds (3 days)
 *   human-approval DATABASE state REQUEST               who has it now?
 *   human-approval DATABASE approve REQUEST WHO         decide; also: reject
 *   human-approval DATABASE remind REQUEST              a signal: write to the approver again
 *
 * Who does not answer in time is passed over; after the last one the request is rejected. A request
 * outlives every process: nobody has to run while people think.
 */
#include <durable.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const approvers[] = {"ann", "bob", "eve"};
#define APPROVERS ((int)(sizeof(approvers) / sizeof(approvers[0])))

/* Lives in the run's memory, so that it can be asked for when the run is closed. */
struct request {
    int level;           /* whose turn it is */
    int reminders;       /* asked for and not yet sent */
    const char *verdict; /* "approved", "rejected", or NULL */
    const char *by;
};

/* --- what others may ask and do --- */

static int state(dur_ctx *ctx, const char *input, const char **result, void *arg)
{
    const struct request *r = arg;
    (void)input;
    *result = dur_ctx_jsonf(ctx, "{\"verdict\":%q,\"by\":%q,\"waits_for\":%q}", r->verdict, r->by,
                            r->verdict ? NULL : approvers[r->level]);
    return DUR_OK;
}

/* Says no before anything is written down. */
static int may_decide(dur_ctx *ctx, const char *input, void *arg)
{
    const struct request *r = arg;
    const char *by = dur_ctx_json_string(ctx, input, "/by");
    if (r->verdict) {
        return dur_fail_run(ctx, "Decided", "%s has %s it already", r->by, r->verdict);
    }
    if (!by || strcmp(by, approvers[r->level]) != 0) {
        return dur_fail_run(ctx, "NotYours", "it waits for %s", approvers[r->level]);
    }
    return DUR_OK;
}

static int decide(dur_ctx *ctx, const char *input, const char **result, void *arg)
{
    struct request *r = arg;
    r->by = approvers[r->level];
    r->verdict = dur_json_bool(input, "/approved", 0) ? "approved" : "rejected";
    *result = dur_ctx_jsonf(ctx, "%q", r->verdict);
    return DUR_OK;
}

static int remind(dur_ctx *ctx, const char *input, void *arg)
{
    struct request *r = arg;
    (void)ctx;
    (void)input;
    r->reminders++;
    return DUR_OK;
}

/* --- the workflow --- */

static int has_news(void *arg)
{
    const struct request *r = arg;
    return r->verdict || r->reminders > 0;
}

static int tell(dur_ctx *ctx, const char *what, const char *who)
{
    dur_activity_options options = {0};
    options.start_to_close_ms = DUR_MINUTES;
    return dur_run(ctx, "Mail", dur_ctx_jsonf(ctx, "{\"what\":%q,\"to\":%q}", what, who), NULL,
                   &options);
}

/* One approver's time. DUR_OK: decided; DUR_TIMED_OUT: passed over. */
static int ask_one(dur_ctx *ctx, struct request *r, int64_t ms)
{
    int64_t until = dur_now_ns(ctx) / 1000000 + ms;
    int rc = tell(ctx, "please decide", approvers[r->level]);
    while (rc == DUR_OK && !r->verdict) {
        int64_t left = until - dur_now_ns(ctx) / 1000000;
        rc = left > 0 ? dur_wait(ctx, has_news, r, left) : DUR_TIMED_OUT;
        if (rc == DUR_OK && r->reminders > 0 && !r->verdict) {
            r->reminders = 0;
            rc = tell(ctx, "please do decide", approvers[r->level]);
        }
    }
    return r->verdict && rc == DUR_TIMED_OUT ? DUR_OK : rc;
}

static int approval(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    struct request *r = dur_ctx_alloc(ctx, sizeof(*r));
    int64_t ms = dur_json_int(input, "/ms", 3 * DUR_DAYS);
    int rc = DUR_TIMED_OUT;
    (void)user;
    dur_on_query(ctx, "state", state, r);
    dur_on_signal(ctx, "remind", remind, r);
    dur_on_update(ctx, "decide", may_decide, decide, r);
    while ((rc = ask_one(ctx, r, ms)) == DUR_TIMED_OUT && r->level < APPROVERS - 1) {
        r->level++; /* escalate */
    }
    if (rc == DUR_TIMED_OUT) {
        r->verdict = "rejected";
        r->by = "nobody";
        rc = DUR_OK;
    }
    if (rc == DUR_OK) {
        rc = tell(ctx, r->verdict, "the one who asked");
    }
    *result = dur_ctx_jsonf(ctx, "{\"verdict\":%q,\"by\":%q}", r->verdict, r->by);
    return rc;
}

static int mail(dur_activity *act, const char *input, const char **result, void *user)
{
    (void)result;
    (void)user;
    printf("to %s: %s: %s\n", dur_json_string(act, input, "/to"), dur_activity_workflow_id(act),
           dur_json_string(act, input, "/what"));
    fflush(stdout);
    return DUR_OK;
}

/* --- the program --- */

static dur_engine *engine;

static void on_signal(int number)
{
    (void)number;
    dur_stop(engine);
}

static int ask(const char *id, const char *cents, const char *ms)
{
    char input[128];
    snprintf(input, sizeof(input), "{\"cents\":%lld,\"ms\":%lld}", strtoll(cents, NULL, 10),
             ms ? strtoll(ms, NULL, 10) : 3 * DUR_DAYS);
    return dur_start(engine, "Approval", id, input, NULL);
}

static int update(const char *id, int approved, const char *who)
{
    char input[256];
    dur_update_options options = {0};
    char *result = NULL;
    int rc;
    options.timeout_ms = 30 * DUR_SECONDS;
    snprintf(input, sizeof(input), "{\"approved\":%s,\"by\":\"%s\"}", approved ? "true" : "false",
             who);
    rc = dur_update(engine, id, "decide", input, &result, &options);
    if (rc == DUR_OK) {
        printf("%s\n", result);
    }
    dur_free(result);
    return rc;
}

static int query(const char *id)
{
    char *result = NULL;
    int rc = dur_query(engine, id, "state", NULL, 30 * DUR_SECONDS, &result);
    if (rc == DUR_OK) {
        printf("%s\n", result);
    }
    dur_free(result);
    return rc;
}

static int obey(int argc, char **argv)
{
    const char *verb = argc > 2 ? argv[2] : "";
    if (strcmp(verb, "serve") == 0) {
        signal(SIGTERM, on_signal);
        signal(SIGINT, on_signal);
        return dur_serve(engine, DUR_UNTIL_IDLE);
    }
    if (strcmp(verb, "ask") == 0 && argc >= 5) {
        return ask(argv[3], argv[4], argv[5]);
    }
    if (strcmp(verb, "state") == 0 && argc == 4) {
        return query(argv[3]);
    }
    if (strcmp(verb, "remind") == 0 && argc == 4) {
        return dur_signal(engine, argv[3], "remind", NULL);
    }
    if ((strcmp(verb, "approve") == 0 || strcmp(verb, "reject") == 0) && argc == 5) {
        return update(argv[3], strcmp(verb, "approve") == 0, argv[4]);
    }
    fprintf(stderr,
            "usage: %s DATABASE serve | ask REQUEST CENTS [MS] | state REQUEST | "
            "approve REQUEST WHO | reject REQUEST WHO | remind REQUEST\n",
            argv[0]);
    exit(2);
}

int main(int argc, char **argv)
{
    int rc = dur_open(&engine, argc > 1 ? argv[1] : "", NULL);
    if (rc == DUR_OK) {
        dur_register_workflow(engine, "Approval", approval, NULL);
        dur_register_activity(engine, "Mail", mail, NULL);
        rc = obey(argc, argv);
    }
    if (rc != DUR_OK) {
        fprintf(stderr, "%s: %s (%s)\n", argv[0], dur_error(engine), dur_code_name(rc));
    }
    dur_close(engine);
    return rc == DUR_OK ? 0 : 1;
}
