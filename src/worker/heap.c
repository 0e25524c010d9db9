/*
 * heap.c - see heap.h. Owns the sift-up and sift-down, and the order of what is due at one time: by
 * run, event and kind (schedule-to-start before schedule-to-close, as Temporal has it).
 * Tests: tests/unit/test_worker_heap.c
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

static bool is_before(const struct due *a, const struct due *b)
{
    if (a->at_ns != b->at_ns) {
        return a->at_ns < b->at_ns;
    }
    if (a->execution != b->execution) {
        return a->execution < b->execution;
    }
    return a->event != b->event ? a->event < b->event : a->kind < b->kind;
}

void heap_push(struct heap *heap, const struct due *due)
{
    mem_reserve(heap->items, &heap->cap, heap->count + 1);
    size_t at = heap->count++;
    while (at > 0) {
        size_t parent = (at - 1) / 2;
        if (!is_before(due, &heap->items[parent])) {
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
        if (child + 1 < heap->count && is_before(&heap->items[child + 1], &heap->items[child])) {
            child++;
        }
        if (!is_before(&heap->items[child], &last)) {
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
