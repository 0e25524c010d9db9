/*
 * connect.c - see connect.h. Variables: TEMPORAL_NAMESPACE, TEMPORAL_API_KEY,
 * TEMPORAL_TLS_SERVER_CA_CERT_PATH, TEMPORAL_TLS_CLIENT_CERT_PATH, TEMPORAL_TLS_CLIENT_KEY_PATH,
 * TEMPORAL_TLS_SERVER_NAME; any of the last five asks for TLS on this host, too.
 * Tests: tests/cli/t0717-server.sh
 */
#include "cli/connect.h"

#include <stdlib.h>

#include "cli/exitcode.h"

#define API_KEY "TEMPORAL_API_KEY"

static const char *variable(const char *name)
{
    const char *value = getenv(name);
    return value && *value ? value : NULL;
}

int connect_to(struct cli *cli, const char *address, const char *name_space, const char *keyring)
{
    dur_connect_options o = {
        .name_space = name_space ? name_space : variable("TEMPORAL_NAMESPACE"),
        .keyring_file = keyring,
        .server_name = variable("TEMPORAL_TLS_SERVER_NAME"),
        .ca_file = variable("TEMPORAL_TLS_SERVER_CA_CERT_PATH"),
        .cert_file = variable("TEMPORAL_TLS_CLIENT_CERT_PATH"),
        .key_file = variable("TEMPORAL_TLS_CLIENT_KEY_PATH"),
        .api_key_env = variable(API_KEY) ? API_KEY : NULL,
    };
    o.tls = o.server_name || o.ca_file || o.cert_file || o.key_file || o.api_key_env ||
            !config_target_is_here(address);
    if (config_target_is_here(address)) {
        o.connect_timeout_ms = 2000; /* it answers at once, or is not up */
    }
    int rc = dur_connect(&cli->engine, address, &o);
    int status = rc == DUR_OK          ? EXIT_OK
                 : rc == DUR_NOT_FOUND ? EXIT_NOT_FOUND
                 : rc == DUR_IO        ? EXIT_BUSY
                 : rc == DUR_INVALID   ? EXIT_USAGE
                                       : EXIT_ERROR;
    return rc == DUR_OK ? EXIT_OK : cli_error(status, "%s", dur_error(cli->engine));
}
