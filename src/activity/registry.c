/*
 * registry.c - see registry.h. Owns the two lists; an engine has tens of names, so a list is
 * enough.
 * Tests: tests/unit/test_engine_run.c
 */
#include "activity/registry.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"

#define NAME_BYTES_MAX 1000 /* Temporal's limit for ids, types and names */

static void free_list(struct registered *list)
{
    while (list) {
        struct registered *next = list->next;
        free(list->name);
        free(list);
        list = next;
    }
}

void registry_free(struct registry *registry)
{
    free_list(registry->workflows);
    free_list(registry->activities);
    free_list(registry->transactions);
    memset(registry, 0, sizeof(*registry));
}

static const struct registered *find(const struct registered *list, const char *name)
{
    while (list && !str_eq(list->name, name)) {
        list = list->next;
    }
    return list;
}

static int add(struct registered **list, const char *name, const struct registered *entry)
{
    if (!name || !*name || strlen(name) > NAME_BYTES_MAX) {
        return DUR_INVALID;
    }
    if (find(*list, name)) {
        return DUR_EXISTS; /* a name means one function */
    }
    struct registered *made = mem_alloc(sizeof(*made));
    *made = *entry;
    made->name = mem_strdup(name);
    made->next = *list;
    *list = made;
    return DUR_OK;
}

int registry_add_workflow(struct registry *registry, const char *name, dur_workflow_fn fn,
                          void *user)
{
    struct registered entry = {.workflow = fn, .user = user};
    return fn ? add(&registry->workflows, name, &entry) : DUR_INVALID;
}

int registry_add_activity(struct registry *registry, const char *name, dur_activity_fn fn,
                          void *user)
{
    struct registered entry = {.activity = fn, .user = user};
    return fn ? add(&registry->activities, name, &entry) : DUR_INVALID;
}

int registry_set_activity(struct registry *registry, const char *name, dur_activity_fn fn,
                          void *user)
{
    for (struct registered *r = registry->activities; r && fn; r = r->next) {
        if (str_eq(r->name, name)) {
            r->activity = fn;
            r->user = user;
            return DUR_OK;
        }
    }
    return registry_add_activity(registry, name, fn, user);
}

int registry_add_transaction(struct registry *registry, const char *name, dur_transaction_fn fn,
                             void *user)
{
    struct registered entry = {.transaction = fn, .user = user};
    return fn ? add(&registry->transactions, name, &entry) : DUR_INVALID;
}

bool registry_has_transactions(const struct registry *registry)
{
    return registry->transactions != NULL;
}

const struct registered *registry_transaction(const struct registry *registry, const char *name)
{
    return find(registry->transactions, name);
}

const struct registered *registry_workflow(const struct registry *registry, const char *name)
{
    return find(registry->workflows, name);
}

const struct registered *registry_activity(const struct registry *registry, const char *name)
{
    return find(registry->activities, name);
}
