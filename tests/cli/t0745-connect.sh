#!/bin/bash
# t0745-connect.sh - what dur_connect says when the module for servers is not there, is of another
# build, or lacks a library: which file, and which package brings it.
#
# Owns: a directory in which the module is what each case wants.
. "$abs_top_srcdir/tests/lib/tap.sh"

probe=$abs_top_builddir/tests/lib/connect-probe
other=$abs_top_builddir/.libs/other-module.so
if [ ! -x "$probe" ] || [ ! -e "$other" ]; then
    skip_all "this tree has built no probe (make check does)"
fi
place=$(mktemp -d) || exit 1
module=$place/libdurable-temporal.so

# said: what the probe says with what lies in $place.
said() {
    LD_LIBRARY_PATH=$place "$probe" 127.0.0.1:1 lazy 1 2>&1
}

text=$(said)
case $text in
DUR_OK*) skip "no module" "remove the installed libdurable-temporal.so" ;;
*)
    like "no module: which package brings it" "$text" \
        '^DUR_INVALID: libdurable-temporal\.so is not installed: .* package libdurable-temporal'
    ;;
esac

cp "$other" "$module"
like "a module of another build is not used" "$(said)" \
    '^DUR_INVALID: libdurable-temporal\.so is of another version \(0\.0\.0-other\) than this'

# The C library by a name that nobody has.
sed 's/libc\.so\.6/libq.so.6/' "$other" >"$module"
text=$(said)
like "a library that is missing is named" "$text" \
    '^DUR_INVALID: libdurable-temporal\.so cannot be loaded \(libq\.so\.6: '
like "with the packages that bring what is needed" "$text" 'libgrpc29 and libprotobuf-c1$'

printf 'no library at all\n' >"$module"
like "a file that is no library is not loaded" "$(said)" \
    '^DUR_INVALID: libdurable-temporal\.so cannot be loaded \(.*libdurable-temporal\.so: '

# One without the symbol.
cp "$abs_top_builddir/.libs/killsync.so" "$module"
like "a library of somebody else is not used" "$(said)" \
    '^DUR_INVALID: libdurable-temporal\.so is of another version \(unknown\)'

rm -rf "$place"
done_testing
