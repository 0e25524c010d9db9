/*
 * filter.h - Temporal's list filter language, as a condition on table execution.
 *
 * Owns: the language and its translation to SQL with bound parameters. Must not: run anything, or
 * let a byte of the filter into the SQL text.
 *
 *   filter  = and {"OR" and}            and  = not {"AND" not}
 *   not     = ["NOT"] (test | "(" filter ")")
 *   test    = name ("=" | "!=" | "<>" | "<" | "<=" | ">" | ">=") value
 *           | name ["NOT"] "IN" "(" value {"," value} ")"
 *           | name ["NOT"] "BETWEEN" value "AND" value
 *           | name ["NOT"] "STARTS_WITH" text
 *           | name "IS" ["NOT"] "NULL"
 *   value   = text | number | true | false
 *   text    = 'single' or "double" quotes, a quote inside is doubled
 *   name    = a letter, then letters, digits and _ . - ; anything else between `backquotes`
 *
 * Words of the language are written in any case, names are exact. Built-in names, as Temporal's:
 * WorkflowId, RunId, WorkflowType, TaskQueue, ParentWorkflowId, ParentRunId (texts);
 * ExecutionStatus ('Running', 'Paused', 'Completed' ...; only equal or not); StartTime, CloseTime
 * (RFC 3339 text, or nanoseconds since 1970); ExecutionDuration ('90s', or nanoseconds);
 * HistoryLength, HistorySizeBytes (numbers). Every other name is a search attribute.
 * A run without the attribute passes none of its tests but IS NULL; of a list one item that passes
 * is enough, and != and NOT IN want no item to be equal. Text and number never compare.
 */
#ifndef JOURNAL_FILTER_H
#define JOURNAL_FILTER_H

#include "base/arena.h"
#include "base/err.h"

#define FILTER_DEPTH_MAX 50   /* parentheses and NOTs within each other */
#define FILTER_VALUES_MAX 500 /* values and names of attributes */
#define FILTER_BYTES_MAX 65536

enum filter_type { FILTER_TEXT, FILTER_INT, FILTER_REAL };

struct filter_value {
    enum filter_type type;
    const char *text;
    int64_t integer; /* also of booleans: 0 and 1 */
    double real;
};

struct filter {
    const char *sql; /* a condition; its parameters are ?1 to ?count */
    struct filter_value *values;
    size_t count;
};

/* All in arena. On failure err says "column N: ..." (bytes from 1), name "BadFilter". A filter of
 * nothing but blanks passes every run. */
int filter_parse(struct arena *arena, const char *text, struct filter *ret, struct err *err);

#endif
