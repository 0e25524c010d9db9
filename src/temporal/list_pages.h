/*
 * list_pages.h - durable.h's 64-bit tokens for the pages of a server's lists.
 *
 * Owns: which page of which query a token stands for. A server's token is bytes behind a whole
 * page; a token here names one row: serial number of the page, and the row's place in it. The last
 * PAGES_MAX pages are remembered.
 *
 *     token = page << 10 | row
 *
 * Must not: call the server. Threads: any.
 */
#ifndef TEMPORAL_LIST_PAGES_H
#define TEMPORAL_LIST_PAGES_H

#include <stdint.h>

#include "base/str.h"

#define PAGE_ROWS_MAX 1000 /* the server's limit; fits the token's 10 bits */
#define PAGES_MAX 4096

struct list_pages;

struct list_pages *list_pages_new(void);
struct list_pages *list_pages_free(struct list_pages *pages); /* NULL fine */
/* Remembers a page of that query: the server's tokens before and behind it, and how many rows it
 * has. Returns the token of its first row; those of the others follow. */
int64_t list_pages_add(struct list_pages *pages, const char *query, const struct str *before,
                       const struct str *behind, int rows);
/* Where to go on behind that row: the server's token, of a page whose first *ret_skip rows are to
 * be left out. False: no such token is known, or it is another query's. */
bool list_pages_find(struct list_pages *pages, const char *query, int64_t token,
                     struct str *ret_token, int *ret_skip);

#endif
