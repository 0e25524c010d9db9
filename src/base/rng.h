/*
 * rng.h - the only source of randomness, and the ids made from it.
 *
 * Owns: rng_bytes() behind a replaceable function (tests, simulation). System source: getrandom(2).
 * Thread-safe. Not for workflow code: that has its own seeded stream in exec/.
 */
#ifndef BASE_RNG_H
#define BASE_RNG_H

#include <stddef.h>
#include <stdint.h>

void rng_replace(void (*fill)(void *user, void *buf, size_t len), void *user); /* NULL: system */
void rng_bytes(void *buf, size_t len);
uint64_t rng_u64(void);
/* out gets 2*bytes lowercase hex digits and a NUL. */
void rng_hex(char *out, size_t bytes);
#define UUID_TEXT_BYTES 37
void rng_uuid(char out[UUID_TEXT_BYTES]); /* RFC 9562 version 7: time-ordered, lowercase */

#endif
