/*
 * compare.c - a server's history of a scenario against SQLite's golden one.
 *
 * Owns: how strictly: event by event, unless tests/scenario/pins.tsv has a line for the scenario:
 *   race   several things happen at the same time on a server, so their order is chance: the same
 *          events, in any order, with any number of workflow tasks between them
 *   own    every play is another one (pins.tsv says why): not compared, only replayed
 * A history with a task that the server lost is compared as by "race".
 * Must not: excuse anything by itself; what holds for every run is level.c's.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fs.h"
#include "base/mem.h"
#include "harness.h"
#include "history/diff.h"

#define PINS_MAX (1U << 20)

/* The rule that is pinned for the scenario; NULL: none. Heap. */
static char *pinned(const char *scenario)
{
    const char *top = getenv("abs_top_srcdir");
    autofree char *path = mem_printf("%s/tests/scenario/pins.tsv", top ? top : ".");
    autostr struct str text = {0};
    struct err err;
    if (fs_read_file(path, PINS_MAX, &text, &err) < 0) {
        return mem_strdup(err.text);
    }
    size_t len = strlen(scenario);
    for (const char *line = str_c(&text); *line; line += strcspn(line, "\n") + 1) {
        if (strncmp(line, scenario, len) == 0 && line[len] == '\t') {
            return mem_strndup(line + len + 1, strcspn(line + len + 1, "\t\n"));
        }
        if (line[strcspn(line, "\n")] == '\0') {
            break;
        }
    }
    return NULL;
}

static void in_order(size_t run, const struct history *golden, const struct history *actual,
                     struct str *out)
{
    for (size_t i = 0; i < golden->count && i < actual->count; i++) {
        autostr struct str difference = {0};
        if (!event_equal(&golden->items[i], &actual->items[i], DIFF_NORMAL, &difference)) {
            str_addf(out, "run %zu: %s\n", run, str_c(&difference));
        }
    }
    if (golden->count != actual->count) {
        str_addf(out, "run %zu: %zu events, on SQLite %zu\n", run, actual->count, golden->count);
    }
}

/* The index of an event of those that are not taken yet which equals it; count: none. */
static size_t find(const struct event *event, const struct history *among, const bool *taken)
{
    size_t i = 0;
    while (i < among->count &&
           (taken[i] || !event_equal(event, &among->items[i], DIFF_NORMAL | DIFF_IDS, NULL))) {
        i++;
    }
    return i;
}

static void in_any_order(size_t run, const struct history *golden, const struct history *actual,
                         struct str *out)
{
    autofree bool *taken = mem_array(actual->count + 1, sizeof(*taken));
    for (size_t i = 0; i < golden->count; i++) {
        const struct event *event = &golden->items[i];
        size_t at = event_is_workflow_task(event->type) ? 0 : find(event, actual, taken);
        if (event_is_workflow_task(event->type)) {
            continue;
        }
        if (at == actual->count) {
            str_addf(out, "run %zu: none is like SQLite's event %zu %s\n", run, i + 1,
                     event_type_title(event->type));
        }
        taken[at] = true;
    }
    for (size_t i = 0; i < actual->count; i++) {
        if (!taken[i] && !event_is_workflow_task(actual->items[i].type)) {
            str_addf(out, "run %zu: SQLite has none like event %zu %s\n", run, i + 1,
                     event_type_title(actual->items[i].type));
        }
    }
}

/* A server with too much to do loses a task now and then (it does not read the history in time);
 * when its time is up, it is given again. */
static bool has_lost_task(const struct history *history)
{
    for (size_t i = 0; i < history->count; i++) {
        if (history->items[i].type == EVENT_WORKFLOW_TASK_TIMED_OUT) {
            return true;
        }
    }
    return false;
}

void compare_histories(const char *scenario, size_t run, const struct history *golden,
                       const struct history *actual, struct str *out)
{
    autofree char *rule = pinned(scenario);
    if (!rule && !has_lost_task(actual)) {
        in_order(run, golden, actual, out);
    } else if (!rule || strcmp(rule, "race") == 0) {
        in_any_order(run, golden, actual, out);
    } else if (strcmp(rule, "own") != 0) {
        str_addf(out, "pins.tsv: %s is no rule\n", rule);
    }
}

char *compare_words(const char *scenario)
{
    autofree char *rule = pinned(scenario);
    return mem_printf("its histories are those of SQLite%s", !rule ? ""
                                                             : strcmp(rule, "race") == 0
                                                                 ? ", in any order"
                                                                 : " but for what is its own");
}
