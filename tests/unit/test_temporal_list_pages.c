/*
 * test_temporal_list_pages.c - tokens of rows: where a list goes on, and what is forgotten.
 */
#include "temporal/list_pages.h"

#include <criterion/criterion.h>

/* What follows that token: "TOKEN+SKIP", or "". */
static void goes_on(struct list_pages *pages, const char *query, int64_t token, const char *wanted)
{
    autostr struct str from = {0}, shown = {0};
    int skip = -1;

    if (list_pages_find(pages, query, token, &from, &skip)) {
        str_addf(&shown, "%s+%d", str_c(&from), skip);
    }
    cr_assert_str_eq(str_c(&shown), wanted);
}

Test(list_pages, rows_know_their_page)
{
    struct list_pages *pages = list_pages_new();
    autostr struct str none = {0}, second = {0};

    str_add(&second, "P2");
    int64_t a = list_pages_add(pages, "q", &none, &second, 3);
    int64_t b = list_pages_add(pages, "q", &second, &none, 2);
    cr_assert_gt(a, 0);
    goes_on(pages, "q", a, "+1");
    goes_on(pages, "q", a + 1, "+2");
    goes_on(pages, "q", a + 2, "P2+0");
    goes_on(pages, "q", a + 3, "");
    goes_on(pages, "q", b, "P2+1");
    goes_on(pages, "q", b + 1, "P2+2"); /* nothing was behind it; by now there may be */
    goes_on(pages, "other", a, "");
    goes_on(pages, "q", 0, "");
    goes_on(pages, "q", -5, "");
    goes_on(pages, "q", INT64_MAX, "");
    goes_on(pages, "q", b + 1024, "");
    list_pages_free(pages);
    list_pages_free(NULL);
}

Test(list_pages, old_ones_are_forgotten)
{
    struct list_pages *pages = list_pages_new();
    autostr struct str token = {0};
    int64_t first = list_pages_add(pages, "q", &token, &token, PAGE_ROWS_MAX);

    goes_on(pages, "q", first + PAGE_ROWS_MAX - 1, "+1000");
    for (int i = 0; i < PAGES_MAX; i++) {
        list_pages_add(pages, "q", &token, &token, 1);
    }
    goes_on(pages, "q", first, "");
    list_pages_free(pages);
}
