# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# does: tests of bench/ and one short run of it; no figure is judged

tree_build release -DUNCORK_WERROR=ON && suite_test bench tests/bench -m "not long" --numprocesses $(($(nproc) + 1))
