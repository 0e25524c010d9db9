/*
 * admin_rows.h - what the files behind admin.h share.
 * Must not: be included outside engine/.
 */
#ifndef ENGINE_ADMIN_ROWS_H
#define ENGINE_ADMIN_ROWS_H

#include "engine/admin.h"
#include "history/event.h"
#include "journal/execution.h"

/* The run of that id, or the code after the error was kept. */
int admin_find(dur_engine *engine, struct arena *arena, const char *id, struct execution_row *row);
/* The innermost cause: what an operator can act on; NULL for NULL. */
const char *admin_failure_line(struct arena *arena, const struct failure *failure);

#endif
