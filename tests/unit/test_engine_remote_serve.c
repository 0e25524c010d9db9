/*
 * test_engine_remote_serve.c - serving on a connected engine: what the server's host is given, who
 * may drive it, how it stops, event loops of one's own; who else serves; admin.h's looks at a
 * server. The server is tests/lib/remote_double.h.
 */
#include "tests/lib/remote_double.h"

#include <poll.h>

#include "base/clock.h"
#include "engine/admin.h"

#define ID "order-1"

static int work(dur_activity *act, const char *input, const char **result, void *user)
{
    (void)act;
    (void)input;
    (void)result;
    (void)user;
    return DUR_OK;
}

static int flow(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)ctx;
    (void)input;
    (void)result;
    (void)user;
    return DUR_OK;
}

static bool is_readable(int fd)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};
    return poll(&p, 1, 0) == 1;
}

/* --- dur_serve -------------------------------------------------------------------------------- */

static const struct remote_lane *lane(const char *name)
{
    const struct remote_worker *w = &double_remote.worker;
    size_t i = 0;
    while (i < w->lane_count && !str_eq(w->lanes[i].task_queue, name)) {
        i++;
    }
    cr_assert_lt(i, w->lane_count, "no lane %s", name);
    return &w->lanes[i];
}

/* The worker's own structs live while it serves. */
static void look_at_lanes(struct remote *remote)
{
    const struct remote_worker *w = &remote->worker;
    cr_assert_eq(w->lane_count, 4);
    cr_assert_eq(lane("default")->slots, 4);
    cr_assert_eq(lane("agent")->slots, 2);
    cr_assert_eq(lane("quick")->slots, 0);
    cr_assert_eq(lane("paced")->slots, 3);
    cr_assert_float_eq(lane("paced")->rate_per_s, 2.5, 1e-9);
    cr_assert_float_eq(lane("agent")->rate_per_s, 0.0, 1e-9);
    cr_assert_not_null(registry_activity(w->registry, "work"));
    cr_assert_not_null(registry_workflow(w->registry, "flow"));
    cr_assert(w->until_idle);
    cr_assert_eq(w->max_cached_runs, 4096);
    cr_assert_eq(w->stop_grace_ms, 30000);
}

Test(engine_remote_serve, the_host_gets_lanes_and_the_registry)
{
    static const int passes[] = {1, 0, 1, DUR_CANCELLED};
    dur_engine *e = double_connect();
    cr_assert_eq(dur_lane(e, "agent", 2), DUR_OK);
    cr_assert_eq(dur_lane(e, "quick", 0), DUR_OK);
    cr_assert_eq(dur_queue(e, "paced", &(dur_queue_options){.slots = 3, .rate_per_s = 2.5}),
                 DUR_OK);
    cr_assert_eq(dur_register_activity(e, "work", work, NULL), DUR_OK);
    cr_assert_eq(dur_register_workflow(e, "flow", flow, NULL), DUR_OK);
    double_remote.passes = passes;
    double_remote.on_pass = look_at_lanes;
    cr_assert_eq(dur_serve(e, DUR_UNTIL_IDLE), DUR_OK, "%s", dur_error(e));
    double_asked("begin\npass -1\npass -1\npass -1\npass -1\n");
    cr_assert_eq(double_remote.ended, 1);
    cr_assert_eq(dur_register_activity(e, "more", work, NULL), DUR_OK); /* serving is over */
    double_close(e);
}

Test(engine_remote_serve, default_may_be_declared_too)
{
    static const int passes[] = {DUR_CANCELLED};
    dur_engine *e = double_connect();
    cr_assert_eq(dur_lane(e, "default", 9), DUR_OK);
    double_remote.passes = passes;
    cr_assert_eq(dur_serve(e, DUR_UNTIL_STOPPED), DUR_OK);
    cr_assert_eq(double_remote.worker.lane_count, 1);
    cr_assert_not(double_remote.worker.until_idle);
    double_close(e);
}

Test(engine_remote_serve, a_worker_that_the_server_refuses_gives_up)
{
    static const int passes[] = {1, DUR_IO};
    dur_engine *e = double_connect();
    double_remote.passes = passes;
    double_remote.text = "127.0.0.1:7233: PollWorkflowTaskQueue: not allowed";
    cr_assert_eq(dur_serve(e, DUR_UNTIL_STOPPED), DUR_IO);
    cr_assert_str_eq(dur_error(e), double_remote.text);
    double_remote.code = DUR_NOT_FOUND; /* now it cannot even begin */
    cr_assert_eq(dur_serve(e, DUR_UNTIL_STOPPED), DUR_NOT_FOUND);
    cr_assert_eq(double_remote.begun, 1);
    double_remote.code = DUR_OK;
    double_close(e);
}

/* Within a pass: what workflow code may call. */
static void call_from_within(struct remote *remote)
{
    dur_engine *e = remote->on_pass_data;
    char *text = NULL;
    cr_assert_eq(dur_signal(e, ID, "go", NULL), DUR_INVALID);
    cr_assert_str_eq(dur_error(e), "workflow code and log callbacks must not call the engine");
    cr_assert_eq(dur_start(e, "T", ID, NULL, NULL), DUR_INVALID);
    cr_assert_eq(dur_query(e, ID, "q", NULL, 0, &text), DUR_INVALID);
    cr_assert_eq(dur_serve(e, DUR_UNTIL_STOPPED), DUR_INVALID);
    cr_assert_eq(dur_step(e, 0), DUR_INVALID);
    cr_assert_eq(dur_register_activity(e, "late", work, NULL), DUR_INVALID);
    *remote->worker.is_outside = true; /* an activity on this thread may call */
    cr_assert_eq(dur_signal(e, ID, "go", NULL), DUR_OK);
    cr_assert_eq(dur_step(e, 0), DUR_BUSY);
    *remote->worker.is_outside = false;
    dur_stop(e);
    cr_assert(is_readable(remote->worker.wake_fd));
    cr_assert(atomic_load(remote->worker.stop));
}

Test(engine_remote_serve, workflow_code_may_not_call_and_a_stop_is_heard)
{
    static const int passes[] = {1, 1, 1};
    dur_engine *e = double_connect();
    double_remote.passes = passes;
    double_remote.on_pass = call_from_within;
    double_remote.on_pass_data = e;
    cr_assert_eq(dur_serve(e, DUR_UNTIL_STOPPED), DUR_OK);
    double_asked("begin\npass -1\nsignal order-1 go - -\n");
    double_remote.on_pass = NULL;
    double_remote.passes = passes + 2; /* the stop is over: it serves again */
    dur_stop(e);
    cr_assert_eq(dur_serve(e, DUR_UNTIL_STOPPED), DUR_OK); /* stopped before it began */
    double_asked("");
    double_close(e);
}

/* --- dur_step --------------------------------------------------------------------------------- */

Test(engine_remote_serve, steps_keep_their_descriptor_informed)
{
    static const int passes[] = {1, 0, 1, 0, 0};
    uint64_t one = 1;
    dur_engine *e = double_connect();
    int fd = dur_fd(e);
    cr_assert_geq(fd, 0);
    cr_assert(is_readable(fd));      /* the first step is due */
    cr_assert_eq(dur_step(e, 0), 1); /* it begins */
    double_remote.passes = passes;
    cr_assert(is_readable(fd));
    cr_assert_eq(dur_step(e, 0), 1);
    cr_assert(is_readable(fd)); /* there may be more */
    cr_assert_eq(dur_step(e, 7), 0);
    cr_assert_not(is_readable(fd));
    double_asked("begin\npass 0\npass 7\n");
    cr_assert_eq(dur_serve(e, DUR_UNTIL_STOPPED), DUR_BUSY);
    cr_assert_eq(dur_signal(e, ID, "go", NULL), DUR_OK); /* between two steps */
    cr_assert_eq(write(double_remote.serving_fd, &one, sizeof(one)), sizeof(one));
    cr_assert(is_readable(fd)); /* the server sent a task */
    cr_assert_eq(dur_step(e, -1), 1);
    cr_assert_eq(dur_step(e, 0), 0);
    cr_assert_not(is_readable(fd));
    dur_stop(e);
    cr_assert(is_readable(fd));
    cr_assert_eq(dur_step(e, 0), DUR_CANCELLED);
    cr_assert_eq(double_remote.ended, 1);
    cr_assert_not(is_readable(fd));  /* it keeps quiet */
    cr_assert_eq(dur_step(e, 0), 1); /* and begins anew */
    double_close(e);                 /* which ends it */
}

Test(engine_remote_serve, a_step_that_fails_is_over)
{
    static const int passes[] = {DUR_IO};
    dur_engine *e = double_connect();
    cr_assert_eq(dur_step(e, 0), 1);
    double_remote.passes = passes;
    double_remote.text = "lost";
    cr_assert_eq(dur_step(e, 0), DUR_IO);
    cr_assert_str_eq(dur_error(e), "lost");
    cr_assert_eq(double_remote.ended, 1);
    cr_assert_not(is_readable(dur_fd(e)));
    double_close(e);
}

/* --- who serves ------------------------------------------------------------------------------- */

static char *identity_of(const char *form, pid_t pid)
{
    char host[256] = "";
    gethostname(host, sizeof(host) - 1);
    return str_eq(form, "PID@HOST") ? mem_printf("%d@%s", (int)pid, host)
                                    : mem_printf("factory-worker@%s:%d", host, (int)pid);
}

/* A process id that nobody has any more. */
static pid_t gone_pid(void)
{
    pid_t pid = fork();
    if (pid == 0) {
        _exit(0);
    }
    waitpid(pid, NULL, 0);
    return pid;
}

Test(engine_remote_serve, pollers_that_live_are_who_serves)
{
    dur_engine *e = double_connect();
    int64_t now = clock_wall_ns(), pid = -1;
    autofree char *dead = identity_of("PID@HOST", gone_pid());
    autofree char *mine = identity_of("PID@HOST", getpid());
    autofree char *named = identity_of("factory-worker@HOST:PID", getpid());
    struct remote_poller rows[] = {{.identity = dead, .last_seen_ns = now},
                                   {.identity = "77@elsewhere", .last_seen_ns = now},
                                   {.identity = mine, .last_seen_ns = now}};
    cr_assert_eq(dur_served_by(e, &pid), 0);
    cr_assert_eq(pid, -1);
    double_remote.pollers = (struct remote_pollers){rows, 1};
    cr_assert_eq(dur_served_by(e, &pid), 0); /* it is of this machine and gone */
    double_remote.pollers.count = 2;
    cr_assert_eq(dur_served_by(e, &pid), 1);
    cr_assert_eq(pid, 0); /* another machine's */
    double_remote.pollers.count = 3;
    cr_assert_eq(dur_served_by(e, &pid), 1);
    cr_assert_eq(pid, getpid());
    rows[2].identity = named;
    pid = 0;
    cr_assert_eq(dur_served_by(e, &pid), 1);
    cr_assert_eq(pid, getpid());
    rows[1].last_seen_ns = rows[2].last_seen_ns = now - 600 * NS_PER_S;
    cr_assert_eq(dur_served_by(e, NULL), 0); /* the server remembers who left */
    str_reset(&double_remote.log);
    cr_assert_eq(dur_lane(e, "agent", 1), DUR_OK);
    cr_assert_eq(dur_served_by(e, NULL), 0);
    double_asked("pollers default\npollers agent\n");
    double_remote.code = DUR_IO;
    cr_assert_eq(dur_served_by(e, NULL), DUR_IO);
    double_remote.code = DUR_OK;
    double_close(e);
}

Test(engine_remote_serve, identities_in_other_forms_have_no_pid)
{
    char host[256] = "";
    gethostname(host, sizeof(host) - 1);
    dur_engine *e = double_connect();
    static const char *const forms[] = {
        "%s",    "@%s",    "x@%s",     "-1@%s", "0@%s", "99999999999@%s",
        "a@%s:", "a@%s:b", "a@%s:1:2", "7@%sx"};
    for (size_t i = 0; i < ARRAY_LEN(forms); i++) {
        autostr struct str identity = {0};
        const char *at = strstr(forms[i], "%s");
        str_addn(&identity, forms[i], (size_t)(at - forms[i]));
        str_add(&identity, host);
        str_add(&identity, at + 2);
        struct remote_poller row = {.identity = str_c(&identity), .last_seen_ns = clock_wall_ns()};
        int64_t pid = -1;
        double_remote.pollers = (struct remote_pollers){&row, 1};
        cr_assert_eq(dur_served_by(e, &pid), 1, "%s", str_c(&identity));
        cr_assert_eq(pid, 0, "%s", str_c(&identity));
    }
    double_close(e);
}

/* --- admin.h ---------------------------------------------------------------------------------- */

Test(engine_remote_serve, admin_looks_at_servers_too)
{
    dur_engine *e = double_connect();
    autoarena struct arena *arena = arena_new();
    struct admin_server server;
    struct admin_queues queues;
    struct admin_lane busy;
    struct admin_remote remote;
    struct remote_poller row = {.identity = "1@elsewhere", .last_seen_ns = clock_wall_ns()};
    double_remote.pollers = (struct remote_pollers){&row, 1};
    double_remote.info = (struct remote_info){.server_version = "1.30.2",
                                              .name_space = "default",
                                              .namespace_state = "Registered",
                                              .retention_ms = 86400000,
                                              .is_encrypted = true,
                                              .server_time_skew_ms = -3};
    cr_assert(admin_is_remote(e));
    cr_assert_eq(admin_remote(e, arena, &remote), DUR_OK);
    cr_assert_str_eq(remote.address, "127.0.0.1:7233");
    cr_assert_str_eq(remote.version, "1.30.2");
    cr_assert_str_eq(remote.namespace_state, "Registered");
    cr_assert(remote.is_encrypted);
    cr_assert_eq(remote.skew_ms, -3);
    cr_assert_eq(dur_lane(e, "agent", 1), DUR_OK);
    cr_assert_eq(admin_server(e, arena, &server), DUR_OK);
    cr_assert(server.is_serving);
    cr_assert_eq(server.engines, 1);
    cr_assert_eq(admin_queues(e, arena, &queues), DUR_OK);
    cr_assert_eq(queues.count, 2);
    cr_assert_str_eq(queues.rows[1].name, "agent");
    cr_assert_eq(queues.rows[1].pollers, 1);
    cr_assert_eq(queues.rows[1].waiting, ADMIN_UNKNOWN);
    cr_assert_eq(admin_lane(e, "agent", &busy), DUR_OK);
    cr_assert_eq(busy.running, ADMIN_UNKNOWN);
    double_close(e);
}

Test(engine_remote_serve, admin_shows_activities_of_a_server)
{
    dur_engine *e = double_connect();
    autoarena struct arena *arena = arena_new();
    struct admin_activities list;
    struct remote_pending_activity rows[] = {
        {.activity_id = "12",
         .type = "A",
         .task_queue = "q",
         .state = REMOTE_BACKOFF,
         .attempt = 3,
         .next_attempt_ns = 7,
         .last_failure = "no"},
        {.activity_id = "mine", .type = "B", .task_queue = "q", .state = REMOTE_SCHEDULED},
        {.activity_id = "13",
         .type = "C",
         .task_queue = "q",
         .state = REMOTE_STARTED,
         .started_ns = 5,
         .cancel_requested = true}};
    double_remote.activities = (struct remote_pending_activities){rows, 3};
    cr_assert_eq(admin_activities(e, arena, ID, &list), DUR_OK);
    cr_assert_eq(list.count, 3);
    cr_assert_eq(list.rows[0].state, ADMIN_BACKOFF);
    cr_assert_eq(list.rows[0].scheduled_event_id, 12);
    cr_assert_eq(list.rows[0].attempt, 3);
    cr_assert_str_eq(list.rows[0].last_failure, "no");
    cr_assert_eq(list.rows[1].state, ADMIN_WAITING);
    cr_assert_eq(list.rows[1].ahead, ADMIN_UNKNOWN);
    cr_assert_eq(list.rows[1].scheduled_event_id, 0);
    cr_assert_eq(list.rows[2].state, ADMIN_RUNNING);
    cr_assert(list.rows[2].cancel_requested);
    double_asked("activities order-1\n");
    cr_assert_eq(admin_activities(e, arena, NULL, &list), DUR_NOT_FOUND);
    double_close(e);
}

Test(engine_remote_serve, admin_reads_histories_of_a_server)
{
    dur_engine *e = double_connect();
    autoarena struct arena *arena = arena_new();
    autoloaded struct admin_loaded *loaded = NULL;
    struct admin_history shown;
    struct admin_verdict verdict;
    struct history h = {0};
    struct event *event = history_append(&h, arena, EVENT_WORKFLOW_EXECUTION_STARTED);
    ev_workflow_execution_started(event)->workflow_type = "Order";
    event = history_append(&h, arena, EVENT_WORKFLOW_EXECUTION_SIGNALED);
    ev_workflow_execution_signaled(event)->signal_name = "go";
    double_remote.history = &h;
    double_remote.piece = 1;
    double_remote.description =
        (dur_description){.workflow_id = ID, .run_id = "r1", .history_bytes = 321};
    cr_assert_eq(admin_history(e, arena, ID, &shown), DUR_OK);
    cr_assert_eq(shown.count, 2);
    cr_assert_eq(shown.bytes, 321);
    cr_assert_str_eq(shown.events[1].name, "go");
    double_asked("describe order-1\nhistory order-1@r1\n"); /* one run, whatever comes meanwhile */
    cr_assert_eq(admin_load_run(e, ID, &loaded), DUR_OK);
    admin_loaded_judge(loaded, &verdict);
    cr_assert_eq(verdict.events, 2);
    cr_assert_str_eq(verdict.workflow_type, "Order");
    double_remote.code = DUR_NOT_FOUND;
    double_remote.text = "no run has the id order-1";
    cr_assert_eq(admin_history(e, arena, ID, &shown), DUR_NOT_FOUND);
    cr_assert_str_eq(dur_error(e), double_remote.text);
    double_close(e);
}

Test(engine_remote_serve, ids_by_prefix_are_distinct_and_the_whole_id_is_first)
{
    static const dur_description rows[] = {{.workflow_id = "f-2"},
                                           {.workflow_id = "f-1"},
                                           {.workflow_id = "f-2"},
                                           {.workflow_id = "f-3"}};
    dur_engine *e = double_connect();
    autoarena struct arena *arena = arena_new();
    struct admin_ids ids;
    double_remote.list = rows;
    double_remote.list_count = 4;
    double_remote.description = (dur_description){.workflow_id = "f-1", .run_id = "r"};
    cr_assert_eq(admin_ids_with_prefix(e, arena, "f-1", 10, &ids), DUR_OK);
    cr_assert_eq(ids.count, 3);
    cr_assert_str_eq(ids.ids[0], "f-1");
    cr_assert_str_eq(ids.ids[1], "f-2");
    cr_assert_str_eq(ids.ids[2], "f-3");
    double_asked("describe f-1\nlist WorkflowId STARTS_WITH 'f-1' status=0 after=0 limit=100\n");
    cr_assert_eq(admin_ids_with_prefix(e, arena, "it's", 2, &ids), DUR_OK);
    cr_assert_eq(ids.count, 2);
    double_asked("describe it's\nlist WorkflowId STARTS_WITH 'it''s' status=0 after=0 limit=100\n");
    cr_assert_eq(admin_ids_with_prefix(e, arena, "x", 0, &ids), DUR_OK);
    cr_assert_eq(ids.count, 0);
    double_asked("");
    double_close(e);
}
