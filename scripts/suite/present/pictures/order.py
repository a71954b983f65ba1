# SPDX-License-Identifier: MIT
"""Run order: every run at its place in time, as a ratio to the median of its cell. Pure. A drift
shows as a slope of all cells, a disturbance as a bump, an outlier as a point far from others."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from suite import stats
from suite.base.units import counted_text, ratio_text, value_text
from suite.observe.frame import Matrix
from suite.observe.metrics import Metric
from suite.present.pictures import parts
from suite.present.pictures.canvas import Sign
from suite.scenario.scenario import Picture


class RunSeries(NamedTuple):
    """good: a row for each good run: at (in rounds from the first), ratio (to the median of the
    cell), outlier. failed: `at` of each failed run."""

    series: parts.Series
    good: pd.DataFrame
    failed: list[float]

    def rows(self) -> Sequence[parts.Row]:
        """at, ratio, outlier, and the ratio as text, which an outlier beyond the axis needs."""
        return [(run.at, run.ratio, int(run.outlier), ratio_text(run.ratio))
                for run in self.good.itertuples()]


def moments_make(matrix: Matrix) -> pd.DataFrame:
    """The counted runs of matrix.frame with the column `at`, float: the time in rounds from the
    first round of the first session. Within a round all runs are equally far apart."""
    frame = matrix.frame[(matrix.frame["round"] > 0) & (matrix.frame["status"] != "unsupported")]
    rounds = frame.groupby("round", sort=True)
    share = (rounds.cumcount() + 0.5) / rounds["cell"].transform("size")
    return frame.assign(at=rounds.ngroup() + share)


def series_make(matrix: Matrix, moments: pd.DataFrame, series: parts.Series, metric: Metric
                ) -> RunSeries:
    """The runs of a series of one cell. Its name gets the median, or the reason for its absence. To
    a median of 0 there are no ratios."""
    (cell,) = series.cells
    runs = moments[moments["cell"] == cell.name]
    good = runs[(runs["status"] == "ok") & runs[metric.name].notna()]
    values = good[metric.name].tolist()
    # The median of a table: of the baseline it has only the first run of each round.
    known = matrix.series(cell.name, metric.name).bounds
    median = stats.median(known if len(known) else values) if values else 0.0
    if values:
        series = series._replace(name=f"{series.name}, {value_text(median, metric.unit)}")
    else:
        series = series.absent(metric.timed)
    if median <= 0:
        good, values = good.iloc[:0], []
    good = pd.DataFrame({"at": good["at"], "ratio": good[metric.name] / (median or 1.0),
                         "outlier": np.array(stats.outliers_mark(values), dtype=bool)})
    return RunSeries(series, good,
                     runs.loc[runs["status"] == "failed", "at"].tolist())


def ratios_range(series: Iterable[RunSeries]) -> tuple[float, float]:
    """The range of the axis: it holds all ratios above 0 except outliers, and outliers nearby. A
    far outlier would make the others a flat line. A ratio of 0 lies beyond the axis."""
    runs = pd.concat([one.good for one in series])
    usual = runs.loc[~runs["outlier"] & (runs["ratio"] > 0), "ratio"]
    low, high = min(*parts.RATIOS_LEAST, *usual), max(*parts.RATIOS_LEAST, *usual)
    near = runs.loc[runs["ratio"].between(low / (high / low), high * (high / low)), "ratio"]
    return min([low, *near]), max([high, *near])


def draw(matrix: Matrix, picture: Picture) -> list[parts.Drawing]:
    moments, metric = moments_make(matrix), parts.picture_metric(matrix, picture)
    inner, drawings = parts.axes_inside(matrix, picture), []
    for page in parts.pages_divide(matrix, picture, metric.name, inner):
        series = [series_make(matrix, moments, one, metric) for one in page.series(inner)]
        failed = sorted(at for one in series for at in one.failed)
        outliers = any(one.good["outlier"].any() for one in series)
        signs = [*[Sign("ring", "*", "outlier"), Sign("", "^ v", "beyond the axis")] * outliers,
                 *[Sign("cross", "x", "failed")] * bool(failed)]
        blocks: list[parts.Block] = [[one.series.name, *one.rows()] for one in series]
        blocks.append(["failed", *((at,) for at in failed)])
        drawings.append(page.axes_drawing(
            "order", [one.series for one in series], blocks,
            f"{metric.text} of every run / median of its cell",
            page.note(f"every run of {counted_text(matrix.rounds, 'round')}"), signs, {
                **parts.ratio_axis(ratios_range(series)), "rounds": max(matrix.rounds, 1),
                "label_y": f"{metric.text} / median of its cell",
                "outliers": outliers, "failures": bool(failed)}))
    return drawings
