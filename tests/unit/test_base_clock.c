/*
 * test_base_clock.c - base/clock: RFC 3339 both ways, durations, a replaced clock.
 */
#include "base/clock.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

static void expect_format(int64_t ns, const char *want)
{
    autostr struct str s = {0};
    time_format_rfc3339(&s, ns);
    cr_expect_str_eq(s.ptr, want);
    int64_t back = 0;
    cr_expect(time_parse_rfc3339(s.ptr, s.len, &back), "%s", s.ptr);
    cr_expect_eq(back, ns, "%s", s.ptr);
}

Test(clock, rfc3339_is_written_with_the_digits_needed)
{
    expect_format(0, "1970-01-01T00:00:00Z");
    expect_format(1, "1970-01-01T00:00:00.000000001Z");
    expect_format(-1, "1969-12-31T23:59:59.999999999Z");
    expect_format(1500 * NS_PER_US, "1970-01-01T00:00:00.001500Z");
    expect_format(1767323045LL * NS_PER_S + 123 * NS_PER_MS, "2026-01-02T03:04:05.123Z");
    expect_format(951782400LL * NS_PER_S, "2000-02-29T00:00:00Z");
    expect_format(-2203891200LL * NS_PER_S, "1900-03-01T00:00:00Z");
    expect_format(INT64_MAX, "2262-04-11T23:47:16.854775807Z");
    expect_format(INT64_MIN, "1677-09-21T00:12:43.145224192Z");
}

Test(clock, every_day_of_four_centuries_comes_back)
{
    int64_t day = 86400LL * NS_PER_S;
    for (int64_t d = -106000; d < 106000; d += 17) {
        autostr struct str s = {0};
        int64_t back = 1;
        time_format_rfc3339(&s, d * day + 5);
        cr_assert(time_parse_rfc3339(s.ptr, s.len, &back));
        cr_assert_eq(back, d * day + 5, "%s", s.ptr);
    }
}

Test(clock, rfc3339_forms_that_are_read)
{
    static const struct {
        const char *text;
        int64_t want;
    } cases[] = {
        {"1970-01-01T01:00:00+01:00", 0},
        {"1969-12-31T23:30:00-00:30", 0},
        {"1970-01-01t00:00:01z", NS_PER_S},
        {"1970-01-01T00:00:00.1Z", 100 * NS_PER_MS},
        {"1970-01-01T00:00:00.123456789Z", 123456789},
        {"1970-01-01T00:00:00.1234567+00:00", 123456700},
        {"1970-01-01T00:00:00-00:00", 0},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        int64_t got = -1;
        cr_expect(time_parse_rfc3339(cases[i].text, strlen(cases[i].text), &got), "%s",
                  cases[i].text);
        cr_expect_eq(got, cases[i].want, "%s", cases[i].text);
    }
}

Test(clock, rfc3339_nonsense_is_refused)
{
    static const char *const cases[] = {
        "",
        "1970",
        "1970-01-01",
        "1970-01-01T00:00:00",
        "1970-01-01 00:00:00Z",
        "1970-13-01T00:00:00Z",
        "1970-00-01T00:00:00Z",
        "1970-01-00T00:00:00Z",
        "1970-01-32T00:00:00Z",
        "2023-02-29T00:00:00Z",
        "1900-02-29T00:00:00Z",
        "1970-01-01T24:00:00Z",
        "1970-01-01T00:60:00Z",
        "1970-01-01T00:00:60Z",
        "1970-01-01T00:00:00.Z",
        "1970-01-01T00:00:00.1234567890Z",
        "1970-01-01T00:00:00+0100",
        "1970-01-01T00:00:00+24:00",
        "1970-01-01T00:00:00+01:60",
        "1970-01-01T00:00:00Zx",
        "1970-01-01T00:00:00,5Z",
        "-970-01-01T00:00:00Z",
        "1970-1-01T00:00:00Z",
        "2262-04-11T23:47:16.854775808Z",
        "1677-09-21T00:12:43.145224191Z",
        "9999-12-31T23:59:59Z",
        "0000-01-01T00:00:00Z",
        "+970-01-01T00:00:00Z",
        " 970-01-01T00:00:00Z",
        "1970-01-01T00:00:00Z ",
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        int64_t got = 77;
        cr_expect_not(time_parse_rfc3339(cases[i], strlen(cases[i]), &got), "%s", cases[i]);
        cr_expect_eq(got, 77, "%s", cases[i]);
    }
    int64_t got = 77;
    cr_expect_not(time_parse_rfc3339("1970-01-01T00:00:00\0Z", 21, &got));
}

Test(clock, durations_that_are_read)
{
    static const struct {
        const char *text;
        int64_t want;
    } cases[] = {
        {"45m", 45 * 60 * NS_PER_S},
        {"1h30m", 90 * 60 * NS_PER_S},
        {"250ms", 250 * NS_PER_MS},
        {"1.5s", 1500 * NS_PER_MS},
        {"0s", 0},
        {"2d", 172800 * NS_PER_S},
        {"1d1h1m1s1ms1us1ns", 90061 * NS_PER_S + NS_PER_MS + NS_PER_US + 1},
        {"0.1ns", 0},
        {"1.000000001s", NS_PER_S + 1},
        {"1.0000000019s", NS_PER_S + 1},
        {"0.5h", 1800 * NS_PER_S},
        {"9223372036854775807ns", INT64_MAX},
        {"007s", 7 * NS_PER_S},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        int64_t got = -1;
        cr_expect(duration_parse(cases[i].text, &got), "%s", cases[i].text);
        cr_expect_eq(got, cases[i].want, "%s: %lld", cases[i].text, (long long)got);
    }
}

Test(clock, duration_nonsense_is_refused)
{
    static const char *const cases[] = {
        "",
        "90",
        "0",
        "s",
        "-5s",
        "+5s",
        " 5s",
        "5s ",
        "5 s",
        "5x",
        "1.s",
        ".5s",
        "5s5s",
        "1m1h",
        "1ms1s",
        "5sm",
        "1e3s",
        "9223372036854775808ns",
        "99999999999999999999s",
        "106752d",
        "1h30",
        "5S",
        "1,5s",
        "5min",
        "1..5s",
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        int64_t got = 77;
        cr_expect_not(duration_parse(cases[i], &got), "\"%s\"", cases[i]);
        cr_expect_eq(got, 77, "\"%s\"", cases[i]);
    }
}

Test(clock, durations_for_people)
{
    static const struct {
        int64_t ns;
        const char *want;
    } cases[] = {
        {0, "0.0s"},
        {49 * NS_PER_MS, "0.0s"},
        {50 * NS_PER_MS, "0.1s"},
        {400 * NS_PER_MS, "0.4s"},
        {14100 * NS_PER_MS, "14.1s"},
        {59949 * NS_PER_MS, "59.9s"},
        {59950 * NS_PER_MS, "1m 00s"},
        {125 * NS_PER_S, "2m 05s"},
        {3599950 * NS_PER_MS, "1h 00m"},
        {3720 * NS_PER_S, "1h 02m"},
        {273600 * NS_PER_S, "3d 04h"},
        {-1500 * NS_PER_MS, "-1.5s"},
        {INT64_MIN, "-106751d 23h"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        autostr struct str s = {0};
        duration_format(&s, cases[i].ns);
        cr_expect_str_eq(s.ptr, cases[i].want);
    }
}

static int64_t fixed(void *user)
{
    return *(int64_t *)user;
}

Test(clock, a_replaced_clock_is_used_until_it_is_put_back)
{
    int64_t now = 42;
    struct clock_vtable mine = {.wall_ns = fixed, .mono_ns = fixed, .user = &now};
    clock_replace(&mine);
    cr_assert_eq(clock_wall_ns(), 42);
    now = 43;
    cr_assert_eq(clock_mono_ns(), 43);
    clock_replace(NULL);
    cr_assert_gt(clock_wall_ns(), 1600000000LL * NS_PER_S);
}

Test(clock, monotonic_time_moves_on_while_sleeping, .timeout = 10)
{
    int64_t before = clock_mono_ns();
    clock_sleep_ms(5);
    cr_assert_geq(clock_mono_ns() - before, 5 * NS_PER_MS);
    clock_sleep_ms(0);
    clock_sleep_ms(-1);
}
