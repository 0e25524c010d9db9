/*
 * fleet.c - see fleet.h.
 *
 * A run that ends while we look has removed its sandboxes between our list and our question about
 * it; therefore orphans are looked for a second time before they are called so. Tests:
 * tests/unit/test_factory_fleet.c, tests/cli/t0210-sandboxes.sh
 */
#include "factory/fleet.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/str.h"
#include "factory/workflow.h"

const char *fleet_class_name(enum fleet_class class)
{
    static const char *const names[FLEET_CLASSES] = {"active", "dead", "orphaned", "foreign",
                                                     "unknown"};
    return names[class];
}

void fleet_free(struct fleet *fleet)
{
    sandbox_list_free(&fleet->list);
    free(fleet->classes);
    *fleet = (struct fleet){0};
}

/* 1: the run that made it is open; 0: it is not; <0: the store does not say. */
static int owner_is_open(dur_engine *engine, const struct sandbox_info *info)
{
    dur_description *description = NULL;
    const char *run = sandbox_info_label(info, LABEL_RUN);
    const char *execution = sandbox_info_label(info, LABEL_EXECUTION);
    if (!run || !execution) {
        return 0;
    }
    autofree char *id = mem_printf("%s%s@%s", WORKFLOW_ID_PREFIX, run, execution);
    int rc = dur_describe(engine, id, &description);
    if (rc == DUR_NOT_FOUND) {
        return 0;
    }
    if (rc != DUR_OK) {
        return -1;
    }
    int open = description->closed_ns == 0;
    dur_description_free(description);
    return open;
}

/* Made for a run of the engine that we ask? A site may have moved from a file to a server. */
static bool is_of_engine(const struct fleet_owner *owner, const struct sandbox_info *info)
{
    const char *name = sandbox_info_label(info, LABEL_ENGINE);
    return str_eq(name ? name : "sqlite", owner->engine_name);
}

static enum fleet_class classify(const struct fleet_owner *owner, const struct sandbox_info *info)
{
    if (info->label_count == 0) { /* its record is damaged: only its place says that it is ours */
        return info->state == SANDBOX_DEAD ? FLEET_ORPHANED : FLEET_FOREIGN;
    }
    if (!str_eq(sandbox_info_label(info, LABEL_ORIGIN), LABEL_ORIGIN_FACTORY) || !owner->store_id ||
        !str_eq(sandbox_info_label(info, LABEL_STORE), owner->store_id)) {
        return FLEET_FOREIGN;
    }
    if (!is_of_engine(owner, info)) {
        return FLEET_UNKNOWN;
    }
    if (!owner->engine) {
        return owner->readable ? FLEET_ORPHANED : FLEET_UNKNOWN;
    }
    int open = owner_is_open(owner->engine, info);
    if (open < 0) {
        return FLEET_UNKNOWN;
    }
    if (open == 0) {
        return FLEET_ORPHANED;
    }
    return info->state == SANDBOX_DEAD ? FLEET_DEAD : FLEET_ACTIVE;
}

static bool is_listed(const struct sandbox_list *list, const char *id)
{
    for (size_t i = 0; i < list->count; i++) {
        if (str_eq(list->items[i].id, id)) {
            return true;
        }
    }
    return false;
}

/* Drop what is gone by now. */
static int look_again(struct provider *provider, struct fleet *fleet, struct err *err)
{
    autosandboxlist struct sandbox_list now = {0};
    size_t kept = 0;
    if (provider->ops->list(provider, &now, err) < 0) {
        return -1;
    }
    for (size_t i = 0; i < fleet->list.count; i++) {
        struct sandbox_info *info = &fleet->list.items[i];
        if (fleet->classes[i] == FLEET_ORPHANED && !is_listed(&now, info->id)) {
            struct sandbox_list one = {.items = mem_alloc(sizeof(*one.items)), .count = 1};
            one.items[0] = *info;
            sandbox_list_free(&one);
            continue;
        }
        fleet->classes[kept] = fleet->classes[i];
        fleet->list.items[kept++] = *info;
    }
    fleet->list.count = kept;
    return 0;
}

int fleet_look(struct provider *provider, const struct fleet_owner *owner, struct fleet *ret,
               struct err *err)
{
    struct fleet fleet = {0};
    bool orphans = false;
    if (provider->ops->list(provider, &fleet.list, err) < 0) {
        return -1;
    }
    fleet.classes = mem_array(fleet.list.count + 1, sizeof(*fleet.classes));
    for (size_t i = 0; i < fleet.list.count; i++) {
        fleet.classes[i] = classify(owner, &fleet.list.items[i]);
        orphans = orphans || fleet.classes[i] == FLEET_ORPHANED;
    }
    if (orphans && look_again(provider, &fleet, err) < 0) {
        fleet_free(&fleet);
        return -1;
    }
    for (size_t i = 0; i < fleet.list.count; i++) {
        fleet.counts[fleet.classes[i]]++;
    }
    *ret = fleet;
    return 0;
}
