/*
 * config_value.c - see config_value.h. Owns nothing; pure functions over text.
 * Tests: tests/unit/test_factory_config.c
 */
#include "factory/config_value.h"

#include <string.h>

#include "base/clock.h"
#include "base/json.h"
#include "factory/config.h"

static int expected(struct err *err, const char *what, const char *found)
{
    return err_set(err, ERR_PERMANENT, "BadConfig", "expected %s, found: %.80s", what,
                   *found ? found : "nothing");
}

static int set_word(struct arena *arena, const struct config_key *key, const char *value,
                    void *target, struct err *err)
{
    const char *word = key->words;
    size_t len = strlen(value);
    while (word && *word) {
        size_t n = strcspn(word, "|");
        if (n == len && strncmp(word, value, n) == 0) {
            if (str_eq(key->section, "verification.*") && str_eq(key->key, "sandbox")) {
                *(bool *)target = word[n] == '\0';
            } else {
                *(const char **)target = arena_strndup(arena, value, len);
            }
            return 0;
        }
        word += n + (word[n] == '|');
    }
    return err_set(err, ERR_PERMANENT, "BadConfig", "expected one of %s, found: %.80s", key->words,
                   value);
}

static int set_bool(const char *value, bool *target, struct err *err)
{
    if (!str_eq(value, "true") && !str_eq(value, "false")) {
        return expected(err, "true or false", value);
    }
    *target = value[0] == 't';
    return 0;
}

static int out_of_range(struct err *err, const struct config_key *key, const char *value)
{
    return err_set(err, ERR_PERMANENT, "BadConfig", "%.40s is out of range, %lld to %lld%s", value,
                   (long long)key->min, (long long)key->max,
                   key->type == CONFIG_DUR ? " milliseconds" : "");
}

static int set_dur(const struct config_key *key, const char *value, int64_t *target, struct err *err)
{
    int64_t ns;
    if (!duration_parse(value, &ns)) {
        return expected(err, "a duration such as 45m, 1h30m or 20s", value);
    }
    if (ns / NS_PER_MS < key->min || ns / NS_PER_MS > key->max) {
        return out_of_range(err, key, value);
    }
    *target = ns / NS_PER_MS;
    return 0;
}

static int set_int(const struct config_key *key, const char *value, int64_t *target, struct err *err)
{
    int64_t number = 0;
    size_t digits = strspn(value, "0123456789");
    if (digits == 0 || value[digits] || digits > 18) {
        return expected(err, "a whole number", value);
    }
    for (const char *c = value; *c; c++) {
        number = number * 10 + (*c - '0');
    }
    if (number < key->min || number > key->max) {
        return out_of_range(err, key, value);
    }
    *target = number;
    return 0;
}

static int set_list(struct arena *arena, const char *value, const char *const **target,
                    struct err *err)
{
    const struct json *root;
    struct err why;
    if (json_parse(arena, value, strlen(value), &root, &why) < 0 || root->type != JSON_ARRAY) {
        err_set(err, ERR_PERMANENT, "BadConfig",
                "expected a JSON list of strings, found: %.80s\n  write: [\"one\", \"two\"]", value);
        return -1;
    }
    const char **items = arena_array_of(arena, const char *, root->count + 1);
    size_t count = 0;
    json_each(item, root) {
        if (!(items[count++] = json_str(item))) {
            return expected(err, "a JSON list of strings", value);
        }
    }
    *target = items;
    return 0;
}

static int set_map(struct arena *arena, const char *value, const char *const **target,
                   struct err *err)
{
    const struct json *root;
    struct err why;
    if (json_parse(arena, value, strlen(value), &root, &why) < 0 || root->type != JSON_OBJECT) {
        return expected(err, "a JSON object of strings such as {\"/inside\": \"/host\"}", value);
    }
    const char **items = arena_array_of(arena, const char *, 2 * root->count + 1);
    size_t count = 0;
    json_each(item, root) {
        items[count++] = arena_strndup(arena, item->key, item->key_len);
        if (!(items[count++] = json_str(item))) {
            return expected(err, "a JSON object of strings", value);
        }
    }
    *target = items;
    return 0;
}

int config_value_set(struct arena *arena, const struct config_key *key, const char *value,
                     void *target, struct err *err)
{
    switch (key->type) {
    case CONFIG_STR:
    case CONFIG_TEXT:
        *(const char **)target = arena_strdup(arena, value);
        return 0;
    case CONFIG_WORD:
        return set_word(arena, key, value, target, err);
    case CONFIG_BOOL:
        return set_bool(value, target, err);
    case CONFIG_DUR:
        return set_dur(key, value, target, err);
    case CONFIG_INT:
        return set_int(key, value, target, err);
    case CONFIG_LIST:
        return set_list(arena, value, target, err);
    case CONFIG_MAP:
        return set_map(arena, value, target, err);
    }
    return expected(err, "a value", value);
}

bool config_env_name_is_good(const char *name)
{
    static const char first[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_";
    static const char rest[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";
    return *name && strchr(first, *name) && strspn(name, rest) == strlen(name);
}
