/*
 * stream.c - see stream.h.
 *
 * Owns: the events' JSON. A stream sleeps by suspending its connection and is woken by output, the
 * process' end, its keepalive or its deadline; encoding happens only when the socket takes bytes,
 * so a client that does not read costs one encoded event (about 45 KiB) and nothing more. Tests:
 * tests/unit/test_guest_process.c, tests/unit/test_guest_limits.c
 */
#include "guest/stream.h"

#include "base/clock.h"
#include "base/digest.h"
#include "base/mem.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#define EVENT_BYTES ((size_t)32 << 10) /* raw bytes in one data event, as envd */
#define BLOCK_BYTES ((size_t)48 << 10)
#define STALL_NS (5 * NS_PER_S)

struct stream {
    struct stream *next;
    struct process *process;
    struct MHD_Connection *connection;
    bool is_start;
    bool suspended;
    bool started; /* the start event is out */
    bool done;    /* the end-stream envelope is in `pending` or out */
    int turn;     /* which output is looked at first */
    uint64_t pos[STREAMS];
    struct str pending;
    size_t pending_off;
    int64_t keepalive_ns;
    int64_t event_mono_ns; /* last event made */
    int64_t pull_mono_ns;  /* last time the socket asked */
    int64_t deadline_mono_ns;
};

struct stream *stream_next(const struct stream *s)
{
    return s->next;
}

uint64_t stream_pos(const struct stream *s, int which)
{
    return s->pos[which];
}

bool stream_is_holding(const struct stream *s)
{
    return s->suspended || clock_mono_ns() - s->pull_mono_ns < STALL_NS;
}

void stream_wake(struct stream *s)
{
    if (s->suspended) {
        s->suspended = false;
        s->pull_mono_ns = clock_mono_ns();
        MHD_resume_connection(s->connection);
    }
}

/* --- events --- */

static void put_event(struct stream *s, const struct str *json)
{
    wire_put_envelope(&s->pending, 0, json->ptr, json->len);
    s->event_mono_ns = clock_mono_ns();
}

static void put_start(struct stream *s)
{
    autostr struct str json = {0};
    str_addf(&json, "{\"event\":{\"start\":{\"pid\":%d}}}", s->process->pid);
    put_event(s, &json);
    s->started = true;
}

static void put_data(struct stream *s, int which, const char *bytes, size_t len)
{
    autostr struct str json = {0};
    str_addf(&json, "{\"event\":{\"data\":{\"%s\":\"", which == OUT ? "stdout" : "stderr");
    base64_encode(&json, bytes, len);
    str_add(&json, "\"}}}");
    put_event(s, &json);
}

static void put_dropped(struct stream *s, int which, uint64_t dropped)
{
    autofree char *line =
        mem_printf("\n[factory: %llu bytes of output dropped here]\n", (unsigned long long)dropped);
    put_data(s, which, line, strlen(line));
}

/* As Go's os.ProcessState prints it. */
static void status_text(struct str *out, int wait_status)
{
    static const struct {
        int signal;
        const char *name;
    } names[] = {
        {SIGHUP, "hangup"},
        {SIGINT, "interrupt"},
        {SIGQUIT, "quit"},
        {SIGILL, "illegal instruction"},
        {SIGTRAP, "trace/breakpoint trap"},
        {SIGABRT, "aborted"},
        {SIGBUS, "bus error"},
        {SIGFPE, "floating point exception"},
        {SIGKILL, "killed"},
        {SIGUSR1, "user defined signal 1"},
        {SIGSEGV, "segmentation fault"},
        {SIGUSR2, "user defined signal 2"},
        {SIGPIPE, "broken pipe"},
        {SIGALRM, "alarm clock"},
        {SIGTERM, "terminated"},
    };
    if (!WIFSIGNALED(wait_status)) {
        str_addf(out, "exit status %d", WEXITSTATUS(wait_status));
        return;
    }
    const char *name = NULL;
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        name = names[i].signal == WTERMSIG(wait_status) ? names[i].name : name;
    }
    if (name) {
        str_addf(out, "signal: %s", name);
    } else {
        str_addf(out, "signal: signal %d", WTERMSIG(wait_status));
    }
    if (WCOREDUMP(wait_status)) {
        str_add(out, " (core dumped)");
    }
}

void stream_put_end(struct json_out *w, const struct process *p)
{
    autostr struct str status = {0};
    status_text(&status, p->wait_status);
    bool signalled = WIFSIGNALED(p->wait_status);
    int code = signalled ? -1 : WEXITSTATUS(p->wait_status);
    json_begin_object(w);
    json_kv_i64_opt(w, "exitCode", code);
    if (!signalled) {
        json_kv_bool(w, "exited", true);
    }
    json_kv_str(w, "status", str_c(&status));
    if (code != 0) {
        json_kv_str(w, "error", str_c(&status));
    }
    if (p->timed_out) {
        json_kv_bool(w, "timedOut", true);
    }
    json_end_object(w);
}

static void put_end(struct stream *s)
{
    autostr struct str json = {0};
    struct json_out w = json_writer(&json, 0);
    json_begin_object(&w);
    json_key(&w, "event");
    json_begin_object(&w);
    json_key(&w, "end");
    stream_put_end(&w, s->process);
    json_end_object(&w);
    json_end_object(&w);
    put_event(s, &json);
    wire_put_end(&s->pending, NULL);
    s->done = true;
}

static void put_deadline(struct stream *s)
{
    struct wire_error error;
    wire_fail(&error, WIRE_DEADLINE_EXCEEDED, "the operation timed out");
    wire_put_end(&s->pending, &error);
    s->done = true;
}

static void put_broken(struct stream *s)
{
    struct wire_error error;
    wire_fail(&error, WIRE_INTERNAL, "a part of the input or output of process %d is lost: %s",
              s->process->pid, strerrorname_np(s->process->broken));
    wire_put_end(&s->pending, &error);
    s->done = true;
}

/* One data event from whichever output has something, taking turns. */
static bool put_output(struct stream *s)
{
    for (int i = 0; i < STREAMS; i++) {
        int which = (s->turn + i) % STREAMS;
        struct output_piece piece;
        if (output_next(&s->process->output[which], &s->pos[which], EVENT_BYTES, &piece)) {
            if (piece.dropped > 0) {
                put_dropped(s, which, piece.dropped);
            } else {
                put_data(s, which, piece.bytes, piece.len);
            }
            s->turn = which + 1;
            return true;
        }
    }
    return false;
}

/* Encode the next event into `pending`; false when there is none now. */
static bool prepare(struct stream *s, int64_t now)
{
    str_reset(&s->pending);
    s->pending_off = 0;
    if (!s->started) {
        put_start(s);
    } else if (s->deadline_mono_ns && now >= s->deadline_mono_ns) {
        put_deadline(s);
    } else if (put_output(s)) {
        return true;
    } else if (s->process->ended) {
        if (s->is_start && s->process->timed_out) {
            put_deadline(s);
        } else if (s->process->broken) {
            put_broken(s);
        } else {
            put_end(s);
        }
    } else if (now - s->event_mono_ns >= s->keepalive_ns) {
        autostr struct str json = {0};
        str_add(&json, "{\"event\":{\"keepalive\":{}}}");
        put_event(s, &json);
    } else {
        return false;
    }
    return true;
}

/* --- the response --- */

static ssize_t pull(void *user, uint64_t pos is_unused, char *buffer, size_t max)
{
    struct stream *s = user;
    int64_t now = clock_mono_ns();
    size_t copied = 0;
    if (s->process->guest->closing) {
        return MHD_CONTENT_READER_END_WITH_ERROR;
    }
    s->pull_mono_ns = now;
    while (copied < max) {
        if (s->pending_off == s->pending.len && (s->done || !prepare(s, now))) {
            break;
        }
        size_t left = s->pending.len - s->pending_off;
        size_t take = left < max - copied ? left : max - copied;
        memcpy(buffer + copied, s->pending.ptr + s->pending_off, take);
        s->pending_off += take;
        copied += take;
    }
    if (copied > 0) {
        process_unhold(s->process);
        return (ssize_t)copied;
    }
    if (s->done) {
        s->process->collected = s->process->ended;
        return MHD_CONTENT_READER_END_OF_STREAM;
    }
    s->suspended = true;
    MHD_suspend_connection(s->connection);
    return 0;
}

static void closed(void *user)
{
    struct stream *s = user;
    for (struct stream **at = &s->process->streams; *at; at = &(*at)->next) {
        if (*at == s) {
            *at = s->next;
            break;
        }
    }
    process_unhold(s->process);
    str_free(&s->pending);
    free(s);
}

struct MHD_Response *stream_open(struct process *process, struct MHD_Connection *connection,
                                 const struct stream_spec *spec)
{
    struct stream *s = mem_alloc(sizeof(*s));
    int64_t now = clock_mono_ns();
    s->process = process;
    s->connection = connection;
    s->is_start = spec->is_start;
    s->keepalive_ns = spec->keepalive_ms * NS_PER_MS;
    s->event_mono_ns = now;
    s->pull_mono_ns = now;
    s->deadline_mono_ns = spec->timeout_ms > 0 ? now + spec->timeout_ms * NS_PER_MS : 0;
    for (int k = 0; k < STREAMS; k++) {
        uint64_t total = process->output[k].total;
        s->pos[k] = spec->skip[k] < total ? spec->skip[k] : total;
    }
    s->next = process->streams;
    process->streams = s;
    struct MHD_Response *response = NULL;
    if (!mem_retry((response = MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, BLOCK_BYTES,
                                                                 pull, s, closed)) != NULL)) {
        mem_exhausted(BLOCK_BYTES);
    }
    return response;
}

/* --- time --- */

static int64_t due(const struct stream *s)
{
    int64_t at = s->event_mono_ns + s->keepalive_ns;
    return s->deadline_mono_ns && s->deadline_mono_ns < at ? s->deadline_mono_ns : at;
}

void stream_tick(struct guest *guest)
{
    int64_t now = clock_mono_ns();
    for (const struct process *p = guest->processes; p; p = p->next) {
        for (struct stream *s = p->streams; s; s = s->next) {
            if (s->suspended && now >= due(s)) {
                stream_wake(s);
            }
        }
    }
}

int64_t stream_due(const struct guest *guest)
{
    int64_t first = INT64_MAX;
    for (const struct process *p = guest->processes; p; p = p->next) {
        for (const struct stream *s = p->streams; s; s = s->next) {
            int64_t at = s->suspended ? due(s) : INT64_MAX;
            first = at < first ? at : first;
        }
    }
    return first;
}

void stream_wake_all(struct guest *guest)
{
    for (const struct process *p = guest->processes; p; p = p->next) {
        for (struct stream *s = p->streams; s; s = s->next) {
            stream_wake(s);
        }
    }
}
