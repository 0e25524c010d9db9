/*
 * test_base_digest.c - base/digest: known answers, streaming, strict base64 and hex.
 */
#include "base/digest.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tmpdir.h"

static const char abc_hex[] = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
static const char empty_hex[] = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

Test(digest, known_answers)
{
    char hex[SHA256_HEX_BYTES];
    sha256_hex("abc", 3, hex);
    cr_assert_str_eq(hex, abc_hex);
    sha256_hex("", 0, hex);
    cr_assert_str_eq(hex, empty_hex);
}

Test(digest, streaming_equals_one_piece_at_every_cut)
{
    const char *text = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
    size_t len = strlen(text);
    uint8_t whole[SHA256_BYTES];
    sha256_bytes(text, len, whole);
    for (size_t cut = 0; cut <= len; cut++) {
        uint8_t pieces[SHA256_BYTES];
        struct sha256 *sha = sha256_begin();
        sha256_update(sha, text, cut);
        sha256_update(sha, text + cut, len - cut);
        sha256_finish(sha, pieces);
        cr_assert_eq(memcmp(whole, pieces, sizeof(whole)), 0);
    }
}

Test(digest, files)
{
    char hex[SHA256_HEX_BYTES];
    uint64_t size = 1;
    struct err err = {0};
    const char *path = tmpdir_file("a");
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    cr_assert_eq(sha256_file(path, hex, &size, &err), 0);
    cr_assert_eq(size, 0);
    cr_assert_str_eq(hex, empty_hex);
    cr_assert_eq(write(fd, "abc", 3), 3);
    cr_assert_eq(lseek(fd, 0, SEEK_SET), 0);
    cr_assert_eq(sha256_fd(fd, hex, &size, &err), 0);
    cr_assert_eq(size, 3);
    cr_assert_str_eq(hex, abc_hex);
    cr_assert_eq(sha256_file(path, hex, NULL, NULL), 0);
    cr_assert_str_eq(hex, abc_hex);
    close(fd);
    cr_assert_lt(sha256_file(tmpdir_file("absent"), hex, &size, &err), 0);
    cr_assert_eq(err.sys, ENOENT);
    cr_assert_lt(sha256_file(tmpdir(), hex, &size, &err), 0);
    cr_assert_eq(err.sys, EISDIR);
}

Test(digest, hex_both_ways)
{
    char hex[7];
    hex_encode("\x00\xfe\x10", 3, hex);
    cr_assert_str_eq(hex, "00fe10");
    uint8_t out[3];
    cr_assert(hex_decode(hex, 6, out));
    cr_assert_eq(memcmp(out, "\x00\xfe\x10", 3), 0);
    cr_assert_not(hex_decode("0", 1, out));
    cr_assert_not(hex_decode("0G", 2, out));
    cr_assert_not(hex_decode("FF", 2, out));
}

Test(digest, base64_of_rfc_4648)
{
    static const char *const pairs[][2] = {
        {"", ""},
        {"f", "Zg=="},
        {"fo", "Zm8="},
        {"foo", "Zm9v"},
        {"foob", "Zm9vYg=="},
        {"fooba", "Zm9vYmE="},
        {"foobar", "Zm9vYmFy"},
    };
    for (size_t i = 0; i < ARRAY_LEN(pairs); i++) {
        autostr struct str text = {0};
        autostr struct str back = {0};
        base64_encode(&text, pairs[i][0], strlen(pairs[i][0]));
        cr_assert_str_eq(str_c(&text), pairs[i][1]);
        cr_assert(base64_decode(&back, str_c(&text), text.len));
        cr_assert_str_eq(str_c(&back), pairs[i][0]);
    }
}

Test(digest, base64_of_all_bytes_comes_back)
{
    unsigned char all[256];
    for (size_t i = 0; i < sizeof(all); i++) {
        all[i] = (unsigned char)(i * 7 + 3);
    }
    for (size_t len = 0; len <= sizeof(all); len++) {
        autostr struct str text = {0};
        autostr struct str back = {0};
        base64_encode(&text, all, len);
        cr_assert(base64_decode(&back, str_c(&text), text.len));
        cr_assert_eq(back.len, len);
        cr_assert(len == 0 || memcmp(back.ptr, all, len) == 0);
    }
}

Test(digest, base64_nonsense_is_refused)
{
    static const char *const cases[] = {
        "Z",    "Zg",   "Zg=",  "Zg===", "Zh==",     "Zm9=", "Zm9v\n",
        " Zg=", "Z-==", "====", "Z===",  "Zg==Zg==", "Zm_v", "Zg=a"};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        autostr struct str out = {0};
        str_add(&out, "kept");
        cr_expect_not(base64_decode(&out, cases[i], strlen(cases[i])), "%s", cases[i]);
        cr_expect_str_eq(out.ptr, "kept");
    }
}
