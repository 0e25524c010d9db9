/*
 * client.h - what the client tests share: verdicts as lines that t8120-calls.sh counts.
 *
 * Owns: "ok|NAME" and "not ok|NAME|why". Must not: need anything but durable.h and C99.
 */
#ifndef TESTS_TEMPORAL_CLIENT_H
#define TESTS_TEMPORAL_CLIENT_H

#include <durable.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One case; the rest says what was wrong, on one line. */
#define verdict(good, name, ...)                                                                   \
    do {                                                                                           \
        char why_[400];                                                                            \
        snprintf(why_, sizeof(why_), __VA_ARGS__);                                                 \
        why_[strcspn(why_, "\n")] = '\0';                                                          \
        printf("%s|%s|%s\n", (good) ? "ok" : "not ok", (name), why_);                              \
        fflush(stdout);                                                                            \
    } while (0)

/* The call returned `wanted`, and its error holds needle (NULL: any). */
static inline void returns(dur_engine *engine, const char *name, int rc, int wanted,
                           const char *needle)
{
    const char *error = rc == DUR_OK ? "" : dur_error(engine);
    verdict(rc == wanted && (!needle || strstr(error, needle)), name, "%s: %s; wanted %s: %s",
            dur_code_name(rc), error, dur_code_name(wanted), needle ? needle : "");
}

static inline void same(const char *name, const char *got, const char *wanted)
{
    verdict(got && strcmp(got, wanted) == 0, name, "got %s, wanted %s", got ? got : "NULL", wanted);
}

static inline void numbers(const char *name, long long got, long long wanted)
{
    verdict(got == wanted, name, "got %lld, wanted %lld", got, wanted);
}

#endif
