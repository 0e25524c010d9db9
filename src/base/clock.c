/*
 * clock.c - see clock.h. Owns the clock vtable, RFC 3339 and durations in text.
 * Calendar arithmetic is done here (proleptic Gregorian, no leap seconds, no time zone files), so
 * it needs no libc state and gives the same answer everywhere. Tests: tests/unit/test_base_clock.c,
 * tests/fuzz/fuzz_time.c
 */
#include "base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define SECONDS_PER_DAY 86400LL

static int64_t system_now(clockid_t id)
{
    struct timespec now;
    clock_gettime(id, &now);
    return (int64_t)now.tv_sec * NS_PER_S + now.tv_nsec;
}

static int64_t system_wall(void *user is_unused)
{
    return system_now(CLOCK_REALTIME);
}

static int64_t system_mono(void *user is_unused)
{
    return system_now(CLOCK_MONOTONIC);
}

static int64_t system_boot(void *user is_unused)
{
    return system_now(CLOCK_BOOTTIME);
}

#define SYSTEM_CLOCK                                                                               \
    {                                                                                              \
        .wall_ns = system_wall, .mono_ns = system_mono, .boot_ns = system_boot                     \
    }
static const struct clock_vtable system_clock = SYSTEM_CLOCK;
static struct clock_vtable current = SYSTEM_CLOCK;

void clock_replace(const struct clock_vtable *vtable)
{
    current = vtable ? *vtable : system_clock;
}

int64_t clock_wall_ns(void)
{
    return current.wall_ns(current.user);
}

int64_t clock_mono_ns(void)
{
    return current.mono_ns(current.user);
}

int64_t clock_wall_of(const struct clock_vtable *clock)
{
    return clock ? clock->wall_ns(clock->user) : clock_wall_ns();
}

int64_t clock_mono_of(const struct clock_vtable *clock)
{
    return clock ? clock->mono_ns(clock->user) : clock_mono_ns();
}

/* --- one instant --- */

#define TRIES 8
#define HELD_UP_NS NS_PER_MS

static char boot_id[CLOCK_BOOT_ID_SIZE] = "unknown";
static pthread_once_t boot_id_once = PTHREAD_ONCE_INIT;

static void read_boot_id(void)
{
    char text[CLOCK_BOOT_ID_SIZE] = "";
    int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return;
    }
    ssize_t len = read(fd, text, sizeof(text) - 1);
    close(fd);
    text[strcspn(text, "\n")] = '\0';
    if (len > 0 && text[0]) {
        memcpy(boot_id, text, sizeof(boot_id));
    }
}

static const char *system_boot_id(void)
{
    pthread_once(&boot_id_once, read_boot_id);
    return boot_id;
}

static int64_t boot_of(const struct clock_vtable *clock)
{
    return clock->boot_ns ? clock->boot_ns(clock->user) : clock->mono_ns(clock->user);
}

struct clock_reading clock_read_of(const struct clock_vtable *clock)
{
    struct clock_reading r = {0};
    int64_t last_ns = 0;
    clock = clock ? clock : &current;
    for (int i = 0; i < TRIES && (i == 0 || last_ns - r.boot_ns > HELD_UP_NS); i++) {
        r.boot_ns = boot_of(clock);
        r.wall_ns = clock->wall_ns(clock->user);
        r.mono_ns = clock->mono_ns(clock->user);
        last_ns = boot_of(clock);
    }
    r.boot_id = clock->boot_id ? clock->boot_id(clock->user) : system_boot_id();
    return r;
}

struct timespec clock_deadline(int64_t ms)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += (time_t)(ms / 1000);
    until.tv_nsec += (long)(ms % 1000 * NS_PER_MS);
    if (until.tv_nsec >= NS_PER_S) {
        until.tv_nsec -= NS_PER_S;
        until.tv_sec++;
    }
    return until;
}

void clock_sleep_ms(int64_t ms)
{
    if (ms <= 0) {
        return;
    }
    struct timespec until = clock_deadline(ms);
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR) {
        /* the end is absolute: just go on */
    }
}

void clock_sleep_ns(int64_t ns)
{
    struct timespec left = {.tv_sec = (time_t)(ns / NS_PER_S), .tv_nsec = (long)(ns % NS_PER_S)};
    while (ns > 0 && clock_nanosleep(CLOCK_MONOTONIC, 0, &left, &left) == EINTR) {
    }
}

/* Years count from March so that leap days come last. */
int64_t date_to_days(int64_t year, int month, int day)
{
    year -= month <= 2;
    int64_t era = (year >= 0 ? year : year - 399) / 400;
    int64_t year_of_era = year - era * 400;
    int64_t day_of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
    int64_t day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    return era * 146097 + day_of_era - 719468;
}

void date_from_days(int64_t days, int *year, int *month, int *day)
{
    days += 719468;
    int64_t era = (days >= 0 ? days : days - 146096) / 146097;
    int64_t day_of_era = days - era * 146097;
    int64_t year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
    int64_t day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    int64_t from_march = (5 * day_of_year + 2) / 153;
    *day = (int)(day_of_year - (153 * from_march + 2) / 5 + 1);
    *month = (int)(from_march < 10 ? from_march + 3 : from_march - 9);
    *year = (int)(year_of_era + era * 400 + (*month <= 2));
}

static int64_t floor_div(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}

struct time_parts time_split(int64_t wall_ns)
{
    int64_t seconds = floor_div(wall_ns, NS_PER_S);
    int64_t ns = wall_ns % NS_PER_S;
    int64_t days = floor_div(seconds, SECONDS_PER_DAY);
    int64_t rest = seconds - days * SECONDS_PER_DAY;
    struct time_parts parts = {
        .hour = (int)(rest / 3600),
        .minute = (int)(rest / 60 % 60),
        .second = (int)(rest % 60),
        .ns = (int)(ns < 0 ? ns + NS_PER_S : ns),
    };
    date_from_days(days, &parts.year, &parts.month, &parts.day);
    return parts;
}

void time_format_rfc3339(struct str *out, int64_t wall_ns)
{
    struct time_parts t = time_split(wall_ns);
    str_addf(out, "%04d-%02d-%02dT%02d:%02d:%02d", t.year, t.month, t.day, t.hour, t.minute,
             t.second);
    if (t.ns % (int)NS_PER_US != 0) {
        str_addf(out, ".%09d", t.ns);
    } else if (t.ns % (int)NS_PER_MS != 0) {
        str_addf(out, ".%06d", t.ns / (int)NS_PER_US);
    } else if (t.ns != 0) {
        str_addf(out, ".%03d", t.ns / (int)NS_PER_MS);
    }
    str_addc(out, 'Z');
}

void time_format_sortable(struct str *out, int64_t wall_ns)
{
    struct time_parts t = time_split(wall_ns);
    str_addf(out, "%04d-%02d-%02dT%02d:%02d:%02d.%09dZ", t.year, t.month, t.day, t.hour, t.minute,
             t.second, t.ns);
}

/* --- reading RFC 3339 ------------------------------------------------------------------------ */

struct cursor {
    const char *at;
    const char *end;
};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool take_number(struct cursor *c, int digits, int low, int high, int *ret)
{
    if (c->end - c->at < digits) {
        return false;
    }
    int value = 0;
    for (int i = 0; i < digits; i++) {
        if (!is_digit(c->at[i])) {
            return false;
        }
        value = value * 10 + (c->at[i] - '0');
    }
    c->at += digits;
    *ret = value;
    return value >= low && value <= high;
}

static bool take_byte(struct cursor *c, char one, char other)
{
    if (c->at == c->end || (*c->at != one && *c->at != other)) {
        return false;
    }
    c->at++;
    return true;
}

static bool take_fraction(struct cursor *c, int64_t *ret_ns)
{
    *ret_ns = 0;
    if (!take_byte(c, '.', '.')) {
        return true;
    }
    int digits = 0;
    while (c->at < c->end && is_digit(*c->at) && digits < 9) {
        *ret_ns = *ret_ns * 10 + (*c->at++ - '0');
        digits++;
    }
    if (digits == 0) {
        return false;
    }
    for (; digits < 9; digits++) {
        *ret_ns *= 10;
    }
    return true;
}

static bool take_zone(struct cursor *c, int64_t *ret_seconds)
{
    *ret_seconds = 0;
    if (take_byte(c, 'Z', 'z')) {
        return true;
    }
    bool west = c->at < c->end && *c->at == '-';
    int hours = 0;
    int minutes = 0;
    if (!take_byte(c, '+', '-') || !take_number(c, 2, 0, 23, &hours) || !take_byte(c, ':', ':') ||
        !take_number(c, 2, 0, 59, &minutes)) {
        return false;
    }
    *ret_seconds = (hours * 60 + minutes) * 60 * (west ? -1 : 1);
    return true;
}

static int days_in_month(int year, int month)
{
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    return days[month - 1] + (month == 2 && leap);
}

bool time_parse_rfc3339(const char *text, size_t len, int64_t *ret_wall_ns)
{
    struct cursor c = {text, text + len};
    int year = 0;
    int month = 0;
    int day = 0;
    int hour = 0;
    int minute = 0;
    int second = 0;
    int64_t fraction = 0;
    int64_t offset = 0;
    if (!take_number(&c, 4, 0, 9999, &year) || !take_byte(&c, '-', '-') ||
        !take_number(&c, 2, 1, 12, &month) || !take_byte(&c, '-', '-') ||
        !take_number(&c, 2, 1, days_in_month(year, month), &day) || !take_byte(&c, 'T', 't') ||
        !take_number(&c, 2, 0, 23, &hour) || !take_byte(&c, ':', ':') ||
        !take_number(&c, 2, 0, 59, &minute) || !take_byte(&c, ':', ':') ||
        !take_number(&c, 2, 0, 59, &second) || !take_fraction(&c, &fraction) ||
        !take_zone(&c, &offset) || c.at != c.end) {
        return false;
    }
    int64_t seconds = date_to_days(year, month, day) * SECONDS_PER_DAY + hour * 3600LL +
                      minute * 60LL + second - offset;
    /* the last second before the epoch of the range only fits together with its fraction */
    __int128 wall = (__int128)seconds * NS_PER_S + fraction;
    if (wall < INT64_MIN || wall > INT64_MAX) {
        return false;
    }
    *ret_wall_ns = (int64_t)wall;
    return true;
}

/* --- durations ------------------------------------------------------------------------------- */

static const struct unit {
    const char *name;
    int64_t ns;
} units[] = {
    /* from large to small; a longer name before its prefix */
    {"d", SECONDS_PER_DAY *NS_PER_S},
    {"h", 3600 * NS_PER_S},
    {"ms", NS_PER_MS},
    {"m", 60 * NS_PER_S},
    {"s", NS_PER_S},
    {"us", NS_PER_US},
    {"ns", 1},
};

static const struct unit *take_unit(const char **at)
{
    for (size_t i = 0; i < ARRAY_LEN(units); i++) {
        size_t len = strlen(units[i].name);
        if (strncmp(*at, units[i].name, len) == 0) {
            *at += len;
            return &units[i];
        }
    }
    return NULL;
}

/* "12" or "12.345": whole part and fraction in 1/10^9, further digits dropped. */
static bool take_decimal(const char **at, int64_t *ret_whole, int64_t *ret_billionths)
{
    *ret_whole = 0;
    *ret_billionths = 0;
    if (!is_digit(**at)) {
        return false;
    }
    while (is_digit(**at)) {
        if (__builtin_mul_overflow(*ret_whole, 10, ret_whole) ||
            __builtin_add_overflow(*ret_whole, *(*at)++ - '0', ret_whole)) {
            return false;
        }
    }
    if (**at != '.') {
        return true;
    }
    (*at)++;
    if (!is_digit(**at)) {
        return false;
    }
    for (int64_t worth = NS_PER_S / 10; is_digit(**at); (*at)++, worth /= 10) {
        *ret_billionths += (**at - '0') * worth;
    }
    return true;
}

bool duration_parse(const char *text, int64_t *ret_ns)
{
    __int128 total = 0;
    int64_t last_unit = INT64_MAX;
    const char *at = text;
    do {
        int64_t whole = 0;
        int64_t billionths = 0;
        if (!take_decimal(&at, &whole, &billionths)) {
            return false;
        }
        const struct unit *unit = take_unit(&at);
        if (!unit || unit->ns >= last_unit) { /* "5s5s" and "1m1h" are slips, not durations */
            return false;
        }
        last_unit = unit->ns;
        total += (__int128)whole * unit->ns + (__int128)billionths * unit->ns / NS_PER_S;
        if (total > INT64_MAX) {
            return false;
        }
    } while (*at != '\0');
    *ret_ns = (int64_t)total;
    return true;
}

void duration_format(struct str *out, int64_t ns)
{
    uint64_t left = ns < 0 ? 0 - (uint64_t)ns : (uint64_t)ns;
    if (ns < 0) {
        str_addc(out, '-');
    }
    uint64_t tenths = (left + NS_PER_S / 20) / (NS_PER_S / 10);
    uint64_t seconds = tenths / 10;
    if (seconds < 60) {
        str_addf(out, "%" PRIu64 ".%" PRIu64 "s", seconds, tenths % 10);
    } else if (seconds < 3600) {
        str_addf(out, "%" PRIu64 "m %02" PRIu64 "s", seconds / 60, seconds % 60);
    } else if (seconds < (uint64_t)SECONDS_PER_DAY) {
        str_addf(out, "%" PRIu64 "h %02" PRIu64 "m", seconds / 3600, seconds / 60 % 60);
    } else {
        str_addf(out, "%" PRIu64 "d %02" PRIu64 "h", seconds / (uint64_t)SECONDS_PER_DAY,
                 seconds / 3600 % 24);
    }
}
