/*
 * clock.h - the only source of time.
 *
 * Owns: wall, monotonic and boot time behind a replaceable vtable, so that tests and the simulator
 * own time. Wall time is for people and calendars and may be set at any moment; monotonic time
 * stands still while the machine sleeps; boot time does not, and both begin anew with each boot.
 * Units: nanoseconds unless a name says otherwise. Thread-safe; replace only before threads.
 */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "base/str.h"

#define NS_PER_US 1000LL
#define NS_PER_MS 1000000LL
#define NS_PER_S 1000000000LL

struct clock_vtable {
    int64_t (*wall_ns)(void *user); /* since 1970-01-01 UTC */
    int64_t (*mono_ns)(void *user);
    void *user;
    int64_t (*boot_ns)(void *user);     /* NULL: as mono_ns */
    const char *(*boot_id)(void *user); /* NULL: the system's */
};
void clock_replace(const struct clock_vtable *vtable); /* NULL: back to the system's */

int64_t clock_wall_ns(void);
int64_t clock_mono_ns(void);
/* The same by a clock that belongs to one engine; NULL: as above. */
int64_t clock_wall_of(const struct clock_vtable *clock);
int64_t clock_mono_of(const struct clock_vtable *clock);

/* All clocks at one instant (read again when the reading was held up between them). */
#define CLOCK_BOOT_ID_SIZE 40
struct clock_reading {
    int64_t wall_ns;
    int64_t mono_ns;
    int64_t boot_ns;
    const char *boot_id; /* names this boot of this machine; lives as long as the process */
};
struct clock_reading clock_read_of(const struct clock_vtable *clock); /* NULL: the system's */
void clock_sleep_ms(int64_t ms);            /* real sleep; resumes after EINTR */
void clock_sleep_ns(int64_t ns);            /* the same */
struct timespec clock_deadline(int64_t ms); /* so much later on the real CLOCK_MONOTONIC */

/* at + by, at the end of time when that is too far away. */
static inline int64_t time_later(int64_t at_ns, int64_t by_ns)
{
    int64_t sum_ns;
    return __builtin_add_overflow(at_ns, by_ns, &sum_ns) ? INT64_MAX : sum_ns;
}

/* RFC 3339 UTC, 0/3/6/9 fraction digits as needed ("2026-01-02T03:04:05.123Z"). */
void time_format_rfc3339(struct str *out, int64_t wall_ns);
/* Always nine fraction digits: the texts sort as the times do. */
void time_format_sortable(struct str *out, int64_t wall_ns);
/* Accepts offsets and any number of fraction digits up to 9; false when malformed or out of range
 * (int64 nanoseconds reach from 1677 to 2262; a leap second ":60" is refused). */
bool time_parse_rfc3339(const char *text, size_t len, int64_t *ret_wall_ns);
/* Calendar fields of an instant, in UTC. */
struct time_parts {
    int year, month, day;     /* month and day from 1 */
    int hour, minute, second; /* second 0..59 */
    int ns;
};
struct time_parts time_split(int64_t wall_ns);
/* Days since 1970-01-01 of a date (Gregorian, also before its time) and back. month and day from 1;
 * a day beyond the month's end counts on into the next. */
int64_t date_to_days(int64_t year, int month, int day);
void date_from_days(int64_t days, int *year, int *month, int *day);

/* "45m", "1h30m", "250ms", "1.5s", "90" is refused (unit needed). ns us ms s m h d, each at most
 * once and from large to small; no sign, no white space. */
bool duration_parse(const char *text, int64_t *ret_ns);
void duration_format(struct str *out,
                     int64_t ns); /* for people: "0.4s", "14.1s", "2m 05s", "1h 02m", "3d 04h" */

#endif
