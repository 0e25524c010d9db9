/*
 * advice.h - what to say when a call to the server fails.
 *
 * Owns: the words: what happened in short, and what to check. Must not: decide anything by them.
 * Threads: any; texts are static.
 */
#ifndef TEMPORAL_ADVICE_H
#define TEMPORAL_ADVICE_H

#include "base/str.h"

struct advice_case {
    int code;            /* enum grpc_code */
    int detail;          /* enum rpc_detail */
    const char *message; /* the server's or gRPC's text; NULL: none */
    const char *name_space;
    const char *api_key_env; /* NULL: no key is sent */
    const char *tls;         /* what a look at the certificates found; NULL: nothing */
};

/* Appends "connection refused; is the server up? (temporal operator cluster health)". */
void advice_add(struct str *out, const struct advice_case *c);

#endif
