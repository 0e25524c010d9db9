/*
 * record.c - see record.h.
 * Tests: tests/unit/test_worker_birth.c, tests/unit/test_engine_import.c,
 * tests/unit/test_engine_reset.c
 */
#include "worker/record.h"

#include "base/str.h"
#include "history/attributes.h"
#include "history/map.h"

#define BATCH_EVENTS 500 /* rows of a history in memory at a time */

int64_t record_event(struct store_context *codec, struct arena *arena, const struct event *event,
                     int64_t time_ns, struct event_row *ret)
{
    autostr struct str text = {0};
    store_encode(codec, event, &text);
    *ret = (struct event_row){
        .event_id = event->id,
        .type = (int)event->type,
        .time_ns = time_ns,
        .attributes = text.len ? arena_dup(arena, text.ptr, text.len) : NULL,
        .attributes_len = text.len,
    };
    return (int64_t)text.len + EVENT_ROW_BYTES;
}

void record_history(struct txn *txn, struct execution_row *row, const struct event *events,
                    size_t count)
{
    autoarena struct arena *arena = arena_new();
    struct event_row rows[BATCH_EVENTS];
    struct store_context codec;
    size_t filled = 0;
    store_context_init(&codec, db_sealer(txn_db(txn)), row->task_queue, NULL, row->workflow_id,
                       row->run_id);
    for (size_t i = 0; i < count; i++) {
        row->history_bytes +=
            record_event(&codec, arena, &events[i], events[i].time_ns, &rows[filled++]);
        if (filled == BATCH_EVENTS || i + 1 == count) {
            event_append(txn, row->id, rows, filled, row->history_bytes);
            arena_reset(arena);
            filled = 0;
        }
    }
    execution_set_head(txn, row->id, row->next_event_id, row->history_bytes);
}

void record_task_scheduled(struct arena *arena, struct event *event, const char *task_queue,
                           int64_t timeout_ns, int attempt)
{
    struct ev_workflow_task_scheduled *t = ev_workflow_task_scheduled(event);
    t->task_queue = task_queue_new(arena, task_queue);
    t->start_to_close_timeout = timeout_ns;
    t->attempt = attempt;
}

int record_needs_task(struct db *db, const struct execution_row *row, struct err *err)
{
    int64_t id;
    int type = 0;
    if (row->first_task_ns > 0 || row->paused) {
        return 0;
    }
    if (event_last(db, row->id, EVENT_WORKFLOW_TASK_SCHEDULED, EVENT_WORKFLOW_TASK_FAILED, &id,
                   &type, err) < 0) {
        return -1;
    }
    return type != EVENT_WORKFLOW_TASK_SCHEDULED;
}

void record_state(struct arena *arena, struct execution_row *row, const struct event *event)
{
    switch (event->type) {
    case EVENT_WORKFLOW_EXECUTION_STARTED:
        row->memo = map_text(arena, ev_workflow_execution_started(event)->memo);
        row->search_attributes =
            attributes_text(arena, ev_workflow_execution_started(event)->search_attributes);
        break;
    case EVENT_WORKFLOW_PROPERTIES_MODIFIED: {
        const struct payload_map *fresh = ev_workflow_properties_modified(event)->upserted_memo;
        row->memo = fresh && fresh->count > 0 ? map_merge(arena, row->memo, fresh) : row->memo;
        break;
    }
    case EVENT_UPSERT_WORKFLOW_SEARCH_ATTRIBUTES:
        row->search_attributes =
            attributes_merge(arena, row->search_attributes,
                             ev_upsert_workflow_search_attributes(event)->search_attributes);
        break;
    case EVENT_WORKFLOW_EXECUTION_PAUSED: {
        const char *reason = ev_workflow_execution_paused(event)->reason;
        row->paused = reason ? reason : "";
        break;
    }
    case EVENT_WORKFLOW_EXECUTION_UNPAUSED:
        row->paused = NULL;
        break;
    default:
        break;
    }
}
