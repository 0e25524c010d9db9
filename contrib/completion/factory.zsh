#compdef factory
# zsh completion for factory: asks the program itself (factory __complete).
_factory() {
    local line
    local -a found
    while IFS= read -r line; do
        case $line in
        :files) _files ;;
        :dirs) _files -/ ;;
        *) found+=("${${line%%$'\t'*}//:/\\:}:${line#*$'\t'}") ;;
        esac
    done < <("${words[1]}" __complete "${(@)words[2,CURRENT]}" 2>/dev/null)
    (( $#found )) && _describe 'factory' found
}
if [ "$funcstack[1]" = _factory ]; then _factory "$@"; else compdef _factory factory; fi
