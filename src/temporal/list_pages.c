/*
 * list_pages.c - see list_pages.h. Owns: a ring of pages.
 * Tests: tests/unit/test_temporal_list_pages.c
 */
#include "temporal/list_pages.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/mem.h"

#define ROW_BITS 10

struct page {
    char *query;
    struct str before, behind;
    int64_t serial; /* 0: free */
    int rows;
};

struct list_pages {
    pthread_mutex_t mutex;
    int64_t last; /* serial number of the newest page */
    struct page ring[PAGES_MAX];
};

struct list_pages *list_pages_new(void)
{
    struct list_pages *pages = mem_alloc(sizeof(*pages));

    pthread_mutex_init(&pages->mutex, NULL);
    return pages;
}

static void forget(struct page *page)
{
    free(page->query);
    str_free(&page->before);
    str_free(&page->behind);
    *page = (struct page){0};
}

struct list_pages *list_pages_free(struct list_pages *pages)
{
    if (pages) {
        for (size_t i = 0; i < PAGES_MAX; i++) {
            forget(&pages->ring[i]);
        }
        pthread_mutex_destroy(&pages->mutex);
        free(pages);
    }
    return NULL;
}

int64_t list_pages_add(struct list_pages *pages, const char *query, const struct str *before,
                       const struct str *behind, int rows)
{
    pthread_mutex_lock(&pages->mutex);
    int64_t serial = ++pages->last;
    struct page *page = &pages->ring[serial % PAGES_MAX];
    forget(page);
    page->query = mem_strdup(query);
    page->serial = serial;
    page->rows = rows;
    str_addn(&page->before, str_c(before), before->len);
    str_addn(&page->behind, str_c(behind), behind->len);
    pthread_mutex_unlock(&pages->mutex);
    return serial << ROW_BITS;
}

bool list_pages_find(struct list_pages *pages, const char *query, int64_t token,
                     struct str *ret_token, int *ret_skip)
{
    int64_t serial = token >> ROW_BITS;
    int row = (int)(token & ((1 << ROW_BITS) - 1));
    bool found = false;

    pthread_mutex_lock(&pages->mutex);
    const struct page *page = &pages->ring[serial % PAGES_MAX];
    if (token > 0 && serial > 0 && page->serial == serial && row < page->rows &&
        str_eq(page->query, query)) {
        bool is_last = row == page->rows - 1 && page->behind.len > 0;
        const struct str *from = is_last ? &page->behind : &page->before;
        str_addn(ret_token, str_c(from), from->len);
        *ret_skip = is_last ? 0 : row + 1;
        found = true;
    }
    pthread_mutex_unlock(&pages->mutex);
    return found;
}
