/*
 * fuzz_replay.c - fuzz target for exec/: arbitrary events against a workflow.
 *
 * Owns: nothing but the entry point; the property is in tests/unit/exec_soup.h.
 * Run by tests/lib/fuzz_main.c in make check, or by libFuzzer.
 */
#include "../unit/exec_soup.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    (void)soup_replay(data, size);
    return 0;
}
