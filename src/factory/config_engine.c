/*
 * config_engine.c - [engine]: what the environment says of a server, and the rules of a connection.
 *
 * Owns: when a connection may be made at all: plaintext to this host only, an API key only within
 * TLS, a certificate only with its key, files that are what they should be. Nothing here turns a
 * server's verification off: there is no key for that. A keyring is read for both kinds. Must not:
 * connect, or put what a variable or a key file holds into a message. Tests:
 * tests/unit/test_factory_config_engine.c
 */
#include <stdlib.h>
#include <string.h>

#include "base/digest.h"
#include "base/fs.h"
#include "base/keyring.h"
#include "base/mem.h"
#include "factory/config_rules.h"
#include "factory/config_value.h"

#define SECTION "engine"
#define PEM_BYTES_MAX (1024 * 1024)
#define NAME_BYTES_MAX 100 /* of namespaces, queues, identities: sandboxes' labels hold 256 */
#define TARGET_BYTES_MAX 140

/* --- the environment -----------------------------------------------------------------------------
 */

/* Blank is as good as not set. */
static void take(struct arena *arena, const char *variable, const char **target)
{
    const char *value = getenv(variable);
    size_t blanks = value ? strspn(value, " \t\r\n") : 0;
    size_t len = value ? strlen(value + blanks) : 0;
    while (len && strchr(" \t\r\n", value[blanks + len - 1])) {
        len--;
    }
    if (len) {
        *target = arena_strndup(arena, value + blanks, len);
    }
}

void config_take_engine(struct config *c)
{
    if (config_is_remote(c)) {
        take(c->arena, "TEMPORAL_HOST_PORT", &c->host_port);
        take(c->arena, "TEMPORAL_NAMESPACE", &c->name_space);
        take(c->arena, "TEMPORAL_TASK_QUEUE", &c->task_queue);
    }
}

/* --- the server's address ------------------------------------------------------------------------
 */

/* "HOST:PORT", "[ADDRESS]:PORT"; *ret_len is the length of the first part. */
static bool split_target(const char *target, size_t *ret_len)
{
    const char *colon = strrchr(target, ':');
    size_t len = colon ? (size_t)(colon - target) : 0;
    size_t digits = colon ? strspn(colon + 1, "0123456789") : 0;
    long port = digits && digits <= 5 && !colon[1 + digits] ? strtol(colon + 1, NULL, 10) : 0;
    bool bracketed = target[0] == '[' && len > 2 && target[len - 1] == ']';
    *ret_len = len;
    if (len == 0 || len > TARGET_BYTES_MAX || port < 1 || port > 65535 ||
        strpbrk(target, " \t/@")) {
        return false;
    }
    return bracketed || !memchr(target, ':', len);
}

static bool is_this_host(const char *target, size_t len)
{
    return (len == 9 && memcmp(target, "localhost", 9) == 0) ||
           (len == 5 && memcmp(target, "[::1]", 5) == 0) ||
           (strncmp(target, "127.", 4) == 0 && strspn(target, "0123456789.") == len);
}

bool config_target_is_here(const char *target)
{
    size_t len;
    return split_target(target, &len) && is_this_host(target, len);
}

static void check_target(struct config_problems *p, const struct config *c)
{
    size_t len;
    if (!split_target(c->host_port, &len)) {
        config_problem(p, 0, SECTION, "host_port",
                       "expected HOST:PORT, found: %.80s\n  write: host_port = 127.0.0.1:7233",
                       *c->host_port ? c->host_port : "nothing");
    } else if (!c->tls && !is_this_host(c->host_port, len)) {
        config_problem(p, 0, SECTION, "host_port",
                       "%.80s is another host: without TLS only this one may be spoken to\n"
                       "  write: tls = true",
                       c->host_port);
    }
}

static bool has_control(const char *text)
{
    for (; *text; text++) {
        if ((unsigned char)*text < ' ' || *text == 0x7f) {
            return true;
        }
    }
    return false;
}

static void check_name(struct config_problems *p, const char *key, const char *value,
                       const char *refused, const char *example)
{
    if (!*value || strlen(value) > NAME_BYTES_MAX || has_control(value) ||
        strpbrk(value, refused) || !utf8_valid(value, strlen(value))) {
        config_problem(p, 0, SECTION, key,
                       "expected a name of 1 to %d bytes without blanks%s, found: %.80s\n"
                       "  write: %s = %s",
                       NAME_BYTES_MAX,
                       strchr(refused, '@')    ? " or @"
                       : strchr(refused, '\'') ? " or quotes"
                                               : "",
                       *value ? value : "nothing", key, example);
    }
}

/* --- files ---------------------------------------------------------------------------------------
 */

/* Line breaks, and blanks at their ends, are not part of what a block holds. */
static void add_base64(struct str *out, const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (!strchr("\r\n \t", text[i])) {
            str_addc(out, text[i]);
        }
    }
}

/* The first block whose label ends with `what`: 0 good, 1 damaged, 2 there is none. */
static int look_for_block(const char *text, const char *what)
{
    static const char begin[] = "-----BEGIN ", dashes[] = "-----";
    for (const char *at = text; (at = strstr(at, begin));) {
        const char *label = at + strlen(begin);
        const char *label_end = strstr(label, dashes);
        if (!label_end) {
            return 1;
        }
        autofree char *name = mem_strndup(label, (size_t)(label_end - label));
        autofree char *end = mem_printf("-----END %s-----", name);
        const char *body = label_end + strlen(dashes);
        const char *body_end = strstr(body, end);
        if (!body_end || strchr(name, '\n')) {
            return 1;
        }
        if (str_ends(name, what) && !str_starts(name, "ENCRYPTED")) {
            autostr struct str packed = {0}, bytes = {0};
            add_base64(&packed, body, (size_t)(body_end - body));
            bool good = base64_decode(&bytes, str_c(&packed), packed.len) && bytes.len > 16 &&
                        bytes.ptr[0] == 0x30; /* an ASN.1 sequence, as all of these are */
            return good ? 0 : 1;
        }
        at = body_end;
    }
    return 2;
}

static void check_pem(struct config_problems *p, const char *key, const char *path,
                      const char *what)
{
    struct err err = {0};
    autostr struct str text = {0};
    if (!*path) {
        return;
    }
    if (fs_read_file(path, PEM_BYTES_MAX, &text, &err) < 0) {
        config_problem(p, 0, SECTION, key, "%s", err.text);
        return;
    }
    int found = look_for_block(str_c(&text), what);
    if (found == 1) {
        config_problem(p, 0, SECTION, key, "%s: its %s is damaged or needs a pass phrase", path,
                       what);
    } else if (found == 2) {
        config_problem(p, 0, SECTION, key, "%s has no PEM block \"%s\" that can be used", path,
                       what);
    }
}

/* --- what belongs together -----------------------------------------------------------------------
 */

static void check_needs_tls(struct config_problems *p, const struct config *c)
{
    const struct {
        const char *key, *value;
    } keys[] = {{"server_name", c->server_name},
                {"ca_file", c->ca_file},
                {"cert_file", c->cert_file},
                {"key_file", c->key_file},
                {"api_key_env", c->api_key_env}};
    for (size_t i = 0; i < ARRAY_LEN(keys) && !c->tls; i++) {
        if (*keys[i].value) {
            config_problem(p, 0, SECTION, keys[i].key, "needs TLS\n  write: tls = true");
        }
    }
}

static void check_api_key(struct config_problems *p, const struct config *c)
{
    const char *name = c->api_key_env;
    if (!*name) {
        return;
    }
    if (!config_env_name_is_good(name)) {
        config_problem(p, 0, SECTION, "api_key_env",
                       "expected the name of a variable; the key itself never stands here");
        return;
    }
    const char *value = getenv(name);
    if (!value || !*value) {
        config_problem(p, 0, SECTION, "api_key_env", "the variable %s is not set", name);
    }
}

/* Of both kinds. The keys are read and forgotten: what uses them reads them itself. */
static void check_keyring(struct config_problems *p, const struct config *c)
{
    struct err err = {0};
    autokeyring struct keyring *keyring = NULL;
    if (*c->payload_keyring && keyring_load(c->payload_keyring, &keyring, &err) < 0) {
        config_problem(p, 0, SECTION, "payload_keyring", "%s", err.text);
    }
}

void config_check_engine(struct config_problems *p, const struct config *c)
{
    check_keyring(p, c);
    if (!config_is_remote(c)) {
        return;
    }
    check_target(p, c);
    check_name(p, "namespace", c->name_space, " ", "default");
    check_name(p, "task_queue", c->task_queue, " '\"`\\", "factory");
    check_name(p, "identity_prefix", c->identity_prefix, " @", "factory-worker");
    check_needs_tls(p, c);
    if (!*c->cert_file != !*c->key_file) {
        const char *there = *c->cert_file ? "cert_file" : "key_file";
        config_problem(p, 0, SECTION, there,
                       "a certificate and its key come together: %s is needed",
                       *c->cert_file ? "key_file" : "cert_file");
    }
    check_pem(p, "ca_file", c->ca_file, "CERTIFICATE");
    check_pem(p, "cert_file", c->cert_file, "CERTIFICATE");
    check_pem(p, "key_file", c->key_file, "PRIVATE KEY");
    check_api_key(p, c);
}
