# SPDX-License-Identifier: MIT
"""`uncork doctor [SCENARIO] [word=value ...] [--all] [--json]`."""

import argparse
import json

from suite.base.client import client_open
from suite.base.errors import Failure, UsageError
from suite.base.runner_words import TARGET, target_of
from suite.base.text import terminal_width
from suite.doctor.checks import findings_collect
from suite.doctor.finding import CellWords, Finding, Status, findings_documents, findings_text
from suite.measure.plan import plan_make
from suite.measure.words import scenario_choose
from suite.places.targets import LocalTargets, targets_require

WATCH_S = 0.5  # some 50 clock ticks of each CPU, enough to measure its load in percent


def main(options: argparse.Namespace) -> None:
    words = CellWords()
    if options.words:
        planned = plan_make(LocalTargets(client_open()), *scenario_choose(options.words))
        words = CellWords(tuple(cell.words for cell in planned.plan.cells))
    findings = findings_collect(words, WATCH_S)
    try:
        targets_require(map(target_of, words.cells or ()))
    except (Failure, UsageError) as error:
        lacks = Finding(Status.DISTURBS, str(error), "the run does not begin")
        findings = {TARGET: lacks} | findings
    if options.json:
        print(json.dumps({"findings": findings_documents(findings)}, indent=1))
    else:
        print(findings_text(findings, options.all, terminal_width(100)), end="")
