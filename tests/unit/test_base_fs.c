/*
 * test_base_fs.c - base/fs: bounds, durable replace, and everything that tries to leave a
 * directory.
 */
#include "base/fs.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tmpdir.h"

static struct err err;

static void put(const char *name, const char *text)
{
    cr_assert_eq(fs_write_file(tmpdir_file(name), text, strlen(text), 0640, &err), 0, "%s",
                 err.text);
}

static size_t entries(const char *path)
{
    DIR *dir = opendir(path);
    size_t count = 0;
    for (const struct dirent *e = readdir(dir); e; e = readdir(dir)) {
        count++;
    }
    closedir(dir);
    return count - 2;
}

Test(fs, a_file_comes_back_with_its_mode_and_without_leftovers)
{
    autostr struct str got = {0};
    struct stat st;
    umask(077);
    put("a", "one");
    put("a", "two!");
    cr_assert_eq(fs_read_file(tmpdir_file("a"), 100, &got, &err), 0);
    cr_assert_str_eq(got.ptr, "two!");
    cr_assert_eq(stat(tmpdir_file("a"), &st), 0);
    cr_assert_eq(st.st_mode & 07777, 0640);
    cr_assert_eq(entries(tmpdir()), 1);
}

Test(fs, reading_is_bounded_exactly)
{
    autostr struct str got = {0};
    put("a", "12345");
    cr_assert_eq(fs_read_file(tmpdir_file("a"), 5, &got, &err), 0);
    cr_assert_eq(got.len, 5);
    str_reset(&got);
    str_add(&got, "kept");
    cr_assert_lt(fs_read_file(tmpdir_file("a"), 4, &got, &err), 0);
    cr_assert_str_eq(err.name, "FileTooLarge");
    cr_assert_str_eq(got.ptr, "kept");
    cr_assert_lt(fs_read_file(tmpdir_file("a"), 0, &got, &err), 0);
    put("empty", "");
    cr_assert_eq(fs_read_file(tmpdir_file("empty"), 0, &got, &err), 0);
    cr_assert_str_eq(str_c(&got), "");
    cr_assert_eq(fs_read_file("/proc/self/status", 1 << 20, &got, &err), 0); /* size 0, yet full */
    cr_assert_gt(got.len, 100);
}

Test(fs, large_files_cross_every_buffer_size)
{
    static const size_t sizes[] = {65535, 65536, 65537, 131072, 1000000};
    for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
        autostr struct str out = {0};
        autostr struct str got = {0};
        for (size_t j = 0; j < sizes[i]; j++) {
            str_addc(&out, (char)(j * 31 % 251));
        }
        cr_assert_eq(fs_write_file(tmpdir_file("big"), out.ptr, out.len, 0600, &err), 0);
        cr_assert_eq(fs_read_file(tmpdir_file("big"), sizes[i], &got, &err), 0, "%s", err.text);
        cr_assert_eq(got.len, out.len);
        cr_assert_eq(memcmp(got.ptr, out.ptr, out.len), 0);
        cr_assert_lt(fs_read_file(tmpdir_file("big"), sizes[i] - 1, &got, &err), 0);
    }
}

Test(fs, only_regular_files_are_read, .timeout = 10)
{
    autostr struct str got = {0};
    cr_assert_eq(mkfifo(tmpdir_file("fifo"), 0600), 0);
    cr_assert_lt(fs_read_file(tmpdir_file("fifo"), 10, &got, &err), 0);
    cr_assert_str_eq(err.name, "NotAFile");
    cr_assert_lt(fs_read_file(tmpdir(), 10, &got, &err), 0);
    cr_assert_lt(fs_read_file(tmpdir_file("absent"), 10, &got, &err), 0);
    cr_assert_str_eq(err.name, "FileNotFound");
    cr_assert_eq(err.sys, ENOENT);
}

Test(fs, write_at_is_exclusive_when_asked)
{
    autoclose int dir = open(tmpdir(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    autostr struct str got = {0};
    cr_assert_eq(fs_write_file_at(dir, "a", "1", 1, 0600, FS_EXCLUSIVE, &err), 0);
    cr_assert_lt(fs_write_file_at(dir, "a", "2", 1, 0600, FS_EXCLUSIVE, &err), 0);
    cr_assert_str_eq(err.name, "FileExists");
    cr_assert_eq(fs_read_file(tmpdir_file("a"), 10, &got, &err), 0);
    cr_assert_str_eq(got.ptr, "1");
    cr_assert_eq(entries(tmpdir()), 1);
    static const char *const bad[] = {"", ".", "..", "a/b", "/a", "a\n"};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        cr_expect_lt(fs_write_file_at(dir, bad[i], "x", 1, 0600, 0, &err), 0);
        cr_expect_str_eq(err.name, "BadFileName");
    }
}

Test(fs, write_replaces_a_link_and_not_what_it_points_to)
{
    autostr struct str got = {0};
    put("target", "old");
    cr_assert_eq(symlink("target", tmpdir_file("link")), 0);
    put("link", "new");
    cr_assert_eq(fs_read_file(tmpdir_file("target"), 10, &got, &err), 0);
    cr_assert_str_eq(got.ptr, "old");
    cr_assert_eq(fs_read_file(tmpdir_file("link"), 10, &got, &err), 0);
    cr_assert_str_eq(got.ptr, "new");
}

Test(fs, write_reports_what_is_in_the_way)
{
    cr_assert_lt(fs_write_file(tmpdir_file("no/such"), "x", 1, 0600, &err), 0);
    cr_assert_str_eq(err.name, "FileNotFound");
    cr_assert_eq(mkdir(tmpdir_file("dir"), 0700), 0);
    cr_assert_lt(fs_write_file(tmpdir_file("dir"), "x", 1, 0600, &err), 0);
    cr_assert_eq(entries(tmpdir()), 1); /* the temporary file is gone */
}

Test(fs, mkdirs)
{
    cr_assert_eq(fs_mkdirs(tmpdir_file("a//b/c/"), 0700, &err), 0, "%s", err.text);
    cr_assert(fs_is_dir(tmpdir_file("a/b/c")));
    cr_assert_eq(fs_mkdirs(tmpdir_file("a/b"), 0700, &err), 0);
    put("file", "x");
    cr_assert_lt(fs_mkdirs(tmpdir_file("file"), 0700, &err), 0);
    cr_assert_lt(fs_mkdirs(tmpdir_file("file/x"), 0700, &err), 0);
    cr_assert_lt(fs_mkdirs("", 0700, &err), 0);
    cr_assert_eq(fs_mkdirs("/", 0700, &err), 0);
    cr_assert_eq(chdir(tmpdir()), 0);
    cr_assert_eq(fs_mkdirs("r/s", 0700, &err), 0);
    cr_assert(fs_is_dir(tmpdir_file("r/s")));
    cr_assert_eq(fs_fsync_dir("r/s", &err), 0);
    cr_assert_lt(fs_fsync_dir("r/t", &err), 0);
}

/* --- removal --- */

Test(fs, remove_takes_whole_trees_and_follows_nothing)
{
    put("outside", "stays");
    cr_assert_eq(fs_mkdirs(tmpdir_file("outside-dir/x"), 0700, &err), 0);
    cr_assert_eq(fs_mkdirs(tmpdir_file("t/a/b/c"), 0700, &err), 0);
    put("t/a/file", "x");
    put("t/a/b/file", "x");
    cr_assert_eq(symlink("../outside", tmpdir_file("t/link")), 0);
    cr_assert_eq(symlink("../outside-dir", tmpdir_file("t/dirlink")), 0);
    cr_assert_eq(symlink("nowhere", tmpdir_file("t/a/dangling")), 0);
    cr_assert_eq(mkfifo(tmpdir_file("t/fifo"), 0600), 0);
    cr_assert_eq(fs_remove_tree(tmpdir_file("t"), &err), 0, "%s", err.text);
    cr_assert_not(fs_exists(tmpdir_file("t")));
    cr_assert(fs_exists(tmpdir_file("outside")));
    cr_assert(fs_exists(tmpdir_file("outside-dir/x")));
}

Test(fs, remove_of_a_link_removes_the_link_even_with_a_slash)
{
    cr_assert_eq(fs_mkdirs(tmpdir_file("d/x"), 0700, &err), 0);
    cr_assert_eq(symlink("d", tmpdir_file("link")), 0);
    cr_assert_eq(fs_remove_tree(tmpdir_file("link/"), &err), 0, "%s", err.text);
    cr_assert(fs_exists(tmpdir_file("d/x")));
    struct stat st;
    cr_assert_lt(lstat(tmpdir_file("link"), &st), 0);
    cr_assert_eq(fs_remove_tree(tmpdir_file("d/"), &err), 0);
    cr_assert_not(fs_exists(tmpdir_file("d")));
}

Test(fs, remove_of_nothing_is_fine_and_some_names_are_refused)
{
    cr_assert_eq(fs_remove_tree(tmpdir_file("absent"), &err), 0);
    cr_assert_eq(fs_remove_tree(tmpdir_file("absent/below"), &err), 0);
    static const char *const bad[] = {"/", "//", ".", "..", "a/..", "a/.", ""};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        cr_expect_lt(fs_remove_tree(bad[i], &err), 0, "%s", bad[i]);
    }
    put("file", "x");
    cr_assert_eq(fs_remove_tree(tmpdir_file("file"), &err), 0);
    cr_assert_not(fs_exists(tmpdir_file("file")));
}

Test(fs, remove_restores_missing_permissions)
{
    cr_assert_eq(fs_mkdirs(tmpdir_file("t/locked/in"), 0700, &err), 0);
    put("t/locked/in/file", "x");
    cr_assert_eq(chmod(tmpdir_file("t/locked/in"), 0), 0);
    cr_assert_eq(chmod(tmpdir_file("t/locked"), 0500), 0);
    cr_assert_eq(chmod(tmpdir_file("t"), 0), 0);
    cr_assert_eq(fs_remove_tree(tmpdir_file("t"), &err), 0, "%s", err.text);
    cr_assert_not(fs_exists(tmpdir_file("t")));
}

Test(fs, remove_survives_any_depth_and_width, .timeout = 60)
{
    cr_assert_eq(mkdir(tmpdir_file("t"), 0700), 0);
    autoclose int at = open(tmpdir_file("t"), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (int depth = 0; depth < 2000; depth++) {
        cr_assert_eq(mkdirat(at, "d", 0700), 0);
        cr_assert_eq(mkdirat(at, ".removed-3", 0700), 0); /* a name that the walk would like */
        int next = openat(at, "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        cr_assert_geq(next, 0);
        close(at);
        at = next;
    }
    for (int i = 0; i < 3000; i++) {
        char name[16];
        snprintf(name, sizeof(name), "f%d", i);
        cr_assert_eq(mknodat(at, name, S_IFREG | 0600, 0), 0);
    }
    cr_assert_eq(fs_remove_tree(tmpdir_file("t"), &err), 0, "%s", err.text);
    cr_assert_not(fs_exists(tmpdir_file("t")));
}

/* --- names --- */

Test(fs, paths_are_taken_apart_and_joined)
{
    static const char *const dirs[][2] = {
        {"a/b", "a"}, {"a", "."},      {"/a", "/"},      {"a/b/", "a"}, {"/", "/"},  {"", "."},
        {"//a", "/"}, {"/a//b", "/a"}, {"a/b/c", "a/b"}, {"///", "/"},  {"a//", "."}};
    for (size_t i = 0; i < ARRAY_LEN(dirs); i++) {
        autofree char *got = fs_dirname(dirs[i][0]);
        cr_expect_str_eq(got, dirs[i][1], "%s", dirs[i][0]);
    }
    cr_assert_str_eq(fs_basename("a/b"), "b");
    cr_assert_str_eq(fs_basename("b"), "b");
    cr_assert_str_eq(fs_basename("/"), "");
    static const char *const joins[][3] = {
        {"a", "b", "a/b"}, {"a/", "b", "a/b"}, {"", "b", "b"}, {"/", "b", "/b"}};
    for (size_t i = 0; i < ARRAY_LEN(joins); i++) {
        autofree char *got = fs_join(joins[i][0], joins[i][1]);
        cr_expect_str_eq(got, joins[i][2]);
    }
    autofree char *real = NULL;
    cr_assert_eq(symlink(".", tmpdir_file("self")), 0);
    cr_assert_eq(fs_realpath(tmpdir_file("self/self"), &real, &err), 0);
    autofree char *base = realpath(tmpdir(), NULL);
    cr_assert_str_eq(real, base);
    cr_assert_lt(fs_realpath(tmpdir_file("absent"), &real, &err), 0);
}

Test(fs, which_paths_stay_inside)
{
    static const char *const good[] = {"a", "a/b", "...", "..a", "a..", ".a", "a/.../b", " "};
    static const char *const bad[] = {"",    "/",    "/a",   "a/",     "a//b",  ".",   "..",
                                      "./a", "../a", "a/..", "a/../b", "a/./b", "a/.", "//"};
    for (size_t i = 0; i < ARRAY_LEN(good); i++) {
        cr_expect(fs_path_is_inside(good[i]), "%s", good[i]);
    }
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        cr_expect_not(fs_path_is_inside(bad[i]), "%s", bad[i]);
    }
}

Test(fs, which_names_are_plain)
{
    char longest[257];
    memset(longest, 'a', sizeof(longest) - 1);
    longest[256] = '\0';
    cr_expect_not(fs_name_is_plain(longest));
    longest[255] = '\0';
    cr_expect(fs_name_is_plain(longest));
    static const char *const good[] = {"a", ".a", "...", "a b", "\xe2\x82\xac"};
    static const char *const bad[] = {"", ".", "..", "a/b", "/", "a\n", "\x7f", "\xff", "\x1b[31m"};
    for (size_t i = 0; i < ARRAY_LEN(good); i++) {
        cr_expect(fs_name_is_plain(good[i]), "%s", good[i]);
    }
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        cr_expect_not(fs_name_is_plain(bad[i]), "%s", bad[i]);
    }
}

Test(fs, open_inside_refuses_every_way_out)
{
    autoclose int dir = -1;
    cr_assert_eq(fs_mkdirs(tmpdir_file("root/a/b"), 0700, &err), 0);
    cr_assert_eq(fs_mkdirs(tmpdir_file("secret"), 0700, &err), 0);
    put("secret/key", "x");
    put("root/a/b/file", "x");
    dir = open(tmpdir_file("root"), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    cr_assert_eq(symlink("../secret", tmpdir_file("root/out")), 0);
    cr_assert_eq(symlink(tmpdir_file("secret"), tmpdir_file("root/abs")), 0);
    cr_assert_eq(symlink("../../secret/key", tmpdir_file("root/a/key")), 0);
    cr_assert_eq(symlink("a", tmpdir_file("root/alias")), 0); /* even one that stays inside */
    cr_assert_eq(symlink("../secret/new", tmpdir_file("root/dangling")), 0);
    int fd = -1;
    cr_assert_eq(fs_open_inside(dir, "a/b/file", O_RDONLY, 0, &fd, &err), 0, "%s", err.text);
    cr_assert(fcntl(fd, F_GETFD) & FD_CLOEXEC);
    close(fd);
    cr_assert_eq(fs_open_inside(dir, "a/new", O_WRONLY | O_CREAT | O_EXCL, 0600, &fd, &err), 0);
    close(fd);
    static const char *const links[] = {"out/key",      "abs/key", "a/key",
                                        "alias/b/file", "out",     "abs"};
    for (size_t i = 0; i < ARRAY_LEN(links); i++) {
        fd = 77;
        cr_expect_lt(fs_open_inside(dir, links[i], O_RDONLY, 0, &fd, &err), 0, "%s", links[i]);
        cr_expect_str_eq(err.name, "SymlinkInPath", "%s: %s", links[i], err.text);
        cr_expect_eq(fd, 77);
    }
    cr_expect_lt(fs_open_inside(dir, "dangling", O_WRONLY | O_CREAT, 0600, &fd, &err), 0);
    cr_expect_not(fs_exists(tmpdir_file("secret/new")));
    static const char *const outside[] = {
        "../secret/key", "a/../../secret/key", "/etc/passwd", ".", "", "a/", "a/./b"};
    for (size_t i = 0; i < ARRAY_LEN(outside); i++) {
        cr_expect_lt(fs_open_inside(dir, outside[i], O_RDONLY, 0, &fd, &err), 0);
        cr_expect_str_eq(err.name, "PathEscapes", "%s", outside[i]);
    }
    cr_expect_lt(fs_open_inside(dir, "a/b/file/x", O_RDONLY, 0, &fd, &err), 0);
    cr_expect_lt(fs_open_inside(dir, "a/none", O_RDONLY, 0, &fd, &err), 0);
    cr_expect_str_eq(err.name, "FileNotFound");
}

/* --- facts --- */

Test(fs, facts_about_file_systems)
{
    const char *name = NULL;
    uint64_t free_bytes = 0;
    cr_assert_eq(fs_classify("/dev/shm", &name), FS_MEMORY);
    cr_assert_str_eq(name, "tmpfs");
    cr_assert_eq(fs_classify("/proc", &name), FS_UNKNOWN);
    cr_assert_eq(fs_classify("/absent", NULL), FS_UNKNOWN);
    cr_assert_eq(fs_free_bytes(tmpdir(), &free_bytes, &err), 0);
    cr_assert_gt(free_bytes, 0);
    cr_assert_lt(fs_free_bytes("/absent", &free_bytes, &err), 0);
}

Test(fs, a_reserve_is_made_of_real_blocks)
{
    struct stat st;
    const char *path = tmpdir_file("reserve");
    cr_assert_eq(fs_reserve_file(path, 1 << 20, &err), 0, "%s", err.text);
    cr_assert_eq(stat(path, &st), 0);
    cr_assert_geq(st.st_blocks * 512, 1 << 20);
    cr_assert_eq(fs_reserve_file(path, 1 << 20, &err), 0);
    cr_assert_lt(fs_reserve_file(tmpdir_file("huge"), 1ULL << 60, &err), 0);
    cr_assert_not(fs_exists(tmpdir_file("huge")));
    cr_assert_eq(symlink("reserve", tmpdir_file("link")), 0);
    cr_assert_lt(fs_reserve_file(tmpdir_file("link"), 10, &err), 0);
}

Test(fs, the_runtime_directory_is_private)
{
    autofree char *path = NULL;
    autofree char *want = fs_join(tmpdir(), "factory");
    struct stat st;
    setenv("XDG_RUNTIME_DIR", tmpdir(), 1);
    cr_assert_eq(fs_runtime_dir(&path, &err), 0, "%s", err.text);
    cr_assert_str_eq(path, want);
    cr_assert_eq(stat(path, &st), 0);
    cr_assert_eq(st.st_mode & 07777, 0700);
    cr_assert_eq(chmod(path, 0755), 0);
    cr_assert_lt(fs_runtime_dir(&path, &err), 0);
    cr_assert_str_eq(err.name, "RuntimeDirUnsafe");
    cr_assert_eq(rmdir(path), 0);
    cr_assert_eq(symlink("/tmp", path), 0);
    cr_assert_lt(fs_runtime_dir(&path, &err), 0);
    cr_assert_eq(unlink(path), 0);
}
