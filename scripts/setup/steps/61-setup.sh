# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# does: tests of the launchers

suite_test setup tests/setup "${FILES_AT_ONCE[@]}"
