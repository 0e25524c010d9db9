/*
 * names.c - names of versions, codes and states, for messages and JSON.
 * Owns: nothing but texts.
 * Tests: tests/unit/test_engine_open.c
 */
#include <stddef.h>

#include "durable.h"

#define TEXT_OF_(x) #x
#define TEXT_OF(x) TEXT_OF_(x)

const char *dur_version(void)
{
    return TEXT_OF(DUR_VERSION_MAJOR) "." TEXT_OF(DUR_VERSION_MINOR) "." TEXT_OF(DUR_VERSION_PATCH);
}

const char *dur_code_name(int code)
{
    static const char *const names[] = {
        "DUR_OK",       "DUR_FAILED",    "DUR_CANCELLED", "DUR_TIMED_OUT", "DUR_UNWIND",
        "DUR_INVALID",  "DUR_NOT_FOUND", "DUR_EXISTS",    "DUR_BUSY",      "DUR_IO",
        "DUR_NEWER",    "DUR_FULL",      "DUR_LIMIT",     "DUR_MISMATCH",  "DUR_PENDING",
        "DUR_REJECTED", "DUR_CONTINUE",  "DUR_OLDER",
    };
    const int count = (int)(sizeof(names) / sizeof(names[0]));
    return code <= 0 && code > -count && names[-code] ? names[-code] : "unknown code";
}

const char *dur_status_name(dur_status status)
{
    switch (status) {
    case DUR_RUNNING:
        return "Running";
    case DUR_COMPLETED:
        return "Completed";
    case DUR_RUN_FAILED:
        return "Failed";
    case DUR_CANCELED:
        return "Canceled";
    case DUR_TERMINATED:
        return "Terminated";
    case DUR_CONTINUED_AS_NEW:
        return "ContinuedAsNew";
    case DUR_RUN_TIMED_OUT:
        return "TimedOut";
    case DUR_PAUSED:
        return "Paused";
    }
    return "Unknown";
}
