/*
 * fuzz_history.c - fuzz target for the readers of history/.
 *
 * Owns: nothing but the entry point; the properties are in tests/unit/history_check.h. A first byte
 * 0..60: the rest is a stored row of that event type; 61: the rest is a history in protobuf's
 * binary form; else the whole input is a history in JSON.
 * Run by tests/lib/fuzz_main.c in make check, or by libFuzzer.
 */
#include "../unit/history_check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size > 0 && data[0] <= EVENT_TYPE_MAX) {
        history_check_row(data[0], (const char *)data + 1, size - 1);
    } else if (size > 0 && data[0] == EVENT_TYPE_MAX + 1) {
        history_check_proto(data + 1, size - 1);
    } else {
        history_check((const char *)data, size);
    }
    return 0;
}
