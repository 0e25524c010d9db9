/*
 * test_pending.c - what is told of activities that are pending on a real server, and of a workflow
 * task that fails. Run by t8300-activities.sh, which starts the server.
 */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "history/failure.h"
#include "temporal/client.h"
#include "tests/temporal/hand.h"

#define TEST(name) Test(pending, name, .timeout = 40)

static const struct remote_pending_activity *look(struct hand *h, size_t count)
{
    struct remote_pending_activities list = {0};
    struct err err = {0};

    int rc = client_activities(h->remote, h->arena, h->workflow_id, &list, &err);
    cr_assert_eq(rc, DUR_OK, "%s", err.text);
    cr_assert_eq(list.count, count);
    return list.rows;
}

static int send(struct hand *h, const char *method, const ProtobufCMessage *request,
                const ProtobufCMessageDescriptor *type, ProtobufCMessage **ret)
{
    struct err err = {0};
    int rc = rpc_send(h->remote, &(struct rpc){.method = method, .kind = RPC_POLL}, request, type,
                      NULL, ret, NULL, &err);
    cr_assert_eq(rc, DUR_OK, "%s", err.text);
    return rc;
}

/* A worker takes the activity. Its task's token. */
static ProtobufCBinaryData take(struct hand *h)
{
    Pb__PollActivityTaskQueueRequest request;
    autopb ProtobufCMessage *answer = NULL;

    pb__poll_activity_task_queue_request__init(&request);
    request.namespace_ = h->remote->name_space;
    request.identity = h->remote->identity;
    request.task_queue = value_task_queue(h->remote, h->arena, h->queue);
    send(h, "PollActivityTaskQueue", &request.base,
         &pb__poll_activity_task_queue_response__descriptor, &answer);
    ProtobufCBinaryData token = ((Pb__PollActivityTaskQueueResponse *)answer)->task_token;
    cr_assert_gt(token.len, 0);
    return (ProtobufCBinaryData){token.len, arena_dup(h->arena, token.data, token.len)};
}

static void fail(struct hand *h, ProtobufCBinaryData token)
{
    Pb__RespondActivityTaskFailedRequest request;

    pb__respond_activity_task_failed_request__init(&request);
    request.namespace_ = h->remote->name_space;
    request.identity = h->remote->identity;
    request.task_token = token;
    request.failure = value_failure(
        h->remote, h->arena, failure_application(h->arena, "Broken", "no luck", false, NULL));
    send(h, "RespondActivityTaskFailed", &request.base, NULL, NULL);
}

TEST(every_state_is_told)
{
    struct hand h;
    hand_begin(&h, "pending");
    const struct hand_activity a = {.type = "Pack",
                                    .start_to_close_ms = 30000,
                                    .schedule_to_close_ms = 900000,
                                    .initial_ms = 600000};
    look(&h, 0);
    hand_schedule(&h, &a, 1);
    const struct remote_pending_activity *row = look(&h, 1);
    cr_expect_eq(row->state, REMOTE_SCHEDULED);
    cr_expect_str_eq(row->activity_id, "1");
    cr_expect_str_eq(row->type, "Pack");
    cr_expect_str_eq(row->task_queue, h.queue);
    cr_expect_eq(row->attempt, 1);
    cr_expect_eq(row->started_ns, 0);
    cr_expect_eq(row->next_attempt_ns, 0);
    cr_expect_null(row->last_failure);
    cr_expect_gt(row->scheduled_ns, 0);
    cr_expect_eq(row->deadline_ns, row->scheduled_ns + 900 * NS_PER_S);

    ProtobufCBinaryData token = take(&h);
    row = look(&h, 1);
    cr_expect_eq(row->state, REMOTE_STARTED);
    cr_expect_geq(row->started_ns, row->scheduled_ns);
    cr_expect_not(row->cancel_requested);

    fail(&h, token);
    row = look(&h, 1);
    cr_expect_eq(row->state, REMOTE_BACKOFF);
    cr_expect_eq(row->attempt, 2);
    cr_expect_gt(row->next_attempt_ns, clock_wall_ns());
    cr_expect_str_eq(row->last_failure, "application Broken: no luck");
    hand_end(&h);
}

TEST(a_cancel_request_is_told)
{
    struct hand h;
    hand_begin(&h, "pending");
    const struct hand_activity a = {.type = "Pack", .start_to_close_ms = 30000};
    hand_schedule(&h, &a, 1);
    take(&h);
    hand_cancel(&h, "1");
    const struct remote_pending_activity *row = look(&h, 1);
    cr_expect_eq(row->state, REMOTE_STARTED);
    cr_expect(row->cancel_requested);
    hand_end(&h);
}

TEST(nobody_has_none)
{
    struct hand h;
    struct remote_pending_activities list = {0};
    struct err err = {0};
    hand_begin(&h, "pending");
    cr_expect_eq(client_activities(h.remote, h.arena, "nobody", &list, &err), DUR_NOT_FOUND);
    cr_expect_str_eq(err.text, "no run has the id nobody");
    hand_end(&h);
}
