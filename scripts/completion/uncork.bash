# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# Completion of uncork, uncork-client and uncork-server for bash, by `uncork complete`.

_uncork_program=${BASH_SOURCE[0]%/*}/../uncork # in a checkout
[ -x "$_uncork_program" ] || _uncork_program=uncork

_uncork() {
    local word=${COMP_LINE:0:COMP_POINT} candidate
    word=${word##*[[:space:]]}
    COMPREPLY=()
    while IFS=$'\t' read -r candidate _; do
        # Bash replaces only $2: the part of the word after its last = or :.
        COMPREPLY+=("${candidate#"${word%"$2"}"}")
    done < <("$_uncork_program" complete "${COMP_LINE:0:COMP_POINT}" 2>/dev/null)
    case ${#COMPREPLY[@]}:${COMPREPLY[0]:-} in
    1:*[=:]) compopt -o nospace 2>/dev/null ;; # bash 3 has no compopt
    esac
}

complete -o default -o nosort -F _uncork uncork uncork-client uncork-server 2>/dev/null ||
    complete -o default -F _uncork uncork uncork-client uncork-server # before bash 4.4
