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
#include "factory/config_rules.h"
#include "factory/config_value.h"
#include "factory/ini.h"

#define MINUTE_MS (60 * 1000LL)

static const char *const NO_LIST[] = {NULL};

struct loader {
    struct config *config;
    struct config_problems problems;
    const struct json *pinned; /* of a request, or NULL */
    struct harness_config *harnesses;
    struct profile_config *profiles;
    struct gate_config *gates;
    size_t harness_count, profile_count, gate_count;
    size_t harness_cap, profile_cap;
};

static void set_defaults(struct config *c)
{
    c->path = "";
    c->engine_kind = "sqlite";
    c->idle_exit_ms = 30 * 1000;
    c->payload_keyring = "";
    c->host_port = "127.0.0.1:7233";
    c->name_space = "default";
    c->task_queue = "factory";
    c->identity_prefix = "factory-worker";
    c->server_name = c->ca_file = c->cert_file = c->key_file = c->api_key_env = "";
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
    c->run_as = "nobody";
    c->ssh_key_file = c->ssh_user = c->http_user = c->http_password_env = c->netrc_file = "";
    c->fetch_timeout_ms = 10 * MINUTE_MS;
}

/* --- sections ------------------------------------------------------------------------------------
 */

/* Names are compared without regard to letters' case, once: here. */
static const char *canonical(struct arena *arena, const char *text, size_t len)
{
    char *name = arena_strndup(arena, text, len);
    for (char *c = name; *c; c++) {
        *c = *c >= 'A' && *c <= 'Z' ? (char)(*c - 'A' + 'a') : *c;
    }
    return name;
}

static void begin_harness(struct loader *l, const struct ini_entry *e)
{
    const char *given = e->section + strlen("harnesses.");
    const char *name = canonical(l->config->arena, given, strlen(given));
    mem_reserve(l->harnesses, &l->harness_cap, l->harness_count + 1);
    l->harnesses[l->harness_count++] = (struct harness_config){.name = name,
                                                               .line = e->line,
                                                               .type = "",
                                                               .executable = "",
                                                               .args = NO_LIST,
                                                               .model_flag = "",
                                                               .model = "",
                                                               .prompt_mode = "stdin_file",
                                                               .binary = "",
                                                               .binary_sha256 = "",
                                                               .packages = NO_LIST,
                                                               .pass_env = NO_LIST,
                                                               .provider_files = NO_LIST};
}

static struct profile_config *begin_profile(struct loader *l, const char *given, size_t len,
                                            int line)
{
    const char *name = canonical(l->config->arena, given, len);
    for (size_t i = 0; i < l->profile_count; i++) {
        if (str_eq(l->profiles[i].name, name)) {
            return &l->profiles[i];
        }
    }
    mem_reserve(l->profiles, &l->profile_cap, l->profile_count + 1);
    l->profiles[l->profile_count] = (struct profile_config){
        .name = name, .line = line, .fresh_sandbox = true, .protected = NO_LIST};
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
                                                      .argv = NO_LIST,
                                                      .mandatory = true,
                                                      .dir = "",
                                                      .description = ""};
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
    static const char *const known[] = {"engine", "storage",      "limits",    "sandbox",
                                        "local",  "repositories", "harnesses", "verification"};
    const char *dot = strchr(e->section, '.');
    size_t len = dot ? (size_t)(dot - e->section) : strlen(e->section);
    const char *head = arena_strndup(l->config->arena, e->section, len);
    const char *near = str_nearest(head, known, ARRAY_LEN(known));
    const char *tail = dot ? dot : "";
    if (near && str_eq(near, head)) { /* [harnesses], or [limits.x] */
        bool named = str_eq(near, "harnesses") || str_eq(near, "verification");
        config_problem(&l->problems, e->line, e->section, NULL, "unknown section\n  write: [%s%s]",
                       near, named ? ".NAME" : "");
    } else if (near) {
        config_problem(&l->problems, e->line, e->section, NULL,
                       "unknown section; did you mean [%s%s]?", near, tail);
    } else {
        config_problem(&l->problems, e->line, e->section, NULL,
                       "unknown section; known: engine, storage, limits, sandbox, local, "
                       "repositories, harnesses.NAME, verification.NAME, verification.NAME.GATE");
    }
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
        return (struct place){"verification.*.*", begin_gate(l, p, dot + 1)};
    }
    if (!known_section(s)) {
        unknown_section(l, e);
        return (struct place){NULL, NULL};
    }
    return (struct place){s, l->config};
}

/* Paths count from the configuration's own directory. "" stays "". */
static const char *absolute(struct arena *arena, const char *file, const char *path)
{
    autofree char *dir = fs_dirname(*file ? file : "./-");
    autofree char *real = NULL;
    if (!*path || path[0] == '/') {
        return path;
    }
    if (dir[0] != '/' && fs_realpath(dir, &real, NULL) < 0) {
        return path;
    }
    return arena_printf(arena, "%s/%s", real ? real : dir, path);
}

/* --- keys ----------------------------------------------------------------------------------------
 */

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
    autostr struct str list = {0};
    for (size_t i = 0; i < count; i++) {
        str_addf(&list, "%s%s", i ? ", " : "", known[i]);
    }
    config_problem(&l->problems, e->line, e->section, e->key, "unknown key; %s%s%s",
                   near ? "did you mean " : "known: ", near ? near : str_c(&list), near ? "?" : "");
}

static void take_key(struct loader *l, const struct ini_entry *e, const struct place *place)
{
    struct err err;
    autostr struct str why = {0};
    const struct config_key *key = find_key(place->pattern, e->key);
    const char *value = e->value;
    autostr struct str text = {0};
    if (!key && str_ends(e->key, "_file")) { /* setup_script_file: the text is in a file */
        autofree char *base = mem_strndup(e->key, strlen(e->key) - 5);
        key = find_key(place->pattern, base);
        key = key && key->type == CONFIG_TEXT ? key : NULL;
        const char *path = absolute(l->config->arena, l->config->path, value ? value : "");
        if (key && !l->pinned && fs_read_file(path, INI_FILE_BYTES_MAX, &text, &err) < 0) {
            config_problem(&l->problems, e->line, e->section, e->key, "%s", err.text);
            return;
        }
        value = str_c(&text);
    }
    if (!key) {
        unknown_key(l, e, place->pattern);
    }
    if (!key || !value) { /* an unreadable value was reported */
        return;
    }
    void *target = (char *)place->base + key->offset;
    if (!config_value_set(l->config->arena, key, value, target, &why)) {
        config_problem(&l->problems, e->line, e->section, e->key, "%s", str_c(&why));
    }
}

static void take_entries(struct loader *l, const struct ini_entry *first)
{
    struct place place = {NULL, NULL};
    for (const struct ini_entry *e = first; e; e = e->next) {
        if (!e->key) {
            place = begin_section(l, e);
        } else if (!*e->section) {
            config_problem(&l->problems, e->line, "", e->key, "a key before the first [section]");
        } else if (place.pattern) {
            take_key(l, e, &place);
        }
    }
}

/* --- loading
 * -------------------------------------------------------------------------------------- */

static void make_absolute(struct loader *l)
{
    struct config *c = l->config;
    c->payload_keyring = absolute(c->arena, c->path, c->payload_keyring);
    c->ca_file = absolute(c->arena, c->path, c->ca_file);
    c->cert_file = absolute(c->arena, c->path, c->cert_file);
    c->key_file = absolute(c->arena, c->path, c->key_file);
    c->ssh_key_file = absolute(c->arena, c->path, c->ssh_key_file);
    c->netrc_file = absolute(c->arena, c->path, c->netrc_file);
    for (size_t i = 0; i < l->harness_count; i++) {
        struct harness_config *h = &l->harnesses[i];
        size_t count = 0;
        h->binary = absolute(c->arena, c->path, h->binary);
        while (h->provider_files[count]) {
            count++;
        }
        const char **pairs = arena_array_of(c->arena, const char *, count + 1);
        for (size_t k = 0; k < count; k++) {
            pairs[k] =
                k % 2 ? absolute(c->arena, c->path, h->provider_files[k]) : h->provider_files[k];
        }
        h->provider_files = pairs;
    }
}

/* What was collected becomes the configuration; its digest is taken when it is good. */
static void settle(struct loader *l)
{
    struct config *c = l->config;
    const char *from_env = getenv("FACTORY_DATA_DIR");
    make_absolute(l);
    if (l->pinned) {
        c->setup_script = arena_strdup(c->arena, json_get_str(l->pinned, "setup_script"));
        c->data_dir = arena_strdup(c->arena, json_get_str(l->pinned, "data_dir"));
    } else if (from_env && *from_env) {
        c->data_dir = absolute(c->arena, "", arena_strdup(c->arena, from_env));
    } else {
        c->data_dir = absolute(c->arena, c->path, c->data_dir);
    }
    c->harnesses = arena_dup(c->arena, l->harnesses, sizeof(*l->harnesses) * l->harness_count);
    c->harness_count = l->harness_count;
    c->profiles = arena_dup(c->arena, l->profiles, sizeof(*l->profiles) * l->profile_count);
    c->profile_count = l->profile_count;
}

static void take_digest(struct config *c)
{
    autostr struct str text = {0};
    struct json_out out = json_writer(&text, 0);
    config_print(&out, c);
    sha256_hex(str_c(&text), text.len, c->digest);
}

static void on_ini_problem(void *user, int line, const char *text)
{
    struct loader *l = user;
    config_problem(&l->problems, line, "", NULL, "%s", text);
}

/* path: what config->path becomes; name: for messages. */
static int parse(const char *path, const char *name, const char *text, size_t len,
                 const struct json *pinned, struct config **ret, struct str *problems)
{
    struct arena *arena = arena_new();
    struct config *config = arena_new_of(arena, struct config);
    struct loader l = {
        .config = config, .problems = {.name = name, .arena = arena}, .pinned = pinned};
    struct ini_entry *first = NULL;
    config->arena = arena;
    set_defaults(config);
    config->path = arena_strdup(arena, path);
    config->text = arena_strndup(arena, text, len);
    ini_read(arena, text, len, on_ini_problem, &l, &first);
    l.problems.first = first;
    take_entries(&l, first);
    settle(&l);
    config_check_rules(&l.problems, config);
    if (!pinned) { /* a run that exists is on its engine already */
        config_take_engine(config);
        config_check_engine(&l.problems, config);
    }
    int count = (int)l.problems.count;
    if (count == 0) {
        take_digest(config);
        *ret = config;
    } else {
        config_problems_take(&l.problems, problems);
        arena_free(arena);
    }
    free(l.harnesses);
    free(l.profiles);
    return count;
}

/* On one line, as many problems as an error value holds. */
static int report(struct err *err, const struct str *problems, int count)
{
    autostr struct str line = {0};
    for (const char *at = str_c(problems); count && *at; at++) {
        if (*at != '\n') {
            str_addc(&line, *at);
        } else if (at[1] == ' ') {
            str_add(&line, "; ");
            at += strspn(at + 1, " ");
        } else if (line.len > ERR_TEXT_BYTES / 2) {
            str_addf(&line, "; and more (%d problems)", count);
            break;
        } else {
            str_add(&line, "; ");
        }
    }
    return count ? err_set(err, ERR_PERMANENT, "BadConfig", "%s", str_c(&line)) : 0;
}

int config_parse(const char *name, const char *text, size_t len, struct config **ret,
                 struct err *err)
{
    autostr struct str problems = {0};
    int count = parse(name, name, text, len, NULL, ret, &problems);
    return report(err, &problems, count);
}

int config_parse_pinned(const struct json *pinned, struct config **ret, struct err *err)
{
    autostr struct str problems = {0};
    const char *name = json_get_str(pinned, "name");
    const char *text = json_get_str(pinned, "text");
    if (!name || !text || !json_get_str(pinned, "setup_script") ||
        !json_get_str(pinned, "data_dir")) {
        return err_set(err, ERR_PERMANENT, "BadConfig",
                       "the run's pinned configuration is damaged");
    }
    int count = parse(name, name, text, strlen(text), pinned, ret, &problems);
    return report(err, &problems, count);
}

const char *config_find(const char *path)
{
    const char *from_env = getenv("FACTORY_CONFIG");
    if (path && *path) {
        return path;
    }
    if (from_env && *from_env) {
        return from_env;
    }
    return fs_exists(CONFIG_FILE_NAME) ? CONFIG_FILE_NAME : NULL;
}

int config_check(const char *path, struct config **ret, struct str *problems)
{
    autostr struct str text = {0};
    autofree char *real = NULL;
    struct err err = {0};
    const char *found = config_find(path);
    if (!found) {
        return parse("", "", "", 0, NULL, ret, problems);
    }
    if (fs_read_file(found, INI_FILE_BYTES_MAX, &text, &err) < 0 ||
        fs_realpath(found, &real, &err) < 0) {
        str_addf(problems, "%s%s", err.text,
                 str_eq(err.name, "FileNotFound") ? "; factory init makes a " CONFIG_FILE_NAME
                                                  : "");
        return 1;
    }
    return parse(real, found, str_c(&text), text.len, NULL, ret, problems);
}

int config_load(const char *path, struct config **ret, struct err *err)
{
    autostr struct str problems = {0};
    int count = config_check(path, ret, &problems);
    return report(err, &problems, count);
}

struct config *config_free(struct config *config)
{
    if (config) {
        arena_free(config->arena);
    }
    return NULL;
}

/* --- asking
 * ---------------------------------------------------------------------------------------- */

static void not_declared(struct err *err, const char *what, const char *name,
                         const char *const *names, size_t count)
{
    autostr struct str list = {0};
    for (size_t i = 0; i < count; i++) {
        str_addf(&list, "%s%s", i ? ", " : "", names[i]);
    }
    const char *near = str_nearest(name, names, count);
    err_set(err, ERR_PERMANENT, "NotDeclared", "no %s \"%s\" is declared; declared: %s.%s%s%s",
            what, name, count ? str_c(&list) : "none", near ? " Did you mean " : "",
            near ? near : "", near ? "?" : "");
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

bool config_is_remote(const struct config *config)
{
    return str_eq(config->engine_kind, "temporal");
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
