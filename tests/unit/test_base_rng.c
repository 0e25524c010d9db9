/*
 * test_base_rng.c - base/rng: replaceable, and ids of the documented form.
 */
#include "base/rng.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

static void count_up(void *user, void *buf, size_t len)
{
    unsigned char *next = user;
    for (size_t i = 0; i < len; i++) {
        ((unsigned char *)buf)[i] = (*next)++;
    }
}

static int64_t fixed(void *user)
{
    return *(int64_t *)user;
}

Test(rng, a_replaced_source_is_used)
{
    unsigned char next = 1;
    rng_replace(count_up, &next);
    char hex[9];
    rng_hex(hex, 4);
    cr_assert_str_eq(hex, "01020304");
    char long_hex[141];
    rng_hex(long_hex, 70);
    cr_assert_eq(strlen(long_hex), 140);
    cr_assert_eq(memcmp(long_hex, "05060708", 8), 0);
    rng_hex(hex, 0);
    cr_assert_str_eq(hex, "");
    rng_replace(NULL, NULL);
    cr_assert_neq(rng_u64(), rng_u64());
}

Test(rng, system_bytes_reach_the_whole_buffer)
{
    unsigned char seen[64] = {0};
    for (int i = 0; i < 64; i++) {
        unsigned char some[64];
        rng_bytes(some, sizeof(some));
        for (size_t j = 0; j < sizeof(some); j++) {
            seen[j] |= some[j];
        }
    }
    for (size_t j = 0; j < sizeof(seen); j++) {
        cr_assert_eq(seen[j], 0xff);
    }
}

Test(rng, uuid_has_version_variant_and_time)
{
    int64_t now = 1767323045123LL * NS_PER_MS + NS_PER_MS / 2;
    struct clock_vtable mine = {.wall_ns = fixed, .mono_ns = fixed, .user = &now};
    unsigned char next = 0xf0;
    clock_replace(&mine);
    rng_replace(count_up, &next);
    char uuid[UUID_TEXT_BYTES];
    rng_uuid(uuid);
    cr_assert_str_eq(uuid, "019b7ca9-8d03-7800-b0f1-f2f3f4f5f6f7");
}

Test(rng, uuids_sort_by_time_and_differ)
{
    int64_t now = 1767323045123LL * NS_PER_MS;
    struct clock_vtable mine = {.wall_ns = fixed, .mono_ns = fixed, .user = &now};
    clock_replace(&mine);
    char last[UUID_TEXT_BYTES] = "";
    for (int i = 0; i < 1000; i++) {
        char uuid[UUID_TEXT_BYTES];
        rng_uuid(uuid);
        cr_assert_gt(strcmp(uuid, last), 0);
        memcpy(last, uuid, sizeof(last));
        now += 1000;
    }
}
