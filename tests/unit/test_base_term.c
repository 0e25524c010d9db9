/*
 * test_base_term.c - base/term on a real pseudo-terminal, a pipe, and text of every width.
 */
#include "base/term.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/attr.h"

static int tty;
static int not_tty;

static void set_up(void)
{
    int pipe_ends[2];
    cr_assert_eq(pipe(pipe_ends), 0);
    not_tty = pipe_ends[1];
    int master = posix_openpt(O_RDWR | O_NOCTTY);
    if (master < 0 || grantpt(master) < 0 || unlockpt(master) < 0) {
        cr_skip_test("skip: mount /dev/pts (no pseudo-terminals here)");
    }
    tty = open(ptsname(master), O_RDWR | O_NOCTTY);
    cr_assert_geq(tty, 0);
    unsetenv("NO_COLOR");
    unsetenv("FACTORY_COLOR");
    unsetenv("CLICOLOR_FORCE");
    unsetenv("COLUMNS");
    setenv("TERM", "xterm", 1);
}

TestSuite(term, .init = set_up);

Test(term, a_terminal_is_told_from_a_pipe)
{
    cr_assert(term_is_tty(tty));
    cr_assert_not(term_is_tty(not_tty));
    cr_assert_not(term_is_tty(-1));
}

Test(term, width_comes_from_the_terminal_then_the_environment)
{
    struct winsize size = {.ws_col = 123};
    cr_assert_eq(ioctl(tty, TIOCSWINSZ, &size), 0);
    cr_assert_eq(term_width(tty), 123);
    size.ws_col = 10;
    cr_assert_eq(ioctl(tty, TIOCSWINSZ, &size), 0);
    cr_assert_eq(term_width(tty), TERM_WIDTH_MIN);
    cr_assert_eq(term_width(not_tty), TERM_WIDTH_DEFAULT);
    static const char *const texts[] = {
        "99", "7", "999999", "0", "-5", "x", "99x", "", "99999999999999999999"};
    static const int want[] = {99, 40, 1000, 80, 80, 80, 80, 80, 1000};
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        setenv("COLUMNS", texts[i], 1);
        cr_expect_eq(term_width(not_tty), want[i], "COLUMNS=%s", texts[i]);
    }
}

Test(term, colour_needs_a_terminal_and_nobody_against_it)
{
    cr_assert(term_colour(tty));
    cr_assert(term_rewrites(tty));
    cr_assert_not(term_colour(not_tty));
    setenv("NO_COLOR", "", 1); /* empty does not count */
    cr_assert(term_colour(tty));
    setenv("NO_COLOR", "1", 1);
    cr_assert_not(term_colour(tty));
    cr_assert(term_rewrites(tty));
    setenv("CLICOLOR_FORCE", "0", 1);
    cr_assert_not(term_colour(tty));
    setenv("CLICOLOR_FORCE", "1", 1);
    cr_assert(term_colour(not_tty));
    unsetenv("CLICOLOR_FORCE");
    unsetenv("NO_COLOR");
    setenv("TERM", "dumb", 1);
    cr_assert_not(term_colour(tty));
    cr_assert_not(term_rewrites(tty));
    unsetenv("TERM");
    cr_assert_not(term_colour(tty));
}

Test(term, columns_of_text)
{
    static const struct {
        const char *text;
        size_t columns;
    } cases[] = {
        {"", 0},
        {"abc", 3},
        {"\xc3\xa9", 1},                 /* e with acute */
        {"e\xcc\x81", 1},                /* the same, combining */
        {"\xe6\x97\xa5\xe6\x9c\xac", 4}, /* two ideographs */
        {"\xf0\x9f\x98\x80", 2},         /* a face */
        {"\xe2\x9c\x93 ok", 4},          /* check mark */
        {"\xe2\x80\xa6", 1},             /* ellipsis */
        {"\xff\xff", 2},                 /* not UTF-8 */
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        size_t len = strlen(cases[i].text);
        cr_expect_eq(term_columns(cases[i].text, len), cases[i].columns, "%s", cases[i].text);
        cr_expect_eq(term_prefix(cases[i].text, len, cases[i].columns), len, "%s", cases[i].text);
    }
    cr_expect_eq(term_prefix("\xe6\x97\xa5\xe6\x9c\xac", 6, 3), 3); /* half of one does not fit */
    cr_expect_eq(term_prefix("abc", 3, 0), 0);
}
