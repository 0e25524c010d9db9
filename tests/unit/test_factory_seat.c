/*
 * test_factory_seat.c - one holder at a time, until its descriptor is closed or its process dies.
 */
#include "factory/seat.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/mem.h"
#include "tests/lib/temp_path.h"

Test(seat, one_at_a_time)
{
    autofree char *path = temp_path("worker.lock");
    autofree char *dir = fs_dirname(path);
    struct err err = {0};
    int first = -1, second = -1;
    cr_assert_not(seat_is_taken(dir));
    cr_assert_not(fs_exists(path), "who asks makes nothing");
    cr_assert_eq(seat_try(dir, &first, &err), 0, "%s", err.text);
    cr_assert(seat_is_taken(dir));
    cr_assert_eq(seat_try(dir, &second, &err), 1);
    cr_assert_eq(second, -1);
    close(first);
    cr_assert_not(seat_is_taken(dir));
    cr_assert_eq(seat_try(dir, &second, &err), 0);
    close(second);
}

Test(seat, a_dead_process_holds_nothing, .timeout = 30)
{
    autofree char *path = temp_path("worker.lock");
    autofree char *dir = fs_dirname(path);
    struct err err = {0};
    int ready[2];
    cr_assert_eq(pipe(ready), 0);
    pid_t child = fork();
    cr_assert_geq(child, 0);
    if (child == 0) {
        int fd = -1;
        char word = seat_try(dir, &fd, NULL) == 0 ? 'y' : 'n';
        _exit(write(ready[1], &word, 1) == 1 && pause() ? 1 : 0);
    }
    char word = 0;
    cr_assert_eq(read(ready[0], &word, 1), 1);
    cr_assert_eq(word, 'y');
    cr_assert(seat_is_taken(dir));
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    int fd = -1;
    cr_assert_eq(seat_try(dir, &fd, &err), 0);
    close(fd);
    close(ready[0]);
    close(ready[1]);
}

Test(seat, a_directory_that_is_not_there)
{
    struct err err = {0};
    int fd = -1;
    cr_assert_lt(seat_try("/nonexistent/dir", &fd, &err), 0);
    cr_assert_not(seat_is_taken("/nonexistent/dir"));
}
