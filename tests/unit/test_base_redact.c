/*
 * test_base_redact.c - base/redact: known values, patterns, and the stream at every possible cut.
 *
 * The secrets here are made up; several are written in two halves so that scanners of repositories
 * leave this file alone.
 */
#include "base/redact.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define M REDACT_MASK
#define DIGITS20 "0123456789abcdefghij"
#define DIGITS40 DIGITS20 DIGITS20
#define JWT                                                                                        \
    "eyJhbGciOiJIUzI1NiJ9"                                                                         \
    ".eyJzdWIiOiIxMjM0NTY3ODkwIn0."                                                                \
    "dozjgNryP4J3jVmNHl0w5N_XgL0n3I9Pl"

static void expect(const char *text, const char *want)
{
    autostr struct str out = {0};
    autostr struct str twice = {0};
    size_t hits = redact_append(&out, text, strlen(text));
    cr_expect_str_eq(str_c(&out), want, "%s", text);
    cr_expect_eq(hits > 0, strcmp(text, want) != 0 || strstr(text, M) != NULL, "%s: %zu", text,
                 hits);
    cr_expect_eq(redact_finds(text, strlen(text), REDACT_ALL), hits);
    redact_append(&twice, str_c(&out), out.len);
    cr_expect_str_eq(str_c(&twice), want, "not stable: %s", text);
    /* the stream, cut in two at every place, and byte by byte */
    for (size_t cut = 0; cut <= strlen(text) + 1; cut++) {
        autostr struct str pieces = {0};
        struct redact_stream s = {0};
        if (cut <= strlen(text)) {
            redact_stream_feed(&s, text, cut, &pieces);
            redact_stream_feed(&s, text + cut, strlen(text) - cut, &pieces);
        } else {
            for (const char *p = text; *p; p++) {
                redact_stream_feed(&s, p, 1, &pieces);
            }
        }
        cr_expect_eq(redact_stream_end(&s, &pieces), hits);
        cr_expect_str_eq(str_c(&pieces), want, "cut at %zu of %s", cut, text);
        cr_expect_null(s.held.ptr);
    }
}

Test(redact, ordinary_text_stays_as_it_is)
{
    static const char *const texts[] = {
        "",
        "hello world",
        "sk-learn is a library, and so is scikit-learn",
        "a bearer of bad news, bearer authentication, Bearer tokens",
        "authorization token is required; basic facts",
        "https://example.org/a@b?c=d",
        "git clone ssh://git@example.org/x.git",
        "http://example.org:8080/path",
        "monkey=banana key=5 x==y if (token == 5) donkey='a'",
        "TOKEN= PASSWORD=\n",
        "AKIA123 ghp_short glpat-x npm_install xoxo-kisses",
        "eyJ.a.b eyJhbGciOiJIUzI1NiJ9 alone",
        "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n",
        "-----BEGIN PUBLIC KEY-----\nMIIB\n",
        "://@ :// :::: ==== ----- -----BEGIN ",
        "tttt bbbb ssss gh gho xox AKI np",
    };
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        expect(texts[i], texts[i]);
    }
}

Test(redact, keys_with_a_prefix)
{
    expect("key is sk-" DIGITS20 ".", "key is " M ".");
    expect("sk-ant-api03-" DIGITS40 " x", M " x");
    expect("(ghp"
           "_" DIGITS40 ")",
           "(" M ")");
    expect("gho"
           "_" DIGITS40 " ghs_" DIGITS40,
           M " " M);
    expect("github"
           "_pat_" DIGITS40,
           M);
    expect("id AKIA"
           "ABCDEFGH12345678,",
           "id " M ",");
    expect("xoxb"
           "-1234567890-abc",
           M);
    expect("xapp"
           "-1-A0123456789",
           M);
    expect("glpat"
           "-" DIGITS20 "\n",
           M "\n");
    expect("AIza" DIGITS40, M);
    expect("npm"
           "_" DIGITS40,
           M);
    expect("sk"
           "_live_" DIGITS20 " rk_test_" DIGITS20,
           M " " M);
    expect("whsec"
           "_" DIGITS20,
           M);
    expect("task-sk-" DIGITS20, "task-" M); /* "-" separates words */
    expect("risk-" DIGITS20, "risk-" DIGITS20);
    expect("\"sk-" DIGITS20 "\"", "\"" M "\"");
}

Test(redact, web_tokens)
{
    expect("t " JWT " end", "t " M " end");
    expect("{\"t\":\"" JWT "\"}", "{\"t\":\"" M "\"}");
    expect("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0", M); /* unsigned */
}

Test(redact, credentials_in_headers)
{
    expect("Authorization: Bearer abc", "Authorization: Bearer " M);
    expect("authorization: bearer  abc.def-1~+/=\r\nX: y", "authorization: bearer  " M "\r\nX: y");
    expect("{\"Authorization\": \"Bearer abcdef\"}", "{\"Authorization\": \"Bearer " M "\"}");
    expect("Authorization: Basic dXNlcjpwYXNz\n", "Authorization: Basic " M "\n");
    expect("Authorization: token abcdef\n", "Authorization: token " M "\n");
    expect("curl -H 'authorization: BEARER x1'", "curl -H 'authorization: BEARER " M "'");
    expect("got Bearer abc12345 back", "got Bearer " M " back");
    expect("Bearer abcdefghijklmnopqrstuvwxyz", "Bearer " M);
    expect("Authorization: \nBasic instincts", "Authorization: \nBasic instincts");
}

Test(redact, credentials_in_urls)
{
    expect("https://user:pa55@example.org/x", "https://" M "@example.org/x");
    expect("https://tok@example.org", "https://" M "@example.org");
    expect("postgres://u:p@ss@db:5432/x", "postgres://" M "@db:5432/x");
    expect("ssh://git:pw@h/x", "ssh://" M "@h/x");
    expect("a http://u:p@h b http://v:q@i c", "a http://" M "@h b http://" M "@i c");
    expect("https://u:sk-" DIGITS20 "@h", "https://" M "@h");
}

Test(redact, assignments_by_name)
{
    expect("MY_PASSWORD=hunter2 next", "MY_PASSWORD=" M " next");
    expect("export GITHUB_TOKEN=abc\n", "export GITHUB_TOKEN=" M "\n");
    expect("API_KEY=abc", "API_KEY=" M);
    expect("MYKEY=abc", "MYKEY=" M);
    expect("KEY=abc", "KEY=" M);
    expect("client_secret=abc&x=1", "client_secret=" M "&x=1");
    expect("--api-key=abc --verbose", "--api-key=" M " --verbose");
    expect("password=\"a b c\" x", "password=\"" M "\" x");
    expect("password='a b c' x", "password='" M "' x");
    expect("password=\"a \\\" b\" x", "password=\"" M "\" x");
    expect("{\"c\":\"DB_PASSWORD=abc\\nX=1\"}", "{\"c\":\"DB_PASSWORD=" M "\\nX=1\"}");
    expect("\"TOKEN=\\\"a b\\\" ls\"", "\"TOKEN=\\\"" M "\\\" ls\"");
    expect("TOKEN=" M, "TOKEN=" M);
    expect("TOKEN=\"unclosed\nnext line", "TOKEN=\"" M "\nnext line");
}

Test(redact, private_keys)
{
    expect("a\n-----BEGIN RSA PRIVATE "
           "KEY-----\nMIIEpAIBAAKC+/=\nabc\n"
           "-----END RSA PRIVATE KEY-----\nb\n",
           "a\n" M "\nb\n");
    expect("-----BEGIN PRIVATE "
           "KEY-----\\nMIIE\\n-----END PRIVATE KEY-----\\n\" x",
           M "\\n\" x");
    expect("-----BEGIN OPENSSH PRIVATE "
           "KEY-----\nb3Blb\n(cut)",
           M "(cut)");
    expect("> -----BEGIN EC PRIVATE "
           "KEY-----\n> Proc-Type: 4,ENCRYPTED\n> MIIE\n"
           "> -----END EC PRIVATE KEY-----\n> b",
           "> " M "\n> b");
}

/* --- registered values --- */

static void add(const char *secret)
{
    cr_assert(redact_register(secret, strlen(secret)));
}

Test(redact, registered_values_are_found_wherever_they_stand)
{
    add("hunter2-hunter2");
    add("  padded-secret\n");
    expect("hunter2-hunter2", M);
    expect("xhunter2-hunter2x", "x" M "x");
    expect("a padded-secret b", "a " M " b");
    expect("hunter2-hunter2hunter2-hunter2", M); /* one mask for neighbours */
    expect("hunter2-hunter", "hunter2-hunter");
    expect("hunter2-hunter2-hunter2", M); /* it stands there twice, overlapping */
    redact_forget_all();
    expect("hunter2-hunter2", "hunter2-hunter2");
}

Test(redact, the_longest_value_wins_and_overlaps_are_covered_whole)
{
    add("abcdef");
    add("abcdefghij");
    add("ijklmnop");
    expect("abcdef abcdefghij abcdefghi", M " " M " " M "ghi");
    expect("abcdefghijklmnop", M);
    expect("xabcdefghijklmnopx", "x" M "x");
    expect("abcdeabcdef", "abcde" M);
}

Test(redact, short_and_empty_values_are_not_registered)
{
    cr_assert_not(redact_register("", 0));
    cr_assert_not(redact_register("abcde", 5));
    cr_assert_not(redact_register("  abc  \n", 8));
    cr_assert_not(redact_register("        ", 8));
    cr_assert(redact_register("abcdef", 6));
    cr_assert_not(redact_register_env("FACTORY_TEST_UNSET"));
    setenv("FACTORY_TEST_SECRET", "from-the-environment", 1);
    cr_assert(redact_register_env("FACTORY_TEST_SECRET"));
    expect("x from-the-environment abcde", "x " M " abcde");
}

Test(redact, escapes_and_cuts_do_not_hide_a_value)
{
    add("line one\n\"two\"");
    expect("{\"a\":\"line one\\n\\\"two\\\"\"}", "{\"a\":\"" M "\"}");
    expect("line one\n\"two\"", M);
    autoarena struct arena *arena = arena_new();
    autostr struct str out = {0};
    const struct json *root = NULL;
    const char *text = "{\"line one\":[\"\\u006cine one\\n\\u0022two\\\"!\",1,{\"x\":\"plain\"}]}";
    cr_assert_eq(json_parse(arena, text, strlen(text), &root, NULL), 0);
    redact_json(&out, root, 0);
    cr_assert_str_eq(out.ptr, "{\"line one\":[\"" M "!\",1,{\"x\":\"plain\"}]}");
}

Test(redact, values_and_patterns_meet)
{
    add("abc;def-secret");
    add("sk-01234567");
    add("token: xyz");
    expect("TOKEN=abc;def-secret;x", "TOKEN=" M ";x"); /* the value reaches beyond the pattern */
    expect("sk-" DIGITS20, M);                         /* and the pattern beyond the value */
    expect("my token: xyz", "my " M);
    expect("https://u:abc;def-secret@h", "https://" M "@h");
}

Test(redact, secrets_of_any_bytes_and_any_size)
{
    cr_assert(redact_register("\0\xff\x01\0\xfe\x02", 6));
    autostr struct str out = {0};
    cr_assert_eq(redact_append(&out, "a\0\xff\x01\0\xfe\x02z", 8), 1);
    cr_assert_str_eq(out.ptr, "a" M "z");
    autostr struct str big = {0};
    for (int i = 0; big.len < REDACT_SECRET_MAX + 1000; i++) {
        str_addf(&big, "%d.", i * 7919);
    }
    cr_assert(redact_register(big.ptr, big.len));
    struct redact_stream s = {0};
    autostr struct str pieces = {0};
    redact_stream_feed(&s, "<", 1, &pieces);
    for (size_t at = 0; at < big.len; at += 1000) {
        size_t len = big.len - at < 1000 ? big.len - at : 1000;
        redact_stream_feed(&s, big.ptr + at, len, &pieces);
    }
    redact_stream_feed(&s, ">", 1, &pieces);
    redact_stream_end(&s, &pieces);
    cr_assert_str_eq(pieces.ptr, "<" M ">");
}

Test(redact, layers_are_told_apart)
{
    add("a-known-value");
    const char *text = "a-known-value and sk-" DIGITS20;
    cr_assert_eq(redact_finds(text, strlen(text), REDACT_KNOWN), 1);
    cr_assert_eq(redact_finds(text, strlen(text), REDACT_PATTERNS), 1);
    cr_assert_eq(redact_finds(text, strlen(text), REDACT_ALL), 2);
    cr_assert_eq(redact_finds("", 0, REDACT_ALL), 0);
}

Test(redact, in_place)
{
    struct str s = {0};
    redact_str(&s);
    str_add(&s, "PASSWORD=x PASSWORD=y");
    redact_str(&s);
    cr_assert_str_eq(s.ptr, "PASSWORD=" M " PASSWORD=" M);
    str_free(&s);
}

Test(redact, memory_of_a_stream_is_bounded)
{
    struct redact_stream s = {0};
    autostr struct str out = {0};
    redact_stream_feed(&s, "TOKEN=", 6, &out);
    for (int i = 0; i < 100000; i++) {
        redact_stream_feed(&s, "aaaaaaaaaaaaaaaa", 16, &out);
        cr_assert_leq(s.held.len, 256);
    }
    redact_stream_end(&s, &out);
    cr_assert_str_eq(out.ptr, "TOKEN=" M);
    str_reset(&out);
    for (int i = 0; i < 10000; i++) {
        redact_stream_feed(&s, "-----BEGIN eyJ://a:", 19, &out);
        cr_assert_leq(s.held.len, 4096);
    }
    redact_stream_free(&s);
}

/* --- threads --- */

static void *use_registry(void *arg)
{
    for (int i = 0; i < 300; i++) {
        char secret[32];
        autostr struct str out = {0};
        snprintf(secret, sizeof(secret), "secret-%d-%d", *(int *)arg, i);
        redact_register(secret, strlen(secret));
        str_addf(&out, "<%s>", secret);
        redact_str(&out);
        if (strcmp(out.ptr, "<" M ">") != 0) {
            return out.ptr ? (void *)arg : NULL;
        }
    }
    return NULL;
}

Test(redact, the_registry_is_shared_by_threads, .timeout = 60)
{
    pthread_t threads[4];
    int ids[4] = {1, 2, 3, 4};
    for (size_t i = 0; i < ARRAY_LEN(threads); i++) {
        cr_assert_eq(pthread_create(&threads[i], NULL, use_registry, &ids[i]), 0);
    }
    for (size_t i = 0; i < ARRAY_LEN(threads); i++) {
        void *failed = NULL;
        pthread_join(threads[i], &failed);
        cr_assert_null(failed);
    }
}

Test(redact, random_text_streams_like_it_scrubs_whole)
{
    static const char *const words[] = {
        "Bearer ",
        "sk-",
        DIGITS20,
        "://",
        "u:p@",
        "TOKEN=",
        "\"",
        "'",
        "\\\"",
        "\n",
        " ",
        "eyJ",
        JWT,
        ".",
        "-----BEGIN ",
        "PRIVATE KEY-----",
        "-----END ",
        "known-secret",
        "known",
        "http",
        "authorization: ",
        "a",
        "=",
        "&",
        "ghp"
        "_",
        "\\n",
        "\\",
        "-",
        "@",
        ":",
        "/",
        "known-secret-two",
    };
    add("known-secret");
    add("known-secret-two");
    uint64_t seed = 88172645463325252ULL;
    for (int round = 0; round < 3000; round++) {
        autostr struct str text = {0};
        autostr struct str whole = {0};
        autostr struct str pieces = {0};
        autostr struct str twice = {0};
        struct redact_stream s = {0};
        for (int i = 0; i < 20; i++) {
            seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
            str_add(&text, words[(seed >> 33) % ARRAY_LEN(words)]);
        }
        size_t hits = redact_append(&whole, text.ptr, text.len);
        for (size_t at = 0; at < text.len;) {
            seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
            size_t len = 1 + (seed >> 33) % 40;
            len = len < text.len - at ? len : text.len - at;
            redact_stream_feed(&s, text.ptr + at, len, &pieces);
            at += len;
        }
        cr_assert_eq(redact_stream_end(&s, &pieces), hits);
        cr_assert_str_eq(str_c(&pieces), str_c(&whole), "%s", text.ptr);
        cr_assert_null(strstr(str_c(&whole), "known-secret"));
    }
}
