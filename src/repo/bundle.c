/*
 * bundle.c - a git bundle of exactly one commit and its history.
 *
 * Owns: the version 2 header and the choice of objects. One thread packs, so that equal commits
 * give equal bytes. A snapshot commit is made in memory (struct source's memory backend): a source
 * is never written to. Thread rule: source.h. Tests: tests/unit/test_repo_bundle.c
 */
#include "repo/bundle.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/mem.h"
#include "base/rng.h"
#include "repo/git.h"

struct bundle_out {
    int fd;
    uint64_t bytes;
    struct err *err;
};

static int put(struct bundle_out *out, const void *bytes, size_t len)
{
    int rc = fs_write_all(out->fd, bytes, len, out->err);
    out->bytes += len;
    return rc;
}

static int put_pack(void *bytes, size_t len, void *user)
{
    return put(user, bytes, len);
}

/* Everything of the commit's text but its parents and signature. */
static int make_snapshot(struct source *source, git_commit *commit, git_oid *ret, struct err *err)
{
    autostr struct str text = {0};
    char tree[OBJECT_HEX_BYTES];
    git_hex(tree, git_commit_tree_id(commit));
    str_addf(&text, "tree %s\n", tree);
    const char *header = git_commit_raw_header(commit);
    for (const char *line = header; line && *line;) {
        size_t len = strcspn(line, "\n");
        bool kept = str_starts(line, "author ") || str_starts(line, "committer ") ||
                    str_starts(line, "encoding ");
        if (kept) {
            str_addn(&text, line, len);
            str_addc(&text, '\n');
        }
        line += len + (line[len] == '\n');
    }
    str_addf(&text, "\n%s", git_commit_message_raw(commit));
    if (!source->memory) {
        if (git_mempack_new(&source->memory) < 0 ||
            git_odb_add_backend(source->odb, source->memory, 999) < 0) {
            return git_fail(err, ERR_PERMANENT, "BundleFailed", "cannot make a snapshot commit");
        }
    }
    if (git_odb_write(ret, source->odb, str_c(&text), text.len, GIT_OBJECT_COMMIT) < 0) {
        return git_fail(err, ERR_PERMANENT, "BundleFailed", "cannot make a snapshot commit");
    }
    return 0;
}

/* Some commit of the history is not there (outcome 1). */
static int insert_history(struct source *source, git_packbuilder *builder, const git_oid *commit,
                          struct err *err)
{
    autogit(git_revwalk) git_revwalk *walk = NULL;
    if (git_revwalk_new(&walk, source->repo) < 0 || git_revwalk_push(walk, commit) < 0) {
        return git_fail(err, ERR_PERMANENT, "BundleFailed", "cannot walk the history of %s",
                        source->name);
    }
    git_revwalk_sorting(walk, GIT_SORT_TOPOLOGICAL | GIT_SORT_TIME);
    int rc = git_packbuilder_insert_walk(builder, walk);
    if (rc == GIT_ENOTFOUND) {
        return 1;
    }
    return rc < 0 ? git_fail(err, ERR_PERMANENT, "BundleFailed", "cannot read the history of %s",
                             source->name)
                  : 0;
}

static int new_builder(struct source *source, git_packbuilder **ret, struct err *err)
{
    if (git_packbuilder_new(ret, source->repo) < 0) {
        return git_fail(err, ERR_PERMANENT, "BundleFailed", "cannot start a pack");
    }
    git_packbuilder_set_threads(*ret, 1);
    return 0;
}

static int choose(struct source *source, git_commit *commit, git_packbuilder **ret,
                  struct bundle_result *result, struct err *err)
{
    autogit(git_packbuilder) git_packbuilder *builder = NULL;
    git_oid head = *git_commit_id(commit);
    result->snapshot = source->shallow || source->partial;
    int rc = new_builder(source, &builder, err);
    if (rc == 0 && !result->snapshot) {
        rc = insert_history(source, builder, &head, err);
        result->snapshot = rc == 1;
    }
    if (rc == 1) {
        git_packbuilder_free(builder);
        builder = NULL;
        rc = new_builder(source, &builder, err);
    }
    if (rc == 0 && result->snapshot) {
        rc = make_snapshot(source, commit, &head, err);
        if (rc == 0 && git_packbuilder_insert_commit(builder, &head) < 0) {
            rc = git_fail(err, ERR_PERMANENT, "SourceIncomplete", "cannot read %s", source->name);
        }
    }
    if (rc == 0) {
        git_hex(result->commit, &head);
        *ret = steal(&builder);
    }
    return rc;
}

int bundle_write_fd(struct source *source, const char *commit, int fd, struct bundle_result *ret,
                    struct err *err)
{
    autogit(git_packbuilder) git_packbuilder *builder = NULL;
    autogit(git_commit) git_commit *object = NULL;
    autostr struct str head = {0};
    struct bundle_result result = {0};
    struct bundle_out out = {.fd = fd};
    git_oid id;
    int rc = git_id(commit, &id, err);
    if (rc == 0 && git_commit_lookup(&object, source->repo, &id) < 0) {
        rc = git_fail(err, ERR_PERMANENT, "RevisionNotCommit", "commit %s of %s cannot be read",
                      commit, source->name);
    }
    if (rc == 0) {
        rc = choose(source, object, &builder, &result, err);
    }
    if (rc < 0) {
        return rc;
    }
    struct err why = {0};
    out.err = &why;
    str_addf(&head, "# v2 git bundle\n%s HEAD\n%s refs/heads/factory-baseline\n\n", result.commit,
             result.commit);
    rc = put(&out, head.ptr, head.len);
    if (rc == 0 && git_packbuilder_foreach(builder, put_pack, &out) < 0 && why.kind == ERR_NONE) {
        return git_fail(err, ERR_PERMANENT, "BundleFailed", "cannot pack %s", source->name);
    }
    if (why.kind != ERR_NONE) {
        if (err) {
            *err = why;
        }
        return err_wrap(err, "bundle of %s", source->name);
    }
    result.bytes = out.bytes;
    result.objects = git_packbuilder_object_count(builder);
    if (ret) {
        *ret = result;
    }
    return 0;
}

int bundle_write_file(struct source *source, const char *commit, const char *path,
                      struct bundle_result *ret, struct err *err)
{
    char suffix[17];
    rng_hex(suffix, 8);
    autofree char *temp = mem_printf("%s.new-%s", path, suffix);
    autofree char *dir = fs_dirname(path);
    autoclose int fd = open(temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0) {
        return err_sys(err, errno, "BundleFailed", "cannot create %s", temp);
    }
    int rc = bundle_write_fd(source, commit, fd, ret, err);
    if (rc == 0 && (fsync(fd) < 0 || rename(temp, path) < 0)) {
        rc = err_sys(err, errno, "BundleFailed", "cannot write %s", path);
    }
    if (rc == 0) {
        return fs_fsync_dir(dir, err);
    }
    unlink(temp);
    return rc;
}
