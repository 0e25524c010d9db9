/*
 * test_base_keyring.c - base/keyring: the file and all that is wrong with files, sealing under
 * several keys, known bytes, every kind of damage, keys that never show.
 */
#include "base/keyring.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/digest.h"
#include "base/mem.h"
#include "base/rng.h"
#include "tmpdir.h"

/* base64 of 32 times 'a', 'b' */
#define KEY_A "YWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWE="
#define KEY_B "YmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmI="
#define TWO_KEYS(active)                                                                           \
    "{\"active\":\"" active "\",\"keys\":{\"a\":\"" KEY_A "\",\"b\":\"" KEY_B "\"}}"

static const char *write_ring(const char *text, mode_t mode)
{
    static int count;
    struct err err = {0};
    char name[32];
    snprintf(name, sizeof(name), "ring-%d.json", count++);
    const char *path = tmpdir_file(name);
    cr_assert_eq(fs_write_file(path, text, strlen(text), mode, &err), 0, "%s", err.text);
    return path;
}

static struct keyring *load(const char *text)
{
    struct err err = {0};
    struct keyring *keyring = NULL;
    cr_assert_eq(keyring_load(write_ring(text, 0600), &keyring, &err), 0, "%s", err.text);
    return keyring;
}

Test(keyring, what_is_sealed_can_be_opened)
{
    autokeyring struct keyring *keyring = load(TWO_KEYS("b"));
    cr_assert_str_eq(keyring_active(keyring), "b");
    cr_assert(keyring_has(keyring, "a"));
    cr_assert(!keyring_has(keyring, "c"));
    cr_assert(!keyring_has(keyring, NULL));
    for (size_t len = 0; len < 100; len++) {
        autostr struct str sealed = {0}, plain = {0}, text = {0};
        for (size_t i = 0; i < len; i++) {
            str_addc(&text, (char)(i * 7));
        }
        str_add(&sealed, "before");
        str_add(&plain, "before");
        cr_assert_str_eq(keyring_seal(keyring, text.ptr, len, &sealed), "b");
        cr_assert_eq(sealed.len, 6 + len + KEYRING_SEAL_BYTES);
        cr_assert_eq(keyring_open(keyring, "b", sealed.ptr + 6, sealed.len - 6, &plain, NULL), 0);
        cr_assert_eq(plain.len, 6 + len);
        cr_assert_eq(memcmp(plain.ptr + 6, str_c(&text), len), 0);
        cr_assert(len < 8 || !memmem(sealed.ptr, sealed.len, text.ptr, len));
    }
}

Test(keyring, old_keys_still_open)
{
    autostr struct str sealed = {0}, plain = {0};
    autokeyring struct keyring *before = load(TWO_KEYS("a"));
    autokeyring struct keyring *after = load(TWO_KEYS("b"));
    autokeyring struct keyring *without = load("{\"keys\":{\"b\":\"" KEY_B "\"},\"active\":\"b\"}");
    struct err err = {0};
    const char *id = keyring_seal(before, "text", 4, &sealed);
    cr_assert_eq(keyring_open(after, id, sealed.ptr, sealed.len, &plain, NULL), 0);
    cr_assert_str_eq(str_c(&plain), "text");
    cr_assert_lt(keyring_open(without, id, sealed.ptr, sealed.len, &plain, &err), 0);
    cr_assert_str_eq(err.name, "UnknownSealingKey");
    cr_assert(strstr(err.text, "\"a\""), "%s", err.text);
    cr_assert_eq(plain.len, 4);
}

static void count_up(void *user, void *buf, size_t len)
{
    (void)user;
    for (size_t i = 0; i < len; i++) {
        ((uint8_t *)buf)[i] = (uint8_t)i;
    }
}

/* AES-256-GCM, key 32 times 'a', nonce 00..0b, no further data, as any other program computes. */
Test(keyring, the_form_is_nonce_ciphertext_tag)
{
    autostr struct str sealed = {0}, plain = {0};
    autokeyring struct keyring *keyring = load(TWO_KEYS("a"));
    char hex[256];
    rng_replace(count_up, NULL);
    keyring_seal(keyring, "attack at dawn", 14, &sealed);
    rng_replace(NULL, NULL);
    hex_encode(sealed.ptr, sealed.len, hex);
    cr_assert_str_eq(
        hex,
        "000102030405060708090a0bd66e908133e462f4abe94b56def09cdea5438f7d228a9590955bc0b1789e");
}

Test(keyring, no_two_seals_are_alike)
{
    autostr struct str one = {0}, two = {0};
    autokeyring struct keyring *keyring = load(TWO_KEYS("a"));
    keyring_seal(keyring, "same", 4, &one);
    keyring_seal(keyring, "same", 4, &two);
    cr_assert_neq(memcmp(one.ptr, two.ptr, one.len), 0);
    cr_assert_neq(memcmp(one.ptr + 12, two.ptr + 12, 4), 0);
}

Test(keyring, whatever_is_damaged_is_not_opened)
{
    autostr struct str sealed = {0}, plain = {0};
    autokeyring struct keyring *keyring = load(TWO_KEYS("a"));
    struct err err = {0};
    keyring_seal(keyring, "attack at dawn", 14, &sealed);
    for (size_t i = 0; i < sealed.len * 8; i++) {
        sealed.ptr[i / 8] ^= (char)(1 << i % 8);
        cr_assert_lt(keyring_open(keyring, "a", sealed.ptr, sealed.len, &plain, &err), 0);
        cr_assert_str_eq(err.name, "BrokenSeal");
        cr_assert_eq(err.kind, ERR_PERMANENT);
        sealed.ptr[i / 8] ^= (char)(1 << i % 8);
    }
    for (size_t len = 0; len < sealed.len; len++) {
        cr_assert_lt(keyring_open(keyring, "a", sealed.ptr, len, &plain, &err), 0);
        cr_assert_str_eq(err.name, "BrokenSeal");
    }
    cr_assert_lt(keyring_open(keyring, "b", sealed.ptr, sealed.len, &plain, &err), 0);
    cr_assert_str_eq(err.name, "BrokenSeal");
    cr_assert_lt(keyring_open(keyring, NULL, sealed.ptr, sealed.len, &plain, &err), 0);
    cr_assert_str_eq(err.name, "UnknownSealingKey");
    cr_assert_eq(plain.len, 0);
    cr_assert_eq(keyring_open(keyring, "a", sealed.ptr, sealed.len, &plain, &err), 0);
}

Test(keyring, the_table_does_the_same)
{
    autostr struct str sealed = {0}, plain = {0};
    autokeyring struct keyring *keyring = load(TWO_KEYS("a"));
    const struct sealer *sealer = keyring_sealer(keyring);
    const char *id = sealer->seal(sealer->user, "x", 1, &sealed);
    cr_assert_eq(sealer->open(sealer->user, id, sealed.ptr, sealed.len, &plain, NULL), 0);
    cr_assert_str_eq(str_c(&plain), "x");
    cr_assert_null(keyring_sealer(NULL));
}

/* --- memory ------------------------------------------------------------------------------------
 */

/* How often bytes that are `mask` against the needle stand in memory that this process can write.
 * Masked, so that what is looked for is not there because it is looked for. */
static int in_memory(const uint8_t *masked, size_t len, uint8_t mask)
{
    static uint8_t piece[1 << 16];
    FILE *maps = fopen("/proc/self/maps", "r");
    int mem = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
    char line[512], flags[8];
    unsigned long from, to;
    int count = 0;
    cr_assert(maps && mem >= 0);
    while (fgets(line, sizeof(line), maps)) {
        if (sscanf(line, "%lx-%lx %7s", &from, &to, flags) != 3 || flags[0] != 'r' ||
            flags[1] != 'w' || to - from > 256UL << 20) {
            continue;
        }
        for (unsigned long at = from; at < to; at += sizeof(piece) - len) {
            size_t want = to - at < sizeof(piece) ? to - at : sizeof(piece);
            if (at <= (unsigned long)piece && (unsigned long)piece < at + want) {
                continue; /* what was just looked through */
            }
            ssize_t got = pread(mem, piece, want, (off_t)at);
            for (ssize_t i = 0; i + (ssize_t)len <= got; i++) {
                size_t same = 0;
                while (same < len && (piece[i + (ssize_t)same] ^ mask) == masked[same]) {
                    same++;
                }
                count += same == len;
            }
        }
    }
    memset(piece, 0, sizeof(piece));
    close(mem);
    fclose(maps);
    return count;
}

/* The key "/2cc...": its first bytes, and the beginning of their base64, each ^ 0x5a. */
Test(keyring, no_key_stays_in_memory)
{
    static const uint8_t bytes[] = {0xa5, 0x3d, 0x46, 0x29, 0xcc, 0x2d, 0xf9, 0xb0,
                                    0x9a, 0xfd, 0xda, 0xeb, 0x9d, 0xae, 0x6c, 0x9b};
    static const uint8_t text[] = {0x75, 0x68, 0x39, 0x39, 0x39, 0x6f, 0x00, 0x69, 0x35, 0x71,
                                   0x28, 0x1b, 0x2a, 0x6e, 0x19, 0x22, 0x22, 0x75, 0x0b, 0x68};
    autostr struct str sealed = {0}, plain = {0};
    struct keyring *keyring = load(
        "{\"active\":\"m\",\"keys\":{\"m\":\"/2ccc5Z3o+rAp4Cxx/Q2wRi0RiFmvDNgZFbUWIPo1V4=\"}}");
    keyring_seal(keyring, "x", 1, &sealed);
    cr_assert_eq(keyring_open(keyring, "m", sealed.ptr, sealed.len, &plain, NULL), 0);
    cr_expect_gt(in_memory(bytes, sizeof(bytes), 0x5a), 0, "the test finds what there is");
    cr_expect_eq(in_memory(text, sizeof(text), 0x5a), 0,
                 "the file's text is wiped when it is read");
    keyring_free(keyring);
    cr_expect_eq(in_memory(bytes, sizeof(bytes), 0x5a), 0, "the key is wiped with the ring");
}

/* --- files -------------------------------------------------------------------------------------
 */

static void refused(const char *text, mode_t mode, const char *name, const char *says)
{
    struct err err = {0};
    struct keyring *keyring = NULL;
    const char *path = write_ring(text, mode);
    cr_assert_lt(keyring_load(path, &keyring, &err), 0, "%s", text);
    cr_assert_null(keyring);
    cr_expect_str_eq(err.name, name, "%s: %s", text, err.text);
    cr_expect(strstr(err.text, says), "%s: %s", text, err.text);
    cr_expect(strstr(err.text, path), "%s", err.text);
    cr_expect(!strstr(err.text, "YWFh"), "a key shows: %s", err.text);
}

Test(keyring, what_is_no_keyring_is_refused)
{
    static const char *const shapes[] = {
        "{}",           "[]", "{\"keys\":{}}", "{\"keys\":[\"" KEY_A "\"]}", "{\"active\":\"a\"}",
        "\"" KEY_A "\""};
    for (size_t i = 0; i < ARRAY_LEN(shapes); i++) {
        refused(shapes[i], 0600, "BadKeyring", i == 1 || i == 5 ? "JSON object" : "it must be");
    }
    refused("", 0600, "BadKeyring", "line 1");
    refused("{\"active\":\"a\",\"keys\":{\"a\":\"" KEY_A "\"", 0600, "BadKeyring", "line 1");
    refused("{\"active\":\"a\",\"keys\":{\"a\":\"" KEY_A "\",\"a\":\"" KEY_B "\"}}", 0600,
            "BadKeyring", "line 1");
    refused("{\"active\":\"a\",\"keys\":{\"a\":\"" KEY_A "\"},\"more\":1}", 0600, "BadKeyring",
            "besides");
    refused("{\"keys\":{\"a\":\"" KEY_A "\"}}", 0600, "BadKeyring", "one of its 1 key");
    refused(TWO_KEYS("c"), 0600, "BadKeyring", "one of its 2 keys");
    refused("{\"active\":7,\"keys\":{\"a\":\"" KEY_A "\"}}", 0600, "BadKeyring", "\"active\"");
    refused("{\"active\":\"" KEY_A "\",\"keys\":{\"a\":\"" KEY_A "\"}}", 0600, "BadKeyring",
            "\"active\"");
    refused("{\"active\":\"a\",\"keys\":{\"" KEY_A "\":\"a\"}}", 0600, "BadKeyring",
            "the id of key 1");
    refused("{\"active\":\"a\",\"keys\":{\"\":\"" KEY_A "\"}}", 0600, "BadKeyring",
            "the id of key 1");
    static const char *const keys[] = {"\"\"",
                                       "\"YWFh\"",
                                       "1",
                                       "null",
                                       "{\"a\":\"" KEY_A "\"}",
                                       "\"" KEY_A " \"",
                                       "\"YWFh" KEY_A "\"",
                                       "\"YWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWE\""};
    for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
        autofree char *text = mem_printf("{\"active\":\"a\",\"keys\":{\"a\":%s}}", keys[i]);
        refused(text, 0600, "BadKeyring", "key \"a\" must be base64 of exactly 32 bytes");
    }
}

Test(keyring, what_others_may_read_is_refused)
{
    static const mode_t modes[] = {0640, 0604, 0620, 0601, 0666};
    for (size_t i = 0; i < ARRAY_LEN(modes); i++) {
        refused(TWO_KEYS("a"), modes[i], "KeyringReadable", "chmod 600");
    }
    struct err err = {0};
    autokeyring struct keyring *keyring = NULL;
    cr_assert_eq(keyring_load(write_ring(TWO_KEYS("a"), 0400), &keyring, &err), 0, "%s", err.text);
}

Test(keyring, what_is_no_file_is_refused)
{
    struct err err = {0};
    struct keyring *keyring = NULL;
    cr_assert_lt(keyring_load(tmpdir_file("absent"), &keyring, &err), 0);
    cr_assert_str_eq(err.name, "FileNotFound");
    cr_assert_lt(keyring_load(tmpdir(), &keyring, &err), 0);
    cr_assert_str_eq(err.name, "NotAFile");
    const char *fifo = tmpdir_file("fifo");
    cr_assert_eq(mkfifo(fifo, 0600), 0);
    cr_assert_lt(keyring_load(fifo, &keyring, &err), 0, "and it does not hang");
    cr_assert_str_eq(err.name, "NotAFile");
    autostr struct str large = {0};
    str_reserve(&large, KEYRING_FILE_BYTES_MAX + 1);
    memset(large.ptr, ' ', KEYRING_FILE_BYTES_MAX + 1);
    large.ptr[KEYRING_FILE_BYTES_MAX + 1] = '\0';
    refused(large.ptr, 0600, "FileTooLarge", "65536");
}

/* A link is followed: that is how such files are mounted. */
Test(keyring, a_link_is_followed)
{
    struct err err = {0};
    autokeyring struct keyring *keyring = NULL;
    const char *link = tmpdir_file("link");
    cr_assert_eq(symlink(write_ring(TWO_KEYS("a"), 0600), link), 0);
    cr_assert_eq(keyring_load(link, &keyring, &err), 0, "%s", err.text);
}
