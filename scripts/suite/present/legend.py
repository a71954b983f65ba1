# SPDX-License-Identifier: MIT
"""The legend under a table: the meaning of each column and sign that occurs in it. Pure."""

import re
from collections.abc import Container, Iterable, Sequence

from suite import stats
from suite.base.runner_words import TARGET
from suite.base.units import is_factor
from suite.base.words import words_text
from suite.contrast.contrast import STATUS_WHY, Status
from suite.contrast.verdicts import baseline_family
from suite.decide.summary import Summary
from suite.present.columns import ratio_metrics
from suite.present.judged import WITHHELD_SIGNS
from suite.present.tables.model import Table

WIDTH_MEANING = "farther end of the 95 % interval of the median (order statistics)"
DIRECTION_MEANING = "larger, smaller; the size is unknown, because some values are only bounds"


def legend_pairs(summary: Summary, table: Table) -> list[tuple[str, str]]:
    """The signs of the table with their meanings, then what holds for all of its intervals."""
    names = ratio_metrics(summary) | {summary.best_metric, summary.gain_shown}
    families = [baseline_family(summary.matrix, metric.name) for metric in summary.metrics
                if metric.name in names]
    tested = dict.fromkeys(str(family.tested) for family in families if family.tested > 1)
    remarks = {
        "one round: no interval": any(figure.rounds == 1 for figures in summary.figures.values()
                                      for figure in figures.values()),
        f"intervals of ratios are corrected for {' or '.join(tested)} rows (false coverage rate "
        "5 %)": tested}
    return [*((sign, meaning) for sign, pattern, meaning in signs_of(summary)
              if any(re.search(pattern, text) for text in table.texts)),
            *(("", remark) for remark, holds in remarks.items() if holds)]


def signs_of(summary: Summary) -> Sequence[tuple[str, str, str]]:
    """Each sign, the pattern of the texts of a table that have it, and its meaning."""
    metric, base = summary.metrics[0], words_text(summary.baseline)
    upper, lower = (base, "the row") if metric.better == "lower" else ("the row", base)
    pairing = f"[95 % interval], {pairing_text(summary, summary.baseline)}"
    best_pairing = pairing_text(summary, (summary.best or "",))
    boots = f", or {stats.SIDES_NEEDED} boots a side" if any(summary.matrix.blocks) else ""
    factor = factor_legend([gain.ratio for gain in summary.gains.values()])
    return (
        ("+/-", r"^\+/-$", WIDTH_MEANING),
        ("r", r"% r$", f"fewer than {stats.ROUNDS_NEEDED} rounds: not an interval, the farther of "
                       "minimum and maximum"),
        ("vs", "^vs ", f"ratio to the baseline {pairing}"),
        ("pre", r"^pre\b", f"median of {base}; post: of the row"),
        ("gain", "^gain$", f"post / pre - 1{factor} {pairing}"),
        ("worst", "^worst$", "gain of the worst round; best: of the best round"),
        ("A/A", "^gain$", "the baseline ran twice in a round: what a gain of nothing looks like"),
        ("*", r"\d\*", f"the best median of {metric.name} in its group, without values that "
                       f"another beats {best_pairing}"),
        ("=", r"\d=", f"cannot be told apart from it: their ratio, {best_pairing}, is no change "
                      "for the worse"),
        ("times", "^times ", f"{metric.name} of {upper} / {metric.name} of {lower} {pairing}"),
        ("published", "^published$", "of published figures: the same ratio, gain or size"),
        ("~", r"(^|[x%\]])~", "undecided: the interval of the ratio contains 1"),
        ("=", r"(^|[x%\]])=", "equivalent: the whole interval of the ratio is within margin="),
        *((sign, f"^{re.escape(sign)}( |$)", f"no change is claimed: {STATUS_WHY[status]}")
          for status, sign in WITHHELD_SIGNS.items() if status is not Status.ABSENT),
        (">1x <1x", r"[<>][01][x%]", DIRECTION_MEANING),
        ("?", r"[\dx%]\?", f"fewer than {stats.ROUNDS_NEEDED} shared rounds{boots}, or too few for "
                           "so many rows: no verdict"),
        ("n/a", "^n/a$", "nothing of the kind in these runs, or too few values to tell it"))


def pairing_text(summary: Summary, words: Container[str]) -> str:
    """How the values of two cells that differ in these words are paired."""
    booted = TARGET in words and len(summary.matrix.blocks) > 1
    return "round by round" + (
        "; of booted kernels every boot of one with every boot of the other" if booted else "")


def factor_legend(ratios: Iterable[stats.Estimate]) -> str:
    """The part of a legend about changes that are shown as factors; empty without such."""
    return ", or the factor beyond 3x" if any(is_factor(*ratio.span) for ratio in ratios) else ""

