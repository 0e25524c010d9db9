/*
 * admin_rows.h - what the files behind admin.h share.
 * Must not: be included outside engine/.
 */
#ifndef ENGINE_ADMIN_ROWS_H
#define ENGINE_ADMIN_ROWS_H

#include "engine/admin.h"
#include "history/event.h"
#include "journal/execution.h"

/* The run of that id in the store, or the code after the error was kept. */
int admin_find(dur_engine *engine, struct arena *arena, const char *id, struct execution_row *row);
/* The whole history of a run of either kind of engine, and its size as stored. */
int admin_read(dur_engine *engine, struct arena *arena, const char *id, struct history *ret,
               int64_t *ret_bytes);
/* --- admin_remote.c: the same on a server --- */
int admin_remote_activities(dur_engine *engine, struct arena *arena, const char *id,
                            struct admin_activities *ret);
int admin_remote_queues(dur_engine *engine, struct arena *arena, struct admin_queues *ret);
int admin_remote_server(dur_engine *engine, struct arena *arena, struct admin_server *ret);
int admin_remote_ids(dur_engine *engine, struct arena *arena, const char *prefix, int limit,
                     struct admin_ids *ret);
/* The innermost cause: what an operator can act on; NULL for NULL. */
const char *admin_failure_line(struct arena *arena, const struct failure *failure);

#endif
