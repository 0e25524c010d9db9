/*
 * engine_start.c - factory engine start: a run of any workflow.
 *
 * Owns: this verb, all that dur_start_options can say, and waiting for the run's end. The run is
 * durable before anything is printed, whether or not an engine serves.
 * Tests: tests/cli/t0712-engine-start.sh
 */
#include <stdlib.h>

#include "base/json.h"
#include "cli/exitcode.h"
#include "cli/format.h"
#include "cli/verb.h"

static const struct cmd_option options[] = {
    VERB_PLACE,
    VERB_JSON,
    {"input", 'i', "JSON", "what the workflow is given"},
    {"task-queue", 'q', "NAME", "of its workflow tasks (default)"},
    {"id-conflict", 0, "POLICY",
     "a run with the id is open: fail, use-existing, terminate-existing"},
    {"id-reuse", 0, "POLICY", "a closed run had the id: allow, failed-only, reject"},
    {"memo", 0, "JSON", "an object that list and describe show"},
    {"search-attributes", 0, "JSON", "an object that filters can ask for"},
    {"execution-timeout", 0, "TIME", "of the whole chain of runs"},
    {"run-timeout", 0, "TIME", "of one run"},
    {"task-timeout", 0, "TIME", "of one workflow task (10s)"},
    {"start-delay", 0, "TIME", "its code begins so much later"},
    {"cron", 0, "SPEC", "run again and again, such as \"0 3 * * *\""},
    {"max-attempts", 0, "N", "of the run as a whole, when it fails"},
    {"retry-interval", 0, "TIME", "before the second attempt (1s); doubles"},
    {"priority", 0, "N", "1 high to 5 low"},
    {"request-id", 0, "ID", "started once, however often it is asked for"},
    {"signal", 0, "NAME", "signal the run, started now or open before"},
    {"signal-input", 0, "JSON", "what the signal carries"},
    {"wait", 'w', NULL, "until it is over; prints its result"},
    {0}};

/* One of words, or an error: *ret is its place. */
static int read_word(const struct args *args, const char *option, const char *const *words,
                     int count, int *ret)
{
    const char *word = args_get(args, option);
    if (!word) {
        return EXIT_OK;
    }
    for (int i = 0; i < count; i++) {
        if (str_eq(word, words[i])) {
            *ret = i;
            return EXIT_OK;
        }
    }
    const char *near = str_nearest(word, words, (size_t)count);
    return cli_error(EXIT_USAGE, "engine start: --%s: no policy %s%s%s%s", option, word,
                     near ? "; did you mean " : ", see --help", near ? near : "", near ? "?" : "");
}

static int read_policies(const struct args *args, dur_start_options *o)
{
    static const char *const conflicts[] = {"fail", "use-existing", "terminate-existing"};
    static const char *const reuses[] = {"allow", "failed-only", "reject"};
    int conflict = DUR_CONFLICT_FAIL, reuse = DUR_REUSE_ALLOW;
    int status = read_word(args, "id-conflict", conflicts, ARRAY_LEN(conflicts), &conflict);
    status = status ? status : read_word(args, "id-reuse", reuses, ARRAY_LEN(reuses), &reuse);
    o->conflict = (dur_conflict)conflict;
    o->reuse = (dur_reuse)reuse;
    return status;
}

static int read_times(struct cli *cli, const struct args *args, dur_start_options *o)
{
    const struct {
        const char *option;
        int64_t *target;
    } times[] = {{"execution-timeout", &o->execution_timeout_ms},
                 {"run-timeout", &o->run_timeout_ms},
                 {"task-timeout", &o->task_timeout_ms},
                 {"start-delay", &o->start_delay_ms}};
    for (size_t i = 0; i < ARRAY_LEN(times); i++) {
        long long ms = 0;
        int status = args_duration_ms(cli, args, times[i].option, &ms);
        if (status != EXIT_OK) {
            return status;
        }
        *times[i].target = ms;
    }
    return EXIT_OK;
}

/* retry: the caller's, when it is asked for. */
static int read_options(struct cli *cli, const struct args *args, dur_retry_policy *retry,
                        dur_start_options *o)
{
    long long attempts = 0, interval_ms = 0, priority = 0;
    int status = read_policies(args, o);
    if (status || (status = read_times(cli, args, o)) ||
        (status = args_number(cli, args, "max-attempts", 1, INT32_MAX, &attempts)) ||
        (status = args_duration_ms(cli, args, "retry-interval", &interval_ms)) ||
        (status = args_number(cli, args, "priority", 1, 5, &priority))) {
        return status;
    }
    o->task_queue = args_get(args, "task-queue");
    o->memo = args_get(args, "memo");
    o->search_attributes = args_get(args, "search-attributes");
    o->cron = args_get(args, "cron");
    o->request_id = args_get(args, "request-id");
    o->priority = (int)priority;
    if (attempts || interval_ms) {
        retry->maximum_attempts = (int)attempts;
        retry->initial_interval_ms = interval_ms;
        o->retry = retry;
    }
    if (args_get(args, "signal-input") && !args_get(args, "signal")) {
        return cli_error(EXIT_USAGE, "engine start: --signal-input goes with --signal");
    }
    return EXIT_OK;
}

static int wait_for_end(struct cli *cli, const struct args *args, const char *id)
{
    autostr struct str out = {0};
    char *result = NULL;
    int rc = dur_result(cli->engine, id, -1, &result);
    if (rc != DUR_OK) {
        return verb_fail(cli, rc);
    }
    const char *text = result ? result : "null";
    if (args_has(args, "json")) {
        struct json_out w = cli_json_begin(&out);
        json_kv_str(&w, "id", id);
        json_kv_raw(&w, "result", text, strlen(text));
        json_end_object(&w);
    } else {
        str_add(&out, text);
    }
    str_addc(&out, '\n');
    cli_print(&out);
    dur_free(result);
    return EXIT_OK;
}

static int exec(struct cli *cli, struct args *args)
{
    const char *type = args->words[0], *id = args->words[1];
    const char *input = args_get(args, "input"), *signal = args_get(args, "signal");
    dur_retry_policy retry = {0};
    dur_start_options o = {0};
    dur_description *d = NULL;
    int status = read_options(cli, args, &retry, &o);
    if (status != EXIT_OK || (status = verb_open(cli, args, true)) != EXIT_OK) {
        return status;
    }
    int rc = signal ? dur_signal_with_start(cli->engine, type, id, input, signal,
                                            args_get(args, "signal-input"), &o)
                    : dur_start(cli->engine, type, id, input, &o);
    if (rc != DUR_OK) {
        return verb_fail(cli, rc);
    }
    if (args_has(args, "wait")) {
        return wait_for_end(cli, args, id);
    }
    rc = dur_describe(cli->engine, id, &d);
    if (rc != DUR_OK) {
        return verb_fail(cli, rc);
    }
    status = verb_done(cli, args, id, "%s: %s, run %s", id,
                       signal       ? "signalled"
                       : o.conflict ? "open"
                                    : "started",
                       d->run_id);
    dur_description_free(d);
    return status;
}

const struct cmd verb_start = {
    .name = "engine start",
    .words = "TYPE WORKFLOW",
    .summary = "start a run of any workflow",
    .min_words = 2,
    .max_words = 2,
    .options = options,
    .exec = exec,
};
