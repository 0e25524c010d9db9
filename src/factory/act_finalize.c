/*
 * act_finalize.c - FinalizeResult: run.json, the run's row, the end of its scratch space.
 *
 * Owns: the manifest, and verification/result.json. The manifest carries the SHA-256 of every
 * artifact, so that one digest (in the ledger) vouches for all of a run's evidence. Idempotent: the
 * same facts give the same file. Tests: tests/unit/test_factory_workflow.c
 */
#include <string.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/mem.h"
#include "factory/activities.h"

#define MANIFEST "run.json"

static void copy(struct json_out *out, const struct json *facts, const char *key, const char *as)
{
    const struct json *value = json_get(facts, key);
    if (value) {
        json_key(out, as);
        json_put_raw(out, value->raw, value->raw_len);
    }
}

static void print_time(struct json_out *out, const struct json *facts, const char *key,
                       const char *as, int64_t *ret_ns)
{
    autostr struct str text = {0};
    json_get_i64(facts, key, ret_ns);
    time_format_rfc3339(&text, *ret_ns);
    json_kv_str(out, as, str_c(&text));
}

static int print_artifact(void *user, const struct ledger_artifact *artifact)
{
    struct json_out *out = user;
    if (!str_eq(artifact->path, MANIFEST)) {
        json_begin_object(out);
        json_kv_str(out, "path", artifact->path);
        json_kv_str(out, "sha256", artifact->sha256);
        json_kv_i64(out, "bytes", artifact->bytes);
        json_end_object(out);
    }
    return 0;
}

static void print_input(struct json_out *out, const struct job *job)
{
    const struct ledger_run *row = &job->row;
    json_kv_i64(out, "schema", 1);
    json_kv_str(out, "run_id", job->run_id);
    json_kv_str(out, "factory_version", FACTORY_VERSION);
    json_kv_str(out, "workflow_id", row->workflow_id);
    json_kv_str(out, "workflow_run_id", row->execution_id);
    json_kv_str(out, "repository", row->repository);
    json_kv_str(out, "repository_kind", job->request.local_path ? "local" : "remote");
    json_kv_str(out, "requested_revision", row->revision);
    json_kv_str_opt(out, "baseline_sha", row->commit_id);
    json_kv_str(out, "task_hash", row->task_sha256);
    json_kv_str(out, "agent_harness", row->agent);
    json_kv_str_opt(out, "model", row->model);
    json_kv_str(out, "verification_profile", row->profile);
    json_kv_str(out, "sandbox_provider", job->factory->provider->ops->name);
    json_kv_str(out, "config_digest", row->config_digest);
}

static void print_results(struct json_out *out, const struct json *facts)
{
    const char *const same[] = {"sandbox_id",     "verify_sandbox_id",   "factory_result",
                                "agent_result",   "verification_result", "cleanup_result",
                                "error",          "conditions",          "cancelled",
                                "total_timed_out"};
    for (size_t i = 0; i < ARRAY_LEN(same); i++) {
        copy(out, facts, same[i], same[i]);
    }
    const struct json *collected = json_get(facts, "collected");
    const struct json *drift = json_get(facts, "drift");
    bool mutated = false, secret = false, kept = false;
    int64_t exit_code = -1;
    json_get_bool(drift, "drift", &mutated);
    json_get_bool(drift, "patch_kept", &kept);
    json_get_i64(json_get(facts, "agent"), "exit_code", &exit_code);
    json_kv_i64(out, "agent_exit_code", exit_code);
    json_kv_str_opt(out, "agent_version",
                    json_get_str(json_get(facts, "prepared"), "agent_version"));
    copy(out, facts, "sandbox", "sandbox");
    copy(out, facts, "agent", "agent");
    copy(out, facts, "gates", "gates");
    copy(out, facts, "integrity", "gate_integrity");
    copy(out, facts, "cleanup", "cleanup");
    json_kv_bool(out, "verification_mutated_tree", mutated);
    if (kept) {
        json_kv_str(out, "post_verification_patch", "verification/post-verification.patch");
    }
    copy(out, facts, "drift", "drift");
    if (collected) {
        json_get_bool(collected, "secret_found", &secret);
        json_kv_str(out, "patch", secret ? "changes.patch.sealed" : "changes.patch");
        copy(out, facts, "collected", "patch_facts");
    }
}

static int print_manifest(struct job *job, const struct json *facts, struct str *text)
{
    struct json_out out = json_writer(text, 0);
    int64_t started = 0, completed = 0;
    autofree char *artifacts = mem_printf("runs/%s", job->run_id);
    json_begin_object(&out);
    print_input(&out, job);
    print_time(&out, facts, "started_ns", "started_at", &started);
    print_time(&out, facts, "completed_ns", "completed_at", &completed);
    json_kv_i64(&out, "duration_ms", (completed - started) / NS_PER_MS);
    print_results(&out, facts);
    json_kv_str(&out, "artifacts_dir", artifacts);
    json_key(&out, "artifacts");
    json_begin_array(&out);
    int rc =
        ledger_list_artifacts(job->factory->ledger, job->run_id, print_artifact, &out, &job->err);
    json_end_array(&out);
    json_end_object(&out);
    return rc;
}

static int record(struct job *job, const struct json *facts, const char *manifest_sha256)
{
    int64_t completed = 0;
    json_get_i64(facts, "completed_ns", &completed);
    struct ledger_run row = {
        .run_id = job->run_id,
        .state = json_get_str(facts, "factory_result"),
        .agent_result = json_get_str(facts, "agent_result"),
        .verification_result = json_get_str(facts, "verification_result"),
        .cleanup_result = json_get_str(facts, "cleanup_result"),
        .patch_sha256 = json_get_str(json_get(facts, "collected"), "patch_sha256"),
        .manifest_sha256 = manifest_sha256,
        .finished_ns = completed,
    };
    return ledger_finish_run(job->factory->ledger, &row, &job->err);
}

static int drop_work(struct job *job)
{
    autofree char *dir = work_dir(job->config, job->run_id);
    return fs_remove_tree(dir, &job->err);
}

/* The gates that ran, or would have; nothing when the run did not come so far. */
static int write_verification(struct job *job, const struct json *facts)
{
    autostr struct str text = {0};
    struct json_out out = json_writer(&text, 0);
    const struct json *gates = json_get(facts, "gates");
    if (!gates || gates->count == 0) {
        return 0;
    }
    json_begin_object(&out);
    json_kv_i64(&out, "schema", 1);
    json_kv_str(&out, "profile", job->profile->name);
    json_kv_str(&out, "sandbox", job->profile->fresh_sandbox ? "fresh" : "agent");
    json_kv_bool(&out, "passed", str_eq(json_get_str(facts, "verification_result"), "SUCCESS"));
    json_key(&out, "steps");
    json_put_raw(&out, gates->raw, gates->raw_len);
    json_end_object(&out);
    return evidence_write(job->evidence, "verification/result.json", EVIDENCE_JSON, str_c(&text),
                          text.len, NULL, &job->err);
}

/* A request that was refused before it had a row (an id that another execution used): no evidence
 * is touched, the facts are the result. */
static bool has_no_row(const struct job *job)
{
    return str_eq(job->err.name, "RunUnknown") || str_eq(job->err.name, "RunExists");
}

int act_finalize(dur_activity *act, const char *input, const char **result, void *factory)
{
    struct job job;
    autostr struct str text = {0}, pretty = {0};
    char sum[SHA256_HEX_BYTES];
    int rc = job_begin(&job, act, input, factory);
    if (rc < 0 && has_no_row(&job)) {
        *result = dur_jsonf(act, "%j", input);
        return job_end(&job, 0);
    }
    if (rc == 0 && (rc = write_verification(&job, job.input)) == 0) {
        rc = print_manifest(&job, job.input, &text);
    }
    if (rc == 0) {
        rc = evidence_write(job.evidence, MANIFEST, EVIDENCE_JSON, str_c(&text), text.len, sum,
                            &job.err);
    }
    if (rc == 0 && (rc = record(&job, job.input, sum)) == 0) {
        rc = drop_work(&job);
    }
    if (rc == 0) {
        rc = evidence_read(job.evidence, MANIFEST, (size_t)job.config->artifact_bytes, &pretty,
                           &job.err);
    }
    if (rc == 0) { /* the same manifest without its layout: the history keeps it as readable JSON */
        const struct json *root;
        str_reset(&text);
        rc = json_parse(job.arena, str_c(&pretty), pretty.len, &root, &job.err);
        if (rc == 0) {
            json_print(&text, root, 0);
            *result = job_text(&job, &text);
        }
    }
    return job_end(&job, rc);
}
