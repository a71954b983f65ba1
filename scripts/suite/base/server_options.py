# SPDX-License-Identifier: MIT
"""The client's options for servers that run already: with a key, or in the clear.

These are options and no words, so that neither records nor names of cells have them. The client
gets them for cells that name a server or a proxy, and only for those.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from suite.base.errors import UsageError

SERVER_WORDS, OWN_VALUE = ("server=", "via="), "=own"


def server_named(words: Iterable[str]) -> bool:
    """Whether words name a server or a proxy that runs already."""
    return any(word.startswith(SERVER_WORDS) and not word.endswith(OWN_VALUE) for word in words)


def options_for_server(options: Sequence[str], words: Iterable[str]) -> tuple[str, ...]:
    """The options, where the words of a cell name a server; else none."""
    return tuple(options) if server_named(words) else ()


def server_options_choose(psk: Path | None, insecure: bool) -> tuple[str, ...]:
    """The client's options for those of a command; every run reads the file of keys anew.
    UsageError where there is no such file."""
    if psk is None:
        return ("--insecure",) if insecure else ()
    if not psk.is_file():
        what = "no file, and every run reads it again" if psk.exists() else "there is no such file"
        raise UsageError(f"--psk {psk}: {what}")
    return ("--psk", str(psk.resolve()))


def server_options_check(options: Sequence[str], cells: Iterable[Iterable[str]]) -> None:
    """UsageError where there are options and no cell has a use for them."""
    if options and not any(map(server_named, cells)):
        raise UsageError(
            f"{options[0]} is for a server that is there already: add server=HOST:PORT")
