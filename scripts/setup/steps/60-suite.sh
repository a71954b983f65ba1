# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# does: tests of the Python package

tree_build release -DUNCORK_WERROR=ON && suite_test release tests/scripts "${FILES_AT_ONCE[@]}"
