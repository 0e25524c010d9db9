/*
 * config_rules.h - problems of a configuration, and the rules that join several keys.
 *
 * Owns: the form of a problem ("FILE:LINE: [section] key: what is wrong", then perhaps "  write:
 * ...") and every rule that one key's type cannot express. Must not: look at the host (factory
 * doctor does that: a file that is missing today may be there tomorrow), but for what a connection
 * to a server stands on: files and variables of [engine].
 */
#ifndef FACTORY_CONFIG_RULES_H
#define FACTORY_CONFIG_RULES_H

#include "base/attr.h"
#include "base/str.h"
#include "factory/config.h"
#include "factory/ini.h"

struct config_problems {
    const char *name;              /* the file, for messages */
    const struct ini_entry *first; /* its entries: where a key stands */
    struct arena *arena;
    struct config_problem {
        int line;
        const char *text; /* one line or two */
    } * items;
    size_t count, cap;
};

/* line 0: where the key stands, else where its section does. */
void config_problem(struct config_problems *p, int line, const char *section, const char *key,
                    const char *fmt, ...) printf_like(5, 6);
/* The rules, all of them; the configuration is complete. */
void config_check_rules(struct config_problems *p, const struct config *config);
/* [engine]: of a server what the environment says wins; then the rules. */
void config_take_engine(struct config *config);
void config_check_engine(struct config_problems *p, const struct config *config);
/* What was found, in the order of lines, one after the other without a last newline; frees the
 * items. */
void config_problems_take(struct config_problems *p, struct str *out);
/* 1 to 64 letters, digits, '.', '_' or '-', not beginning with '.' or '-'. */
bool config_name_is_good(const char *name);

#endif
