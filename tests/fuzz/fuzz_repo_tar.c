/*
 * fuzz_repo_tar.c - the tar importer takes any bytes: a tree or a typed refusal, never a crash;
 * what it takes makes a patch that proves itself.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "lib/repo_lab.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

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

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
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
        return 0;
    }
    autopatch struct patch patch = {0};
    check(patch_make(lab.store, base, got.tree, 0, &patch, &err) == 0, err.text);
    return 0;
}
