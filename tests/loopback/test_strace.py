# SPDX-License-Identifier: MIT
"""Our count of system calls is what strace counts."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from programs import CLIENT, server_started

CALLS = ("sendto", "sendmsg", "setsockopt", "recvfrom")
PER_MESSAGE = {"nagle": 15, "nodelay": 15, "cork": 17, "more": 15, "writev": 1, "coalesce": 1}
FEW, MANY = 20, 60


def strace_trouble() -> str | None:
    """Why strace cannot be used here, None if it can."""
    if not shutil.which("strace"):
        return "strace is not installed"
    tried = subprocess.run(["strace", "-c", "true"], capture_output=True, text=True)
    return None if tried.returncode == 0 else f"strace does not work here: {tried.stderr.strip().splitlines()[0]}"


TROUBLE = strace_trouble()
pytestmark = pytest.mark.skipif(TROUBLE is not None, reason=str(TROUBLE))


def counted(address: str, words: list[str], messages: int, summary: Path) -> tuple[dict[str, int], dict]:
    """What strace counted in the client, and the client's record."""
    command = ["strace", "-f", "-c", "-o", str(summary), "-e", f"trace={','.join(CALLS)}", str(CLIENT), "--json"]
    done = subprocess.run(
        [*command, f"server={address}", f"messages={messages}", *words],
        capture_output=True,
        text=True,
        timeout=60,
        env=os.environ | {"ASAN_OPTIONS": "detect_leaks=0"},  # it cannot look for leaks while it is traced
    )
    assert done.returncode == 0, done.stderr
    rows = re.findall(r"^\s*\S+\s+\S+\s+\S+\s+(\d+)\s.*?(\w+)$", summary.read_text(), re.MULTILINE)
    return {name: int(count) for count, name in rows if name in CALLS}, json.loads(done.stdout)


@pytest.mark.parametrize("write", PER_MESSAGE)
def test_calls_of_a_message_are_those_that_strace_counts(write: str, tmp_path: Path) -> None:
    words = ["message=15x2", "reply=2", f"write={write}", "warmup=0s", "place=free"]
    with server_started() as server:
        few, _ = counted(server.address, words, FEW, tmp_path / "few")
        many, record = counted(server.address, words, MANY, tmp_path / "many")
    (thread,) = record["client"]["threads"]
    # what a run needs besides its messages is the same in both
    seen = {name: many.get(name, 0) - few.get(name, 0) for name in CALLS}
    ours = {name: thread["calls"].get(name, 0) * (MANY - FEW) / MANY for name in CALLS}
    assert seen == ours
    assert thread["write_calls"] == MANY * PER_MESSAGE[write]
