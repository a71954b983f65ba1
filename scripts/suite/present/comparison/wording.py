# SPDX-License-Identifier: MIT
"""Changes, intervals, verdicts and sample sizes as short texts, for tables and blocks. Pure."""

from collections.abc import Sequence

from suite.base.runner_words import BUILD, build_of
from suite.base.text import listed_text
from suite.base.units import counted_text, noise_text
from suite.base.words import words_text
from suite.contrast.contrast import Unit, Verdict
from suite.decide.comparison.model import Change, Comparison, Mean, Row, Side, judged_rows
from suite.observe.metrics import Metric
from suite.present.answers import opposed_text

NOTHING = "-"
CHANGE, INTERVAL, MDE, OUTLIERS = "change", "95% CI", "MDE", "outliers"  # heads of columns
MEAN, MEAN_EVERY = "geomean", "geomean=all"


def metric_title(metric: Metric, unit: str) -> str:
    """`Time per message, us (lower is better)`."""
    name = metric.name[0].upper() + metric.name[1:].replace("_", " ")
    return f"{name}{', ' if unit else ''}{unit} ({metric.better} is better)"


def side_text(side: Side) -> str:
    """The name of a side without its words, of a build its revision, and the words of its cells."""
    words, builds = words_text(side.words), side.matrix.result.plan.programs.builds
    build = builds.get(build_of(side.words)) if BUILD in side.words else None
    name = " ".join(part for part in (build and build.revision or side.name).split()
                    if part not in words.split())
    return "; ".join(filter(None, (name, words)))


def axes_of(comparisons: Sequence[Comparison]) -> list[str]:
    """The words of the rows of all comparisons."""
    return list(dict.fromkeys(axis for one in comparisons for axis in one.axes))


def row_name(row: Row) -> str:
    return " ".join(value or "none" for value in row.axes.values())


def mean_size(comparison: Comparison, mean: Mean) -> str:
    """`geomean of 5 of 6 cells, n=9`, with `geomean=all` in place of `geomean` if it is that."""
    whole = f" of {len(comparison.rows)}" if mean.left_out else ""
    name = MEAN_EVERY if mean.every else MEAN
    return f"{name} of {mean.rows}{whole} cells, n={mean.ratio.pairs}"


def opposed_of(comparison: Comparison, metric: Metric) -> str:
    """The words on which it depends whether rows got better or worse; empty without such rows."""
    return opposed_text(judged_rows(comparison.rows, metric), metric)


def mean_text(comparison: Comparison, metric: Metric) -> str:
    """The rows of a geometric mean, or the reason for its absence; empty if no row changed."""
    mean, opposed = comparison.geomeans.get(metric.name), opposed_of(comparison, metric)
    if mean is None:
        return f"no {MEAN}: {opposed}" if opposed else ""
    left_out = listed_text([f"{row_name(comparison.rows[place])} ({why})"
                            for place, why in mean.left_out.items()])
    without = f", without {left_out}" if left_out else ""
    return "; ".join(filter(None, (mean_size(comparison, mean) + without, opposed)))


def floor_fraction(floor: float | None) -> float | None:
    """The reach of an A/A interval as a fraction: 0.05 for 1.05."""
    return None if floor is None else floor - 1


def span_text(numbers: Sequence[int]) -> str:
    """`7`, or `6..7` if the numbers differ."""
    low, high = min(numbers), max(numbers)
    return str(low) if low == high else f"{low}..{high}"


def floor_text(metric: Metric, floor: float | None, unit: Unit = Unit.ROUND) -> str:
    """`A/A max 5.3%`, the widest A/A interval of the rows; empty for a count without one. Where
    kernels are booted it is that within a boot, which has both runs of the baseline."""
    if floor is None and metric.counts:
        return ""
    boot = " within a boot" if unit is Unit.BOOT else ""
    return f"A/A{boot} " + ("unknown" if floor is None else f"max {noise_text(floor)}")


def order_text(comparison: Comparison, changes: Sequence[Change]) -> list[str]:
    """The number of rounds, boots or sessions, and the order in which the sides ran."""
    if comparison.unit is Unit.SESSION:
        base, new = (len(side.sessions) for side in comparison.sides)
        return [f"n={counted_text(base, 'session')} a side" if base == new else
                f"n={base} and {counted_text(new, 'session')}", "in blocks"]
    pairs = span_text([change.ratio.pairs if change.ratio  # else values on the smaller side
                       else min(change.base.rounds, change.new.rounds) for change in changes])
    several = f"n={pairs} {comparison.unit.value}{'s' if pairs != '1' else ''}"
    return [several, "interleaved"] if comparison.paired else [f"{several} a side", "in turns"]


def rounds_text(comparison: Comparison, metric: Metric) -> str:
    """Rounds, order, test, correction and the widest A/A interval, in one line."""
    changes = comparison.changes(metric.name)
    if not changes:
        return "no row has it on both sides: nothing to compare"
    parts = order_text(comparison, changes)
    if all(change.verdict is Verdict.EXACT for change in changes):
        return ", ".join([*parts, "the same count in each"])
    known = any(change.ratio and change.ratio.interval for change in changes)
    test = "signed-rank" if comparison.paired else "rank-sum"
    ratios = [(ratio, change.contrast.sessions) for change in changes
              if (ratio := change.contrast.ratio)]
    sessions = [number for ratio, number in ratios if ratio.spread]
    independent = [ratio.independent for ratio, _ in ratios if ratio.correlated]
    tested = comparison.family(metric.name).tested
    return ", ".join(filter(None, [
        *parts, f"{test} CI" if known else "no CI",
        f"{max(sessions)} sessions" if sessions else "",
        f"as {max(1, min(independent)):.0f} independent" if independent else "",
        f"FCR over {tested} rows" if tested > 1 else "",
        floor_text(metric, comparison.same_widest(metric.name), comparison.unit)]))
