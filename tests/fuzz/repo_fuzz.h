/*
 * repo_fuzz.h - one main for the fuzz drivers of this room.
 *
 * Owns: the loop around fuzz_one(). Arguments are files to replay; without any it makes
 * FACTORY_FUZZ_RUNS (default 2000) mutants of the driver's seeds from FACTORY_TEST_SEED. Built with
 * -DWITH_LIBFUZZER only LLVMFuzzerTestOneInput remains. One thread.
 */
#ifndef TESTS_FUZZ_REPO_FUZZ_H
#define TESTS_FUZZ_REPO_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fs.h"
#include "base/mem.h"
#include "base/str.h"
#include "lib/repo_lab.h"

static void fuzz_one(const uint8_t *bytes, size_t len);
/* Seed number n; false when there is none. */
static bool fuzz_seed(size_t n, struct str *ret);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    fuzz_one(bytes, len);
    return 0;
}

#ifndef WITH_LIBFUZZER
static void mutate(struct lab_rng *rng, struct str *text)
{
    for (uint32_t n = lab_rand(rng, 6) + 1; n > 0 && text->len; n--) {
        size_t at = lab_rand(rng, (uint32_t)text->len);
        switch (lab_rand(rng, 5)) {
        case 0:
            text->ptr[at] = (char)lab_rand(rng, 256);
            break;
        case 1:
            text->ptr[at] = (char)(text->ptr[at] ^ (1 << lab_rand(rng, 8)));
            break;
        case 2:
            str_cut(text, at);
            break;
        case 3: {
            size_t span = lab_rand(rng, 64) + 1;
            span = span < text->len - at ? span : text->len - at;
            memmove(text->ptr + lab_rand(rng, (uint32_t)(text->len - span + 1)), text->ptr + at,
                    span);
            break;
        }
        default:
            text->ptr[at] = "\0\xff/.-09@: \n"[lab_rand(rng, 12)];
        }
    }
}

int main(int argc, char **argv)
{
    const char *runs = getenv("FACTORY_FUZZ_RUNS");
    size_t count = runs ? strtoull(runs, NULL, 10) : 2000;
    struct lab_rng rng = {lab_seed()};
    for (int i = 1; i < argc; i++) {
        autostr struct str text = {0};
        struct err err = {0};
        if (fs_read_file(argv[i], 64u << 20, &text, &err) < 0) {
            fprintf(stderr, "%s\n", err.text);
            return 1;
        }
        fuzz_one((const uint8_t *)str_c(&text), text.len);
    }
    size_t seeds = 0;
    for (struct str seed = {0}; fuzz_seed(seeds, &seed); str_free(&seed)) {
        fuzz_one((const uint8_t *)str_c(&seed), seed.len);
        seeds++;
    }
    for (size_t i = 0; argc == 1 && i < count; i++) {
        autostr struct str text = {0};
        fuzz_seed(lab_rand(&rng, (uint32_t)seeds), &text);
        mutate(&rng, &text);
        /* A heap copy of exactly this length, so that reading beyond it is seen. */
        autofree uint8_t *exact = mem_alloc(text.len ? text.len : 1);
        if (text.len) {
            memcpy(exact, text.ptr, text.len);
        }
        fuzz_one(exact, text.len);
    }
    printf("1..1\nok 1 - %zu seeds, %zu mutants\n", seeds, argc == 1 ? count : 0);
    return 0;
}
#endif

#endif
