/*
 * errand.h - calls to the server that the loop of a serving engine asks for, made by a few threads.
 *
 * Owns: the threads (begun as they are needed, at most `threads`) and the list of what waits for
 * one. Errands of different runs overtake each other. Must not: know what an errand is for.
 * Threads: errand_give() from any; new, drain and free by the owner.
 */
#ifndef TEMPORAL_ERRAND_H
#define TEMPORAL_ERRAND_H

#include <stdbool.h>

/* The first member of whatever has to be done; its maker's memory. `go` may free it. */
struct errand {
    struct errand *next;
    void (*go)(struct errand *errand, void *user);
};

struct errands;

struct errands *errands_new(int threads, void *user);
void errand_give(struct errands *errands, struct errand *errand);
/* The same for one that may as well be left out: false, and nothing is taken, when others wait. */
bool errand_offer(struct errands *errands, struct errand *errand);
/* Waits until all is done, then ends the threads. NULL fine. */
void errands_free(struct errands *errands);

#endif
