# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# does: every combination of the loopback tests in gVisor: it runs, or is unsupported with a reason
# long: yes

tree_build release -DUNCORK_WERROR=ON || return
packages_try gvisor || skip "$PACKAGES_WHY"

# Files that are written in gVisor stay there. So the JUnit file is printed after the text of
# pytest.
options=(--ignore-cgroups --network=none)
[ "$(id -u)" = 0 ] || options+=(--rootless)
junit=$LOGS/pytest-gvisor.xml
rm -f "$junit"
UNCORK_BIN=build/release/bin PYTHONPATH=scripts timeout 280 runsc "${options[@]}" "do" sh -c "
    '$UNCORK_PYTHON' -P -m pytest -q -rfE -p no:cacheprovider --junitxml /tmp/gvisor.xml tests/loopback/test_combinations.py
    status=\$?
    echo; echo '<!-- counts -->'
    cat /tmp/gvisor.xml
    exit \$status" </dev/null 2>&1 | tee >(sed '1,/^<!-- counts -->$/d' >"$junit") | sed '/^<!-- counts -->$/,$d'
status=${PIPESTATUS[0]}
count_junit "$junit" && return "$status"
