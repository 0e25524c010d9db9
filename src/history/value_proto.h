/*
 * value_proto.h - the values inside events, each alone, in protobuf's binary form.
 *
 * Owns: payloads, failures, retry policies and so on to and from the bytes that a server's own
 * messages carry them as: by the tables that whole histories are read and written with (proto.h),
 * so that a value means the same in both. What a message holds beyond the tables is kept.
 * Must not: know the messages around a value (temporal/ does), or judge.
 * Writing appends the bytes of the message, without tag and length; of NULL, nothing. Reading makes
 * the value in the arena, with nothing that points into the bytes; of no bytes at all, NULL, which
 * is what an absent member and an empty message look alike as. Errors are permanent, "BadHistory".
 * Threads: any.
 */
#ifndef HISTORY_VALUE_PROTO_H
#define HISTORY_VALUE_PROTO_H

#include "base/err.h"
#include "base/str.h"
#include "history/field.h"

/* Any message of value_list.h; the functions further down are the ones to call. */
void value_to_proto(struct str *out, const struct message_desc *desc, const void *value);
int value_from_proto(struct arena *arena, const struct message_desc *desc, const void *bytes,
                     size_t len, void **ret_value, struct err *err);

/* failure_to_proto(out, failure), retry_policy_from_proto(arena, bytes, len, &policy, err), ... */
#define VALUE_PROTO_(c_name, upper)                                                                \
    static inline void c_name##_to_proto(struct str *out, const struct c_name *value)              \
    {                                                                                              \
        value_to_proto(out, &message_desc_##c_name, value);                                        \
    }                                                                                              \
    static inline int c_name##_from_proto(struct arena *arena, const void *bytes, size_t len,      \
                                          struct c_name **ret, struct err *err)                    \
    {                                                                                              \
        void *value = NULL;                                                                        \
        int rc = value_from_proto(arena, &message_desc_##c_name, bytes, len, &value, err);         \
        *ret = value;                                                                              \
        return rc;                                                                                 \
    }
MESSAGE_LIST(VALUE_PROTO_)
#undef VALUE_PROTO_

void payload_to_proto(struct str *out, const struct payload *payload);
int payload_from_proto(struct arena *arena, const void *bytes, size_t len, struct payload **ret,
                       struct err *err);
void payloads_to_proto(struct str *out, const struct payloads *payloads);
int payloads_from_proto(struct arena *arena, const void *bytes, size_t len, struct payloads **ret,
                        struct err *err);

/* The three maps of payloads differ in their wrapper's member only. */
enum map_kind { MAP_MEMO, MAP_HEADER, MAP_SEARCH_ATTRIBUTES };
void payload_map_to_proto(struct str *out, enum map_kind kind, const struct payload_map *map);
int payload_map_from_proto(struct arena *arena, enum map_kind kind, const void *bytes, size_t len,
                           struct payload_map **ret, struct err *err);

/* A message that is but a name: WorkflowType, ActivityType. */
void name_to_proto(struct str *out, const char *name);
int name_from_proto(struct arena *arena, const void *bytes, size_t len, const char **ret,
                    struct err *err);

/* event.user_metadata: JSON text of {"summary":payload,"details":payload}. */
void user_metadata_to_proto(struct str *out, const char *json);

#endif
