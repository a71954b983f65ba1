# SPDX-License-Identifier: MIT
"""What a target is: something that puts a client, and perhaps its server and its proxy,
elsewhere."""

from __future__ import annotations

import contextlib
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from suite.base.client import Client, build_client, client_facts
from suite.base.errors import UsageError
from suite.base.lab_words import LAB_WORDS, lab_wanted
from suite.base.place import HERE, Place
from suite.base.runner_words import OWN_ENDS, TARGET, build_of, words_told

# words that a system may have with this value only, None: not at all
INSIDE = {**OWN_ENDS, "peer": None, "capture": "off"}


@dataclass(frozen=True)
class Ends:
    """Ends of a run that were started for it on other machines: words that say where, and the
    client's options for them."""

    words: Mapping[str, str] = field(default_factory=dict)
    options: tuple[str, ...] = ()


class Target:
    """A value of the word `target`, open: what its kind does not say otherwise is as on this
    machine.

    starting_s: how long a batch may take to begin, beside its runs; boot_s: how long until it says
    something, where that comes before its first run, and the runs' time begins then. Neither is in
    a figure. Opening it raises Failure, in one sentence with the command that mends it, where this
    machine lacks what it needs.
    """

    starting_s = 0.0
    boot_s = 0.0

    def __init__(self, value: str, client: Client) -> None:
        self.value = value
        self.local = client

    def place(self, words: Mapping[str, str]) -> Place:
        """Where the client of a cell of these words runs."""
        return HERE

    def client(self, words: Mapping[str, str]) -> Client:
        """The programs that run a cell of these words, there. UsageError for a build that is
        none."""
        return replace(build_client(self.local, build_of(words)), place=self.place(words),
                       boot_s=self.boot_s,
                       retry_place=self.retry_place(words))

    def retry_place(self, words: Mapping[str, str]) -> Place | None:
        """Where a command that came to no end in its place is tried once more; None where that
        helps nobody."""
        return None

    def planned_words(self, words: Mapping[str, str]) -> dict[str, str]:
        """Words that a client which is asked about a cell of these words is told of ends that will
        be elsewhere."""
        return {}

    def words_check(self, words: Mapping[str, str]) -> None:
        """UsageError for words that make no sense there."""

    def unsupported(self, words: Mapping[str, str]) -> str | None:
        """Why a cell that uses these words cannot run there, which its client cannot know; None: it
        can."""
        return None

    @contextlib.contextmanager
    def ends(self, words: Mapping[str, str]) -> Iterator[Ends]:
        """What has been started elsewhere for a cell of these words, for as long as it runs.
        Failure where that cannot be."""
        yield Ends()

    def failure_explain(self, words: Mapping[str, str], record: dict[str, Any]) -> dict[str, Any]:
        """The record of a run of these words, with what is known of its failure here."""
        return record

    def round_begin(self) -> None:
        """A new round: what was lost in the last one may be tried again."""

    def facts(self, words: Mapping[str, str]) -> dict[str, Any]:
        """Facts of the machines of the ends, by end: docs/record.md, "What the client prints for
        programs"."""
        given = words_told({key: value for key, value in words.items() if key not in LAB_WORDS})
        with self.ends(words) as ends:
            return client_facts(self.client(words),
                                [f"{key}={value}" for key, value in (given |
                                    dict(ends.words)).items()],
                                ends.options)

    def identity(self) -> dict[str, str]:
        """What has been found out about it, for plan.json: a result is not gone on with where it
        has changed."""
        return {}

    def boot_ids(self) -> dict[str, str]:
        """Which boots other machines run, by their names: a session is not gone on with on
        another."""
        return {}

    def by_hand(self, given: Mapping[str, str]) -> list[str]:
        """The commands that run a cell of these words once by hand."""
        words = [f"{key}={value}" for key, value in words_told(given).items()]
        return [shlex.join(self.client(given).command(words).argv)]

    def close(self) -> None:
        """Takes down what opening it or a run has made."""


def elsewhere_refuse(value: str, words: Mapping[str, str]) -> str | None:
    """Why a cell of these words cannot be elsewhere at all; None: it may."""
    if lab_wanted(words):
        return f"{TARGET}={value}: lab=on makes namespaces on this machine"
    return None


def outside_refuse(value: str, inside: str, words: Mapping[str, str]) -> None:
    """UsageError for words that need something outside of a system with nothing but itself; inside:
    what that is."""
    for key, only in INSIDE.items():
        if words.get(key, only) != only:
            raise UsageError(
                f"{TARGET}={value}: {inside} has no network but its own loopback, and its files end with it: "
                             f"leave out {key}={words[key]}")
