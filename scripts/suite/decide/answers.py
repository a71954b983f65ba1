# SPDX-License-Identifier: MIT
"""The answers of a result, as values: for each [[answer]] the best value of a word in each group of
cells. present/answers.py puts them into words."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from suite import stats
from suite.base.runner_words import NO_CHANGE, NOT_LOADED, OVERRIDE
from suite.base.words import words_split
from suite.contrast.contrast import contrast_of
from suite.decide.optimum import Optimum, optima_build
from suite.observe.frame import Cell, Matrix
from suite.observe.metrics import Metric, metric_find
from suite.scenario.scenario import Question


class Answer(NamedTuple):
    """A question, each group's optimum or why there is none. varying: words that name groups.
    omitted: the places of groups that the question does not ask about."""

    question: Question
    optima: tuple[Optimum, ...]
    why: str = ""
    varying: tuple[str, ...] = ()
    omitted: tuple[dict[str, str], ...] = ()


def places_once(places: Iterable[dict[str, str]]) -> tuple[dict[str, str], ...]:
    """Each place once, in order."""
    return tuple({tuple(place.items()): place for place in places}.values())


def question_answer(matrix: Matrix, question: Question) -> Answer:
    """The answer to a question, for the groups with its words whose cells are all shown."""
    wanted = words_split(question.where.split(), f"[answer] where {question.where}: ")
    word = question.word
    if word not in matrix.axes:
        return Answer(question, (), f"{word} does not vary here")

    def place_of(cell: Cell) -> dict[str, str]:
        return {key: value for key, value in cell.axes.items() if key != word}

    places = [place_of(cell) for cell in matrix.whole.cells.values()
              if wanted.items() <= cell.words.items()]
    metric = metric_find(question.metric, "scenario.toml: [answer] metric")
    optima = tuple(one for one in optima_build(matrix, word, metric) if one.place in places
                   and one.medians.keys() <= {
                       cell.axes[word] for cell in matrix.cells.values()
                       if one.place.items() <= cell.axes.items()})
    why = f"no cell here has {question.metric}{f' with {question.where}' if wanted else ''}"
    varying = tuple(key for key in matrix.axes
                    if key != word and len({place[key] for place in places}) > 1)
    return Answer(question, optima, "" if optima else why, varying, places_once(
        place for place in map(place_of, matrix.cells.values()) if place not in places))


def answers_decide(matrix: Matrix, *more: Question) -> list[Answer]:
    """The answers to all questions of the scenario, in order, and to further ones that it does not
    ask. A narrowed matrix leaves out questions about cells that it does not show."""
    asked = matrix.result.scenario.answers
    known = {(question.word, question.metric, question.where) for question in asked}
    answers = [question_answer(matrix, question) for question in (
        *asked, *(one for one in more if (one.word, one.metric, one.where) not in known))]
    return [answer for answer in answers if answer.optima or matrix.narrowed_from is None]


def axes_by_effect(matrix: Matrix, metric: Metric) -> dict[str, float]:
    """The words that vary, the one that matters most first, with the largest ratio of two medians
    of a group of cells that differ in it alone."""
    effects = {axis: max((one.spread for one in optima_build(matrix, axis, metric)), default=0.0)
               for axis in matrix.axes}
    return {axis: effect for axis, effect in sorted(effects.items(), key=lambda item: -item[1])
            if effect}


def places_omitted(answers: Sequence[Answer]) -> tuple[dict[str, str], ...]:
    """The places that some question leaves out and none of the same word and metric answers."""
    answered = [(one.question.word, one.question.metric, optimum.place)
                for one in answers for optimum in one.optima]
    return places_once(place for one in answers for place in one.omitted
                       if (one.question.word, one.question.metric, place) not in answered)


class LibraryCost(NamedTuple):
    """What the library of override= costs by a metric: the ratio of a cell in which it is loaded
    and changes nothing to the cell without it. place: the words that both share."""

    place: dict[str, str]
    metric: Metric
    ratio: stats.Estimate


def library_costs(matrix: Matrix, metrics: Sequence[Metric]) -> list[LibraryCost]:
    """The cost by all timed metrics, cell by cell."""
    found = []
    for cell in matrix.cells.values():
        base = matrix.baseline_find(cell, {OVERRIDE: NOT_LOADED})
        if base is None or cell.axes.get(OVERRIDE) != NO_CHANGE:
            continue
        place = {key: value for key, value in cell.axes.items() if key != OVERRIDE and value}
        found += [LibraryCost(place, metric, ratio) for metric in metrics if metric.timed
                  if (ratio := contrast_of(matrix, base, cell, metric.name).estimate())]
    return found
