# SPDX-License-Identifier: MIT
"""`uncork setup [NAME]...`: installs what a target needs, by scripts/setup/target."""

import argparse
import subprocess

from suite.base import ROOT

PROGRAM = ROOT / "scripts" / "setup" / "target"


def main(options: argparse.Namespace) -> int:
    listed = None if options.names else subprocess.PIPE  # a shell prints a line per failed write
    done = subprocess.run([PROGRAM, *options.names], stdout=listed, text=True)
    print(done.stdout or "", end="")
    return done.returncode
