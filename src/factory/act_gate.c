/*
 * act_gate.c - RunGate: one gate of the profile, followed into evidence.
 *
 * Owns: verification/<id>.stdout and .stderr and the gate's result. The exit status is the only
 * judge: a program that is missing, killed or out of time is a failed gate, never an error of the
 * activity. Idempotent by the gate's job directory: a repeated attempt follows what an earlier one
 * started. Its name holds the execution's id, which nobody inside knows: where gates run in the
 * agent's own sandbox, the agent cannot have left a finished gate there. Tests:
 * tests/unit/test_factory_workflow.c, tests/crash/
 */
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "factory/activities.h"
#include "factory/watch.h"

static const struct gate_config *find_gate(struct job *job, const char *id)
{
    for (size_t i = 0; i < job->profile->gate_count; i++) {
        if (str_eq(job->profile->gates[i].id, id)) {
            return &job->profile->gates[i];
        }
    }
    err_set(&job->err, ERR_PERMANENT, "GateUnknown", "no gate %s in profile %s", id ? id : "",
            job->profile->name);
    return NULL;
}

/* The gate's time limit within what all gates have left: the workflow computed it. */
static int64_t time_limit(const struct job *job)
{
    int64_t ms = job_plan_number(job, "verification_timeout_ms");
    json_get_i64(job->input, "timeout_ms", &ms);
    return ms;
}

/* The sandbox refused to run this command (a directory that is not there, an argument list that is
 * too long): that is the gate's failure. Anything else permanent is the sandbox's. */
static bool is_refused_command(const struct err *err)
{
    return str_eq(err->name, "JobNotStarted") || str_eq(err->name, "EnvdInvalidArgument") ||
           str_eq(err->name, "InvalidCommand");
}

static void print_result(struct str *text, const struct gate_config *gate, const struct watch *w,
                         const char *error)
{
    struct json_out out = json_writer(text, 0);
    bool ended = !error && !w->lost;
    json_begin_object(&out);
    json_kv_str(&out, "id", gate->id);
    json_key(&out, "argv");
    json_begin_array(&out);
    for (const char *const *arg = gate->argv; *arg; arg++) {
        json_put_str(&out, *arg);
    }
    json_end_array(&out);
    json_kv_bool(&out, "mandatory", gate->mandatory);
    json_kv_bool(&out, "started", !error);
    json_kv_i64(&out, "exit_code", ended ? w->result.exit_code : -1);
    json_kv_bool(&out, "timed_out", !error && w->result.timed_out);
    json_kv_bool(&out, "passed", ended && w->result.exit_code == 0 && !w->result.timed_out);
    json_kv_i64(&out, "duration_ms", error ? 0 : (clock_wall_ns() - w->started_ns) / NS_PER_MS);
    json_kv_str_opt(&out, "error",
                    error     ? error
                    : w->lost ? "killed without an exit status"
                              : NULL);
    json_end_object(&out);
}

static int run(struct job *job, struct envd *envd, const struct gate_config *gate, struct str *text)
{
    struct watch w = {
        .job = job,
        .envd = envd,
        .dir = arena_printf(job->arena, "%s/gates-%s/%s", HARNESS_META_DIR, job->execution_id,
                            gate->id),
        .stdout_path = arena_printf(job->arena, "verification/%s.stdout", gate->id),
        .stderr_path = arena_printf(job->arena, "verification/%s.stderr", gate->id),
        .command = {.argv = gate->argv,
                    .dir = *gate->dir ? arena_printf(job->arena, "%s/%s", HARNESS_REPOSITORY_DIR,
                                                     gate->dir)
                                      : HARNESS_REPOSITORY_DIR,
                    .timeout_ms = time_limit(job)},
    };
    int rc = watch_run(&w);
    if (rc == 0 && w.cancelled) {
        rc = err_set(&job->err, ERR_CANCELLED, "Cancelled", "gate %s was cancelled", gate->id);
    } else if (rc == 0) {
        print_result(text, gate, &w, NULL);
    } else if (rc > 0) {
        rc = err_set(&job->err, ERR_CANCELLED, "Stopping", "the engine stops; the gate goes on");
    } else if (is_refused_command(&job->err)) {
        print_result(text, gate, &w, job->err.text); /* it cannot be started: a failed gate */
        rc = 0;
    }
    watch_free(&w);
    return rc;
}

int act_run_gate(dur_activity *act, const char *input, const char **result, void *factory)
{
    struct job job;
    autosandbox struct sandbox *sandbox = NULL;
    autoenvd struct envd *envd = NULL;
    autostr struct str text = {0};
    const struct gate_config *gate = NULL;
    int rc = job_begin(&job, act, input, factory);
    if (rc == 0) {
        gate = find_gate(&job, json_get_str(job.input, "gate"));
        rc = gate ? job_attach(&job, &sandbox, &envd) : -1;
    }
    if (rc == 0) {
        rc = run(&job, envd, gate, &text);
    }
    if (rc == 0) {
        *result = job_text(&job, &text);
    }
    return job_end(&job, rc);
}
