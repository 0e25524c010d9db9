/*
 * config_print.c - a configuration as canonical JSON, and the list of its keys.
 * Owns: the form that runs pin and that the digest is taken of: keys in table order, one object a
 * section. Secrets are not in it because the configuration only names where they are.
 * Tests: tests/unit/test_factory_config.c
 */
#include "factory/config.h"
#include "factory/config_keys.h"

static void print_list(struct json_out *out, const char *const *items)
{
    json_begin_array(out);
    for (; *items; items++) {
        json_put_str(out, *items);
    }
    json_end_array(out);
}

static void print_map(struct json_out *out, const char *const *pairs)
{
    json_begin_object(out);
    for (; *pairs; pairs += 2) {
        json_kv_str(out, pairs[0], pairs[1]);
    }
    json_end_object(out);
}

static void print_value(struct json_out *out, const struct config_key *key, const void *at)
{
    switch (key->type) {
    case CONFIG_WORD:
        if (key->owner == OWNER_PROFILE) {
            json_put_str(out, *(const bool *)at ? "fresh" : "agent");
            break;
        }
        fall_through;
    case CONFIG_STR:
    case CONFIG_TEXT:
        json_put_str(out, *(const char *const *)at);
        break;
    case CONFIG_BOOL:
        json_put_bool(out, *(const bool *)at);
        break;
    case CONFIG_DUR:
    case CONFIG_INT:
        json_put_i64(out, *(const int64_t *)at);
        break;
    case CONFIG_LIST:
        print_list(out, *(const char *const *const *)at);
        break;
    case CONFIG_MAP:
        print_map(out, *(const char *const *const *)at);
        break;
    }
}

/* The keys of one owner (and, for the fixed sections, of one section). Durations get "_ms". */
static void print_keys(struct json_out *out, const char *section, const void *base)
{
    for (size_t i = 0; i < config_key_count; i++) {
        const struct config_key *key = &config_keys[i];
        if (!str_eq(key->section, section)) {
            continue;
        }
        if (key->type == CONFIG_DUR) {
            autostr struct str name = {0};
            str_addf(&name, "%s_ms", key->key);
            json_key(out, str_c(&name));
        } else {
            json_key(out, key->key);
        }
        print_value(out, key, (const char *)base + key->offset);
    }
}

static void print_profile(struct json_out *out, const struct profile_config *p)
{
    json_key(out, p->name);
    json_begin_object(out);
    print_keys(out, "verification.*", p);
    json_key(out, "gates");
    json_begin_array(out);
    for (size_t i = 0; i < p->gate_count; i++) {
        json_begin_object(out);
        json_kv_str(out, "id", p->gates[i].id);
        print_keys(out, "verification.*.*", &p->gates[i]);
        json_end_object(out);
    }
    json_end_array(out);
    json_end_object(out);
}

void config_print(struct json_out *out, const struct config *config)
{
    static const char *const fixed[] = {"engine",  "storage", "limits",
                                        "sandbox", "local",   "repositories"};
    json_begin_object(out);
    for (size_t i = 0; i < ARRAY_LEN(fixed); i++) {
        json_key(out, fixed[i]);
        json_begin_object(out);
        print_keys(out, fixed[i], config);
        json_end_object(out);
    }
    json_key(out, "harnesses");
    json_begin_object(out);
    for (size_t i = 0; i < config->harness_count; i++) {
        json_key(out, config->harnesses[i].name);
        json_begin_object(out);
        print_keys(out, "harnesses.*", &config->harnesses[i]);
        json_end_object(out);
    }
    json_end_object(out);
    json_key(out, "verification");
    json_begin_object(out);
    for (size_t i = 0; i < config->profile_count; i++) {
        print_profile(out, &config->profiles[i]);
    }
    json_end_object(out);
    json_end_object(out);
}

void config_list_keys(struct str *out)
{
    for (size_t i = 0; i < config_key_count; i++) {
        str_addf(out, "[%s] %s\n", config_keys[i].section, config_keys[i].key);
    }
}
