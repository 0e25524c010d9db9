/*
 * arena.c - see arena.h. Owns block-wise bump allocation.
 *
 * A normal arena is a chain of blocks; the one at its head serves, and the arena's own struct lies
 * in the block it was made with, wherever that stands in the chain. An item larger than half of the
 * next block gets a block to itself, linked behind the serving one. A "separate" arena (sanitizers,
 * FACTORY_ARENA_MALLOC=1) keeps a list of single mallocs instead, so that each item has its own red
 * zones.
 * Tests: tests/unit/test_base_arena.c
 */
#include "base/arena.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"

#define FIRST_BLOCK_BYTES 1024U          /* most runs' working set */
#define LARGEST_BLOCK_BYTES (64U * 1024) /* beyond this, growth buys nothing but waste */
#define ITEM_ALIGN 16U

struct block {
    struct block *next; /* older */
    size_t size;        /* of data[] */
    size_t used;
    size_t unused_;
    char data[];
};
_Static_assert(sizeof(struct block) % ITEM_ALIGN == 0, "data[] must be aligned");

struct arena {
    struct block *blocks;
    size_t total;
    size_t next_size;
    void **items; /* separate mode: every item */
    size_t item_count;
    size_t item_cap;
    bool separate;
};

static size_t rounded(size_t bytes)
{
    if (bytes > SIZE_MAX / 2) {
        mem_exhausted(bytes);
    }
    return (bytes + ITEM_ALIGN - 1) & ~(size_t)(ITEM_ALIGN - 1);
}

static bool want_separate(void)
{
#ifdef WITH_SANITIZERS
    return true;
#else
    const char *asked = getenv("FACTORY_ARENA_MALLOC");
    return asked && strcmp(asked, "1") == 0;
#endif
}

struct arena *arena_new(void)
{
    if (want_separate()) {
        struct arena *arena = mem_alloc(sizeof(*arena));
        arena->separate = true;
        return arena;
    }
    struct block *block = mem_grow(NULL, FIRST_BLOCK_BYTES);
    block->next = NULL;
    block->size = FIRST_BLOCK_BYTES - sizeof(*block);
    block->used = rounded(sizeof(struct arena));
    struct arena *arena = (void *)block->data;
    *arena = (struct arena){.blocks = block, .next_size = FIRST_BLOCK_BYTES * 2};
    return arena;
}

static void drop_items(struct arena *arena)
{
    for (size_t i = 0; i < arena->item_count; i++) {
        free(arena->items[i]);
    }
    arena->item_count = 0;
}

/* The block that holds the arena's own struct. */
static struct block *home_block(struct arena *arena)
{
    return (struct block *)((char *)arena - offsetof(struct block, data));
}

static void drop_blocks_but(struct arena *arena, const struct block *home, const struct block *kept)
{
    struct block *block = arena->blocks;
    while (block) {
        struct block *older = block->next;
        if (block != home && block != kept) {
            free(block);
        }
        block = older;
    }
}

struct arena *arena_free(struct arena *arena)
{
    if (!arena) {
        return NULL;
    }
    if (arena->separate) {
        drop_items(arena);
        free(arena->items);
        free(arena);
        return NULL;
    }
    struct block *home = home_block(arena);
    drop_blocks_but(arena, home, home);
    free(home);
    return NULL;
}

void arena_reset(struct arena *arena)
{
    arena->total = 0;
    if (arena->separate) {
        drop_items(arena);
        return;
    }
    struct block *home = home_block(arena);
    struct block *kept = home; /* what is filled again and again settles in one block */
    for (struct block *block = arena->blocks; block; block = block->next) {
        if (block->size > kept->size && block->size <= LARGEST_BLOCK_BYTES) {
            kept = block;
        }
    }
    drop_blocks_but(arena, home, kept);
    home->next = NULL;
    home->used = rounded(sizeof(struct arena));
    arena->blocks = home;
    arena->next_size = FIRST_BLOCK_BYTES * 2;
    if (kept != home) {
        kept->next = home;
        kept->used = 0;
        arena->blocks = kept;
        arena->next_size = LARGEST_BLOCK_BYTES;
    }
}

static void *take_separate(struct arena *arena, size_t bytes)
{
    mem_reserve(arena->items, &arena->item_cap, arena->item_count + 1);
    void *item = mem_grow(NULL, bytes);
    arena->items[arena->item_count++] = item;
    return item;
}

static struct block *add_block(struct arena *arena, size_t need)
{
    bool alone = need > arena->next_size / 2;
    size_t size = alone ? need : arena->next_size - sizeof(struct block);
    struct block *block = mem_grow(NULL, sizeof(*block) + size);
    block->size = size;
    block->used = 0;
    if (alone) { /* the serving block still has room for small items */
        block->next = arena->blocks->next;
        arena->blocks->next = block;
        return block;
    }
    block->next = arena->blocks;
    arena->blocks = block;
    if (arena->next_size < LARGEST_BLOCK_BYTES) {
        arena->next_size *= 2;
    }
    return block;
}

static void *take(struct arena *arena, size_t bytes)
{
    arena->total += bytes;
    if (arena->separate) {
        return take_separate(arena, bytes);
    }
    size_t need = rounded(bytes);
    struct block *block = arena->blocks;
    if (block->size - block->used < need) {
        block = add_block(arena, need);
    }
    void *item = block->data + block->used;
    block->used += need;
    return item;
}

void *arena_alloc(struct arena *arena, size_t bytes)
{
    void *item = take(arena, bytes);
    memset(item, 0, bytes);
    return item;
}

void *arena_array_(struct arena *arena, size_t count, size_t bytes_each)
{
    size_t bytes = 0;
    if (__builtin_mul_overflow(count, bytes_each, &bytes)) {
        mem_exhausted(SIZE_MAX);
    }
    return arena_alloc(arena, bytes);
}

void *arena_dup(struct arena *arena, const void *bytes, size_t len)
{
    if (len == SIZE_MAX) {
        mem_exhausted(len);
    }
    char *copy = take(arena, len + 1);
    if (len > 0) {
        memcpy(copy, bytes, len);
    }
    copy[len] = '\0';
    return copy;
}

char *arena_strdup(struct arena *arena, const char *s)
{
    return s ? arena_dup(arena, s, strlen(s)) : NULL;
}

char *arena_strndup(struct arena *arena, const char *s, size_t len)
{
    return arena_dup(arena, s, len);
}

char *arena_printf(struct arena *arena, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    char *text = arena_vprintf(arena, fmt, ap);
    va_end(ap);
    return text;
}

char *arena_vprintf(struct arena *arena, const char *fmt, va_list ap)
{
    va_list again;
    va_copy(again, ap);
    int len = vsnprintf(NULL, 0, fmt, ap);
    char *text = take(arena, len < 0 ? 1 : (size_t)len + 1);
    if (len < 0) {
        text[0] = '\0';
    } else {
        vsnprintf(text, (size_t)len + 1, fmt, again);
    }
    va_end(again);
    return text;
}

size_t arena_bytes(const struct arena *arena)
{
    return arena->total;
}
