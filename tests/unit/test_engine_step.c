/*
 * test_engine_step.c - dur_fd and dur_step: an engine in an event loop of one's own; several
 * engines in one thread and in several; activities on the thread that steps; standing by; stopping.
 */
#include <poll.h>

#include "tests/lib/engine_fixture.h"
#include "selftest/fault_disk.h"

static atomic_int calls;
static pthread_t stepper;
static dur_engine *called_engine;

static int echo(dur_activity *act, const char *input, const char **result, void *user)
{
    (void)act;
    (void)user;
    atomic_fetch_add(&calls, 1);
    *result = input;
    return DUR_OK;
}

/* On which thread does it run? And may it call the engine there? */
static int local(dur_activity *act, const char *input, const char **result, void *user)
{
    (void)input;
    (void)user;
    bool is_here = pthread_equal(stepper, pthread_self());
    int beat = dur_heartbeat_sync(act, "{\"at\":1}");
    int call = called_engine ? dur_signal(called_engine, dur_activity_workflow_id(act), "go", "7")
                             : DUR_OK;
    int nested = called_engine ? dur_step(called_engine, 0) : DUR_BUSY;
    *result = dur_jsonf(act, "[%b,%d,%d,%d]", is_here, beat, call, nested);
    return DUR_OK;
}

static int until_told(dur_activity *act, const char *input, const char **result, void *user)
{
    (void)input;
    (void)result;
    (void)user;
    struct pollfd fd = {.fd = dur_activity_cancel_fd(act), .events = POLLIN};
    atomic_fetch_add(&calls, 1);
    poll(&fd, 1, WAIT_MS);
    return DUR_CANCELLED;
}

static int steps(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    const char *one;
    (void)user;
    int rc = dur_run(ctx, "echo", input, &one, NULL);
    if (rc == DUR_OK) {
        rc = dur_sleep(ctx, 5);
    }
    return rc == DUR_OK ? dur_run(ctx, "echo", one, result, NULL) : rc;
}

static int waits(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)input;
    (void)user;
    return dur_receive(ctx, "go", -1, result);
}

static int at_home(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)input;
    (void)user;
    dur_activity_options here = {.task_queue = "here", .max_attempts = 1};
    int rc = dur_run(ctx, "local", NULL, result, &here);
    return rc == DUR_OK ? dur_receive(ctx, "go", -1, NULL) : rc;
}

static int long_work(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)input;
    (void)user;
    return dur_run(ctx, "until_told", NULL, result, NULL);
}

static void fixture_register(dur_engine *engine)
{
    dur_register_activity(engine, "echo", echo, NULL);
    dur_register_activity(engine, "local", local, NULL);
    dur_register_activity(engine, "until_told", until_told, NULL);
    dur_register_workflow(engine, "steps", steps, NULL);
    dur_register_workflow(engine, "waits", waits, NULL);
    dur_register_workflow(engine, "at_home", at_home, NULL);
    dur_register_workflow(engine, "long_work", long_work, NULL);
}

static bool is_closed(dur_engine *engine, const char *id)
{
    char *result = NULL;
    int rc = dur_result(engine, id, 0, &result);
    dur_free(result);
    return rc != DUR_TIMED_OUT;
}

/* As an event loop does it: sleep on the descriptor alone, then step. */
static int sleep_and_step(dur_engine *engine)
{
    struct pollfd fd = {.fd = dur_fd(engine), .events = POLLIN};
    cr_assert_geq(fd.fd, 0, "%s", dur_error(engine));
    cr_assert_eq(poll(&fd, 1, WAIT_MS), 1, "the descriptor never became readable\n%s", fixture_log);
    return dur_step(engine, 0);
}

static void drive_until_closed(dur_engine *engine, const char *id)
{
    while (!is_closed(engine, id)) {
        int rc = sleep_and_step(engine);
        cr_assert_geq(rc, 0, "%s", dur_error(engine));
    }
}

TestSuite(engine_step, .timeout = 60);

Test(engine_step, the_descriptor_alone_drives_a_run_to_its_end)
{
    autofree char *path = temp_path("e.db");
    char *result = NULL;
    dur_engine *engine = open_engine(path);
    cr_assert_eq(dur_start(engine, "steps", "w", "42", NULL), DUR_OK);
    drive_until_closed(engine, "w");
    cr_assert_eq(dur_result(engine, "w", 0, &result), DUR_OK);
    cr_assert_str_eq(result, "42");
    dur_free(result);
    check_history(engine, "w");
    dur_close(engine);
}

Test(engine_step, a_quiet_engine_keeps_its_descriptor_quiet)
{
    autofree char *path = temp_path("e.db");
    dur_engine *engine = open_engine(path);
    cr_assert_eq(dur_start(engine, "waits", "w", NULL, NULL), DUR_OK);
    while (dur_step(engine, 0) > 0) {
    }
    struct pollfd fd = {.fd = dur_fd(engine), .events = POLLIN};
    cr_assert_eq(poll(&fd, 1, 100), 0);
    cr_assert_eq(dur_step(engine, 0), 0);
    cr_assert_eq(dur_signal(engine, "w", "go", "1"), DUR_OK);
    cr_assert_eq(poll(&fd, 1, WAIT_MS), 1);
    drive_until_closed(engine, "w");
    dur_close(engine);
}

Test(engine_step, another_process_wakes_it)
{
    autofree char *path = temp_path("e.db");
    dur_engine *engine = open_engine(path);
    cr_assert_eq(dur_start(engine, "waits", "w", NULL, NULL), DUR_OK);
    while (dur_step(engine, 0) > 0) {
    }
    pid_t pid = fork();
    if (pid == 0) {
        dur_engine *client = open_engine(path);
        _exit(dur_signal(client, "w", "go", "1") == DUR_OK ? 0 : 1);
    }
    drive_until_closed(engine, "w");
    waitpid(pid, NULL, 0);
    dur_close(engine);
}

Test(engine_step, it_waits_when_asked_to)
{
    autofree char *path = temp_path("e.db");
    dur_engine *engine = open_engine(path);
    cr_assert_eq(dur_start(engine, "steps", "w", "1", NULL), DUR_OK);
    while (!is_closed(engine, "w")) {
        cr_assert_geq(dur_step(engine, -1), 0, "%s", dur_error(engine));
    }
    cr_assert_eq(dur_step(engine, 20), 0);
    dur_close(engine);
}

Test(engine_step, several_engines_in_one_thread)
{
    dur_engine *engines[3];
    struct pollfd fds[3];
    char name[16];
    for (int i = 0; i < 3; i++) {
        snprintf(name, sizeof(name), "e%d.db", i);
        autofree char *path = temp_path(name);
        engines[i] = open_engine(path);
        cr_assert_eq(dur_start(engines[i], "steps", "w", "1", NULL), DUR_OK);
        fds[i] = (struct pollfd){.fd = dur_fd(engines[i]), .events = POLLIN};
    }
    int open = 3;
    while (open > 0) {
        cr_assert_gt(poll(fds, 3, WAIT_MS), 0);
        open = 0;
        for (int i = 0; i < 3; i++) {
            if (fds[i].revents) {
                cr_assert_geq(dur_step(engines[i], 0), 0, "%s", dur_error(engines[i]));
            }
            open += !is_closed(engines[i], "w");
        }
    }
    for (int i = 0; i < 3; i++) {
        check_history(engines[i], "w");
        dur_close(engines[i]);
    }
}

Test(engine_step, engines_of_two_files_serve_in_two_threads)
{
    autofree char *one_path = temp_path("one.db");
    autofree char *two_path = temp_path("two.db");
    dur_engine *one = open_engine(one_path);
    dur_engine *two = open_engine(two_path);
    pthread_t one_thread = serve_begin(one);
    pthread_t two_thread = serve_begin(two);
    char id[16];
    for (int i = 0; i < 20; i++) { /* clients of both, from a third */
        snprintf(id, sizeof(id), "w%d", i);
        cr_assert_eq(dur_start(one, "steps", id, "1", NULL), DUR_OK);
        cr_assert_eq(dur_start(two, "steps", id, "2", NULL), DUR_OK);
    }
    for (int i = 0; i < 20; i++) {
        char *result = NULL;
        snprintf(id, sizeof(id), "w%d", i);
        cr_assert_eq(dur_result(one, id, WAIT_MS, &result), DUR_OK);
        cr_assert_str_eq(result, "1");
        dur_free(result);
        cr_assert_eq(dur_result(two, id, WAIT_MS, &result), DUR_OK);
        cr_assert_str_eq(result, "2");
        dur_free(result);
    }
    serve_end(one, one_thread);
    serve_end(two, two_thread);
    dur_close(one);
    dur_close(two);
}

Test(engine_step, a_lane_without_threads_runs_on_the_thread_that_steps)
{
    autofree char *path = temp_path("e.db");
    char *result = NULL;
    dur_engine *engine = open_engine(path);
    stepper = pthread_self();
    called_engine = engine; /* an activity may call the engine, also here; but not drive it */
    cr_assert_eq(dur_lane(engine, "here", 0), DUR_OK);
    cr_assert_eq(dur_start(engine, "at_home", "w", NULL, NULL), DUR_OK);
    drive_until_closed(engine, "w");
    cr_assert_eq(dur_result(engine, "w", 0, &result), DUR_OK);
    cr_assert_str_eq(result, "[true,0,0,-8]");
    dur_free(result);
    dur_close(engine);
    called_engine = NULL;
}

Test(engine_step, a_lane_without_threads_runs_on_the_thread_that_serves)
{
    autofree char *path = temp_path("e.db");
    char *result = NULL;
    dur_engine *engine = open_engine(path);
    stepper = pthread_self();
    cr_assert_eq(dur_lane(engine, "here", 0), DUR_OK);
    cr_assert_eq(dur_start(engine, "at_home", "w", NULL, NULL), DUR_OK);
    cr_assert_eq(dur_signal(engine, "w", "go", NULL), DUR_OK);
    serve_until_idle(engine);
    cr_assert_eq(dur_result(engine, "w", 0, &result), DUR_OK);
    cr_assert_str_eq(result, "[true,0,0,-8]");
    dur_free(result);
    check_history(engine, "w");
    dur_close(engine);
}

Test(engine_step, stopping_waits_for_activities_and_lets_go)
{
    autofree char *path = temp_path("e.db");
    dur_engine *engine = open_engine(path);
    dur_engine *other = open_engine(path);
    int64_t pid = 0;
    cr_assert_eq(dur_start(engine, "long_work", "w", NULL, NULL), DUR_OK);
    while (atomic_load(&calls) == 0) {
        cr_assert_geq(dur_step(engine, 50), 0, "%s", dur_error(engine));
    }
    cr_assert_eq(dur_served_by(other, &pid), 1);
    cr_assert_eq(pid, getpid());
    dur_stop(engine);
    int rc;
    while ((rc = sleep_and_step(engine)) >= 0) {
    }
    cr_assert_eq(rc, DUR_CANCELLED);
    cr_assert_eq(dur_served_by(other, NULL), 0);
    cr_assert_eq(dur_start(engine, "steps", "next", "1", NULL), DUR_OK);
    cr_assert_geq(dur_step(engine, 0), 0); /* begins anew */
    drive_until_closed(engine, "next");
    dur_close(engine);
    dur_close(other);
}

Test(engine_step, closing_ends_what_was_begun)
{
    autofree char *path = temp_path("e.db");
    dur_engine *engine = open_engine(path);
    dur_engine *other = open_engine(path);
    cr_assert_eq(dur_start(engine, "long_work", "w", NULL, NULL), DUR_OK);
    while (atomic_load(&calls) == 0) {
        cr_assert_geq(dur_step(engine, 50), 0, "%s", dur_error(engine));
    }
    dur_close(engine);
    cr_assert_eq(dur_served_by(other, NULL), 0);
    dur_close(other);
}

Test(engine_step, it_stands_by_and_takes_over)
{
    autofree char *path = temp_path("e.db");
    dur_engine *first = open_engine(path);
    dur_engine *second = open_engine(path);
    pthread_t thread = serve_begin(first);
    wait_until(dur_served_by(second, NULL) == 1);
    cr_assert_eq(dur_step(second, 0), 0);
    cr_assert_eq(dur_step(second, 20), 0);
    serve_end(first, thread);
    cr_assert_eq(dur_start(second, "steps", "w", "1", NULL), DUR_OK);
    drive_until_closed(second, "w");
    dur_close(first);
    dur_close(second);
}

static void *step_elsewhere(void *engine)
{
    static int rc;
    rc = dur_step(engine, 0);
    return &rc;
}

Test(engine_step, one_thread_drives)
{
    autofree char *path = temp_path("e.db");
    dur_engine *engine = open_engine(path);
    pthread_t thread;
    void *rc;
    cr_assert_geq(dur_step(engine, 0), 0);
    pthread_create(&thread, NULL, step_elsewhere, engine);
    pthread_join(thread, &rc);
    cr_assert_eq(*(int *)rc, DUR_INVALID);
    cr_assert_eq(dur_serve(engine, DUR_UNTIL_IDLE), DUR_BUSY);
    cr_assert_eq(dur_register_workflow(engine, "late", waits, NULL), DUR_INVALID);
    dur_close(engine);
}

Test(engine_step, what_cannot_be_driven_says_so)
{
    autofree char *path = temp_path("e.db");
    dur_engine *engine = open_engine(path);
    dur_close(engine);
    engine = NULL;
    cr_assert_eq(dur_step(NULL, 0), DUR_INVALID);
    cr_assert_eq(dur_fd(NULL), DUR_INVALID);
    dur_options look = {.read_only = 1};
    cr_assert_eq(dur_open(&engine, path, &look), DUR_OK);
    cr_assert_eq(dur_fd(engine), DUR_INVALID);
    cr_assert_eq(dur_step(engine, 0), DUR_INVALID);
    dur_close(engine);
    cr_assert_eq(dur_open(&engine, "/nonexistent/e.db", NULL), DUR_IO);
    cr_assert_eq(dur_step(engine, 0), DUR_INVALID);
    dur_close(engine);
}

/* A run that waits for its first activity on an engine whose disk is about to fail. */
static dur_engine *open_on_bad_disk(const char *path, dur_engine **client)
{
    fault_disk_register();
    fault_disk_plan(NULL);
    dur_engine *engine = open_with(path, (dur_options){.vfs = "fault"});
    *client = open_engine(path); /* sees the same file by a disk that works */
    cr_assert_eq(dur_start(engine, "waits", "w", NULL, NULL), DUR_OK);
    while (dur_step(engine, 0) > 0) {
    }
    cr_assert_eq(dur_signal(*client, "w", "go", "1"), DUR_OK);
    return engine;
}

Test(engine_step, a_disk_that_fails_for_a_while_is_waited_for)
{
    autofree char *path = temp_path("e.db");
    dur_engine *client;
    dur_engine *engine = open_on_bad_disk(path, &client);
    fault_disk_plan(&(struct fault_plan){.mode = FAULT_FULL, .at = 1, .is_lasting = true});
    int steps = 0;
    int64_t until = clock_mono_ns() + 300 * NS_PER_MS;
    while (clock_mono_ns() < until) {
        struct pollfd fd = {.fd = dur_fd(engine), .events = POLLIN};
        if (poll(&fd, 1, 20) > 0) {
            cr_assert_geq(dur_step(engine, 0), 0, "%s", dur_error(engine));
            steps++;
        }
    }
    cr_assert(log_has("will be tried again"), "%s", fixture_log);
    cr_assert_lt(steps, 50, "%d steps: the descriptor does not let the loop sleep", steps);
    cr_assert_eq(dur_result(client, "w", 0, NULL), DUR_TIMED_OUT);
    fault_disk_plan(NULL);
    drive_until_closed(engine, "w");
    check_history(engine, "w");
    dur_close(engine);
    dur_close(client);
}

Test(engine_step, an_engine_on_a_bad_disk_can_be_stopped)
{
    autofree char *path = temp_path("e.db");
    dur_engine *client;
    dur_engine *engine = open_on_bad_disk(path, &client);
    fault_disk_plan(&(struct fault_plan){.mode = FAULT_FULL, .at = 1, .is_lasting = true});
    cr_assert_geq(sleep_and_step(engine), 0);
    dur_stop(engine); /* nothing runs, so nothing is lost by going */
    int rc;
    while ((rc = dur_step(engine, -1)) >= 0) {
    }
    cr_assert_eq(rc, DUR_CANCELLED, "%s", dur_error(engine));
    fault_disk_plan(NULL);
    dur_close(engine);
    serve_until_idle(client); /* the next engine goes on from the last commit */
    cr_assert_eq(dur_result(client, "w", 0, NULL), DUR_OK);
    check_history(client, "w");
    dur_close(client);
}
