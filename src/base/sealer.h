/*
 * sealer.h - whoever makes bytes unreadable and readable again, as two calls.
 *
 * Owns: the table that rooms without keys are given (history seals payloads by it, the journal
 * columns). keyring.h makes one of a file of keys. A sealer is constant and may be used by several
 * threads. NULL stands for nobody: nothing is sealed.
 * Must not: know a cipher.
 */
#ifndef BASE_SEALER_H
#define BASE_SEALER_H

#include <stddef.h>

#include "base/err.h"
#include "base/str.h"

struct sealer {
    /* Appends the sealed form of the bytes. The id of the key, which lives as long as the sealer:
     * whoever stores the sealed form stores it too. Cannot fail. */
    const char *(*seal)(void *user, const void *bytes, size_t len, struct str *out);
    /* The inverse, appended. <0: *out is unchanged; "UnknownSealingKey", "BrokenSeal" (err.h). */
    int (*open)(void *user, const char *key_id, const void *bytes, size_t len, struct str *out,
                struct err *err);
    void *user;
};

#endif
