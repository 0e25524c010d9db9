/*
 * listener.h - the listening socket, and the connections that come in.
 *
 * Owns: the address, accepting, how many connections there may be. libmicrohttpd could accept by
 * itself, but once it meets a limit of descriptors it lets nobody in before another connection has
 * ended, which may be the very one that waits for the new one. Here it is tried again a moment
 * later. Must not: know HTTP. Belongs to the daemon's one thread.
 */
#ifndef GUEST_LISTENER_H
#define GUEST_LISTENER_H

#include <microhttpd.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "guest/loop.h"

#define CONNECTIONS_MAX 1024

struct listener {
    struct watch watch; /* fd: the listening socket, which is owned */
    struct MHD_Daemon *http;
    int64_t rest_until_ns; /* monotonic: nothing is accepted before; 0: no rest */
    bool is_short;         /* of descriptors or memory, and it was said */
};

/* Listens at a socket of mode 0600; a stale one is replaced, one that is served is not. */
int listener_open(const char *path, int *ret_fd, struct err *err);
/* Serves connections of listen_fd, which belongs to the listener now, through http. */
void listener_start(struct listener *listener, int loop_fd, int listen_fd, struct MHD_Daemon *http);
/* After each turn of the loop: accepts again as soon as there is room and the rest is over. */
void listener_tick(struct listener *listener, int loop_fd);
/* When the rest is over (monotonic), INT64_MAX: there is none. */
int64_t listener_due(const struct listener *listener);
/* Takes no more, and closes the socket. May follow no listener_start. */
void listener_stop(struct listener *listener, int loop_fd);

#endif
