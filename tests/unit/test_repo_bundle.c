/*
 * test_repo_bundle.c - git clones our bundles: exactly the commit asked for, the same bytes each
 * time.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "base/digest.h"
#include "base/fs.h"
#include "base/mem.h"
#include "lib/repo_lab.h"
#include "repo/bundle.h"

static struct lab lab;
static char *repo;

static void setup(void)
{
    lab_open(&lab);
    repo = lab_path(&lab, "repo");
    if (!lab_has_git()) {
        return;
    }
    lab_must(&lab, NULL, NULL, "init -q -b main repo");
    for (int i = 0; i < 20; i++) {
        autofree char *text = mem_printf("version %d\n", i);
        autofree char *name = mem_printf("dir/f%d", i % 7);
        lab_write(repo, name, text, strlen(text));
        lab_must(&lab, repo, NULL, "add .");
        lab_must(&lab, repo, NULL, "commit -q -m c%d", i);
    }
    lab_must(&lab, repo, NULL, "branch later");
    lab_must(&lab, repo, NULL, "reset -q --hard HEAD~5");
}

static void teardown(void)
{
    free(repo);
    lab_close(&lab);
}

TestSuite(repo_bundle, .init = setup, .fini = teardown, .timeout = 120);

#define NEED_GIT()                                                                                 \
    do {                                                                                           \
        if (!lab_has_git()) {                                                                      \
            cr_skip_test("skip: install git");                                                     \
        }                                                                                          \
    } while (0)

static void make(const char *dir, const char *rev, const char *file, struct revision *revision,
                 struct bundle_result *result)
{
    struct err err = {0};
    autosource struct source *source = NULL;
    autofree char *path = lab_path(&lab, file);
    cr_assert_eq(source_open_local(dir, &source, &err), 0, "%s", err.text);
    cr_assert_eq(source_resolve(source, rev, revision, &err), 0, "%s", err.text);
    cr_assert_eq(bundle_write_file(source, revision->commit, path, result, &err), 0, "%s",
                 err.text);
}

Test(repo_bundle, git_clones_it_without_a_network)
{
    struct revision revision = {0};
    struct bundle_result result = {0};
    autostr struct str head = {0};
    autostr struct str count = {0};
    autofree char *clone = lab_path(&lab, "clone");
    NEED_GIT();
    make(repo, "main", "one.bundle", &revision, &result);
    cr_expect_not(result.snapshot);
    cr_expect_str_eq(result.commit, revision.commit);
    lab_must(&lab, NULL, NULL, "clone -q one.bundle clone");
    lab_must(&lab, clone, &head, "rev-parse HEAD");
    cr_expect_str_eq(str_c(&head), revision.commit);
    lab_must(&lab, clone, &count, "rev-list --count --all");
    cr_expect_str_eq(str_c(&count), "15", "only the history of the commit asked for");
    lab_must(&lab, clone, NULL, "fsck --strict");
    lab_must(&lab, clone, &head, "for-each-ref --format=%%(refname) refs/heads");
    cr_expect_str_eq(str_c(&head), "refs/heads/factory-baseline");
}

Test(repo_bundle, equal_commits_give_equal_bytes)
{
    struct revision revision = {0};
    struct bundle_result result = {0};
    char one[SHA256_HEX_BYTES];
    char two[SHA256_HEX_BYTES];
    uint64_t size = 0;
    struct err err = {0};
    NEED_GIT();
    make(repo, "main", "one.bundle", &revision, &result);
    lab_must(&lab, NULL, NULL, "clone -q --bare repo copy");
    autofree char *copy = lab_path(&lab, "copy");
    make(copy, "main", "two.bundle", &revision, &result);
    autofree char *a = lab_path(&lab, "one.bundle");
    autofree char *b = lab_path(&lab, "two.bundle");
    cr_assert_eq(sha256_file(a, one, &size, &err), 0);
    cr_expect_eq(size, result.bytes);
    cr_assert_eq(sha256_file(b, two, &size, &err), 0);
    cr_expect_str_eq(one, two);
}

Test(repo_bundle, a_shallow_source_gives_a_snapshot_of_the_same_tree)
{
    struct revision revision = {0};
    struct bundle_result result = {0};
    autostr struct str got = {0};
    autofree char *shallow = lab_path(&lab, "shallow");
    autofree char *clone = lab_path(&lab, "clone");
    NEED_GIT();
    lab_must(&lab, NULL, NULL, "clone -q --depth 2 file://%s shallow", repo);
    make(shallow, "main", "s.bundle", &revision, &result);
    cr_expect(result.snapshot);
    cr_expect_str_neq(result.commit, revision.commit);
    lab_must(&lab, NULL, NULL, "clone -q s.bundle clone");
    lab_must(&lab, clone, &got, "rev-parse HEAD^{tree}");
    cr_expect_str_eq(str_c(&got), revision.tree);
    lab_must(&lab, clone, &got, "rev-list --count --all");
    cr_expect_str_eq(str_c(&got), "1");
    lab_must(&lab, clone, &got, "log -1 --format=%%an:%%s");
    cr_expect_str_eq(str_c(&got), "Ana:c14");
    cr_expect_neq(lab_git(&lab, shallow, NULL, "cat-file -e %s", result.commit), 0,
                  "the source was written to");
}

Test(repo_bundle, a_receiver_that_stops_is_an_error)
{
    struct err err = {0};
    struct revision revision = {0};
    autosource struct source *source = NULL;
    NEED_GIT();
    cr_assert_eq(source_open_local(repo, &source, &err), 0);
    cr_assert_eq(source_resolve(source, "main", &revision, &err), 0);
    cr_expect_lt(bundle_write_fd(source, revision.commit, -1, NULL, &err), 0);
    cr_expect_lt(bundle_write_fd(source, "0123456789012345678901234567890123456789", 1, NULL, &err),
                 0);
    cr_expect_str_eq(err.name, "RevisionNotCommit");
}
