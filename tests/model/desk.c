/*
 * desk.c - the engine against a second small oracle: what is answered by others, chained, reset,
 * found by filters and started by schedules.
 *
 * Usage: desk OPS [SEED [PLANT [LEFT-OUT]]]     so many operations, a new store every 400; PLANT: a
 * rule of the oracle that is wrong on purpose (1 .. PLANTS - 1), to be found; LEFT-OUT: operations
 * that are not made (left_out.h), the others are told
 *
 * Owns: the oracle, written from durable.h's comments and Temporal's rules: tokens of attempts,
 * their completion, failure, retry and heartbeat, cancellation that waits, continue-as-new, reset,
 * queries, memo and search attributes, filtered lists with pages, schedules. Its runs ("Desk") ask
 * one thing after another by an activity that others complete: a positive number is added, 0 ends
 * the run with the sum, a negative one continues it as new. Coverage as in model.c.
 *
 * Must not: be lenient. What depends on whether the engine has looked yet is asked only after it.
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

#define IDS 4
#define RUNS 800
#define TOKENS 12
#define NUMBERS 4 /* values of the search attribute */
#define SCHEDULES 2
#define OPS_A_STORE 400
#define ENOUGH_OPS 3000
#define ATTEMPTS_MAX 3
#define RETRY_MS 2000
#define EVERY_MS 10000
#define PAGE 3

enum wrong_rule { NO_PLANT, CANCEL_IS_UNHEARD, CHAIN_FORGETS, PAUSED_STARTS, PLANTS };

/* --- what is told ----------------------------------------------------------------------------- */

enum op {
    START,
    TOKEN_OF,
    COMPLETE,
    FAIL,
    COMPLETE_CANCELLED,
    HEARTBEAT,
    CANCEL,
    QUERY,
    RESET,
    LIST_WHERE,
    SET,
    REMOVE,
    PAUSE,
    RESUME,
    TRIGGER,
    BACKFILL,
    LOOK,
    OPS
};
static const char *const op_names[OPS] = {"start",
                                          "activity-token-of",
                                          "complete",
                                          "complete-failed",
                                          "complete-cancelled",
                                          "heartbeat",
                                          "cancel",
                                          "query",
                                          "reset",
                                          "list-where",
                                          "schedule-set",
                                          "schedule-remove",
                                          "schedule-pause",
                                          "schedule-resume",
                                          "schedule-trigger",
                                          "schedule-backfill",
                                          "schedule-describe"};

static const struct {
    enum op op;
    int code;
} promised[] = {{START, DUR_OK},
                {START, DUR_EXISTS},
                {START, DUR_INVALID},
                {TOKEN_OF, DUR_OK},
                {TOKEN_OF, DUR_NOT_FOUND},
                {TOKEN_OF, DUR_BUSY},
                {COMPLETE, DUR_OK},
                {COMPLETE, DUR_EXISTS},
                {COMPLETE, DUR_NOT_FOUND},
                {COMPLETE, DUR_INVALID},
                {FAIL, DUR_OK},
                {FAIL, DUR_NOT_FOUND},
                {FAIL, DUR_INVALID},
                {COMPLETE_CANCELLED, DUR_OK},
                {COMPLETE_CANCELLED, DUR_INVALID},
                {COMPLETE_CANCELLED, DUR_NOT_FOUND},
                {HEARTBEAT, DUR_OK},
                {HEARTBEAT, DUR_CANCELLED},
                {HEARTBEAT, DUR_NOT_FOUND},
                {HEARTBEAT, DUR_INVALID},
                {CANCEL, DUR_OK},
                {CANCEL, DUR_NOT_FOUND},
                {QUERY, DUR_OK},
                {QUERY, DUR_FAILED},
                {QUERY, DUR_NOT_FOUND},
                {RESET, DUR_OK},
                {RESET, DUR_NOT_FOUND},
                {RESET, DUR_INVALID},
                {LIST_WHERE, DUR_OK},
                {LIST_WHERE, DUR_INVALID},
                {SET, DUR_OK},
                {SET, DUR_INVALID},
                {REMOVE, DUR_OK},
                {REMOVE, DUR_NOT_FOUND},
                {PAUSE, DUR_OK},
                {PAUSE, DUR_NOT_FOUND},
                {RESUME, DUR_OK},
                {RESUME, DUR_NOT_FOUND},
                {TRIGGER, DUR_OK},
                {TRIGGER, DUR_NOT_FOUND},
                {BACKFILL, DUR_OK},
                {BACKFILL, DUR_NOT_FOUND},
                {LOOK, DUR_OK},
                {LOOK, DUR_NOT_FOUND}};

static long reached[OPS][256];

/* --- the oracle ------------------------------------------------------------------------------- */

enum ask_state { NOT_ASKED, ASKED, REPORTED, BACKS_OFF };

struct run {
    int id;
    dur_status status;
    int number; /* memo and search attribute; -1: none */
    long sum, born_ms, begins_ms;
    bool cancels;
    enum ask_state state;
    int attempt, asks; /* asks: how many attempts there were in all, for tokens */
    long again_ms;
    int report; /* what was reported */
    enum { SAID, FAILED_ONCE, FAILED_FOR_GOOD, STOPPED } how;
    bool is_followed;
};

struct timetable { /* a schedule */
    bool is_set, is_paused;
    long next_ms, started;
};

struct oracle {
    struct run runs[RUNS];
    int count;
    long now_ms; /* since the start */
    struct timetable plans[SCHEDULES];
    bool triggered; /* since the clock moved */
    enum wrong_rule plant;
};

static struct run *newest(struct oracle *o, int id)
{
    for (int i = o->count - 1; i >= 0; i--) {
        if (o->runs[i].id == id) {
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

static struct run *make_run(struct oracle *o, int id, long sum, int number)
{
    struct run *run = &o->runs[o->count++];
    *run = (struct run){.id = id,
                        .status = DUR_RUNNING,
                        .sum = sum,
                        .number = number,
                        .born_ms = o->now_ms,
                        .begins_ms = o->now_ms};
    return run;
}

static void ask(struct run *run)
{
    run->state = ASKED;
    run->attempt = 1;
    run->asks++;
}

/* What its code does with an answer. */
static void answered(struct oracle *o, struct run *run)
{
    if (run->report == 0) {
        run->status = DUR_COMPLETED;
    } else if (run->report < 0) {
        struct run *next =
            make_run(o, run->id, run->sum, o->plant == CHAIN_FORGETS ? -1 : run->number);
        run->status = DUR_CONTINUED_AS_NEW;
        run->is_followed = true;
        next->begins_ms = o->now_ms - run->born_ms < 1000 ? run->born_ms + 1000 : o->now_ms;
    } else if (run->cancels) {
        run->sum += run->report;
        run->status = DUR_CANCELED;
    } else {
        run->sum += run->report;
        ask(run);
    }
}

static void look_at(struct oracle *o, struct run *run)
{
    if (run->state == BACKS_OFF && run->cancels) {
        run->status = DUR_CANCELED;
    } else if (run->state == BACKS_OFF && run->again_ms <= o->now_ms) {
        run->state = ASKED;
        run->attempt++;
        run->asks++;
    } else if (run->state == NOT_ASKED && run->begins_ms <= o->now_ms) {
        ask(run);
    } else if (run->state == REPORTED && run->how == SAID) {
        answered(o, run);
    } else if (run->state == REPORTED && run->how == STOPPED) {
        run->status = DUR_CANCELED;
    } else if (run->state == REPORTED &&
               (run->how == FAILED_FOR_GOOD || run->attempt == ATTEMPTS_MAX)) {
        run->status = DUR_RUN_FAILED;
    } else if (run->state == REPORTED) {
        run->state = BACKS_OFF;
        run->again_ms = o->now_ms + RETRY_MS;
    }
}

/* The engine looks at what is there, and again whenever something is due. */
static void oracle_advance(struct oracle *o, int seconds)
{
    for (int step = 0; step <= seconds; step++) {
        for (int i = 0; i < o->count; i++) {
            if (o->runs[i].status == DUR_RUNNING) {
                look_at(o, &o->runs[i]);
            }
        }
        for (int i = 0; i < SCHEDULES; i++) {
            struct timetable *plan = &o->plans[i];
            if (plan->is_set && plan->next_ms <= o->now_ms) {
                plan->started += !plan->is_paused || o->plant == PAUSED_STARTS;
                plan->next_ms += EVERY_MS;
            }
        }
        o->now_ms += step < seconds ? 1000 : 0;
    }
    o->triggered = o->triggered && seconds == 0;
}

/* --- the subject ------------------------------------------------------------------------------ */

static int tell_sum(dur_ctx *ctx, const char *input, const char **result, void *arg)
{
    (void)input;
    *result = dur_ctx_jsonf(ctx, "%i64", *(const int64_t *)arg);
    return DUR_OK;
}

static int desk(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    int64_t *sum = dur_ctx_alloc(ctx, sizeof(*sum)); /* closed runs are asked too */
    *sum = dur_json_int(input, "", 0);
    (void)user;
    int rc = dur_on_query(ctx, "sum", tell_sum, sum);
    while (rc == DUR_OK) {
        const char *text = NULL;
        rc = dur_run(ctx, "Ask", NULL, &text,
                     &(dur_activity_options){
                         .activity_id = "ask",
                         .start_to_close_ms = 100 * DUR_DAYS,
                         .max_attempts = ATTEMPTS_MAX,
                         .retry = {.initial_interval_ms = RETRY_MS, .backoff_coefficient = 1},
                         .cancellation = DUR_WAIT_CANCEL});
        int64_t value = rc == DUR_OK ? dur_json_int(text, "", 0) : 0;
        if (rc == DUR_OK && value == 0) {
            *result = dur_ctx_jsonf(ctx, "%i64", *sum);
            return DUR_OK;
        }
        if (rc == DUR_OK && value < 0) {
            return dur_continue_as_new(ctx, dur_ctx_jsonf(ctx, "%i64", *sum), NULL);
        }
        *sum += value;
    }
    return rc;
}

static int quick(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)ctx;
    (void)user;
    *result = input;
    return DUR_OK;
}

static int ask_others(dur_activity *act, const char *input, const char **result, void *user)
{
    (void)act;
    (void)input;
    (void)result;
    (void)user;
    return DUR_PENDING;
}

struct subject {
    dur_engine *engine, *other;
    char *path;
};

static void subject_open(struct subject *s)
{
    s->path = mem_printf("%s/desk-%d.db", access("/dev/shm", W_OK) == 0 ? "/dev/shm" : ".",
                         (int)getpid());
    dur_test_options o = {.path = s->path};
    if (dur_test_open(&s->engine, &o) != DUR_OK ||
        dur_open(&s->other, s->path, &(dur_options){.reserve_bytes = -1, .min_free_bytes = -1}) !=
            DUR_OK) {
        fprintf(stderr, "desk: %s\n", dur_error(s->engine));
        exit(1);
    }
    s->other->clock = s->engine->clock;
    dur_register_workflow(s->engine, "Desk", desk, NULL);
    dur_register_workflow(s->engine, "Quick", quick, NULL);
    dur_register_activity(s->engine, "Ask", ask_others, NULL);
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

struct token {
    char *text;
    int run, ask; /* index of the run, number of the attempt among all of the run */
};

struct play {
    struct oracle *oracle;
    struct subject subject;
    struct dice dice;
    struct token tokens[TOKENS];
    int token_count;
    uint64_t seed;
    long at;
    char said[256];
};

static void differ(struct play *p, const char *what, long expected, long got)
{
    printf("DIFFERENT at operation %ld of seed %llu, %s: %s: the oracle says %ld, the engine %ld\n",
           p->at, (unsigned long long)p->seed, p->said, what, expected, got);
    printf("last errors: %s; %s\n", dur_error(p->subject.engine), dur_error(p->subject.other));
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

static void advance(struct play *p, int seconds)
{
    int rc = dur_test_advance(p->subject.engine, seconds * 1000);
    if (rc != DUR_OK) {
        differ(p, "advance", DUR_OK, rc);
    }
    oracle_advance(p->oracle, seconds);
}

static void do_start(struct play *p, const char *id_text, int id)
{
    int number = dice_roll(&p->dice, NUMBERS), sum = dice_roll(&p->dice, 100);
    struct run *run = open_run(p->oracle, id);
    bool bad = dice_roll(&p->dice, 10) == 0;
    char memo[32], attr[32], input[16];
    snprintf(memo, sizeof(memo), "{\"m\":%d}", number);
    snprintf(attr, sizeof(attr), bad ? "[%d]" : "{\"Num\":%d}", number);
    snprintf(input, sizeof(input), "%d", sum);
    dur_start_options o = {.memo = memo, .search_attributes = attr};
    compare(p, START,
            bad   ? DUR_INVALID
            : run ? DUR_EXISTS
                  : DUR_OK,
            dur_start(by(p), "Desk", id_text, input, &o));
    if (!bad && !run) {
        make_run(p->oracle, id, sum, number);
    }
}

static void do_token_of(struct play *p, const char *id_text, int id)
{
    const struct run *run = open_run(p->oracle, id);
    char *text = NULL;
    if (run && run->state == REPORTED) {
        return;
    }
    int expected = !run || run->state == NOT_ASKED ? DUR_NOT_FOUND
                   : run->state == BACKS_OFF       ? DUR_BUSY
                                                   : DUR_OK;
    compare(p, TOKEN_OF, expected, dur_activity_token_of(by(p), id_text, "ask", &text));
    if (expected == DUR_OK) {
        struct token *token = &p->tokens[p->token_count++ % TOKENS];
        dur_free(token->text);
        *token = (struct token){text, (int)(run - p->oracle->runs), run->asks};
    }
}

static void do_report(struct play *p, enum op op)
{
    const struct token *token = &p->tokens[dice_roll(&p->dice, TOKENS)];
    int value = dice_roll(&p->dice, 6) - 1, bad = dice_roll(&p->dice, 15);
    char text[16];
    if (!token->text) {
        return;
    }
    struct run *run = &p->oracle->runs[token->run];
    bool is_there = run->status == DUR_RUNNING && run->asks == token->ask &&
                    (run->state == ASKED || run->state == REPORTED);
    bool is_twice = is_there && run->state == REPORTED;
    int expected = !is_there ? DUR_NOT_FOUND : is_twice ? DUR_EXISTS : DUR_OK;
    snprintf(text, sizeof(text), "%d", value);
    snprintf(p->said, sizeof(p->said), "%s run %d attempt %d with %d, bad %d", op_names[op],
             token->run, token->ask, value, bad);
    if (bad == 0) {
        compare(p, op, DUR_INVALID,
                op == COMPLETE    ? dur_complete(by(p), token->text, "{")
                : op == FAIL      ? dur_complete_failed(by(p), token->text, DUR_TRANSIENT, "", NULL)
                : op == HEARTBEAT ? dur_complete_heartbeat(by(p), token->text, "{")
                                  : dur_complete_cancelled(by(p), "no token"));
        return;
    }
    if (op == COMPLETE) {
        compare(p, op, expected, dur_complete(by(p), token->text, text));
        run->how = expected == DUR_OK ? SAID : run->how;
        run->report = expected == DUR_OK ? value : run->report;
    } else if (op == FAIL) {
        bool for_good = value < 1;
        if (is_twice || (is_there && run->cancels)) {
            return;
        }
        compare(p, op, expected,
                dur_complete_failed(by(p), token->text, for_good ? DUR_PERMANENT : DUR_TRANSIENT,
                                    "Told", "to fail"));
        run->how = expected == DUR_OK ? (for_good ? FAILED_FOR_GOOD : FAILED_ONCE) : run->how;
    } else if (op == COMPLETE_CANCELLED) {
        if (is_twice) {
            return;
        }
        expected = is_there && !run->cancels ? DUR_INVALID : expected;
        compare(p, op, expected, dur_complete_cancelled(by(p), token->text));
        run->how = expected == DUR_OK ? STOPPED : run->how;
    } else {
        if (is_twice) {
            return;
        }
        bool stop = is_there && run->cancels && p->oracle->plant != CANCEL_IS_UNHEARD;
        compare(p, op, stop ? DUR_CANCELLED : expected,
                dur_complete_heartbeat(by(p), token->text, text));
        return;
    }
    if (expected == DUR_OK) {
        run->state = REPORTED;
    }
}

static void do_cancel(struct play *p, const char *id_text, int id)
{
    struct run *run = open_run(p->oracle, id);
    advance(p, 0);
    run = open_run(p->oracle, id);
    if (run && run->state == NOT_ASKED) {
        return; /* its code has still to begin */
    }
    compare(p, CANCEL, run ? DUR_OK : DUR_NOT_FOUND, dur_cancel(by(p), id_text, NULL));
    if (run) {
        run->cancels = true;
    }
    advance(p, 0);
}

static void do_query(struct play *p, const char *id_text, int id)
{
    char *answer = NULL;
    bool bad = dice_roll(&p->dice, 8) == 0;
    advance(p, 0);
    const struct run *run = newest(p->oracle, id);
    if (run && run->state == NOT_ASKED) {
        return;
    }
    compare(p, QUERY,
            !run  ? DUR_NOT_FOUND
            : bad ? DUR_FAILED
                  : DUR_OK,
            dur_query(p->subject.engine, id_text, bad ? "nothing" : "sum", NULL, 1000, &answer));
    if (run && !bad && strtol(answer, NULL, 10) != run->sum) {
        differ(p, "the sum", run->sum, strtol(answer, NULL, 10));
    }
    dur_free(answer);
}

static void do_reset(struct play *p, const char *id_text, int id)
{
    bool bad = dice_roll(&p->dice, 4) == 0;
    dur_reset_options o = {.event_id = bad ? 1 : 0};
    advance(p, 0);
    struct run *run = open_run(p->oracle, id);
    if ((!run && newest(p->oracle, id)) || (run && (run->state == NOT_ASKED || run->cancels))) {
        return;
    }
    compare(p, RESET,
            !run  ? DUR_NOT_FOUND
            : bad ? DUR_INVALID
                  : DUR_OK,
            dur_reset(by(p), id_text, NULL, &o));
    if (run && !bad) {
        make_run(p->oracle, id, run->sum, run->number);
        run->status = DUR_TERMINATED;
        run->is_followed = true;
    }
}

struct seen {
    int64_t last;
    int page, count;
    bool is_disordered;
};

static int see_row(void *user, int64_t token, const dur_description *d)
{
    struct seen *seen = user;
    seen->is_disordered |= seen->last && token >= seen->last;
    seen->last = token;
    seen->page++;
    seen->count++;
    (void)d;
    return 0;
}

static void do_list(struct play *p)
{
    int number = dice_roll(&p->dice, NUMBERS), expected = 0;
    bool only_open = dice_roll(&p->dice, 2);
    char filter[96];
    struct seen seen = {0};
    if (dice_roll(&p->dice, 8) == 0) {
        compare(p, LIST_WHERE, DUR_INVALID,
                dur_list_where(by(p), "Num = = 3", 0, PAGE, see_row, &seen));
        return;
    }
    snprintf(filter, sizeof(filter), "WorkflowType = 'Desk' AND Num >= %d%s", number,
             only_open ? " AND ExecutionStatus = 'Running'" : "");
    snprintf(p->said, sizeof(p->said), "list %s", filter);
    do {
        seen.page = 0;
        compare(p, LIST_WHERE, DUR_OK,
                dur_list_where(by(p), filter, seen.last, PAGE, see_row, &seen));
    } while (seen.page == PAGE);
    for (int i = 0; i < p->oracle->count; i++) {
        const struct run *run = &p->oracle->runs[i];
        expected += run->number >= number && (!only_open || run->status == DUR_RUNNING);
    }
    if (seen.count != expected || seen.is_disordered) {
        differ(p, seen.is_disordered ? "order" : "rows", expected, seen.count);
    }
}

static void do_set(struct play *p, const char *name, struct timetable *plan)
{
    bool bad = dice_roll(&p->dice, 4) == 0;
    dur_interval every[] = {{.every_ms = bad ? 5 : EVERY_MS}, {0}};
    dur_schedule s = {
        .intervals = every, .workflow_type = "Quick", .overlap = DUR_OVERLAP_ALLOW_ALL};
    compare(p, SET, bad ? DUR_INVALID : DUR_OK, dur_schedule_set(by(p), name, &s));
    if (!bad) {
        plan->started = plan->is_set ? plan->started : 0;
        plan->is_paused = false;
        plan->is_set = true;
        plan->next_ms = (p->oracle->now_ms / EVERY_MS + 1) * EVERY_MS;
    }
}

static void do_schedule(struct play *p, int index)
{
    struct timetable *plan = &p->oracle->plans[index];
    char name[16];
    enum op op = (enum op)(SET + dice_roll(&p->dice, 6));
    int expected = plan->is_set ? DUR_OK : DUR_NOT_FOUND;
    snprintf(name, sizeof(name), "s%d", index);
    advance(p, 0);
    snprintf(p->said, sizeof(p->said), "%s %s", op_names[op], name);
    if (op == SET) {
        do_set(p, name, plan);
    } else if (op == REMOVE && dice_roll(&p->dice, 2)) {
        compare(p, op, expected, dur_schedule_remove(by(p), name));
        *plan = (struct timetable){0};
    } else if (op == PAUSE) {
        compare(p, op, expected, dur_schedule_pause(by(p), name, "model"));
        plan->is_paused = plan->is_set;
    } else if (op == RESUME) {
        compare(p, op, expected, dur_schedule_resume(by(p), name, NULL));
        plan->is_paused = false;
    } else if (op == TRIGGER && !p->oracle->triggered && p->oracle->now_ms % EVERY_MS) {
        compare(p, op, expected, dur_schedule_trigger(by(p), name, DUR_OVERLAP_OWN));
        plan->started += plan->is_set;
        p->oracle->triggered = true;
    } else if (op == BACKFILL && p->oracle->now_ms % EVERY_MS) {
        int64_t to = dur_test_now(p->subject.engine);
        int starts =
            dur_schedule_backfill(by(p), name, to - EVERY_MS * 1000000LL + 1, to, DUR_OVERLAP_OWN);
        if (plan->is_set && starts != 1) {
            differ(p, "starts", 1, starts);
        }
        compare(p, op, expected, plan->is_set ? DUR_OK : starts);
        plan->started += plan->is_set;
    }
    advance(p, 0);
}

/* --- after each ------------------------------------------------------------------------------- */

static void compare_run(struct play *p, int id)
{
    const struct run *run = newest(p->oracle, id);
    char text[16];
    dur_description *d = NULL;
    snprintf(text, sizeof(text), "id-%d", id);
    int rc = dur_describe(by(p), text, &d);
    if (rc != (run ? DUR_OK : DUR_NOT_FOUND)) {
        differ(p, text, run ? DUR_OK : DUR_NOT_FOUND, rc);
    }
    if (run && d->status != run->status) {
        differ(p, text, run->status, d->status);
    }
    if (run && dur_json_int(d->memo, "/m", -1) != run->number) {
        differ(p, "memo", run->number, (long)dur_json_int(d->memo, "/m", -1));
    }
    if (run && run->is_followed != (d->next_run_id != NULL)) {
        differ(p, "the run that follows", run->is_followed, d->next_run_id != NULL);
    }
    dur_description_free(d);
}

static void compare_all(struct play *p)
{
    for (int id = 0; id < IDS; id++) {
        compare_run(p, id);
    }
    for (int i = 0; i < SCHEDULES; i++) {
        const struct timetable *plan = &p->oracle->plans[i];
        char name[16];
        dur_schedule_info *info = NULL;
        snprintf(name, sizeof(name), "s%d", i);
        compare(p, LOOK, plan->is_set ? DUR_OK : DUR_NOT_FOUND,
                dur_schedule_describe(by(p), name, &info));
        if (plan->is_set && info->started != plan->started) {
            differ(p, name, plan->started, (long)info->started);
        }
        if (plan->is_set && (info->paused != 0) != plan->is_paused) {
            differ(p, "paused", plan->is_paused, info->paused);
        }
        dur_schedule_info_free(info);
    }
}

static void do_one(struct play *p)
{
    static const enum op reports[] = {COMPLETE, COMPLETE,           FAIL,
                                      FAIL,     COMPLETE_CANCELLED, HEARTBEAT};
    int id = dice_roll(&p->dice, IDS), roll = dice_roll(&p->dice, 24);
    char text[16];
    snprintf(text, sizeof(text), "id-%d", id);
    const char *name = roll < 3    ? op_names[START]
                       : roll < 7  ? op_names[TOKEN_OF]
                       : roll < 14 ? "report"
                       : roll < 18 ? op_names[CANCEL + roll - 14]
                       : roll < 20 ? "schedule"
                                   : "advance";
    snprintf(p->said, sizeof(p->said), "%s (%s)", name, text);
    if (roll < 3) {
        do_start(p, text, id);
    } else if (roll < 7) {
        do_token_of(p, text, id);
    } else if (roll < 14) {
        do_report(p, reports[dice_roll(&p->dice, (int)ARRAY_LEN(reports))]);
    } else if (roll == 14) {
        do_cancel(p, text, id);
    } else if (roll == 15) {
        do_query(p, text, id);
    } else if (roll == 16) {
        do_reset(p, text, id);
    } else if (roll == 17) {
        do_list(p);
    } else if (roll < 20) {
        do_schedule(p, dice_roll(&p->dice, SCHEDULES));
    } else {
        advance(p, dice_roll(&p->dice, 4));
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
        fprintf(stderr, "usage: desk OPS [SEED [PLANT [LEFT-OUT]]]\n");
        return 2;
    }
    struct play p = {.oracle = mem_alloc(sizeof(struct oracle))};
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
        for (int i = 0; i < TOKENS; i++) {
            dur_free(p.tokens[i].text);
            p.tokens[i] = (struct token){0};
        }
        p.token_count = 0;
        subject_close(&p.subject);
    }
    free(p.oracle);
    return report(ops);
}
