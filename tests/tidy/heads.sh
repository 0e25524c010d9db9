#!/bin/bash
# heads.sh - every source file says what it owns, and the files its head comment names exist.
#
# Owns: the form "NAME - what it is" and the "Tests:" line of a .c file.
. "$abs_top_srcdir/tests/lib/tap.sh"
. "$abs_top_srcdir/tests/tidy/tidy.sh"

# head FILE: its head comment.
head_of() {
    case $1 in
    *.c | *.h | *.S) awk '!/^(\/\*| \*)/ { exit } { print } / \*\/$/ { exit }' "$1" ;;
    *) awk '/^#!/ || /^# shellcheck/ { next } !/^#/ { exit } { print }' "$1" ;;
    esac
}

# rooms: "base|journal|..."
rooms=$(cd src && printf '%s\n' */ | tr -d / | paste -sd '|')

file_chars='[A-Za-z0-9_.-]+'
path_form="(src|tests|docs|include|migrations|build-aux|contrib)(/$file_chars)+"
path_form="(^|[^A-Za-z0-9_./-])($path_form|($rooms)/[a-z0-9_]+\.[chS])"

# exists PATH: as it is, in src, as the beginning of a name (docs/decisions/0001, test_repo_*), or
# with something for NAME.
exists() {
    [ -e "$1" ] || [ -e "src/$1" ] || compgen -G "${1//NAME/*}[-.]*" >/dev/null ||
        { [[ $1 == *[-_] ]] && compgen -G "$1*" >/dev/null; }
}

missing='' nameless='' untested='' dead=''
for file in $(files '-name *.c -o -name *.h -o -name *.S' src include tests contrib/examples) \
    $(files '-name *.sh -o -name *.awk' tests contrib); do
    head=$(head_of "$file")
    name=${file##*/}
    [ -n "$head" ] || { missing+="$file"$'\n'; continue; }
    [[ $head == *"$name - "* ]] || nameless+="$file: its first line is not \"$name - ...\""$'\n'
    case $file in
    src/*.c) [[ $head == *Tests:* ]] || untested+="$file: its head has no \"Tests:\""$'\n' ;;
    esac
    while IFS= read -r path; do
        [ -z "$path" ] || exists "$path" || dead+="$file: there is no $path"$'\n'
    done < <(grep -oE "$path_form" <<<"$head" | grep -oE '[a-z].*' | sed 's/[.]*$//')
done
none "every source file has a head comment" "${missing%$'\n'}"
none "the head comment starts with the file's name" "${nameless%$'\n'}"
none "every .c file in src names its tests" "${untested%$'\n'}"
none "files that head comments name exist" "${dead%$'\n'}"
done_testing
