/*
 * proto_part.c - see proto_part.h.
 * Owns: the encoding of tags and numbers. Every length is checked against the bytes that are there.
 * Tests: tests/unit/test_history_proto.c, tests/fuzz/fuzz_history.c
 */
#include "history/proto_part.h"

#define GROUPS_MAX 100

bool part_varint(struct part_cursor *c, uint64_t *ret)
{
    uint64_t value = 0;

    for (unsigned shift = 0; shift < 70 && c->at < c->end; shift += 7) {
        uint8_t byte = *c->at++;
        if (shift == 63 && byte > 1) {
            return false;
        }
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80)) {
            *ret = value;
            return true;
        }
    }
    return false;
}

bool part_fixed(struct part_cursor *c, size_t bytes, uint64_t *ret)
{
    uint64_t value = 0;

    if ((size_t)(c->end - c->at) < bytes) {
        return false;
    }
    for (size_t i = 0; i < bytes; i++) {
        value |= (uint64_t)c->at[i] << (8 * i);
    }
    c->at += bytes;
    *ret = value;
    return true;
}

static bool take_part(struct part_cursor *c, struct part *ret, int groups);

/* Up to the end of a group, which old programs may have written. */
static bool skip_group(struct part_cursor *c, uint32_t number, int groups)
{
    struct part part;

    while (groups < GROUPS_MAX && take_part(c, &part, groups + 1)) {
        if (part.type == PART_GROUP_END) {
            return part.number == number;
        }
    }
    return false;
}

static bool take_part(struct part_cursor *c, struct part *ret, int groups)
{
    const uint8_t *start = c->at;
    uint64_t tag = 0;

    *ret = (struct part){.raw = start};
    if (!part_varint(c, &tag) || tag >> 3 == 0 || tag >> 3 > 536870911) {
        return false;
    }
    ret->number = (uint32_t)(tag >> 3);
    ret->type = tag & 7;
    switch (ret->type) {
    case PART_VARINT:
        if (!part_varint(c, &ret->value)) {
            return false;
        }
        break;
    case PART_FIXED64:
    case PART_FIXED32:
        if (!part_fixed(c, ret->type == PART_FIXED64 ? 8 : 4, &ret->value)) {
            return false;
        }
        break;
    case PART_BYTES:
        if (!part_varint(c, &ret->value) || ret->value > (uint64_t)(c->end - c->at)) {
            return false;
        }
        ret->data = c->at;
        ret->len = (size_t)ret->value;
        c->at += ret->len;
        break;
    case PART_GROUP:
        if (!skip_group(c, ret->number, groups)) {
            return false;
        }
        break;
    case PART_GROUP_END:
        return groups > 0;
    default:
        return false;
    }
    ret->raw_len = (size_t)(c->at - start);
    return true;
}

bool part_take(struct part_cursor *c, struct part *ret)
{
    return take_part(c, ret, 0);
}

bool parts_cut(struct arena *arena, const void *bytes, size_t len, struct parts *ret)
{
    struct part_cursor c = part_cursor(bytes, len);
    struct part part;
    size_t count = 0;

    while (c.at < c.end) {
        if (!part_take(&c, &part)) {
            return false;
        }
        count++;
    }
    ret->items = arena_array_of(arena, struct part, count + 1);
    ret->count = count;
    c.at = bytes;
    for (size_t i = 0; i < count; i++) {
        part_take(&c, &ret->items[i]);
    }
    return true;
}
