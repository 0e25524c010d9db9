/*
 * test_base_arena.c - base/arena in both modes (blocks, and one malloc per item).
 */
#include "base/arena.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

static void exercise(void)
{
    autoarena struct arena *arena = arena_new();
    for (int round = 0; round < 3; round++) {
        char *items[300];
        for (size_t i = 0; i < ARRAY_LEN(items); i++) {
            size_t len = i * 37 % 5000;
            items[i] = arena_alloc(arena, len);
            cr_assert_eq((uintptr_t)items[i] % 16, 0);
            for (size_t j = 0; j < len; j++) {
                cr_assert_eq(items[i][j], 0);
            }
            memset(items[i], (int)(i % 251), len);
        }
        for (size_t i = 0; i < ARRAY_LEN(items); i++) {
            for (size_t j = 0; j < i * 37 % 5000; j++) {
                cr_assert_eq((unsigned char)items[i][j], i % 251);
            }
        }
        cr_assert_gt(arena_bytes(arena), 0);
        arena_reset(arena);
        cr_assert_eq(arena_bytes(arena), 0);
    }
}

Test(arena, items_do_not_overlap_and_are_zeroed)
{
    unsetenv("FACTORY_ARENA_MALLOC");
    exercise();
}

Test(arena, one_malloc_per_item_behaves_the_same)
{
    setenv("FACTORY_ARENA_MALLOC", "1", 1);
    exercise();
}

Test(arena, text_copies)
{
    autoarena struct arena *arena = arena_new();
    cr_assert_null(arena_strdup(arena, NULL));
    cr_assert_str_eq(arena_strdup(arena, "abc"), "abc");
    cr_assert_str_eq(arena_strndup(arena, "abc", 2), "ab");
    char *dup = arena_dup(arena, "a\0b", 3);
    cr_assert_eq(memcmp(dup, "a\0b", 4), 0);
    cr_assert_str_eq(arena_printf(arena, "%s/%d", "x", 12), "x/12");
    char long_text[3000];
    memset(long_text, 'y', sizeof(long_text) - 1);
    long_text[sizeof(long_text) - 1] = '\0';
    cr_assert_str_eq(arena_printf(arena, "%s", long_text), long_text);
    int *numbers = arena_array_of(arena, int, 4);
    cr_assert_eq(numbers[3], 0);
}

Test(arena, freeing_nothing_is_fine)
{
    cr_assert_null(arena_free(NULL));
}

Test(arena, an_overflowing_array_ends_the_program, .exit_code = 70)
{
    autoarena struct arena *arena = arena_new();
    arena_array_of(arena, int64_t, SIZE_MAX / 4);
}

Test(arena, a_large_first_item_survives_reset_and_free)
{
    struct arena *arena = arena_new();
    for (int round = 0; round < 3; round++) {
        char *large = arena_alloc(arena, 3000); /* a block to itself, before any other */
        char *small = arena_strdup(arena, "small");
        memset(large, 'x', 3000);
        struct arena *other = arena_new(); /* would be given memory freed too early */
        memset(arena_alloc(other, 900), 'y', 900);
        cr_assert_str_eq(small, "small");
        cr_assert_eq(arena_bytes(arena), 3000 + 6);
        arena_free(other);
        arena_reset(arena);
        cr_assert_eq(arena_bytes(arena), 0);
    }
    arena_free(arena);
}
