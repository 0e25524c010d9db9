/*
 * test_guest_output.c - guest/output: head, tail, what is lost in between; against a plain model.
 */
#include "guest/output.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "base/str.h"

/* All that a reader from `pos` gets; drops as "<N>". */
static void read_all(const struct output *o, uint64_t pos, size_t max, struct str *ret)
{
    struct output_piece piece;
    while (output_next(o, &pos, max, &piece)) {
        if (piece.dropped) {
            str_addf(ret, "<%llu>", (unsigned long long)piece.dropped);
        } else {
            cr_assert(piece.len > 0 && piece.len <= max);
            str_addn(ret, piece.bytes, piece.len);
        }
    }
    cr_assert_eq(pos, o->total);
}

static void expect(const struct output *o, uint64_t pos, const char *text)
{
    autostr struct str got = {0};
    read_all(o, pos, 3, &got);
    cr_assert_str_eq(str_c(&got), text);
}

Test(output, head_and_tail_survive)
{
    struct output o;
    output_init(&o, 4, 5);
    expect(&o, 0, "");
    output_write(&o, "ab", 2);
    expect(&o, 0, "ab");
    output_write(&o, "cdefghi", 7);
    expect(&o, 0, "abcdefghi");
    expect(&o, 6, "ghi");
    output_write(&o, "jkl", 3);
    expect(&o, 0, "abcd<3>hijkl");
    expect(&o, 5, "<2>hijkl");
    expect(&o, 9, "jkl");
    output_write(&o, "0123456789ABCDEF", 16);
    expect(&o, 0, "abcd<19>BCDEF");
    output_free(&o);
}

Test(output, room_protects_the_reader_who_still_reads)
{
    struct output o;
    output_init(&o, 4, 5);
    cr_assert_eq(output_room(&o, 0), 9);
    output_write(&o, "abcdefg", 7);
    cr_assert_eq(output_room(&o, 0), 2, "a reader in the head still needs the whole tail");
    cr_assert_eq(output_room(&o, 6), 4);
    cr_assert_eq(output_room(&o, 7), 5);
    output_write(&o, "hijklm", 6);
    cr_assert_eq(output_room(&o, 4), SIZE_MAX, "what is lost needs no protection");
    output_free(&o);
}

Test(output, memory_follows_the_output)
{
    struct output o;
    autostr struct str big = {0};
    str_reserve(&big, 1 << 20);
    output_init(&o, 1 << 20, 1 << 20);
    cr_assert_eq(output_memory(&o), 0);
    output_write(&o, "x", 1);
    cr_assert_leq(output_memory(&o), 4096);
    for (int i = 0; i < 64; i++) {
        memset(big.ptr, i, 100000);
        output_write(&o, big.ptr, 100000);
    }
    cr_assert_leq(output_memory(&o), 2 << 20);
    output_free(&o);
    cr_assert_eq(output_memory(&o), 0);
}

/* The model: everything ever written, cut by definition. */
static void model(const struct str *all, size_t head, size_t tail, uint64_t pos, struct str *ret)
{
    size_t head_len = all->len < head ? all->len : head;
    size_t rest = all->len - head_len;
    size_t start = all->len - (rest < tail ? rest : tail);
    if (pos < head_len) {
        str_addn(ret, all->ptr + pos, head_len - pos);
        pos = head_len;
    }
    if (pos < start) {
        str_addf(ret, "<%llu>", (unsigned long long)(start - pos));
        pos = start;
    }
    str_addn(ret, all->ptr + pos, all->len - pos);
}

Test(output, equals_the_model_for_random_writes)
{
    for (int round = 0; round < 60; round++) {
        struct output o;
        autostr struct str all = {0};
        size_t head = 1 + rng_u64() % 9000;
        size_t tail = 1 + rng_u64() % 20000;
        output_init(&o, head, tail);
        for (int i = 0; i < 20; i++) {
            char bytes[8192];
            size_t len = rng_u64() % sizeof(bytes);
            rng_bytes(bytes, len);
            output_write(&o, bytes, len);
            str_addn(&all, bytes, len);
            autostr struct str got = {0};
            autostr struct str want = {0};
            uint64_t pos = all.len > 0 ? rng_u64() % all.len : 0;
            pos = i % 2 ? 0 : pos;
            read_all(&o, pos, 1 + rng_u64() % 5000, &got);
            model(&all, head, tail, pos, &want);
            cr_assert_eq(got.len, want.len);
            cr_assert(got.len == 0 || memcmp(got.ptr, want.ptr, got.len) == 0);
        }
        output_free(&o);
    }
}
