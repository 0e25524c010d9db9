/*
 * example.h - what all the examples need and none is about: a store in a directory of its own, and
 * a word when something is not as it should be.
 *
 * Owns: the directory of the example's store; it is removed at the end. A program of your own calls
 * dur_open() with a path and prints dur_error() when something fails: see ../order.c.
 */
#ifndef EXAMPLE_H
#define EXAMPLE_H

#include <durable.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#if defined(__GNUC__)
#define EXAMPLE_UNUSED __attribute__((unused)) /* an example may do without */
#else
#define EXAMPLE_UNUSED
#endif

static char example_dir[256];
static char example_path[300]; /* of the store */

/* Ends the program unless `condition` holds. */
#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition);                \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

/* The call succeeds, or the program ends with the engine's words. */
#define OK(engine, call)                                                                           \
    do {                                                                                           \
        int code_ = (call);                                                                        \
        if (code_ != DUR_OK) {                                                                     \
            fprintf(stderr, "%s:%d: %s: %s (%s)\n", __FILE__, __LINE__, #call, dur_error(engine),  \
                    dur_code_name(code_));                                                         \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

/* A fresh store; a second call opens the same one again, as another process would. */
EXAMPLE_UNUSED static dur_engine *example_open_with(dur_options options)
{
    const char *base = getenv("TMPDIR");
    dur_engine *engine;
    options.reserve_bytes = -1; /* no 16 MiB set aside for a full disk in an example */
    if (!*example_dir) {
        snprintf(example_dir, sizeof(example_dir), "%s/example-XXXXXX", base ? base : "/tmp");
        CHECK(mkdtemp(example_dir) != NULL);
        snprintf(example_path, sizeof(example_path), "%s/example.db", example_dir);
    }
    OK(engine, dur_open(&engine, example_path, &options));
    return engine;
}

EXAMPLE_UNUSED static dur_engine *example_open(void)
{
    dur_options options = {0};
    return example_open_with(options);
}

/* An engine whose time skips and whose runs go on by replay after every task. */
EXAMPLE_UNUSED static dur_engine *example_test(void)
{
    dur_test_options options = {0};
    dur_engine *engine;
    options.replay_always = 1;
    OK(engine, dur_test_open(&engine, &options));
    return engine;
}

/* The closed run's result is this JSON text. */
EXAMPLE_UNUSED static void example_expect(dur_engine *engine, const char *id, const char *expected)
{
    char *result = NULL;
    OK(engine, dur_result(engine, id, 0, &result));
    if (strcmp(result, expected) != 0) {
        fprintf(stderr, "%s gave %s, not %s\n", id, result, expected);
        exit(1);
    }
    dur_free(result);
}

/* Start a run, serve until nothing is open, give its result (dur_free). */
EXAMPLE_UNUSED static char *example_run(dur_engine *engine, const char *type, const char *id,
                                        const char *input)
{
    char *result = NULL;
    OK(engine, dur_start(engine, type, id, input, NULL));
    OK(engine, dur_serve(engine, DUR_UNTIL_IDLE));
    OK(engine, dur_result(engine, id, 0, &result));
    return result;
}

/* Close the engine, remove the store, say that all is well. */
EXAMPLE_UNUSED static int example_end(dur_engine *engine, const char *what)
{
    static const char *const files[] = {"", "-wal", "-shm", ".lock", ".bell", ".reserve"};
    char path[320];
    size_t i;
    dur_close(engine);
    for (i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        snprintf(path, sizeof(path), "%s%s", example_path, files[i]);
        unlink(path);
    }
    rmdir(example_dir);
    printf("%s\n", what);
    return 0;
}

#endif
