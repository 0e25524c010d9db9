/*
 * test_base_log.c - base/log: the line's form, levels, the redactor's last look.
 */
#include "base/log.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"

static int pipe_ends[2];
static int64_t now_ns = 1767323045123LL * NS_PER_MS;

static int64_t fixed(void *user)
{
    return *(int64_t *)user;
}

static void set_up(void)
{
    cr_assert_eq(pipe2(pipe_ends, O_CLOEXEC | O_NONBLOCK), 0);
    struct clock_vtable mine = {.wall_ns = fixed, .mono_ns = fixed, .user = &now_ns};
    clock_replace(&mine);
    log_set_fd(pipe_ends[1]);
    log_set_level(LOG_LEVEL_INFO);
}

static const char *written(void)
{
    static char buf[4096];
    ssize_t got = read(pipe_ends[0], buf, sizeof(buf) - 1);
    buf[got < 0 ? 0 : got] = '\0';
    return buf;
}

TestSuite(log, .init = set_up);

Test(log, a_line_has_time_level_room_and_text)
{
    log_info("engine", "started pid=%d db=%s", 1, "x.db");
    cr_assert_str_eq(written(), "2026-01-02T03:04:05.123Z info engine: started pid=1 db=x.db\n");
    log_error("engine", "stopped");
    cr_assert_str_eq(written(), "2026-01-02T03:04:05.123Z error engine: stopped\n");
}

Test(log, lines_above_the_level_are_dropped)
{
    log_debug("engine", "detail");
    cr_assert_str_eq(written(), "");
    log_set_level(LOG_LEVEL_DEBUG);
    cr_assert_eq(log_get_level(), LOG_LEVEL_DEBUG);
    log_debug("engine", "detail");
    cr_assert_str_eq(written(), "2026-01-02T03:04:05.123Z debug engine: detail\n");
    log_set_level(LOG_LEVEL_ERROR);
    log_warn("engine", "careful");
    cr_assert_str_eq(written(), "");
}

Test(log, one_event_is_one_harmless_line)
{
    log_warn("x", "a\nb\tc\x1b[2J\x7f\xff|\xe2\x82\xac|\xc2\x9b");
    cr_assert_str_eq(written(),
                     "2026-01-02T03:04:05.123Z warn x: a b c?[2J??|\xe2\x82\xac|\x3f\x3f\n");
}

static void scrub(struct str *line)
{
    char *found = strstr(line->ptr, "hunter2");
    if (found) {
        memset(found, '*', 7);
    }
}

Test(log, the_redactor_sees_every_line)
{
    log_set_redactor(scrub);
    log_warn("x", "password hunter2");
    cr_assert_str_eq(written(), "2026-01-02T03:04:05.123Z warn x: password *******\n");
}

Test(log, errno_survives_and_a_closed_descriptor_is_harmless)
{
    log_set_fd(9999);
    errno = ENOENT;
    log_warn("x", "nowhere to go");
    cr_assert_eq(errno, ENOENT);
}
