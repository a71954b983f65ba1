# SPDX-License-Identifier: MIT
"""`key=value` as it is typed, in one place: words, lists of names, and the arguments of a command
that reads results. What a word means uncork-client or a result knows."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from suite.base.errors import UsageError


def word_split(text: str, where: str = "") -> tuple[str, str]:
    """`key=value` as a pair; UsageError, which begins with where, if one of both is missing."""
    key, _, value = text.partition("=")
    if not (key and value):
        raise UsageError(f'{where}"{text}" is not a word: words are key=value')
    return key, value


def words_split(texts: Iterable[str], where: str = "") -> dict[str, str]:
    """Words by key, in order; UsageError where one is given twice."""
    words: dict[str, str] = {}
    for text in texts:
        key, value = word_split(text, where)
        if key in words:
            raise UsageError(
                f'{where}{key} is given twice: "{key}={words[key]}" and "{key}={value}"')
        words[key] = value
    return words


def words_text(words: Mapping[str, str]) -> str:
    return " ".join(f"{key}={value}" for key, value in words.items())


def names_split(key: str, value: str) -> tuple[str, ...]:
    """The names of `key=one,two`; UsageError for an empty one, or one that is given twice."""
    names = tuple(value.split(","))
    if "" in names or len(set(names)) < len(names):
        raise UsageError(
            f'"{key}={value}": {"an empty name" if "" in names else "a name is given twice"}')
    return names


class Arguments(NamedTuple):
    """The arguments of a command that reads results: folders, selectors of cells as they are typed
    (one may hold several words), and the words of the command itself."""

    folders: tuple[Path, ...]
    selectors: tuple[str, ...]
    own: Mapping[str, str]

    @property
    def words(self) -> dict[str, str]:
        """All selectors together; UsageError where two of them give one word."""
        return words_split(" ".join(self.selectors).split())


def arguments_sort(result: Path, given: Sequence[str], own: Iterable[str] = (),
                   pair: bool = False) -> Arguments:
    """What stands behind the folder of a result, by what it is; own: words that select no cells.
    pair: what has no `=`, or is there, is the folder of another result; UsageError for a third."""
    others = [text for text in given if pair and ("=" not in text or Path(text).is_dir())]
    if others[1:]:
        raise UsageError(f'"{others[1]}": there are two results, not more')
    words = [text for text in given if text not in others]
    found = words_split(word for word in words if word.partition("=")[0] in own)
    selectors = tuple(word for word in words if word.partition("=")[0] not in own)
    return Arguments((result, *map(Path, others)), selectors, found)
