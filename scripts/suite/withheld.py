# SPDX-License-Identifier: MIT
"""The words that this runner acts on and no client is told of: which programs run a cell, and where.

A client is asked and started without them: `build=this` and `target=local` is all that it knows of itself, and one of last
year does not know the words at all.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

BUILD = "build"
TARGET = "target"
WITHHELD = (BUILD, TARGET)
LOCAL = "local"  # the default of target: this machine
BOOTED = "vng:"  # what a target begins with that is booted once for all cells of a round


def target_of(words: Mapping[str, str]) -> str:
    """Where a cell of these words runs."""
    return words.get(TARGET, LOCAL)


def boot_of(words: Mapping[str, str]) -> str:
    """The target that is booted once a round for all cells that have it; empty for a cell that needs no boot."""
    target = target_of(words)
    return target if target.startswith(BOOTED) else ""


def words_told(words: Mapping[str, str]) -> dict[str, str]:
    """The words that a client is given."""
    return {key: value for key, value in words.items() if key not in WITHHELD}


def words_withheld(words: Mapping[str, str]) -> dict[str, str]:
    """The words that it is not given."""
    return {key: words[key] for key in WITHHELD if key in words}


def line_of(words: Mapping[str, str]) -> str:
    """Words as a client reads them in a line."""
    return " ".join(f"{key}={value}" for key, value in words.items())


def record_restore(record: dict[str, Any], words: Mapping[str, str]) -> None:
    """Puts them into the words of a record, whose client knows only its own."""
    if "words" in record:
        record["words"] |= words_withheld(words)
