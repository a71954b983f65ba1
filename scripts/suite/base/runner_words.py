# SPDX-License-Identifier: MIT
"""The words that this runner acts on and no client is told of: which programs run a cell, and
where.

A client is asked and started without them: `build=this` and `target=local` is all that it knows of
itself, and one of last year does not know the words at all.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

BUILD = "build"
TARGET = "target"
WITHHELD = (BUILD, TARGET)
LOCAL = "local"  # the default of target: this machine
# words that name an end, and the value with which it is started for the run
OWN_ENDS = {"server": "own", "via": "own"}
# a default: what a client reads that is told nothing, because it passes over an empty line
IDLE = {"transport": "tcp"}
ARRIVAL_SEED, DRAWN = "arrival_seed", "default"  # the word, and its value where a round draws one
BOOTED = "vng:"  # what a target begins with that is booted once for all cells of a round


def target_of(words: Mapping[str, str]) -> str:
    """Where a cell of these words runs."""
    return words.get(TARGET, LOCAL)


def boot_of(words: Mapping[str, str]) -> str:
    """The target that is booted once a round for all cells that have it; empty for a cell that
    needs no boot."""
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


def line_told(words: Mapping[str, str], more: Mapping[str, str] | None = None) -> str:
    """The line that a client is given of a cell's words; more: words that only it is told."""
    return line_of(words_told(words) | dict(more or {}) or IDLE)


def record_restore(record: dict[str, Any], words: Mapping[str, str]) -> None:
    """Puts them into the words of a record, whose client knows only its own; where the runner has
    started an end, the client was told of an address that nobody has typed."""
    if "words" in record:
        named = {key: words[key] for key in OWN_ENDS if key in words and key in record["words"]}
        record["words"] |= named | words_withheld(words)


THIS = "this"  # the build that is asked for the words: $UNCORK_BIN or build/release


def build_of(words: Mapping[str, str]) -> str:
    """The build that runs a cell of these words."""
    return words.get(BUILD, THIS)
