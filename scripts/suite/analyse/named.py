# SPDX-License-Identifier: MIT
"""Which cells a claim names: of a plan before it runs, and of a result. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from suite.analyse.expressions import Reference, claim_parse, references_of
from suite.base.errors import UsageError
from suite.base.runner_words import BUILD, TARGET
from suite.base.units import counted_text
from suite.base.words import words_split, words_text
from suite.result.plan import Plan
from suite.scenario.scenario import Claim, Scenario

WordsByCell = Mapping[str, Mapping[str, str]]  # all words of each cell, by its name


class Named(NamedTuple):
    """The names of the cells that a reference may mean; without any the reason. axis: one that
    varies and is not named. unknown: a word that no cell has."""

    cells: tuple[str, ...]
    why: str = ""
    axis: str = ""
    unknown: str = ""


def no_cell_why(selector: Mapping[str, str], cells: WordsByCell, excludes: Iterable[str]) -> str:
    """Why no cell has all of these words, each of which some cell has a value of. excludes: the
    rules of the scenario that leave cells out."""
    for key, value in selector.items():
        values = dict.fromkeys(words[key] for words in cells.values() if key in words)
        if value not in values:
            return f"{key}={value} was not run, only {key}={','.join(values)}"
    rules = (text for text in excludes
             if words_split(text.split(), "exclude: ").items() <= selector.items())
    rule = next(rules, "")
    return f'exclude = "{rule}" leaves them out' if rule else (
        f"no cell has {words_text(selector)} together")


def cells_named(reference: Reference, cells: WordsByCell, axes: Sequence[str],
                excludes: Iterable[str] = ()) -> Named:
    """The cells that a reference may mean: one, or those whose best is searched. excludes: as in
    no_cell_why()."""
    wanted = words_split(reference.words.split(), f"{reference.text}: ")
    for key in wanted:
        if not any(key in words for words in cells.values()):
            return Named((), f"{reference.text}: no cell has the word {key}", unknown=key)
    selector = {key: value for key, value in wanted.items() if key not in reference.searched}
    found = tuple(name for name, words in cells.items() if selector.items() <= words.items())
    for axis in axes:
        values = list(dict.fromkeys(cells[name].get(axis, "") for name in found))
        if axis not in wanted and len(values) > 1:
            return Named((), f"{reference.text}: {axis} varies and is not named; it is one of "
                             f"{', '.join(value or 'none' for value in values)}", axis)
    return Named(found if reference.searched else found[:1],
                 "" if found else no_cell_why(selector, cells, excludes))


def claim_places(claim: Claim, cells: WordsByCell, axes: Sequence[str]) -> tuple[str, ...]:
    """The words of the targets and builds that a claim is about one by one; one empty text where it
    names its own, or there is only one."""
    named = {key for name in references_of(claim_parse(claim.that))
             for key in words_split(name.words.split(), f"{name.text}: ")}
    keys = [key for key in (TARGET, BUILD) if key in axes and key not in named]
    return tuple(dict.fromkeys(words_text({key: words[key] for key in keys if key in words})
                               for words in cells.values()))


def claims_check(scenario: Scenario, path: Path, plan: Plan, overridden: bool) -> list[str]:
    """A note for each axis of the shell that leaves claims undecided.

    UsageError for a claim that the scenario itself leaves undecided: it does not name a swept word,
    or names one that no cell has. overridden: whether words of the shell change cells.
    """
    cells, unnamed = {cell.name: cell.all_words for cell in plan.cells}, dict[str, set[Claim]]()
    for claim in scenario.claims:
        for where in claim_places(claim, cells, plan.axes):
            for reference in references_of(claim_parse(claim.that, where)):
                named = cells_named(reference, cells, plan.axes)
                if named.axis in scenario.sweep or (named.unknown and not overridden):
                    raise UsageError(f'{path}: [claim] that "{claim.that}": {named.why}')
                if named.axis:
                    unnamed.setdefault(named.axis, set()).add(claim)
    return [f"{axis} varies: {counted_text(len(claims), 'claim')} of the scenario cannot be "
            "decided without it" for axis, claims in unnamed.items()]
