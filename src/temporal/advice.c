/*
 * advice.c - what to say when a call to the server fails.
 *
 * Owns: the table of causes. gRPC tells most of them apart by words alone; these are read here, for
 * people, and nowhere else.
 * Must not: show more of a text from outside than one line of 400 bytes.
 * Tests: tests/unit/test_temporal_rpc.c.
 */
#include "temporal/advice.h"

#include <string.h>
#include <strings.h>

#include "temporal/rpc.h"

#define SAID_MAX 400

struct cause {
    int code;         /* enum grpc_code */
    const char *said; /* part of the message; NULL: any */
    const char *what; /* NULL: the message itself */
    const char *check;
};

#define HEALTH "is the server up? (temporal operator cluster health)"
#define LOST "is the server up, and does it want TLS? (temporal operator cluster health)"

/* The first that fits. */
static const struct cause causes[] = {
    {CODE_UNAVAILABLE, "Connection refused", "connection refused", HEALTH},
    {CODE_UNAVAILABLE, "DNS resolution failed", "the host name was not found",
     "check the address and the network's name service"},
    {CODE_UNAVAILABLE, "Domain name not found", "the host name was not found",
     "check the address and the network's name service"},
    {CODE_UNAVAILABLE, "not in peer certificate", "the certificate is for another name",
     "check the address, or set the server name that the certificate shows"},
    {CODE_UNAVAILABLE, "certificate verify failed", "the certificate was not accepted",
     "check its dates and who signed it, and the CA file"},
    {CODE_UNAVAILABLE, "handshak", "the TLS handshake failed",
     "does the server speak TLS, and does it want a client's certificate?"},
    {CODE_UNAVAILABLE, "Endpoint read failed", "the connection was lost", LOST},
    {CODE_UNAVAILABLE, "Socket closed", "the connection was lost", LOST},
    {CODE_UNAVAILABLE, "Connection reset", "the connection was lost", LOST},
    {CODE_UNAVAILABLE, "keepalive", "the connection went dead", "check the network between"},
    {CODE_UNAVAILABLE, "No route to host", "no route to the host", "check the network"},
    {CODE_UNAVAILABLE, "Network is unreachable", "the network is unreachable", "check the network"},
    {CODE_UNAVAILABLE, "failed to connect", "no connection", HEALTH},
    {CODE_DEADLINE_EXCEEDED, NULL, "no answer in time",
     "is the server overloaded, or does something on the way swallow packets?"},
    {CODE_RESOURCE_EXHAUSTED, "received message larger than max", "the message is too large",
     "keep large data elsewhere and pass where it is"},
    {CODE_RESOURCE_EXHAUSTED, "message larger than max", "the message is too large",
     "keep large data elsewhere and pass where it is"},
    {CODE_RESOURCE_EXHAUSTED, NULL, NULL,
     "the server limits how often it may be asked; ask less often, or raise the namespace's limit"},
    {CODE_PERMISSION_DENIED, NULL, NULL, "may this identity use the namespace?"},
    {CODE_UNIMPLEMENTED, NULL, "the server does not know this call",
     "is this a Temporal frontend, and is its version recent enough?"},
    {CODE_UNAVAILABLE, NULL, NULL, HEALTH},
};

static bool says(const char *message, const char *part)
{
    return strcasestr(message, part) != NULL;
}

static void add_said(struct str *out, const char *message)
{
    if (!*message) {
        message = "refused without a reason";
    }
    size_t len = utf8_prefix(message, strlen(message), SAID_MAX);
    size_t start = out->len;
    str_addn(out, message, len);
    for (size_t i = start; i < out->len; i++) {
        if ((unsigned char)out->ptr[i] < ' ') {
            out->ptr[i] = ' ';
        }
    }
}

static bool add_special(struct str *out, const struct advice_case *c)
{
    if (c->detail == DETAIL_NAMESPACE_NOT_FOUND) {
        str_addf(out,
                 "the server has no namespace '%s'; check the name, or make it (temporal operator "
                 "namespace create -n %s)",
                 c->name_space, c->name_space);
        return true;
    }
    if (c->code == CODE_UNAUTHENTICATED) {
        add_said(out, c->message);
        if (c->api_key_env) {
            str_addf(out, "; is the API key in $%s current, and for this server?", c->api_key_env);
        } else {
            str_add(out, "; the server wants an API key or a client's certificate");
        }
        return true;
    }
    if (c->code == CODE_UNAVAILABLE && c->tls) {
        str_add(out, c->tls);
        return true;
    }
    return false;
}

void advice_add(struct str *out, const struct advice_case *given)
{
    struct advice_case c = *given;
    c.message = c.message ? c.message : "";
    if (add_special(out, &c)) {
        return;
    }
    for (size_t i = 0; i < ARRAY_LEN(causes); i++) {
        const struct cause *cause = &causes[i];
        if (cause->code == c.code && (!cause->said || says(c.message, cause->said))) {
            if (cause->what) {
                str_add(out, cause->what);
            } else {
                add_said(out, c.message);
            }
            str_addf(out, "; %s", cause->check);
            return;
        }
    }
    add_said(out, c.message);
}
