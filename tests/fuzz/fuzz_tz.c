/*
 * fuzz_tz.c - any bytes as a zone file and as the rule of a zone: what is accepted
 * gives ascending answers.
 *
 * A target in libFuzzer's form; tests/lib/fuzz_main.c runs it as a test over tests/fuzz/corpus/tz.
 */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/tz.h"
#include "base/tz_rule.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void zone(const uint8_t *data, size_t size)
{
    autotz struct tz *tz = NULL;
    if (tz_parse("Fuzz/Zone", data, size, &tz, NULL)) {
        return;
    }
    for (int64_t at = -8000000000LL; at < 9000000000LL; at += 987654321) {
        struct tz_local local = tz_at(tz, at);
        assert(local.offset_s >= -93599 && local.offset_s <= 93599 && local.abbreviation);
        int64_t next = tz_next_change(tz, at);
        assert(next > at);
        assert(next == TZ_NEVER || tz_at(tz, next).offset_s != local.offset_s);
    }
}

static void rule(const uint8_t *data, size_t size)
{
    struct tz_rule rule;
    if (!tz_rule_parse((const char *)data, size, &rule)) {
        return;
    }
    int64_t at = 0;
    for (int i = 0; i < 8 && at != INT64_MAX; i++) {
        int64_t next = tz_rule_next(&rule, at);
        assert(next > at);
        at = next;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    zone(data, size);
    rule(data, size);
    return 0;
}
