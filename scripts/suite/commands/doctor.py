# SPDX-License-Identifier: MIT
"""`uncork doctor [SCENARIO] [word=value ...] [--all] [--json]`."""

from __future__ import annotations

import argparse
import json

from suite.base.client import client_open
from suite.base.text import terminal_width
from suite.doctor.checks import findings_collect
from suite.doctor.finding import CellWords, finding_document, findings_text
from suite.measure.plan import plan_make
from suite.measure.words import scenario_choose
from suite.places.targets import LocalTargets

WATCH_S = 0.5  # some 50 clock ticks of each CPU: enough for a share in per cent


def main(options: argparse.Namespace) -> int:
    """Looks, and prints what was found; it changes nothing."""
    cells = CellWords()
    if options.words:
        planned = plan_make(LocalTargets(client_open()), *scenario_choose(options.words))
        cells = CellWords(tuple(cell.words for cell in planned.plan.cells))
    findings = findings_collect(cells, WATCH_S)
    if options.json:
        documents = [finding_document(name, finding) for name, finding in findings.items()]
        print(json.dumps({"findings": documents}, indent=1))
    else:
        print(findings_text(findings, options.all, terminal_width(100)), end="")
    return 0
