/*
 * updates.c - what clients ask of runs by dur_update(), between the table and the run (host.h).
 *
 * Owns: giving the admitted updates to a run with its next task, and writing down what became of
 * them in the turn's transaction. An update stays admitted until a task settles it: a crash, a task
 * that fails or a run that nobody here can execute loses none.
 * Must not: decide whether an update is accepted (exec does).
 * Tests: tests/unit/test_engine_update.c
 */
#include "history/failure.h"
#include "journal/run_update.h"
#include "worker/host.h"

#define UPDATES_AT_ONCE 256 /* of one task; the others come with the next */

int updates_load(struct host *host, struct live *live, struct err *err)
{
    struct run_update_list list;
    if (run_update_list_admitted(txn_db(host->txn), host->arena, live->id, 1, &list, err) < 0) {
        return -1;
    }
    if (list.count) {
        updates_note(live);
    }
    return 0;
}

void updates_note(struct live *live)
{
    live->has_updates = live->wake = true;
}

void updates_offer(struct host *host, struct live *live)
{
    struct run_update_list list;
    struct err err;
    if (!live->has_updates) {
        return;
    }
    if (run_update_list_admitted(txn_db(host->txn), host->arena, live->id, UPDATES_AT_ONCE, &list,
                                 &err) < 0) {
        txn_fail(host->txn, &err);
        return;
    }
    struct run_update *given = arena_array_of(host->arena, struct run_update, list.count + 1);
    for (size_t i = 0; i < list.count; i++) {
        given[i] = (struct run_update){.update_id = list.rows[i].update_id,
                                       .name = list.rows[i].name,
                                       .input = list.rows[i].input,
                                       .identity = list.rows[i].identity};
    }
    run_give_updates(live->run, given, list.count);
    live->more_updates = list.count == UPDATES_AT_ONCE;
}

static const char *stored(struct host *host, const struct failure *failure)
{
    autostr struct str text = {0};
    store_failure_encode(failure, &text);
    return arena_strdup(host->arena, str_c(&text));
}

void updates_settle(struct host *host, struct live *live, const struct run_output *out)
{
    for (size_t i = 0; i < out->rejection_count; i++) {
        run_update_reject(host->txn, live->id, out->rejections[i].update_id,
                          stored(host, out->rejections[i].failure));
        host->has_closed = true;
    }
    if (out->unfinished) {
        host_log(host, HOST_LOG_WARN,
                 "run %s (%s) ended while %d handlers of its signals and updates ran: they are cut "
                 "off (dur_all_handlers_finished() tells)",
                 live->workflow_id, live->type, out->unfinished);
    }
    if (live->has_updates) {
        live->has_updates = live->more_updates;
        live->wake |= live->more_updates;
    }
}

void updates_accepted(struct host *host, struct live *live, const struct event *event)
{
    const struct ev_workflow_execution_update_accepted *a =
        ev_workflow_execution_update_accepted(event);
    run_update_accept(host->txn, live->id, a->protocol_instance_id, event->id);
    host->has_closed = true;
}

void updates_completed(struct host *host, struct live *live, const struct event *event)
{
    const struct ev_workflow_execution_update_completed *a =
        ev_workflow_execution_update_completed(event);
    const struct update_outcome *o = a->outcome;
    run_update_complete(host->txn, live->id, a->meta->update_id,
                        o->failure ? NULL : payloads_first_json(o->success, NULL),
                        o->failure ? stored(host, o->failure) : NULL);
    host->has_closed = true;
}
