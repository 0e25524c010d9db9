/*
 * test_factory_config_lenient.c - the data directory of a configuration that does not validate.
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "base/fs.h"
#include "base/mem.h"
#include "factory/factory.h"
#include "tests/lib/temp_path.h"

static char *file_with(const char *text)
{
    char *path = temp_path("factory.ini");
    cr_assert_eq(fs_write_file(path, text, strlen(text), 0600, NULL), 0);
    return path;
}

static void expect(const char *text, int rc, const char *below)
{
    autofree char *path = file_with(text);
    autofree char *dir = fs_dirname(path);
    autofree char *wanted = fs_join(dir, below);
    autoconfig struct config *config = NULL;
    struct err err = {0};
    unsetenv("FACTORY_DATA_DIR");
    cr_assert_eq(config_load_lenient(path, &config, &err), rc, "%s", err.text);
    cr_assert_str_eq(config->data_dir, wanted);
    cr_assert_eq(rc == 1, err.text[0] != 0, "what is wrong is told");
}

Test(factory_config_lenient, data_dir_is_found)
{
    expect("[storage]\ndata_dir = state\n", 0, "state");
    expect("[storage]\ndata_dir = state\n[storag]\nx = 1\n", 1, "state");
    expect("[harnesses.x]\ntype = nothing\n[storage]\n  data_dir   =\ta b \r\n", 1, "a b");
    expect("data_dir = outside\n[storage]\nmin_free = x\n", 1, ".factory");
    expect("[storage\ndata_dir = state\n", 1, ".factory");
    expect("[storage]\ndata_dir =\n]]", 1, ".factory");
    expect("\xff\xfe[storage]\n[storage]\ndata_dir = s", 1, "s");
}

Test(factory_config_lenient, environment_wins)
{
    autofree char *path = file_with("[storage]\ndata_dir = state\nnonsense\n");
    autoconfig struct config *config = NULL;
    struct err err = {0};
    setenv("FACTORY_DATA_DIR", "/var/lib/other", 1);
    cr_assert_eq(config_load_lenient(path, &config, &err), 1);
    cr_assert_str_eq(config->data_dir, "/var/lib/other");
    config = config_free(config);
    cr_assert_eq(config_load_lenient("/nonexistent/factory.ini", &config, &err), 1);
    cr_assert_str_eq(config->data_dir, "/var/lib/other");
    unsetenv("FACTORY_DATA_DIR");
}

Test(factory_config_lenient, a_named_file_must_be_there)
{
    struct config *config = NULL;
    struct err err = {0};
    unsetenv("FACTORY_DATA_DIR");
    cr_assert_eq(config_load_lenient("/nonexistent/factory.ini", &config, &err), -1);
    cr_assert_neq(err.text[0], 0);
    cr_assert_null(config);
}

/* In the form of the file: 0 or 1, and the kind and address that were found. */
static void expect_server(const char *text, int rc, const char *kind, const char *host_port)
{
    autofree char *path = file_with(text);
    autoconfig struct config *config = NULL;
    struct err err = {0};
    unsetenv("FACTORY_DATA_DIR");
    cr_assert_eq(config_load_lenient(path, &config, &err), rc, "%s: %s", text, err.text);
    cr_assert_str_eq(config->engine_kind, kind);
    cr_assert_str_eq(config->host_port, host_port);
}

Test(factory_config_lenient, the_server_is_found)
{
    expect_server("[engine]\nkind = temporal\nhost_port = [::1]:7000\n", 0, "temporal",
                  "[::1]:7000");
    expect_server("[engine]\nkind=temporal\n host_port = 127.0.0.1:7000\nidle_exit = soon\n", 1,
                  "temporal", "127.0.0.1:7000");
    expect_server("[engine]\nhost_port = nonsense\nkind = sqlite\n[limit]\n", 1, "sqlite",
                  "127.0.0.1:7233");
    expect_server("[nonsense]\n[engine]\nkind = temporal\nhost_port =\n", 1, "temporal",
                  "127.0.0.1:7233");
}

Test(factory_config_lenient, a_server_that_cannot_be_reached_is_not_a_file)
{
    autofree char *path = file_with("[limit]\n[engine]\nkind = temporal\n"
                                    "host_port = temporal.example.org:7233\n[limits]\nx = 1\n");
    struct config *config = NULL;
    struct err err = {0};
    cr_assert_eq(config_load_lenient(path, &config, &err), 1);
    cr_assert(config_is_remote(config));
    cr_assert(strstr(config->engine_problem,
                     ":4: [engine] host_port: temporal.example.org:7233 is another host"),
              "%s", config->engine_problem);
    dur_engine *engine = NULL;
    cr_assert_lt(factory_open_engine(config, true, 0, &engine, &err), 0);
    cr_assert_null(engine);
    cr_assert_str_eq(err.text, config->engine_problem);
    config_free(config);
}

Test(factory_config_lenient, a_keyring_is_kept_when_it_is_good)
{
    static const char keys[] =
        "{\"active\":\"k1\",\"keys\":{\"k1\":\"AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=\"}}";
    autofree char *path = file_with("[limit]\n[engine]\npayload_keyring = keys.json\n");
    autofree char *dir = fs_dirname(path);
    autofree char *file = fs_join(dir, "keys.json");
    autoconfig struct config *without = NULL, *with = NULL;
    struct err err = {0};
    cr_assert_eq(config_load_lenient(path, &without, &err), 1);
    cr_assert_str_empty(without->payload_keyring);
    cr_assert_eq(fs_write_file(file, keys, strlen(keys), 0600, NULL), 0);
    cr_assert_eq(config_load_lenient(path, &with, &err), 1);
    cr_assert_str_eq(with->payload_keyring, file);
}
