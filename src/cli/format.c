/*
 * format.c - see format.h. Owns the units and the table's layout.
 * Tests: tests/unit/test_cli_format.c
 */
#include "cli/format.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/term.h"

#define ELLIPSIS "…"
#define DASH "—"
#define SHORT_ID_CHARS 12

void format_colour(struct str *out, bool on, enum colour colour, const char *text)
{
    static const char *const codes[] = {
        [COLOUR_NONE] = "",           [COLOUR_GREEN] = "\033[32m", [COLOUR_RED] = "\033[31m",
        [COLOUR_YELLOW] = "\033[33m", [COLOUR_DIM] = "\033[2m",    [COLOUR_BOLD] = "\033[1m",
    };
    bool coloured = on && colour != COLOUR_NONE;
    str_addf(out, "%s%s%s", coloured ? codes[colour] : "", text, coloured ? "\033[0m" : "");
}

/* Length of the escape sequence at text[0] == ESC: colours and cursor movement (CSI), titles (OSC).
 */
static size_t escape_len(const char *text, size_t len)
{
    size_t at = 2;
    if (len < 2 || (text[1] != '[' && text[1] != ']')) {
        return len < 2 ? 1 : 2;
    }
    if (text[1] == '[') {
        while (at < len && text[at] >= 0x20 && text[at] < 0x40) {
            at++;
        }
        return at < len ? at + 1 : at;
    }
    while (at < len && text[at] != '\a' && text[at] != '\033' && text[at] != '\n') {
        at++;
    }
    return at + (at < len && text[at] == '\033' && at + 1 < len && text[at + 1] == '\\') +
           (at < len && text[at] != '\n');
}

void format_clean(struct str *out, const char *text, size_t len)
{
    size_t at = 0;
    while (at < len) {
        if (text[at] == '\033') {
            at += escape_len(text + at, len - at);
            continue;
        }
        size_t bytes = utf8_char(text + at, len - at);
        unsigned char c = (unsigned char)text[at];
        if (bytes == 0) {
            str_addc(out, '?');
            at++;
            continue;
        }
        bool is_c1 = bytes == 2 && c == 0xC2 && (unsigned char)text[at + 1] < 0xA0;
        if (bytes == 1 && (c == '\t' || c == '\n' || c == '\r')) {
            str_addc(out, ' ');
        } else if ((bytes == 1 && (c < 0x20 || c == 0x7F)) || is_c1) {
            str_addc(out, '?');
        } else {
            str_addn(out, text + at, bytes);
        }
        at += bytes;
    }
}

void format_spaces(struct str *out, size_t count)
{
    while (count--) {
        str_addc(out, ' ');
    }
}

void format_cut(struct str *out, const char *text, size_t columns)
{
    size_t len = strlen(text);
    if (columns == 0) {
        return;
    }
    if (term_columns(text, len) <= columns) {
        str_add(out, text);
        return;
    }
    str_addn(out, text, term_prefix(text, len, columns - 1));
    str_add(out, ELLIPSIS);
}

void format_cut_middle(struct str *out, const char *text, size_t columns)
{
    size_t len = strlen(text), all = term_columns(text, len);
    if (all <= columns || columns < 5) {
        format_cut(out, text, columns);
        return;
    }
    size_t head = (columns - 1) / 2, tail = columns - 1 - head;
    size_t from = term_prefix(text, len, all - tail);
    while (term_columns(text + from, len - from) > tail) {
        size_t step = utf8_char(text + from, len - from);
        from += step ? step : 1;
    }
    str_addn(out, text, term_prefix(text, len, head));
    str_add(out, ELLIPSIS);
    str_add(out, text + from);
}

void format_pad(struct str *out, const char *text, size_t columns)
{
    size_t before = out->len;
    format_cut(out, text, columns);
    size_t used = term_columns(str_c(out) + before, out->len - before);
    format_spaces(out, used < columns ? columns - used : 0);
}

void format_wrap(struct str *out, const char *text, size_t indent, size_t columns)
{
    size_t room = columns > indent + 10 ? columns - indent : 10;
    for (;;) {
        size_t len = strlen(text);
        size_t take = term_prefix(text, len, room);
        if (take < len) {
            size_t blank = take;
            while (blank > 0 && text[blank] != ' ') {
                blank--;
            }
            take = blank > 0 ? blank : take;
        }
        take = take == 0 && len ? 1 : take;
        size_t shown = take;
        while (shown > 0 && text[shown - 1] == ' ') {
            shown--;
        }
        format_spaces(out, indent);
        str_addn(out, text, shown);
        str_addc(out, '\n');
        text += take;
        text += strspn(text, " ");
        if (!*text) {
            return;
        }
    }
}

void format_age(struct str *out, int64_t ns)
{
    static const struct {
        int64_t seconds;
        char unit;
    } units[] = {{86400, 'd'}, {3600, 'h'}, {60, 'm'}, {1, 's'}};
    int64_t seconds = ns > 0 ? ns / NS_PER_S : 0;
    for (size_t i = 0; i < ARRAY_LEN(units); i++) {
        if (seconds >= units[i].seconds || units[i].seconds == 1) {
            str_addf(out, "%lld%c", (long long)(seconds / units[i].seconds), units[i].unit);
            return;
        }
    }
}

void format_duration(struct str *out, int64_t ns)
{
    duration_format(out, ns > 0 ? ns : 0);
}

void format_bytes(struct str *out, int64_t bytes)
{
    static const char *const units[] = {"KiB", "MiB", "GiB", "TiB"};
    double value = (double)bytes / 1024;
    size_t unit = 0;
    if (bytes < 1024) {
        str_addf(out, "%lld B", (long long)bytes);
        return;
    }
    while (value >= 1024 && unit + 1 < ARRAY_LEN(units)) {
        value /= 1024;
        unit++;
    }
    str_addf(out, "%.1f %s", value, units[unit]);
}

void format_count(struct str *out, int64_t count, const char *noun)
{
    bool changes = count != 1 && str_ends(noun, "y");
    str_addf(out, "%lld %.*s%s", (long long)count, (int)(strlen(noun) - (changes ? 1 : 0)), noun,
             count == 1            ? ""
             : changes             ? "ies"
             : str_ends(noun, "x") ? "es"
                                   : "s");
}

void format_clock(struct str *out, int64_t wall_ns)
{
    struct time_parts t = time_split(wall_ns);
    str_addf(out, "%02d:%02d:%02d.%03d", t.hour, t.minute, t.second, t.ns / 1000000);
}

void format_short_id(struct str *out, const char *id)
{
    format_cut(out, id, SHORT_ID_CHARS + 1);
}

void format_repository(struct str *out, const char *repository)
{
    size_t len = strlen(repository);
    while (len > 1 && repository[len - 1] == '/') {
        len--;
    }
    size_t from = len;
    while (from > 0 && repository[from - 1] != '/' && repository[from - 1] != ':') {
        from--;
    }
    if (len - from > 4 && strncmp(repository + len - 4, ".git", 4) == 0) {
        len -= 4;
    }
    format_clean(out, repository + from, len - from);
}

/* --- tables ----------------------------------------------------------------------------------- */

void table_add(struct table *t, const char *const *cells)
{
    mem_reserve(t->cells, &t->cap, (t->rows + 1) * t->columns);
    for (size_t i = 0; i < t->columns; i++) {
        struct str cell = {0};
        const char *text = cells[i] && *cells[i] ? cells[i] : DASH;
        format_clean(&cell, text, strlen(text));
        t->cells[t->rows * t->columns + i] = str_take(&cell);
    }
    t->rows++;
}

static size_t total_width(const struct table *t, const size_t *widths)
{
    size_t sum = 2 * (t->columns - 1);
    for (size_t i = 0; i < t->columns; i++) {
        sum += widths[i];
    }
    return sum;
}

static void fit(const struct table *t, size_t *widths, size_t line)
{
    for (size_t i = 0; i < t->columns; i++) {
        widths[i] = term_columns(t->heads[i], strlen(t->heads[i]));
        for (size_t row = 0; row < t->rows; row++) {
            const char *cell = t->cells[row * t->columns + i];
            size_t width = term_columns(cell, strlen(cell));
            widths[i] = width > widths[i] ? width : widths[i];
        }
    }
    while (total_width(t, widths) > line) {
        size_t widest = t->columns;
        for (size_t i = 0; i < t->columns; i++) {
            if (t->least[i] && widths[i] > t->least[i] &&
                (widest == t->columns || widths[i] > widths[widest])) {
                widest = i;
            }
        }
        if (widest == t->columns) {
            return;
        }
        widths[widest]--;
    }
}

static void print_row(const struct table *t, struct str *out, const size_t *widths, size_t line,
                      const char *const *cells)
{
    autostr struct str row = {0}, cell = {0};
    for (size_t i = 0; i < t->columns; i++) {
        str_reset(&cell);
        if (t->middle[i]) {
            format_cut_middle(&cell, cells[i], widths[i]);
        } else {
            format_cut(&cell, cells[i], widths[i]);
        }
        str_add(&row, i ? "  " : "");
        if (i + 1 == t->columns) {
            str_add(&row, str_c(&cell));
        } else {
            format_pad(&row, str_c(&cell), widths[i]);
        }
    }
    while (row.len && row.ptr[row.len - 1] == ' ') {
        str_cut(&row, row.len - 1);
    }
    format_cut(out, str_c(&row), line);
}

void table_print(const struct table *t, struct str *out, size_t width, bool colour)
{
    size_t widths[TABLE_COLUMNS_MAX];
    autostr struct str head = {0};
    fit(t, widths, width);
    print_row(t, &head, widths, width, t->heads);
    format_colour(out, colour, COLOUR_DIM, str_c(&head));
    str_addc(out, '\n');
    for (size_t row = 0; row < t->rows; row++) {
        print_row(t, out, widths, width, (const char *const *)&t->cells[row * t->columns]);
        str_addc(out, '\n');
    }
}

void table_free(struct table *t)
{
    for (size_t i = 0; i < t->rows * t->columns; i++) {
        free(t->cells[i]);
    }
    free(t->cells);
    t->cells = NULL;
    t->rows = t->cap = 0;
}
