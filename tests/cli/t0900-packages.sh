#!/bin/bash
# t0900-packages.sh - contrib/lib/packages.sh installs what is missing, and nothing otherwise.
#
# Owns: a world of its own with apt-get, dpkg-query, id and sudo that only write down their calls.
. "$abs_top_srcdir/tests/lib/tap.sh"
. "$abs_top_srcdir/contrib/lib/packages.sh"
cd "$TMPDIR" || exit 1

mkdir bin
fake() {
    { echo '#!/bin/sh'; cat; } >"bin/$1"
    chmod +x "bin/$1"
}
fake apt-get <<'F'
echo "as=${THROUGH_SUDO:-self} frontend=${DEBIAN_FRONTEND:-none} $*" >>calls
[ "$1" = update ] || exit "${APT_STATUS:-0}"
F
fake dpkg-query <<'F'
for name; do :; done
[ "$name" = half ] && { echo config-files; exit 0; }
grep -qx "$name" installed && echo installed
F
fake id <<'F'
echo "${FAKE_UID:-0}"
F
fake sudo <<'F'
THROUGH_SUDO=sudo exec "$@"
F
for tool in awk cat chmod env grep mv paste sed sh sort uniq; do
    ln -s "$(command -v $tool)" bin/
done
mv bin/sudo sudo
PATH=$PWD/bin
cat >list <<'F'
# comment
build gcc      # compiler
build half
test  libcriterion-dev
run   bubblewrap
F

is "sets are read in order, comments aside" "$(packages_listed list build test | paste -sd ' ')" \
    "gcc half libcriterion-dev"
is "an unknown set is empty" "$(packages_listed list nothing)" ""

printf '%s\n' gcc half libcriterion-dev bubblewrap >installed
is "removed but not purged counts as missing" "$(packages_missing gcc half)" half

# Everything there: apt-get is not even asked.
fake dpkg-query <<'F'
for name; do :; done
grep -qx "$name" installed && echo installed
F
out=$(packages_install list build test run)
is "nothing missing: said so" "$out" "packages: all there"
not_ok "nothing missing: apt-get was not called" test -e calls

echo gcc >installed
out=$(packages_install list build test)
like "what is missing is announced" "$out" "packages: installing half libcriterion-dev"
like "it is installed without questions and extras" "$(cat calls)" \
    'frontend=noninteractive install -y .*--no-install-recommends .*half libcriterion-dev$'
unlike "what is there is left alone" "$(cat calls)" 'gcc'
unlike "root needs no sudo" "$(cat calls)" 'as=sudo'

export APT_STATUS=100
out=$(packages_install list build 2>&1)
is "a failing apt-get is a failure" "$?" 1
like "and it is said" "$out" "could not install"
unset APT_STATUS

export FAKE_UID=1000
out=$(packages_install list build 2>&1)
is "a user without sudo: refused" "$?" 1
like "and told the command" "$out" "apt-get install --no-install-recommends half"
mv sudo bin/sudo
: >calls
packages_install list build >/dev/null
is "a user with sudo: installed" "$?" 0
like "through sudo" "$(cat calls)" 'as=sudo frontend=noninteractive install'

list=$abs_top_srcdir/contrib/packages.txt
for set in build test run; do
    like "packages.txt has the set $set" "$(packages_listed "$list" $set | paste -sd ' ')" '.+'
done
none "packages.txt names no package twice" \
    "$(packages_listed "$list" build test run | sort | uniq -d)"
done_testing
