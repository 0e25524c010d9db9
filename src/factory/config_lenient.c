/*
 * config_lenient.c - where runs are when factory.ini does not validate.
 *
 * Owns: the lenient reading of single lines: [storage] data_dir, and how to reach the server when
 * [engine] says kind = temporal. What looks at runs or stops them needs nothing else of the
 * configuration, and must work while it is being repaired. Must not: take a server's runs for those
 * of a file: a connection that is not described well stays an error, when it is asked for.
 * Tests: tests/unit/test_factory_config_lenient.c
 */
#include <stdlib.h>
#include <string.h>

#include "base/fs.h"
#include "factory/config.h"
#include "factory/config_keys.h"
#include "factory/ini.h"

static const char *trimmed(struct arena *arena, const char *text, size_t len)
{
    while (len && (*text == ' ' || *text == '\t')) {
        text++;
        len--;
    }
    while (len && strchr(" \t\r", text[len - 1])) {
        len--;
    }
    return arena_strndup(arena, text, len);
}

/* The value of the first line of that key in that section, or NULL. */
static const char *find(struct arena *arena, const char *text, const char *section, const char *key)
{
    bool inside = false;
    while (*text) {
        size_t len = strcspn(text, "\n");
        const char *line = trimmed(arena, text, len);
        const char *eq = strchr(line, '=');
        if (line[0] == '[') {
            inside = str_eq(line, section);
        } else if (inside && eq && str_eq(trimmed(arena, line, (size_t)(eq - line)), key)) {
            return trimmed(arena, eq + 1, strlen(eq + 1));
        }
        text += len + (text[len] == '\n');
    }
    return NULL;
}

static void take_data_dir(struct arena *arena, const char *text, struct str *small)
{
    const char *dir = find(arena, text, "[storage]", "data_dir");
    if (dir && *dir) {
        str_addf(small, "[storage]\ndata_dir = %s\n", dir);
    }
}

static void take_keyring(struct arena *arena, const char *text, struct str *small)
{
    const char *file = find(arena, text, "[engine]", "payload_keyring");
    if (file && *file) {
        str_addf(small, "[engine]\npayload_keyring = %s\n", file);
    }
}

static void take_engine(struct arena *arena, const char *text, struct str *small)
{
    str_add(small, "[engine]\n");
    for (size_t i = 0; i < config_key_count; i++) {
        const char *key = config_keys[i].key;
        const char *value =
            str_eq(config_keys[i].section, "engine") ? find(arena, text, "[engine]", key) : NULL;
        if (value && *value && !str_eq(key, "idle_exit")) {
            str_addf(small, "%s = %s\n", key, value);
        }
    }
}

/* Of all that is wrong: the first about the server, with the line where it stands. */
static const char *what_is_in_the_way(const char *path, struct arena *arena)
{
    autostr struct str problems = {0};
    struct config *config = NULL;
    config_check(path, &config, &problems);
    config_free(config);
    for (const char *line = str_c(&problems); *line;) {
        size_t len = strcspn(line, "\n");
        const char *one = arena_strndup(arena, line, len);
        if (strstr(one, ": [engine] ")) {
            return one;
        }
        line += len + (line[len] == '\n');
    }
    return "[engine] does not say how the server is reached";
}

int config_load_lenient(const char *path, struct config **ret, struct err *problem)
{
    autostr struct str text = {0}, small = {0};
    autoarena struct arena *arena = arena_new();
    struct err err = {0};
    const char *from_env = getenv("FACTORY_CONFIG");
    const char *dir_from_env = getenv("FACTORY_DATA_DIR");
    if (config_load(path, ret, problem) == 0) {
        return 0;
    }
    const char *name = path && *path ? path : from_env && *from_env ? from_env : CONFIG_FILE_NAME;
    if (fs_read_file(name, INI_FILE_BYTES_MAX, &text, &err) < 0) {
        if (!dir_from_env || !*dir_from_env) {
            return -1;
        }
        name = ""; /* the variable says where the store is */
    }
    bool is_remote = str_eq(find(arena, str_c(&text), "[engine]", "kind"), "temporal");
    take_data_dir(arena, str_c(&text), &small);
    size_t len = small.len;
    if (is_remote) {
        take_engine(arena, str_c(&text), &small);
    } else {
        take_keyring(arena, str_c(&text), &small); /* one that is broken is left out below */
    }
    if (config_parse(name, str_c(&small), small.len, ret, &err) == 0) {
        return 1;
    }
    str_cut(&small, len);
    if (config_parse(name, str_c(&small), small.len, ret, &err) < 0) {
        return -1;
    }
    if (is_remote) {
        (*ret)->engine_kind = "temporal";
        (*ret)->engine_problem = what_is_in_the_way(path, (*ret)->arena);
    }
    return 1;
}
