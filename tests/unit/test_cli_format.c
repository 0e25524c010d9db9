/*
 * test_cli_format.c - text for people: cutting, cleaning, units, tables.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "base/clock.h"
#include "base/term.h"
#include "cli/format.h"

static void expect(struct str *s, const char *wanted)
{
    cr_assert_str_eq(str_c(s), wanted);
    str_free(s);
}

Test(cli_format, cut)
{
    struct str s = {0};
    format_cut(&s, "hello", 5);
    expect(&s, "hello");
    format_cut(&s, "hello!", 5);
    expect(&s, "hell…");
    format_cut(&s, "hello", 1);
    expect(&s, "…");
    format_cut(&s, "hello", 0);
    expect(&s, "");
    format_cut(&s, "grüße", 4);
    expect(&s, "grü…");
    format_cut(&s, "日本語", 5);
    expect(&s, "日本…");
    format_cut(&s, "日本語", 4);
    expect(&s, "日…"); /* a wide character is never halved */
    format_cut_middle(&s, "run-5f0c2a91d3b84e77", 11);
    expect(&s, "run-5…84e77");
}

Test(cli_format, cut_never_exceeds_and_stays_utf8)
{
    static const char *const texts[] = {"",
                                        "a",
                                        "plain text of some length",
                                        "日本語のテキスト",
                                        "e\xcc\x81 combining",
                                        "\xff\xfe broken \xc3"};
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        for (size_t columns = 0; columns < 40; columns++) {
            struct str clean = {0}, s = {0}, m = {0}, p = {0};
            format_clean(&clean, texts[i], strlen(texts[i]));
            cr_assert(utf8_valid(str_c(&clean), clean.len));
            format_cut(&s, str_c(&clean), columns);
            format_cut_middle(&m, str_c(&clean), columns);
            format_pad(&p, str_c(&clean), columns);
            cr_assert_leq(term_columns(str_c(&s), s.len), columns);
            cr_assert_leq(term_columns(str_c(&m), m.len), columns);
            cr_assert_eq(term_columns(str_c(&p), p.len), columns);
            cr_assert(utf8_valid(str_c(&s), s.len) && utf8_valid(str_c(&m), m.len));
            str_free(&clean);
            str_free(&s);
            str_free(&m);
            str_free(&p);
        }
    }
}

Test(cli_format, clean)
{
    static const struct {
        const char *raw, *wanted;
    } cases[] = {
        {"a\tb\nc", "a b c"},
        {"\033[31mred\033[0m", "red"},
        {"\033]0;title\a!", "!"},
        {"\033]8;;http://x\033\\link", "link"},
        {"\033[2J\033[1;1Hx", "x"},
        {"\033(Bx", "Bx"},
        {"a\x01\x7f", "a??"},
        {"\xc2\x9b"
         "31m",
         "?31m"}, /* CSI as one C1 character */
        {"\xff", "?"},
        {"\033", ""},
        {"\033[31", ""},
        {"\033]never ends", ""},
        {"grün", "grün"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct str s = {0};
        format_clean(&s, cases[i].raw, strlen(cases[i].raw));
        expect(&s, cases[i].wanted);
    }
}

Test(cli_format, wrap)
{
    struct str s = {0};
    format_wrap(&s, "one two three four", 2, 15);
    expect(&s, "  one two three\n  four\n");
    format_wrap(&s, "unbreakablewordthatislong", 0, 10);
    expect(&s, "unbreakabl\newordthati\nslong\n");
    format_wrap(&s, "a   bbbbbbbbb c", 0, 10);
    expect(&s, "a\nbbbbbbbbb\nc\n");
    format_wrap(&s, "", 2, 20);
    expect(&s, "  \n");
    format_wrap(&s, "日本語日本語", 0, 3); /* never less than ten columns */
    expect(&s, "日本語日本\n語\n");
}

Test(cli_format, units)
{
    static const struct {
        int64_t seconds;
        const char *age;
    } ages[] = {{-5, "0s"},   {0, "0s"},      {59, "59s"},   {60, "1m"},     {3599, "59m"},
                {3600, "1h"}, {86399, "23h"}, {86400, "1d"}, {864000, "10d"}};
    struct str s = {0};
    for (size_t i = 0; i < ARRAY_LEN(ages); i++) {
        format_age(&s, ages[i].seconds * NS_PER_S);
        expect(&s, ages[i].age);
    }
    format_bytes(&s, 1023);
    expect(&s, "1023 B");
    format_bytes(&s, 12390);
    expect(&s, "12.1 KiB");
    format_bytes(&s, 3 << 20);
    expect(&s, "3.0 MiB");
    format_count(&s, 1, "file");
    expect(&s, "1 file");
    format_count(&s, 0, "sandbox");
    expect(&s, "0 sandboxes");
    format_count(&s, 2, "entry");
    expect(&s, "2 entries");
    format_clock(&s, 1796000531204000000);
    cr_assert_eq(s.len, 12);
    cr_assert(str_ends(str_c(&s), ".204"));
    str_free(&s);
}

Test(cli_format, repositories)
{
    static const struct {
        const char *repository, *name;
    } cases[] = {{"/home/ana/src/greeting", "greeting"},
                 {"/home/ana/src/greeting//", "greeting"},
                 {"git@host:team/pay.git", "pay"},
                 {"https://host/a/b.git/", "b"},
                 {"host:x", "x"},
                 {"", ""},
                 {"/", ""},
                 {".git", ".git"}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct str s = {0};
        format_repository(&s, cases[i].repository);
        expect(&s, cases[i].name);
    }
}

static struct table sample(void)
{
    struct table table = {.columns = 3,
                          .heads = {"RUN", "RESULT", "REPOSITORY"},
                          .least = {8, 0, 6},
                          .middle = {false, false, true}};
    const char *one[] = {"run-5f0c2a91d3b84e77", "SUCCEEDED", "greeting@3f9c2e1"};
    const char *two[] = {"run-\033[31m1", NULL, "日本語@1234567"};
    table_add(&table, one);
    table_add(&table, two);
    return table;
}

Test(cli_format, table)
{
    autotable struct table table = sample();
    struct str s = {0};
    table_print(&table, &s, 200, false);
    expect(&s, "RUN                   RESULT     REPOSITORY\n"
               "run-5f0c2a91d3b84e77  SUCCEEDED  greeting@3f9c2e1\n"
               "run-1                 —          日本語@1234567\n");
    for (size_t width = 5; width < 70; width++) {
        table_print(&table, &s, width, false);
        const char *at = str_c(&s);
        while (*at) {
            size_t len = strcspn(at, "\n");
            cr_assert_leq(term_columns(at, len), width);
            at += len + 1;
        }
        str_free(&s);
    }
    table_print(&table, &s, 40, false);
    cr_assert(strstr(str_c(&s), "SUCCEEDED"), "what may not shrink does not");
    str_free(&s);
}

Test(cli_format, colour_only_when_on)
{
    struct str s = {0};
    format_colour(&s, false, COLOUR_RED, "x");
    expect(&s, "x");
    format_colour(&s, true, COLOUR_RED, "x");
    expect(&s, "\033[31mx\033[0m");
    format_colour(&s, true, COLOUR_NONE, "x");
    expect(&s, "x");
}
