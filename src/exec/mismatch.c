/*
 * mismatch.c - the report of a mismatch between history and code, for people.
 *
 * Owns: the two-column text: what the history has, what the code does instead, and what to do.
 * Must not: need a run; it prints what struct mismatch says.
 * Tests: tests/unit/test_exec_mismatch.c (and its goldens)
 */
#include <string.h>

#include "exec/run.h"

#define COLUMN 37 /* two of them and the gap fit 80 columns */
#define GAP "  | "

/* Bytes of text for one line of a column: break at a blank if there is one. */
static size_t line_bytes(const char *text)
{
    size_t len = strlen(text);

    if (len <= COLUMN) {
        return len;
    }
    size_t cut = utf8_prefix(text, len, COLUMN);
    for (size_t i = cut; i > 0; i--) {
        if (text[i] == ' ') {
            return i;
        }
    }
    return cut;
}

static void cell(struct str *out, const char **text, bool pad)
{
    size_t bytes = line_bytes(*text);
    size_t columns = 0;

    str_addn(out, *text, bytes);
    for (size_t i = 0; i < bytes; i++) { /* one column per character is near enough here */
        columns += ((unsigned char)(*text)[i] & 0xc0) != 0x80;
    }
    *text += bytes;
    while (**text == ' ') {
        (*text)++;
    }
    for (; pad && columns < COLUMN; columns++) {
        str_addc(out, ' ');
    }
}

static void row(struct str *out, const char *left, const char *right)
{
    do {
        str_add(out, "  ");
        cell(out, &left, true);
        str_add(out, GAP);
        cell(out, &right, false);
        while (out->ptr[out->len - 1] == ' ') {
            str_cut(out, out->len - 1);
        }
        str_addc(out, '\n');
    } while (*left || *right);
}

static void advice(struct str *out, const struct mismatch *m)
{
    str_add(out, "\nWhat to do: nothing is lost; this run waits, all others go on. ");
    if (m->kind == MISMATCH_VERSION) {
        str_add(out, "Widen the range of\n"
                     "versions that dur_code_version() accepts here and keep the old path in the\n"
                     "code for as long as runs that recorded it are open.\n");
        return;
    }
    str_add(out, "The code of this\n"
                 "workflow was changed in a way that its open runs cannot follow. Either start a\n"
                 "program whose code does again what the history holds, or keep both paths:\n\n"
                 "    if (dur_code_version(ctx, \"what-changed\", -1, 1) < 1) {\n"
                 "        ... as it was ...\n"
                 "    } else {\n"
                 "        ... as it is now ...\n"
                 "    }\n\n"
                 "Then start the program again; the run is replayed and goes on.\n");
}

void mismatch_report(struct str *out, const struct mismatch *m)
{
    str_add(out, "The history of this run does not fit the code of its workflow.\n\n");
    str_addf(out, "  workflow  %s\n  id        %s\n  at event  %lld\n", m->workflow_type,
             m->workflow_id, (long long)m->event_id);
    if (m->site.file) { /* on one line of its own, so that it can be copied or clicked */
        str_addf(out, "  code at   %s:%d%s\n", m->site.file, m->site.line,
                 m->kind == MISMATCH_MISSING ? " (its last durable call)" : "");
    }
    str_addc(out, '\n');
    row(out, "the history has", "the code asks for");
    row(out, "-------------------------------------", "-------------------------------------");
    row(out, *m->expected ? m->expected : "nothing more in this task",
        *m->actual ? m->actual : "nothing more in this task");
    advice(out, m);
}
