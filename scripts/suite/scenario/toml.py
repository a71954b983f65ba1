# SPDX-License-Identifier: MIT
"""Files of TOML as dataclasses: a key is a field, which has the reader of its value.

A reader takes a value and its key, and returns what the field has. Where the value is wrong it
raises UsageError. The message begins with the key; the parts around add their names in front.
"""

import json
import re
import tomllib
from collections.abc import Callable, Collection
from dataclasses import MISSING, Field, field, fields
from functools import partial
from pathlib import Path
from typing import Any

from suite.base.errors import UsageError, error_in, nearest_hint

KeyReader = Callable[[Any, str], Any]


def key(reader: KeyReader, type: str = "", means: str = "", name: str = "",
        **default: Any) -> Any:
    """The dataclass field of a key; without a default the key is required. type, means: for
    `uncork list` and uncork-scenario(5); without them the key is a part of its own. name: of the
    key in the file, where the field has another."""
    return field(metadata={"reader": reader, "type": type, "means": means, "name": name}, **default)


def keys_of(kind: Any) -> dict[str, Field[Any]]:
    """The fields of a dataclass (or an object of it) that are keys of a file, by key."""
    return {one.metadata["name"] or one.name: one for one in fields(kind) if one.metadata}


def string_read(value: Any, key: str) -> str:
    """A string on one line."""
    if not isinstance(value, str):
        raise UsageError(f"{key} must be text")
    return " ".join(value.split())


def strings_read(value: Any, key: str, repeat: bool = False,
                 choices: Collection[str] = ()) -> tuple[str, ...]:
    """A list of strings, none of them empty or twice unless they may repeat."""
    if not isinstance(value, list) or not all(
            isinstance(item, str) and (item or repeat) for item in value):
        raise UsageError(f'{key} must be a list of text, as in {key} = ["...", "..."]')
    twice = next((item for item in value if value.count(item) > 1), None)
    if twice is not None and not repeat:
        raise UsageError(f'{key} names "{twice}" twice')
    return tuple(choice_read(choices, item, key) if choices else item for item in value)


def choice_read(choices: Collection[str], value: Any, key: str) -> str:
    text = string_read(value, key)
    if text and text not in choices:
        raise UsageError(f'{key} cannot be "{text}"{nearest_hint(text, choices)}')
    return text


def pattern_read(pattern: str, right: str, value: Any, key: str) -> str:
    """A string that matches a regular expression. right: what that allows, for the message."""
    text = string_read(value, key)
    if text and not re.fullmatch(pattern, text):
        raise UsageError(f'{key} must be {right}, not "{text}"')
    return text


def table_read(value: Any, key: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise UsageError(f"{key} must be a table, [{key}]")
    return value


def tables_read(value: Any, key: str) -> list[dict[str, Any]]:
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        raise UsageError(f"{key} must be a list of tables, [[{key}]]")
    return value


def entry_read(entry: dict[str, Any], kind: type) -> dict[str, Any]:
    """The values of a table by field, empty texts left out. UsageError for a key that this kind
    does not have, and for a required one that is missing or empty."""
    keys, values = keys_of(kind), {}
    for key in entry:
        if key not in keys:
            raise UsageError(f"{key}: unknown key{nearest_hint(key, keys)}")
    for key, one in keys.items():
        value = one.metadata["reader"](entry[key], key) if key in entry else ""
        if value in ("", ()) and one.default is one.default_factory is MISSING:
            raise UsageError(f"{key} is missing")
        if value != "":
            values[one.name] = value
    return values


def part_read(kind: type, value: Any, key: str) -> Any:
    """The table `[key]` as an object of this kind, which refuses keys that contradict each other
    with UsageError."""
    entry = table_read(value, key)
    with error_in(f"[{key}] "):
        return kind(**entry_read(entry, kind))


def parts_read(kind: type, value: Any, key: str) -> tuple[Any, ...]:
    return tuple(part_read(kind, entry, key) for entry in tables_read(value, key))


# The fields of texts and of one of several texts.
required = partial(key, string_read, "text")
optional = partial(required, default="")


def choice(choices: Collection[str], means: str = "", **default: Any) -> Any:
    type = " or ".join(choices) if len(choices) <= 2 else f"one of {', '.join(choices)}"
    return key(partial(choice_read, choices), type, means, **default)


def document_read(path: Path, kind: str, command: str) -> dict[str, Any]:
    """Reads a file of TOML. kind: of the file; command: lists the files of this kind that ship."""
    try:
        return tomllib.loads(path.read_bytes().decode())
    except OSError as error:
        raise UsageError(f"{path}: no {kind} can be read there: {error.strerror} "
                         f"({command} shows the names of those that ship)") from None
    except ValueError as error:
        raise UsageError(f"{path}: broken TOML: {error}") from None


def key_values(part: Any) -> dict[str, Any]:
    """The values of a part by key, but for those that are the default."""
    return {key: value for key, one in keys_of(part).items()
            if (value := getattr(part, one.name)) != one.default}


def table_lines(entries: dict[str, Any]) -> list[str]:
    """A table of texts, numbers and lists of texts as lines of TOML. Their JSON is TOML too, once
    DEL is escaped in it."""
    lines = []
    for key, value in entries.items():
        name = key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else json.dumps(key)
        text = json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
        lines.append(f"{name} = {text}")
    return lines
