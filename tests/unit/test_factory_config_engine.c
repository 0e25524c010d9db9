/*
 * test_factory_config_engine.c - [engine] for a Temporal server: rules, files, the environment.
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/mem.h"
#include "factory/config.h"
#include "tests/lib/temp_path.h"

#define REMOTE "[engine]\nkind = temporal\n"
#define BYTES_24 "MBYwFDASMBAwDjAMMAowCDAGMAQwAgUA" /* base64 of an ASN.1 sequence, 24 bytes */
#define CERTIFICATE                                                                                \
    "# a comment\n-----BEGIN CERTIFICATE-----\n" BYTES_24 "\n-----END CERTIFICATE-----\n"
#define EC_KEY                                                                                     \
    "-----BEGIN EC PARAMETERS-----\nBggqhkjOPQMBBw==\n-----END EC PARAMETERS-----\n"               \
    "-----BEGIN EC PRIVATE KEY-----\r\n" BYTES_24 "\r\n-----END EC PRIVATE KEY-----\r\n"

static void no_environment(void)
{
    unsetenv("FACTORY_CONFIG");
    unsetenv("FACTORY_DATA_DIR");
    unsetenv("TEMPORAL_HOST_PORT");
    unsetenv("TEMPORAL_NAMESPACE");
    unsetenv("TEMPORAL_TASK_QUEUE");
}
TestSuite(config_engine, .init = no_environment);

static struct config *good(const char *text)
{
    struct config *config = NULL;
    struct err err = {0};
    cr_assert_eq(config_parse("f.ini", text, strlen(text), &config, &err), 0, "%s: %s", text,
                 err.text);
    return config;
}

static void accepted(const char *text)
{
    config_free(good(text));
}

static void refused(const char *text, const char *problem)
{
    struct config *config = NULL;
    struct err err = {0};
    cr_expect_lt(config_parse("f.ini", text, strlen(text), &config, &err), 0, "%s", text);
    cr_expect(strstr(err.text, problem), "%s\ngave: %s\nwanted: %s", text, err.text, problem);
}

Test(config_engine, defaults_are_this_host_without_tls)
{
    autoconfig struct config *c = good(REMOTE);
    cr_assert(config_is_remote(c));
    cr_assert_str_eq(c->host_port, "127.0.0.1:7233");
    cr_assert_str_eq(c->name_space, "default");
    cr_assert_str_eq(c->task_queue, "factory");
    cr_assert_str_eq(c->identity_prefix, "factory-worker");
    cr_assert_not(c->tls);
    autoconfig struct config *plain = good("");
    cr_assert_not(config_is_remote(plain));
}

Test(config_engine, plaintext_stays_on_this_host)
{
    static const char *const here[] = {"localhost:1", "127.0.0.1:7233", "127.9.8.7:65535",
                                       "[::1]:7233"};
    static const char *const elsewhere[] = {
        "temporal.example.org:7233",  "10.0.0.1:7233", "127.0.0.1.example.org:1", "[fe80::1]:7233",
        "localhost.example.org:7233", "0.0.0.0:7233",  "1271.0.0.1:7233"};
    for (size_t i = 0; i < sizeof(here) / sizeof(here[0]); i++) {
        autofree char *text = mem_printf(REMOTE "host_port = %s\n", here[i]);
        accepted(text);
    }
    for (size_t i = 0; i < sizeof(elsewhere) / sizeof(elsewhere[0]); i++) {
        autofree char *text = mem_printf(REMOTE "host_port = %s\n", elsewhere[i]);
        autofree char *within_tls = mem_printf("%stls = true\n", text);
        refused(text, "f.ini:3: [engine] host_port: ");
        refused(text, "is another host: without TLS only this one may be spoken to; write: tls");
        accepted(within_tls);
    }
}

Test(config_engine, an_address_is_host_and_port)
{
    static const char *const wrong[] = {
        "",        "localhost", "localhost:",   "localhost:x",       ":7233",         "h:0",
        "h:65536", "h:7233/",   "[::1]",        "::1:7233",          "http://h:7233", "a@h:7233",
        "h :7233", "h:000001",  "localhost:-1", "127.0.0.1:7233:80",
    };
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        autofree char *text = mem_printf(REMOTE "tls = true\nhost_port = %s\n", wrong[i]);
        refused(text, "f.ini:4: [engine] host_port: expected HOST:PORT, found: ");
    }
}

Test(config_engine, names)
{
    accepted(REMOTE "namespace = \xc3\xa9t\xc3\xa9/a.b\ntask_queue = site:7\n");
    refused(REMOTE "namespace =\n", "f.ini:3: [engine] namespace: expected a name");
    refused(REMOTE "task_queue = a b\n",
            "without blanks or quotes, found: a b; write: task_queue = factory");
    refused(REMOTE "task_queue = it's\n", "without blanks or quotes, found: it's");
    refused(REMOTE "identity_prefix = a@b\n", "without blanks or @, found: a@b");
    autofree char *long_one = mem_printf(REMOTE "task_queue = %0101d\n", 1);
    refused(long_one, "expected a name of 1 to 100 bytes");
}

Test(config_engine, what_needs_tls_and_what_comes_in_pairs)
{
    autofree char *cert = temp_path("cert.pem");
    autofree char *key = temp_path("key.pem");
    autofree char *dir = fs_dirname(cert);
    cr_assert_eq(fs_write_file(cert, CERTIFICATE, strlen(CERTIFICATE), 0600, NULL), 0);
    cr_assert_eq(fs_write_file(key, EC_KEY, strlen(EC_KEY), 0600, NULL), 0);
    autofree char *both = mem_printf(REMOTE "cert_file = %s\nkey_file = %s\n", cert, key);
    autofree char *both_tls = mem_printf("%stls = true\nca_file = %s\n", both, cert);
    autofree char *alone = mem_printf(REMOTE "tls = true\ncert_file = %s\n", cert);
    autofree char *key_alone = mem_printf(REMOTE "tls = true\nkey_file = %s\n", key);
    autofree char *swapped =
        mem_printf(REMOTE "tls = true\ncert_file = %s\nkey_file = %s\n", key, cert);
    refused(both, "f.ini:3: [engine] cert_file: needs TLS; write: tls = true");
    refused(both, "f.ini:4: [engine] key_file: needs TLS");
    refused(REMOTE "server_name = a\n", "f.ini:3: [engine] server_name: needs TLS");
    accepted(both_tls);
    refused(alone,
            "f.ini:4: [engine] cert_file: a certificate and its key come together: key_file");
    refused(key_alone, "f.ini:4: [engine] key_file: a certificate and its key come together: cert");
    refused(swapped, "has no PEM block \"CERTIFICATE\"");
    refused(swapped, "has no PEM block \"PRIVATE KEY\"");
    fs_remove_tree(dir, NULL);
}

Test(config_engine, certificates_must_be_certificates)
{
    static const struct {
        const char *text, *problem;
    } cases[] = {
        {"", "has no PEM block"},
        {"nonsense", "has no PEM block"},
        {"-----BEGIN CERTIFICATE-----", "is damaged"},
        {"-----BEGIN CERTIFICATE-----\n" BYTES_24 "\n", "is damaged"},
        {"-----BEGIN CERTIFICATE-----\n!!!!\n-----END CERTIFICATE-----\n", "is damaged"},
        {"-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n", "is damaged"},
        {"-----BEGIN CERTIFICATE-----\nQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFB\n"
         "-----END CERTIFICATE-----\n",
         "is damaged"}, /* base64, but no ASN.1 */
        {"-----BEGIN CERTIFICATE", "is damaged"},
    };
    autofree char *path = temp_path("ca.pem");
    autofree char *dir = fs_dirname(path);
    autofree char *text = mem_printf(REMOTE "tls = true\nca_file = %s\n", path);
    refused(text, "f.ini:4: [engine] ca_file: ");
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        cr_assert_eq(fs_write_file(path, cases[i].text, strlen(cases[i].text), 0600, NULL), 0);
        refused(text, cases[i].problem);
    }
    fs_remove_tree(dir, NULL);
}

Test(config_engine, a_key_with_a_pass_phrase_cannot_be_used)
{
    static const char encrypted[] = "-----BEGIN ENCRYPTED PRIVATE KEY-----\n" BYTES_24
                                    "\n-----END ENCRYPTED PRIVATE KEY-----\n";
    static const char old_form[] =
        "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\n" BYTES_24
        "\n-----END RSA PRIVATE KEY-----\n";
    autofree char *path = temp_path("key.pem");
    autofree char *dir = fs_dirname(path);
    autofree char *text =
        mem_printf(REMOTE "tls = true\ncert_file = %s\nkey_file = %s\n", path, path);
    cr_assert_eq(fs_write_file(path, encrypted, strlen(encrypted), 0600, NULL), 0);
    refused(text, "has no PEM block \"PRIVATE KEY\" that can be used");
    cr_assert_eq(fs_write_file(path, old_form, strlen(old_form), 0600, NULL), 0);
    refused(text, "PRIVATE KEY is damaged or needs a pass phrase");
    fs_remove_tree(dir, NULL);
}

Test(config_engine, an_api_key_comes_from_a_variable_and_within_tls)
{
    setenv("TEST_TEMPORAL_KEY", "planted-secret", 1);
    accepted(REMOTE "tls = true\napi_key_env = TEST_TEMPORAL_KEY\n");
    refused(REMOTE "api_key_env = TEST_TEMPORAL_KEY\n", "[engine] api_key_env: needs TLS");
    setenv("TEST_TEMPORAL_KEY", "", 1);
    refused(REMOTE "tls = true\napi_key_env = TEST_TEMPORAL_KEY\n",
            "f.ini:4: [engine] api_key_env: the variable TEST_TEMPORAL_KEY is not set");
    unsetenv("TEST_TEMPORAL_KEY");
    refused(REMOTE "tls = true\napi_key_env = TEST_TEMPORAL_KEY\n", "is not set");
    refused(REMOTE "tls = true\napi_key_env = eyJhbGciOi.J9\n",
            "expected the name of a variable; the key itself never stands here");
}

Test(config_engine, nothing_of_it_matters_for_a_file)
{
    accepted("[engine]\nkind = sqlite\nhost_port = nonsense\nca_file = nowhere.pem\n");
}

Test(config_engine, the_environment_wins)
{
    setenv("TEMPORAL_HOST_PORT", " localhost:9 \n", 1);
    setenv("TEMPORAL_NAMESPACE", "team", 1);
    setenv("TEMPORAL_TASK_QUEUE", "  ", 1);
    autoconfig struct config *c = good(REMOTE "host_port = nonsense\ntask_queue = mine\n");
    cr_assert_str_eq(c->host_port, "localhost:9");
    cr_assert_str_eq(c->name_space, "team");
    cr_assert_str_eq(c->task_queue, "mine", "blank is as good as not set");
    autoconfig struct config *file = good("");
    cr_assert_str_eq(file->host_port, "127.0.0.1:7233", "of no meaning for a file");
    setenv("TEMPORAL_HOST_PORT", "10.0.0.1:7233", 1);
    refused(REMOTE, "[engine] host_port: 10.0.0.1:7233 is another host");
    no_environment();
}

Test(config_engine, a_run_that_exists_is_not_asked_again)
{
    struct err err = {0};
    const struct json *pinned;
    autoarena struct arena *arena = arena_new();
    static const char text[] =
        "{\"name\":\"f.ini\",\"setup_script\":\"\",\"data_dir\":\"/d\",\"text\":\"[engine]\\n"
        "kind = temporal\\ntls = true\\nca_file = /nowhere.pem\\napi_key_env = NOT_SET_HERE\\n\"}";
    struct config *c = NULL;
    cr_assert_eq(json_parse(arena, text, strlen(text), &pinned, &err), 0);
    cr_assert_eq(config_parse_pinned(pinned, &c, &err), 0, "%s", err.text);
    cr_assert_str_eq(c->ca_file, "/nowhere.pem");
    config_free(c);
}

Test(config_engine, files_count_from_the_configuration)
{
    static const char text[] = REMOTE "tls = true\nca_file = ca.pem\n";
    autofree char *path = temp_path("factory.ini");
    autofree char *dir = fs_dirname(path);
    autofree char *ca = fs_join(dir, "ca.pem");
    autoconfig struct config *c = NULL;
    struct err err = {0};
    cr_assert_eq(fs_write_file(path, text, strlen(text), 0600, NULL), 0);
    cr_assert_eq(fs_write_file(ca, CERTIFICATE, strlen(CERTIFICATE), 0600, NULL), 0);
    cr_assert_eq(config_load(path, &c, &err), 0, "%s", err.text);
    cr_assert_str_eq(c->ca_file, ca);
    fs_remove_tree(dir, NULL);
}

Test(config_engine, a_keyring_is_read_for_both_kinds)
{
    static const char keys[] =
        "{\"active\":\"k1\",\"keys\":{\"k1\":\"AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=\"}}";
    autofree char *path = temp_path("keys.json");
    autofree char *sqlite = mem_printf("[engine]\npayload_keyring = %s\n", path);
    autofree char *remote = mem_printf(REMOTE "payload_keyring = %s\n", path);
    refused(sqlite, "f.ini:2: [engine] payload_keyring: ");
    cr_assert_eq(fs_write_file(path, keys, strlen(keys), 0600, NULL), 0);
    accepted(sqlite);
    accepted(remote);
    cr_assert_eq(fs_write_file(path, keys, strlen(keys), 0644, NULL), 0);
    refused(remote, "f.ini:3: [engine] payload_keyring: ");
    cr_assert_eq(fs_write_file(path, "{}", 2, 0600, NULL), 0);
    refused(sqlite, "[engine] payload_keyring: ");
}
