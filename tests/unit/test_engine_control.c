/*
 * test_engine_control.c - many clients at once start, replace, signal, pause, resume, cancel,
 * terminate and take back the same few runs while an engine works: every history stays valid and
 * replays, nothing is left over, and what is asked of an idle store goes on.
 *
 * CONTROL_ROUNDS=N makes each client act N times (default 120); CONTROL_SEED=N is where chance
 * begins.
 */

#include "tests/lib/engine_fixture.h"
#include "tests/lib/sql.h"

#define CLIENTS 3
#define IDS 3
#define LIST_MAX 100000

/* A bit of everything; as new every few words, until it is told to end. */
static int busy(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    int64_t turn = dur_json_int(input, "", 0);
    (void)user;
    for (int i = 0; i < 3; i++) {
        const char *word = NULL;
        int rc = dur_receive(ctx, "word", 5, &word);
        if (rc == DUR_TIMED_OUT) {
            rc = dur_run(ctx, "echo", input, NULL, NULL);
        }
        if (rc != DUR_OK) {
            return rc;
        }
        if (word && dur_json_bool(word, "", 0)) {
            *result = dur_ctx_jsonf(ctx, "%i64", turn);
            return DUR_OK;
        }
    }
    if (dur_attempt(ctx) == 1 && dur_random(ctx) % 4 == 0) {
        return dur_fail_run(ctx, "Mood", "again");
    }
    return dur_continue_as_new(ctx, dur_ctx_jsonf(ctx, "%i64", turn + 1), NULL);
}

static int echo(dur_activity *act, const char *input, const char **result, void *user)
{
    (void)act;
    (void)user;
    *result = input;
    return DUR_OK;
}

static void fixture_register(dur_engine *engine)
{
    dur_register_workflow(engine, "busy", busy, NULL);
    dur_register_activity(engine, "echo", echo, NULL);
}

static int64_t setting(const char *name, int64_t otherwise)
{
    const char *text = getenv(name);
    return text ? strtoll(text, NULL, 10) : otherwise;
}

struct client {
    dur_engine *engine;
    uint64_t dice;
    int64_t rounds;
    int calls[10]; /* that were granted, by kind */
};

static unsigned roll(struct client *c, unsigned sides)
{
    c->dice = c->dice * 6364136223846793005ULL + 1442695040888963407ULL;
    return (unsigned)(c->dice >> 33) % sides;
}

static int start(struct client *c, const char *id, bool with_signal)
{
    dur_retry_policy policy = {.initial_interval_ms = 1, .maximum_attempts = 3};
    dur_start_options o = {.conflict = (dur_conflict)roll(c, 3),
                           .retry = roll(c, 2) ? &policy : NULL,
                           .start_delay_ms = roll(c, 3) ? 0 : 2};
    return with_signal ? dur_signal_with_start(c->engine, "busy", id, "0", "word", "1", &o)
                       : dur_start(c->engine, "busy", id, "0", &o);
}

static int act(struct client *c, unsigned kind, const char *id)
{
    char request[8];
    switch (kind) {
    case 0:
    case 1:
        return start(c, id, kind == 1);
    case 2:
        return dur_signal(c->engine, id, "word", roll(c, 12) ? "1" : "true");
    case 3:
        snprintf(request, sizeof(request), "r%u", roll(c, 30));
        return dur_signal_once(c->engine, id, "word", "2", request);
    case 4:
        return dur_pause(c->engine, id, "test");
    case 5:
    case 6:
        return dur_resume(c->engine, id, NULL);
    case 7:
        return roll(c, 4) ? DUR_NOT_FOUND : dur_cancel(c->engine, id, NULL);
    case 8:
        return roll(c, 4) ? DUR_NOT_FOUND : dur_terminate(c->engine, id, "test");
    default:
        return dur_reset(
            c->engine, id, NULL,
            &(dur_reset_options){.event_id = roll(c, 2) ? 0 : 4, .drop_signals = (int)roll(c, 2)});
    }
}

static void *play(void *arg)
{
    struct client *c = arg;
    for (int64_t i = 0; i < c->rounds; i++) {
        char id[8];
        unsigned kind = roll(c, 10);
        snprintf(id, sizeof(id), "w%u", roll(c, IDS));
        int rc = act(c, kind, id);
        cr_assert(rc == DUR_OK || rc == DUR_NOT_FOUND || rc == DUR_EXISTS || rc == DUR_INVALID,
                  "%u of %s: %s: %s", kind, id, dur_code_name(rc), dur_error(c->engine));
        c->calls[kind] += rc == DUR_OK;
    }
    return NULL;
}

struct runs {
    dur_engine *engine;
    int count, open, by_status[9];
};

static int check_row(void *user, int64_t token, const dur_description *d)
{
    struct runs *runs = user;
    autofree char *id = mem_printf("%s@%s", d->workflow_id, d->run_id);
    (void)token;
    check_history(runs->engine, id);
    cr_assert_null(d->parked, "%s", d->parked);
    runs->count++;
    runs->open += d->closed_ns == 0;
    runs->by_status[d->status]++;
    return 0;
}

static int64_t rows_left(const char *path)
{
    return sql_ask(path, "SELECT (SELECT count(*) FROM activity) + (SELECT count(*) FROM timer) + "
                         "(SELECT count(*) FROM task)");
}

/* Everything goes on, hears the last word and ends. */
static void end_all(dur_engine *engine)
{
    for (int i = 0; i < IDS; i++) {
        char id[8];
        snprintf(id, sizeof(id), "w%d", i);
        int rc = dur_resume(engine, id, NULL);
        for (int tries = 0; rc == DUR_OK && tries < 50; tries++) {
            rc = dur_signal(engine, id, "word", "true");
            if (rc == DUR_OK) {
                rc = dur_result(engine, id, 200, NULL);
                rc = rc == DUR_TIMED_OUT ? DUR_OK : DUR_NOT_FOUND;
            }
        }
        dur_resume(engine, id, NULL);
        dur_terminate(engine, id, "the test is over");
    }
}

static int resets(const struct client *clients)
{
    int n = 0;
    for (int i = 0; i < CLIENTS; i++) {
        n += clients[i].calls[9];
    }
    return n;
}

Test(engine_control, many_hands_on_a_few_runs, .timeout = 300)
{
    autofree char *path = temp_path("e.db");
    struct client clients[CLIENTS];
    pthread_t threads[CLIENTS];
    dur_engine *engine = open_with(path, (dur_options){.chain_spacing_ms = -1});
    dur_engine *other = open_engine(path);
    uint64_t seed = (uint64_t)setting("CONTROL_SEED", 1);
    pthread_t server = serve_begin(engine);
    for (int i = 0; i < CLIENTS; i++) {
        clients[i] = (struct client){.engine = i == 0 ? other : engine,
                                     .dice = seed * 1000 + (uint64_t)i,
                                     .rounds = setting("CONTROL_ROUNDS", 120)};
        cr_assert_eq(pthread_create(&threads[i], NULL, play, &clients[i]), 0);
    }
    for (int i = 0; i < CLIENTS; i++) {
        pthread_join(threads[i], NULL);
    }
    /* On a quick machine no reset may have found a task that was completed yet. */
    for (int more = 0; more < 1000 && resets(clients) == 0; more++) {
        clients[0].rounds = 10;
        play(&clients[0]);
        clock_sleep_ms(1);
    }
    end_all(engine);
    serve_end(engine, server);
    serve_until_idle(engine);
    struct runs runs = {.engine = engine};
    cr_assert_eq(dur_list(engine, 0, 0, LIST_MAX, check_row, &runs), DUR_OK);
    cr_assert_eq(runs.open, 0);
    cr_assert_eq(rows_left(path), 0);
    cr_assert_gt(clients[0].calls[0] + clients[1].calls[0] + clients[2].calls[0], 0);
    cr_assert_gt(resets(clients), 0);
    cr_log_info("%d runs: completed %d, failed %d, cancelled %d, terminated %d, continued %d",
                runs.count, runs.by_status[DUR_COMPLETED], runs.by_status[DUR_RUN_FAILED],
                runs.by_status[DUR_CANCELED], runs.by_status[DUR_TERMINATED],
                runs.by_status[DUR_CONTINUED_AS_NEW]);
    dur_close(other);
    dur_close(engine);
}
