/*
 * steps.c - see steps.h.
 * Tests: tests/unit/test_cli_steps.c
 */
#include "cli/steps.h"

#include <string.h>

#include "base/json.h"
#include "cli/format.h"

#define NAME_COLUMNS 12
#define TIME_COLUMNS 8
#define COMMIT_SHOWN 7

static const char *const names[STEP_COUNT] = {"validate", "sandbox", "repository", "agent",
                                              "collect",  "audit",   "gates",      "cleanup"};

static const struct {
    const char *activity;
    int step;         /* -1: of no step */
    int verification; /* when it serves the gates' sandbox */
} owners[] = {
    {"ValidateRequest", STEP_VALIDATE, STEP_VALIDATE},
    {"CreateSandbox", STEP_SANDBOX, STEP_GATES},
    {"PrepareSandbox", STEP_SANDBOX, STEP_GATES},
    {"PrepareRepository", STEP_REPOSITORY, STEP_GATES},
    {"WriteInventory", STEP_REPOSITORY, STEP_GATES},
    {"RunAgent", STEP_AGENT, STEP_AGENT},
    {"CollectArtifacts", STEP_COLLECT, STEP_COLLECT},
    {"CheckGateIntegrity", STEP_AUDIT, STEP_AUDIT},
    {"RunGate", STEP_GATES, STEP_GATES},
    {"CollectDrift", STEP_GATES, STEP_GATES},
    {"DestroySandbox", STEP_CLEANUP, STEP_CLEANUP},
    {"FinalizeResult", STEP_CLEANUP, STEP_CLEANUP},
};

static const struct json *parse(struct arena *arena, const char *text)
{
    const struct json *root = NULL;
    return text && json_parse(arena, text, strlen(text), &root, NULL) == 0 ? root : NULL;
}

static int step_of(struct arena *arena, const struct admin_event *scheduled)
{
    const struct json *input = parse(arena, scheduled->input);
    bool gates = str_eq(json_get_str(input, "role"), "verify") || json_get(input, "tree");
    for (size_t i = 0; i < ARRAY_LEN(owners); i++) {
        if (str_eq(owners[i].activity, scheduled->name)) {
            return gates ? owners[i].verification : owners[i].step;
        }
    }
    return -1;
}

/* --- what is said about a step: from the results of its activities ---------------------------- */

struct reader {
    struct arena *arena;
    struct steps *steps;
};

static const char *take(struct reader *r, struct str *text)
{
    return arena_strdup(r->arena, str_c(text));
}

static void say_validated(struct reader *r, const struct json *plan)
{
    const struct json *gates = json_get(plan, "gates");
    const char *commit = json_get_str(plan, "commit");
    const char *branch = json_get_str(plan, "branch"), *asked = json_get_str(plan, "revision");
    autostr struct str text = {0};
    r->steps->commit = arena_strdup(r->arena, commit ? commit : "");
    json_get_i64(plan, "agent_timeout_ms", &r->steps->agent_timeout_ms);
    r->steps->gate_count = gates ? (int64_t)gates->count : 0;
    str_addn(&text, r->steps->commit, strnlen(r->steps->commit, COMMIT_SHOWN));
    const char *name = branch && *branch ? branch : asked;
    if (name && *name && !str_starts(r->steps->commit, name)) {
        str_add(&text, " (");
        format_clean(&text, name, strlen(name));
        str_add(&text, ")");
    }
    r->steps->step[STEP_REPOSITORY].detail = take(r, &text);
}

static void say_sandbox(struct reader *r, const struct json *made)
{
    const char *provider = json_get_str(made, "provider"), *network = json_get_str(made, "network");
    r->steps->step[STEP_SANDBOX].detail =
        arena_printf(r->arena, "%s%s%s", provider ? provider : "", network ? ", network " : "",
                     network ? network : "");
}

static bool say_agent(struct reader *r, const struct json *result)
{
    bool timed_out = false, blocked = false;
    int64_t exit_code = -1;
    autostr struct str text = {0};
    const char *reason = json_get_str(result, "blocked_reason");
    json_get_bool(result, "timed_out", &timed_out);
    json_get_bool(result, "blocked", &blocked);
    json_get_i64(result, "exit_code", &exit_code);
    if (blocked) {
        str_add(&text, "blocked: ");
        format_clean(&text, reason ? reason : "no reason given",
                     strlen(reason ? reason : "no reason given"));
    } else if (timed_out) {
        str_add(&text, "its time was up");
    } else if (exit_code < 0) {
        str_add(&text, "killed");
    } else {
        str_addf(&text, "exit %lld", (long long)exit_code);
    }
    r->steps->step[STEP_AGENT].detail = take(r, &text);
    return !blocked && !timed_out && exit_code == 0;
}

static void say_collected(struct reader *r, const struct json *result)
{
    int64_t files = 0, additions = 0, deletions = 0;
    autostr struct str text = {0};
    json_get_i64(result, "files", &files);
    json_get_i64(result, "additions", &additions);
    json_get_i64(result, "deletions", &deletions);
    if (files) {
        format_count(&text, files, "file");
        str_addf(&text, ", +%lld −%lld", (long long)additions, (long long)deletions);
    } else {
        str_add(&text, "nothing was changed");
    }
    r->steps->step[STEP_COLLECT].detail = take(r, &text);
}

static bool say_audit(struct reader *r, const struct json *result)
{
    int64_t checked = 0;
    bool tampered = false;
    autostr struct str text = {0};
    const char *summary = json_get_str(result, "summary");
    json_get_i64(result, "checked", &checked);
    json_get_bool(result, "tampered", &tampered);
    if (summary && *summary) {
        str_add(&text, "changed: ");
        format_clean(&text, summary, strlen(summary));
    } else {
        format_count(&text, checked, "protected path");
        str_add(&text, checked == 1 ? " as it was" : " as they were");
    }
    r->steps->step[STEP_AUDIT].detail = take(r, &text);
    return !tampered;
}

static bool say_gate(struct reader *r, const struct json *result)
{
    int64_t exit_code = -1, ms = 0;
    bool passed = false, timed_out = false, mandatory = true;
    struct step *step = &r->steps->step[STEP_GATES];
    autostr struct str text = {0};
    const char *id = json_get_str(result, "id");
    json_get_i64(result, "exit_code", &exit_code);
    json_get_i64(result, "duration_ms", &ms);
    json_get_bool(result, "passed", &passed);
    json_get_bool(result, "timed_out", &timed_out);
    json_get_bool(result, "mandatory", &mandatory);
    str_addf(&text, "%s%s%s ", step->detail, *step->detail ? " · " : "", id ? id : "?");
    if (passed) {
        format_duration(&text, ms * 1000000);
    } else if (timed_out || exit_code < 0) {
        str_add(&text, timed_out ? "timed out" : "did not run");
    } else {
        str_addf(&text, "exit %lld", (long long)exit_code);
    }
    step->detail = take(r, &text);
    return passed || !mandatory;
}

static bool say_cleanup(struct reader *r, const struct json *result)
{
    int64_t destroyed = 0, remaining = 0;
    autostr struct str text = {0};
    json_get_i64(result, "destroyed", &destroyed);
    json_get_i64(result, "remaining_sandboxes", &remaining);
    format_count(&text, destroyed, "sandbox");
    str_addf(&text, ", %lld %s", (long long)remaining, remaining == 1 ? "remains" : "remain");
    r->steps->step[STEP_CLEANUP].detail = take(r, &text);
    return remaining == 0;
}

/* False: what it was to reach was not reached. */
static bool say(struct reader *r, const char *activity, int step, const char *result)
{
    const struct json *root = parse(r->arena, result);
    if (str_eq(activity, "ValidateRequest")) {
        say_validated(r, root);
    } else if (str_eq(activity, "CreateSandbox") && step == STEP_SANDBOX) {
        say_sandbox(r, root);
    } else if (str_eq(activity, "RunAgent")) {
        return say_agent(r, root);
    } else if (str_eq(activity, "CollectArtifacts")) {
        say_collected(r, root);
    } else if (str_eq(activity, "CheckGateIntegrity")) {
        return say_audit(r, root);
    } else if (str_eq(activity, "RunGate")) {
        return say_gate(r, root);
    } else if (str_eq(activity, "DestroySandbox")) {
        return say_cleanup(r, root);
    }
    return true;
}

/* --- events ----------------------------------------------------------------------------------- */

static void on_scheduled(struct reader *r, const struct admin_event *event)
{
    int index = step_of(r->arena, event);
    if (index < 0) {
        return;
    }
    struct step *step = &r->steps->step[index];
    step->started_ns = step->started_ns ? step->started_ns : event->time_ns;
    step->ended_ns = 0;
    step->activity = event->name;
    for (int i = 0; i < STEP_COUNT; i++) {
        if (r->steps->step[i].state == STEP_CURRENT && i != index) {
            r->steps->step[i].state = STEP_DONE;
        }
    }
    if (step->state != STEP_FAILED) {
        step->state = STEP_CURRENT;
    }
    r->steps->current = index;
    r->steps->current_gate =
        str_eq(event->name, "RunGate") ? json_get_str(parse(r->arena, event->input), "gate") : NULL;
}

static void on_closed(struct reader *r, const struct admin_event *scheduled,
                      const struct admin_event *event)
{
    int index = step_of(r->arena, scheduled);
    if (index < 0) {
        return;
    }
    struct step *step = &r->steps->step[index];
    step->ended_ns = event->time_ns;
    if (str_eq(event->type, "ActivityTaskCompleted")) {
        if (!say(r, scheduled->name, index, event->result)) {
            step->state = STEP_FAILED;
        }
        return;
    }
    step->state = STEP_FAILED;
    if (event->failure) {
        autostr struct str text = {0};
        format_clean(&text, event->failure, strlen(event->failure));
        step->detail = take(r, &text);
    } else {
        step->detail = str_eq(event->type, "ActivityTaskCanceled") ? "cancelled" : "timed out";
    }
}

static bool closes_activity(const char *type)
{
    return str_eq(type, "ActivityTaskCompleted") || str_eq(type, "ActivityTaskFailed") ||
           str_eq(type, "ActivityTaskTimedOut") || str_eq(type, "ActivityTaskCanceled");
}

void steps_read(struct arena *arena, const struct admin_history *history, bool is_over,
                struct steps *ret)
{
    struct reader r = {.arena = arena, .steps = ret};
    *ret = (struct steps){.commit = "", .gate_count = -1, .current = -1};
    for (int i = 0; i < STEP_COUNT; i++) {
        ret->step[i].name = names[i];
        ret->step[i].detail = "";
    }
    for (size_t i = 0; i < history->count; i++) {
        const struct admin_event *event = &history->events[i];
        if (str_eq(event->type, "ActivityTaskScheduled")) {
            on_scheduled(&r, event);
        } else if (closes_activity(event->type) && event->scheduled_id > 0 &&
                   event->scheduled_id <= (int64_t)history->count) {
            on_closed(&r, &history->events[event->scheduled_id - 1], event);
        } else if (str_eq(event->type, "WorkflowExecutionCancelRequested")) {
            ret->cancel_requested = true;
        }
    }
    if (is_over) {
        if (ret->current >= 0 && ret->step[ret->current].state == STEP_CURRENT) {
            ret->step[ret->current].state = STEP_DONE;
        }
        ret->current = -1;
    }
}

void steps_print(struct str *out, const struct step *step, int64_t now_ns, const char *detail,
                 size_t columns, bool colour)
{
    static const struct {
        const char *mark;
        enum colour colour;
    } marks[] = {
        [STEP_UPCOMING] = {"┄", COLOUR_DIM},
        [STEP_CURRENT] = {"●", COLOUR_YELLOW},
        [STEP_DONE] = {"✓", COLOUR_GREEN},
        [STEP_FAILED] = {"✗", COLOUR_RED},
    };
    autostr struct str took = {0}, clean = {0};
    int64_t end = step->ended_ns ? step->ended_ns : now_ns;
    size_t used = 4 + NAME_COLUMNS + TIME_COLUMNS;
    format_duration(&took, step->started_ns ? end - step->started_ns : 0);
    str_add(out, "  ");
    format_colour(out, colour, marks[step->state].colour, marks[step->state].mark);
    str_addc(out, ' ');
    format_pad(out, step->name, NAME_COLUMNS);
    format_spaces(out, took.len < TIME_COLUMNS ? TIME_COLUMNS - took.len : 1);
    str_add(out, str_c(&took));
    format_clean(&clean, detail, strlen(detail));
    if (clean.len && columns > used + 3 + 4) {
        str_add(out, "   ");
        format_cut(out, str_c(&clean), columns - used - 3);
    }
}
