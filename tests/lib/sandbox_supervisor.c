/*
 * sandbox_supervisor.c - the local provider's supervisor as a program of its own, for tests.
 *
 * Must not: do anything that local_supervisor_main() does not do.
 * Tests: tests/unit/test_sandbox_contract.c
 */
#include "sandbox/local.h"

int main(int argc, char **argv)
{
    return local_supervisor_main(argc, argv);
}
