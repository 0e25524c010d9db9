/*
 * planted_paths.c - paths with a known bug each: nth.c must find every one (nth --planted).
 *
 * They are what such bugs look like in the product: an error that is swallowed and acknowledged all
 * the same, one without a word, memory, descriptors and files that only the good way gives back, a
 * NULL that nobody looked at, a wait for what never comes.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/mem.h"
#include "tests/nth/nth.h"

static int create(const char *dir, const char *name)
{
    autofree char *path = fs_join(dir, name);
    return open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
}

static void make_nothing(const char *dir, struct nth_report *report)
{
    (void)dir;
    (void)report;
}

/* A write that failed is acknowledged. */
static void play_lost(const char *dir, struct nth_report *report)
{
    int fd = create(dir, "kept");
    if (fd >= 0) {
        ssize_t n = write(fd, "promise", 7);
        report->acks = n != 0; /* -1 is not 0 */
        close(fd);
    } else {
        nth_told(report, "open", -1, "cannot create the file");
    }
}

static void verify_lost(const char *dir, struct nth_report *report)
{
    autofree char *path = fs_join(dir, "kept");
    struct stat st;
    if (report->acks && (stat(path, &st) < 0 || st.st_size != 7)) {
        nth_complain(report, "the acknowledged promise is lost");
    }
}

static void play_silent(const char *dir, struct nth_report *report)
{
    int fd = create(dir, "kept");
    nth_told(report, "open", fd < 0 ? -1 : 0, "");
    attr_close_(&fd);
}

static void play_verbose(const char *dir, struct nth_report *report)
{
    int fd = create(dir, "kept");
    nth_told(report, "open", fd < 0 ? -1 : 0, "one line\nand another");
    attr_close_(&fd);
}

static void play_leak(const char *dir, struct nth_report *report)
{
    char *volatile block = malloc(100); /* or the compiler leaves it out */
    int fd = create(dir, "kept");
    if (fd < 0) {
        nth_told(report, "open", -1, "no file, and the block is forgotten");
        return;
    }
    close(fd);
    free(block);
}

static void play_descriptor(const char *dir, struct nth_report *report)
{
    int fd = create(dir, "kept");
    if (fd >= 0 && write(fd, "x", 1) != 1) {
        nth_told(report, "write", -1, "not written, and the descriptor is forgotten");
        return;
    }
    attr_close_(&fd);
}

static void play_temporary(const char *dir, struct nth_report *report)
{
    autofree char *temp = fs_join(dir, ".tmp-0123");
    autofree char *path = fs_join(dir, "kept");
    autoclose int fd = create(dir, ".tmp-0123");
    if (fd >= 0 && rename(temp, path) < 0) {
        nth_told(report, "rename", -1, "not renamed, and the temporary file is forgotten");
    }
}

static void play_crash(const char *dir, struct nth_report *report)
{
    (void)dir;
    (void)report;
    volatile char *block = malloc(16);
    block[0] = 'x';
    free((char *)(uintptr_t)block);
}

static void play_exit(const char *dir, struct nth_report *report)
{
    int fd = create(dir, "kept");
    (void)report;
    if (fd < 0) {
        _exit(70); /* without a word, and not for want of memory */
    }
    close(fd);
}

static void play_hang(const char *dir, struct nth_report *report)
{
    int fd = create(dir, "kept");
    (void)report;
    while (fd < 0) {
        pause();
    }
    close(fd);
}

const struct nth_path planted_paths[] = {
    {.name = "lost",
     .about = "the acknowledged promise is lost",
     .play = play_lost,
     .verify = verify_lost},
    {.name = "silent", .about = "without a word", .play = play_silent, .verify = make_nothing},
    {.name = "verbose",
     .about = "in more than one line",
     .play = play_verbose,
     .verify = make_nothing},
    {.name = "leak", .about = "blocks of memory leak", .play = play_leak, .verify = make_nothing},
    {.name = "descriptor",
     .about = "descriptors leak",
     .play = play_descriptor,
     .verify = make_nothing},
    {.name = "temporary",
     .about = "a temporary file is left",
     .play = play_temporary,
     .verify = make_nothing},
    {.name = "crash", .about = "is ended (signal 11)", .play = play_crash, .verify = make_nothing},
    {.name = "exit", .about = "exit 70", .play = play_exit, .verify = make_nothing},
    {.name = "hang", .about = "hangs", .play = play_hang, .verify = make_nothing},
    {0},
};
