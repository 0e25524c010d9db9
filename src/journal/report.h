/*
 * report.h - table activity_report: what came from outside for activities that are completed by
 * token.
 *
 * Owns: one row per activity and kind: the newest heartbeat, and the outcome. Clients write them in
 * their own transactions (with a mark TASK_REPORT); the engine takes them in the turn that acts
 * upon them, so a crash leaves them. Must not: know whether an attempt is still awaited; rows say
 * which attempt they mean and whoever takes them compares.
 */
#ifndef JOURNAL_REPORT_H
#define JOURNAL_REPORT_H

#include "journal/store.h"

enum report_kind { REPORT_HEARTBEAT = 1, REPORT_OUTCOME = 2 };

struct report_row {
    int64_t execution;
    int64_t scheduled_event_id;
    enum report_kind kind;
    int attempt;
    int code;         /* of an outcome: durable.h's DUR_OK, DUR_FAILED, DUR_CANCELLED */
    const char *body; /* JSON: details, result, or the failure as the writer put it; or NULL */
    const char *identity;
    int64_t created_ns;
};
struct report_list {
    struct report_row *rows;
    size_t count;
};

/* A newer heartbeat takes the place of the one before, an outcome that of an older attempt's. False
 * when this attempt has an outcome already (or the txn has failed). */
bool report_put(struct txn *txn, const struct report_row *row);
/* Of one run, heartbeats first; they are deleted. Empty when the transaction has failed. */
void report_take(struct txn *txn, struct arena *arena, int64_t execution, struct report_list *ret);

#endif
