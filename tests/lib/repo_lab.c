/*
 * repo_lab.c - a scratch directory with a tree store and git(1) as the judge.
 *
 * Owns and must not: see repo_lab.h. Tests: it serves tests/unit/test_repo_*.c
 */
#include "lib/repo_lab.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/mem.h"
#include "base/proc.h"
#include "repo/list.h"

static void die(const char *what, const char *detail)
{
    fprintf(stderr, "repo_lab: %s: %s\n", what, detail);
    abort();
}

void lab_open(struct lab *lab)
{
    struct err err = {0};
    const char *base = getenv("TMPDIR");
    lab->dir = mem_printf("%s/repo-lab-XXXXXX", base ? base : "/tmp");
    if (!mkdtemp(lab->dir)) {
        die("mkdtemp", lab->dir);
    }
    lab->store_dir = lab_path(lab, "store");
    if (tree_store_open(lab->store_dir, &lab->store, &err) < 0) {
        die("tree_store_open", err.text);
    }
}

void lab_close(struct lab *lab)
{
    lab->store = tree_store_free(lab->store);
    fs_remove_tree(lab->dir, NULL);
    free(lab->store_dir);
    free(lab->dir);
    *lab = (struct lab){0};
}

char *lab_path(struct lab *lab, const char *name)
{
    return fs_join(lab->dir, name);
}

bool lab_has_git(void)
{
    return proc_in_path("git", NULL);
}

int lab_git_argv(struct lab *lab, const char *dir, struct str *out, const char *const *argv)
{
    autofree char *home = mem_printf("HOME=%s", lab->dir);
    autofree char *path = mem_printf("PATH=%s", getenv("PATH") ? getenv("PATH") : "/usr/bin:/bin");
    const char *env[] = {home,
                         path,
                         "GIT_CONFIG_NOSYSTEM=1",
                         "GIT_AUTHOR_NAME=Ana",
                         "GIT_AUTHOR_EMAIL=ana@example.org",
                         "GIT_COMMITTER_NAME=Ana",
                         "GIT_COMMITTER_EMAIL=ana@example.org",
                         "GIT_AUTHOR_DATE=1700000000 +0000",
                         "GIT_COMMITTER_DATE=1700000000 +0000",
                         "LC_ALL=C",
                         NULL};
    struct proc_spec spec = {.argv = argv, .envp = env, .dir = dir ? dir : lab->dir};
    struct proc_result result = {0};
    struct err err = {0};
    if (proc_run(&spec, NULL, 0, 64u << 20, 120000, &result, &err) < 0) {
        die("git", err.text);
    }
    if (out) {
        str_reset(out);
        str_addn(out, str_c(&result.out), result.out.len);
        while (out->len && out->ptr[out->len - 1] == '\n') {
            str_cut(out, out->len - 1);
        }
    }
    int code = result.exit_code;
    if (code && getenv("REPO_LAB_VERBOSE")) {
        fprintf(stderr, "git %s: %d: %s\n", argv[1], code, str_c(&result.err));
    }
    proc_result_free(&result);
    return code;
}

static int git_words(struct lab *lab, const char *dir, struct str *out, char *text)
{
    const char *argv[64] = {"git"};
    size_t count = 1;
    char *save = NULL;
    for (char *word = strtok_r(text, " ", &save); word && count < 63;
         word = strtok_r(NULL, " ", &save)) {
        argv[count++] = word;
    }
    return lab_git_argv(lab, dir, out, argv);
}

int lab_git(struct lab *lab, const char *dir, struct str *out, const char *fmt, ...)
{
    autostr struct str text = {0};
    va_list ap;
    va_start(ap, fmt);
    str_addv(&text, fmt, ap);
    va_end(ap);
    return git_words(lab, dir, out, text.ptr);
}

void lab_must(struct lab *lab, const char *dir, struct str *out, const char *fmt, ...)
{
    autostr struct str text = {0};
    va_list ap;
    va_start(ap, fmt);
    str_addv(&text, fmt, ap);
    va_end(ap);
    autofree char *copy = mem_strdup(text.ptr);
    if (git_words(lab, dir, out, text.ptr) != 0) {
        die("git failed", copy);
    }
}

void lab_write(const char *dir, const char *name, const void *bytes, size_t len)
{
    struct err err = {0};
    autofree char *path = fs_join(dir, name);
    autofree char *parent = fs_dirname(path);
    if (fs_mkdirs(parent, 0755, &err) < 0) {
        die("mkdirs", err.text);
    }
    FILE *file = fopen(path, "wb");
    if (!file || fwrite(bytes, 1, len, file) != len || fclose(file) != 0) {
        die("write", path);
    }
}

void lab_tree(struct lab *lab, const struct lab_file *files, size_t count,
              char ret[OBJECT_HEX_BYTES])
{
    struct err err = {0};
    autolist struct list list = {0};
    list_init(&list);
    for (size_t i = 0; i < count; i++) {
        git_oid id;
        if (files[i].mode == MODE_GITLINK) {
            git_oid_fromstr(&id, files[i].bytes);
        } else if (store_write(lab->store, files[i].bytes, files[i].len, GIT_OBJECT_BLOB, &id,
                               &err) < 0) {
            die("store_write", err.text);
        }
        list_add(&list, files[i].path, files[i].mode, 0, &id);
    }
    git_oid tree;
    if (list_seal(&list, &err) < 0 || list_write(&list, lab->store, &tree, &err) < 0 ||
        store_flush(lab->store, &err) < 0) {
        die("list_write", err.text);
    }
    git_hex(ret, &tree);
}

/* --- tar --- */

static void put_octal(char *field, size_t width, uint64_t value)
{
    for (size_t i = width - 1; i-- > 0;) {
        field[i] = (char)('0' + (value & 7));
        value >>= 3;
    }
}

static void put_block(struct str *tar, const char *name, char type, unsigned mode, const char *link,
                      size_t size)
{
    char head[512] = {0};
    unsigned sum = 0;
    memcpy(head, name, strnlen(name, 100));
    put_octal(head + 100, 8, mode & 07777u);
    put_octal(head + 108, 8, 0);
    put_octal(head + 116, 8, 0);
    put_octal(head + 124, 12, size);
    put_octal(head + 136, 12, 1700000000);
    memset(head + 148, ' ', 8);
    head[156] = type;
    if (link) {
        memcpy(head + 157, link, strnlen(link, 100));
    }
    memcpy(head + 257, "ustar  ", 8);
    for (size_t i = 0; i < sizeof(head); i++) {
        sum += (unsigned char)head[i];
    }
    put_octal(head + 148, 7, sum);
    str_addn(tar, head, sizeof(head));
}

static void put_padded(struct str *tar, const void *bytes, size_t len)
{
    static const char zeros[512];
    if (len) {
        str_addn(tar, bytes, len);
    }
    str_addn(tar, zeros, (512 - len % 512) % 512);
}

void lab_tar_add(struct str *tar, const char *path, char type, unsigned mode, const char *link,
                 const void *bytes, size_t len)
{
    if (link && strlen(link) > 100) {
        put_block(tar, "././@LongLink", 'K', 0644, NULL, strlen(link) + 1);
        put_padded(tar, link, strlen(link) + 1);
    }
    if (strlen(path) > 100) {
        put_block(tar, "././@LongLink", 'L', 0644, NULL, strlen(path) + 1);
        put_padded(tar, path, strlen(path) + 1);
    }
    put_block(tar, path, type, mode, link, len);
    put_padded(tar, bytes, len);
}

void lab_tar_end(struct str *tar)
{
    static const char zeros[1024];
    str_addn(tar, zeros, sizeof(zeros));
}

void lab_tar_files(struct str *tar, const struct lab_file *files, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct lab_file *f = &files[i];
        if (f->mode == MODE_LINK) {
            autofree char *target = mem_strndup(f->bytes, f->len);
            lab_tar_add(tar, f->path, '2', 0777, target, NULL, 0);
        } else if (f->mode == MODE_GITLINK) {
            autofree char *dir = mem_printf("%s/", f->path);
            lab_tar_add(tar, dir, '5', 0755, NULL, NULL, 0);
        } else {
            lab_tar_add(tar, f->path, '0', f->mode & 0777u, NULL, f->bytes, f->len);
        }
    }
    lab_tar_end(tar);
}

/* --- git's verdict --- */

bool lab_git_apply(struct lab *lab, const char *tree, const struct str *text, bool worktree,
                   struct str *ret)
{
    autofree char *clone = lab_path(lab, "judge");
    autofree char *file = lab_path(lab, "judge.patch");
    autofree char *info = mem_printf("%s/objects\n", lab->store_dir);
    fs_remove_tree(clone, NULL);
    lab_must(lab, NULL, NULL, "init -q --template= %s", clone);
    lab_write(clone, ".git/objects/info/alternates", info, strlen(info));
    lab_write(lab->dir, "judge.patch", str_c(text), text->len);
    lab_must(lab, clone, NULL, "read-tree %s%s", worktree ? "--reset -u " : "", tree);
    if (text->len &&
        lab_git(lab, clone, NULL, "apply %s %s", worktree ? "--index" : "--cached", file) != 0) {
        return false;
    }
    lab_must(lab, clone, ret, "write-tree");
    return true;
}

/* --- chance --- */

uint32_t lab_rand(struct lab_rng *rng, uint32_t below)
{
    rng->state = rng->state * 6364136223846793005ULL + 1442695040888963407ULL;
    uint64_t x = rng->state ^ (rng->state >> 29);
    return below ? (uint32_t)((x >> 16) % below) : 0;
}

uint64_t lab_seed(void)
{
    const char *text = getenv("FACTORY_TEST_SEED");
    return text ? strtoull(text, NULL, 0) : 20240229;
}
