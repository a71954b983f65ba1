# SPDX-License-Identifier: MIT
"""The answers of a result: the scenario's claims in words, and sentences for each [[answer]].

The first sentence says by how much the best value is better than the baseline, with the verdict of
the tables. The second compares the other values with the best; their ratios are another family. The
lines `to decide` name differences that noise hides, and the number of rounds that would show them.
"""

import math
from collections.abc import Iterable, Sequence
from itertools import product
from typing import NamedTuple

from suite import stats
from suite.analyse.frame import Matrix
from suite.analyse.metrics import Metric, metric_find
from suite.analyse.optimum import ALIKE, UNKNOWN, WORSE, BestRatio, Optimum, optima_build
from suite.analyse.verdicts import RatioRow, Verdict, baseline_ratio, baseline_verdict, opposed_text
from suite.base import grouped
from suite.base.runner_words import NO_CHANGE, NOT_LOADED, OVERRIDE
from suite.base.units import (
    change_texts,
    counted_text,
    interval_text,
    noise_text,
    ratio_texts,
    size_parse,
    value_text,
)
from suite.base.words import words_split, words_text
from suite.scenario.scenario import Question

Pairs = list[tuple[str | None, str]]  # as Pair in present/tables/model.py


class Answer(NamedTuple):
    """A question, each group's optimum or why there is none. varying: words that name groups."""

    question: Question
    optima: tuple[Optimum, ...]
    why: str = ""
    varying: tuple[str, ...] = ()


def labelled(label: str, texts: Sequence[str]) -> Pairs:
    """The texts as lines, the first with the label."""
    return [(None if number else label, text) for number, text in enumerate(texts)]


def values_list(values: Sequence[str]) -> str:
    """At least one value in words: `64K`, `64K and 128K`, `64K, 128K and 256K`."""
    return " and ".join(filter(None, [", ".join(values[:-1]), values[-1]]))


def best_text(best: str, compared: BestRatio, metric: Metric) -> str:
    """How the best compares with its reference, without the full stop."""
    ratio, base, verdict = compared.ratio, compared.reference, compared.verdict
    first = f"{best} seems best, but"
    if ratio is None:
        return f"{first} shares no good round with {base}"
    faster, than = ("faster", "as fast as") if metric.is_speed else ("better", "better than")
    texts = ratio_texts(*ratio.span)
    interval = f" {interval_text(texts)}".rstrip()
    if verdict is Verdict.SAME or (ratio.value < 1 and verdict.doubtful):
        figures = "" if ratio.directed else f": {texts[0]}{interval}"
        return f"{first} noise hides its difference from {base}{figures}"
    much = f"{texts[0]} {than} {base}{interval}"
    if ratio.directed:
        much = f"{faster} than {base}"
    if verdict is Verdict.UNKNOWN:
        runs, needed = (("round", stats.ROUNDS_NEEDED) if compared.shared else
                        ("boot", stats.SIDES_NEEDED))
        few = f"{counted_text(ratio.pairs, runs)} cannot tell: it takes {needed}"
        return f"{first} {few}" if ratio.value < 1 else f"{best} seems {much}, but {few}"
    if ratio.value < 1:  # Optimum.circular
        return (f"no value is best, each has a better one: round by round {base} is {faster} than "
                f"{best.rstrip(',')}, which has the best median")
    if verdict is Verdict.EXACT:
        return f"{best} is exactly " + (f"as {'fast' if metric.is_speed else 'good'} as {base}"
                                        if ratio.value == 1 else f"{texts[0]} {than} {base}")
    if verdict is Verdict.CHANGED:
        return f"{best} is {much}" + ", but by how much is unknown" * ratio.directed
    return f"{best} seems {much}, but " + (
        f"the noise floor is {noise_text(compared.floor or 1.0)}"
        if verdict is Verdict.WITHIN_NOISE else f"among {compared.tested} rows that may be chance")


def others_text(optimum: Optimum) -> str:
    """How the values besides the best and its reference compare with the best; may be empty."""
    compared = optimum.best_ratio
    others = {value: mark for value, mark in optimum.marks.items()
              if value != optimum.best and not (compared and value == compared.reference)}
    worse, good = ("slower", "fast") if optimum.metric.is_speed else ("worse", "good")
    if optimum.circular:
        return ""
    if others and optimum.unique and not optimum.left_out:
        return f"every other value is {worse}"
    verbs = {"may be as " + good: [value for value, mark in others.items()
                                   if mark == ALIKE and optimum.rounds.get(value) != 0],
             "{is} as " + good: [value for value in others if optimum.rounds.get(value) == 0],
             f"{{is}} {worse} than {optimum.best}": [
                 value for value, mark in others.items() if mark == WORSE],
             f"{{has}} too few rounds to compare with {optimum.best}": [
                 value for value, mark in others.items() if mark == UNKNOWN
                 and not (compared and compared.verdict is Verdict.UNKNOWN)]}
    return "; ".join(
        f"{'the others' if 1 < len(values) == len(others) else values_list(values)} "
        + verb.format(**({"is": "is", "has": "has"} if len(values) == 1
                         else {"is": "are", "has": "have"}))
        for verb, values in verbs.items() if values)


def advice_text(optimum: Optimum) -> str:
    """Advises the smallest value that may be as good as the best (Optimum.alike). If the best is
    better than the baseline, the advised value is too: noise must not make the advice smaller.

    A value that is no number (`default`) means that the program sets nothing. If it may be as good
    as the best, the advice is to leave it. Empty if no value is a number, or Optimum.alike is.
    """
    sizes = {value: size for value in optimum.marks if (size := size_parse(value)) is not None}
    alike = optimum.alike
    unset = [value for value in alike if value not in sizes]
    if not sizes or not alike:
        return ""
    if unset:
        return f"Leave it at {unset[0]}" + ("." if optimum.best in unset else
                                            ": noise hides what the others gain.")
    better = [value for value in alike if value in optimum.better]
    least = min(better if optimum.best in better else alike, key=lambda value: sizes[value])
    base = f" and is better than {optimum.best_ratio.reference}" if (
        optimum.best_ratio and optimum.best in better) else ""
    why = (", the largest that was tried: more may be better still"
           if least == max(sizes, key=lambda value: sizes[value])
           else "" if least == optimum.best else f", the smallest that may be as good{base}")
    return f"Set {optimum.axis}={least}{why}."


def optimum_text(optimum: Optimum) -> str:
    """The sentences about one group."""
    best, compared, metric = optimum.best, optimum.best_ratio, optimum.metric
    name = f"{best}, the baseline," if optimum.is_baseline else best
    median = value_text(optimum.medians[best], metric.unit)
    first = (best_text(name, compared, metric) if compared else
             f"{name} is the only value with a good run ({median})")
    whys = grouped((why, value) for value, why in optimum.left_out.items())
    sentences = [first, others_text(optimum),
                 *(f"{values_list(values)} {why}" for why, values in whys.items())]
    words = ("the others ", "every other ", "no value ")  # others begin with a value, kept as it is
    texts = [f"{text[0].upper() if text.startswith(words) else text[0]}{text[1:]}."
             for text in sentences if text]
    return " ".join(filter(None, (*texts, advice_text(optimum))))


def deciding_text(optimum: Optimum) -> str:
    """How many rounds would show the differences that noise hides: of the best from its reference,
    and from the other value that needs the fewest rounds. Empty if noise hides nothing."""
    hidden, texts = {value: needed for value, needed in optimum.rounds.items() if needed}, []
    base = optimum.best_ratio.reference if optimum.best_ratio else ""
    if base in hidden:
        needed = hidden.pop(base)
        texts.append((f"rounds={needed} would" if math.isfinite(needed) else
                      f"rounds={stats.ROUNDS_ADVISED} would not")
                     + f" decide between {optimum.best} and {base}")
    needed, value = min((needed, value) for value, needed in [*hidden.items(), ("", math.inf)])
    if math.isfinite(needed):
        texts.append(f"rounds={needed} would decide between {optimum.best} and {value}")
    where = words_text({key: value for key, value in optimum.place.items() if value})
    of = f" of {where}" if where else ""
    return f"{optimum.metric.name}{of}: {', '.join(texts)}" if texts else ""


def question_answer(matrix: Matrix, question: Question) -> Answer:
    """The answer to a question, for the groups with its words whose cells are all shown."""
    wanted = words_split(question.where.split(), f"[answer] where {question.where}: ")
    if question.word not in matrix.axes:
        return Answer(question, (), f"{question.word} does not vary here")
    places = [{key: value for key, value in cell.axes.items() if key != question.word}
              for cell in matrix.whole.cells.values() if wanted.items() <= cell.words.items()]
    metric = metric_find(question.metric, "scenario.toml: [answer] metric")
    optima = tuple(optimum for optimum in optima_build(matrix, question.word, metric)
                   if optimum.place in places and optimum.medians.keys() <= {
                       cell.axes[question.word] for cell in matrix.cells.values()
                       if optimum.place.items() <= cell.axes.items()})
    return Answer(question, optima, "" if optima else f"no cell here has {question.metric}"
                  + (f" with {question.where}" if wanted else ""),
                  tuple(key for key in matrix.axes if key != question.word
                        and len({place[key] for place in places}) > 1))


def answers_decide(matrix: Matrix, *more: Question) -> list[Answer]:
    """The answers to all questions of the scenario, in order, and to further ones that it does not
    ask. A narrowed matrix leaves out questions about cells that it does not show."""
    asked = matrix.result.scenario.answers
    known = {(question.word, question.metric, question.where) for question in asked}
    answers = [question_answer(matrix, question) for question in (
        *asked, *(one for one in more if (one.word, one.metric, one.where) not in known))]
    return [answer for answer in answers if answer.optima or matrix.narrowed_from is None]


def answers_pairs(answers: Sequence[Answer]) -> Pairs:
    """Every question with its sentences; several groups have a line each."""
    lines: list[str] = []
    for question, optima, why, varying in answers:
        texts = [": ".join(filter(None, (
            words_text({key: optimum.place[key] for key in varying if optimum.place[key]}),
            optimum_text(optimum)))) for optimum in optima]
        lines += ([question.asks, *texts] if len(texts) > 1 else
                  [f"{question.asks} {(texts or [f'not answered: {why}.'])[0]}"])
    return labelled("answer", lines)


def opposed_pairs(matrix: Matrix, metrics: Iterable[Metric]) -> Pairs:
    """Notes on values that are better than the baseline in some rows, and worse in others."""
    base = matrix.baseline
    rows: dict[tuple[Metric, str], list[RatioRow]] = grouped((
        (metric, words_text({key: cell.axes[key] for key in base})),
        ({key: value for key, value in cell.axes.items() if key not in base},
         baseline_ratio(matrix, cell, metric.name), baseline_verdict(matrix, cell, metric.name)))
        for metric, cell in product(metrics, matrix.cells.values()))
    return labelled("note", [
        f"{metric.name} of {value} against {words_text(base)} {text}."
        for (metric, value), found in rows.items() if (text := opposed_text(found, metric))])


def library_pairs(matrix: Matrix, metrics: Sequence[Metric]) -> Pairs:
    """Notes on what the library of override= costs: each cell in which it is loaded and changes
    nothing, compared with the cell without it, by all timed metrics."""
    texts = []
    for cell in matrix.cells.values():
        base = matrix.baseline_find(cell, {OVERRIDE: NOT_LOADED})
        if base is None or cell.axes.get(OVERRIDE) != NO_CHANGE:
            continue
        costs = [f"{metric.name} {one} {interval_text([one, *ends])}".rstrip()
                 for metric in metrics if metric.timed
                 if (ratio := matrix.ratio_between(cell, base, metric.name))
                 for one, *ends in [change_texts(*ratio.span)]]
        place = words_text({key: value for key, value in cell.axes.items()
                            if key != OVERRIDE and value})
        if costs:
            texts.append(f"the library of override= costs{' with ' if place else ''}{place}, none "
                         f"against off: {', '.join(costs)}")
    return labelled("note", texts)


def deciding_pairs(answers: Sequence[Answer]) -> Pairs:
    """How many rounds would decide what the answers leave undecided."""
    texts = (deciding_text(optimum) for answer in answers for optimum in answer.optima)
    return labelled("to decide", list(dict.fromkeys(filter(None, texts))))
