/*
 * test_repo_tree.c - raw trees go out as tar and come back; a hostile tar is refused or bounded.
 */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/mem.h"
#include "base/proc.h"
#include "lib/repo_lab.h"
#include "repo/name.h"

static struct lab lab;

static void setup(void)
{
    lab_open(&lab);
}

static void teardown(void)
{
    lab_close(&lab);
}

TestSuite(repo_tree, .init = setup, .fini = teardown, .timeout = 120);

static int take(void *user, const void *bytes, size_t len, struct err *err)
{
    (void)err;
    str_addn(user, bytes, len);
    return 0;
}

static void import_ok(const struct str *tar, const char *baseline, struct tree_import_result *ret)
{
    struct err err = {0};
    struct tree_import_options options = {.baseline = baseline};
    cr_assert_eq(tree_import_mem(lab.store, tar->ptr, tar->len, &options, ret, &err), 0, "%s: %s",
                 err.name, err.text);
}

/* A tar of files gives the tree of want. */
static void comes_back(const struct str *tar, const char *baseline, const struct lab_file *want,
                       size_t count)
{
    char tree[OBJECT_HEX_BYTES];
    autoimport struct tree_import_result got = {0};
    lab_tree(&lab, want, count, tree);
    import_ok(tar, baseline, &got);
    cr_expect_str_eq(got.tree, tree);
}

static const struct lab_file sample[] = {
    LAB_TEXT("README", "hello\n"),
    LAB_EXEC("bin/run me", "#!/bin/sh\n"),
    LAB_LINK("bin/link", "../README"),
    LAB_TEXT("src/a/b/c.txt", ""),
    LAB_TEXT("src/\xc3\xbc\xff", "\0\1\2"),
    LAB_TEXT("src/new\nline", "x"),
    LAB_LINK("src/long", "0123456789/0123456789/0123456789/0123456789/0123456789/0123456789/"
                         "0123456789/0123456789/0123456789/0123456789/0123456789"),
    {"sub", 0160000, "1111111111111111111111111111111111111111", 40},
};

Test(repo_tree, out_and_in_again_is_the_same_tree)
{
    struct err err = {0};
    char tree[OBJECT_HEX_BYTES];
    autostr struct str one = {0};
    autostr struct str two = {0};
    autoimport struct tree_import_result got = {0};
    lab_tree(&lab, sample, ARRAY_LEN(sample), tree);
    cr_assert_eq(tree_export(lab.store, tree, 1700000000, take, &one, &err), 0, "%s", err.text);
    cr_assert_eq(tree_export(lab.store, tree, 1700000000, take, &two, &err), 0, "%s", err.text);
    cr_expect_eq(one.len, two.len);
    cr_expect_eq(memcmp(one.ptr, two.ptr, one.len), 0, "the stream is deterministic");
    import_ok(&one, tree, &got);
    cr_expect_str_eq(got.tree, tree);
    cr_expect_eq(got.files, ARRAY_LEN(sample));
    cr_expect_eq(got.ignored + got.git_dirs + got.specials + got.unportable + got.submodules, 0u);
}

Test(repo_tree, tar_unpacks_the_stream_and_packs_the_same_tree)
{
    struct err err = {0};
    char tree[OBJECT_HEX_BYTES];
    autostr struct str tar = {0};
    autoimport struct tree_import_result got = {0};
    autofree char *dir = lab_path(&lab, "out");
    if (!proc_in_path("tar", NULL)) {
        cr_skip_test("skip: install tar");
    }
    lab_tree(&lab, sample, ARRAY_LEN(sample), tree);
    cr_assert_eq(tree_export(lab.store, tree, 1700000000, take, &tar, &err), 0, "%s", err.text);
    cr_assert_eq(fs_mkdirs(dir, 0755, &err), 0);
    const char *unpack[] = {"tar", "-xf", "-", "-C", dir, NULL};
    const char *pack[] = {"tar", "-cf", "-", "-C", dir, ".", NULL};
    const char *pax[] = {"tar", "--format=pax", "-cf", "-", "-C", dir, ".", NULL};
    struct proc_result r = {0};
    struct proc_spec spec = {.argv = unpack};
    cr_assert_eq(proc_run(&spec, tar.ptr, tar.len, 1 << 20, 60000, &r, &err), 0);
    cr_assert_eq(r.exit_code, 0, "%s", str_c(&r.err));
    proc_result_free(&r);
    for (int i = 0; i < 2; i++) {
        struct proc_spec again = {.argv = i ? pax : pack};
        r = (struct proc_result){0};
        cr_assert_eq(proc_run(&again, NULL, 0, 16 << 20, 60000, &r, &err), 0);
        import_ok(&r.out, tree, &got);
        cr_expect_str_eq(got.tree, tree, "format %d", i);
        tree_import_result_free(&got);
        got = (struct tree_import_result){0};
        proc_result_free(&r);
    }
}

Test(repo_tree, what_the_baseline_ignores_stays_out_unless_it_is_tracked)
{
    char base[OBJECT_HEX_BYTES];
    const struct lab_file before[] = {LAB_TEXT(".gitignore", "*.o\n/build/\n"),
                                      LAB_TEXT("build/kept", "1\n"), LAB_TEXT("lib/old.o", "o")};
    const struct lab_file there[] = {LAB_TEXT(".gitignore", "*.c\n"), LAB_TEXT("build/kept", "2\n"),
                                     LAB_TEXT("build/new", "x"),      LAB_TEXT("lib/old.o", "O"),
                                     LAB_TEXT("lib/new.o", "x"),      LAB_TEXT("main.c", "c\n")};
    const struct lab_file want[] = {LAB_TEXT(".gitignore", "*.c\n"), LAB_TEXT("build/kept", "2\n"),
                                    LAB_TEXT("lib/old.o", "O"), LAB_TEXT("main.c", "c\n")};
    autostr struct str tar = {0};
    autoimport struct tree_import_result got = {0};
    char tree[OBJECT_HEX_BYTES];
    lab_tree(&lab, before, ARRAY_LEN(before), base);
    lab_tree(&lab, want, ARRAY_LEN(want), tree);
    lab_tar_files(&tar, there, ARRAY_LEN(there));
    import_ok(&tar, base, &got);
    cr_expect_str_eq(got.tree, tree);
    cr_expect_eq(got.ignored, 2u);
}

Test(repo_tree, git_directories_specials_and_foreign_names_are_left_out_and_told)
{
    const struct lab_file want[] = {LAB_TEXT("a", "1")};
    autostr struct str tar = {0};
    autoimport struct tree_import_result got = {0};
    char tree[OBJECT_HEX_BYTES];
    lab_tar_add(&tar, "./", '5', 0755, NULL, NULL, 0);
    lab_tar_add(&tar, "./.git/", '5', 0755, NULL, NULL, 0);
    lab_tar_add(&tar, "./.git/hooks/pre-commit", '0', 0755, NULL, "x", 1);
    lab_tar_add(&tar, "./a", '0', 0644, NULL, "1", 1);
    lab_tar_add(&tar, "./.GIT/config", '0', 0644, NULL, "x", 1);
    lab_tar_add(&tar, "./v/.git", '0', 0644, NULL, "gitdir: /etc\n", 13);
    lab_tar_add(&tar, "./git~1", '0', 0644, NULL, "x", 1);
    lab_tar_add(&tar, "./.git ", '0', 0644, NULL, "x", 1);
    lab_tar_add(&tar, "./.gitmodules", '2', 0644, "x", NULL, 0);
    lab_tar_add(&tar, "./fifo", '6', 0644, NULL, NULL, 0);
    lab_tar_add(&tar, "./disk", '4', 0644, NULL, NULL, 0);
    lab_tar_end(&tar);
    lab_tree(&lab, want, 1, tree);
    import_ok(&tar, NULL, &got);
    cr_expect_str_eq(got.tree, tree);
    cr_expect_eq(got.git_dirs, 2u);
    cr_expect_eq(got.specials, 2u);
    cr_expect_eq(got.unportable, 3u);
    cr_expect(strstr(str_c(&got.notes), "special fifo\n") != NULL, "%s", str_c(&got.notes));
    cr_expect(strstr(str_c(&got.notes), "git v/.git\n") != NULL);
}

Test(repo_tree, submodule_entries_stay_while_their_directory_does)
{
    char base[OBJECT_HEX_BYTES];
    const struct lab_file before[] = {
        {"s1", 0160000, "1111111111111111111111111111111111111111", 40},
        {"s2", 0160000, "2222222222222222222222222222222222222222", 40},
        {"s3", 0160000, "3333333333333333333333333333333333333333", 40},
        LAB_TEXT("x", "1")};
    const struct lab_file want[] = {before[0], before[1], LAB_TEXT("s3", "now a file"),
                                    LAB_TEXT("x", "1")};
    autostr struct str tar = {0};
    autoimport struct tree_import_result got = {0};
    char tree[OBJECT_HEX_BYTES];
    lab_tar_add(&tar, "s1/", '5', 0755, NULL, NULL, 0);
    lab_tar_add(&tar, "s2/in/side", '0', 0644, NULL, "x", 1);
    lab_tar_add(&tar, "s3", '0', 0644, NULL, "now a file", 10);
    lab_tar_add(&tar, "x", '0', 0644, NULL, "1", 1);
    lab_tar_end(&tar);
    lab_tree(&lab, before, ARRAY_LEN(before), base);
    lab_tree(&lab, want, ARRAY_LEN(want), tree);
    import_ok(&tar, base, &got);
    cr_expect_str_eq(got.tree, tree);
    cr_expect_eq(got.submodules, 1u);
}

Test(repo_tree, hard_links_become_files_even_to_what_is_left_out)
{
    char base[OBJECT_HEX_BYTES];
    const struct lab_file before[] = {LAB_TEXT(".gitignore", "skip\n")};
    const struct lab_file want[] = {LAB_TEXT(".gitignore", "skip\n"), LAB_EXEC("a", "one"),
                                    LAB_EXEC("b", "one"), LAB_TEXT("c", "two"),
                                    LAB_TEXT("d", "cfg")};
    struct err err = {0};
    autostr struct str tar = {0};
    lab_tar_add(&tar, ".git/config", '0', 0644, NULL, "cfg", 3);
    lab_tar_add(&tar, "skip", '0', 0644, NULL, "two", 3);
    lab_tar_add(&tar, ".gitignore", '0', 0644, NULL, "skip\n", 5);
    lab_tar_add(&tar, "a", '0', 0755, NULL, "one", 3);
    lab_tar_add(&tar, "./b", '1', 0755, "./a", NULL, 0);
    lab_tar_add(&tar, "c", '1', 0644, "skip", NULL, 0);
    lab_tar_add(&tar, "d", '1', 0644, "./.git/config", NULL, 0);
    lab_tar_end(&tar);
    lab_tree(&lab, before, 1, base);
    comes_back(&tar, base, want, ARRAY_LEN(want));
    lab_write(lab.dir, "t.tar", tar.ptr, tar.len);
    autofree char *path = lab_path(&lab, "t.tar");
    autoclose int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct tree_import_options options = {.baseline = base};
    autoimport struct tree_import_result got = {0};
    char tree[OBJECT_HEX_BYTES];
    lab_tree(&lab, want, ARRAY_LEN(want), tree);
    cr_assert_eq(tree_import_fd(lab.store, fd, &options, &got, &err), 0, "%s", err.text);
    cr_expect_str_eq(got.tree, tree);
}

static void refused(const struct str *tar, const struct tree_limits *limits, const char *name)
{
    struct err err = {0};
    struct tree_import_options options = {0};
    struct tree_import_result got = {0};
    if (limits) {
        options.limits = *limits;
    }
    int rc = tree_import_mem(lab.store, tar->ptr, tar->len, &options, &got, &err);
    cr_expect_lt(rc, 0, "wanted %s", name);
    if (rc == 0) {
        tree_import_result_free(&got);
        return;
    }
    cr_expect_str_eq(err.name, name, "%s", err.text);
    cr_expect_eq(err.kind, ERR_PERMANENT);
}

Test(repo_tree, malformed_names_and_shapes_are_refused)
{
    static const char *const names[] = {"/etc/passwd", "../x", "a/../b", "a//b",
                                        "a/./b",       "..",   "a/.."};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        autostr struct str tar = {0};
        lab_tar_add(&tar, names[i], '0', 0644, NULL, "x", 1);
        lab_tar_end(&tar);
        refused(&tar, NULL, "TreeRefused");
    }
    static const char *const pairs[][2] = {
        {"a", "a"}, {"a", "a/b"}, {"a/b/c", "a/b"}, {"./a", "a"}};
    for (size_t i = 0; i < ARRAY_LEN(pairs); i++) {
        autostr struct str tar = {0};
        lab_tar_add(&tar, pairs[i][0], '0', 0644, NULL, "x", 1);
        lab_tar_add(&tar, "a-b", '0', 0644, NULL, "x", 1);
        lab_tar_add(&tar, pairs[i][1], '0', 0644, NULL, "x", 1);
        lab_tar_end(&tar);
        refused(&tar, NULL, "TreeRefused");
    }
    autostr struct str dangling = {0};
    lab_tar_add(&dangling, "a", '1', 0644, "nothing", NULL, 0);
    lab_tar_end(&dangling);
    refused(&dangling, NULL, "TreeRefused");
    autofree char *part = mem_alloc(301);
    memset(part, 'n', 300);
    autostr struct str longname = {0};
    lab_tar_add(&longname, part, '0', 0644, NULL, "x", 1);
    lab_tar_end(&longname);
    refused(&longname, NULL, "TreeRefused");
    autostr struct str deep = {0};
    autostr struct str path = {0};
    for (size_t i = 0; i < 2000; i++) {
        str_add(&path, "d/");
    }
    str_add(&path, "f");
    lab_tar_add(&deep, str_c(&path), '0', 0644, NULL, "x", 1);
    lab_tar_end(&deep);
    refused(&deep, NULL, "TreeRefused");
}

Test(repo_tree, limits_hold)
{
    autostr struct str tar = {0};
    lab_tar_add(&tar, "a", '0', 0644, NULL, "12345", 5);
    lab_tar_add(&tar, "b", '0', 0644, NULL, "12345", 5);
    lab_tar_end(&tar);
    refused(&tar, &(struct tree_limits){.max_entries = 1}, "TreeTooLarge");
    refused(&tar, &(struct tree_limits){.max_bytes = 9}, "TreeTooLarge");
    refused(&tar, &(struct tree_limits){.max_file_bytes = 4}, "TreeTooLarge");
    refused(&tar, &(struct tree_limits){.max_tree_bytes = 9}, "TreeTooLarge");
}

Test(repo_tree, a_stream_that_is_cut_anywhere_is_refused)
{
    autostr struct str tar = {0};
    static const char zeros[4096];
    lab_tar_add(&tar, "a", '0', 0644, NULL, "12345", 5);
    lab_tar_add(&tar, "d/", '5', 0755, NULL, NULL, 0);
    lab_tar_add(&tar, "z", '0', 0644, NULL, zeros, sizeof(zeros));
    size_t end = tar.len;
    lab_tar_end(&tar);
    for (size_t cut = 0; cut < end + 1024; cut += cut % 512 == 511 || cut % 512 == 0 ? 1 : 255) {
        struct str part = {.ptr = tar.ptr, .len = cut};
        refused(&part, NULL, "TreeDamaged");
    }
    autostr struct str more = {0};
    str_addn(&more, tar.ptr, tar.len);
    str_add(&more, "rubbish");
    refused(&more, NULL, "TreeDamaged");
}

Test(repo_tree, large_files_stream_to_the_store)
{
    size_t len = (9u << 20) + 3;
    autofree char *big = mem_alloc(len);
    struct lab_rng rng = {1};
    for (size_t i = 0; i < len; i += 997) {
        big[i] = (char)lab_rand(&rng, 256);
    }
    const struct lab_file want[] = {{"big", 0100644, big, len}};
    autostr struct str tar = {0};
    autoimport struct tree_import_result got = {0};
    lab_tar_files(&tar, want, 1);
    import_ok(&tar, NULL, &got);
    cr_expect_eq(got.bytes, len);
    comes_back(&tar, NULL, want, 1);
}

Test(repo_tree, a_store_opens_again_and_keeps_its_trees)
{
    struct err err = {0};
    char tree[OBJECT_HEX_BYTES];
    autostr struct str text = {0};
    lab_tree(&lab, sample, ARRAY_LEN(sample), tree);
    lab.store = tree_store_free(lab.store);
    cr_assert_eq(tree_store_open(lab.store_dir, &lab.store, &err), 0, "%s", err.text);
    cr_expect(tree_store_has(lab.store, tree));
    cr_expect_not(tree_store_has(lab.store, "0123456789012345678901234567890123456789"));
    cr_expect_not(tree_store_has(lab.store, "nonsense"));
    cr_expect_eq(tree_read(lab.store, tree, "README", 100, &text, &err), 0);
    cr_expect_str_eq(str_c(&text), "hello\n");
    cr_expect_eq(tree_read(lab.store, tree, "bin/link", 100, &text, &err), 1);
    cr_expect_eq(tree_read(lab.store, tree, "absent", 100, &text, &err), 1);
    cr_expect_lt(tree_read(lab.store, tree, "README", 3, &text, &err), 0);
}

Test(repo_tree, lock_files_are_hashed)
{
    struct err err = {0};
    char tree[OBJECT_HEX_BYTES];
    struct tree_file_hash got[TREE_LOCKFILES_MAX];
    size_t count = 0;
    const struct lab_file files[] = {LAB_TEXT("yarn.lock", "x"), LAB_TEXT("go.sum", ""),
                                     LAB_LINK("Cargo.lock", "x"), LAB_TEXT("sub/go.sum", "x")};
    lab_tree(&lab, files, ARRAY_LEN(files), tree);
    cr_assert_eq(tree_lockfiles(lab.store, tree, got, &count, &err), 0);
    cr_assert_eq(count, 2u);
    cr_expect_str_eq(got[0].name, "go.sum");
    cr_expect_str_eq(got[0].sha256,
                     "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    cr_expect_str_eq(got[1].name, "yarn.lock");
}

/* An agent with full power over its checkout changes nothing about what is compared. */
Test(repo_tree, tricks_in_the_checkout_change_nothing)
{
    static const char *const tricks[] = {
        "true",
        "git config diff.x.textconv 'echo same'; git config filter.x.clean 'echo same'; echo '* "
        "diff=x "
        "filter=x -text' > .git/info/attributes; git update-index --assume-unchanged f",
        "echo 'f' > .git/info/exclude; git config core.excludesFile /dev/null; git config "
        "core.autocrlf true; git config core.fileMode false; git update-index --skip-worktree f",
        "git -c user.name=a -c user.email=a commit -qam agent; git tag v; git checkout -q --detach",
        "printf '#!/bin/sh\\necho hook' > .git/hooks/post-checkout; chmod +x "
        ".git/hooks/post-checkout; git "
        "config core.fsmonitor ./evil",
        "rm -rf .git",
        "rm -rf .git; echo 'gitdir: /tmp' > .git",
    };
    struct err err = {0};
    char base[OBJECT_HEX_BYTES];
    char want[OBJECT_HEX_BYTES];
    const struct lab_file before[] = {LAB_TEXT("f", "one\r\n"), LAB_TEXT("g", "g\n")};
    const struct lab_file after[] = {LAB_TEXT("f", "two\r\n"), LAB_TEXT("g", "g\n")};
    if (!lab_has_git() || !proc_in_path("tar", NULL)) {
        cr_skip_test("skip: install git and tar");
    }
    lab_tree(&lab, before, 2, base);
    lab_tree(&lab, after, 2, want);
    for (size_t i = 0; i < ARRAY_LEN(tricks); i++) {
        autofree char *dir = mem_printf("%s/checkout%zu", lab.dir, i);
        autofree char *script = mem_printf("printf 'two\\r\\n' > f; %s", tricks[i]);
        lab_must(&lab, NULL, NULL, "init -q %s", dir);
        lab_write(dir, "f", "one\r\n", 5);
        lab_write(dir, "g", "g\n", 2);
        lab_must(&lab, dir, NULL, "add .");
        lab_must(&lab, dir, NULL, "commit -qm base");
        const char *sh[] = {"sh", "-c", script, NULL};
        const char *pack[] = {"tar", "-cf", "-", ".", NULL};
        struct proc_result r = {0};
        struct proc_spec run = {.argv = sh, .dir = dir};
        cr_assert_eq(proc_run(&run, NULL, 0, 1 << 20, 60000, &r, &err), 0);
        cr_assert_eq(r.exit_code, 0, "trick %zu: %s", i, str_c(&r.err));
        proc_result_free(&r);
        struct proc_spec spec = {.argv = pack, .dir = dir};
        r = (struct proc_result){0};
        cr_assert_eq(proc_run(&spec, NULL, 0, 16 << 20, 60000, &r, &err), 0);
        autoimport struct tree_import_result got = {0};
        import_ok(&r.out, base, &got);
        proc_result_free(&r);
        cr_expect_str_eq(got.tree, want, "trick %zu", i);
    }
}
