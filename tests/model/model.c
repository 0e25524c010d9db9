/*
 * model.c - the engine against a small oracle: what callers are told, operation by operation.
 *
 * Usage: model OPS [SEED [PLANT [LEFT-OUT]]]     so many operations, a new store every 500; PLANT:
 * a rule of the oracle that is wrong on purpose (1 .. PLANTS - 1), to be found; LEFT-OUT:
 * operations that are not made (left_out.h), the others are told
 *
 * Owns: the oracle, written from durable.h's comments and Temporal's rules, not from the engine:
 * ids, runs, policies for ids, request ids, signals, cancel, terminate, pause, updates, results,
 * lists, purge (desk.c has the rest). Random operations go to both, by two programs' handles; every
 * code and output is compared, and after each operation the status of every id and the number of
 * runs of every status. Coverage: each operation with each code that its header documents; one that
 * was never reached fails (when there were enough operations to reach it).
 *
 * Must not: be lenient. Where two things race (a signal and a cancel in one task), the operation is
 * not made.
 *
 * Tests: tests/model/run-model.sh
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "engine/engine.h"
#include "tests/model/left_out.h"
#include "tests/sim/sim.h"

#define IDS 5
#define RUNS 600 /* of one store */
#define OPS_A_STORE 500
#define REQUESTS 6
#define QUEUED 64
#define ENOUGH_OPS 4000 /* for all of the coverage */
#define ENDS (-1)
#define FAILS (-2)
#define BIG_BYTES (2 * 1024 * 1024 + 10)

enum wrong_rule { NO_PLANT, REUSES_AFTER_CANCEL, FORGETS_REQUESTS, COUNTS_PAUSED_APART, PLANTS };

/* --- what is told ----------------------------------------------------------------------------- */

enum op {
    START,
    SIGNAL,
    SIGNAL_ONCE,
    SIGNAL_START,
    CANCEL,
    TERMINATE,
    PAUSE,
    RESUME,
    RESULT,
    UPDATE,
    UPDATE_RESULT,
    DESCRIBE,
    PURGE,
    ADVANCE,
    OPS
};
static const char *const op_names[OPS] = {
    "start",  "signal", "signal-once", "signal-with-start", "cancel",   "terminate", "pause",
    "resume", "result", "update",      "update-result",     "describe", "purge",     "advance"};

/* Which codes the headers promise for which operation, of those that can be had here. */
static const struct {
    enum op op;
    int code;
} promised[] = {{START, DUR_OK},
                {START, DUR_EXISTS},
                {START, DUR_INVALID},
                {START, DUR_LIMIT},
                {SIGNAL, DUR_OK},
                {SIGNAL, DUR_NOT_FOUND},
                {SIGNAL, DUR_INVALID},
                {SIGNAL, DUR_LIMIT},
                {SIGNAL_ONCE, DUR_OK},
                {SIGNAL_ONCE, DUR_NOT_FOUND},
                {SIGNAL_START, DUR_OK},
                {SIGNAL_START, DUR_EXISTS},
                {CANCEL, DUR_OK},
                {CANCEL, DUR_NOT_FOUND},
                {TERMINATE, DUR_OK},
                {TERMINATE, DUR_NOT_FOUND},
                {PAUSE, DUR_OK},
                {PAUSE, DUR_NOT_FOUND},
                {RESUME, DUR_OK},
                {RESUME, DUR_NOT_FOUND},
                {RESULT, DUR_OK},
                {RESULT, DUR_FAILED},
                {RESULT, DUR_CANCELLED},
                {RESULT, DUR_TIMED_OUT},
                {RESULT, DUR_NOT_FOUND},
                {UPDATE, DUR_OK},
                {UPDATE, DUR_NOT_FOUND},
                {UPDATE, DUR_INVALID},
                {UPDATE_RESULT, DUR_OK},
                {UPDATE_RESULT, DUR_TIMED_OUT},
                {UPDATE_RESULT, DUR_NOT_FOUND},
                {DESCRIBE, DUR_OK},
                {DESCRIBE, DUR_NOT_FOUND},
                {PURGE, DUR_OK},
                {PURGE, DUR_INVALID},
                {ADVANCE, DUR_OK}};

static long reached[OPS][256];

/* --- the oracle ------------------------------------------------------------------------------- */

struct run {
    int id;
    dur_status status; /* RUNNING also when paused */
    bool is_gone;      /* purged */
    bool is_paused, cancels;
    int start_request; /* 0: none */
    bool seen[REQUESTS + 1];
    int queued[QUEUED];
    int queued_count;
    bool update_asked, update_done;
    long sum;
    long closed_ms; /* by the virtual clock; of one millisecond the older run counts as first */
};

struct oracle {
    struct run runs[RUNS];
    int count;
    long now_ms;
    enum wrong_rule plant;
};

static struct run *newest(struct oracle *o, int id)
{
    for (int i = o->count - 1; i >= 0; i--) {
        if (o->runs[i].id == id && !o->runs[i].is_gone) {
            return &o->runs[i];
        }
    }
    return NULL;
}

static struct run *open_run(struct oracle *o, int id)
{
    struct run *run = newest(o, id);
    return run && run->status == DUR_RUNNING ? run : NULL;
}

static void close_run(struct oracle *o, struct run *run, dur_status status)
{
    run->status = status;
    run->is_paused = false;
    run->closed_ms = o->now_ms;
}

static struct run *make_run(struct oracle *o, int id, int request)
{
    struct run *run = &o->runs[o->count++];
    *run = (struct run){.id = id, .status = DUR_RUNNING, .start_request = request};
    return run;
}

static bool may_follow(const struct oracle *o, const struct run *old, dur_reuse reuse)
{
    if (reuse == DUR_REUSE_FAILED_ONLY) {
        return old->status != DUR_COMPLETED &&
               !(o->plant == REUSES_AFTER_CANCEL && old->status == DUR_CANCELED);
    }
    return reuse == DUR_REUSE_ALLOW;
}

/* DUR_OK with *ret: the new run; NULL: the old one will do. */
static int oracle_start(struct oracle *o, int id, dur_reuse reuse, dur_conflict conflict,
                        int request, struct run **ret)
{
    struct run *old = newest(o, id);
    *ret = NULL;
    for (int i = 0; i < o->count && request && o->plant != FORGETS_REQUESTS; i++) {
        if (o->runs[i].id == id && !o->runs[i].is_gone && o->runs[i].start_request == request) {
            return DUR_OK;
        }
    }
    if (old && old->status == DUR_RUNNING) {
        if (conflict != DUR_CONFLICT_TERMINATE_EXISTING) {
            return conflict == DUR_CONFLICT_USE_EXISTING ? DUR_OK : DUR_EXISTS;
        }
        close_run(o, old, DUR_TERMINATED);
    } else if (old && !may_follow(o, old, reuse)) {
        return DUR_EXISTS;
    }
    *ret = make_run(o, id, request);
    return DUR_OK;
}

static void queue(struct run *run, int value)
{
    run->queued[run->queued_count++] = value;
}

/* The engine has looked at everything. */
static void oracle_advance(struct oracle *o)
{
    for (int i = 0; i < o->count; i++) {
        struct run *run = &o->runs[i];
        if (run->status != DUR_RUNNING || run->is_paused) {
            continue;
        }
        run->update_done |= run->update_asked;
        for (int k = 0; k < run->queued_count && run->status == DUR_RUNNING; k++) {
            if (run->queued[k] == ENDS) {
                close_run(o, run, DUR_COMPLETED);
            } else if (run->queued[k] == FAILS) {
                close_run(o, run, DUR_RUN_FAILED);
            } else {
                run->sum += run->queued[k];
            }
        }
        run->queued_count = 0;
        if (run->cancels && run->status == DUR_RUNNING) {
            close_run(o, run, DUR_CANCELED);
        }
    }
    o->now_ms++; /* what was at hand happened before */
}

static void oracle_purge(struct oracle *o, int keep)
{
    for (;;) {
        struct run *oldest = NULL;
        int closed = 0;
        for (int i = 0; i < o->count; i++) {
            struct run *run = &o->runs[i];
            if (run->status != DUR_RUNNING && !run->is_gone) {
                closed++;
                oldest = !oldest || run->closed_ms < oldest->closed_ms ? run : oldest;
            }
        }
        if (closed <= keep) {
            return;
        }
        oldest->is_gone = true;
    }
}

static int oracle_count(const struct oracle *o, dur_status status)
{
    int count = 0;
    for (int i = 0; i < o->count; i++) {
        const struct run *run = &o->runs[i];
        bool is_it = status == 0            ? true
                     : status == DUR_PAUSED ? run->is_paused
                                            : run->status == status;
        if (o->plant == COUNTS_PAUSED_APART && status == DUR_RUNNING && run->is_paused) {
            is_it = false;
        }
        count += !run->is_gone && is_it;
    }
    return count;
}

/* --- the subject ------------------------------------------------------------------------------ */

/* Sums signals until one of them ends it. */
static int summing(dur_ctx *ctx, const char *input, const char **result, void *user);

static int on_update(dur_ctx *ctx, const char *input, const char **result, void *arg)
{
    (void)ctx;
    (void)arg;
    *result = input;
    return DUR_OK;
}

static int summing(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    int64_t sum = 0;
    (void)input;
    (void)user;
    int rc = dur_on_update(ctx, "u", NULL, on_update, NULL);
    while (rc == DUR_OK) {
        const char *text = NULL;
        rc = dur_receive(ctx, "s", -1, &text);
        int64_t value = rc == DUR_OK ? dur_json_int(text, "", 0) : 0;
        if (rc == DUR_OK && value == ENDS) {
            *result = dur_ctx_jsonf(ctx, "%i64", sum);
            return DUR_OK;
        }
        if (rc == DUR_OK && value == FAILS) {
            return dur_fail_run(ctx, "Told", "to fail");
        }
        sum += value;
    }
    return rc;
}

struct subject {
    dur_engine *engine, *other;
    char *path;
};

static void subject_open(struct subject *s)
{
    s->path = mem_printf("%s/model-%d.db", access("/dev/shm", W_OK) == 0 ? "/dev/shm" : ".",
                         (int)getpid());
    dur_test_options o = {.path = s->path};
    if (dur_test_open(&s->engine, &o) != DUR_OK ||
        dur_open(&s->other, s->path, &(dur_options){.reserve_bytes = -1, .min_free_bytes = -1}) !=
            DUR_OK) {
        fprintf(stderr, "model: %s\n", dur_error(s->engine));
        exit(1);
    }
    s->other->clock = s->engine->clock;
    dur_register_workflow(s->engine, "Sum", summing, NULL);
}

static void subject_close(struct subject *s)
{
    static const char *const tails[] = {"", "-wal", "-shm", ".lock", ".bell"};
    dur_close(s->other);
    dur_close(s->engine);
    for (size_t i = 0; i < ARRAY_LEN(tails); i++) {
        autofree char *path = mem_printf("%s%s", s->path, tails[i]);
        unlink(path);
    }
    free(s->path);
}

/* --- one operation ---------------------------------------------------------------------------- */

struct play {
    struct oracle *oracle;
    struct subject subject;
    struct dice dice;
    uint64_t seed;
    long at;
    char said[256]; /* the operation, for people */
    char *big;
};

static void differ(struct play *p, const char *what, long expected, long got)
{
    printf("DIFFERENT at operation %ld of seed %llu, %s: %s: the oracle says %ld, the engine %ld\n",
           p->at, (unsigned long long)p->seed, p->said, what, expected, got);
    subject_close(&p->subject);
    exit(1);
}

static void compare(struct play *p, enum op op, int expected, int got)
{
    reached[op][got & 0xff]++;
    if (expected != got) {
        differ(p, "code", expected, got);
    }
}

static dur_engine *by(struct play *p)
{
    return dice_roll(&p->dice, 2) ? p->subject.engine : p->subject.other;
}

static void id_text(char *text, size_t size, int id)
{
    snprintf(text, size, "id-%d", id);
}

static void do_start(struct play *p, int id, bool with_signal)
{
    struct run *made = NULL;
    char text[16], request_text[16], value[16];
    dur_reuse reuse = (dur_reuse)dice_roll(&p->dice, 3);
    dur_conflict conflict = (dur_conflict)dice_roll(&p->dice, 3);
    int request = !with_signal && dice_roll(&p->dice, 2) ? 1 + dice_roll(&p->dice, REQUESTS) : 0;
    int bad = dice_roll(&p->dice, 12);
    int number = 1 + dice_roll(&p->dice, 9);
    struct run *open = open_run(p->oracle, id);
    dur_start_options o = {.reuse = reuse, .conflict = conflict};
    id_text(text, sizeof(text), id);
    snprintf(request_text, sizeof(request_text), "r-%d-%d", id, request);
    snprintf(value, sizeof(value), "%d", number);
    o.request_id = request ? request_text : NULL;
    if (with_signal) {
        snprintf(p->said, sizeof(p->said), "signal-with-start %s %d reuse %d conflict %d", text,
                 number, (int)reuse, (int)conflict);
        bool uses = open && conflict != DUR_CONFLICT_TERMINATE_EXISTING;
        int expected = DUR_OK;
        if (!uses) {
            expected = oracle_start(p->oracle, id, reuse, conflict, 0, &made);
        }
        compare(p, SIGNAL_START, expected,
                dur_signal_with_start(by(p), "Sum", text, NULL, "s", value, &o));
        if (expected == DUR_OK) {
            queue(uses ? open : made, number);
        }
        return;
    }
    snprintf(p->said, sizeof(p->said), "start %s reuse %d conflict %d request %d bad %d", text,
             (int)reuse, (int)conflict, request, bad);
    if (bad == 0) {
        compare(p, START, DUR_INVALID, dur_start(by(p), "Sum", text, "{no json", &o));
    } else if (bad == 1) {
        compare(p, START, DUR_LIMIT, dur_start(by(p), "Sum", text, p->big, &o));
    } else if (bad == 2) {
        o.reuse = (dur_reuse)9;
        compare(p, START, DUR_INVALID, dur_start(by(p), "Sum", text, NULL, &o));
    } else {
        int expected = oracle_start(p->oracle, id, reuse, conflict, request, &made);
        compare(p, START, expected, dur_start(by(p), "Sum", text, "1", &o));
    }
}

static void do_signal(struct play *p, int id)
{
    struct run *run = open_run(p->oracle, id);
    char text[16], value[16], request_text[16];
    int roll = dice_roll(&p->dice, 10);
    int number = roll == 0 ? ENDS : roll == 1 ? FAILS : roll;
    int request = dice_roll(&p->dice, 2) ? 1 + dice_roll(&p->dice, REQUESTS) : 0;
    int bad = dice_roll(&p->dice, 20);
    if (run && (run->cancels || run->queued_count + 1 >= QUEUED)) {
        return; /* who comes first would be the engine's to say */
    }
    id_text(text, sizeof(text), id);
    snprintf(value, sizeof(value), "%d", number);
    snprintf(request_text, sizeof(request_text), "s-%d", request);
    snprintf(p->said, sizeof(p->said), "signal %s %d request %d bad %d", text, number, request,
             bad);
    if (bad == 0) {
        compare(p, SIGNAL, DUR_INVALID, dur_signal(by(p), text, "s", "nonsense"));
    } else if (bad == 1) {
        compare(p, SIGNAL, DUR_LIMIT, dur_signal(by(p), text, "s", p->big));
    } else if (request) {
        compare(p, SIGNAL_ONCE, run ? DUR_OK : DUR_NOT_FOUND,
                dur_signal_once(by(p), text, "s", value, request_text));
        if (run && !run->seen[request]) {
            run->seen[request] = true;
            queue(run, number);
        }
    } else {
        compare(p, SIGNAL, run ? DUR_OK : DUR_NOT_FOUND, dur_signal(by(p), text, "s", value));
        if (run) {
            queue(run, number);
        }
    }
}

static void do_control(struct play *p, int id, enum op op)
{
    struct run *run = open_run(p->oracle, id);
    int expected = run ? DUR_OK : DUR_NOT_FOUND;
    char text[16];
    id_text(text, sizeof(text), id);
    snprintf(p->said, sizeof(p->said), "%s %s", op_names[op], text);
    if (op == CANCEL && run && (run->queued_count > 0 || run->update_asked != run->update_done)) {
        return;
    }
    if (op == CANCEL) {
        compare(p, op, expected, dur_cancel(by(p), text, "model"));
        if (run) {
            run->cancels = true;
        }
    } else if (op == TERMINATE) {
        compare(p, op, expected, dur_terminate(by(p), text, NULL));
        if (run) {
            close_run(p->oracle, run, DUR_TERMINATED);
        }
    } else if (op == PAUSE) {
        compare(p, op, expected, dur_pause(by(p), text, "model"));
        if (run) {
            run->is_paused = true;
        }
    } else {
        compare(p, op, expected, dur_resume(by(p), text, NULL));
        if (run) {
            run->is_paused = false;
        }
    }
}

static void do_update(struct play *p, int id)
{
    struct run *run = open_run(p->oracle, id);
    char text[16];
    char *answer = NULL;
    dur_update_options o = {.update_id = "once", .wait = DUR_WAIT_ADMITTED};
    id_text(text, sizeof(text), id);
    snprintf(p->said, sizeof(p->said), "update %s", text);
    const struct run *last = newest(p->oracle, id);
    if ((run && (run->cancels || run->queued_count > 0)) ||
        (!run && last && last->update_asked)) { /* asking again asks for the same, or its end */
        return;
    }
    if (dice_roll(&p->dice, 10) == 0) {
        compare(p, UPDATE, DUR_INVALID, dur_update(by(p), text, "u", "{", &answer, &o));
        return;
    }
    compare(p, UPDATE, run ? DUR_OK : DUR_NOT_FOUND,
            dur_update(by(p), text, "u", "5", &answer, &o));
    dur_free(answer);
    if (run) {
        run->update_asked = true;
    }
}

static void do_update_result(struct play *p, int id)
{
    struct run *run = open_run(p->oracle, id);
    char text[16];
    char *answer = NULL;
    id_text(text, sizeof(text), id);
    snprintf(p->said, sizeof(p->said), "update-result %s", text);
    if (!run && newest(p->oracle, id)) {
        return; /* the end may have cut it off */
    }
    int expected = !run || !run->update_asked ? DUR_NOT_FOUND
                   : run->update_done         ? DUR_OK
                                              : DUR_TIMED_OUT;
    compare(p, UPDATE_RESULT, expected, dur_update_result(by(p), text, "once", 0, &answer));
    if (expected == DUR_OK && strcmp(answer, "5") != 0) {
        differ(p, "the update's result", 5, strtol(answer, NULL, 10));
    }
    dur_free(answer);
}

static void do_result(struct play *p, int id)
{
    const struct run *run = newest(p->oracle, id);
    char text[16];
    char *answer = NULL;
    id_text(text, sizeof(text), id);
    snprintf(p->said, sizeof(p->said), "result %s", text);
    int expected = !run                           ? DUR_NOT_FOUND
                   : run->status == DUR_RUNNING   ? DUR_TIMED_OUT
                   : run->status == DUR_COMPLETED ? DUR_OK
                   : run->status == DUR_CANCELED  ? DUR_CANCELLED
                                                  : DUR_FAILED;
    compare(p, RESULT, expected, dur_result(by(p), text, 0, &answer));
    if (expected == DUR_OK && strtol(answer, NULL, 10) != run->sum) {
        differ(p, "the result", run->sum, strtol(answer, NULL, 10));
    }
    dur_free(answer);
}

static void do_advance(struct play *p)
{
    snprintf(p->said, sizeof(p->said), "advance");
    compare(p, ADVANCE, DUR_OK, dur_test_advance(p->subject.engine, 1));
    oracle_advance(p->oracle);
}

static void do_purge(struct play *p)
{
    int keep = dice_roll(&p->dice, 8);
    dur_purge_options o = {.keep_runs = keep};
    do_advance(p); /* runs that the engine has still to look at stay */
    snprintf(p->said, sizeof(p->said), "purge, keep %d", keep);
    compare(p, PURGE, keep ? DUR_OK : DUR_INVALID, dur_purge(by(p), NULL, &o));
    if (keep) {
        oracle_purge(p->oracle, keep);
    }
}

/* --- after each ------------------------------------------------------------------------------- */

static int count_row(void *user, int64_t token, const dur_description *d)
{
    (void)token;
    (void)d;
    ++*(int *)user;
    return 0;
}

static void compare_all(struct play *p)
{
    static const dur_status statuses[] = {(dur_status)0,  DUR_RUNNING,  DUR_COMPLETED,
                                          DUR_RUN_FAILED, DUR_CANCELED, DUR_TERMINATED,
                                          DUR_PAUSED};
    for (int id = 0; id < IDS; id++) {
        const struct run *run = newest(p->oracle, id);
        char text[16];
        dur_description *d = NULL;
        id_text(text, sizeof(text), id);
        int rc = dur_describe(by(p), text, &d);
        compare(p, DESCRIBE, run ? DUR_OK : DUR_NOT_FOUND, rc);
        if (run && d->status != (run->is_paused ? DUR_PAUSED : run->status)) {
            differ(p, text, run->is_paused ? DUR_PAUSED : run->status, d->status);
        }
        dur_description_free(d);
    }
    dur_status status = statuses[dice_roll(&p->dice, (int)ARRAY_LEN(statuses))];
    int count = 0;
    dur_list(by(p), status, 0, RUNS, count_row, &count);
    if (count != oracle_count(p->oracle, status)) {
        differ(p, status ? dur_status_name(status) : "runs", oracle_count(p->oracle, status),
               count);
    }
}

static void do_one(struct play *p)
{
    int id = dice_roll(&p->dice, IDS);
    switch (dice_roll(&p->dice, 20)) {
    case 0:
    case 1:
    case 2:
    case 3:
        do_start(p, id, false);
        break;
    case 4:
        do_start(p, id, true);
        break;
    case 5:
        do_control(p, id, CANCEL);
        break;
    case 6:
        do_control(p, id, TERMINATE);
        break;
    case 7:
        do_control(p, id, PAUSE);
        break;
    case 8:
    case 9:
        do_control(p, id, RESUME);
        break;
    case 10:
        do_result(p, id);
        break;
    case 11:
        do_update(p, id);
        break;
    case 12:
        do_update_result(p, id);
        break;
    case 13:
        if (dice_roll(&p->dice, 4) == 0) {
            do_purge(p);
        }
        break;
    case 14:
    case 15:
    case 16:
        do_advance(p);
        break;
    default:
        do_signal(p, id);
    }
    compare_all(p);
}

static int report(long ops)
{
    int missing = 0;
    printf("%-20s %-24s %s\n", "operation", "answer", "times");
    for (size_t i = 0; i < ARRAY_LEN(promised); i++) {
        long times = reached[promised[i].op][promised[i].code & 0xff];
        printf("%-20s %-24s %ld\n", op_names[promised[i].op], dur_code_name(promised[i].code),
               times);
        missing += times == 0;
    }
    printf("%ld operations, %zu answers, %d never reached\n", ops, ARRAY_LEN(promised), missing);
    return missing && ops >= ENOUGH_OPS ? 1 : 0;
}

int main(int argc, char **argv)
{
    long ops = argc > 1 ? strtol(argv[1], NULL, 10) : 0;
    uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    int plant = argc > 3 ? (int)strtol(argv[3], NULL, 10) : NO_PLANT;
    const char *leaves_out = argc > 4 ? argv[4] : NULL;
    if (ops < 1 || plant < 0 || plant >= PLANTS) {
        fprintf(stderr, "usage: model OPS [SEED [PLANT [LEFT-OUT]]]\n");
        return 2;
    }
    struct play p = {.big = mem_alloc(BIG_BYTES + 1), .oracle = mem_alloc(sizeof(struct oracle))};
    memset(p.big, 'x', BIG_BYTES);
    p.big[0] = p.big[BIG_BYTES - 1] = '"';
    for (long done = 0; done < ops; done += OPS_A_STORE, seed++) {
        memset(p.oracle, 0, sizeof(*p.oracle));
        p.oracle->plant = (enum wrong_rule)plant;
        p.seed = seed;
        subject_open(&p.subject);
        for (p.at = 0; p.at < OPS_A_STORE && done + p.at < ops; p.at++) {
            p.dice = dice_of(seed, (uint64_t)p.at);
            if (left_out(leaves_out, p.at)) {
                continue;
            }
            do_one(&p);
            if (leaves_out) {
                printf("%ld: %s\n", p.at, p.said);
            }
        }
        subject_close(&p.subject);
    }
    free(p.oracle);
    free(p.big);
    return report(ops);
}
