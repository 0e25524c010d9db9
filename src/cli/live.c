/*
 * live.c - see live.h.
 * Tests: tests/unit/test_cli_live.c
 */
#include "cli/live.h"

#include <string.h>
#include <sys/ioctl.h>

#include "base/term.h"
#include "cli/format.h"

bool live_possible(int fd, size_t rows)
{
    struct winsize size = {0};
    if (!term_rewrites(fd) || ioctl(fd, TIOCGWINSZ, &size) < 0) {
        return false;
    }
    return size.ws_row == 0 || size.ws_row >= rows; /* 0: it does not say */
}

size_t live_columns(const char *line, size_t len)
{
    autostr struct str clean = {0};
    format_clean(&clean, line, len);
    return term_columns(str_c(&clean), clean.len);
}

void live_clear(struct live *live, struct str *out, size_t width)
{
    size_t rows = 0;
    for (size_t i = 0; i < live->count; i++) {
        rows += live->columns[i] > width ? (live->columns[i] + width - 1) / width : 1;
    }
    if (rows) {
        str_addf(out, "\033[%zuA\r\033[J", rows);
    }
    live->count = 0;
}

void live_draw(struct live *live, struct str *out, const char *text, size_t width)
{
    live_clear(live, out, width);
    while (*text && live->count < LIVE_LINES_MAX) {
        size_t len = strcspn(text, "\n");
        live->columns[live->count++] = live_columns(text, len);
        str_addn(out, text, len);
        str_addc(out, '\n');
        text += len + (text[len] == '\n');
    }
}
