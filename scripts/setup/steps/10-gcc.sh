# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# does: builds build/release with gcc, warnings are errors

set -- -DUNCORK_WERROR=ON
# A tree that scripts/demo made keeps its compiler: CMake cannot change it.
[ -f build/release/CMakeCache.txt ] || set -- "$@" -DCMAKE_C_COMPILER=gcc
tree_build release "$@" && count passed 1
