/*
 * test_repo_name.c - path names are judged and quoted as git does.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "base/mem.h"
#include "lib/repo_lab.h"
#include "repo/name.h"

TestSuite(repo_name, .timeout = 120);

Test(repo_name, quoting_reads_back)
{
    static const char *const names[] = {"plain/name.c", "a b",          "t\tn\nr\r", "q\"b\\",
                                        "\xc3\xa9\xff", "\x01\x1f\x7f", "\a\b\v\f"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        autostr struct str quoted = {0};
        autostr struct str back = {0};
        name_quote(&quoted, "a/", names[i]);
        str_add(&quoted, " tail");
        const char *p = quoted.ptr;
        cr_assert(name_unquote(&p, quoted.ptr + quoted.len, " \n", &back), "%s", quoted.ptr);
        cr_expect_str_eq(str_c(&back) + 2, names[i]);
        cr_expect_str_eq(p, " tail");
    }
    autostr struct str exact = {0};
    name_quote(&exact, "", "\xc3\xa9\t\"");
    cr_expect_str_eq(str_c(&exact), "\"\\303\\251\\t\\\"\"");
}

Test(repo_name, broken_quoting_is_refused)
{
    static const char *const bad[] = {"",         "\"",        "\"a",       "\"\\", "\"\\9\"",
                                      "\"\\40\"", "\"\\000\"", "\"\\400\"", "\"\"", "\"a\nb\""};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        autostr struct str back = {0};
        const char *p = bad[i];
        cr_expect_not(name_unquote(&p, bad[i] + strlen(bad[i]), " \n", &back), "%s", bad[i]);
    }
}

/* git update-index is the judge of every name. */
Test(repo_name, git_takes_the_names_that_we_take)
{
    static const char *const names[] = {
        ".git",         ".GIT",          ".Git/x",   "a/.git",     "a/.giT/b",    ".git ",
        ".git.",        ".git..  .",     ".git:x",   ".git::$I",   "git~1",       "GIT~1/x",
        "git~2",        "a/git~1",       ".gitx",    "xgit~1",     ".git\\x",     "a\\.git",
        "a\\git~1",     "a\\.git\\b",    "a\\b",     ".gitignore", ".gitmodules", "a/.gitmodules",
        "gitmod~1",     "gitmod~5",      "GI7EBA~1", "gi7eba~1",   "gi7d29~1",    ".git \\x",
        ".gitmodules ", ".gitmodules:x", "git",      "..git",      ".g",          "gi7eb~12",
        "gi7e~123",     ".gitmodulesx",  "git~1 .x", "git~11",     ".git\\",      "x.git"};
    struct lab lab;
    if (!lab_has_git()) {
        cr_skip_test("skip: install git");
    }
    lab_open(&lab);
    lab_must(&lab, NULL, NULL, "init -q r");
    autofree char *dir = lab_path(&lab, "r");
    autostr struct str id = {0};
    lab_write(dir, "f", "x", 1);
    lab_must(&lab, dir, &id, "hash-object -w f");
    for (size_t i = 0; i < ARRAY_LEN(names) * 2; i++) {
        const char *name = names[i / 2];
        bool link = i % 2;
        autofree char *info = mem_printf("%s,%s,%s", link ? "120000" : "100644", str_c(&id), name);
        const char *argv[] = {"git", "update-index", "--add", "--cacheinfo", info, NULL};
        bool git = lab_git_argv(&lab, dir, NULL, argv) == 0;
        bool ours = !name_has_git(name) && name_is_portable(name, link ? MODE_LINK : MODE_FILE);
        cr_expect_eq(ours, git, "%s%s: we say %d", name, link ? " (link)" : "", ours);
        lab_must(&lab, dir, NULL, "read-tree --empty");
    }
    lab_close(&lab);
}
