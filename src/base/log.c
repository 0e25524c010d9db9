/*
 * log.c - see log.h. Owns the three process-wide log settings. A line is built in memory, shown to
 * the redactor, made printable and written by one write(2), so lines of threads and processes that
 * share the descriptor never mix.
 * Tests: tests/unit/test_base_log.c
 */
#include "base/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <unistd.h>

#include "base/clock.h"

static _Atomic(enum log_level) current_level = LOG_LEVEL_WARN;
static atomic_int current_fd = STDERR_FILENO;
static void (*_Atomic current_scrub)(struct str *line);

void log_set_level(enum log_level level)
{
    current_level = level;
}

enum log_level log_get_level(void)
{
    return current_level;
}

void log_set_fd(int fd)
{
    current_fd = fd;
}

void log_set_redactor(void (*scrub)(struct str *line))
{
    current_scrub = scrub;
}

static const char *level_name(enum log_level level)
{
    switch (level) {
    case LOG_LEVEL_ERROR:
        return "error";
    case LOG_LEVEL_WARN:
        return "warn";
    case LOG_LEVEL_INFO:
        return "info";
    case LOG_LEVEL_DEBUG:
        return "debug";
    }
    return "unknown";
}

/* One event stays one line, and no byte of it can drive the terminal that shows it. */
static void make_printable(struct str *line)
{
    size_t at = 0;
    while (at < line->len) {
        unsigned char byte = (unsigned char)line->ptr[at];
        size_t step = utf8_char(line->ptr + at, line->len - at);
        if (byte < 0x20 || byte == 0x7f || step == 0) {
            line->ptr[at] = byte == '\n' || byte == '\t' ? ' ' : '?';
            step = 1;
        } else if (step == 2 && byte == 0xc2 && (unsigned char)line->ptr[at + 1] < 0xa0) {
            line->ptr[at] = '?'; /* C1 control characters: some terminals obey those too */
            line->ptr[at + 1] = '?';
        }
        at += step;
    }
}

static void write_line(int fd, const char *at, size_t len)
{
    while (len > 0) {
        ssize_t put = write(fd, at, len);
        if (put < 0 && errno == EINTR) {
            continue;
        }
        if (put <= 0) {
            return; /* the log is the last place to complain about the log */
        }
        at += put;
        len -= (size_t)put;
    }
}

static void add_stamp(struct str *line)
{
    struct time_parts t = time_split(clock_wall_ns());
    str_addf(line, "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ ", t.year, t.month, t.day, t.hour, t.minute,
             t.second, t.ns / (int)NS_PER_MS);
}

void log_line(enum log_level level, const char *room, const char *fmt, ...)
{
    if (level > current_level) {
        return;
    }
    int saved_errno = errno;
    autostr struct str line = {0};
    add_stamp(&line);
    str_addf(&line, "%s %s: ", level_name(level), room);
    va_list ap;
    va_start(ap, fmt);
    str_addv(&line, fmt, ap);
    va_end(ap);
    void (*scrub)(struct str *) = current_scrub;
    if (scrub) {
        scrub(&line);
    }
    make_printable(&line);
    str_addc(&line, '\n');
    write_line(current_fd, line.ptr, line.len);
    errno = saved_errno;
}
