/*
 * patch.h - the deliverable: the difference of two trees as a text that `git apply` takes.
 *
 * Owns: comparing two raw trees of one store, the patch text, its statistics, and the proof that
 * the text turns the first tree into the second. Must not: consult attributes, configuration or an
 * index, edit anybody's content. Deterministic: equal trees give equal bytes.
 *
 * Text: git's extended diff without renames, full object ids, three lines of context. Names with
 * anything but plain ASCII are quoted (spaces too, so that no line is ambiguous). Content with a
 * NUL byte anywhere, or larger than 8 MiB, is a binary patch. A change of type is a deletion
 * followed by a creation. docs/decisions/0004-own-patch-text.md says why libgit2's printer and
 * reader are not used. Thread rule: as the store's.
 */
#ifndef REPO_PATCH_H
#define REPO_PATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"
#include "repo/tree.h"

#define PATCH_MAX_BYTES_DEFAULT (256ULL * 1024 * 1024)

struct patch_file {
    char kind; /* 'A' added, 'M' modified (content or executable bit), 'D' deleted, 'T' type changed
                */
    bool binary;
    uint32_t old_mode; /* git's: 0100644, 0100755, 0120000, 0160000; 0 when absent */
    uint32_t new_mode;
    char old_id[OBJECT_HEX_BYTES]; /* "" when absent */
    char new_id[OBJECT_HEX_BYTES];
    uint64_t additions; /* lines; 0 for binary content */
    uint64_t deletions;
    char *path; /* raw bytes, not quoted */
};
struct patch {
    char from_tree[OBJECT_HEX_BYTES];
    char to_tree[OBJECT_HEX_BYTES];
    struct str text;          /* empty when the trees are equal */
    char sha256[65];          /* of text */
    struct patch_file *files; /* in path order */
    size_t count;
    uint64_t additions;
    uint64_t deletions;
};
void patch_free(struct patch *patch);
#define autopatch cleanup_with(patch_free)

/* Make the patch and prove it: the text is applied to from_tree by patch_apply and must give
 * to_tree, else <0 with name "PatchUnproven" (a defect of ours; nothing may be delivered). Larger
 * than max_bytes (0: the default): permanent "PatchTooLarge". */
int patch_make(struct tree_store *store, const char *from_tree, const char *to_tree,
               uint64_t max_bytes, struct patch *ret, struct err *err);

/* Apply a patch of the form that patch_make writes, strictly (no offsets, no fuzz; old ids and
 * modes must be the tree's own), writing the resulting tree to the store. Refusals are permanent:
 * "PatchBad" (not such a text), "PatchMismatch" (does not fit the tree). */
int patch_apply(struct tree_store *store, const char *tree, const char *text, size_t len,
                char ret_tree[OBJECT_HEX_BYTES], struct err *err);

/* "1 file, +1 -1" with a true minus sign, for people. */
void patch_summary(struct str *out, const struct patch *patch);

#endif
