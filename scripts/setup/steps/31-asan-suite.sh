# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# does: tests of the Python package, with the binaries of build/asan
# long: yes

tree_build asan -DUNCORK_WERROR=ON || return
export UNCORK_BIN=$UNCORK_TOP/build/asan/bin
suite_test asan tests/scripts -m "not long" "${FILES_AT_ONCE[@]}"
