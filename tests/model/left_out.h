/*
 * left_out.h - operations of a sequence that are not made, for shrinking one that shows a fault.
 *
 * Owns: the form of the list: "" or "FIRST-LAST,FIRST-LAST,...", operations of a store from 0. Each
 * operation has dice of its own, so that leaving some out does not change what others throw.
 * Must not: know what an operation is.
 * Tests: tests/model/run-model.sh
 */
#ifndef TESTS_MODEL_LEFT_OUT_H
#define TESTS_MODEL_LEFT_OUT_H

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static inline bool left_out(const char *list, long at)
{
    while (list && *list) {
        char *end = NULL;
        long first = strtol(list, &end, 10);
        long last = *end == '-' ? strtol(end + 1, &end, 10) : first;
        if (at >= first && at <= last) {
            return true;
        }
        list = *end == ',' ? end + 1 : "";
    }
    return false;
}

#endif
