/*
 * act_sandbox.c - CreateSandbox, PrepareSandbox, DestroySandbox.
 *
 * Owns: ownership labels and what they decide. Idempotent: a repeated create finds the sandbox of
 * its earlier self by its labels and adopts it when it runs; remains are destroyed first, since
 * nothing of value can be in a sandbox whose creation was never committed. Destroy works by labels
 * too, so it also finds what a lost create answer left behind, and looks again before it says that
 * none is left. Tests: tests/unit/test_factory_workflow.c
 */
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "factory/activities.h"

#define MIB (1024LL * 1024)
#define SETUP_TIMEOUT_MS (20 * 60 * 1000)
#define LABELS_MAX 8

static bool is_ours(const struct job *job, const struct sandbox_info *info, const char *role)
{
    return str_eq(sandbox_info_label(info, LABEL_ORIGIN), LABEL_ORIGIN_FACTORY) &&
           str_eq(sandbox_info_label(info, LABEL_RUN), job->run_id) &&
           str_eq(sandbox_info_label(info, LABEL_EXECUTION), job->execution_id) &&
           (!role || str_eq(sandbox_info_label(info, LABEL_ROLE), role));
}

static size_t set_labels(const struct job *job, const char *role, struct sandbox_label *labels)
{
    const struct sandbox_label all[] = {
        {LABEL_ORIGIN, LABEL_ORIGIN_FACTORY},      {LABEL_RUN, job->run_id},
        {LABEL_EXECUTION, job->execution_id},      {LABEL_ROLE, role},
        {LABEL_HARNESS, job->harness->name},       {LABEL_STORE, job->factory->store_id},
        {LABEL_ENGINE, job->factory->engine_name},
    };
    memcpy(labels, all, sizeof(all));
    return ARRAY_LEN(all);
}

static size_t set_binds(const struct config *config, struct sandbox_bind *binds, size_t max)
{
    size_t count = 0;
    for (const char *const *pair = config->binds; *pair && count < max; pair += 2) {
        binds[count++] = (struct sandbox_bind){.target = pair[0], .source = pair[1]};
    }
    return count;
}

static int create(struct job *job, const char *role, struct sandbox **ret)
{
    const struct config *c = job->config;
    struct provider *provider = job->factory->provider;
    struct sandbox_label labels[LABELS_MAX];
    struct sandbox_bind binds[32];
    struct sandbox_spec spec = {
        .labels = labels,
        .label_count = set_labels(job, role, labels),
        .limits = {.cpu_milli = c->cpu_milli,
                   .memory_bytes = c->memory_mib * MIB,
                   .processes = c->processes,
                   .disk_bytes = c->disk_mib * MIB,
                   .best_effort = c->limits_best_effort},
        .egress = {.policy = "sandbox",
                   .allow_internet = c->allow_internet,
                   .allow_out = c->allow_out,
                   .deny_out = c->deny_out},
        .binds = binds,
        .bind_count = set_binds(c, binds, ARRAY_LEN(binds)),
        .idle_timeout_ms = c->sandbox_idle_timeout_ms,
    };
    return provider->ops->create(provider, &spec, &job->cancel, ret, &job->err);
}

/* The sandbox of an earlier attempt: 0 adopted, 1 none (remains are gone), <0. */
static int adopt(struct job *job, const char *role, struct sandbox **ret)
{
    struct provider *provider = job->factory->provider;
    autosandboxlist struct sandbox_list list = {0};
    if (provider->ops->list(provider, &list, &job->err) < 0) {
        return -1;
    }
    for (size_t i = 0; i < list.count; i++) {
        const struct sandbox_info *info = &list.items[i];
        if (!is_ours(job, info, role)) {
            continue;
        }
        if (info->state == SANDBOX_RUNNING &&
            provider->ops->reattach(provider, info->id, &job->cancel, ret, &job->err) == 0) {
            return 0;
        }
        if (provider->ops->destroy(provider, info->id, &job->err) < 0) {
            return -1;
        }
    }
    return 1;
}

static void print_created(struct str *text, const struct sandbox *sandbox, bool adopted)
{
    struct json_out out = json_writer(text, 0);
    json_begin_object(&out);
    json_kv_str(&out, "sandbox_id", sandbox->id);
    json_kv_str(&out, "provider", sandbox->provider);
    json_kv_str(&out, "network", sandbox->enforced.network);
    json_kv_str_opt(&out, "cpu", sandbox->enforced.cpu);
    json_kv_str_opt(&out, "memory", sandbox->enforced.memory);
    json_kv_str_opt(&out, "processes", sandbox->enforced.processes);
    json_kv_str_opt(&out, "disk", sandbox->enforced.disk);
    json_kv_bool(&out, "adopted", adopted);
    json_end_object(&out);
}

int act_create_sandbox(dur_activity *act, const char *input, const char **result, void *factory)
{
    struct job job;
    autosandbox struct sandbox *sandbox = NULL;
    autostr struct str text = {0};
    bool adopted = false;
    int rc = job_begin(&job, act, input, factory);
    const char *role = rc == 0 ? json_get_str(job.input, "role") : NULL;
    if (rc == 0) {
        rc = adopt(&job, role, &sandbox);
        adopted = rc == 0;
        rc = rc == 1 ? create(&job, role, &sandbox) : rc;
    }
    if (rc == 0) {
        rc = ledger_put_sandbox(job.factory->ledger, sandbox->id, job.run_id, job.execution_id,
                                role, sandbox->provider, &job.err);
    }
    if (rc == 0) {
        print_created(&text, sandbox, adopted);
        *result = job_text(&job, &text);
    }
    return job_end(&job, rc);
}

/* --- prepare
 * ---------------------------------------------------------------------------------------- */

static int beat(void *user)
{
    return dur_heartbeat(user, NULL) == DUR_CANCELLED;
}

static int run_setup(struct job *job, struct envd *envd, const char *role)
{
    autoresult struct envd_result result = {0};
    struct envd_command command = {.script = job->config->setup_script,
                                   .dir = "/workspace",
                                   .timeout_ms = SETUP_TIMEOUT_MS,
                                   .on_idle = beat,
                                   .user = job->act,
                                   .capture_bytes = (size_t)job->config->command_output_bytes / 2};
    if (!*job->config->setup_script) {
        return 0;
    }
    int rc = envd_exec(envd, &command, &job->cancel, &result, &job->err);
    if (rc != 0) {
        return rc < 0 ? -1 : err_set(&job->err, ERR_CANCELLED, "Cancelled", "setup was cancelled");
    }
    autofree char *path = mem_printf("setup/%s.log", role);
    autostr struct str log = {0};
    str_addn(&log, str_c(&result.out), result.out.len);
    str_addn(&log, str_c(&result.err), result.err.len);
    if (evidence_write(job->evidence, path, EVIDENCE_TEXT, str_c(&log), log.len, NULL, &job->err) <
        0) {
        return -1;
    }
    if (result.exit_code != 0 || result.timed_out) {
        size_t from = result.err.len > 500 ? result.err.len - 500 : 0;
        return err_set(&job->err, ERR_PERMANENT, "SetupFailed", "setup script: exit %d%s: %s",
                       result.exit_code, result.timed_out ? " (time-out)" : "",
                       str_c(&result.err) + from);
    }
    return 0;
}

int act_prepare_sandbox(dur_activity *act, const char *input, const char **result, void *factory)
{
    struct job job;
    autosandbox struct sandbox *sandbox = NULL;
    autoenvd struct envd *envd = NULL;
    autostr struct str text = {0};
    const char *version = NULL;
    int rc = job_begin(&job, act, input, factory);
    const char *role = rc == 0 ? json_get_str(job.input, "role") : NULL;
    if (rc == 0 && (rc = job_attach(&job, &sandbox, &envd)) == 0) {
        rc = envd_mkdir(envd, HARNESS_META_DIR, &job.err) < 0 ? -1 : 0;
    }
    if (rc == 0) {
        rc = harness_check_packages(envd, job.config->base_packages, &job.cancel, &job.err);
    }
    if (rc == 0 && (rc = run_setup(&job, envd, role)) == 0 && str_eq(role, "agent")) {
        struct harness harness = job_harness(&job);
        rc = harness_provision(envd, &harness, job.arena, &version, &job.cancel, &job.err);
    }
    if (rc == 0) {
        struct json_out out = json_writer(&text, 0);
        json_begin_object(&out);
        json_kv_str_opt(&out, "agent_version", version);
        json_end_object(&out);
        *result = job_text(&job, &text);
    }
    return job_end(&job, rc);
}

/* --- destroy
 * ---------------------------------------------------------------------------------------- */

/* Destroy all of the run's sandboxes; *ret_count of them were there. */
static int destroy_all(struct job *job, int *ret_count)
{
    struct provider *provider = job->factory->provider;
    autosandboxlist struct sandbox_list list = {0};
    if (provider->ops->list(provider, &list, &job->err) < 0) {
        return -1;
    }
    for (size_t i = 0; i < list.count; i++) {
        if (!is_ours(job, &list.items[i], NULL)) {
            continue;
        }
        (*ret_count)++;
        if (provider->ops->destroy(provider, list.items[i].id, &job->err) < 0 ||
            ledger_sandbox_destroyed(job->factory->ledger, list.items[i].id, &job->err) < 0) {
            return -1;
        }
    }
    return 0;
}

/* How many are left, by looking. */
static int count_left(struct job *job)
{
    struct provider *provider = job->factory->provider;
    autosandboxlist struct sandbox_list list = {0};
    int left = 0;
    if (provider->ops->list(provider, &list, &job->err) < 0) {
        return -1;
    }
    for (size_t i = 0; i < list.count; i++) {
        left += is_ours(job, &list.items[i], NULL);
    }
    return left;
}

/* left < 0: nobody knows, job->err says why. Written on every outcome. */
static int write_cleanup(struct job *job, int destroyed, int left, int64_t started_ns,
                         struct str *text)
{
    autostr struct str at = {0};
    struct json_out out = json_writer(text, 0);
    time_format_rfc3339(&at, clock_wall_ns());
    json_begin_object(&out);
    json_kv_bool(&out, "attempted", true);
    json_kv_str(&out, "outcome", left == 0 ? "SUCCESS" : "ERROR");
    json_kv_i64(&out, "destroyed", destroyed);
    json_kv_bool(&out, "verified", left == 0);
    json_kv_i64(&out, "remaining_sandboxes", left);
    json_kv_str_opt(&out, "error", left < 0 ? job->err.text : NULL);
    json_kv_i64(&out, "duration_ms", (clock_mono_ns() - started_ns) / NS_PER_MS);
    json_kv_str(&out, "finished_at", str_c(&at));
    json_end_object(&out);
    return evidence_write(job->evidence, "cleanup.json", EVIDENCE_JSON, str_c(text), text->len,
                          NULL, &job->err);
}

int act_destroy_sandbox(dur_activity *act, const char *input, const char **result, void *factory)
{
    struct job job;
    autostr struct str text = {0};
    int destroyed = 0, left = -1;
    int64_t started = clock_mono_ns();
    int rc = job_begin(&job, act, input, factory);
    if (rc == 0 && (rc = destroy_all(&job, &destroyed)) == 0) {
        left = count_left(&job);
        rc = left < 0 ? -1 : 0;
    }
    if (job.evidence) {
        struct err why = job.err;
        int written = write_cleanup(&job, destroyed, left, started, &text);
        if (rc < 0) {
            job.err = why;
        } else {
            rc = written;
        }
    }
    if (rc == 0 && left > 0) {
        rc = err_set(&job.err, ERR_TRANSIENT, "SandboxesRemain", "%d sandboxes of the run remain",
                     left);
    }
    if (rc == 0) {
        *result = job_text(&job, &text);
    }
    return job_end(&job, rc);
}
