# SPDX-License-Identifier: MIT
"""Checks of JSON values: of what kind a value is, and where in its document a wrong value is.

A check takes a value, and raises WrongShape if it is wrong. A constant is a check composed of
others; a check written as a function is called *_check().
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

Shape = Callable[[Any], None]
SCHEMA = 1  # of records and of plan.json
LIMIT = 2**64  # no count, size or time is as large; a float holds it
INDEX_MAX = 1_000_000
SHOWN_CHARACTERS = 40  # of a wrong value


class Damaged(Exception):
    """The reason why a line is no record, or a file no part of a result."""


class Newer(Damaged):
    """A newer uncork wrote it."""


class WrongShape(Damaged):
    """A value of the wrong kind. path: its place, to which each enclosing value adds the front."""

    def __init__(self, wrong: str, path: str = "") -> None:
        super().__init__(wrong)
        self.path = path

    def __str__(self) -> str:
        return f"{self.path.lstrip('.')} {self.args[0]}".lstrip()

    def within(self, place: str) -> WrongShape:
        """The same error, for the object or list that has the value at this place."""
        self.path = place + self.path
        return self


def brief(value: Any) -> str:
    """A wrong value in few printable characters, for messages."""
    if isinstance(value, dict | list):
        return "an object" if isinstance(value, dict) else "a list"
    text = json.dumps(value)
    return text if len(text) <= SHOWN_CHARACTERS else f"{text[:SHOWN_CHARACTERS]}..."


def constant_refuse(name: str) -> None:
    """Refuses NaN and Infinity, which are no JSON, but which Python reads."""
    raise Damaged(f"not JSON: {name} is no number")


def value_check(is_right: Callable[[Any], bool], kind: str = "", wrong: str = "") -> Shape:
    """A value that is right, else an error that says `is VALUE, not KIND`, or what is wrong."""
    def check(value: Any) -> None:
        if not is_right(value):
            raise WrongShape(wrong or f"is {brief(value)}, not {kind}")
    return check


# finite; bool is an int in Python, and no number here
NUMBER = value_check(lambda value: type(value) in (int, float) and -LIMIT < value < LIMIT,
                     "a number")
INTEGER = value_check(lambda value: type(value) is int and -LIMIT < value < LIMIT, "a whole number")
INDEX = value_check(lambda value: type(value) is int and 0 <= value <= INDEX_MAX,
                    f"a whole number from 0 to {INDEX_MAX}")
# printable; tabs separate the columns of a sysctl
TEXT = value_check(lambda value: type(value) is str and value.replace("\t", " ").isprintable(),
                   "one line of text")
FLAG = value_check(lambda value: type(value) is bool, "true or false")


def scalar_check(value: Any) -> None:
    if type(value) is not bool:
        (TEXT if type(value) is str else NUMBER)(value)


def one_of(*values: str) -> Shape:
    return value_check(lambda value: value in values, " or ".join(values))


def null_or(inner: Shape) -> Shape:
    return lambda value: None if value is None else inner(value)


def all_of(*checks: Shape) -> Shape:
    def check(value: Any) -> None:
        for inner in checks:
            inner(value)
    return check


def list_of(inner: Shape, length: int | None = None) -> Shape:
    def check(value: Any) -> None:
        if type(value) is not list or length not in (None, len(value)):
            raise WrongShape(f"is {brief(value)}, not a list" + (f" of {length}" if length else ""))
        for place, item in enumerate(value):
            try:
                inner(item)
            except WrongShape as wrong:
                raise wrong.within(f"[{place}]") from None
    return check


def object_of(needed: Mapping[str, Shape], known: Mapping[str, Shape] | None = None,
              others: Shape | None = None) -> Shape:
    """An object that has all needed keys, and may have the known ones. others: the check of values
    of other keys, which are one line of text."""
    checks = {**needed, **(known or {})}

    def check(value: Any) -> None:
        if type(value) is not dict:
            raise WrongShape(f"is {brief(value)}, not an object")
        for key in needed:
            if key not in value:
                raise WrongShape(f"has no {key}")
        for key, item in value.items():
            inner = checks.get(key, others)
            if inner is not None:
                try:
                    if key not in checks:
                        TEXT(key)
                    inner(item)
                except WrongShape as wrong:
                    raise wrong.within(f".{key if key.isprintable() else brief(key)}") from None
    return check


def map_of(inner: Shape) -> Shape:
    return object_of({}, others=inner)


def keys(inner: Shape, *names: str) -> dict[str, Shape]:
    return dict.fromkeys(names, inner)
