# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# What all launchers share: folders, messages, logs, time limits. Sourced; UNCORK_TOP must be set.

# In a checkout, builds, downloads and logs are in build/. An installation (it has the file
# "installed") may belong to root, so there they are in the user's cache.
UNCORK_CACHED=${UNCORK_CACHE:-${XDG_CACHE_HOME:-${HOME:-/nonexistent}/.cache}/uncork}
UNCORK_BUILD=$UNCORK_TOP/build UNCORK_SETUP=scripts/setup/target UNCORK_MEND=scripts/demo
# shellcheck disable=SC2034  # used by messages of the sourcing scripts
if [ -e "$UNCORK_TOP/installed" ]; then
    UNCORK_BUILD=$UNCORK_CACHED UNCORK_SETUP='uncork setup'
    UNCORK_MEND="$UNCORK_TOP/scripts/setup/target run"
    export PYTHONDONTWRITEBYTECODE=1 # the removal of the package would leave such files behind
fi
LOGS=$UNCORK_BUILD/logs

# Prints one line on standard error.
warn() {
    printf 'uncork: %s\n' "$*" >&2
}

# Prints one line on standard error and exits with 1: the request failed.
fail() {
    warn "$@"
    exit 1
}

# Prints one line on standard error and exits with 2: the arguments are wrong.
fail_usage() {
    warn "$@"
    exit 2
}

have() {
    command -v -- "$1" >/dev/null 2>&1
}

# listed WORD...: "a, b, c".
listed() {
    local text=$*
    printf '%s' "${text// /, }"
}

# short PATH: the path relative to the tree, if it is in the tree.
short() {
    printf '%s' "${1#"$UNCORK_TOP"/}"
}

# limited SECONDS COMMAND...: runs the command with empty standard input, and ends it after SECONDS
# (status 124).
limited() {
    local seconds=$1
    shift
    if have timeout; then
        timeout -k 1 "$seconds" "$@" </dev/null
    else
        "$@" </dev/null
    fi
}

# log_tail FILE [LINES]: prints the end of a log, indented, on standard error.
log_tail() {
    printf '  --- the last lines of %s\n' "$(short "$1")" >&2
    tail -n "${2:-25}" "$1" 2>/dev/null | sed 's/^/  | /' >&2
}

# log_failures FILE: prints the first error lines of a log, indented, on standard error: those of a
# compiler, pytest, cmocka, ctest or a sanitizer. In a long log they are far from the end.
log_failures() {
    grep -E '(^|[ :])error:|^E  |^(FAILED|ERROR) |\[  (ERROR|FAILED) |runtime error:|==ERROR|SUMMARY: |^WARNING: ThreadSan' \
        "$1" 2>/dev/null | head -n 30 | cut -c 1-400 | sed 's/^/  ! /' >&2
}

# logged NAME COMMAND...: runs the command with all output in build/logs/NAME.log. The status is
# that of the command.
logged() {
    local log=$LOGS/$1.log
    shift
    mkdir -p "$LOGS" || return 1
    {
        printf '+'
        printf ' %q' "$@"
        printf '\n'
    } >"$log"
    ("$@") >>"$log" 2>&1 </dev/null
}

# logged_must NAME WHAT COMMAND...: like logged; if the command fails, prints the end of the log and
# exits with the message WHAT.
logged_must() {
    local name=$1 what=$2
    shift 2
    logged "$name" "$@" && return
    log_tail "$LOGS/$name.log"
    fail "$what; whole log: $(short "$LOGS/$name.log")"
}

# count passed|failed|skipped N [REASON]: adds N tests to the file $UNCORK_COUNTS.
count() {
    echo "$@" >>"$UNCORK_COUNTS"
}

# counted passed|failed|skipped FILE: prints the sum of such tests in FILE.
counted() {
    awk -v kind="$1" '$1 == kind { sum += $2 } END { print sum + 0 }' "$2"
}
