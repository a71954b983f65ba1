# SPDX-License-Identifier: MIT
"""What every room stands on: errors, units, child processes, the client and its vocabulary of
words.

It imports nothing of the suite. It never reads a result, and it never starts a program unless a
caller from another room names it.
"""

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]  # of the repository


def cache_place() -> Path:
    """This user's folder of caches, which may not exist; scripts/setup/python has this rule."""
    home = os.environ.get("HOME") or "/nonexistent"
    caches = os.environ.get("XDG_CACHE_HOME") or f"{home}/.cache"
    return Path(os.environ.get("UNCORK_CACHE") or f"{caches}/uncork")
