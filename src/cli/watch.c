/*
 * watch.c - see watch.h.
 *
 *   header             greeting@3f9c2e1, agent, gates
 *   ✓ finished steps
 *   ● the step under way, its time, the last line that the agent wrote
 *   ┄ what comes
 *   ─────────
 *   how to leave and follow
 *
 * Tests: tests/cli/t0600-run.sh, t0602-run-terminal.sh
 */
#include "cli/watch.h"

#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/term.h"
#include "cli/exitcode.h"
#include "cli/format.h"
#include "cli/live.h"
#include "cli/now.h"
#include "cli/result.h"
#include "cli/spawn.h"

#define TICK_LIVE_MS 125
#define TICK_PLAIN_MS 250
#define TICK_SERVER_MS 1000 /* a look at a server is several calls over a network */
#define LIVE_ROWS 18
#define RULE_COLUMNS 64
#define QUEUE_PATIENCE_NS (2 * NS_PER_S)
#define HEADER_PATIENCE_NS                                                                         \
    NS_PER_S            /* plain: the commit is known by then, unless it is far away               \
                         */
#define HANDLE_CHARS 12 /* of an id, in hints that people copy: "run-5f0c2a91" */

struct watch {
    struct cli *cli;
    const char *id; /* workflow */
    enum watch_output output;
    bool keeps_engine;
    bool in_place;
    bool header_done;
    bool is_lost;     /* the server is not reached, which was said */
    int64_t begun_ns; /* monotonic */
    bool colour;
    struct live live;
    struct arena *kept; /* of steps; made anew when the history grew */
    struct steps steps;
    int64_t seen_events;
    int64_t told;     /* trouble that was told last (plain) */
    unsigned printed; /* bit a step: its line was printed (plain) */
    struct str last_key;
};

static void put(const struct str *text)
{
    if (text->len) {
        cli_print(text);
    }
}

/* --- lines ------------------------------------------------------------------------------------ */

static void add_header(struct watch *w, struct str *out, const struct view *view, size_t width)
{
    autostr struct str first = {0}, rest = {0};
    view_source(&first, view);
    str_addf(&rest, "agent %s  gates %s", view->agent, view->profile);
    if (w->steps.gate_count >= 0) {
        str_addf(&rest, "(%lld)", (long long)w->steps.gate_count);
    }
    size_t columns = strlen(view->run_id) + 4 + term_columns(str_c(&first), first.len) + rest.len;
    if (columns <= width) {
        str_addf(out, "%s  %s  %s\n\n", view->run_id, str_c(&first), str_c(&rest));
        return;
    }
    format_cut_middle(out, view->run_id, width);
    str_add(out, "\n  ");
    format_cut_middle(out, str_c(&first), width - 2);
    str_add(out, "\n  ");
    format_cut(out, str_c(&rest), width - 2);
    str_add(out, "\n\n");
}

static void add_dim(struct watch *w, struct str *out, const char *line, size_t width)
{
    autostr struct str cut = {0};
    format_cut(&cut, line, width);
    format_colour(out, w->colour, COLOUR_DIM, str_c(&cut));
    str_addc(out, '\n');
}

static void add_upcoming(struct watch *w, struct str *out, size_t width)
{
    autostr struct str text = {0};
    for (int i = 0; i < STEP_COUNT; i++) {
        bool comes = w->steps.step[i].state == STEP_UPCOMING && i > w->steps.current;
        str_addf(&text, "%s%s", comes && text.len ? " · " : "", comes ? w->steps.step[i].name : "");
    }
    if (text.len) {
        autostr struct str line = {0};
        str_addf(&line, "  ┄ %s", str_c(&text));
        add_dim(w, out, str_c(&line), width);
    }
}

static void add_hint(struct watch *w, struct str *out, const struct view *view, size_t width)
{
    autostr struct str rule = {0}, status = {0}, cancel = {0}, all = {0};
    for (size_t i = 0; i < width && i < RULE_COLUMNS; i++) {
        str_add(&rule, "─");
    }
    add_dim(w, out, str_c(&rule), width);
    str_addf(&status, "factory status %.*s --watch", HANDLE_CHARS, view->run_id);
    str_addf(&cancel, "factory cancel %.*s", HANDLE_CHARS, view->run_id);
    str_addf(&all, "^C leaves it running: %s · %s", str_c(&status), str_c(&cancel));
    if (term_columns(str_c(&all), all.len) <= width) {
        add_dim(w, out, str_c(&all), width);
        return;
    }
    add_dim(w, out, "^C leaves it running:", width);
    add_dim(w, out, str_c(&status), width);
    add_dim(w, out, str_c(&cancel), width);
}

/* --- drawing ---------------------------------------------------------------------------------- */

static void draw_live(struct watch *w, const struct now *now, bool with_hint)
{
    size_t width = (size_t)term_width(STDOUT_FILENO) - 1; /* the last column makes some wrap */
    autostr struct str text = {0}, out = {0}, detail = {0};
    add_header(w, &text, now->view, width);
    for (int i = 0; i < STEP_COUNT; i++) {
        const struct step *step = &w->steps.step[i];
        if (step->state != STEP_UPCOMING) {
            bool is_now = i == w->steps.current;
            str_reset(&detail);
            if (is_now) {
                now_detail(&detail, now);
            }
            steps_print(&text, step, now->now_ns, detail.len ? str_c(&detail) : step->detail, width,
                        w->colour);
            str_addc(&text, '\n');
        }
    }
    if (with_hint) {
        if (w->steps.current < 0 && !now->engine->server.is_serving) {
            str_add(&text, "  ● waiting for an engine\n");
        }
        add_upcoming(w, &text, width);
        add_hint(w, &text, now->view, width);
    }
    live_draw(&w->live, &out, str_c(&text), width + 1);
    put(&out);
}

/* A step that makes no headway, once an attempt: a retry to come, a queue. */
static void add_trouble(struct watch *w, struct str *out, const struct now *now, size_t width)
{
    const struct admin_activity *a =
        now->engine->pending.count ? &now->engine->pending.rows[0] : NULL;
    autostr struct str detail = {0}, line = {0};
    if (!a || w->steps.current < 0 || !now->engine->server.is_serving ||
        a->state == ADMIN_RUNNING ||
        (a->state == ADMIN_WAITING && now->now_ns - a->scheduled_ns < QUEUE_PATIENCE_NS)) {
        return;
    }
    int64_t key = a->scheduled_event_id * 1000 + a->attempt * 10 + (int64_t)a->state;
    if (key == w->told) {
        return;
    }
    w->told = key;
    now_detail(&detail, now);
    str_addf(&line, "  ┄ %s: %s", w->steps.step[w->steps.current].name, str_c(&detail));
    format_cut(out, str_c(&line), width);
    str_addc(out, '\n');
}

static void draw_plain(struct watch *w, const struct now *now)
{
    autostr struct str out = {0};
    size_t width = cli_width();
    bool known = w->steps.gate_count >= 0 || now->view->is_over;
    if (!w->header_done && (known || clock_mono_ns() - w->begun_ns > HEADER_PATIENCE_NS)) {
        w->header_done = true;
        add_header(w, &out, now->view, width);
    }
    for (int i = 0; i < STEP_COUNT; i++) {
        const struct step *step = &w->steps.step[i];
        bool finished = w->header_done && step->started_ns && i != w->steps.current;
        if (finished && !(w->printed & (1U << i))) {
            w->printed |= 1U << i;
            steps_print(&out, step, now->now_ns, step->detail, width, w->colour);
            str_addc(&out, '\n');
        }
    }
    if (w->header_done) {
        add_trouble(w, &out, now, width);
    }
    put(&out);
}

/* A line when something happened; heartbeats alone are nothing new. */
static void draw_json(struct watch *w, const struct now *now)
{
    autostr struct str text = {0}, key = {0};
    str_addf(&key, "%lld %d %d", (long long)now->view->events, now->view->is_over,
             now->engine->server.is_serving);
    for (size_t i = 0; i < now->engine->pending.count; i++) {
        const struct admin_activity *a = &now->engine->pending.rows[i];
        str_addf(&key, " %d/%d", (int)a->state, a->attempt);
    }
    if (!str_eq(str_c(&key), str_c(&w->last_key))) {
        view_print_json(&text, now->view, now->engine, 0);
        put(&text);
        str_reset(&w->last_key);
        str_add(&w->last_key, str_c(&key));
    }
}

/* Words between the lines, for people. */
static void say(struct watch *w, const char *text)
{
    autostr struct str out = {0};
    if (w->in_place) {
        live_clear(&w->live, &out, (size_t)term_width(STDOUT_FILENO));
        put(&out);
    }
    cli_note("%s", text);
}

static void draw(struct watch *w, const struct now *now)
{
    if (w->output == WATCH_NDJSON) {
        draw_json(w, now);
    } else if (w->output == WATCH_TEXT && w->in_place) {
        draw_live(w, now, !now->view->is_over && !cli_interrupted());
    } else if (w->output == WATCH_TEXT) {
        draw_plain(w, now);
    }
}

/* --- the loop --------------------------------------------------------------------------------- */

/* A durable.h code. What was read before stays when it fails. */
static int read_steps(struct watch *w, const struct view *view)
{
    struct admin_history history;
    if (view->events == w->seen_events || w->output != WATCH_TEXT) {
        return DUR_OK;
    }
    struct arena *arena = arena_new();
    int rc = admin_history(w->cli->engine, arena, w->id, &history);
    if (rc != DUR_OK) {
        arena_free(arena);
        return rc;
    }
    arena_free(w->kept);
    w->kept = arena;
    steps_read(w->kept, &history, view->is_over, &w->steps);
    w->seen_events = view->events;
    return DUR_OK;
}

static int finish(struct watch *w, const struct view *view)
{
    autostr struct str out = {0};
    if (w->output == WATCH_MANIFEST && view->manifest) {
        json_print(&out, view->manifest, 2);
        str_addc(&out, '\n');
    } else if (w->output == WATCH_MANIFEST) {
        view_print_json(&out, view, NULL, 2);
    } else if (w->output == WATCH_TEXT) {
        str_addc(&out, '\n');
        result_print(&out, view, w->cli->config->data_dir, cli_width(), w->colour);
    }
    put(&out);
    return view->exit_status;
}

static int detach(const struct view *view)
{
    return cli_error(EXIT_DETACHED,
                     "run %s goes on\nfollow it: factory status %.*s --watch\n"
                     "stop it:   factory cancel %.*s",
                     view->run_id, HANDLE_CHARS, view->run_id, HANDLE_CHARS, view->run_id);
}

/* A server that is away for a while ends nothing: the run goes on there when it is back. 0: go on;
 * 1: *ret_status is the end. */
static int cannot_look(struct watch *w, int rc, int *ret_status)
{
    const char *why = dur_error(w->cli->engine);
    if (!config_is_remote(w->cli->config) || (rc != DUR_IO && rc != DUR_BUSY)) {
        *ret_status = cli_error(rc == DUR_NOT_FOUND ? EXIT_NOT_FOUND : EXIT_ERROR, "%s", why);
        return 1;
    }
    if (cli_interrupted()) {
        *ret_status = cli_error(EXIT_DETACHED, "the server is not reached; the run is kept there");
        return 1;
    }
    if (!w->is_lost) {
        autofree char *text = mem_printf("%s; waiting for the server", why);
        say(w, text);
    }
    w->is_lost = true;
    return 0;
}

/* One look. 0: go on; 1: *ret_status is the end. */
static int look(struct watch *w, int *ret_status)
{
    autoarena struct arena *arena = arena_new();
    struct view view;
    struct view_engine engine;
    int rc = view_ask(w->cli, arena, w->id, &view, &engine);
    rc = rc ? rc : read_steps(w, &view);
    if (rc != DUR_OK) {
        return cannot_look(w, rc, ret_status);
    }
    w->is_lost = false;
    struct now now = {.cli = w->cli,
                      .view = &view,
                      .engine = &engine,
                      .steps = &w->steps,
                      .now_ns = clock_wall_ns()};
    draw(w, &now);
    if (view.is_over || cli_interrupted()) {
        *ret_status = view.is_over ? finish(w, &view) : detach(&view);
        return 1;
    }
    if (w->keeps_engine) {
        autostr struct str said = {0};
        int status = spawn_keep(w->cli, &said);
        if (status == SPAWN_AGAIN) {
            say(w, str_c(&said));
        } else if (status != EXIT_OK) {
            *ret_status = status;
            return 1;
        }
    }
    return 0;
}

int watch_until_done(struct cli *cli, const char *workflow_id, enum watch_output output,
                     bool keeps_engine)
{
    struct watch w = {.cli = cli,
                      .id = workflow_id,
                      .output = output,
                      .keeps_engine = keeps_engine,
                      .seen_events = -1,
                      .begun_ns = clock_mono_ns(),
                      .colour = cli_colour()};
    int status = EXIT_OK;
    w.in_place = output == WATCH_TEXT && live_possible(STDOUT_FILENO, LIVE_ROWS);
    int tick_ms = config_is_remote(cli->config) ? TICK_SERVER_MS
                  : w.in_place                  ? TICK_LIVE_MS
                                                : TICK_PLAIN_MS;
    cli_catch_interrupt();
    while (!look(&w, &status)) {
        int rc = dur_result(cli->engine, workflow_id, tick_ms, NULL);
        if (rc == DUR_IO || rc == DUR_BUSY) {
            cli_pause_ms(tick_ms); /* the bell cannot be heard here: look now and then */
        }
    }
    arena_free(w.kept);
    str_free(&w.last_key);
    return status;
}
