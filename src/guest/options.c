/*
 * options.c - the guest's command line as a struct guest_options.
 *
 * Owns: the option names and their parsing. Must not: open or check what the values name; that is
 * guest_main()'s business. Rule: the last one of a repeated option wins.
 * Tests: tests/unit/test_guest_options.c
 */
#include "guest/guest.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum field_type { FIELD_TEXT, FIELD_INT, FIELD_I64, FIELD_SIZE };

struct field {
    const char *name;
    enum field_type type;
    size_t offset;
};

#define FIELD(name, type, member)                                                                  \
    {                                                                                              \
        name, type, offsetof(struct guest_options, member)                                         \
    }

static const struct field FIELDS[] = {
    FIELD("--socket", FIELD_TEXT, socket_path),
    FIELD("--listen-fd", FIELD_INT, listen_fd),
    FIELD("--workdir", FIELD_TEXT, workdir),
    FIELD("--home", FIELD_TEXT, home),
    FIELD("--user", FIELD_TEXT, user),
    FIELD("--path", FIELD_TEXT, path),
    FIELD("--log", FIELD_TEXT, log_path),
    FIELD("--ready-fd", FIELD_INT, ready_fd),
    FIELD("--idle-ms", FIELD_I64, idle_ms),
    FIELD("--output-head-bytes", FIELD_SIZE, output_head_bytes),
    FIELD("--output-tail-bytes", FIELD_SIZE, output_tail_bytes),
    FIELD("--max-processes", FIELD_SIZE, max_processes),
};

static const struct field *find(const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(FIELDS); i++) {
        if (strcmp(FIELDS[i].name, name) == 0) {
            return &FIELDS[i];
        }
    }
    return NULL;
}

/* Non-negative decimal no larger than max. */
static bool parse_number(const char *text, int64_t max, int64_t *ret)
{
    if (*text < '0' || *text > '9') {
        return false;
    }
    char *end;
    errno = 0;
    long long value = strtoll(text, &end, 10);
    if (errno != 0 || *end != '\0' || value > max) {
        return false;
    }
    *ret = value;
    return true;
}

static bool store(const struct field *field, const char *value, struct guest_options *options)
{
    char *at = (char *)options + field->offset;
    int64_t number;
    switch (field->type) {
    case FIELD_TEXT:
        memcpy(at, &value, sizeof(value));
        return *value != '\0';
    case FIELD_INT:
        if (!parse_number(value, INT32_MAX, &number)) {
            return false;
        }
        memcpy(at, &(int){(int)number}, sizeof(int));
        return true;
    case FIELD_I64:
        if (!parse_number(value, INT64_MAX / 1000000, &number)) {
            return false;
        }
        memcpy(at, &number, sizeof(number));
        return true;
    case FIELD_SIZE:
        if (!parse_number(value, INT32_MAX, &number)) {
            return false;
        }
        memcpy(at, &(size_t){(size_t)number}, sizeof(size_t));
        return true;
    }
    return false;
}

int guest_options_parse(int argc, char *const *argv, struct guest_options *ret, struct err *err)
{
    struct guest_options options = {0};
    for (int i = 1; i < argc; i += 2) {
        const struct field *field = find(argv[i]);
        if (!field) {
            return err_set(err, ERR_PERMANENT, "Usage", "guest: unknown option '%s'", argv[i]);
        }
        if (i + 1 >= argc) {
            return err_set(err, ERR_PERMANENT, "Usage", "guest: %s needs a value", argv[i]);
        }
        if (!store(field, argv[i + 1], &options)) {
            return err_set(err, ERR_PERMANENT, "Usage", "guest: %s cannot be '%s'", argv[i],
                           argv[i + 1]);
        }
    }
    if (!options.socket_path && options.listen_fd <= 0) {
        return err_set(err, ERR_PERMANENT, "Usage", "guest: --socket PATH is missing");
    }
    *ret = options;
    return 0;
}
