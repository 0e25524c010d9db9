/*
 * test_base_json.c - base/json, the reader: a conformance list written by hand from RFC 8259 (with
 * everything that cJSON 1.7 gets wrong), positions of errors, access, pointers.
 */
#include "base/json.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXT(s)                                                                                    \
    {                                                                                              \
        s, sizeof(s) - 1                                                                           \
    }
struct text {
    const char *ptr;
    size_t len;
};

/* A copy without a NUL behind it, so that ASan sees every read beyond the end. */
static char *exact(struct text t)
{
    char *copy = malloc(t.len ? t.len : 1);
    memcpy(copy, t.ptr, t.len);
    return copy;
}

static int parse_both(struct text t, struct err *err)
{
    autoarena struct arena *arena = arena_new();
    autofree char *copy = exact(t);
    const struct json *root = NULL;
    struct err other = {0};
    int parsed = json_parse(arena, copy, t.len, &root, err);
    int checked = json_check(copy, t.len, &other);
    cr_assert_eq(parsed, checked, "parse and check disagree on %.*s", (int)t.len, t.ptr);
    cr_assert_eq(parsed == 0, root != NULL);
    if (parsed != 0) {
        cr_assert_str_eq(err->text, other.text);
        cr_assert_str_eq(err->name, "BadJson");
        cr_assert_eq(err->kind, ERR_PERMANENT);
        return parsed;
    }
    /* what is printed reads back, and prints the same again */
    for (int indent = 0; indent < 3; indent += 2) {
        autostr struct str once = {0};
        autostr struct str twice = {0};
        json_print(&once, root, indent);
        const struct json *again = NULL;
        cr_assert_eq(json_parse(arena, once.ptr, once.len, &again, NULL), 0);
        json_print(&twice, again, indent);
        cr_assert_str_eq(once.ptr, twice.ptr);
    }
    return parsed;
}

Test(json, valid_documents)
{
    static const struct text cases[] = {
        TEXT("null"),
        TEXT("true"),
        TEXT("false"),
        TEXT("0"),
        TEXT("-0"),
        TEXT("-1"),
        TEXT("10"),
        TEXT("1.5"),
        TEXT("-0.0"),
        TEXT("1e5"),
        TEXT("1E+5"),
        TEXT("1e-5"),
        TEXT("0e0"),
        TEXT("0.1e1"),
        TEXT("123456789012345678901234567890"),
        TEXT("1e400"),
        TEXT("\"\""),
        TEXT("\"abc\""),
        TEXT("[]"),
        TEXT("{}"),
        TEXT("[[]]"),
        TEXT("[{}]"),
        TEXT("{\"a\":{}}"),
        TEXT(" \t\r\n[ \t\r\n] \t\r\n"),
        TEXT("[1,2]"),
        TEXT("[ 1 , 2 ]"),
        TEXT("{ \"a\" : 1 , \"b\" : [ ] }"),
        TEXT("{\"\":0}"),
        TEXT("{\"a\":1,\"A\":2}"),
        TEXT("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\""),
        TEXT("\"\\u0000\""),
        TEXT("\"\\u20AC\\u20ac\""),
        TEXT("\"\\ud83d\\ude00\""),
        TEXT("\"\\uD83D\\uDE00\""),
        TEXT("\"\\uffff\\ufffe\""),
        TEXT("\"\xe2\x82\xac\xf0\x9f\x98\x80\""),
        TEXT("\"\x7f\""),
        TEXT("\"\xef\xbb\xbf\""), /* a BOM inside a string is a character */
        TEXT("[1,null,true,false,\"x\",{},[]]"),
        TEXT("{\"a\":{\"a\":{\"a\":1}}}"),
        TEXT("[{\"a\":1},{\"a\":1}]"),
        TEXT("\"a long string without anything special in it, 64+ "
             "bytes so that the wide loop runs\""),
        TEXT("{\"a\":1,\"b\":{\"a\":1},\"c\":[{\"a\":1}],\"d\":\"a\"}"),
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct err err = {0};
        cr_expect_eq(parse_both(cases[i], &err), 0, "%s: %s", cases[i].ptr, err.text);
    }
}

static void expect_invalid(const struct text *cases, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct err err = {0};
        cr_expect_lt(parse_both(cases[i], &err), 0, "case %zu: %s", i, cases[i].ptr);
        cr_expect_eq(strncmp(err.text, "line ", 5), 0, "case %zu: %s", i, err.text);
    }
}

Test(json, invalid_words_and_numbers)
{
    static const struct text cases[] = {
        TEXT(""),
        TEXT(" "),
        TEXT("nul"),
        TEXT("nulll"),
        TEXT("True"),
        TEXT("NaN"),
        TEXT("Infinity"),
        TEXT("-Infinity"),
        TEXT("undefined"),
        TEXT("'a'"),
        TEXT("a"),
        /* numbers */
        TEXT("01"),
        TEXT("-01"),
        TEXT("00"),
        TEXT("1."),
        TEXT(".5"),
        TEXT("-"),
        TEXT("+1"),
        TEXT("1e"),
        TEXT("1e+"),
        TEXT("1e-"),
        TEXT("1.e5"),
        TEXT("0x10"),
        TEXT("1_000"),
        TEXT("--1"),
        TEXT("1.5.5"),
        TEXT("1e5.5"),
        TEXT("- 1"),
        TEXT("-a"),
        TEXT("1a"),
        TEXT("1 2"),
        TEXT("-.5"),
        TEXT("0.e1"),
        TEXT("1eE2"),
        TEXT("\xef\xbc\x91"),
    };
    expect_invalid(cases, ARRAY_LEN(cases));
}

Test(json, invalid_strings)
{
    static const struct text cases[] = {

        TEXT("\""),
        TEXT("\"abc"),
        TEXT("\"\\\""),
        TEXT("\"\\"),
        TEXT("\"\\a\""),
        TEXT("\"\\x41\""),
        TEXT("\"\\u12\""),
        TEXT("\"\\u123g\""),
        TEXT("\"\\u"),
        TEXT("\"\\U0041\""),
        TEXT("\"\\\0\""),
        TEXT("\"\\u 041\""),
        TEXT("\"\\u-041\""),
        TEXT("\"\\ud83d\""),
        TEXT("\"\\ud83d\\u0041\""),
        TEXT("\"\\ud83dx\""),
        TEXT("\"\\ude00\""),
        TEXT("\"\\ud83d\\ud83d\""),
        TEXT("\"\\ud83d\\n\""),
        TEXT("\"\\ud83d\\ude0"),
        TEXT("\"\\ud83d\\ude0\""),
        TEXT("\"\\ude00\\ud83d\""),
        TEXT("\"\n\""),
        TEXT("\"\t\""),
        TEXT("\"\x01\""),
        TEXT("\"a\0b\""),
        TEXT("\"\x1f\""),
        TEXT("\"12345678\x01 12345678\""),
        TEXT("\"\x80\""),
        TEXT("\"\xc0\x80\""),
        TEXT("\"\xed\xa0\x80\""),
        TEXT("\"\xe2\x82\""),
        TEXT("\"\xff\""),
        TEXT("\"\xf4\x90\x80\x80\""),
        TEXT("\"\xe2\x82"),
    };
    expect_invalid(cases, ARRAY_LEN(cases));
}

Test(json, invalid_structure)
{
    static const struct text cases[] = {

        TEXT("["),          TEXT("]"),          TEXT("{"),
        TEXT("}"),          TEXT("[}"),         TEXT("{]"),
        TEXT("[1"),         TEXT("[1,"),        TEXT("[1,]"),
        TEXT("[,1]"),       TEXT("[1,,2]"),     TEXT("[1 2]"),
        TEXT("[1]]"),       TEXT("{\"a\"}"),    TEXT("{\"a\":}"),
        TEXT("{\"a\":1,}"), TEXT("{,\"a\":1}"), TEXT("{\"a\" 1}"),
        TEXT("{a:1}"),      TEXT("{1:1}"),      TEXT("{\"a\":1 \"b\":2}"),
        TEXT("{\"a\":1}}"), TEXT("{\"a\":1"),   TEXT("{\"a\""),
        TEXT("{\"a\":"),    TEXT("{\"a"),       TEXT("[1}"),
        TEXT("{\"a\":1]"),  TEXT("{\"a\",1}"),  TEXT("{null:1}"),
        TEXT("[:]"),        TEXT("{\"a\"::1}"), TEXT("[\"a\":1]"),
    };
    expect_invalid(cases, ARRAY_LEN(cases));
}

Test(json, invalid_surroundings)
{
    static const struct text cases[] = {

        TEXT("1 x"),
        TEXT("{} {}"),
        TEXT("[] ,"),
        TEXT("null\0"),
        TEXT("\0null"),
        TEXT("{}\0"),
        TEXT("\xef\xbb\xbf{}"),
        TEXT("// c\n1"),
        TEXT("/* c */1"),
        TEXT("1//c"),
        TEXT("# c\n1"),
        TEXT("\x0b"
             "1"),
        TEXT("\x0c"
             "1"),
        TEXT("\xc2\xa0"
             "1"),
        TEXT("\xff\xfe[\0]\0"),
    };
    expect_invalid(cases, ARRAY_LEN(cases));
}

Test(json, the_same_key_twice)
{
    static const struct text cases[] = {

        TEXT("{\"a\":1,\"a\":2}"),
        TEXT("{\"a\":1,\"\\u0061\":2}"),
        TEXT("{\"\":1,\"\":2}"),
        TEXT("[{\"x\":{\"b\":1,\"c\":2,\"b\":3}}]"),
        TEXT("{\"a\":{\"a\":1},\"a\":2}"),
        TEXT("{\"1\":1,\"2\":1,\"3\":1,\"4\":1,\"5\":1,\"6\":1,\"7\":1,\"8\":1,\"9\":1,\"1\":1}"),
        TEXT("{\"\\u0000\":1,\"\\u0000\":2}"),
    };
    expect_invalid(cases, ARRAY_LEN(cases));
}

Test(json, every_prefix_of_a_document_is_refused_without_reading_beyond_it)
{
    static const char whole[] =
        "{\"a\":[1.5e-3,true,null,\"\\ud83d\\ude00\xe2\x82\xac\"],\"b\":{}}";
    for (size_t len = 0; len < sizeof(whole) - 1; len++) {
        struct err err = {0};
        cr_assert_lt(parse_both((struct text){whole, len}, &err), 0, "%zu bytes", len);
    }
}

Test(json, errors_say_where)
{
    static const struct {
        const char *text;
        const char *want;
    } cases[] = {
        {"", "line 1 column 1: the text ends where a value should be"},
        {"[1,\n 2,\n 01]", "line 3 column 3: a number does not start with 0"},
        {"{\"\xe2\x82\xac\xe2\x82\xac\":x}", "line 1 column 7: expected a value"},
        {"[1 2]", "line 1 column 4: expected ',' or ']'"},
        {"{\"a\" 1}", "line 1 column 6: expected ':' behind the key"},
        {"{\"a\":1,}", "line 1 column 8: expected a key in double quotes"},
        {"1 1", "line 1 column 3: something follows the end of the document"},
        {"{\"a\":1,\n\"a\":2}",
         "line 2 column 6: the object that ends here has the same key twice"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct err err = {0};
        cr_expect_lt(json_check(cases[i].text, strlen(cases[i].text), &err), 0);
        cr_expect_str_eq(err.text, cases[i].want);
    }
}

static char *nested(size_t depth, bool objects)
{
    struct str s = {0};
    for (size_t i = 0; i < depth; i++) {
        str_add(&s, objects ? "{\"a\":" : "[");
    }
    str_add(&s, "1");
    for (size_t i = 0; i < depth; i++) {
        str_add(&s, objects ? "}" : "]");
    }
    return str_take(&s);
}

Test(json, nesting_has_a_limit_and_the_limit_works)
{
    for (int objects = 0; objects < 2; objects++) {
        struct err err = {0};
        autofree char *fits = nested(JSON_DEPTH_MAX, objects);
        autofree char *over = nested(JSON_DEPTH_MAX + 1, objects);
        autofree char *far_over = nested(1000000, objects);
        cr_assert_eq(parse_both((struct text){fits, strlen(fits)}, &err), 0);
        cr_assert_lt(parse_both((struct text){over, strlen(over)}, &err), 0);
        cr_assert_lt(parse_both((struct text){far_over, strlen(far_over)}, &err), 0);
        cr_assert_not_null(strstr(err.text, "nested too deeply"));
    }
}

Test(json, mixed_nesting_remembers_which_bracket_is_open)
{
    struct str s = {0};
    for (int i = 0; i < JSON_DEPTH_MAX / 2; i++) {
        str_add(&s, "[{\"k\":");
    }
    str_add(&s, "null");
    for (int i = 0; i < JSON_DEPTH_MAX / 2; i++) {
        str_add(&s, i % 2 ? "} ]" : "}]");
    }
    struct err err = {0};
    cr_assert_eq(parse_both((struct text){s.ptr, s.len}, &err), 0, "%s", err.text);
    s.ptr[s.len - 1] = '}';
    cr_assert_lt(parse_both((struct text){s.ptr, s.len}, &err), 0);
    str_free(&s);
}

Test(json, many_keys_are_fine_and_one_duplicate_among_them_is_found)
{
    struct str s = {0};
    str_addc(&s, '{');
    for (int i = 0; i < 20000; i++) {
        str_addf(&s, "\"key%d\":%d,", i, i);
    }
    size_t comma = s.len;
    str_add(&s, "\"last\":0}");
    struct err err = {0};
    cr_assert_eq(parse_both((struct text){s.ptr, s.len}, &err), 0);
    str_cut(&s, comma);
    str_add(&s, "\"key777\":0}");
    cr_assert_lt(parse_both((struct text){s.ptr, s.len}, &err), 0);
    str_free(&s);
}

/* --- what was read --- */

static struct arena *arena;
static const struct json *read_(const char *text)
{
    const struct json *root = NULL;
    struct err err = {0};
    cr_assert_eq(json_parse(arena, text, strlen(text), &root, &err), 0, "%s: %s", text, err.text);
    return root;
}

static void make_arena(void)
{
    arena = arena_new();
}

static void drop_arena(void)
{
    arena = arena_free(arena);
}

TestSuite(json_tree, .init = make_arena, .fini = drop_arena);

Test(json_tree, links_keys_counts_and_slices)
{
    const struct json *root = read_(" {\"a\" : [1, 2 ,{}], \"b\":\"x\\ny\"} ");
    cr_assert_eq(root->type, JSON_OBJECT);
    cr_assert_eq(root->count, 2);
    cr_assert_null(root->next);
    cr_assert_null(root->key);
    cr_assert_eq(root->raw_len, strlen("{\"a\" : [1, 2 ,{}], \"b\":\"x\\ny\"}"));
    const struct json *a = root->first;
    cr_assert_eq(a->type, JSON_ARRAY);
    cr_assert_eq(a->count, 3);
    cr_assert_str_eq(a->key, "a");
    cr_assert_eq(a->raw_len, 10);
    cr_assert_eq(memcmp(a->raw, "[1, 2 ,{}]", 10), 0);
    cr_assert_null(a->first->key);
    cr_assert_eq(a->first->next->next->type, JSON_OBJECT);
    cr_assert_null(a->first->next->next->next);
    cr_assert_null(a->first->next->next->first);
    const struct json *b = a->next;
    cr_assert_str_eq(b->text, "x\ny");
    cr_assert_eq(b->text_len, 3);
    cr_assert_eq(b->raw_len, 6);
    cr_assert_null(b->next);
}

Test(json_tree, strings_are_decoded_whole)
{
    const struct json *s = read_("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9\\u20AC\\ud83d\\ude00.\"");
    cr_assert_str_eq(s->text, "\"\\/\b\f\n\r\t\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80.");
    const struct json *nul = read_("\"a\\u0000b\"");
    cr_assert_eq(nul->text_len, 3);
    cr_assert_eq(memcmp(nul->text, "a\0b", 4), 0);
    cr_assert_null(json_str(nul)); /* never silently "a" */
}

Test(json_tree, numbers_keep_their_digits)
{
    static const char *const numbers[] = {"9007199254740991",
                                          "1700000000000000",
                                          "123456789012345678901234567890",
                                          "1e400",
                                          "0.1000000000000000055511151231257827",
                                          "-0",
                                          "1E+2"};
    for (size_t i = 0; i < ARRAY_LEN(numbers); i++) {
        autostr struct str out = {0};
        const struct json *n = read_(numbers[i]);
        cr_assert_eq(n->text_len, strlen(numbers[i]));
        json_print(&out, n, 0);
        cr_assert_str_eq(out.ptr, numbers[i]);
    }
}

Test(json_tree, integers)
{
    static const struct {
        const char *text;
        bool good;
        int64_t want;
    } cases[] = {
        {"0", true, 0},
        {"-0", true, 0},
        {"9223372036854775807", true, INT64_MAX},
        {"-9223372036854775808", true, INT64_MIN},
        {"9223372036854775808", false, 0},
        {"-9223372036854775809", false, 0},
        {"9007199254740993", true, 9007199254740993},
        {"1.0", false, 0},
        {"1e3", false, 0},
        {"\"123\"", true, 123},
        {"\"-5\"", true, -5},
        {"\"\"", false, 0},
        {"\"-\"", false, 0},
        {"\"+5\"", false, 0},
        {"\" 5\"", false, 0},
        {"\"5 \"", false, 0},
        {"\"0x5\"", false, 0},
        {"\"5\\u0000\"", false, 0},
        {"true", false, 0},
        {"null", false, 0},
        {"[1]", false, 0},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        int64_t got = 77;
        cr_expect_eq(json_i64(read_(cases[i].text), &got), cases[i].good, "%s", cases[i].text);
        cr_expect_eq(got, cases[i].good ? cases[i].want : 77, "%s", cases[i].text);
    }
}

Test(json_tree, doubles)
{
    double d = 77;
    cr_assert(json_double(read_("0.1"), &d));
    cr_assert_eq(d, 0.1);
    cr_assert(json_double(read_("-1e-400"), &d)); /* too small is zero */
    cr_assert_eq(d, 0.0);
    cr_assert(json_double(read_("1.7976931348623157e308"), &d));
    d = 77;
    cr_assert_not(json_double(read_("1e400"), &d));
    cr_assert_not(json_double(read_("\"1\""), &d));
    cr_assert_not(json_double(NULL, &d));
    cr_assert_eq(d, 77);
    struct str digits = {0};
    for (int i = 0; i < 500; i++) {
        str_add(&digits, "1");
    }
    str_add(&digits, "e-499");
    cr_assert(json_double(read_(digits.ptr), &d));
    cr_assert_float_eq(d, 1.1111111, 1e-6);
    str_free(&digits);
}

Test(json_tree, typed_access_leaves_the_result_alone_when_it_cannot)
{
    const struct json *o = read_("{\"i\":5,\"b\":true,\"s\":\"x\",\"d\":0.5,\"n\":null}");
    int64_t i = 77;
    bool b = false;
    double d = 77;
    cr_assert(json_get_i64(o, "i", &i));
    cr_assert(json_get_bool(o, "b", &b));
    cr_assert(json_get_double(o, "d", &d));
    cr_assert_str_eq(json_get_str(o, "s"), "x");
    cr_assert_eq(i, 5);
    cr_assert_eq(d, 0.5);
    cr_assert(b);
    cr_assert_not(json_get_i64(o, "absent", &i));
    cr_assert_not(json_get_i64(o, "s", &i));
    cr_assert_not(json_get_bool(o, "i", &b));
    cr_assert_not(json_get_bool(o, "n", &b));
    cr_assert_not(json_get_double(o, "s", &d));
    cr_assert_null(json_get_str(o, "i"));
    cr_assert_null(json_get_str(o, "absent"));
    cr_assert_null(json_get(NULL, "x"));
    cr_assert_null(json_get(read_("[1]"), "x"));
    cr_assert_null(json_get(o, "S")); /* case counts */
    cr_assert_eq(i, 5);
    cr_assert(b);
}

Test(json_tree, items_and_each)
{
    const struct json *a = read_("[10,20,30]");
    int64_t sum = 0;
    json_each (item, a) {
        int64_t one = 0;
        cr_assert(json_i64(item, &one));
        sum += one;
    }
    cr_assert_eq(sum, 60);
    cr_assert_eq(memcmp(json_at(a, 2)->text, "30", 2), 0);
    cr_assert_null(json_at(a, 3));
    cr_assert_null(json_at(NULL, 0));
    cr_assert_null(json_at(read_("{}"), 0));
    json_each (item, (const struct json *)NULL) {
        cr_assert_fail("nothing is there");
    }
}

Test(json_tree, pointers_of_rfc_6901)
{
    const struct json *o =
        read_("{\"foo\":[\"bar\",\"baz\"],\"\":0,\"a/b\":1,\"m~n\":8,\" \":7,\"~1\":9,\"00\":3}");
    int64_t n = 0;
    cr_assert_eq(json_pointer(o, ""), o);
    cr_assert_eq(json_pointer(o, "/foo"), o->first);
    cr_assert_str_eq(json_str(json_pointer(o, "/foo/0")), "bar");
    cr_assert_str_eq(json_str(json_pointer(o, "/foo/1")), "baz");
    cr_assert(json_i64(json_pointer(o, "/"), &n) && n == 0);
    cr_assert(json_i64(json_pointer(o, "/a~1b"), &n) && n == 1);
    cr_assert(json_i64(json_pointer(o, "/m~0n"), &n) && n == 8);
    cr_assert(json_i64(json_pointer(o, "/ "), &n) && n == 7);
    cr_assert(json_i64(json_pointer(o, "/~01"), &n) && n == 9);
    cr_assert(json_i64(json_pointer(o, "/00"), &n) && n == 3);
    static const char *const absent[] = {
        "foo",    "/foo/2",   "/foo/-", "/foo/00", "/foo/01", "/foo/ 0",
        "/foo/",  "/foo/0/x", "/x",     "/m~2n",   "/m~",     "/foo/99999999999999999999",
        "/foo/1x"};
    for (size_t i = 0; i < ARRAY_LEN(absent); i++) {
        cr_expect_null(json_pointer(o, absent[i]), "%s", absent[i]);
    }
}
