#!/bin/bash
# installcheck.sh - what `make install` left behind is enough for a program that embeds the engine.
#
# Usage: installcheck.sh LIBDIR INCLUDEDIR      (make installcheck, also in make distcheck)
# Owns: the check of durable.pc, durable.h and libdurable.so as installed, DESTDIR in front.
# Tests: `make distcheck` runs it.
set -eu
libdir=${DESTDIR:-}$1
includedir=${DESTDIR:-}$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export PKG_CONFIG_PATH=$libdir/pkgconfig PKG_CONFIG_SYSROOT_DIR=${DESTDIR:-}

test -f "$includedir/durable.h"
test -f "$includedir/durable/workflow.h"
# shellcheck disable=SC2046,SC2086 # flags are lists
${CC:-cc} -std=c99 -Wall -Wextra -Werror ${SANITIZE_CFLAGS:-} $(pkg-config --cflags durable) \
    "$abs_top_srcdir/contrib/examples/order.c" -o "$work/order" \
    $(pkg-config --libs durable) -Wl,-rpath,"$libdir"
"$work/order" "$work/a.db" order-1 4200 >"$work/out"
grep -q '^order-1: "parcel-1"$' "$work/out"
echo "installcheck: an embedding program builds and runs"
