/*
 * loop.h - descriptors and the functions that serve them: the one epoll set of the daemon.
 *
 * Owns: registration and dispatch. Must not: own the descriptors. Rule: a struct watch lives inside
 * its owner, which unregisters it before it goes; owners free themselves only between two rounds
 * (state_housekeep), never inside a ready function, so that no event of a round meets a dead owner.
 */
#ifndef GUEST_LOOP_H
#define GUEST_LOOP_H

#include <stdbool.h>
#include <stdint.h>

struct watch {
    int fd; /* -1: none */
    bool added;
    uint32_t events; /* EPOLLIN, EPOLLOUT */
    void (*ready)(struct watch *watch, uint32_t events);
    void *user;
};

int loop_open(void); /* epoll descriptor or -1, errno set */
/* Register, or change what is waited for; 0 events unregisters. */
void loop_set(int loop_fd, struct watch *watch, uint32_t events);
/* Unregister and close the descriptor. */
void loop_close(int loop_fd, struct watch *watch);
/* Wait at most timeout_ms (-1: for ever) and serve what is ready. */
void loop_turn(int loop_fd, int timeout_ms);

#endif
