/*
 * durable.c - our side of the peers' benchmark: the loads on libdurable, or on a Temporal server.
 *
 * Usage: durable RUNS STEPS BYTES seq|par       (what all drivers take; run-peers explains)
 *   PEER_DIR      a fresh directory for the store
 *   PEER_ADDRESS  HOST:PORT: run on the Temporal server there, in PEER_NAMESPACE, by the same code
 * Owns: a serving engine on a thread of its own; the main thread starts the runs by the same
 * handle, as a program does that serves what it starts, and waits for every result. Prints "STEPS
 * SECONDS" of the second of two rounds; the first warms up. Must not: differ from the other drivers
 * in what a step is: one activity whose result of BYTES bytes is durable before the workflow goes
 * on.
 */
#include <pthread.h>
#include <durable.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define MOST_PARALLEL 1000
#define MOST_SLOTS 64
#define STARTERS 16

struct load {
    int runs;
    int steps;
    int bytes;
    int is_parallel;
};

static char *payload;

static const dur_activity_options step_options = {.start_to_close_ms = 60000};

static int echo(dur_activity *act, const char *input, const char **result, void *user)
{
    (void)act;
    (void)input;
    (void)user;
    *result = payload;
    return DUR_OK;
}

static int parallel(dur_ctx *ctx, int steps)
{
    dur_future *futures[MOST_PARALLEL];
    int rc = steps <= MOST_PARALLEL ? DUR_OK : DUR_INVALID;
    for (int i = 0; i < steps && rc == DUR_OK; i++) {
        futures[i] = dur_start_activity(ctx, "Echo", "null", &step_options);
    }
    for (int i = 0; i < steps && rc == DUR_OK; i++) {
        rc = dur_await(ctx, futures[i], NULL);
    }
    return rc;
}

static int steps(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    int count = (int)dur_json_int(input, "/steps", 0);
    int rc = DUR_OK;
    (void)result;
    (void)user;
    if (dur_json_int(input, "/parallel", 0)) {
        return parallel(ctx, count);
    }
    for (int i = 0; i < count && rc == DUR_OK; i++) {
        rc = dur_run(ctx, "Echo", "null", NULL, &step_options);
    }
    return rc;
}

static void must(dur_engine *engine, int rc, const char *what)
{
    if (rc != DUR_OK) {
        fprintf(stderr, "durable: %s: %s\n", what, dur_error(engine));
        exit(1);
    }
}

static dur_engine *open_engine(int is_worker, const struct load *load)
{
    const char *address = getenv("PEER_ADDRESS");
    dur_engine *engine;
    if (address) {
        dur_connect_options o = {.name_space = getenv("PEER_NAMESPACE")};
        must(engine, dur_connect(&engine, address, &o), address);
    } else {
        char path[4096];
        snprintf(path, sizeof(path), "%s/peers.db", getenv("PEER_DIR") ? getenv("PEER_DIR") : ".");
        dur_options o = {.reserve_bytes = -1};
        must(engine, dur_open(&engine, path, &o), path);
    }
    if (is_worker) {
        int slots = load->is_parallel || load->runs > MOST_SLOTS ? MOST_SLOTS : load->runs;
        must(engine, dur_register_activity(engine, "Echo", echo, NULL), "activity");
        must(engine, dur_register_workflow(engine, "Steps", steps, NULL), "workflow");
        must(engine, dur_lane(engine, "default", slots), "lane");
    }
    return engine;
}

static void *serve(void *engine)
{
    must(engine, dur_serve(engine, DUR_UNTIL_STOPPED), "serve");
    return NULL;
}

static double now_s(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

/* What one of the starting threads does: every STARTERS-th run. */
struct starter {
    dur_engine *client;
    const struct load *load;
    const char *round;
    int first;
};

static void *start_some(void *arg)
{
    const struct starter *s = arg;
    char id[96];
    char input[64];
    snprintf(input, sizeof(input), "{\"steps\":%d,\"parallel\":%d}", s->load->steps,
             s->load->is_parallel);
    for (int i = s->first; i < s->load->runs; i += STARTERS) {
        snprintf(id, sizeof(id), "%s-%d", s->round, i);
        must(s->client, dur_start(s->client, "Steps", id, input, NULL), id);
    }
    return NULL;
}

/* The runs are started at once, as the other drivers do it. */
static double round_s(dur_engine *client, const struct load *load, const char *round)
{
    pthread_t threads[STARTERS];
    struct starter starters[STARTERS];
    char id[96];
    double start = now_s();
    for (int i = 0; i < STARTERS; i++) {
        starters[i] = (struct starter){client, load, round, i};
        pthread_create(&threads[i], NULL, start_some, &starters[i]);
    }
    for (int i = 0; i < STARTERS; i++) {
        pthread_join(threads[i], NULL);
    }
    for (int i = 0; i < load->runs; i++) {
        snprintf(id, sizeof(id), "%s-%d", round, i);
        must(client, dur_result(client, id, 600000, NULL), id);
    }
    return now_s() - start;
}

static int number(const char *text)
{
    char *end;
    long value = strtol(text, &end, 10);
    if (*end || value < 1 || value > 1000000) {
        fprintf(stderr, "durable: '%s' is not a number from 1 to 1000000\n", text);
        exit(2);
    }
    return (int)value;
}

int main(int argc, char **argv)
{
    pthread_t thread;
    char round[2][64];
    if (argc != 5) {
        fprintf(stderr, "usage: %s RUNS STEPS BYTES seq|par\n", argv[0]);
        return 2;
    }
    struct load load = {number(argv[1]), number(argv[2]), number(argv[3]),
                        strcmp(argv[4], "par") == 0};
    payload = malloc((size_t)load.bytes + 3);
    memset(payload, 'x', (size_t)load.bytes + 2);
    payload[0] = payload[load.bytes + 1] = '"';
    payload[load.bytes + 2] = '\0';
    dur_engine *worker = open_engine(1, &load);
    dur_engine *client = getenv("PEER_ADDRESS") ? open_engine(0, &load) : worker;
    pthread_create(&thread, NULL, serve, worker);
    for (int i = 0; i < 2; i++) { /* unique on a server that other rounds have used */
        snprintf(round[i], sizeof(round[i]), "bench-%ld-%.0f-%d", (long)getpid(), now_s() * 1e6, i);
    }
    round_s(client, &load, round[0]);
    double seconds = round_s(client, &load, round[1]);
    printf("%d %.6f\n", load.runs * load.steps, seconds);
    dur_stop(worker);
    pthread_join(thread, NULL);
    if (client != worker) {
        dur_close(client);
    }
    dur_close(worker);
    free(payload);
    return 0;
}
