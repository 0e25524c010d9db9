/*
 * test_repo_url.c - which repositories and revisions may be named.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "base/str.h"
#include "repo/url.h"

Test(repo_url, good_urls_pass)
{
    static const char *const good[] = {"https://example.org/a/b.git", "HTTPS://Example.ORG/a",
                                       "ssh://host:2222/a",           "git://127.0.0.1:9418/x",
                                       "https://[::1]:8443/x",        "https://h/a%2eb/"};
    for (size_t i = 0; i < ARRAY_LEN(good); i++) {
        struct err err = {0};
        cr_expect_eq(repo_url_check(good[i], &err), 0, "%s: %s", good[i], err.text);
    }
}

Test(repo_url, bad_urls_are_rejected_by_policy)
{
    static const char *const bad[] = {"",
                                      "/srv/x",
                                      "file:///srv/x",
                                      "http://h/x",
                                      "https:///x",
                                      "https://h",
                                      "https://h/",
                                      "https://u@h/x",
                                      "https://u:p@h/x",
                                      "https://h/x?y",
                                      "https://h/x#y",
                                      "https://h/../x",
                                      "https://h/a/./b",
                                      "https://h//x",
                                      "https://h/a\\b",
                                      "https://h/a\nb",
                                      "https://h/a\tb",
                                      "git@h:x",
                                      "https://h:0/x",
                                      "https://h:99999/x",
                                      "https://h:/x",
                                      "https://h:x/x",
                                      "https://-h/x",
                                      "ssh://h x/y",
                                      "ext::sh -c x",
                                      "https://h/..",
                                      "https://h%2f/x",
                                      "https://[::1/x",
                                      "https://[x]/y",
                                      " https://h/x"};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct err err = {0};
        cr_expect_lt(repo_url_check(bad[i], &err), 0, "%s", bad[i]);
        cr_expect_str_eq(err.name, "RepositoryRejected", "%s", bad[i]);
        cr_expect(strncmp(err.text, "rejected by policy", 18) == 0, "%s", err.text);
        cr_expect_eq(err.kind, ERR_PERMANENT);
    }
}

Test(repo_url, secrets_do_not_reach_the_message)
{
    struct err err = {0};
    cr_expect_lt(repo_url_check("https://ana:hunter2@h/x", &err), 0);
    cr_expect_null(strstr(err.text, "hunter2"), "%s", err.text);
    cr_expect_lt(repo_url_check("https://h/x?token=hunter2", &err), 0);
    cr_expect_null(strstr(err.text, "hunter2"), "%s", err.text);
}

Test(repo_url, prefixes_cover_whole_segments_only)
{
    static const struct {
        const char *prefix;
        const char *url;
        bool covers;
    } cases[] = {
        {"https://h/o/service", "https://h/o/service", true},
        {"https://h/o/service/", "https://h/o/service", true},
        {"https://h/o/service", "https://h/o/service/sub", true},
        {"https://h/o/service", "https://h/o/service-private", false},
        {"https://h/o", "https://h/o2/x", false},
        {"https://h", "https://h/x", true},
        {"https://h/", "https://h/x", true},
        {"https://github.com", "https://github.com.evil/x", false},
        {"https://H/x", "HTTPS://h:443/x", true},
        {"https://h/x", "https://h:444/x", false},
        {"ssh://h/x", "ssh://h:22/x", true},
        {"git://h:9418/x", "git://h/x", true},
        {"https://h/x", "ssh://h/x", false},
        {"https://h/X", "https://h/x", false},
        {"https://u@h/x", "https://h/x", false},
        {"https://h/x", "https://h/x?y", false},
        {"https://h/a", "https://h/a/../b", false},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        cr_expect_eq(repo_url_covers(cases[i].prefix, cases[i].url), cases[i].covers, "%s %s",
                     cases[i].prefix, cases[i].url);
    }
}

Test(repo_url, an_empty_list_allows_nothing)
{
    struct err err = {0};
    const char *const list[] = {"https://other/", "https://h/o"};
    cr_expect_lt(repo_url_allowed("https://h/x", NULL, 0, &err), 0);
    cr_expect_lt(repo_url_allowed("https://h/x", list, 2, &err), 0);
    cr_expect_eq(repo_url_allowed("https://h/o/x", list, 2, &err), 0);
}

Test(repo_url, revisions)
{
    static const char *const bad[] = {"", "  ", "-x", "a\nb", "a\r"};
    struct err err = {0};
    char text[300];
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        cr_expect_lt(revision_check(bad[i], &err), 0, "%s", bad[i]);
        cr_expect_str_eq(err.name, "RevisionRejected");
    }
    memset(text, 'a', sizeof(text));
    text[257] = '\0';
    cr_expect_lt(revision_check(text, &err), 0);
    text[256] = '\0';
    cr_expect_eq(revision_check(text, &err), 0);
    cr_expect_eq(revision_check("feature/x y", &err), 0);
}
