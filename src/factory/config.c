/*
 * config.c - see config.h. Owns defaults, loading and the rules that join several keys.
 * Every problem is collected; one error text lists them, a line each.
 * Tests: tests/unit/test_factory_config.c
 */
#include "factory/config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/mem.h"
#include "factory/config_keys.h"
#include "factory/config_value.h"
#include "factory/ini.h"

#define MINUTE_MS (60 * 1000LL)

static const char *const NO_LIST[] = {NULL};

struct loader {
    struct config *config;
    const char *name;
    struct str problems;
    const struct json *pinned; /* of a request, or NULL */
    struct harness_config *harnesses;
    struct profile_config *profiles;
    struct gate_config *gates;
    size_t harness_count, profile_count, gate_count;
    size_t harness_cap, profile_cap;
};

static void problem(struct loader *l, int line, const char *section, const char *key,
                    const char *fmt, ...) printf_like(5, 6);
static void problem(struct loader *l, int line, const char *section, const char *key,
                    const char *fmt, ...)
{
    va_list ap;
    if (l->problems.len) {
        str_addc(&l->problems, '\n');
    }
    str_addf(&l->problems, "%s:%d: [%s]%s%s", l->name, line, section, key ? " " : "",
             key ? key : "");
    str_add(&l->problems, ": ");
    va_start(ap, fmt);
    str_addv(&l->problems, fmt, ap);
    va_end(ap);
}

static void set_defaults(struct config *c)
{
    c->path = "";
    c->engine_kind = "sqlite";
    c->idle_exit_ms = 30 * 1000;
    c->data_dir = ".factory";
    c->min_free_mib = 256;
    c->reserve_mib = 16;
    c->agent_timeout_ms = 30 * MINUTE_MS;
    c->verification_timeout_ms = 15 * MINUTE_MS;
    c->total_timeout_ms = 90 * MINUTE_MS;
    c->sandbox_idle_timeout_ms = 60 * MINUTE_MS;
    c->worker_stop_timeout_ms = 30 * 1000;
    c->command_output_bytes = 4 << 20;
    c->artifact_bytes = 32 << 20;
    c->worker_concurrency = 4;
    c->processes = 4096;
    c->provider = "local";
    c->base_packages = c->allow_out = c->deny_out = c->binds = c->allowed = NO_LIST;
    c->setup_script = "";
    c->bwrap = "bwrap";
    c->ssh_key_file = c->ssh_user = c->http_user = c->http_password_env = c->netrc_file = "";
    c->fetch_timeout_ms = 10 * MINUTE_MS;
}

/* --- sections ------------------------------------------------------------------------------------ */

static bool name_is_good(const char *name)
{
    return name[0] != '.' && name[0] != '-' && strlen(name) <= CONFIG_NAME_BYTES_MAX;
}

static void begin_harness(struct loader *l, const struct ini_entry *e)
{
    char *name = arena_strdup(l->config->arena, e->section + strlen("harnesses."));
    for (char *c = name; *c; c++) {
        *c = *c >= 'A' && *c <= 'Z' ? (char)(*c - 'A' + 'a') : *c;
    }
    for (size_t i = 0; i < l->harness_count; i++) {
        if (str_eq(l->harnesses[i].name, name)) {
            problem(l, e->line, e->section, NULL, "agent names are not case-sensitive; declared "
                    "before in line %d", l->harnesses[i].line);
        }
    }
    if (!name_is_good(name) || strchr(name, '.')) {
        problem(l, e->line, e->section, NULL, "an agent's name is up to %d letters, digits, _ or -",
                CONFIG_NAME_BYTES_MAX);
    }
    mem_reserve(l->harnesses, &l->harness_cap, l->harness_count + 1);
    l->harnesses[l->harness_count++] = (struct harness_config){
        .name = name, .line = e->line, .type = "", .executable = "", .args = NO_LIST,
        .model_flag = "", .model = "", .prompt_mode = "stdin_file", .binary = "",
        .binary_sha256 = "", .packages = NO_LIST, .pass_env = NO_LIST, .provider_files = NO_LIST};
}

static struct profile_config *find_profile(struct loader *l, const char *name, size_t len)
{
    for (size_t i = 0; i < l->profile_count; i++) {
        if (strlen(l->profiles[i].name) == len && strncmp(l->profiles[i].name, name, len) == 0) {
            return &l->profiles[i];
        }
    }
    return NULL;
}

static struct profile_config *begin_profile(struct loader *l, const char *name, size_t len, int line)
{
    struct profile_config *found = find_profile(l, name, len);
    if (found) {
        return found;
    }
    mem_reserve(l->profiles, &l->profile_cap, l->profile_count + 1);
    l->profiles[l->profile_count] = (struct profile_config){
        .name = arena_strndup(l->config->arena, name, len), .line = line, .fresh_sandbox = true,
        .protected = NO_LIST};
    return &l->profiles[l->profile_count++];
}

static struct gate_config *begin_gate(struct loader *l, struct profile_config *profile,
                                      const char *id)
{
    struct gate_config *gates =
        arena_array_of(l->config->arena, struct gate_config, profile->gate_count + 1);
    if (profile->gate_count) {
        memcpy(gates, profile->gates, sizeof(*gates) * profile->gate_count);
    }
    gates[profile->gate_count] = (struct gate_config){.id = arena_strdup(l->config->arena, id),
                                                      .argv = NO_LIST, .mandatory = true,
                                                      .dir = "", .description = ""};
    profile->gates = gates;
    return &gates[profile->gate_count++];
}

/* What a section's keys write to. pattern is the table's section name. */
struct place {
    const char *pattern;
    void *base;
};

static bool known_section(const char *section)
{
    for (size_t i = 0; i < config_key_count; i++) {
        if (str_eq(config_keys[i].section, section)) {
            return true;
        }
    }
    return false;
}

static void unknown_section(struct loader *l, const struct ini_entry *e)
{
    static const char *const known[] = {"engine", "storage", "limits", "sandbox", "local",
                                        "repositories", "harnesses.NAME", "verification.NAME"};
    const char *near = str_nearest(e->section, known, ARRAY_LEN(known));
    problem(l, e->line, e->section, NULL, "unknown section%s%s%s", near ? "; did you mean [" : "",
            near ? near : "", near ? "]?" : "");
}

static struct place begin_section(struct loader *l, const struct ini_entry *e)
{
    const char *s = e->section;
    if (str_starts(s, "harnesses.") && s[10]) {
        begin_harness(l, e);
        return (struct place){"harnesses.*", &l->harnesses[l->harness_count - 1]};
    }
    if (str_starts(s, "verification.") && s[13]) {
        const char *profile = s + 13;
        const char *dot = strchr(profile, '.');
        size_t len = dot ? (size_t)(dot - profile) : strlen(profile);
        struct profile_config *p = begin_profile(l, profile, len, e->line);
        if (!dot) {
            return (struct place){"verification.*", p};
        }
        if (!name_is_good(dot + 1) || !dot[1]) {
            problem(l, e->line, s, NULL, "a gate's name is up to %d letters, digits, . _ or -",
                    CONFIG_NAME_BYTES_MAX);
        }
        return (struct place){"verification.*.*", begin_gate(l, p, dot + 1)};
    }
    if (!known_section(s)) {
        unknown_section(l, e);
        return (struct place){NULL, NULL};
    }
    return (struct place){s, l->config};
}

/* --- keys ---------------------------------------------------------------------------------------- */

static const struct config_key *find_key(const char *pattern, const char *key)
{
    for (size_t i = 0; i < config_key_count; i++) {
        if (str_eq(config_keys[i].section, pattern) && str_eq(config_keys[i].key, key)) {
            return &config_keys[i];
        }
    }
    return NULL;
}

static void unknown_key(struct loader *l, const struct ini_entry *e, const char *pattern)
{
    const char *known[64];
    size_t count = 0;
    for (size_t i = 0; i < config_key_count && count < ARRAY_LEN(known); i++) {
        if (str_eq(config_keys[i].section, pattern)) {
            known[count++] = config_keys[i].key;
        }
    }
    const char *near = str_nearest(e->key, known, count);
    problem(l, e->line, e->section, e->key, "unknown key%s%s%s", near ? "; did you mean " : "",
            near ? near : "", near ? "?" : "");
}

static void take_key(struct loader *l, const struct ini_entry *e, const struct place *place)
{
    struct err err;
    const struct config_key *key = find_key(place->pattern, e->key);
    const char *value = e->value;
    autostr struct str text = {0};
    if (!key && str_ends(e->key, "_file")) { /* setup_script_file: the text is in a file */
        autofree char *base = mem_strndup(e->key, strlen(e->key) - 5);
        key = find_key(place->pattern, base);
        key = key && key->type == CONFIG_TEXT ? key : NULL;
        if (key && !l->pinned && fs_read_file(value, INI_FILE_BYTES_MAX, &text, &err) < 0) {
            problem(l, e->line, e->section, e->key, "%s", err.text);
            return;
        }
        value = str_c(&text);
    }
    if (!key) {
        unknown_key(l, e, place->pattern);
        return;
    }
    void *target = (char *)place->base + key->offset;
    if (config_value_set(l->config->arena, key, value, target, &err) < 0) {
        problem(l, e->line, e->section, e->key, "%s", err.text);
    }
}

static void take_entries(struct loader *l, const struct ini_entry *first)
{
    struct place place = {NULL, NULL};
    for (const struct ini_entry *e = first; e; e = e->next) {
        if (!e->key) {
            place = begin_section(l, e);
        } else if (!*e->section) {
            problem(l, e->line, "", e->key, "a key before the first [section]");
        } else if (place.pattern) {
            take_key(l, e, &place);
        }
    }
}

/* --- rules that join keys ------------------------------------------------------------------------ */

static void check_placeholders(struct loader *l, const struct harness_config *h, const char *section)
{
    static const char *const whole[] = {"{{model_args}}", "{{model}}", "{{prompt_file}}",
                                        "{{repository_dir}}"};
    for (const char *const *arg = h->args; *arg; arg++) {
        bool is_whole = false;
        for (size_t i = 0; i < ARRAY_LEN(whole); i++) {
            is_whole = is_whole || str_eq(*arg, whole[i]);
        }
        if (strstr(*arg, "{{") && !is_whole) {
            problem(l, h->line, section, "args", "\"%s\": a placeholder must be a whole argument and "
                    "one of {{model_args}}, {{model}}, {{prompt_file}}, {{repository_dir}}", *arg);
        }
        if (is_whole && arg > h->args && str_eq(arg[-1], "-c")) {
            problem(l, h->line, section, "args", "\"%s\" behind -c would be read by a shell", *arg);
        }
    }
}

static void check_harness(struct loader *l, const struct harness_config *h)
{
    autofree char *section = mem_printf("harnesses.%s", h->name);
    if (!*h->type) {
        problem(l, h->line, section, "type", "is needed: generic");
    }
    if (!*h->executable) {
        problem(l, h->line, section, "executable", "is needed: the agent's program in the sandbox");
    }
    if (*h->binary_sha256 && !*h->binary) {
        problem(l, h->line, section, "binary_sha256", "has no meaning without binary");
    }
    if (*h->binary_sha256 && (strlen(h->binary_sha256) != 64 ||
                              strspn(h->binary_sha256, "0123456789abcdef") != 64)) {
        problem(l, h->line, section, "binary_sha256", "expected 64 lowercase hex digits");
    }
    if (h->timeout_ms > l->config->agent_timeout_ms) {
        problem(l, h->line, section, "timeout", "is longer than [limits] agent_timeout");
    }
    for (const char *const *name = h->pass_env; *name; name++) {
        if (!config_env_name_is_good(*name)) {
            problem(l, h->line, section, "pass_env", "\"%s\" is no variable name", *name);
        }
    }
    for (const char *const *pair = h->provider_files; *pair; pair += 2) {
        if (pair[0][0] != '/') {
            problem(l, h->line, section, "provider_files", "\"%s\" must be absolute", pair[0]);
        }
    }
    check_placeholders(l, h, section);
}

static void check_gate(struct loader *l, const struct profile_config *p, const struct gate_config *g)
{
    autofree char *section = mem_printf("verification.%s.%s", p->name, g->id);
    if (!g->argv[0] || !*g->argv[0]) {
        problem(l, p->line, section, "argv", "is needed: argv = [\"./test.sh\"]");
    }
    if (*g->dir && !fs_path_is_inside(g->dir)) {
        problem(l, p->line, section, "dir", "\"%s\" must stay inside the repository", g->dir);
    }
}

static void check_all(struct loader *l)
{
    struct config *c = l->config;
    if (c->agent_timeout_ms > c->total_timeout_ms) {
        problem(l, 0, "limits", "agent_timeout", "is longer than total_timeout");
    }
    for (size_t i = 0; i < l->harness_count; i++) {
        check_harness(l, &l->harnesses[i]);
    }
    for (size_t i = 0; i < l->profile_count; i++) {
        const struct profile_config *p = &l->profiles[i];
        autofree char *section = mem_printf("verification.%s", p->name);
        if (p->gate_count == 0) {
            problem(l, p->line, section, NULL, "has no gates; add a section [%s.NAME] with argv",
                    section);
        }
        for (size_t k = 0; k < p->gate_count; k++) {
            check_gate(l, p, &p->gates[k]);
        }
    }
}

/* --- loading -------------------------------------------------------------------------------------- */

/* Paths count from the configuration's own directory. */
static const char *absolute(struct arena *arena, const char *file, const char *path)
{
    autofree char *dir = fs_dirname(file);
    autofree char *real = NULL;
    if (path[0] == '/' || fs_realpath(dir, &real, NULL) < 0) {
        return arena_strdup(arena, path);
    }
    return arena_printf(arena, "%s/%s", real, path);
}

static void finish(struct loader *l)
{
    struct config *c = l->config;
    autostr struct str text = {0};
    struct json_out out = json_writer(&text, 0);
    const char *from_env = getenv("FACTORY_DATA_DIR");
    if (l->pinned) {
        c->setup_script = arena_strdup(c->arena, json_get_str(l->pinned, "setup_script"));
        c->data_dir = arena_strdup(c->arena, json_get_str(l->pinned, "data_dir"));
    } else if (from_env && *from_env) {
        c->data_dir = absolute(c->arena, ".", from_env);
    } else {
        c->data_dir = absolute(c->arena, *c->path ? c->path : "./-", c->data_dir);
    }
    c->harnesses = arena_dup(c->arena, l->harnesses, sizeof(*l->harnesses) * l->harness_count);
    c->harness_count = l->harness_count;
    c->profiles = arena_dup(c->arena, l->profiles, sizeof(*l->profiles) * l->profile_count);
    c->profile_count = l->profile_count;
    config_print(&out, c);
    sha256_hex(str_c(&text), text.len, c->digest);
}

static int parse(const char *name, const char *text, size_t len, const struct json *pinned,
                 struct config **ret, struct err *err)
{
    struct arena *arena = arena_new();
    struct config *config = arena_new_of(arena, struct config);
    struct loader l = {.config = config, .name = name, .pinned = pinned};
    struct ini_entry *first = NULL;
    config->arena = arena;
    set_defaults(config);
    config->path = arena_strdup(arena, name);
    config->text = arena_strndup(arena, text, len);
    int rc = ini_read(arena, name, text, len, &first, err);
    if (rc == 0) {
        take_entries(&l, first);
        check_all(&l);
        if (l.problems.len) {
            rc = err_set(err, ERR_PERMANENT, "BadConfig", "%s", str_c(&l.problems));
        }
    }
    if (rc == 0) {
        finish(&l);
        *ret = config;
    } else {
        arena_free(arena);
    }
    str_free(&l.problems);
    free(l.harnesses);
    free(l.profiles);
    return rc;
}

int config_parse(const char *name, const char *text, size_t len, struct config **ret,
                 struct err *err)
{
    return parse(name, text, len, NULL, ret, err);
}

int config_parse_pinned(const struct json *pinned, struct config **ret, struct err *err)
{
    const char *name = json_get_str(pinned, "name");
    const char *text = json_get_str(pinned, "text");
    if (!name || !text || !json_get_str(pinned, "setup_script") || !json_get_str(pinned, "data_dir")) {
        return err_set(err, ERR_PERMANENT, "BadConfig", "the run's pinned configuration is damaged");
    }
    return parse(name, text, strlen(text), pinned, ret, err);
}

int config_load(const char *path, struct config **ret, struct err *err)
{
    autostr struct str text = {0};
    const char *from_env = getenv("FACTORY_CONFIG");
    if (!path || !*path) {
        path = from_env && *from_env ? from_env : NULL;
    }
    if (!path && !fs_exists(CONFIG_FILE_NAME)) {
        return config_parse("", "", 0, ret, err);
    }
    path = path ? path : CONFIG_FILE_NAME;
    if (fs_read_file(path, INI_FILE_BYTES_MAX, &text, err) < 0) {
        return -1;
    }
    return config_parse(path, str_c(&text), text.len, ret, err);
}

struct config *config_free(struct config *config)
{
    if (config) {
        arena_free(config->arena);
    }
    return NULL;
}

/* --- asking ---------------------------------------------------------------------------------------- */

static void not_declared(struct err *err, const char *what, const char *name,
                         const char *const *names, size_t count)
{
    autostr struct str list = {0};
    for (size_t i = 0; i < count; i++) {
        str_addf(&list, "%s%s", i ? ", " : "", names[i]);
    }
    const char *near = str_nearest(name, names, count);
    err_set(err, ERR_PERMANENT, "NotDeclared", "no %s \"%s\" is declared; declared: %s.%s%s%s", what,
            name, count ? str_c(&list) : "none", near ? " Did you mean " : "", near ? near : "",
            near ? "?" : "");
}

static bool same_name(const char *a, const char *b)
{
    return strcasecmp(a, b) == 0;
}

const struct harness_config *config_harness(const struct config *config, const char *name,
                                            struct err *err)
{
    const char **names = arena_array_of(config->arena, const char *, config->harness_count + 1);
    for (size_t i = 0; i < config->harness_count; i++) {
        if (!name || !*name || same_name(config->harnesses[i].name, name)) {
            return &config->harnesses[i];
        }
        names[i] = config->harnesses[i].name;
    }
    not_declared(err, "agent", name && *name ? name : "(first)", names, config->harness_count);
    return NULL;
}

const struct profile_config *config_profile(const struct config *config, const char *name,
                                            struct err *err)
{
    const char **names = arena_array_of(config->arena, const char *, config->profile_count + 1);
    for (size_t i = 0; i < config->profile_count; i++) {
        if (!name || !*name || same_name(config->profiles[i].name, name)) {
            return &config->profiles[i];
        }
        names[i] = config->profiles[i].name;
    }
    not_declared(err, "verification profile", name && *name ? name : "(first)", names,
                 config->profile_count);
    return NULL;
}

char *config_database_path(const struct config *config)
{
    return fs_join(config->data_dir, "factory.db");
}

char *config_runs_dir(const struct config *config)
{
    return fs_join(config->data_dir, "runs");
}

char *config_sandboxes_dir(const struct config *config)
{
    return fs_join(config->data_dir, "sandboxes");
}

char *config_mirrors_dir(const struct config *config)
{
    return fs_join(config->data_dir, "mirrors");
}
