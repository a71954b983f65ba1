# SPDX-License-Identifier: MIT
"""The answers of a result in words. Pure.

The first sentence says by how much the best value is better than the baseline. The second compares
the other values with the best, and those that are worse also with the baseline. The lines `to
decide` name differences that are undecided, and the number of rounds that would show them.
"""

import math
from collections.abc import Iterable, Sequence
from itertools import product

from suite import stats
from suite.base import grouped, units
from suite.base.text import listed_text
from suite.base.words import words_text
from suite.contrast.contrast import STATUS_WHY, Unit, Verdict
from suite.contrast.verdicts import RatioRow, baseline_judged, rows_opposed
from suite.decide.optimum import (
    UNKNOWN,
    WORSE,
    Answer,
    BestRatio,
    Optimum,
    library_costs,
    place_text,
    places_omitted,
)
from suite.observe.frame import Matrix
from suite.observe.metrics import Metric

Pairs = list[tuple[str | None, str]]  # as Pair in present/tables/model.py


def labelled(label: str, texts: Sequence[str]) -> Pairs:
    """The texts as lines, the first with the label."""
    return [(None if number else label, text) for number, text in enumerate(texts)]


def degrees_of(metric: Metric) -> tuple[str, str, str]:
    """How a metric is good, better and worse."""
    return ("fast", "faster", "slower") if metric.is_speed else ("good", "better", "worse")


def best_text(best: str, compared: BestRatio, metric: Metric) -> str:
    """How the best compares with its reference."""
    ratio, base, judged = compared.ratio, compared.reference, compared.judged
    verdict, (good, better, _) = judged.verdict, degrees_of(metric)
    if verdict is Verdict.WITHHELD:
        why = STATUS_WHY[judged.contrast.status]
        return f"No difference between {best} and {base} is claimed: {why}"
    if ratio is None:
        return f"{best} and {base} have no ratio"
    if verdict is Verdict.UNKNOWN:
        unit = judged.contrast.unit
        runs, needed = (unit.value, stats.SIDES_NEEDED) if unit is Unit.BOOT else (
            "round", max(stats.ROUNDS_NEEDED, stats.rounds_deciding(judged.family.tested)))
        return (f"{units.counted_text(ratio.pairs, runs)} cannot tell {best} from {base}: "
                f"it takes {needed}")
    if verdict is Verdict.UNDECIDED:
        return f"No difference found between {best} and {base}"
    if verdict is Verdict.EQUIVALENT:
        return f"{best} and {base} differ by less than the margin"
    if ratio.directed:
        return f"{best} is {better} than {base}, but by how much is unknown"
    exactly = "exactly " if verdict is Verdict.EXACT else ""
    if ratio.value == 1:
        return f"{best} is {exactly}as {good} as {base}"
    texts = units.ratio_texts(*ratio.span)
    times = f"{texts[0]} {'as fast as' if metric.is_speed else 'better than'} {base}"
    return f"{best} is {exactly}{times} {units.interval_text(texts)}".rstrip()


def others_texts(optimum: Optimum) -> list[str]:
    """The values besides the best and its reference, by how they compare with the best and, if they
    are worse, with the baseline: `slower than cork, faster than nodelay: more, writev`."""
    compared, (good, better, worse) = optimum.best_ratio, degrees_of(optimum.metric)
    base = compared.reference if compared and not optimum.is_baseline else ""

    def kind_of(value: str, mark: str) -> str:
        if mark == WORSE:
            side = (f", {better} than {base}" if base and value in optimum.better else
                    f" and {base}" if base and value in optimum.worse else "")
            return f"{worse} than {optimum.best}{side}"
        if mark == UNKNOWN:
            return f"no verdict against {optimum.best}"
        return f"as {good}" if optimum.rounds.get(value) == 0 else f"may be as {good}"

    told = {optimum.best, compared.reference if compared else ""}
    if compared and compared.judged.verdict is Verdict.UNKNOWN:  # the first sentence says so
        told.update(value for value, mark in optimum.marks.items() if mark == UNKNOWN)
    kinds = grouped((kind_of(value, mark), value) for value, mark in optimum.marks.items()
                    if value not in told)
    return [f"{kind}: {', '.join(values)}" for kind, values in kinds.items()]


def advice_text(optimum: Optimum) -> str:
    """Advises the smallest value that is better than the baseline and may be as good as the best
    (Optimum.alike). Where nothing is better than the baseline the advice is to keep what is there.

    A value that is no number (`default`) means that the program sets nothing. Empty if no value is
    a number, if Optimum.alike is empty, or if nothing is compared with a baseline.
    """
    sizes = {value: size for value in optimum.marks if (size := units.size_parse(value))}
    alike, compared = optimum.alike, optimum.best_ratio
    if compared and compared.judged.verdict is Verdict.UNDECIDED:
        return "Keep what you have"
    if not sizes or not alike:
        return ""
    unset = [value for value in alike if value not in sizes]
    if unset:
        return f"Leave it at {unset[0]}"
    better = [value for value in alike if value in optimum.better]
    least = min(better if optimum.best in better else alike, key=lambda value: sizes[value])
    why = (", the largest that was tried: more may be better still"
           if least == max(sizes, key=lambda value: sizes[value])
           else "" if least == optimum.best else ", the smallest that may be as good")
    return f"Set {optimum.axis}={least}{why}"


def optimum_text(optimum: Optimum) -> str:
    """The sentences about one group."""
    best, compared, metric = optimum.best, optimum.best_ratio, optimum.metric
    name = f"{best}, the baseline," if optimum.is_baseline and compared and (
        compared.judged.verdict.claims) else best
    median = units.value_text(optimum.medians[best], metric.unit)
    first = (best_text(name, compared, metric) if compared else
             f"{name} is the only value with a good run ({median})")
    if compared and compared.judged.verdict is Verdict.UNDECIDED:
        first += f"; {rounds_text(optimum.rounds.get(compared.reference, math.inf))}"
    whys = grouped((why, value) for value, why in optimum.left_out.items())
    others = [*others_texts(optimum), *(f"{why}: {', '.join(values)}"
                                        for why, values in whys.items()), advice_text(optimum)]
    return " ".join(f"{text}." for text in [
        first, *(text[0].upper() + text[1:] for text in others if text)])


def rounds_text(needed: float) -> str:
    """How many rounds would show a difference, or that not even ROUNDS_ADVISED would."""
    return (f"{needed:.0f} rounds would tell" if needed <= stats.ROUNDS_ADVISED else
            f"{stats.ROUNDS_ADVISED} rounds would not tell")


def answers_pairs(answers: Sequence[Answer]) -> Pairs:
    """Every question with its sentences; several groups have a line each. Last, what no question
    asks about."""
    lines: list[str] = []
    for question, optima, why, varying, _ in answers:
        texts = [": ".join(filter(None, (
            place_text({key: optimum.place[key] for key in varying}), optimum_text(optimum))))
            for optimum in optima]
        lines += ([question.asks, *texts] if len(texts) > 1 else
                  [f"{question.asks} {(texts or [f'not answered: {why}.'])[0]}"])
    if omitted := places_omitted(answers):
        lines.append(f"not answered, because no question asks: {listed_text(omitted, '; ')}")
    return labelled("answer", lines)


def opposed_text(rows: Iterable[RatioRow], metric: Metric) -> str:
    """`depends on place: faster together; slower apart` if rows changed to opposite sides of their
    baseline; else empty. The named word is the first with no value on both sides."""
    better, worse = sides = rows_opposed(rows, metric)
    if not better:
        return ""
    axis = next((axis for axis in better[0] if {one[axis] for one in better}.isdisjoint(
        one[axis] for one in worse)), "")
    texts = []
    for side, name in zip(sides, degrees_of(metric)[1:], strict=True):
        values = dict.fromkeys(" ".join(value or "none" for value in (
            [one[axis]] if axis else one.values())) for one in side)
        texts.append(f"{name} {listed_text([*values])}")
    return f"depends on {axis or 'the row'}: {'; '.join(texts)}"


def opposed_pairs(matrix: Matrix, metrics: Iterable[Metric]) -> Pairs:
    """Notes on values that are better than the baseline in some rows, and worse in others."""
    base = matrix.baseline
    rows: dict[tuple[Metric, str], list[RatioRow]] = grouped((
        (metric, words_text({key: cell.axes[key] for key in base})),
        ({key: value for key, value in cell.axes.items() if key not in base},
         baseline_judged(matrix, cell, metric.name)))
        for metric, cell in product(metrics, matrix.cells.values()))
    return labelled("note", [
        f"{metric.name} of {value} against {words_text(base)} {text}."
        for (metric, value), found in rows.items() if (text := opposed_text(found, metric))])


def library_pairs(matrix: Matrix, metrics: Sequence[Metric]) -> Pairs:
    """Notes on what the library of override= costs."""
    found = []
    for place, metric, ratio in library_costs(matrix, metrics):
        texts = units.change_texts(*ratio.span)
        found.append((place, f"{metric.name} {texts[0]} {units.interval_text(texts)}".rstrip()))
    return labelled("note", [
        f"the library of override= costs{' with ' if place else ''}{place}, none against off: "
        f"{', '.join(texts)}" for place, texts in grouped(found).items()])


def deciding_pairs(answers: Sequence[Answer]) -> Pairs:
    """How many rounds would tell the best of each group from the undecided value that needs the
    fewest, besides its reference, of which the answer says so."""
    lines = []
    for optimum in (optimum for answer in answers for optimum in answer.optima):
        reference = optimum.best_ratio.reference if optimum.best_ratio else ""
        needs = {value: needed for value, needed in optimum.rounds.items()
                 if 0 < needed < math.inf and value != reference}
        if needs:
            value, where = min(needs, key=needs.__getitem__), place_text(optimum.place)
            lines.append(f"{optimum.metric.name}{' of ' if where else ''}{where}: "
                         f"{rounds_text(needs[value])} {optimum.best} from {value}")
    return labelled("to decide", list(dict.fromkeys(lines)))
