# SPDX-License-Identifier: MIT
"""Processes that a test has started: who is below one, and whether it has ended."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

GONE_S = 30.0
ENDING_STEPS = 100  # of 0.1 s


def until(what: Callable[[], object], why: str, within_s: float = GONE_S) -> None:
    """Waits for something to be true."""
    deadline = time.monotonic() + within_s
    while not what():
        assert time.monotonic() < deadline, why
        time.sleep(0.02)


def children_of(pid: int) -> list[int]:
    """The processes that a process has started."""
    try:
        return [*map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split())]
    except OSError:
        return []


def descendants_of(pid: int) -> list[int]:
    """The processes that a process has started, and those that these have."""
    return [one for child in children_of(pid) for one in (child, *descendants_of(child))]


def descendants_await(pid: int, count: int, within_s: float = 60) -> list[int]:
    """The descendants of a process, once there are so many."""
    deadline = time.monotonic() + within_s
    while len(found := descendants_of(pid)) < count:
        assert time.monotonic() < deadline, f"{pid} has never had {count} descendants: {found}"
        time.sleep(0.01)
    return found


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
