# SPDX-License-Identifier: MIT
"""How servers that are there already are spoken to: with a key, or in the clear.

These are options and no words, so that neither records nor names of cells know of them; the client
gets them for cells that name a server or a proxy, and only for those.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from suite.base.errors import UsageError

NAMED_BY = ("server=", "via=")
OWN = "=own"


def end_named(words: Iterable[str]) -> bool:
    """Whether words name a server or a proxy that somebody else has started."""
    return any(word.startswith(NAMED_BY) and not word.endswith(OWN) for word in words)


def reach_options(options: Sequence[str], words: Iterable[str]) -> tuple[str, ...]:
    """The options, for a cell that they are for."""
    return tuple(options) if end_named(words) else ()


def reach_choose(psk: Path | None, insecure: bool) -> tuple[str, ...]:
    """The client's options for what was asked for; every run reads the file of keys again."""
    if psk is None:
        return ("--insecure",) if insecure else ()
    if not psk.is_file():
        what = "no file, and every run reads it again" if psk.exists() else "there is no such file"
        raise UsageError(f"--psk {psk}: {what}")
    return ("--psk", str(psk.resolve()))


def reach_check(options: Sequence[str], cells: Iterable[Iterable[str]]) -> None:
    """Refuses options that no cell has a use for."""
    if options and not any(end_named(words) for words in cells):
        raise UsageError(
            f"{options[0]} is for a server that is there already: add server=HOST:PORT")
