# SPDX-License-Identifier: MIT
"""The styles of a block: one line each, a module with labelled(), title(), table(), below() and
command()."""

from suite.present.mail import markdown, plain

STYLES = {
    "plain": plain,   # LKML, netdev: aligned text
    "md": markdown,   # qemu-devel, libguestfs, GitLab: pipes
}
