/*
 * fuzz_cron.c - any bytes as a cron text: refused with a place, or a rule whose answers agree.
 *
 * A target in libFuzzer's form; tests/lib/fuzz_main.c runs it as a test over
 * tests/fuzz/corpus/cron. Of an accepted text: instants ascend, each is named by the rule itself
 * unless the clocks were changed there, and asking again from just before gives it again.
 */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "base/clock.h"
#include "base/cron.h"
#include "base/mem.h"

#define INSTANTS 6
#define FIRST_NS (1767225600 * NS_PER_S) /* 2026-01-01T00:00:00Z */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_rule(const struct cron *cron)
{
    int64_t interval = cron_interval_ns(cron);
    int64_t at = FIRST_NS;
    for (int i = 0; i < INSTANTS; i++) {
        int64_t next = cron_next(cron, at);
        assert(next > at);
        if (next == CRON_NEVER) {
            return;
        }
        assert(next % NS_PER_S == 0);
        if (interval > 0) {
            assert(next == at + interval);
        } else {
            assert(cron_next(cron, next - 1) == next);
            assert(next - at < 2 * NS_PER_S || cron_next(cron, at + (next - at) / 2) == next);
            assert(cron_covers(cron, next) || cron_has_fixed_hours(cron));
        }
        assert(cron_covers_until(cron, at) > at);
        at = next;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    autofree char *text = mem_strndup((const char *)data, size);
    autocron struct cron *cron = NULL;
    struct err err = {0};
    int rc = cron_parse(text, NULL, &cron, &err);
    assert((rc == 0) == (cron != NULL));
    if (rc) {
        assert(err.text[0] && err.name[0]);
        return 0;
    }
    check_rule(cron);
    return 0;
}
