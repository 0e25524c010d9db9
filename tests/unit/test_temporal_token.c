/*
 * test_temporal_token.c - tokens of attempts on a server: there and back, and what is none.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "base/str.h"
#include "temporal/token.h"

#define TEST(name) Test(temporal_token, name, .timeout = 30)

static ProtobufCBinaryData bytes(const char *text)
{
    return (ProtobufCBinaryData){.len = strlen(text), .data = (uint8_t *)(uintptr_t)text};
}

TEST(a_token_says_all_that_it_was_given)
{
    autoarena struct arena *arena = arena_new();
    struct token token = {.task_token = bytes("\x01\xff.\n"),
                          .workflow_id = "order/1@\"x\"",
                          .run_id = "r",
                          .activity_id = "7",
                          .attempt = 3};
    struct token back;
    const char *text = token_text(arena, &token);
    cr_assert(str_starts(text, "T"));
    cr_assert(token_parse(arena, text, &back));
    cr_expect_eq(back.task_token.len, 4);
    cr_expect_eq(memcmp(back.task_token.data, "\x01\xff.\n", 4), 0);
    cr_expect_str_eq(back.workflow_id, "order/1@\"x\"");
    cr_expect_str_eq(back.run_id, "r");
    cr_expect_str_eq(back.activity_id, "7");
    cr_expect_eq(back.attempt, 3);
    token.task_token.len = 0;
    text = token_text(arena, &token);
    cr_assert(str_starts(text, "I."));
    cr_assert(token_parse(arena, text, &back));
    cr_expect_eq(back.task_token.len, 0);
    cr_expect_str_eq(back.workflow_id, "order/1@\"x\"");
}

TEST(a_bare_task_token_is_one_too)
{
    autoarena struct arena *arena = arena_new();
    struct token back;
    cr_assert(token_parse(arena, "aGFsbG8=", &back));
    cr_expect_eq(back.task_token.len, 5);
    cr_expect_null(back.workflow_id);
}

TEST(other_texts_are_refused)
{
    /* ids: [] / ["w","r","a",0] / ["","r","a",1] / {"a":1} / not JSON */
    const char *const bad[] = {"",
                               ".",
                               "T",
                               "T.",
                               "I.",
                               "I.W10=",
                               "I.WyJ3IiwiciIsImEiLDBd",
                               "I.WyIiLCJyIiwiYSIsMV0=",
                               "I.eyJhIjoxfQ==",
                               "I.aGFsbG8=",
                               "IaGFsbG8=.WyJ3IiwiciIsImEiLDFd",
                               "T.WyJ3IiwiciIsImEiLDFd",
                               "X.WyJ3IiwiciIsImEiLDFd",
                               "TaGFsbG8=.WyJ3IiwiciIsImEiLDFd.x",
                               "not base64!"};
    autoarena struct arena *arena = arena_new();
    struct token back;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        cr_expect_not(token_parse(arena, bad[i], &back), "%s", bad[i]);
    }
    cr_expect_not(token_parse(arena, NULL, &back));
    cr_expect(token_parse(arena, "TaGFsbG8=.WyJ3IiwiciIsImEiLDFd", &back));
}
