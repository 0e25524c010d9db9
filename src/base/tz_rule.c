/*
 * tz_rule.c - see tz_rule.h. A year has two edges, one into summer time and one out of it; what
 * holds at an instant is decided by the last edge before it, looked for in three years, because an
 * edge may lie up to a week outside its own year. Where both fall on one instant (a zone whose
 * summer time lasts all year) the one into summer time counts as the later one.
 * Tests: tests/unit/test_base_tz.c, tests/fuzz/fuzz_tz.c
 */
#include "base/tz_rule.h"

#include <string.h>

#include "base/clock.h"

#define DAY_S 86400LL

/* --- reading ---------------------------------------------------------------------------------- */

struct reader {
    const char *at;
    const char *end;
};

static bool next_is(struct reader *r, char c)
{
    if (r->at < r->end && *r->at == c) {
        r->at++;
        return true;
    }
    return false;
}

static bool is_digit(const struct reader *r)
{
    return r->at < r->end && *r->at >= '0' && *r->at <= '9';
}

static bool take_number(struct reader *r, int max, int *ret)
{
    if (!is_digit(r)) {
        return false;
    }
    int value = 0;
    while (is_digit(r)) {
        value = value * 10 + (*r->at++ - '0');
        if (value > max) {
            return false;
        }
    }
    *ret = value;
    return true;
}

/* "CET" or "<+03>" */
static bool take_name(struct reader *r, char *ret)
{
    bool quoted = next_is(r, '<');
    const char *start = r->at;
    while (r->at < r->end) {
        char c = *r->at;
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        bool other = (c >= '0' && c <= '9') || c == '+' || c == '-';
        if (!letter && !(quoted && other)) {
            break;
        }
        r->at++;
    }
    size_t len = (size_t)(r->at - start);
    if (len < 3 || len >= TZ_ABBREVIATION_BYTES || (quoted && !next_is(r, '>'))) {
        return false;
    }
    memcpy(ret, start, len);
    ret[len] = '\0';
    return true;
}

/* [+-]h[h][h][:mm[:ss]] */
static bool take_time(struct reader *r, int max_hours, int32_t *ret)
{
    bool negative = next_is(r, '-');
    if (!negative) {
        next_is(r, '+');
    }
    int hours;
    int minutes = 0;
    int seconds = 0;
    if (!take_number(r, max_hours, &hours) ||
        (next_is(r, ':') &&
         (!take_number(r, 59, &minutes) || (next_is(r, ':') && !take_number(r, 59, &seconds))))) {
        return false;
    }
    int32_t value = hours * 3600 + minutes * 60 + seconds;
    *ret = negative ? -value : value;
    return true;
}

static bool take_day(struct reader *r, struct tz_day *ret)
{
    *ret = (struct tz_day){.kind = 'N', .time_s = 2 * 3600};
    if (next_is(r, 'M')) {
        ret->kind = 'M';
        if (!take_number(r, 12, &ret->month) || ret->month < 1 || !next_is(r, '.') ||
            !take_number(r, 5, &ret->week) || ret->week < 1 || !next_is(r, '.') ||
            !take_number(r, 6, &ret->weekday)) {
            return false;
        }
    } else {
        if (next_is(r, 'J')) {
            ret->kind = 'J';
        }
        if (!take_number(r, 365, &ret->day) || (ret->kind == 'J' && ret->day < 1)) {
            return false;
        }
    }
    return !next_is(r, '/') || take_time(r, 167, &ret->time_s);
}

bool tz_rule_parse(const char *text, size_t len, struct tz_rule *ret)
{
    struct reader r = {text, text + len};
    struct tz_rule rule = {.std_offset_s = 0};
    int32_t west;
    if (!take_name(&r, rule.std) || !take_time(&r, 24, &west)) {
        return false;
    }
    rule.std_offset_s = -west; /* POSIX counts westwards */
    if (r.at < r.end) {
        if (!take_name(&r, rule.dst)) {
            return false;
        }
        rule.dst_offset_s = rule.std_offset_s + 3600;
        if (r.at < r.end && *r.at != ',') {
            if (!take_time(&r, 24, &west)) {
                return false;
            }
            rule.dst_offset_s = -west;
        }
        if (!next_is(&r, ',') || !take_day(&r, &rule.start) || !next_is(&r, ',') ||
            !take_day(&r, &rule.end)) {
            return false;
        }
    }
    if (r.at != r.end) {
        return false;
    }
    *ret = rule;
    return true;
}

/* --- looking up ------------------------------------------------------------------------------- */

static bool is_leap(int64_t year)
{
    return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
}

/* Local seconds at which the day's time comes in that year. */
static int64_t local_edge(const struct tz_day *day, int64_t year)
{
    int64_t first = date_to_days(year, 1, 1);
    int64_t days;
    if (day->kind == 'N') {
        days = first + day->day;
    } else if (day->kind == 'J') {
        days = first + day->day - 1 + (is_leap(year) && day->day >= 60);
    } else {
        int64_t month = date_to_days(year, day->month, 1);
        int64_t next = date_to_days(day->month == 12 ? year + 1 : year, day->month % 12 + 1, 1);
        int64_t weekday = ((month + 4) % 7 + 7) % 7; /* 1970-01-01 was a Thursday */
        days = month + (day->weekday - weekday + 7) % 7 + 7 * (day->week - 1);
        while (days >= next) { /* week 5: the last one there is */
            days -= 7;
        }
    }
    return days * DAY_S + day->time_s;
}

static int64_t year_of(int64_t utc_s)
{
    int year;
    int month;
    int day;
    date_from_days(utc_s / DAY_S - (utc_s % DAY_S < 0), &year, &month, &day);
    return year;
}

bool tz_rule_is_dst(const struct tz_rule *rule, int64_t utc_s)
{
    if (!rule->dst[0]) {
        return false;
    }
    int64_t last = INT64_MIN;
    bool dst = false;
    int64_t year = year_of(utc_s);
    for (int64_t y = year - 1; y <= year + 1; y++) {
        int64_t end = local_edge(&rule->end, y) - rule->dst_offset_s;
        int64_t start = local_edge(&rule->start, y) - rule->std_offset_s;
        if (end <= utc_s && end >= last && !(end == last && dst)) {
            last = end;
            dst = false;
        }
        if (start <= utc_s && start >= last) {
            last = start;
            dst = true;
        }
    }
    return dst;
}

int64_t tz_rule_next(const struct tz_rule *rule, int64_t utc_s)
{
    if (!rule->dst[0] || rule->dst_offset_s == rule->std_offset_s) {
        return INT64_MAX;
    }
    bool now = tz_rule_is_dst(rule, utc_s);
    int64_t best = INT64_MAX;
    int64_t year = year_of(utc_s);
    for (int64_t y = year - 1; y <= year + 2; y++) {
        int64_t edges[] = {local_edge(&rule->start, y) - rule->std_offset_s,
                           local_edge(&rule->end, y) - rule->dst_offset_s};
        for (int i = 0; i < 2; i++) {
            if (edges[i] > utc_s && edges[i] < best && tz_rule_is_dst(rule, edges[i]) != now) {
                best = edges[i];
            }
        }
    }
    return best;
}
