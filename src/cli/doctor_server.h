/*
 * doctor_server.h - the connection to a Temporal server: is it there, and is it as runs need it?
 *
 * Owns: the rows of the check "server" of factory doctor, and the connection that its other checks
 * ask. Must not: start or change anything on the server.
 */
#ifndef CLI_DOCTOR_SERVER_H
#define CLI_DOCTOR_SERVER_H

#include "factory/doctor.h"

/* For kind = temporal: sets d->engine, or says why not. */
void doctor_server(struct doctor *d, const struct config *config, bool offline);

#endif
