/*
 * tz.c - see tz.h. A zone file is: header, data with 4-byte times (skipped when there is more),
 * and from version 2 on a second header, the same data with 8-byte times, and a footer with the
 * rule for all later years. Every count is checked against the bytes that are there before anything
 * is read, every index against its table, and times must ascend.
 * Tests: tests/unit/test_base_tz.c, tests/fuzz/fuzz_tz.c
 */
#include "base/tz.h"

#include <stdlib.h>
#include <string.h>

#include "base/fs.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/tz_rule.h"

#define ZONE_DIRECTORY "/usr/share/zoneinfo"
#define ZONE_FILE_MAX ((size_t)1 << 20) /* the largest real one has 4 KiB */
#define ZONE_NAME_MAX 64
#define HEADER_BYTES 44
#define OFFSET_MAX_S 93599          /* RFC 9636: -24:59:59 to 25:59:59 */
#define LAST_CHANGE_S 13601088000LL /* 2401-01-01: nobody asks beyond int64 nanoseconds */

struct change {
    int64_t at_s;
    uint8_t type;
};

struct type {
    int32_t offset_s;
    bool dst;
    const char *abbreviation; /* into letters */
};

struct tz {
    char *name;
    struct change *changes; /* ascending */
    size_t change_count;
    struct type *types; /* at least one: types[0] holds before the first change */
    size_t type_count;
    char *letters; /* abbreviations, each NUL-terminated */
    bool has_rule; /* for what comes after the last change */
    struct tz_rule rule;
};

/* --- reading a zone file ---------------------------------------------------------------------- */

struct cursor {
    const unsigned char *at;
    size_t left;
};

struct header {
    char version;
    uint32_t isut, isstd, leap, time, type, letter;
};

static uint64_t big_endian(const unsigned char *bytes, size_t count)
{
    uint64_t value = 0;
    for (size_t i = 0; i < count; i++) {
        value = value << 8 | bytes[i];
    }
    return value;
}

static bool take_header(struct cursor *c, struct header *ret)
{
    if (c->left < HEADER_BYTES || memcmp(c->at, "TZif", 4) != 0) {
        return false;
    }
    const unsigned char *counts = c->at + 20;
    *ret = (struct header){
        .version = (char)c->at[4],
        .isut = (uint32_t)big_endian(counts, 4),
        .isstd = (uint32_t)big_endian(counts + 4, 4),
        .leap = (uint32_t)big_endian(counts + 8, 4),
        .time = (uint32_t)big_endian(counts + 12, 4),
        .type = (uint32_t)big_endian(counts + 16, 4),
        .letter = (uint32_t)big_endian(counts + 20, 4),
    };
    c->at += HEADER_BYTES;
    c->left -= HEADER_BYTES;
    return true;
}

static uint64_t data_bytes(const struct header *h, size_t time_bytes)
{
    return (uint64_t)h->time * (time_bytes + 1) + (uint64_t)h->type * 6 + h->letter +
           (uint64_t)h->leap * (time_bytes + 4) + h->isstd + h->isut;
}

static bool read_changes(struct tz *tz, const struct header *h, const unsigned char *data,
                         size_t time_bytes)
{
    tz->change_count = h->time;
    tz->changes = mem_array(h->time ? h->time : 1, sizeof(*tz->changes));
    const unsigned char *types = data + h->time * time_bytes;
    for (size_t i = 0; i < h->time; i++) {
        uint64_t bits = big_endian(data + i * time_bytes, time_bytes);
        int64_t at = time_bytes == 4 ? (int32_t)(uint32_t)bits : (int64_t)bits;
        if (types[i] >= h->type || (i > 0 && at <= tz->changes[i - 1].at_s)) {
            return false;
        }
        tz->changes[i] = (struct change){at, types[i]};
    }
    return true;
}

static bool read_types(struct tz *tz, const struct header *h, const unsigned char *data)
{
    tz->type_count = h->type;
    tz->types = mem_array(h->type, sizeof(*tz->types));
    tz->letters = mem_strndup((const char *)data + (size_t)h->type * 6, h->letter);
    for (size_t i = 0; i < h->type; i++) {
        const unsigned char *entry = data + i * 6;
        int32_t offset = (int32_t)(uint32_t)big_endian(entry, 4);
        if (offset < -OFFSET_MAX_S || offset > OFFSET_MAX_S || entry[4] > 1 ||
            entry[5] >= h->letter ||
            !utf8_valid(tz->letters + entry[5], strlen(tz->letters + entry[5]))) {
            return false;
        }
        tz->types[i] = (struct type){offset, entry[4] == 1, tz->letters + entry[5]};
    }
    return true;
}

static int bad_data(const char *name, const char *why, struct err *err)
{
    return err_set(err, ERR_PERMANENT, "TimeZoneData", "time zone %s: its zone file %s", name, why);
}

/* "\nCET-1CEST,M3.5.0,M10.5.0/3\n"; nothing between the line ends: no rule. */
static int read_footer(struct tz *tz, const struct cursor *c, struct err *err)
{
    const char *text = (const char *)c->at;
    const char *end = c->left > 1 && text[0] == '\n' ? memchr(text + 1, '\n', c->left - 1) : NULL;
    if (!end) {
        return bad_data(tz->name, "has no footer", err);
    }
    if (end == text + 1) {
        return 0;
    }
    if (!tz_rule_parse(text + 1, (size_t)(end - text - 1), &tz->rule)) {
        return bad_data(tz->name, "has a footer that is not a rule", err);
    }
    tz->has_rule = true;
    return 0;
}

static int read_file(struct tz *tz, struct cursor c, struct err *err)
{
    struct header h;
    if (!take_header(&c, &h)) {
        return bad_data(tz->name, "does not begin like one", err);
    }
    size_t time_bytes = 4;
    if (h.version >= '2') {
        uint64_t skip = data_bytes(&h, time_bytes);
        if (skip > c.left) {
            return bad_data(tz->name, "ends early", err);
        }
        c.at += skip;
        c.left -= skip;
        if (!take_header(&c, &h)) {
            return bad_data(tz->name, "has no second header", err);
        }
        time_bytes = 8;
    }
    uint64_t bytes = data_bytes(&h, time_bytes);
    if (bytes > c.left) {
        return bad_data(tz->name, "ends early", err);
    }
    if (h.leap > 0) {
        return bad_data(tz->name, "counts leap seconds, which this system's clock does not", err);
    }
    if (h.type == 0 || h.type > 256 || h.letter == 0) {
        return bad_data(tz->name, "describes no local time", err);
    }
    if (!read_changes(tz, &h, c.at, time_bytes) ||
        !read_types(tz, &h, c.at + (size_t)h.time * (time_bytes + 1))) {
        return bad_data(tz->name, "contradicts itself", err);
    }
    c.at += bytes;
    c.left -= bytes;
    return time_bytes == 8 ? read_footer(tz, &c, err) : 0;
}

int tz_parse(const char *name, const void *bytes, size_t len, struct tz **ret, struct err *err)
{
    autotz struct tz *tz = mem_alloc(sizeof(*tz));
    tz->name = mem_strdup(name);
    int rc = read_file(tz, (struct cursor){bytes, len}, err);
    if (rc) {
        return rc;
    }
    *ret = steal(&tz);
    return 0;
}

/* --- finding it ------------------------------------------------------------------------------- */

static struct tz *utc_new(const char *name)
{
    struct tz *tz = mem_alloc(sizeof(*tz));
    tz->name = mem_strdup(name);
    tz->letters = mem_strdup("UTC");
    tz->types = mem_array(1, sizeof(*tz->types));
    tz->types[0].abbreviation = tz->letters;
    tz->type_count = 1;
    return tz;
}

static bool is_name(const char *name)
{
    size_t len = strlen(name);
    if (len > ZONE_NAME_MAX || !fs_path_is_inside(name)) {
        return false;
    }
    return strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789/_+-") ==
           len;
}

static int unknown(const char *name, struct err *err)
{
    return err_set(err, ERR_PERMANENT, "TimeZoneUnknown",
                   "no time zone \"%.*s\": write an IANA name such as Europe/Berlin (case counts)",
                   ZONE_NAME_MAX, name);
}

int tz_load(const char *name, struct tz **ret, struct err *err)
{
    if (str_eq(name, "UTC") || str_eq(name, "Etc/UTC") || str_eq(name, "GMT")) {
        *ret = utc_new(name);
        return 0;
    }
    if (!is_name(name)) {
        return unknown(name, err);
    }
    const char *directory = getenv("TZDIR");
    if (!directory || !directory[0]) {
        directory = ZONE_DIRECTORY;
    }
    autofree char *path = fs_join(directory, name);
    autostr struct str bytes = {0};
    struct err why = {0};
    if (fs_read_file(path, ZONE_FILE_MAX, &bytes, &why)) {
        if (!fs_is_dir(directory)) {
            return err_set(err, ERR_PERMANENT, "TimeZonesMissing",
                           "time zone %s: there is no %s; install the package tzdata, or use UTC",
                           name, directory);
        }
        if (str_eq(why.name, "FileNotFound") || str_eq(why.name, "NotAFile")) {
            return unknown(name, err);
        }
        return err_set(err, why.kind, "TimeZoneData", "time zone %s: %s", name, why.text);
    }
    return tz_parse(name, bytes.ptr, bytes.len, ret, err);
}

struct tz *tz_free(struct tz *tz)
{
    if (tz) {
        free(tz->name);
        free(tz->changes);
        free(tz->types);
        free(tz->letters);
        free(tz);
    }
    return NULL;
}

const char *tz_name(const struct tz *tz)
{
    return tz->name;
}

/* --- looking up ------------------------------------------------------------------------------- */

/* How many changes lie at or before that instant. */
static size_t changes_until(const struct tz *tz, int64_t utc_s)
{
    size_t low = 0;
    size_t high = tz->change_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (tz->changes[middle].at_s <= utc_s) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

struct tz_local tz_at(const struct tz *tz, int64_t utc_s)
{
    size_t passed = changes_until(tz, utc_s);
    if (passed == tz->change_count && tz->has_rule) {
        bool dst = tz_rule_is_dst(&tz->rule, utc_s);
        return (struct tz_local){
            .offset_s = dst ? tz->rule.dst_offset_s : tz->rule.std_offset_s,
            .dst = dst,
            .abbreviation = dst ? tz->rule.dst : tz->rule.std,
        };
    }
    const struct type *type = &tz->types[passed ? tz->changes[passed - 1].type : 0];
    return (struct tz_local){type->offset_s, type->dst, type->abbreviation};
}

int64_t tz_next_change(const struct tz *tz, int64_t utc_s)
{
    int32_t now = tz_at(tz, utc_s).offset_s;
    for (size_t i = changes_until(tz, utc_s); i < tz->change_count; i++) {
        if (tz_at(tz, tz->changes[i].at_s).offset_s != now) {
            return tz->changes[i].at_s;
        }
        utc_s = tz->changes[i].at_s;
    }
    int64_t next = tz->has_rule ? tz_rule_next(&tz->rule, utc_s) : TZ_NEVER;
    return next < LAST_CHANGE_S ? next : TZ_NEVER;
}
