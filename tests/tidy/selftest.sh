#!/bin/bash
# selftest.sh - the tidy tests, the runner and its words can fail: each gets a planted fault.
#
# Owns: small trees with one fault each. A tidy test that passes on its fault is itself broken.
. "$abs_top_srcdir/tests/lib/tap.sh"
clean=$TMPDIR/clean

# A tree without a fault: the fewest files that every tidy test accepts.
plant_clean_tree() {
    mkdir -p "$clean"/{src/base,src/repo,src/history,include,tests/unit,tests/tidy,docs/decisions} \
        "$clean"/{migrations/engine,migrations/factory,contrib,build-aux} && cd "$clean" || exit 1
    cp "$abs_top_srcdir/build-aux/layers.txt" build-aux/
    echo '# none' >build-aux/size-exceptions.txt
    echo '/* durable.h - the public header. */
int dur_x(void);' >include/durable.h
    echo '/* good.h - a header. */
#include <stddef.h>' >src/base/good.h
    echo '/*
 * good.c - a source. Tests: tests/unit/test_base_good.c.
 */
#include "base/good.h"
int good(void);
int good(void)
{
    return 0; /* sprintf( in a comment, and a text: */ "system(1)";
}' >src/base/good.c
    sed -i 's/ "system(1)";//' src/base/good.c
    echo '/* test_base_good.c - a test. */' >tests/unit/test_base_good.c
    echo 'CREATE TABLE t (x);' >migrations/engine/0001_init.sql
    sha256sum migrations/engine/0001_init.sql >migrations/RELEASED
    echo '# Read me: [design](docs/design.md)' >README.md
    echo '# Design' >docs/design.md
    {
        printf '| I want to | go to |\n|---|---|\n'
        printf '| x | `%s` |\n' src/base/ src/ROOM/ src/base/NAME.h include/durable.h README.md \
            src/base/good.c tests/unit/ docs/design.md migrations/engine/NNNN_NAME.sql
    } >CONTRIBUTING.md
    printf '%s\n' src/base/good.h src/base/good.c tests/unit/test_base_good.c \
        >src/base/Makefile.inc
    : >src/repo/Makefile.inc
    : >src/history/Makefile.inc
    : >tests/Makefile.inc
    : >contrib/Makefile.inc
    echo docs/design.md >docs/Makefile.inc
    echo migrations/engine/0001_init.sql >migrations/Makefile.inc
    echo include/durable.h >Makefile.am
}

# fault TEST CASE: run a tidy test on $tree; passes when just that case is "not ok".
fault() {
    local test=$1 case=$2 out
    out=$(TIDY_ROOT=$tree bash "$abs_top_srcdir/tests/tidy/$test.sh" 2>&1)
    if [ "$(grep -c '^not ok' <<<"$out")" = 1 ] &&
        grep '^not ok' <<<"$out" | grep -qF -e "- $case"; then
        tap_result 0 "$test notices: $case"
    else
        tap_result 1 "$test notices: $case" "$out"
    fi
}

# tree: a fresh copy of the clean tree to put a fault into; the shell is in it afterwards.
fresh() {
    tree=$TMPDIR/tree
    rm -rf "$tree"
    cp -r "$clean" "$tree" && cd "$tree" || exit 1
}

# A command line with two commands, for the tree in the current directory.
plant_commands() {
    mkdir -p src/cli docs/man tests/cli contrib/completion
    echo '#define COMMANDS(CMD) \
    CMD(run, 0) \
    CMD(get_runs, 0)' >src/cli/cmd_list.h
    touch src/cli/cmd_run.c src/cli/cmd_get_runs.c
    touch docs/man/factory-run.1.scd docs/man/factory-get-runs.1.scd
    touch tests/cli/t1000-run.sh tests/cli/t1010-get-runs-wide.sh
    echo 'factory __complete' | tee contrib/completion/factory.bash contrib/completion/factory.zsh \
        >contrib/completion/factory.fish
}

plant_clean_tree
for test in banned docs heads headers layers listed migrations size words; do
    tree=$clean
    ok "$test accepts a clean tree" \
        env TIDY_ROOT="$clean" bash "$abs_top_srcdir/tests/tidy/$test.sh"
done

# --- layers ------------------------------------------------------------------------------------
fresh; echo '#include "repo/patch.h"' >>src/base/good.c
fault layers "rooms include only what their walls allow"
fresh; echo '#include "good.h"' >>src/base/good.c
fault layers "rooms include only what their walls allow"
fresh; echo '#include <durable.h>' >>src/repo/tree.c
fault layers "rooms include only what their walls allow"
fresh; mkdir src/attic; echo >src/attic/x.c
fault layers "every room is in layers.txt"
fresh; echo '#include <sqlite3.h>' >>src/base/good.c
fault layers "foreign headers stay in their one place"
fresh; echo ' # include <openssl/evp.h>' >>src/repo/tree.c
fault layers "foreign headers stay in their one place"
fresh; echo '#include <cjson/cJSON.h>' >>src/base/good.c
fault layers "every outside header is declared in layers.txt"
fresh; echo '#include "base/rng.h"' >>src/history/event.c
fault layers "pure rooms have no chance, files or processes"

# --- size --------------------------------------------------------------------------------------
body() {
    printf 'int %s(void)\n{\n' "$1"
    yes '    ;' | head -n "$2"
    printf '}\n'
}
fresh; body long 69 >>src/base/good.c
fault size "functions have at most 70 lines"
fresh; body right 68 >>src/base/good.c
ok "70 lines are accepted" env TIDY_ROOT="$tree" bash "$abs_top_srcdir/tests/tidy/size.sh"
fresh; yes '/* */' | head -n 800 >>src/base/good.h
fault size "files have at most 800 lines"
fresh; printf '/* %098d */\n' 0 >>src/base/good.h
fault size "lines have at most 100 columns"
fresh; echo 'function src/base/good.c long 71' >>build-aux/size-exceptions.txt
fault size "every exception is still needed, at exactly its size"
fresh; body long 69 >>src/base/good.c
echo 'function src/base/good.c long 71 # why' >>build-aux/size-exceptions.txt
ok "an exact exception is accepted" env TIDY_ROOT="$tree" bash "$abs_top_srcdir/tests/tidy/size.sh"
fresh; body long 69 >>src/base/good.c
echo 'function src/base/good.c long 90' >>build-aux/size-exceptions.txt
out=$(TIDY_ROOT=$tree bash "$abs_top_srcdir/tests/tidy/size.sh")
is "a generous exception neither excuses nor stays" "$(grep -c '^not ok' <<<"$out")" 2

# --- banned ------------------------------------------------------------------------------------
banned() {
    fresh
    echo "$2" >>"${3:-src/repo/tree.c}"
    fault banned "$1"
}
banned texts: 'int x = sprintf (a, b);'
banned texts: '    /* fine */ strtok(a);'
banned numbers: 'x = "a" + atoi(b);'
banned time: 'time(NULL);'
banned time: 'sleep(1);'
banned chance: 'x = rand();'
banned processes: 'if (system(x)) {'
banned errors: 'printf("%s", strerror(errno));'
banned memory: 'p = malloc(3);'
banned files: 'mktemp(x);'
banned "unit tests" 'exit(0);' tests/unit/test_base_good.c
banned pure 'x = clock_mono_ns();' src/history/event.c
banned nobody 'cJSON_Parse(x);'
fresh; printf '/*\n * time(NULL)\n */\nx->time(1); s = "a\\"sprintf(b)"; c = %s; // rand()\n' \
    "'\"'" >>src/repo/tree.c
ok "comments, texts and members are no calls" \
    env TIDY_ROOT="$tree" bash "$abs_top_srcdir/tests/tidy/banned.sh"

# --- heads -------------------------------------------------------------------------------------
fresh; echo 'int x;' >src/base/bare.h
fault heads "every source file has a head comment"
fresh; echo '/* other.h - misnamed. */' >src/base/named.h
fault heads "the head comment starts with the file's name"
fresh; echo '/* lone.c - untested. */' >src/base/lone.c
fault heads "every .c file in src names its tests"
fresh; echo '/* lone.c - a source. Tests: tests/unit/test_base_gone.c. */' >src/base/lone.c
fault heads "files that head comments name exist"
fresh; echo '/* lone.h - see base/gone.h. */' >src/base/lone.h
fault heads "files that head comments name exist"

# --- headers -----------------------------------------------------------------------------------
fresh; echo 'size_t needs_stddef(void);' >>include/durable.h
out=$(TIDY_ROOT=$tree bash "$abs_top_srcdir/tests/tidy/headers.sh")
like "headers notices a public header that needs another" "$out" 'not ok [0-9]+ - .*as C99'
fresh; echo '// not C90, fine in C99
enum { LAST, };
struct s { int a; } __attribute__((packed));
int f(int class);' >>include/durable.h
out=$(TIDY_ROOT=$tree bash "$abs_top_srcdir/tests/tidy/headers.sh")
like "headers notices a public header that C++ refuses" "$out" 'not ok [0-9]+ - .*as C..11'
fresh; echo '#include <sqlite3.h>' >>include/durable.h
fault headers "durable.h names no third-party header"
fresh; echo 'uint8_t needs_stdint(void);' >>src/base/good.h
fault headers "every room's header compiles alone"

# --- words, listed, docs, migrations -----------------------------------------------------------
fresh; echo '/* TODO later */' >>src/base/good.c
fault words "no unfinished work is announced"
fresh; echo '// a stub' >>tests/unit/test_base_good.c
fault words "no unfinished work is announced"
fresh; echo '/* a placeholder */' >>src/base/good.c
fault words "nothing holds the place of something else"
fresh; echo "see /""work/here" >>docs/design.md
fault words "no paths of one machine"

fresh; echo >tests/unit/test_base_lost.c
fault listed tests
fresh; echo >docs/lost.md
fault listed documents
fresh; echo >contrib/lost
fault listed "contributed files"
fresh; echo >migrations/engine/0002_lost.sql
fault listed migrations
fresh; echo >src/repo/lost.c; echo src/repo/lost.c >>Makefile.am
fault listed "sources are listed by their own room"

fresh; echo 'librepo_la_LIBADD = $(GIT2_LIBS) libbase.la' >>src/repo/Makefile.inc
fault listed "no room's library contains another's"

fresh; echo '[gone](gone.md)' >>README.md
fault docs "links lead somewhere"
fresh; echo '| y | `attic/gone.c` |' >>CONTRIBUTING.md
fault docs "paths in the \"I want to ...\" table exist"
fresh; echo 'Read `src/base/gone.c`.' >>docs/design.md
fault docs "paths in the other texts exist"
fresh; echo nothing >CONTRIBUTING.md
fault docs "CONTRIBUTING has its \"I want to ...\" table"

fresh; echo '-- edited' >>migrations/engine/0001_init.sql
fault migrations "released steps are unchanged"
fresh; cp migrations/engine/0001_init.sql migrations/engine/0003_gap.sql
fault migrations "engine: steps are numbered"

# --- symbols: a library built from the tree's engine room --------------------------------------
library() {
    mkdir -p .libs src/engine
    echo "$1" >include/durable.h
    echo "$2" >src/engine/x.c
    ${CC:-cc} -shared -fPIC -Wl,-soname,"${3:-libdurable.so.0}" src/engine/x.c \
        -o .libs/libdurable.so
    out=$(TIDY_ROOT=$tree abs_top_builddir=$tree bash "$abs_top_srcdir/tests/tidy/symbols.sh" 2>&1)
}
many() {
    # shellcheck disable=SC2059 # the argument is a format
    for i in $(seq 20); do
        printf "$1\n" "$i"
    done
}
header='#define DUR_API __attribute__((visibility("default")))
'$(many 'DUR_API void *dur_%d(int (*fn)(int x));')
source=$(many 'void *dur_%d(void) { return 0; }')
fresh; library "$header" "$source"
unlike "symbols accepts a library that fits its header" "$out" 'not ok'
fresh; library "$header
DUR_API int dur_lost(void);" "$source"
like "symbols notices a function that is not exported" "$out" 'not ok [0-9]+ - declared.*dur_lost'
fresh; library "$header" "$source int helper;"
like "symbols notices what is not declared" "$out" 'not ok [0-9]+ - exported.*helper'
fresh; library "$header" "$source" durable.so
like "symbols notices a missing SONAME" "$out" 'not ok [0-9]+ - the library has its SONAME'

# --- commands ----------------------------------------------------------------------------------
commands() {
    fresh; plant_commands
    bash -c "$2"
    fault commands "$1"
}
fresh; plant_commands
ok "commands accepts a clean tree" \
    env TIDY_ROOT="$tree" bash "$abs_top_srcdir/tests/tidy/commands.sh"
commands "every row has its file" 'rm src/cli/cmd_run.c'
commands "every command file has its row" 'touch src/cli/cmd_lost.c'
commands "every row has its man page" 'rm docs/man/factory-get-runs.1.scd'
commands "every row has its test" 'rm tests/cli/t1000-run.sh'
commands "every row is completed" 'rm contrib/completion/factory.fish'
commands "every row is completed" 'echo run >contrib/completion/factory.zsh'
commands "no row twice" 'sed -i "s/get_runs/run/" src/cli/cmd_list.h; rm src/cli/cmd_get_runs.c'
done_testing
