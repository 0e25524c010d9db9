/*
 * test_cli_steps.c - histories as steps: states, times, details.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "base/clock.h"
#include "base/term.h"
#include "cli/steps.h"

#define AT(ms) ((ms)*NS_PER_MS)

static struct admin_event scheduled(int64_t id, int64_t ms, const char *name, const char *input)
{
    return (struct admin_event){
        .id = id, .time_ns = AT(ms), .type = "ActivityTaskScheduled", .name = name, .input = input};
}

static struct admin_event closed(int64_t id, int64_t ms, const char *type, int64_t of,
                                 const char *result, const char *failure)
{
    return (struct admin_event){.id = id,
                                .time_ns = AT(ms),
                                .type = type,
                                .scheduled_id = of,
                                .result = result,
                                .failure = failure};
}
#define DONE(id, ms, of, result) closed((id), (ms), "ActivityTaskCompleted", (of), (result), NULL)

static const char PLAN[] = "{\"commit\":\"3f9c2e1aaaaaaaaa\",\"branch\":\"main\",\"gates\":[{},{}],"
                           "\"agent_timeout_ms\":60000}";

#define READ(events, over)                                                                         \
    steps_read(arena, &(struct admin_history){.events = (events), .count = ARRAY_LEN(events)},     \
               (over), &steps)

Test(cli_steps, a_run_that_succeeds)
{
    autoarena struct arena *arena = arena_new();
    struct steps steps;
    struct admin_event events[] = {
        scheduled(1, 0, "ValidateRequest", "{}"),
        DONE(2, 100, 1, PLAN),
        scheduled(3, 100, "CreateSandbox", "{\"role\":\"agent\"}"),
        DONE(4, 200, 3, "{\"provider\":\"local\",\"network\":\"cut\"}"),
        scheduled(5, 200, "PrepareSandbox", "{\"role\":\"agent\"}"),
        DONE(6, 300, 5, "{}"),
        scheduled(7, 300, "PrepareRepository", "{}"),
        DONE(8, 400, 7, "{}"),
        scheduled(9, 400, "RunAgent", "{}"),
        DONE(10, 900, 9, "{\"exit_code\":0}"),
        scheduled(11, 900, "CollectArtifacts", "{}"),
        DONE(12, 950, 11, "{\"files\":1,\"additions\":2,\"deletions\":3}"),
        scheduled(13, 950, "CheckGateIntegrity", "{}"),
        DONE(14, 960, 13, "{\"checked\":2,\"tampered\":false}"),
        scheduled(15, 960, "CreateSandbox", "{\"role\":\"verify\"}"),
        DONE(16, 970, 15, "{\"provider\":\"local\"}"),
        scheduled(17, 970, "PrepareRepository", "{\"tree\":\"abc\"}"),
        DONE(18, 980, 17, "{}"),
        scheduled(19, 980, "RunGate", "{\"gate\":\"build\"}"),
        DONE(20, 1880, 19, "{\"id\":\"build\",\"passed\":true,\"duration_ms\":900}"),
        scheduled(21, 1880, "DestroySandbox", "{}"),
        DONE(22, 1980, 21, "{\"destroyed\":2,\"remaining_sandboxes\":0}"),
    };
    READ(events, true);
    for (int i = 0; i < STEP_COUNT; i++) {
        cr_assert_eq(steps.step[i].state, STEP_DONE, "%s", steps.step[i].name);
    }
    cr_assert_eq(steps.current, -1);
    cr_assert_eq(steps.gate_count, 2);
    cr_assert_eq(steps.agent_timeout_ms, 60000);
    cr_assert_eq(steps.step[STEP_SANDBOX].ended_ns - steps.step[STEP_SANDBOX].started_ns, AT(200));
    cr_assert_eq(steps.step[STEP_GATES].started_ns, AT(960));
    cr_assert_str_eq(steps.step[STEP_SANDBOX].detail, "local, network cut");
    cr_assert_str_eq(steps.step[STEP_REPOSITORY].detail, "3f9c2e1 (main)");
    cr_assert_str_eq(steps.step[STEP_AGENT].detail, "exit 0");
    cr_assert_str_eq(steps.step[STEP_COLLECT].detail, "1 file, +2 −3");
    cr_assert_str_eq(steps.step[STEP_GATES].detail, "build 0.9s");
    cr_assert_str_eq(steps.step[STEP_CLEANUP].detail, "2 sandboxes, 0 remain");
}

Test(cli_steps, under_way)
{
    autoarena struct arena *arena = arena_new();
    struct steps steps;
    struct admin_event events[] = {
        scheduled(1, 0, "ValidateRequest", "{}"),
        DONE(2, 100, 1, PLAN),
        scheduled(3, 100, "RunAgent", "{}"),
        {.id = 4, .type = "WorkflowExecutionCancelRequested"},
    };
    READ(events, false);
    cr_assert_eq(steps.current, STEP_AGENT);
    cr_assert_eq(steps.step[STEP_VALIDATE].state, STEP_DONE);
    cr_assert_eq(steps.step[STEP_AGENT].state, STEP_CURRENT);
    cr_assert_eq(steps.step[STEP_GATES].state, STEP_UPCOMING);
    cr_assert(steps.cancel_requested);
}

Test(cli_steps, what_fails_is_marked)
{
    static const struct {
        const char *activity, *type, *result, *failure, *detail;
        int step;
    } cases[] = {
        {"ValidateRequest", "ActivityTaskFailed", NULL, "rev \"x\":\033[31m no", "rev \"x\": no",
         STEP_VALIDATE},
        {"RunAgent", "ActivityTaskCompleted", "{\"exit_code\":3}", NULL, "exit 3", STEP_AGENT},
        {"RunAgent", "ActivityTaskCompleted", "{\"exit_code\":-1,\"lost\":true}", NULL, "killed",
         STEP_AGENT},
        {"RunAgent", "ActivityTaskCompleted", "{\"exit_code\":143,\"timed_out\":true}", NULL,
         "its time was up", STEP_AGENT},
        {"RunAgent", "ActivityTaskCompleted",
         "{\"exit_code\":0,\"blocked\":true,\"blocked_reason\":\"no key\"}", NULL,
         "blocked: no key", STEP_AGENT},
        {"RunAgent", "ActivityTaskCanceled", NULL, NULL, "cancelled", STEP_AGENT},
        {"RunAgent", "ActivityTaskTimedOut", NULL, NULL, "timed out", STEP_AGENT},
        {"CheckGateIntegrity", "ActivityTaskCompleted",
         "{\"checked\":2,\"tampered\":true,\"summary\":\"test.sh\"}", NULL, "changed: test.sh",
         STEP_AUDIT},
        {"RunGate", "ActivityTaskCompleted", "{\"id\":\"t\",\"passed\":false,\"exit_code\":1}",
         NULL, "t exit 1", STEP_GATES},
        {"DestroySandbox", "ActivityTaskCompleted", "{\"destroyed\":1,\"remaining_sandboxes\":1}",
         NULL, "1 sandbox, 1 remains", STEP_CLEANUP},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        autoarena struct arena *arena = arena_new();
        struct steps steps;
        struct admin_event events[] = {
            scheduled(1, 0, cases[i].activity, "{}"),
            closed(2, 5, cases[i].type, 1, cases[i].result, cases[i].failure),
        };
        READ(events, true);
        cr_assert_eq(steps.step[cases[i].step].state, STEP_FAILED, "case %zu", i);
        cr_assert_str_eq(steps.step[cases[i].step].detail, cases[i].detail);
    }
}

Test(cli_steps, an_advisory_gate_fails_nothing)
{
    autoarena struct arena *arena = arena_new();
    struct steps steps;
    struct admin_event events[] = {
        scheduled(1, 0, "RunGate", "{\"gate\":\"lint\"}"),
        DONE(2, 5, 1, "{\"id\":\"lint\",\"passed\":false,\"exit_code\":1,\"mandatory\":false}"),
    };
    READ(events, true);
    cr_assert_eq(steps.step[STEP_GATES].state, STEP_DONE);
}

Test(cli_steps, nonsense_is_survived)
{
    autoarena struct arena *arena = arena_new();
    struct steps steps;
    struct admin_event events[] = {
        scheduled(1, 0, "SomethingElse", NULL),
        closed(2, 1, "ActivityTaskCompleted", 1, "not json", NULL),
        closed(3, 1, "ActivityTaskCompleted", 99, "{}", NULL),
        scheduled(4, 2, "RunAgent", "[1"),
        closed(5, 3, "ActivityTaskCompleted", 4, "17", NULL),
        scheduled(6, 2, "ValidateRequest", NULL),
        closed(7, 3, "ActivityTaskCompleted", 6, NULL, NULL),
    };
    READ(events, false);
    cr_assert_eq(steps.step[STEP_AGENT].state, STEP_FAILED);
    cr_assert_str_eq(steps.commit, "");
}

Test(cli_steps, a_line_fits)
{
    struct step step = {
        .name = "repository", .state = STEP_DONE, .started_ns = 1, .ended_ns = AT(754321000)};
    for (size_t columns = 40; columns <= 200; columns++) {
        struct str out = {0};
        steps_print(&out, &step, 0, "3f9c2e1 (日本語のとても長い枝の名前です) and more and more",
                    columns, false);
        cr_assert_leq(term_columns(str_c(&out), out.len), columns);
        str_free(&out);
    }
}
