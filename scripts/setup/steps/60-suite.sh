# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# does: tests of the Python package, a file at a time on each processor

tree_build release -DUNCORK_WERROR=ON && suite_test release tests/scripts \
    --numprocesses "$(processors)" --dist loadfile
