/*
 * open_set.c - see open_set.h. Two chained hashes over the same items; doubled when full.
 *
 * Owns: the items. Must not: be shared between threads.
 * Tests: tests/unit/test_history_validate.c (through the validator)
 */
#include "history/open_set.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define FIRST_BUCKETS 16

static uint64_t mix(uint64_t x)
{
    x ^= x >> 33;
    x *= 0xff51afd7ed558ccdULL;
    x ^= x >> 33;
    return x;
}

static uint64_t id_hash(enum open_kind kind, int64_t id)
{
    return mix((uint64_t)id * OPEN_KINDS + (uint64_t)kind);
}

static uint64_t name_hash(enum open_kind kind, const char *name)
{
    uint64_t hash = 0xcbf29ce484222325ULL + (uint64_t)kind; /* FNV-1a */

    for (; *name; name++) {
        hash = (hash ^ (unsigned char)*name) * 0x100000001b3ULL;
    }
    return mix(hash);
}

static void link_item(struct open_set *set, struct open_item *item)
{
    struct open_item **id = &set->by_id[id_hash(item->kind, item->id) & (set->buckets - 1)];
    struct open_item **name = &set->by_name[item->name_hash & (set->buckets - 1)];

    item->next_by_id = *id;
    *id = item;
    item->next_by_name = *name;
    *name = item;
}

static void grow(struct open_set *set)
{
    struct open_item **old = set->by_id;
    size_t old_buckets = set->buckets;

    set->buckets = old_buckets ? old_buckets * 2 : FIRST_BUCKETS;
    set->by_id = mem_array(set->buckets, sizeof(*set->by_id));
    free(set->by_name);
    set->by_name = mem_array(set->buckets, sizeof(*set->by_name));
    for (size_t i = 0; i < old_buckets; i++) {
        struct open_item *item = old[i];
        while (item) {
            struct open_item *next = item->next_by_id;
            link_item(set, item);
            item = next;
        }
    }
    free(old);
}

void open_set_free(struct open_set *set)
{
    for (size_t i = 0; i < set->buckets; i++) {
        struct open_item *item = set->by_id[i];
        while (item) {
            struct open_item *next = item->next_by_id;
            free(item);
            item = next;
        }
    }
    free(set->by_id);
    free(set->by_name);
    *set = (struct open_set){0};
}

struct open_item *open_set_find(const struct open_set *set, enum open_kind kind, int64_t id)
{
    if (set->buckets == 0) {
        return NULL;
    }
    struct open_item *item = set->by_id[id_hash(kind, id) & (set->buckets - 1)];
    while (item && !(item->kind == kind && item->id == id)) {
        item = item->next_by_id;
    }
    return item;
}

struct open_item *open_set_find_name(const struct open_set *set, enum open_kind kind,
                                     const char *name)
{
    if (set->buckets == 0) {
        return NULL;
    }
    uint64_t hash = name_hash(kind, name);
    struct open_item *item = set->by_name[hash & (set->buckets - 1)];
    while (item && !(item->kind == kind && item->name_hash == hash && !strcmp(item->name, name))) {
        item = item->next_by_name;
    }
    return item;
}

struct open_item *open_set_add(struct open_set *set, enum open_kind kind, enum event_type type,
                               int64_t id, const char *name)
{
    size_t len = name ? strlen(name) : 0;
    struct open_item *item = mem_alloc(sizeof(*item) + len + 1);

    if (set->count >= set->buckets) {
        grow(set);
    }
    item->kind = kind;
    item->type = type;
    item->id = id;
    memcpy(item->name, len > 0 ? name : "", len + 1);
    item->name_hash = name_hash(kind, item->name);
    link_item(set, item);
    set->count++;
    set->counts[kind]++;
    return item;
}

void open_set_remove(struct open_set *set, struct open_item *item)
{
    struct open_item **at = &set->by_id[id_hash(item->kind, item->id) & (set->buckets - 1)];

    while (*at != item) {
        at = &(*at)->next_by_id;
    }
    *at = item->next_by_id;
    at = &set->by_name[item->name_hash & (set->buckets - 1)];
    while (*at != item) {
        at = &(*at)->next_by_name;
    }
    *at = item->next_by_name;
    set->count--;
    set->counts[item->kind]--;
    free(item);
}
