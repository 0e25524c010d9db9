/*
 * test_repo_ignore.c - .gitignore rules and wildcards mean what git says they mean.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "base/fs.h"
#include "base/mem.h"
#include "base/proc.h"
#include "lib/repo_lab.h"
#include "repo/glob.h"
#include "repo/ignore.h"

TestSuite(repo_ignore, .timeout = 120);

static const char *const rules[] = {
    "*.o",     "/top",         "dir/",       "a/b",          "**/deep", "x/**",    "a/**/z",
    "!keep.o", "foo*",         "[a-c]?.txt", "[!a]z",        "\\#hash", "\\!bang", "# comment",
    "",        "sp ",          "sp2\\ ",     "**",           "/*",      "!/b/",    "a**b",
    "*/mid",   "[[:digit:]]x", "[]-]y",      "[a",           "end\\",   "/",       "//",
    "!",       "b//",          "a/",         "**/",          "/**/q",   "?",       "c\r",
    "!*/",     "[^x]/f",       "\\a",        "*a*b*c*",      "[a-]k",   "[\\]]m",  "x/*/y",
    "**/x/**", "!x/keep",      "[z-a]p",     "[[:bogus:]]w", "*.*",     "a?b"};
static const char *const words[] = {
    "a",      "b",   "c",   "x",     "z",     "top", "dir",  "deep", "keep.o", "m.o", "foo", "foob",
    "ab.txt", "bz",  "az",  "#hash", "!bang", "sp",  "sp2 ", "mid",  "1x",     "]y",  "-y",  "q",
    "f",      "aXb", "abc", "-k",    "]m",    "y",   "keep", "p",    "w",      "end", "a_b", "[a"};

/* One round: some rule files, many paths; git check-ignore --no-index is the judge. */
static void check_round(struct lab *lab, uint64_t seed)
{
    struct lab_rng rng = {seed};
    autoarena struct arena *arena = arena_new();
    struct ignore_set *set = ignore_new(arena);
    autofree char *dir = mem_printf("%s/r%llu", lab->dir, (unsigned long long)seed);
    static const char *const dirs[] = {"", "a", "x", "a/b"};
    autostr struct str all = {0};
    lab_must(lab, NULL, NULL, "init -q --template= %s", dir);
    for (size_t d = 0; d < ARRAY_LEN(dirs); d++) {
        autostr struct str text = {0};
        for (uint32_t n = lab_rand(&rng, d ? 3 : 5); n > 0; n--) {
            str_add(&text, rules[lab_rand(&rng, ARRAY_LEN(rules))]);
            str_add(&text, "\n");
        }
        autofree char *name =
            dirs[d][0] ? mem_printf("%s/.gitignore", dirs[d]) : mem_strdup(".gitignore");
        lab_write(dir, name, str_c(&text), text.len);
        ignore_add(set, dirs[d], str_c(&text), text.len);
        str_addf(&all, "%s:\n%s", name, str_c(&text));
    }
    autostr struct str input = {0};
    for (size_t i = 0; i < 300; i++) {
        for (uint32_t depth = lab_rand(&rng, 4); depth > 0; depth--) {
            str_add(&input, words[lab_rand(&rng, ARRAY_LEN(words))]);
            str_addc(&input, '/');
        }
        str_add(&input, words[lab_rand(&rng, ARRAY_LEN(words))]);
        str_addc(&input, '\0');
    }
    autofree char *home = mem_printf("HOME=%s", lab->dir);
    autofree char *path = mem_printf("PATH=%s", getenv("PATH"));
    const char *env[] = {home, path, "GIT_CONFIG_NOSYSTEM=1", NULL};
    const char *argv[] = {"git", "check-ignore", "--no-index", "--stdin", "-z", "-v", "-n", NULL};
    struct proc_spec spec = {.argv = argv, .dir = dir, .envp = env};
    struct proc_result r = {0};
    struct err err = {0};
    cr_assert_eq(proc_run(&spec, input.ptr, input.len, 8 << 20, 60000, &r, &err), 0, "%s",
                 err.text);
    /* source NUL line NUL pattern NUL path NUL */
    const char *p = str_c(&r.out);
    const char *end = p + r.out.len;
    size_t count = 0;
    while (p < end) {
        const char *source = p;
        const char *line = source + strlen(source) + 1;
        const char *pattern = line + strlen(line) + 1;
        const char *name = pattern + strlen(pattern) + 1;
        bool git = pattern[0] != '\0' && pattern[0] != '!';
        bool is_dir = str_eq(name, "a") || str_eq(name, "x") || str_eq(name, "a/b");
        cr_expect_eq(ignore_match(set, name, is_dir), git, "seed %llu path %s pattern %s\n%s",
                     (unsigned long long)seed, name, pattern, str_c(&all));
        p = name + strlen(name) + 1;
        count++;
    }
    cr_expect_eq(count, 300u, "%s", str_c(&r.err));
    proc_result_free(&r);
}

Test(repo_ignore, git_ignores_what_we_ignore)
{
    struct lab lab;
    if (!lab_has_git()) {
        cr_skip_test("skip: install git");
    }
    lab_open(&lab);
    for (uint64_t i = 0; i < 60; i++) {
        check_round(&lab, lab_seed() + i);
    }
    lab_close(&lab);
}

Test(repo_ignore, hostile_patterns_end_quickly)
{
    autostr struct str pattern = {0};
    autostr struct str path = {0};
    for (int i = 0; i < 200; i++) {
        str_add(&pattern, "**/*a*a*");
        str_add(&pattern, "/");
        str_add(&path, "aaaaaaaaaaaaaaab/");
    }
    str_add(&pattern, "z");
    str_add(&path, "y");
    cr_expect_not(glob_path(pattern.ptr, pattern.len, path.ptr, path.len));
    autostr struct str stars = {0};
    autostr struct str letters = {0};
    for (int i = 0; i < 2000; i++) {
        str_add(&stars, "*a");
        str_addc(&letters, 'a');
    }
    str_addc(&stars, 'b');
    cr_expect_not(glob_part(stars.ptr, stars.len, letters.ptr, letters.len));
}
