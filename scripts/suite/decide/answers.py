# SPDX-License-Identifier: MIT
"""The answers of a result, as values: for each [[answer]] the best value of a word in each group of
cells. present/answers.py puts them into words."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from suite import stats
from suite.base.runner_words import NO_CHANGE, NOT_LOADED, OVERRIDE
from suite.base.words import words_split, words_text
from suite.contrast.contrast import contrast_of
from suite.decide.optimum import Optimum, optima_build
from suite.observe.frame import Matrix
from suite.observe.metrics import Metric, metric_find
from suite.scenario.scenario import Question


class Answer(NamedTuple):
    """A question, each group's optimum or why there is none. varying: words that name groups.
    omitted: the words of groups that the question does not ask about."""

    question: Question
    optima: tuple[Optimum, ...]
    why: str = ""
    varying: tuple[str, ...] = ()
    omitted: tuple[str, ...] = ()


def place_text(place: Mapping[str, str]) -> str:
    """The words that cells of a group share, without those that they do not use."""
    return words_text({key: value for key, value in place.items() if value})


def question_answer(matrix: Matrix, question: Question) -> Answer:
    """The answer to a question, for the groups with its words whose cells are all shown."""
    wanted = words_split(question.where.split(), f"[answer] where {question.where}: ")
    word = question.word
    if word not in matrix.axes:
        return Answer(question, (), f"{word} does not vary here")
    places = {name: {key: value for key, value in cell.axes.items() if key != word}
              for name, cell in matrix.whole.cells.items()}
    asked = [places[name] for name, cell in matrix.whole.cells.items()
             if wanted.items() <= cell.words.items()]
    metric = metric_find(question.metric, "scenario.toml: [answer] metric")
    optima = tuple(one for one in optima_build(matrix, word, metric) if one.place in asked
                   and one.medians.keys() <= {cell.axes[word] for name, cell in matrix.cells.items()
                                              if places[name] == one.place})
    why = f"no cell here has {question.metric}{f' with {question.where}' if wanted else ''}"
    varying = tuple(key for key in matrix.axes
                    if key != word and len({place[key] for place in asked}) > 1)
    return Answer(question, optima, "" if optima else why, varying, tuple(dict.fromkeys(
        place_text(places[name]) for name in matrix.cells if places[name] not in asked)))


def answers_decide(matrix: Matrix, *more: Question) -> list[Answer]:
    """The answers to all questions of the scenario, in order, and to further ones that it does not
    ask. A narrowed matrix leaves out questions about cells that it does not show."""
    questions: dict[tuple[str, str, str], Question] = {}
    for one in (*matrix.result.scenario.answers, *more):
        questions.setdefault((one.word, one.metric, one.where), one)
    answers = [question_answer(matrix, question) for question in questions.values()]
    return [answer for answer in answers if answer.optima or matrix.narrowed_from is None]


def axes_by_effect(matrix: Matrix, metric: Metric) -> dict[str, float]:
    """The words that vary, the one that matters most first, with the largest ratio of two medians
    of a group of cells that differ in it alone."""
    effects = {axis: max((one.spread for one in optima_build(matrix, axis, metric)), default=0.0)
               for axis in matrix.axes}
    return {axis: effect for axis, effect in sorted(effects.items(), key=lambda item: -item[1])
            if effect}


def places_omitted(answers: Sequence[Answer]) -> list[str]:
    """The words of groups that some question leaves out and none of the same word and metric
    answers."""
    answered = [(one.question.word, one.question.metric, place_text(optimum.place))
                for one in answers for optimum in one.optima]
    return list(dict.fromkeys(place for one in answers for place in one.omitted if (
        one.question.word, one.question.metric, place) not in answered))


def library_costs(matrix: Matrix, metrics: Sequence[Metric]
                  ) -> Iterator[tuple[str, Metric, stats.Estimate]]:
    """What the library of override= costs by all timed metrics: words, metric, and the ratio of a
    cell with these words in which it is loaded and changes nothing to the cell without it."""
    for cell in matrix.cells.values():
        base = matrix.baseline_find(cell, {OVERRIDE: NOT_LOADED})
        if base and cell.axes.get(OVERRIDE) == NO_CHANGE:
            place = place_text({**cell.axes, OVERRIDE: ""})
            for metric in metrics:
                ratio = contrast_of(matrix, base, cell, metric.name).estimate()
                if metric.timed and ratio:
                    yield place, metric, ratio
