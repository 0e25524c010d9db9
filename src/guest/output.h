/*
 * output.h - what is kept of one output stream of a process: its head and its tail.
 *
 * Owns: the first head_max bytes and a ring of the last tail_max bytes. Must not: know who reads.
 * Invariant: a position is an offset from the stream's first byte; bytes at [0, head) and at
 * [output_tail_start, total) can be read, those in between are gone. Memory grows with what was
 * written and is not inherited by forked children (supervisors would pin copies of it).
 */
#ifndef GUEST_OUTPUT_H
#define GUEST_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct output_part { /* a growing mapping */
    char *bytes;
    size_t cap;
    size_t max;
};

struct output {
    struct output_part head;
    struct output_part tail;
    size_t head_len;
    size_t tail_first; /* ring index of the oldest byte */
    size_t tail_len;
    uint64_t total; /* bytes ever written */
};

void output_init(struct output *output, size_t head_max, size_t tail_max);
void output_free(struct output *output);
void output_write(struct output *output, const char *bytes, size_t len);
uint64_t output_tail_start(const struct output *output); /* equals total when the tail is empty */
size_t output_memory(const struct output *output);       /* bytes mapped */
/* How much can be written before the byte at pos (for a reader that needs it) is gone. */
size_t output_room(const struct output *output, uint64_t pos);

struct output_piece {
    const char *bytes; /* borrowed until the next write */
    size_t len;
    uint64_t dropped; /* > 0: len is 0 and so many bytes are missing here */
};
/* The next piece at *pos (at most max bytes), moving *pos behind it; false at the end. */
bool output_next(const struct output *output, uint64_t *pos, size_t max, struct output_piece *ret);

#endif
