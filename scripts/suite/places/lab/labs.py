# SPDX-License-Identifier: MIT
"""The labs of one runner: one for each kind of link, made when a run first needs it.

They are descriptors of this process and nothing else holds them, so that they end with it, however
it ends; there is nobody to kill and nothing to clean up.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Any

from suite.base.errors import Failure, Unreachable
from suite.base.lab_words import CLIENT_HOST, SETTING_WORD, Link, lab_wanted, link_of, setting_split
from suite.places.lab.lab import Lab, lab_close, lab_make
from suite.places.lab.settings import setting_hold


@dataclass(frozen=True)
class Held:
    """A lab as one run has it; `facts` is what its record says of it, `arguments` the client's."""

    lab: Lab
    facts: dict[str, Any]
    arguments: tuple[str, ...]

    def inside(self) -> AbstractContextManager[None]:
        """Programs that are started meanwhile are on the host of the client."""
        return self.lab.inside(CLIENT_HOST)


class Labs:
    """Labs by their links."""

    def __init__(self) -> None:
        self.made: dict[Link, Lab] = {}

    def of(self, link: Link) -> Lab:
        """The lab with these links."""
        if link not in self.made:
            self.made[link] = lab_make(link)
        return self.made[link]

    @contextlib.contextmanager
    def hold(self, words: Mapping[str, str]) -> Iterator[Held | None]:
        """The lab of a cell, with its sysctl set meanwhile; None where it needs none. Unreachable
        where it cannot be made."""
        if not lab_wanted(words):
            yield None
            return
        with contextlib.ExitStack() as holding:
            try:
                lab, setting = self.of(link_of(words)), setting_split(words[SETTING_WORD])
                held = Held(lab, lab.facts, lab.arguments(words))
                if setting:
                    values = holding.enter_context(setting_hold(lab.namespaces, *setting))
                    held = replace(held, facts=lab.facts |
                                   {SETTING_WORD: {"name": setting[0]} | values})
            except Failure as error:
                raise Unreachable(f"lab: {error}") from None
            yield held

    def close(self) -> None:
        """Ends all of them."""
        for lab in self.made.values():
            lab_close(lab)
        self.made.clear()


@contextlib.contextmanager
def labs_open() -> Iterator[Labs]:
    """Labs for as long as they are needed."""
    labs = Labs()
    try:
        yield labs
    finally:
        labs.close()
