/*
 * judge.c - histories that Temporal's SDKs recorded, replayed by the scenarios' own code.
 *
 * Owns: the verdicts on them. Must not: know who wrote them, or any scenario.
 * Tests: tests/temporal/t8510-sdk-here.sh has it judge.
 */
#include "harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/mem.h"
#include "base/str.h"
#include "history/validate.h"
#include "tests/lib/temp_path.h"

static const char *histories_dir;

/* NULL when there is no such file. */
static char *file_of(const struct scenario *s, size_t number)
{
    autofree char *path = mem_printf("%s/%s-%zu.json", histories_dir, s->name, number);
    return fs_exists(path) ? steal(&path) : NULL;
}

static void read_history(const char *path, struct str *ret_json)
{
    struct err err;
    if (fs_read_file(path, HISTORY_BYTES, ret_json, &err) < 0) {
        printf("%s", err.text);
        fflush(stdout);
        _exit(1);
    }
}

/* It keeps to the rules of histories and the code replays it. */
static void check_one(dur_engine *engine, const char *path)
{
    autoarena struct arena *arena = arena_new();
    autostr struct str json = {0};
    autostr struct str warnings = {0};
    struct history history = {0};
    struct err err;
    char *report = NULL;
    read_history(path, &json);
    harness_parse(path, arena, str_c(&json), &history);
    if (history_validate(&history, &warnings, &err) < 0) {
        printf("%s: %s\n", path, err.text);
    } else if (dur_replay(engine, str_c(&json), &report) != DUR_OK) {
        printf("%s: %s\n%s", path, dur_error(engine), report ? report : "");
    }
    dur_free(report);
}

static void replay_all(const struct play *play)
{
    dur_engine *engine = harness_open(play, NULL, false);
    autofree char *path = NULL;
    for (size_t n = 1; (path = file_of(play->scenario, n)) != NULL; n++) {
        check_one(engine, path);
        free(steal(&path));
    }
    dur_close(engine);
}

/* Prints "mismatch" when the changed code refuses one. */
static void refuse_one(const struct play *play)
{
    dur_engine *engine = harness_open(play, NULL, false);
    autofree char *path = NULL;
    bool is_refused = false;
    for (size_t n = 1; !is_refused && (path = file_of(play->scenario, n)) != NULL; n++) {
        autostr struct str json = {0};
        char *report = NULL;
        read_history(path, &json);
        is_refused = dur_replay(engine, str_c(&json), &report) == DUR_MISMATCH;
        dur_free(report);
        free(steal(&path));
    }
    printf("%s", is_refused ? "mismatch" : "");
    dur_close(engine);
}

void judge_histories(const struct scenario *s, const char *dir)
{
    autofree char *store = temp_path("judge.db");
    struct play play = {.scenario = s, .path = store};
    size_t count = 0;
    bool bad;
    histories_dir = dir;
    for (autofree char *path = NULL; (path = file_of(s, count + 1)) != NULL; free(steal(&path))) {
        count++;
    }
    if (count == 0) {
        return;
    }
    autofree char *why = harness_child(replay_all, &play, &bad);
    autofree char *what = mem_printf("the code replays %zu histories", count);
    harness_judge(!bad && why && !*why, s->name, what, why);
    if (!s->no_change) {
        play.changed = true;
        autofree char *text = harness_child(refuse_one, &play, &bad);
        harness_judge(!bad && text && strcmp(text, "mismatch") == 0, s->name,
                      "changed code is a mismatch",
                      text && *text ? text : "the changed code replays them");
    }
}
