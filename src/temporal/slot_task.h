/*
 * slot_task.h - one activity task in a slot: from the server's message to the answer.
 *
 * Owns: struct slot. Must not: poll, or know of other slots.
 * Threads: the slot's own; slot_task_beat from the pulse's.
 */
#ifndef TEMPORAL_SLOT_TASK_H
#define TEMPORAL_SLOT_TASK_H

#include "activity/registry.h"
#include "temporal/pulse.h"
#include "temporal/report.h"

struct slot {
    struct remote *remote;
    const Pb__PollActivityTaskQueueResponse *task;
    const char *task_queue;
    struct rpc_cancel beats; /* ends a heartbeat under way */
    /* made by slot_task_begin */
    struct dur_activity *attempt;
    struct beat beat;
    struct answer answer; /* of a task that cannot be run; else made by slot_task_answer */
    bool beats_fail;      /* said once in a row */
    /* slot.c's */
    struct slot *next;
    struct slot *next_inline;
    bool has_run;
};

/* Makes the attempt. False: it cannot be run, slot->answer says why. */
bool slot_task_begin(struct slot *slot, const struct registry *registry);
/* After the callback, out of the pulse. is_late: one try, and not for long. */
void slot_task_answer(struct slot *slot, struct rpc_cancel *cancel, bool is_late);
void slot_task_end(struct slot *slot);
enum pulse_result slot_task_beat(struct slot *slot, const char *details, int64_t timeout_ms,
                                 struct server_word *ret);

/* How long an attempt has from now on, by the server's own times of it; 0: for ever. */
int64_t slot_task_left_ns(const Pb__PollActivityTaskQueueResponse *task);

#endif
