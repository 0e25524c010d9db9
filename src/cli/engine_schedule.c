/*
 * engine_schedule.c - factory engine schedule ACTION: what starts workflows by the clock.
 *
 * Owns: the actions set, list, describe, pause, resume, trigger, backfill, remove and preview, and
 * how a schedule and its times are shown. Must not: know what is due (durable.h does).
 * Tests: tests/cli/t0720-schedule.sh
 */
#include "base/clock.h"
#include "base/fs.h"
#include "base/json.h"
#include "cli/exitcode.h"
#include "cli/format.h"
#include "cli/verb.h"
#include "engine/admin.h"

#define DEFINITION_BYTES_MAX ((size_t)4 << 20)
#define RULES_MAX 100
#define PREVIEW_DEFAULT 10
#define PREVIEW_MAX 100000

static const struct cmd_option options[] = {
    VERB_PLACE,
    VERB_JSON,
    {"type", 't', "TYPE", "set: the workflow type that it starts"},
    {"input", 'i', "JSON", "set: input of its runs"},
    {"cron", 0, "RULES", "when: cron rules, separated by ;"},
    {"every", 0, "DURATION", "when: every 90s, 1h30m ... counted from 1970, or DURATION/PHASE"},
    {"except", 0, "RULES", "not when these cron rules name the minute"},
    {"zone", 'z', "NAME", "time zone of the rules, such as Europe/Berlin (default UTC)"},
    {"start", 0, "TIME", "not before; backfill, preview: from (2026-01-02T03:04:05Z)"},
    {"end", 0, "TIME", "not after; backfill: until"},
    {"jitter", 0, "DURATION", "up to so much later"},
    {"overlap", 0, "POLICY", "Skip, BufferOne, BufferAll, CancelOther, TerminateOther, AllowAll"},
    {"catch-up", 0, "DURATION", "make up for missed times that are not older (default 365d)"},
    {"pause-on-failure", 0, NULL, "pause it when a run fails or times out"},
    {"remaining", 0, "N", "end after so many scheduled starts"},
    {"paused", 0, NULL, "set it, but start nothing until it is resumed"},
    {"note", 0, "TEXT", "for people"},
    {"id", 0, "PREFIX", "ids of its runs begin so (default: its name)"},
    {"queue", 0, "NAME", "task queue"},
    {"run-timeout", 0, "DURATION", "of its runs"},
    {"memo", 0, "JSON", "memo of its runs, an object"},
    {"attributes", 0, "JSON", "search attributes of its runs, an object"},
    {"definition", 'f', "FILE", "set, preview: begin with this JSON (describe --json shows one)"},
    {"count", 'n', "N", "preview: so many times (default 10)"},
    {0},
};

/* --- options as a dur_schedule ---------------------------------------------------------------- */

static const char *const *split_rules(struct arena *arena, const char *text)
{
    const char **rules = arena_array_of(arena, const char *, RULES_MAX + 2);
    size_t count = 0;
    while (text && *text && count <= RULES_MAX) {
        size_t len = strcspn(text, ";");
        text += strspn(text, " ");
        len = strcspn(text, ";");
        if (len > 0) {
            rules[count++] = arena_strndup(arena, text, len);
        }
        text += len + (text[len] == ';');
    }
    return rules;
}

static int bad_value(const char *option, const char *value, const char *want)
{
    return cli_error(EXIT_USAGE, "engine schedule: --%s %s: write %s", option, value, want);
}

static int take_every(struct arena *arena, const char *text, dur_schedule *s)
{
    dur_interval *intervals = arena_array_of(arena, dur_interval, 2);
    size_t len = strcspn(text, "/");
    int64_t ns = 0;
    int64_t phase_ns = 0;
    if (!duration_parse(arena_strndup(arena, text, len), &ns) ||
        (text[len] && !duration_parse(text + len + 1, &phase_ns))) {
        return bad_value("every", text, "a duration such as 90s, or 1h/20m");
    }
    intervals[0].every_ms = ns / NS_PER_MS;
    intervals[0].phase_ms = phase_ns / NS_PER_MS;
    s->intervals = intervals;
    return EXIT_OK;
}

static int take_time(const struct args *args, const char *option, int64_t *ret)
{
    const char *text = args_get(args, option);
    if (text && !time_parse_rfc3339(text, strlen(text), ret)) {
        return bad_value(option, text, "a time such as 2026-01-02T03:04:05Z");
    }
    return EXIT_OK;
}

static const char *const overlaps[] = {"Skip",        "BufferOne",      "BufferAll",
                                       "CancelOther", "TerminateOther", "AllowAll"};

static int take_overlap(const struct args *args, dur_overlap *ret)
{
    const char *text = args_get(args, "overlap");
    for (size_t i = 0; text && i < ARRAY_LEN(overlaps); i++) {
        if (str_eq(text, overlaps[i])) {
            *ret = (dur_overlap)i;
            return EXIT_OK;
        }
    }
    if (text) {
        const char *near = str_nearest(text, overlaps, ARRAY_LEN(overlaps));
        return cli_error(EXIT_USAGE, "engine schedule: no overlap policy %s%s%s%s", text,
                         near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
    }
    return EXIT_OK;
}

static int read_definition(struct cli *cli, struct arena *arena, const struct args *args,
                           dur_schedule *ret)
{
    const char *path = args_get(args, "definition");
    autostr struct str text = {0};
    struct err err = {0};
    if (!path) {
        return EXIT_OK;
    }
    int rc = str_eq(path, "-") ? fs_read_fd(0, DEFINITION_BYTES_MAX, &text, &err)
                               : fs_read_file(path, DEFINITION_BYTES_MAX, &text, &err);
    if (rc < 0) {
        return cli_fail(&err);
    }
    rc = admin_schedule_definition(cli->engine, arena, str_c(&text), ret);
    return rc == DUR_OK ? EXIT_OK : verb_fail(cli, rc);
}

static void take_text(const struct args *args, const char *option, const char **ret)
{
    const char *text = args_get(args, option);
    *ret = text ? text : *ret;
}

static int take_duration(struct cli *cli, const struct args *args, const char *option, int64_t *ret)
{
    long long ms = *ret;
    int status = args_duration_ms(cli, args, option, &ms);
    *ret = ms;
    return status;
}

static int read_schedule(struct cli *cli, struct arena *arena, const struct args *args,
                         dur_schedule *s)
{
    const char *every = args_get(args, "every");
    long long remaining = 0;
    int status = read_definition(cli, arena, args, s);
    if (status || (status = take_time(args, "start", &s->start_ns)) ||
        (status = take_time(args, "end", &s->end_ns)) ||
        (status = take_duration(cli, args, "jitter", &s->jitter_ms)) ||
        (status = take_duration(cli, args, "catch-up", &s->catchup_window_ms)) ||
        (status = take_duration(cli, args, "run-timeout", &s->run_timeout_ms)) ||
        (status = take_overlap(args, &s->overlap)) ||
        (every && (status = take_every(arena, every, s))) ||
        (status = args_number(cli, args, "remaining", 1, 1LL << 40, &remaining))) {
        return status;
    }
    s->cron = args_get(args, "cron") ? split_rules(arena, args_get(args, "cron")) : s->cron;
    s->except = args_get(args, "except") ? split_rules(arena, args_get(args, "except")) : s->except;
    take_text(args, "type", &s->workflow_type);
    take_text(args, "input", &s->input);
    take_text(args, "zone", &s->time_zone);
    take_text(args, "note", &s->note);
    take_text(args, "id", &s->id_prefix);
    take_text(args, "queue", &s->task_queue);
    take_text(args, "memo", &s->memo);
    take_text(args, "attributes", &s->search_attributes);
    s->pause_on_failure |= args_has(args, "pause-on-failure");
    s->paused = args_has(args, "paused");
    s->remaining_actions = remaining;
    return EXIT_OK;
}

/* --- showing ---------------------------------------------------------------------------------- */

static void put_time(struct json_out *w, const char *key, int64_t ns)
{
    autostr struct str text = {0};
    if (ns) {
        time_format_rfc3339(&text, ns);
    }
    json_kv_str(w, key, ns ? str_c(&text) : NULL);
}

static const char *state_name(const dur_schedule_info *info)
{
    return info->paused ? "Paused" : info->next_ns[0] ? "Active" : "Ended";
}

static void put_actions(struct json_out *w, const dur_schedule_info *info)
{
    json_key(w, "runs");
    json_begin_array(w);
    for (size_t i = 0; i < info->action_count; i++) {
        const dur_schedule_action *a = &info->actions[i];
        json_begin_object(w);
        json_kv_str(w, "workflow_id", a->workflow_id);
        json_kv_str(w, "run_id", a->run_id);
        put_time(w, "due_at", a->nominal_ns);
        put_time(w, "started_at", a->started_ns);
        json_kv_bool(w, "open", a->open != 0);
        json_end_object(w);
    }
    json_end_array(w);
}

static void put_info(struct json_out *w, const dur_schedule_info *info)
{
    json_begin_object(w);
    json_kv_str(w, "name", info->name);
    json_kv_str(w, "state", state_name(info));
    json_kv_str(w, "note", info->note);
    json_kv_str(w, "problem", info->problem);
    json_kv_i64(w, "started", info->started);
    json_kv_i64(w, "skipped", info->skipped);
    json_kv_i64(w, "missed", info->missed);
    json_kv_i64(w, "dropped", info->dropped);
    json_kv_i64(w, "waiting", info->waiting);
    if (info->remaining >= 0) {
        json_kv_i64(w, "remaining", info->remaining);
    } else {
        json_kv_str(w, "remaining", NULL);
    }
    put_time(w, "created_at", info->created_ns);
    put_time(w, "changed_at", info->changed_ns);
    json_key(w, "next");
    json_begin_array(w);
    for (const int64_t *next = info->next_ns; *next; next++) {
        autostr struct str text = {0};
        time_format_rfc3339(&text, *next);
        json_put_str(w, str_c(&text));
    }
    json_end_array(w);
    put_actions(w, info);
    json_kv_raw(w, "definition", info->definition, strlen(info->definition));
    json_end_object(w);
}

static void field(struct str *out, const char *name, const char *value)
{
    if (value && *value) {
        str_addf(out, "%-12s ", name);
        format_clean(out, value, strlen(value));
        str_addc(out, '\n');
    }
}

static void field_time(struct str *out, const char *name, int64_t ns)
{
    autostr struct str text = {0};
    if (ns) {
        time_format_rfc3339(&text, ns);
        field(out, name, str_c(&text));
    }
}

static void print_info(struct str *out, const dur_schedule_info *info)
{
    autostr struct str counts = {0};
    field(out, "schedule", info->name);
    field(out, "state", state_name(info));
    field(out, "note", info->note);
    field(out, "problem", info->problem);
    str_addf(&counts, "%lld started, %lld skipped, %lld missed, %lld dropped, %lld waiting",
             (long long)info->started, (long long)info->skipped, (long long)info->missed,
             (long long)info->dropped, (long long)info->waiting);
    field(out, "starts", str_c(&counts));
    if (info->remaining >= 0) {
        str_addf(out, "%-12s %lld\n", "remaining", (long long)info->remaining);
    }
    for (const int64_t *next = info->next_ns; *next; next++) {
        field_time(out, next == info->next_ns ? "next" : "", *next);
    }
    for (size_t i = 0; i < info->action_count; i++) {
        str_addf(out, "%-12s ", i == 0 ? "runs" : "");
        format_clean(out, info->actions[i].workflow_id, strlen(info->actions[i].workflow_id));
        str_add(out, info->actions[i].open ? "  open\n" : "\n");
    }
    field(out, "definition", info->definition);
}

/* --- the actions ------------------------------------------------------------------------------ */

static int do_set(struct cli *cli, struct args *args, const char *name)
{
    autoarena struct arena *arena = arena_new();
    dur_schedule s = {0};
    int status = read_schedule(cli, arena, args, &s);
    if (status != EXIT_OK) {
        return status;
    }
    int rc = dur_schedule_set(cli->engine, name, &s);
    return rc == DUR_OK ? verb_done(cli, args, name, "%s: set", name) : verb_fail(cli, rc);
}

struct rows {
    struct table table;
    struct json_out *json;
};

static int on_schedule(void *user, const dur_schedule_info *info)
{
    struct rows *r = user;
    autostr struct str next = {0};
    autostr struct str started = {0};
    autostr struct str left_out = {0};
    if (r->json) {
        put_info(r->json, info);
        return 0;
    }
    if (info->next_ns[0]) {
        time_format_rfc3339(&next, info->next_ns[0]);
    }
    str_addf(&started, "%lld", (long long)info->started);
    str_addf(&left_out, "%lld", (long long)(info->skipped + info->missed + info->dropped));
    table_add(&r->table, (const char *const[]){info->name, state_name(info), str_c(&next),
                                               str_c(&started), str_c(&left_out), info->problem});
    return 0;
}

static int do_list(struct cli *cli, struct args *args)
{
    autostr struct str out = {0};
    struct json_out w = json_writer(&out, 2);
    struct rows r = {
        .table = {.columns = 6,
                  .heads = {"SCHEDULE", "STATE", "NEXT", "STARTED", "LEFT OUT", "PROBLEM"},
                  .least = {12, 0, 0, 0, 0, 12}},
        .json = args_has(args, "json") ? &w : NULL};
    if (r.json) {
        json_begin_object(&w);
        json_kv_i64(&w, "schema", 1);
        json_key(&w, "schedules");
        json_begin_array(&w);
    }
    int rc = dur_schedule_list(cli->engine, NULL, 0, on_schedule, &r);
    if (r.json) {
        json_end_array(&w);
        cli_json_end(&w);
    } else if (r.table.rows) {
        table_print(&r.table, &out, cli_width(), cli_colour());
    } else {
        str_add(&out, "no schedules\n");
    }
    table_free(&r.table);
    if (rc != DUR_OK) {
        return verb_fail(cli, rc);
    }
    cli_print(&out);
    return EXIT_OK;
}

static int do_describe(struct cli *cli, struct args *args, const char *name)
{
    autostr struct str out = {0};
    dur_schedule_info *info = NULL;
    int rc = dur_schedule_describe(cli->engine, name, &info);
    if (rc != DUR_OK) {
        return verb_fail(cli, rc);
    }
    if (args_has(args, "json")) {
        struct json_out w = cli_json_begin(&out);
        json_key(&w, "schedule");
        put_info(&w, info);
        cli_json_end(&w);
    } else {
        print_info(&out, info);
    }
    dur_schedule_info_free(info);
    cli_print(&out);
    return EXIT_OK;
}

static int do_backfill(struct cli *cli, struct args *args, const char *name)
{
    int64_t from = -1;
    int64_t until = clock_wall_ns();
    dur_overlap overlap = DUR_OVERLAP_OWN;
    int status = take_time(args, "start", &from);
    if (status || (status = take_time(args, "end", &until)) ||
        (status = take_overlap(args, &overlap))) {
        return status;
    }
    if (from < 0) {
        return cli_error(EXIT_USAGE, "engine schedule backfill: --start TIME is needed");
    }
    int rc = dur_schedule_backfill(cli->engine, name, from, until, overlap);
    return rc >= 0 ? verb_done(cli, args, name, "%s: %d starts", name, rc) : verb_fail(cli, rc);
}

static int do_simple(struct cli *cli, struct args *args, const char *action, const char *name)
{
    const char *note = args_get(args, "note");
    dur_overlap overlap = DUR_OVERLAP_OWN;
    int status = take_overlap(args, &overlap);
    if (status != EXIT_OK) {
        return status;
    }
    if (str_eq(action, "pause")) {
        int rc = dur_schedule_pause(cli->engine, name, note);
        return rc == DUR_OK ? verb_done(cli, args, name, "%s: paused", name) : verb_fail(cli, rc);
    }
    if (str_eq(action, "resume")) {
        int rc = dur_schedule_resume(cli->engine, name, note);
        return rc == DUR_OK ? verb_done(cli, args, name, "%s: resumed", name) : verb_fail(cli, rc);
    }
    if (str_eq(action, "trigger")) {
        int rc = dur_schedule_trigger(cli->engine, name, overlap);
        return rc == DUR_OK ? verb_done(cli, args, name, "%s: triggered", name)
                            : verb_fail(cli, rc);
    }
    int rc = dur_schedule_remove(cli->engine, name);
    return rc == DUR_OK ? verb_done(cli, args, name, "%s: removed", name) : verb_fail(cli, rc);
}

/* --- preview ---------------------------------------------------------------------------------- */

struct preview {
    struct str *out;
    struct json_out *json;
    int count;
};

static const char *const edge_words[] = {
    [DUR_EDGE_NONE] = "",
    [DUR_EDGE_GAP] = "skipped hour: the first instant after it",
    [DUR_EDGE_FIRST] = "repeated hour: the first time",
    [DUR_EDGE_SECOND] = "repeated hour: the second time",
};
static const char *const edge_names[] = {"none", "skipped", "repeated-first", "repeated-second"};
static const char *const weekdays[] = {"Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"};

static int on_time(void *user, const dur_schedule_time *t)
{
    struct preview *p = user;
    int64_t local_ns = t->nominal_ns + t->offset_s * NS_PER_S;
    struct time_parts at = time_split(local_ns);
    int offset_min = (t->offset_s < 0 ? -t->offset_s : t->offset_s) / 60;
    autostr struct str local = {0};
    autostr struct str utc = {0};
    p->count++;
    str_addf(&local, "%04d-%02d-%02dT%02d:%02d:%02d%c%02d:%02d", at.year, at.month, at.day, at.hour,
             at.minute, at.second, t->offset_s < 0 ? '-' : '+', offset_min / 60, offset_min % 60);
    if (p->json) {
        json_begin_object(p->json);
        put_time(p->json, "at", t->nominal_ns);
        put_time(p->json, "starts_at", t->due_ns);
        json_kv_str(p->json, "local", str_c(&local));
        json_kv_str(p->json, "zone", t->zone);
        json_kv_str(p->json, "abbreviation", t->abbreviation);
        json_kv_str(p->json, "edge", edge_names[t->edge]);
        json_end_object(p->json);
        return 0;
    }
    time_format_rfc3339(&utc, t->nominal_ns);
    int64_t days = date_to_days(at.year, at.month, at.day);
    str_addf(p->out, "%s %s %-5s %s", weekdays[(days % 7 + 7) % 7], str_c(&local), t->abbreviation,
             str_c(&utc));
    if (t->due_ns != t->nominal_ns) {
        autostr struct str delay = {0};
        format_duration(&delay, t->due_ns - t->nominal_ns);
        str_addf(p->out, " +%s", str_c(&delay));
    }
    str_addf(p->out, "%s%s\n", t->edge ? "  " : "", edge_words[t->edge]);
    return 0;
}

static int do_preview(struct cli *cli, struct args *args, const char *name)
{
    autoarena struct arena *arena = arena_new();
    autostr struct str out = {0};
    struct json_out w = json_writer(&out, 2);
    struct preview p = {.out = &out, .json = args_has(args, "json") ? &w : NULL};
    dur_schedule s = {0};
    long long count = PREVIEW_DEFAULT;
    int64_t from = clock_wall_ns();
    dur_schedule_info *info = NULL;
    int rc = DUR_OK;
    int status = args_number(cli, args, "count", 1, PREVIEW_MAX, &count);
    if (status == EXIT_OK && name) {
        rc = dur_schedule_describe(cli->engine, name, &info);
        rc = rc ? rc : admin_schedule_definition(cli->engine, arena, info->definition, &s);
        dur_schedule_info_free(info);
        status = rc ? verb_fail(cli, rc) : EXIT_OK;
    }
    if (status || (status = read_schedule(cli, arena, args, &s))) {
        return status;
    }
    if (args_get(args, "start")) { /* the first of them may be that very time */
        from = s.start_ns - 1;
    }
    if (p.json) {
        json_begin_object(&w);
        json_kv_i64(&w, "schema", 1);
        json_key(&w, "times");
        json_begin_array(&w);
    }
    rc = dur_schedule_preview(cli->engine, name, &s, from, (int)count, on_time, &p);
    if (rc != DUR_OK) {
        return cli->engine ? verb_fail(cli, rc) : cli_error(EXIT_USAGE, "%s", dur_error(NULL));
    }
    if (p.json) {
        json_end_array(&w);
        cli_json_end(&w);
    } else if (p.count == 0) {
        str_add(&out, "nothing is due\n");
    }
    cli_print(&out);
    return EXIT_OK;
}

/* --- dispatch --------------------------------------------------------------------------------- */

static const char *const actions[] = {"set",     "list",     "describe", "pause",  "resume",
                                      "trigger", "backfill", "remove",   "preview"};

static int no_action(const char *word)
{
    const char *near = str_nearest(word, actions, ARRAY_LEN(actions));
    return cli_error(EXIT_USAGE, "engine schedule: no action %s%s%s%s", word,
                     near ? "; did you mean " : " (set, list, describe, pause, resume, trigger, ",
                     near ? near : "backfill, remove, preview)", near ? "?" : "");
}

static int exec(struct cli *cli, struct args *args)
{
    const char *action = args->words[0];
    const char *name = args->count > 1 ? args->words[1] : NULL;
    bool known = false;
    for (size_t i = 0; i < ARRAY_LEN(actions); i++) {
        known |= str_eq(action, actions[i]);
    }
    if (!known) {
        return no_action(action);
    }
    bool lists = str_eq(action, "list");
    bool previews = str_eq(action, "preview");
    if (!name && !lists && !previews) {
        return cli_error(EXIT_USAGE, "engine schedule %s: which one? name it", action);
    }
    bool looks = lists || previews || str_eq(action, "describe");
    int status = previews && !name ? EXIT_OK : verb_open(cli, args, !looks);
    if (status != EXIT_OK) {
        return status;
    }
    return lists                        ? do_list(cli, args)
           : previews                   ? do_preview(cli, args, name)
           : str_eq(action, "set")      ? do_set(cli, args, name)
           : str_eq(action, "describe") ? do_describe(cli, args, name)
           : str_eq(action, "backfill") ? do_backfill(cli, args, name)
                                        : do_simple(cli, args, action, name);
}

const struct cmd verb_schedule = {
    .name = "engine schedule",
    .words = "set|list|describe|pause|resume|trigger|backfill|remove|preview [NAME]",
    .summary = "what starts workflows by the clock: set, list, preview ...",
    .min_words = 1,
    .max_words = 2,
    .options = options,
    .exec = exec,
};
