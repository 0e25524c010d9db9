/*
 * admit.c - queues with limits: who may start is decided in the journal (host.h).
 *
 * Owns: asking journal/admission.h at the right moments, that is when somebody came to such a queue
 * or left it, or its rate has a token again, and making the attempts of those that it let through.
 * Invariant: a line is `stirred` whenever the answer may have changed since it was asked last; a
 * turn that fails leaves all of them stirred.
 * Tests: tests/unit/test_engine_queue.c
 */
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "worker/host.h"

#define UNREADABLE_NS                                                                              \
    (300 * NS_PER_S) /* an activity of a run that cannot be read waits so long                     \
                      */

static void list_types(struct host *host)
{
    autostr struct str text = {0};
    struct json_out w = json_writer(&text, 0);
    json_begin_array(&w);
    for (const struct registered *r = host->registry->activities; r; r = r->next) {
        json_put_str(&w, r->name);
    }
    json_end_array(&w);
    free(host->types_json);
    host->types_json = str_take(&text);
}

void admit_limit(struct host *host, const char *task_queue, const struct queue_row *limits)
{
    struct line *line = claim_line(host, task_queue);
    free(line->limits);
    line->limits = mem_alloc(sizeof(*line->limits));
    *line->limits = *limits;
    line->limits->name = line->lane->name;
}

void admit_begin(struct host *host, struct txn *txn)
{
    autostr struct str names = {0};
    struct json_out w = json_writer(&names, 0);
    list_types(host);
    json_begin_array(&w);
    for (struct line *line = host->lines; line; line = line->next) {
        if (line->limits) {
            queue_put(txn, line->limits, host_wall_ns(host));
            json_put_str(&w, line->limits->name);
        }
    }
    json_end_array(&w);
    queue_keep(txn, str_c(&names));
    admit_stir_all(host);
}

void admit_enqueue(struct host *host, struct line *line, struct pending *p)
{
    activity_requeue(host->txn, p->live->id, p->scheduled_id, p->queued_ns);
    line->stirred = true;
}

void admit_stir(struct host *host, const struct lane *lane)
{
    for (struct line *line = host->lines; line; line = line->next) {
        line->stirred |= line->limits && line->lane == lane;
    }
}

void admit_stir_all(struct host *host)
{
    for (struct line *line = host->lines; line; line = line->next) {
        line->stirred |= line->limits != NULL;
        line->armed_ns = 0;
    }
}

/* The row says STARTED; now the rest of the engine has to know. */
static bool start(struct host *host, const struct admission *row)
{
    struct live *live = NULL;
    struct err err;
    int rc = live_get(host, row->execution, &live, &err);
    if (rc < 0) {
        txn_fail(host->txn, &err);
        return false;
    }
    struct pending *p = rc == 0 ? live_pending(live, row->scheduled_event_id) : NULL;
    const struct registered *activity = p ? registry_activity(host->registry, p->type) : NULL;
    if (!activity) { /* its run cannot be read: others go first for a while */
        activity_requeue(host->txn, row->execution, row->scheduled_event_id,
                         host->now_ns + UNREADABLE_NS);
        return false;
    }
    claim_admitted(host, p, activity);
    return true;
}

static bool fill(struct host *host, struct line *line)
{
    struct admission_list list;
    struct queue_ask ask = {.name = line->limits->name,
                            .types_json = host->types_json,
                            .free_slots = lane_free_slots(line->lane),
                            .epoch = host->epoch,
                            .now_ns = host->now_ns};
    bool any = false;
    line->stirred = false;
    if (ask.free_slots <= 0) {
        return false; /* whoever comes home stirs it */
    }
    queue_admit(host->txn, host->arena, &ask, &list);
    for (size_t i = 0; i < list.count; i++) {
        any |= start(host, &list.rows[i]);
    }
    if (list.more_at_ns && (line->armed_ns == 0 || line->armed_ns > list.more_at_ns)) {
        line->armed_ns = list.more_at_ns;
        heap_push(&host->wall, &(struct due){.at_ns = list.more_at_ns, .kind = DUE_QUEUE});
    }
    return any;
}

bool admit_fill(struct host *host)
{
    bool any = false;
    for (struct line *line = host->lines; line && !host->stopping; line = line->next) {
        if (line->limits && line->stirred && !txn_failed(host->txn)) {
            any |= fill(host, line);
        }
    }
    return any;
}
