/*
 * files.h - what GET and POST /files share: the query.
 *
 * Owns: turning ?path=&username= into an absolute path or a REST error.
 */
#ifndef GUEST_FILES_H
#define GUEST_FILES_H

#include "guest/server.h"

/* 1: *ret is the resolved path (caller frees); 0: no path in the query; <0: *error. */
int files_query(const struct request *request, char **ret, struct wire_error *error);

#endif
