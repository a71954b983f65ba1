# SPDX-License-Identifier: MIT
"""The list of kinds of targets, and the targets that one runner has opened.

A kind is one module and one line in KINDS, with its name in the client's list of variants.
"""

import contextlib
import pkgutil
from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any, cast

from suite.base.client import Client
from suite.base.errors import Failure, UsageError, all_tried
from suite.base.lab_words import lab_wanted
from suite.base.runner_words import LOCAL, subject_of, target_of
from suite.places.target import Target

KINDS = {  # each module is imported when a cell first needs it
    LOCAL: "suite.places.target:Target",
    "gvisor": "suite.places.gvisor:Gvisor",
    "ssh": "suite.places.remote.ssh:Ssh",
    "vng": "suite.places.vng:Vng",
}
FLEET = "suite.places.remote.ansible:Fleet"  # hosts=INVENTORY opens it


def kind_of(value: str) -> type[Target]:
    """The kind of a value of `target`; Failure for an unknown kind."""
    kind = "ssh" if "+" in value else value.partition(":")[0]  # client+server
    if kind not in KINDS:
        raise Failure(f"this runner does not know target={value}")
    return cast("type[Target]", pkgutil.resolve_name(KINDS[kind]))


def targets_require(values: Iterable[str]) -> None:
    """Failure or UsageError with all that this machine lacks for these values of `target`."""
    all_tried([partial(kind_of(value).require, value) for value in dict.fromkeys(values)])


class Targets(contextlib.ExitStack):
    """The targets of one runner; each opens when a cell first needs it. fleet: of hosts=."""

    def __init__(self, client: Client) -> None:
        super().__init__()
        self.local = client
        self.opened: dict[str, Target] = {}
        self.fleet: Any = None

    def target(self, words: Mapping[str, str]) -> Target:
        """The target of a cell, opened. UsageError where the words contradict it."""
        value = target_of(words)
        if value not in self.opened:
            paired = self.fleet and value in self.fleet.values
            self.opened[value] = (self.fleet.target if paired else kind_of(value))(
                value, self.local)
            self.callback(self.opened[value].close)
        if value != LOCAL and lab_wanted(words):
            raise UsageError(f"target={value}: lab=on makes namespaces on this machine")
        if subject_of(words) and not self.opened[value].starts_subjects:
            raise UsageError(f"target={value}: subject={subject_of(words)} cannot be started "
                             "there: take target=local or target=ssh:HOST")
        self.opened[value].words_check(words)
        return self.opened[value]

    def require(self, values: Iterable[str]) -> None:
        if not self.fleet:  # the first step checks the hosts of a fleet
            targets_require(values)

    def hosts_open(self, path: str) -> tuple[str, ...]:
        """Opens an inventory. Returns its pairs as values of `target`."""
        self.fleet = pkgutil.resolve_name(FLEET)(path)
        self.callback(self.fleet.close)
        return tuple(self.fleet.values)

    def identities(self) -> dict[str, dict[str, Any]]:
        """identity() of the open targets but this machine: docs/record.md, "plan.json"."""
        return {value: target.identity() for value, target in self.opened.items() if value != LOCAL}

    def boot_ids(self) -> dict[str, str]:
        return {name: boot for target in self.opened.values()
                for name, boot in target.boot_ids().items()}

    def round_begin(self) -> None:
        for target in self.opened.values():
            target.round_begin()


class LocalTargets(Targets):
    """Checks words only: every cell counts as one of this machine, and no target is opened."""

    def target(self, words: Mapping[str, str]) -> Target:
        return Target(LOCAL, self.local)

    def require(self, values: Iterable[str]) -> None:
        """Nothing."""
