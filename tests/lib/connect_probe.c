/*
 * connect_probe.c - dur_connect() from the command line: TARGET [OPTION VALUE]... Prints the code
 * and the error.
 *
 * Owns: nothing. For tests that choose which module is found (LD_LIBRARY_PATH is read when a
 * program starts).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "durable.h"

static void set(dur_connect_options *o, const char *name, const char *value)
{
    const struct {
        const char *name;
        const char **to;
    } texts[] = {
        {"namespace", &o->name_space}, {"identity", &o->identity},
        {"prefix", &o->queue_prefix},  {"server-name", &o->server_name},
        {"ca", &o->ca_file},           {"cert", &o->cert_file},
        {"key", &o->key_file},         {"api-key-env", &o->api_key_env},
    };
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        if (strcmp(name, texts[i].name) == 0) {
            *texts[i].to = value;
        }
    }
    if (strcmp(name, "tls") == 0) {
        o->tls = value[0] == '1';
    } else if (strcmp(name, "lazy") == 0) {
        o->lazy = value[0] == '1';
    } else if (strcmp(name, "timeout") == 0) {
        o->connect_timeout_ms = strtoll(value, NULL, 10);
    }
}

int main(int argc, char **argv)
{
    dur_connect_options options = {0};
    dur_engine *engine;
    for (int i = 2; i + 1 < argc; i += 2) {
        set(&options, argv[i], argv[i + 1]);
    }
    int rc = dur_connect(&engine, argc > 1 ? argv[1] : NULL, &options);
    printf("%s: %s\n", dur_code_name(rc), dur_error(engine));
    dur_close(engine);
    return rc == DUR_OK ? 0 : 1;
}
