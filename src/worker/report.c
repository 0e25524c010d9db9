/*
 * report.c - what clients reported for activities that are completed by token (host.h).
 *
 * Owns: turning rows of journal/report.h into the ends of attempts. A report that names another
 * attempt than the one that is awaited came too late and is dropped: its sender was told the truth
 * when it was written, and a time-out has won since.
 * Must not: begin or end transactions.
 * Tests: tests/unit/test_engine_async.c
 */
#include "journal/report.h"

#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "worker/host.h"

static void beat(struct host *host, struct pending *p, const struct report_row *row)
{
    p->beat_ns = row->created_ns > p->beat_ns ? row->created_ns : p->beat_ns;
    if (row->body) {
        free(p->details);
        p->details = mem_strdup(row->body);
    }
    if (p->running) { /* its function has not come home yet */
        atomic_store(&p->running->beat_ns, host->mono_ns);
    }
    activity_heartbeat(host->txn, p->live->id, p->scheduled_id, p->attempt, p->beat_ns,
                       p->is_async               ? due_async_ns(p)
                       : p->schedule_to_close_ns ? p->scheduled_ns + p->schedule_to_close_ns
                                                 : 0,
                       row->body);
}

static void fail(struct host *host, struct pending *p, const struct report_row *row)
{
    const struct json *body;
    struct attempt_outcome outcome = {
        .code = DUR_FAILED, .kind = DUR_TRANSIENT, .type = "Error", .message = ""};
    int64_t kind;
    if (row->body && json_parse(host->arena, row->body, strlen(row->body), &body, NULL) == 0) {
        const char *type = json_get_str(body, "type");
        const char *message = json_get_str(body, "message");
        outcome.type = type ? type : outcome.type;
        outcome.message = message ? message : outcome.message;
        outcome.kind = json_get_i64(body, "kind", &kind) ? (dur_kind)kind : outcome.kind;
    }
    settle_failed(host, p, &outcome, row->identity);
}

static void end(struct host *host, struct pending *p, const struct report_row *row)
{
    if (p->running) { /* faster than the function that gave the token away */
        settle_details(host, p);
        claim_tell(host, p->running, "closed", true);
        p->running = NULL;
    }
    switch (row->code) {
    case DUR_OK:
        settle_completed(host, p, row->body, row->identity);
        break;
    case DUR_CANCELLED:
        settle_canceled(host, p, true, row->identity);
        break;
    default:
        fail(host, p, row);
    }
}

void report_settle(struct host *host, struct live *live)
{
    struct report_list list;
    report_take(host->txn, host->arena, live->id, &list);
    for (size_t i = 0; i < list.count; i++) {
        const struct report_row *row = &list.rows[i];
        struct pending *p = live_pending(live, row->scheduled_event_id);
        if (!p || p->state != ACTIVITY_STARTED || p->attempt != row->attempt) {
            continue;
        }
        if (row->kind == REPORT_HEARTBEAT) {
            beat(host, p, row);
        } else {
            end(host, p, row);
        }
    }
}
