/*
 * test_journal_lock.c - journal/lock: one holder, standby, stop, takeover after a kill.
 */
#include "../lib/journal_fixture.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "journal/lock.h"

TestSuite(journal_lock, .init = scratch_make, .fini = scratch_remove, .timeout = 120);

static struct lock *open_lock(void)
{
    struct lock *lock = NULL;
    struct err err = {0};
    cr_assert_eq(lock_open(scratch_db, &lock, &err), 0, "%s", err.text);
    return lock;
}

/* A child that takes the lock, tells so through the pipe and then sleeps until it is killed. */
static pid_t start_holder(void)
{
    int ready[2];
    cr_assert_eq(pipe(ready), 0);
    pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        struct lock *lock = NULL;
        if (lock_open(scratch_db, &lock, NULL) < 0 || lock_try(lock, NULL) != 0 ||
            write(ready[1], "x", 1) != 1) {
            _exit(1);
        }
        for (;;) {
            pause();
        }
    }
    char byte;
    close(ready[1]);
    cr_assert_eq(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    return pid;
}

static void end_holder(pid_t pid)
{
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

Test(journal_lock, one_holder_at_a_time_even_within_a_process)
{
    autolock struct lock *a = open_lock();
    autolock struct lock *b = open_lock();
    cr_assert(!lock_held(a));
    cr_assert_eq(lock_try(a, NULL), 0);
    cr_assert_eq(lock_try(a, NULL), 0, "asking again is harmless");
    cr_assert(lock_held(a));
    cr_assert_eq(lock_try(b, NULL), 1);
    lock_release(a);
    cr_assert(!lock_held(a));
    cr_assert_eq(lock_try(b, NULL), 0);
    cr_assert_eq(lock_try(a, NULL), 1);
}

Test(journal_lock, another_name_of_the_file_is_the_same_lock)
{
    store_close(open_store());
    autofree char *alias = mem_printf("%s/alias.db", scratch_dir);
    cr_assert_eq(symlink(scratch_db, alias), 0);
    struct lock *a = open_lock();
    struct lock *b = NULL;
    cr_assert_eq(lock_open(alias, &b, NULL), 0);
    cr_assert_eq(lock_try(a, NULL), 0);
    cr_assert_eq(lock_try(b, NULL), 1);
    lock_close(a);
    cr_assert_eq(lock_try(b, NULL), 0, "closing releases");
    lock_close(b);
}

Test(journal_lock, who_serves)
{
    struct lock_holder holder;
    cr_assert_eq(lock_query(scratch_db, &holder, NULL), 1);
    autofree char *path = mem_printf("%s.lock", scratch_db);
    cr_assert(!fs_exists(path), "asking makes no file");
    pid_t child = start_holder();
    cr_assert_eq(lock_query(scratch_db, &holder, NULL), 0);
    cr_assert_eq(holder.pid, child);
    cr_assert(holder.is_alive);
    end_holder(child);
    cr_assert_eq(lock_query(scratch_db, &holder, NULL), 1, "the kernel dropped it");
    autolock struct lock *lock = open_lock();
    cr_assert_eq(lock_try(lock, NULL), 0);
    cr_assert_eq(lock_query(scratch_db, &holder, NULL), 0);
    cr_assert_eq(holder.pid, getpid());
}

Test(journal_lock, what_the_file_says_decides_nothing)
{
    autofree char *path = mem_printf("%s.lock", scratch_db);
    FILE *f = fopen(path, "w");
    fputs("1 1\n", f);
    fclose(f);
    struct lock_holder holder;
    cr_assert_eq(lock_query(scratch_db, &holder, NULL), 1);
    autolock struct lock *lock = open_lock();
    cr_assert_eq(lock_try(lock, NULL), 0);
    f = fopen(path, "w");
    fputs("what is this? \377\377", f);
    fclose(f);
    cr_assert_eq(lock_query(scratch_db, &holder, NULL), 0);
    cr_assert_eq(holder.pid, 0);
    cr_assert(!holder.is_alive);
}

Test(journal_lock, standby_takes_over_from_the_killed)
{
    pid_t child = start_holder();
    pid_t killer = fork();
    if (killer == 0) {
        clock_sleep_ms(50);
        kill(child, SIGKILL);
        _exit(0);
    }
    autolock struct lock *lock = open_lock();
    cr_assert_eq(lock_try(lock, NULL), 1);
    cr_assert_eq(lock_wait(lock, -1, NULL), 0);
    cr_assert(lock_held(lock));
    waitpid(killer, NULL, 0);
    waitpid(child, NULL, 0);
}

Test(journal_lock, standby_can_be_stopped_and_tried_again)
{
    pid_t child = start_holder();
    int stop = eventfd(0, EFD_CLOEXEC);
    autolock struct lock *lock = open_lock();
    eventfd_write(stop, 1);
    for (int i = 0; i < 20; i++) {
        cr_assert_eq(lock_wait(lock, stop, NULL), 1);
        cr_assert(!lock_held(lock));
    }
    end_holder(child);
    autolock struct lock *other = open_lock();
    cr_assert_eq(lock_try(other, NULL), 0, "a stopped standby leaves nothing behind");
    lock_release(other);
    cr_assert_eq(lock_wait(lock, stop, NULL), 0, "a free lock is taken even when stopped");
    close(stop);
}

Test(journal_lock, a_lock_needs_a_directory)
{
    struct lock *lock = NULL;
    struct err err = {0};
    cr_assert_lt(lock_open("/nonexistent/run.db", &lock, &err), 0);
    cr_assert_null(lock);
}

Test(journal_lock, a_forked_child_holds_nothing)
{
    struct lock *lock = open_lock();
    cr_assert_eq(lock_try(lock, NULL), 0);
    pid_t pid = fork();
    if (pid == 0) {
        int wrong = lock_held(lock);
        lock_release(lock);
        lock_close(lock);
        _exit(wrong);
    }
    int status;
    waitpid(pid, &status, 0);
    cr_assert_eq(status, 0);
    struct lock *other = open_lock();
    cr_assert_eq(lock_try(other, NULL), 1, "the parent's lock is as it was");
    lock_close(lock);
    cr_assert_eq(lock_try(other, NULL), 0);
    lock_close(other);
}

Test(journal_lock, a_standby_in_a_loop_of_its_own)
{
    int64_t pause_ms = 0;
    struct lock *holder = open_lock();
    struct lock *waiter = open_lock();
    cr_assert_eq(lock_try(holder, NULL), 0);
    cr_assert_eq(lock_stand_by(waiter, &pause_ms, NULL), 1);
    cr_assert_gt(pause_ms, 0);
    struct pollfd fd = {.fd = lock_watch_fd(waiter), .events = POLLIN};
    cr_assert_eq(poll(&fd, 1, 0), 0);
    lock_release(holder);
    cr_assert_eq(poll(&fd, 1, 10000), 1);
    cr_assert_eq(lock_stand_by(waiter, &pause_ms, NULL), 0);
    cr_assert(lock_held(waiter));
    lock_close(waiter);
    lock_close(holder);
}
