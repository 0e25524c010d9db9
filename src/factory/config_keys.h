/*
 * config_keys.h - the table of every section and key of factory.ini.
 *
 * Owns: key names, types, ranges, where each value goes and one line of help. Loading, printing,
 * documentation checks and the man page's key list all read this table; a new key is one row.
 * Must not: hold defaults (config.c does) or rules that join several keys.
 */
#ifndef FACTORY_CONFIG_KEYS_H
#define FACTORY_CONFIG_KEYS_H

#include <stddef.h>
#include <stdint.h>

enum config_type {
    CONFIG_STR,  /* one line */
    CONFIG_WORD, /* one of `words`, a '|'-separated list */
    CONFIG_BOOL, /* true, false */
    CONFIG_DUR,  /* 45m, 1h30m; stored as milliseconds */
    CONFIG_INT,  /* min..max */
    CONFIG_LIST, /* JSON list of strings */
    CONFIG_MAP,  /* JSON object of strings: stored as pairs */
    CONFIG_TEXT, /* here-document or one line; KEY_file reads it from a file */
};

/* Which struct a key's offset counts from. */
enum config_owner { OWNER_CONFIG, OWNER_HARNESS, OWNER_PROFILE, OWNER_GATE };

struct config_key {
    const char *section; /* "limits"; "harnesses.*", "verification.*", "verification.*.*" */
    const char *key;
    enum config_owner owner;
    enum config_type type;
    size_t offset;
    int64_t min, max;  /* INT; DUR in milliseconds */
    const char *words; /* WORD */
    const char *help;
};

extern const struct config_key config_keys[];
extern const size_t config_key_count;

#endif
