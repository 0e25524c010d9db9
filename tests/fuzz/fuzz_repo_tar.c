/*
 * fuzz_repo_tar.c - the tar importer takes any bytes: a tree or a typed refusal, never a crash;
 * what it takes makes a patch that proves itself.
 */
#include "fuzz/repo_fuzz.h"

static struct lab lab;
static char base[OBJECT_HEX_BYTES];

static void start(void)
{
    static const struct lab_file files[] = {
        LAB_TEXT(".gitignore", "*.o\n"),
        LAB_TEXT("a", "1\n"),
        {"sub", 0160000, "1111111111111111111111111111111111111111", 40}};
    if (!lab.store) {
        lab_open(&lab);
        lab_tree(&lab, files, ARRAY_LEN(files), base);
    }
}

static void finish(void)
{
    if (lab.store) {
        lab_close(&lab);
    }
}

static void check(bool good, const char *what)
{
    if (!good) {
        fprintf(stderr, "fuzz_repo_tar: %s\n", what);
        abort();
    }
}

static void fuzz_one(const uint8_t *bytes, size_t len)
{
    struct err err = {0};
    struct tree_import_options options = {
        .baseline = base,
        .limits = {.max_entries = 1000, .max_bytes = 1 << 24, .max_file_bytes = 1 << 22}};
    autoimport struct tree_import_result got = {0};
    if (!lab.store) {
        start();
        atexit(finish);
    }
    if (tree_import_mem(lab.store, bytes, len, &options, &got, &err) < 0) {
        check(err.kind == ERR_PERMANENT && err.name[0] && err.text[0], "an untyped refusal");
        return;
    }
    autopatch struct patch patch = {0};
    check(patch_make(lab.store, base, got.tree, 0, &patch, &err) == 0, err.text);
}

static bool fuzz_seed(size_t n, struct str *ret)
{
    static const struct lab_file files[] = {LAB_TEXT("a", "2\n"), LAB_EXEC("dir/b", "#!\n"),
                                            LAB_LINK("dir/l", "../a"), LAB_TEXT("x.o", "o")};
    autofree char *longname = mem_alloc(200);
    memset(longname, 'n', 150);
    memset(longname + 70, '/', 1);
    switch (n) {
    case 0:
        lab_tar_files(ret, files, ARRAY_LEN(files));
        return true;
    case 1:
        lab_tar_add(ret, longname, '0', 0644, NULL, "long", 4);
        lab_tar_add(ret, "h", '1', 0644, "a", NULL, 0);
        lab_tar_add(ret, "a", '0', 0644, NULL, "x", 1);
        lab_tar_add(ret, ".git/x", '0', 0644, NULL, "y", 1);
        lab_tar_add(ret, "i", '1', 0644, ".git/x", NULL, 0);
        lab_tar_end(ret);
        return true;
    case 2:
        lab_tar_add(ret, "p", 'x', 0644, NULL, "30 mtime=1700000000.123456789\n18 path=a/b/c/dd\n",
                    48);
        lab_tar_add(ret, "q", '0', 0644, NULL, "pax", 3);
        lab_tar_add(ret, "fifo", '6', 0644, NULL, NULL, 0);
        lab_tar_end(ret);
        return true;
    default:
        return false;
    }
}
