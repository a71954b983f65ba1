# SPDX-License-Identifier: MIT
"""Errors that a user can cause: one clear line each, never a traceback.

Only `__main__` turns them into text on standard error and an exit status.
"""

import contextlib
import re
from collections.abc import Callable, Iterable, Iterator

from suite.base import ROOT


class UncorkError(Exception):
    """One line: what is wrong, where, and what would be right. Several texts are joined by `; `."""

    status = 1

    def __str__(self) -> str:
        return "; ".join(map(str, self.args))


class UsageError(UncorkError):
    """What the user wrote is wrong: exit status 2."""

    status = 2


class Failure(UncorkError):
    """The request is right, but it failed: exit status 1."""


class Signalled(KeyboardInterrupt):
    """A signal that ends this program as Ctrl-C does: its number. Its notes say what is kept."""


@contextlib.contextmanager
def error_in(place: str) -> Iterator[None]:
    """A UsageError that is raised meanwhile begins with this place."""
    try:
        yield
    except UsageError as error:
        raise UsageError(f"{place}{error}") from None


def all_tried(calls: Iterable[Callable[[], object]]) -> None:
    """Makes all calls, then raises one error with the distinct texts of all their errors."""
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
    """Pairs: what people may type, and uncork's word or value; the client reads this list too."""
    text = (ROOT / "common/base/synonyms.def").read_text()
    return re.findall(r'^SYNONYM\("(\w+)", "(\w+)"\)', text, re.MULTILINE)


def nearest_hint(word: str, choices: Iterable[str]) -> str:
    """`: did you mean X?` for the choice nearest to word, else a list of all if they are few."""
    import difflib
    names = sorted(choices)
    close = [ours for typed, ours in synonyms_read() if typed == word and ours in names]
    close += difflib.get_close_matches(word, names, n=1, cutoff=0.65)
    if close:
        return f": did you mean {close[0]}?"
    if 0 < len(names) <= 12:
        return f" (there is {', '.join(names)})"
    return ""
