# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# does: docs/adding-a-strategy.md and docs/adding-a-filter.md, followed literally in a scratch copy

suite_test walk tests/walk
