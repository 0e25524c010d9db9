/*
 * fuzz_main.c - runs a fuzz target as an ordinary test: its corpus, then mutations of it.
 *
 * Owns: main() of every program tests/fuzz/fuzz_NAME, which itself has only
 * LLVMFuzzerTestOneInput() in libFuzzer's form; configure --enable-libfuzzer leaves main() to
 * libFuzzer (make fuzz).
 * Must not: use chance that cannot be repeated. Mutations come from a counter: number N is always
 * the same input. It is written to test-logs/fuzz_NAME.crash before it runs, and removed when it
 * was harmless. "fuzz_NAME FILE..." runs just those inputs.
 * The corpus is the files of directory corpus/NAME beside the targets, and the empty input.
 * Mutations: 3000, under make check-long 300000; FUZZ_INPUTS=N and FUZZ_FIRST=N choose others.
 * A finding is a crash, an assert or a sanitizer's report: the process dies and the test fails.
 * Format: TAP, a case for the corpus and a case for the mutations.
 * Thread rule: single-threaded.
 * Tests: tests/tidy/runner.sh.
 */
#ifndef WITH_LIBFUZZER
#include <dirent.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_SEEDS 4096
#define MAX_SEED_BYTES (1U << 20) /* of a corpus file */
#define MAX_MUTANT (1U << 16)     /* grown by mutation */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct input {
    uint8_t *data;
    size_t size;
};

static struct input seeds[MAX_SEEDS];
static size_t seed_count;
static uint64_t state; /* of the mutations; splitmix64 */

static uint64_t next(void)
{
    uint64_t z = state += 0x9e3779b97f4a7c15U;

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31);
}

static size_t below(size_t n)
{
    return n == 0 ? 0 : next() % n;
}

static void *need(void *p)
{
    if (p == NULL) {
        fprintf(stderr, "fuzz: out of memory\n");
        exit(2);
    }
    return p;
}

static void add_seed(const uint8_t *data, size_t size)
{
    if (seed_count < MAX_SEEDS) {
        seeds[seed_count].data = need(malloc(size + 1));
        memcpy(seeds[seed_count].data, data, size);
        seeds[seed_count++].size = size;
    }
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

/* Adds every file of the directory, sorted, so that case N is the same everywhere. */
static void read_corpus(const char *dir)
{
    static uint8_t buffer[MAX_SEED_BYTES];
    struct dirent **names;
    int n = scandir(dir, &names, NULL, by_name);

    for (int i = 0; i < n; i++) {
        char path[PATH_MAX];
        FILE *f;

        snprintf(path, sizeof path, "%s/%s", dir, names[i]->d_name);
        if (names[i]->d_name[0] != '.' && (f = fopen(path, "rbe")) != NULL) {
            add_seed(buffer, fread(buffer, 1, sizeof buffer, f));
            fclose(f);
        }
        free(names[i]);
    }
    if (n >= 0) {
        free(names);
    }
}

/* The target gets a copy of exactly the input's size, so that sanitizers see one byte too far. */
static void run(const char *crash_path, const uint8_t *data, size_t size)
{
    uint8_t *copy = need(malloc(size > 0 ? size : 1));
    FILE *f = crash_path == NULL ? NULL : fopen(crash_path, "wbe");

    if (f != NULL) {
        fwrite(data, 1, size, f);
        fclose(f);
    }
    memcpy(copy, data, size);
    LLVMFuzzerTestOneInput(copy, size);
    free(copy);
}

/* Opens a gap of n bytes at `at`, as far as there is room; returns how many. */
static size_t open_gap(uint8_t *data, size_t *size, size_t at, size_t n)
{
    if (n > MAX_MUTANT - *size) {
        n = MAX_MUTANT - *size;
    }
    memmove(data + at + n, data + at, *size - at);
    *size += n;
    return n;
}

/* One small change of data, which has room for MAX_MUTANT bytes. */
static void mutate(uint8_t *data, size_t *size)
{
    static const uint8_t marks[] = "\"\\{}[],:/.-+eE0195 \t\r\n;#=<>%&'\0\x7f\x80\xc0\xff";
    const struct input *other = &seeds[below(seed_count)];
    size_t at = below(*size + 1), n = 1 + below(8), from;

    switch (below(7)) {
    case 0: /* another byte */
    case 1:
        if (at < *size) {
            data[at] = below(2) ? marks[below(sizeof marks - 1)] : (uint8_t)next();
        }
        break;
    case 2: /* one bit */
        if (at < *size) {
            data[at] ^= (uint8_t)(1U << below(8));
        }
        break;
    case 3: /* bytes gone */
        n = n < *size - at ? n : *size - at;
        memmove(data + at, data + at + n, *size - at - n);
        *size -= n;
        break;
    case 4: /* marks put in */
        n = open_gap(data, size, at, n);
        memset(data + at, marks[below(sizeof marks - 1)], n);
        break;
    case 5: /* a piece of another input put in */
        from = below(other->size + 1);
        n = below(other->size - from + 1);
        n = open_gap(data, size, at, n);
        memcpy(data + at, other->data + from, n);
        break;
    default: /* cut off */
        *size = at;
        break;
    }
}

static void run_mutants(const char *crash_path, unsigned long from, unsigned long count)
{
    static uint8_t data[MAX_MUTANT];

    for (unsigned long i = from; i < from + count; i++) {
        state = i;
        const struct input *seed = &seeds[below(seed_count)];
        size_t size = seed->size < MAX_MUTANT ? seed->size : MAX_MUTANT;

        memcpy(data, seed->data, size);
        for (size_t n = 1 + below(4); n > 0; n--) {
            mutate(data, &size);
        }
        run(crash_path, data, size);
    }
    remove(crash_path);
}

static unsigned long number(const char *name, unsigned long otherwise)
{
    const char *text = getenv(name);

    return text == NULL || *text == '\0' ? otherwise : strtoul(text, NULL, 10);
}

/* Inputs given by hand. */
static int run_files(char **paths)
{
    static uint8_t buffer[MAX_SEED_BYTES];

    for (; *paths != NULL; paths++) {
        FILE *f = fopen(*paths, "rbe");

        if (f == NULL) {
            fprintf(stderr, "%s: %m\n", *paths);
            return 2;
        }
        run(NULL, buffer, fread(buffer, 1, sizeof buffer, f));
        fclose(f);
    }
    return 0;
}

/* "fuzz_x" of a program's path, also when libtool runs it as "lt-fuzz_x". */
static const char *program_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash == NULL ? path : slash + 1;

    return strncmp(name, "lt-", 3) == 0 ? name + 3 : name;
}

int main(int argc, char **argv)
{
    const char *name = program_name(argv[0]);
    const char *source = getenv("abs_top_srcdir"), *build = getenv("abs_top_builddir");
    unsigned long inputs = number("FUZZ_INPUTS", getenv("CHECK_LONG") ? 300000 : 3000);
    char path[PATH_MAX];

    if (argc > 1) {
        return run_files(argv + 1);
    }
    add_seed((const uint8_t *)"", 0);
    snprintf(path, sizeof path, "%s/tests/fuzz/corpus/%s", source == NULL ? "." : source,
             strncmp(name, "fuzz_", 5) == 0 ? name + 5 : name);
    read_corpus(path);
    for (size_t i = 0; i < seed_count; i++) {
        run(NULL, seeds[i].data, seeds[i].size);
    }
    printf("ok 1 - %zu inputs of the corpus\n", seed_count);
    fflush(stdout);
    snprintf(path, sizeof path, "%s%s%s.crash", build == NULL ? "" : build,
             build == NULL ? "" : "/test-logs/", name);
    run_mutants(path, number("FUZZ_FIRST", 1), inputs);
    printf("ok 2 - %lu mutations\n1..2\n", inputs);
    for (size_t i = 0; i < seed_count; i++) {
        free(seeds[i].data);
    }
    return 0;
}
#endif
