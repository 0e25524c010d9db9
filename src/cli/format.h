/*
 * format.h - text for people: padding, cutting, ages, sizes, tables, colour.
 *
 * Owns: how values look. Pure but for colour, which the caller asks the terminal about
 * (base/term.h). Invariants: what is cut is cut between characters and ends in U+2026; control
 * characters and invalid UTF-8 from outside never reach a terminal (format_clean); no line is wider
 * than asked.
 */
#ifndef CLI_FORMAT_H
#define CLI_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

enum colour { COLOUR_NONE, COLOUR_GREEN, COLOUR_RED, COLOUR_YELLOW, COLOUR_DIM, COLOUR_BOLD };
/* text in that colour; plain when on is false. */
void format_colour(struct str *out, bool on, enum colour colour, const char *text);

/* Append text without what a terminal would obey: escape sequences are left out, tabs and line ends
 * become blanks, other control characters and invalid UTF-8 '?'. */
void format_clean(struct str *out, const char *text, size_t len);
/* Append text, at most `columns` wide: cut with an ellipsis at the end when it is wider. */
void format_cut(struct str *out, const char *text, size_t columns);
/* The same, cutting in the middle: both ends of a path or an id stay. */
void format_cut_middle(struct str *out, const char *text, size_t columns);
/* format_cut, then blanks up to `columns`. */
void format_pad(struct str *out, const char *text, size_t columns);
void format_spaces(struct str *out, size_t count);
/* text over several lines of at most `columns`, broken at blanks; every line begins with indent
 * blanks. */
void format_wrap(struct str *out, const char *text, size_t indent, size_t columns);

/* "7s", "12m", "3h", "4d": one unit, for ages. Negative is "0s". */
void format_age(struct str *out, int64_t ns);
/* "12.4s", "2m 05s", "1h 02m". */
void format_duration(struct str *out, int64_t ns);
/* "812 B", "12.1 KiB", "3.0 MiB" */
void format_bytes(struct str *out, int64_t bytes);
/* "1 file", "3 files": count and noun, with an s when needed. */
void format_count(struct str *out, int64_t count, const char *noun);
/* "10:02:11.204", in UTC. */
void format_clock(struct str *out, int64_t wall_ns);
/* An id for tight places: "run-5f0c2a91…". Short ones stay. */
void format_short_id(struct str *out, const char *id);
/* "greeting" of "/home/ana/src/greeting/", "git@host:team/greeting.git", a URL. */
void format_repository(struct str *out, const char *repository);

/* A table: columns as wide as their widest cell, two blanks between; when that is wider than the
 * line, the columns that may shrink do, the widest first. Rows are cut, never wrapped. */
#define TABLE_COLUMNS_MAX 8
struct table {
    size_t columns;
    const char *heads[TABLE_COLUMNS_MAX];
    size_t least[TABLE_COLUMNS_MAX]; /* may be cut down to this to make room; 0: never */
    bool middle[TABLE_COLUMNS_MAX];  /* cut in its middle */
    char **cells;                    /* row by row */
    size_t rows, cap;
};
/* cells: columns of them, copied (cleaned); NULL or "" shows as an em dash. */
void table_add(struct table *table, const char *const *cells);
void table_print(const struct table *table, struct str *out, size_t width, bool colour);
void table_free(struct table *table);
#define autotable cleanup_with(table_free)

#endif
