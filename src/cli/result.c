/*
 * result.c - see result.h.
 * Tests: tests/unit/test_cli_result.c, tests/cli/t0600-run.sh
 */
#include "cli/result.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/mem.h"
#include "base/term.h"
#include "cli/exitcode.h"
#include "cli/format.h"

#define LABEL_COLUMNS 16
#define WORD_COLUMNS 13
#define GATE_LINES 5
#define TAIL_BYTES 8192

struct block {
    struct str *out;
    const struct view *view;
    const char *data_dir;
    size_t width;
    bool colour;
};

char *result_path(const char *data_dir, const char *run_id, const char *name)
{
    autofree char *here = NULL, *real = NULL;
    const char *base = data_dir;
    if (fs_realpath(".", &here, NULL) == 0 && fs_realpath(data_dir, &real, NULL) == 0) {
        size_t len = strlen(here);
        bool below = str_starts(real, here) && real[len] == '/' && len > 1;
        base = below ? real + len + 1 : real;
    }
    return mem_printf("%s/runs/%s%s%s", base, run_id, *name ? "/" : "", name);
}

const char *result_last_lines(const char *text, size_t len, size_t lines)
{
    size_t at = len && text[len - 1] == '\n' ? len - 1 : len;
    while (at > 0 && lines > 0) {
        at--;
        if (text[at] == '\n' && --lines == 0) {
            return text + at + 1;
        }
    }
    return text;
}

static enum colour colour_of(const char *word)
{
    static const char *const good[] = {"SUCCEEDED", "SUCCESS", "PASSED"};
    static const char *const neutral[] = {"SKIPPED", "NOT NEEDED", "CANCELLED"};
    for (size_t i = 0; i < ARRAY_LEN(good); i++) {
        if (str_eq(word, good[i])) {
            return COLOUR_GREEN;
        }
        if (str_eq(word, neutral[i])) {
            return COLOUR_NONE;
        }
    }
    return COLOUR_RED;
}

/* "LABEL:   WORD    note": a note that has no room stands on lines of its own. */
static void line(struct block *b, const char *label, const char *word, const char *note)
{
    size_t note_columns = term_columns(note, strlen(note));
    bool fits = LABEL_COLUMNS + WORD_COLUMNS + note_columns <= b->width;
    format_pad(b->out, label, LABEL_COLUMNS);
    format_colour(b->out, b->colour, colour_of(word), word);
    if (*note && fits) {
        format_spaces(b->out, strlen(word) < WORD_COLUMNS ? WORD_COLUMNS - strlen(word) : 1);
        str_add(b->out, note);
    }
    str_addc(b->out, '\n');
    if (*note && !fits) {
        format_wrap(b->out, note, 2, b->width);
    }
}

static const char *shown(const char *outcome)
{
    return str_eq(outcome, "SUCCESS") ? "PASSED" : outcome ? outcome : "SKIPPED";
}

/* --- agent ------------------------------------------------------------------------------------ */

static void print_agent(struct block *b)
{
    const struct json *agent = json_get(b->view->manifest, "agent");
    int64_t exit_code = -1, ms = 0;
    autostr struct str note = {0};
    if (agent) {
        json_get_i64(agent, "exit_code", &exit_code);
        json_get_i64(agent, "duration_ms", &ms);
        if (exit_code >= 0) {
            str_addf(&note, "exit %lld, ", (long long)exit_code);
        }
        format_duration(&note, ms * 1000000);
    }
    const char *outcome = b->view->agent_result;
    line(b, "AGENT RESULT:", outcome ? outcome : "SKIPPED", str_c(&note));
}

/* --- verification ----------------------------------------------------------------------------- */

static void note_gate(struct str *note, const struct json *gate)
{
    int64_t exit_code = -1, ms = 0;
    bool passed = false, timed_out = false, started = true, mandatory = true;
    json_get_i64(gate, "exit_code", &exit_code);
    json_get_i64(gate, "duration_ms", &ms);
    json_get_bool(gate, "passed", &passed);
    json_get_bool(gate, "timed_out", &timed_out);
    json_get_bool(gate, "started", &started);
    json_get_bool(gate, "mandatory", &mandatory);
    const char *id = json_get_str(gate, "id");
    str_addf(note, "%s%s ", note->len ? " · " : "", id ? id : "?");
    if (passed) {
        format_duration(note, ms * 1000000);
    } else if (!started) {
        str_add(note, "not started");
    } else if (timed_out) {
        str_add(note, "timed out after ");
        format_duration(note, ms * 1000000);
    } else if (exit_code < 0) {
        str_add(note, "killed");
    } else {
        str_addf(note, "exit %lld", (long long)exit_code);
    }
    str_add(note, mandatory ? "" : " (advisory)");
}

/* The last bytes of a file of evidence; empty when it is not there. */
static void read_tail(const struct block *b, const char *name, struct str *ret)
{
    autofree char *path = result_path(b->data_dir, b->view->run_id, name);
    autoclose int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    struct stat st;
    char bytes[TAIL_BYTES];
    if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
        return;
    }
    off_t from = st.st_size > TAIL_BYTES ? st.st_size - TAIL_BYTES : 0;
    ssize_t got = pread(fd, bytes, sizeof(bytes), from);
    if (got > 0) {
        str_addn(ret, bytes, (size_t)got);
    }
}

static void print_failed_gate(struct block *b, const struct json *gate)
{
    autostr struct str text = {0}, name = {0}, head = {0};
    const char *id = json_get_str(gate, "id"), *error = json_get_str(gate, "error");
    bool passed = true, started = true;
    json_get_bool(gate, "passed", &passed);
    json_get_bool(gate, "started", &started);
    if (passed || !id) {
        return;
    }
    if (error) {
        str_addf(&head, "%s: ", id);
        format_clean(&head, error, strlen(error));
        format_wrap(b->out, str_c(&head), 2, b->width);
    }
    str_addf(&name, "verification/%s.stderr", id);
    read_tail(b, str_c(&name), &text);
    if (strspn(str_c(&text), " \t\r\n") == text.len) {
        str_reset(&text);
        str_reset(&name);
        str_addf(&name, "verification/%s.stdout", id);
        read_tail(b, str_c(&name), &text);
    }
    if (!started || text.len == 0) {
        return;
    }
    str_reset(&head);
    str_addf(&head, "%s, last lines (%s):", id, str_c(&name));
    format_wrap(b->out, str_c(&head), 2, b->width);
    for (const char *at = result_last_lines(str_c(&text), text.len, GATE_LINES); *at;) {
        autostr struct str clean = {0};
        size_t len = strcspn(at, "\n");
        format_clean(&clean, at, len);
        str_add(b->out, "    ");
        format_cut(b->out, str_c(&clean), b->width - 4);
        str_addc(b->out, '\n');
        at += len + (at[len] == '\n');
    }
}

static void print_verification(struct block *b)
{
    const struct json *manifest = b->view->manifest;
    const struct json *gates = json_get(manifest, "gates");
    const char *where = json_get_str(manifest, "verify_sandbox_id");
    autostr struct str note = {0};
    json_each (gate, gates) {
        note_gate(&note, gate);
    }
    if (note.len && where) {
        bool fresh = !str_eq(where, json_get_str(manifest, "sandbox_id"));
        str_add(&note, fresh ? "   (fresh sandbox)" : "   (the agent's sandbox)");
    }
    line(b, "VERIFICATION:", shown(b->view->verification_result), str_c(&note));
    json_each (gate, gates) {
        print_failed_gate(b, gate);
    }
}

/* --- the rest --------------------------------------------------------------------------------- */

static void print_integrity(struct block *b)
{
    const struct json *integrity = json_get(b->view->manifest, "gate_integrity");
    bool tampered = false;
    autostr struct str note = {0};
    const char *summary = json_get_str(integrity, "summary");
    json_get_bool(integrity, "tampered", &tampered);
    if (tampered) {
        format_clean(&note, summary ? summary : "", strlen(summary ? summary : ""));
        line(b, "GATE INTEGRITY:", "VIOLATED", str_c(&note));
    }
}

static void print_cleanup(struct block *b)
{
    const struct json *cleanup = json_get(b->view->manifest, "cleanup");
    int64_t destroyed = 0, remaining = 0;
    autostr struct str note = {0};
    const char *outcome = b->view->cleanup_result;
    if (!outcome || str_eq(outcome, "SKIPPED")) {
        line(b, "CLEANUP:", "NOT NEEDED", "no sandbox was made");
        return;
    }
    if (cleanup) {
        json_get_i64(cleanup, "destroyed", &destroyed);
        json_get_i64(cleanup, "remaining_sandboxes", &remaining);
        format_count(&note, destroyed, "sandbox");
        str_addf(&note, ", %lld %s", (long long)remaining, remaining == 1 ? "remains" : "remain");
    }
    line(b, "CLEANUP:", shown(outcome), str_c(&note));
}

static void print_error(struct block *b)
{
    autostr struct str text = {0};
    if (!b->view->error) {
        return;
    }
    format_clean(&text, b->view->error, strlen(b->view->error));
    bool fits = LABEL_COLUMNS + term_columns(str_c(&text), text.len) <= b->width;
    format_pad(b->out, "ERROR:", fits ? LABEL_COLUMNS : strlen("ERROR:"));
    if (fits) {
        str_addf(b->out, "%s\n", str_c(&text));
    } else {
        str_addc(b->out, '\n');
        format_wrap(b->out, str_c(&text), 2, b->width);
    }
}

static void print_patch(struct block *b)
{
    const char *name = json_get_str(b->view->manifest, "patch");
    const struct json *facts = json_get(b->view->manifest, "patch_facts");
    int64_t files = 0, additions = 0, deletions = 0;
    if (!name || !fs_path_is_inside(name)) {
        return;
    }
    autofree char *path = result_path(b->data_dir, b->view->run_id, name);
    json_get_i64(facts, "files", &files);
    json_get_i64(facts, "additions", &additions);
    json_get_i64(facts, "deletions", &deletions);
    if (!fs_exists(path)) {
        str_addf(b->out, "\nPatch:\n%s   is not there any more\n", path);
    } else if (files == 0) {
        str_add(b->out, "\nPatch: nothing was changed\n");
    } else {
        autostr struct str note = {0};
        format_count(&note, files, "file");
        str_addf(&note, ", +%lld −%lld", (long long)additions, (long long)deletions);
        size_t columns = term_columns(path, strlen(path)) + 3 + term_columns(note.ptr, note.len);
        str_addf(b->out, "\nPatch%s:\n%s%s%s\n", str_ends(name, ".sealed") ? " (sealed)" : "", path,
                 columns <= b->width ? "   " : "\n  ", str_c(&note));
    }
}

void result_print(struct str *out, const struct view *view, const char *data_dir, size_t width,
                  bool colour)
{
    struct block b = {
        .out = out, .view = view, .data_dir = data_dir, .width = width, .colour = colour};
    bool mutated = false;
    line(&b, "FACTORY RESULT:", view->state_name, "");
    if (view->has_verdict) {
        print_agent(&b);
        print_integrity(&b);
        print_verification(&b);
        print_cleanup(&b);
    }
    print_error(&b);
    json_get_bool(view->manifest, "verification_mutated_tree", &mutated);
    if (mutated) {
        format_wrap(out,
                    "the gates changed the tree: verification/post-verification.patch; the patch"
                    " below is what was verified before that",
                    0, width);
    }
    print_patch(&b);
    autofree char *dir = result_path(data_dir, view->run_id, "");
    if (view->state != STATE_SUCCEEDED && fs_is_dir(dir)) {
        str_addf(out, "\nEvidence:\n%s\n", dir);
    }
}
