# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# does: faults, limits and strangers in their quick forms, and a soak of two minutes
# long: yes

tree_build release -DUNCORK_WERROR=ON || return
status=0
for part in "reliability/run faults --quick" "reliability/run limits --quick" \
    "reliability/run strangers --quick" "soak minutes=2"; do
    # shellcheck disable=SC2086  # words
    if tests/$part; then count passed 1; else count failed 1 && status=1; fi
done
return $status
