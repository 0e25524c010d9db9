/*
 * judge.c - what must hold of the script's store after a crash (script.h), on a good disk.
 *
 * Must not: repair anything, or stop at the first good sign: every rule is looked at, in the order
 * of their weight. Tests: tests/crash/test_crash_engine.c has a plant for each kind of harm.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/digest.h"
#include "base/fs.h"
#include "base/mem.h"
#include "engine/admin.h"
#include "history/json.h"
#include "history/validate.h"
#include "journal/activity.h"
#include "journal/execution.h"
#include "journal/store.h"
#include "journal/task.h"
#include "journal/timer.h"
#include "selftest/script.h"

#define LIST_MAX 1000

/* --- the file --------------------------------------------------------------------------------- */

static enum sweep_harm judge_file(const struct sweep_stage *stage)
{
    struct err err = {0};
    autostore struct store *store = NULL;
    autofree char *path = fs_join(stage->dir, "store.db");
    if (store_open(path, &(struct store_options){.reserve_bytes = -1}, &store, &err) < 0 ||
        store_check(store, &err) < 0) {
        sweep_say(stage, "%s", err.text);
        return SWEEP_CORRUPT;
    }
    return SWEEP_GOOD;
}

/* Nothing waits for nobody: all runs have ended, and nothing of them is left to be done. */
static enum sweep_harm judge_rest(const struct sweep_stage *stage)
{
    struct err err = {0};
    int64_t counts[EXECUTION_STATUS_COUNT], tasks, due;
    struct activity_queue_list queues;
    autoarena struct arena *arena = arena_new();
    autostore struct store *store = NULL;
    autofree char *path = fs_join(stage->dir, "store.db");
    if (store_open(path, &(struct store_options){.reserve_bytes = -1}, &store, &err) < 0 ||
        execution_counts(store_db(store), counts, &err) < 0 ||
        task_count(store_db(store), &tasks, &err) < 0 ||
        activity_count_by_queue(store_db(store), arena, &queues, &err) < 0) {
        sweep_say(stage, "%s", err.text);
        return SWEEP_CORRUPT;
    }
    int timers = timer_next_due(store_db(store), &due, &err);
    if (counts[EXECUTION_RUNNING] != 0 || tasks != 0 || timers != 1 || queues.count != 0) {
        sweep_say(stage, "all has ended, and %lld runs are open, %lld tasks wait%s%s",
                  (long long)counts[EXECUTION_RUNNING], (long long)tasks,
                  timers == 1 ? "" : ", a timer runs", queues.count ? ", activities wait" : "");
        return SWEEP_BROKEN;
    }
    return SWEEP_GOOD;
}

/* --- what was acknowledged -------------------------------------------------------------------- */

struct tally {
    const char *id;
    int runs, closed;
};

static int count_run(void *user, int64_t token, const dur_description *description)
{
    struct tally *tally = user;
    (void)token;
    if (str_eq(description->workflow_id, tally->id)) {
        tally->runs++;
        tally->closed += description->status != DUR_RUNNING;
    }
    return 0;
}

static enum sweep_harm judge_runs(const struct script_engine *engine)
{
    for (int run = 0; run < SCRIPT_RUNS; run++) {
        struct tally tally = {.id = script_run_name((enum script_run)run)};
        int most = run == SCRIPT_RELAY ? SCRIPT_RELAY_RUNS : 1;
        if (dur_list(engine->engine, 0, 0, LIST_MAX, count_run, &tally) != DUR_OK) {
            sweep_say(engine->stage, "%s", dur_error(engine->engine));
            return SWEEP_CORRUPT;
        }
        if (tally.runs < atomic_load(&engine->board->started[run])) {
            sweep_say(engine->stage, "the run %s was acknowledged and is gone", tally.id);
            return SWEEP_LOST;
        }
        if (tally.closed < atomic_load(&engine->board->finished[run])) {
            sweep_say(engine->stage, "the result of %s was told and is gone", tally.id);
            return SWEEP_LOST;
        }
        if (tally.runs > most) {
            sweep_say(engine->stage, "%d runs of %s, which was started once", tally.runs, tally.id);
            return SWEEP_BROKEN;
        }
    }
    return SWEEP_GOOD;
}

/* Events of a type, and of a name when there is one. */
static int count_events(const struct script_engine *engine, const char *id, const char *type,
                        const char *name)
{
    int count = 0;
    struct admin_history history;
    autoarena struct arena *arena = arena_new();
    if (admin_history(engine->engine, arena, id, &history) == DUR_OK) {
        for (size_t i = 0; i < history.count; i++) {
            count += str_eq(history.events[i].type, type) &&
                     (!name || str_eq(history.events[i].name, name));
        }
    }
    return count;
}

static enum sweep_harm judge_messages(const struct script_engine *engine)
{
    const struct script_board *board = engine->board;
    const char *gone = NULL;
    if (count_events(engine, "waiter", "WorkflowExecutionSignaled", "go") <
        atomic_load(&board->go)) {
        gone = "the signal go";
    } else if (count_events(engine, "waiter", "WorkflowExecutionSignaled", "poke") <
               atomic_load(&board->poked)) {
        gone = "the signal poke";
    } else if (count_events(engine, "victim", "WorkflowExecutionCancelRequested", NULL) <
               atomic_load(&board->cancelled)) {
        gone = "the request to cancel";
    } else if (atomic_load(&board->forgotten)) {
        gone = "an attempt's heartbeat";
    }
    if (gone) {
        sweep_say(engine->stage, "%s was acknowledged and is gone", gone);
        return SWEEP_LOST;
    }
    return SWEEP_GOOD;
}

static enum sweep_harm judge_acknowledged(const struct sweep_stage *stage)
{
    struct script_engine engine;
    enum sweep_harm harm = SWEEP_CORRUPT;
    if (script_open(stage, &engine)) {
        harm = judge_runs(&engine);
        harm = harm == SWEEP_GOOD ? judge_messages(&engine) : harm;
    }
    script_close(&engine);
    return harm;
}

/* --- how it ended ----------------------------------------------------------------------------- */

static bool fired_early(const struct history *history, const struct event *fired)
{
    const struct event *started = &history->items[ev_timer_fired(fired)->started_event_id - 1];
    return fired->time_ns - started->time_ns < ev_timer_started(started)->start_to_fire_timeout;
}

/* The rules of histories, and that the code still fits. Counts what `ret` tells of activities. */
static enum sweep_harm judge_history(const struct script_engine *engine, const char *id,
                                     char *counts, size_t size)
{
    struct err err = {0};
    struct history history;
    autoarena struct arena *arena = arena_new();
    autostr struct str warnings = {0};
    char *json = NULL, *report = NULL;
    int completed = 0, cancelled = 0, open = 0;
    bool early = false;
    bool is_good = dur_history(engine->engine, id, &json) == DUR_OK &&
                   history_from_json(arena, json, strlen(json), &history, &err) == 0 &&
                   history_validate(&history, &warnings, &err) == 0 && warnings.len == 0;
    for (size_t i = 0; is_good && i < history.count; i++) {
        const struct event *event = &history.items[i];
        completed += event->type == EVENT_ACTIVITY_TASK_COMPLETED;
        cancelled += event->type == EVENT_ACTIVITY_TASK_CANCELED;
        open += event->type == EVENT_ACTIVITY_TASK_SCHEDULED;
        early |= event->type == EVENT_TIMER_FIRED && fired_early(&history, event);
    }
    snprintf(counts, size, "completed=%d cancelled=%d open=%d", completed, cancelled,
             open - completed - cancelled);
    if (!is_good) {
        sweep_say(engine->stage, "%s: its history is not valid: %s%s", id, err.text,
                  str_c(&warnings));
    } else if (early) {
        sweep_say(engine->stage, "%s: a timer fired early", id);
    } else if (dur_replay(engine->engine, json, &report) != DUR_OK) {
        sweep_say(engine->stage, "%s: it does not replay: %s", id,
                  report ? report : dur_error(engine->engine));
        is_good = false;
    }
    dur_free(json);
    dur_free(report);
    return is_good && !early ? SWEEP_GOOD : SWEEP_BROKEN;
}

/* What must be the same after every crash: the run's end, its memo, its closed activities. */
static enum sweep_harm outcome_of(const struct script_engine *engine, const char *id, char *ret)
{
    char counts[80];
    dur_description *d = NULL;
    enum sweep_harm harm = judge_history(engine, id, counts, sizeof(counts));
    if (harm == SWEEP_GOOD && dur_describe(engine->engine, id, &d) != DUR_OK) {
        sweep_say(engine->stage, "%s: %s", id, dur_error(engine->engine));
        harm = SWEEP_BROKEN;
    }
    if (harm == SWEEP_GOOD) {
        snprintf(ret, SCRIPT_OUTCOME_BYTES, "%s %s %s %s", dur_status_name(d->status),
                 d->result ? d->result : "-", d->memo, counts);
    }
    dur_description_free(d);
    return harm;
}

enum sweep_harm script_outcomes(const struct sweep_stage *stage, struct script_known *ret)
{
    struct script_engine engine;
    enum sweep_harm harm = script_open(stage, &engine) ? SWEEP_GOOD : SWEEP_CORRUPT;
    for (int run = 0; run < SCRIPT_RUNS && harm == SWEEP_GOOD; run++) {
        harm = outcome_of(&engine, script_run_name((enum script_run)run), ret->outcome[run]);
    }
    script_close(&engine);
    return harm;
}

static enum sweep_harm judge_outcomes(const struct sweep_stage *stage)
{
    const struct script_known *known = stage->known;
    struct script_known now = {0};
    enum sweep_harm harm = script_outcomes(stage, &now);
    for (int run = 0; run < SCRIPT_RUNS && harm == SWEEP_GOOD; run++) {
        if (!str_eq(now.outcome[run], known->outcome[run])) {
            sweep_say(stage, "%s ended as %s, undisturbed as %s",
                      script_run_name((enum script_run)run), now.outcome[run], known->outcome[run]);
            harm = SWEEP_DIFFERS;
        }
    }
    return harm;
}

/* --- serving again ---------------------------------------------------------------------------- */

struct digester {
    dur_engine *engine;
    struct sha256 *sum;
};

static void add_text(struct sha256 *sum, const char *text)
{
    sha256_update(sum, text ? text : "", text ? strlen(text) + 1 : 1);
}

static int digest_run(void *user, int64_t token, const dur_description *d)
{
    struct digester *digester = user;
    char *json = NULL;
    autofree char *id = mem_printf("%s@%s", d->workflow_id, d->run_id);
    autofree char *facts = mem_printf("%s %d %lld %lld", id, (int)d->status, (long long)token,
                                      (long long)d->closed_ns);
    dur_history(digester->engine, id, &json);
    add_text(digester->sum, facts);
    add_text(digester->sum, d->memo);
    add_text(digester->sum, d->search_attributes);
    add_text(digester->sum, json);
    dur_free(json);
    return 0;
}

/* Over every run and all of its history. */
static void digest_store(dur_engine *engine, uint8_t ret[SHA256_BYTES])
{
    struct digester digester = {.engine = engine, .sum = sha256_begin()};
    int rc = dur_list(engine, 0, 0, LIST_MAX, digest_run, &digester);
    sha256_update(digester.sum, &rc, sizeof(rc));
    sha256_finish(digester.sum, ret);
}

static enum sweep_harm judge_again(const struct sweep_stage *stage)
{
    uint8_t before[SHA256_BYTES], after[SHA256_BYTES] = {0};
    struct script_engine engine;
    enum sweep_harm harm = SWEEP_CORRUPT;
    if (script_open(stage, &engine)) {
        digest_store(engine.engine, before);
        if (dur_serve(engine.engine, DUR_UNTIL_IDLE) != DUR_OK) {
            sweep_say(stage, "%s", dur_error(engine.engine));
            harm = SWEEP_STUCK;
        } else {
            digest_store(engine.engine, after);
            harm = memcmp(before, after, sizeof(before)) == 0 ? SWEEP_GOOD : SWEEP_BROKEN;
            if (harm == SWEEP_BROKEN) {
                sweep_say(stage, "serving once more changed the store");
            }
        }
    }
    script_close(&engine);
    return harm;
}

/* --- all of it -------------------------------------------------------------------------------- */

/* The rest of the script, by another engine. */
static enum sweep_harm go_on(const struct sweep_stage *stage)
{
    struct script_board *board = stage->board;
    for (int run = 0; run < SCRIPT_RUNS; run++) {
        atomic_store(&board->finished[run], 0);
    }
    if (script_play(stage)) {
        return SWEEP_GOOD;
    }
    char last[SWEEP_WHY_BYTES];
    snprintf(last, sizeof(last), "%s", stage->why);
    sweep_say(stage, "it cannot go on: %s", last);
    return SWEEP_STUCK;
}

enum sweep_harm script_judge(const struct sweep_stage *stage)
{
    static enum sweep_harm (*const rules[])(const struct sweep_stage *) = {
        judge_file,         judge_acknowledged, go_on,          judge_file,
        judge_acknowledged, judge_rest,         judge_outcomes, judge_again};
    enum sweep_harm harm = SWEEP_GOOD;
    for (size_t i = 0; i < ARRAY_LEN(rules) && harm == SWEEP_GOOD; i++) {
        harm = rules[i](stage);
    }
    return harm;
}
