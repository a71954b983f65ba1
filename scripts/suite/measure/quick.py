# SPDX-License-Identifier: MIT
"""`uncork run --quick`: fewer and shorter rounds for a first look. Pure; it never lengthens
anything."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from suite.base.errors import UsageError
from suite.result.plan import WordChange

if TYPE_CHECKING:
    from suite.base.client import Vocabulary
    from suite.measure.words import Words

# Six rounds are the fewest that have an interval.
QUICK = {"rounds": "6", "duration": "200ms", "warmup": "50ms"}
# in place of duration: how long it takes is not known, and not changed
FIXED_WORK = ("messages", "bytes")
SECONDS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9, "": 1.0}


def quick_limits() -> str:
    """What it is at most, in one line."""
    return (f"at most {QUICK['rounds']} rounds of {QUICK['duration']}, after {QUICK['warmup']} of "
            "warm-up")


def amount(text: str) -> float:
    """A number of rounds, or a duration in seconds, in the client's spelling."""
    number = text.rstrip("".join(SECONDS))
    return float(number) * SECONDS[text[len(number):]]


def contradiction(key: str, text: str) -> UsageError:
    """The error for words of the shell that ask for more than a quick look."""
    why = "it adds no rounds" if key == "until" else f"with it {key} is at most {QUICK[key]}"
    return UsageError(f"--quick and {key}={text} contradict each other: {why}")


def changes_find(given: Mapping[str, str], typed: Mapping[str, str],
                 several: Mapping[str, tuple[str, ...]]
                 ) -> dict[str, WordChange]:
    """What a quick look changes, by word. given: the words of the plan, with defaults, as the
    client spells them.

    typed: those of the shell, which are never changed: UsageError where they ask for more. several:
    axes.
    """
    changes: dict[str, WordChange] = {}
    for key, most in QUICK.items():
        if key in several:
            raise UsageError(
                f"--quick cannot shorten {key}={','.join(several[key])}: it has several values")
        if key == "duration" and any(word in given or word in several for word in FIXED_WORK):
            continue
        if amount(given[key]) > amount(most):
            changes[key] = {"was": given[key], "is": most}
    if "until" in given:
        changes["until"] = {"was": given["until"], "is": None}
    wrong = next((key for key in changes if key in typed), None)
    if wrong:
        raise contradiction(wrong, typed[wrong])
    return changes


def words_quicken(words: Words, vocabulary: Vocabulary) -> tuple[Words, dict[str, WordChange]]:
    """The words of a quick look, and what it changed; UsageError where words of the shell ask for
    more."""
    given = words.fixed | words.timing | words.run
    defaults = {key: str(vocabulary.words[key]["default"]) for key in QUICK}
    typed = {key: given[key] for key, word in words.given.items() if word.table == "shell"
             and key in given}
    changes = changes_find(defaults | given, typed, words.sweep)
    now = {key: most for key, most in QUICK.items() if key in changes}
    run = {key: value for key, value in words.run.items() if key != "until"}
    run |= {key: now.pop(key) for key in ("rounds",) if key in now}
    fixed = {key: now.pop(key, value) for key, value in words.fixed.items()}
    return replace(words, fixed=fixed, timing=words.timing | now, run=run), changes
