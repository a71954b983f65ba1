# SPDX-License-Identifier: MIT
"""Forest plot: the ratio of each row with its interval, its noise floor shaded around 1. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from suite import stats
from suite.analyse.comparison.model import Comparison, Row
from suite.analyse.metrics import Metric
from suite.analyse.verdicts import Verdict
from suite.base.units import change_text, number_text, percent_text
from suite.present.comparison.texts import mean_size, mean_verdict, row_name
from suite.present.pictures.compared import (
    Versus,
    absent_text,
    base_name,
    change_of,
    estimate_marked,
    side_value,
    versus_titles,
)
from suite.present.pictures.picture import (
    Drawing,
    gnuplot_string,
    name_cut,
    name_safe,
    number_data,
    ratio_tics,
)

ROWS_MAX = 36  # in one picture; more comparisons go into another
# ratios that span more are on a logarithmic axis, and are told as ratios, not as changes
STEEP = 2.0
POINTS = {Verdict.CHANGED: 7, Verdict.BRACKETED: 6, Verdict.SAME: 6, Verdict.UNKNOWN: 2,
          Verdict.EXACT: 5}
WIDE = 1.5  # a noise floor that makes no room for itself: its shade ends with the axis
GEOMEAN, GEOMEAN_POINT = "geomean", 13
COLUMNS, TEXT_COLUMNS = 112, 70  # of text that have room in a line, drawn and in text
TIC_WIDTH = 9  # of them that a tic takes


@dataclass(frozen=True)
class Bough:
    """One line. estimate: None where there is no ratio; text says then why. floor: the noise
    floor."""

    name: str
    estimate: stats.Estimate | None
    point: int
    text: str
    floor: float | None = None


@dataclass(frozen=True)
class Tree:
    """The lines under one heading, which is empty where it would say nothing."""

    head: str
    boughs: tuple[Bough, ...]


def bough_make(name: str, row: Row, metric: Metric, text: Callable[[float], str]) -> Bough:
    """The line of a row: with `~` the interval stands there and no centre."""
    change = change_of(row, metric)
    if change is None or change.ratio is None:
        return Bough(name, None, 0, absent_text(row, metric))
    told = estimate_marked(change.ratio, change.verdict, text)
    if change.ratio.directed:
        return Bough(name, None, 0, told)
    return Bough(name, change.ratio, POINTS[change.verdict], told, change.floor)


def tree_make(comparison: Comparison, metric: Metric, text: Callable[[float], str]) -> Tree:
    """The rows of a comparison, and their geometric mean at the bottom if it is known."""
    boughs = [bough_make(name_cut(row_name(row)), row, metric, text)
              for row in comparison.rows]
    mean = comparison.geomeans.get(metric.name)
    if mean is not None:
        name = " ".join(filter(None,
                               (GEOMEAN, *mean_size(comparison, metric,
                                                    mean)))) if mean.left_out else GEOMEAN
        boughs.append(Bough(name, mean.ratio, GEOMEAN_POINT,
                            estimate_marked(mean.ratio, mean_verdict(mean), text)))
    return Tree(name_cut(side_value(comparison.new)), tuple(boughs))


def trees_join(trees: Sequence[Tree]) -> list[Tree]:
    """Comparisons of one row each are rows of one tree, named by what is compared; a single one
    needs no heading."""
    if all(len(tree.boughs) == 1 for tree in trees):
        return [Tree("", tuple(replace(bough, name=tree.head) for tree in trees
                               for bough in tree.boughs))]
    return [Tree("", trees[0].boughs)] if len(trees) == 1 else list(trees)


def trees_group(trees: Sequence[Tree]) -> list[list[Tree]]:
    """The trees of each picture: of at most ROWS_MAX rows together, but at least one tree."""
    groups: list[list[Tree]] = [[]]
    for tree in trees:
        held = sum(len(other.boughs) + 1 for other in groups[-1])
        if groups[-1] and held + len(tree.boughs) > ROWS_MAX:
            groups.append([])
        groups[-1].append(tree)
    return groups


def ends_of(estimates: Iterable[stats.Estimate | None]) -> list[float]:
    """All that must fit onto the axis."""
    return [end for estimate in estimates if estimate for end in
            ((estimate.interval.low, estimate.interval.high, estimate.value) if estimate.interval
             else (estimate.value,))]


def estimates_of(comparisons: Iterable[Comparison], metric: Metric) -> list[stats.Estimate | None]:
    """Every ratio of these comparisons, the means too."""
    found: list[stats.Estimate | None] = []
    for one in comparisons:
        changes, mean = (change_of(row, metric) for row in one.rows), one.geomeans.get(metric.name)
        found += [change.ratio for change in changes if change and change.ratio
                  and not change.ratio.directed] + ([mean.ratio] if mean else [])
    return found


def trees_data(trees: Sequence[Tree]) -> tuple[str, int]:
    """A .dat, and how many lines high it is: a blank one stands between two trees."""
    rows, heads, bands, at = ["# rows"], ["# headings"], ["# noise floors"], 0
    for tree in trees:
        if tree.head:
            heads.append(f'{at} "{tree.head}"')
            at += 1
        for bough in tree.boughs:
            if bough.floor:
                bands.append(f"{number_data(1 / bough.floor)} {number_data(bough.floor)} "
                             f"{at - 0.5:g} {at + 0.5:g}")
            centre, within = bough.estimate, bough.estimate.interval if bough.estimate else None
            numbers = [centre.value if centre else None, within.low if within else None,
                       within.high if within else None]
            rows.append(" ".join([str(at), *map(number_data, numbers), str(bough.point),
                                  f'"{bough.name}" "{bough.text}"']))
            at += 1
        at += 1
    blocks = [rows, *(block for block in (heads, bands) if len(block) > 1)]
    return "\n\n\n".join("\n".join(block) for block in blocks) + "\n", at - 1


def axis_settings(ends: Sequence[float], floors: Sequence[float], columns: int) -> list[str]:
    """Range and tics along the ratios; logarithmic if they span a lot. columns: how many names and
    texts take."""
    most = [max((room - columns) // TIC_WIDTH, 2) for room in (COLUMNS, TEXT_COLUMNS)]
    around = [1.0, *(end for floor in floors if floor < WIDE for end in (1 / floor, floor))]
    low, high = min([*ends, *around]), max([*ends, *around])
    if high / low > STEEP:
        tics = [f"set xtics ({ratio_tics(low, high, min(many, 9))})" for many in most]
        left, right = low / (high / low) ** 0.05, high * (high / low) ** 0.05
    else:
        reach = max(high - low, 0.02) * 0.07
        left, right = low - reach, high + reach
        tics = [f"set xtics ({change_tics(left, right, min(many, 9))})" for many in most]
    return [f"left = {number_data(left)}", f"right = {number_data(right)}",
            f"logarithmic = {int(high / low > STEEP)}", f"tics_x = {gnuplot_string(tics[0])}",
            f"tics_text = {gnuplot_string(tics[1])}"]


def change_tics(left: float, right: float, most: int) -> str:
    """At most that many round changes around none, as gnuplot's list of tics."""
    steps = (float(f"{digit}e{power}") for power in range(-6, 1) for digit in (1, 2, 5))
    step = next(step for step in steps if int((right - 1) / step) + int((1 - left) / step) < most)
    counts = range(-int((1 - left) / step), int((right - 1) / step) + 1)
    return ", ".join(f'"{100 * count * step:+.6g} %%" {1 + count * step:.10g}' if count else '"0" 1'
                     for count in counts)


def figure_text(ratio: float) -> str:
    """A ratio where changes in percent would be too large."""
    return f"{number_text(ratio)}x"


def forest_draw(comparisons: Sequence[Comparison], plan: Versus) -> list[Drawing]:
    """The forest of these comparisons; more than one picture only where there are very many
    rows."""
    metric = plan.metric
    ends = ends_of(estimates_of(comparisons, metric)) or [1.0]
    steep = max([*ends, 1.0]) / min([*ends, 1.0]) > STEEP
    trees = trees_join([tree_make(one, metric,
                                  figure_text if steep else lambda ratio: change_text(ratio - 1))
                        for one in comparisons])
    groups = trees_group(trees)
    drawings = []
    for number, group in enumerate(groups, start=1):
        name = name_safe(plan.name + (f"-{number}" if len(groups) > 1 else ""))
        data, high = trees_data(group)
        boughs = [bough for tree in group for bough in tree.boughs]
        widest, told = max(len(bough.name) for bough in boughs), max(len(bough.text)
            for bough in boughs)
        settings = [f"name = {gnuplot_string(name)}", *forest_settings(comparisons, metric, group),
                    f"lines = {high}", f"widest = {widest}", f"told = {told}",
                    *axis_settings(ends, floors_of(group), widest + told)]
        drawings.append(Drawing(name, "forest", data, "\n".join(settings) + "\n"))
    return drawings


def floors_of(trees: Iterable[Tree]) -> list[float]:
    """The noise floors of all lines that have one."""
    return [bough.floor for tree in trees for bough in tree.boughs if bough.floor]


def forest_settings(comparisons: Sequence[Comparison], metric: Metric,
                    trees: Sequence[Tree]) -> list[str]:
    """Titles and labels of a picture."""
    first = comparisons[0]
    of = f" of {first.new.name}" if len(comparisons) == 1 else ""
    floors = floors_of(trees)
    ratios = sum(bough.estimate is not None for tree in trees for bough in tree.boughs)
    base = base_name(comparisons)
    label = f"ratio to {base}" + (
        f"; shaded: noise floor (A/A), at most {percent_text(max(floors) - 1)}" if floors else "")
    what = f"{metric.name.replace('_', ' ')}{of} against {base} ({metric.better} is better)"
    return [
        *versus_titles(comparisons, what, ", 95 % interval"),
        f"label_x = {gnuplot_string(label)}",
        f"heads = {sum(bool(tree.head) for tree in trees)}", f"bands = {len(floors)}",
        f"ratios = {ratios}",
    ]
