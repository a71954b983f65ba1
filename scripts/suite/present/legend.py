# SPDX-License-Identifier: MIT
"""The legend under a table: the meaning of each column and mark that occurs in it. Pure."""

import itertools
from collections.abc import Container, Iterable, Sequence

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
    shown = {name: found for name, found in figures.items() if name != summary.gain_shown}
    levels = [figure.interval.level for found in shown.values() for figure in found
              if figure.interval]
    versus_judged = [figure.judged for name in ratio_metrics(summary) | {summary.best_metric}
                     for figure in figures.get(name or "", ()) if figure.judged]
    versus_judged += [gain.judged for gain in summary.gains.values()]
    versus = [figure.ratio for name in ratio_metrics(summary) for figure in figures.get(name, ())
              if figure.ratio]
    ratios = [*versus, *(figure.ratio for figure in figures.get(summary.best_metric or "", ())
                         if figure.ratio), *(gain.ratio for gain in summary.gains.values())]
    interval = " [95 % interval]" if any(ratio.span[1:] for ratio in versus) else ""
    meaning = (f"ratio to the baseline{interval}, {ratios_text(summary, summary.baseline)}"
               + published_legend(itertools.chain(*shown.values()), "ratio"))
    legends: list[Legend] = [
        ("+/-", WIDTH_MEANING, any(levels)),
        ("r", f"fewer than {stats.ROUNDS_NEEDED} rounds: not an interval, the farther of minimum "
              "and maximum", not all(levels)),
        ("", "one round: no interval",
         any(figure.rounds == 1 for found in figures.values() for figure in found)),
        ("vs", meaning, bool(versus)),
        *gain_legends(summary),
        *best_legends(summary),
        ("~", "undecided: the interval of the ratio contains 1",
         any(one.verdict is Verdict.UNDECIDED for one in versus_judged)),
        ("=", "equivalent: the whole interval of the ratio is within margin=",
         any(one.verdict is Verdict.EQUIVALENT for one in versus_judged)),
        *withheld_legends(summary, versus_judged),
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


def withheld_legends(summary: Summary, found: Sequence[Judged]) -> list[Legend]:
    """The words that stand in place of a ratio, and the confidence if there are many rows."""
    statuses = dict.fromkeys(one.contrast.status for one in found
                             if one.verdict is Verdict.WITHHELD)
    tested = dict.fromkeys(str(one.family.tested) for one in found if one.family.tested > 1)
    return [*((WITHHELD_SIGNS[status], f"no change is claimed: {STATUS_WHY[status]}", True)
              for status in statuses),
            ("", f"intervals of ratios are corrected for {' or '.join(tested)} rows (false "
                 "coverage rate 5 %)", bool(tested))]


def ratios_text(summary: Summary, words: Container[str],
                estimate: str = "") -> str:
    """How the values of two cells that differ in these words are paired."""
    blocks = summary.matrix.blocks
    if TARGET not in words or len(blocks) < 2:
        return f"round by round{estimate}"
    boots = "of every boot of one to every boot of the other"
    return f"{boots}{estimate}" if all(
        blocks) else f"round by round, where a side is booted {boots}{estimate}"


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
        published = [one.figure for figures in summary.figures.values() if metric.name in figures
                     for one in figures[metric.name].published if metric.unit == "B"]
        if published:
            values = dict.fromkeys(f"{value_text(figure.value, 'B')} ({figure.words})"
                                   for figure in published)  # several cells may have the same
            pairs.append(("published", f"{metric.name}: {', '.join(values)}"))
    return pairs


def gain_legends(summary: Summary) -> list[Legend]:
    gains = summary.gains.values()
    extremes = any(gain.worst is not None for gain in gains)
    return [
        ("pre", f"median of {words_text(summary.baseline)}; post: of the row", bool(gains)),
        ("gain",
         f"post / pre - 1{factor_legend(gain.ratio for gain in gains)}, "
         f"{ratios_text(summary, summary.baseline)}, with its 95 % interval"
         + ("; worst, best: of a single round" if extremes else "")
         + published_legend(gains, "gain"),
         bool(gains)),
        (SAME.strip(" ()"), "the baseline ran twice in a round: what a gain of nothing looks like",
         bool(gains)),
    ]


def best_legends(summary: Summary) -> list[Legend]:
    """The marks beside the leading metric, and the column that says how much better a row is."""
    marks = {mark for optimum in summary.optima for mark in optimum.marks.values()}
    metric, base = summary.metrics[0], words_text(summary.baseline)
    figures = [found[metric.name] for found in summary.figures.values() if metric.name in found]
    upper, lower = (base, "the row") if metric.better == "lower" else ("the row", base)
    return [
        (BEST, f"the best median of {summary.best_metric} "
               f"{'of its group' if len(summary.optima) > 1 else 'of all'}, without values that "
               f"another beats {ratios_text(summary, (summary.best or '',), '')}", bool(marks)),
        (ALIKE, f"cannot be told apart from it: their ratio, "
                f"{ratios_text(summary, (summary.best or '',))}, is no change for the worse",
         ALIKE in marks),
        (f"times {'faster' if metric.is_speed else 'better'}",
         f"{metric.name} of {upper} / {metric.name} of {lower}, "
         f"{ratios_text(summary, summary.baseline, '')}, with its 95 % interval"
         + published_legend(figures, "ratio"),
         bool(marks) and any(figure.ratio for figure in figures))]
