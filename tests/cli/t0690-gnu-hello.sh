#!/bin/bash
# t0690-gnu-hello.sh - an upstream project that is not ours: GNU hello, from Debian's source
# package.
#
# Owns: fetching that source through apt (a private configuration with deb-src; the host's is not
# touched), two scripted changes, and upstream's own ./configure, make, make check as gates (the
# manual page is not remade: help2man may be missing).
# Timeout: 600 s
. "$abs_top_srcdir/tests/lib/tap.sh"
. "$abs_top_srcdir/tests/lib/e2e.sh"
needs apt-get apt
needs cc gcc
needs make make

# The host's own Debian sources as deb-src, whatever form they are written in.
fetch_hello() {
    local file apt
    mkdir -p apt/parts apt/lists/partial apt/cache/archives/partial || return 1
    sed -n 's/^deb \(.*debian\/\{0,1\} .*\)/deb-src \1/p' /etc/apt/sources.list \
        /etc/apt/sources.list.d/*.list >apt/sources.list 2>/dev/null
    for file in /etc/apt/sources.list.d/*.sources; do
        if grep -qs '^URIs:.*/debian/\{0,1\} *$' "$file"; then
            sed -e 's/^Types:.*/Types: deb-src/' "$file" >"apt/parts/${file##*/}"
        fi
    done
    apt=(apt-get -qq -o "Dir::Etc::sourcelist=$PWD/apt/sources.list"
        -o "Dir::Etc::sourceparts=$PWD/apt/parts"
        -o "Dir::State::lists=$PWD/apt/lists" -o "Dir::Cache=$PWD/apt/cache"
        -o Acquire::Languages=none
        -o Acquire::Retries=0 -o Acquire::http::Timeout=10 -o Acquire::https::Timeout=10
        -o APT::Sandbox::User=)
    timeout 60 "${apt[@]}" update && timeout 60 "${apt[@]}" source --download-only hello
}
fetch_hello >apt.log 2>&1 </dev/null ||
    skip_all "make Debian's source packages reachable (apt-get source hello)"
rm -rf project && mkdir project || exit 1
tar -xzf hello_*.orig.tar.gz -C project --strip-components=1 || exit 1
git_quiet -C project init -q
git_quiet -C project add -f .
git_quiet -C project commit -qm "GNU hello, as released"

# The greeting and upstream's test of it; or the greeting alone, which upstream's test must notice.
agent whole <<'S'
read -r task
echo "$task: src/hello.c and tests/hello-1"
sed -i 's/_("Hello, world!")/_("Hello, factory!")/' src/hello.c
sed -i 's/^Hello, world!$/Hello, factory!/' tests/hello-1
S
agent half <<'S'
sed -i 's/_("Hello, world!")/_("Hello, factory!")/' src/hello.c
S
for name in whole half; do
    config "$name" <<I
[harnesses.script]
type = generic
executable = /bin/sh
args = ["/agents/$name.sh"]
[verification.upstream]
protected = ["/configure", "Makefile.in", "/build-aux/"]
[verification.upstream.configure]
argv = ["./configure", "--quiet"]
[verification.upstream.make]
argv = ["make", "HELP2MAN=cp man/hello.x hello.1-t; :"]
[verification.upstream.check]
argv = ["make", "check", "HELP2MAN=cp man/hello.x hello.1-t; :"]
[verification.upstream.greeting]
argv = ["/bin/sh", "-c", "LC_ALL=C ./hello"]
I
done
serve whole.ini
launch whole
launch half
settle

verdict whole SUCCEEDED 0
for n in 0 1 2 3; do
    is "gate $(fact whole "\$.gates[$n].id") passed" "$(fact whole "\$.gates[$n].exit_code")" 0
done
is "the program that was built says it" "$(cat data/runs/whole/verification/greeting.stdout)" \
    "Hello, factory!"
like "upstream's tests ran" "$(cat data/runs/whole/verification/check.stdout)" '# PASS: +[1-9]'
is "the patch is the change and nothing that was built" "$(fact whole '$.patch_facts.files')" 2
ok "git apply takes it" git -C project apply --check "$PWD/data/runs/whole/changes.patch"
is "that the gates built in their tree is said" "$(fact whole '$.verification_mutated_tree')" 1
verdict half VERIFICATION_FAILED 10
is "upstream's own test noticed" \
    "$(fact half '$.gates[2].passed')$(fact half '$.gates[1].passed')" 01
done_testing
