# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# does: links the programs for macOS, FreeBSD and OpenBSD, and compiles them for NetBSD
# long: yes
# seconds: 1200

tests/portability/run
