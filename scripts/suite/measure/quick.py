# SPDX-License-Identifier: MIT
"""`uncork run --quick`: fewer and shorter rounds for a first look. Pure; it never lengthens
anything."""

from __future__ import annotations

from collections.abc import Mapping

from suite.base.errors import UsageError
from suite.result.plan import WordChange

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


def changes_find(given: Mapping[str, str], typed: Mapping[str, str],
                 several: Mapping[str, tuple[str, ...]]) -> dict[str, WordChange]:
    """What a quick look changes, by word. given: the words of the plan, with defaults, as the
    client spells them. typed: those of the shell, never changed. several: the axes with their
    values. UsageError where a typed word asks for more, or where an axis would be shortened."""
    changes: dict[str, WordChange] = {}
    for key, most in QUICK.items():
        if key in several:
            raise UsageError(
                f"--quick cannot shorten {key}={','.join(several[key])}: it has several values")
        is_fixed = key == "duration" and any(word in given or word in several
                                             for word in FIXED_WORK)
        if not is_fixed and amount(given[key]) > amount(most):
            changes[key] = {"was": given[key], "is": most}
    if "until" in given:
        changes["until"] = {"was": given["until"], "is": None}
    for key in changes:
        if key in typed:
            why = f"with it {key} is at most {QUICK[key]}" if key in QUICK else "it adds no rounds"
            raise UsageError(f"--quick and {key}={typed[key]} contradict each other: {why}")
    return changes
