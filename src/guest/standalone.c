/*
 * standalone.c - the guest as a program of its own, for tests: guest_main() behind its options.
 *
 * Must not: do anything that `factory guest` does not do.
 * Tests: tests/unit/test_guest_daemon.c
 */
#include "guest/guest.h"

#include <stdio.h>

int main(int argc, char **argv)
{
    struct guest_options options;
    struct err err = {0};
    if (guest_options_parse(argc, argv, &options, &err) < 0) {
        fprintf(stderr, "%s\n", err.text);
        return 2;
    }
    return guest_main(&options);
}
