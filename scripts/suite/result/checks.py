# SPDX-License-Identifier: MIT
"""Checks of JSON values: which kind a value is, and where in its document a wrong one stands."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

Check = Callable[[Any], None]
SCHEMA = 1  # of records and of plan.json
LIMIT = 2**64  # no count, size or time is as large; a float holds it
ROUNDS_MOST = 1_000_000
SHOWN = 40  # characters of a wrong value


class Damaged(Exception):
    """What is no record, or no file of a result; says why."""


class Newer(Damaged):
    """What a newer uncork wrote."""


class Misshapen(Damaged):
    """A value of the wrong kind; path grows from the inside out while the exception rises."""

    def __init__(self, wrong: str) -> None:
        super().__init__(wrong)
        self.path = ""

    def __str__(self) -> str:
        return f"{self.path.lstrip('.')} {self.args[0]}".lstrip()


def shown(value: Any) -> str:
    """A wrong value in few characters, all of them printable."""
    if isinstance(value, dict | list):
        return "an object" if isinstance(value, dict) else "a list"
    spelled = json.dumps(value)
    return spelled if len(spelled) <= SHOWN else f"{spelled[:SHOWN]}..."


def constant_refuse(name: str) -> None:
    """NaN and Infinity, which Python's JSON knows and JSON does not."""
    raise Damaged(f"not JSON: {name} is no number")


def number(value: Any) -> None:
    """A finite number; true and false are none."""
    if type(value) not in (int, float) or not -LIMIT < value < LIMIT:
        raise Misshapen(f"is {shown(value)}, not a number")


def index(value: Any) -> None:
    """A whole number that can count runs."""
    if type(value) is not int or not 0 <= value <= ROUNDS_MOST:
        raise Misshapen(f"is {shown(value)}, not a whole number from 0 to {ROUNDS_MOST}")


def whole(value: Any) -> None:
    """A whole number."""
    if type(value) is not int or not -LIMIT < value < LIMIT:
        raise Misshapen(f"is {shown(value)}, not a whole number")


def text(value: Any) -> None:
    """One printable line; the columns of a sysctl stand apart by tabs."""
    if type(value) is not str or not value.replace("\t", " ").isprintable():
        raise Misshapen(f"is {shown(value)}, not one line of text")


def flag(value: Any) -> None:
    """true or false."""
    if type(value) is not bool:
        raise Misshapen(f"is {shown(value)}, not true or false")


def scalar(value: Any) -> None:
    """A number, a text, or true or false."""
    if type(value) is not bool:
        (text if type(value) is str else number)(value)


def one_of(*values: str) -> Check:
    """One of these texts."""
    def check(value: Any) -> None:
        if value not in values:
            raise Misshapen(f"is {shown(value)}, not {' or '.join(values)}")
    return check


def nothing_or(inner: Check) -> Check:
    """The same, or null."""
    return lambda value: None if value is None else inner(value)


def list_of(inner: Check, length: int | None = None) -> Check:
    """A list of such values, of that length if one is given."""
    def check(value: Any) -> None:
        if type(value) is not list or length not in (None, len(value)):
            raise Misshapen(f"is {shown(value)}, not a list" + (f" of {length}" if length else ""))
        for place, item in enumerate(value):
            try:
                inner(item)
            except Misshapen as wrong:
                wrong.path = f"[{place}]{wrong.path}"
                raise
    return check


def object_of(needed: Mapping[str, Check], known: Mapping[str, Check] | None = None) -> Check:
    """An object that has all needed keys, and may have the known ones."""
    checks = {**needed, **(known or {})}

    def check(value: Any) -> None:
        if type(value) is not dict:
            raise Misshapen(f"is {shown(value)}, not an object")
        for key in needed:
            if key not in value:
                raise Misshapen(f"has no {key}")
        for key, item in value.items():
            if key in checks:
                try:
                    checks[key](item)
                except Misshapen as wrong:
                    wrong.path = f".{key}{wrong.path}"
                    raise
    return check


def map_of(inner: Check) -> Check:
    """An object with any keys, each one line of text."""
    def check(value: Any) -> None:
        if type(value) is not dict:
            raise Misshapen(f"is {shown(value)}, not an object")
        for key, item in value.items():
            try:
                text(key)
                inner(item)
            except Misshapen as wrong:
                wrong.path = f".{key if key.isprintable() else shown(key)}{wrong.path}"
                raise
    return check


def keys(inner: Check, *names: str) -> dict[str, Check]:
    """The same check for several keys."""
    return dict.fromkeys(names, inner)
