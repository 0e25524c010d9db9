/*
 * test_engine_fork.c - after fork() the child cannot harm the parent's engine, and signals do not
 * disturb one: rules of durable.h.
 */
#include <fcntl.h>
#include <sys/time.h>

#include "tests/lib/engine_fixture.h"

static atomic_int calls;
static atomic_int unblocked; /* signals that a lane's thread would take */
static dur_engine *to_stop;

static int echo(dur_activity *act, const char *input, const char **result, void *user)
{
    sigset_t mask;
    (void)act;
    (void)user;
    pthread_sigmask(SIG_SETMASK, NULL, &mask);
    for (int i = 1; i < 32; i++) {
        if (i != SIGKILL && i != SIGSTOP && !sigismember(&mask, i)) {
            atomic_fetch_add(&unblocked, 1);
        }
    }
    atomic_fetch_add(&calls, 1);
    *result = input;
    return DUR_OK;
}

static int steps(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)user;
    int rc = DUR_OK;
    for (int i = 0; i < 20 && rc == DUR_OK; i++) {
        rc = dur_run(ctx, "echo", input, result, NULL);
        rc = rc == DUR_OK ? dur_sleep(ctx, 2) : rc;
    }
    return rc;
}

static int waits(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)input;
    (void)user;
    return dur_receive(ctx, "go", -1, result);
}

static void fixture_register(dur_engine *engine)
{
    dur_register_activity(engine, "echo", echo, NULL);
    dur_register_workflow(engine, "steps", steps, NULL);
    dur_register_workflow(engine, "waits", waits, NULL);
}

static int nothing(void *user, int64_t token, const dur_description *description)
{
    (void)user;
    (void)token;
    (void)description;
    return 0;
}

/* Everything that a child might try. 0: each call was refused and said why; else which was not. */
static int child_is_refused(dur_engine *engine)
{
    char *text = NULL;
    dur_description *d = NULL;
    int codes[] = {
        dur_start(engine, "waits", "child", NULL, NULL),
        dur_signal(engine, "w", "go", NULL),
        dur_cancel(engine, "w", NULL),
        dur_terminate(engine, "w", NULL),
        dur_describe(engine, "w", &d),
        dur_result(engine, "w", 0, &text),
        dur_history(engine, "w", &text),
        dur_list(engine, (dur_status)0, 0, 1, nothing, NULL),
        dur_serve(engine, DUR_UNTIL_IDLE),
        dur_step(engine, 0),
        dur_fd(engine),
        dur_served_by(engine, NULL),
        dur_register_workflow(engine, "x", waits, NULL),
        dur_register_activity(engine, "x", echo, NULL),
        dur_lane(engine, "x", 1),
    };
    for (size_t i = 0; i < ARRAY_LEN(codes); i++) {
        if (codes[i] != DUR_INVALID) {
            return (int)i + 1;
        }
    }
    return strstr(dur_error(engine), "fork") ? 0 : 100;
}

/* The exit status of a child that is refused everything and closes the engine. */
static int try_in_child(dur_engine *engine)
{
    int status;
    pid_t pid = fork();
    if (pid == 0) {
        int wrong = child_is_refused(engine);
        dur_stop(engine); /* must not stop the parent's */
        dur_close(engine);
        _exit(wrong);
    }
    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TestSuite(engine_fork, .timeout = 60);

Test(engine_fork, a_child_is_refused_and_the_parent_goes_on)
{
    autofree char *path = temp_path("e.db");
    dur_engine *engine = open_engine(path);
    cr_assert_eq(dur_start(engine, "waits", "w", NULL, NULL), DUR_OK);
    pthread_t thread = serve_begin(engine);
    wait_until(events_of(engine, "w") >= 4);
    cr_assert_eq(try_in_child(engine), 0);
    cr_assert_eq(dur_signal(engine, "w", "go", "1"), DUR_OK);
    cr_assert_eq(dur_result(engine, "w", WAIT_MS, NULL), DUR_OK);
    cr_assert_eq(dur_served_by(engine, NULL), 1);
    serve_end(engine, thread);
    check_history(engine, "w");
    dur_close(engine);
}

Test(engine_fork, a_stepped_engine_too)
{
    autofree char *path = temp_path("e.db");
    dur_engine *engine = open_engine(path);
    cr_assert_eq(dur_start(engine, "waits", "w", NULL, NULL), DUR_OK);
    while (dur_step(engine, 0) > 0) {
    }
    cr_assert_eq(try_in_child(engine), 0);
    cr_assert_eq(dur_step(engine, 0), 0); /* the child's dur_stop was not heard */
    cr_assert_eq(dur_signal(engine, "w", "go", "1"), DUR_OK);
    while (dur_result(engine, "w", 0, NULL) == DUR_TIMED_OUT) {
        cr_assert_geq(dur_step(engine, -1), 0, "%s", dur_error(engine));
    }
    dur_close(engine);
}

Test(engine_fork, many_forks_while_it_works)
{
    autofree char *path = temp_path("e.db");
    dur_engine *engine = open_engine(path);
    pthread_t thread = serve_begin(engine);
    char id[16];
    for (int i = 0; i < 10; i++) {
        snprintf(id, sizeof(id), "w%d", i);
        cr_assert_eq(dur_start(engine, "steps", id, "1", NULL), DUR_OK);
        cr_assert_eq(try_in_child(engine), 0);
    }
    for (int i = 0; i < 10; i++) {
        snprintf(id, sizeof(id), "w%d", i);
        cr_assert_eq(dur_result(engine, id, WAIT_MS, NULL), DUR_OK, "%s", dur_error(engine));
        check_history(engine, id);
    }
    serve_end(engine, thread);
    dur_close(engine);
}

Test(engine_fork, the_child_opens_the_file_anew)
{
    autofree char *path = temp_path("e.db");
    dur_engine *engine = open_engine(path);
    cr_assert_eq(dur_start(engine, "waits", "w", NULL, NULL), DUR_OK);
    pthread_t thread = serve_begin(engine);
    pid_t pid = fork();
    if (pid == 0) {
        dur_engine *own;
        dur_close(engine);
        int rc = dur_open(&own, path, NULL);
        rc = rc == DUR_OK ? dur_signal(own, "w", "go", "1") : rc;
        dur_close(own);
        _exit(rc == DUR_OK ? 0 : 1);
    }
    int status;
    waitpid(pid, &status, 0);
    cr_assert_eq(status, 0);
    cr_assert_eq(dur_result(engine, "w", WAIT_MS, NULL), DUR_OK);
    serve_end(engine, thread);
    dur_close(engine);
}

/* The kernel's lock belongs to the open file, which a forked child shares: it must not outlive the
 * process that serves. */
Test(engine_fork, a_child_that_lives_on_does_not_keep_the_store)
{
    autofree char *path = temp_path("e.db");
    int ready[2];
    dur_engine *engine = open_engine(path);
    cr_assert_eq(pipe(ready), 0);
    pid_t server = fork();
    if (server == 0) {
        dur_engine *own = open_engine(path);
        pthread_t thread = serve_begin(own);
        (void)thread;
        wait_until(dur_served_by(own, NULL) == 1);
        pid_t grandchild = fork(); /* no exec: it keeps what it inherited */
        if (grandchild == 0) {
            pause();
            _exit(0);
        }
        cr_assert_eq(write(ready[1], &grandchild, sizeof(grandchild)), (ssize_t)sizeof(grandchild));
        pause();
        _exit(0);
    }
    pid_t grandchild = 0;
    cr_assert_eq(read(ready[0], &grandchild, sizeof(grandchild)), (ssize_t)sizeof(grandchild));
    kill_child(server);
    cr_assert_eq(dur_start(engine, "steps", "w", "1", NULL), DUR_OK);
    serve_until_idle(engine); /* would stand by for ever */
    kill(grandchild, SIGKILL);
    close(ready[0]);
    close(ready[1]);
    dur_close(engine);
}

static void on_alarm(int signal)
{
    (void)signal;
}

static void on_term(int signal)
{
    (void)signal;
    dur_stop(to_stop);
}

static void handle(int signal, void (*handler)(int))
{
    struct sigaction action = {.sa_handler = handler}; /* no SA_RESTART: calls get EINTR */
    sigaction(signal, &action, NULL);
}

Test(engine_fork, a_storm_of_signals_disturbs_nothing)
{
    autofree char *path = temp_path("e.db");
    dur_engine *engine = open_engine(path);
    struct itimerval often = {.it_interval.tv_usec = 200, .it_value.tv_usec = 200};
    struct itimerval never = {0};
    handle(SIGALRM, on_alarm);
    setitimer(ITIMER_REAL, &often, NULL);
    cr_assert_eq(dur_start(engine, "steps", "w", "1", NULL), DUR_OK, "%s", dur_error(engine));
    serve_until_idle(engine);
    cr_assert_eq(dur_result(engine, "w", 0, NULL), DUR_OK);
    cr_assert_eq(dur_start(engine, "steps", "v", "1", NULL), DUR_OK, "%s", dur_error(engine));
    while (dur_result(engine, "v", 0, NULL) == DUR_TIMED_OUT) {
        cr_assert_geq(dur_step(engine, -1), 0, "%s", dur_error(engine));
    }
    cr_assert_eq(dur_start(engine, "waits", "u", "1", NULL), DUR_OK, "%s", dur_error(engine));
    cr_assert_eq(dur_result(engine, "u", 50, NULL), DUR_TIMED_OUT);
    setitimer(ITIMER_REAL, &never, NULL);
    cr_assert_eq(atomic_load(&unblocked), 0, "threads of the engine take no signals");
    check_history(engine, "w");
    dur_close(engine);
}

static void *signal_later(void *server)
{
    clock_sleep_ms(20);
    pthread_kill(*(pthread_t *)server, SIGTERM);
    return NULL;
}

Test(engine_fork, dur_stop_in_a_signal_handler_ends_serving)
{
    autofree char *path = temp_path("e.db");
    pthread_t self = pthread_self();
    pthread_t thread;
    to_stop = open_engine(path);
    handle(SIGTERM, on_term);
    cr_assert_eq(dur_start(to_stop, "waits", "w", NULL, NULL), DUR_OK);
    pthread_create(&thread, NULL, signal_later, &self);
    cr_assert_eq(dur_serve(to_stop, DUR_UNTIL_STOPPED), DUR_OK);
    pthread_join(thread, NULL);
    pthread_create(&thread, NULL, signal_later, &self);
    int rc;
    while ((rc = dur_step(to_stop, -1)) >= 0) {
    }
    cr_assert_eq(rc, DUR_CANCELLED);
    pthread_join(thread, NULL);
    dur_close(to_stop);
}
