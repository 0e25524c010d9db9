#!/bin/bash
# t0010-usage.sh - command lines: help, mistakes, statuses; the man pages agree with the rows.
. "$abs_top_srcdir/tests/lib/cli.sh"

status_of() {
    "$@" >/dev/null 2>err.txt
    echo $?
}

like "help lists commands" "$("$factory" --help)" 'run .*status .*cancel '
is "no arguments: help" "$("$factory")" "$("$factory" help)"
unlike "hidden commands are not listed" "$("$factory" --help)" 'guest|sandbox-supervisor'
is "unknown command: 2" "$(status_of "$factory" stauts)" 2
is "with the nearest" "$(cat err.txt)" "factory: no command stauts; did you mean status?"
is "unknown option: 2" "$(status_of "$factory" run --repoo x)" 2
is "with the nearest" "$(cat err.txt)" "factory: run: unknown option --repoo; did you mean --repo?"
is "a value is missing: 2" "$(status_of "$factory" run --task)" 2
is "no run named: 2" "$(status_of "$factory" status)" 2
is "the usage is told" "$(cat err.txt)" "factory: usage: factory status [options] RUN"
is "two runs: 2" "$(status_of "$factory" status a b)" 2
is "unknown global option: 2" "$(status_of "$factory" --confg x run)" 2
is "a number that is none: 2" "$(status_of "$factory" logs x --tail many)" 2
is "a duration that is none: 2" "$(status_of "$factory" worker --idle-exit 90)" 2
is "a switch with nonsense: 2" "$(status_of "$factory" run --wait=maybe)" 2
is "unknown kind: 2" "$(status_of "$factory" get rums)" 2
is "with the nearest" "$(cat err.txt)" "factory: get: no kind rums; kinds: runs. Did you mean runs?"
is "unknown state: 2" "$(status_of "$factory" get runs --state runnig)" 2
like "with the nearest" "$(cat err.txt)" 'did you mean RUNNING\?'
is "nothing was made" "$(ls -A)" err.txt

# Errors stand on standard error, once, with the program's name.
is "errors are not output" "$("$factory" nonsense 2>/dev/null)" ""
is "one line" "$("$factory" nonsense 2>&1 | wc -l | tr -d ' ')" 1

# Every option of help is in the manual, and every option of the manual in help.
for page in "$abs_top_srcdir"/docs/man/factory-*.1.scd; do
    name=${page##*/factory-}
    name=${name%.1.scd}
    case $name in guest | sandbox-supervisor) continue ;; esac
    help=$("$factory" "$name" --help) || continue
    case $name in
    engine | history) # the options are those of the verbs
        for verb in $(sed -n 's/^  \([a-z-]*\)  .*/\1/p' <<<"$help"); do
            help+=$'\n'$("$factory" "$name" "$verb" --help)
        done
        help=${help//--help/}
        ;;
    esac
    none "$name: the manual has every option" "$(grep -oE -- '--[a-z][a-z-]+' <<<"$help" | sort -u |
        while read -r option; do grep -qF -- "*$option*" "$page" || echo "$option"; done)"
    none "$name: no option more" "$(sed -n '/^# OPTIONS/,/^# EXIT/p' "$page" |
        grep -E '^\*-' | grep -oE -- '--[a-z][a-z-]+' | sort -u |
        while read -r option; do grep -qwF -- "$option" <<<"$help" || echo "$option"; done)"
done
if command -v scdoc >/dev/null; then
    for page in "$abs_top_srcdir"/docs/man/*.scd; do
        ok "${page##*/} is good scdoc" scdoc <"$page"
    done
else
    skip "the manual renders" "install scdoc"
fi
done_testing
