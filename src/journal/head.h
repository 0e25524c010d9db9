/*
 * head.h - SQL for where a run's history ends (private to this room).
 *
 * Owns: two expressions over a row of execution: an open run's head is its last batch of events, a
 * closed one's stands in its row. Must not: name a table that the statement around it does not have
 * as `execution`.
 */
#ifndef JOURNAL_HEAD_H
#define JOURNAL_HEAD_H

#define HEAD_OF_LAST_BATCH_(column)                                                                \
    "ifnull((SELECT b." column " FROM event_batch AS b WHERE b.execution = execution.id "          \
    "ORDER BY b.first_event_id DESC LIMIT 1), 0)"

/* How many events it has, which is the id of the last one; and its bytes. */
#define HEAD_EVENTS "iif(status = 1, " HEAD_OF_LAST_BATCH_("last_event_id") ", next_event_id - 1)"
#define HEAD_BYTES "iif(status = 1, " HEAD_OF_LAST_BATCH_("history_bytes") ", history_bytes)"

#endif
