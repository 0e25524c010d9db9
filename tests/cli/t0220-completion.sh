#!/bin/bash
# t0220-completion.sh - factory completion: scripts that the shells take, and that complete.
# shellcheck disable=SC2016 # texts are for other shells
. "$abs_top_srcdir/tests/lib/tap.sh"
cd "$(mktemp -d)" || exit 1
unset FACTORY_CONFIG FACTORY_DATA_DIR

for shell in bash zsh fish; do
    is "$shell: it prints the file that is installed" "$("$FACTORY" completion $shell)" \
        "$(cat "$abs_top_srcdir/contrib/completion/factory.$shell")"
    "$FACTORY" completion $shell >factory.$shell
    if command -v $shell >/dev/null; then
        ok "$shell takes it" $shell -n factory.$shell
    else
        skip "$shell takes it" "install $shell"
    fi
done
err=$("$FACTORY" completion tcsh 2>&1)
is "another shell: status 2" "$?" 2
like "which says what there is" "$err" 'expected bash, zsh or fish, found tcsh'
not_ok "a shell is needed" "$FACTORY" completion

# try WORD...: what bash offers for the last word.
try() {
    bash -c '. ./factory.bash
        COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
        _factory
        printf "%s\n" "${COMPREPLY[@]}"' bash "$@"
}
mkdir -p here/below && : >here/file
is "bash completes a command" "$(try "$FACTORY" doct)" doctor
is "bash completes an option" "$(try "$FACTORY" doctor --off)" --offline
is "bash completes directories only" "$(try "$FACTORY" run --local-path here/)" here/below
is "bash completes files" "$(try "$FACTORY" run --task-file here/f)" here/file
is "bash completes nothing where nothing is known" "$(try "$FACTORY" nonsense x)" ""
if command -v zsh >/dev/null; then
    # What the completion system would be given.
    is "zsh completes a command" "$(zsh -fc 'compdef() { :; }; _describe() { print -l $found; }
        . ./factory.zsh; words=("$1" doct); CURRENT=2; _factory' zsh "$FACTORY")" \
        "doctor:check this machine and the store"
else
    skip "zsh completes a command" "install zsh"
fi
if command -v fish >/dev/null; then
    is "fish completes a command" \
        "$(HOME=$PWD fish -c "source factory.fish
            complete -C '$FACTORY doct'" 2>&1 | grep -c '^doctor')" 1
else
    skip "fish completes a command" "install fish"
fi
done_testing
