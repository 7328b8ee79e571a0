#!/usr/bin/env bash
# Completion in bash offers what can stand at a place, and file names where it knows nothing.
source "$(dirname "$0")/lib.sh"

"$PESWEEP" help --completion > completion || fail "help --completion"
# shellcheck disable=SC1091
source ./completion

# offers LINE: the words offered for the last one of it.
offers() {
    local line=$1
    read -ra COMP_WORDS <<< "$line"
    if [[ $line == *' ' ]]; then COMP_WORDS+=(''); fi
    COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
    COMPREPLY=()
    _pesweep
    echo "${COMPREPLY[*]}"
}
# is LINE WORDS
is() {
    local got
    got=$(offers "$1")
    [ "$got" = "$2" ] || fail "'$1' is offered '$got', not '$2'"
}

is 'pesweep pl' 'plan'
is 'pesweep run --re' '--retry'
is 'pesweep run --retry ' 'none failed all'
is 'pesweep run --retry f' 'failed'
is 'pesweep run x.yaml --writer r' 'rank0'
is 'pesweep run -o ' ''
is 'pesweep init co' 'count copy'
is 'pesweep list pe' 'penalties'
is 'pesweep help ex' 'exit-codes export'
is 'pesweep status --w' '--watch'
is 'pesweep plan swe' ''
[ "$(complete -p pesweep)" = 'complete -o bashdefault -o default -F _pesweep pesweep' ] || fail "$(complete -p pesweep)"
