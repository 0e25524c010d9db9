/*
 * test_base_str.c - base/str: growth, cutting, UTF-8 and near names.
 */
#include "base/str.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

Test(str, a_zeroed_str_is_empty_and_usable)
{
    struct str s = {0};
    cr_assert_str_eq(str_c(&s), "");
    str_cut(&s, 0);
    str_reset(&s);
    str_free(&s);
    str_addn(&s, NULL, 0);
    cr_assert_str_eq(s.ptr, "");
    str_free(&s);
    cr_assert_null(s.ptr);
}

Test(str, everything_that_adds)
{
    autostr struct str s = {0};
    str_add(&s, "a");
    str_addc(&s, 'b');
    str_addn(&s, "c\0d", 3);
    str_addf(&s, "%s%d", "e", 5);
    cr_assert_eq(s.len, 7);
    cr_assert_eq(memcmp(s.ptr, "abc\0de5", 8), 0);
    str_cut(&s, 2);
    cr_assert_str_eq(s.ptr, "ab");
    str_cut(&s, 99);
    cr_assert_eq(s.len, 2);
}

Test(str, integers_at_their_limits)
{
    static const int64_t values[] = {0, 7, -7, INT64_MAX, INT64_MIN, 1000000};
    for (size_t i = 0; i < ARRAY_LEN(values); i++) {
        autostr struct str s = {0};
        char want[32];
        snprintf(want, sizeof(want), "%lld", (long long)values[i]);
        str_add_i64(&s, values[i]);
        cr_assert_str_eq(s.ptr, want);
    }
}

Test(str, long_formats_and_byte_wise_growth)
{
    autostr struct str s = {0};
    for (int i = 0; i < 10000; i++) {
        str_addc(&s, 'x');
        cr_assert_lt(s.len, s.cap);
    }
    autostr struct str t = {0};
    str_addf(&t, "<%s>", s.ptr);
    cr_assert_eq(t.len, 10002);
    cr_assert_eq(t.ptr[10001], '>');
    cr_assert_eq(t.ptr[10002], '\0');
}

Test(str, take_gives_away)
{
    struct str s = {0};
    char *empty = str_take(&s);
    cr_assert_str_eq(empty, "");
    str_add(&s, "gone");
    char *text = str_take(&s);
    cr_assert_str_eq(text, "gone");
    cr_assert_null(s.ptr);
    free(text);
    free(empty);
}

Test(str, comparisons)
{
    cr_assert(str_eq(NULL, NULL));
    cr_assert_not(str_eq(NULL, "a"));
    cr_assert_not(str_eq("a", NULL));
    cr_assert(str_eq("a", "a"));
    cr_assert(str_starts("abc", "ab"));
    cr_assert_not(str_starts("ab", "abc"));
    cr_assert(str_ends("abc", "bc"));
    cr_assert(str_ends("abc", ""));
    cr_assert_not(str_ends("c", "bc"));
}

Test(str, copy_cuts_on_a_character)
{
    char out[6];
    str_copy(out, sizeof(out), "abcdefgh");
    cr_assert_str_eq(out, "abcde");
    str_copy(out, sizeof(out), "abc\xe2\x82\xac"); /* euro sign does not fit */
    cr_assert_str_eq(out, "abc");
    str_copy(out, sizeof(out), "ab\xe2\x82\xac"); /* fits exactly */
    cr_assert_str_eq(out, "ab\xe2\x82\xac");
    str_copy(out, 1, "abc");
    cr_assert_str_eq(out, "");
    str_copy(out, 0, "abc");
}

Test(str, utf8_validity)
{
    static const struct {
        const char *bytes;
        bool good;
    } cases[] = {
        {"plain ascii of more than eight bytes", true},
        {"\xc2\x80", true},
        {"\xdf\xbf", true},
        {"\xe0\xa0\x80", true},
        {"\xed\x9f\xbf", true},
        {"\xee\x80\x80", true},
        {"\xf0\x90\x80\x80", true},
        {"\xf4\x8f\xbf\xbf", true},
        {"12345678\xe2\x82\xac", true},
        {"\x80", false},             /* continuation alone */
        {"\xc0\x80", false},         /* overlong NUL */
        {"\xc1\xbf", false},         /* overlong */
        {"\xe0\x9f\xbf", false},     /* overlong */
        {"\xed\xa0\x80", false},     /* surrogate */
        {"\xf0\x8f\xbf\xbf", false}, /* overlong */
        {"\xf4\x90\x80\x80", false}, /* above U+10FFFF */
        {"\xf5\x80\x80\x80", false},
        {"\xff", false},
        {"\xe2\x82", false}, /* cut short */
        {"\xe2\x28\xa1", false},
        {"12345678\xf0\x9f\x98", false},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        cr_expect_eq(utf8_valid(cases[i].bytes, strlen(cases[i].bytes)), cases[i].good, "case %zu",
                     i);
    }
    cr_assert(utf8_valid("a\0b", 3));
}

Test(str, utf8_prefix_never_splits)
{
    const char *text = "a\xe2\x82\xac\xf0\x9f\x98\x80z";
    size_t len = strlen(text);
    static const size_t want[] = {0, 1, 1, 1, 4, 4, 4, 4, 8, 9, 9};
    for (size_t max = 0; max < ARRAY_LEN(want); max++) {
        cr_expect_eq(utf8_prefix(text, len, max), want[max], "max %zu", max);
    }
    cr_assert_eq(utf8_prefix("\x80\x80\x80\x80\x80\x80", 6, 5), 5); /* garbage is cut anywhere */
}

Test(str, nearest_finds_typos_only)
{
    static const char *const names[] = {"codex", "greeter", "verification", "sandbox", NULL, "ls"};
    size_t n = ARRAY_LEN(names);
    cr_expect_str_eq(str_nearest("codx", names, n), "codex");
    cr_expect_str_eq(str_nearest("CODEX", names, n), "codex");
    cr_expect_str_eq(str_nearest("cdoex", names, n), "codex");
    cr_expect_str_eq(str_nearest("greter", names, n), "greeter");
    cr_expect_str_eq(str_nearest("verifcatoin", names, n), "verification");
    cr_expect_str_eq(str_nearest("sandboxes", names, n), "sandbox");
    cr_expect_null(str_nearest("claude", names, n));
    cr_expect_null(str_nearest("sl", names, n)); /* two letters are anything */
    cr_expect_null(str_nearest("", names, n));
    cr_expect_null(str_nearest("codex", NULL, 0));
    char longest[200];
    memset(longest, 'x', sizeof(longest) - 1);
    longest[sizeof(longest) - 1] = '\0';
    const char *one[] = {longest};
    cr_expect_null(str_nearest(longest, one, 1));
    cr_expect_null(str_nearest("xx", one, 1));
}
