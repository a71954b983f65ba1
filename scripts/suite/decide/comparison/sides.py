# SPDX-License-Identifier: MIT
"""The sides of a comparison, from the words of a command line, and its metrics.

Two selectors that give one word two values are the two sides. One that gives a word of the baseline
another value is compared with the baseline. All others narrow both sides. Without the first two
kinds, the baseline is compared with each other value of its words, or in a result of several
systems the first system with each other one.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import combinations

from suite.base import grouped
from suite.base.errors import UsageError
from suite.base.runner_words import BUILD, TARGET
from suite.base.words import names_split, word_split, words_split
from suite.observe.frame import Matrix
from suite.observe.metrics import METRICS, Metric, metric_find
from suite.observe.selection import Selection, cells_select, layout_choose, left_out_text

WordsPair = tuple[Selection, Selection]  # base and new


def words_compared(base: Selection, new: Selection) -> tuple[str, ...]:
    """The words that both have, with different values."""
    return tuple(key for key, value in base.items() if key in new and new[key] != value)


def words_join(selectors: Iterable[Selection]) -> dict[str, str]:
    """All words of these selectors; UsageError if they contradict each other."""
    joined: dict[str, str] = {}
    for selector in selectors:
        for key in words_compared(selector, joined):
            raise UsageError(f'"{key}={joined[key]}" and "{key}={selector[key]}": '
                             "a comparison has two sides, not more")
        joined |= selector
    return joined


def baseline_others(matrix: Matrix, base: Selection, narrow: Selection) -> list[dict[str, str]]:
    """The values of the baseline's words, except its own, in the cells that narrow selects."""
    values = dict.fromkeys(tuple(cell.axes[axis] for axis in base)
                           for cell in cells_select(matrix, narrow))
    return [dict(zip(base, value, strict=True)) for value in values
            if value != tuple(base.values()) and "" not in value]


def first_system(matrix: Matrix, words: Selection) -> Selection | None:
    """The first target of a result with several, else the first build. None without several, for a
    fleet, whose pairs are the same system, or if words have a word of the baseline."""
    word = next((word for word in (TARGET, BUILD) if word in matrix.axes), None)
    if word is None or matrix.result.plan.hosts or matrix.baseline.keys() & words.keys():
        return None
    return {word: next(cell.words[word] for cell in matrix.cells.values() if word in cell.words)}


def sides_chosen(matrices: Sequence[Matrix], arguments: Sequence[str], where: str
                 ) -> list[WordsPair]:
    """The pairs of sides that the arguments select: within one result if there is anything to
    compare; of two results one pair. UsageError if two arguments are the same, for a word with more
    than two values, and within one result for a word or value that no cell has."""
    selectors: list[Selection] = [words_split(argument.split(), f"{where}: ")
                                  for argument in arguments]
    for number, selector in enumerate(selectors):
        if selector in selectors[:number]:
            raise UsageError(f'"{arguments[number]}" is given twice: the two sides must differ')
        if len(matrices) == 1:
            cells_select(matrices[0], selector)
    for one, two in combinations(selectors, 2):
        if words_compared(one, two):
            others = [other for other in selectors if other not in (one, two)]
            return [(words_join([one, *others]), words_join([two, *others]))]
    words = words_join(selectors)
    if len(matrices) > 1:
        return [(words, words)]
    base = first_system(matrices[0], words) or matrices[0].baseline
    new = {key: words[key] for key in base if key in words}
    narrow = {key: value for key, value in words.items() if key not in base}
    news = [new] if new and new.keys() == base.keys() and new != base else baseline_others(
        matrices[0], base, narrow)
    return [({**base, **narrow}, {**new, **narrow}) for new in news]


def sides_left_out(matrix: Matrix, arguments: Sequence[str], within: bool) -> str:
    """How many cells of a result are on no side of these selectors; empty if there are none.
    within: the baseline is a side too if the selectors give its word one value."""
    wanted = grouped((key, one) for key, value in map(word_split, " ".join(arguments).split())
                     for one in value.split(","))
    for key, value in matrix.baseline.items() if within else ():
        if len(set(wanted.get(key, ()))) == 1 and value not in wanted[key]:
            wanted[key].insert(0, value)
    shown = {name: cell for name, cell in matrix.cells.items()
             if all(cell.words.get(key) in values for key, values in wanted.items())}
    return left_out_text(replace(matrix, cells=shown, narrowed_from=matrix),
                         {key: ",".join(dict.fromkeys(values)) for key, values in wanted.items()})


def declared_read(own: Mapping[str, str], results: int) -> tuple[tuple[str, ...], bool]:
    """The names of axis=NAME,..., and whether geomean=all is given. own: the words of the command.
    UsageError for axis= within one result, and for another value of geomean=."""
    axis, geomean = own.get("axis"), own.get("geomean")
    if axis and results == 1:
        raise UsageError(
            f"axis={axis} is for two results: within one result, name the words of both sides")
    if geomean not in (None, "all"):
        raise UsageError(f'"geomean={geomean}": geomean=all is the only value: the geometric mean '
                         "of all rows, exact counts and rows that wait for a timer too")
    return names_split("axis", axis) if axis else (), geomean is not None


def metrics_choose(matrix: Matrix, asked: str | None) -> tuple[Metric, ...]:
    """The metrics of columns=METRIC,... Without it the first metric of the result's table; with
    several targets, or if some times are emulated, all metrics of the table."""
    if asked is not None:
        return tuple(metric_find(name, "columns") for name in names_split("columns", asked))
    shown = layout_choose(matrix, matrix.result.scenario.table).metrics
    several = TARGET in matrix.axes or any(cell.emulated for cell in matrix.cells.values())
    return tuple(METRICS[name] for name in (shown if several else shown[:1]))
