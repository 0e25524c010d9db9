/*
 * test_base_err.c - base/err: filling, wrapping, cutting and the kinds of errno.
 */
#include "base/err.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "base/str.h"

Test(err, set_fills_everything_and_returns_minus_one)
{
    struct err err = {.sys = 5};
    cr_assert_eq(err_set(&err, ERR_AMBIGUOUS, "Lost", "sent %d bytes", 7), -1);
    cr_assert_eq(err.kind, ERR_AMBIGUOUS);
    cr_assert_eq(err.sys, 0);
    cr_assert_str_eq(err.name, "Lost");
    cr_assert_str_eq(err.text, "sent 7 bytes");
    err_clear(&err);
    cr_assert_eq(err.kind, ERR_NONE);
    cr_assert_str_eq(err.text, "");
}

Test(err, null_is_allowed_everywhere)
{
    cr_assert_eq(err_set(NULL, ERR_PERMANENT, "X", "x"), -1);
    cr_assert_eq(err_sys(NULL, EIO, "X", "x"), -1);
    cr_assert_eq(err_wrap(NULL, "x"), -1);
    err_clear(NULL);
}

Test(err, errno_decides_the_kind)
{
    static const struct {
        int errnum;
        enum err_kind kind;
    } cases[] = {
        {EAGAIN, ERR_TRANSIENT},    {ENOSPC, ERR_TRANSIENT}, {ECONNREFUSED, ERR_TRANSIENT},
        {ENOENT, ERR_PERMANENT},    {EACCES, ERR_PERMANENT}, {ECANCELED, ERR_CANCELLED},
        {ETIMEDOUT, ERR_TRANSIENT}, {EIO, ERR_TRANSIENT},    {EPIPE, ERR_TRANSIENT},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct err err = {0};
        cr_assert_eq(err_sys(&err, cases[i].errnum, "X", "it"), -1);
        cr_expect_eq(err.kind, cases[i].kind, "errno %d", cases[i].errnum);
        cr_expect_eq(err.sys, cases[i].errnum);
    }
    struct err err = {0};
    err_sys(&err, ENOENT, "OpenFailed", "cannot open %s", "x.c");
    cr_assert_str_eq(err.text, "cannot open x.c: No such file or directory");
    err_sys(&err, 99999, "X", "it");
    cr_assert_str_eq(err.text, "it: unknown error");
}

Test(err, wrap_puts_in_front_and_keeps_the_rest)
{
    struct err err = {0};
    err_sys(&err, EBUSY, "Busy", "database");
    cr_assert_eq(err_wrap(&err, "run %d", 3), -1);
    cr_assert_str_eq(err.text, "run 3: database: Device or resource busy");
    cr_assert_str_eq(err.name, "Busy");
    cr_assert_eq(err.kind, ERR_TRANSIENT);
    cr_assert_eq(err.sys, EBUSY);
}

Test(err, its_own_text_may_be_an_argument)
{
    struct err err = {0};
    err_set(&err, ERR_PERMANENT, "Inner", "inner");
    err_set(&err, ERR_PERMANENT, err.name, "outer: %s", err.text);
    cr_assert_str_eq(err.text, "outer: inner");
    cr_assert_str_eq(err.name, "Inner");
    err_wrap(&err, "again %s", err.text);
    cr_assert_str_eq(err.text, "again outer: inner: outer: inner");
}

Test(err, text_stays_one_printable_line)
{
    struct err err = {0};
    err_set(&err, ERR_PERMANENT, NULL, "a\nb\tc\x1b[31m");
    cr_assert_str_eq(err.text, "a b c [31m");
    cr_assert_str_eq(err.name, "Error");
}

Test(err, too_long_text_is_cut_on_a_character)
{
    char text[3 * ERR_TEXT_BYTES + 1] = "";
    for (size_t i = 0; i + 3 < sizeof(text); i += 3) {
        memcpy(text + i, "\xe2\x82\xac", 4);
    }
    for (int shift = 0; shift < 4; shift++) {
        struct err err = {0};
        err_set(&err, ERR_PERMANENT, text, "%.*s%s", shift, "...", text);
        cr_assert(utf8_valid(err.text, strlen(err.text)), "shift %d", shift);
        cr_assert(utf8_valid(err.name, strlen(err.name)));
        cr_assert_gt(strlen(err.text), ERR_TEXT_BYTES - 8);
        for (int i = 0; i < 20; i++) {
            err_wrap(&err, "prefix %d", i);
            cr_assert(utf8_valid(err.text, strlen(err.text)));
        }
        cr_assert(str_starts(err.text, "prefix 19: prefix 18: "));
        err_wrap(&err, "%s", text);
        cr_assert(utf8_valid(err.text, strlen(err.text)));
        err_sys(&err, EIO, "X", "%s", text);
        cr_assert(utf8_valid(err.text, strlen(err.text)));
    }
}

Test(err, every_kind_has_a_name)
{
    cr_assert_str_eq(err_kind_name(ERR_NONE), "none");
    cr_assert_str_eq(err_kind_name(ERR_PERMANENT), "permanent");
    cr_assert_str_eq(err_kind_name(ERR_TRANSIENT), "transient");
    cr_assert_str_eq(err_kind_name(ERR_AMBIGUOUS), "ambiguous");
    cr_assert_str_eq(err_kind_name(ERR_CANCELLED), "cancelled");
    cr_assert_not_null(err_kind_name((enum err_kind)99));
}
