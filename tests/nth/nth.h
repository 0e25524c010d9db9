/*
 * nth.h - the Nth failure of everything: what a path is, and what it must tell.
 *
 * A path is a piece of work that users wait for (opening a store, serving runs, `factory run`). It
 * is played once for every call of every kind of nthfail.h that it makes, that call failing (and,
 * where it can last, once more with all after it failing too). nth.c plays and prints the table;
 * the paths are in engine_paths.c and program_paths.c.
 *
 *   template (once) --copied--> prepared place --play, with the failure--> verify, without
 *
 * Playing happens in a forked child. It must end with success or with an error that is told in one
 * line; then a second engine goes on, and finds all that was acknowledged.
 */
#ifndef TESTS_NTH_H
#define TESTS_NTH_H

#include <stdbool.h>
#include <stdint.h>

#include "tests/lib/nthfail.h"

/* What a play told; in memory that its process shares with the judge. */
struct nth_report {
    bool has_left;       /* a program of it left for want of memory, and said so */
    bool is_over;        /* it came to its end */
    int code;            /* of the first call that failed; 0: none did */
    char text[1200];     /* what was said about it */
    unsigned acks;       /* what was acknowledged; the path's own bits */
    char complaint[600]; /* what must not be; "" when all is well */
};

struct nth_path {
    const char *name;
    const char *about;             /* of a planted one: what must be said about it */
    void (*make)(const char *dir); /* the template; may be NULL */
    void (*play)(const char *dir, struct nth_report *report);   /* with the failure */
    void (*verify)(const char *dir, struct nth_report *report); /* complains, or does not */
    /* It starts programs with nthfail.so preloaded, which count; the play itself does not. */
    bool is_program;
};

extern const struct nth_path engine_paths[], guest_paths[], program_paths[],
    planted_paths[]; /* end with a zeroed one */

/* A call of the play: notes the first failure, complains about one that says nothing. */
void nth_told(struct nth_report *report, const char *call, int code, const char *text);
void nth_complain(struct nth_report *report, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* For paths that are programs: the file of the plan, and nthfail.so. */
extern const char *nth_plan_file, *nth_library;

#endif
