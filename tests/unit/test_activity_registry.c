/*
 * test_activity_registry.c - names of callbacks.
 */
#include "activity/registry.h"

#include <criterion/criterion.h>
#include <string.h>

static int workflow(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)ctx;
    (void)input;
    (void)result;
    (void)user;
    return DUR_OK;
}

static int activity(dur_activity *act, const char *input, const char **result, void *user)
{
    (void)act;
    (void)input;
    (void)result;
    (void)user;
    return DUR_OK;
}

Test(registry, names_are_found_by_kind)
{
    struct registry r = {0};
    int user;
    cr_assert_eq(registry_add_workflow(&r, "a", workflow, &user), DUR_OK);
    cr_assert_eq(registry_add_activity(&r, "a", activity, NULL), DUR_OK);
    cr_assert_eq(registry_add_activity(&r, "b", activity, &user), DUR_OK);
    cr_assert_eq(registry_workflow(&r, "a")->workflow, workflow);
    cr_assert_eq(registry_workflow(&r, "a")->user, &user);
    cr_assert_eq(registry_activity(&r, "b")->activity, activity);
    cr_assert_null(registry_workflow(&r, "b"));
    cr_assert_null(registry_workflow(&r, "A"));
    cr_assert_null(registry_activity(&r, ""));
    registry_free(&r);
    cr_assert_null(registry_workflow(&r, "a"));
}

Test(registry, bad_names_are_refused)
{
    struct registry r = {0};
    char name[1002];
    memset(name, 'n', sizeof(name));
    name[1001] = '\0';
    cr_assert_eq(registry_add_workflow(&r, NULL, workflow, NULL), DUR_INVALID);
    cr_assert_eq(registry_add_workflow(&r, "", workflow, NULL), DUR_INVALID);
    cr_assert_eq(registry_add_workflow(&r, name, workflow, NULL), DUR_INVALID);
    cr_assert_eq(registry_add_workflow(&r, "w", NULL, NULL), DUR_INVALID);
    cr_assert_eq(registry_add_activity(&r, "a", NULL, NULL), DUR_INVALID);
    name[1000] = '\0';
    cr_assert_eq(registry_add_workflow(&r, name, workflow, NULL), DUR_OK);
    cr_assert_eq(registry_add_workflow(&r, name, workflow, NULL), DUR_EXISTS);
    name[0] = 'm'; /* the registry has its own copy */
    cr_assert_null(registry_workflow(&r, name));
    registry_free(&r);
}
