/*
 * complete.h - attempts that end from outside, by token: the module table's entries.
 *
 * Owns: dur_complete() and its like on a server. The codes are a store's, but for one: an attempt
 * that was completed before is not known to a server any more, so that is DUR_NOT_FOUND, never
 * DUR_EXISTS. A token of token_of is checked by a look at the run first: between the look and the
 * call another attempt may begin, and would be the one that ends.
 * Threads: any.
 */
#ifndef TEMPORAL_COMPLETE_H
#define TEMPORAL_COMPLETE_H

#include "engine/remote.h"

int complete_end(struct remote *remote, const char *token, const struct remote_end *end,
                 struct err *err);
int complete_beat(struct remote *remote, const char *token, const char *details, struct err *err);
int complete_token_of(struct remote *remote, const char *id, const char *activity_id, char **token,
                      struct err *err);

#endif
