/*
 * test_exec_random.c - random numbers of stored runs must never change.
 *
 * The expected values come from an independent implementation of the three published algorithms.
 */
#include <criterion/criterion.h>

#include "exec/random.h"

#define TEST(name) Test(exec_random, name)

TEST(streams_are_stable_for_ever)
{
    struct random_stream user, uuid;
    uint64_t seed = random_seed("0198c504-e431-787f-a871-2bf426943d58");
    char text[RANDOM_UUID_BYTES];

    random_start(&user, seed, RANDOM_USER);
    random_start(&uuid, seed, RANDOM_UUID);
    random_uuid(&uuid, text);
    cr_expect_eq(seed, 0x6558f11ee2fce778ULL, "%#llx", (unsigned long long)seed);
    uint64_t first = random_next(&user);
    cr_expect_eq(first, 0x334b28caeccb1614ULL, "%#llx", (unsigned long long)first);
    cr_expect_str_eq(text, "d1d31a1e-c62c-4946-82ec-2fad70261e57", "%s", text);
}

TEST(streams_and_runs_differ)
{
    struct random_stream a, b, c;

    random_start(&a, random_seed("x"), RANDOM_USER);
    random_start(&b, random_seed("x"), RANDOM_UUID);
    random_start(&c, random_seed("y"), RANDOM_USER);
    uint64_t from_a = random_next(&a);
    cr_expect_neq(from_a, random_next(&b));
    cr_expect_neq(from_a, random_next(&c));
    cr_expect_neq(random_seed(""), random_seed("\x01"));
}
