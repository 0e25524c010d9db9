/*
 * apply.c - the strict reader of our own patch text.
 *
 * Owns: turning (tree, text) into a tree, with every id and mode in the text checked against the
 * tree and against the content that results; so the text is proven, not believed. Must not: search
 * for hunks, ignore white space, accept anything that patch.c does not write.
 *
 *   section: names -> modes -> ids -> content (hunks | binary | none) -> entry added, changed,
 * removed
 *
 * All deletions and changes refer to the tree as it was; the result is checked as a whole
 * (list_seal). Thread rule: tree.h. Tests: tests/unit/test_repo_patch.c,
 * tests/fuzz/fuzz_repo_patch.c
 */
#include <string.h>

#include "base/mem.h"
#include "repo/binary.h"
#include "repo/list.h"
#include "repo/patch.h"

struct section {
    struct str path;
    uint32_t old_mode; /* 0: creation */
    uint32_t new_mode; /* 0: deletion */
    git_oid old_id;
    git_oid new_id;
    bool has_ids;
};

struct applier {
    struct tree_store *store;
    struct list base;
    bool *gone; /* per entry of base: removed or replaced */
    struct list result;
    const char *p;
    const char *end;
    struct section at;
    struct str content; /* what the section's content becomes */
    struct err *err;
};

static int bad(struct applier *ap, const char *what)
{
    autostr struct str shown = {0};
    return err_set(ap->err, ERR_PERMANENT, "PatchBad", "not a patch of ours: %s (at %s)", what,
                   ap->at.path.len ? name_show(&shown, str_c(&ap->at.path)) : "its begin");
}

static int mismatch(struct applier *ap, const char *what)
{
    autostr struct str shown = {0};
    return err_set(ap->err, ERR_PERMANENT, "PatchMismatch",
                   "the patch does not fit the tree: %s %s", name_show(&shown, str_c(&ap->at.path)),
                   what);
}

static bool take(struct applier *ap, const char *word)
{
    size_t len = strlen(word);
    if ((size_t)(ap->end - ap->p) < len || memcmp(ap->p, word, len) != 0) {
        return false;
    }
    ap->p += len;
    return true;
}

static bool take_mode(struct applier *ap, uint32_t *ret)
{
    uint32_t mode = 0;
    if (ap->end - ap->p < 6) {
        return false;
    }
    for (size_t i = 0; i < 6; i++) {
        if (ap->p[i] < '0' || ap->p[i] > '7') {
            return false;
        }
        mode = mode * 8 + (uint32_t)(ap->p[i] - '0');
    }
    ap->p += 6;
    *ret = mode;
    return mode == MODE_FILE || mode == MODE_EXEC || mode == MODE_LINK || mode == MODE_GITLINK;
}

static bool take_id(struct applier *ap, git_oid *ret)
{
    char hex[OBJECT_HEX_BYTES];
    if (ap->end - ap->p < GIT_OID_HEXSZ) {
        return false;
    }
    memcpy(hex, ap->p, GIT_OID_HEXSZ);
    hex[GIT_OID_HEXSZ] = '\0';
    ap->p += GIT_OID_HEXSZ;
    return git_id(hex, ret, NULL) == 0;
}

/* A possibly quoted "a/path": into out without the prefix. */
static bool take_name(struct applier *ap, const char *prefix, struct str *out)
{
    autostr struct str name = {0};
    if (!name_unquote(&ap->p, ap->end, " \n", &name) || !str_starts(str_c(&name), prefix)) {
        return false;
    }
    str_reset(out);
    str_add(out, name.ptr + strlen(prefix));
    return true;
}

static bool same_name(struct applier *ap, const char *prefix)
{
    autostr struct str name = {0};
    return take_name(ap, prefix, &name) && str_eq(str_c(&name), str_c(&ap->at.path));
}

/* --- headers --- */

static int read_modes(struct applier *ap, const struct list_entry *entry)
{
    struct section *at = &ap->at;
    at->old_mode = entry ? entry->mode : 0;
    at->new_mode = at->old_mode;
    if (take(ap, "new file mode ")) {
        at->old_mode = 0;
        return take_mode(ap, &at->new_mode) && take(ap, "\n") ? 0 : bad(ap, "a mode is malformed");
    }
    if (take(ap, "deleted file mode ")) {
        at->new_mode = 0;
        return take_mode(ap, &at->old_mode) && take(ap, "\n") ? 0 : bad(ap, "a mode is malformed");
    }
    if (take(ap, "old mode ")) {
        bool good = take_mode(ap, &at->old_mode) && take(ap, "\nnew mode ") &&
                    take_mode(ap, &at->new_mode) && take(ap, "\n");
        return good ? 0 : bad(ap, "a mode is malformed");
    }
    return 0;
}

static int read_ids(struct applier *ap)
{
    struct section *at = &ap->at;
    at->has_ids = take(ap, "index ");
    if (!at->has_ids) {
        return at->old_mode && at->new_mode && at->old_mode != at->new_mode
                   ? 0
                   : bad(ap, "the ids are missing");
    }
    uint32_t mode = 0;
    if (!take_id(ap, &at->old_id) || !take(ap, "..") || !take_id(ap, &at->new_id)) {
        return bad(ap, "the ids are malformed");
    }
    bool says_mode = take(ap, " ");
    if ((says_mode && (!take_mode(ap, &mode) || mode != at->old_mode)) || !take(ap, "\n")) {
        return bad(ap, "the line of ids is malformed");
    }
    bool same = at->old_mode == at->new_mode;
    if (says_mode != same || git_oid_is_zero(&at->old_id) != (at->old_mode == 0) ||
        git_oid_is_zero(&at->new_id) != (at->new_mode == 0)) {
        return bad(ap, "the ids do not go with the modes");
    }
    return 0;
}

static int check_old(struct applier *ap, const struct list_entry *entry)
{
    struct section *at = &ap->at;
    if (at->old_mode == 0) {
        bool freed = entry && ap->gone[entry - ap->base.entries];
        return entry && !freed ? mismatch(ap, "is there already") : 0;
    }
    if (!entry || ap->gone[entry - ap->base.entries]) {
        return mismatch(ap, "is not there");
    }
    if (entry->mode != at->old_mode || (at->has_ids && !git_oid_equal(&entry->id, &at->old_id))) {
        return mismatch(ap, "has other content or another mode");
    }
    return at->new_mode == 0 || (at->old_mode & 0170000u) == (at->new_mode & 0170000u)
               ? 0
               : bad(ap, "a type changes in one step");
}

/* --- hunks --- */

struct old_lines {
    const char *p;
    const char *end;
    size_t number; /* of the line at p, from 1 */
};

static size_t line_len(const char *p, const char *end)
{
    const char *feed = memchr(p, '\n', (size_t)(end - p));
    return feed ? (size_t)(feed - p) + 1 : (size_t)(end - p);
}

static bool take_number(struct applier *ap, size_t *ret)
{
    size_t value = 0;
    const char *start = ap->p;
    while (ap->p < ap->end && *ap->p >= '0' && *ap->p <= '9' && ap->p - start < 10) {
        value = value * 10 + (size_t)(*ap->p++ - '0');
    }
    *ret = value;
    return ap->p > start;
}

static bool take_range(struct applier *ap, size_t *first, size_t *count)
{
    *count = 1;
    return take_number(ap, first) && (!take(ap, ",") || take_number(ap, count));
}

/* One line of a hunk: mark and content; the content loses its line end when the note follows. */
static bool take_line(struct applier *ap, char *mark, const char **text, size_t *len)
{
    size_t whole = line_len(ap->p, ap->end);
    if (whole < 2 || ap->p[whole - 1] != '\n') {
        return false;
    }
    *mark = ap->p[0];
    *text = ap->p + 1;
    *len = whole - 1;
    ap->p += whole;
    if (take(ap, "\\ No newline at end of file\n")) {
        (*len)--;
    }
    return true;
}

static bool old_line_is(struct old_lines *old, const char *text, size_t len)
{
    size_t have = line_len(old->p, old->end);
    if (have != len || have == 0 || memcmp(old->p, text, len) != 0) {
        return false;
    }
    old->p += have;
    old->number++;
    return true;
}

static int apply_hunk(struct applier *ap, struct old_lines *old)
{
    size_t from, removed, to, added;
    if (!take_range(ap, &from, &removed) || !take(ap, " +") || !take_range(ap, &to, &added) ||
        !take(ap, " @@")) {
        return bad(ap, "a hunk's header is malformed");
    }
    size_t skip = line_len(ap->p, ap->end);
    ap->p += skip;
    size_t first = removed ? from : from + 1;
    while (old->number < first && old->p < old->end) {
        size_t len = line_len(old->p, old->end);
        str_addn(&ap->content, old->p, len);
        old->p += len;
        old->number++;
    }
    if (old->number != first) {
        return mismatch(ap, "has no such line");
    }
    while (removed || added) {
        char mark;
        const char *text;
        size_t len;
        if (ap->p >= ap->end || !take_line(ap, &mark, &text, &len)) {
            return bad(ap, "a hunk is cut");
        }
        bool minus = mark == '-' || mark == ' ';
        bool plus = mark == '+' || mark == ' ';
        if ((!minus && !plus) || (minus && !removed) || (plus && !added)) {
            return bad(ap, "a hunk's line does not go with its header");
        }
        if (minus && !old_line_is(old, text, len)) {
            return mismatch(ap, "has another line");
        }
        if (plus) {
            str_addn(&ap->content, text, len);
        }
        removed -= minus;
        added -= plus;
    }
    return 0;
}

static int apply_text(struct applier *ap, const char *old, size_t old_len)
{
    const struct section *at = &ap->at;
    bool named = at->old_mode ? same_name(ap, "a/") : take(ap, "/dev/null");
    named = named && take(ap, "\n+++ ");
    named = named && (at->new_mode ? same_name(ap, "b/") : take(ap, "/dev/null"));
    if (!named || !take(ap, "\n")) {
        return bad(ap, "the names before the hunks are malformed");
    }
    struct old_lines lines = {.p = old, .end = old + old_len, .number = 1};
    int rc = ap->p < ap->end && *ap->p == '@' ? 0 : bad(ap, "there is no hunk");
    while (rc == 0 && take(ap, "@@ -")) {
        rc = apply_hunk(ap, &lines);
    }
    str_addn(&ap->content, lines.p, (size_t)(lines.end - lines.p));
    return rc;
}

/* --- one section --- */

static int read_content(struct applier *ap, const char *old, size_t old_len)
{
    str_reset(&ap->content);
    if (take(ap, "--- ")) {
        return apply_text(ap, old, old_len);
    }
    if (take(ap, "GIT binary patch\n")) {
        return binary_get(&ap->p, ap->end, &ap->content) && binary_get(&ap->p, ap->end, NULL)
                   ? 0
                   : bad(ap, "a binary block is malformed");
    }
    return old_len == 0 ? 0 : mismatch(ap, "has content that the patch does not mention");
}

static int old_content(struct applier *ap, git_odb_object **blob, struct str *made)
{
    if (ap->at.old_mode == 0) {
        return 0;
    }
    if (ap->at.old_mode == MODE_GITLINK) {
        char hex[OBJECT_HEX_BYTES];
        git_hex(hex, &ap->at.old_id);
        str_addf(made, "Subproject commit %s\n", hex);
        return 0;
    }
    return store_read(ap->store, &ap->at.old_id, GIT_OBJECT_BLOB, blob, ap->err);
}

/* The content that resulted must have the id that the section promised. */
static int keep_content(struct applier *ap)
{
    git_oid id;
    int rc = 0;
    if (ap->at.new_mode == 0) {
        return ap->content.len == 0 ? 0 : mismatch(ap, "is not emptied by its deletion");
    }
    if (ap->at.new_mode == MODE_GITLINK) {
        char hex[OBJECT_HEX_BYTES];
        autostr struct str want = {0};
        git_hex(hex, &ap->at.new_id);
        str_addf(&want, "Subproject commit %s\n", hex);
        return str_eq(str_c(&want), str_c(&ap->content)) ? 0 : bad(ap, "a submodule line is wrong");
    }
    rc =
        store_write(ap->store, str_c(&ap->content), ap->content.len, GIT_OBJECT_BLOB, &id, ap->err);
    if (rc == 0 && !git_oid_equal(&id, &ap->at.new_id)) {
        rc = mismatch(ap, "gets other content than its id says");
    }
    return rc;
}

static int apply_content(struct applier *ap)
{
    autogit(git_odb_object) git_odb_object *blob = NULL;
    autostr struct str made = {0};
    int rc = old_content(ap, &blob, &made);
    if (rc == 0) {
        rc = read_content(ap, blob ? git_odb_object_data(blob) : str_c(&made),
                          blob ? git_odb_object_size(blob) : made.len);
    }
    return rc < 0 ? rc : keep_content(ap);
}

static int apply_section(struct applier *ap)
{
    struct section *at = &ap->at;
    if (!take(ap, "diff --git ") || !take_name(ap, "a/", &at->path) || !take(ap, " ") ||
        !same_name(ap, "b/") || !take(ap, "\n") || name_fault(str_c(&at->path))) {
        return bad(ap, "a section does not begin as it should");
    }
    const struct list_entry *entry = list_find(&ap->base, str_c(&at->path));
    int rc = read_modes(ap, entry);
    if (rc == 0) {
        rc = read_ids(ap);
    }
    if (rc == 0) {
        rc = check_old(ap, entry);
    }
    if (rc == 0 && at->has_ids) {
        rc = apply_content(ap);
    }
    if (rc < 0) {
        return rc;
    }
    if (at->old_mode) {
        ap->gone[entry - ap->base.entries] = true;
    }
    if (at->new_mode) {
        list_add(&ap->result, str_c(&at->path), at->new_mode, 0,
                 at->has_ids ? &at->new_id : &entry->id);
    }
    return 0;
}

static int apply(struct applier *ap, char ret_tree[OBJECT_HEX_BYTES])
{
    int rc = 0;
    git_oid id;
    while (rc == 0 && ap->p < ap->end) {
        rc = apply_section(ap);
    }
    for (size_t i = 0; rc == 0 && i < ap->base.count; i++) {
        const struct list_entry *entry = &ap->base.entries[i];
        if (!ap->gone[i]) {
            list_add(&ap->result, entry->path, entry->mode, entry->raw_mode, &entry->id);
        }
    }
    if (rc == 0) {
        rc = list_seal(&ap->result, ap->err);
    }
    if (rc == 0) {
        rc = list_write(&ap->result, ap->store, &id, ap->err);
    }
    if (rc == 0) {
        rc = store_flush(ap->store, ap->err);
    }
    if (rc == 0) {
        git_hex(ret_tree, &id);
    }
    return rc;
}

int patch_apply(struct tree_store *store, const char *tree, const char *text, size_t len,
                char ret_tree[OBJECT_HEX_BYTES], struct err *err)
{
    struct applier ap = {.store = store, .p = text, .end = text + len, .err = err};
    int rc = list_load_hex(store, tree, &ap.base, err);
    if (rc < 0) {
        return rc;
    }
    ap.gone = mem_array(ap.base.count + 1, sizeof(bool));
    list_init(&ap.result);
    rc = apply(&ap, ret_tree);
    list_free(&ap.base);
    list_free(&ap.result);
    free(ap.gone);
    str_free(&ap.at.path);
    str_free(&ap.content);
    return rc;
}
