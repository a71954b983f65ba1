# SPDX-License-Identifier: MIT
"""The words that the runner acts on and no client gets: which programs run a cell, and where.

A client starts without them: for itself it is always `build=this target=local`, and a
client of an older version does not know the words at all.
"""

from collections.abc import Mapping
from typing import Any

from suite.base.words import words_text

BUILD, THIS = "build", "this"  # its default: $UNCORK_BIN or build/release
TARGET, LOCAL = "target", "local"  # its default: this machine
ARM = "arm"  # a named set of words of a scenario, into which the runner expands it
RUNNER_WORDS = (BUILD, TARGET, ARM)
# words that name an end, and the value with which it is started for the run
OWN_ENDS = {"server": "own", "via": "own"}
# a default that stands for no words at all: a client passes over an empty line
DEFAULT_WORD = {"transport": "tcp"}
ARRIVAL_SEED, DRAWN = "arrival_seed", "default"  # the word, and its value where a round draws one
SUBJECT, OWN_SUBJECT = "subject", "own"  # the server that is measured; its default: uncork-server
WORKLOAD, COMMAND = "workload", "command"  # the workload that has a load
LOAD = "load"  # the client that is timed there in place of uncork's
# how a preloaded library changes a subject; without it; with it, and it changes nothing
OVERRIDE, NOT_LOADED, NO_CHANGE = "override", "off", "none"
SUBJECTS_OPTION = "--subjects"  # of client and server: the file of their definitions
BOOT_PREFIX = "vng:"  # of a target that boots a machine for all cells of a round


def target_of(words: Mapping[str, str]) -> str:
    return words.get(TARGET, LOCAL)


def boot_of(words: Mapping[str, str]) -> str:
    """The target that boots a machine for all its cells of a round; empty where none is booted."""
    target = target_of(words)
    return target if target.startswith(BOOT_PREFIX) else ""


def starts_from_here(words: Mapping[str, str]) -> bool:
    """Whether a cell of these words starts programs of this machine: here, or in a guest."""
    return target_of(words) == LOCAL or bool(boot_of(words))


def build_of(words: Mapping[str, str]) -> str:
    return words.get(BUILD, THIS)


def subject_of(words: Mapping[str, str]) -> str:
    """The subject that a cell of these words measures; empty where it is uncork-server."""
    name = words.get(SUBJECT, OWN_SUBJECT)
    return "" if name == OWN_SUBJECT else name


def load_of(words: Mapping[str, str]) -> str:
    """The load that a cell of these words times; empty where there is none."""
    return words.get(LOAD, "")


def words_for_client(words: Mapping[str, str]) -> dict[str, str]:
    return {key: value for key, value in words.items() if key not in RUNNER_WORDS}


def words_for_runner(words: Mapping[str, str]) -> dict[str, str]:
    return {key: words[key] for key in RUNNER_WORDS if key in words}


def line_for_client(words: Mapping[str, str], more: Mapping[str, str] | None = None) -> str:
    """The line that a client is given of a cell's words; more: words that no plan has."""
    return words_text(words_for_client(words) | dict(more or {}) or DEFAULT_WORD)


def record_words_restore(record: dict[str, Any], words: Mapping[str, str]) -> None:
    """Puts the words for the runner into a record, whose client knows only its own. Where the
    runner has started an end, the client's word has its address; the record gets the user's."""
    if "words" in record:
        named = {key: words[key] for key in OWN_ENDS if key in words and key in record["words"]}
        record["words"] |= named | words_for_runner(words)


def serving_ends(words: Mapping[str, str]) -> tuple[str, ...]:
    """The ends that serve a cell of these words, where its client does not start them."""
    if "peer" in words or words.get("transport") == "null":
        return ()
    return ("server", "proxy") if words.get("workload") == "proxy" else ("server",)
