# SPDX-License-Identifier: MIT
"""What a result answers: the scenario's claims in words, and a sentence for each [[answer]].

A sentence says which value is best, by how much against the baseline, how sure that is, and how
many rounds would decide what is not.
"""

from __future__ import annotations

from typing import NamedTuple

from suite.analyse.claims import claims_decide
from suite.analyse.frame import Cell, Matrix, baseline_find, baseline_words, words_match
from suite.analyse.metrics import Metric, metric_find
from suite.analyse.optimum import (
    Optimum,
    better_ratio,
    group_text,
    is_speed,
    optima_build,
    optimum_text,
    rounds_advice,
    rounds_to_tell,
)
from suite.analyse.verdicts import Verdict, baseline_family, baseline_ratio, baseline_verdict
from suite.base.units import counted_text, interval_text, number_text, ratio_texts
from suite.base.words import words_split
from suite.scenario.scenario import Question

OUTCOMES = {"ok": "holds", "not ok": "does not hold", "undecided": "undecided"}
Pairs = list[tuple[str, str]]


class Answer(NamedTuple):
    """A question with the best value of each group and its sentence; without any the reason."""

    question: Question
    groups: tuple[tuple[Optimum, str], ...]
    why: str = ""


def claims_pairs(matrix: Matrix) -> Pairs:
    """Every claim in words with its verdict, and what was measured where it does not hold. Claims
    about cells that this result does not have are only counted."""
    verdicts = claims_decide(matrix)
    told = [f"{OUTCOMES[verdict.outcome]}: {verdict.claim.says}"
            + ("" if verdict.outcome == "ok" else f" ({'; '.join(verdict.remarks)})")
            for verdict in verdicts if not verdict.absent]
    absent = len(verdicts) - len(told)
    if absent:
        told.append(f"{counted_text(absent, 'claim')} about cells that this result does not have")
    return [("" if number else "claims", text) for number, text in enumerate(told)]


def cell_of(matrix: Matrix, optimum: Optimum, axis: str, value: str) -> Cell:
    """The cell of a group that has this value."""
    words = {**optimum.place, axis: value}
    return matrix.whole.cells_at[tuple(words[key] for key in matrix.axes)]


def sure_text(matrix: Matrix, best: Cell, base: Cell, metric: str) -> str:
    """How sure it is that a cell differs from its baseline."""
    verdict, family = baseline_verdict(matrix, best, metric), baseline_family(matrix, metric)
    if verdict is Verdict.EXACT:
        return "the same count in every run"
    if verdict is Verdict.CHANGED:
        return (f"sure: p={number_text(family.adjusted[best.name], 2)}, corrected for "
                f"{counted_text(family.tested, 'row')}")
    needed = rounds_advice(rounds_to_tell(matrix, best, base, metric, family.tested))
    why = {Verdict.BRACKETED: f"which may be chance among {counted_text(family.tested, 'row')}",
           Verdict.UNKNOWN: "too few rounds to say"}
    return f"{why.get(verdict or Verdict.SAME, 'which noise hides')}: {needed}"


def against_text(matrix: Matrix, best: Cell, base: Cell, axis: str, metric: Metric) -> str:
    """How a cell compares with its baseline: by how much, with the interval, and how sure."""
    ratio = baseline_ratio(matrix, best, metric.name)
    if ratio is None:
        return ""
    better = better_ratio(ratio, metric)
    texts = ratio_texts(*better.span)
    within = f" {interval_text(texts)}".rstrip()
    than = "as fast as" if is_speed(metric) else "better than"
    taken = "" if better.value > 1 else "but round by round "  # medians say otherwise
    return (f", {taken}{texts[0]} {than} {axis}={base.axes[axis]}{within}, "
            f"{sure_text(matrix, best, base, metric.name)}")


def group_answer(matrix: Matrix, optimum: Optimum, axis: str, metric: Metric) -> str:
    """The sentence of one group."""
    best = cell_of(matrix, optimum, axis, optimum.best)
    base = baseline_find(matrix, best, baseline_words(matrix))
    inside = base and base.axes.get(axis) in optimum.marks and all(
        base.axes[key] == value for key, value in optimum.place.items())
    if not base or not inside:
        return optimum_text(optimum, axis, metric)
    if base.name == best.name:
        return optimum_text(optimum, axis, metric, against=", which is the baseline")
    return optimum_text(optimum, axis, metric, base.axes[axis],
                        against_text(matrix, best, base, axis, metric))


def question_answer(matrix: Matrix, question: Question) -> Answer:
    """The answer to one question, of the groups that are shown and have its words."""
    axis, metric = question.word, metric_find(question.metric, "scenario.toml: [answer] metric")
    wanted = words_split(question.where.split(), f"[answer] where {question.where}: ")
    if axis not in matrix.axes:
        return Answer(question, (), f"{axis} does not vary here")
    groups = tuple(
        (optimum, group_answer(matrix, optimum, axis, metric))
        for optimum in optima_build(matrix, axis, metric)
        if words_match(wanted, cell_of(matrix, optimum, axis, optimum.best).words))
    return Answer(question, groups, "" if groups else
                  f"no cell here tells {metric.name}"
                  + (f" with {question.where}" if wanted else ""))


def answers_decide(matrix: Matrix) -> list[Answer]:
    """The answer to every question of the scenario, in order; of a narrowed matrix to those about
    cells that it shows."""
    answers = (question_answer(matrix, question) for question in matrix.result.scenario.answers)
    return [answer for answer in answers if answer.groups or matrix.narrowed is None]


def questions_pairs(matrix: Matrix) -> Pairs:
    """Every question with its sentence, or one for each of several groups."""
    pairs: Pairs = []
    for question, groups, why in answers_decide(matrix):
        texts = [text for _, text in groups] or [f"not answered: {why}."]
        if len(texts) == 1:
            pairs.append(("answer", f"{question.asks} {texts[0]}"))
        else:
            pairs += [("answer", question.asks), *(
                ("", f"{group_text(optimum)}: {text}") for optimum, text in groups)]
    return pairs
