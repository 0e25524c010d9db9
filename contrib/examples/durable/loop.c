/*
 * loop.c - an engine in an event loop of one's own: one descriptor among others, and no threads.
 */
#include "example.h"
#include <poll.h>

static int echo(dur_activity *act, const char *input, const char **result, void *user)
{
    (void)act;
    (void)user;
    *result = input;
    return DUR_OK;
}

static int steps(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    int rc = dur_sleep(ctx, 20);
    (void)user;
    return rc != DUR_OK ? rc : dur_run(ctx, "Echo", input, result, NULL);
}

static int is_open(dur_engine *engine, const char *id)
{
    char *result = NULL;
    int rc = dur_result(engine, id, 0, &result);
    dur_free(result);
    return rc == DUR_TIMED_OUT;
}

int main(void)
{
    dur_engine *engine = example_open();
    struct pollfd fds[2] = {{0}, {0}};
    int rc = 0;
    dur_register_workflow(engine, "Steps", steps, NULL);
    dur_register_activity(engine, "Echo", echo, NULL);
    OK(engine, dur_lane(engine, "default", 0)); /* activities run within dur_step, too */
    OK(engine, dur_start(engine, "Steps", "w", "42", NULL));
    fds[0].fd = dur_fd(engine);
    fds[0].events = POLLIN;
    fds[1].fd = -1; /* your listener, terminal, other engines ... */
    while (rc >= 0 && is_open(engine, "w")) {
        poll(fds, 2, -1);
        if (fds[0].revents) {
            rc = dur_step(engine, 0); /* one transaction at most; 1: there may be more */
        }
    }
    CHECK(rc >= 0);
    example_expect(engine, "w", "42");

    dur_stop(engine); /* also from a signal handler */
    while ((rc = dur_step(engine, -1)) >= 0) {
    }
    CHECK(rc == DUR_CANCELLED); /* it has let go of the store */
    return example_end(engine, "loop: driven by poll()");
}
