/*
 * test_base_mem.c - base/mem: zeroed, growing, and leaving the program when there is nothing left.
 */
#include "base/mem.h"

#include <criterion/criterion.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

Test(mem, allocations_are_zeroed_and_may_be_empty)
{
    char *some = mem_alloc(100);
    for (size_t i = 0; i < 100; i++) {
        cr_assert_eq(some[i], 0);
    }
    int *many = mem_array(10, sizeof(int));
    cr_assert_eq(many[9], 0);
    void *none = mem_alloc(0);
    cr_assert_not_null(none);
    free(none);
    free(many);
    free(some);
}

Test(mem, reserve_grows_and_keeps_content)
{
    uint64_t *items = NULL;
    size_t cap = 0;
    for (size_t i = 0; i < 1000; i++) {
        mem_reserve(items, &cap, i + 1);
        items[i] = i * 3;
    }
    cr_assert_geq(cap, 1000);
    cr_assert_eq(items[0], 0);
    cr_assert_eq(items[999], 2997);
    size_t before = cap;
    mem_reserve(items, &cap, 10);
    cr_assert_eq(cap, before);
    free(items);
}

Test(mem, copies)
{
    cr_assert_null(mem_strdup(NULL));
    char *a = mem_strdup("abc");
    char *b = mem_strndup("abc", 2);
    char *c = mem_printf("%s-%d", "x", 7);
    cr_assert_str_eq(a, "abc");
    cr_assert_str_eq(b, "ab");
    cr_assert_str_eq(c, "x-7");
    free(a);
    free(b);
    free(c);
}

Test(mem, an_overflowing_array_ends_the_program, .exit_code = MEM_EXHAUSTED_EXIT)
{
    mem_array(SIZE_MAX / 2, 4);
}

Test(mem, an_overflowing_reserve_ends_the_program, .exit_code = MEM_EXHAUSTED_EXIT)
{
    uint64_t *items = NULL;
    size_t cap = 0;
    mem_reserve(items, &cap, SIZE_MAX / 4);
    free(items);
}
