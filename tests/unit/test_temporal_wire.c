/*
 * test_temporal_wire.c - calls to a server that says whatever the test wants.
 *
 * Owns: answers that a real server gives rarely or never: every code with details, garbage, bodies
 * that are none, and what of a call arrives there.
 */
#include <criterion/criterion.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/mem.h"
#include "temporal/proto/service.pb-c.h"
#include "temporal/remote.h"
#include "temporal/rpc.h"
#include "tests/lib/fake_front.h"
#include "tests/lib/temp_path.h"

TestSuite(temporal_wire, .timeout = 60);

static struct remote *open_front(const struct front *front)
{
    char target[64];
    snprintf(target, sizeof(target), "127.0.0.1:%d", front_port(front));
    struct err err = {0};
    struct remote *remote = NULL;
    dur_connect_options options = {.lazy = 1, .name_space = "orders"};
    cr_assert_eq(
        remote_open(&(struct remote_open){&options, target, "me", {NULL, NULL}}, &remote, &err),
        DUR_OK, "%s", err.text);
    return remote;
}

static int ask(struct remote *remote, int kind, char **ret_version, struct rpc_failure *failure,
               struct rpc_cancel *cancel, struct err *err)
{
    Pb__GetSystemInfoRequest request;
    pb__get_system_info_request__init(&request);
    autopb ProtobufCMessage *answer = NULL;
    struct rpc rpc = {"GetSystemInfo", 5000, kind};
    int rc = rpc_send(remote, &rpc, &request.base, &pb__get_system_info_response__descriptor,
                      cancel, &answer, failure, err);
    if (!rc && ret_version) {
        *ret_version = mem_strdup(((Pb__GetSystemInfoResponse *)answer)->server_version);
    }
    return rc;
}

static const struct front_answer good = {.body = "\n\0059.9.9", .body_len = 7};

Test(temporal_wire, what_arrives_there)
{
    struct front *front = front_start(&good, 1);
    struct remote *remote = open_front(front);
    autofree char *version = NULL;
    struct err err = {0};
    cr_assert_eq(ask(remote, RPC_CALL, &version, NULL, NULL, &err), DUR_OK, "%s", err.text);
    cr_expect_str_eq(version, "9.9.9");
    autostr struct str seen = {0};
    front_seen(front, &seen);
    static const char *const lines[] = {
        "path=/temporal.api.workflowservice.v1.WorkflowService/GetSystemInfo\n",
        "client-name=durable-c\n", "client-version=" PACKAGE_VERSION "\n",
        "temporal-namespace=orders\n"};
    for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
        cr_expect_not_null(strstr(str_c(&seen), lines[i]), "%s is not in %s", lines[i], seen.ptr);
    }
    cr_expect_null(strstr(str_c(&seen), "authorization"));
    remote_close(remote);
    front_stop(front);
}

Test(temporal_wire, bodies_that_are_no_message)
{
    static const struct front_answer bad[] = {
        {.body = "\n\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", .body_len = 11},
        {.body = "\n\x20short", .body_len = 7},
        {.body = "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", .body_len = 12},
        {.body = "\x0f\x0f", .body_len = 2},
    };
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct front *front = front_start(&bad[i], 1);
        struct remote *remote = open_front(front);
        struct err err = {0};
        autorpcfailure struct rpc_failure failure = {0};
        cr_expect_eq(ask(remote, RPC_CALL, NULL, &failure, NULL, &err), DUR_IO, "%zu", i);
        cr_expect_eq(failure.code, CODE_INTERNAL);
        cr_expect_not_null(strstr(err.text, "GetSystemInfo: the answer is not the message"), "%s",
                           err.text);
        remote_close(remote);
        front_stop(front);
    }
    struct front *front = front_start(&(struct front_answer){.body_len = 0}, 1);
    struct remote *remote = open_front(front);
    autofree char *version = NULL;
    struct err err = {0};
    cr_expect_eq(ask(remote, RPC_CALL, &version, NULL, NULL, &err), DUR_OK);
    cr_expect_str_eq(version, "", "an empty message is one");
    remote_close(remote);
    front_stop(front);
}

static void expect_failure(struct front_answer a, int rc, enum rpc_detail detail, const char *bytes)
{
    struct front *front = front_start(&a, 1);
    struct remote *remote = open_front(front);
    struct err err = {0};
    autorpcfailure struct rpc_failure failure = {0};
    cr_expect_eq(ask(remote, RPC_ONCE, NULL, &failure, NULL, &err), rc, "%d: %s", a.code, err.text);
    cr_expect_eq(failure.code, a.code);
    cr_expect_eq(failure.detail, detail);
    cr_expect_str_eq(str_c(&failure.bytes), bytes);
    cr_expect_str_eq(failure.message, a.message ? a.message : "");
    cr_expect_neq(err.kind, ERR_NONE);
    remote_close(remote);
    front_stop(front);
}

/* google.rpc.Status with one detail of that type. */
static void expect_detail(int code, const char *type, const char *value, int rc,
                          enum rpc_detail detail)
{
    Pb__Status status;
    Pb__Any any, *list = &any;
    pb__status__init(&status);
    pb__any__init(&any);
    autofree char *url = mem_printf("type.googleapis.com/temporal.api.errordetails.v1.%s", type);
    any.type_url = url;
    any.value.data = (uint8_t *)(uintptr_t)value;
    any.value.len = strlen(value);
    status.code = code;
    status.n_details = 1;
    status.details = &list;
    uint8_t bytes[500];
    size_t len = pb__status__pack(&status, bytes);
    expect_failure(
        (struct front_answer){
            .code = code, .message = "so it is", .details = bytes, .details_len = len},
        rc, detail, value);
}

Test(temporal_wire, details_of_failures)
{
    expect_detail(5, "NotFoundFailure", "", DUR_NOT_FOUND, DETAIL_NOT_FOUND);
    expect_detail(5, "NamespaceNotFoundFailure", "\n\001x", DUR_NOT_FOUND,
                  DETAIL_NAMESPACE_NOT_FOUND);
    expect_detail(6, "WorkflowExecutionAlreadyStartedFailure", "\n\001x", DUR_EXISTS,
                  DETAIL_ALREADY_STARTED);
    expect_detail(3, "QueryFailedFailure", "\n\003\n\001x", DUR_INVALID, DETAIL_QUERY_FAILED);
    expect_detail(7, "PermissionDeniedFailure", "", DUR_INVALID, DETAIL_PERMISSION_DENIED);
    expect_detail(8, "ResourceExhaustedFailure", "\b\001", DUR_BUSY, DETAIL_RESOURCE_EXHAUSTED);
    expect_detail(9, "WorkflowNotReadyFailure", "", DUR_INVALID, DETAIL_NOT_READY);
    expect_detail(9, "SomethingNew", "\n\001x", DUR_INVALID, DETAIL_NONE);
    expect_failure((struct front_answer){.code = 16, .message = "who are you?"}, DUR_INVALID,
                   DETAIL_NONE, "");
    static const char garbage[] = "\x1a\xff\xff\xff\xff\x7f garbage \x00\xff";
    expect_failure(
        (struct front_answer){
            .code = 5, .message = "gone", .details = garbage, .details_len = sizeof(garbage)},
        DUR_NOT_FOUND, DETAIL_NONE, "");
}

Test(temporal_wire, a_call_is_tried_again_until_it_succeeds)
{
    const struct front_answer answers[] = {{.code = 14, .message = "starting"},
                                           {.code = 13, .message = "oops"},
                                           {.code = 2, .message = "what?"},
                                           good};
    struct front *front = front_start(answers, ARRAY_LEN(answers));
    struct remote *remote = open_front(front);
    struct err err = {0};
    cr_expect_eq(ask(remote, RPC_CALL, NULL, NULL, NULL, &err), DUR_OK, "%s", err.text);
    cr_expect_eq(front_calls(front), 4);
    remote_close(remote);
    front_stop(front);
}

Test(temporal_wire, a_final_answer_is_final)
{
    static const int codes[] = {3, 5, 6, 7, 9, 12, 16};
    for (size_t i = 0; i < ARRAY_LEN(codes); i++) {
        const struct front_answer answers[] = {{.code = codes[i], .message = "no"}, good};
        struct front *front = front_start(answers, ARRAY_LEN(answers));
        struct remote *remote = open_front(front);
        struct err err = {0};
        cr_expect_neq(ask(remote, RPC_POLL, NULL, NULL, NULL, &err), DUR_OK);
        cr_expect_eq(front_calls(front), 1, "code %d", codes[i]);
        remote_close(remote);
        front_stop(front);
    }
}

struct asker {
    struct remote *remote;
    struct rpc_cancel cancel;
    int rc;
};

static void *ask_on(void *user)
{
    struct asker *asker = user;
    struct err err = {0};
    asker->rc = ask(asker->remote, RPC_POLL, NULL, NULL, &asker->cancel, &err);
    return NULL;
}

Test(temporal_wire, a_cancel_reaches_the_server)
{
    struct front *front = front_start(&(struct front_answer){.is_silent = true}, 1);
    struct asker asker = {.remote = open_front(front)};
    rpc_cancel_init(&asker.cancel);
    pthread_t thread;
    pthread_create(&thread, NULL, ask_on, &asker);
    while (front_calls(front) == 0) {
        clock_sleep_ms(5);
    }
    cr_expect_not(front_was_cancelled(front));
    rpc_cancel(&asker.cancel);
    pthread_join(thread, NULL);
    cr_expect_eq(asker.rc, DUR_CANCELLED);
    while (!front_was_cancelled(front)) { /* the suite's time-out is the bound */
        clock_sleep_ms(5);
    }
    remote_close(asker.remote);
    rpc_cancel_free(&asker.cancel);
    front_stop(front);
}

static int lines[3];
static void count_line(void *user, int level, const char *line)
{
    (void)user;
    (void)line;
    lines[level]++;
}

/* A poll is tried on; the loss of the server is said once, and its return before the poll ends. */
Test(temporal_wire, a_server_that_is_lost_and_returns)
{
    const struct front_answer answers[] = {{.code = 14, .message = "going down"},
                                           {.code = 14, .message = "still down"},
                                           {.code = 14, .message = "starting"},
                                           good,
                                           {.is_silent = true}};
    struct front *front = front_start(answers, ARRAY_LEN(answers));
    struct asker asker = {.remote = open_front(front)};
    asker.remote->log = (struct remote_log){count_line, NULL};
    rpc_cancel_init(&asker.cancel);
    pthread_t thread;
    pthread_create(&thread, NULL, ask_on, &asker);
    while (front_calls(front) < 5) {
        clock_sleep_ms(5);
    }
    rpc_cancel(&asker.cancel);
    pthread_join(thread, NULL);
    cr_expect_eq(asker.rc, DUR_CANCELLED);
    cr_expect_eq(lines[1], 1, "said %d times", lines[1]);
    cr_expect_eq(lines[2], 1, "its return: %d times", lines[2]);
    cr_expect_not(atomic_load(&asker.remote->is_lost));
    remote_close(asker.remote);
    rpc_cancel_free(&asker.cancel);
    front_stop(front);
}

/* One that limits us is not lost. */
Test(temporal_wire, a_server_that_limits)
{
    const struct front_answer answers[] = {{.code = 8, .message = "namespace rate limit exceeded"},
                                           good};
    struct front *front = front_start(answers, ARRAY_LEN(answers));
    struct remote *remote = open_front(front);
    remote->log = (struct remote_log){count_line, NULL};
    struct err err = {0};
    cr_expect_eq(ask(remote, RPC_POLL, NULL, NULL, NULL, &err), DUR_OK, "%s", err.text);
    cr_expect_eq(lines[1], 1);
    cr_expect_eq(lines[2], 0);
    cr_expect_not(atomic_load(&remote->is_lost));
    remote_close(remote);
    front_stop(front);
}

/* --- an API key ----------------------------------------------------------------------------------
 */

static char *pem_of(BIO *bio)
{
    char *bytes = NULL;
    long len = BIO_get_mem_data(bio, &bytes);
    char *text = mem_strndup(bytes, (size_t)len);
    BIO_free(bio);
    return text;
}

/* A certificate for localhost that signs itself, good for an hour. */
static void make_certificate(char **ret_cert, char **ret_key)
{
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *cert = X509_new();
    X509_set_version(cert, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(cert), 1);
    X509_gmtime_adj(X509_getm_notBefore(cert), -60);
    X509_gmtime_adj(X509_getm_notAfter(cert), 3600);
    X509_set_pubkey(cert, key);
    X509_NAME_add_entry_by_txt(X509_get_subject_name(cert), "CN", MBSTRING_ASC,
                               (const unsigned char *)"localhost", -1, -1, 0);
    X509_set_issuer_name(cert, X509_get_subject_name(cert));
    X509_EXTENSION *names =
        X509V3_EXT_conf_nid(NULL, NULL, NID_subject_alt_name, "DNS:localhost,IP:127.0.0.1");
    X509_add_ext(cert, names, -1);
    X509_EXTENSION_free(names);
    cr_assert(X509_sign(cert, key, EVP_sha256()) > 0);
    BIO *bio = BIO_new(BIO_s_mem());
    PEM_write_bio_X509(bio, cert);
    *ret_cert = pem_of(bio);
    bio = BIO_new(BIO_s_mem());
    PEM_write_bio_PrivateKey(bio, key, NULL, NULL, 0, NULL, NULL);
    *ret_key = pem_of(bio);
    X509_free(cert);
    EVP_PKEY_free(key);
}

/* An API key goes over TLS, and into no message when it is refused. */
Test(temporal_wire, api_keys)
{
    autofree char *cert = NULL;
    autofree char *key = NULL;
    make_certificate(&cert, &key);
    autofree char *ca_file = temp_path("ca.pem");
    struct err err = {0};
    cr_assert_eq(fs_write_file(ca_file, cert, strlen(cert), 0600, &err), 0, "%s", err.text);
    setenv("TEST_TEMPORAL_KEY", "the-key-of-the-test", 1);
    const struct front_answer answers[] = {good, {.code = 16, .message = "Jwt is expired"}};
    struct front *front = front_start_tls(answers, ARRAY_LEN(answers), cert, key);
    char target[64];
    snprintf(target, sizeof(target), "127.0.0.1:%d", front_port(front));
    dur_connect_options options = {
        .lazy = 1, .tls = 1, .ca_file = ca_file, .api_key_env = "TEST_TEMPORAL_KEY"};
    struct remote *remote = NULL;
    struct remote_open given = {&options, target, "me", {NULL, NULL}};
    cr_assert_eq(remote_open(&given, &remote, &err), DUR_OK, "%s", err.text);
    cr_expect_eq(ask(remote, RPC_CALL, NULL, NULL, NULL, &err), DUR_OK, "%s", err.text);
    autostr struct str seen = {0};
    front_seen(front, &seen);
    cr_expect_not_null(strstr(str_c(&seen), "authorization=Bearer the-key-of-the-test\n"), "%s",
                       str_c(&seen));
    cr_expect_eq(ask(remote, RPC_CALL, NULL, NULL, NULL, &err), DUR_INVALID);
    cr_expect_not_null(strstr(err.text, "Jwt is expired; is the API key in $TEST_TEMPORAL_KEY "),
                       "%s", err.text);
    cr_expect_null(strstr(err.text, "the-key-of-the-test"));
    remote_close(remote);
    front_stop(front);
    unsetenv("TEST_TEMPORAL_KEY");
}
