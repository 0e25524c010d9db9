/*
 * test_repo_patch.c - git(1) takes every patch we write and gets exactly our tree.
 *
 * Listed hostile changes, and random ones: each round holds many small cases side by side below
 * directories of their own, so that thousands of them cost three git processes a round.
 * FACTORY_TEST_SEED=N repeats a failure, FACTORY_TEST_ROUNDS=N runs longer.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "lib/repo_lab.h"
#include "repo/list.h"

static struct lab lab;

static void setup(void)
{
    lab_open(&lab);
}

static void teardown(void)
{
    lab_close(&lab);
}

TestSuite(repo_patch, .init = setup, .fini = teardown, .timeout = 600);

static void judge(const char *from, const char *to, bool worktree, const char *what)
{
    struct err err = {0};
    autopatch struct patch patch = {0};
    autostr struct str got = {0};
    cr_assert_eq(patch_make(lab.store, from, to, 0, &patch, &err), 0, "%s: %s: %s", what, err.name,
                 err.text);
    if (!lab_has_git()) {
        cr_skip_test("skip: install git");
    }
    cr_assert(lab_git_apply(&lab, from, &patch.text, worktree, &got), "%s: git refuses:\n%.90000s",
              what, str_c(&patch.text));
    cr_assert_str_eq(str_c(&got), to, "%s: git gets another tree from:\n%.4000s", what,
                     str_c(&patch.text));
}

static void judge_files(const struct lab_file *a, size_t a_count, const struct lab_file *b,
                        size_t b_count, bool worktree, const char *what)
{
    char from[OBJECT_HEX_BYTES];
    char to[OBJECT_HEX_BYTES];
    lab_tree(&lab, a, a_count, from);
    lab_tree(&lab, b, b_count, to);
    judge(from, to, worktree, what);
    judge(to, from, false, what);
}

#define JUDGE(what, a, b) judge_files(a, ARRAY_LEN(a), b, ARRAY_LEN(b), true, what)

#define SUB_ONE "1111111111111111111111111111111111111111"
#define SUB_TWO "2222222222222222222222222222222222222222"

Test(repo_patch, listed_changes_are_what_git_makes_of_them)
{
    const struct lab_file base[] = {LAB_TEXT("keep", "k\n")};
    const struct lab_file empty[] = {LAB_TEXT("keep", "k\n"), LAB_TEXT("empty", ""),
                                     LAB_EXEC("dir x/empty", "")};
    const struct lab_file filled[] = {LAB_TEXT("keep", "k\n"), LAB_TEXT("empty", "now\n"),
                                      LAB_TEXT("dir x/empty", "no end")};
    JUDGE("empty files", base, empty);
    JUDGE("empty to content", empty, filled);
    const struct lab_file names[] = {
        LAB_TEXT("keep", "k\n"),         LAB_TEXT(" lead", "1\n"),
        LAB_TEXT("trail ", ""),          LAB_TEXT("tab\there", "1\n"),
        LAB_TEXT("nl\nname", "1\n"),     LAB_TEXT("quo\"te", "1\n"),
        LAB_TEXT("back\\slash", ""),     LAB_TEXT("\xc3\xbc.txt", "1\n"),
        LAB_TEXT("\xff\xfe", "1\n"),     LAB_TEXT("x b/x b/x", "1\n"),
        LAB_TEXT("-dash", "1\n"),        LAB_TEXT("a b/b a", ""),
        LAB_TEXT("\x01\x7f", "1\n"),     LAB_TEXT("dev/null", "1\n"),
        LAB_LINK("li nk", "to\nwh\"ere")};
    JUDGE("names", base, names);
    const struct lab_file types_a[] = {
        LAB_TEXT("f2l", "text\n"),        LAB_LINK("l2f", "target"),
        LAB_TEXT("f2d", "x\n"),           LAB_TEXT("d2f/one", "1\n"),
        LAB_TEXT("d2f/two", ""),          LAB_LINK("l2d", "/tmp"),
        LAB_TEXT("d2l/deep/x", "1\n"),    LAB_TEXT("mode", "m\n"),
        LAB_EXEC("mode and text", "m\n"), {"f2s", 0100644, "s\n", 2},
        {"s2s", 0160000, SUB_ONE, 40},    {"s2f", 0160000, SUB_ONE, 40},
        {"s2d", 0160000, SUB_ONE, 40},    LAB_LINK("l2l", "one"),
        LAB_EXEC("x2l", "#!/bin/sh\n")};
    const struct lab_file types_b[] = {
        LAB_LINK("f2l", "text"),       LAB_TEXT("l2f", "target"),
        LAB_TEXT("f2d/in", "x\n"),     LAB_TEXT("d2f", "1\n"),
        LAB_TEXT("l2d/in", "1\n"),     LAB_LINK("d2l", "deep"),
        LAB_EXEC("mode", "m\n"),       LAB_TEXT("mode and text", "n\n"),
        {"f2s", 0160000, SUB_TWO, 40}, {"s2s", 0160000, SUB_TWO, 40},
        LAB_TEXT("s2f", "s\n"),        LAB_TEXT("s2d/x", "s\n"),
        LAB_LINK("l2l", "two"),        LAB_LINK("x2l", "#!/bin/sh\n")};
    JUDGE("types", types_a, types_b);
    const struct lab_file content_a[] = {
        LAB_TEXT("crlf", "a\r\nb\r\nc\r\n"),
        LAB_TEXT("cr", "a\rb\rc"),
        LAB_TEXT("noeol", "a\nb"),
        LAB_TEXT("eol", "a\nb\n"),
        LAB_TEXT("bin", "a\0b\nc"),
        LAB_TEXT("t2b", "a\nb\n"),
        LAB_TEXT("ws", "a  \n\t \n\n\n"),
        LAB_TEXT("note", "\\ No newline at end of file\n"),
        LAB_TEXT("bits", "\xff\xfe\xfd\n\x80\n"),
        LAB_TEXT("diff", "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n"),
        LAB_TEXT("only", "\n")};
    const struct lab_file content_b[] = {
        LAB_TEXT("crlf", "a\r\nB\nc\r\n"),
        LAB_TEXT("cr", "a\rB\rc\r"),
        LAB_TEXT("noeol", "a\nb\n"),
        LAB_TEXT("eol", "a\nb"),
        LAB_TEXT("bin", "a\0b\nd"),
        LAB_TEXT("t2b", "a\0\n"),
        LAB_TEXT("ws", "a\n\t\n\n"),
        LAB_TEXT("note", "\\ No newline at end of file"),
        LAB_TEXT("bits", "\xff\xfe\xfd\n\x81\n"),
        LAB_TEXT("diff", "diff --git a/x b/x\n--- a/y\n+++ /dev/null\n@@ -1 +1 @@\n-a\n"),
        LAB_TEXT("only", "\n\n")};
    JUDGE("contents", content_a, content_b);
    const struct lab_file nul_a[] = {LAB_LINK("nul", "a\0b"),
                                     LAB_TEXT(".gitattributes", "* text eol=crlf\n")};
    const struct lab_file nul_b[] = {LAB_LINK("nul", "a\0c"), LAB_TEXT("x.txt", "a\r\nb\n"),
                                     LAB_TEXT(".gitattributes", "* text=auto filter=x ident\n")};
    judge_files(nul_a, ARRAY_LEN(nul_a), nul_b, ARRAY_LEN(nul_b), false,
                "no work tree could hold it");
    const struct lab_file nothing[] = {LAB_TEXT("x", "")};
    judge_files(nothing, 0, content_a, ARRAY_LEN(content_a), true, "everything");
}

Test(repo_patch, many_files_long_lines_late_nul_bytes)
{
    enum { COUNT = 500, BIG = 1 << 20 };
    struct lab_file files[COUNT + 4];
    char *big = mem_alloc(BIG + 16);
    memset(big, 'x', BIG);
    memcpy(big + BIG, "\nsecond\n", 8);
    char *late = mem_alloc(20000);
    memset(late, 'y', 20000);
    late[19000] = '\0';
    char *bin = mem_alloc(3 << 20);
    struct lab_rng rng = {lab_seed()};
    for (size_t i = 0; i < 3u << 20; i++) {
        bin[i] = (char)lab_rand(&rng, 256);
    }
    for (size_t i = 0; i < COUNT; i++) {
        char *path = mem_printf("d%zu/f %zu", i % 17, i);
        char *text = mem_printf("line %zu\nsame\nsame\n", i);
        files[i] = (struct lab_file){path, i % 5 ? 0100644 : 0100755, text, strlen(text)};
    }
    files[COUNT] = (struct lab_file){"big", 0100644, big, BIG + 8};
    files[COUNT + 1] = (struct lab_file){"late", 0100644, late, 20000};
    files[COUNT + 2] = (struct lab_file){"bin", 0100644, bin, 3u << 20};
    files[COUNT + 3] = (struct lab_file){"small", 0100644, "s", 1};
    judge_files(files, 1, files, COUNT + 4, true, "many");
    struct lab_file other[COUNT + 4];
    memcpy(other, files, sizeof(files));
    for (size_t i = 0; i < COUNT; i++) {
        char *text = mem_printf("line %zu\nsame\nsame\nmore\n", i + (i & 1));
        other[i].bytes = text;
        other[i].len = strlen(text);
    }
    other[COUNT].len = BIG + 1;
    other[COUNT + 1].len = 19001;
    other[COUNT + 2].len = (3u << 20) - 7;
    judge_files(files, COUNT + 4, other, COUNT + 4, false, "many edits");
    for (size_t i = 0; i < COUNT; i++) {
        free((void *)(uintptr_t)files[i].path);
        free((void *)(uintptr_t)files[i].bytes);
        free((void *)(uintptr_t)other[i].bytes);
    }
    free(big);
    free(late);
    free(bin);
}

/* --- chance --- */

static const char *const parts[] = {
    "a",      "b",   "c d", "tab\t", "nl\n",  "\"q",   "b\\s",     "\xc3\xa9", "\xfe", " s",
    "s ",     "-x",  "*",   "[a]",   "a.txt", "A",     "new mode", "b/x",      "a/b",  "null",
    "a -> b", "{x}", "..x", ".x",    "\r",    "\x1b[", "x=\ty",    "#",        "~",    "a\xcc\x88"};
static const char *const lines[] = {"one\n",
                                    "two\n",
                                    "three\n",
                                    "\n",
                                    "x\r\n",
                                    "\r\n",
                                    "  \t\n",
                                    "@@ -1 +1 @@\n",
                                    "--- a/x\n",
                                    "+++ b/x\n",
                                    "diff --git a/a b/a\n",
                                    "-\n",
                                    "+\n",
                                    " \n",
                                    "\\ No newline at end of file\n",
                                    "GIT binary patch\n",
                                    "literal 5\n",
                                    "\xff\n",
                                    "}\n",
                                    "\tint x;\n",
                                    "-- \n",
                                    "\f\n"};

static void random_content(struct lab_rng *rng, struct str *out)
{
    uint32_t kind = lab_rand(rng, 16);
    uint32_t count = lab_rand(rng, kind == 1 ? 200 : 12);
    if (kind == 0) {
        return;
    }
    for (uint32_t i = 0; i < count; i++) {
        str_add(out, lines[lab_rand(rng, ARRAY_LEN(lines))]);
    }
    if (kind == 2) {
        str_addn(out, "\0tail", lab_rand(rng, 6));
    }
    if (kind == 3) {
        for (uint32_t i = lab_rand(rng, 300); i > 0; i--) {
            str_addc(out, (char)lab_rand(rng, 256));
        }
    }
    if (kind >= 12 && out->len) {
        str_cut(out, out->len - 1);
    }
}

static void edit_content(struct lab_rng *rng, const struct lab_file *old, struct str *out)
{
    for (size_t at = 0; at < old->len;) {
        const char *feed = memchr(old->bytes + at, '\n', old->len - at);
        size_t len = feed ? (size_t)(feed - (old->bytes + at)) + 1 : old->len - at;
        uint32_t what = lab_rand(rng, 12);
        if (what == 0) {
            str_add(out, lines[lab_rand(rng, ARRAY_LEN(lines))]);
        }
        if (what != 1) {
            str_addn(out, old->bytes + at, len);
        }
        at += len;
    }
    if (lab_rand(rng, 4) == 0) {
        str_add(out, "end");
    }
}

struct forest {
    struct lab_file files[4096];
    size_t count;
    struct arena *arena;
};

/* Neither the same path twice nor a file that is a directory. */
static bool fits(const struct forest *forest, size_t from, const char *path)
{
    size_t len = strlen(path);
    for (size_t i = from; i < forest->count; i++) {
        const char *have = forest->files[i].path;
        size_t have_len = strlen(have);
        size_t shorter = len < have_len ? len : have_len;
        if (memcmp(have, path, shorter) == 0 &&
            (len == have_len || (len > have_len ? path[shorter] : have[shorter]) == '/')) {
            return false;
        }
    }
    return true;
}

static void plant(struct forest *forest, size_t from, const char *path, unsigned mode,
                  const void *bytes, size_t len)
{
    if (forest->count < ARRAY_LEN(forest->files) && fits(forest, from, path)) {
        forest->files[forest->count++] =
            (struct lab_file){arena_strdup(forest->arena, path), mode,
                              mode == MODE_GITLINK ? arena_strdup(forest->arena, bytes)
                                                   : arena_dup(forest->arena, bytes, len),
                              len};
    }
}

static void plant_random(struct lab_rng *rng, struct forest *forest, size_t from, const char *path)
{
    static const unsigned modes[] = {0100644, 0100644, 0100644, 0100755, 0120000, 0160000};
    autostr struct str content = {0};
    unsigned mode = modes[lab_rand(rng, ARRAY_LEN(modes))];
    random_content(rng, &content);
    if (mode == MODE_GITLINK) {
        char hex[41];
        memset(hex, "123456789abcdef"[lab_rand(rng, 15)], 40);
        hex[40] = '\0';
        plant(forest, from, path, mode, hex, 40);
        return;
    }
    if (mode == MODE_LINK) {
        size_t cut = strnlen(str_c(&content), content.len);
        str_cut(&content, cut < 60 ? cut : 60);
        if (content.len == 0) {
            str_add(&content, "../x y");
        }
    }
    plant(forest, from, path, mode, str_c(&content), content.len);
}

static void random_path(struct lab_rng *rng, struct str *path, const char *top)
{
    str_reset(path);
    str_add(path, top);
    for (uint32_t depth = lab_rand(rng, 3) + 1; depth > 0; depth--) {
        str_addc(path, '/');
        str_add(path, parts[lab_rand(rng, ARRAY_LEN(parts))]);
    }
}

/* One small case below directory top: some files before, some after. */
static void random_case(struct lab_rng *rng, struct forest *a, struct forest *b, const char *top)
{
    autostr struct str path = {0};
    size_t a_from = a->count;
    size_t b_from = b->count;
    for (uint32_t i = lab_rand(rng, 6); i > 0; i--) {
        random_path(rng, &path, top);
        plant_random(rng, a, a_from, str_c(&path));
    }
    for (size_t i = a_from; i < a->count; i++) {
        const struct lab_file *f = &a->files[i];
        autostr struct str content = {0};
        switch (lab_rand(rng, 8)) {
        case 0: /* gone */
            break;
        case 1: /* executable bit */
            plant(b, b_from, f->path,
                  f->mode == 0100644   ? 0100755
                  : f->mode == 0100755 ? 0100644
                                       : f->mode,
                  f->bytes, f->len);
            break;
        case 2: /* a directory now */
            str_reset(&path);
            str_addf(&path, "%s/%s", f->path, "in side");
            plant_random(rng, b, b_from, str_c(&path));
            break;
        case 3: /* anything */
            plant_random(rng, b, b_from, f->path);
            break;
        case 4:
        case 5: /* edited */
            if (f->mode == 0100644 || f->mode == 0100755) {
                edit_content(rng, f, &content);
                plant(b, b_from, f->path, f->mode, str_c(&content), content.len);
                break;
            }
            fall_through;
        default:
            plant(b, b_from, f->path, f->mode, f->bytes, f->len);
        }
    }
    for (uint32_t i = lab_rand(rng, 4); i > 0; i--) {
        random_path(rng, &path, top);
        plant_random(rng, b, b_from, str_c(&path));
    }
}

static void random_round(uint64_t seed, size_t cases, bool worktree)
{
    struct lab_rng rng = {seed};
    autofree struct forest *a = mem_alloc(sizeof(*a));
    autofree struct forest *b = mem_alloc(sizeof(*b));
    autoarena struct arena *arena = arena_new();
    char from[OBJECT_HEX_BYTES];
    char to[OBJECT_HEX_BYTES];
    char what[64];
    a->arena = arena;
    b->arena = arena;
    for (size_t i = 0; i < cases; i++) {
        char top[16];
        snprintf(top, sizeof(top), "%zu", i);
        random_case(&rng, a, b, top);
    }
    snprintf(what, sizeof(what), "FACTORY_TEST_SEED=%llu", (unsigned long long)seed);
    lab_tree(&lab, a->files, a->count, from);
    lab_tree(&lab, b->files, b->count, to);
    judge(from, to, worktree, what);
}

Test(repo_patch, random_trees_are_what_git_makes_of_them)
{
    const char *text = getenv("FACTORY_TEST_ROUNDS");
    uint64_t rounds = text ? strtoull(text, NULL, 10) : 40;
    for (uint64_t i = 0; i < rounds; i++) {
        random_round(lab_seed() + i, 60, i % 8 == 0);
    }
}

Test(repo_patch, statistics_tell_kinds_and_lines)
{
    struct err err = {0};
    char from[OBJECT_HEX_BYTES];
    char to[OBJECT_HEX_BYTES];
    const struct lab_file a[] = {LAB_TEXT("del", "1\n2\n"), LAB_TEXT("mod", "1\n2\n3\n"),
                                 LAB_TEXT("typ", "x\n"), LAB_TEXT("bin", "a\0")};
    const struct lab_file b[] = {LAB_TEXT("new", "1\n"), LAB_TEXT("mod", "1\n3\n4\n5\n"),
                                 LAB_LINK("typ", "x"), LAB_TEXT("bin", "b\0")};
    lab_tree(&lab, a, ARRAY_LEN(a), from);
    lab_tree(&lab, b, ARRAY_LEN(b), to);
    autopatch struct patch patch = {0};
    autostr struct str status = {0};
    autostr struct str line = {0};
    cr_assert_eq(patch_make(lab.store, from, to, 0, &patch, &err), 0, "%s", err.text);
    cr_assert_eq(patch.count, 5);
    const char *names[] = {"bin", "del", "mod", "new", "typ"};
    for (size_t i = 0; i < 5; i++) {
        cr_expect_str_eq(patch.files[i].path, names[i]);
        cr_expect_eq(patch.files[i].kind, "MDMAT"[i]);
    }
    cr_expect(patch.files[0].binary);
    cr_expect_eq(patch.additions, 4u);
    cr_expect_eq(patch.deletions, 4u);
    patch_summary(&line, &patch);
    cr_expect_str_eq(str_c(&line), "5 files, +4 \u22124");
    cr_assert_eq(tree_status(lab.store, from, to, &status, &err), 0);
    cr_expect_str_eq(str_c(&status), "M  bin\nD  del\nM  mod\nA  new\nT  typ\n");
}

Test(repo_patch, equal_trees_give_an_empty_patch)
{
    struct err err = {0};
    char tree[OBJECT_HEX_BYTES];
    const struct lab_file a[] = {LAB_TEXT("x", "1\n")};
    autopatch struct patch patch = {0};
    lab_tree(&lab, a, 1, tree);
    cr_assert_eq(patch_make(lab.store, tree, tree, 0, &patch, &err), 0);
    cr_expect_eq(patch.text.len, 0u);
    cr_expect_eq(patch.count, 0u);
    cr_expect_str_eq(patch.sha256,
                     "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

Test(repo_patch, patches_beyond_the_limit_are_refused)
{
    struct err err = {0};
    char from[OBJECT_HEX_BYTES];
    char to[OBJECT_HEX_BYTES];
    const struct lab_file a[] = {LAB_TEXT("x", "1\n")};
    const struct lab_file b[] = {LAB_TEXT("x", "a rather long line of text\n")};
    autopatch struct patch patch = {0};
    lab_tree(&lab, a, 1, from);
    lab_tree(&lab, b, 1, to);
    cr_assert_lt(patch_make(lab.store, from, to, 40, &patch, &err), 0);
    cr_expect_str_eq(err.name, "PatchTooLarge");
    cr_expect_eq(err.kind, ERR_PERMANENT);
}

Test(repo_patch, a_changed_text_never_passes_for_the_same_tree)
{
    struct err err = {0};
    char from[OBJECT_HEX_BYTES];
    char to[OBJECT_HEX_BYTES];
    char got[OBJECT_HEX_BYTES];
    const struct lab_file a[] = {LAB_TEXT("mod", "1\n2\n3\n"), LAB_TEXT("del", "x\n"),
                                 LAB_TEXT("bin", "\0\1\2")};
    const struct lab_file b[] = {LAB_TEXT("mod", "1\nB\n3\n"), LAB_TEXT("new", "n"),
                                 LAB_TEXT("bin", "\0\1\3")};
    autopatch struct patch patch = {0};
    lab_tree(&lab, a, ARRAY_LEN(a), from);
    lab_tree(&lab, b, ARRAY_LEN(b), to);
    cr_assert_eq(patch_make(lab.store, from, to, 0, &patch, &err), 0, "%s", err.text);
    for (size_t i = 0; i < patch.text.len; i++) {
        char old = patch.text.ptr[i];
        patch.text.ptr[i] = (char)(old ^ 1);
        int rc = patch_apply(lab.store, from, patch.text.ptr, patch.text.len, got, NULL);
        bool heading = rc == 0 && str_eq(got, to); /* only the reverse block is not decoded */
        cr_expect(rc < 0 || heading || !str_eq(got, to), "byte %zu", i);
        patch.text.ptr[i] = old;
    }
    for (size_t cut = 1; cut < patch.text.len; cut++) {
        int rc = patch_apply(lab.store, from, patch.text.ptr, cut, got, NULL);
        cr_expect(rc < 0 || !str_eq(got, to), "cut at %zu", cut);
    }
    cr_assert_lt(patch_apply(lab.store, to, patch.text.ptr, patch.text.len, got, &err), 0);
    cr_expect_str_eq(err.name, "PatchMismatch");
}
