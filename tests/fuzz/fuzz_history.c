/*
 * fuzz_history.c - libFuzzer driver for the readers of history/.
 *
 * Owns: nothing but the entry point; the properties are in tests/unit/history_check.h. First byte
 * 0..60: the rest is a stored row of that event type; else the whole input is a history in JSON.
 * Build: clang -fsanitize=fuzzer,address,undefined with the sources of base and history; seeds are
 * tests/golden/history_*.json. make check runs the same properties as tests/unit/test_history_fuzz.
 */
#include "../unit/history_check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size > 0 && data[0] <= EVENT_TYPE_MAX && data[0] != '[' && data[0] != '\n') {
        history_check_row(data[0], (const char *)data + 1, size - 1);
    } else {
        history_check((const char *)data, size);
    }
    return 0;
}
