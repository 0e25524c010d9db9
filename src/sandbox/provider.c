/*
 * provider.c - what all providers share: the specification's checks and the plain data types.
 *
 * Owns: freeing handles and lists, capability names, sandbox_spec_check(). Must not: know any one
 * provider.
 * Tests: tests/unit/test_sandbox_spec.c
 */
#include "sandbox/provider.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/fs.h"
#include "base/mem.h"
#include "base/str.h"

static const char *const state_names[] = {
    [SANDBOX_CREATING] = "creating",
    [SANDBOX_RUNNING] = "running",
    [SANDBOX_PAUSED] = "paused",
    [SANDBOX_DEAD] = "dead",
};

static const char *const capability_names[] = {
    "suspend", "resume", "state", "update-network", "preview", "snapshot", "usage",
};

const char *sandbox_state_name(enum sandbox_state state)
{
    return (size_t)state < ARRAY_LEN(state_names) ? state_names[state] : "unknown";
}

const char *provider_capability_name(unsigned bit)
{
    for (size_t i = 0; i < ARRAY_LEN(capability_names); i++) {
        if (bit == 1u << i) {
            return capability_names[i];
        }
    }
    return NULL;
}

struct provider *provider_free(struct provider *provider)
{
    if (provider) {
        provider->ops->free(provider);
    }
    return NULL;
}

struct sandbox *sandbox_free(struct sandbox *sandbox)
{
    if (sandbox) {
        free(sandbox->id);
        free(sandbox->host_dir);
        envd_target_free(&sandbox->target);
        free(sandbox);
    }
    return NULL;
}

static void free_info(struct sandbox_info *info)
{
    for (size_t i = 0; i < info->label_count; i++) {
        free((void *)(uintptr_t)info->labels[i].key);
        free((void *)(uintptr_t)info->labels[i].value);
    }
    free(info->labels);
    free(info->id);
    free(info->template_name);
    free(info->ended);
}

void sandbox_list_free(struct sandbox_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        free_info(&list->items[i]);
    }
    free(list->items);
    *list = (struct sandbox_list){0};
}

const char *sandbox_info_label(const struct sandbox_info *info, const char *key)
{
    for (size_t i = 0; i < info->label_count; i++) {
        if (str_eq(info->labels[i].key, key)) {
            return info->labels[i].value;
        }
    }
    return NULL;
}

/* --- the specification's checks -------------------------------------------------------------- */

static int invalid(struct err *err, const char *field, const char *value, const char *why)
{
    return err_set(err, ERR_PERMANENT, "InvalidSpec", "sandbox specification: %s \"%.100s\": %s",
                   field, value ? value : "", why);
}

static bool key_is_good(const char *key)
{
    size_t len = key ? strlen(key) : 0;
    return len > 0 && len <= SANDBOX_LABEL_KEY_BYTES &&
           strspn(key, "abcdefghijklmnopqrstuvwxyz0123456789_.-") == len;
}

static bool is_printable(const char *text)
{
    for (const unsigned char *p = (const unsigned char *)text; *p; p++) {
        if (*p < 0x20 || *p == 0x7f) {
            return false;
        }
    }
    return utf8_valid(text, strlen(text));
}

static int check_labels(const struct sandbox_spec *spec, struct err *err)
{
    if (spec->label_count > SANDBOX_LABEL_MAX) {
        return err_set(err, ERR_PERMANENT, "InvalidSpec",
                       "sandbox specification: %zu labels, at most %d are kept", spec->label_count,
                       SANDBOX_LABEL_MAX);
    }
    for (size_t i = 0; i < spec->label_count; i++) {
        const struct sandbox_label *label = &spec->labels[i];
        if (!key_is_good(label->key)) {
            return invalid(err, "label key", label->key, "1 to 64 of a-z 0-9 _ . - are needed");
        }
        if (!label->value || strlen(label->value) > SANDBOX_LABEL_VALUE_BYTES ||
            !is_printable(label->value)) {
            return invalid(err, "value of label", label->key,
                           "up to 256 bytes of printable UTF-8 are needed");
        }
        for (size_t j = 0; j < i; j++) {
            if (str_eq(spec->labels[j].key, label->key)) {
                return invalid(err, "label key", label->key, "given twice");
            }
        }
    }
    return 0;
}

/* Names a value only by its variable: values may be secret. */
static int check_env(const char *const *env, struct err *err)
{
    for (size_t i = 0; env && env[i]; i++) {
        const char *eq = strchr(env[i], '=');
        size_t len = eq ? (size_t)(eq - env[i]) : 0;
        if (!eq) {
            return err_set(err, ERR_PERMANENT, "InvalidSpec",
                           "sandbox specification: environment entry %zu has no \"=\"", i + 1);
        }
        bool good = len > 0 && !isdigit((unsigned char)env[i][0]);
        for (size_t c = 0; good && c < len; c++) {
            good = isalnum((unsigned char)env[i][c]) || env[i][c] == '_';
        }
        if (!good) {
            return err_set(
                err, ERR_PERMANENT, "InvalidSpec",
                "sandbox specification: environment entry %zu: the name must be a letter "
                "or _ and then letters, digits or _",
                i + 1);
        }
    }
    return 0;
}

static bool path_is_clean(const char *path)
{
    return path && path[0] == '/' && path[1] && strlen(path) < 4096 && fs_path_is_inside(path + 1);
}

static bool is_at_or_below(const char *path, const char *top)
{
    size_t len = strlen(top);
    return strncmp(path, top, len) == 0 && (path[len] == '\0' || path[len] == '/');
}

static int check_binds(const struct sandbox_spec *spec, struct err *err)
{
    static const char *const kept[] = {"/workspace", "/proc", "/dev", "/tmp", "/sys"};

    for (size_t i = 0; i < spec->bind_count; i++) {
        const struct sandbox_bind *bind = &spec->binds[i];
        if (!path_is_clean(bind->source)) {
            return invalid(err, "bind source", bind->source, "an absolute, clean path is needed");
        }
        if (!path_is_clean(bind->target)) {
            return invalid(err, "bind target", bind->target, "an absolute, clean path is needed");
        }
        for (size_t k = 0; k < ARRAY_LEN(kept); k++) {
            if (is_at_or_below(bind->target, kept[k]) || is_at_or_below(kept[k], bind->target)) {
                return invalid(err, "bind target", bind->target, "that place is the sandbox's own");
            }
        }
    }
    return 0;
}

static int check_limit(struct err *err, const char *name, int64_t value, int64_t least)
{
    if (value != 0 && value < least) {
        return err_set(err, ERR_PERMANENT, "InvalidSpec",
                       "sandbox specification: limit %s is %lld, at least %lld is needed (0: none)",
                       name, (long long)value, (long long)least);
    }
    return 0;
}

int sandbox_spec_check(const struct sandbox_spec *spec, struct err *err)
{
    const struct sandbox_limits *limits = &spec->limits;

    if (check_labels(spec, err) || check_env(spec->env, err) || check_binds(spec, err) ||
        check_limit(err, "cpu_milli", limits->cpu_milli, 10) ||
        check_limit(err, "memory_bytes", limits->memory_bytes, 16 << 20) ||
        check_limit(err, "processes", limits->processes, 16) ||
        check_limit(err, "disk_bytes", limits->disk_bytes, 1 << 20) ||
        check_limit(err, "idle_timeout_ms", spec->idle_timeout_ms, 100) ||
        check_limit(err, "start_timeout_ms", spec->start_timeout_ms, 1)) {
        return -1;
    }
    return 0;
}
