/*
 * fuzz_repo_url.c - URLs, revisions, patterns, ignore rules and quoted names take any text.
 */
#include "fuzz/repo_fuzz.h"
#include "repo/glob.h"
#include "repo/ignore.h"
#include "repo/name.h"

static void fuzz_one(const uint8_t *bytes, size_t len)
{
    autofree char *text = mem_strndup((const char *)bytes, len);
    const char *half = text + strlen(text) / 2;
    struct err err = {0};
    bool good = repo_url_check(text, &err) == 0;
    bool covers = repo_url_covers(text, text);
    if (good && !covers) {
        abort();
    }
    if (revision_check(text, &err) == 0 && (text[0] == '-' || strchr(text, '\n'))) {
        abort();
    }
    (void)glob_path(text, (size_t)(half - text), half, strlen(half));
    const char *patterns[] = {half};
    if (paths_pattern_check(half, &err) == 0) {
        (void)paths_match(patterns, 1, text);
    }
    autoarena struct arena *arena = arena_new();
    struct ignore_set *set = ignore_new(arena);
    ignore_add(set, "", text, strlen(text));
    (void)ignore_match(set, half, false);
    autostr struct str quoted = {0};
    autostr struct str back = {0};
    name_quote(&quoted, "a/", text);
    const char *p = str_c(&quoted);
    if (text[0] &&
        (!name_unquote(&p, p + quoted.len, " \n", &back) || !str_eq(str_c(&back) + 2, text))) {
        abort();
    }
    p = text;
    (void)name_unquote(&p, text + strlen(text), " \n", &back);
}

static bool fuzz_seed(size_t n, struct str *ret)
{
    static const char *const seeds[] = {"https://example.org:8443/group/project.git",
                                        "ssh://[::1]:22/a/b",
                                        "git://h/x",
                                        "feature/some branch",
                                        "**/[a-z]*/x?\\*/**",
                                        "*.o\n!keep.o\n/build/\n# c\nsp\\ \n[[:alpha:]-]",
                                        "\"quo\\ted \\303\\251\\n\" tail",
                                        "a/b/../c",
                                        "src/\xc3\xa9/x y\t"};
    if (n >= ARRAY_LEN(seeds)) {
        return false;
    }
    str_add(ret, seeds[n]);
    return true;
}
