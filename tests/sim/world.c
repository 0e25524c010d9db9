/*
 * world.c - one generation: an engine, a client of another program, the clock, the plan (sim.h).
 *
 * Owns: opening both on the fault disk under the virtual clock, playing what is left of the plan,
 * and noting on the board what clients were told. The process ends here: by itself when all runs
 * are at their end, by the disk before that. Must not: sleep, or ask the system what time it is for
 * anything that is written down. Tests: tests/sim/run-sim.sh
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/rng.h"
#include "engine/engine.h"
#include "tests/sim/sim.h"

#define BEGIN_NS 1767225600000000000LL /* 2026-01-01T00:00:00Z */
#define DRIVE_MS (400 * DUR_DAYS)      /* the longest timer lasts a year, and is cancelled */
#define SETTLE_MS 30000                /* real: no machine is so slow */
#define PASSES 40                      /* of driving: a disk that fails wants another */

static struct world *current; /* of this process: the disk asks for the time at its death */

/* --- time and chance -------------------------------------------------------------------------- */

static int64_t sim_wall(void *user)
{
    (void)user;
    const struct dur_engine *engine = current->engine;
    return engine && engine->pace ? pace_wall_ns(engine->pace)
                                  : atomic_load(&current->board->boot_ns) +
                                        atomic_load(&current->board->wall_offset_ns);
}

/* Waits of the process itself: patience with a disk that fails. */
static int64_t real_ns(void *user)
{
    struct timespec now;
    (void)user;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * NS_PER_S + now.tv_nsec;
}

static const char *sim_boot_id(void *user)
{
    (void)user;
    return "virtual";
}

static const struct clock_vtable sim_clock = {
    .wall_ns = sim_wall, .mono_ns = real_ns, .boot_ns = real_ns, .boot_id = sim_boot_id};

static void sim_random(void *user, void *buf, size_t len)
{
    struct dice *dice = user;
    uint8_t *at = buf;
    for (size_t i = 0; i < len; i++) {
        at[i] = (uint8_t)(dice_next(dice) >> 32);
    }
}

static void save_clock(void)
{
    struct board *board = current->board;
    struct dur_engine *engine = current->engine;
    if (engine && engine->pace) {
        int64_t boot = pace_now_ns(engine->pace);
        atomic_store(&board->boot_ns, boot);
        atomic_store(&board->wall_offset_ns, pace_wall_ns(engine->pace) - boot);
    }
}

static void be_quiet(void *user, int level, const char *line)
{
    (void)user;
    (void)level;
    (void)line;
    if (getenv("SIM_LOG")) {
        dprintf(2, "    [%d] %s\n", level, line);
    }
}

/* --- opening ---------------------------------------------------------------------------------- */

dur_engine *world_open(struct world *world, const char *vfs)
{
    static struct dice dice;
    dur_options o = {.reserve_bytes = -1,
                     .min_free_bytes = -1,
                     .identity = "sim",
                     .schema_name = "sim",
                     .schema = sim_schema,
                     .vfs = vfs,
                     .on_log = be_quiet};
    struct board *board = world->board;
    current = world;
    if (atomic_load(&board->boot_ns) == 0) {
        atomic_store(&board->boot_ns, BEGIN_NS);
    }
    dice = dice_of(world->plan->seed, 1000 + world->generation);
    rng_replace(sim_random, &dice);
    clock_replace(&sim_clock);
    dur_engine *engine;
    int rc = dur_open(&engine, world->path, &o);
    if (rc != DUR_OK) {
        be_quiet(NULL, 0, dur_error(engine));
        dur_close(engine);
        return NULL;
    }
    engine->pace = pace_new(atomic_load(&board->boot_ns));
    pace_wait_longer(engine->pace, SETTLE_MS);
    pace_set_wall(engine->pace, atomic_load(&board->wall_offset_ns));
    engine->clock = pace_clock(engine->pace);
    engine->test_limit_ns = DRIVE_MS * NS_PER_MS;
    program_register(engine, world);
    world->engine = engine;
    return engine;
}

/* A handle of another program: it serves nothing, and knows no code. */
static void open_other(struct world *world)
{
    dur_options o = {.reserve_bytes = -1,
                     .min_free_bytes = -1,
                     .identity = "client",
                     .schema_name = "sim",
                     .schema = sim_schema,
                     .vfs = "fault",
                     .on_log = be_quiet};
    if (dur_open(&world->other, world->path, &o) == DUR_OK) {
        world->other->clock = world->engine->clock;
    } else {
        dur_close(world->other);
        world->other = NULL;
    }
}

void world_close(struct world *world)
{
    save_clock();
    invariant_look_away(world);
    dur_close(world->other);
    dur_close(world->engine);
    world->other = world->engine = NULL;
    clock_replace(NULL);
    rng_replace(NULL, NULL);
}

/* --- acting ----------------------------------------------------------------------------------- */

static int start(struct world *world, dur_engine *by, const struct action *action, const char *id)
{
    char input[SIM_TEXT_BYTES];
    const struct plan *plan = world->plan;
    int run = action->run;
    snprintf(input, sizeof(input),
             "{\"seed\":%lld,\"depth\":1,\"laps\":%d,\"signals\":%d,\"updates\":%d}",
             (long long)(sim_mix(plan->seed * 16 + (uint64_t)run) >> 16), plan->laps[run],
             plan->signals[run], plan->updates[run]);
    dur_start_options o = {.request_id = id, .reuse = DUR_REUSE_REJECT, .memo = "{\"sim\":true}"};
    int rc = dur_start(by, "Program", id, input, &o);
    return rc;
}

static int ask_result(struct world *world, dur_engine *by, const struct action *action,
                      const char *id)
{
    char *before = world->board->result[action->run];
    char *result = NULL;
    int rc = dur_result(by, id, 0, &result);
    if (rc == DUR_OK && !world->plan->is_victim[action->run]) {
        if (*before && strcmp(before, result) != 0) {
            board_break(world->board, INV_UNCHANGED, "%s gave %s, and now %s", id, before, result);
        }
        snprintf(before, SIM_TEXT_BYTES, "%s", result);
    }
    dur_free(result);
    return rc == DUR_FAILED || rc == DUR_CANCELLED || rc == DUR_TIMED_OUT ? DUR_OK : rc;
}

static int count_row(void *user, int64_t token, const dur_description *description)
{
    (void)token;
    (void)description;
    ++*(int *)user;
    return 0;
}

static int act(struct world *world, const struct action *action)
{
    dur_engine *by = action->by_other && world->other ? world->other : world->engine;
    char id[32], request[64], value[32];
    char *answer = NULL;
    int rows = 0;
    snprintf(id, sizeof(id), "run-%d", action->run);
    snprintf(request, sizeof(request), "ask-%d-%d-%d", (int)action->kind, action->run,
             action->number);
    snprintf(value, sizeof(value), "%d", 1 + action->number * 10);
    int rc = DUR_OK;
    switch (action->kind) {
    case ACT_START:
        return start(world, by, action, id);
    case ACT_SIGNAL:
        return dur_signal_once(by, id, "add", value, request);
    case ACT_UPDATE: {
        dur_update_options o = {.update_id = request, .wait = DUR_WAIT_ADMITTED};
        rc = dur_update(by, id, "add", value, &answer, &o);
        break;
    }
    case ACT_QUERY: /* by who knows the code; the other would wait for us */
        rc = dur_query(world->engine, id, "sum", NULL, 0, &answer);
        rc = rc == 1 || rc == DUR_FAILED ? DUR_OK : rc;
        break;
    case ACT_PAUSE:
        atomic_fetch_add(&world->board->lost_ns, action->number * NS_PER_MS);
        return dur_pause(by, id, "sim");
    case ACT_RESUME:
        return dur_resume(by, id, "sim");
    case ACT_CANCEL:
        return dur_cancel(by, id, "sim");
    case ACT_TERMINATE:
        return dur_terminate(by, id, "sim");
    case ACT_RESULT:
        return ask_result(world, by, action, id);
    case ACT_LIST:
        return dur_list_where(by, "WorkflowType = 'Program'", 0, 10, count_row, &rows);
    case ACT_SET_WALL:
        return dur_test_set_wall(world->engine, action->number);
    case ACT_SUSPEND:
        atomic_fetch_add(&world->board->lost_ns, action->number * NS_PER_MS);
        return dur_test_suspend(world->engine, action->number);
    }
    dur_free(answer);
    return rc;
}

/* --- playing ---------------------------------------------------------------------------------- */

/* To this time of the plan. What fails is tried again: the disk may have. */
static bool drive(struct world *world, int64_t ms)
{
    for (int i = 0; i < PASSES; i++) {
        int rc = ms < 0 ? dur_test_run(world->engine) : dur_test_advance(world->engine, ms);
        save_clock();
        if (rc == DUR_OK) {
            invariant_live(world);
            return true;
        }
        ms = ms > 0 ? 0 : ms;
        be_quiet(NULL, 0, dur_error(world->engine));
    }
    board_break(world->board, INV_STUCK, "it cannot be driven: %s", dur_error(world->engine));
    return false;
}

static bool play(struct world *world)
{
    struct board *board = world->board;
    if (!drive(world, 0)) {
        return false;
    }
    while (atomic_load(&board->next) < world->plan->count) {
        int at = atomic_load(&board->next);
        const struct action *action = &world->plan->actions[at];
        int64_t gone_ms = (pace_now_ns(world->engine->pace) - BEGIN_NS) / NS_PER_MS;
        if (action->at_ms > gone_ms && !drive(world, action->at_ms - gone_ms)) {
            return false;
        }
        const struct plant *plant = world->plant;
        if (action->kind == ACT_SIGNAL && plant && plant->finds == INV_STUCK &&
            world->generation > 0) {
            atomic_store(&board->next, at + 1);
            continue;
        }
        int rc = DUR_IO;
        for (int i = 0; i < PASSES && (rc == DUR_IO || rc == DUR_BUSY || rc == DUR_FULL); i++) {
            rc = act(world, action);
        }
        if (rc != DUR_OK && rc != DUR_NOT_FOUND && rc != DUR_EXISTS) {
            board_break(board, INV_STUCK, "action %d (kind %d, run %d) gave %d", at,
                        (int)action->kind, action->run, rc);
        }
        atomic_store(&board->told[at], rc == DUR_OK ? TOLD_DONE : TOLD_GONE);
        atomic_store(&board->next, at + 1);
        save_clock();
    }
    return drive(world, -1);
}

void world_purge(struct world *world)
{
    if (world_open(world, "fault")) {
        dur_purge_options most = {.keep_runs = 1};
        dur_purge(world->engine, NULL, &most);
        world_close(world);
    }
    _exit(0);
}

void world_live(struct world *world)
{
    fault_disk_on_death(save_clock);
    if (world_open(world, "fault")) {
        open_other(world);
        if (play(world)) {
            for (int run = 0; run < world->plan->runs; run++) {
                act(world, &(struct action){.kind = ACT_RESULT, .run = run});
                autofree char *text = invariant_outcome(world->engine, run);
                snprintf(world->board->outcome[run], SIM_TEXT_BYTES, "%s", text);
            }
            atomic_store(&world->board->finished, 1);
        }
        world_close(world);
    }
    _exit(0);
}
