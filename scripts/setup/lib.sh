# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# What every launcher shares: where the tree is, how to speak, logs, time. Sourced; UNCORK_TOP must be set.

# What is built, fetched and logged goes to build/. An installation has the file "installed" and may
# belong to root: there it goes to the user's cache.
UNCORK_CACHED=${UNCORK_CACHE:-${XDG_CACHE_HOME:-${HOME:-/nonexistent}/.cache}/uncork}
UNCORK_BUILD=$UNCORK_TOP/build UNCORK_SETUP=scripts/setup/target UNCORK_MEND=scripts/demo
# shellcheck disable=SC2034  # messages have them
if [ -e "$UNCORK_TOP/installed" ]; then
    UNCORK_BUILD=$UNCORK_CACHED UNCORK_SETUP='uncork setup'
    UNCORK_MEND="$UNCORK_TOP/scripts/setup/target run"
    export PYTHONDONTWRITEBYTECODE=1 # removal would leave behind what Python writes there
fi
LOGS=$UNCORK_BUILD/logs
readonly LOGS

# One line on standard error; the program goes on.
warn() {
    printf 'uncork: %s\n' "$*" >&2
}

# One line on standard error, exit 1.
fail() {
    warn "$@"
    exit 1
}

# Like fail, for words that the user got wrong: exit 2.
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

# A path as a reader in the tree would type it.
short() {
    printf '%s' "${1#"$UNCORK_TOP"/}"
}

# limited SECONDS COMMAND...: ended after that long (status 124), standard input empty.
limited() {
    local seconds=$1
    shift
    if have timeout; then
        timeout -k 1 "$seconds" "$@" </dev/null
    else
        "$@" </dev/null
    fi
}

# log_tail FILE [LINES]: the end of a log, indented, on standard error.
log_tail() {
    printf '  --- the last lines of %s\n' "$(short "$1")" >&2
    tail -n "${2:-25}" "$1" 2>/dev/null | sed 's/^/  | /' >&2
}

# log_failures FILE: the first lines of a log that name what failed, by a compiler, pytest, cmocka, ctest or a
# sanitizer, indented, on standard error: in a long log they are far from its end.
log_failures() {
    grep -E '(^|[ :])error:|^E  |^(FAILED|ERROR) |\[  (ERROR|FAILED) |runtime error:|==ERROR|SUMMARY: |^WARNING: ThreadSan' \
        "$1" 2>/dev/null | head -n 30 | cut -c 1-400 | sed 's/^/  ! /' >&2
}

# logged NAME COMMAND...: output goes to build/logs/NAME.log only; its status is the command's.
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

# logged_must NAME WHAT COMMAND...: logged. Where the command fails, shows the end of the log and ends the program,
# saying WHAT.
logged_must() {
    local name=$1 what=$2
    shift 2
    logged "$name" "$@" && return
    log_tail "$LOGS/$name.log"
    fail "$what; whole log: $(short "$LOGS/$name.log")"
}

# count passed|failed|skipped N [REASON]: says it of tests, in the file $UNCORK_COUNTS.
count() {
    echo "$@" >>"$UNCORK_COUNTS"
}

# counted passed|failed|skipped FILE: how many were said to be.
counted() {
    awk -v kind="$1" '$1 == kind { sum += $2 } END { print sum + 0 }' "$2"
}
