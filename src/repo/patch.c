/*
 * patch.c - the difference of two raw trees as a patch text, its statistics, its proof.
 *
 * Owns: the sections of the text, one per path (two for a change of type):
 *
 *     diff --git a/P b/P
 *     old mode M · new mode M | new file mode M | deleted file mode M
 *     index OLD..NEW[ M]                     full ids; absent when only the mode changes
 *     --- a/P · +++ b/P · hunks  |  GIT binary patch · literal new · literal old  |  nothing
 * (empty)
 *
 * Must not: use libgit2's printer (docs/decisions/0004-own-patch-text.md); only its line matching.
 * Thread rule: tree.h. Tests: tests/unit/test_repo_patch.c (git itself is the judge)
 */
#include "repo/patch.h"

#include <string.h>

#include "base/digest.h"
#include "base/mem.h"
#include "repo/binary.h"
#include "repo/list.h"

#define TEXT_MAX_BYTES (8u * 1024 * 1024)

struct side {
    const struct list_entry *entry; /* NULL: absent */
    git_odb_object *blob;
    struct str made; /* a submodule's line */
    const char *bytes;
    size_t len;
};

struct maker {
    struct tree_store *store;
    struct patch *patch;
    size_t file_cap;
    uint64_t max_bytes;
    struct patch_file *file; /* the one at hand */
    struct err *err;
};

void patch_free(struct patch *patch)
{
    for (size_t i = 0; i < patch->count; i++) {
        free(patch->files[i].path);
    }
    free(patch->files);
    str_free(&patch->text);
    *patch = (struct patch){0};
}

static void side_free(struct side *side)
{
    git_odb_object_free(side->blob);
    str_free(&side->made);
}

static int side_open(struct maker *m, const struct list_entry *entry, struct side *side)
{
    *side = (struct side){.entry = entry, .bytes = ""};
    if (!entry) {
        return 0;
    }
    if (entry->mode == MODE_GITLINK) {
        char hex[OBJECT_HEX_BYTES];
        git_hex(hex, &entry->id);
        str_addf(&side->made, "Subproject commit %s\n", hex);
        side->bytes = side->made.ptr;
        side->len = side->made.len;
        return 0;
    }
    int rc = store_read(m->store, &entry->id, GIT_OBJECT_BLOB, &side->blob, m->err);
    if (rc == 0) {
        side->bytes = git_odb_object_data(side->blob);
        side->len = git_odb_object_size(side->blob);
    }
    return rc;
}

static bool side_is_binary(const struct side *side)
{
    return side->len > TEXT_MAX_BYTES || memchr(side->bytes, '\0', side->len) != NULL;
}

/* --- text --- */

static int put_hunk(const git_diff_delta *delta, const git_diff_hunk *hunk, void *user)
{
    struct maker *m = user;
    (void)delta;
    str_addn(&m->patch->text, hunk->header, hunk->header_len);
    if (hunk->header_len == 0 || hunk->header[hunk->header_len - 1] != '\n') {
        str_addc(&m->patch->text, '\n');
    }
    return 0;
}

static int put_line(const git_diff_delta *delta, const git_diff_hunk *hunk,
                    const git_diff_line *line, void *user)
{
    struct maker *m = user;
    (void)delta;
    (void)hunk;
    switch (line->origin) {
    case GIT_DIFF_LINE_ADDITION:
        m->file->additions++;
        break;
    case GIT_DIFF_LINE_DELETION:
        m->file->deletions++;
        break;
    case GIT_DIFF_LINE_CONTEXT:
        break;
    default: /* the note about a missing line end brings its own mark */
        str_addn(&m->patch->text, line->content, line->content_len);
        return 0;
    }
    str_addc(&m->patch->text, line->origin);
    str_addn(&m->patch->text, line->content, line->content_len);
    return 0;
}

static int put_text(struct maker *m, const struct side *from, const struct side *to)
{
    struct str *text = &m->patch->text;
    git_diff_options options = GIT_DIFF_OPTIONS_INIT;
    options.flags = GIT_DIFF_FORCE_TEXT | GIT_DIFF_INDENT_HEURISTIC;
    options.context_lines = 3;
    const char *path = m->file->path;
    str_add(text, "--- ");
    name_quote(text, from->entry ? "a/" : "", from->entry ? path : "/dev/null");
    str_add(text, "\n+++ ");
    name_quote(text, to->entry ? "b/" : "", to->entry ? path : "/dev/null");
    str_add(text, "\n");
    if (git_diff_buffers(from->bytes, from->len, NULL, to->bytes, to->len, NULL, &options, NULL,
                         NULL, put_hunk, put_line, m) < 0) {
        return git_fail(m->err, ERR_PERMANENT, "PatchFailed", "cannot compare file contents");
    }
    return 0;
}

static int put_content(struct maker *m, const struct side *from, const struct side *to)
{
    if (from->len == 0 && to->len == 0) {
        return 0;
    }
    if (!side_is_binary(from) && !side_is_binary(to)) {
        return put_text(m, from, to);
    }
    m->file->binary = true;
    str_add(&m->patch->text, "GIT binary patch\n");
    binary_put(&m->patch->text, to->bytes, to->len);
    binary_put(&m->patch->text, from->bytes, from->len);
    return 0;
}

static void put_index(struct maker *m, const struct list_entry *a, const struct list_entry *b)
{
    static const git_oid zero = {{0}};
    char from[OBJECT_HEX_BYTES];
    char to[OBJECT_HEX_BYTES];
    git_hex(from, a ? &a->id : &zero);
    git_hex(to, b ? &b->id : &zero);
    str_addf(&m->patch->text, "index %s..%s", from, to);
    if (a && b && a->mode == b->mode) {
        str_addf(&m->patch->text, " %06o", a->mode);
    }
    str_addc(&m->patch->text, '\n');
}

static int put_section(struct maker *m, const struct list_entry *a, const struct list_entry *b)
{
    struct str *text = &m->patch->text;
    str_add(text, "diff --git ");
    name_quote(text, "a/", m->file->path);
    str_addc(text, ' ');
    name_quote(text, "b/", m->file->path);
    str_addc(text, '\n');
    if (!a) {
        str_addf(text, "new file mode %06o\n", b->mode);
    } else if (!b) {
        str_addf(text, "deleted file mode %06o\n", a->mode);
    } else if (a->mode != b->mode) {
        str_addf(text, "old mode %06o\nnew mode %06o\n", a->mode, b->mode);
    }
    int rc = 0;
    if (!a || !b || !git_oid_equal(&a->id, &b->id)) {
        struct side from = {0};
        struct side to = {0};
        put_index(m, a, b);
        rc = side_open(m, a, &from);
        if (rc == 0) {
            rc = side_open(m, b, &to);
        }
        if (rc == 0) {
            rc = put_content(m, &from, &to);
        }
        side_free(&from);
        side_free(&to);
    }
    if (rc == 0 && text->len > m->max_bytes) {
        rc = err_set(m->err, ERR_PERMANENT, "PatchTooLarge",
                     "the patch is larger than %llu bytes, the limit",
                     (unsigned long long)m->max_bytes);
    }
    return rc;
}

/* --- all --- */

static int put_change(struct maker *m, const struct list_entry *a, const struct list_entry *b)
{
    struct patch *patch = m->patch;
    mem_reserve(patch->files, &m->file_cap, patch->count + 1);
    m->file = &patch->files[patch->count++];
    *m->file = (struct patch_file){
        .old_mode = a ? a->mode : 0,
        .new_mode = b ? b->mode : 0,
        .path = mem_strdup(a ? a->path : b->path),
    };
    if (a) {
        git_hex(m->file->old_id, &a->id);
    }
    if (b) {
        git_hex(m->file->new_id, &b->id);
    }
    bool typed = a && b && (a->mode & 0170000u) != (b->mode & 0170000u);
    m->file->kind = !a ? 'A' : !b ? 'D' : typed ? 'T' : 'M';
    int rc = put_section(m, a, typed ? NULL : b);
    if (rc == 0 && typed) {
        rc = put_section(m, NULL, b);
    }
    patch->additions += m->file->additions;
    patch->deletions += m->file->deletions;
    return rc;
}

static int make(struct maker *m, struct err *err)
{
    autolist struct list from = {0};
    autolist struct list to = {0};
    int rc = list_load_hex(m->store, m->patch->from_tree, &from, err);
    if (rc == 0) {
        rc = list_load_hex(m->store, m->patch->to_tree, &to, err);
    }
    struct list_pair pair = {.from = &from, .to = &to};
    const struct list_entry *a;
    const struct list_entry *b;
    while (rc == 0 && list_next(&pair, &a, &b)) {
        if (!list_same(a, b)) {
            rc = put_change(m, a, b);
        }
    }
    return rc;
}

static int prove(struct tree_store *store, const struct patch *patch, struct err *err)
{
    char tree[OBJECT_HEX_BYTES];
    struct err why = {0};
    if (patch_apply(store, patch->from_tree, str_c(&patch->text), patch->text.len, tree, &why) <
        0) {
        return err_set(err, ERR_PERMANENT, "PatchUnproven",
                       "the patch does not apply to its own baseline: %s", why.text);
    }
    if (strcmp(tree, patch->to_tree) != 0) {
        return err_set(err, ERR_PERMANENT, "PatchUnproven",
                       "the patch gives tree %s where %s is wanted", tree, patch->to_tree);
    }
    return 0;
}

int patch_make(struct tree_store *store, const char *from_tree, const char *to_tree,
               uint64_t max_bytes, struct patch *ret, struct err *err)
{
    autopatch struct patch patch = {0};
    git_oid id;
    int rc = git_id(from_tree, &id, err);
    if (rc == 0) {
        git_hex(patch.from_tree, &id);
        rc = git_id(to_tree, &id, err);
    }
    if (rc < 0) {
        return rc;
    }
    git_hex(patch.to_tree, &id);
    struct maker m = {.store = store,
                      .patch = &patch,
                      .max_bytes = max_bytes ? max_bytes : PATCH_MAX_BYTES_DEFAULT,
                      .err = err};
    rc = make(&m, err);
    if (rc == 0) {
        rc = prove(store, &patch, err);
    }
    if (rc < 0) {
        return rc;
    }
    sha256_hex(str_c(&patch.text), patch.text.len, patch.sha256);
    *ret = patch;
    patch = (struct patch){0};
    return 0;
}

void patch_summary(struct str *out, const struct patch *patch)
{
    str_addf(out, "%zu file%s, +%llu \u2212%llu", patch->count, patch->count == 1 ? "" : "s",
             (unsigned long long)patch->additions, (unsigned long long)patch->deletions);
}
