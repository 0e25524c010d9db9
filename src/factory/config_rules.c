/*
 * config_rules.c - see config_rules.h. Pure: text and numbers in, problems out.
 * Tests: tests/unit/test_factory_config.c
 */
#include "factory/config_rules.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/fs.h"
#include "base/mem.h"
#include "factory/config_value.h"
#include "repo/paths.h"
#include "repo/url.h"

#define ALNUM "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
#define BINDS_MAX 32

/* --- problems ------------------------------------------------------------------------------------
 */

static int line_of(const struct config_problems *p, const char *section, const char *key)
{
    int line = 0;
    for (const struct ini_entry *e = p->first; e; e = e->next) {
        if (strcasecmp(e->section, section) == 0) {
            if (key && e->key && str_eq(e->key, key)) {
                return e->line;
            }
            line = e->key ? line : e->line;
        }
    }
    return line;
}

void config_problem(struct config_problems *p, int line, const char *section, const char *key,
                    const char *fmt, ...)
{
    va_list ap;
    autostr struct str text = {0};
    line = line ? line : line_of(p, section, key);
    str_add(&text, *p->name ? p->name : "built-in configuration");
    if (line) {
        str_addf(&text, ":%d", line);
    }
    if (*section) {
        str_addf(&text, ": [%s]", section);
    }
    str_addf(&text, "%s%s: ", key ? (*section ? " " : ": ") : "", key ? key : "");
    va_start(ap, fmt);
    str_addv(&text, fmt, ap);
    va_end(ap);
    mem_reserve(p->items, &p->cap, p->count + 1);
    p->items[p->count++] =
        (struct config_problem){line, arena_strndup(p->arena, str_c(&text), text.len)};
}

/* Stable: by line, then as they were found. */
void config_problems_take(struct config_problems *p, struct str *out)
{
    for (size_t i = 1; i < p->count; i++) {
        struct config_problem item = p->items[i];
        size_t at = i;
        for (; at > 0 && p->items[at - 1].line > item.line; at--) {
            p->items[at] = p->items[at - 1];
        }
        p->items[at] = item;
    }
    for (size_t i = 0; i < p->count; i++) {
        if (i == 0 || !str_eq(p->items[i].text, p->items[i - 1].text)) {
            str_addf(out, "%s%s", out->len ? "\n" : "", p->items[i].text);
        }
    }
    free(p->items);
    p->items = NULL;
    p->count = p->cap = 0;
}

/* It is in the file, and its value was refused before. */
static bool is_refused(const struct config_problems *p, const char *section, const char *key)
{
    for (const struct ini_entry *e = p->first; e; e = e->next) {
        if (e->key && str_eq(e->key, key) && strcasecmp(e->section, section) == 0) {
            for (size_t i = 0; i < p->count; i++) {
                if (p->items[i].line == e->line) {
                    return true;
                }
            }
        }
    }
    return false;
}

bool config_name_is_good(const char *name)
{
    size_t len = strlen(name);
    return len > 0 && len <= CONFIG_NAME_BYTES_MAX && strchr(ALNUM "_", name[0]) &&
           strspn(name, ALNUM "._-") == len;
}

/* --- lists ---------------------------------------------------------------------------------------
 */

/* What apt and dpkg take as a package and never as an option. */
static bool package_is_good(const char *name)
{
    return *name && strchr(ALNUM, *name) && strspn(name, ALNUM "+._:~=-") == strlen(name);
}

static void check_packages(struct config_problems *p, const char *section, const char *key,
                           const char *const *names)
{
    for (; *names; names++) {
        if (!package_is_good(*names)) {
            config_problem(p, 0, section, key, "\"%s\" is no package name", *names);
        }
    }
}

/* An absolute path without "", "." or ".." between its slashes. */
static bool path_is_clean(const char *path)
{
    return path[0] == '/' && fs_path_is_inside(path + 1);
}

static bool is_below(const char *path, const char *top)
{
    size_t len = strlen(top);
    return strncmp(path, top, len) == 0 && (path[len] == '\0' || path[len] == '/');
}

static void check_binds(struct config_problems *p, const struct config *c)
{
    static const char *const taken[] = {"/workspace", "/proc", "/dev"};
    size_t count = 0;
    for (const char *const *pair = c->binds; *pair; pair += 2, count++) {
        if (!path_is_clean(pair[0]) || !path_is_clean(pair[1])) {
            config_problem(p, 0, "local", "binds", "\"%s\": \"%s\": both must be absolute paths",
                           pair[0], pair[1]);
        }
        for (size_t i = 0; i < ARRAY_LEN(taken); i++) {
            if (is_below(pair[0], taken[i])) {
                config_problem(p, 0, "local", "binds",
                               "\"%s\" lies in %s, which is the sandbox's own", pair[0], taken[i]);
            }
        }
    }
    if (count > BINDS_MAX) {
        config_problem(p, 0, "local", "binds", "%zu paths; at most %d", count, BINDS_MAX);
    }
}

/* --- agents --------------------------------------------------------------------------------------
 */

static const char *const placeholders[] = {"{{model_args}}", "{{model}}", "{{prompt_file}}",
                                           "{{repository_dir}}"};

static bool is_placeholder(const char *arg)
{
    for (size_t i = 0; i < ARRAY_LEN(placeholders); i++) {
        if (str_eq(arg, placeholders[i])) {
            return true;
        }
    }
    return false;
}

static bool is_shell(const char *program)
{
    static const char *const shells[] = {"sh", "bash", "dash", "ksh", "zsh"};
    for (size_t i = 0; i < ARRAY_LEN(shells); i++) {
        if (str_eq(fs_basename(program), shells[i])) {
            return true;
        }
    }
    return false;
}

/* "-c", "-lc", "-ec": the next word is read by the shell as a script. */
static bool is_script_option(const char *arg)
{
    size_t len = strlen(arg);
    return len >= 2 && arg[0] == '-' && arg[1] != '-' && arg[len - 1] == 'c';
}

/* "{{word}}" alone, or a placeholder we know within other text. */
static void check_argument(struct config_problems *p, const char *section, const char *arg)
{
    size_t len = strlen(arg);
    size_t word = str_starts(arg, "{{") ? strspn(arg + 2, ALNUM "_-") : 0;
    if (word && len == word + 4 && str_eq(arg + 2 + word, "}}")) {
        const char *near = str_nearest(arg, placeholders, ARRAY_LEN(placeholders));
        config_problem(p, 0, section, "args",
                       "\"%s\" is no placeholder; there are {{model_args}}, "
                       "{{model}}, {{prompt_file}} and {{repository_dir}}%s%s%s",
                       arg, near ? ". Did you mean " : "", near ? near : "", near ? "?" : "");
        return;
    }
    for (size_t i = 0; i < ARRAY_LEN(placeholders); i++) {
        if (strstr(arg, placeholders[i])) {
            config_problem(p, 0, section, "args", "\"%s\": a placeholder must be a whole argument",
                           arg);
            return;
        }
    }
}

static void check_args(struct config_problems *p, const struct harness_config *h,
                       const char *section)
{
    bool in_shell = is_shell(h->executable), in_script = false;
    for (const char *const *arg = h->args; *arg; arg++) {
        if (is_placeholder(*arg)) {
            if (in_script) {
                config_problem(p, 0, section, "args",
                               "\"%s\" would be read by a shell as its script", *arg);
            }
        } else {
            check_argument(p, section, *arg);
        }
        in_script = in_shell && is_script_option(*arg);
        in_shell = in_shell || is_shell(*arg);
    }
    if (in_script && str_eq(h->prompt_mode, "argv")) {
        config_problem(p, 0, section, "args",
                       "the task behind \"-c\" would be read by a shell as its "
                       "script");
    }
}

static void check_secrets(struct config_problems *p, const struct harness_config *h,
                          const char *section)
{
    for (const char *const *name = h->pass_env; *name; name++) {
        if (!config_env_name_is_good(*name)) {
            config_problem(p, 0, section, "pass_env", "\"%s\" is no variable name", *name);
        }
    }
    for (const char *const *pair = h->provider_files; *pair; pair += 2) {
        if (!path_is_clean(pair[0])) {
            config_problem(p, 0, section, "provider_files",
                           "\"%s\" must be an absolute path inside "
                           "the sandbox",
                           pair[0]);
        }
        if (!*pair[1]) {
            config_problem(p, 0, section, "provider_files", "\"%s\" has no host file", pair[0]);
        }
    }
}

static void check_digest(struct config_problems *p, const struct harness_config *h,
                         const char *section)
{
    size_t len = strlen(h->binary_sha256);
    if (len == 0) {
        return;
    }
    if (!*h->binary) {
        config_problem(p, 0, section, "binary_sha256", "has no meaning without binary");
    }
    if (len != 64 || strspn(h->binary_sha256, "0123456789abcdef") != 64) {
        config_problem(p, 0, section, "binary_sha256",
                       "expected 64 lowercase hex digits, found: %.80s", h->binary_sha256);
    }
}

static void check_harness(struct config_problems *p, const struct config *c,
                          const struct harness_config *h)
{
    autofree char *section = mem_printf("harnesses.%s", h->name);
    if (!config_name_is_good(h->name) || strchr(h->name, '.')) {
        config_problem(p, h->line, section, NULL,
                       "an agent's name is 1 to %d letters, digits, _ or -", CONFIG_NAME_BYTES_MAX);
    }
    if (!*h->type && !is_refused(p, section, "type")) {
        config_problem(p, 0, section, "type", "is needed\n  write: type = generic");
    }
    if (!*h->executable) {
        config_problem(p, 0, section, "executable",
                       "is needed: the agent's program in the sandbox\n"
                       "  write: executable = %s",
                       h->name);
    } else if (strstr(h->executable, "{{") || strpbrk(h->executable, " \t")) {
        config_problem(p, 0, section, "executable",
                       "expected one program, found: %.80s; its "
                       "arguments go into args",
                       h->executable);
    }
    if (h->timeout_ms > c->agent_timeout_ms) {
        config_problem(p, 0, section, "timeout", "is longer than [limits] agent_timeout");
    }
    check_digest(p, h, section);
    check_packages(p, section, "packages", h->packages);
    check_secrets(p, h, section);
    check_args(p, h, section);
}

/* --- gates ---------------------------------------------------------------------------------------
 */

static void check_gate(struct config_problems *p, const struct config *c,
                       const struct profile_config *profile, const struct gate_config *g)
{
    autofree char *section = mem_printf("verification.%s.%s", profile->name, g->id);
    if (!config_name_is_good(g->id)) {
        config_problem(p, 0, section, NULL, "a gate's name is 1 to %d letters, digits, . _ or -",
                       CONFIG_NAME_BYTES_MAX);
    }
    for (const struct gate_config *other = profile->gates; other < g; other++) {
        if (strcasecmp(other->id, g->id) == 0) { /* their logs would be one file on some disks */
            config_problem(p, 0, section, NULL, "another gate of this profile is called %s",
                           other->id);
        }
    }
    if (!g->argv[0] && !is_refused(p, section, "argv")) {
        config_problem(p, 0, section, "argv",
                       "is needed: the gate's program and its arguments\n"
                       "  write: argv = [\"./%s.sh\"]",
                       g->id);
    } else if (g->argv[0] && !*g->argv[0]) {
        config_problem(p, 0, section, "argv", "its first word, the program, is empty");
    }
    if (*g->dir && !fs_path_is_inside(g->dir)) {
        config_problem(p, 0, section, "dir",
                       "\"%s\" must be a path below the repository, without ..", g->dir);
    }
    if (g->timeout_ms > c->verification_timeout_ms) {
        config_problem(p, 0, section, "timeout", "is longer than [limits] verification_timeout");
    }
}

static void check_profile(struct config_problems *p, const struct config *c,
                          const struct profile_config *profile)
{
    autofree char *section = mem_printf("verification.%s", profile->name);
    if (!config_name_is_good(profile->name)) {
        config_problem(p, profile->line, section, NULL,
                       "a profile's name is 1 to %d letters, digits, "
                       "_ or -",
                       CONFIG_NAME_BYTES_MAX);
    }
    if (profile->gate_count == 0) {
        config_problem(p, profile->line, section, NULL,
                       "has no gates\n  write: [%s.build] and below it "
                       "argv = [\"./build.sh\"]",
                       section);
    }
    for (const char *const *pattern = profile->protected; *pattern; pattern++) {
        struct err err;
        if (paths_pattern_check(*pattern, &err) < 0) {
            config_problem(p, 0, section, "protected", "%s", err.text);
        }
    }
    for (size_t i = 0; i < profile->gate_count; i++) {
        check_gate(p, c, profile, &profile->gates[i]);
    }
}

/* --- fixed sections ------------------------------------------------------------------------------
 */

static void check_limits(struct config_problems *p, const struct config *c)
{
    if (c->agent_timeout_ms > c->total_timeout_ms) {
        config_problem(p, 0, "limits", "agent_timeout", "is longer than total_timeout");
    }
    if (c->verification_timeout_ms > c->total_timeout_ms) {
        config_problem(p, 0, "limits", "verification_timeout", "is longer than total_timeout");
    }
    if (c->memory_mib > 0 && c->memory_mib < 16) {
        config_problem(p, 0, "limits", "memory_mib", "no sandbox starts in less than 16 MiB");
    }
    if (c->processes > 0 && c->processes < 8) {
        config_problem(p, 0, "limits", "processes", "no sandbox starts with less than 8 processes");
    }
}

static void check_sandbox(struct config_problems *p, const struct config *c)
{
    check_packages(p, "sandbox", "base_packages", c->base_packages);
    if (c->allow_out[0]) {
        config_problem(p, 0, "sandbox", "allow_out",
                       "the local provider cannot enforce allow_out; "
                       "leave it out, or use a provider that can");
    }
    if (c->deny_out[0]) {
        config_problem(p, 0, "sandbox", "deny_out",
                       "the local provider cannot enforce deny_out; "
                       "leave it out, or use a provider that can");
    }
    if (c->allow_internet && !c->allow_host_network) {
        config_problem(p, 0, "sandbox", "allow_internet",
                       "the local provider may not open this host's "
                       "network\n  write: allow_host_network = true in [local], or "
                       "allow_internet = false");
    }
    if (!*c->bwrap) {
        config_problem(p, 0, "local", "bwrap", "is empty\n  write: bwrap = bwrap");
    }
    if (!*c->run_as || str_eq(c->run_as, "root")) {
        config_problem(p, 0, "local", "run_as",
                       "sandboxes must not run as root\n  write: run_as = "
                       "nobody");
    }
    check_binds(p, c);
}

static void check_repositories(struct config_problems *p, const struct config *c)
{
    struct err err = {0};
    for (const char *const *prefix = c->allowed; *prefix; prefix++) {
        if (!repo_url_covers(*prefix, *prefix)) { /* it cannot be read; check says why */
            repo_url_check(*prefix, &err);
            config_problem(p, 0, "repositories", "allowed", "%s", err.text);
        }
    }
    if (*c->http_password_env && !config_env_name_is_good(c->http_password_env)) {
        config_problem(p, 0, "repositories", "http_password_env",
                       "expected the name of a variable; the "
                       "password itself never stands here");
    }
}

void config_check_rules(struct config_problems *p, const struct config *config)
{
    if (!*config->data_dir) {
        config_problem(p, 0, "storage", "data_dir", "is empty\n  write: data_dir = .factory");
    }
    check_limits(p, config);
    check_sandbox(p, config);
    check_repositories(p, config);
    for (size_t i = 0; i < config->harness_count; i++) { /* a second of its name was refused */
        check_harness(p, config, &config->harnesses[i]);
    }
    for (size_t i = 0; i < config->profile_count; i++) {
        check_profile(p, config, &config->profiles[i]);
    }
}
