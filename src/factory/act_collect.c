/*
 * act_collect.c - CollectArtifacts, CheckGateIntegrity, CollectDrift: trees out of sandboxes.
 *
 * Owns: the patch (computed on the host from raw trees, proven, never edited), the comparison of
 * protected paths, and what the gates changed. Idempotent: equal trees give equal files.
 * The tar program inside is only a carrier: what arrives is what is compared, verified and
 * delivered. Tests: tests/unit/test_factory_workflow.c
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/mem.h"
#include "base/redact.h"
#include "factory/activities.h"
#include "repo/patch.h"
#include "repo/paths.h"

#define COLLECT_TIMEOUT_MS (10 * 60 * 1000)

struct carrier {
    int fd;
    struct err *err;
    bool failed;
};

static int take_tar(void *user, enum envd_stream which, const void *bytes, size_t len)
{
    struct carrier *carrier = user;
    if (which == ENVD_STDOUT && fs_write_all(carrier->fd, bytes, len, carrier->err) < 0) {
        carrier->failed = true;
        return 1;
    }
    return 0;
}

/* Unreadable files would be missing: the owner's read bits are set first; git keeps none of them.
 * What a process that the agent left behind writes meanwhile (tar: exit 1, "changed as we read it")
 * does not matter: the tree that arrives here is the one that is compared, verified and delivered.
 */
static const char TAR_SCRIPT[] =
    "cd /workspace/repository || exit 1\n"
    "find . -name .git -prune -o -type d ! -perm -u+rx -exec chmod u+rx {} + 2>/dev/null\n"
    "find . -name .git -prune -o -type f ! -perm -u+r -exec chmod u+r {} + 2>/dev/null\n"
    "exec /bin/tar --exclude=./.git -cf - .\n";

static int carry(struct job *job, struct envd *envd, int fd)
{
    autoresult struct envd_result result = {0};
    struct carrier carrier = {.fd = fd, .err = &job->err};
    struct envd_command command = {.script = TAR_SCRIPT,
                                   .timeout_ms = COLLECT_TIMEOUT_MS,
                                   .capture_bytes = 4096,
                                   .on_output = take_tar,
                                   .user = &carrier};
    int rc = envd_exec(envd, &command, &job->cancel, &result, &job->err);
    if (rc != 0) {
        return rc < 0 || carrier.failed
                   ? -1
                   : err_set(&job->err, ERR_CANCELLED, "Cancelled", "cancelled while collecting");
    }
    if (result.exit_code > 1 || result.timed_out) {
        return err_set(&job->err, ERR_TRANSIENT, "CollectFailed", "tar: exit %d: %.400s",
                       result.exit_code, str_c(&result.err));
    }
    return 0;
}

int collect_tree(struct job *job, struct envd *envd, const char *baseline_tree,
                 struct tree_import_result *ret)
{
    struct tree_store *store cleanup_with(tree_store_cleanup_) = NULL;
    struct tree_import_options options = {.baseline = baseline_tree};
    autofree char *dir = work_dir(job->config, job->run_id);
    autofree char *path = mem_printf("%s/import-%s.tar", dir, job->sandbox_id);
    autoclose int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0) {
        return err_sys(&job->err, errno, "WorkDir", "cannot write %s", path);
    }
    unlink(path);
    if (carry(job, envd, fd) < 0 || work_open_store(job, &store) < 0) {
        return -1;
    }
    if (lseek(fd, 0, SEEK_SET) < 0) {
        return err_sys(&job->err, errno, "WorkDir", "cannot read %s", path);
    }
    return tree_import_fd(store, fd, &options, ret, &job->err);
}

/* --- the patch
 * --------------------------------------------------------------------------------------- */

/* The patch and what it says; a patch with a known secret is sealed, not delivered. */
static int write_patch(struct job *job, const struct patch *patch, bool *ret_secret)
{
    *ret_secret = redact_finds(str_c(&patch->text), patch->text.len, REDACT_KNOWN) > 0;
    return evidence_write(job->evidence, *ret_secret ? "changes.patch.sealed" : "changes.patch",
                          *ret_secret ? EVIDENCE_SEALED : EVIDENCE_RAW, str_c(&patch->text),
                          patch->text.len, NULL, &job->err);
}

static int write_after(struct job *job, struct tree_store *store, const char *tree)
{
    autostr struct str status = {0}, text = {0};
    if (tree_status(store, job_plan_text(job, "tree"), tree, &status, &job->err) < 0) {
        return -1;
    }
    str_addf(&text, "tree=%s\nstatus:\n%s", tree, str_c(&status));
    return evidence_write(job->evidence, "git-after.txt", EVIDENCE_TEXT, str_c(&text), text.len,
                          NULL, &job->err);
}

static void print_collected(struct str *text, const struct tree_import_result *tree,
                            const struct patch *patch, bool secret)
{
    struct json_out out = json_writer(text, 0);
    json_begin_object(&out);
    json_kv_str(&out, "tree", tree->tree);
    json_kv_str(&out, "patch_sha256", patch->sha256);
    json_kv_i64(&out, "patch_bytes", (int64_t)patch->text.len);
    json_kv_i64(&out, "files", (int64_t)patch->count);
    json_kv_i64(&out, "additions", (int64_t)patch->additions);
    json_kv_i64(&out, "deletions", (int64_t)patch->deletions);
    json_kv_bool(&out, "secret_found", secret);
    json_kv_i64(&out, "ignored", (int64_t)tree->ignored);
    json_kv_i64(&out, "left_out",
                (int64_t)(tree->git_dirs + tree->specials + tree->unportable + tree->submodules));
    json_kv_str_opt(&out, "notes", tree->notes.len ? str_c(&tree->notes) : NULL);
    json_end_object(&out);
}

static int collect(struct job *job, struct envd *envd, struct str *text)
{
    struct tree_store *store cleanup_with(tree_store_cleanup_) = NULL;
    struct tree_import_result tree cleanup_with(tree_import_result_free) = {0};
    struct patch patch cleanup_with(patch_free) = {0};
    bool secret = false;
    const char *baseline = job_plan_text(job, "tree");
    if (collect_tree(job, envd, baseline, &tree) < 0 || work_open_store(job, &store) < 0 ||
        patch_make(store, baseline, tree.tree, (uint64_t)job->config->artifact_bytes, &patch,
                   &job->err) < 0 ||
        write_patch(job, &patch, &secret) < 0 || write_after(job, store, tree.tree) < 0) {
        return -1;
    }
    print_collected(text, &tree, &patch, secret);
    return 0;
}

int act_collect_artifacts(dur_activity *act, const char *input, const char **result, void *factory)
{
    struct job job;
    autosandbox struct sandbox *sandbox = NULL;
    autoenvd struct envd *envd = NULL;
    autostr struct str text = {0};
    int rc = job_begin(&job, act, input, factory);
    if (rc == 0 && (rc = job_attach(&job, &sandbox, &envd)) == 0) {
        rc = collect(&job, envd, &text);
    }
    if (rc == 0) {
        *result = job_text(&job, &text);
    }
    return job_end(&job, rc);
}

/* --- gate integrity
 * ---------------------------------------------------------------------------------- */

/* A pattern that matches this path alone, tied to the root. */
static const char *quote_pattern(struct arena *arena, const char *path)
{
    autostr struct str text = {0};
    str_addc(&text, '/');
    for (const char *c = path; *c; c++) {
        if (strchr("*?[]\\", *c)) {
            str_addc(&text, '\\');
        }
        str_addc(&text, *c);
    }
    return arena_strdup(arena, str_c(&text));
}

/* Is this program one that runs the file named by its first argument? */
static bool is_interpreter(const char *program)
{
    static const char *const names[] = {"sh",      "bash",   "dash", "zsh",  "ksh",
                                        "python3", "python", "perl", "ruby", "node"};
    const char *slash = strrchr(program, '/');
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        if (str_eq(slash ? slash + 1 : program, names[i])) {
            return true;
        }
    }
    return false;
}

/* What of a gate's command lies in the repository and decides: its program, or the script that an
 * interpreter is given. NULL: neither. */
static const char *gate_script(const struct gate_config *gate)
{
    const char *program = gate->argv[0];
    if (is_interpreter(program)) {
        size_t i = 1;
        while (gate->argv[i] && gate->argv[i][0] == '-' && !str_eq(gate->argv[i], "-c")) {
            i++;
        }
        program = gate->argv[i];
        if (!program || program[0] == '-') {
            return NULL;
        }
    } else if (!strchr(program, '/')) {
        return NULL; /* a system program: the sandbox's system is read-only */
    }
    while (str_starts(program, "./")) {
        program += 2;
    }
    return program[0] == '/' ? NULL : program;
}

const char *const *gate_patterns(struct job *job, size_t *ret_count)
{
    size_t count = 0, own = 0;
    while (job->profile->protected[own]) {
        own++;
    }
    const char **patterns =
        arena_array_of(job->arena, const char *, own + job->profile->gate_count + 1);
    for (; count < own; count++) {
        patterns[count] = job->profile->protected[count];
    }
    for (size_t i = 0; i < job->profile->gate_count; i++) {
        const struct gate_config *gate = &job->profile->gates[i];
        const char *script = gate_script(gate);
        if (!script) {
            continue;
        }
        const char *path =
            *gate->dir ? arena_printf(job->arena, "%s/%s", gate->dir, script) : script;
        if (fs_path_is_inside(path)) {
            patterns[count++] = quote_pattern(job->arena, path);
        }
    }
    *ret_count = count;
    return patterns;
}

static void print_integrity(struct str *text, const struct paths_report *report, bool allowed,
                            const char *verify_tree)
{
    autostr struct str summary = {0};
    struct json_out out = json_writer(text, 0);
    json_begin_object(&out);
    json_kv_str(&out, "method", "raw-tree");
    json_kv_i64(&out, "checked", (int64_t)report->checked);
    json_kv_bool(&out, "allowed", allowed);
    json_kv_bool(&out, "tampered", report->count > 0 && !allowed);
    json_key(&out, "changes");
    json_begin_array(&out);
    for (size_t i = 0; i < report->count; i++) {
        json_begin_object(&out);
        json_kv_str(&out, "path", report->changes[i].path);
        json_kv_str(&out, "kind", paths_kind_name(report->changes[i].kind));
        json_end_object(&out);
        if (i < 5) {
            str_addf(&summary, "%s%s", i ? ", " : "", report->changes[i].path);
        }
    }
    json_end_array(&out);
    if (report->count > 5) {
        str_addf(&summary, " and %zu more", report->count - 5);
    }
    json_kv_str(&out, "summary", str_c(&summary));
    json_kv_str(&out, "verify_tree", verify_tree);
    json_end_object(&out);
}

static int check_gates(struct job *job, const char *tree, struct str *text)
{
    struct tree_store *store cleanup_with(tree_store_cleanup_) = NULL;
    struct paths_report report cleanup_with(paths_report_free) = {0};
    char verify_tree[OBJECT_HEX_BYTES];
    size_t count = 0;
    const char *const *patterns = gate_patterns(job, &count);
    const char *baseline = job_plan_text(job, "tree");
    bool allowed = job->profile->allow_gate_changes;
    if (work_open_store(job, &store) < 0 ||
        paths_compare(store, baseline, tree, patterns, count, &report, &job->err) < 0) {
        return -1;
    }
    str_copy(verify_tree, sizeof(verify_tree), tree);
    if (!allowed &&
        paths_overlay(store, baseline, tree, patterns, count, verify_tree, &job->err) < 0) {
        return -1;
    }
    print_integrity(text, &report, allowed, verify_tree);
    return evidence_write(job->evidence, "hardening/gate-integrity.json", EVIDENCE_JSON,
                          str_c(text), text->len, NULL, &job->err);
}

int act_check_gates(dur_activity *act, const char *input, const char **result, void *factory)
{
    struct job job;
    autostr struct str text = {0};
    int rc = job_begin(&job, act, input, factory);
    if (rc == 0) {
        const char *tree = json_get_str(job.input, "tree");
        rc = tree ? check_gates(&job, tree, &text)
                  : err_set(&job.err, ERR_PERMANENT, "BadRequest", "the input lacks a tree");
    }
    if (rc == 0) {
        *result = job_text(&job, &text);
    }
    return job_end(&job, rc);
}

/* --- drift
 * ------------------------------------------------------------------------------------------- */

static bool is_too_large(const struct err *err)
{
    return str_eq(err->name, "TreeTooLarge") || str_eq(err->name, "PatchTooLarge") ||
           str_eq(err->name, "EvidenceTooLarge");
}

struct drift {
    struct tree_import_result tree;
    struct patch patch;
    struct str status;
};

static int write_drift(struct job *job, struct tree_store *store, const char *before,
                       struct drift *drift)
{
    if (tree_status(store, before, drift->tree.tree, &drift->status, &job->err) < 0 ||
        (drift->status.len > 0 &&
         evidence_write(job->evidence, "verification/post-verification.status", EVIDENCE_TEXT,
                        str_c(&drift->status), drift->status.len, NULL, &job->err) < 0) ||
        patch_make(store, before, drift->tree.tree, (uint64_t)job->config->artifact_bytes,
                   &drift->patch, &job->err) < 0) {
        return -1;
    }
    return drift->patch.count == 0
               ? 0
               : evidence_write(job->evidence, "verification/post-verification.patch",
                                EVIDENCE_TEXT, str_c(&drift->patch.text), drift->patch.text.len,
                                NULL, &job->err);
}

/* What the gates changed in their own tree; it never changes the verdict or the deliverable, so
 * that more than can be kept (a build of gigabytes) is a note, not a failure. */
static int collect_drift(struct job *job, struct envd *envd, const char *before, struct str *text)
{
    struct tree_store *store cleanup_with(tree_store_cleanup_) = NULL;
    struct drift drift = {0};
    struct json_out out = json_writer(text, 0);
    const char *note = NULL;
    int rc = collect_tree(job, envd, before, &drift.tree) < 0 || work_open_store(job, &store) < 0
                 ? -1
                 : write_drift(job, store, before, &drift);
    if (rc < 0 && is_too_large(&job->err)) {
        note = job->err.text;
        rc = 0;
    }
    if (rc == 0) {
        json_begin_object(&out);
        json_kv_bool(&out, "drift", note || drift.patch.count > 0);
        json_kv_i64(&out, "files", (int64_t)drift.patch.count);
        json_kv_str_opt(&out, "tree", *drift.tree.tree ? drift.tree.tree : NULL);
        json_kv_bool(&out, "patch_kept", !note && drift.patch.count > 0);
        json_kv_str_opt(&out, "note", note);
        json_end_object(&out);
    }
    tree_import_result_free(&drift.tree);
    patch_free(&drift.patch);
    str_free(&drift.status);
    return rc;
}

int act_collect_drift(dur_activity *act, const char *input, const char **result, void *factory)
{
    struct job job;
    autosandbox struct sandbox *sandbox = NULL;
    autoenvd struct envd *envd = NULL;
    autostr struct str text = {0};
    int rc = job_begin(&job, act, input, factory);
    if (rc == 0 && (rc = job_attach(&job, &sandbox, &envd)) == 0) {
        const char *before = json_get_str(job.input, "tree");
        rc = before ? collect_drift(&job, envd, before, &text)
                    : err_set(&job.err, ERR_PERMANENT, "BadRequest", "the input lacks a tree");
    }
    if (rc == 0) {
        *result = job_text(&job, &text);
    }
    return job_end(&job, rc);
}
