/*
 * output.c - see output.h.
 *
 * Owns: the mappings. The ring grows by doubling (and is laid out straight when it does) up to its
 * bound, so that a quiet process costs one page and a loud one head_max + tail_max.
 * Tests: tests/unit/test_guest_output.c
 */
#include "guest/output.h"

#include "base/mem.h"

#include <assert.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define FIRST_MAPPING 4096

static void part_free(struct output_part *part)
{
    if (part->bytes) {
        munmap(part->bytes, part->cap);
    }
    part->bytes = NULL;
    part->cap = 0;
}

/* A new mapping of at least `need` bytes; running out of memory ends the daemon like base/mem. */
static char *map(size_t bytes)
{
    void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) {
        mem_note_short();
        at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    }
    if (at == MAP_FAILED) {
        mem_exhausted(bytes);
    }
    madvise(at, bytes, MADV_DONTFORK);
    return at;
}

static size_t grown(const struct output_part *part, size_t need)
{
    size_t cap = part->cap > 0 ? part->cap : FIRST_MAPPING;
    while (cap < need) {
        cap *= 2;
    }
    return cap < part->max ? cap : part->max;
}

void output_init(struct output *output, size_t head_max, size_t tail_max)
{
    assert(head_max > 0 && tail_max > 0);
    *output = (struct output){.head = {.max = head_max}, .tail = {.max = tail_max}};
}

void output_free(struct output *output)
{
    part_free(&output->head);
    part_free(&output->tail);
}

static void write_head(struct output *output, const char *bytes, size_t len)
{
    struct output_part *part = &output->head;
    size_t need = output->head_len + len;
    if (need > part->cap) {
        size_t cap = grown(part, need);
        char *moved = map(cap);
        if (output->head_len > 0) {
            memcpy(moved, part->bytes, output->head_len);
        }
        part_free(part);
        part->bytes = moved;
        part->cap = cap;
    }
    memcpy(part->bytes + output->head_len, bytes, len);
    output->head_len += len;
}

/* Copy `len` bytes out of the ring, starting `skip` bytes behind the oldest. */
static void copy_ring(const struct output *output, size_t skip, char *to, size_t len)
{
    size_t cap = output->tail.cap;
    size_t at = (output->tail_first + skip) % cap;
    size_t straight = cap - at < len ? cap - at : len;
    memcpy(to, output->tail.bytes + at, straight);
    memcpy(to + straight, output->tail.bytes, len - straight);
}

static void grow_ring(struct output *output, size_t need)
{
    struct output_part *part = &output->tail;
    size_t cap = grown(part, need);
    if (cap <= part->cap) {
        return;
    }
    char *moved = map(cap);
    if (output->tail_len > 0) {
        copy_ring(output, 0, moved, output->tail_len);
    }
    part_free(part);
    part->bytes = moved;
    part->cap = cap;
    output->tail_first = 0;
}

static void write_tail(struct output *output, const char *bytes, size_t len)
{
    struct output_part *part = &output->tail;
    if (len > part->max) { /* only its end can survive */
        bytes += len - part->max;
        len = part->max;
    }
    grow_ring(output, output->tail_len + len);
    if (output->tail_len + len > part->cap) {
        size_t lost = output->tail_len + len - part->cap;
        output->tail_first = (output->tail_first + lost) % part->cap;
        output->tail_len -= lost;
    }
    size_t at = (output->tail_first + output->tail_len) % part->cap;
    size_t straight = part->cap - at < len ? part->cap - at : len;
    memcpy(part->bytes + at, bytes, straight);
    memcpy(part->bytes, bytes + straight, len - straight);
    output->tail_len += len;
}

void output_write(struct output *output, const char *bytes, size_t len)
{
    output->total += len;
    size_t room = output->head.max - output->head_len;
    size_t first = len < room ? len : room;
    if (first > 0) {
        write_head(output, bytes, first);
    }
    if (len > first) {
        write_tail(output, bytes + first, len - first);
    }
    assert(output->head_len + output->tail_len <= output->total);
}

uint64_t output_tail_start(const struct output *output)
{
    return output->total - output->tail_len;
}

size_t output_memory(const struct output *output)
{
    return output->head.cap + output->tail.cap;
}

size_t output_room(const struct output *output, uint64_t pos)
{
    uint64_t oldest = pos > output->head_len ? pos : output->head_len;
    if (oldest < output_tail_start(output)) {
        return SIZE_MAX; /* gone already: nothing left to protect */
    }
    size_t unread = (size_t)(output->total - oldest);
    return (output->head.max - output->head_len) + (output->tail.max - unread);
}

bool output_next(const struct output *output, uint64_t *pos, size_t max, struct output_piece *ret)
{
    *ret = (struct output_piece){0};
    if (*pos >= output->total) {
        return false;
    }
    uint64_t start = output_tail_start(output);
    if (*pos < output->head_len) {
        ret->bytes = output->head.bytes + *pos;
        ret->len = output->head_len - (size_t)*pos;
    } else if (*pos < start) {
        ret->dropped = start - *pos;
        *pos = start;
        return true;
    } else {
        size_t skip = (size_t)(*pos - start);
        size_t at = (output->tail_first + skip) % output->tail.cap;
        size_t straight = output->tail.cap - at;
        ret->bytes = output->tail.bytes + at;
        ret->len = output->tail_len - skip < straight ? output->tail_len - skip : straight;
    }
    ret->len = ret->len < max ? ret->len : max;
    *pos += ret->len;
    return true;
}
