# SPDX-License-Identifier: MIT
"""Where cells run: each kind of target is one file and one line in KINDS, under its name in the
list of the client."""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Protocol

from suite.base.client import Client
from suite.base.errors import Failure, UsageError
from suite.base.runner_words import LOCAL, TARGET, target_of
from suite.places.local import Local
from suite.places.spread import JOIN
from suite.places.target import Target, elsewhere_refuse
from suite.result.plan import PlannedCell

KINDS = {
    LOCAL: "suite.places.local:Local",
    "gvisor": "suite.places.gvisor:Gvisor",
    "ssh": "suite.places.ssh.target:Ssh",
    "vng": "suite.places.vng:Vng",
}
GROUP = "suite.places.fleet.together:FleetGroup"  # what hosts=INVENTORY opens


class Group(Protocol):
    """Targets that are opened together and whose cells run at the same time."""

    @property
    def values(self) -> tuple[str, ...]:
        """Their values of target."""

    def target(self, value: str, client: Client) -> Target:
        """One of them."""

    def run(self, opened: Callable[[Mapping[str, str]], Target], cells: Sequence[PlannedCell]
            ) -> Iterator[tuple[int, dict[str, Any]]]:
        """(number, record) of each cell; opened: gives the open target of the words of a cell."""

    def close(self) -> None:
        """Takes all of them down."""


def class_load(name: str) -> Any:
    """The class of a kind, whose module is imported when it is first needed."""
    module, _, found = name.partition(":")
    return getattr(importlib.import_module(module), found)


def kind_of(value: str) -> str:
    """The kind of a target; that of several which are joined is the one that connects them."""
    return "ssh" if JOIN in value else value.partition(":")[0]


class Targets:
    """The targets of one runner: each is opened when it is first asked for, and all are closed
    together."""

    def __init__(self, client: Client) -> None:
        self.local = client
        self.opened: dict[str, Target] = {}
        self.group: Group | None = None

    def target(self, words: Mapping[str, str]) -> Target:
        """The target of a cell of these words; Failure where this machine cannot have it."""
        value = target_of(words)
        if value not in self.opened:
            self.opened[value] = self.open(value)
        if value != LOCAL and (refusal := elsewhere_refuse(value, words)):
            raise UsageError(refusal)
        self.opened[value].words_check(words)
        return self.opened[value]

    def open(self, value: str) -> Target:
        """A target that is not open yet."""
        if self.group and value in self.group.values:
            return self.group.target(value, self.local)
        kind = KINDS.get(kind_of(value))
        if kind is None:
            raise Failure(f"this runner does not know {TARGET}={value}")
        return class_load(kind)(value, self.local)

    def hosts_open(self, path: str) -> tuple[str, ...]:
        """Opens an inventory; gives its pairs as values of target."""
        self.group = class_load(GROUP)(path)
        return self.group.values

    def client(self, words: Mapping[str, str]) -> Client:
        """The programs that run a cell of these words, where it runs."""
        return self.target(words).client(words)

    def identities(self) -> dict[str, dict[str, Any]]:
        """What was found out about those that were opened, but for this machine: docs/record.md,
        "plan.json"."""
        return {value: target.identity() for value, target in self.opened.items() if value != LOCAL}

    def boot_ids(self) -> dict[str, str]:
        """The boots of other machines, by their names."""
        return {name: boot for target in self.opened.values()
                for name, boot in target.boot_ids().items()}

    def round_begin(self) -> None:
        """A new round has begun."""
        for target in self.opened.values():
            target.round_begin()

    def close(self) -> None:
        """Closes all of them; what one of them cannot take down keeps no other."""
        with contextlib.ExitStack() as closing:
            if self.group:
                closing.callback(self.group.close)
            for target in self.opened.values():
                closing.callback(target.close)
            self.opened.clear()


class LocalTargets(Targets):
    """For who asks about this machine only: every cell is taken for one of here, and nothing is
    opened."""

    def target(self, words: Mapping[str, str]) -> Target:
        """This machine."""
        return Local(LOCAL, self.local)


@contextlib.contextmanager
def targets_open(client: Client) -> Iterator[Targets]:
    """Targets for as long as they are needed."""
    targets = Targets(client)
    try:
        yield targets
    finally:
        targets.close()
