# SPDX-License-Identifier: MIT
"""A folder for what programs leave behind, and a count of the cells that were run and those that
this machine cannot run, printed at the end."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from programs import WITHIN_S


def _processes_of(folder: Path) -> list[str]:
    """Those that have this TMPDIR, but for the tests, or that work in a folder of it."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if path.name != str(os.getpid()) and (
                    f"TMPDIR={folder}\0".encode() in (path / "environ").read_bytes()
                    or str((path / "cwd").readlink()).startswith(f"{folder}/")):
                found.append((path / "cmdline").read_text().replace("\0", " ")[:60])
    return found


def pytest_configure(config: pytest.Config) -> None:
    """What tests here are marked with."""
    config.addinivalue_line("markers", "long: only `scripts/test --all` runs it")


@pytest.fixture
def temporary(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """TMPDIR, which `nobody` may enter. Every test leaves it empty, and no process with it."""
    path = Path(f"/tmp/u{os.getpid()}")
    path.mkdir()
    path.chmod(0o777)
    monkeypatch.setenv("TMPDIR", str(path))
    yield path
    until = time.monotonic() + WITHIN_S
    while (left := [*path.iterdir(), *_processes_of(path)]) and time.monotonic() < until:
        time.sleep(0.01)
    assert left == []
    path.rmdir()


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
