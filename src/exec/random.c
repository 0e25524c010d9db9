/*
 * random.c - SipHash-1-3 seed, SplitMix64 expansion, xoshiro256** streams; see random.h.
 *
 * Owns: values that recorded runs depend on; a change here breaks every stored run.
 * Tests: tests/unit/test_exec_random.c
 */
#include "exec/random.h"

#include <string.h>

static uint64_t rotl(uint64_t x, int k)
{
    return (x << k) | (x >> (64 - k));
}

static void sip_round(uint64_t v[4])
{
    v[0] += v[1];
    v[1] = rotl(v[1], 13) ^ v[0];
    v[0] = rotl(v[0], 32);
    v[2] += v[3];
    v[3] = rotl(v[3], 16) ^ v[2];
    v[0] += v[3];
    v[3] = rotl(v[3], 21) ^ v[0];
    v[2] += v[1];
    v[1] = rotl(v[1], 17) ^ v[2];
    v[2] = rotl(v[2], 32);
}

uint64_t random_seed(const char *run_id)
{
    uint64_t v[4] = {0x736f6d6570736575ULL, 0x646f72616e646f6dULL, 0x6c7967656e657261ULL,
                     0x7465646279746573ULL};
    size_t len = strlen(run_id);
    uint64_t word = 0;

    for (size_t i = 0; i <= len; i++) {
        uint64_t byte = i < len ? (uint8_t)run_id[i] : 0xff; /* how Rust hashes a string */
        word |= byte << (8 * (i % 8));
        if (i % 8 == 7) {
            v[3] ^= word;
            sip_round(v);
            v[0] ^= word;
            word = 0;
        }
    }
    word |= (uint64_t)((len + 1) & 0xff) << 56;
    v[3] ^= word;
    sip_round(v);
    v[0] ^= word;
    v[2] ^= 0xff;
    sip_round(v);
    sip_round(v);
    sip_round(v);
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}

void random_start(struct random_stream *stream, uint64_t seed, enum random_stream_id id)
{
    uint64_t x = seed + (uint64_t)id * 0x9e3779b97f4a7c15ULL;

    for (int i = 0; i < 4; i++) {
        uint64_t z = (x += 0x9e3779b97f4a7c15ULL);
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
        stream->s[i] = z ^ (z >> 31);
    }
}

uint64_t random_next(struct random_stream *stream)
{
    uint64_t *s = stream->s;
    uint64_t result = rotl(s[1] * 5, 7) * 9;
    uint64_t t = s[1] << 17;

    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotl(s[3], 45);
    return result;
}

void random_uuid(struct random_stream *stream, char out[RANDOM_UUID_BYTES])
{
    static const char hex[] = "0123456789abcdef";
    uint8_t bytes[16];

    for (int i = 0; i < 2; i++) {
        uint64_t word = random_next(stream);
        for (int k = 0; k < 8; k++) {
            bytes[i * 8 + k] = (uint8_t)(word >> (8 * k));
        }
    }
    bytes[6] = (uint8_t)((bytes[6] & 0x0f) | 0x40);
    bytes[8] = (uint8_t)((bytes[8] & 0x3f) | 0x80);
    char *p = out;
    for (int i = 0; i < 16; i++) {
        if (i == 4 || i == 6 || i == 8 || i == 10) {
            *p++ = '-';
        }
        *p++ = hex[bytes[i] >> 4];
        *p++ = hex[bytes[i] & 15];
    }
    *p = '\0';
}
