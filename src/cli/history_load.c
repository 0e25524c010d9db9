/*
 * history_load.c - see history.h. Owns: the words that name a history.
 * Tests: tests/cli/t0655-history-files.sh
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "cli/exitcode.h"
#include "cli/find.h"
#include "cli/past.h"
#include "cli/history.h"

#define FILE_BYTES_MAX (512U << 20)

bool history_word_is_file(const char *word)
{
    static const char *const ends[] = {".json", ".jsonl", ".bin", ".pb", ".binpb", ".history"};
    struct stat st;
    if (str_eq(word, "-") || strchr(word, '/') || (stat(word, &st) == 0 && !S_ISDIR(st.st_mode))) {
        return true;
    }
    for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
        if (str_ends(word, ends[i])) {
            return true;
        }
    }
    return false;
}

int history_read_file(const char *word, struct str *ret)
{
    struct err err = {0};
    if (str_eq(word, "-")) {
        return fs_read_fd(STDIN_FILENO, FILE_BYTES_MAX, ret, &err) < 0
                   ? cli_error(EXIT_ERROR, "standard input: %s", err.text)
                   : EXIT_OK;
    }
    autoclose int fd = open(word, O_RDONLY | O_CLOEXEC); /* a pipe will do as well */
    if (fd < 0) {
        int status = errno == ENOENT ? EXIT_NOT_FOUND : EXIT_ERROR;
        err_sys(&err, errno, "OpenFailed", "%s", word);
        return cli_error(status, "%s", err.text);
    }
    return fs_read_fd(fd, FILE_BYTES_MAX, ret, &err) < 0
               ? cli_error(EXIT_ERROR, "%s: %s", word, err.text)
               : EXIT_OK;
}

int history_find_run(struct cli *cli, struct args *args, struct arena *arena, const char *word,
                     const char **ret_id)
{
    int status = cli->engine ? EXIT_OK : verb_open(cli, args, false);
    if (status != EXIT_OK) {
        return status;
    }
    if (verb_is_elsewhere(args) || strchr(word, '@')) {
        *ret_id = word;
        return EXIT_OK;
    }
    return find_run(cli, arena, word, ret_id);
}

int history_load(struct cli *cli, struct args *args, const char *word, struct admin_loaded **ret)
{
    autoarena struct arena *arena = arena_new();
    autostr struct str bytes = {0};
    struct err err = {0};
    const char *id;
    if (history_word_is_file(word)) {
        int status = history_read_file(word, &bytes);
        if (status == EXIT_OK && admin_load_bytes(str_c(&bytes), bytes.len, ret, &err) < 0) {
            status = cli_error(EXIT_ERROR, "%s: %s", word, err.text);
        }
        return status;
    }
    int status = history_find_run(cli, args, arena, word, &id);
    if (status != EXIT_OK) {
        return status;
    }
    int rc = admin_load_run(cli->engine, id, ret);
    if (rc == DUR_NOT_FOUND && past_find(cli, arena, id)) {
        return cli_error(EXIT_NOT_FOUND,
                         "the engine has no history of %s any more; factory describe run %s shows "
                         "what ledger and evidence tell",
                         find_run_id(id), find_run_id(id));
    }
    return rc == DUR_OK ? EXIT_OK : verb_fail(cli, rc);
}
