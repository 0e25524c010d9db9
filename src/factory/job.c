/*
 * job.c - see job.h. Owns the pump thread: it waits for the engine's cancel descriptor, raises the
 * job's flag and, while it waits, tells the engine that the attempt is alive. Owns also what leaves
 * an activity: results and failures are scrubbed here before the engine journals them. Tests:
 * tests/unit/test_factory_workflow.c
 */
#include "factory/job.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/redact.h"

#define BEAT_EVERY_MS 10000

static void *pump_main(void *arg)
{
    struct job *job = arg;
    struct pollfd fds[] = {{.fd = dur_activity_cancel_fd(job->act), .events = POLLIN},
                           {.fd = job->pump_fd, .events = POLLIN}};
    for (;;) {
        int n = poll(fds, 2, BEAT_EVERY_MS);
        if (n > 0 || (n < 0 && errno != EINTR)) {
            break;
        }
        if (n == 0) {
            dur_heartbeat(job->act, NULL);
        }
    }
    if (fds[0].revents) {
        atomic_store(&job->cancel, true);
    }
    return NULL;
}

static int start_pump(struct job *job)
{
    job->pump_fd = eventfd(0, EFD_CLOEXEC);
    int why = job->pump_fd < 0 ? errno : pthread_create(&job->pump, NULL, pump_main, job);
    if (why != 0) {
        return err_sys(&job->err, why, "NoThread", "cannot watch for cancellation");
    }
    job->pumping = true;
    return 0;
}

static int load_run(struct job *job)
{
    int rc = ledger_get_run(job->factory->ledger, job->arena, job->run_id, &job->row, &job->err);
    if (rc != 0) {
        return rc < 0 ? -1
                      : err_set(&job->err, ERR_PERMANENT, "RunUnknown",
                                "run %s is not in the ledger", job->run_id);
    }
    if (!str_eq(job->row.execution_id, job->execution_id)) {
        return err_set(&job->err, ERR_PERMANENT, "RunExists", "run %s belongs to another execution",
                       job->run_id);
    }
    if (request_parse(job->arena, job->row.request, &job->request, &job->config, &job->err) < 0) {
        return -1;
    }
    job->harness = config_harness(job->config, job->request.agent, &job->err);
    job->profile = config_profile(job->config, job->request.profile, &job->err);
    if (!job->harness || !job->profile) {
        return -1;
    }
    struct harness harness = job_harness(job);
    harness_register_secrets(&harness,
                             NULL); /* a file that is gone was refused by ValidateRequest */
    if (job->row.plan &&
        json_parse(job->arena, job->row.plan, strlen(job->row.plan), &job->plan, &job->err) < 0) {
        return -1;
    }
    return evidence_open(job->factory->runs_dir, job->run_id, job->factory->ledger,
                         (uint64_t)job->config->artifact_bytes, true, &job->evidence, &job->err);
}

int job_open(struct job *job, dur_activity *act, void *factory)
{
    memset(job, 0, sizeof(*job));
    job->factory = factory;
    job->act = act;
    job->arena = arena_new();
    job->pump_fd = -1;
    job->execution_id = dur_activity_run_id(act);
    return start_pump(job);
}

int job_begin(struct job *job, dur_activity *act, const char *input, void *factory)
{
    if (job_open(job, act, factory) < 0 ||
        json_parse(job->arena, input ? input : "", input ? strlen(input) : 0, &job->input,
                   &job->err) < 0) {
        return -1;
    }
    job->run_id = json_get_str(job->input, "run_id");
    job->sandbox_id = json_get_str(job->input, "sandbox_id");
    if (!job->run_id) {
        return err_set(&job->err, ERR_PERMANENT, "BadRequest", "the input lacks a run id");
    }
    return load_run(job);
}

static void stop_pump(struct job *job)
{
    if (job->pumping) {
        uint64_t one = 1;
        ssize_t n = write(job->pump_fd, &one, sizeof(one));
        (void)n; /* a fresh eventfd takes a 1 */
        pthread_join(job->pump, NULL);
    }
    if (job->pump_fd >= 0) {
        close(job->pump_fd);
    }
}

static int translate(struct job *job)
{
    static const dur_kind kinds[] = {
        [ERR_NONE] = DUR_PERMANENT,      [ERR_PERMANENT] = DUR_PERMANENT,
        [ERR_TRANSIENT] = DUR_TRANSIENT, [ERR_AMBIGUOUS] = DUR_AMBIGUOUS,
        [ERR_CANCELLED] = DUR_TRANSIENT,
    };
    if (dur_activity_cancelled(job->act, NULL)) {
        return DUR_CANCELLED;
    }
    autostr struct str text = {0};
    redact_append(&text, job->err.text, strlen(job->err.text));
    return dur_fail(job->act, kinds[job->err.kind], job->err.name, "%s", str_c(&text));
}

int job_end(struct job *job, int rc)
{
    stop_pump(job);
    int code = rc == 0 ? DUR_OK : translate(job);
    evidence_close(job->evidence);
    config_free(job->config);
    arena_free(job->arena);
    return code;
}

struct harness job_harness(const struct job *job)
{
    const struct harness_config *h = job->harness;
    const char *model = job->request.model;
    return (struct harness){
        .name = h->name,
        .executable = h->executable,
        .args = h->args,
        .model_flag = h->model_flag,
        .model = model && *model ? model : h->model,
        .prompt_mode = h->prompt_mode,
        .binary = h->binary,
        .binary_sha256 = h->binary_sha256,
        .packages = h->packages,
        .pass_env = h->pass_env,
        .provider_files = h->provider_files,
    };
}

int job_attach(struct job *job, struct sandbox **ret_sandbox, struct envd **ret_envd)
{
    struct provider *provider = job->factory->provider;
    struct sandbox *sandbox = NULL;
    int rc = provider->ops->reattach(provider, job->sandbox_id ? job->sandbox_id : "", &job->cancel,
                                     &sandbox, &job->err);
    if (rc != 0) {
        return rc < 0 ? -1
                      : err_set(&job->err, ERR_PERMANENT, "SandboxLost", "sandbox %s is gone",
                                job->sandbox_id ? job->sandbox_id : "");
    }
    *ret_sandbox = sandbox;
    *ret_envd = envd_open(&sandbox->target);
    return 0;
}

const char *job_plan_text(const struct job *job, const char *key)
{
    const char *text = json_get_str(job->plan, key);
    return text ? text : "";
}

int64_t job_plan_number(const struct job *job, const char *key)
{
    int64_t number = 0;
    json_get_i64(job->plan, key, &number);
    return number;
}

const char *job_text(struct job *job, const struct str *text)
{
    const struct json *root;
    autostr struct str clean = {0};
    if (json_parse(job->arena, str_c(text), text->len, &root, NULL) == 0) {
        redact_json(&clean, root, 0);
    }
    return dur_jsonf(job->act, "%j", clean.len ? str_c(&clean) : NULL);
}
