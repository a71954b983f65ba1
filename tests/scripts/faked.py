# SPDX-License-Identifier: MIT
"""Programs that only pretend: a shell script of a name on PATH, for targets that start others."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

ENDING_STEPS = 100  # of 0.1 s


class Faked:
    """A folder first on PATH; what a program was started with is in `asked`, an argument a line,
    after its name."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        folder.mkdir(exist_ok=True)
        monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")

    def program(self, name: str, script: str) -> Path:
        """A program of this name that runs the script; `$ASKED` is the file of its arguments."""
        path = self.folder / name
        path.write_text(
            f"#!/bin/sh\nASKED='{self.folder}/asked'\nprintf '%s\\n' {name} \"$@\" "
            f">>\"$ASKED\"\n{script}\n")
        path.chmod(0o755)
        return path

    def asked(self) -> list[str]:
        """All that was asked for so far, a line for every program and argument."""
        path = self.folder / "asked"
        return path.read_text().splitlines() if path.exists() else []


def is_gone(pid: int) -> bool:
    """Whether a process is gone, or waits for nothing but to be reaped."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


def has_ended(pid: int) -> bool:
    """Whether a process that was sent a signal ends: on a busy machine that may take a while."""
    for _ in range(ENDING_STEPS):
        if is_gone(pid):
            return True
        time.sleep(0.1)
    return False


@pytest.fixture
def faked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Faked:
    """Programs that only pretend."""
    return Faked(tmp_path / "faked", monkeypatch)
