/*
 * digest.c - see digest.h. Owns the use of OpenSSL and the text codecs (hex, base64).
 * Must not: hand a digest failure to callers; hashing memory cannot fail short of a broken library.
 * Thread-safe: the fetched algorithm is made once and read only; every context belongs to its
 * caller. Tests: tests/unit/test_base_digest.c
 */
#include "base/digest.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"

#define READ_BYTES (64U * 1024) /* per read(2) when hashing a file */

static pthread_once_t once = PTHREAD_ONCE_INIT;
static EVP_MD *algorithm;

static void must(bool good)
{
    if (!good) { /* libcrypto without SHA-256 or without memory: nothing sealed could be trusted */
        static const char line[] = "factory: out of memory (for SHA-256)\n";
        if (write(STDERR_FILENO, line, sizeof(line) - 1) < 0) {
            /* nobody is left to tell */
        }
        _exit(MEM_EXHAUSTED_EXIT);
    }
}

static void fetch_algorithm(void)
{
    must(mem_retry((algorithm = EVP_MD_fetch(NULL, "SHA256", NULL)) != NULL));
}

static const EVP_MD *sha256_md(void)
{
    pthread_once(&once, fetch_algorithm);
    return algorithm;
}

struct sha256 {
    EVP_MD_CTX *ctx;
};

struct sha256 *sha256_begin(void)
{
    struct sha256 *sha = mem_alloc(sizeof(*sha));
    must(mem_retry((sha->ctx = EVP_MD_CTX_new()) != NULL));
    must(mem_retry(EVP_DigestInit_ex2(sha->ctx, sha256_md(), NULL) == 1));
    return sha;
}

void sha256_update(struct sha256 *sha, const void *data, size_t len)
{
    must(EVP_DigestUpdate(sha->ctx, data, len) == 1);
}

void sha256_finish(struct sha256 *sha, uint8_t out[SHA256_BYTES])
{
    must(EVP_DigestFinal_ex(sha->ctx, out, NULL) == 1);
    EVP_MD_CTX_free(sha->ctx);
    free(sha);
}

void sha256_bytes(const void *data, size_t len, uint8_t out[SHA256_BYTES])
{
    must(mem_retry(EVP_Digest(data, len, out, NULL, sha256_md(), NULL) == 1));
}

void sha256_hex(const void *data, size_t len, char out[SHA256_HEX_BYTES])
{
    uint8_t digest[SHA256_BYTES];
    sha256_bytes(data, len, digest);
    hex_encode(digest, sizeof(digest), out);
}

static int hash_fd(int fd, const char *what, char out[SHA256_HEX_BYTES], uint64_t *ret_size,
                   struct err *err)
{
    autofree char *buf = mem_grow(NULL, READ_BYTES);
    struct sha256 *sha = sha256_begin();
    uint8_t digest[SHA256_BYTES];
    uint64_t size = 0;
    for (;;) {
        ssize_t got = read(fd, buf, READ_BYTES);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0) {
            int why = errno;
            sha256_finish(sha, digest);
            return err_sys(err, why, "ReadFailed", "cannot read %s", what);
        }
        if (got == 0) {
            break;
        }
        sha256_update(sha, buf, (size_t)got);
        size += (uint64_t)got;
    }
    sha256_finish(sha, digest);
    hex_encode(digest, sizeof(digest), out);
    if (ret_size) {
        *ret_size = size;
    }
    return 0;
}

int sha256_fd(int fd, char out[SHA256_HEX_BYTES], uint64_t *ret_size, struct err *err)
{
    char what[32];
    snprintf(what, sizeof(what), "descriptor %d", fd);
    return hash_fd(fd, what, out, ret_size, err);
}

int sha256_file(const char *path, char out[SHA256_HEX_BYTES], uint64_t *ret_size, struct err *err)
{
    autoclose int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (fd < 0) {
        return err_sys(err, errno, "OpenFailed", "cannot open %s", path);
    }
    return hash_fd(fd, path, out, ret_size, err);
}

void hex_encode(const void *data, size_t len, char *out)
{
    static const char digits[] = "0123456789abcdef";
    const uint8_t *bytes = data;
    for (size_t i = 0; i < len; i++) {
        *out++ = digits[bytes[i] >> 4];
        *out++ = digits[bytes[i] & 15];
    }
    *out = '\0';
}

static int hex_value(char c)
{
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool hex_decode(const char *text, size_t len, void *out)
{
    uint8_t *bytes = out;
    if (len % 2 != 0) {
        return false;
    }
    for (size_t i = 0; i < len; i += 2) {
        int high = hex_value(text[i]);
        int low = hex_value(text[i + 1]);
        if (high < 0 || low < 0) {
            return false;
        }
        bytes[i / 2] = (uint8_t)(high << 4 | low);
    }
    return true;
}

static const char base64_digits[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void base64_encode(struct str *out, const void *data, size_t len)
{
    const uint8_t *in = data;
    size_t chars = len / 3 * 4 + (len % 3 ? 4 : 0);
    str_reserve(out, chars);
    char *at = out->ptr + out->len;
    for (size_t i = 0; i < len; i += 3) {
        size_t left = len - i;
        uint32_t three = (uint32_t)in[i] << 16 | (left > 1 ? (uint32_t)in[i + 1] << 8 : 0) |
                         (left > 2 ? in[i + 2] : 0U);
        *at++ = base64_digits[three >> 18];
        *at++ = base64_digits[three >> 12 & 63];
        *at++ = left > 1 ? base64_digits[three >> 6 & 63] : '=';
        *at++ = left > 2 ? base64_digits[three & 63] : '=';
    }
    out->len += chars;
    out->ptr[out->len] = '\0';
}

static int base64_value(char c)
{
    if (c >= 'A' && c <= 'Z') {
        return c - 'A';
    }
    if (c >= 'a' && c <= 'z') {
        return c - 'a' + 26;
    }
    if (c >= '0' && c <= '9') {
        return c - '0' + 52;
    }
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

bool base64_decode(struct str *out, const char *text, size_t len)
{
    if (len % 4 != 0) {
        return false;
    }
    size_t before = out->len;
    str_reserve(out, len / 4 * 3);
    char *at = out->ptr + out->len;
    for (size_t i = 0; i < len; i += 4) {
        bool last = i + 4 == len;
        int pad = last && text[i + 3] == '=' ? (text[i + 2] == '=' ? 2 : 1) : 0;
        int a = base64_value(text[i]);
        int b = base64_value(text[i + 1]);
        int c = pad == 2 ? 0 : base64_value(text[i + 2]);
        int d = pad > 0 ? 0 : base64_value(text[i + 3]);
        /* bits that padding leaves over must be zero: one text per value */
        if (a < 0 || b < 0 || c < 0 || d < 0 || (pad == 2 && (b & 15)) || (pad == 1 && (c & 3))) {
            str_cut(out, before);
            return false;
        }
        uint32_t three = (uint32_t)a << 18 | (uint32_t)b << 12 | (uint32_t)c << 6 | (uint32_t)d;
        *at++ = (char)(three >> 16);
        if (pad < 2) {
            *at++ = (char)(three >> 8);
        }
        if (pad < 1) {
            *at++ = (char)three;
        }
    }
    out->len = (size_t)(at - out->ptr);
    out->ptr[out->len] = '\0';
    return true;
}
