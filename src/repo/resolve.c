/*
 * resolve.c - what a revision names.
 *
 * Owns: the order of names (source.h says which) and the check that the commit's tree is all there.
 * Must not: evaluate expressions (HEAD~3, @{upstream}): a revision is a name. Thread rule:
 * source.h. Tests: tests/unit/test_repo_source.c
 */
#include <string.h>

#include "base/fs.h"
#include "base/mem.h"
#include "repo/git.h"
#include "repo/list.h"
#include "repo/mirror.h"
#include "repo/source.h"

#define ABBREVIATION_MIN 4

const char *revision_how_name(enum revision_how how)
{
    switch (how) {
    case REVISION_BRANCH:
        return "branch";
    case REVISION_TAG:
        return "tag";
    case REVISION_COMMIT:
        break;
    }
    return "commit";
}

static bool is_hex(const char *text)
{
    return text[strspn(text, "0123456789abcdefABCDEF")] == '\0';
}

static int not_found(struct source *source, const char *revision, struct err *err)
{
    autostr struct str shown = {0};
    return err_set(err, ERR_PERMANENT, "RevisionNotFound",
                   "rev \"%s\": no such branch, tag or commit in %s", name_show(&shown, revision),
                   source->name);
}

static int not_commit(struct source *source, const char *revision, struct err *err)
{
    autostr struct str shown = {0};
    return err_set(err, ERR_PERMANENT, "RevisionNotCommit",
                   "rev \"%s\" does not lead to a commit in %s", name_show(&shown, revision),
                   source->name);
}

/* After a call of libgit2 that failed: what the host refused says nothing about the revision. 1: it
 * was not that. */
static int refused(struct source *source, struct err *err)
{
    return git_failed_of_host()
               ? git_fail(err, ERR_TRANSIENT, "GitFailed", "cannot read %s", source->name)
               : 1;
}

/* The commit that an object is or, as a tag, leads to. 1: to none. */
static int peel(struct source *source, const git_oid *id, git_commit **ret, struct err *err)
{
    autogit(git_object) git_object *object = NULL;
    git_object *commit = NULL;
    if (git_object_lookup(&object, source->repo, id, GIT_OBJECT_ANY) < 0 ||
        git_object_peel(&commit, object, GIT_OBJECT_COMMIT) < 0) {
        return refused(source, err);
    }
    *ret = (git_commit *)commit;
    return 0;
}

/* 0: *ret is set; 1: no such ref; <0: it leads to no commit, or cannot be read. */
static int peel_ref(struct source *source, const char *revision, const char *name, git_commit **ret,
                    struct err *err)
{
    autogit(git_reference) git_reference *ref = NULL;
    git_object *commit = NULL;
    int valid = 0;
    if (git_reference_name_is_valid(&valid, name) < 0 || !valid) {
        return 1;
    }
    int rc = git_reference_lookup(&ref, source->repo, name);
    if (rc < 0) {
        return rc == GIT_ENOTFOUND ? 1 : refused(source, err);
    }
    if (git_reference_peel(&commit, ref, GIT_OBJECT_COMMIT) < 0) {
        return refused(source, err) < 0 ? -1 : not_commit(source, revision, err);
    }
    *ret = (git_commit *)commit;
    return 0;
}

static void set_how(struct revision *ret, enum revision_how how, const char *name)
{
    ret->how = how;
    str_copy(ret->branch, sizeof(ret->branch), how == REVISION_BRANCH ? name : "");
    str_copy(ret->tag, sizeof(ret->tag), how == REVISION_TAG ? name : "");
}

static int resolve_head(struct source *source, struct revision *ret, git_commit **commit,
                        struct err *err)
{
    autogit(git_reference) git_reference *head = NULL;
    int rc = peel_ref(source, "HEAD", "HEAD", commit, err);
    if (rc == 1 || (rc < 0 && git_repository_head_unborn(source->repo) == 1)) {
        return err_set(err, ERR_PERMANENT, "RevisionNotFound",
                       "rev \"HEAD\": there is no commit yet in %s", source->name);
    }
    set_how(ret, REVISION_COMMIT, "");
    if (rc == 0 && git_repository_head(&head, source->repo) < 0) {
        rc = refused(source, err) < 0 ? -1 : 0;
    } else if (rc == 0 && git_reference_is_branch(head)) {
        set_how(ret, REVISION_BRANCH, git_reference_shorthand(head));
    }
    return rc;
}

static int resolve_full_ref(struct source *source, const char *name, struct revision *ret,
                            git_commit **commit, struct err *err)
{
    if (str_starts(name, "refs/heads/")) {
        set_how(ret, REVISION_BRANCH, name + strlen("refs/heads/"));
    } else if (str_starts(name, "refs/tags/")) {
        set_how(ret, REVISION_TAG, name + strlen("refs/tags/"));
    } else {
        set_how(ret, REVISION_COMMIT, "");
    }
    return peel_ref(source, name, name, commit, err);
}

static int resolve_branch_or_tag(struct source *source, const char *name, struct revision *ret,
                                 git_commit **commit, struct err *err)
{
    autofree char *head = mem_printf("refs/heads/%s", name);
    autofree char *tag = mem_printf("refs/tags/%s", name);
    autogit(git_commit) git_commit *branch_commit = NULL;
    autogit(git_commit) git_commit *tag_commit = NULL;
    int branch_rc = peel_ref(source, name, head, &branch_commit, err);
    int tag_rc = branch_rc < 0 ? branch_rc : peel_ref(source, name, tag, &tag_commit, err);
    if (branch_rc < 0 || tag_rc < 0) {
        return -1;
    }
    if (branch_commit && tag_commit &&
        !git_oid_equal(git_commit_id(branch_commit), git_commit_id(tag_commit))) {
        return err_set(
            err, ERR_PERMANENT, "RevisionAmbiguous",
            "rev \"%s\" is a branch and a tag in %s: write refs/heads/%s or refs/tags/%s", name,
            source->name, name, name);
    }
    if (branch_commit) {
        set_how(ret, REVISION_BRANCH, name);
        *commit = steal(&branch_commit);
        return 0;
    }
    set_how(ret, REVISION_TAG, name);
    *commit = steal(&tag_commit);
    return *commit ? 0 : 1;
}

static int resolve_remote_branch(struct source *source, const char *name, struct revision *ret,
                                 git_commit **commit, struct err *err)
{
    autofree char *given = mem_printf("refs/remotes/%s", name);
    autofree char *origin = mem_printf("refs/remotes/origin/%s", name);
    int rc = peel_ref(source, name, given, commit, err);
    if (rc == 0) {
        const char *slash = strchr(name, '/');
        set_how(ret, REVISION_BRANCH, slash ? slash + 1 : name);
    } else if (rc == 1) {
        rc = peel_ref(source, name, origin, commit, err);
        set_how(ret, REVISION_BRANCH, name);
    }
    return rc;
}

struct search {
    struct source *source;
    const git_oid *prefix;
    size_t digits;
    git_oid found;
    size_t count;
    bool is_broken; /* err says why */
    struct err *err;
};

/* <0: cannot be read. */
static int compare_id(const git_oid *id, void *user)
{
    struct search *s = user;
    autogit(git_commit) git_commit *commit = NULL;
    if (git_oid_ncmp(id, s->prefix, s->digits) != 0) {
        return 0;
    }
    int rc = peel(s->source, id, &commit, s->err);
    if (rc == 0) {
        bool again = s->count && git_oid_equal(git_commit_id(commit), &s->found);
        s->found = *git_commit_id(commit);
        s->count += !again;
    }
    s->is_broken = rc < 0;
    return rc < 0 ? -1 : 0;
}

static int resolve_short_id(struct source *source, const char *text, git_commit **commit,
                            struct err *err)
{
    git_oid prefix;
    git_oid id;
    size_t len = strlen(text);
    if (len < ABBREVIATION_MIN || len > GIT_OID_HEXSZ || !is_hex(text) ||
        git_oid_fromstrn(&prefix, text, len) < 0) {
        return 1;
    }
    int rc = git_odb_exists_prefix(&id, source->odb, &prefix, len);
    if (rc == 0) {
        rc = peel(source, &id, commit, err);
        return rc == 1 ? not_commit(source, text, err) : rc;
    }
    if (rc != GIT_EAMBIGUOUS) {
        return 1;
    }
    struct search search = {.source = source, .prefix = &prefix, .digits = len, .err = err};
    if (git_odb_foreach(source->odb, compare_id, &search) < 0 &&
        (search.is_broken || refused(source, err) < 0)) {
        return -1;
    }
    if (search.count > 1) {
        return err_set(err, ERR_PERMANENT, "RevisionAmbiguous",
                       "rev \"%s\" fits %zu commits in %s: give more digits", text, search.count,
                       source->name);
    }
    rc = search.count ? peel(source, &search.found, commit, err) : 1;
    return rc == 1 ? not_commit(source, text, err) : rc;
}

static int resolve_name(struct source *source, const char *name, struct revision *ret,
                        git_commit **commit, struct err *err)
{
    int rc = 1;
    if (strlen(name) == GIT_OID_HEXSZ && is_hex(name)) {
        set_how(ret, REVISION_COMMIT, "");
        rc = resolve_short_id(source, name, commit, err);
        return rc;
    }
    if (str_eq(name, "HEAD")) {
        return resolve_head(source, ret, commit, err);
    }
    if (str_starts(name, "refs/")) {
        rc = resolve_full_ref(source, name, ret, commit, err);
    }
    if (rc == 1) {
        rc = resolve_branch_or_tag(source, name, ret, commit, err);
    }
    if (rc == 1 && !source->remote) {
        rc = resolve_remote_branch(source, name, ret, commit, err);
    }
    if (rc == 1) {
        set_how(ret, REVISION_COMMIT, "");
        rc = resolve_short_id(source, name, commit, err);
    }
    return rc;
}

/* --- the commit --- */

static int check_complete(struct source *source, const git_commit *commit, struct err *err)
{
    autolist struct list list = {0};
    size_t missing = 0;
    const char *first = NULL;
    int rc = list_load(source->odb, git_commit_tree_id(commit), &list, err);
    for (size_t i = 0; rc == 0 && i < list.count; i++) {
        const struct list_entry *entry = &list.entries[i];
        if (entry->mode != MODE_GITLINK &&
            !git_odb_exists_ext(source->odb, &entry->id, GIT_ODB_LOOKUP_NO_REFRESH)) {
            first = first ? first : entry->path;
            missing++;
        }
    }
    if (rc < 0) {
        return err_wrap(err, "%s", source->name);
    }
    if (missing) {
        autostr struct str shown = {0};
        return err_set(err, ERR_PERMANENT, "SourceIncomplete",
                       "%s lacks the content of %zu files of this commit (first: %s)%s",
                       source->name, missing, name_show(&shown, first),
                       source->partial
                           ? "; it is a partial clone: check the commit out there once, "
                             "or give the URL it came from"
                           : "; see git fsck");
    }
    return 0;
}

static void put_words(char *out, size_t size, const char *text, size_t len)
{
    autostr struct str clean = {0};
    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)text[i];
        str_addc(&clean, c < 0x20 || c == 0x7f ? ' ' : (char)c);
    }
    str_copy(out, size, str_c(&clean));
}

static void describe(git_commit *commit, struct revision *ret)
{
    const git_signature *author = git_commit_author(commit);
    const char *message = git_commit_message(commit);
    git_hex(ret->commit, git_commit_id(commit));
    git_hex(ret->tree, git_commit_tree_id(commit));
    ret->commit_time_s = git_commit_time(commit);
    if (author) {
        autofree char *text = mem_printf("%s <%s>", author->name, author->email);
        put_words(ret->author, sizeof(ret->author), text, strlen(text));
    }
    if (message) {
        message += strspn(message, "\n");
        put_words(ret->subject, sizeof(ret->subject), message, strcspn(message, "\n"));
    }
}

/* A full id that the mirror holds needs no network. */
static int refresh(struct source *source, const char *revision, struct err *err)
{
    bool full = strlen(revision) == GIT_OID_HEXSZ && is_hex(revision);
    git_oid id;
    if (full && git_oid_fromstr(&id, revision) == 0 && git_odb_exists(source->odb, &id)) {
        return 0;
    }
    int rc = mirror_fetch(source->mirror, full ? revision : NULL, err);
    git_odb_refresh(source->odb);
    return rc == 1 ? not_found(source, revision, err) : rc;
}

/* libgit2 says of what lies in a pack that it cannot open that it is not there. So what is missing
 * for good is believed only while files can be read at all. */
static int doubt(struct source *source, struct err *err)
{
    autofree char *head = fs_join(git_repository_path(source->repo), "HEAD");
    autostr struct str text = {0};
    struct err why = {0};
    if (err && err->kind == ERR_PERMANENT && fs_read_file(head, 4096, &text, &why) < 0 &&
        why.kind == ERR_TRANSIENT) {
        *err = why;
    }
    return -1;
}

int source_resolve(struct source *source, const char *revision, struct revision *ret,
                   struct err *err)
{
    autogit(git_commit) git_commit *commit = NULL;
    struct revision result = {0};
    int rc = revision_check(revision, err);
    if (rc == 0 && source->remote) {
        rc = refresh(source, revision, err);
    }
    if (rc == 0) {
        rc = resolve_name(source, revision, &result, &commit, err);
    }
    if (rc == 1) {
        rc = not_found(source, revision, err);
    }
    if (rc == 0) {
        git_odb_refresh(source->odb);
        rc = check_complete(source, commit, err);
    }
    if (rc < 0) {
        return doubt(source, err);
    }
    describe(commit, &result);
    *ret = result;
    return 0;
}
