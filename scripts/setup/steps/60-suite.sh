# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# does: tests of the Python package, some files at once: one more than processors, for many wait

tree_build release -DUNCORK_WERROR=ON && suite_test release tests/scripts \
    --numprocesses $(($(processors) + 1)) --dist loadfile
