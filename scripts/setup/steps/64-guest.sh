# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# does: tests of the kernel's TLS, in a guest whose kernel has it
# long: yes

# shellcheck source=scripts/setup/guest.sh
. "$UNCORK_TOP/scripts/setup/guest.sh"

tree_build release -DUNCORK_WERROR=ON || return
if ! guest_ensure; then
    count skipped 1 "$GUEST_WHY"
    return 0
fi

# Half of what is left of a step's time: a second attempt is to fit in. The interpreter was chosen outside, where that
# does not take longer than is granted to one.
guest_run $(((280 - SECONDS) / 2)) "modprobe tls
    CMOCKA_MESSAGE_OUTPUT=xml CMOCKA_XML_FILE=/mnt/unit.xml build/release/tests/unit-ktls
    UNCORK_BIN=build/release/bin PYTHONPATH=scripts '$UNCORK_PYTHON' -P -m pytest -q -rfEs -p no:cacheprovider \
        --junitxml /mnt/loopback.xml tests/loopback/test_ktls.py"
status=$?
if [ -n "$GUEST_WHY" ]; then
    count skipped 1 "$GUEST_WHY"
    return 0
fi
count_junit "$GUEST_RESULTS/unit.xml" && count_junit "$GUEST_RESULTS/loopback.xml" && return $status
