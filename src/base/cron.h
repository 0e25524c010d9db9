/*
 * cron.h - calendar rules in cron's notation.
 *
 * Owns: reading a cron text and finding the next instant that it names, in any time zone.
 * Must not: read a clock. Instants are nanoseconds since 1970 (UTC), rules have whole seconds.
 *
 *     MINUTE HOUR DAY-OF-MONTH MONTH DAY-OF-WEEK               "30 3 * * mon-fri"
 *     MINUTE HOUR DAY-OF-MONTH MONTH DAY-OF-WEEK YEAR
 *     SECOND MINUTE HOUR DAY-OF-MONTH MONTH DAY-OF-WEEK YEAR
 *     @yearly @annually @monthly @weekly @daily @midnight @hourly
 *     @every DURATION (base/clock.h: "90s", "1h30m"; whole seconds)
 *   in front of any of them: "CRON_TZ=Europe/Berlin " or "TZ=Europe/Berlin "; behind: "# a comment"
 *   a field: "*" or "?", 5, 1-5, "*" "/15", 10-50/20, 5/15 (from 5 on), and lists of these with
 *   commas; months jan-dec, weekdays sun-sat (0 and 7 are Sunday), in any case.
 *   When day of month and day of week are both restricted, either of them suffices, as in cron.
 *
 * Where the clocks on the wall are changed: a rule with a fixed hour (one whose hour field does not
 * allow every hour) fires once for a local time that does not exist, at the first instant after the
 * gap, and once, the first time, for a local time that comes twice. A rule that fires every hour
 * goes by the hours that there are: nothing in the gap, both of the repeated ones.
 */
#ifndef BASE_CRON_H
#define BASE_CRON_H

#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/err.h"
#include "base/tz.h"

#define CRON_NEVER INT64_MAX
#define CRON_TEXT_MAX 1000 /* bytes */

struct cron; /* opaque, read only: any thread may use it */

/* zone: where the text names none; NULL: UTC. Error names: "BadCron" (the text says where, from
 * column 1) and those of tz_load(). A rule that can never fire (30 February) is refused. */
int cron_parse(const char *text, const char *zone, struct cron **ret, struct err *err);
struct cron *cron_free(struct cron *cron); /* NULL fine; returns NULL */
static inline void cron_cleanup_(struct cron **cron)
{
    *cron = cron_free(*cron);
}
#define autocron cleanup_with(cron_cleanup_)

/* The first instant after after_ns (never itself), or CRON_NEVER when there is none before the year
 * 2261. "@every" counts from after_ns. */
int64_t cron_next(const struct cron *cron, int64_t after_ns);
/* The same, but "@every" counts from start_ns: start_ns + n x interval. */
int64_t cron_next_since(const struct cron *cron, int64_t start_ns, int64_t after_ns);

/* Does the rule name the minute (with a seconds field: the second) on the wall at that instant?
 * Never for "@every". */
bool cron_covers(const struct cron *cron, int64_t ns);
/* The first instant after ns at which that answer can be another one. */
int64_t cron_covers_until(const struct cron *cron, int64_t ns);

int64_t cron_interval_ns(const struct cron *cron); /* of "@every", else 0 */
const struct tz *cron_zone(const struct cron *cron);
bool cron_has_fixed_hours(const struct cron *cron); /* see above: what happens at clock changes */

#endif
