/*
 * verb_list.h - every verb of `factory engine`, in the order that help shows them. A row:
 * VERB(name); its struct cmd is verb_NAME, in src/cli/engine_*.c.
 */
#ifndef VERB
#define VERB(name) extern const struct cmd verb_##name;
#endif
/* clang-format off */
VERB(start)
VERB(list)
VERB(describe)
VERB(query)
VERB(signal)
VERB(update)
VERB(cancel)
VERB(terminate)
VERB(pause)
VERB(resume)
VERB(reset)
VERB(queues)
VERB(token)
VERB(complete)
VERB(schedule)
