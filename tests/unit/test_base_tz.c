/*
 * test_base_tz.c - base/tz and base/tz_rule: zone files composed here, rules, what is refused, and
 * the system's zones against the C library's own reading of them.
 */
#include "base/tz.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/str.h"
#include "base/tz_rule.h"
#include "tmpdir.h"

/* --- composing a zone file -------------------------------------------------------------------- */

static void put(struct str *out, uint64_t value, int bytes)
{
    for (int i = bytes - 1; i >= 0; i--) {
        str_addc(out, (char)(value >> (8 * i)));
    }
}

static void put_header(struct str *out, char version, uint32_t changes, uint32_t types,
                       uint32_t letters, uint32_t leaps)
{
    str_add(out, "TZif");
    str_addc(out, version);
    for (int i = 0; i < 15; i++) {
        str_addc(out, '\0');
    }
    put(out, 0, 4);
    put(out, 0, 4);
    put(out, leaps, 4);
    put(out, changes, 4);
    put(out, types, 4);
    put(out, letters, 4);
}

/* Two changes: at 1000 to +1 h "ONE", at 5000 to -30 min "HALF"; before that "LMT" +7 s. */
static void put_data(struct str *out, int time_bytes)
{
    put(out, 1000, time_bytes);
    put(out, 5000, time_bytes);
    str_addn(out, "\1\2", 2);
    put(out, 7, 4);
    str_addn(out, "\0\0", 2);
    put(out, 3600, 4);
    str_addn(out, "\1\4", 2);
    put(out, (uint64_t)-1800, 4);
    str_addn(out, "\0\10", 2);
    str_addn(out, "LMT\0ONE\0HALF\0", 13);
}

static void compose(struct str *out, char version, const char *footer)
{
    put_header(out, version, 2, 3, 13, 0);
    put_data(out, 4);
    if (version >= '2') {
        put_header(out, version, 2, 3, 13, 0);
        put_data(out, 8);
        str_addc(out, '\n');
        str_add(out, footer);
        str_addc(out, '\n');
    }
}

static void expect_local(const struct tz *tz, int64_t at, int offset, const char *abbreviation)
{
    struct tz_local local = tz_at(tz, at);
    cr_expect_eq(local.offset_s, offset, "%s at %lld: %d", tz_name(tz), (long long)at,
                 local.offset_s);
    cr_expect_str_eq(local.abbreviation, abbreviation);
}

static void expect_composed(const struct tz *tz)
{
    expect_local(tz, -5000000000LL, 7, "LMT");
    expect_local(tz, 999, 7, "LMT");
    expect_local(tz, 1000, 3600, "ONE");
    expect_local(tz, 4999, 3600, "ONE");
    expect_local(tz, 5000, -1800, "HALF");
    cr_expect(tz_at(tz, 1000).dst);
    cr_expect_not(tz_at(tz, 5000).dst);
    cr_expect_eq(tz_next_change(tz, -1), 1000);
    cr_expect_eq(tz_next_change(tz, 1000), 5000);
}

Test(tz, every_version_of_the_file_is_read)
{
    for (char version = '1'; version <= '4'; version++) {
        autostr struct str bytes = {0};
        autotz struct tz *tz = NULL;
        struct err err = {0};
        compose(&bytes, version == '1' ? '\0' : version, "");
        cr_assert_eq(tz_parse("Test/Zone", bytes.ptr, bytes.len, &tz, &err), 0, "%s", err.text);
        expect_composed(tz);
        expect_local(tz, 4000000000LL, -1800, "HALF");
        cr_expect_eq(tz_next_change(tz, 5000), TZ_NEVER);
    }
}

Test(tz, the_footer_speaks_for_later_years)
{
    autostr struct str bytes = {0};
    autotz struct tz *tz = NULL;
    compose(&bytes, '2', "CET-1CEST,M3.5.0,M10.5.0/3");
    cr_assert_eq(tz_parse("Test/Zone", bytes.ptr, bytes.len, &tz, NULL), 0);
    expect_local(tz, 1774745999, 3600, "CET"); /* 2026-03-29T00:59:59Z */
    expect_local(tz, 1774746000, 7200, "CEST");
    cr_expect_eq(tz_next_change(tz, 1774745999), 1774746000);
    cr_expect_eq(tz_next_change(tz, 1774746000), 1792890000); /* 2026-10-25T01:00:00Z */
    expect_local(tz, 1792889999, 7200, "CEST");
    expect_local(tz, 1792890000, 3600, "CET");
}

Test(tz, no_prefix_of_a_file_and_no_flipped_bit_does_harm)
{
    autostr struct str bytes = {0};
    compose(&bytes, '3', "<+01>-1<+02>,M3.5.0,J300/-3");
    for (size_t len = 0; len < bytes.len; len++) {
        autofree char *cut = malloc(len ? len : 1); /* exact, so that a sanitizer sees overruns */
        struct tz *tz = NULL;
        struct err err = {0};
        memcpy(cut, bytes.ptr, len);
        cr_expect_lt(tz_parse("Test/Zone", cut, len, &tz, &err), 0, "%zu", len);
        cr_expect_str_eq(err.name, "TimeZoneData");
    }
    for (size_t bit = 0; bit < bytes.len * 8; bit++) {
        autofree char *bent = malloc(bytes.len);
        autotz struct tz *tz = NULL;
        memcpy(bent, bytes.ptr, bytes.len);
        bent[bit / 8] ^= (char)(1 << bit % 8);
        if (tz_parse("Test/Zone", bent, bytes.len, &tz, NULL) == 0) {
            for (int64_t at = -10000; at < 2000000000; at += 123456789) {
                cr_expect_geq(strlen(tz_at(tz, at).abbreviation), 0);
                cr_expect_gt(tz_next_change(tz, at), at);
            }
        }
    }
}

Test(tz, a_file_that_counts_leap_seconds_is_refused)
{
    autostr struct str bytes = {0};
    struct tz *tz = NULL;
    struct err err = {0};
    put_header(&bytes, '\0', 0, 1, 4, 1);
    put(&bytes, 0, 4);
    str_addn(&bytes, "\0\0UTC\0", 6);
    put(&bytes, 78796800, 4);
    put(&bytes, 1, 4);
    cr_assert_lt(tz_parse("right/UTC", bytes.ptr, bytes.len, &tz, &err), 0);
    cr_expect(strstr(err.text, "leap seconds"), "%s", err.text);
}

/* --- rules ------------------------------------------------------------------------------------ */

Test(tz, rules_that_are_no_rules)
{
    static const char *const bad[] = {
        "",
        "C",
        "CET",
        "CE-1",
        "CET-1CEST",
        "CET-1CEST,",
        "CET-1CEST,M3.5.0",
        "CET-25",
        "CET-1CEST,M3.5.0,M10.5.0/168",
        "CET-1CEST,M0.5.0,M10.5.0",
        "CET-1CEST,M13.5.0,M10.5.0",
        "CET-1CEST,M3.0.0,M10.5.0",
        "CET-1CEST,M3.6.0,M10.5.0",
        "CET-1CEST,M3.5.7,M10.5.0",
        "CET-1CEST,J0,J365",
        "CET-1CEST,J1,J366",
        "CET-1CEST,0,366",
        "<+01-1",
        "<+0>-1",
        "CET-1CEST,M3.5.0,M10.5.0 ",
        "CET-1:60",
        "ABCDEFGHIJKLMNOPQRS0",
        ":Europe/Berlin",
    };
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct tz_rule rule;
        cr_expect_not(tz_rule_parse(bad[i], strlen(bad[i]), &rule), "%s", bad[i]);
    }
}

Test(tz, summer_time_all_year_has_no_edges)
{
    const char *text = "AAA3EDT4,0/0,J365/23"; /* of RFC 9636 */
    struct tz_rule rule;
    cr_assert(tz_rule_parse(text, strlen(text), &rule));
    for (int64_t at = 1700000000; at < 1900000000; at += 3600) {
        cr_assert(tz_rule_is_dst(&rule, at), "%lld", (long long)at);
    }
    cr_expect_eq(tz_rule_next(&rule, 1700000000), INT64_MAX);
}

static void set_libc_zone(const char *name)
{
    setenv("TZ", name, 1);
    tzset();
}

/* Offset and name at `at` as libc has it for $TZ. */
static void expect_libc(const struct tz *tz, int64_t at)
{
    time_t instant = (time_t)at;
    struct tm tm;
    cr_assert(localtime_r(&instant, &tm));
    struct tz_local local = tz_at(tz, at);
    cr_expect_eq(local.offset_s, tm.tm_gmtoff, "%s at %lld: %d, libc %ld", tz_name(tz),
                 (long long)at, local.offset_s, tm.tm_gmtoff);
    cr_expect_eq(local.dst, tm.tm_isdst > 0, "%s at %lld", tz_name(tz), (long long)at);
    cr_expect_str_eq(local.abbreviation, tm.tm_zone);
}

Test(tz, rules_agree_with_the_c_library)
{
    static const char *const rules[] = {
        "UTC0",
        "CET-1CEST,M3.5.0,M10.5.0/3",
        "EST5EDT,M3.2.0,M11.1.0",
        "<-03>3<-02>,M3.5.0/-2,M10.5.0/-1",
        "NZST-12NZDT,M9.5.0,M4.1.0/3",
        "AAA+2:30:15BBB1,J60/5,J300",
        "AAA-3BBB,59/1,300/-4:30",
        "IST-1GMT0,M10.5.0,M3.5.0/1",
    };
    for (size_t i = 0; i < ARRAY_LEN(rules); i++) {
        autostr struct str bytes = {0};
        autotz struct tz *tz = NULL;
        compose(&bytes, '2', rules[i]);
        cr_assert_eq(tz_parse(rules[i], bytes.ptr, bytes.len, &tz, NULL), 0, "%s", rules[i]);
        set_libc_zone(rules[i]);
        for (int64_t at = 100000; at < 4000000000LL; at += 1234567) {
            expect_libc(tz, at);
        }
    }
}

/* --- the system's zones ----------------------------------------------------------------------- */

static const char *const some_zones[] = {
    "Europe/Berlin",     "Europe/Dublin",       "America/New_York", "America/Sao_Paulo",
    "Asia/Kolkata",      "Australia/Lord_Howe", "Pacific/Apia",     "Pacific/Auckland",
    "Africa/Casablanca", "America/St_Johns",    "Antarctica/Troll", "Asia/Gaza",
    "America/Godthab",   "Asia/Pyongyang",      "America/Caracas",  "Africa/Monrovia",
};

Test(tz, zones_agree_with_the_c_library, .timeout = 60)
{
    if (!fs_is_dir("/usr/share/zoneinfo/Europe")) {
        cr_skip_test("skip: install tzdata");
    }
    for (size_t i = 0; i < ARRAY_LEN(some_zones); i++) {
        autotz struct tz *tz = NULL;
        struct err err = {0};
        cr_assert_eq(tz_load(some_zones[i], &tz, &err), 0, "%s", err.text);
        set_libc_zone(some_zones[i]);
        for (int64_t at = -2000000000; at < 5000000000LL; at += 777777) {
            expect_libc(tz, at);
        }
        int64_t change = tz_next_change(tz, -2000000000);
        for (int n = 0; n < 400 && change != TZ_NEVER; n++) {
            expect_libc(tz, change - 1);
            expect_libc(tz, change);
            cr_expect_neq(tz_at(tz, change - 1).offset_s, tz_at(tz, change).offset_s);
            change = tz_next_change(tz, change);
        }
    }
}

Test(tz, names_that_are_no_zones)
{
    static const char *const names[] = {
        "",
        "Europe/Nowhere",
        "../etc/passwd",
        "/etc/localtime",
        "Europe/../Europe/Berlin",
        "Europe",
        "europe berlin",
        "a\nb",
        "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
    };
    setenv("TZDIR", tmpdir(), 1);
    cr_assert_eq(fs_mkdirs(tmpdir_file("Europe"), 0755, NULL), 0);
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        struct tz *tz = NULL;
        struct err err = {0};
        cr_expect_lt(tz_load(names[i], &tz, &err), 0, "%s", names[i]);
        cr_expect_str_eq(err.name, "TimeZoneUnknown", "%s: %s", names[i], err.text);
    }
}

Test(tz, without_zone_files_there_is_utc_and_a_clear_word)
{
    autotz struct tz *tz = NULL;
    struct err err = {0};
    setenv("TZDIR", "/nonexistent/zoneinfo", 1);
    cr_assert_eq(tz_load("UTC", &tz, &err), 0);
    expect_local(tz, 1774746000, 0, "UTC");
    cr_expect_eq(tz_next_change(tz, 0), TZ_NEVER);
    struct tz *none = NULL;
    cr_assert_lt(tz_load("Europe/Berlin", &none, &err), 0);
    cr_expect_str_eq(err.name, "TimeZonesMissing");
    cr_expect(strstr(err.text, "tzdata"), "%s", err.text);
}
