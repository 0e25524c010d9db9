/*
 * fuzz_repo_patch.c - the strict patch reader takes any bytes: a tree or a typed refusal.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "lib/repo_lab.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static struct lab lab;
static char from[OBJECT_HEX_BYTES];
static char to[OBJECT_HEX_BYTES];

static void finish(void)
{
    lab_close(&lab);
}

static void start(void)
{
    static const struct lab_file a[] = {LAB_TEXT("a", "1\n2\n3\n4\n5\n6\n7\n8\n9\n"),
                                        LAB_TEXT("b c", "x"), LAB_TEXT("bin", "\0one"),
                                        LAB_LINK("l", "to"), LAB_TEXT("gone", "")};
    static const struct lab_file b[] = {LAB_TEXT("a", "1\nB\n3\n4\n5\n6\n7\n8\nI\n"),
                                        LAB_EXEC("b c", "x"), LAB_TEXT("bin", "\0two"),
                                        LAB_TEXT("l", "file\n"), LAB_TEXT("n\tew", "n")};
    lab_open(&lab);
    lab_tree(&lab, a, ARRAY_LEN(a), from);
    lab_tree(&lab, b, ARRAY_LEN(b), to);
    atexit(finish);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    struct err err = {0};
    char got[OBJECT_HEX_BYTES];
    if (!lab.store) {
        start();
    }
    if (patch_apply(lab.store, from, (const char *)bytes, len, got, &err) < 0 &&
        (err.kind != ERR_PERMANENT || !err.name[0])) {
        abort();
    }
    return 0;
}
