/*
 * test_base_json_out.c - base/json, the writer: commas, indentation, escapes, numbers.
 */
#include "base/json.h"

#include <criterion/criterion.h>
#include <locale.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

Test(json_out, compact_object_with_every_kind)
{
    autostr struct str s = {0};
    struct json_out w = json_writer(&s, 0);
    json_begin_object(&w);
    json_kv_str(&w, "s", "x\"y");
    json_kv_str(&w, "null", NULL);
    json_kv_strn(&w, "n", "a\0b", 3);
    json_kv_i64(&w, "i", INT64_MIN);
    json_kv_i64_text(&w, "t", INT64_MAX);
    json_kv_bool(&w, "b", false);
    json_kv_double(&w, "d", 0.1);
    json_kv_raw(&w, "r", "[1]", 3);
    json_key(&w, "a");
    json_begin_array(&w);
    json_put_i64(&w, 1);
    json_put_null(&w);
    json_begin_object(&w);
    json_end_object(&w);
    json_begin_array(&w);
    json_end_array(&w);
    json_put_bool(&w, true);
    json_put_str(&w, "z");
    json_end_array(&w);
    json_kv_i64(&w, "last", 0);
    json_end_object(&w);
    cr_assert_str_eq(
        s.ptr, "{\"s\":\"x\\\"y\",\"null\":null,\"n\":\"a\\u0000b\",\"i\":-9223372036854775808,"
               "\"t\":\"9223372036854775807\",\"b\":false,\"d\":0.1,\"r\":[1],"
               "\"a\":[1,null,{},[],true,\"z\"],\"last\":0}");
    cr_assert_eq(json_check(s.ptr, s.len, NULL), 0);
}

Test(json_out, optional_members_are_left_out)
{
    autostr struct str s = {0};
    struct json_out w = json_writer(&s, 0);
    json_begin_object(&w);
    json_kv_str_opt(&w, "a", NULL);
    json_kv_i64_opt(&w, "b", 0);
    json_kv_bool_opt(&w, "c", false);
    json_kv_str_opt(&w, "d", "");
    json_kv_i64_opt(&w, "e", 1);
    json_kv_bool_opt(&w, "f", true);
    json_end_object(&w);
    cr_assert_str_eq(s.ptr, "{\"d\":\"\",\"e\":1,\"f\":true}");
}

Test(json_out, indented)
{
    autoarena struct arena *arena = arena_new();
    autostr struct str s = {0};
    const struct json *root = NULL;
    const char *text = "{\"a\":[1,[],{}],\"b\":{\"c\":null}}";
    cr_assert_eq(json_parse(arena, text, strlen(text), &root, NULL), 0);
    json_print(&s, root, 2);
    cr_assert_str_eq(s.ptr, "{\n  \"a\": [\n    1,\n    [],\n    {}\n  ],\n  \"b\": {\n"
                            "    \"c\": null\n  }\n}");
    str_reset(&s);
    json_print(&s, root, 0);
    cr_assert_str_eq(s.ptr, text);
    str_reset(&s);
    json_print(&s, json_get(root, "a"), 0); /* a member prints without its key and its siblings */
    cr_assert_str_eq(s.ptr, "[1,[],{}]");
    str_reset(&s);
    json_print(&s, json_pointer(root, "/a/0"), 0);
    cr_assert_str_eq(s.ptr, "1");
    str_reset(&s);
    struct json_out w = json_writer(&s, 0);
    json_begin_object(&w);
    json_kv(&w, "x", json_get(root, "b"));
    json_kv(&w, "y", json_pointer(root, "/a/0"));
    json_end_object(&w);
    cr_assert_str_eq(s.ptr, "{\"x\":{\"c\":null},\"y\":1}");
}

Test(json_out, strings_are_valid_whatever_they_hold)
{
    autostr struct str s = {0};
    json_quote(&s, "\"\\/\b\f\n\r\t\x01\x1f\x7f", 11);
    cr_assert_str_eq(s.ptr, "\"\\\"\\\\/\\b\\f\\n\\r\\t\\u0001\\u001f\x7f\"");
    str_reset(&s);
    json_quote(&s, "a\xff\xe2\x82z\xe2\x82\xac\xed\xa0\x80", 11);
    cr_assert_str_eq(s.ptr, "\"a\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbdz\xe2\x82\xac"
                            "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"");
    str_reset(&s);
    json_quote(&s, "", 0);
    cr_assert_str_eq(s.ptr, "\"\"");
    char every[256];
    for (int shift = 0; shift < 256; shift++) {
        for (int i = 0; i < 256; i++) {
            every[i] = (char)(i * 37 + shift);
        }
        str_reset(&s);
        json_quote(&s, every, sizeof(every));
        struct err err = {0};
        cr_assert_eq(json_check(s.ptr, s.len, &err), 0, "%s", err.text);
    }
}

static void expect_double(double value, const char *want)
{
    autostr struct str s = {0};
    struct json_out w = json_writer(&s, 0);
    json_put_double(&w, value);
    cr_expect_str_eq(s.ptr, want);
}

Test(json_out, doubles_are_short_and_come_back)
{
    expect_double(0, "0");
    expect_double(-0.0, "-0");
    expect_double(1, "1");
    expect_double(0.1, "0.1");
    expect_double(1.0 / 3, "0.3333333333333333");
    expect_double(9007199254740991.0, "9007199254740991");
    expect_double(1700000000000000.0, "1.7e+15");
    expect_double(5e-324, "4.94065645841247e-324");
    expect_double(1.7976931348623157e308, "1.7976931348623157e+308");
    expect_double(NAN, "null");
    expect_double(INFINITY, "null");
    uint64_t bits = 88172645463325252ULL;
    for (int i = 0; i < 20000; i++) {
        bits ^= bits << 13;
        bits ^= bits >> 7;
        bits ^= bits << 17;
        double value;
        memcpy(&value, &bits, sizeof(value));
        if (!isfinite(value)) {
            continue;
        }
        autoarena struct arena *arena = arena_new();
        autostr struct str s = {0};
        struct json_out w = json_writer(&s, 0);
        json_put_double(&w, value);
        const struct json *root = NULL;
        double back = 0;
        cr_assert_eq(json_parse(arena, s.ptr, s.len, &root, NULL), 0);
        cr_assert(json_double(root, &back));
        cr_assert_eq(memcmp(&back, &value, sizeof(value)), 0, "%s", s.ptr);
    }
}

Test(json_out, the_locale_does_not_matter)
{
    if (!setlocale(LC_ALL, "de_DE.UTF-8") && !setlocale(LC_ALL, "fr_FR.UTF-8")) {
        cr_skip_test("skip: install locales-all (no locale with a decimal comma here)");
    }
    autoarena struct arena *arena = arena_new();
    const struct json *root = NULL;
    double back = 0;
    expect_double(0.5, "0.5");
    cr_assert_eq(json_parse(arena, "2.25", 4, &root, NULL), 0);
    cr_assert(json_double(root, &back));
    cr_assert_eq(back, 2.25);
}

#ifndef __SANITIZE_ADDRESS__
Test(json_out, an_unbalanced_writer_is_a_bug, .signal = SIGABRT)
{
    autostr struct str s = {0};
    struct json_out w = json_writer(&s, 0);
    json_end_object(&w);
}
#endif
