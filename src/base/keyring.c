/*
 * keyring.c - see keyring.h.
 *
 * Owns: reading the file without leaving copies of a key behind. Everything that ever held one (the
 * file's bytes, the decoded text in the parser's arena, what base64 gave) is wiped before it is
 * given back; messages name keys by place or id, never by content.
 * Must not: be handed anything but ids by callers.
 * Threads: the cipher is fetched once and read only; every context belongs to its call.
 * Tests: tests/unit/test_base_keyring.c
 */
#include "base/keyring.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <pthread.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/digest.h"
#include "base/fs.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/rng.h"

#define ID_BYTES_MAX 64
#define PIECE_BYTES (1 << 30) /* OpenSSL counts in int */

struct key {
    char id[ID_BYTES_MAX + 1];
    uint8_t bytes[KEYRING_KEY_BYTES];
};

struct keyring {
    struct sealer sealer;
    struct key *keys;
    size_t count;
    size_t active;
};

/* --- the cipher --------------------------------------------------------------------------------
 */

static pthread_once_t once = PTHREAD_ONCE_INIT;
static EVP_CIPHER *cipher;

/* libcrypto without AES-GCM or without memory: to go on would be to write plain text. */
static void must(bool good)
{
    if (!good) {
        static const char line[] = "factory: out of memory (for AES-256-GCM)\n";
        if (write(STDERR_FILENO, line, sizeof(line) - 1) < 0) {
            /* nobody is left to tell */
        }
        _exit(MEM_EXHAUSTED_EXIT);
    }
}

static void fetch_cipher(void)
{
    must(mem_retry((cipher = EVP_CIPHER_fetch(NULL, "AES-256-GCM", NULL)) != NULL));
}

static const EVP_CIPHER *aes(void)
{
    pthread_once(&once, fetch_cipher);
    return cipher;
}

static void free_context(EVP_CIPHER_CTX **ctx)
{
    EVP_CIPHER_CTX_free(*ctx); /* wipes the key schedule */
}

/* --- keys --------------------------------------------------------------------------------------
 */

static const struct key *find(const struct keyring *keyring, const char *id)
{
    for (size_t i = 0; id && i < keyring->count; i++) {
        if (str_eq(keyring->keys[i].id, id)) {
            return &keyring->keys[i];
        }
    }
    return NULL;
}

const char *keyring_active(const struct keyring *keyring)
{
    return keyring->keys[keyring->active].id;
}

bool keyring_has(const struct keyring *keyring, const char *key_id)
{
    return find(keyring, key_id) != NULL;
}

struct keyring *keyring_free(struct keyring *keyring)
{
    if (keyring) {
        if (keyring->keys) {
            OPENSSL_cleanse(keyring->keys, keyring->count * sizeof(*keyring->keys));
        }
        free(keyring->keys);
        free(keyring);
    }
    return NULL;
}

/* --- sealing -----------------------------------------------------------------------------------
 */

const char *keyring_seal(const struct keyring *keyring, const void *bytes, size_t len,
                         struct str *out)
{
    const struct key *key = &keyring->keys[keyring->active];
    EVP_CIPHER_CTX *ctx cleanup_with(free_context) = NULL;
    uint8_t nonce[KEYRING_NONCE_BYTES];
    int got = 0;

    rng_bytes(nonce, sizeof(nonce));
    must(mem_retry((ctx = EVP_CIPHER_CTX_new()) != NULL));
    must(mem_retry(EVP_EncryptInit_ex2(ctx, aes(), key->bytes, nonce, NULL) == 1));
    str_reserve(out, len + KEYRING_SEAL_BYTES);
    str_addn(out, nonce, sizeof(nonce));
    for (size_t at = 0; at < len; at += (size_t)got) {
        int piece = len - at < PIECE_BYTES ? (int)(len - at) : PIECE_BYTES;
        must(EVP_EncryptUpdate(ctx, (uint8_t *)out->ptr + out->len, &got,
                               (const uint8_t *)bytes + at, piece) == 1 &&
             got == piece);
        out->len += (size_t)got;
    }
    must(EVP_EncryptFinal_ex(ctx, (uint8_t *)out->ptr + out->len, &got) == 1 && got == 0);
    must(EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_GET_TAG, KEYRING_TAG_BYTES, out->ptr + out->len) ==
         1);
    out->len += KEYRING_TAG_BYTES;
    out->ptr[out->len] = '\0';
    return key->id;
}

/* True when the tag fits; *out then has the plain text behind what it had. */
static bool decipher(const struct key *key, const uint8_t *bytes, size_t len, struct str *out)
{
    EVP_CIPHER_CTX *ctx cleanup_with(free_context) = NULL;
    uint8_t tag[KEYRING_TAG_BYTES];
    const uint8_t *from = bytes + KEYRING_NONCE_BYTES;
    size_t plain = len - KEYRING_SEAL_BYTES;
    int got = 0;

    memcpy(tag, from + plain, sizeof(tag));
    must(mem_retry((ctx = EVP_CIPHER_CTX_new()) != NULL));
    must(mem_retry(EVP_DecryptInit_ex2(ctx, aes(), key->bytes, bytes, NULL) == 1));
    str_reserve(out, plain);
    for (size_t at = 0; at < plain; at += (size_t)got) {
        int piece = plain - at < PIECE_BYTES ? (int)(plain - at) : PIECE_BYTES;
        must(EVP_DecryptUpdate(ctx, (uint8_t *)out->ptr + out->len + at, &got, from + at, piece) ==
                 1 &&
             got == piece);
    }
    must(EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_SET_TAG, sizeof(tag), tag) == 1);
    if (EVP_DecryptFinal_ex(ctx, (uint8_t *)out->ptr + out->len + plain, &got) != 1) {
        OPENSSL_cleanse(out->ptr + out->len, plain); /* not authentic: nobody sees it */
        out->ptr[out->len] = '\0';
        return false;
    }
    out->len += plain;
    out->ptr[out->len] = '\0';
    return true;
}

int keyring_open(const struct keyring *keyring, const char *key_id, const void *bytes, size_t len,
                 struct str *out, struct err *err)
{
    const struct key *key = find(keyring, key_id);

    if (!key) {
        return err_set(err, ERR_PERMANENT, "UnknownSealingKey",
                       "sealed with the key \"%.*s\", which the keyring does not hold: add it",
                       ID_BYTES_MAX, key_id ? key_id : "");
    }
    if (len < KEYRING_SEAL_BYTES || !decipher(key, bytes, len, out)) {
        return err_set(err, ERR_PERMANENT, "BrokenSeal",
                       "the key \"%s\" does not open it: it was changed, or sealed with another "
                       "key of that id",
                       key->id);
    }
    return 0;
}

static const char *table_seal(void *user, const void *bytes, size_t len, struct str *out)
{
    return keyring_seal(user, bytes, len, out);
}

static int table_open(void *user, const char *key_id, const void *bytes, size_t len,
                      struct str *out, struct err *err)
{
    return keyring_open(user, key_id, bytes, len, out, err);
}

const struct sealer *keyring_sealer(const struct keyring *keyring)
{
    return keyring ? &keyring->sealer : NULL;
}

/* --- the file ----------------------------------------------------------------------------------
 */

static void wipe(struct str *text)
{
    if (text->ptr) {
        OPENSSL_cleanse(text->ptr, text->cap);
    }
    str_free(text);
}
#define autowipe cleanup_with(wipe)

static bool id_is_good(const char *id, size_t len)
{
    static const char alphabet[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
    return len >= 1 && len <= ID_BYTES_MAX && strspn(id, alphabet) == len;
}

static int bad(struct err *err, const char *fmt, ...) printf_like(2, 3);
static int bad(struct err *err, const char *fmt, ...)
{
    autostr struct str text = {0};
    va_list ap;
    va_start(ap, fmt);
    str_addv(&text, fmt, ap);
    va_end(ap);
    return err_set(err, ERR_PERMANENT, "BadKeyring", "%s", str_c(&text));
}

static int read_key(struct keyring *keyring, const struct json *member, struct err *err)
{
    struct key *key = &keyring->keys[keyring->count];
    autowipe struct str bytes = {0};

    if (!id_is_good(member->key, member->key_len)) {
        return bad(err, "the id of key %zu must be 1 to %d of A-Z a-z 0-9 . _ -",
                   keyring->count + 1, ID_BYTES_MAX);
    }
    str_reserve(&bytes, member->text_len);
    if (member->type != JSON_STRING || !base64_decode(&bytes, member->text, member->text_len) ||
        bytes.len != KEYRING_KEY_BYTES) {
        return bad(err, "key \"%s\" must be base64 of exactly %d bytes (openssl rand -base64 %d)",
                   member->key, KEYRING_KEY_BYTES, KEYRING_KEY_BYTES);
    }
    memcpy(key->id, member->key, member->key_len + 1);
    memcpy(key->bytes, bytes.ptr, KEYRING_KEY_BYTES);
    keyring->count++;
    return 0;
}

static int read_active(struct keyring *keyring, const char *id, struct err *err)
{
    for (size_t i = 0; id && i < keyring->count; i++) {
        if (str_eq(keyring->keys[i].id, id)) {
            keyring->active = i;
            return 0;
        }
    }
    return bad(err, "\"active\" must be the id of one of its %zu key%s", keyring->count,
               keyring->count == 1 ? "" : "s");
}

static int read_root(struct keyring *keyring, const struct json *root, struct err *err)
{
    const struct json *keys = json_get(root, "keys");

    if (!keys || keys->type != JSON_OBJECT || keys->count == 0) {
        return bad(err, "it must be {\"active\": ID, \"keys\": {ID: KEY, ...}}");
    }
    json_each (member, root) {
        if (!str_eq(member->key, "active") && !str_eq(member->key, "keys")) {
            return bad(err, "it has a member besides \"active\" and \"keys\"");
        }
    }
    keyring->keys = mem_alloc(keys->count * sizeof(*keyring->keys));
    json_each (member, keys) {
        if (read_key(keyring, member, err) < 0) {
            return -1;
        }
    }
    return read_active(keyring, json_get_str(root, "active"), err);
}

/* The decoded strings are copies in the tree's arena. */
static void wipe_tree(const struct json *value)
{
    json_each (child, value) {
        if (child->type == JSON_STRING && child->text_len > 0) {
            OPENSSL_cleanse((char *)(uintptr_t)child->text, child->text_len);
        }
        wipe_tree(child);
    }
}

static int parse(const struct str *text, struct keyring **ret, struct err *err)
{
    autoarena struct arena *arena = arena_new();
    autokeyring struct keyring *keyring = mem_alloc(sizeof(*keyring));
    const struct json *root = NULL;

    /* checked first: a tree that ends half made could not be wiped */
    if (json_check(str_c(text), text->len, err) < 0 ||
        json_parse(arena, str_c(text), text->len, &root, err) < 0) {
        if (err) {
            memcpy(err->name, "BadKeyring", sizeof("BadKeyring"));
        }
        return -1;
    }
    int rc = root->type == JSON_OBJECT ? read_root(keyring, root, err)
                                       : bad(err, "it is no JSON object");
    wipe_tree(root);
    if (rc < 0) {
        return -1;
    }
    keyring->sealer = (struct sealer){table_seal, table_open, keyring};
    *ret = steal(&keyring);
    return 0;
}

/* Into one buffer that never moves, so that wiping it wipes all. */
static int read_file(int fd, struct str *text, struct err *err)
{
    str_reserve(text, KEYRING_FILE_BYTES_MAX + 1);
    for (;;) {
        ssize_t got = read(fd, text->ptr + text->len, KEYRING_FILE_BYTES_MAX + 1 - text->len);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0) {
            return err_sys(err, errno, "ReadFailed", "cannot read it");
        }
        text->len += (size_t)got;
        text->ptr[text->len] = '\0';
        if (text->len > KEYRING_FILE_BYTES_MAX) {
            return err_set(err, ERR_PERMANENT, "FileTooLarge", "it has more than %d bytes",
                           KEYRING_FILE_BYTES_MAX);
        }
        if (got == 0) {
            return 0;
        }
    }
}

static int load(const char *path, struct keyring **ret, struct err *err)
{
    autowipe struct str text = {0};
    struct stat st;
    autoclose int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);

    if (fd < 0) {
        return err_sys(err, errno, errno == ENOENT ? "FileNotFound" : "OpenFailed",
                       "cannot open it");
    }
    if (fstat(fd, &st) < 0) {
        return err_sys(err, errno, "ReadFailed", "cannot stat it");
    }
    if (!S_ISREG(st.st_mode)) {
        return err_set(err, ERR_PERMANENT, "NotAFile", "it is no regular file");
    }
    if (st.st_mode & (S_IRWXG | S_IRWXO)) {
        return err_set(err, ERR_PERMANENT, "KeyringReadable",
                       "its mode is %04o: others than its owner must have no access (chmod 600)",
                       (unsigned)st.st_mode & 07777U);
    }
    int rc = read_file(fd, &text, err);
    return rc < 0 ? rc : parse(&text, ret, err);
}

int keyring_load(const char *path, struct keyring **ret, struct err *err)
{
    return load(path, ret, err) < 0 ? err_wrap(err, "keyring %s", path) : 0;
}
