/*
 * tz_rule.h - the rule for all years in the footer of a zone file. Private to base/tz.c.
 *
 * Owns: POSIX's TZ text with the extensions of RFC 9636 ("CET-1CEST,M3.5.0,M10.5.0/3",
 * "<-03>3<-02>,M3.5.0/-2,M10.5.0/-1", "EST5EDT,0/0,J365/25"). Pure.
 */
#ifndef BASE_TZ_RULE_H
#define BASE_TZ_RULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TZ_ABBREVIATION_BYTES 16

/* A day of the year and a time of that day, which may lie outside of it. */
struct tz_day {
    char kind; /* 'J': 1..365 without 29 February; 'N': 0..365; 'M': month, week, weekday */
    int day, month, week, weekday;
    int32_t time_s;
};

struct tz_rule {
    char std[TZ_ABBREVIATION_BYTES];
    char dst[TZ_ABBREVIATION_BYTES]; /* "": the zone knows no summer time */
    int32_t std_offset_s;            /* local minus UTC */
    int32_t dst_offset_s;
    struct tz_day start, end; /* of summer time; end is counted in summer time */
};

bool tz_rule_parse(const char *text, size_t len, struct tz_rule *ret);
bool tz_rule_is_dst(const struct tz_rule *rule, int64_t utc_s);
/* The first change of offset after utc_s, INT64_MAX when there is none. */
int64_t tz_rule_next(const struct tz_rule *rule, int64_t utc_s);

#endif
