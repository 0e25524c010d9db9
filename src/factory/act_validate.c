/*
 * act_validate.c - ValidateRequest: everything that can be refused is refused here, before a
 * sandbox.
 *
 * Owns: resolving the revision to one commit, copying its tree into the run's store, the run's row,
 * the plan that all later steps read, task.json. Idempotent: rows and files are the same when it
 * runs again; a moving branch is resolved once, because a plan that exists is kept. Tests:
 * tests/unit/test_factory_workflow.c
 */
#include <string.h>

#include "base/clock.h"
#include "base/digest.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/redact.h"
#include "factory/activities.h"
#include "repo/bundle.h"
#include "repo/source.h"

char *work_dir(const struct config *config, const char *run_id)
{
    return mem_printf("%s/work/%s", config->data_dir, run_id);
}

char *work_bundle(const struct job *job)
{
    return mem_printf("%s/work/%s/baseline.bundle", job->config->data_dir, job->run_id);
}

int work_open_store(struct job *job, struct tree_store **ret)
{
    autofree char *dir = work_dir(job->config, job->run_id);
    autofree char *store = fs_join(dir, "store");
    return fs_mkdirs(dir, 0700, &job->err) < 0 ? -1 : tree_store_open(store, ret, &job->err);
}

static int open_source(struct job *job, struct source **ret)
{
    const struct config *c = job->config;
    if (job->request.local_path) {
        return source_open_local(job->request.local_path, ret, &job->err);
    }
    autofree char *mirrors = config_mirrors_dir(c);
    const char *password = *c->http_password_env ? getenv(c->http_password_env) : NULL;
    if (password) {
        redact_register(password, strlen(password));
    }
    struct source_remote remote = {
        .mirror_dir = mirrors,
        .ssh_user = *c->ssh_user ? c->ssh_user : NULL,
        .ssh_key_file = *c->ssh_key_file ? c->ssh_key_file : NULL,
        .http_user = *c->http_user ? c->http_user : NULL,
        .http_password = password,
        .netrc_file = *c->netrc_file ? c->netrc_file : NULL,
        .timeout_ms = c->fetch_timeout_ms,
        .cancel = &job->cancel,
    };
    return source_open_remote(job->request.repository, &remote, ret, &job->err);
}

static void print_gates(struct json_out *out, const struct profile_config *profile,
                        int64_t whole_ms)
{
    json_key(out, "gates");
    json_begin_array(out);
    for (size_t i = 0; i < profile->gate_count; i++) {
        const struct gate_config *gate = &profile->gates[i];
        int64_t ms = gate->timeout_ms && gate->timeout_ms < whole_ms ? gate->timeout_ms : whole_ms;
        json_begin_object(out);
        json_kv_str(out, "id", gate->id);
        json_kv_bool(out, "mandatory", gate->mandatory);
        json_kv_i64(out, "timeout_ms", ms);
        json_end_object(out);
    }
    json_end_array(out);
}

static int64_t agent_timeout(const struct job *job)
{
    int64_t ms = job->config->agent_timeout_ms;
    if (job->harness->timeout_ms && job->harness->timeout_ms < ms) {
        ms = job->harness->timeout_ms;
    }
    return job->request.agent_timeout_ms ? job->request.agent_timeout_ms : ms;
}

static void print_plan(struct str *text, const struct job *job, const struct revision *revision,
                       const char *task_sha256)
{
    struct json_out out = json_writer(text, 0);
    const struct config *c = job->config;
    json_begin_object(&out);
    json_kv_str(&out, "repository",
                job->request.local_path ? job->request.local_path : job->request.repository);
    json_kv_str(&out, "kind", job->request.local_path ? "local" : "remote");
    json_kv_str(&out, "revision", job->request.revision);
    json_kv_str(&out, "resolved_by", revision_how_name(revision->how));
    json_kv_str(&out, "branch", revision->branch);
    json_kv_str(&out, "commit", revision->commit);
    json_kv_str(&out, "tree", revision->tree);
    json_kv_i64(&out, "commit_time_s", revision->commit_time_s);
    json_kv_str(&out, "agent", job->harness->name);
    json_kv_str_opt(&out, "model", job->request.model);
    json_kv_str(&out, "profile", job->profile->name);
    json_kv_str(&out, "task_sha256", task_sha256);
    json_kv_str(&out, "config_digest", c->digest);
    json_kv_i64(&out, "agent_timeout_ms", agent_timeout(job));
    json_kv_i64(&out, "verification_timeout_ms", c->verification_timeout_ms);
    json_kv_i64(&out, "total_timeout_ms", c->total_timeout_ms);
    json_kv_bool(&out, "fresh_sandbox", job->profile->fresh_sandbox);
    json_kv_bool(&out, "stop_on_failure", job->profile->stop_on_failure);
    print_gates(&out, job->profile, c->verification_timeout_ms);
    json_end_object(&out);
}

static int write_task(struct job *job, const char *task_sha256)
{
    autostr struct str text = {0}, at = {0};
    struct json_out out = json_writer(&text, 0);
    const struct request *r = &job->request;
    time_format_rfc3339(&at, job->row.submitted_ns);
    json_begin_object(&out);
    json_kv_i64(&out, "schema", 1);
    json_kv_str(&out, "run_id", job->run_id);
    json_kv_str(&out, "repository", r->local_path ? r->local_path : r->repository);
    json_kv_str(&out, "repository_kind", r->local_path ? "local" : "remote");
    json_kv_str(&out, "requested_revision", r->revision);
    json_kv_str(&out, "task", r->task);
    json_kv_str(&out, "task_hash", task_sha256);
    json_kv_str(&out, "agent_harness", job->harness->name);
    json_kv_str_opt(&out, "agent_model", r->model);
    json_kv_str(&out, "verification_profile", job->profile->name);
    json_kv_str(&out, "config_digest", job->config->digest);
    json_key(&out, "config");
    config_print(&out, job->config);
    json_kv_str(&out, "recorded_at", str_c(&at));
    json_end_object(&out);
    return evidence_write(job->evidence, "task.json", EVIDENCE_JSON, str_c(&text), text.len, NULL,
                          &job->err);
}

/* The row exists from here on, whatever is refused later: the request as received is kept. */
static int record_request(struct job *job, const char *input, const char *task_sha256)
{
    autofree char *digest = mem_strdup(job->config->digest);
    struct ledger_run row = {
        .run_id = job->run_id,
        .workflow_id = dur_activity_workflow_id(job->act),
        .execution_id = job->execution_id,
        .request = input,
        .repository = job->request.local_path ? job->request.local_path : job->request.repository,
        .revision = job->request.revision,
        .agent = job->request.agent,
        .model = job->request.model,
        .profile = job->request.profile,
        .task_sha256 = task_sha256,
        .config_digest = digest,
        .submitted_ns = clock_wall_ns(),
    };
    if (ledger_add_run(job->factory->ledger, &row, &job->err) < 0) {
        return -1;
    }
    return ledger_get_run(job->factory->ledger, job->arena, job->run_id, &job->row, &job->err);
}

static int resolve(struct job *job, struct revision *revision)
{
    struct source *source cleanup_with(source_cleanup_) = NULL;
    struct tree_store *store cleanup_with(tree_store_cleanup_) = NULL;
    if (open_source(job, &source) < 0 ||
        source_resolve(source, job->request.revision, revision, &job->err) < 0 ||
        work_open_store(job, &store) < 0) {
        return -1;
    }
    autofree char *bundle = work_bundle(job);
    return tree_store_add(store, source, revision->commit, &job->err) < 0
               ? -1
               : bundle_write_file(source, revision->commit, bundle, NULL, &job->err);
}

static int make_plan(struct job *job, const char *task_sha256, struct str *plan)
{
    struct revision revision;
    struct harness harness = job_harness(job);
    struct provider *provider = job->factory->provider;
    if (job->row.plan) {
        str_add(plan, job->row.plan);
        return 0;
    }
    if (request_check(job->arena, job->config, &job->request, &job->err) < 0 ||
        factory_check_policy(provider, job->config, &job->err) < 0 ||
        harness_register_secrets(&harness, &job->err) < 0 ||
        provider->ops->ping(provider, &job->cancel, &job->err) < 0 || resolve(job, &revision) < 0) {
        return -1;
    }
    print_plan(plan, job, &revision, task_sha256);
    return ledger_set_plan(job->factory->ledger, job->run_id, str_c(plan), revision.commit,
                           &job->err);
}

static int begin(struct job *job, const char *input)
{
    job->run_id = NULL;
    if (request_parse(job->arena, input, &job->request, &job->config, &job->err) < 0) {
        return -1;
    }
    job->run_id = job->request.run_id;
    job->harness = config_harness(job->config, job->request.agent, &job->err);
    job->profile = config_profile(job->config, job->request.profile, &job->err);
    return job->harness && job->profile ? 0 : -1;
}

int act_validate(dur_activity *act, const char *input, const char **result, void *factory)
{
    struct job job;
    char task_sha256[SHA256_HEX_BYTES];
    autostr struct str plan = {0};
    int rc = job_open(&job, act, factory);
    if (rc == 0 && (rc = begin(&job, input)) == 0) {
        sha256_hex(job.request.task, strlen(job.request.task), task_sha256);
        rc = record_request(&job, input, task_sha256);
    }
    if (rc == 0) {
        rc = evidence_open(job.factory->runs_dir, job.run_id, job.factory->ledger,
                           (uint64_t)job.config->artifact_bytes, true, &job.evidence, &job.err);
    }
    if (rc == 0 && (rc = write_task(&job, task_sha256)) == 0) {
        rc = make_plan(&job, task_sha256, &plan);
    }
    if (rc == 0) {
        *result = job_text(&job, &plan);
    }
    return job_end(&job, rc);
}
