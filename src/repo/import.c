/*
 * import.c - a hostile tar stream as a raw tree.
 *
 * Owns: reading the stream within bounds and deciding what of it belongs to the tree (rules:
 * tree.h, docs/decisions/0003-what-belongs-to-the-patch.md). Must not: write anything of it as a
 * file, follow any link, trust a size. Blobs that the store has are only hashed; large ones stream
 * to disk.
 *
 *   header -> bounds -> well-formed name -> left out? (.git, submodule, special, unportable,
 * ignored)
 *          -> directory: nothing · hard link: remembered · file, symlink: blob + list entry
 *   end mark present -> hard links resolved (second pass for left-out targets) -> list -> trees
 *
 * Thread rule: tree.h. Tests: tests/unit/test_repo_tree.c, tests/fuzz/fuzz_repo_tar.c
 */
#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/mem.h"
#include "repo/ignore.h"
#include "repo/list.h"
#include "repo/tree.h"

#define IN_BUFFER_BYTES (64u * 1024)
#define IN_MEMORY_MAX_BYTES (8u * 1024 * 1024) /* larger blobs stream to disk */
#define NAMES_MAX_BYTES (256ULL * 1024 * 1024) /* of all names together */
#define NOTES_MAX 40
#define LINK_MAX_BYTES 4095
#define TAR_BLOCK 512

struct input {
    int fd; /* -1: memory */
    const uint8_t *mem;
    size_t mem_len;
    size_t mem_at;
    uint8_t buffer[IN_BUFFER_BYTES];
    uint64_t total;    /* bytes read so far */
    uint64_t zero_run; /* of them, zero bytes at the end */
    int errnum;
};

struct hard_link {
    const char *path;
    const char *target;
    bool resolved;
};

struct importer {
    struct tree_store *store;
    const struct tree_import_options *options;
    struct tree_limits limits;
    struct tree_import_result *result;
    struct arena *arena;
    struct input *input;
    struct archive *archive;
    struct archive_entry *entry;
    struct list baseline;
    bool *gitlink_there; /* per baseline entry */
    bool has_gitlinks;
    struct ignore_set *ignore;
    struct list found;
    struct hard_link *links;
    size_t link_count;
    size_t link_cap;
    struct str blob;
    uint64_t entries;
    uint64_t bytes;
    uint64_t name_bytes;
    size_t note_count;
    struct err *err;
};

void tree_import_result_free(struct tree_import_result *result)
{
    str_free(&result->notes);
}

/* --- input --- */

static la_ssize_t read_more(struct archive *archive, void *user, const void **ret)
{
    struct input *in = user;
    ssize_t got;
    if (in->fd < 0) {
        size_t left = in->mem_len - in->mem_at;
        got = (ssize_t)(left < IN_BUFFER_BYTES ? left : IN_BUFFER_BYTES);
        if (got) {
            memcpy(in->buffer, in->mem + in->mem_at, (size_t)got);
        }
        in->mem_at += (size_t)got;
    } else {
        do {
            got = read(in->fd, in->buffer, IN_BUFFER_BYTES);
        } while (got < 0 && errno == EINTR);
    }
    if (got < 0) {
        in->errnum = errno;
        archive_set_error(archive, errno, "cannot read the stream");
        return -1;
    }
    size_t zeros = 0;
    while (zeros < (size_t)got && in->buffer[(size_t)got - 1 - zeros] == 0) {
        zeros++;
    }
    in->zero_run = zeros == (size_t)got ? in->zero_run + zeros : zeros;
    in->total += (uint64_t)got;
    *ret = in->buffer;
    return got;
}

static int open_archive(struct importer *im)
{
    im->archive = archive_read_new();
    archive_read_support_filter_none(im->archive);
    archive_read_support_format_tar(im->archive);
    archive_read_support_format_empty(im->archive);
    if (archive_read_open(im->archive, im->input, NULL, read_more, NULL) != ARCHIVE_OK) {
        return -1;
    }
    return 0;
}

static void close_archive(struct importer *im)
{
    archive_read_free(im->archive);
    im->archive = NULL;
}

static int damaged(struct importer *im, const char *what)
{
    if (im->input->errnum) {
        return err_sys(im->err, im->input->errnum, "TreeUnreadable",
                       "cannot read the tar stream of the work tree");
    }
    autostr struct str text = {0};
    const char *why = im->archive ? archive_error_string(im->archive) : NULL;
    for (size_t i = 0; why && why[i] && i < 200; i++) {
        str_addc(&text, (unsigned char)why[i] < 0x20 || why[i] == 0x7f ? '?' : why[i]);
    }
    return err_set(im->err, ERR_PERMANENT, "TreeDamaged",
                   "the tar stream of the work tree is damaged: %s%s%s", what, text.len ? ": " : "",
                   str_c(&text));
}

static int refuse(struct importer *im, const char *path, const char *why)
{
    autostr struct str shown = {0};
    return err_set(im->err, ERR_PERMANENT, "TreeRefused", "the work tree is refused: %s %s",
                   name_show(&shown, path), why);
}

static int too_large(struct importer *im, const char *what, uint64_t limit)
{
    return err_set(im->err, ERR_PERMANENT, "TreeTooLarge",
                   "the work tree is too large: more than %llu %s", (unsigned long long)limit,
                   what);
}

static void note(struct importer *im, const char *kind, const char *path)
{
    if (im->note_count++ < NOTES_MAX) {
        autostr struct str shown = {0};
        str_addf(&im->result->notes, "%s %s\n", kind, name_show(&shown, path));
    }
}

/* --- blobs --- */

static int read_blob_memory(struct importer *im, const char *path, size_t size)
{
    str_reset(&im->blob);
    str_reserve(&im->blob, size + 1);
    while (im->blob.len < size) {
        la_ssize_t got =
            archive_read_data(im->archive, im->blob.ptr + im->blob.len, size - im->blob.len);
        if (got <= 0) {
            autostr struct str shown = {0};
            autofree char *what = mem_printf("the content of %s is cut", name_show(&shown, path));
            return damaged(im, what);
        }
        im->blob.len += (size_t)got;
    }
    im->blob.ptr[im->blob.len] = '\0';
    return 0;
}

static int copy_stream(struct importer *im, git_odb_stream *out, const char *path, uint64_t size)
{
    str_reset(&im->blob);
    str_reserve(&im->blob, IN_BUFFER_BYTES);
    for (uint64_t done = 0; done < size;) {
        uint64_t want = size - done < IN_BUFFER_BYTES ? size - done : IN_BUFFER_BYTES;
        la_ssize_t got = archive_read_data(im->archive, im->blob.ptr, (size_t)want);
        if (got <= 0) {
            autostr struct str shown = {0};
            autofree char *what = mem_printf("the content of %s is cut", name_show(&shown, path));
            return damaged(im, what);
        }
        if (git_odb_stream_write(out, im->blob.ptr, (size_t)got) < 0) {
            return git_fail(im->err, ERR_TRANSIENT, "StoreFailed",
                            "cannot write to the tree store %s", im->store->dir);
        }
        done += (uint64_t)got;
    }
    return 0;
}

static int read_blob_stream(struct importer *im, const char *path, uint64_t size, git_oid *ret)
{
    autogit(git_odb) git_odb *disk = NULL;
    autofree char *objects = fs_join(im->store->dir, "objects");
    git_odb_stream *out = NULL;
    if (git_odb_open(&disk, objects) < 0 ||
        git_odb_open_wstream(&out, disk, (git_object_size_t)size, GIT_OBJECT_BLOB) < 0) {
        return git_fail(im->err, ERR_TRANSIENT, "StoreFailed", "cannot write to the tree store %s",
                        im->store->dir);
    }
    int rc = copy_stream(im, out, path, size);
    if (rc == 0 && git_odb_stream_finalize_write(ret, out) < 0) {
        rc = git_fail(im->err, ERR_TRANSIENT, "StoreFailed", "cannot write to the tree store %s",
                      im->store->dir);
    }
    git_odb_stream_free(out);
    return rc;
}

/* The content of the entry at hand (regular file or symlink) as a blob. */
static int take_blob(struct importer *im, const char *path, git_oid *ret, uint32_t *ret_mode)
{
    if (archive_entry_filetype(im->entry) == AE_IFLNK) {
        const char *target = archive_entry_symlink(im->entry);
        size_t len = target ? strlen(target) : 0;
        if (len == 0 || len > LINK_MAX_BYTES) {
            return refuse(im, path, "is a symlink with an unusable target");
        }
        *ret_mode = MODE_LINK;
        return store_write(im->store, target, len, GIT_OBJECT_BLOB, ret, im->err);
    }
    uint64_t size = (uint64_t)archive_entry_size(im->entry);
    if (size > im->limits.max_file_bytes) {
        autostr struct str shown = {0};
        return err_set(im->err, ERR_PERMANENT, "TreeTooLarge",
                       "the work tree is too large: %s has %llu bytes, the limit is %llu",
                       name_show(&shown, path), (unsigned long long)size,
                       (unsigned long long)im->limits.max_file_bytes);
    }
    *ret_mode = archive_entry_perm(im->entry) & 0100 ? MODE_EXEC : MODE_FILE;
    if (size > IN_MEMORY_MAX_BYTES) {
        return read_blob_stream(im, path, size, ret);
    }
    int rc = read_blob_memory(im, path, (size_t)size);
    return rc < 0
               ? rc
               : store_write(im->store, im->blob.ptr, im->blob.len, GIT_OBJECT_BLOB, ret, im->err);
}

/* --- what belongs --- */

/* "./a/b/" -> "a/b". false: the root itself. Fault of the name: <0. Outcome 1: the root. */
static int entry_path(struct importer *im, const char *name, char **ret)
{
    if (!name) {
        return damaged(im, "an entry has no readable name");
    }
    while (name[0] == '.' && name[1] == '/') {
        name += 2;
    }
    size_t len = strlen(name);
    while (len > 1 && name[len - 1] == '/') {
        len--;
    }
    if (len == 0 || (len == 1 && name[0] == '.')) {
        return 1;
    }
    if (len > NAME_MAX_BYTES) {
        return refuse(im, name, "is longer than 4095 bytes");
    }
    im->name_bytes += len;
    if (im->name_bytes > NAMES_MAX_BYTES) {
        return too_large(im, "bytes of names", NAMES_MAX_BYTES);
    }
    char *path = arena_strndup(im->arena, name, len);
    const char *fault = name_fault(path);
    if (fault) {
        return refuse(im, path, fault);
    }
    *ret = path;
    return 0;
}

/* path is, or lies below, a submodule entry of the baseline. */
static bool in_submodule(struct importer *im, const char *path, bool is_dir)
{
    if (!im->has_gitlinks) {
        return false;
    }
    autofree char *part = mem_strdup(path);
    for (char *slash = part;; slash++) {
        bool end = *slash == '\0';
        if (!end && *slash != '/') {
            continue;
        }
        *slash = '\0';
        struct list_entry *entry = list_find(&im->baseline, part);
        if (entry && entry->mode == MODE_GITLINK && (!end || is_dir)) {
            im->gitlink_there[entry - im->baseline.entries] = true;
            if (!end) {
                im->result->submodules++;
                note(im, "submodule", path);
            }
            return true;
        }
        if (end) {
            return false;
        }
        *slash = '/';
    }
}

static bool is_ignored(struct importer *im, const char *path)
{
    return im->ignore && !(im->baseline.arena && list_find(&im->baseline, path)) &&
           ignore_match(im->ignore, path, false);
}

static bool left_out(struct importer *im, const char *path, unsigned type, bool hard_link)
{
    struct tree_import_result *r = im->result;
    if (name_has_git(path)) {
        if (strcmp(path, ".git") != 0 && !str_starts(path, ".git/")) {
            r->git_dirs++;
            note(im, "git", path);
        }
        return true;
    }
    if (in_submodule(im, path, type == AE_IFDIR) || type == AE_IFDIR) {
        return true;
    }
    if (!hard_link && type != AE_IFREG && type != AE_IFLNK) {
        r->specials++;
        note(im, "special", path);
        return true;
    }
    if (!name_is_portable(path, type == AE_IFLNK ? MODE_LINK : MODE_FILE)) {
        r->unportable++;
        note(im, "unportable", path);
        return true;
    }
    if (is_ignored(im, path)) {
        r->ignored++;
        return true;
    }
    return false;
}

static int keep(struct importer *im, const char *path)
{
    git_oid id;
    uint32_t mode;
    int rc = take_blob(im, path, &id, &mode);
    if (rc < 0) {
        return rc;
    }
    im->result->bytes += mode == MODE_LINK ? 0 : (uint64_t)archive_entry_size(im->entry);
    if (im->result->bytes > im->limits.max_tree_bytes) {
        return too_large(im, "bytes of files", im->limits.max_tree_bytes);
    }
    list_add(&im->found, path, mode, 0, &id);
    return 0;
}

static int remember_link(struct importer *im, const char *path, const char *target_name)
{
    char *target = NULL;
    int rc = entry_path(im, target_name, &target);
    if (rc != 0) {
        return rc < 0 ? rc : refuse(im, path, "is a hard link to the root");
    }
    mem_reserve(im->links, &im->link_cap, im->link_count + 1);
    im->links[im->link_count++] = (struct hard_link){.path = path, .target = target};
    return 0;
}

static int take_entry(struct importer *im)
{
    uint64_t size =
        archive_entry_size_is_set(im->entry) ? (uint64_t)archive_entry_size(im->entry) : 0;
    if (++im->entries > im->limits.max_entries) {
        return too_large(im, "entries", im->limits.max_entries);
    }
    if (size > im->limits.max_bytes || (im->bytes += size) > im->limits.max_bytes) {
        return too_large(im, "bytes in the stream", im->limits.max_bytes);
    }
    char *path = NULL;
    int rc = entry_path(im, archive_entry_pathname(im->entry), &path);
    if (rc != 0) {
        return rc < 0 ? rc : 0;
    }
    unsigned type = archive_entry_filetype(im->entry);
    const char *link = archive_entry_hardlink(im->entry);
    if (left_out(im, path, type, link != NULL)) {
        return 0;
    }
    return link && size == 0 ? remember_link(im, path, link) : keep(im, path);
}

/* Call take for every entry; then the stream must end with its mark. */
static int read_stream(struct importer *im, int (*take)(struct importer *im))
{
    uint64_t end = 0; /* of the last entry's content */
    for (;;) {
        int got = archive_read_next_header(im->archive, &im->entry);
        if (got == ARCHIVE_EOF) {
            break;
        }
        if (got != ARCHIVE_OK && got != ARCHIVE_WARN) {
            return damaged(im, "a header cannot be read");
        }
        int rc = take(im);
        if (rc < 0) {
            return rc;
        }
        if (archive_read_data_skip(im->archive) < ARCHIVE_WARN) {
            return damaged(im, "content is cut");
        }
        end = (uint64_t)archive_filter_bytes(im->archive, 0);
    }
    const void *rest;
    la_ssize_t got;
    while ((got = read_more(im->archive, im->input, &rest)) > 0) {
    }
    if (got < 0) {
        return damaged(im, "the end");
    }
    end = (end + TAR_BLOCK - 1) / TAR_BLOCK * TAR_BLOCK;
    uint64_t tail = im->input->total >= end ? im->input->total - end : 0;
    if (tail < 2 * TAR_BLOCK || im->input->zero_run < tail) {
        return damaged(im, tail < 2 * TAR_BLOCK ? "its end mark is missing, it was cut"
                                                : "bytes follow its end mark");
    }
    return 0;
}

/* --- hard links to what was left out --- */

static int take_target(struct importer *im)
{
    char *path = NULL;
    int rc = entry_path(im, archive_entry_pathname(im->entry), &path);
    unsigned type = archive_entry_filetype(im->entry);
    if (rc != 0 || archive_entry_hardlink(im->entry) || (type != AE_IFREG && type != AE_IFLNK)) {
        return rc < 0 ? rc : 0;
    }
    git_oid id;
    uint32_t mode = 0;
    for (size_t i = 0; i < im->link_count; i++) {
        struct hard_link *link = &im->links[i];
        if (link->resolved || strcmp(link->target, path) != 0) {
            continue;
        }
        rc = mode ? 0 : take_blob(im, path, &id, &mode);
        if (rc < 0) {
            return rc;
        }
        list_add(&im->found, link->path, mode, 0, &id);
        link->resolved = true;
    }
    return 0;
}

static int rewind_input(struct importer *im, off_t start)
{
    struct input *in = im->input;
    if (in->fd >= 0 && (start < 0 || lseek(in->fd, start, SEEK_SET) < 0)) {
        return refuse(im, im->links[0].path,
                      "may be a hard link to a file that is left out; that needs a stream that can "
                      "be read twice");
    }
    in->mem_at = 0;
    in->total = 0;
    in->zero_run = 0;
    im->name_bytes = 0;
    return 0;
}

static int second_pass(struct importer *im, off_t start)
{
    int rc = rewind_input(im, start);
    if (rc < 0) {
        return rc;
    }
    close_archive(im);
    rc = open_archive(im) < 0 ? damaged(im, "it cannot be read") : read_stream(im, take_target);
    if (rc < 0) {
        return rc;
    }
    for (size_t i = 0; i < im->link_count; i++) {
        if (!im->links[i].resolved) {
            return refuse(im, im->links[i].path, "is a hard link to nothing");
        }
    }
    return 0;
}

static int resolve_links(struct importer *im, off_t start)
{
    int rc = list_seal(&im->found, im->err);
    size_t open = im->link_count;
    size_t count = im->found.count; /* the sealed ones; new ones go behind */
    for (size_t i = 0; rc == 0 && i < im->link_count; i++) {
        struct list sealed = im->found;
        sealed.count = count;
        struct list_entry *target = list_find(&sealed, im->links[i].target);
        if (target) {
            git_oid id = target->id;
            list_add(&im->found, im->links[i].path, target->mode, 0, &id);
            im->links[i].resolved = true;
            open--;
        }
    }
    if (rc == 0 && open) {
        rc = second_pass(im, start);
    }
    return rc;
}

/* --- the whole --- */

static int add_ignore_file(struct importer *im, const struct list_entry *entry)
{
    const char *name = fs_basename(entry->path);
    if (strcmp(name, ".gitignore") != 0 || (entry->mode != MODE_FILE && entry->mode != MODE_EXEC)) {
        return 0;
    }
    autogit(git_odb_object) git_odb_object *blob = NULL;
    int rc = store_read(im->store, &entry->id, GIT_OBJECT_BLOB, &blob, im->err);
    if (rc < 0 || git_odb_object_size(blob) > IGNORE_FILE_MAX_BYTES) {
        return rc;
    }
    size_t dir_len = (size_t)(name - entry->path);
    autofree char *dir = mem_strndup(entry->path, dir_len ? dir_len - 1 : 0);
    ignore_add(im->ignore, dir, git_odb_object_data(blob), git_odb_object_size(blob));
    return 0;
}

static size_t depth(const char *path)
{
    size_t n = 0;
    for (; *path; path++) {
        n += *path == '/';
    }
    return n;
}

static int by_depth(const void *a, const void *b)
{
    const struct list_entry *x = *(const struct list_entry *const *)a;
    const struct list_entry *y = *(const struct list_entry *const *)b;
    size_t dx = depth(x->path);
    size_t dy = depth(y->path);
    return dx != dy ? (dx < dy ? -1 : 1) : strcmp(x->path, y->path);
}

/* Shallow files before deep ones; the operator's patterns are weakest. */
static int load_baseline(struct importer *im)
{
    im->ignore = ignore_new(im->arena);
    for (size_t i = 0; i < im->options->ignore_count; i++) {
        ignore_add(im->ignore, "", im->options->ignore[i], strlen(im->options->ignore[i]));
    }
    if (!im->options->baseline) {
        return 0;
    }
    int rc = list_load_hex(im->store, im->options->baseline, &im->baseline, im->err);
    if (rc < 0) {
        return rc;
    }
    autofree const struct list_entry **files = mem_array(im->baseline.count + 1, sizeof(*files));
    size_t count = 0;
    im->gitlink_there = mem_array(im->baseline.count + 1, sizeof(bool));
    for (size_t i = 0; i < im->baseline.count; i++) {
        const struct list_entry *entry = &im->baseline.entries[i];
        im->has_gitlinks |= entry->mode == MODE_GITLINK;
        if (str_ends(entry->path, ".gitignore")) {
            files[count++] = entry;
        }
    }
    if (count) {
        qsort(files, count, sizeof(*files), by_depth);
    }
    for (size_t i = 0; rc == 0 && i < count; i++) {
        rc = add_ignore_file(im, files[i]);
    }
    return rc;
}

static void keep_gitlinks_and_modes(struct importer *im)
{
    for (size_t i = 0; i < im->baseline.count; i++) {
        const struct list_entry *entry = &im->baseline.entries[i];
        if (im->gitlink_there[i]) {
            list_add(&im->found, entry->path, entry->mode, 0, &entry->id);
        }
    }
    for (size_t i = 0; i < im->found.count && im->baseline.count; i++) {
        struct list_entry *entry = &im->found.entries[i];
        const struct list_entry *old = list_find(&im->baseline, entry->path);
        if (old && list_same(old, entry)) {
            entry->raw_mode = old->raw_mode;
        }
    }
}

static int import(struct importer *im)
{
    off_t start = im->input->fd >= 0 ? lseek(im->input->fd, 0, SEEK_CUR) : 0;
    int rc = load_baseline(im);
    if (rc == 0) {
        rc =
            open_archive(im) < 0 ? damaged(im, "it is no tar stream") : read_stream(im, take_entry);
    }
    if (rc == 0) {
        rc = resolve_links(im, start);
    }
    if (rc < 0) {
        return rc;
    }
    keep_gitlinks_and_modes(im);
    git_oid id;
    rc = list_seal(&im->found, im->err);
    if (rc == 0) {
        rc = list_write(&im->found, im->store, &id, im->err);
    }
    if (rc == 0) {
        rc = store_flush(im->store, im->err);
    }
    if (rc == 0) {
        im->result->files = im->found.count;
        git_hex(im->result->tree, &id);
    }
    return rc;
}

static int run(struct tree_store *store, struct input *input,
               const struct tree_import_options *options, struct tree_import_result *ret,
               struct err *err)
{
    static const struct tree_import_options none = {0};
    autoarena struct arena *arena = arena_new();
    struct tree_import_result result = {0};
    struct importer im = {.store = store,
                          .options = options ? options : &none,
                          .result = &result,
                          .arena = arena,
                          .input = input,
                          .err = err};
    im.limits = im.options->limits;
    im.limits.max_entries = im.limits.max_entries ? im.limits.max_entries : 1000000;
    im.limits.max_bytes = im.limits.max_bytes ? im.limits.max_bytes : 16ULL << 30;
    im.limits.max_file_bytes = im.limits.max_file_bytes ? im.limits.max_file_bytes : 1ULL << 30;
    im.limits.max_tree_bytes = im.limits.max_tree_bytes ? im.limits.max_tree_bytes : 4ULL << 30;
    list_init(&im.found);
    int rc = import(&im);
    close_archive(&im);
    list_free(&im.found);
    list_free(&im.baseline);
    free(im.gitlink_there);
    free(im.links);
    str_free(&im.blob);
    if (rc < 0) {
        tree_import_result_free(&result);
        return rc;
    }
    *ret = result;
    return 0;
}

int tree_import_fd(struct tree_store *store, int fd, const struct tree_import_options *options,
                   struct tree_import_result *ret, struct err *err)
{
    autofree struct input *input = mem_alloc(sizeof(*input));
    input->fd = fd;
    return run(store, input, options, ret, err);
}

int tree_import_mem(struct tree_store *store, const void *tar, size_t len,
                    const struct tree_import_options *options, struct tree_import_result *ret,
                    struct err *err)
{
    autofree struct input *input = mem_alloc(sizeof(*input));
    input->fd = -1;
    input->mem = tar;
    input->mem_len = len;
    return run(store, input, options, ret, err);
}
