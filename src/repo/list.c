/*
 * list.c - a whole tree as one flat, sorted list of paths.
 *
 * Owns: git's tree object format:  <octal mode> ' ' <name> NUL <20 bytes of id> ...
 * Sorted bytewise by full path, a list is in the order that git gives tree entries (directories
 * compare as if "/" followed their name), so that trees are contiguous ranges. Invariants: list.h.
 * Tests: tests/unit/test_repo_tree.c
 */
#include "repo/list.h"

#include <assert.h>
#include <string.h>

#include "base/mem.h"

void list_init(struct list *list)
{
    *list = (struct list){.arena = arena_new()};
}

void list_free(struct list *list)
{
    free(list->entries);
    list->arena = arena_free(list->arena);
    *list = (struct list){0};
}

void list_add(struct list *list, const char *path, uint32_t mode, uint32_t raw_mode,
              const git_oid *id)
{
    mem_reserve(list->entries, &list->cap, list->count + 1);
    list->entries[list->count++] = (struct list_entry){
        .path = arena_strdup(list->arena, path),
        .mode = mode,
        .raw_mode = raw_mode == mode ? 0 : raw_mode,
        .id = *id,
    };
}

/* 0: a mode that git never writes. */
static uint32_t canonical(uint32_t mode)
{
    switch (mode & 0170000u) {
    case 0100000u:
        return mode & 0100u ? MODE_EXEC : MODE_FILE;
    case MODE_LINK:
        return MODE_LINK;
    case MODE_TREE:
        return MODE_TREE;
    case MODE_GITLINK:
        return MODE_GITLINK;
    default:
        return 0;
    }
}

struct loader {
    git_odb *odb;
    struct list *list;
    struct str path;
    struct err *err;
};

static int refuse(struct loader *load, const char *path, const char *why)
{
    struct str shown = {0};
    int rc = err_set(load->err, ERR_PERMANENT, "BaselineRefused", "the tree cannot be used: %s %s",
                     name_show(&shown, path), why);
    str_free(&shown);
    return rc;
}

static int check_entry(struct loader *load, const char *name, uint32_t mode)
{
    const char *path = str_c(&load->path);
    const char *fault = strchr(name, '/') ? "has a \"/\" in a tree entry's name" : name_fault(path);
    if (!fault && (name_has_git(path) || !name_is_portable(path, mode))) {
        fault = "is a name that git refuses to check out";
    }
    if (!fault && mode == 0) {
        fault = "has a mode that git does not know";
    }
    if (!fault && mode != MODE_TREE && load->list->count &&
        strcmp(load->list->entries[load->list->count - 1].path, path) >= 0) {
        fault = "is out of order or there twice";
    }
    if (!fault && load->list->count >= LIST_MAX_ENTRIES) {
        fault = "is entry number 4,000,001, the limit";
    }
    return fault ? refuse(load, path, fault) : 0;
}

static int load_tree(struct loader *load, const git_oid *id);

static int load_entry(struct loader *load, const char *name, uint32_t raw, const git_oid *id)
{
    size_t keep = load->path.len;
    if (keep) {
        str_addc(&load->path, '/');
    }
    str_add(&load->path, name);
    uint32_t mode = canonical(raw);
    int rc = check_entry(load, name, mode);
    if (rc == 0 && mode == MODE_TREE) {
        rc = load_tree(load, id);
    } else if (rc == 0) {
        list_add(load->list, load->path.ptr, mode, raw, id);
    }
    str_cut(&load->path, keep);
    return rc;
}

/* One entry at *p; false when the object is malformed. */
static bool parse_entry(const char **p, const char *end, uint32_t *mode, const char **name,
                        git_oid *id)
{
    const char *at = *p;
    *mode = 0;
    for (; at < end && *at >= '0' && *at <= '7' && at - *p < 7; at++) {
        *mode = *mode * 8 + (uint32_t)(*at - '0');
    }
    if (at == *p || at >= end || *at != ' ') {
        return false;
    }
    *name = ++at;
    at = memchr(at, '\0', (size_t)(end - at));
    if (!at || end - at < 1 + GIT_OID_RAWSZ) {
        return false;
    }
    git_oid_fromraw(id, (const unsigned char *)at + 1);
    *p = at + 1 + GIT_OID_RAWSZ;
    return true;
}

static int load_tree(struct loader *load, const git_oid *id)
{
    autogit(git_odb_object) git_odb_object *object = NULL;
    char hex[OBJECT_HEX_BYTES];
    git_hex(hex, id);
    if (git_odb_read(&object, load->odb, id) < 0) {
        return git_fail(load->err, ERR_PERMANENT, "SourceIncomplete", "tree %s cannot be read",
                        hex);
    }
    if (git_odb_object_type(object) != GIT_OBJECT_TREE) {
        return err_set(load->err, ERR_PERMANENT, "ObjectIdBad", "object %s is not a tree", hex);
    }
    const char *p = git_odb_object_data(object);
    const char *end = p + git_odb_object_size(object);
    while (p < end) {
        uint32_t mode;
        const char *name;
        git_oid entry;
        if (!parse_entry(&p, end, &mode, &name, &entry)) {
            return err_set(load->err, ERR_PERMANENT, "BaselineRefused",
                           "the tree cannot be used: object %s is malformed", hex);
        }
        int rc = load_entry(load, name, mode, &entry);
        if (rc < 0) {
            return rc;
        }
    }
    return 0;
}

int list_load(git_odb *odb, const git_oid *tree, struct list *ret, struct err *err)
{
    struct list list;
    list_init(&list);
    struct loader load = {.odb = odb, .list = &list, .err = err};
    int rc = load_tree(&load, tree);
    str_free(&load.path);
    if (rc < 0) {
        list_free(&list);
        return rc;
    }
    *ret = list;
    return 0;
}

int list_load_hex(struct tree_store *store, const char *tree, struct list *ret, struct err *err)
{
    git_oid id;
    int rc = git_id(tree, &id, err);
    return rc < 0 ? rc : list_load(store->odb, &id, ret, err);
}

static int by_path(const void *a, const void *b)
{
    return strcmp(((const struct list_entry *)a)->path, ((const struct list_entry *)b)->path);
}

size_t list_lower(const struct list *list, const char *path)
{
    size_t low = 0;
    size_t high = list->count;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (strcmp(list->entries[mid].path, path) < 0) {
            low = mid + 1;
        } else {
            high = mid;
        }
    }
    return low;
}

struct list_entry *list_find(const struct list *list, const char *path)
{
    size_t at = list_lower(list, path);
    return at < list->count && strcmp(list->entries[at].path, path) == 0 ? &list->entries[at]
                                                                         : NULL;
}

bool list_has_below(const struct list *list, const char *path)
{
    char *dir = mem_printf("%s/", path);
    size_t at = list_lower(list, dir);
    bool below = at < list->count && str_starts(list->entries[at].path, dir);
    free(dir);
    return below;
}

int list_seal(struct list *list, struct err *err)
{
    if (list->count) {
        qsort(list->entries, list->count, sizeof(list->entries[0]), by_path);
    }
    for (size_t i = 0; i < list->count; i++) {
        const char *path = list->entries[i].path;
        const char *why = NULL;
        if (i && strcmp(list->entries[i - 1].path, path) == 0) {
            why = "is there twice";
        } else if (list_has_below(list, path)) {
            why = "is a file and a directory at once";
        }
        if (why) {
            autostr struct str shown = {0};
            return err_set(err, ERR_PERMANENT, "TreeRefused", "the tree is refused: %s %s",
                           name_show(&shown, path), why);
        }
    }
    return 0;
}

static void put_entry(struct str *out, uint32_t mode, const char *name, size_t len,
                      const git_oid *id)
{
    str_addf(out, "%o ", mode);
    str_addn(out, name, len);
    str_addc(out, '\0');
    str_addn(out, id->id, GIT_OID_RAWSZ);
}

/* The tree of entries[from..to), which all begin with the same skip bytes. */
static int write_range(const struct list *list, struct tree_store *store, size_t from, size_t to,
                       size_t skip, git_oid *ret, struct err *err)
{
    autostr struct str object = {0};
    for (size_t i = from; i < to;) {
        const struct list_entry *entry = &list->entries[i];
        const char *name = entry->path + skip;
        size_t len = strcspn(name, "/");
        if (name[len] == '\0') {
            put_entry(&object, entry->raw_mode ? entry->raw_mode : entry->mode, name, len,
                      &entry->id);
            i++;
            continue;
        }
        size_t end = i + 1;
        while (end < to && strncmp(list->entries[end].path + skip, name, len + 1) == 0) {
            end++;
        }
        git_oid sub;
        int rc = write_range(list, store, i, end, skip + len + 1, &sub, err);
        if (rc < 0) {
            return rc;
        }
        put_entry(&object, MODE_TREE, name, len, &sub);
        i = end;
    }
    return store_write(store, str_c(&object), object.len, GIT_OBJECT_TREE, ret, err);
}

int list_write(const struct list *list, struct tree_store *store, git_oid *ret, struct err *err)
{
    return write_range(list, store, 0, list->count, 0, ret, err);
}

bool list_next(struct list_pair *pair, const struct list_entry **a, const struct list_entry **b)
{
    bool have_from = pair->at_from < pair->from->count;
    bool have_to = pair->at_to < pair->to->count;
    if (!have_from && !have_to) {
        return false;
    }
    const struct list_entry *from = have_from ? &pair->from->entries[pair->at_from] : NULL;
    const struct list_entry *to = have_to ? &pair->to->entries[pair->at_to] : NULL;
    int order = !from ? 1 : !to ? -1 : strcmp(from->path, to->path);
    *a = order <= 0 ? from : NULL;
    *b = order >= 0 ? to : NULL;
    pair->at_from += order <= 0;
    pair->at_to += order >= 0;
    return true;
}

bool list_same(const struct list_entry *a, const struct list_entry *b)
{
    return a && b && a->mode == b->mode && git_oid_equal(&a->id, &b->id);
}
