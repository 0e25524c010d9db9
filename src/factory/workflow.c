/*
 * workflow.c - the order of a run, and how it ends.
 *
 *   validate ─ create ─ prepare ─ repository ─ inventory ─ agent ─ collect ─ gate integrity ─
 * verify (create, prepare, repository in a fresh sandbox; one activity a gate; drift) ─ body ends
 *   body ended early, in whatever way: what the agent changed is still collected and checked
 *   whatever happened: destroy every sandbox of the run and look that none is left ─ finalize
 *
 * Owns: which step follows which, what a failure of each means as a fact, and the total time-out.
 * The verdict is not decided here (verdict.c). Must not: do I/O, read a clock, or look at
 * configuration: all it knows are the request and activity results. The body runs in a scope of its
 * own, so that cancelling it never reaches the ending, which runs disconnected. Return convention
 * of steps: 0 go on, STOP the body ends here, <0 a code to forward. Tests:
 * tests/unit/test_factory_workflow.c, tests/cli/
 */
#include "factory/workflow.h"

#include <string.h>

#include "base/json.h"
#include "factory/flow.h"

#define STOP 1
#define SLACK_MS (2 * DUR_MINUTES) /* an agent's or gate's own time limit acts first */

/* A step that the run needs failed for good. */
static int infrastructure(struct flow *f, int rc, const char *condition, const char *reason)
{
    if (rc != DUR_FAILED) {
        return rc; /* cancelled or unwinding */
    }
    f->facts.infrastructure_failed = true;
    flow_condition(f, condition, "False", reason, "%s", flow_failure(f));
    flow_error(f, "%s: %s", f->step, flow_failure(f));
    return STOP;
}

static int step_validate(struct flow *f)
{
    flow_step(f, "validate");
    int rc = flow_run(f, CLASS_VALIDATE, "ValidateRequest", f->request, &f->plan, 0);
    if (rc == DUR_FAILED && flow_failure_is_of_host(f)) {
        return infrastructure(f, rc, "Validated", "ValidationFailed");
    }
    if (rc == DUR_FAILED) {
        f->facts.invalid_request = true;
        flow_condition(f, "Validated", "False", "PolicyRejected", "%s", flow_failure(f));
        flow_error(f, "%s", flow_failure(f));
        return STOP;
    }
    if (rc == DUR_OK) {
        flow_condition(f, "Validated", "True", "PolicyAccepted", "commit=%.12s profile=%s",
                       dur_ctx_json_string(f->ctx, f->plan, "/commit"),
                       dur_ctx_json_string(f->ctx, f->plan, "/profile"));
    }
    return rc;
}

/* Make a sandbox for this role and remember its id in *ret_id. */
static int make_sandbox(struct flow *f, const char *role, const char **ret_id)
{
    const char *made, *prepared;
    bool agent = str_eq(role, "agent");
    f->create_tried = true;
    int rc =
        flow_run(f, CLASS_CONTROL, "CreateSandbox",
                 dur_ctx_jsonf(f->ctx, "{\"run_id\":%q,\"role\":%q}", f->run_id, role), &made, 0);
    if (rc != DUR_OK) {
        return rc;
    }
    *ret_id = dur_ctx_json_string(f->ctx, made, "/sandbox_id");
    f->sandbox = agent ? made : f->sandbox;
    flow_condition(f, "SandboxReady", "True", "Created", "%s sandbox=%s", role, *ret_id);
    rc = flow_run(f, CLASS_CONTROL, "PrepareSandbox",
                  dur_ctx_jsonf(f->ctx, "{\"run_id\":%q,\"role\":%q,\"sandbox_id\":%q}", f->run_id,
                                role, *ret_id),
                  &prepared, 0);
    if (rc == DUR_OK && agent) {
        f->prepared = prepared;
    }
    return rc;
}

static int step_sandbox(struct flow *f)
{
    flow_step(f, "sandbox");
    int rc = make_sandbox(f, "agent", &f->sandbox_id);
    if (rc != DUR_OK) {
        return infrastructure(f, rc, f->sandbox_id ? "WorkspacePrepared" : "SandboxReady",
                              f->sandbox_id ? "ProvisionFailed" : "CreateFailed");
    }
    flow_condition(f, "WorkspacePrepared", "True", "Provisioned", "%s", "");
    return DUR_OK;
}

static int step_repository(struct flow *f)
{
    flow_step(f, "repository");
    int rc = flow_run(
        f, CLASS_CONTROL, "PrepareRepository",
        dur_ctx_jsonf(f->ctx, "{\"run_id\":%q,\"sandbox_id\":%q}", f->run_id, f->sandbox_id), NULL,
        0);
    if (rc != DUR_OK) {
        return infrastructure(f, rc, "RepositoryPrepared", "PrepareFailed");
    }
    flow_condition(f, "RepositoryPrepared", "True", "CheckedOut", "sha=%s",
                   dur_ctx_json_string(f->ctx, f->plan, "/commit"));
    flow_step(f, "inventory");
    rc = flow_run(
        f, CLASS_CONTROL, "WriteInventory",
        dur_ctx_jsonf(f->ctx, "{\"run_id\":%q,\"sandbox_id\":%q}", f->run_id, f->sandbox_id), NULL,
        0);
    if (rc != DUR_OK) {
        return infrastructure(f, rc, "InventoryWritten", "WriteFailed");
    }
    flow_condition(f, "InventoryWritten", "True", "Published", "%s", "");
    return DUR_OK;
}

static void judge_agent(struct flow *f)
{
    int64_t exit_code = dur_json_int(f->agent, "/exit_code", -1);
    bool timed_out = dur_json_bool(f->agent, "/timed_out", 0) != 0;
    f->facts.agent = timed_out        ? OUTCOME_TIMED_OUT
                     : exit_code == 0 ? OUTCOME_SUCCESS
                                      : OUTCOME_FAILED;
    if (dur_json_bool(f->agent, "/evidence_missing", 0)) {
        f->facts.evidence_missing = true;
    }
    if (dur_json_bool(f->agent, "/blocked", 0)) {
        const char *reason = dur_ctx_json_string(f->ctx, f->agent, "/blocked_reason");
        f->facts.blocked = true;
        flow_condition(f, "AgentBlocked", "True", "AgentReportedBlocked", "%s",
                       reason ? reason : "");
        flow_condition(f, "AgentCompleted", "False", "Blocked", "exit=%lld", (long long)exit_code);
        flow_error(f, "the agent is blocked: %s", reason ? reason : "no reason given");
        return;
    }
    flow_condition(f, "AgentBlocked", "False", "NotBlocked", "%s", "");
    if (f->facts.agent == OUTCOME_SUCCESS) {
        flow_condition(f, "AgentCompleted", "True", "ExitZero", "exit=0");
        return;
    }
    flow_condition(f, "AgentCompleted", "False", timed_out ? "TimedOut" : "NonZeroExit",
                   "exit=%lld timed_out=%s", (long long)exit_code, timed_out ? "true" : "false");
    flow_error(f, timed_out ? "the agent's time was up" : "the agent exited with status %lld",
               (long long)exit_code);
}

static int step_agent(struct flow *f)
{
    flow_step(f, "agent");
    int rc = flow_run(
        f, CLASS_AGENT, "RunAgent",
        dur_ctx_jsonf(f->ctx, "{\"run_id\":%q,\"sandbox_id\":%q}", f->run_id, f->sandbox_id),
        &f->agent, dur_json_int(f->plan, "/agent_timeout_ms", 0) + SLACK_MS);
    if (rc == DUR_CANCELLED) {
        f->facts.agent = OUTCOME_CANCELLED;
        flow_condition(f, "AgentCompleted", "False", "Cancelled", "%s", "");
        return rc;
    }
    if (rc != DUR_OK) {
        f->facts.agent = rc == DUR_FAILED ? OUTCOME_ERROR : f->facts.agent;
        return infrastructure(f, rc, "AgentCompleted", "ActivityFailed");
    }
    judge_agent(f);
    return DUR_OK;
}

/* Whether protected paths were touched. */
static int check_integrity(struct flow *f)
{
    int rc = flow_run(f, CLASS_CONTROL, "CheckGateIntegrity",
                      dur_ctx_jsonf(f->ctx, "{\"run_id\":%q,\"tree\":%q}", f->run_id,
                                    dur_ctx_json_string(f->ctx, f->collected, "/tree")),
                      &f->integrity, 0);
    if (rc != DUR_OK) {
        return infrastructure(f, rc, "GateIntegrity", "CheckFailed");
    }
    const char *changed = dur_ctx_json_string(f->ctx, f->integrity, "/summary");
    if (dur_json_bool(f->integrity, "/tampered", 0)) {
        f->facts.gate_tampered = true;
        flow_condition(f, "GateIntegrity", "False", "GateModified", "%s", changed);
        flow_error(f, "protected paths were changed: %s", changed);
        return STOP;
    }
    if (changed && *changed) {
        flow_condition(f, "GateIntegrity", "False", "ChangesAllowed", "%s", changed);
        return DUR_OK;
    }
    flow_condition(f, "GateIntegrity", "True", "Unmodified", "checked=%lld",
                   (long long)dur_json_int(f->integrity, "/checked", 0));
    return DUR_OK;
}

/* The tree as it is now, the patch, and the protected paths. Runs in f->ctx: the body's scope, or
 * disconnected after a cancel. */
static int step_collect(struct flow *f)
{
    flow_step(f, "collect");
    int rc = flow_run(
        f, CLASS_CONTROL, "CollectArtifacts",
        dur_ctx_jsonf(f->ctx, "{\"run_id\":%q,\"sandbox_id\":%q}", f->run_id, f->sandbox_id),
        &f->collected, 0);
    if (rc != DUR_OK) {
        return infrastructure(f, rc, "ArtifactsCollected", "CollectFailed");
    }
    flow_condition(f, "ArtifactsCollected", "True", "PatchCaptured", "bytes=%lld files=%lld",
                   (long long)dur_json_int(f->collected, "/patch_bytes", 0),
                   (long long)dur_json_int(f->collected, "/files", 0));
    if (dur_json_bool(f->collected, "/secret_found", 0)) {
        f->facts.evidence_missing = true;
        flow_error(f, "the patch holds a known secret; it is sealed and not delivered");
    }
    return check_integrity(f);
}

/* Where the gates run: a fresh sandbox on baseline + patch, or the agent's own. */
static int prepare_verification(struct flow *f)
{
    flow_step(f, "verify");
    if (!dur_json_bool(f->plan, "/fresh_sandbox", 1)) {
        f->verify_sandbox_id = f->sandbox_id;
        return DUR_OK;
    }
    int rc = make_sandbox(f, "verify", &f->verify_sandbox_id);
    if (rc != DUR_OK) {
        return rc;
    }
    return flow_run(f, CLASS_CONTROL, "PrepareRepository",
                    dur_ctx_jsonf(f->ctx, "{\"run_id\":%q,\"sandbox_id\":%q,\"tree\":%q}",
                                  f->run_id, f->verify_sandbox_id,
                                  dur_ctx_json_string(f->ctx, f->integrity, "/verify_tree")),
                    NULL, 0);
}

struct gate_tally {
    struct str failed;   /* ids of failed mandatory gates, ", " between */
    const char *skip;    /* why the gates that are left are not started, NULL: they are */
    int64_t deadline_ns; /* of all gates together */
};

/* Result of a gate that was not started. */
static const char *not_started(struct flow *f, const char *gate, const char *why)
{
    return dur_ctx_jsonf(
        f->ctx, "{\"id\":%q,\"mandatory\":%b,\"started\":false,\"passed\":false,\"error\":%q}",
        dur_ctx_json_string(f->ctx, gate, "/id"), dur_json_bool(gate, "/mandatory", 1), why);
}

/* One gate within its own time limit and what all of them have left. */
static int try_gate(struct flow *f, const char *gate, struct gate_tally *tally, const char **result)
{
    int64_t left_ms = (tally->deadline_ns - dur_now_ns(f->ctx)) / 1000000;
    int64_t limit_ms = dur_json_int(gate, "/timeout_ms", 0);
    if (!tally->skip && left_ms <= 0) {
        tally->skip = "not started: verification timeout";
    }
    if (tally->skip) {
        *result = not_started(f, gate, tally->skip);
        return DUR_OK;
    }
    limit_ms = limit_ms < left_ms ? limit_ms : left_ms;
    return flow_run(
        f, CLASS_GATE, "RunGate",
        dur_ctx_jsonf(f->ctx, "{\"run_id\":%q,\"sandbox_id\":%q,\"gate\":%q,\"timeout_ms\":%i64}",
                      f->run_id, f->verify_sandbox_id, dur_ctx_json_string(f->ctx, gate, "/id"),
                      limit_ms),
        result, limit_ms + SLACK_MS);
}

static int run_gate(struct flow *f, const char *gate, struct gate_tally *tally)
{
    const char *result = NULL;
    int rc = try_gate(f, gate, tally, &result);
    if (rc == DUR_CANCELLED) {
        result = not_started(f, gate, "cancelled");
    } else if (rc != DUR_OK) {
        return rc;
    }
    str_addf(&f->gates, "%s%s", f->gates.len ? "," : "", result);
    if (!dur_json_bool(result, "/passed", 0) && dur_json_bool(gate, "/mandatory", 1)) {
        str_addf(&tally->failed, "%s%s", tally->failed.len ? ", " : "",
                 dur_ctx_json_string(f->ctx, gate, "/id"));
        if (!tally->skip && dur_json_bool(f->plan, "/stop_on_failure", 0)) {
            tally->skip = "not started: a mandatory gate before it failed";
        }
    }
    return rc;
}

static int run_gates(struct flow *f, struct gate_tally *tally)
{
    autoarena struct arena *arena = arena_new();
    const struct json *plan;
    int rc = json_parse(arena, f->plan, strlen(f->plan), &plan, NULL);
    json_each (gate, rc == 0 ? json_get(plan, "gates") : NULL) {
        const char *text = arena_strndup(arena, gate->raw, gate->raw_len);
        rc = run_gate(f, text, tally);
        if (rc != DUR_OK) {
            break;
        }
    }
    return rc;
}

static int step_verify(struct flow *f)
{
    struct gate_tally tally = {0};
    int rc = prepare_verification(f);
    if (rc == DUR_OK) {
        tally.deadline_ns =
            dur_now_ns(f->ctx) + dur_json_int(f->plan, "/verification_timeout_ms", 0) * 1000000;
        rc = run_gates(f, &tally);
    }
    if (rc != DUR_OK) {
        f->facts.verification = rc == DUR_CANCELLED ? OUTCOME_CANCELLED : OUTCOME_ERROR;
        str_free(&tally.failed);
        return infrastructure(f, rc, "Verified", "VerificationFailed");
    }
    f->facts.verification = tally.failed.len ? OUTCOME_FAILED : OUTCOME_SUCCESS;
    if (tally.failed.len) {
        flow_condition(f, "Verified", "False", "GateFailed", "%s", str_c(&tally.failed));
        flow_error(f, "gates failed: %s", str_c(&tally.failed));
    } else {
        flow_condition(f, "Verified", "True", "AllGatesPassed", "%s", "");
    }
    str_free(&tally.failed);
    flow_step(f, "drift");
    rc = flow_run(f, CLASS_CONTROL, "CollectDrift",
                  dur_ctx_jsonf(f->ctx, "{\"run_id\":%q,\"sandbox_id\":%q,\"tree\":%q}", f->run_id,
                                f->verify_sandbox_id,
                                dur_ctx_json_string(f->ctx, f->integrity, "/verify_tree")),
                  &f->drift, 0);
    if (rc != DUR_OK) {
        return infrastructure(f, rc, "ArtifactsCollected", "DriftFailed");
    }
    return DUR_OK;
}

static int run_steps(struct flow *f)
{
    int rc = step_sandbox(f);
    if (rc == DUR_OK) {
        rc = step_repository(f);
    }
    if (rc == DUR_OK) {
        rc = step_agent(f);
    }
    if (rc == DUR_OK) {
        rc = step_collect(f);
    }
    if (rc == DUR_OK && !f->facts.blocked && f->facts.agent == OUTCOME_SUCCESS) {
        rc = step_verify(f);
    }
    return rc;
}

static int body(dur_ctx *ctx, void *arg, const char **result)
{
    struct flow *f = arg;
    (void)result;
    f->ctx = ctx;
    int rc = run_steps(f);
    return rc == STOP ? DUR_OK : rc;
}

/* The body under its time limit: DUR_OK, DUR_CANCELLED, DUR_UNWIND. */
static int run_body(struct flow *f)
{
    dur_ctx *apart = dur_disconnected(f->root);
    dur_ctx *scope = dur_scope(f->root);
    dur_future *work = dur_go(scope, body, f);
    dur_future *clock = dur_timer(apart, dur_json_int(f->plan, "/total_timeout_ms", 0));
    dur_future *both[] = {work, clock};
    int rc = dur_select(apart, both, 2);
    if (rc == 1) {
        f->facts.total_timed_out = true;
        flow_error(f, "the run's total time-out passed during %s", f->step);
        dur_cancel_scope(scope);
    } else if (rc == 0) {
        dur_cancel_future(apart, clock);
    } else {
        return rc;
    }
    return dur_await(apart, work, NULL);
}

/* The body ended early: what the agent changed is still collected, and always checked. */
static int salvage(struct flow *f)
{
    if (!f->sandbox_id || f->facts.agent == OUTCOME_SKIPPED || f->integrity) {
        return DUR_OK;
    }
    int rc = f->collected ? check_integrity(f) : step_collect(f);
    return rc == STOP ? DUR_OK : rc;
}

static int clean_up(struct flow *f)
{
    flow_step(f, "cleanup");
    if (!f->create_tried) {
        return DUR_OK;
    }
    int rc = flow_run(f, CLASS_CLEANUP, "DestroySandbox",
                      dur_ctx_jsonf(f->ctx, "{\"run_id\":%q}", f->run_id), &f->cleanup, 0);
    if (rc == DUR_OK) {
        f->facts.cleanup = OUTCOME_SUCCESS;
        flow_condition(f, "CleanupVerified", "True", "NoSandboxesRemain",
                       "destroyed=%lld remaining=0",
                       (long long)dur_json_int(f->cleanup, "/destroyed", 0));
    } else if (rc == DUR_FAILED) {
        f->facts.cleanup = OUTCOME_ERROR;
        flow_condition(f, "CleanupVerified", "False", "CleanupUnverified", "%s", flow_failure(f));
        flow_error(f, "cleanup: %s", flow_failure(f));
        rc = DUR_OK;
    }
    return rc;
}

static int finish(struct flow *f, const char **result)
{
    int rc = clean_up(f);
    if (rc != DUR_OK) {
        return rc;
    }
    flow_step(f, "finalize");
    rc = flow_run(f, CLASS_FINAL, "FinalizeResult", flow_facts(f), result, 0);
    if (rc == DUR_OK) {
        flow_condition(f, "EvidenceWritten", "True", "ManifestPersisted", "artifacts=runs/%s",
                       f->run_id);
        flow_finish(f, verdict_of(&f->facts));
    }
    return rc;
}

int workflow_run(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    struct flow f = {.root = ctx,
                     .ctx = ctx,
                     .request = input,
                     .step = "starting",
                     .started_ns = dur_now_ns(ctx)};
    (void)user;
    f.run_id = dur_ctx_json_string(ctx, input, "/run_id");
    int rc = step_validate(&f);
    if (rc == DUR_OK) {
        rc = run_body(&f);
    }
    f.ctx = dur_disconnected(ctx);
    if (dur_is_cancelled(ctx) || (rc == DUR_CANCELLED && !f.facts.total_timed_out)) {
        f.facts.cancelled = true; /* also when it came too late to stop the last step */
        flow_error(&f, "cancelled%s%s", *dur_cancel_reason(ctx) ? ": " : "",
                   dur_cancel_reason(ctx));
    }
    if (rc == DUR_OK || rc == STOP || rc == DUR_CANCELLED) {
        rc = salvage(&f);
    }
    if (rc == DUR_OK) {
        rc = finish(&f, result);
    }
    str_free(&f.gates);
    return rc;
}
