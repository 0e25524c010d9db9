/*
 * live.h - lines on a terminal that are written again in place.
 *
 * Owns: how many rows the lines of last time take, also after the window was made narrower. Must
 * not: know what the lines say. Lines may hold colours; each is already cut to the width.
 */
#ifndef CLI_LIVE_H
#define CLI_LIVE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"

#define LIVE_LINES_MAX 24

struct live {
    size_t count;
    size_t columns[LIVE_LINES_MAX]; /* of each line shown */
};

/* May it be used on this descriptor? A terminal that can move its cursor and has `rows` rows. */
bool live_possible(int fd, size_t rows);
/* Append to out what replaces the lines of last time by the lines of text. width: the terminal's
 * now. */
void live_draw(struct live *live, struct str *out, const char *text, size_t width);
/* Append what takes them away. */
void live_clear(struct live *live, struct str *out, size_t width);
/* Columns of a line without its colours. */
size_t live_columns(const char *line, size_t len);

#endif
