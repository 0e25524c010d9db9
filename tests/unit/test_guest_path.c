/*
 * test_guest_path.c - guest/state: paths as clients write them, users, variables.
 */
#include "guest/state.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

static struct guest guest;

static void setup(void)
{
    struct guest_options options = {.home = "/homes/u", .workdir = "/srv/dir", .user = "u"};
    guest_state_init(&guest, &options);
}

static void teardown(void)
{
    guest_state_free(&guest);
}

TestSuite(path, .init = setup, .fini = teardown);

Test(path, every_form)
{
    static const char *const cases[][2] = {
        {"", "/srv/dir"},        {"~", "/homes/u"},        {"~/", "/homes/u"},
        {"~/a", "/homes/u/a"},   {"a/b", "/homes/u/a/b"},  {"/", "/"},
        {"/a//b/./c", "/a/b/c"}, {"/a/b/../c/", "/a/c"},   {"/../..", "/"},
        {"..", "/homes"},        {"/a/../../../b", "/b"},  {"./x/..", "/homes/u"},
        {"/a/...", "/a/..."},    {"/ a/\xff", "/ a/\xff"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct wire_error error = {0};
        autofree char *got = NULL;
        cr_assert_eq(guest_path(&guest, cases[i][0], &got, &error), 0);
        cr_assert_str_eq(got, cases[i][1], "%s gave %s", cases[i][0], got);
    }
}

Test(path, other_homes_and_endless_ones_are_refused)
{
    struct wire_error error = {0};
    char *got = NULL;
    char *lengthy = malloc(5001);
    cr_assert_not_null(lengthy);
    cr_assert_lt(guest_path(&guest, "~root/x", &got, &error), 0);
    cr_assert_eq(error.code, WIRE_INVALID_ARGUMENT);
    memset(lengthy, 'a', 5000);
    lengthy[5000] = '\0';
    cr_assert_lt(guest_path(&guest, lengthy, &got, &error), 0);
    cr_assert_null(got);
    free(lengthy);
}

Test(path, users)
{
    cr_assert(guest_user_known(&guest, "u"));
    cr_assert(guest_user_known(&guest, "root"));
    cr_assert(guest_user_known(&guest, "user"));
    cr_assert_not(guest_user_known(&guest, "daemon"));
    cr_assert_not(guest_user_known(&guest, ""));
}

Test(path, variables_replace_each_other)
{
    cr_assert(guest_set_var(&guest, "A", "1"));
    cr_assert(guest_set_var(&guest, "AB", "2"));
    cr_assert(guest_set_var(&guest, "A", "3"));
    cr_assert_eq(guest.var_count, 2);
    cr_assert_str_eq(guest.vars[0], "A=3");
    cr_assert_str_eq(guest.vars[1], "AB=2");
    cr_assert_not(guest_set_var(&guest, "", "x"));
    cr_assert_not(guest_set_var(&guest, "A=B", "x"));
}
