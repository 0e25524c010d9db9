/*
 * look.c - a client below durable.h: what the module's calls do on a network that a test spoils.
 *
 * Usage: look TARGET [NAME=VALUE...] COMMAND [ARG]
 * NAME: name_space server_name ca_file cert_file key_file api_key_env tls lazy timeout (ms), each
 * of dur_connect_options. Commands:
 *   info            what the server says of itself
 *   pollers QUEUE   who polls that task queue, one a line
 *   twice           waits for a line on standard input, then asks again over the same connection
 *   polls COUNT     so many polls at once, cancelled after 300 ms, on one connection
 *   cancels COUNT   one poll after the other, each cancelled once it is under way
 *   poll            one poll of a task queue where nothing is: the server's own time-out (60 s)
 *   ask COUNT       so many calls, one after the other; "N of COUNT answered"
 * Prints "DUR_CODE: text" of what failed, and ends with 1 then.
 * Owns: the door for tests/temporal/t8100-transport.sh. Must not: need an engine.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "temporal/proto/service.pb-c.h"
#include "temporal/remote.h"
#include "temporal/rpc.h"

#define POLLS_MAX 1000

static const char *code_name(int rc)
{
    static const struct {
        int code;
        const char *name;
    } names[] = {{DUR_CANCELLED, "DUR_CANCELLED"},
                 {DUR_INVALID, "DUR_INVALID"},
                 {DUR_NOT_FOUND, "DUR_NOT_FOUND"},
                 {DUR_EXISTS, "DUR_EXISTS"},
                 {DUR_BUSY, "DUR_BUSY"},
                 {DUR_LIMIT, "DUR_LIMIT"},
                 {DUR_IO, "DUR_IO"}};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        if (names[i].code == rc) {
            return names[i].name;
        }
    }
    return "?";
}

static int complain(int rc, const struct err *err)
{
    printf("%s: %s\n", code_name(rc), err->text);
    return rc;
}

static int info(struct remote *remote)
{
    struct err err = {0};
    struct remote_info about;
    autoarena struct arena *arena = arena_new();
    int rc = remote_look(remote, arena, &about, &err);
    if (rc) {
        return complain(rc, &err);
    }
    printf("server %s, namespace %s %s, kept %lld s, %s\n", about.server_version, about.name_space,
           about.namespace_state, (long long)about.retention_ms / 1000,
           about.is_encrypted ? "encrypted" : "plain");
    return DUR_OK;
}

static int pollers(struct remote *remote, const char *queue)
{
    struct err err = {0};
    struct remote_pollers found;
    autoarena struct arena *arena = arena_new();
    int rc = remote_who_polls(remote, arena, queue, &found, &err);
    if (rc) {
        return complain(rc, &err);
    }
    for (size_t i = 0; i < found.count; i++) {
        printf("%s\n", found.rows[i].identity);
    }
    return DUR_OK;
}

struct poller {
    struct remote *remote;
    struct rpc_cancel *cancel;
    struct err err;
    int rc;
    bool is_empty;
};

static void *poll_once(void *user)
{
    struct poller *poller = user;
    Pb__TaskQueue queue;
    pb__task_queue__init(&queue);
    queue.name = (char *)(uintptr_t) "nothing-here";
    queue.kind = 1;
    Pb__PollActivityTaskQueueRequest request;
    pb__poll_activity_task_queue_request__init(&request);
    request.namespace_ = poller->remote->name_space;
    request.identity = poller->remote->identity;
    request.task_queue = &queue;
    autopb ProtobufCMessage *answer = NULL;
    poller->rc = rpc_send(poller->remote, &(struct rpc){"PollActivityTaskQueue", 0, RPC_POLL},
                          &request.base, &pb__poll_activity_task_queue_response__descriptor,
                          poller->cancel, &answer, NULL, &poller->err);
    const Pb__PollActivityTaskQueueResponse *task = (const void *)answer;
    poller->is_empty = task && !task->task_token.len;
    return NULL;
}

static int polls(struct remote *remote, int count, int round_ms)
{
    static struct poller list[POLLS_MAX];
    static pthread_t threads[POLLS_MAX];
    struct rpc_cancel cancel;
    rpc_cancel_init(&cancel);
    for (int i = 0; i < count; i++) {
        list[i] = (struct poller){.remote = remote, .cancel = &cancel};
        pthread_create(&threads[i], NULL, poll_once, &list[i]);
    }
    clock_sleep_ms(round_ms);
    rpc_cancel(&cancel);
    int ended = 0;
    for (int i = 0; i < count; i++) {
        pthread_join(threads[i], NULL);
        ended += list[i].rc == DUR_CANCELLED;
        if (list[i].rc != DUR_CANCELLED) {
            complain(list[i].rc, &list[i].err);
        }
    }
    rpc_cancel_free(&cancel);
    return ended == count ? DUR_OK : DUR_IO;
}

static int cancels(struct remote *remote, int count)
{
    for (int i = 0; i < count; i++) {
        int rc = polls(remote, 1, i % 5);
        if (rc) {
            return rc;
        }
    }
    printf("%d polls cancelled\n", count);
    return DUR_OK;
}

static int poll_idle(struct remote *remote)
{
    struct poller one = {.remote = remote};
    poll_once(&one);
    if (one.rc) {
        return complain(one.rc, &one.err);
    }
    printf("%s\n", one.is_empty ? "nothing came" : "a task");
    return DUR_OK;
}

static int ask(struct remote *remote, int count)
{
    int answered = 0;
    for (int i = 0; i < count; i++) {
        struct err err = {0};
        struct remote_pollers found;
        autoarena struct arena *arena = arena_new();
        answered += remote_who_polls(remote, arena, "q", &found, &err) == DUR_OK;
    }
    printf("%d of %d answered\n", answered, count);
    return answered == count ? DUR_OK : DUR_BUSY;
}

static int run(struct remote *remote, const char *command, const char *arg)
{
    int count = arg ? (int)strtol(arg, NULL, 10) : 1;
    if (strcmp(command, "info") == 0) {
        return info(remote);
    }
    if (strcmp(command, "pollers") == 0) {
        return pollers(remote, arg);
    }
    if (strcmp(command, "polls") == 0 && count <= POLLS_MAX) {
        int rc = polls(remote, count, 300);
        printf("%d polls %s\n", count, rc ? "not all cancelled" : "cancelled");
        return rc;
    }
    if (strcmp(command, "cancels") == 0) {
        return cancels(remote, count);
    }
    if (strcmp(command, "poll") == 0) {
        return poll_idle(remote);
    }
    if (strcmp(command, "ask") == 0) {
        return ask(remote, count);
    }
    int rc = info(remote);
    char line[16];
    fflush(stdout);
    if (fgets(line, sizeof(line), stdin)) {
        rc = info(remote);
    }
    return rc;
}

static void set(dur_connect_options *o, const char *name, const char *value)
{
    const struct {
        const char *name;
        const char **text;
    } texts[] = {{"name_space", &o->name_space}, {"server_name", &o->server_name},
                 {"ca_file", &o->ca_file},       {"cert_file", &o->cert_file},
                 {"key_file", &o->key_file},     {"api_key_env", &o->api_key_env}};
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        if (strncmp(name, texts[i].name, (size_t)(value - 1 - name)) == 0) {
            *texts[i].text = value;
        }
    }
    long number = strtol(value, NULL, 10);
    if (strncmp(name, "tls=", 4) == 0) {
        o->tls = number != 0;
    } else if (strncmp(name, "lazy=", 5) == 0) {
        o->lazy = number != 0;
    } else if (strncmp(name, "timeout=", 8) == 0) {
        o->connect_timeout_ms = number;
    }
}

static void show_log(void *user, int level, const char *line)
{
    (void)user;
    printf("log %d: %s\n", level, line);
}

int main(int argc, char **argv)
{
    dur_connect_options options = {0};
    int at = 2;
    for (; at < argc && strchr(argv[at], '='); at++) {
        set(&options, argv[at], strchr(argv[at], '=') + 1);
    }
    if (at >= argc) {
        fprintf(stderr, "usage: look TARGET [NAME=VALUE...] COMMAND [ARG]\n");
        return 2;
    }
    struct err err = {0};
    struct remote *remote = NULL;
    struct remote_open given = {&options, argv[1], "look", {show_log, NULL}};
    int rc = remote_open(&given, &remote, &err);
    if (rc) {
        complain(rc, &err);
        return 1;
    }
    rc = run(remote, argv[at], at + 1 < argc ? argv[at + 1] : NULL);
    remote_close(remote);
    return rc ? 1 : 0;
}
