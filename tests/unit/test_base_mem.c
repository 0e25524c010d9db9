/*
 * test_base_mem.c - base/mem: zeroed, growing, and leaving the program when there is nothing left.
 */
#include "base/mem.h"

#include <criterion/criterion.h>
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define GRANT_BYTES (256U * 1024) /* what is asked for while nothing more may be mapped */

/* The address space ends here, whatever is mapped by now. */
static void close_address_space(void)
{
    long pages = 0;
    FILE *statm = fopen("/proc/self/statm", "re");
    cr_assert(statm && fscanf(statm, "%ld", &pages) == 1);
    fclose(statm);
    rlim_t bytes = (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE);
    struct rlimit limit = {bytes, RLIM_INFINITY};
    cr_assert_eq(setrlimit(RLIMIT_AS, &limit), 0);
}

static void open_address_space(void)
{
    struct rlimit limit = {RLIM_INFINITY, RLIM_INFINITY};
    cr_assert_eq(setrlimit(RLIMIT_AS, &limit), 0);
}

/* AddressSanitizer has an allocator of its own, which a closed address space ends. */
static void needs_own_malloc(void)
{
#ifdef WITH_SANITIZERS
    cr_skip_test("the sanitizers' allocator ends the program by itself");
#endif
    mallopt(M_MMAP_THRESHOLD, 64 * 1024); /* fixed: free() would raise it */
}

Test(mem, without_a_reserve_memory_is_never_short)
{
    cr_assert_not(mem_is_short());
    mem_note_short();
    cr_assert_not(mem_is_short());
}

Test(mem, the_reserve_is_given_up_for_the_first_refusal_and_filled_again)
{
    needs_own_malloc();
    cr_assert(mem_refill());
    cr_assert_not(mem_is_short());
    close_address_space();
    char *granted = mem_alloc(GRANT_BYTES); /* out of the reserve's room */
    cr_assert_not_null(granted);
    cr_assert(mem_is_short());
    cr_assert_not(mem_refill());
    cr_assert(mem_is_short());
    free(granted);
    open_address_space();
    cr_assert(mem_refill());
    cr_assert_not(mem_is_short());
}

Test(mem, every_kind_of_allocation_is_tried_again, .exit_code = 0)
{
    needs_own_malloc();
    for (int kind = 0; kind < 3; kind++) {
        cr_assert(mem_refill());
        char *wide = mem_alloc(GRANT_BYTES);
        memset(wide, 'x', GRANT_BYTES - 1);
        close_address_space();
        char *got = kind == 0   ? mem_grow(NULL, GRANT_BYTES)
                    : kind == 1 ? mem_strndup(wide, GRANT_BYTES - 1)
                                : mem_printf("%s", wide);
        cr_assert(mem_is_short());
        cr_assert_not_null(got);
        free(got);
        free(wide);
        open_address_space();
    }
}

Test(mem, when_the_reserve_is_gone_the_program_leaves, .exit_code = MEM_EXHAUSTED_EXIT)
{
#ifdef WITH_SANITIZERS
    _exit(MEM_EXHAUSTED_EXIT);
#endif
    mem_refill();
    close_address_space();
    for (;;) {
        mem_grow(NULL, GRANT_BYTES); /* lost on purpose: the process ends here */
    }
}

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
