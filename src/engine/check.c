/*
 * check.c - what texts from callers must be like: names and payloads.
 * Owns: the limits (Temporal's) and the words of the refusals.
 * Tests: tests/unit/test_engine_client.c, tests/unit/test_engine_query.c
 */
#include <string.h>

#include "base/json.h"
#include "base/str.h"
#include "engine/engine.h"

#define ID_BYTES_MAX 1000
#define PAYLOAD_BYTES_MAX (2U * 1024 * 1024)

int engine_check_name(dur_engine *engine, const char *what, const char *name)
{
    if (!name || !*name || strlen(name) > ID_BYTES_MAX || !utf8_valid(name, strlen(name))) {
        return engine_refuse(engine, DUR_INVALID, "%s must be 1 to %d bytes of UTF-8", what,
                             ID_BYTES_MAX);
    }
    return DUR_OK;
}

int engine_check_payload(dur_engine *engine, const char *what, const char *json)
{
    struct err err;
    if (!json) {
        return DUR_OK;
    }
    if (strlen(json) > PAYLOAD_BYTES_MAX) {
        return engine_refuse(engine, DUR_LIMIT, "%s is larger than %u bytes", what,
                             PAYLOAD_BYTES_MAX);
    }
    if (json_check(json, strlen(json), &err) < 0) {
        return engine_refuse(engine, DUR_INVALID, "%s is not JSON: %s", what, err.text);
    }
    return DUR_OK;
}
