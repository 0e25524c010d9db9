/*
 * test_guest_wire.c - guest/wire: envelopes cut anywhere, lies in headers, base64, header values.
 */
#include "guest/wire.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"

#define MAX 1000

/* Feed `bytes` in pieces of `step`; the messages found, joined with '|'. Returns the last outcome.
 */
static int feed(const struct str *bytes, size_t step, struct str *ret, struct wire_error *error)
{
    struct wire_reader reader = {.max = MAX};
    int rc = 0;
    for (size_t at = 0; at < bytes->len && rc >= 0;) {
        size_t len = bytes->len - at < step ? bytes->len - at : step;
        size_t used = 0;
        rc = wire_reader_feed(&reader, bytes->ptr + at, len, &used, error);
        cr_assert(rc != 0 || used == len, "only a complete message leaves bytes");
        at += used;
        if (rc == 1) {
            str_addn(ret, reader.payload.ptr, reader.payload.len);
            str_addc(ret, '|');
        }
        cr_assert_leq(reader.payload.cap, 4 * MAX, "memory follows what arrived");
    }
    if (rc >= 0 && wire_reader_is_partial(&reader)) {
        rc = 0;
    }
    wire_reader_free(&reader);
    return rc;
}

Test(wire, envelopes_are_found_however_they_are_cut)
{
    autostr struct str bytes = {0};
    wire_put_envelope(&bytes, 0, "{\"a\":1}", 7);
    wire_put_envelope(&bytes, 0, "", 0);
    wire_put_envelope(&bytes, WIRE_FLAG_END, "{}", 2);
    for (size_t step = 1; step <= bytes.len; step++) {
        autostr struct str found = {0};
        struct wire_error error = {0};
        cr_assert_eq(feed(&bytes, step, &found, &error), 1);
        cr_assert_str_eq(str_c(&found), "{\"a\":1}||{}|");
    }
}

static enum wire_code refused(const void *bytes, size_t len)
{
    struct str s = {0};
    autostr struct str found = {0};
    struct wire_error error = {0};
    str_addn(&s, bytes, len);
    cr_assert_lt(feed(&s, 3, &found, &error), 0);
    str_free(&s);
    cr_assert_neq(error.text[0], '\0');
    return error.code;
}

Test(wire, lies_are_refused_before_memory_is_spent)
{
    cr_assert_eq(refused("\0\xff\xff\xff\xff", 5), WIRE_RESOURCE_EXHAUSTED);
    cr_assert_eq(refused("\0\0\0\x03\xe9", 5), WIRE_RESOURCE_EXHAUSTED);
    cr_assert_eq(refused("\x01\0\0\0\1x", 6), WIRE_UNIMPLEMENTED);
    cr_assert_eq(refused("<!DOCTYPE html>", 15), WIRE_INVALID_ARGUMENT);
    cr_assert_eq(refused("\x80\0\0\0\0", 5), WIRE_INVALID_ARGUMENT);
}

Test(wire, random_bytes_never_do_worse_than_an_error)
{
    for (int round = 0; round < 2000; round++) {
        uint8_t noise[64];
        autostr struct str bytes = {0};
        autostr struct str found = {0};
        struct wire_error error = {0};
        rng_bytes(noise, sizeof(noise));
        noise[0] &= 2; /* else almost every round ends at the first byte */
        noise[1] = noise[2] = 0;
        noise[3] &= 1;
        str_addn(&bytes, noise, sizeof(noise));
        int rc = feed(&bytes, 1 + noise[5] % 16, &found, &error);
        cr_assert(rc >= 0 || error.code != WIRE_OK);
    }
}

Test(wire, base64_in_every_spelling)
{
    static const char *const same[] = {"-_-_Pz8", "+/+/Pz8=", "-_-_Pz8=", "+/+/Pz8"};
    for (size_t i = 0; i < ARRAY_LEN(same); i++) {
        autostr struct str out = {0};
        cr_assert(wire_base64(&out, same[i], strlen(same[i])));
        cr_assert_eq(out.len, 5);
        cr_assert_eq(memcmp(out.ptr, "\xfb\xff\xbf??", 5), 0);
    }
    static const char *const bad[] = {"a", "ab c", "a===b", "\x80\x80", "abc\n"};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        autostr struct str out = {0};
        cr_assert_not(wire_base64(&out, bad[i], strlen(bad[i])), "%s", bad[i]);
    }
    autostr struct str none = {0};
    cr_assert(wire_base64(&none, "", 0));
    cr_assert_eq(none.len, 0);
}

Test(wire, timeouts_are_one_to_ten_digits)
{
    int64_t ms = -1;
    cr_assert(wire_timeout("0", &ms) && ms == 0);
    cr_assert(wire_timeout("9999999999", &ms) && ms == 9999999999);
    static const char *const bad[] = {"", "-1", "+1", " 1", "1 ", "1.5", "99999999999", "0x1"};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        cr_assert_not(wire_timeout(bad[i], &ms), "'%s'", bad[i]);
    }
}

Test(wire, keepalive_takes_only_positive_seconds)
{
    cr_assert_eq(wire_keepalive_ms("20"), 20000);
    static const char *const fallback[] = {NULL, "", "0", "-5", "abc", "1.5", "9999999999"};
    for (size_t i = 0; i < ARRAY_LEN(fallback); i++) {
        cr_assert_eq(wire_keepalive_ms(fallback[i]), WIRE_KEEPALIVE_MS);
    }
}

Test(wire, basic_user)
{
    autostr struct str user = {0};
    cr_assert(wire_basic_user("Basic cm9vdDo=", &user));
    cr_assert_str_eq(str_c(&user), "root");
    str_reset(&user);
    cr_assert(wire_basic_user("basic  dXNlcjpwOnE", &user));
    cr_assert_str_eq(str_c(&user), "user");
    static const char *const bad[] = {"",         "Bearer x",       "Basic",
                                      "Basic !!", "Basic cm9vdA==", "Basic AHJvb3Q6"};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        cr_assert_not(wire_basic_user(bad[i], &user), "%s", bad[i]);
    }
}

Test(wire, media_types)
{
    cr_assert(wire_is_type("Application/JSON; charset=utf-8", "application/json"));
    cr_assert(wire_is_type("application/json", "application/json"));
    cr_assert_not(wire_is_type("application/jsonx", "application/json"));
    cr_assert_not(wire_is_type(NULL, "application/json"));
}

Test(wire, errors_and_ends)
{
    autostr struct str out = {0};
    struct wire_error error;
    wire_fail(&error, WIRE_NOT_FOUND, "no \"x\" \xff");
    wire_put_error(&out, &error);
    cr_assert_str_eq(str_c(&out),
                     "{\"code\":\"not_found\",\"message\":\"no \\\"x\\\" \xef\xbf\xbd\"}");
    str_reset(&out);
    wire_put_end(&out, NULL);
    cr_assert_eq(out.len, 7);
    cr_assert_eq(memcmp(out.ptr, "\2\0\0\0\2{}", 7), 0);
    cr_assert_eq(wire_code_status(WIRE_CANCELED), 499);
    cr_assert_eq(wire_code_status(WIRE_UNIMPLEMENTED), 501);
}
