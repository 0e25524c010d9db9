/*
 * idle.c - see idle.h.
 * Tests: tests/temporal/t8200-worker.sh
 */
#include "temporal/idle.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "temporal/remote.h"
#include "temporal/rpc.h"
#include "temporal/serving.h"

#define SETTLE_NS (500 * NS_PER_MS) /* between the two answers; the shortest quiet time too */
/* The same while runs are kept here: they are open as far as this worker knows, and a busy server's
 * list may lag behind by seconds. One that was ended elsewhere stays in the cache, so in the end
 * the list is believed. */
#define SETTLE_KEPT_NS (5 * NS_PER_S)
#define AGAIN_NS (2 * NS_PER_S) /* after one that says that runs are open */

enum { ASKING = -2, UNKNOWN = -1 }; /* else the number of open runs */

struct idle {
    struct errand errand;
    struct remote_serving *serving;
    char *query;
    int64_t quiet_ns;  /* so long without a task before it is asked at all */
    int64_t next_ns;   /* monotonic: not before */
    int64_t asked_ns;  /* when the last question was put */
    int64_t none_ns;   /* when it was put that was first answered "none"; 0: not */
    atomic_llong open; /* the answer */
    bool has_complained;
};

/* 'name', as the list's filter language quotes. */
static void add_quoted(struct str *out, const char *name)
{
    str_addc(out, '\'');
    for (; *name; name++) {
        if (*name == '\'' || *name == '\\') {
            str_addc(out, '\\');
        }
        str_addc(out, *name);
    }
    str_addc(out, '\'');
}

static char *query_of(const struct remote_serving *s)
{
    autostr struct str out = {0};

    str_add(&out, "ExecutionStatus = 'Running' AND TaskQueue IN (");
    for (size_t i = 0; i < s->worker->lane_count; i++) {
        autostr struct str name = {0};
        remote_queue_name(s->remote, &name, s->worker->lanes[i].task_queue);
        str_add(&out, i ? ", " : "");
        add_quoted(&out, str_c(&name));
    }
    str_addc(&out, ')');
    return str_take(&out);
}

struct idle *idle_new(struct remote_serving *s)
{
    if (!s->worker->until_idle && s->worker->idle_exit_ms <= 0) {
        return NULL;
    }
    int64_t wished_ns = s->worker->until_idle ? 0 : s->worker->idle_exit_ms * NS_PER_MS;
    struct idle *idle = mem_alloc(sizeof(*idle));
    idle->serving = s;
    idle->query = query_of(s);
    idle->quiet_ns = wished_ns > SETTLE_NS ? wished_ns : SETTLE_NS;
    atomic_init(&idle->open, UNKNOWN);
    return idle;
}

static void go_count(struct errand *errand, void *user)
{
    struct idle *idle = (struct idle *)errand;
    struct remote_serving *s = user;
    autopb ProtobufCMessage *answer = NULL;
    Pb__CountWorkflowExecutionsRequest request;
    struct err err = {0};

    pb__count_workflow_executions_request__init(&request);
    request.namespace_ = s->remote->name_space;
    request.query = idle->query;
    int rc = rpc_send(s->remote, &(struct rpc){.method = "CountWorkflowExecutions"}, &request.base,
                      &pb__count_workflow_executions_response__descriptor, &s->answers, &answer,
                      NULL, &err);
    if (rc == DUR_INVALID && !idle->has_complained) {
        idle->has_complained = true;
        remote_say(s->remote, 1, "whether runs are open cannot be told, so this worker goes on: %s",
                   err.text);
    }
    atomic_store(&idle->open,
                 rc == DUR_OK ? ((Pb__CountWorkflowExecutionsResponse *)answer)->count : UNKNOWN);
    serving_wake(s);
}

static bool is_busy(struct remote_serving *s)
{
    pthread_mutex_lock(&s->mutex);
    bool busy = s->in_hand > 0 || s->held > 0;
    pthread_mutex_unlock(&s->mutex);
    return busy;
}

/* What the last answer means. True: it is idle. */
static bool take_answer(struct idle *idle, int64_t now)
{
    int64_t open = atomic_exchange(&idle->open, UNKNOWN);
    int64_t settle_ns = idle->serving->cache.count ? SETTLE_KEPT_NS : SETTLE_NS;

    if (open == 0 && idle->none_ns && idle->asked_ns - idle->none_ns >= settle_ns &&
        idle->none_ns > idle->serving->task_ns) {
        return true;
    }
    if (open != 0) {
        idle->none_ns = 0;
    } else if (!idle->none_ns) {
        idle->none_ns = idle->asked_ns;
    }
    idle->next_ns = now + (open == 0 ? settle_ns : AGAIN_NS);
    return false;
}

bool idle_pass(struct idle *idle)
{
    if (!idle || atomic_load(&idle->open) == ASKING) {
        return false;
    }
    struct remote_serving *s = idle->serving;
    int64_t now = clock_mono_ns();
    if (idle->asked_ns && take_answer(idle, now)) {
        return true;
    }
    idle->asked_ns = 0;
    if (is_busy(s) || s->task_ns >= idle->none_ns) {
        idle->none_ns = 0;
    }
    if (now < idle_due_ns(idle) || is_busy(s)) {
        return false;
    }
    idle->asked_ns = now;
    atomic_store(&idle->open, ASKING);
    idle->errand.go = go_count;
    errand_give(s->errands, &idle->errand);
    return false;
}

int64_t idle_due_ns(struct idle *idle)
{
    if (!idle || atomic_load(&idle->open) == ASKING) {
        return INT64_MAX;
    }
    int64_t quiet_ns = time_later(idle->serving->task_ns, idle->quiet_ns);
    return quiet_ns > idle->next_ns ? quiet_ns : idle->next_ns;
}

void idle_free(struct idle *idle)
{
    if (idle) {
        free(idle->query);
        free(idle);
    }
}
