/*
 * harness.h - what the parts of the harness share: plays in processes of their own, and verdicts.
 *
 * Owns: nothing; scenario.c has the functions, judge.c is a further part. A play's functions run in
 * a child that they may leave by harness_die; what they print is the parent's to judge.
 */
#ifndef TESTS_HARNESS_H
#define TESTS_HARNESS_H

#include "base/str.h"
#include "history/event.h"
#include "scenario.h"

#define HISTORY_BYTES (64U << 20)

struct play {
    const struct scenario *scenario;
    const char *path;   /* of a store, or NULL: */
    const char *server; /* "host:port" */
    const char *name_space;
    const char *dir; /* histories are written there */
    int64_t after;   /* on a server: what befalls it comes when its history has so many events */
    bool changed;
    bool cancel;
};

/* In the child: the play's store, with its code; or the end of the child. */
dur_engine *harness_open(const struct play *play, const char *vfs, bool read_only);
void harness_die(dur_engine *engine, const char *what, int rc);
void harness_parse(const char *what, struct arena *arena, const char *json,
                   struct history *history);
/* fn in a child. What it printed, or NULL when the plan killed it. *ret_bad: it failed. */
char *harness_child(void (*fn)(const struct play *), const struct play *play, bool *ret_bad);
/* In the child: drives, serves until idle, and joins what it began. */
void harness_serve(const struct play *play, dur_engine *engine);
/* In the child: prints "STATUS RESULT" of the newest main run. */
void harness_outcome(const struct play *play);
/* What that should be; got is what was printed. Heap. */
char *harness_expected(const struct scenario *scenario, const char *got);
char *harness_golden(const struct scenario *scenario, size_t number);   /* path; heap */
void harness_blank_times(struct arena *arena, struct history *history); /* of markers */
/* One line of TAP; why is told when it is not good. */
void harness_judge(bool good, const char *scenario, const char *what, const char *why);

/* Histories DIR/NAME-1.json, NAME-2.json ... that somebody else recorded of the same workflows: the
 * code replays each; the changed code refuses one. None there: nothing is said. */
void judge_histories(const struct scenario *scenario, const char *dir);

/* A server's history, as ours is where Temporal has rules of its own (level.c). */
void harness_level(struct history *history, const char *queue_prefix);
/* What differs, a line each, as tests/scenario/pins.tsv lets this scenario be compared. */
void compare_histories(const char *scenario, size_t run, const struct history *golden,
                       const struct history *actual, struct str *out);
char *compare_words(const char *scenario); /* how that is, for the verdict; heap */
/* Plays it on a server; its histories, in DIR afterwards, are those of SQLite. */
void check_on_server(const struct scenario *scenario, const char *server, const char *name_space,
                     const char *dir);
/* Plays it on a server; a worker is killed while it does, another goes on: it ends the same. */
void check_killed_on_server(const struct scenario *scenario, const char *server,
                            const char *name_space);
/* Plays it on a server, and cancels it on the way: it ends, and is replayed. */
void check_cancelled_on_server(const struct scenario *scenario, const char *server,
                               const char *name_space);

#endif
