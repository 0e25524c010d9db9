/*
 * term.c - see term.h. Widths of characters come from a short table of its own, not from the
 * locale: the program does not call setlocale() on behalf of its embedder. Tests:
 * tests/unit/test_base_term.c
 */
#include "base/term.h"

#include <stdint.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/attr.h"
#include "base/str.h"

bool term_is_tty(int fd)
{
    return isatty(fd) == 1;
}

static int bounded(long width)
{
    return width < TERM_WIDTH_MIN   ? TERM_WIDTH_MIN
           : width > TERM_WIDTH_MAX ? TERM_WIDTH_MAX
                                    : (int)width;
}

int term_width(int fd)
{
    struct winsize size = {0};
    if (ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
        return bounded(size.ws_col);
    }
    const char *columns = getenv("COLUMNS");
    if (columns && columns[0] >= '1' && columns[0] <= '9') {
        char *end = NULL;
        long width = strtol(columns, &end, 10);
        if (*end == '\0') {
            return bounded(width);
        }
    }
    return TERM_WIDTH_DEFAULT;
}

static bool is_set(const char *name)
{
    const char *value = getenv(name);
    return value && value[0] && !str_eq(value, "0");
}

bool term_rewrites(int fd)
{
    const char *kind = getenv("TERM");
    return kind && kind[0] && !str_eq(kind, "dumb") && term_is_tty(fd);
}

bool term_colour(int fd)
{
    if (is_set("FACTORY_COLOR") || is_set("CLICOLOR_FORCE")) {
        return true;
    }
    const char *none = getenv("NO_COLOR"); /* no-color.org: set and not empty, whatever it says */
    return !(none && none[0]) && term_rewrites(fd);
}

struct range {
    uint32_t first;
    uint32_t last;
};

/* Unicode 15, in coarse blocks: combining marks, joiners and variation selectors. */
static const struct range zero_wide[] = {
    {0x0300, 0x036f}, {0x0483, 0x0489}, {0x0591, 0x05bd},   {0x0610, 0x061a}, {0x064b, 0x065f},
    {0x1ab0, 0x1aff}, {0x1dc0, 0x1dff}, {0x200b, 0x200f},   {0x20d0, 0x20ff}, {0xfe00, 0xfe0f},
    {0xfe20, 0xfe2f}, {0xfeff, 0xfeff}, {0xe0100, 0xe01ef},
};
/* East Asian wide and full-width characters, and pictographs. */
static const struct range two_wide[] = {
    {0x1100, 0x115f},   {0x231a, 0x231b},   {0x2e80, 0x303e},   {0x3041, 0x33ff},
    {0x3400, 0x4dbf},   {0x4e00, 0x9fff},   {0xa000, 0xa4cf},   {0xac00, 0xd7a3},
    {0xf900, 0xfaff},   {0xfe30, 0xfe6f},   {0xff00, 0xff60},   {0xffe0, 0xffe6},
    {0x1f300, 0x1f64f}, {0x1f680, 0x1f6ff}, {0x1f900, 0x1f9ff}, {0x20000, 0x3fffd},
};

static bool among(uint32_t code, const struct range *ranges, size_t count)
{
    for (size_t i = 0; i < count && code >= ranges[i].first; i++) {
        if (code <= ranges[i].last) {
            return true;
        }
    }
    return false;
}

/* Columns of the character of `step` bytes at p. */
static size_t columns_of(const unsigned char *p, size_t step)
{
    if (step < 2) {
        return 1;
    }
    uint32_t code = p[0] & (0xffU >> (step + 1));
    for (size_t i = 1; i < step; i++) {
        code = code << 6 | (p[i] & 0x3fU);
    }
    if (among(code, zero_wide, ARRAY_LEN(zero_wide))) {
        return 0;
    }
    return among(code, two_wide, ARRAY_LEN(two_wide)) ? 2 : 1;
}

static size_t measure(const char *text, size_t len, size_t most, size_t *ret_columns)
{
    size_t at = 0;
    size_t columns = 0;
    while (at < len) {
        size_t step = utf8_char(text + at, len - at);
        size_t wide = columns_of((const unsigned char *)text + at, step);
        if (wide > most - columns) {
            break;
        }
        columns += wide;
        at += step ? step : 1;
    }
    *ret_columns = columns;
    return at;
}

size_t term_columns(const char *text, size_t len)
{
    size_t columns = 0;
    measure(text, len, SIZE_MAX, &columns);
    return columns;
}

size_t term_prefix(const char *text, size_t len, size_t columns)
{
    size_t used = 0;
    return measure(text, len, columns, &used);
}
