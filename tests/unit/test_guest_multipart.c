/*
 * test_guest_multipart.c - guest/multipart: bodies cut anywhere, odd but legal ones, broken ones.
 */
#include "guest/multipart.h"

#include <criterion/criterion.h>
#include <string.h>

#include "base/rng.h"

static int begin(void *user, const char *filename, struct wire_error *error is_unused)
{
    str_addf(user, "[%s:", filename);
    return 0;
}

static int data(void *user, const char *bytes, size_t len, struct wire_error *error is_unused)
{
    str_addn(user, bytes, len);
    return 0;
}

static int end(void *user, struct wire_error *error is_unused)
{
    str_addc(user, ']');
    return 0;
}

static int parse(const char *type, const void *body, size_t len, size_t step, struct str *ret)
{
    struct wire_error error = {0};
    struct multipart_sink sink = {.begin = begin, .data = data, .end = end, .user = ret};
    struct multipart *m = multipart_new(type, &sink, &error);
    int rc = m ? 0 : -1;
    for (size_t at = 0; rc == 0 && at < len; at += step) {
        rc = multipart_feed(m, (const char *)body + at, len - at < step ? len - at : step, &error);
    }
    rc = rc == 0 ? multipart_finish(m, &error) : rc;
    cr_assert(rc == 0 || error.text[0] != '\0');
    multipart_free(m);
    return rc;
}

#define TYPE "multipart/form-data; boundary=b0und"

static void expect(const char *body, const char *text)
{
    for (size_t step = 1; step <= strlen(body); step++) {
        autostr struct str got = {0};
        cr_assert_eq(parse(TYPE, body, strlen(body), step, &got), 0, "in steps of %zu", step);
        cr_assert_str_eq(str_c(&got), text);
    }
}

Test(multipart, one_file)
{
    expect("--b0und\r\nContent-Disposition: form-data; name=\"file\"; filename=\"/d/in.tar\"\r\n"
           "Content-Type: application/octet-stream\r\n\r\nab\r\n--b0un\r\ncd\r\n--b0und--\r\n",
           "[/d/in.tar:ab\r\n--b0un\r\ncd]");
}

Test(multipart, several_files_preamble_other_parts_and_epilogue)
{
    expect(
        "preamble\r\n--b0und  \r\ncontent-disposition: form-data; name=file; filename=a\r\n\r\n"
        "1\r\n--b0und\r\nContent-Disposition: form-data; name=\"note\"\r\n\r\nskip\r\n--b0und\r\n"
        "Content-Disposition: form-data; filename=\"b \\\"q\\\" \\\\ c\"; name=\"file\"\r\n\r\n"
        "\r\n--b0und--\r\nepilogue --b0und",
        "[a:1][b \"q\" \\ c:]");
}

Test(multipart, boundary_in_quotes)
{
    autostr struct str got = {0};
    const char *body = "--a b\r\nContent-Disposition: form-data; name=\"file\"\r\n\r\nx\r\n--a b--";
    cr_assert_eq(parse("multipart/form-data; boundary=\"a b\"", body, strlen(body), 5, &got), 0);
    cr_assert_str_eq(str_c(&got), "[:x]");
}

static void refused(const char *type, const void *body, size_t len)
{
    autostr struct str got = {0};
    cr_assert_lt(parse(type, body, len, 4, &got), 0);
}

#define REFUSED(body) refused(TYPE, body, sizeof(body) - 1)

Test(multipart, broken_ones_are_refused)
{
    refused("multipart/form-data", "", 0);
    refused("multipart/form-data; boundary=", "", 0);
    refused("multipart/form-data; boundary="
            "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
            "", 0);
    REFUSED("");
    REFUSED("no boundary at all");
    REFUSED("--b0und--\r\n");
    REFUSED("--b0und\r\nContent-Disposition: form-data; name=\"file\"\r\n\r\ncut");
    REFUSED("--b0und\r\nContent-Disposition: form-data; name=\"fi");
    REFUSED("--b0undX\r\nContent-Disposition: form-data; name=\"file\"\r\n\r\nx\r\n--b0und--");
    REFUSED("--b0und\r\nContent-Disposition: form-data; name=\"note\"\r\n\r\nx\r\n--b0und--");
    REFUSED("--b0und\r\nContent-Dis\0position: x\r\n\r\nx\r\n--b0und--");
}

Test(multipart, headers_are_bounded)
{
    autostr struct str body = {0};
    str_add(&body, "--b0und\r\nX: ");
    for (int i = 0; i < 9000; i++) {
        str_addc(&body, 'a');
    }
    refused(TYPE, body.ptr, body.len);
    str_reset(&body);
    str_add(&body, "--b0und");
    for (int i = 0; i < 9000; i++) {
        str_addc(&body, ' ');
    }
    refused(TYPE, body.ptr, body.len);
}

Test(multipart, random_bodies_do_no_harm)
{
    static const char *const words[] = {"--b0und",     "\r\n",
                                        "--",          "name=\"file\"",
                                        "\r\n\r\n",    "Content-Disposition: form-data; ",
                                        "filename=\"", ";",
                                        "\\",          "\"",
                                        "x",           "\r",
                                        "\n",          "-"};
    for (int round = 0; round < 3000; round++) {
        autostr struct str body = {0};
        autostr struct str got = {0};
        for (int i = 0; i < 20; i++) {
            str_add(&body, words[rng_u64() % ARRAY_LEN(words)]);
        }
        parse(TYPE, body.ptr, body.len, 1 + rng_u64() % 9, &got);
        cr_assert_leq(got.len, body.len + 64);
    }
}
