# SPDX-License-Identifier: MIT
"""The interface of targets, and target=local. A target starts a client, and perhaps other ends."""

import shlex
from collections.abc import Mapping
from typing import Any

from suite.base.client import Client, build_client, client_facts
from suite.base.errors import UsageError
from suite.base.lab_words import LAB_WORDS
from suite.base.runner_words import OWN_ENDS, build_of, words_for_client
from suite.base.words import word_list

# words with the only value that they may have in an isolated system; None: no value
ISOLATED = {**OWN_ENDS, "peer": None, "capture": "off"}


class Target:
    """An open value of the word `target`. This class is target=local; other kinds override what
    differs. isolated: `a guest` where all that a cell needs is inside. starts_subjects: whether a
    subject can be started there. pairs: what runs the cells in place of the client here
    (places/remote/pairs.py). Opening raises what require() does."""

    isolated = ""
    starts_subjects = True
    pairs: Any = None

    def __init__(self, value: str, client: Client) -> None:
        self.require(value)
        self.value = value
        self.local = client

    @classmethod
    def require(cls, value: str) -> None:
        """Failure or UsageError with all that this machine lacks for a value of `target`, each with
        the command that installs it; `vng` alone: for any value. Starts nothing."""

    def client(self, words: Mapping[str, str]) -> Client:
        """The client there for a cell of these words. UsageError where `build` has no programs."""
        return build_client(self.local, build_of(words))

    def planned_words(self, words: Mapping[str, str]) -> dict[str, str]:
        """Words for ends elsewhere, with which the client checks a cell of these words."""
        return {}

    def words_check(self, words: Mapping[str, str]) -> None:
        """UsageError for words that contradict the target."""
        for key, only in ISOLATED.items() if self.isolated else ():
            if words.get(key, only) != only:
                raise UsageError(f"target={self.value}: {self.isolated} has no network but its "
                                 "own loopback, and its files end with it: "
                                 f"leave out {key}={words[key]}")

    def unsupported(self, words: Mapping[str, str]) -> str | None:
        """Why a cell of these words is unsupported, for reasons that its client cannot know."""
        return None

    def round_begin(self) -> None:
        """A round begins: machines that were lost in the last round may be tried again."""

    def facts(self, words: Mapping[str, str]) -> dict[str, Any]:
        """Facts of the machines, by end: docs/record.md, "What the client prints for programs"."""
        given = {key: value for key, value in words_for_client(words).items()
                 if key not in LAB_WORDS}
        return client_facts(self.client(words), word_list(given))

    def identity(self) -> dict[str, str]:
        """What identifies it in plan.json. A result is not continued where this has changed."""
        return {}

    def boot_ids(self) -> dict[str, str]:
        """The boots of other machines, by name. A session is not continued on another boot."""
        return {}

    def by_hand(self, given: Mapping[str, str]) -> list[str]:
        """The lines to type to run a cell of these words once."""
        argv, _ = self.client(given).command(word_list(words_for_client(given)))
        return [shlex.join(argv)]

    def close(self) -> None:
        """Ends all processes that opening it or a run has started."""
