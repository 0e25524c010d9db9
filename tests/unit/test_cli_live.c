/*
 * test_cli_live.c - lines written again in place: how far the cursor goes up.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "cli/live.h"

Test(cli_live, columns_without_colours)
{
    const char *line = "  \033[32m✓\033[0m validate";
    cr_assert_eq(live_columns(line, strlen(line)), 12);
}

Test(cli_live, redraw_goes_up_by_what_was_drawn)
{
    struct live live = {0};
    struct str out = {0};
    live_draw(&live, &out, "one\ntwo\nthree\n", 20);
    cr_assert_str_eq(str_c(&out), "one\ntwo\nthree\n");
    str_reset(&out);
    live_draw(&live, &out, "four\n", 20);
    cr_assert_str_eq(str_c(&out), "\033[3A\r\033[Jfour\n");
    str_reset(&out);
    live_clear(&live, &out, 20);
    cr_assert_str_eq(str_c(&out), "\033[1A\r\033[J");
    str_reset(&out);
    live_clear(&live, &out, 20);
    cr_assert_str_eq(str_c(&out), "", "nothing is shown any more");
    str_free(&out);
}

Test(cli_live, a_narrower_window_wraps_what_is_there)
{
    struct live live = {0};
    struct str out = {0};
    live_draw(&live, &out, "123456789 123456789 12345\nab\n\n", 40);
    str_reset(&out);
    live_clear(&live, &out, 10);
    cr_assert_str_eq(str_c(&out), "\033[5A\r\033[J", "3 + 1 + 1 rows");
    str_free(&out);
}

Test(cli_live, more_lines_than_it_keeps)
{
    struct live live = {0};
    struct str text = {0}, out = {0};
    for (int i = 0; i < 3 * LIVE_LINES_MAX; i++) {
        str_add(&text, "x\n");
    }
    live_draw(&live, &out, str_c(&text), 40);
    cr_assert_eq(live.count, LIVE_LINES_MAX);
    cr_assert_eq(out.len, 2 * LIVE_LINES_MAX);
    str_free(&text);
    str_free(&out);
}
