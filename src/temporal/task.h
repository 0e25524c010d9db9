/*
 * task.h - one workflow task (or query) on its way: from the server to the loop, and back.
 *
 * Owns: struct task and what its life costs in calls: the further pages of its history, the whole
 * history when what came does not do, the answer.
 *
 *     poll.c  --task_read-->  loop (drive.c)  --task_answer-->  errand  --> loop  --> freed
 *                               |    ^                                        `--> the next task,
 *                               '----' task_fetch: whole history                    when one came
 * back
 *
 * Must not: run code; touch the cache.
 * Threads: a task belongs to one thread at a time: whoever holds it hands it on.
 */
#ifndef TEMPORAL_TASK_H
#define TEMPORAL_TASK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "history/event.h"
#include "temporal/cancel.h"
#include "temporal/errand.h"
#include "temporal/proto/service.pb-c.h"

struct remote_serving;
struct remote;

enum task_stage {
    TASK_ARRIVED,  /* its events are what the server sent: a part, or all */
    TASK_ANSWERED, /* the answer's fate is known */
};

enum task_reply { REPLY_NONE, REPLY_COMPLETED, REPLY_FAILED, REPLY_QUERY };

struct task {
    struct errand errand; /* first: while a thread does something for it */
    struct task *next;    /* in the loop's list */
    struct arena *arena;
    ProtobufCMessage *message;                     /* heap: what `from` is part of */
    const Pb__PollWorkflowTaskQueueResponse *from; /* never NULL, nor are its execution and type */
    struct history history;
    bool is_whole; /* history begins with event 1 */
    bool is_again; /* drive.c: its second try */
    int fault;     /* 0, or why it could not be read: a code of durable.h */
    struct err err;
    int64_t expires_ns; /* monotonic: the server has given it up by then */
    enum task_stage stage;

    enum task_reply reply; /* what is sent back: one of these */
    union {
        Pb__RespondWorkflowTaskCompletedRequest completed;
        Pb__RespondWorkflowTaskFailedRequest failed;
        Pb__RespondQueryTaskCompletedRequest query;
    };
    const int64_t *left; /* signals to send on when it has been taken: their ids (carry.h) */
    size_t left_count;
    bool closes;            /* the answer closes the run */
    uint64_t serial;        /* of the cached run that answered; 0: none */
    int code;               /* of the answer: durable.h's */
    struct task *following; /* came back with it */
};

/* Takes message over, which holds `from`. NULL when `from` is no task (a poll that timed out). */
struct task *task_new(ProtobufCMessage *message, const Pb__PollWorkflowTaskQueueResponse *from);
struct task *task_free(struct task *task); /* with `following`; NULL fine; returns NULL */

/* Makes the history from what came and the pages behind it. A failure is in task->fault. */
void task_read(struct remote *remote, struct task *task, struct rpc_cancel *cancel);
/* The whole history in place of what came. A failure is in task->fault. */
void task_read_whole(struct remote *remote, struct task *task, struct rpc_cancel *cancel);
/* Sends the answer; task->code, task->err and task->following tell. */
void task_send(struct remote *remote, struct task *task, struct rpc_cancel *cancel);

bool task_is_query(const struct task *task); /* a question alone, no workflow task */
/* The answer is that the task failed. Texts are copied. */
void task_set_failed(struct remote *remote, struct task *task, int cause, const char *message);

#endif
