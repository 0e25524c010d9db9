/*
 * tz.h - time zones by their IANA name ("Europe/Berlin").
 *
 * Owns: reading the system's zone files (TZif, RFC 9636, versions 1 to 4, with the rule that their
 * footer gives for all later years) and saying what the clocks on the wall show at an instant. Why
 * our own: the C library knows one zone per process, the environment's. Must not: read $TZ or
 * change libc's zone. Units: seconds since 1970 (UTC, no leap seconds) unless a name says
 * otherwise. A zone is read only once loaded: any thread may use it.
 */
#ifndef BASE_TZ_H
#define BASE_TZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/err.h"

struct tz; /* opaque */

/* "UTC", "Etc/UTC" and "GMT" need no file. Others come from $TZDIR, else /usr/share/zoneinfo.
 * Error names: "TimeZoneUnknown" (no such name; case counts), "TimeZoneData" (the file is not a
 * zone file, or counts leap seconds), "TimeZonesMissing" (there is no zone directory: install
 * tzdata). */
int tz_load(const char *name, struct tz **ret, struct err *err);
/* From the bytes of a zone file. */
int tz_parse(const char *name, const void *bytes, size_t len, struct tz **ret, struct err *err);
struct tz *tz_free(struct tz *tz); /* NULL fine; returns NULL */
static inline void tz_cleanup_(struct tz **tz)
{
    *tz = tz_free(*tz);
}
#define autotz cleanup_with(tz_cleanup_)

const char *tz_name(const struct tz *tz);

struct tz_local {
    int32_t offset_s; /* local time minus UTC */
    bool dst;
    const char *abbreviation; /* "CEST"; lives as long as the zone */
};
struct tz_local tz_at(const struct tz *tz, int64_t utc_s);

#define TZ_NEVER INT64_MAX
/* The first instant after utc_s at which the offset becomes another one, or TZ_NEVER. The local
 * times from there + old offset up to there + new offset do not exist when that is forwards, and
 * happen twice when it is backwards. Looks as far as the year 2400. */
int64_t tz_next_change(const struct tz *tz, int64_t utc_s);

#endif
