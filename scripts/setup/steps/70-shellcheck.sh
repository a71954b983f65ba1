# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# does: shellcheck of every shell script

have shellcheck || skip "shellcheck is not installed"
# Launchers are found by their first line, because they have no suffix.
status=0
# shellcheck disable=SC2046  # words
launchers=$(grep -lIE '^#!/(usr/bin/env bash|bin/sh)$' $(sources '*'))
for script in $(sources '*.sh' '*.bash') $launchers; do
    echo "$script"
    if shellcheck -x "$script"; then count passed 1; else count failed 1 && status=1; fi
done
return $status
