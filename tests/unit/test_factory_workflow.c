/*
 * test_factory_workflow.c - the order of a run, and what every way of failing makes of it.
 *
 * Owns: the real workflow on a real engine with activities that only answer what a test says. Each
 * test is one run in a store of its own; the facts that reach FinalizeResult are what is judged.
 */
#include <criterion/criterion.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/str.h"
#include "factory/activities.h"
#include "factory/workflow.h"
#include "tests/lib/temp_path.h"

#define RUN "factory-run-r1"
#define GATE(id, mandatory) "{\"id\":\"" id "\",\"mandatory\":" mandatory ",\"timeout_ms\":60000}"
#define GATES "[" GATE("build", "true") "," GATE("test", "true") "," GATE("style", "false") "]"
#define PLAN(total, verification, fresh, stop)                                                     \
    "{\"commit\":\"c0ffee0123456789\",\"profile\":\"default\",\"total_timeout_ms\":" total         \
    ",\"agent_timeout_ms\":60000,\"verification_timeout_ms\":" verification                        \
    ",\"fresh_sandbox\":" fresh ",\"stop_on_failure\":" stop ",\"gates\":" GATES "}"
#define GOOD_ORDER                                                                                 \
    "ValidateRequest CreateSandbox:agent PrepareSandbox:agent PrepareRepository:sbx-agent "        \
    "WriteInventory RunAgent CollectArtifacts CheckGateIntegrity CreateSandbox:verify "            \
    "PrepareSandbox:verify PrepareRepository:sbx-verify RunGate:build RunGate:test RunGate:style " \
    "CollectDrift DestroySandbox FinalizeResult"

enum behaviour {
    ANSWER,
    FAIL,        /* permanently, as type says */
    FAIL_ONCE,   /* transiently, then answers */
    CANCEL,      /* asks for the run's cancellation and waits for its own */
    CANCEL_LATE, /* the same, but ends well */
    HANG,        /* until it is cancelled */
    SLOW,        /* 30 ms */
};

/* What activities do; key is a name, or "NAME:detail" for one of several. */
struct act {
    const char *key;
    enum behaviour behaviour;
    const char *answer; /* NULL: the usual */
    const char *type;   /* of a failure; NULL: "Test" */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct str order;
static struct str facts_text;
static const struct act *script; /* ends with a zeroed entry */
static dur_engine *engine;

static const char *usual(dur_activity *act, const char *name, const char *input)
{
    if (str_eq(name, "ValidateRequest")) {
        return PLAN("600000", "600000", "true", "false");
    }
    if (str_eq(name, "CreateSandbox")) {
        autofree char *id = mem_printf("sbx-%s", dur_json_string(act, input, "/role"));
        return dur_jsonf(act, "{\"sandbox_id\":%q,\"network\":\"cut\"}", id);
    }
    if (str_eq(name, "RunAgent")) {
        return "{\"exit_code\":0}";
    }
    if (str_eq(name, "CollectArtifacts")) {
        return "{\"tree\":\"t1\",\"patch_bytes\":5,\"files\":1}";
    }
    if (str_eq(name, "CheckGateIntegrity")) {
        return "{\"tampered\":false,\"checked\":2,\"summary\":\"\",\"verify_tree\":\"t1\"}";
    }
    if (str_eq(name, "RunGate")) {
        return dur_jsonf(act, "{\"id\":%q,\"passed\":true}", dur_json_string(act, input, "/gate"));
    }
    return str_eq(name, "DestroySandbox") ? "{\"destroyed\":2}" : "{}";
}

static const struct act *look_up(const char *name, const char *whole)
{
    for (const struct act *a = script; a && a->key; a++) {
        if (str_eq(a->key, name) || str_eq(a->key, whole)) {
            return a;
        }
    }
    return NULL;
}

static int wait_for_cancel(dur_activity *act)
{
    while (!dur_activity_cancelled(act, NULL)) {
        clock_sleep_ms(2);
    }
    return DUR_CANCELLED;
}

static int behave(dur_activity *act, const struct act *a)
{
    switch (a ? a->behaviour : ANSWER) {
    case FAIL:
        return dur_fail(act, DUR_PERMANENT, a->type ? a->type : "Test", "%s failed", a->key);
    case FAIL_ONCE:
        return dur_activity_attempt(act) == 1 ? dur_fail(act, DUR_TRANSIENT, "Test", "once")
                                              : DUR_OK;
    case CANCEL:
        cr_assert_eq(dur_cancel(engine, RUN, "enough"), DUR_OK);
        return wait_for_cancel(act);
    case CANCEL_LATE:
        cr_assert_eq(dur_cancel(engine, RUN, "enough"), DUR_OK);
        return DUR_OK;
    case HANG:
        return wait_for_cancel(act);
    case SLOW:
        clock_sleep_ms(30);
        return DUR_OK;
    case ANSWER:
        break;
    }
    return DUR_OK;
}

static int fake(dur_activity *act, const char *input, const char **result, void *user)
{
    const char *name = user;
    const char *gate = dur_json_string(act, input, "/gate");
    const char *role = dur_json_string(act, input, "/role");
    const char *where =
        str_eq(name, "PrepareRepository") ? dur_json_string(act, input, "/sandbox_id") : NULL;
    const char *detail = gate ? gate : role ? role : where;
    autofree char *whole = detail ? mem_printf("%s:%s", name, detail) : mem_strdup(name);
    pthread_mutex_lock(&lock);
    str_addf(&order, "%s%s", order.len ? " " : "", whole);
    if (str_eq(name, "FinalizeResult")) {
        str_reset(&facts_text);
        str_add(&facts_text, input);
    }
    pthread_mutex_unlock(&lock);
    const struct act *a = look_up(name, whole);
    *result = a && a->answer ? a->answer : usual(act, name, input);
    return behave(act, a);
}

/* One run; *ret_memo (may be NULL) is the memo at its end. The workflow itself never fails. */
static void run(const struct act *acts, char **ret_memo)
{
    autofree char *path = temp_path("w.db");
    dur_description *d = NULL;
    char *report = NULL, *history = NULL;
    script = acts;
    cr_assert_eq(dur_open(&engine, path, NULL), DUR_OK, "%s", dur_error(engine));
    cr_assert_eq(dur_register_workflow(engine, WORKFLOW_NAME, workflow_run, NULL), DUR_OK);
#define REGISTER_(name, fn)                                                                        \
    static char name_##name[] = #name;                                                             \
    cr_assert_eq(dur_register_activity(engine, #name, fake, name_##name), DUR_OK);
    ACTIVITY_LIST(REGISTER_)
#undef REGISTER_
    static const char *const lanes[] = {"control", "agent", "gate", "cleanup"};
    for (size_t i = 0; i < ARRAY_LEN(lanes); i++) {
        cr_assert_eq(dur_lane(engine, lanes[i], 2), DUR_OK);
    }
    dur_start_options options = {.task_queue = "control"};
    cr_assert_eq(dur_start(engine, WORKFLOW_NAME, RUN, "{\"run_id\":\"r1\"}", &options), DUR_OK);
    cr_assert_eq(dur_serve(engine, DUR_UNTIL_IDLE), DUR_OK, "%s", dur_error(engine));
    cr_assert_eq(dur_describe(engine, RUN, &d), DUR_OK);
    cr_assert_eq(d->status, DUR_COMPLETED, "%s %s", dur_status_name(d->status), d->failure);
    cr_assert_eq(dur_history(engine, RUN, &history), DUR_OK);
    cr_assert_eq(dur_replay(engine, history, &report), DUR_OK, "%s", report ? report : "");
    if (ret_memo) {
        *ret_memo = mem_strdup(d->memo);
    }
    dur_free(history);
    dur_description_free(d);
    dur_close(engine);
}

static const char *fact(const char *pointer)
{
    static struct arena *arena; /* lives as long as the test's process */
    const struct json *root;
    arena = arena ? arena : arena_new();
    cr_assert_eq(json_parse(arena, str_c(&facts_text), facts_text.len, &root, NULL), 0, "%s",
                 str_c(&facts_text));
    const struct json *value = json_pointer(root, pointer);
    if (!value) {
        return "";
    }
    return value->type == JSON_STRING ? value->text
                                      : arena_strndup(arena, value->raw, value->raw_len);
}

#define EXPECT_FACT(pointer, wanted)                                                               \
    cr_expect_str_eq(fact(pointer), (wanted), "%s: %s instead of %s; %s", (pointer),               \
                     fact(pointer), (wanted), str_c(&facts_text))

static bool called(const char *what)
{
    return strstr(str_c(&order), what) != NULL;
}

static int count_calls(const char *what)
{
    int count = 0;
    for (const char *at = str_c(&order); (at = strstr(at, what)); at++) {
        count++;
    }
    return count;
}

Test(workflow, a_good_run_step_by_step, .timeout = 60)
{
    autofree char *memo = NULL;
    run(NULL, &memo);
    cr_expect_str_eq(str_c(&order), GOOD_ORDER);
    EXPECT_FACT("/factory_result", "SUCCEEDED");
    EXPECT_FACT("/agent_result", "SUCCESS");
    EXPECT_FACT("/verification_result", "SUCCESS");
    EXPECT_FACT("/cleanup_result", "SUCCESS");
    EXPECT_FACT("/cancelled", "false");
    EXPECT_FACT("/sandbox_id", "sbx-agent");
    EXPECT_FACT("/verify_sandbox_id", "sbx-verify");
    EXPECT_FACT("/sandbox/network", "cut");
    EXPECT_FACT("/gates/2/id", "style");
    EXPECT_FACT("/error", "");
    static const char *const parts[] = {
        "\"state\":\"SUCCEEDED\"",        "\"step\":\"done\"",
        "\"condition.Validated\":",       "\"condition.SandboxReady\":",
        "\"condition.AgentCompleted\":",  "\"condition.GateIntegrity\":",
        "\"condition.Verified\":",        "\"condition.CleanupVerified\":",
        "\"condition.EvidenceWritten\":", "\"reason\":\"AllGatesPassed\"",
        "\"agent_result\":\"SUCCESS\"",
    };
    for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
        cr_expect(strstr(memo, parts[i]), "the memo lacks %s: %s", parts[i], memo);
    }
}

/* --- what activities answer
 * ------------------------------------------------------------------------ */

struct verdict_case {
    const char *name;
    struct act acts[4];
    const char *state, *agent, *verification;
};

#define TAMPERED                                                                                   \
    {                                                                                              \
        "CheckGateIntegrity", ANSWER,                                                              \
            "{\"tampered\":true,\"summary\":\"test.sh\",\"verify_tree\":\"t0\"}", NULL             \
    }

static const struct verdict_case verdicts[] = {
    {"exit 3",
     {{"RunAgent", ANSWER, "{\"exit_code\":3}", NULL}},
     "AGENT_FAILED",
     "FAILED",
     "SKIPPED"},
    {"time is up",
     {{"RunAgent", ANSWER, "{\"exit_code\":137,\"timed_out\":true}", NULL}},
     "AGENT_FAILED",
     "TIMED_OUT",
     "SKIPPED"},
    {"lost",
     {{"RunAgent", ANSWER, "{\"exit_code\":-1,\"lost\":true}", NULL}},
     "AGENT_FAILED",
     "FAILED",
     "SKIPPED"},
    {"blocked",
     {{"RunAgent", ANSWER, "{\"exit_code\":0,\"blocked\":true,\"blocked_reason\":\"no\"}", NULL}},
     "BLOCKED",
     "SUCCESS",
     "SKIPPED"},
    {"blocked, exit 1",
     {{"RunAgent", ANSWER, "{\"exit_code\":1,\"blocked\":true}", NULL}},
     "BLOCKED",
     "FAILED",
     "SKIPPED"},
    {"tampered", {TAMPERED}, "GATE_TAMPERED", "SUCCESS", "SKIPPED"},
    {"tampered, agent failed",
     {{"RunAgent", ANSWER, "{\"exit_code\":3}", NULL}, TAMPERED},
     "GATE_TAMPERED",
     "FAILED",
     "SKIPPED"},
    {"tampered, blocked",
     {{"RunAgent", ANSWER, "{\"exit_code\":0,\"blocked\":true}", NULL}, TAMPERED},
     "GATE_TAMPERED",
     "SUCCESS",
     "SKIPPED"},
    {"tampered, cancelled",
     {{"RunAgent", CANCEL, NULL, NULL}, TAMPERED},
     "GATE_TAMPERED",
     "CANCELLED",
     "SKIPPED"},
    {"gate fails",
     {{"RunGate:test", ANSWER, "{\"id\":\"test\",\"passed\":false}", NULL}},
     "VERIFICATION_FAILED",
     "SUCCESS",
     "FAILED"},
    {"advisory gate fails",
     {{"RunGate:style", ANSWER, "{\"id\":\"style\",\"passed\":false}", NULL}},
     "SUCCEEDED",
     "SUCCESS",
     "SUCCESS"},
    {"secret in the patch",
     {{"CollectArtifacts", ANSWER, "{\"tree\":\"t\",\"secret_found\":true}", NULL}},
     "INFRASTRUCTURE_FAILED",
     "SUCCESS",
     "SUCCESS"},
    {"gate fails, cleanup too",
     {{"RunGate:test", ANSWER, "{\"id\":\"test\",\"passed\":false}", NULL},
      {"DestroySandbox", FAIL, NULL, NULL}},
     "VERIFICATION_FAILED",
     "SUCCESS",
     "FAILED"},
    {"host lacks a program",
     {{"ValidateRequest", FAIL, NULL, "ProgramMissing"}},
     "INFRASTRUCTURE_FAILED",
     "SKIPPED",
     "SKIPPED"},
    {"a transient failure is no fact",
     {{"RunAgent", FAIL_ONCE, NULL, NULL}},
     "SUCCEEDED",
     "SUCCESS",
     "SUCCESS"},
};

static void begin_again(void)
{
    str_reset(&order);
    str_reset(&facts_text);
}

Test(workflow, verdicts, .timeout = 120)
{
    for (size_t i = 0; i < ARRAY_LEN(verdicts); i++) {
        const struct verdict_case *c = &verdicts[i];
        begin_again();
        run(c->acts, NULL);
        cr_expect_str_eq(fact("/factory_result"), c->state, "%s: %s", c->name, str_c(&facts_text));
        cr_expect_str_eq(fact("/agent_result"), c->agent, "%s: %s", c->name, fact("/agent_result"));
        cr_expect_str_eq(fact("/verification_result"), c->verification, "%s", c->name);
    }
}

Test(workflow, all_gates_run_whatever_one_says, .timeout = 60)
{
    const struct act acts[] = {
        {"RunGate:build", ANSWER, "{\"id\":\"build\",\"passed\":false}", NULL}, {0}};
    run(acts, NULL);
    cr_expect_str_eq(str_c(&order), GOOD_ORDER);
    EXPECT_FACT("/error", "gates failed: build");
}

Test(workflow, stop_on_failure_leaves_out_the_rest, .timeout = 60)
{
    const struct act acts[] = {
        {"ValidateRequest", ANSWER, PLAN("600000", "600000", "true", "true"), NULL},
        {"RunGate:build", ANSWER, "{\"id\":\"build\",\"passed\":false}", NULL},
        {0},
    };
    run(acts, NULL);
    cr_expect(!called("RunGate:test"));
    EXPECT_FACT("/gates/1/started", "false");
    EXPECT_FACT("/gates/2/mandatory", "false");
    EXPECT_FACT("/error", "gates failed: build, test");
}

Test(workflow, all_gates_share_one_time_limit, .timeout = 60)
{
    const struct act acts[] = {
        {"ValidateRequest", ANSWER, PLAN("600000", "20", "true", "false"), NULL},
        {"RunGate:build", SLOW, NULL, NULL},
        {0}};
    run(acts, NULL);
    cr_expect(called("RunGate:build") && !called("RunGate:test"));
    EXPECT_FACT("/gates/1/error", "not started: verification timeout");
    EXPECT_FACT("/factory_result", "VERIFICATION_FAILED");
}

Test(workflow, gates_in_the_agents_sandbox, .timeout = 60)
{
    const struct act acts[] = {
        {"ValidateRequest", ANSWER, PLAN("600000", "600000", "false", "false"), NULL}, {0}};
    run(acts, NULL);
    cr_expect(!called("CreateSandbox:verify"));
    EXPECT_FACT("/verify_sandbox_id", "sbx-agent");
    EXPECT_FACT("/factory_result", "SUCCEEDED");
}

/* --- every step fails
 * ------------------------------------------------------------------------------ */

static const struct {
    const char *step, *state, *agent, *verification;
} failing[] = {
    {"ValidateRequest", "INVALID_REQUEST", "SKIPPED", "SKIPPED"},
    {"CreateSandbox:agent", "INFRASTRUCTURE_FAILED", "SKIPPED", "SKIPPED"},
    {"PrepareSandbox:agent", "INFRASTRUCTURE_FAILED", "SKIPPED", "SKIPPED"},
    {"PrepareRepository:sbx-agent", "INFRASTRUCTURE_FAILED", "SKIPPED", "SKIPPED"},
    {"WriteInventory", "INFRASTRUCTURE_FAILED", "SKIPPED", "SKIPPED"},
    {"RunAgent", "INFRASTRUCTURE_FAILED", "ERROR", "SKIPPED"},
    {"CollectArtifacts", "INFRASTRUCTURE_FAILED", "SUCCESS", "SKIPPED"},
    {"CheckGateIntegrity", "INFRASTRUCTURE_FAILED", "SUCCESS", "SKIPPED"},
    {"CreateSandbox:verify", "INFRASTRUCTURE_FAILED", "SUCCESS", "ERROR"},
    {"PrepareSandbox:verify", "INFRASTRUCTURE_FAILED", "SUCCESS", "ERROR"},
    {"PrepareRepository:sbx-verify", "INFRASTRUCTURE_FAILED", "SUCCESS", "ERROR"},
    {"RunGate:build", "INFRASTRUCTURE_FAILED", "SUCCESS", "ERROR"},
    {"RunGate:style", "INFRASTRUCTURE_FAILED", "SUCCESS", "ERROR"},
    {"CollectDrift", "INFRASTRUCTURE_FAILED", "SUCCESS", "SUCCESS"},
    {"DestroySandbox", "INFRASTRUCTURE_FAILED", "SUCCESS", "SUCCESS"},
};

Test(workflow, each_step_failing_for_good, .timeout = 120)
{
    for (size_t i = 0; i < ARRAY_LEN(failing); i++) {
        const char *step = failing[i].step;
        const struct act acts[] = {{step, FAIL, NULL, NULL}, {0}};
        begin_again();
        run(acts, NULL);
        cr_expect_str_eq(fact("/factory_result"), failing[i].state, "%s: %s", step,
                         str_c(&facts_text));
        cr_expect_str_eq(fact("/agent_result"), failing[i].agent, "%s", step);
        cr_expect_str_eq(fact("/verification_result"), failing[i].verification, "%s", step);
        cr_expect(strstr(fact("/error"), "failed"), "%s: the error says %s", step, fact("/error"));
        cr_expect_eq(called("DestroySandbox"), i > 0, "%s: cleaned up", step);
        cr_expect_str_eq(fact("/cleanup_result"), i == 0                           ? "SKIPPED"
                                                  : str_eq(step, "DestroySandbox") ? "ERROR"
                                                                                   : "SUCCESS");
        /* The agent may have worked: its tree is collected and checked whatever happened. */
        if (str_eq(step, "RunAgent")) {
            cr_expect(called("CollectArtifacts CheckGateIntegrity"));
        }
    }
}

/* --- cancelled at every step
 * ----------------------------------------------------------------------- */

static void expect_cancelled(const char *step, size_t i, bool before_agent)
{
    cr_expect_str_eq(fact("/factory_result"), "CANCELLED", "%s: %s", step, str_c(&facts_text));
    cr_expect_str_eq(fact("/cancelled"), "true", "%s", step);
    cr_expect_str_eq(fact("/error"), "cancelled: enough", "%s: %s", step, fact("/error"));
    cr_expect_eq(called("DestroySandbox"), i > 0, "%s: cleaned up", step);
    cr_expect_eq(called("CheckGateIntegrity"), !before_agent, "%s: what was changed is checked",
                 step);
    cr_expect(fact("/gates")[0] == '[', "%s: gates %s", step, fact("/gates"));
}

Test(workflow, cancelled_at_each_step, .timeout = 120)
{
    bool before_agent = true;
    for (size_t i = 0; i + 1 < ARRAY_LEN(failing); i++) {
        const char *step = failing[i].step;
        const struct act acts[] = {{step, CANCEL, NULL, NULL}, {0}};
        const struct act once[] = {{step, CANCEL_LATE, NULL, NULL}, {0}};
        /* These are asked again in the ending, where a cancel must not reach them. */
        bool again = str_eq(step, "CollectArtifacts") || str_eq(step, "CheckGateIntegrity");
        before_agent = before_agent && !str_eq(step, "RunAgent");
        begin_again();
        run(again ? once : acts, NULL);
        expect_cancelled(step, i, before_agent);
        cr_expect(!str_eq(step, "RunAgent") || str_eq(fact("/agent_result"), "CANCELLED"));
    }
}

Test(workflow, a_cancelled_gate_is_recorded, .timeout = 60)
{
    const struct act acts[] = {{"RunGate:test", CANCEL, NULL, NULL}, {0}};
    run(acts, NULL);
    EXPECT_FACT("/verification_result", "CANCELLED");
    EXPECT_FACT("/gates/0/passed", "true");
    EXPECT_FACT("/gates/1/error", "cancelled");
    EXPECT_FACT("/gates/2", "");
}

Test(workflow, a_cancel_that_came_too_late_is_still_one, .timeout = 60)
{
    const struct act acts[] = {{"CollectDrift", CANCEL_LATE, NULL, NULL}, {0}};
    run(acts, NULL);
    EXPECT_FACT("/factory_result", "CANCELLED");
    EXPECT_FACT("/verification_result", "SUCCESS");
}

Test(workflow, nothing_stops_the_ending, .timeout = 60)
{
    const struct act acts[] = {{"DestroySandbox", CANCEL_LATE, NULL, NULL}, {0}};
    run(acts, NULL);
    EXPECT_FACT("/factory_result", "SUCCEEDED");
    EXPECT_FACT("/cleanup_result", "SUCCESS");
    cr_expect_eq(count_calls("FinalizeResult"), 1);
}

Test(workflow, the_total_time_out, .timeout = 60)
{
    const struct act acts[] = {
        {"ValidateRequest", ANSWER, PLAN("300", "600000", "true", "false"), NULL},
        {"RunAgent", HANG, NULL, NULL},
        {0}};
    run(acts, NULL);
    EXPECT_FACT("/factory_result", "INFRASTRUCTURE_FAILED");
    EXPECT_FACT("/total_timed_out", "true");
    EXPECT_FACT("/cancelled", "false");
    EXPECT_FACT("/agent_result", "CANCELLED");
    EXPECT_FACT("/error", "the run's total time-out passed during agent");
    cr_expect(called("CollectArtifacts CheckGateIntegrity DestroySandbox FinalizeResult"));
}
