/*
 * client.c - what the clients of a seed do, and when (sim.h).
 *
 * Owns: the plan, a function of the seed alone. Every client is one that repeats what it does not
 * know to be done, by request id, as a client of a durable engine should.
 * Tests: tests/sim/run-sim.sh
 */
#include <stdlib.h>
#include <string.h>

#include "durable.h"
#include "tests/sim/sim.h"

#define SPAN_MS (10 * 60 * 1000) /* within which clients are busy */

static void add(struct plan *plan, struct dice *dice, struct action action)
{
    if (plan->count < SIM_ACTIONS_MAX) {
        action.by_other = dice_roll(dice, 2);
        plan->actions[plan->count++] = action;
    }
}

static int by_time(const void *a, const void *b)
{
    const struct action *x = a, *y = b;
    if (x->at_ms != y->at_ms) {
        return x->at_ms < y->at_ms ? -1 : 1;
    }
    return x->kind != y->kind ? (x->kind < y->kind ? -1 : 1) : x->run - y->run;
}

static void plan_run(struct plan *plan, struct dice *dice, int run)
{
    int64_t start = dice_roll(dice, 3) ? dice_roll(dice, 1000) : dice_roll(dice, SPAN_MS / 2);
    plan->signals[run] = dice_roll(dice, 3);
    plan->updates[run] = dice_roll(dice, 3);
    plan->laps[run] = dice_roll(dice, 4) ? 0 : 1 + dice_roll(dice, 2);
    plan->is_victim[run] = run > 0 && dice_roll(dice, 4) == 0;
    add(plan, dice, (struct action){.at_ms = start, .kind = ACT_START, .run = run});
    for (int i = 0; i < plan->signals[run]; i++) {
        int64_t at = start + 1 + dice_roll(dice, SPAN_MS / 4);
        add(plan, dice, (struct action){at, ACT_SIGNAL, run, i, false});
    }
    for (int i = 0; i < plan->updates[run]; i++) {
        int64_t at = start + 1 + dice_roll(dice, SPAN_MS / 4);
        add(plan, dice, (struct action){at, ACT_UPDATE, run, i, false});
    }
    for (int i = dice_roll(dice, 3); i > 0; i--) {
        enum action_kind kind = dice_roll(dice, 2) ? ACT_QUERY : ACT_LIST;
        add(plan, dice, (struct action){start + dice_roll(dice, SPAN_MS), kind, run, 0, false});
    }
    if (dice_roll(dice, 4) == 0) {
        int64_t at = start + 1 + dice_roll(dice, SPAN_MS / 4);
        int ms = 1 + dice_roll(dice, 60000);
        add(plan, dice, (struct action){at, ACT_PAUSE, run, ms, false});
        add(plan, dice, (struct action){at + ms, ACT_RESUME, run, 0, false});
    }
    if (plan->is_victim[run]) {
        enum action_kind kind = dice_roll(dice, 2) ? ACT_CANCEL : ACT_TERMINATE;
        add(plan, dice,
            (struct action){start + 1 + dice_roll(dice, SPAN_MS / 8), kind, run, 0, false});
    }
    add(plan, dice, (struct action){SPAN_MS + dice_roll(dice, SPAN_MS), ACT_RESULT, run, 0, false});
}

void plan_make(uint64_t seed, struct plan *ret)
{
    struct dice dice = dice_of(seed, 0);
    memset(ret, 0, sizeof(*ret));
    ret->seed = seed;
    ret->runs = 1 + dice_roll(&dice, SIM_RUNS_MAX);
    for (int run = 0; run < ret->runs; run++) {
        plan_run(ret, &dice, run);
    }
    for (int i = dice_roll(&dice, 3); i > 0; i--) {
        int64_t at = dice_roll(&dice, SPAN_MS);
        if (dice_roll(&dice, 2)) {
            int ms = dice_roll(&dice, 2 * 3600 * 1000) - 3600 * 1000;
            add(ret, &dice, (struct action){at, ACT_SET_WALL, 0, ms, false});
        } else {
            int ms = 1 + dice_roll(&dice, 3600 * 1000);
            add(ret, &dice, (struct action){at, ACT_SUSPEND, 0, ms, false});
        }
    }
    qsort(ret->actions, (size_t)ret->count, sizeof(ret->actions[0]), by_time);
}
