/*
 * random.h - deterministic random streams of a run.
 *
 * Owns: the seed of a run id and xoshiro256** streams. Format, stable for ever: the seed is
 * SipHash-1-3 with keys 0,0 over the bytes of original_execution_run_id followed by 0xff; a stream
 * is xoshiro256** whose state is four SplitMix64 outputs from seed + stream number times the golden
 * gamma. Streams are separate so that one more call in one place never shifts another's values.
 */
#ifndef EXEC_RANDOM_H
#define EXEC_RANDOM_H

#include <stddef.h>
#include <stdint.h>

#define RANDOM_UUID_BYTES 37

enum random_stream_id {
    RANDOM_USER = 1,
    RANDOM_UUID = 2,
    RANDOM_ASIDE = 3, /* of queries and validators */
};

struct random_stream {
    uint64_t s[4];
};

uint64_t random_seed(const char *run_id);
void random_start(struct random_stream *stream, uint64_t seed, enum random_stream_id id);
uint64_t random_next(struct random_stream *stream);
/* RFC 9562 version 4, lowercase. */
void random_uuid(struct random_stream *stream, char out[RANDOM_UUID_BYTES]);

#endif
