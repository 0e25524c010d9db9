/*
 * builder.h - valid histories in a few lines, for tests and tools.
 *
 * Owns: the bookkeeping of ids, back-references and times. Each call appends one event (or the few
 * that always go together) and returns its id. Times start at 2026-01-02T03:04:05Z and advance by
 * 10 ms an event. Every text is copied. Must not: be used by the engine.
 *
 *   struct builder b;
 *   builder_init(&b, arena, "greet");
 *   build_task(&b);                                  // SCHEDULED, STARTED, COMPLETED
 *   int64_t act = build_activity(&b, "1", "hello", "\"ada\"");
 *   build_activity_done(&b, act, "\"hi ada\"");      // STARTED, COMPLETED
 *   build_task(&b);
 *   build_completed(&b, "\"hi ada\"");
 */
#ifndef HISTORY_BUILDER_H
#define HISTORY_BUILDER_H

#include "history/event.h"

struct builder {
    struct arena *arena;
    struct history history; /* what was built so far */
    int64_t now_ns;
    int64_t step_ns;
    const char *task_queue; /* "default" */
    const char *identity;   /* "builder@test" */
    int64_t scheduled;      /* of the workflow task */
    int64_t started;
    int64_t completed;
};

/* Appends event 1. run id 00000000-0000-4000-8000-000000000001, workflow id "<type>-1". */
void builder_init(struct builder *b, struct arena *arena, const char *workflow_type);
/* Any event; the caller fills the attributes of the returned event. */
struct event *build_event(struct builder *b, enum event_type type);

int64_t build_task(struct builder *b); /* all three; returns COMPLETED's id */
int64_t build_task_scheduled(struct builder *b);
int64_t build_task_started(struct builder *b);
int64_t build_task_completed(struct builder *b);
int64_t build_task_failed(struct builder *b, enum workflow_task_failed_cause cause,
                          struct failure *failure);
int64_t build_task_timed_out(struct builder *b, enum timeout_type type);

int64_t build_activity(struct builder *b, const char *activity_id, const char *type,
                       const char *input_json);
int64_t build_activity_started(struct builder *b, int64_t scheduled_id, int attempt);
/* These write STARTED (attempt 1) first unless build_activity_started did. */
int64_t build_activity_done(struct builder *b, int64_t scheduled_id, const char *result_json);
int64_t build_activity_failed(struct builder *b, int64_t scheduled_id, struct failure *failure,
                              enum retry_state state);
int64_t build_activity_timed_out(struct builder *b, int64_t scheduled_id, enum timeout_type type);
int64_t build_activity_cancel(struct builder *b, int64_t scheduled_id); /* the request */
int64_t build_activity_canceled(struct builder *b, int64_t scheduled_id);

int64_t build_timer(struct builder *b, const char *timer_id, int64_t duration_ns);
int64_t build_timer_fired(struct builder *b, int64_t started_id);
int64_t build_timer_canceled(struct builder *b, int64_t started_id);

int64_t build_signal(struct builder *b, const char *name, const char *input_json);
int64_t build_cancel_requested(struct builder *b, const char *cause);
int64_t build_marker(struct builder *b, const char *name, const char *key, const char *json);
int64_t build_memo(struct builder *b, const char *key, const char *json);
int64_t build_search_attribute(struct builder *b, const char *key, const char *json);
int64_t build_child(struct builder *b, const char *workflow_id, const char *type,
                    const char *input_json);
int64_t build_child_started(struct builder *b, int64_t initiated_id);
int64_t build_child_done(struct builder *b, int64_t initiated_id, const char *result_json);

int64_t build_completed(struct builder *b, const char *result_json);
int64_t build_failed(struct builder *b, struct failure *failure);
int64_t build_canceled(struct builder *b);
int64_t build_terminated(struct builder *b, const char *reason);
int64_t build_timed_out(struct builder *b);
int64_t build_continued(struct builder *b, const char *input_json);

#endif
