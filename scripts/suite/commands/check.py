# SPDX-License-Identifier: MIT
"""`uncork check RESULTS`."""

from __future__ import annotations

import argparse
from pathlib import Path

from suite.analyse.claims import claims_decide, claims_status, tap_text
from suite.analyse.frame import matrix_build
from suite.analyse.results import result_load

HELP = "the scenario's claims as TAP: ok, not ok, or undecided (exit status 0, 1, 3)"


def arguments(parser: argparse.ArgumentParser) -> None:
    """The command line of `uncork check`."""
    parser.add_argument("results", type=Path, metavar="RESULTS", help="folder of a result")


def main(options: argparse.Namespace) -> int:
    """Prints the verdicts; the exit status sums them up."""
    verdicts = claims_decide(matrix_build(result_load(options.results)))
    print(tap_text(verdicts), end="")
    return claims_status(verdicts)
