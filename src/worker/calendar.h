/*
 * calendar.h - at which instants a schedule is due.
 *
 * Owns: the "when" of a dur_schedule in a form that is quick to ask: rules and intervals, less
 * exceptions, within bounds, with jitter. Must not: read a clock or a store. The same answer for
 * the same question in every process. Read only: any thread may use it.
 */
#ifndef WORKER_CALENDAR_H
#define WORKER_CALENDAR_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "durable.h"

#define CALENDAR_NEVER INT64_MAX

struct calendar; /* opaque */

/* Error names: "BadSchedule", and those of cron_parse(). */
int calendar_new(const dur_schedule *schedule, struct calendar **ret, struct err *err);
struct calendar *calendar_free(struct calendar *calendar); /* NULL fine; returns NULL */
static inline void calendar_cleanup_(struct calendar **calendar)
{
    *calendar = calendar_free(*calendar);
}
#define autocalendar cleanup_with(calendar_cleanup_)

bool calendar_is_empty(const struct calendar *calendar); /* names no time at all */
/* The first nominal time after after_ns, or CALENDAR_NEVER. */
int64_t calendar_next(const struct calendar *calendar, int64_t after_ns);
/* That time with its jitter: less than jitter_ms, and less than the time until the next one. */
int64_t calendar_due(const struct calendar *calendar, const char *name, int64_t nominal_ns);
/* What the clocks show then, in the zone of the rule that names it; zone and abbreviation live as
 * long as the calendar. */
void calendar_tell(const struct calendar *calendar, int64_t nominal_ns, dur_schedule_time *ret);

#endif
