/*
 * test_worker_heap.c - deadlines come out in order.
 */
#include <criterion/criterion.h>

#include "base/rng.h"
#include "worker/heap.h"

Test(heap, random_entries_come_out_sorted)
{
    struct heap heap = {0};
    struct due due;
    for (int i = 0; i < 5000; i++) {
        heap_push(&heap, &(struct due){.at_ns = (int64_t)(rng_u64() % 1000), .event = i});
    }
    int64_t last = -1;
    for (int i = 0; i < 5000; i++) {
        cr_assert_eq(heap_next_ns(&heap), heap.items[0].at_ns);
        cr_assert(heap_pop_due(&heap, INT64_MAX, &due));
        cr_assert_geq(due.at_ns, last);
        last = due.at_ns;
    }
    cr_assert_not(heap_pop_due(&heap, INT64_MAX, &due));
    cr_assert_eq(heap_next_ns(&heap), INT64_MAX);
    heap_free(&heap);
}

Test(heap, only_what_is_due_comes_out)
{
    struct heap heap = {0};
    struct due due;
    heap_push(&heap, &(struct due){.at_ns = 10});
    cr_assert_not(heap_pop_due(&heap, 9, &due));
    cr_assert(heap_pop_due(&heap, 10, &due));
    heap_free(&heap);
}
