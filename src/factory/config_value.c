/*
 * config_value.c - see config_value.h. Owns nothing; pure functions over text.
 * Tests: tests/unit/test_factory_config.c
 */
#include "factory/config_value.h"

#include <string.h>

#include "base/clock.h"
#include "base/json.h"
#include "factory/config.h"

struct shown {
    char text[84];
};

/* The beginning of a value, on one line. */
static struct shown shown(const char *value)
{
    struct shown s = {0};
    size_t len = utf8_prefix(value, strlen(value), 80);
    for (size_t i = 0; i < len; i++) {
        s.text[i] = (unsigned char)value[i] < ' ' ? ' ' : value[i];
    }
    if (!*value) {
        str_copy(s.text, sizeof(s.text), "nothing");
    } else if (value[len]) {
        str_copy(s.text + len, sizeof(s.text) - len, "...");
    }
    return s;
}

static bool expected(struct str *why, const char *what, const char *found)
{
    str_addf(why, "expected %s, found: %s", what, shown(found).text);
    return false;
}

static bool set_word(struct arena *arena, const struct config_key *key, const char *value,
                     void *target, struct str *why)
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
            return true;
        }
        word += n + (word[n] == '|');
    }
    str_add(why, "expected ");
    for (word = key->words; *word; word++) {
        str_add(why, *word == '|' ? " or " : (char[]){*word, '\0'});
    }
    str_addf(why, ", found: %s", shown(value).text);
    return false;
}

static bool set_bool(const char *value, bool *target, struct str *why)
{
    if (!str_eq(value, "true") && !str_eq(value, "false")) {
        return expected(why, "true or false", value);
    }
    *target = value[0] == 't';
    return true;
}

static bool out_of_range(struct str *why, const struct config_key *key, const char *value)
{
    if (key->type == CONFIG_DUR) {
        str_addf(why, "%.40s is out of range, %lldms to %lldh", value, (long long)key->min,
                 (long long)key->max / (3600 * 1000));
    } else {
        str_addf(why, "%.40s is out of range, %lld to %lld", value, (long long)key->min,
                 (long long)key->max);
    }
    return false;
}

static bool set_dur(const struct config_key *key, const char *value, int64_t *target,
                    struct str *why)
{
    int64_t ns;
    if (!duration_parse(value, &ns)) {
        return expected(why, "a duration such as 45m, 1h30m or 20s", value);
    }
    if (ns / NS_PER_MS < key->min || ns / NS_PER_MS > key->max) {
        return out_of_range(why, key, value);
    }
    *target = ns / NS_PER_MS;
    return true;
}

static bool set_int(const struct config_key *key, const char *value, int64_t *target,
                    struct str *why)
{
    int64_t number = 0;
    size_t digits = strspn(value, "0123456789");
    if (digits == 0 || value[digits] || digits > 18) {
        return expected(why, "a whole number", value);
    }
    for (const char *c = value; *c; c++) {
        number = number * 10 + (*c - '0');
    }
    if (number < key->min || number > key->max) {
        return out_of_range(why, key, value);
    }
    *target = number;
    return true;
}

/* What was written without brackets, as it would be right: ./build.sh --fast */
static void suggest_list(struct str *out, const char *value)
{
    const char *gap = strchr(value, ',') ? ", \t" : " \t";
    size_t count = 0;
    str_add(out, "[");
    for (value += strspn(value, gap); *value && count < 8; count++) {
        size_t len = strcspn(value, gap);
        str_add(out, count ? ", " : "");
        json_quote(out, value, utf8_prefix(value, len, 40));
        value += len;
        value += strspn(value, gap);
    }
    str_add(out, *value ? ", ...]" : "]");
}

static bool bad_list(const struct config_key *key, const char *value, const char *fault,
                     struct str *why)
{
    str_addf(why, "expected a JSON list of strings, found: %s", shown(value).text);
    if (*value == '[' && *fault) {
        str_addf(why, "; %s", fault);
    }
    str_addf(why, "\n  write: %s = ", key->key);
    if (*value && !strchr("[{\"", value[0]) && !strchr(value, '\n')) {
        suggest_list(why, value);
    } else {
        str_add(why, "[\"one\", \"two\"]");
    }
    return false;
}

static bool set_list(struct arena *arena, const struct config_key *key, const char *value,
                     const char *const **target, struct str *why)
{
    const struct json *root;
    struct err err = {0};
    if (json_parse(arena, value, strlen(value), &root, &err) < 0 || root->type != JSON_ARRAY) {
        return bad_list(key, value, err.text, why);
    }
    const char **items = arena_array_of(arena, const char *, root->count + 1);
    size_t count = 0;
    json_each (item, root) {
        if (!(items[count++] = json_str(item))) {
            return bad_list(key, value, "not all of it are strings", why);
        }
    }
    *target = items;
    return true;
}

static bool bad_map(const struct config_key *key, const char *value, const char *fault,
                    struct str *why)
{
    str_addf(why, "expected a JSON object of strings, found: %s", shown(value).text);
    if (*value == '{' && *fault) {
        str_addf(why, "; %s", fault);
    }
    str_addf(why, "\n  write: %s = {\"/inside\": \"/host\"}", key->key);
    return false;
}

static bool set_map(struct arena *arena, const struct config_key *key, const char *value,
                    const char *const **target, struct str *why)
{
    const struct json *root;
    struct err err = {0};
    if (json_parse(arena, value, strlen(value), &root, &err) < 0 || root->type != JSON_OBJECT) {
        return bad_map(key, value, err.text, why);
    }
    const char **items = arena_array_of(arena, const char *, 2 * root->count + 1);
    size_t count = 0;
    json_each (item, root) {
        items[count++] = arena_strndup(arena, item->key, item->key_len);
        if (strlen(item->key) != item->key_len || !(items[count++] = json_str(item))) {
            return bad_map(key, value, "not all of it are strings", why);
        }
    }
    *target = items;
    return true;
}

bool config_value_set(struct arena *arena, const struct config_key *key, const char *value,
                      void *target, struct str *why)
{
    switch (key->type) {
    case CONFIG_STR:
    case CONFIG_TEXT:
        *(const char **)target = arena_strdup(arena, value);
        return true;
    case CONFIG_WORD:
        return set_word(arena, key, value, target, why);
    case CONFIG_BOOL:
        return set_bool(value, target, why);
    case CONFIG_DUR:
        return set_dur(key, value, target, why);
    case CONFIG_INT:
        return set_int(key, value, target, why);
    case CONFIG_LIST:
        return set_list(arena, key, value, target, why);
    case CONFIG_MAP:
        return set_map(arena, key, value, target, why);
    }
    return false;
}

bool config_env_name_is_good(const char *name)
{
    static const char first[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_";
    static const char rest[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";
    return *name && strchr(first, *name) && strspn(name, rest) == strlen(name);
}
