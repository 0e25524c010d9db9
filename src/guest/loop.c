/*
 * loop.c - see loop.h. One thread.
 * Tests: tests/unit/test_guest_daemon.c
 */
#include "guest/loop.h"

#include "base/log.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#define BATCH 64

int loop_open(void)
{
    return epoll_create1(EPOLL_CLOEXEC);
}

void loop_set(int loop_fd, struct watch *watch, uint32_t events)
{
    if (watch->fd < 0 || (watch->added && watch->events == events)) {
        return;
    }
    if (events == 0) {
        if (watch->added) {
            epoll_ctl(loop_fd, EPOLL_CTL_DEL, watch->fd, NULL);
        }
        watch->added = false;
        watch->events = 0;
        return;
    }
    struct epoll_event event = {.events = events, .data.ptr = watch};
    int op = watch->added ? EPOLL_CTL_MOD : EPOLL_CTL_ADD;
    if (epoll_ctl(loop_fd, op, watch->fd, &event) < 0) {
        log_error("guest", "epoll: %s", strerrorname_np(errno));
        return;
    }
    watch->added = true;
    watch->events = events;
}

void loop_close(int loop_fd, struct watch *watch)
{
    if (watch->fd >= 0) {
        loop_set(loop_fd, watch, 0);
        close(watch->fd);
        watch->fd = -1;
    }
}

void loop_turn(int loop_fd, int timeout_ms)
{
    struct epoll_event events[BATCH];
    int count = epoll_wait(loop_fd, events, BATCH, timeout_ms);
    for (int i = 0; i < count; i++) {
        struct watch *watch = events[i].data.ptr;
        if (watch->added) { /* an earlier one of this round may have closed it */
            watch->ready(watch, events[i].events);
        }
    }
}
