# SPDX-License-Identifier: MIT
"""Counts the cells that were run and those that this machine cannot run, and prints both at the
end."""

from __future__ import annotations

from collections import Counter

import pytest


class Tally:
    def __init__(self) -> None:
        self.ran = 0
        self.skipped: Counter[str] = Counter()
        self.stood_still: list[str] = []

    def run(self) -> None:
        self.ran += 1

    def skip(self, reason: str) -> None:
        self.skipped[reason] += 1

    def again(self, cell: str) -> None:
        self.stood_still.append(cell)


_tally = Tally()


@pytest.fixture
def tally() -> Tally:
    return _tally


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if not _tally.ran:
        return
    terminalreporter.write_line(
        f"cells run: {_tally.ran}, not supported here: {_tally.skipped.total()}")
    for cell in _tally.stood_still:
        terminalreporter.write_line(f"  stood still and ran a second time: {cell}")
    for reason, count in sorted(_tally.skipped.items()):
        terminalreporter.write_line(f"  {count} times: {reason}")
