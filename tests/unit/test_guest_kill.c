/*
 * test_guest_kill.c - guest: whole process trees die, whatever they do to get away.
 */
#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/mem.h"
#include "guest_client.h"

static pid_t guest;

static void setup(void)
{
    guest = guest_up(NULL);
}

static void teardown(void)
{
    cr_assert_eq(guest_down(guest), 0);
}

TestSuite(kill, .init = setup, .fini = teardown, .timeout = 60);

static int send_signal(int pid, const char *signal)
{
    autofree char *message =
        mem_printf("{\"process\":{\"pid\":%d},\"signal\":\"%s\"}", pid, signal);
    autoanswer struct answer a = client_rpc("process.Process/SendSignal", message);
    return a.status;
}

/* A child, a child in its own session, a daemon without its parent, one with a clean environment.
 */
#define FAMILY                                                                                     \
    "sleep 300 & echo $! >child; "                                                                 \
    "setsid sh -c 'echo $$ >session; sleep 300' & "                                                \
    "setsid sh -c 'sh -c \"echo \\$\\$ >orphan; exec sleep 300\" & exit' & "                       \
    "env -i setsid /bin/sh -c '(echo x; exec /bin/sleep 300) >/dev/null 2>&1 & echo $! >clean' & "

static const char *const family[] = {"child", "session", "orphan", "clean"};

static void family_dies(void)
{
    for (size_t i = 0; i < ARRAY_LEN(family); i++) {
        cr_assert(dies(number_in(family[i])), "%s lives on", family[i]);
    }
}

static void family_lives(void)
{
    for (size_t i = 0; i < ARRAY_LEN(family); i++) {
        cr_assert(pid_is_alive(number_in(family[i])), "%s is gone already", family[i]);
    }
}

Test(kill, sigkill_reaches_everybody)
{
    int pid = start_sh(FAMILY "wait", NULL, NULL);
    family_lives();
    cr_assert_eq(send_signal(pid, "SIGNAL_SIGKILL"), 200);
    family_dies();
    autorun struct run run = connect_to(pid);
    cr_assert_str_eq(run.end_status, "signal: killed");
    cr_assert_not(run.timed_out);
    cr_assert_eq(send_signal(pid, "SIGNAL_SIGKILL"), 404);
}

Test(kill, sigterm_reaches_everybody_and_can_be_caught)
{
    int pid = start_sh("trap 'echo bye; exit 9' TERM; " FAMILY "while :; do sleep 0.05; done", NULL,
                       NULL);
    family_lives();
    cr_assert_eq(send_signal(pid, "SIGNAL_SIGTERM"), 200);
    family_dies();
    autorun struct run run = connect_to(pid);
    cr_assert_eq(run.exit_code, 9);
    cr_assert_str_eq(str_c(&run.out), "bye\n");
}

Test(kill, the_timeout_kills_everybody_and_keeps_the_output)
{
    autorun struct run run = run_sh("echo partial; " FAMILY "wait", "Connect-Timeout-Ms: 700\r\n");
    cr_assert_str_eq(str_c(&run.out), "partial\n");
    cr_assert_str_eq(run.error, "deadline_exceeded");
    cr_assert_not(run.ended);
    family_dies();
    autorun struct run later = connect_to(run.pid);
    cr_assert_str_eq(str_c(&later.out), "partial\n");
    cr_assert(later.timed_out && later.ended);
    cr_assert_str_eq(later.end_status, "signal: killed");
}

Test(kill, the_timeout_works_without_a_client)
{
    int pid = start_sh(FAMILY "wait", NULL, "Connect-Timeout-Ms: 700\r\n");
    family_dies();
    cr_assert(dies(pid));
}

Test(kill, what_an_ended_process_left_can_still_be_killed)
{
    autorun struct run run = run_sh("(" FAMILY ") >/dev/null 2>&1; exit 4", NULL);
    cr_assert_eq(run.exit_code, 4);
    family_lives();
    cr_assert_eq(send_signal(run.pid, "SIGNAL_SIGTERM"), 200);
    family_dies();
    int status = 200;
    for (int i = 0; i < 100 && status == 200; i++) {
        status = send_signal(run.pid, "SIGNAL_SIGTERM");
        clock_sleep_ms(10);
    }
    cr_assert_eq(status, 404);
    autorun struct run later = connect_to(run.pid);
    cr_assert_eq(later.exit_code, 4);
}

Test(kill, a_tree_that_kills_its_supervisor_dies_with_it)
{
    autorun struct run run = run_sh(FAMILY "sleep 0.5; kill -9 $PPID; sleep 300", NULL);
    cr_assert(run.ended);
    cr_assert_str_eq(run.end_status, "signal: killed");
    family_dies();
    autorun struct run next = run_sh("echo fine", NULL);
    cr_assert_str_eq(str_c(&next.out), "fine\n");
}

Test(kill, kill_zero_hits_the_own_group_only)
{
    int other = start_sh("sleep 300", NULL, NULL);
    autorun struct run run = run_sh("kill -9 0", NULL);
    cr_assert_str_eq(run.end_status, "signal: killed");
    autorun struct run term = run_sh("kill -TERM 0; sleep 300", NULL);
    cr_assert_str_eq(term.end_status, "signal: terminated");
    cr_assert(pid_is_alive(other));
    autorun struct run next = run_sh("echo fine", NULL);
    cr_assert_str_eq(str_c(&next.out), "fine\n");
}

Test(kill, a_stopped_tree_can_be_killed)
{
    int pid = start_sh("sleep 300 & echo $! >child; kill -STOP 0; wait", NULL, NULL);
    int child = number_in("child");
    clock_sleep_ms(100);
    cr_assert_eq(send_signal(pid, "SIGNAL_SIGKILL"), 200);
    cr_assert(dies(child));
    cr_assert(dies(pid));
    autorun struct run run = connect_to(pid);
    cr_assert_str_eq(run.end_status, "signal: killed");
}

Test(kill, a_tree_that_keeps_forking_is_caught)
{
    int pid = start_sh("echo 'exec >/dev/null 2>&1; sleep 0.01; sh ./again & sh ./again & exit' "
                       ">again; echo 'sleep 0.01; setsid sh ./again & exit' >again; "
                       "for i in 1 2 3 4 5; do sh ./again & done; sleep 300",
                       NULL, NULL);
    clock_sleep_ms(300);
    cr_assert_eq(send_signal(pid, "SIGNAL_SIGKILL"), 200);
    autorun struct run run = connect_to(pid);
    cr_assert(run.ended);
    int status = 200;
    for (int i = 0; i < 500 && status == 200; i++) {
        status = send_signal(pid, "SIGNAL_SIGTERM");
        clock_sleep_ms(10);
    }
    cr_assert_eq(status, 404, "something of the tree is left");
}

Test(kill, an_inherited_pipe_delays_the_end_but_not_for_ever)
{
    int pid = start_sh("setsid sleep 300 & echo $! >child", NULL, NULL);
    int child = number_in("child");
    clock_sleep_ms(100);
    autofree char *message = mem_printf("{\"process\":{\"pid\":%d}}", pid);
    int fd = stream_send("process.Process/Connect", message, NULL);
    cr_assert_eq(send_signal(pid, "SIGNAL_SIGKILL"), 200);
    autorun struct run run = stream_read(fd);
    cr_assert_eq(run.exit_code, 0, "the shell had ended before");
    cr_assert_str_eq(run.end_status, "exit status 0");
    cr_assert(dies(child));
}

Test(kill, wrappers_with_setsid_keep_pid_and_status)
{
    autorun struct run replaced = run_sh("exec setsid sh -c 'echo $$; exit 6'", NULL);
    cr_assert_eq(strtol(str_c(&replaced.out), NULL, 10), replaced.pid);
    cr_assert_eq(replaced.exit_code, 6);
    autorun struct run waited =
        run_sh("setsid sh -c 'sleep 0.1; exit 7' & p=$!; echo $p >job.pid; wait $p", NULL);
    cr_assert_eq(waited.exit_code, 7);
}

Test(kill, unknown_signals_and_processes)
{
    int pid = start_sh("sleep 300", NULL, NULL);
    cr_assert_eq(send_signal(pid, "SIGNAL_UNSPECIFIED"), 501);
    cr_assert_eq(send_signal(pid, "SIGNAL_SIGFOO"), 400);
    cr_assert_eq(send_signal(999999, "SIGNAL_SIGKILL"), 404);
    cr_assert(pid_is_alive(pid));
}

Test(kill, nothing_is_left_when_the_daemon_stops)
{
    start_sh(FAMILY "trap '' TERM; wait; sleep 300", NULL, NULL);
    family_lives();
    cr_assert_eq(guest_down(guest), 0);
    family_dies();
    guest = guest_up(NULL);
}
