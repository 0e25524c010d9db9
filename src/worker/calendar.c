/*
 * calendar.c - see calendar.h.
 * Tests: tests/unit/test_worker_calendar.c
 */
#include "worker/calendar.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/cron.h"
#include "base/digest.h"
#include "base/mem.h"
#include "base/str.h"

#define RULES_MAX 100         /* a schedule that needs more is two schedules */
#define EXCEPTIONS_MAX 100000 /* times in a row that are left out: then it is over */
#define DAY_S 86400

struct interval {
    int64_t every_ns;
    int64_t phase_ns;
};

struct calendar {
    struct cron **rules;
    size_t rule_count;
    struct interval *intervals;
    size_t interval_count;
    struct cron **except;
    size_t except_count;
    struct tz *zone; /* of intervals */
    int64_t start_ns, end_ns;
    int64_t jitter_ns;
};

/* --- making ----------------------------------------------------------------------------------- */

static int read_rules(const char *const *texts, const char *zone, struct cron ***ret,
                      size_t *ret_count, struct err *err)
{
    size_t count = 0;
    while (texts && texts[count]) {
        count++;
    }
    if (count > RULES_MAX) {
        return err_set(err, ERR_PERMANENT, "BadSchedule", "a schedule has at most %d cron texts",
                       RULES_MAX);
    }
    *ret = mem_array(count + 1, sizeof(**ret));
    for (*ret_count = 0; *ret_count < count; (*ret_count)++) {
        if (cron_parse(texts[*ret_count], zone, &(*ret)[*ret_count], err)) {
            return -1;
        }
    }
    return 0;
}

static int read_intervals(struct calendar *c, const dur_interval *list, struct err *err)
{
    size_t count = 0;
    while (list && list[count].every_ms != 0) {
        count++;
    }
    c->intervals = mem_array(count + 1, sizeof(*c->intervals));
    for (size_t i = 0; i < count; i++) {
        const dur_interval *given = &list[i];
        if (count > RULES_MAX || given->every_ms < 1000 || given->every_ms > 36500 * DUR_DAYS ||
            given->phase_ms < 0 || given->phase_ms >= given->every_ms) {
            return err_set(err, ERR_PERMANENT, "BadSchedule",
                           "an interval is a second at least and 100 years at most, its phase "
                           "shorter than it; there are at most %d",
                           RULES_MAX);
        }
        c->intervals[c->interval_count++] =
            (struct interval){given->every_ms * NS_PER_MS, given->phase_ms * NS_PER_MS};
    }
    return 0;
}

int calendar_new(const dur_schedule *s, struct calendar **ret, struct err *err)
{
    autocalendar struct calendar *c = mem_alloc(sizeof(*c));
    if (s->start_ns < 0 || s->end_ns < 0 || (s->end_ns > 0 && s->end_ns < s->start_ns)) {
        return err_set(err, ERR_PERMANENT, "BadSchedule", "a schedule ends after it begins");
    }
    if (s->jitter_ms < 0 || s->jitter_ms > 366 * DUR_DAYS) {
        return err_set(err, ERR_PERMANENT, "BadSchedule", "a jitter lies between 0 and a year");
    }
    c->start_ns = s->start_ns;
    c->end_ns = s->end_ns ? s->end_ns : CALENDAR_NEVER;
    c->jitter_ns = s->jitter_ms * NS_PER_MS;
    if (tz_load(s->time_zone ? s->time_zone : "UTC", &c->zone, err) ||
        read_rules(s->cron, s->time_zone, &c->rules, &c->rule_count, err) ||
        read_rules(s->except, s->time_zone, &c->except, &c->except_count, err) ||
        read_intervals(c, s->intervals, err)) {
        return -1;
    }
    for (size_t i = 0; i < c->except_count; i++) {
        if (cron_interval_ns(c->except[i])) {
            return err_set(err, ERR_PERMANENT, "BadSchedule",
                           "an exception names minutes, such as \"* * 25 12 *\", not @every");
        }
    }
    *ret = steal(&c);
    return 0;
}

static void free_rules(struct cron **rules, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        cron_free(rules[i]);
    }
    free(rules);
}

struct calendar *calendar_free(struct calendar *c)
{
    if (c) {
        free_rules(c->rules, c->rule_count);
        free_rules(c->except, c->except_count);
        free(c->intervals);
        tz_free(c->zone);
        free(c);
    }
    return NULL;
}

/* --- asking ----------------------------------------------------------------------------------- */

bool calendar_is_empty(const struct calendar *c)
{
    return c->rule_count == 0 && c->interval_count == 0;
}

static int64_t next_in_interval(const struct interval *interval, int64_t after_ns)
{
    int64_t since = after_ns - interval->phase_ns;
    int64_t passed = since / interval->every_ns - (since % interval->every_ns < 0);
    int64_t next;
    if (__builtin_mul_overflow(passed + 1, interval->every_ns, &next) ||
        __builtin_add_overflow(next, interval->phase_ns, &next)) {
        return CALENDAR_NEVER;
    }
    return next;
}

/* Exceptions aside. *ret_rule: the rule that names it, NULL: an interval. */
static int64_t next_named(const struct calendar *c, int64_t after_ns, const struct cron **ret_rule)
{
    int64_t best = CALENDAR_NEVER;
    *ret_rule = NULL;
    for (size_t i = 0; i < c->rule_count; i++) {
        int64_t next = cron_next_since(c->rules[i], 0, after_ns);
        if (next < best) {
            best = next;
            *ret_rule = c->rules[i];
        }
    }
    for (size_t i = 0; i < c->interval_count; i++) {
        int64_t next = next_in_interval(&c->intervals[i], after_ns);
        if (next < best) {
            best = next;
            *ret_rule = NULL;
        }
    }
    return best;
}

/* ns when no exception names it, else the instant before which all are left out. */
static int64_t after_exceptions(const struct calendar *c, int64_t ns)
{
    for (size_t i = 0; i < c->except_count; i++) {
        if (cron_covers(c->except[i], ns)) {
            return cron_covers_until(c->except[i], ns);
        }
    }
    return ns;
}

int64_t calendar_next(const struct calendar *c, int64_t after_ns)
{
    const struct cron *rule;
    if (after_ns < c->start_ns) {
        after_ns = c->start_ns - 1;
    }
    for (int i = 0; i < EXCEPTIONS_MAX; i++) {
        int64_t next = next_named(c, after_ns, &rule);
        if (next > c->end_ns || next == CALENDAR_NEVER) {
            break;
        }
        int64_t allowed = after_exceptions(c, next);
        if (allowed == next) {
            return next;
        }
        after_ns = allowed - 1;
    }
    return CALENDAR_NEVER;
}

int64_t calendar_due(const struct calendar *c, const char *name, int64_t nominal_ns)
{
    if (c->jitter_ns == 0 || nominal_ns == CALENDAR_NEVER) {
        return nominal_ns;
    }
    int64_t next = calendar_next(c, nominal_ns);
    int64_t span = next != CALENDAR_NEVER && next - nominal_ns < c->jitter_ns ? next - nominal_ns
                                                                              : c->jitter_ns;
    autostr struct str seed = {0};
    uint8_t digest[SHA256_BYTES];
    uint64_t chance = 0;
    str_addf(&seed, "%lld ", (long long)nominal_ns);
    str_add(&seed, name);
    sha256_bytes(seed.ptr, seed.len, digest);
    for (int i = 0; i < 8; i++) {
        chance = chance << 8 | digest[i];
    }
    /* whole milliseconds: the delay is read by people */
    int64_t ms = span / NS_PER_MS;
    return nominal_ns + (ms > 0 ? (int64_t)(chance % (uint64_t)ms) * NS_PER_MS : 0);
}

static dur_edge edge_at(const struct tz *zone, int64_t utc_s, bool is_in_gap)
{
    int32_t offset = tz_at(zone, utc_s).offset_s;
    int64_t change = tz_next_change(zone, utc_s);
    if (is_in_gap) {
        return DUR_EDGE_GAP;
    }
    if (change != TZ_NEVER && change - utc_s <= DAY_S &&
        utc_s + offset >= change + tz_at(zone, change).offset_s) {
        return DUR_EDGE_FIRST;
    }
    for (int64_t at = tz_next_change(zone, utc_s - DAY_S); at <= utc_s;
         at = tz_next_change(zone, at)) {
        if (utc_s + offset < at + tz_at(zone, at - 1).offset_s) {
            return DUR_EDGE_SECOND;
        }
    }
    return DUR_EDGE_NONE;
}

void calendar_tell(const struct calendar *c, int64_t nominal_ns, dur_schedule_time *ret)
{
    const struct cron *rule;
    next_named(c, nominal_ns - 1, &rule);
    const struct tz *zone = rule ? cron_zone(rule) : c->zone;
    int64_t utc_s = nominal_ns / NS_PER_S - (nominal_ns % NS_PER_S < 0);
    struct tz_local local = tz_at(zone, utc_s);
    bool is_in_gap = rule && !cron_interval_ns(rule) && !cron_covers(rule, nominal_ns);
    *ret = (dur_schedule_time){
        .nominal_ns = nominal_ns,
        .due_ns = nominal_ns,
        .offset_s = local.offset_s,
        .zone = tz_name(zone),
        .abbreviation = local.abbreviation,
        .edge = edge_at(zone, utc_s, is_in_gap),
    };
}
