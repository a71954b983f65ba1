# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# does: long tests of the Python package and of bench/: other machines, fleets, simulations
# long: yes

# shellcheck source=scripts/setup/sshd.sh
. "$UNCORK_TOP/scripts/setup/sshd.sh"

tree_build release -DUNCORK_WERROR=ON || return
sshd_ensure || echo "tests that need other machines are skipped: $SSHD_WHY"
"$UNCORK_TOP/scripts/setup/target" fleet || echo "tests of fleets are skipped"
suite_test long tests/scripts tests/bench -m long "${FILES_AT_ONCE[@]}"
