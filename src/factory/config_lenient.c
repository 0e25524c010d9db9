/*
 * config_lenient.c - where the store is when factory.ini does not validate.
 *
 * Owns: the lenient reading of one line, [storage] data_dir. What looks at runs or stops them needs
 * nothing else of the configuration, and must work while it is being repaired.
 * Tests: tests/unit/test_factory_config_lenient.c
 */
#include <stdlib.h>
#include <string.h>

#include "base/fs.h"
#include "factory/config.h"
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

/* The value of the first data_dir line in a [storage] section, or NULL. */
static const char *find_data_dir(struct arena *arena, const char *text)
{
    bool inside = false;
    while (*text) {
        size_t len = strcspn(text, "\n");
        const char *line = trimmed(arena, text, len);
        const char *eq = strchr(line, '=');
        if (line[0] == '[') {
            inside = str_eq(line, "[storage]");
        } else if (inside && eq && str_eq(trimmed(arena, line, (size_t)(eq - line)), "data_dir")) {
            return trimmed(arena, eq + 1, strlen(eq + 1));
        }
        text += len + (text[len] == '\n');
    }
    return NULL;
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
    const char *dir = find_data_dir(arena, str_c(&text));
    if (dir && *dir) {
        str_addf(&small, "[storage]\ndata_dir = %s\n", dir);
    }
    if (config_parse(name, str_c(&small), small.len, ret, &err) < 0) {
        return -1;
    }
    return 1;
}
