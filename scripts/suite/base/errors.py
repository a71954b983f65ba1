# SPDX-License-Identifier: MIT
"""Errors that a user can cause: one clear line each, never a traceback.

`__main__` is the only place that turns them into text on standard error and an exit status.
"""

import re
from collections.abc import Callable, Iterable

from suite.base import ROOT


class UncorkError(Exception):
    """One line that says what was wrong, where, and what would be right; of several texts all."""

    status = 1

    def __str__(self) -> str:
        return "; ".join(map(str, self.args))


class UsageError(UncorkError):
    """What the user wrote is wrong: exit status 2."""

    status = 2


class Failure(UncorkError):
    """The request is right but could not be carried out: exit status 1."""


class Unreachable(Failure):
    """What a run needs is missing now, a lab or another machine: that run fails, others go on."""


class Signalled(KeyboardInterrupt):
    """A signal that ends this program as Ctrl-C does; its argument is the number."""


class Interrupted(UncorkError):
    """A signal ended this program: exit status 128 and its number, as a shell has it. The text
    names the signal, then follows `kept`."""

    def __init__(self, signalled: KeyboardInterrupt, kept: str = "") -> None:
        import signal  # slow to import, and most starts need none of it
        number = signalled.args[0] if isinstance(signalled, Signalled) else signal.SIGINT
        super().__init__(("interrupted" if number == signal.SIGINT
                          else f"ended by {signal.Signals(number).name}") + kept)
        self.status = 128 + number


def all_tried(calls: Iterable[Callable[[], object]]) -> None:
    """Makes all calls, then raises one error with the texts of all their errors, each once."""
    errors: list[Failure | UsageError] = []
    for call in calls:
        try:
            call()
        except (Failure, UsageError) as error:
            errors.append(error)
    if errors:
        kind = next((Failure for error in errors if isinstance(error, Failure)), UsageError)
        raise kind(*dict.fromkeys(text for error in errors for text in error.args))


def synonyms_read() -> list[tuple[str, str]]:
    """What people type for a word or a value of ours, and ours; the client has the same list."""
    text = (ROOT / "common/base/synonyms.def").read_text()
    return re.findall(r'^SYNONYM\("(\w+)", "(\w+)"\)', text, re.MULTILINE)


def nearest_hint(word: str, choices: Iterable[str]) -> str:
    """`: did you mean X?` for the choice nearest to word, else a list of all when they are few."""
    import difflib
    names = sorted(choices)
    close = [ours for typed, ours in synonyms_read() if typed == word and ours in names]
    close += difflib.get_close_matches(word, names, n=1, cutoff=0.65)
    if close:
        return f": did you mean {close[0]}?"
    if 0 < len(names) <= 12:
        return f" (there is {', '.join(names)})"
    return ""
