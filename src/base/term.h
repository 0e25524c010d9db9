/*
 * term.h - what the terminal behind a descriptor can do.
 *
 * Owns: the three questions that output asks: is it a terminal, how wide, may it be coloured. Looks
 * each time, so a resized window counts at once. Thread-safe as long as nobody changes the
 * environment.
 */
#ifndef BASE_TERM_H
#define BASE_TERM_H

#include <stdbool.h>
#include <stddef.h>

#define TERM_WIDTH_DEFAULT 80 /* where nothing says otherwise */
#define TERM_WIDTH_MIN 40     /* narrower is treated as this wide */
#define TERM_WIDTH_MAX 1000

bool term_is_tty(int fd);
/* Columns: the terminal's own; else $COLUMNS; else TERM_WIDTH_DEFAULT. Within the two bounds. */
int term_width(int fd);
/* Colour: FACTORY_COLOR or CLICOLOR_FORCE set to anything but "0" forces it. Otherwise only on a
 * terminal, and neither with NO_COLOR set to anything nor with TERM unset or "dumb". */
bool term_colour(int fd);
/* May lines be rewritten in place (cursor movement)? A terminal whose TERM is set and not "dumb".
 */
bool term_rewrites(int fd);
/* Columns that a text takes when shown: combining marks 0, wide East Asian characters 2, control
 * characters and invalid bytes 1. */
size_t term_columns(const char *text, size_t len);
/* Length of the longest prefix that takes at most `columns`. */
size_t term_prefix(const char *text, size_t len, size_t columns);

#endif
