# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# does: shellcheck of every shell script

if ! have shellcheck; then
    count skipped 1 "shellcheck is not installed"
    return 0
fi
# The launchers have no suffix. Of a step, only what it calls is defined elsewhere.
status=0
for script in scripts/demo scripts/test scripts/uncork scripts/setup/python scripts/setup/kernels scripts/setup/lint scripts/package scripts/readme scripts/reference scripts/completion/uncork.bash cmake/debian/* .ci/run tests/bench/run tests/bench/start tests/portability/run $(sources '*.sh'); do
    echo "$script"
    if shellcheck -x "$script"; then count passed 1; else count failed 1 && status=1; fi
done
return $status
