# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# does: ruff (lint, import order, width of lines) and mypy (types of the suite and the bench)

# lint_check NAME [ARGUMENT...]: runs one check and counts it; skipped if the program is missing.
lint_check() {
    local status=0 why
    why=$("$UNCORK_TOP/scripts/setup/lint" "$@" 2>&1) || status=$?
    [ -z "$why" ] || printf '%s\n' "$why"
    case $status in
    0) count passed 1 ;;
    75) count skipped 1 "$why" ;;
    *) count failed 1 && return 1 ;;
    esac
}

status=0
lint_check ruff || status=1
lint_check mypy || status=1
return $status
