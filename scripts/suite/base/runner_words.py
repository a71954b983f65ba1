# SPDX-License-Identifier: MIT
"""The words on which the runner acts: those of a run, and those for it alone, which say which
programs run a cell, and where.

A client is always `build=this target=local` to itself, and one of an older version may not know
these words.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from suite.base.words import words_text


@dataclass(frozen=True, kw_only=True)
class RunWords:
    """The words of a run, as a plan has them. A new one is a line here and a line of the client's
    list (common/words/words.def), which has its values, its default and its help. seed: None until
    one is drawn. until: the width of intervals to reach, `1%`; None: a session has `rounds` rounds.
    baseline: words of the baseline cells. hosts: the inventory whose pairs run the cells at the
    same time."""

    rounds: int
    seed: int | None = None
    until: str | None = None
    baseline: str = ""
    timer: str = ""
    hosts: str | None = None

    @property
    def run_words(self) -> dict[str, Any]:
        """The words that have a value."""
        values = {key: getattr(self, key) for key in RUN_WORDS}
        return {key: value for key, value in values.items() if value not in (None, "")}


RUN_WORDS = tuple(field.name for field in fields(RunWords))
BUILD, THIS = "build", "this"  # its default: $UNCORK_BIN or build/release
TARGET, LOCAL = "target", "local"  # its default: this machine
ARM = "arm"  # a named set of words of a scenario, into which the runner expands it
RUNNER_WORDS = (BUILD, TARGET, ARM)
# words that name an end, and their value for an end that is started for the run
OWN_ENDS = {"server": "own", "via": "own"}
# the line of a cell without words: the client ignores an empty line, so it gets a default
DEFAULT_WORD = {"transport": "tcp"}
ARRIVAL_SEED, DRAWN = "arrival_seed", "default"  # the word, and its value if each round draws one
SUBJECT = "subject"  # the server that is measured in place of uncork-server
LOAD = "load"  # the client that workload=command times in place of uncork-client
# the change that the preloaded library makes to a subject; not loaded; loaded without a change
OVERRIDE, NOT_LOADED, NO_CHANGE = "override", "off", "none"
BOOT_PREFIX = "vng:"  # of a target that boots a guest for all its cells of a round
# What every output says behind `emulated: `. Under emulation, counts may depend on timing too.
EXACT_ONLY = "only counts that were the same in every run can be compared"


def target_of(words: Mapping[str, str]) -> str:
    return words.get(TARGET, LOCAL)


def boot_of(words: Mapping[str, str]) -> str:
    """The target, if it boots a guest for all its cells of a round; else empty."""
    target = target_of(words)
    return target if target.startswith(BOOT_PREFIX) else ""


def starts_from_here(words: Mapping[str, str]) -> bool:
    """Whether a cell of these words runs programs of this machine, on it or in a guest."""
    return target_of(words) == LOCAL or bool(boot_of(words))


def build_of(words: Mapping[str, str]) -> str:
    return words.get(BUILD, THIS)


def subject_of(words: Mapping[str, str]) -> str:
    """The subject that a cell of these words measures; empty for uncork-server."""
    name = words.get(SUBJECT, "own")
    return "" if name == "own" else name


def words_for_client(words: Mapping[str, str]) -> dict[str, str]:
    return {key: value for key, value in words.items() if key not in RUNNER_WORDS}


def words_for_runner(words: Mapping[str, str]) -> dict[str, str]:
    return {key: words[key] for key in RUNNER_WORDS if key in words}


def line_for_client(words: Mapping[str, str], more: Mapping[str, str] | None = None) -> str:
    """The line of a cell for the client; more: words that the plan does not have."""
    return words_text(words_for_client(words) | dict(more or {}) or DEFAULT_WORD)


def words_restore(record: dict[str, Any], words: Mapping[str, str]) -> dict[str, Any]:
    """Adds the words for the runner to the record of a client. If the runner started an end, the
    client was given its address; the record gets back the value that the user typed."""
    if "words" in record:
        named = {key: words[key] for key in OWN_ENDS if key in words and key in record["words"]}
        record["words"] |= named | words_for_runner(words)
    return record


def serving_ends(words: Mapping[str, str]) -> tuple[str, ...]:
    """The ends that a cell of these words needs running, if the client does not start them."""
    if "peer" in words or words.get("transport") == "null":
        return ()
    return ("server", "proxy") if words.get("workload") == "proxy" else ("server",)
