# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# does: builds build/clang with clang, warnings are errors

tree_build clang -DUNCORK_WERROR=ON && count passed 1
