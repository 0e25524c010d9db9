/*
 * engine_fixture.h - whole engines in a directory of their own, for unit tests.
 *
 * Owns: a fresh store per test, serving in a thread or a child, waiting for a condition, and the
 * check that every history must pass: it parses, it validates without a warning, and the code that
 * wrote it replays it. Callbacks are registered by what a test adds to `fixture_register`.
 */
#ifndef TESTS_ENGINE_FIXTURE_H
#define TESTS_ENGINE_FIXTURE_H

#include <criterion/criterion.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/str.h"
#include "durable.h"
#include "history/json.h"
#include "history/validate.h"
#include "tests/lib/temp_path.h"

#define WAIT_MS 20000 /* patience with what must happen; never the time it should take */

static void fixture_register(dur_engine *engine); /* each test file has its own */

static char fixture_log[65536]; /* what the engines of this test said, line by line */
static pthread_mutex_t fixture_mutex = PTHREAD_MUTEX_INITIALIZER;

is_unused static void keep_line(void *user, int level, const char *line)
{
    (void)user;
    pthread_mutex_lock(&fixture_mutex);
    size_t at = strlen(fixture_log);
    snprintf(fixture_log + at, sizeof(fixture_log) - at, "%d %s\n", level, line);
    pthread_mutex_unlock(&fixture_mutex);
}

is_unused static bool log_has(const char *text)
{
    pthread_mutex_lock(&fixture_mutex);
    bool has = strstr(fixture_log, text) != NULL;
    pthread_mutex_unlock(&fixture_mutex);
    return has;
}

/* No disk reserve: most tests do not want 16 MiB each. */
is_unused static dur_engine *open_with(const char *path, dur_options options)
{
    dur_engine *engine;
    options.reserve_bytes = options.reserve_bytes ? options.reserve_bytes : -1;
    options.on_log = options.on_log ? options.on_log : keep_line;
    int rc = dur_open(&engine, path, &options);
    cr_assert_eq(rc, DUR_OK, "%s", dur_error(engine));
    fixture_register(engine);
    return engine;
}

is_unused static dur_engine *open_engine(const char *path)
{
    return open_with(path, (dur_options){0});
}

/* --- serving --- */

is_unused static void *serve_thread(void *engine)
{
    int rc = dur_serve(engine, DUR_UNTIL_STOPPED);
    cr_assert_eq(rc, DUR_OK, "%s", dur_error(engine));
    return NULL;
}

is_unused static pthread_t serve_begin(dur_engine *engine)
{
    pthread_t thread;
    cr_assert_eq(pthread_create(&thread, NULL, serve_thread, engine), 0);
    return thread;
}

is_unused static void serve_end(dur_engine *engine, pthread_t thread)
{
    dur_stop(engine);
    pthread_join(thread, NULL);
}

is_unused static void serve_until_idle(dur_engine *engine)
{
    int rc = dur_serve(engine, DUR_UNTIL_IDLE);
    cr_assert_eq(rc, DUR_OK, "%s", dur_error(engine));
}

/* A process that serves until it is killed. */
is_unused static pid_t serve_in_child(const char *path)
{
    pid_t pid = fork();
    if (pid == 0) {
        dur_engine *engine = open_engine(path);
        dur_serve(engine, DUR_UNTIL_STOPPED);
        _exit(0);
    }
    return pid;
}

is_unused static void kill_child(pid_t pid)
{
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

/* --- looking --- */

#define wait_until(condition)                                                                      \
    do {                                                                                           \
        int64_t until_ = clock_mono_ns() + WAIT_MS * NS_PER_MS;                                    \
        while (!(condition)) {                                                                     \
            cr_assert_lt(clock_mono_ns(), until_, "never came: %s\n%s", #condition, fixture_log);  \
            clock_sleep_ms(1);                                                                     \
        }                                                                                          \
    } while (0)

/* Its history in arena. */
is_unused static struct history read_history(dur_engine *engine, struct arena *arena,
                                             const char *id)
{
    char *json = NULL;
    struct err err = {0};
    struct history history = {0};
    cr_assert_eq(dur_history(engine, id, &json), DUR_OK, "%s", dur_error(engine));
    cr_assert_eq(history_from_json(arena, json, strlen(json), &history, &err), 0, "%s", err.text);
    dur_free(json);
    return history;
}

is_unused static void check_validity(dur_engine *engine, const char *id)
{
    struct err err = {0};
    autoarena struct arena *arena = arena_new();
    autostr struct str warnings = {0};
    struct history history = read_history(engine, arena, id);
    cr_assert_eq(history_validate(&history, &warnings, &err), 0, "%s", err.text);
    cr_assert_eq(warnings.len, 0, "%s", str_c(&warnings));
}

is_unused static void check_history(dur_engine *engine, const char *id)
{
    char *json = NULL;
    char *report = NULL;
    check_validity(engine, id);
    cr_assert_eq(dur_history(engine, id, &json), DUR_OK, "%s", dur_error(engine));
    int rc = dur_replay(engine, json, &report);
    cr_assert_eq(rc, DUR_OK, "%s\n%s\n%s", dur_error(engine), report ? report : "", json);
    dur_free(json);
}

/* The types of a history from event `from` on, "ActivityTaskScheduled WorkflowTaskStarted ...". */
is_unused static void check_types(dur_engine *engine, const char *id, size_t from,
                                  const char *expected)
{
    autoarena struct arena *arena = arena_new();
    autostr struct str types = {0};
    struct history history = read_history(engine, arena, id);
    for (size_t i = from - 1; i < history.count; i++) {
        str_addf(&types, "%s%s", types.len ? " " : "", event_type_title(history.items[i].type));
    }
    cr_assert_str_eq(str_c(&types), expected);
}

/* The only event of this type (or the first one). */
is_unused static const struct event *find_event(const struct history *history, enum event_type type)
{
    for (size_t i = 0; i < history->count; i++) {
        if (history->items[i].type == type) {
            return &history->items[i];
        }
    }
    return NULL;
}

is_unused static size_t count_events(const struct history *history, enum event_type type)
{
    size_t count = 0;
    for (size_t i = 0; i < history->count; i++) {
        count += history->items[i].type == type;
    }
    return count;
}

is_unused static int64_t events_of(dur_engine *engine, const char *id)
{
    dur_description *d;
    cr_assert_eq(dur_describe(engine, id, &d), DUR_OK, "%s", dur_error(engine));
    int64_t count = d->history_events;
    dur_description_free(d);
    return count;
}

is_unused static bool is_parked(dur_engine *engine, const char *id)
{
    dur_description *d;
    cr_assert_eq(dur_describe(engine, id, &d), DUR_OK, "%s", dur_error(engine));
    bool parked = d->parked != NULL;
    dur_description_free(d);
    return parked;
}

/* Run one workflow to its end in a fresh store; its result code, and *result. */
is_unused static int run_one(const char *type, const char *input, char **result)
{
    autofree char *path = temp_path("e.db");
    dur_engine *engine = open_engine(path);
    cr_assert_eq(dur_start(engine, type, "w", input, NULL), DUR_OK, "%s", dur_error(engine));
    serve_until_idle(engine);
    int rc = dur_result(engine, "w", 0, result);
    check_history(engine, "w");
    dur_close(engine);
    return rc;
}

#endif
