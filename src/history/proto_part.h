/*
 * proto_part.h - protobuf messages as a row of numbered parts.
 *
 * Owns: the wire format below the level of schemas: tags, numbers, lengths, groups.
 * Must not: copy; parts point into the bytes given. Must not be included outside history/.
 */
#ifndef HISTORY_PROTO_PART_H
#define HISTORY_PROTO_PART_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"

enum part_type {
    PART_VARINT = 0,
    PART_FIXED64 = 1,
    PART_BYTES = 2,
    PART_GROUP = 3, /* of old programs; skipped whole */
    PART_GROUP_END = 4,
    PART_FIXED32 = 5,
};

/* One field as it came. Numbers are in value, the content of PART_BYTES is data. */
struct part {
    uint32_t number;
    uint8_t type;
    bool taken; /* the reader's mark */
    uint64_t value;
    const uint8_t *data;
    size_t len;
    const uint8_t *raw; /* tag and all */
    size_t raw_len;
};

struct parts {
    struct part *items;
    size_t count;
};

struct part_cursor {
    const uint8_t *at;
    const uint8_t *end;
};

/* At the beginning of a message's bytes; of an empty one they may be NULL. */
static inline struct part_cursor part_cursor(const void *bytes, size_t len)
{
    const uint8_t *at = bytes;
    return (struct part_cursor){at, len > 0 ? at + len : at};
}
/* Each reads one thing and moves on; false when the bytes end early or are none. */
bool part_take(struct part_cursor *c, struct part *ret);
bool part_varint(struct part_cursor *c, uint64_t *ret);
bool part_fixed(struct part_cursor *c, size_t bytes, uint64_t *ret); /* 4 or 8, little endian */

/* A whole message; false when it is none. */
bool parts_cut(struct arena *arena, const void *bytes, size_t len, struct parts *ret);

#endif
