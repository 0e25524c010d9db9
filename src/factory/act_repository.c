/*
 * act_repository.c - PrepareRepository, WriteInventory: the checkout that the agent or the gates
 * see.
 *
 * Owns: bringing a tree of the run's store into /workspace/repository byte for byte (a tar stream,
 * no filters), and, where the sandbox has git, the baseline's history beside it from the bundle, so
 * that `git diff` works inside. There is no remote and no credential in it. Idempotent: built
 * beside and renamed; a repeated attempt begins anew. Tests: tests/unit/test_factory_workflow.c
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "factory/activities.h"

#define PREPARE_TIMEOUT_MS (10 * 60 * 1000)
#define TAR_INSIDE "/workspace/.factory/tree.tar"
#define BUNDLE_INSIDE "/workspace/.factory/baseline.bundle"

/* Few processes: every one costs as much as the checkout of a small repository. What `git clone`
 * would do is done by hand: unbundle, name the commit, index it. commit=... comes before it. */
static const char SCRIPT[] =
    "set -e\n"
    "meta=/workspace/.factory new=/workspace/.factory/repository.new\n"
    "rm -rf \"$new\" /workspace/repository\n"
    "mkdir -p \"$new\"\n"
    "/bin/tar -x -p --no-same-owner -f \"$meta/tree.tar\" -C \"$new\"\n"
    "if command -v git >/dev/null 2>&1; then\n"
    "  export GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=/dev/null GIT_TERMINAL_PROMPT=0\n"
    "  cd \"$new\"\n"
    "  git init -q --template= .\n"
    "  git bundle unbundle \"$meta/baseline.bundle\" >/dev/null\n"
    "  mkdir -p .git/info .git/hooks .git/refs/heads\n"
    "  printf '%s\\n' \"$commit\" >.git/refs/heads/factory-baseline\n"
    "  printf '%s\\n' \"$commit\" >.git/HEAD\n"
    "  printf '[user]\\n\\temail = factory@localhost\\n\\tname = Factory\\n'"
    "'[advice]\\n\\tdetachedHead = false\\n' >>.git/config\n"
    "  git reset -q || true\n"
    "  cd /\n"
    "fi\n"
    "rm -f \"$meta/tree.tar\" \"$meta/baseline.bundle\"\n"
    "mv \"$new\" /workspace/repository\n";

static int push_tree(struct job *job, struct envd *envd, const char *tree)
{
    struct tree_store *store cleanup_with(tree_store_cleanup_) = NULL;
    autofree char *dir = work_dir(job->config, job->run_id);
    autofree char *path = mem_printf("%s/export-%s.tar", dir, job->sandbox_id);
    autoclose int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0) {
        return err_sys(&job->err, errno, "WorkDir", "cannot write %s", path);
    }
    unlink(path);
    if (work_open_store(job, &store) < 0 ||
        tree_export_fd(store, tree, job_plan_number(job, "commit_time_s"), fd, &job->err) < 0) {
        return -1;
    }
    if (lseek(fd, 0, SEEK_SET) < 0) {
        return err_sys(&job->err, errno, "WorkDir", "cannot read %s", path);
    }
    return envd_write_fd(envd, TAR_INSIDE, fd, &job->cancel, &job->err);
}

static int push_bundle(struct job *job, struct envd *envd)
{
    autofree char *path = work_bundle(job);
    autoclose int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return err_sys(&job->err, errno, "WorkDir", "cannot read %s", path);
    }
    return envd_write_fd(envd, BUNDLE_INSIDE, fd, &job->cancel, &job->err);
}

static int unpack(struct job *job, struct envd *envd)
{
    autoresult struct envd_result result = {0};
    const char *script =
        arena_printf(job->arena, "commit=%s\n%s", job_plan_text(job, "commit"), SCRIPT);
    struct envd_command command = {.script = script, .timeout_ms = PREPARE_TIMEOUT_MS};
    int rc = envd_exec(envd, &command, &job->cancel, &result, &job->err);
    if (rc != 0) {
        return rc < 0 ? -1 : err_set(&job->err, ERR_CANCELLED, "Cancelled", "cancelled");
    }
    if (result.exit_code != 0) {
        return err_set(&job->err, ERR_TRANSIENT, "CheckoutFailed", "checkout: exit %d: %.400s",
                       result.exit_code, str_c(&result.err));
    }
    return 0;
}

static int write_baseline(struct job *job)
{
    struct tree_store *store cleanup_with(tree_store_cleanup_) = NULL;
    struct tree_file_hash locks[TREE_LOCKFILES_MAX];
    size_t count = 0;
    autostr struct str text = {0}, before = {0};
    struct json_out out = json_writer(&text, 0);
    if (work_open_store(job, &store) < 0 ||
        tree_lockfiles(store, job_plan_text(job, "tree"), locks, &count, &job->err) < 0) {
        return -1;
    }
    json_begin_object(&out);
    json_kv_i64(&out, "schema", 1);
    json_kv_str(&out, "kind", job_plan_text(job, "kind"));
    json_kv_str(&out, "source", job_plan_text(job, "repository"));
    json_kv_str(&out, "requested_revision", job_plan_text(job, "revision"));
    json_kv_str(&out, "resolved_by", job_plan_text(job, "resolved_by"));
    json_kv_str(&out, "sha", job_plan_text(job, "commit"));
    json_kv_str(&out, "tree", job_plan_text(job, "tree"));
    json_kv_str_opt(&out, "branch", job_plan_text(job, "branch"));
    json_key(&out, "lockfile_hashes");
    json_begin_object(&out);
    for (size_t i = 0; i < count; i++) {
        json_kv_str(&out, locks[i].name, locks[i].sha256);
    }
    json_end_object(&out);
    json_end_object(&out);
    str_addf(&before, "sha=%s\nbranch=%s\nstatus:\n", job_plan_text(job, "commit"),
             job_plan_text(job, "branch"));
    if (evidence_write(job->evidence, "git-before.txt", EVIDENCE_TEXT, str_c(&before), before.len,
                       NULL, &job->err) < 0) {
        return -1;
    }
    return evidence_write(job->evidence, "baseline.json", EVIDENCE_JSON, str_c(&text), text.len,
                          NULL, &job->err);
}

int act_prepare_repository(dur_activity *act, const char *input, const char **result, void *factory)
{
    struct job job;
    autosandbox struct sandbox *sandbox = NULL;
    autoenvd struct envd *envd = NULL;
    int rc = job_begin(&job, act, input, factory);
    const char *tree = rc == 0 ? json_get_str(job.input, "tree") : NULL;
    if (rc == 0 && !tree) { /* the agent's: the baseline */
        rc = write_baseline(&job);
        tree = job_plan_text(&job, "tree");
    }
    if (rc == 0 && (rc = job_attach(&job, &sandbox, &envd)) == 0 &&
        (rc = push_tree(&job, envd, tree)) == 0 && (rc = push_bundle(&job, envd)) == 0) {
        rc = unpack(&job, envd);
    }
    (void)result;
    return job_end(&job, rc);
}

/* --- inventory
 * -------------------------------------------------------------------------------------- */

static void print_duration(struct json_out *out, const char *key, int64_t ms)
{
    autostr struct str text = {0};
    duration_format(&text, ms * NS_PER_MS);
    json_kv_str(out, key, str_c(&text));
}

static void print_inventory(struct str *text, const struct job *job)
{
    struct json_out out = json_writer(text, 2);
    json_begin_object(&out);
    json_kv_str(&out, "contract_version", "factory/v1");
    json_kv_str(&out, "run_id", job->run_id);
    json_kv_str(&out, "factory_version", FACTORY_VERSION);
    json_kv_str(&out, "task_file", HARNESS_PROMPT_FILE);
    json_kv_str(&out, "blocked_file", HARNESS_BLOCKED_FILE);
    json_key(&out, "repository");
    json_begin_object(&out);
    json_kv_str(&out, "kind", job_plan_text(job, "kind"));
    json_kv_str(&out, "revision", job_plan_text(job, "revision"));
    json_kv_str(&out, "baseline_sha", job_plan_text(job, "commit"));
    json_kv_str(&out, "directory", HARNESS_REPOSITORY_DIR);
    json_end_object(&out);
    json_key(&out, "egress");
    json_begin_object(&out);
    json_kv_bool(&out, "allow_internet", job->config->allow_internet);
    json_end_object(&out);
    json_key(&out, "limits");
    json_begin_object(&out);
    print_duration(&out, "agent_timeout", job_plan_number(job, "agent_timeout_ms"));
    print_duration(&out, "verification_timeout", job_plan_number(job, "verification_timeout_ms"));
    print_duration(&out, "total_timeout", job_plan_number(job, "total_timeout_ms"));
    json_end_object(&out);
    json_key(&out, "sandbox");
    json_begin_object(&out);
    json_kv_str(&out, "id", job->sandbox_id);
    json_kv_str(&out, "provider", job->factory->provider->ops->name);
    json_end_object(&out);
    json_end_object(&out);
}

int act_write_inventory(dur_activity *act, const char *input, const char **result, void *factory)
{
    struct job job;
    autosandbox struct sandbox *sandbox = NULL;
    autoenvd struct envd *envd = NULL;
    autostr struct str text = {0};
    char sum[SHA256_HEX_BYTES];
    int rc = job_begin(&job, act, input, factory);
    if (rc == 0 && (rc = job_attach(&job, &sandbox, &envd)) == 0) {
        print_inventory(&text, &job);
        rc = envd_write_file(envd, HARNESS_META_DIR "/inventory.json", str_c(&text), text.len,
                             &job.cancel, &job.err);
    }
    if (rc == 0) {
        rc = evidence_write(job.evidence, "inventory.json", EVIDENCE_RAW, str_c(&text), text.len,
                            sum, &job.err);
    }
    if (rc == 0) {
        *result = dur_jsonf(act, "{\"digest\":%q}", sum);
    }
    return job_end(&job, rc);
}
