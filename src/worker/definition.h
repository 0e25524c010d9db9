/*
 * definition.h - a dur_schedule as the JSON text that its row keeps.
 *
 * Owns: the form of that text, which `factory engine schedule describe --json` shows too. Must not:
 * check what it means (calendar.h and the engine do). Members that have their default are left out;
 * members that are not known are passed over when read, so an older program reads a newer text.
 *
 *     {"spec": {"cron": ["30 3 * * *"], "intervals": [{"everyMs": 3600000, "phaseMs": 0}],
 *               "except": [], "timeZone": "Europe/Berlin", "start": "2026-01-02T03:04:05Z",
 *               "end": ..., "jitterMs": 1000},
 *      "action": {"workflowType": "Clean", "idPrefix": ..., "input": {...}, "taskQueue": ...,
 *                 "executionTimeoutMs": ..., "runTimeoutMs": ..., "taskTimeoutMs": ...,
 *                 "retry": {"initialIntervalMs": ..., "backoffCoefficient": 2.0,
 *                           "maximumIntervalMs": ..., "maximumAttempts": 3,
 *                           "nonRetryableTypes": []},
 *                 "memo": {...}, "searchAttributes": {...}, "priority": 3},
 *      "policy": {"overlap": "Skip", "catchupWindowMs": ..., "pauseOnFailure": true}}
 *
 * What changes by itself (paused, note, remaining) has columns of its own and is not in here.
 */
#ifndef WORKER_DEFINITION_H
#define WORKER_DEFINITION_H

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "durable.h"

/* input, memo and search_attributes must be JSON. */
void definition_print(struct str *out, const dur_schedule *schedule);
/* Everything in arena; paused, note and remaining_actions stay zero. "BadSchedule". */
int definition_read(struct arena *arena, const char *text, dur_schedule *ret, struct err *err);

const char *definition_overlap_name(dur_overlap overlap); /* "Skip", "BufferOne" ...; never NULL */

#endif
