/*
 * validate.h - the order that events of one run must have.
 *
 * Owns: the rules below as an incremental check, O(1) per event, used on imported histories and by
 * the engine before it appends. Must not: change events, or judge payloads and time stamps.
 *
 * Rules (named in every error):
 *   H1  event 1 is WORKFLOW_EXECUTION_STARTED and no other event is
 *   H2  ids are 1, 2, 3, ... without a gap
 *   H3  one workflow task at a time: SCHEDULED, STARTED, then COMPLETED, FAILED or TIMED_OUT; a
 *       scheduled task may also time out unstarted (started id 0)
 *   H4  nothing stands between STARTED and the task's outcome, but the event that closes the run
 *       from outside
 *   H5  command events follow their COMPLETED event directly (a reset copies none)
 *   H6  back-references name an earlier event of the right kind that is still open
 *   H7  an activity: SCHEDULED, at most one STARTED, exactly one outcome; COMPLETED and FAILED need
 *       STARTED; CANCELED needs a cancel request; ids of open activities differ
 *   H8  a timer: STARTED, then FIRED or CANCELED; ids of open timers differ
 *   H9  a child: INITIATED, then START_FAILED, or STARTED and one outcome
 *   H10 an external request: INITIATED, then one answer
 *   H11 an update: ACCEPTED once per id, COMPLETED after it
 *   H12 one closing event, the last; a command closes only without an open workflow task
 *   H13 an event has attributes, of its type; an unknown type must be marked worker_may_ignore;
 *       WORKFLOW_TASK_STARTED has a time
 *   H14 workflow_task_completed_event_id is the id of the COMPLETED event before (warning only)
 *
 * Warnings, for what Temporal's own replayers accept: H14 (recordings of the Java test server are
 * off by one); WORKFLOW_TASK_COMPLETED without its started id (the same server); a timer id that
 * differs between STARTED and its end; an update completed without accepted_event_id (servers of
 * 2023; found by its update id then).
 *
 * After an error the validator stays as it was before that event. When a transaction rolls back,
 * the run's validator is thrown away and fed again from the journal.
 */
#ifndef HISTORY_VALIDATE_H
#define HISTORY_VALIDATE_H

#include "base/err.h"
#include "base/str.h"
#include "history/event.h"

struct validator; /* one run; one thread at a time */

struct validator *validator_new(void);
struct validator *validator_free(struct validator *v); /* NULL fine; returns NULL */
static inline void validator_cleanup_(struct validator **v)
{
    *v = validator_free(*v);
}
#define autovalidator cleanup_with(validator_cleanup_)

/* Check and take in the next event. 0 good; 1 good, but validator_warning() says what is unusual;
 * -1 refused (permanent, name "HistoryInvalid"): "event 7 ActivityTaskStarted breaks H6: ...". */
int validator_add(struct validator *v, const struct event *event, struct err *err);
const char *validator_warning(const struct validator *v); /* of the last event; "" when none */

/* What is open now (for status, and for the engine's own checks). */
bool validator_is_closed(const struct validator *v);
bool validator_task_scheduled(const struct validator *v); /* a task is SCHEDULED or STARTED */
bool validator_task_started(const struct validator *v);
size_t validator_open_activities(const struct validator *v);
size_t validator_open_timers(const struct validator *v);
size_t validator_open_children(const struct validator *v);

/* Whole history. Returns like validator_add for the first offending event; warnings (one a line,
 * at most 20 and then a count) are appended to warnings unless NULL. */
int history_validate(const struct history *history, struct str *warnings, struct err *err);

#endif
