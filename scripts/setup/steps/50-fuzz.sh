# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# does: each fuzz target with its seeds, tests/fuzz/corpus

fuzz_count
