# SPDX-License-Identifier: MIT
"""The legend under a table: the meaning of each column and mark that occurs in it. Pure."""

from collections.abc import Container, Iterable, Sequence
from itertools import chain

from suite import stats
from suite.base.runner_words import TARGET
from suite.base.units import is_factor, value_text
from suite.base.words import words_text
from suite.contrast.contrast import STATUS_WHY, Verdict
from suite.contrast.verdicts import Judged
from suite.decide.optimum import ALIKE, BEST, UNKNOWN
from suite.decide.summary import Figure, Gain, Summary
from suite.present.columns import ABSENT, SAME, is_undefined, ratio_metrics
from suite.present.judged import WITHHELD_SIGNS

Legend = tuple[str, str, bool]  # a mark or the head of a column, its meaning, whether it occurs
WIDTH_MEANING = "farther end of the 95 % interval of the median (order statistics)"
DIRECTION_MEANING = ("larger, smaller: where some values are only bounds, no more than the "
                     "direction is known")


def legend_pairs(summary: Summary) -> list[tuple[str, str]]:
    figures = {metric.name: [cell[metric.name] for cell in summary.figures.values()
                             if metric.name in cell] for metric in summary.metrics}
    shown = list(chain(*(found for name, found in figures.items() if name != summary.gain_shown)))
    levels = [figure.interval.level for figure in shown if figure.interval]
    with_ratios = ratio_metrics(summary)
    versus = [figure for name, found in figures.items() if name in with_ratios
              for figure in found if figure.judged]
    compared: list[Figure | Gain] = [
        *versus, *(figure for figure in figures.get(summary.best_metric or "", ())
                   if figure.judged), *summary.gains.values()]
    judged = [one.judged for one in compared if one.judged]
    ratios = [one.ratio for one in compared if one.ratio]
    verdicts = {one.verdict for one in judged}
    interval = " [95 % interval]" if any(
        figure.ratio.span[1:] for figure in versus if figure.ratio) else ""
    legends: list[Legend] = [
        ("+/-", WIDTH_MEANING, any(levels)),
        ("r", f"fewer than {stats.ROUNDS_NEEDED} rounds: not an interval, the farther of minimum "
              "and maximum", not all(levels)),
        ("", "one round: no interval", any(one.rounds == 1 for one in chain(*figures.values()))),
        ("vs", f"ratio to the baseline{interval}, {pairing_text(summary, summary.baseline)}"
               + published_legend(shown, "ratio"), any(figure.ratio for figure in versus)),
        *gain_legends(summary),
        *best_legends(summary, figures[summary.metrics[0].name]),
        ("~", "undecided: the interval of the ratio contains 1", Verdict.UNDECIDED in verdicts),
        ("=", "equivalent: the whole interval of the ratio is within margin=",
         Verdict.EQUIVALENT in verdicts),
        *withheld_legends(judged),
        (">1x <1x", DIRECTION_MEANING, any(ratio.directed for ratio in ratios)),
        few_legend(summary, ratios),
        (ABSENT, "nothing of the kind in these runs, or too few values to tell it",
         any(is_undefined(summary, cell, metric)
             for cell in summary.matrix.cells.values() for metric in summary.metrics))]
    return [(mark, text) for mark, text, occurs in legends if occurs]


def few_legend(summary: Summary, ratios: Iterable[stats.Estimate]) -> Legend:
    """The mark of too few rounds: behind a ratio, or with best= behind a median."""
    boots = f", or {stats.SIDES_NEEDED} boots a side" if any(summary.matrix.blocks) else ""
    unranked = any(UNKNOWN in optimum.marks.values() for optimum in summary.optima)
    return ("?", f"fewer than {stats.ROUNDS_NEEDED} shared rounds{boots}, or too few for so many "
            "rows" + (", to compare it with the best" if unranked else ": no interval"),
            unranked or any(ratio.interval is None for ratio in ratios))


def withheld_legends(found: Sequence[Judged]) -> list[Legend]:
    """The words that stand in place of a ratio, and the confidence if there are many rows."""
    statuses = dict.fromkeys(one.contrast.status for one in found
                             if one.verdict is Verdict.WITHHELD)
    tested = dict.fromkeys(str(one.family.tested) for one in found if one.family.tested > 1)
    return [*((WITHHELD_SIGNS[status], f"no change is claimed: {STATUS_WHY[status]}", True)
              for status in statuses),
            ("", f"intervals of ratios are corrected for {' or '.join(tested)} rows (false "
                 "coverage rate 5 %)", bool(tested))]


def pairing_text(summary: Summary, words: Container[str]) -> str:
    """How the values of two cells that differ in these words are paired."""
    blocks = summary.matrix.blocks
    if TARGET not in words or len(blocks) < 2:
        return "round by round"
    boots = "of every boot of one to every boot of the other"
    return boots if all(blocks) else f"round by round, where a side is booted {boots}"


def factor_legend(ratios: Iterable[stats.Estimate]) -> str:
    """The part of a legend about changes that are shown as factors; empty without such."""
    return ", or the factor beyond 3x" if any(is_factor(*ratio.span) for ratio in ratios) else ""


def published_legend(found: Iterable[Figure | Gain], what: str) -> str:
    """The part of a legend about published figures; empty without such."""
    known = any(one.ratio is not None for figure in found for one in figure.published)
    return f"; published: the same {what} of published figures" if known else ""


def published_sizes(summary: Summary) -> list[tuple[str, str]]:
    """Published sizes in bytes. They need no ratio: unlike times they hold on every machine."""
    pairs = []
    for metric in summary.metrics:
        texts = dict.fromkeys(  # several cells may have the same
            f"{value_text(one.figure.value, 'B')} ({one.figure.words})"
            for figures in summary.figures.values() if metric.name in figures
            for one in figures[metric.name].published)
        if texts and metric.unit == "B":
            pairs.append(("published", f"{metric.name}: {', '.join(texts)}"))
    return pairs


def gain_legends(summary: Summary) -> list[Legend]:
    gains = summary.gains.values()
    extremes = any(gain.worst is not None for gain in gains)
    return [
        ("pre", f"median of {words_text(summary.baseline)}; post: of the row", bool(gains)),
        ("gain",
         f"post / pre - 1{factor_legend(gain.ratio for gain in gains)}, "
         f"{pairing_text(summary, summary.baseline)}, with its 95 % interval"
         + ("; worst, best: of a single round" if extremes else "")
         + published_legend(gains, "gain"),
         bool(gains)),
        (SAME.strip(" ()"), "the baseline ran twice in a round: what a gain of nothing looks like",
         bool(gains)),
    ]


def best_legends(summary: Summary, figures: Sequence[Figure]) -> list[Legend]:
    """The marks beside the leading metric, and the column that says how much better a row is.
    figures: those of the leading metric."""
    marks = {mark for optimum in summary.optima for mark in optimum.marks.values()}
    metric, base = summary.metrics[0], words_text(summary.baseline)
    upper, lower = (base, "the row") if metric.better == "lower" else ("the row", base)
    group = "of its group" if len(summary.optima) > 1 else "of all"
    pairing = pairing_text(summary, (summary.best or "",))
    return [
        (BEST, f"the best median of {summary.best_metric} {group}, without values that another "
               f"beats {pairing}", bool(marks)),
        (ALIKE, f"cannot be told apart from it: their ratio, {pairing}, is no change for the worse",
         ALIKE in marks),
        (f"times {'faster' if metric.is_speed else 'better'}",
         f"{metric.name} of {upper} / {metric.name} of {lower}, "
         f"{pairing_text(summary, summary.baseline)}, with its 95 % interval"
         + published_legend(figures, "ratio"),
         bool(marks) and any(figure.ratio for figure in figures))]
