/*
 * cron.c - see cron.h. A rule is a bit set for each field; local times that it allows are found by
 * walking days. A zone is walked in stretches of constant offset, in which local time is UTC plus a
 * number; only the edges between stretches need thought:
 *
 *     forwards  (gap)     ... 01:59:59 | 03:00:00 ...   a fixed hour in the gap fires at the edge
 *     backwards (twice)   ... 02:59:59 | 02:00:00 ...   fixed hours begin again at 03:00:00
 *
 * Tests: tests/unit/test_base_cron.c, tests/fuzz/fuzz_tz.c
 */
#include "base/cron.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"

#define DAY_S 86400LL
#define YEAR_FIRST 1970
#define YEAR_LAST 2260
#define YEAR_COUNT (YEAR_LAST - YEAR_FIRST + 1)

struct cron {
    struct tz *zone;
    int64_t every_s; /* "@every"; 0: the fields below */
    uint64_t seconds, minutes;
    uint32_t hours, days, months, weekdays; /* bit 1 is the first day, January; bit 0 is Sunday */
    bool any_day, any_weekday;              /* "*": does not restrict */
    bool has_seconds;
    uint8_t years[YEAR_COUNT];
};

/* --- reading ---------------------------------------------------------------------------------- */

/* Where reading is, in a text that errors show whole. */
struct reader {
    const char *text;
    const char *at;
    struct err *err;
};

struct field {
    const char *name;
    int low, high;
    const char *const *words; /* of low, low + 1, ...; or NULL */
    size_t word_count;
};

static const char *const month_words[] = {"jan", "feb", "mar", "apr", "may", "jun",
                                          "jul", "aug", "sep", "oct", "nov", "dec"};
static const char *const weekday_words[] = {"sun", "mon", "tue", "wed", "thu", "fri", "sat"};

enum { SECOND, MINUTE, HOUR, DAY, MONTH, WEEKDAY, YEAR, FIELD_COUNT };
static const struct field fields[FIELD_COUNT] = {
    [SECOND] = {"second", 0, 59, NULL, 0},
    [MINUTE] = {"minute", 0, 59, NULL, 0},
    [HOUR] = {"hour", 0, 23, NULL, 0},
    [DAY] = {"day of month", 1, 31, NULL, 0},
    [MONTH] = {"month", 1, 12, month_words, ARRAY_LEN(month_words)},
    [WEEKDAY] = {"day of week", 0, 7, weekday_words, ARRAY_LEN(weekday_words)},
    [YEAR] = {"year", YEAR_FIRST, YEAR_LAST, NULL, 0},
};

static int fail(const struct reader *r, const char *what)
{
    return err_set(r->err, ERR_PERMANENT, "BadCron", "cron \"%s\", column %d: %s", r->text,
                   (int)(r->at - r->text) + 1, what);
}

static int fail_field(const struct reader *r, const struct field *field)
{
    autostr struct str what = {0};
    str_addf(&what, "%s is a number from %d to %d", field->name, field->low, field->high);
    if (field->words) {
        str_addf(&what, " or a name (%s ...)", field->words[0]);
    }
    return fail(r, str_c(&what));
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

static void skip_blanks(struct reader *r)
{
    while (is_blank(*r->at)) {
        r->at++;
    }
}

static bool take_digits(struct reader *r, int max, int *ret)
{
    const char *start = r->at;
    int value = 0;
    while (*r->at >= '0' && *r->at <= '9') {
        value = value * 10 + (*r->at++ - '0');
        if (value > max) {
            r->at = start;
            return false;
        }
    }
    *ret = value;
    return r->at > start;
}

static int take_value(struct reader *r, const struct field *field, int *ret)
{
    for (size_t i = 0; i < field->word_count; i++) {
        if (strncasecmp(r->at, field->words[i], 3) == 0) {
            r->at += 3;
            *ret = field->low + (int)i;
            return 0;
        }
    }
    const char *start = r->at;
    if (!take_digits(r, field->high, ret) || *ret < field->low) {
        r->at = start;
        return fail_field(r, field);
    }
    return 0;
}

static void set_value(struct cron *cron, int which, int value)
{
    switch (which) {
    case SECOND:
        cron->seconds |= 1ULL << value;
        break;
    case MINUTE:
        cron->minutes |= 1ULL << value;
        break;
    case HOUR:
        cron->hours |= 1U << value;
        break;
    case DAY:
        cron->days |= 1U << value;
        break;
    case MONTH:
        cron->months |= 1U << value;
        break;
    case WEEKDAY:
        cron->weekdays |= 1U << value % 7;
        break;
    default:
        cron->years[value - YEAR_FIRST] = 1;
        break;
    }
}

static void set_every(struct cron *cron, int which)
{
    for (int value = fields[which].low; value <= fields[which].high; value++) {
        set_value(cron, which, value);
    }
}

/* "*", "5", "1-5", each with "/STEP". */
static int take_range(struct reader *r, struct cron *cron, int which)
{
    const struct field *field = &fields[which];
    int from = field->low;
    int to = which == WEEKDAY ? 6 : field->high;
    const char *start = r->at;
    bool any = *r->at == '*' || *r->at == '?';
    bool single = false;
    if (any) {
        r->at++;
    } else {
        if (take_value(r, field, &from)) {
            return -1;
        }
        single = *r->at != '-';
        if (!single) {
            r->at++;
            if (take_value(r, field, &to)) {
                return -1;
            }
            if (which == WEEKDAY && to == 0 && from > 0) {
                to = 7; /* fri-sun */
            }
        }
    }
    int step = 1;
    bool stepped = *r->at == '/';
    if (stepped) {
        const char *digits = ++r->at;
        if (!take_digits(r, field->high, &step) || step < 1) {
            r->at = digits;
            return fail(r, "a step is a number of at least 1 that fits the field");
        }
    }
    if (single && !stepped) {
        to = from;
    }
    if (from > to) {
        r->at = start;
        return fail(r, "a range begins with its smaller end");
    }
    for (int value = from; value <= to; value += step) {
        set_value(cron, which, value);
    }
    return 0;
}

static int take_field(struct reader *r, struct cron *cron, int which)
{
    bool any = (*r->at == '*' || *r->at == '?') && (r->at[1] == '\0' || is_blank(r->at[1]));
    cron->any_day |= any && which == DAY;
    cron->any_weekday |= any && which == WEEKDAY;
    for (;;) {
        if (take_range(r, cron, which)) {
            return -1;
        }
        if (*r->at != ',') {
            break;
        }
        r->at++;
    }
    if (*r->at && !is_blank(*r->at)) {
        return fail_field(r, &fields[which]);
    }
    skip_blanks(r);
    return 0;
}

static int take_fields(struct reader *r, struct cron *cron)
{
    size_t count = 0;
    for (const char *at = r->at; *at;) {
        count++;
        at += strcspn(at, " \t");
        at += strspn(at, " \t");
    }
    if (count < 5 || count > 7) {
        return fail(r, "a rule has 5 fields (minute, hour, day of month, month, day of week), 6 "
                       "(then year) or 7 (second first)");
    }
    cron->has_seconds = count == 7;
    if (cron->has_seconds) {
        if (take_field(r, cron, SECOND)) {
            return -1;
        }
    } else {
        set_value(cron, SECOND, 0);
    }
    for (int which = MINUTE; which <= WEEKDAY; which++) {
        if (take_field(r, cron, which)) {
            return -1;
        }
    }
    if (count > 5) {
        return take_field(r, cron, YEAR);
    }
    set_every(cron, YEAR);
    return 0;
}

static int take_every(struct reader *r, struct cron *cron)
{
    int64_t ns;
    skip_blanks(r);
    if (!duration_parse(r->at, &ns) || ns < NS_PER_S || ns % NS_PER_S != 0) {
        return fail(r, "@every takes a duration of whole seconds, such as 90s or 1h30m");
    }
    cron->every_s = ns / NS_PER_S;
    return 0;
}

static int take_macro(struct reader *r, struct cron *cron)
{
    static const struct {
        const char *name;
        const char *rule;
    } macros[] = {
        {"@yearly", "0 0 1 1 *"}, {"@annually", "0 0 1 1 *"}, {"@monthly", "0 0 1 * *"},
        {"@weekly", "0 0 * * 0"}, {"@daily", "0 0 * * *"},    {"@midnight", "0 0 * * *"},
        {"@hourly", "0 * * * *"},
    };
    if (strncmp(r->at, "@every", 6) == 0 && is_blank(r->at[6])) {
        r->at += 6;
        return take_every(r, cron);
    }
    for (size_t i = 0; i < ARRAY_LEN(macros); i++) {
        if (strcmp(r->at, macros[i].name) == 0) {
            struct reader rule = {macros[i].rule, macros[i].rule, r->err};
            return take_fields(&rule, cron);
        }
    }
    return fail(r, "known are @yearly @annually @monthly @weekly @daily @midnight @hourly and "
                   "@every DURATION");
}

/* "CRON_TZ=Europe/Berlin " */
static int take_zone(struct reader *r, struct cron *cron, const char *zone)
{
    size_t prefix = strncmp(r->at, "CRON_TZ=", 8) == 0 ? 8 : strncmp(r->at, "TZ=", 3) == 0 ? 3 : 0;
    if (!prefix) {
        return tz_load(zone ? zone : "UTC", &cron->zone, r->err);
    }
    r->at += prefix;
    size_t len = strcspn(r->at, " \t");
    autofree char *name = mem_strndup(r->at, len);
    if (tz_load(name, &cron->zone, r->err)) {
        return err_wrap(r->err, "cron \"%s\", column %d", r->text, (int)(r->at - r->text) + 1);
    }
    r->at += len;
    skip_blanks(r);
    return 0;
}

/* Up to its comment, without blanks at the end; NULL when it is too long or not one line. */
static char *without_comment(const char *text)
{
    size_t len = strlen(text);
    if (len > CRON_TEXT_MAX || !utf8_valid(text, len) || strpbrk(text, "\r\n")) {
        return NULL;
    }
    len = strcspn(text, "#");
    while (len > 0 && is_blank(text[len - 1])) {
        len--;
    }
    return mem_strndup(text, len);
}

int cron_parse(const char *text, const char *zone, struct cron **ret, struct err *err)
{
    autofree char *copy = without_comment(text);
    if (!copy) {
        return err_set(err, ERR_PERMANENT, "BadCron",
                       "a cron rule is one line of UTF-8 of at most %d bytes", CRON_TEXT_MAX);
    }
    autocron struct cron *cron = mem_alloc(sizeof(*cron));
    struct reader r = {copy, copy, err};
    skip_blanks(&r);
    if (take_zone(&r, cron, zone) ||
        (*r.at == '@' ? take_macro(&r, cron) : take_fields(&r, cron))) {
        return -1;
    }
    if (cron_next(cron, -1) == CRON_NEVER) {
        return fail(&r, "this never happens: no such day");
    }
    *ret = steal(&cron);
    return 0;
}

struct cron *cron_free(struct cron *cron)
{
    if (cron) {
        tz_free(cron->zone);
        free(cron);
    }
    return NULL;
}

/* --- finding ---------------------------------------------------------------------------------- */

static int64_t floor_div(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}

/* Lowest member of the set that is not below `from`; -1: none. */
static int next_member(uint64_t set, int from)
{
    uint64_t rest = from < 64 ? set >> from << from : 0;
    return rest ? __builtin_ctzll(rest) : -1;
}

/* First second of the day at or after `from` that the rule allows; -1: none. */
static int64_t next_in_day(const struct cron *cron, int64_t from)
{
    int hour = (int)(from / 3600);
    int minute = (int)(from / 60 % 60);
    int second = next_member(cron->seconds, (int)(from % 60));
    if (!(cron->hours & 1U << hour) || !(cron->minutes & 1ULL << minute) || second < 0) {
        second = next_member(cron->seconds, 0);
        minute = cron->hours & 1U << hour ? next_member(cron->minutes, minute + 1) : -1;
        if (minute < 0) {
            minute = next_member(cron->minutes, 0);
            hour = next_member(cron->hours, hour + 1);
            if (hour < 0) {
                return -1;
            }
        }
    }
    return hour * 3600LL + minute * 60LL + second;
}

static bool day_fits(const struct cron *cron, int64_t days, int day)
{
    bool by_day = cron->days & 1U << day;
    bool by_weekday = cron->weekdays & 1U << ((days + 4) % 7 + 7) % 7;
    return cron->any_day || cron->any_weekday ? by_day && by_weekday : by_day || by_weekday;
}

/* First local second in [from, until) that the rule allows; CRON_NEVER: none. */
static int64_t next_local(const struct cron *cron, int64_t from, int64_t until)
{
    int64_t days = floor_div(from, DAY_S);
    int64_t second = from - days * DAY_S;
    while (days * DAY_S < until) {
        int year;
        int month;
        int day;
        date_from_days(days, &year, &month, &day);
        if (year > YEAR_LAST) {
            break;
        }
        if (year < YEAR_FIRST || !cron->years[year - YEAR_FIRST]) {
            days = date_to_days(year + 1, 1, 1);
        } else if (!(cron->months & 1U << month)) {
            days = month == 12 ? date_to_days(year + 1, 1, 1) : date_to_days(year, month + 1, 1);
        } else {
            int64_t found = day_fits(cron, days, day) ? next_in_day(cron, second) : -1;
            if (found >= 0) {
                int64_t at = days * DAY_S + found;
                return at < until ? at : CRON_NEVER;
            }
            days++;
        }
        second = 0;
    }
    return CRON_NEVER;
}

/* Where the stretch of constant offset that holds at utc_s began, as far as its beginning matters
 * for utc_s: local times before the result have come already. */
static int64_t not_before(const struct cron *cron, int64_t utc_s, int32_t offset_s)
{
    /* clocks are put back by at most a day: a change that matters is not farther away */
    for (int64_t at = utc_s - DAY_S;;) {
        int32_t before = tz_at(cron->zone, at).offset_s;
        int64_t change = tz_next_change(cron->zone, at);
        if (change > utc_s) {
            return INT64_MIN;
        }
        if (tz_next_change(cron->zone, change) > utc_s) {
            return before > offset_s ? change + before : INT64_MIN;
        }
        at = change;
    }
}

bool cron_has_fixed_hours(const struct cron *cron)
{
    return !cron->every_s && cron->hours != 0xffffff;
}

static int64_t next_by_fields(const struct cron *cron, int64_t after_s)
{
    bool fixed = cron_has_fixed_hours(cron);
    int64_t from = after_s; /* UTC; its stretch, because the next one's edge may be what fires */
    int32_t offset = tz_at(cron->zone, from).offset_s;
    int64_t local = from + 1 + offset;
    if (fixed) {
        int64_t begin = not_before(cron, from, offset);
        local = begin > local ? begin : local;
    }
    int64_t last = date_to_days(YEAR_LAST + 1, 1, 1) * DAY_S;
    while (from < last) {
        int64_t change = tz_next_change(cron->zone, from);
        int64_t until = change == TZ_NEVER ? last + DAY_S : change + offset;
        int64_t found = next_local(cron, local, until);
        if (found != CRON_NEVER) {
            return found - offset;
        }
        if (change == TZ_NEVER) {
            break;
        }
        int32_t next = tz_at(cron->zone, change).offset_s;
        if (fixed && next > offset && next_local(cron, until, change + next) != CRON_NEVER) {
            return change;
        }
        from = change;
        local = change + (fixed && next < offset ? offset : next);
        offset = next;
    }
    return CRON_NEVER;
}

/* Whole seconds to nanoseconds; what does not fit never happens. */
static int64_t from_seconds(int64_t s)
{
    return s > INT64_MAX / NS_PER_S ? CRON_NEVER : s * NS_PER_S;
}

int64_t cron_next_since(const struct cron *cron, int64_t start_ns, int64_t after_ns)
{
    int64_t after_s = floor_div(after_ns, NS_PER_S);
    if (cron->every_s) {
        int64_t start_s = floor_div(start_ns, NS_PER_S);
        int64_t passed = floor_div(after_s - start_s, cron->every_s);
        return from_seconds(start_s + (passed + 1) * cron->every_s);
    }
    int64_t next = next_by_fields(cron, after_s);
    return next == CRON_NEVER ? CRON_NEVER : from_seconds(next);
}

int64_t cron_next(const struct cron *cron, int64_t after_ns)
{
    return cron_next_since(cron, after_ns, after_ns);
}

bool cron_covers(const struct cron *cron, int64_t ns)
{
    int64_t utc_s = floor_div(ns, NS_PER_S);
    int64_t local = utc_s + tz_at(cron->zone, utc_s).offset_s;
    if (cron->every_s) {
        return false;
    }
    if (!cron->has_seconds) {
        local = floor_div(local, 60) * 60;
    }
    return next_local(cron, local, local + 1) == local;
}

int64_t cron_covers_until(const struct cron *cron, int64_t ns)
{
    int64_t utc_s = floor_div(ns, NS_PER_S);
    int64_t step = cron->has_seconds ? 1 : 60;
    int32_t offset = tz_at(cron->zone, utc_s).offset_s;
    return from_seconds((floor_div(utc_s + offset, step) + 1) * step - offset);
}

int64_t cron_interval_ns(const struct cron *cron)
{
    return cron->every_s * NS_PER_S;
}

const struct tz *cron_zone(const struct cron *cron)
{
    return cron->zone;
}
