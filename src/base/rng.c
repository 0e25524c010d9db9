/*
 * rng.c - see rng.h. Owns the replaceable source of randomness. Keeps no pool, so nothing is shared
 * between threads or survives a fork.
 * Tests: tests/unit/test_base_rng.c
 */
#include "base/rng.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/attr.h"
#include "base/clock.h"
#include "base/digest.h"

static void system_fill(void *user is_unused, void *buf, size_t len)
{
    char *at = buf;
    while (len > 0) {
        ssize_t got = getrandom(at, len, 0);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) { /* not on any kernel we run on; going on without randomness is worse */
            static const char line[] = "factory: getrandom(2) failed\n";
            if (write(STDERR_FILENO, line, sizeof(line) - 1) < 0) {
                /* nobody is left to tell */
            }
            _exit(70);
        }
        at += got;
        len -= (size_t)got;
    }
}

static void (*current_fill)(void *user, void *buf, size_t len) = system_fill;
static void *current_user;

void rng_replace(void (*fill)(void *user, void *buf, size_t len), void *user)
{
    current_fill = fill ? fill : system_fill;
    current_user = fill ? user : NULL;
}

void rng_bytes(void *buf, size_t len)
{
    current_fill(current_user, buf, len);
}

uint64_t rng_u64(void)
{
    uint64_t value = 0;
    rng_bytes(&value, sizeof(value));
    return value;
}

void rng_hex(char *out, size_t bytes)
{
    uint8_t some[32];
    while (bytes > 0) {
        size_t now = bytes < sizeof(some) ? bytes : sizeof(some);
        rng_bytes(some, now);
        hex_encode(some, now, out);
        out += 2 * now;
        bytes -= now;
    }
    *out = '\0';
}

/*
 * RFC 9562 section 5.7, with the clock's fraction of a millisecond in rand_a (section 6.2, method
 * 3): 48 bits ms since 1970 | 4 bits version 7 | 12 bits fraction | 2 bits variant 10 | 62 bits
 * random
 */
void rng_uuid(char out[UUID_TEXT_BYTES])
{
    int64_t wall = clock_wall_ns();
    uint64_t now = wall > 0 ? (uint64_t)wall : 0;
    uint64_t ms = now / NS_PER_MS;
    uint64_t fraction = (now % NS_PER_MS << 12) / NS_PER_MS;
    uint8_t id[16];
    rng_bytes(id + 8, 8);
    for (int i = 0; i < 6; i++) {
        id[i] = (uint8_t)(ms >> (40 - 8 * i));
    }
    id[6] = (uint8_t)(0x70 | fraction >> 8);
    id[7] = (uint8_t)fraction;
    id[8] = (uint8_t)(0x80 | (id[8] & 0x3f));
    char hex[sizeof(id) * 2 + 1];
    hex_encode(id, sizeof(id), hex);
    snprintf(out, UUID_TEXT_BYTES, "%.8s-%.4s-%.4s-%.4s-%.12s", hex, hex + 8, hex + 12, hex + 16,
             hex + 20);
}
