/*
 * fuzz_repo_url.c - URLs, revisions, patterns, ignore rules and quoted names take any text.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "lib/repo_lab.h"
#include "repo/glob.h"
#include "repo/ignore.h"
#include "repo/name.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
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
    return 0;
}
