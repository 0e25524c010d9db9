/*
 * entry.c - see entry.h. Names of owners are looked up once each and remembered.
 * Tests: tests/unit/test_guest_files.c
 */
#include "guest/entry.h"

#include "base/clock.h"
#include "base/fs.h"

#include <grp.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define NAME_BYTES 64

struct id_name {
    int64_t id; /* -1 - id, so that a zeroed one matches nothing */
    char name[NAME_BYTES];
};

static const char *type_name(mode_t mode)
{
    switch (mode & S_IFMT) {
    case S_IFREG:
        return "FILE_TYPE_FILE";
    case S_IFDIR:
        return "FILE_TYPE_DIRECTORY";
    case S_IFLNK:
        return "FILE_TYPE_SYMLINK";
    default:
        return NULL; /* unspecified: omitted */
    }
}

static char type_letter(mode_t mode)
{
    switch (mode & S_IFMT) {
    case S_IFDIR:
        return 'd';
    case S_IFLNK:
        return 'L';
    case S_IFIFO:
        return 'p';
    case S_IFSOCK:
        return 'S';
    case S_IFREG:
        return '-';
    default:
        return 'D';
    }
}

static const char *owner(struct id_name *cache, uid_t uid)
{
    if (cache->id != -1 - (int64_t)uid) {
        const struct passwd *entry = getpwuid(uid);
        snprintf(cache->name, sizeof(cache->name), "%u", uid);
        if (entry) {
            str_copy(cache->name, sizeof(cache->name), entry->pw_name);
        }
        cache->id = -1 - (int64_t)uid;
    }
    return cache->name;
}

static const char *group(struct id_name *cache, gid_t gid)
{
    if (cache->id != -1 - (int64_t)gid) {
        const struct group *entry = getgrgid(gid);
        snprintf(cache->name, sizeof(cache->name), "%u", gid);
        if (entry) {
            str_copy(cache->name, sizeof(cache->name), entry->gr_name);
        }
        cache->id = -1 - (int64_t)gid;
    }
    return cache->name;
}

static void put_text(struct json_out *w, const char *key, const char *text)
{
    json_key(w, key);
    json_put_strn(w, text, strlen(text));
}

void entry_put(struct json_out *w, const struct guest *guest, const char *path,
               const struct stat *st)
{
    static struct id_name uids;
    static struct id_name gids;
    static const char letters[] = "rwxrwxrwx";
    char permissions[11] = {type_letter(st->st_mode)};
    for (int i = 0; i < 9; i++) {
        permissions[1 + i] = st->st_mode & (0400U >> i) ? letters[i] : '-';
    }
    json_begin_object(w);
    put_text(w, "name", fs_basename(path));
    json_kv_str_opt(w, "type", type_name(st->st_mode));
    put_text(w, "path", path);
    json_key(w, "size");
    json_put_i64_text(w, st->st_size);
    json_kv_i64(w, "mode", st->st_mode & 07777);
    json_kv_str(w, "permissions", permissions);
    json_kv_str(w, "owner", st->st_uid == geteuid() ? guest->user : owner(&uids, st->st_uid));
    json_kv_str(w, "group", group(&gids, st->st_gid));
    autostr struct str time = {0};
    time_format_rfc3339(&time, st->st_mtim.tv_sec * NS_PER_S + st->st_mtim.tv_nsec);
    json_kv_str(w, "modifiedTime", str_c(&time));
    char target[PATH_MAX];
    ssize_t len = S_ISLNK(st->st_mode) ? readlink(path, target, sizeof(target)) : -1;
    if (len > 0) {
        json_key(w, "symlinkTarget");
        json_put_strn(w, target, (size_t)len);
    }
    json_end_object(w);
}
