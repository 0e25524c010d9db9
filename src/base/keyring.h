/*
 * keyring.h - the keys that payloads are sealed with: AES-256-GCM under a named key.
 *
 * Owns: the key file, the keys in memory, and the one door to OpenSSL's ciphers. The file is JSON,
 * readable by its owner alone:
 *
 *   {"active": "2026-07", "keys": {"2026-01": "<base64 of 32 bytes>", "2026-07": "<...>"}}
 *
 * What is sealed from now on is sealed with the active key; every key of the ring opens what was
 * sealed with it. So a new key is added, made active, and the old one is kept for as long as
 * anything sealed with it is. Ids are 1 to 64 of A-Z a-z 0-9 . _ - and no secret.
 *
 * The sealed form is 12 bytes of nonce, drawn at random, the ciphertext, and 16 bytes of tag, with
 * no authenticated data: what the sample codecs of Temporal's SDKs write and read. One key is good
 * for 2^32 values; a new one a year is plenty.
 *
 * Must not: let a key reach a message, a log or memory that is given back unwiped.
 * Threads: a keyring is constant; any number of threads. Several may live in one process.
 */
#ifndef BASE_KEYRING_H
#define BASE_KEYRING_H

#include <stdbool.h>

#include "base/sealer.h"

#define KEYRING_KEY_BYTES 32
#define KEYRING_NONCE_BYTES 12
#define KEYRING_TAG_BYTES 16
/* By how much the sealed form is longer. */
#define KEYRING_SEAL_BYTES (KEYRING_NONCE_BYTES + KEYRING_TAG_BYTES)
#define KEYRING_FILE_BYTES_MAX 65536

struct keyring;

/* All permanent: "FileNotFound", "OpenFailed", "NotAFile", "FileTooLarge" (fs.h),
 * "KeyringReadable" (others than its owner may read or write the file), "BadKeyring" (what is wrong
 * with it, naming keys by their place or their id). */
int keyring_load(const char *path, struct keyring **ret, struct err *err);
struct keyring *keyring_free(struct keyring *keyring); /* wipes the keys; NULL fine; returns NULL */
static inline void keyring_cleanup_(struct keyring **keyring)
{
    *keyring = keyring_free(*keyring);
}
#define autokeyring cleanup_with(keyring_cleanup_)

const char *keyring_active(const struct keyring *keyring); /* the id; lives with the keyring */
bool keyring_has(const struct keyring *keyring, const char *key_id);

/* Appends the sealed form, made with the active key, whose id is returned. */
const char *keyring_seal(const struct keyring *keyring, const void *bytes, size_t len,
                         struct str *out);
/* Appends the plain text. Permanent: "UnknownSealingKey" (no key of that id), "BrokenSeal" (cut,
 * changed, or sealed with another key of that id). */
int keyring_open(const struct keyring *keyring, const char *key_id, const void *bytes, size_t len,
                 struct str *out, struct err *err);

/* The same as a table, good for as long as the keyring. NULL for NULL. */
const struct sealer *keyring_sealer(const struct keyring *keyring);

#endif
