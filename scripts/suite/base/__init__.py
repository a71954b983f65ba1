# SPDX-License-Identifier: MIT
"""What the rest of the suite uses: errors, units, child processes, the client and its words.

It imports nothing of the suite and never reads a result. Of itself it starts uncork-client only;
callers name all other programs.
"""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import TypeVar

ROOT = Path(__file__).resolve().parents[3]  # of the repository
KeyType = TypeVar("KeyType")
ValueType = TypeVar("ValueType")


def grouped(pairs: Iterable[tuple[KeyType, ValueType]]) -> dict[KeyType, list[ValueType]]:
    """The values of each key of (key, value), both in the order in which they first occur."""
    found: dict[KeyType, list[ValueType]] = {}
    for key, value in pairs:
        found.setdefault(key, []).append(value)
    return found


def cache_place() -> Path:
    """This user's folder of caches, which may not exist. scripts/setup/lib.sh has the same rule."""
    home = os.environ.get("HOME") or "/nonexistent"
    caches = os.environ.get("XDG_CACHE_HOME") or f"{home}/.cache"
    return Path(os.environ.get("UNCORK_CACHE") or f"{caches}/uncork")
