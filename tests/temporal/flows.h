/*
 * flows.h - small workflows that the worker tests run: each shows one thing that a server does.
 *
 * Owns: their code and what comes of each. Must not: need anything but durable.h and C99.
 */
#ifndef TESTS_TEMPORAL_FLOWS_H
#define TESTS_TEMPORAL_FLOWS_H

#include <durable.h>

struct flow {
    const char *type;
    const char *input;  /* JSON or NULL */
    const char *result; /* of a completed run; else what dur_error() holds */
    int code;           /* of dur_result */
    dur_start_options options;
};
extern const struct flow flows[];
extern const int flow_count;

/* All workflows and activities. variant 2: the code of "changes" asks for something else. */
void flows_register(dur_engine *engine, int variant);

#endif
