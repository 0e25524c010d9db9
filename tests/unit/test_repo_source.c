/*
 * test_repo_source.c - every kind of local repository opens, or is refused with the reason;
 * revisions mean what they should.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/mem.h"
#include "lib/repo_lab.h"

static struct lab lab;
static char *repo;
static struct str first; /* commit ids */
static struct str second;

/* main: two commits; branch topic at the first; tags light (first), heavy (annotated, second). */
static void setup(void)
{
    lab_open(&lab);
    repo = lab_path(&lab, "repo");
    if (!lab_has_git()) {
        return;
    }
    lab_must(&lab, NULL, NULL, "init -q -b main repo");
    lab_write(repo, "README", "one\n", 4);
    lab_write(repo, "sub/x", "x\n", 2);
    lab_must(&lab, repo, NULL, "add .");
    lab_must(&lab, repo, NULL, "commit -q -m first");
    lab_must(&lab, repo, &first, "rev-parse HEAD");
    lab_must(&lab, repo, NULL, "tag light");
    lab_must(&lab, repo, NULL, "branch topic/x");
    lab_write(repo, "README", "two\n", 4);
    lab_must(&lab, repo, NULL, "commit -q -a -m second");
    lab_must(&lab, repo, &second, "rev-parse HEAD");
    lab_must(&lab, repo, NULL, "tag -a -m note heavy");
    lab_must(&lab, repo, NULL, "tag -a -m note tree HEAD^{tree}");
}

static void teardown(void)
{
    free(repo);
    str_free(&first);
    str_free(&second);
    lab_close(&lab);
}

TestSuite(repo_source, .init = setup, .fini = teardown, .timeout = 120);

#define NEED_GIT()                                                                                 \
    do {                                                                                           \
        if (!lab_has_git()) {                                                                      \
            cr_skip_test("skip: install git");                                                     \
        }                                                                                          \
    } while (0)

static void resolves(const char *dir, const char *rev, enum revision_how how,
                     const struct str *commit)
{
    struct err err = {0};
    struct revision got = {0};
    autosource struct source *source = NULL;
    cr_assert_eq(source_open_local(dir, &source, &err), 0, "%s: %s", err.name, err.text);
    cr_assert_eq(source_resolve(source, rev, &got, &err), 0, "%s: %s", err.name, err.text);
    cr_expect_str_eq(got.commit, str_c(commit), "%s", rev);
    cr_expect_eq(got.how, how, "%s is a %s", rev, revision_how_name(got.how));
}

static void fails(const char *dir, const char *rev, const char *name, const char *words)
{
    struct err err = {0};
    struct revision got = {0};
    autosource struct source *source = NULL;
    int rc = source_open_local(dir, &source, &err);
    if (rc == 0) {
        rc = source_resolve(source, rev, &got, &err);
    }
    cr_assert_lt(rc, 0, "%s %s", dir, rev);
    cr_expect_str_eq(err.name, name, "%s", err.text);
    cr_expect_not_null(strstr(err.text, words), "wanted \"%s\" in: %s", words, err.text);
}

Test(repo_source, names_of_every_kind_resolve)
{
    NEED_GIT();
    autofree char *abbreviated = mem_strndup(second.ptr, 7);
    resolves(repo, "main", REVISION_BRANCH, &second);
    resolves(repo, "topic/x", REVISION_BRANCH, &first);
    resolves(repo, "refs/heads/topic/x", REVISION_BRANCH, &first);
    resolves(repo, "light", REVISION_TAG, &first);
    resolves(repo, "heavy", REVISION_TAG, &second);
    resolves(repo, "refs/tags/heavy", REVISION_TAG, &second);
    resolves(repo, "HEAD", REVISION_BRANCH, &second);
    resolves(repo, str_c(&first), REVISION_COMMIT, &first);
    resolves(repo, abbreviated, REVISION_COMMIT, &second);
    lab_must(&lab, repo, NULL, "checkout -q --detach %s", str_c(&first));
    resolves(repo, "HEAD", REVISION_COMMIT, &first);
    /* a branch whose name is another commit's abbreviation: the name wins */
    lab_must(&lab, repo, NULL, "branch %s %s", abbreviated, str_c(&first));
    resolves(repo, abbreviated, REVISION_BRANCH, &first);
}

Test(repo_source, the_commit_is_described)
{
    struct err err = {0};
    struct revision got = {0};
    autosource struct source *source = NULL;
    autostr struct str tree = {0};
    NEED_GIT();
    lab_must(&lab, repo, &tree, "rev-parse HEAD^{tree}");
    cr_assert_eq(source_open_local(repo, &source, &err), 0, "%s", err.text);
    cr_assert_eq(source_resolve(source, "main", &got, &err), 0, "%s", err.text);
    cr_expect_str_eq(got.branch, "main");
    cr_expect_str_eq(got.tag, "");
    cr_expect_str_eq(got.tree, str_c(&tree));
    cr_expect_str_eq(got.author, "Ana <ana@example.org>");
    cr_expect_str_eq(got.subject, "second");
    cr_expect_eq(got.commit_time_s, 1700000000);
    cr_expect_not(source_is_remote(source));
    cr_expect_not(source_is_shallow(source));
}

Test(repo_source, what_is_not_there_is_said)
{
    NEED_GIT();
    autofree char *words = mem_printf("rev \"v1.2\": no such branch, tag or commit in %s", repo);
    fails(repo, "v1.2", "RevisionNotFound", words);
    fails(repo, "main~1", "RevisionNotFound", "no such branch, tag or commit");
    fails(repo, "a b", "RevisionNotFound", "no such branch, tag or commit");
    fails(repo, "0123456789012345678901234567890123456789", "RevisionNotFound", "no such");
    fails(repo, "abc", "RevisionNotFound", "no such");
    fails(repo, "../x", "RevisionNotFound", "no such");
    fails(repo, "-x", "RevisionRejected", "rejected by policy");
    fails(repo, "tree", "RevisionNotCommit", "does not lead to a commit");
    lab_must(&lab, repo, NULL, "tag topic/x main");
    fails(repo, "topic/x", "RevisionAmbiguous", "refs/heads/topic/x");
    fails("/nonexistent/dir", "main", "SourceNotFound", "/nonexistent/dir");
    fails(lab.dir, "main", "SourceNotRepository", "is not a git repository");
    autofree char *sub = fs_join(repo, "sub");
    fails(sub, "main", "SourceNotRepository", "is inside the repository");
    autofree char *file = fs_join(repo, "README");
    fails(file, "main", "SourceNotRepository", "is not a directory");
    lab_must(&lab, NULL, NULL, "init -q -b main void");
    autofree char *empty = lab_path(&lab, "void");
    fails(empty, "HEAD", "RevisionNotFound", "no commit yet");
    fails(empty, "main", "RevisionNotFound", "no such branch");
}

Test(repo_source, kinds_of_repositories)
{
    NEED_GIT();
    autofree char *bare = lab_path(&lab, "bare.git");
    autofree char *tree = lab_path(&lab, "linked");
    autofree char *shared = lab_path(&lab, "shared");
    autofree char *clone = lab_path(&lab, "clone");
    lab_must(&lab, NULL, NULL, "clone -q --bare repo bare.git");
    lab_must(&lab, repo, NULL, "worktree add -q ../linked topic/x");
    lab_must(&lab, NULL, NULL, "clone -q --shared repo shared");
    lab_must(&lab, NULL, NULL, "clone -q repo clone");
    lab_must(&lab, repo, NULL, "pack-refs --all");
    lab_must(&lab, repo, NULL, "gc -q");
    resolves(bare, "topic/x", REVISION_BRANCH, &first);
    resolves(tree, "HEAD", REVISION_BRANCH, &first);
    resolves(tree, "main", REVISION_BRANCH, &second);
    resolves(shared, "heavy", REVISION_TAG, &second);
    resolves(clone, "topic/x", REVISION_BRANCH, &first);
    resolves(clone, "origin/topic/x", REVISION_BRANCH, &first);
    resolves(repo, "main", REVISION_BRANCH, &second);
}

Test(repo_source, configuration_of_the_repository_counts_for_nothing)
{
    NEED_GIT();
    lab_must(&lab, repo, NULL, "config core.fsmonitor /bin/false");
    lab_must(&lab, repo, NULL, "config core.hooksPath /tmp");
    lab_must(&lab, repo, NULL, "config filter.x.smudge /bin/false");
    resolves(repo, "main", REVISION_BRANCH, &second);
}

Test(repo_source, shallow_clones_open_and_say_so)
{
    struct err err = {0};
    autosource struct source *source = NULL;
    autofree char *dir = lab_path(&lab, "shallow");
    NEED_GIT();
    lab_must(&lab, NULL, NULL, "clone -q --depth 1 file://%s shallow", repo);
    resolves(dir, "main", REVISION_BRANCH, &second);
    cr_assert_eq(source_open_local(dir, &source, &err), 0);
    cr_expect(source_is_shallow(source));
    fails(dir, str_c(&first), "RevisionNotFound", "no such");
}

Test(repo_source, partial_clones_are_read_as_far_as_they_go)
{
    autofree char *dir = lab_path(&lab, "partial");
    NEED_GIT();
    lab_must(&lab, repo, NULL, "config uploadpack.allowFilter true");
    lab_must(&lab, NULL, NULL, "clone -q --filter=blob:none file://%s partial", repo);
    resolves(dir, "main", REVISION_BRANCH, &second);
    fails(dir, "light", "SourceIncomplete", "it is a partial clone");
}

Test(repo_source, formats_of_the_future_are_refused_with_the_reason)
{
    NEED_GIT();
    autofree char *sha256 = lab_path(&lab, "sha256");
    autofree char *trees = lab_path(&lab, "trees");
    lab_must(&lab, NULL, NULL, "init -q --object-format=sha256 sha256");
    fails(sha256, "main", "SourceUnsupported", "object format sha256");
    lab_must(&lab, NULL, NULL, "clone -q repo trees");
    lab_must(&lab, trees, NULL, "config core.repositoryformatversion 1");
    lab_must(&lab, trees, NULL, "config extensions.worktreeConfig true");
    resolves(trees, "main", REVISION_BRANCH, &second);
    lab_write(trees, ".git/config",
              "[core]\nrepositoryformatversion = 1\n[extensions]\nrefStorage = x\n", 63);
    fails(trees, "main", "SourceUnsupported", "extensions.refstorage");
}

Test(repo_source, damage_is_said_not_followed)
{
    NEED_GIT();
    autofree char *broken = lab_path(&lab, "broken");
    autostr struct str blob = {0};
    lab_must(&lab, NULL, NULL, "clone -q --no-hardlinks repo broken");
    lab_must(&lab, broken, &blob, "rev-parse HEAD:README");
    autofree char *object = mem_printf("%s/.git/objects/%.2s/%s", broken, blob.ptr, blob.ptr + 2);
    if (unlink(object) < 0) {
        cr_skip_test("skip: this git packs clones");
    }
    fails(broken, "main", "SourceIncomplete", "README");
}

/* Runs as root only: nobody else can give a directory away. */
Test(repo_source, repositories_of_other_users_are_refused_with_the_cure)
{
    NEED_GIT();
    if (geteuid() != 0) {
        cr_skip_test("skip: needs root");
    }
    const char *argv[] = {"git", "--version", NULL};
    cr_assert_eq(lab_git_argv(&lab, NULL, NULL, argv), 0);
    autofree char *dot = fs_join(repo, ".git");
    cr_assert_eq(chown(repo, 12345, 12345), 0);
    cr_assert_eq(chown(dot, 12345, 12345), 0);
    fails(repo, "main", "SourceOwner", "git config --global --add safe.directory");
    fails(repo, "main", "SourceOwner", "uid 12345");
    /* the cure cures */
    autofree char *config =
        mem_printf("[safe]\n\tdirectory = /elsewhere\n\tdirectory = %s\n", repo);
    lab_write(lab.dir, ".gitconfig", config, strlen(config));
    setenv("HOME", lab.dir, 1);
    unsetenv("XDG_CONFIG_HOME");
    resolves(repo, "main", REVISION_BRANCH, &second);
    lab_write(lab.dir, ".gitconfig", "[safe\nbroken", 12);
    fails(repo, "main", "SourceOwner", "uid 12345");
    /* what the repository says about itself counts for nothing */
    lab_write(lab.dir, ".gitconfig", "", 0);
    lab_must(&lab, NULL, NULL, "config --file %s/config safe.directory *", dot);
    fails(repo, "main", "SourceOwner", "uid 12345");
}

/* A host that has no descriptor to give says nothing about the repository. */
static void check_without_descriptors(const char *rev)
{
    struct err err = {0};
    struct revision got;
    struct rlimit before;
    autosource struct source *source = NULL;
    cr_assert_eq(source_open_local(repo, &source, &err), 0, "%s", err.text);
    cr_assert_eq(getrlimit(RLIMIT_NOFILE, &before), 0);
    struct rlimit none = {.rlim_cur = 0, .rlim_max = before.rlim_max};
    cr_assert_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
    int rc = source_resolve(source, rev, &got, &err);
    cr_assert_eq(setrlimit(RLIMIT_NOFILE, &before), 0);
    cr_expect_lt(rc, 0, "%s", rev);
    cr_expect_eq(err.kind, ERR_TRANSIENT, "%s: %s: %s", rev, err.name, err.text);
    cr_expect_eq(source_resolve(source, rev, &got, &err), 0, "%s: %s", rev, err.text);
}

Test(repo_source, want_of_descriptors_is_the_hosts_fault)
{
    NEED_GIT();
    const char *const revs[] = {"main",       "HEAD", "topic/x", "heavy", "refs/heads/main",
                                str_c(&first)};
    for (int packed = 0; packed < 2; packed++) {
        for (size_t i = 0; i < ARRAY_LEN(revs); i++) {
            check_without_descriptors(revs[i]);
        }
        lab_must(&lab, repo, NULL, "gc -q");
    }
}

Test(repo_source, the_store_outlives_the_source)
{
    struct err err = {0};
    struct revision got = {0};
    autosource struct source *source = NULL;
    autostr struct str text = {0};
    NEED_GIT();
    cr_assert_eq(source_open_local(repo, &source, &err), 0);
    cr_assert_eq(source_resolve(source, "main", &got, &err), 0);
    cr_assert_eq(tree_store_add(lab.store, source, got.commit, &err), 0, "%s", err.text);
    cr_assert_eq(tree_store_add(lab.store, source, got.commit, &err), 0, "%s", err.text);
    source = source_free(source);
    cr_assert_eq(fs_remove_tree(repo, &err), 0);
    cr_expect(tree_store_has(lab.store, got.commit));
    cr_assert_eq(tree_read(lab.store, got.tree, "README", 100, &text, &err), 0, "%s", err.text);
    cr_expect_str_eq(str_c(&text), "two\n");
}

Test(repo_source, trees_that_git_would_not_check_out_are_refused)
{
    static const char *const names[] = {".git", ".GIT", "git~1", "..", "."};
    NEED_GIT();
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        autostr struct str blob = {0};
        autostr struct str tree = {0};
        autostr struct str commit = {0};
        lab_must(&lab, repo, &blob, "rev-parse HEAD:README");
        autofree char *line = mem_printf("100644 blob %s\t%s\n", str_c(&blob), names[i]);
        lab_write(lab.dir, "ls", line, strlen(line));
        autofree char *script = mem_printf("git mktree < %s/ls", lab.dir);
        const char *argv[] = {"git", "-c", "alias.mk=!sh -c \"$1\" x", "mk", script, NULL};
        if (lab_git_argv(&lab, repo, &tree, argv) != 0) {
            autofree char *raw = mem_printf("git mktree < %s/ls", lab.dir);
            cr_log_warn("cannot run %s", raw);
            continue;
        }
        lab_must(&lab, repo, &commit, "commit-tree -m x %s", str_c(&tree));
        lab_must(&lab, repo, NULL, "branch -f evil %s", str_c(&commit));
        fails(repo, "evil", "BaselineRefused", "cannot be used");
    }
}
