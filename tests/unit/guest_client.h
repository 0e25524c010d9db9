/*
 * guest_client.h - a raw HTTP client and a daemon fixture for the tests of guest/.
 *
 * Owns: starting the daemon in a directory of its own (which becomes the test's cwd, so socket
 * paths are short), requests as bytes, answers taken apart. Must not: share code with the server.
 */
#ifndef TESTS_GUEST_CLIENT_H
#define TESTS_GUEST_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/arena.h"
#include "base/json.h"
#include "base/str.h"

extern char guest_dir[256]; /* absolute; cwd after guest_up */

/* Start the daemon with these options (NULL-terminated, may be NULL) and wait until it listens.
 * Returns its pid. */
pid_t guest_up(const char *const *options);
int guest_down(pid_t pid); /* SIGTERM; exit status, or 128+signal */
int guest_wait(pid_t pid); /* exit status, or 128+signal */

struct answer {
    int status; /* 0: the connection broke before an answer was complete */
    struct str headers;
    struct str body;
};
void answer_free(struct answer *answer);
#define autoanswer cleanup_with(answer_free)

int client_connect(void);
void client_send(int fd, const void *bytes, size_t len);
struct answer client_read(int fd); /* one complete answer */
/* headers: "Name: value\r\n"... or NULL */
struct answer client_call(const char *method, const char *target, const char *headers,
                          const void *body, size_t len);
struct answer client_rpc(const char *procedure, const char *message);
/* The value of a header; NULL when absent. Arena-free: points into the answer. */
bool answer_has_header(const struct answer *answer, const char *line);

/* A stream taken apart. */
struct run {
    int status;
    int pid;
    struct str out;
    struct str err;
    int starts;
    int keepalives;
    bool ended; /* an end event */
    int exit_code;
    char end_status[64];
    bool timed_out;
    bool closed;    /* the end-stream envelope was there, and nothing behind it */
    char error[32]; /* its error code */
    char message[512];
};
void run_free(struct run *run);
#define autorun cleanup_with(run_free)

/* Send an enveloped message to a procedure without reading. */
int stream_send(const char *procedure, const char *message, const char *headers);
struct run stream_read(int fd); /* to its end; closes fd */
struct run stream_call(const char *procedure, const char *message, const char *headers);
/* Start `sh -c script` in the test's directory with stdin at /dev/null. */
struct run run_sh(const char *script, const char *headers);
/* The same, detached: reads the start event only, closes the connection, returns the pid. */
int start_sh(const char *script, const char *more_fields, const char *headers);
struct run connect_to(int pid);

bool pid_is_alive(pid_t pid); /* exists and is no zombie */
/* Wait up to ten seconds for a file with content; its first number. */
int number_in(const char *file);
/* Poll up to ten seconds. */
bool dies(pid_t pid);

#endif
