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
from suite.base.words import words_text
from suite.contrast.contrast import STATUS_WHY, Unit, Verdict
from suite.contrast.verdicts import RatioRow, baseline_judged, rows_opposed
from suite.decide.optimum import (
    ALIKE,
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

VALUES_SHOWN = 4  # so many values of a word stand in a text, on each side of a baseline
PLACES_SHOWN = 4
Pairs = list[tuple[str | None, str]]  # as Pair in present/tables/model.py


def labelled(label: str, texts: Sequence[str]) -> Pairs:
    """The texts as lines, the first with the label."""
    return [(None if number else label, text) for number, text in enumerate(texts)]


def values_list(values: Sequence[str]) -> str:
    """At least one value in words: `64K`, `64K and 128K`, `64K, 128K and 256K`."""
    return " and ".join(filter(None, [", ".join(values[:-1]), values[-1]]))


def verb_text(values: Sequence[str], verb: str) -> str:
    """The values as the subject of a verb with {is} or {has}."""
    one = len(values) == 1
    return f"{values_list(values)} " + verb.format(
        **{"is": "is" if one else "are", "has": "has" if one else "have"})


def degrees_of(metric: Metric) -> tuple[str, str, str]:
    """How a metric is good, better and worse."""
    return ("fast", "faster", "slower") if metric.is_speed else ("good", "better", "worse")


def best_text(best: str, compared: BestRatio, metric: Metric) -> str:
    """How the best compares with its reference, without the full stop."""
    ratio, base, judged = compared.ratio, compared.reference, compared.judged
    good, better, _ = degrees_of(metric)
    if judged.verdict is Verdict.WITHHELD:
        why = STATUS_WHY[judged.contrast.status]
        return f"No difference between {best} and {base} is claimed: {why}"
    if ratio is None:
        return f"{best} and {base} have no ratio"
    if judged.verdict is Verdict.UNKNOWN:
        unit = judged.contrast.unit
        runs, needed = (unit.value, stats.SIDES_NEEDED) if unit is Unit.BOOT else (
            "round", max(stats.ROUNDS_NEEDED, stats.rounds_deciding(judged.family.tested)))
        return (f"{units.counted_text(ratio.pairs, runs)} cannot tell {best} from {base}: "
                f"it takes {needed}")
    texts = units.ratio_texts(*ratio.span)
    times = f"{texts[0]} {'as fast as' if metric.is_speed else 'better than'} {base}"
    return {
        Verdict.UNDECIDED: f"No difference found between {best} and {base}",
        Verdict.EQUIVALENT: f"{best} and {base} differ by less than the margin",
        Verdict.EXACT: f"{best} is exactly {f'as {good} as {base}' if ratio.value == 1 else times}",
        Verdict.CHANGED: f"{best} is {better} than {base}, but by how much is unknown"
                         if ratio.directed else
                         f"{best} is {times} {units.interval_text(texts)}".rstrip(),
    }[judged.verdict]


def others_texts(optimum: Optimum) -> list[str]:
    """How the values besides the best and its reference compare with the best and, if they are
    worse, with the baseline; may be empty."""
    compared, (good, better, worse) = optimum.best_ratio, degrees_of(optimum.metric)
    others = {value: mark for value, mark in optimum.marks.items()
              if value != optimum.best and not (compared and value == compared.reference)}
    base = compared.reference if compared and not optimum.is_baseline else ""
    than_best = f"{{is}} {worse} than {optimum.best}"
    verbs = {"alike": f"may be as {good}", "equal": f"{{is}} as {good}",
             "between": f"{than_best}, and {better} than {base}",
             "worst": f"{than_best}, and than {base}", "worse": than_best,
             "unknown": f"{{has}} no verdict against {optimum.best}"}

    def kind_of(value: str, mark: str) -> str:
        if mark == WORSE:
            return ("between" if base and value in optimum.better else
                    "worst" if base and value in optimum.worse else "worse")
        return ("equal" if optimum.rounds.get(value) == 0 else
                "alike" if mark == ALIKE else "unknown")

    kinds = grouped((kind_of(value, mark), value) for value, mark in others.items())
    if compared and compared.judged.verdict is Verdict.UNKNOWN:
        kinds.pop("unknown", None)  # the first sentence says so
    if len(others) > 1 and [*kinds] == ["worse"]:
        return [f"every other value is {worse}"]
    return [verb_text(kinds[kind], verb) for kind, verb in verbs.items() if kind in kinds]


def advice_text(optimum: Optimum) -> str:
    """Advises the smallest value that is better than the baseline and may be as good as the best
    (Optimum.alike). Where nothing is better than the baseline the advice is to keep what is there.

    A value that is no number (`default`) means that the program sets nothing. Empty if no value is
    a number, if Optimum.alike is empty, or if nothing is compared with a baseline.
    """
    sizes = {value: size for value in optimum.marks if (size := units.size_parse(value))}
    alike, compared = optimum.alike, optimum.best_ratio
    if compared and compared.judged.verdict is Verdict.UNDECIDED:
        return "Keep what you have."
    if not sizes or not alike:
        return ""
    unset = [value for value in alike if value not in sizes]
    if unset:
        return f"Leave it at {unset[0]}."
    better = [value for value in alike if value in optimum.better]
    least = min(better if optimum.best in better else alike, key=lambda value: sizes[value])
    base = f" and is better than {compared.reference}" if (
        compared and optimum.best in better) else ""
    why = (", the largest that was tried: more may be better still"
           if least == max(sizes, key=lambda value: sizes[value])
           else "" if least == optimum.best else f", the smallest that may be as good{base}")
    return f"Set {optimum.axis}={least}{why}."


def rounds_text(optimum: Optimum) -> str:
    """`83 rounds would tell`: the best from its reference; empty if that is decided."""
    compared = optimum.best_ratio
    if compared is None or compared.judged.verdict is not Verdict.UNDECIDED:
        return ""
    needed = optimum.rounds.get(compared.reference, math.inf)
    return (f"{needed:.0f} rounds would tell" if math.isfinite(needed) else
            f"{stats.ROUNDS_ADVISED} rounds would not tell")


def optimum_text(optimum: Optimum) -> str:
    """The sentences about one group."""
    best, compared, metric = optimum.best, optimum.best_ratio, optimum.metric
    name = f"{best}, the baseline," if optimum.is_baseline and compared and (
        compared.judged.verdict.claims) else best
    median = units.value_text(optimum.medians[best], metric.unit)
    first = (best_text(name, compared, metric) if compared else
             f"{name} is the only value with a good run ({median})")
    whys = grouped((why, value) for value, why in optimum.left_out.items())
    first = "; ".join(filter(None, (first, rounds_text(optimum))))
    sentences = [first, "; ".join(others_texts(optimum)),
                 *(f"{values_list(values)} {why}" for why, values in whys.items())]
    texts = [f"{text[0].upper() if text.startswith('every other ') else text[0]}{text[1:]}."
             for text in sentences if text]
    return " ".join(filter(None, (*texts, advice_text(optimum))))


def deciding_text(optimum: Optimum) -> str:
    """How many rounds would show the undecided differences: of the best from its reference, and
    from the other value that needs the fewest rounds. Empty if all are decided."""
    open_values, texts = {value: needed for value, needed in optimum.rounds.items() if needed}, []
    base = optimum.best_ratio.reference if optimum.best_ratio else ""
    if base in open_values:
        needed = open_values.pop(base)
        texts.append((f"rounds={needed:.0f} would" if math.isfinite(needed) else
                      f"rounds={stats.ROUNDS_ADVISED} would not")
                     + f" decide between {optimum.best} and {base}")
    needed, value = min((needed, value) for value, needed in [*open_values.items(), (
        "", math.inf)])
    if math.isfinite(needed):
        texts.append(f"rounds={needed:.0f} would decide between {optimum.best} and {value}")
    where = place_text(optimum.place)
    of = f" of {where}" if where else ""
    return f"{optimum.metric.name}{of}: {', '.join(texts)}" if texts else ""


def answers_pairs(answers: Sequence[Answer]) -> Pairs:
    """Every question with its sentences; several groups have a line each. Last, what no question
    asks about."""
    lines: list[str] = []
    for question, optima, why, varying, _ in answers:
        texts = [": ".join(filter(None, (
            words_text({key: optimum.place[key] for key in varying if optimum.place[key]}),
            optimum_text(optimum)))) for optimum in optima]
        lines += ([question.asks, *texts] if len(texts) > 1 else
                  [f"{question.asks} {(texts or [f'not answered: {why}.'])[0]}"])
    if omitted := places_omitted(answers):
        more = len(omitted) - PLACES_SHOWN
        lines.append(f"not answered, because no question asks: {'; '.join(omitted[:PLACES_SHOWN])}"
                     + (f"; and {more} more" if more > 0 else ""))
    return labelled("answer", lines)


def opposed_text(rows: Iterable[RatioRow], metric: Metric) -> str:
    """`depends on place: faster together, slower apart` if rows changed to opposite sides of their
    baseline; else empty. The named word is the first with no value on both sides."""
    better, worse = sides = rows_opposed(rows, metric)
    if not better:
        return ""
    axis = next((axis for axis in better[0] if {one[axis] for one in better}.isdisjoint(
        one[axis] for one in worse)), "")
    texts = []
    for side, name in zip(sides, degrees_of(metric)[1:], strict=True):
        values = list(dict.fromkeys(" ".join(value or "none" for value in (
            [one[axis]] if axis else one.values())) for one in side))
        more = f" and {len(values) - VALUES_SHOWN} more" if len(values) > VALUES_SHOWN else ""
        texts.append(f"{name} {', '.join(values[:VALUES_SHOWN])}{more}")
    separator = "; " if any("," in text for text in texts) else ", "
    return f"depends on {axis or 'the row'}: {separator.join(texts)}"


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
    costs = grouped(
        (place, f"{metric.name} {texts[0]} {units.interval_text(texts)}".rstrip())
        for place, metric, ratio in library_costs(matrix, metrics)
        for texts in [units.change_texts(*ratio.span)])
    return labelled("note", [
        f"the library of override= costs{' with ' if place else ''}{place}, none against off: "
        f"{', '.join(texts)}" for place, texts in costs.items()])


def deciding_pairs(answers: Sequence[Answer]) -> Pairs:
    """How many rounds would decide what the answers leave undecided."""
    texts = (deciding_text(optimum) for answer in answers for optimum in answer.optima)
    return labelled("to decide", list(dict.fromkeys(filter(None, texts))))
