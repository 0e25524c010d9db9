/*
 * heap.c - see heap.h. Owns the sift-up and sift-down; order ties by insertion are irrelevant
 * because the turn sorts what it takes by event id. Tests: tests/unit/test_worker_heap.c
 */
#include "worker/heap.h"

#include <stdlib.h>

#include "base/mem.h"

void heap_free(struct heap *heap)
{
    free(heap->items);
    heap->items = NULL;
    heap->count = heap->cap = 0;
}

void heap_push(struct heap *heap, const struct due *due)
{
    mem_reserve(heap->items, &heap->cap, heap->count + 1);
    size_t at = heap->count++;
    while (at > 0) {
        size_t parent = (at - 1) / 2;
        if (heap->items[parent].at_ns <= due->at_ns) {
            break;
        }
        heap->items[at] = heap->items[parent];
        at = parent;
    }
    heap->items[at] = *due;
}

static void remove_first(struct heap *heap)
{
    struct due last = heap->items[--heap->count];
    size_t at = 0;
    for (;;) {
        size_t child = 2 * at + 1;
        if (child >= heap->count) {
            break;
        }
        if (child + 1 < heap->count && heap->items[child + 1].at_ns < heap->items[child].at_ns) {
            child++;
        }
        if (last.at_ns <= heap->items[child].at_ns) {
            break;
        }
        heap->items[at] = heap->items[child];
        at = child;
    }
    if (heap->count > 0) {
        heap->items[at] = last;
    }
}

bool heap_pop_due(struct heap *heap, int64_t now_ns, struct due *ret)
{
    if (heap->count == 0 || heap->items[0].at_ns > now_ns) {
        return false;
    }
    *ret = heap->items[0];
    remove_first(heap);
    return true;
}

int64_t heap_next_ns(const struct heap *heap)
{
    return heap->count ? heap->items[0].at_ns : INT64_MAX;
}
