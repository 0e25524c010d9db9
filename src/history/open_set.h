/*
 * open_set.h - what a run has begun and not ended: activities, timers, children, requests, updates.
 *
 * Owns: a hash of open items, found by the event that began them and by their own id text.
 * Must not: know rules (validate.c does). One thread at a time.
 */
#ifndef HISTORY_OPEN_SET_H
#define HISTORY_OPEN_SET_H

#include <stddef.h>
#include <stdint.h>

#include "history/event.h"

enum open_kind { OPEN_ACTIVITY, OPEN_TIMER, OPEN_CHILD, OPEN_REQUEST, OPEN_UPDATE, OPEN_NEXUS };
#define OPEN_KINDS 6

struct open_item {
    struct open_item *next_by_id;
    struct open_item *next_by_name;
    enum open_kind kind;
    enum event_type type; /* of the event that began it */
    int64_t id;           /* of that event */
    int64_t started;      /* id of its STARTED event, or 0 */
    int64_t cancel;       /* id of the last cancel request, or 0 */
    uint64_t name_hash;
    char name[]; /* activity id, timer id, ...; "" when it has none */
};

struct open_set {
    struct open_item **by_id;
    struct open_item **by_name;
    size_t buckets; /* a power of two, or 0 */
    size_t count;
    size_t counts[OPEN_KINDS];
};

void open_set_free(struct open_set *set); /* back to zero */
struct open_item *open_set_find(const struct open_set *set, enum open_kind kind, int64_t id);
struct open_item *open_set_find_name(const struct open_set *set, enum open_kind kind,
                                     const char *name);
/* name may be NULL. */
struct open_item *open_set_add(struct open_set *set, enum open_kind kind, enum event_type type,
                               int64_t id, const char *name);
void open_set_remove(struct open_set *set, struct open_item *item);

#endif
