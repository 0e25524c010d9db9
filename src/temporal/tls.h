/*
 * tls.h - certificates: are ours in order, and what is wrong with the server's.
 *
 * Owns: looking, with OpenSSL, since gRPC keeps to itself why it refused a certificate. Nothing
 * that these functions find decides whether a connection is trusted: gRPC alone does, and always.
 * Must not: carry anything of the program's over a connection of its own, or show a key.
 * Threads: any.
 */
#ifndef TEMPORAL_TLS_H
#define TEMPORAL_TLS_H

#include <stdbool.h>

#include "base/err.h"
#include "base/str.h"

/* What was read of the files; NULL: there is none of it. */
struct tls_pem {
    const char *ca, *cert, *key;
    const char *ca_file, *cert_file, *key_file; /* for messages */
};

/* All of it parses, the key is the certificate's, and the certificate is neither over nor to come.
 * Permanent, "BadCertificate". */
int tls_check(const struct tls_pem *pem, struct err *err);

struct tls_peer {
    const char *target;                         /* "host:port" */
    const char *server_name;                    /* NULL: the target's host */
    const char *ca_file, *cert_file, *key_file; /* NULL: the system's, none */
};

/* Connects once (for at most three seconds), shakes hands, and appends what is wrong, for people:
 * "the server's certificate expired on 2026-01-02; ...". False: nothing was found. */
bool tls_explain(const struct tls_peer *peer, struct str *out);

#endif
