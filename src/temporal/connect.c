/*
 * connect.c - from dur_connect_options to a server that answered, and what it says of itself.
 *
 * Owns: the checks of all options (whatever can be wrong is found here, not in a call much later),
 * the reading of certificates and of the API key, struct remote's life.
 * Must not: let plaintext go to another machine, or a key into a message. Nothing here can turn the
 * verification of certificates off.
 * Tests: tests/unit/test_temporal_connect.c, tests/temporal/t8100-transport.sh.
 */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/keyring.h"
#include "base/mem.h"
#include "temporal/list_pages.h"
#include "temporal/proto/service.pb-c.h"
#include "temporal/remote.h"
#include "temporal/rpc.h"
#include "temporal/tls.h"
#include "temporal/transport.h"

#define PEM_MAX (1 << 20)
#define NAMESPACE_MAX 1000
#define API_KEY_MAX (64 << 10)
#define CONNECT_DEFAULT_MS 10000

/* Texts that only opening needs. */
struct secrets {
    struct str ca, cert, key;
    const char *api_key; /* of the environment */
};

static void secrets_free(struct secrets *secrets)
{
    if (secrets->key.ptr) {
        explicit_bzero(secrets->key.ptr, secrets->key.cap);
    }
    str_free(&secrets->ca);
    str_free(&secrets->cert);
    str_free(&secrets->key);
}

static int invalid(struct err *err, const char *fmt, ...) printf_like(2, 3);
static int invalid(struct err *err, const char *fmt, ...)
{
    autostr struct str text = {0};
    va_list ap;
    va_start(ap, fmt);
    str_addv(&text, fmt, ap);
    va_end(ap);
    err_set(err, ERR_PERMANENT, "BadOption", "%s", str_c(&text));
    return DUR_INVALID;
}

/* --- checks --------------------------------------------------------------------------------- */

/* "host:port" or "[v6]:port"; *ret_host (heap) is without brackets. */
static int cut_target(const char *target, char **ret_host, struct err *err)
{
    const char *colon = strrchr(target, ':');
    const char *host = target;
    size_t len = colon ? (size_t)(colon - target) : 0;
    long port = 0;
    char *end = NULL;
    if (colon && colon[1] >= '0' && colon[1] <= '9') {
        port = strtol(colon + 1, &end, 10);
    }
    if (len >= 2 && host[0] == '[' && host[len - 1] == ']') {
        host++;
        len -= 2;
    } else if (memchr(host, ':', len)) {
        len = 0; /* an IPv6 address needs its brackets */
    }
    if (!end || *end || port < 1 || port > 65535 || !len || strcspn(host, "/ \t\r\n%?#@\\") < len) {
        return invalid(err,
                       "'%.200s' is no address of a server; write HOST:PORT, as in "
                       "127.0.0.1:7233",
                       target);
    }
    *ret_host = mem_strndup(host, len);
    return DUR_OK;
}

static bool is_loopback(const char *host)
{
    if (str_eq(host, "localhost") || str_eq(host, "::1")) {
        return true;
    }
    return str_starts(host, "127.") && strspn(host, "0123456789.") == strlen(host);
}

static bool is_header_text(const char *text)
{
    for (const char *at = text; *at; at++) {
        if (*at <= ' ' || *at > '~') {
            return false;
        }
    }
    return true;
}

static int check_tls(const char *target, const dur_connect_options *o, struct err *err)
{
    const char *needs = o->server_name                ? "server_name"
                        : o->ca_file                  ? "ca_file"
                        : o->cert_file || o->key_file ? "cert_file and key_file"
                        : o->api_key_env              ? "api_key_env"
                                                      : NULL;
    if (!o->tls && needs) {
        return invalid(err, "%s: %s needs TLS; set tls", target, needs);
    }
    if (!o->cert_file != !o->key_file) {
        return invalid(err, "%s: cert_file and key_file belong together; %s is missing", target,
                       o->cert_file ? "key_file" : "cert_file");
    }
    autofree char *host = NULL;
    int rc = cut_target(target, &host, err);
    if (!rc && !o->tls && !is_loopback(host)) {
        return invalid(err, "%s: plaintext is for this machine alone; set tls for other hosts",
                       target);
    }
    return rc;
}

static int read_pem(const char *target, const char *what, const char *path, struct str *ret,
                    struct err *err)
{
    struct err reason;
    if (!path) {
        return DUR_OK;
    }
    if (fs_read_file(path, PEM_MAX, ret, &reason) < 0) {
        return invalid(err, "%s: %s: %s", target, what, reason.text);
    }
    return DUR_OK;
}

static int read_api_key(const char *target, const dur_connect_options *o, struct secrets *ret,
                        struct err *err)
{
    if (!o->api_key_env) {
        return DUR_OK;
    }
    ret->api_key = getenv(o->api_key_env);
    if (!ret->api_key || !*ret->api_key) {
        return invalid(err, "%s: the API key is to be in $%s, which is %s", target, o->api_key_env,
                       ret->api_key ? "empty" : "not set");
    }
    if (strlen(ret->api_key) > API_KEY_MAX || !is_header_text(ret->api_key)) {
        return invalid(err,
                       "%s: $%s holds no API key: it has blanks, line ends or letters beyond "
                       "ASCII",
                       target, o->api_key_env);
    }
    return DUR_OK;
}

static int read_secrets(const char *target, const dur_connect_options *o, struct secrets *ret,
                        struct err *err)
{
    int rc = read_pem(target, "ca_file", o->ca_file, &ret->ca, err);
    rc = rc ? rc : read_pem(target, "cert_file", o->cert_file, &ret->cert, err);
    rc = rc ? rc : read_pem(target, "key_file", o->key_file, &ret->key, err);
    struct tls_pem pem = {.ca = ret->ca.ptr, .cert = ret->cert.ptr, .key = ret->key.ptr};
    pem.ca_file = o->ca_file;
    pem.cert_file = o->cert_file;
    pem.key_file = o->key_file;
    struct err reason;
    if (!rc && tls_check(&pem, &reason) < 0) {
        rc = invalid(err, "%s: %s", target, reason.text);
    }
    return rc ? rc : read_api_key(target, o, ret, err);
}

static int check_options(const struct remote_open *open, struct err *err)
{
    const dur_connect_options *o = open->options;
    const char *name_space = o->name_space ? o->name_space : "default";
    if (!*name_space || strlen(name_space) > NAMESPACE_MAX || !is_header_text(name_space)) {
        return invalid(err, "%s: '%.100s' can be no namespace: 1 to %d letters, no blanks",
                       open->target, name_space, NAMESPACE_MAX);
    }
    return check_tls(open->target, o, err);
}

/* --- the server's first answers ------------------------------------------------------------- */

static int ask_version(struct remote *remote, ProtobufCMessage **ret, struct err *err)
{
    Pb__GetSystemInfoRequest request;
    pb__get_system_info_request__init(&request);
    autorpcfailure struct rpc_failure failure = {0};
    int rc = rpc_send(remote, &(struct rpc){"GetSystemInfo", remote->connect_timeout_ms, RPC_CALL},
                      &request.base, &pb__get_system_info_response__descriptor, NULL, ret, &failure,
                      err);
    return rc && failure.code == CODE_UNIMPLEMENTED ? DUR_OK : rc; /* an old server */
}

static int ask_namespace(struct remote *remote, ProtobufCMessage **ret, struct err *err)
{
    Pb__DescribeNamespaceRequest request;
    pb__describe_namespace_request__init(&request);
    request.namespace_ = remote->name_space;
    return rpc_send(
        remote, &(struct rpc){"DescribeNamespace", remote->connect_timeout_ms, RPC_CALL},
        &request.base, &pb__describe_namespace_response__descriptor, NULL, ret, NULL, err);
}

static int greet(struct remote *remote, struct err *err)
{
    autopb ProtobufCMessage *version = NULL;
    autopb ProtobufCMessage *name_space = NULL;
    int rc = ask_version(remote, &version, err);
    return rc ? rc : ask_namespace(remote, &name_space, err);
}

/* --- life ----------------------------------------------------------------------------------- */

/* Takes the keyring over. */
static struct remote *remote_new(const struct remote_open *open, struct keyring **keyring)
{
    const dur_connect_options *o = open->options;
    struct remote *remote = mem_alloc(sizeof(*remote));
    remote->target = mem_strdup(open->target);
    remote->name_space = mem_strdup(o->name_space ? o->name_space : "default");
    remote->identity = mem_strdup(open->identity);
    remote->queue_prefix = mem_strdup(o->queue_prefix ? o->queue_prefix : "");
    remote->api_key_env = mem_strdup(o->api_key_env);
    remote->ca_file = mem_strdup(o->ca_file);
    remote->cert_file = mem_strdup(o->cert_file);
    remote->key_file = mem_strdup(o->key_file);
    remote->server_name = mem_strdup(o->server_name);
    remote->is_tls = o->tls;
    remote->connect_timeout_ms =
        o->connect_timeout_ms > 0 ? o->connect_timeout_ms : CONNECT_DEFAULT_MS;
    remote->options = *o;
    remote->log = open->log;
    remote->sealer = keyring_sealer(*keyring);
    remote->keyring = steal(keyring);
    remote->pages = list_pages_new();
    atomic_init(&remote->is_lost, false);
    atomic_init(&remote->limit_said_ns, 0);
    return remote;
}

void remote_interrupt(struct remote *remote)
{
    rpc_cancel(transport_closing(remote->transport));
}

void remote_close(struct remote *remote)
{
    if (!remote) {
        return;
    }
    transport_close(remote->transport);
    list_pages_free(remote->pages);
    keyring_free(remote->keyring);
    free(remote->target);
    free(remote->name_space);
    free(remote->identity);
    free(remote->queue_prefix);
    free(remote->api_key_env);
    free(remote->ca_file);
    free(remote->cert_file);
    free(remote->key_file);
    free(remote->server_name);
    free(remote);
}

static int make_transport(struct remote *remote, const struct secrets *secrets, struct err *err)
{
    struct transport_options options = {
        .target = remote->target,
        .name_space = remote->name_space,
        .server_name = remote->server_name,
        .ca = secrets->ca.ptr,
        .cert = secrets->cert.ptr,
        .key = secrets->key.ptr,
        .api_key = secrets->api_key,
        .is_tls = remote->is_tls,
    };
    return transport_open(&options, &remote->transport, err) < 0 ? DUR_INVALID : DUR_OK;
}

int remote_open(const struct remote_open *open, struct remote **ret, struct err *err)
{
    struct secrets secrets cleanup_with(secrets_free) = {0};
    int rc = check_options(open, err);
    rc = rc ? rc : read_secrets(open->target, open->options, &secrets, err);
    if (rc) {
        return rc;
    }
    autokeyring struct keyring *keyring = NULL;
    if (open->options->keyring_file &&
        keyring_load(open->options->keyring_file, &keyring, err) < 0) {
        err_wrap(err, "%s", open->target);
        return DUR_INVALID;
    }
    struct remote *remote = remote_new(open, &keyring);
    rc = make_transport(remote, &secrets, err);
    if (!rc && !open->options->lazy) {
        rc = greet(remote, err);
    }
    if (rc) {
        remote_close(remote);
        return rc;
    }
    *ret = remote;
    return DUR_OK;
}

void remote_say(struct remote *remote, int level, const char *fmt, ...)
{
    autostr struct str line = {0};
    va_list ap;
    va_start(ap, fmt);
    str_addv(&line, fmt, ap);
    va_end(ap);
    if (remote->log.line) {
        remote->log.line(remote->log.user, level, str_c(&line));
    }
}

/* --- task queues ---------------------------------------------------------------------------- */

void remote_queue_name(const struct remote *remote, struct str *out, const char *task_queue)
{
    str_add(out, remote->queue_prefix);
    str_add(out, task_queue);
}

const char *remote_queue_shown(const struct remote *remote, const char *name)
{
    return str_starts(name, remote->queue_prefix) ? name + strlen(remote->queue_prefix) : name;
}

/* --- what the server says of itself --------------------------------------------------------- */

static int64_t duration_ms(const Pb__Duration *duration)
{
    return duration ? duration->seconds * 1000 + duration->nanos / 1000000 : 0;
}

int remote_look(struct remote *remote, struct arena *arena, struct remote_info *ret,
                struct err *err)
{
    static const char *const states[] = {"unknown", "Registered", "Deprecated", "Deleted"};
    autopb ProtobufCMessage *system = NULL;
    autopb ProtobufCMessage *described = NULL;
    int rc = ask_version(remote, &system, err);
    rc = rc ? rc : ask_namespace(remote, &described, err);
    if (rc) {
        return rc;
    }
    const Pb__GetSystemInfoResponse *version = (const void *)system;
    const Pb__DescribeNamespaceResponse *about = (const void *)described;
    int32_t state = about->namespace_info ? about->namespace_info->state : 0;
    *ret = (struct remote_info){
        .server_version = arena_strdup(arena, version ? version->server_version : ""),
        .name_space = arena_strdup(arena, remote->name_space),
        .namespace_state = states[state >= 0 && state < (int)ARRAY_LEN(states) ? state : 0],
        .retention_ms =
            about->config ? duration_ms(about->config->workflow_execution_retention_ttl) : 0,
        .is_encrypted = remote->is_tls,
    };
    return DUR_OK;
}

int remote_who_polls(struct remote *remote, struct arena *arena, const char *task_queue,
                     struct remote_pollers *ret, struct err *err)
{
    autostr struct str name = {0};
    remote_queue_name(remote, &name, task_queue);
    Pb__TaskQueue queue;
    pb__task_queue__init(&queue);
    queue.name = name.ptr;
    queue.kind = 1; /* normal */
    Pb__DescribeTaskQueueRequest request;
    pb__describe_task_queue_request__init(&request);
    request.namespace_ = remote->name_space;
    request.task_queue = &queue;
    request.task_queue_type = 1; /* workflow */
    autopb ProtobufCMessage *answer = NULL;
    int rc = rpc_send(remote, &(struct rpc){"DescribeTaskQueue"}, &request.base,
                      &pb__describe_task_queue_response__descriptor, NULL, &answer, NULL, err);
    if (rc) {
        return rc;
    }
    const Pb__DescribeTaskQueueResponse *about = (const void *)answer;
    ret->count = about->n_pollers;
    ret->rows = arena_array_of(arena, struct remote_poller, about->n_pollers);
    for (size_t i = 0; i < ret->count; i++) {
        const Pb__PollerInfo *poller = about->pollers[i];
        ret->rows[i].identity = arena_strdup(arena, poller->identity);
        ret->rows[i].last_seen_ns =
            poller->last_access_time
                ? poller->last_access_time->seconds * NS_PER_S + poller->last_access_time->nanos
                : 0;
    }
    return DUR_OK;
}
