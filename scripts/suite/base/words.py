# SPDX-License-Identifier: MIT
"""Splits what users type: `key=value`, lists of names, and the arguments of commands that read
results. This module does not know which words there are."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from suite.base.errors import UsageError


def word_split(text: str, where: str = "") -> tuple[str, str]:
    """`key=value` as a pair; UsageError if key or value is missing. where: begins the message."""
    key, _, value = text.partition("=")
    if not (key and value):
        raise UsageError(f'{where}"{text}" is not a word: words are key=value')
    return key, value


def words_split(texts: Iterable[str], where: str = "") -> dict[str, str]:
    """Words by key, in order; UsageError if one is given twice."""
    words: dict[str, str] = {}
    for text in texts:
        key, value = word_split(text, where)
        if key in words:
            raise UsageError(
                f'{where}{key} is given twice: "{key}={words[key]}" and "{key}={value}"')
        words[key] = value
    return words


def word_list(words: Mapping[str, str]) -> list[str]:
    return [f"{key}={value}" for key, value in words.items()]


def words_text(words: Mapping[str, str]) -> str:
    return " ".join(word_list(words))


def names_split(key: str, value: str) -> tuple[str, ...]:
    """The names in `key=one,two`; UsageError if one is empty or given twice."""
    names = tuple(value.split(","))
    if "" in names or len(set(names)) < len(names):
        raise UsageError(
            f'"{key}={value}": {"an empty name" if "" in names else "a name is given twice"}')
    return names


class Arguments(NamedTuple):
    """The arguments of a command that reads results. folders: of the results; selectors: words that
    select cells, as typed (one text may have several words); own: other words of the command."""

    folders: tuple[Path, ...]
    selectors: tuple[str, ...]
    own: Mapping[str, str]

    @property
    def words(self) -> dict[str, str]:
        """The words of all selectors; UsageError if two of them have the same word."""
        return words_split(" ".join(self.selectors).split())


def arguments_sort(result: Path, given: Sequence[str], own: Iterable[str] = (),
                   pair: bool = False) -> Arguments:
    """Sorts the arguments after the first result. own: words that select no cells. pair: whether an
    argument may be a second result: it has no `=` or is a folder; UsageError for a third."""
    others = [text for text in given if pair and ("=" not in text or Path(text).is_dir())]
    if others[1:]:
        raise UsageError(f'"{others[1]}": there are two results, not more')
    words = [text for text in given if text not in others]
    found = words_split(word for word in words if word.partition("=")[0] in own)
    selectors = tuple(word for word in words if word.partition("=")[0] not in own)
    return Arguments((result, *map(Path, others)), selectors, found)
