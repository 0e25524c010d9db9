/*
 * fuzz_batch.c - any bytes as the text of a batch of events: cut into events, or refused.
 *
 * A target in libFuzzer's form; tests/lib/fuzz_main.c runs it as a test over
 * tests/fuzz/corpus/batch. What is cut out lies within the text, before what is still to come.
 */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "base/mem.h"
#include "journal/event.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    autofree char *text = mem_strndup((const char *)data, size);
    size_t events = 0;
    char *at = text;
    size_t len = strlen(text);
    struct event_row row;
    int64_t blob;
    int rc;
    while ((rc = event_batch_next(&at, 0, &row, &blob)) > 0) {
        assert(at > text && at <= text + len);
        assert(!row.attributes || (row.attributes > text && row.attributes < at));
        assert(row.attributes_len == (row.attributes ? strlen(row.attributes) : 0));
        assert(row.type >= 0 && blob >= 0);
        assert(events++ < len);
    }
    assert(rc == 0 || rc == -1);
    return 0;
}
