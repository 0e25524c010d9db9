/*
 * log.h - one line per event on standard error (or a file), for operators.
 *
 * Owns: levels, the line format ("2026-01-02T03:04:05.123Z info engine: started pid=1 db=..."), and
 * the last look at every line by the redaction hook. Must not: be used by pure rooms (history,
 * exec) or by code that returns its error to a caller. Thread-safe; one write(2) per line. Control
 * characters and invalid UTF-8 in a line are replaced; errno is kept.
 */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include "base/attr.h"
#include "base/str.h"

enum log_level { LOG_LEVEL_ERROR, LOG_LEVEL_WARN, LOG_LEVEL_INFO, LOG_LEVEL_DEBUG };

void log_set_level(enum log_level level); /* default WARN; lines above it cost one comparison */
enum log_level log_get_level(void);
void log_set_fd(int fd);                                /* default 2 */
void log_set_redactor(void (*scrub)(struct str *line)); /* called before each write */

void log_line(enum log_level level, const char *room, const char *fmt, ...) printf_like(3, 4);
#define log_error(room, ...) log_line(LOG_LEVEL_ERROR, room, __VA_ARGS__)
#define log_warn(room, ...) log_line(LOG_LEVEL_WARN, room, __VA_ARGS__)
#define log_info(room, ...) log_line(LOG_LEVEL_INFO, room, __VA_ARGS__)
#define log_debug(room, ...) log_line(LOG_LEVEL_DEBUG, room, __VA_ARGS__)

#endif
