/*
 * act_agent.c - RunAgent: the agent, detached in its sandbox, followed into evidence.
 *
 * Owns: the prompt, the agent's environment, the blocked sentinel, agent/result.json. The agent is
 * never started twice: its job directory inside the sandbox is the key, whatever happens to the
 * engine. A non-zero exit is a result; only a sandbox that cannot be reached is an error. Tests:
 * tests/unit/test_factory_workflow.c, tests/crash/
 */
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "factory/activities.h"
#include "factory/watch.h"

#define AGENT_JOB_DIR "/workspace/.factory/agent"
#define BLOCKED_BYTES_MAX (64 * 1024)

/* What must be in place before the first start, and only then. */
static int set_scene(struct job *job, struct envd *envd)
{
    enum envd_job_state state;
    int exit_code;
    const char *task = job->request.task;
    if (evidence_write(job->evidence, "agent/prompt.txt", EVIDENCE_TEXT, task, strlen(task), NULL,
                       &job->err) < 0) {
        return -1;
    }
    int rc = envd_job_look(envd, AGENT_JOB_DIR, &state, &exit_code, &job->err);
    if (rc != ENVD_ABSENT) {
        return rc < 0 ? -1 : 0; /* started by an earlier attempt */
    }
    if (envd_remove(envd, HARNESS_BLOCKED_FILE, &job->err) < 0) {
        return -1;
    }
    return envd_write_file(envd, HARNESS_PROMPT_FILE, task, strlen(task), &job->cancel, &job->err);
}

/* The sentinel that an agent leaves when it cannot do the task. */
static int read_blocked(struct job *job, struct envd *envd, struct json_out *out)
{
    autostr struct str text = {0};
    const struct json *root = NULL;
    int rc = envd_read_file(envd, HARNESS_BLOCKED_FILE, BLOCKED_BYTES_MAX, &text, NULL, &job->err);
    if (rc == ENVD_ABSENT) {
        return 0;
    }
    if (rc < 0 && job->err.kind == ERR_PERMANENT) { /* too large, a directory: its doing */
        json_kv_bool(out, "blocked", true);
        json_kv_str(out, "blocked_reason", "the agent left blocked.json, which cannot be read");
        json_kv_str(out, "blocked_detail", job->err.text);
        job->err = (struct err){0};
        return 0;
    }
    if (rc != 0) {
        return rc;
    }
    json_kv_bool(out, "blocked", true);
    if (json_parse(job->arena, str_c(&text), text.len, &root, NULL) == 0 &&
        root->type == JSON_OBJECT) {
        json_kv_str_opt(out, "blocked_reason", json_get_str(root, "reason"));
        json_kv_str_opt(out, "blocked_detail", json_get_str(root, "detail"));
        return evidence_write(job->evidence, "agent/blocked.json", EVIDENCE_JSON, str_c(&text),
                              text.len, NULL, &job->err);
    }
    json_kv_str(out, "blocked_reason", "the agent left blocked.json, which is not a JSON object");
    return evidence_write(job->evidence, "agent/blocked.json.raw", EVIDENCE_TEXT, str_c(&text),
                          text.len, NULL, &job->err);
}

static const char *outcome_of(const struct watch *w)
{
    if (w->cancelled) {
        return "CANCELLED";
    }
    if (w->result.timed_out) {
        return "TIMED_OUT";
    }
    return !w->lost && w->result.exit_code == 0 ? "SUCCESS" : "FAILED";
}

static int report(struct job *job, struct envd *envd, const struct watch *w,
                  const struct harness *harness, struct str *text)
{
    autostr struct str at = {0};
    struct json_out out = json_writer(text, 0);
    time_format_rfc3339(&at, w->started_ns);
    json_begin_object(&out);
    json_kv_str(&out, "outcome", outcome_of(w));
    json_kv_i64(&out, "exit_code", w->lost ? -1 : w->result.exit_code);
    json_kv_bool(&out, "timed_out", w->result.timed_out);
    json_kv_bool(&out, "lost", w->lost);
    json_kv_str(&out, "command_line", harness_command_line(job->arena, harness));
    json_kv_str_opt(&out, "model", *harness->model ? harness->model : NULL);
    json_kv_str(&out, "started_at", str_c(&at));
    json_kv_i64(&out, "duration_ms", (clock_wall_ns() - w->started_ns) / NS_PER_MS);
    json_kv_i64(&out, "stdout_bytes", (int64_t)w->result.out_bytes);
    json_kv_i64(&out, "stderr_bytes", (int64_t)w->result.err_bytes);
    int rc = read_blocked(job, envd, &out);
    json_end_object(&out);
    return rc < 0 ? -1
                  : evidence_write(job->evidence, "agent/result.json", EVIDENCE_JSON, str_c(text),
                                   text->len, NULL, &job->err);
}

static int run(struct job *job, struct envd *envd, struct str *text)
{
    struct harness harness = job_harness(job);
    struct watch w = {
        .job = job,
        .envd = envd,
        .dir = AGENT_JOB_DIR,
        .stdout_path = "agent/stdout.log",
        .stderr_path = "agent/stderr.log",
        .command = {.argv = harness_argv(job->arena, &harness, job->request.task),
                    .dir = HARNESS_REPOSITORY_DIR,
                    .env = harness_env(job->arena, &harness),
                    .timeout_ms = job_plan_number(job, "agent_timeout_ms")},
    };
    if (str_eq(harness.prompt_mode, "stdin_file")) {
        w.command.stdin_path = HARNESS_PROMPT_FILE;
    }
    if (harness_register_secrets(&harness, &job->err) < 0 || set_scene(job, envd) < 0) {
        return -1;
    }
    int rc = watch_run(&w);
    if (rc == 0 && job->profile->fresh_sandbox) {
        envd_job_kill(envd, AGENT_JOB_DIR, 0,
                      NULL); /* what it left running edits the tree no more */
    }
    if (rc == 0) {
        rc = report(job, envd, &w, &harness, text);
        if (rc == 0 && w.cancelled) {
            rc = err_set(&job->err, ERR_CANCELLED, "Cancelled", "the agent was cancelled");
        }
    } else if (rc > 0) {
        rc = err_set(&job->err, ERR_CANCELLED, "Stopping", "the engine stops; the agent goes on");
    }
    watch_free(&w);
    return rc;
}

int act_run_agent(dur_activity *act, const char *input, const char **result, void *factory)
{
    struct job job;
    autosandbox struct sandbox *sandbox = NULL;
    autoenvd struct envd *envd = NULL;
    autostr struct str text = {0};
    int rc = job_begin(&job, act, input, factory);
    if (rc == 0 && (rc = job_attach(&job, &sandbox, &envd)) == 0) {
        rc = run(&job, envd, &text);
    }
    if (rc == 0) {
        *result = job_text(&job, &text);
    }
    return job_end(&job, rc);
}
