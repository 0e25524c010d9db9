/*
 * test_guest_limits.c - guest: output caps, slow readers, the limit of processes.
 */
#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "guest_client.h"

TestSuite(limits, .timeout = 120);

#define HEAD 100000
#define TAIL 200000
#define LOUD (50 << 20)

static const char *const caps[] = {"--output-head-bytes", "100000", "--output-tail-bytes", "200000",
                                   NULL};

/* 50 MiB of numbered lines of 16 bytes, then exit 7. */
#define LOUD_SCRIPT "awk 'BEGIN { for (i = 0; i < 3276800; i++) printf \"%015d\\n\", i }'; exit 7"

static void check_capped(const struct run *run)
{
    autofree char *marker =
        mem_printf("\n[factory: %d bytes of output dropped here]\n", LOUD - HEAD - TAIL);
    size_t len = strlen(marker);
    cr_assert_eq(run->out.len, HEAD + len + TAIL);
    cr_assert_eq(memcmp(run->out.ptr, "000000000000000\n000000000000001\n", 32), 0);
    cr_assert_eq(memcmp(run->out.ptr + HEAD, marker, len), 0, "%.80s", run->out.ptr + HEAD);
    cr_assert_eq(memcmp(run->out.ptr + run->out.len - 16, "000000003276799\n", 16), 0);
    cr_assert_eq(run->exit_code, 7);
}

Test(limits, a_reader_that_keeps_up_gets_everything_later_ones_head_and_tail)
{
    pid_t guest = guest_up(caps);
    autorun struct run all = run_sh(LOUD_SCRIPT, NULL);
    cr_assert_eq(all.out.len, LOUD);
    cr_assert_eq(memcmp(all.out.ptr + LOUD / 2, "000000001638400\n", 16), 0);
    cr_assert_eq(all.exit_code, 7);
    autorun struct run later = connect_to(all.pid);
    check_capped(&later);
    guest_down(guest);
}

Test(limits, with_no_reader_the_process_is_not_held_up)
{
    pid_t guest = guest_up(caps);
    int pid = start_sh(LOUD_SCRIPT, NULL, NULL);
    autorun struct run run = connect_to(pid);
    cr_assert_eq(run.exit_code, 7);
    autorun struct run later = connect_to(pid);
    check_capped(&later);
    guest_down(guest);
}

Test(limits, a_stopped_reader_does_not_hold_the_process_for_ever)
{
    pid_t guest = guest_up(caps);
    autofree char *message = mem_printf(
        "{\"process\":{\"cmd\":\"sh\",\"args\":[\"-c\",\"head -c %d /dev/zero; echo done "
        ">finished; echo 1 >>finished\"],\"cwd\":\"%s\"},\"stdin\":false}",
        LOUD, guest_dir);
    int fd = stream_send("process.Process/Start", message, NULL);
    for (int i = 0; i < 2000 && access("finished", F_OK) < 0; i++) {
        clock_sleep_ms(10);
    }
    cr_assert_eq(access("finished", F_OK), 0, "the process ended though nobody read");
    autorun struct run run = stream_read(fd);
    cr_assert(run.ended && run.closed);
    cr_assert_lt(run.out.len, LOUD);
    cr_assert_not_null(memmem(run.out.ptr, run.out.len, " bytes of output dropped here]\n", 30));
    guest_down(guest);
}

Test(limits, stdout_and_stderr_are_capped_apart)
{
    pid_t guest = guest_up(caps);
    autorun struct run first =
        run_sh("head -c 1000000 /dev/zero; echo small >&2; head -c 999 /dev/zero >&2", NULL);
    autorun struct run later = connect_to(first.pid);
    cr_assert_eq(first.out.len, 1000000);
    cr_assert_lt(later.out.len, 400000);
    cr_assert_eq(later.err.len, 6 + 999);
    guest_down(guest);
}

Test(limits, one_process_too_many_is_refused_until_another_ends)
{
    pid_t guest = guest_up((const char *[]){"--max-processes", "2", NULL});
    int a = start_sh("sleep 30", NULL, NULL);
    start_sh("sleep 30", NULL, NULL);
    autorun struct run third = run_sh("true", NULL);
    cr_assert_str_eq(third.error, "resource_exhausted");
    autofree char *message = mem_printf("{\"process\":{\"pid\":%d},\"signal\":9}", a);
    autoanswer struct answer killed = client_rpc("process.Process/SendSignal", message);
    cr_assert_eq(killed.status, 200);
    autorun struct run end = connect_to(a);
    cr_assert(end.ended);
    for (int i = 0; i < 100; i++) { /* the tree's last breath may come after its end */
        autorun struct run again = run_sh("true", NULL);
        if (again.error[0] == '\0') {
            guest_down(guest);
            return;
        }
        clock_sleep_ms(20);
    }
    cr_assert_fail("no process could be started any more");
}
