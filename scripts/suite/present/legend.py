# SPDX-License-Identifier: MIT
"""What stands under a table: what its columns and marks mean, each only where it occurs. Pure."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence

from suite import stats
from suite.analyse.optimum import ALIKE, BEST, is_speed
from suite.analyse.summary import Figure, PublishedRatio, Summary
from suite.analyse.verdicts import Verdict, baseline_family
from suite.base.runner_words import TARGET
from suite.base.units import value_text
from suite.present.columns import ABSENT, SAME, is_undefined, ratio_metrics

DIRECTION = (">1x <1x",
             "larger, smaller: where some values are only bounds, no more than the direction is "
             "known")


def legend_pairs(summary: Summary) -> list[tuple[str, str]]:
    """The meaning of each column and mark that occurs in the table."""
    figures = {metric.name: [cell[metric.name] for cell in summary.figures.values()
                             if metric.name in cell] for metric in summary.metrics}
    shown = [figure for name, found in figures.items() for figure in found
             if figure.interval and name != summary.gain_shown]
    pairs = []
    if any(figure.interval and figure.interval.level for figure in shown):
        pairs.append(("+/-", "farther end of the 95 % interval of the median (order statistics)"))
    if any(figure.interval and not figure.interval.level for figure in shown):
        pairs.append(("r", f"fewer than {stats.ROUNDS_NEEDED} rounds: not an interval, "
                           "the farther of minimum and maximum"))
    if any(figure.rounds == 1 for found in figures.values() for figure in found):
        pairs.append(("", "one round: no interval"))
    ratios = [figure.ratio for name in sorted(ratio_metrics(summary))
              for figure in figures.get(name, ()) if figure.ratio]
    if ratios:
        published = [one for name, found in figures.items() if name != summary.gain_shown
                  for figure in found for one in figure.published]
        pairs.append(("vs", f"ratio to the baseline, {ratios_text(summary, summary.baseline)}"
                      + published_legend(published, "ratio")))
    pairs += gain_legend(summary)
    pairs += best_legend(summary)
    ratios += [figure.ratio for figure in figures.get(summary.leading or "", ()) if figure.ratio]
    ratios += [gain.ratio for gain in summary.gains.values()]
    if any(ratio.interval and ratio.interval.contains(1.0) for ratio in ratios):
        pairs.append(("~", "no change: the 95 % interval of the ratio contains 1"))
    pairs += bracket_legend(summary, figures)
    if any(ratio.directed for ratio in ratios):
        pairs.append(DIRECTION)
    if any(ratio.interval is None for ratio in ratios):
        boots = f", or {stats.SIDES_NEEDED} boots a side" if any(summary.matrix.blocks) else ""
        pairs.append(("?", f"fewer than {stats.ROUNDS_NEEDED} shared rounds{boots}: no interval"))
    if any(is_undefined(summary, cell, metric)
           for cell in summary.matrix.cells.values() for metric in summary.metrics):
        pairs.append((ABSENT, "nothing of the kind in these runs, or too few values to tell it"))
    return pairs


def bracket_legend(summary: Summary,
                   figures: Mapping[str, Sequence[Figure]]) -> list[tuple[str, str]]:
    """The meaning of brackets around a ratio or a gain; empty without brackets."""
    shown = {*ratio_metrics(summary), summary.leading}
    marked = {name for name, found in figures.items() if name in shown
              and any(figure.verdict is Verdict.BRACKETED for figure in found)}
    if any(gain.verdict is Verdict.BRACKETED for gain in summary.gains.values()):
        marked.add(summary.gain or "")
    families = [baseline_family(summary.matrix, metric.name) for metric in summary.metrics
                if metric.name in marked]
    if not families:
        return []
    tested = ", ".join(dict.fromkeys(str(family.tested) for family in families))
    more = "; more rounds, or fewer rows, are needed" if any(family.hopeless
                                                             for family in families) else ""
    return [("()", f"the interval excludes 1, but as one of {tested} rows it may be chance "
                   f"(Benjamini and Hochberg){more}")]


def ratios_text(summary: Summary, words: Container[str],
                estimate: str = " (Hodges-Lehmann)") -> str:
    """How ratios between cells that differ in these words are taken. estimate: by which
    estimator."""
    blocks = summary.matrix.blocks
    if TARGET not in words or len(blocks) < 2:
        return f"round by round{estimate}"
    boots = "of every boot of one to every boot of the other"
    return f"{boots}{estimate}" if all(
        blocks) else f"round by round, where a side is booted {boots}{estimate}"


def published_legend(ratios: Iterable[PublishedRatio], what: str) -> str:
    """The part of a legend about published figures; empty without them."""
    known = any(one.ratio is not None for one in ratios)
    return f"; published: the same {what} of published figures" if known else ""


def published_sizes(summary: Summary) -> list[tuple[str, str]]:
    """Published sizes in bytes: unlike times they are the same on every machine."""
    told = []
    for metric in summary.metrics:
        known = [one.figure for figures in summary.figures.values() if metric.name in figures
                  for one in figures[metric.name].published] if metric.unit == "B" else []
        if known:
            values = dict.fromkeys(f"{value_text(figure.value, 'B')} ({figure.words})"
                                   for figure in known)  # once, for however many cells
            told.append(("published", f"{metric.name}: {', '.join(values)}"))
    return told


def gain_legend(summary: Summary) -> list[tuple[str, str]]:
    """The meaning of the columns of gains."""
    if not summary.gains:
        return []
    base = " ".join(f"{key}={value}" for key, value in summary.baseline.items())
    ratios = [one for gain in summary.gains.values() for one in gain.published]
    alone = any(gain.worst is not None for gain in summary.gains.values())
    rounds = "; worst, best: of a single round" if alone else ""
    return [
        ("pre", f"median of {base}; post: of the row"),
        ("gain",
         f"post / pre - 1, {ratios_text(summary, summary.baseline)}, with its 95 % interval" +
         rounds
                 + published_legend(ratios, "gain")),
        (SAME.strip(" ()"), "the baseline ran twice in a round: what a gain of nothing looks like"),
    ]


def best_legend(summary: Summary) -> list[tuple[str, str]]:
    """The meaning of the marks beside the leading metric, and of the column of how much better a
    row is."""
    marks = {mark for optimum in summary.optima for mark in optimum.marks.values()}
    if not marks:
        return []
    group = "of its group" if len(summary.optima) > 1 else "of all"
    pairs = [(BEST, f"the best median of {summary.leading} {group}")]
    if ALIKE in marks:
        taken = ratios_text(summary, (summary.best or "",))
        pairs.append((ALIKE, "cannot be told apart from it: the 95 % interval of the ratio, "
                             f"{taken}, does not lie on the worse side of 1, or the ratio is "
                             "within the noise floor"))
    return pairs + better_legend(summary)


def better_legend(summary: Summary) -> list[tuple[str, str]]:
    """The meaning of the column of times better; empty where no row has a baseline."""
    metric = summary.metrics[0]
    figures = [found[metric.name] for found in summary.figures.values() if metric.name in found]
    if not any(figure.ratio for figure in figures):
        return []
    base = " ".join(f"{key}={value}" for key, value in summary.baseline.items())
    sides = (base, "the row") if metric.better == "lower" else ("the row", base)
    return [(f"times {'faster' if is_speed(metric) else 'better'}",
             f"{metric.name} of {sides[0]} / {metric.name} of {sides[1]}, "
             f"{ratios_text(summary, summary.baseline, '')}, with its 95 % interval"
             + published_legend([one for figure in figures for one in figure.published], "ratio"))]
