# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# does: a server in which each allocation, open and accept of a session fails, one after the other
# long: yes

tree_build release -DUNCORK_WERROR=ON || return
UNCORK_BIN=build/release/bin suite_test allocations tests/loopback/test_allocations.py -m long
