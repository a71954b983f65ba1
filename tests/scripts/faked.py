# SPDX-License-Identifier: MIT
"""Programs that only pretend: a shell script of a name on PATH, for targets that start others."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


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


@pytest.fixture
def faked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Faked:
    """Programs that only pretend."""
    return Faked(tmp_path / "faked", monkeypatch)
