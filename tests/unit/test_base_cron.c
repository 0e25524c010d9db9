/*
 * test_base_cron.c - base/cron: what is read and refused, and the next instant against a walk over
 * every minute, through the edges of summer time.
 */
#include "base/cron.h"

#include <criterion/criterion.h>
#include <string.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/str.h"

static struct cron *must_parse(const char *text, const char *zone)
{
    struct cron *cron = NULL;
    struct err err = {0};
    cr_assert_eq(cron_parse(text, zone, &cron, &err), 0, "%s: %s", text, err.text);
    return cron;
}

static int64_t instant(const char *text)
{
    int64_t ns = -1;
    cr_assert(time_parse_rfc3339(text, strlen(text), &ns), "%s", text);
    return ns;
}

/* The instants after `after`, one after the other, up to NULL. */
static void expect_after(const char *rule, const char *after, const char *const *want)
{
    autocron struct cron *cron = must_parse(rule, NULL);
    int64_t at = instant(after);
    for (; *want; want++) {
        autostr struct str got = {0};
        at = cron_next(cron, at);
        time_format_rfc3339(&got, at);
        cr_expect_str_eq(str_c(&got), *want, "%s: %s, not %s", rule, str_c(&got), *want);
    }
}
#define EXPECT(rule, after, ...) expect_after(rule, after, (const char *const[]){__VA_ARGS__, NULL})

static bool no_zones(void)
{
    return !fs_is_dir("/usr/share/zoneinfo/Europe");
}

Test(cron, fields_ranges_steps_lists_and_names)
{
    EXPECT("30 3 * * *", "2026-01-02T03:30:00Z", "2026-01-03T03:30:00Z", "2026-01-04T03:30:00Z");
    EXPECT("30 3 * * *", "2026-01-02T03:29:59.999999999Z", "2026-01-02T03:30:00Z");
    EXPECT("*/20 * * * *", "2026-01-02T03:05:00Z", "2026-01-02T03:20:00Z", "2026-01-02T03:40:00Z",
           "2026-01-02T04:00:00Z");
    EXPECT("5/25 1,3 * * *", "2026-01-02T00:00:00Z", "2026-01-02T01:05:00Z", "2026-01-02T01:30:00Z",
           "2026-01-02T01:55:00Z", "2026-01-02T03:05:00Z");
    EXPECT("0 9-11/2 * jan,MAR Mon-fri", "2026-01-30T12:00:00Z", "2026-03-02T09:00:00Z",
           "2026-03-02T11:00:00Z", "2026-03-03T09:00:00Z");
    EXPECT("0 0 * * 7", "2026-01-02T00:00:00Z", "2026-01-04T00:00:00Z");
    EXPECT("0 0 * * fri-sun", "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z",
           "2026-01-03T00:00:00Z", "2026-01-04T00:00:00Z", "2026-01-09T00:00:00Z");
    EXPECT("0 0 13 * fri", "2026-02-07T00:00:00Z", "2026-02-13T00:00:00Z", "2026-02-20T00:00:00Z",
           "2026-02-27T00:00:00Z", "2026-03-06T00:00:00Z", "2026-03-13T00:00:00Z");
    EXPECT("0 0 29 2 *", "2026-01-01T00:00:00Z", "2028-02-29T00:00:00Z", "2032-02-29T00:00:00Z");
    EXPECT("0 0 29 2 ?", "2096-03-01T00:00:00Z", "2104-02-29T00:00:00Z");
    EXPECT("0 12 1 1 * 2027-2029/2", "2026-01-01T00:00:00Z", "2027-01-01T12:00:00Z",
           "2029-01-01T12:00:00Z");
    EXPECT("*/30 59 23 31 12 * 2026", "2026-06-01T00:00:00Z", "2026-12-31T23:59:00Z",
           "2026-12-31T23:59:30Z");
    EXPECT("  0 0 1 * * # rent", "1969-12-31T12:00:00Z", "1970-01-01T00:00:00Z");
}

Test(cron, words_for_common_rules)
{
    EXPECT("@yearly", "2026-01-01T00:00:00Z", "2027-01-01T00:00:00Z");
    EXPECT("@monthly", "2026-01-31T00:00:00Z", "2026-02-01T00:00:00Z");
    EXPECT("@weekly", "2026-01-01T00:00:00Z", "2026-01-04T00:00:00Z");
    EXPECT("@daily", "2026-01-01T00:00:01Z", "2026-01-02T00:00:00Z");
    EXPECT("@hourly", "2026-01-01T00:00:01Z", "2026-01-01T01:00:00Z");
    EXPECT("@every 90s", "2026-01-01T00:00:01.5Z", "2026-01-01T00:01:31Z", "2026-01-01T00:03:01Z");
}

Test(cron, every_counts_from_where_it_is_told)
{
    autocron struct cron *cron = must_parse("@every 1h30m", NULL);
    int64_t start = instant("2026-01-01T00:00:10Z");
    cr_expect_eq(cron_interval_ns(cron), 5400 * NS_PER_S);
    cr_expect_eq(cron_next_since(cron, start, start), instant("2026-01-01T01:30:10Z"));
    cr_expect_eq(cron_next_since(cron, start, instant("2026-01-01T04:30:10Z")),
                 instant("2026-01-01T06:00:10Z"));
    cr_expect_eq(cron_next_since(cron, start, instant("2026-01-01T04:30:09Z")),
                 instant("2026-01-01T04:30:10Z"));
    cr_expect_eq(cron_next_since(cron, start, instant("2025-12-31T22:00:00Z")),
                 instant("2025-12-31T22:30:10Z"));
}

Test(cron, the_last_year_ends_it)
{
    autocron struct cron *cron = must_parse("0 0 1 1 * 2026", NULL);
    cr_expect_eq(cron_next(cron, instant("2026-01-01T00:00:00Z")), CRON_NEVER);
    cr_expect_eq(cron_next(cron, INT64_MAX), CRON_NEVER);
    cr_expect_eq(cron_next(cron, INT64_MIN), instant("2026-01-01T00:00:00Z"));
    autocron struct cron *every = must_parse("@every 1s", NULL);
    cr_expect_eq(cron_next(every, INT64_MAX), CRON_NEVER);
}

Test(cron, what_is_refused_says_where)
{
    static const struct {
        const char *rule;
        const char *where;
        const char *what;
    } cases[] = {
        {"", "column 1", "5 fields"},
        {"* * * *", "column 1", "5 fields"},
        {"* * * * * * * *", "column 1", "5 fields"},
        {"60 * * * *", "column 1", "minute is a number from 0 to 59"},
        {"* 24 * * *", "column 3", "hour is a number from 0 to 23"},
        {"* * 0 * *", "column 5", "day of month is a number from 1 to 31"},
        {"* * * foo *", "column 7", "month is a number from 1 to 12 or a name (jan ...)"},
        {"* * * * 8", "column 9", "day of week"},
        {"* * * * * 1969", "column 11", "year is a number from 1970"},
        {"5-3 * * * *", "column 1", "smaller end"},
        {"*/0 * * * *", "column 3", "step"},
        {"*/99 * * * *", "column 3", "step"},
        {"1, * * * *", "column 3", "minute"},
        {"1x * * * *", "column 2", "minute"},
        {"0 0 30 2 *", "column", "never"},
        {"0 0 31 4,6,9,11 *", "column", "never"},
        {"@fortnightly", "column 1", "@weekly"},
        {"@every 90", "column 8", "duration"},
        {"@every 500ms", "column 8", "whole seconds"},
        {"@every", "column 1", "@every DURATION"},
        {"CRON_TZ=Mars/Olympus * * * * *", "column 9", "Mars/Olympus"},
        {"1\n* * * *", "line", "one line"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct cron *cron = NULL;
        struct err err = {0};
        cr_expect_lt(cron_parse(cases[i].rule, NULL, &cron, &err), 0, "%s", cases[i].rule);
        cr_expect(strstr(err.text, cases[i].where) && strstr(err.text, cases[i].what), "%s: %s",
                  cases[i].rule, err.text);
    }
}

Test(cron, clocks_put_forward)
{
    if (no_zones()) {
        cr_skip_test("skip: install tzdata");
    }
    /* in Berlin 2026-03-29 02:00 to 03:00 does not exist: it begins summer time at 01:00Z */
    EXPECT("CRON_TZ=Europe/Berlin 30 2 * * *", "2026-03-28T00:00:00Z", "2026-03-28T01:30:00Z",
           "2026-03-29T01:00:00Z", "2026-03-30T00:30:00Z");
    /* several times in the gap are one firing, and so is one that falls on its edge */
    EXPECT("TZ=Europe/Berlin 0,15,30 2,3 * * *", "2026-03-28T23:00:00Z", "2026-03-29T01:00:00Z",
           "2026-03-29T01:15:00Z", "2026-03-29T01:30:00Z", "2026-03-30T00:00:00Z");
    /* what fires every hour goes by the hours that there are */
    EXPECT("TZ=Europe/Berlin 30 * * * *", "2026-03-28T23:45:00Z", "2026-03-29T00:30:00Z",
           "2026-03-29T01:30:00Z");
    EXPECT("TZ=Europe/Berlin */30 * * * *", "2026-03-29T00:30:00Z", "2026-03-29T01:00:00Z",
           "2026-03-29T01:30:00Z");
    /* Samoa skipped all of 2011-12-30 */
    EXPECT("TZ=Pacific/Apia 0 12 * * *", "2011-12-29T00:00:00Z", "2011-12-29T22:00:00Z",
           "2011-12-30T10:00:00Z", "2011-12-30T22:00:00Z");
}

Test(cron, clocks_put_back)
{
    if (no_zones()) {
        cr_skip_test("skip: install tzdata");
    }
    /* in Berlin 2026-10-25 02:00 to 03:00 comes twice: summer time ends at 01:00Z */
    EXPECT("TZ=Europe/Berlin 30 2 * * *", "2026-10-24T12:00:00Z", "2026-10-25T00:30:00Z",
           "2026-10-26T01:30:00Z");
    EXPECT("TZ=Europe/Berlin 30 2 * * *", "2026-10-25T01:00:00Z", "2026-10-26T01:30:00Z");
    EXPECT("TZ=Europe/Berlin 0 3 * * *", "2026-10-25T00:00:00Z", "2026-10-25T02:00:00Z");
    EXPECT("TZ=Europe/Berlin 30 * * * *", "2026-10-24T23:30:00Z", "2026-10-25T00:30:00Z",
           "2026-10-25T01:30:00Z", "2026-10-25T02:30:00Z");
    EXPECT("@every 1h", "2026-10-24T23:30:00Z", "2026-10-25T00:30:00Z", "2026-10-25T01:30:00Z");
}

/* --- against a walk over every minute --------------------------------------------------------- */

struct model {
    uint64_t minutes;
    uint32_t hours;
    uint32_t weekdays;
};

static bool model_fits(const struct model *m, int64_t local)
{
    struct time_parts t = time_split(local * NS_PER_S);
    int64_t days = (local - (t.hour * 3600 + t.minute * 60 + t.second)) / 86400;
    return (m->minutes >> t.minute & 1) && (m->hours >> t.hour & 1) &&
           (m->weekdays >> ((days + 4) % 7) & 1);
}

static bool model_fires(const struct model *m, const struct tz *tz, int64_t at)
{
    bool fixed = m->hours != 0xffffff;
    int32_t offset = tz_at(tz, at).offset_s;
    int32_t before = tz_at(tz, at - 60).offset_s;
    if (fixed && offset > before) {
        for (int64_t local = at + before; local < at + offset; local += 60) {
            if (model_fits(m, local)) {
                return true;
            }
        }
    }
    if (!model_fits(m, at + offset)) {
        return false;
    }
    for (int64_t back = 60; fixed && back <= 7200; back += 60) { /* was this time there before? */
        if (at - back + tz_at(tz, at - back).offset_s == at + offset) {
            return false;
        }
    }
    return true;
}

static void print_set(struct str *out, uint64_t set, int count)
{
    bool first = true;
    for (int i = 0; i < count; i++) {
        if (set >> i & 1) {
            str_addf(out, first ? "%d" : ",%d", i);
            first = false;
        }
    }
}

static uint64_t mix(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15ULL;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
    return z ^ z >> 31;
}

static void walk(const char *zone, int64_t from, int64_t until, uint64_t seed)
{
    uint64_t state = seed;
    struct model m = {
        .minutes = (1ULL << mix(&state) % 60) | (1ULL << mix(&state) % 60),
        .hours =
            mix(&state) % 4 == 0 ? 0xffffff : (1U << mix(&state) % 24) | (1U << mix(&state) % 4),
        .weekdays = mix(&state) % 2 ? 0x7f : 1U | (1U << mix(&state) % 7),
    };
    autostr struct str rule = {0};
    print_set(&rule, m.minutes, 60);
    str_addc(&rule, ' ');
    print_set(&rule, m.hours, 24);
    str_add(&rule, " * * ");
    print_set(&rule, m.weekdays, 7);
    autocron struct cron *cron = must_parse(str_c(&rule), zone);
    for (int64_t at = from; at < until; at += 60) {
        bool fires = cron_next(cron, (at - 1) * NS_PER_S) == at * NS_PER_S;
        cr_assert_eq(fires, model_fires(&m, cron_zone(cron), at), "%s %s at %lld: %d", zone,
                     str_c(&rule), (long long)at, fires);
    }
}

Test(cron, every_minute_around_clock_changes_is_decided_rightly, .timeout = 120)
{
    static const char *const zones[] = {"Europe/Berlin", "America/New_York", "Australia/Lord_Howe",
                                        "America/St_Johns", "Africa/Casablanca"};
    if (no_zones()) {
        cr_skip_test("skip: install tzdata");
    }
    for (size_t z = 0; z < ARRAY_LEN(zones); z++) {
        autotz struct tz *tz = NULL;
        cr_assert_eq(tz_load(zones[z], &tz, NULL), 0);
        int64_t change = 1767225600; /* 2026 */
        for (uint64_t n = 0; n < 4; n++) {
            change = tz_next_change(tz, change);
            for (uint64_t seed = 1; seed <= 6; seed++) {
                walk(zones[z], change - 7200, change + 90000, seed * 1000 + n);
            }
        }
    }
}
