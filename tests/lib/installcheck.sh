#!/bin/bash
# installcheck.sh - what `make install` left behind is enough for a program that embeds the engine.
#
# Usage: installcheck.sh LIBDIR INCLUDEDIR MODULEDIR   (make installcheck, also in make distcheck)
# Owns: the check of durable.pc, durable.h, libdurable.so and its module for servers as installed,
# DESTDIR in front.
# Tests: `make distcheck` runs it.
set -eu
libdir=${DESTDIR:-}$1
includedir=${DESTDIR:-}$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export PKG_CONFIG_PATH=$libdir/pkgconfig PKG_CONFIG_SYSROOT_DIR=${DESTDIR:-}

test -f "$includedir/durable.h"
test -f "$includedir/durable/workflow.h"
# build FILE.c PROGRAM
# shellcheck disable=SC2046,SC2086 # flags are lists
build() {
    ${CC:-cc} -std=c99 -Wall -Wextra -Werror ${SANITIZE_CFLAGS:-} $(pkg-config --cflags durable) \
        "$1" -o "$work/$2" $(pkg-config --libs durable) -Wl,-rpath,"$libdir"
}
build "$abs_top_srcdir/contrib/examples/order.c" order
"$work/order" "$work/a.db" order-1 4200 >"$work/out"
grep -q '^order-1: "parcel-1"$' "$work/out"
echo "installcheck: an embedding program builds and runs"

# The library knows where its module lies, so not behind a DESTDIR.
if [ -z "${DESTDIR:-}" ] && [ -e "$3/libdurable-temporal.so" ]; then
    build "$abs_top_srcdir/tests/lib/connect_probe.c" probe
    env -u LD_LIBRARY_PATH "$work/probe" 127.0.0.1:1 lazy 1 | grep -q '^DUR_OK'
    echo "installcheck: it finds the module for servers"
fi
