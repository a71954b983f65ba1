# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# does: compiles all C for macOS and FreeBSD, warnings are errors

tests/portability/run --compile aarch64-macos x86_64-freebsd
