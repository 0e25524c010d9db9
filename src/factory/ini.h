/*
 * ini.h - configuration files as a flat list of (section, key, value, line).
 *
 * Owns: the file's grammar. inih parses sections and keys, but never sees a value: our reader hands
 * it the skeleton `key=@N` and keeps raw value N aside, because inih cuts long lines and parses the
 * rest as new ones, cuts values at " ;" and joins indented lines to the value before
 * (docs/decisions/0008). Must not: know any section or key.
 *
 * Grammar:
 *   [section]            at most 200 bytes, nothing behind the bracket
 *   key = value          the value is everything behind the first '=', trimmed
 *   key = [ ... ]        JSON list or map: goes on over lines until its brackets balance
 *   key = <<END          here-document: the lines up to a line that is END, byte for byte
 *   # ... and ; ...      comments, only as whole lines
 * Every problem is reported with its line, and reading goes on behind it. Text outside all this,
 * NUL bytes, a key or section of unusual characters, keys given twice in a section and sections
 * given twice (letters' case aside) are problems; nothing is guessed.
 */
#ifndef FACTORY_INI_H
#define FACTORY_INI_H

#include "base/arena.h"

#define INI_FILE_BYTES_MAX (1024 * 1024)
#define INI_SECTION_BYTES_MAX 200
#define INI_KEY_BYTES_MAX 100

struct ini_entry {
    struct ini_entry *next;
    const char *section; /* "" before the first section */
    const char *key;     /* NULL: the section header itself */
    const char *value;   /* "" when nothing follows '='; NULL: it has a problem */
    int line;            /* of the key or header, from 1 */
};

/* All entries in file order; those that have a problem are left out. line 0: of the file as a
 * whole. Returns the number of problems. */
int ini_read(struct arena *arena, const char *text, size_t len,
             void (*problem)(void *user, int line, const char *text), void *user,
             struct ini_entry **ret_first);

#endif
