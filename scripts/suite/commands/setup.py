# SPDX-License-Identifier: MIT
"""`uncork setup [NAME]...`: installs what a target needs, by scripts/setup/target."""

import argparse
import subprocess

from suite.base import ROOT

PROGRAM = ROOT / "scripts" / "setup" / "target"


def main(options: argparse.Namespace) -> int:
    return subprocess.run([PROGRAM, *options.names]).returncode
