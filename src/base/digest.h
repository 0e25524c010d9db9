/*
 * digest.h - SHA-256, hex and base64.
 *
 * Owns: the one door to OpenSSL's digests. Hex is lowercase. No "sha256:" prefix is added here.
 * Thread-safe; a struct sha256 belongs to one thread at a time.
 */
#ifndef BASE_DIGEST_H
#define BASE_DIGEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

#define SHA256_BYTES 32
#define SHA256_HEX_BYTES 65

void sha256_bytes(const void *data, size_t len, uint8_t out[SHA256_BYTES]);
void sha256_hex(const void *data, size_t len, char out[SHA256_HEX_BYTES]);
/* ret_size may be NULL. sha256_fd reads from the descriptor's position to its end. */
int sha256_file(const char *path, char out[SHA256_HEX_BYTES], uint64_t *ret_size, struct err *err);
int sha256_fd(int fd, char out[SHA256_HEX_BYTES], uint64_t *ret_size, struct err *err);

struct sha256; /* streaming */
struct sha256 *sha256_begin(void);
void sha256_update(struct sha256 *sha, const void *data, size_t len);
void sha256_finish(struct sha256 *sha, uint8_t out[SHA256_BYTES]); /* frees sha */

void hex_encode(const void *data, size_t len, char *out /* 2*len+1 */);
bool hex_decode(const char *text, size_t len, void *out /* len/2 */); /* lowercase only */
void base64_encode(struct str *out, const void *data, size_t len);    /* RFC 4648, padded */
/* Strict: padding required, no white space, no stray bits. false when malformed (*out unchanged).
 */
bool base64_decode(struct str *out, const char *text, size_t len);

#endif
