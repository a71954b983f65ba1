# SPDX-License-Identifier: MIT
"""What all kinds of pictures use: settings and data for gnuplot, titles, series, tics, figures. The
script of a picture is its settings followed by a template, plots/TEMPLATE.gp. So NAME.gp and
NAME.dat are enough to draw it again: `gnuplot NAME.gp`."""

import functools
import itertools
import math
import re
from collections.abc import Callable, Collection, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from suite import stats
from suite.base import ROOT, grouped
from suite.base.units import Scale, counted_text, noise_text, size_parse
from suite.contrast.contrast import Verdict
from suite.decide.summary import Figure, figure_build
from suite.observe.frame import Cell, Matrix
from suite.observe.metrics import Metric, metric_find
from suite.observe.selection import metrics_default
from suite.present.heading import congestion_text, coverage_text, machines_text, places_text
from suite.present.judged import marked
from suite.present.pictures.canvas import NAME_MAX, Canvas, Sign, canvas_of
from suite.present.table import axis_values
from suite.scenario.scenario import Picture

# Okabe and Ito's colours without yellow, then Paul Tol's and others. Each has its own point; the
# lines of the second half are dashed.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#000000", "#332288",
           "#882255", "#117733", "#aa4499", "#999933", "#8c564b", "#777777", "#44aa99", "#cc6677")
POINTS = (7, 5, 9, 11, 13, 15, 3, 6, 4, 8, 10, 12, 14, 1, 2)
# Endings of words whose values have fixed colours (`reply_write` is one), with the folder of
# common/ that lists the values. If a cell has both, the first one decides.
VARIANTS = {"write": "strategy", "read": "reading"}
# For each verdict: the point of a forest plot, for gnuplot and in words, and the meaning.
POINT_SIGNS = {Verdict.CHANGED: (7, "filled", "changed"),
               Verdict.UNDECIDED: (6, "hollow", "undecided"),
               Verdict.EQUIVALENT: (6, "hollow", "equivalent"),
               Verdict.UNKNOWN: (2, "cross", "too few rounds"),
               Verdict.WITHHELD: (2, "cross", "no change is claimed"),
               Verdict.EXACT: (5, "square", "the same count in every run")}
WORD_UNITS = {"message": "bytes", "chunk": "bytes", "sndbuf": "bytes", "rcvbuf": "bytes",
              "rate": "requests per second"}
RATE_UNITS = {"1/s": "", "k/s": "thousands", "M/s": "millions"}  # names have `per second` already
FLOOR_WIDE = 1.5  # an axis is not extended for an A/A interval above this; its shade is cut off
ROUNDS_MOST, SERIES_MOST = 50, 6  # a picture with more of either does not draw each round
GOLDEN = 0.618034  # its multiples modulo 1 lie far from each other
KEY_LETTER, KEY_SAMPLE = 9.2, 56  # the width of a letter of a key and of its sample, at most
STEEP_RATIOS = 3.0  # ratios that span more than this factor are on a logarithmic axis
RATIOS_LEAST = (0.98, 1.0, 1.02)  # on every axis of runs or curves: small noise must look small
# A line of a .dat: a comment, or its values. An empty one is a blank line, which ends a drawn line.
Row = str | Sequence[str | float | None]
Block = Sequence[Row]
GroupType = TypeVar("GroupType")


@dataclass(frozen=True)
class Drawing:
    """One picture. settings: the variables of its template: texts, numbers, or lists of these."""

    name: str
    template: str
    data: str
    settings: Mapping[str, Any]

    @property
    def series(self) -> Sequence[str]:
        """The names of the series in order; empty for a picture without series."""
        names: Sequence[str] = self.settings.get("names", ())
        return names

    @property
    def script(self) -> str:
        lines = (f"array {name}[{len(value)}] = [{', '.join(map(gnuplot_value, value))}]"
                 if isinstance(value, list) else f"{name} = {gnuplot_value(value)}"
                 for name, value in {"name": self.name, **self.settings}.items())
        return "".join(f"{line}\n" for line in lines)


def gnuplot_value(value: str | float) -> str:
    """A number, or a string: in single quotes, with line feeds spliced in."""
    if isinstance(value, str):
        return "'" + value.replace("'", "''").replace("\n", "'.\"\\n\".'") + "'"
    return number_data(value)


def number_data(value: float | None) -> str:
    """All digits of an int, a bool as 0 or 1, six digits of a float. An unknown number is NaN,
    which gnuplot does not draw."""
    if isinstance(value, int):
        return f"{value:d}"
    return "NaN" if value is None or not math.isfinite(value) else f"{value:.6g}"


def data_text(blocks: Iterable[Block]) -> str:
    """A .dat, with texts in quotes. A block begins with its title; one without rows gets one of
    unknown numbers, because gnuplot does not count it else."""
    nothing: Row = (None,) * 5
    return "\n\n\n".join("\n".join(map(row_text, block if len(block) > 1 else [*block, nothing]))
                         for block in blocks) + "\n"


def row_text(row: Row) -> str:
    if isinstance(row, str):
        return f"# {row}".rstrip()
    return " ".join(f'"{value}"' if isinstance(value, str) else number_data(value)
                    for value in row)


def picture_metric(matrix: Matrix, picture: Picture) -> Metric:
    return metric_find(picture.metric or metrics_default(matrix)[0], "picture: metric")


def picture_axis(matrix: Matrix, picture: Picture) -> str | None:
    """The axis that a picture names; None if that word does not vary in this result."""
    return picture.x if picture.x in matrix.axes else None


def series_axes(matrix: Matrix, picture: Picture) -> tuple[str, ...]:
    """The axis whose values are the series of a picture, by default the last; () without axes."""
    x = picture_axis(matrix, picture)
    return (x,) if x else matrix.axes[-1:]


def series_names(series: Iterable[tuple[str, ...]], axes: Sequence[str], alone: str
                 ) -> dict[tuple[str, ...], str]:
    """The names of series by their values on these axes. alone: that of a series without axes."""
    series = list(series)
    names = words_names([dict(zip(axes, values, strict=True)) for values in series])
    return {values: name or alone for values, name in zip(series, names, strict=True)}


def picture_name(picture: Picture, what: str) -> str:
    return picture.name or "-".join(filter(None, (what, picture.kind)))


def cells_group(cells: Iterable[Cell], axes: tuple[str, ...]) -> dict[tuple[str, ...], list[Cell]]:
    cells = list(cells)
    groups = grouped((tuple(cell.axes[axis] for axis in axes), cell) for cell in cells)
    return {values: groups[values] for values in axis_values(cells, axes)}


@dataclass(frozen=True)
class Page:
    """The cells of one drawing: those of one combination of values on the axes that are not in it.
    place: these values as words."""

    matrix: Matrix
    canvas: Canvas
    name: str
    place: str
    cells: Sequence[Cell]

    def axes_drawing(self, template: str, blocks: Iterable[Block], what: str, figures: str,
                     signs: Sequence[Sign], settings: Mapping[str, Any], panels: int = 1
                     ) -> Drawing:
        """A drawing of series. settings: with series_settings(). what, figures: what it shows, in
        its headline and in its small print. panels: 2 with axes of ratios."""
        return Drawing(self.name, template, data_text(blocks), {
            **self.canvas.axes_titles(settings["key_rows"] + settings.get("x_rows", 0), panels,
                                      headline_text(self.matrix, what, self.place),
                                      note_text(self.matrix, self.cells, figures), signs),
            **settings})


def pages_divide(matrix: Matrix, picture: Picture, what: str, inner: Collection[str]
                 ) -> list[Page]:
    """A page for each combination of values on the axes that are not inner. what: is shown."""
    outer, canvas = tuple(axis for axis in matrix.axes if axis not in inner), canvas_of(picture)
    name = picture_name(picture, what)
    return [Page(matrix, canvas, place_name(name, values), axis_words(outer, values), cells)
            for values, cells in cells_group(matrix.cells.values(), outer).items()]


def groups_fill(groups: Iterable[GroupType], size: Callable[[GroupType], int], most: int
                ) -> list[list[GroupType]]:
    """The groups of each picture: as many as have a total size of `most`, at least one."""
    pictures: list[list[GroupType]] = []
    room = 0
    for group in groups:
        if not pictures or size(group) > room:
            pictures.append([])
            room = most
        pictures[-1].append(group)
        room -= size(group)
    return pictures


def interval_ends(interval: stats.Interval | None) -> tuple[float, ...]:
    return interval[:2] if interval else ()


def absence_text(cell: Cell, timed: bool = True) -> str:
    """Why a cell has no figure. timed: the figure is a time."""
    if cell.status != "ok":
        return "not run" if cell.status == "missing" else cell.status
    return cell.emulated * timed or "n/a"


def name_cut(name: str, most: int = NAME_MAX) -> str:
    """A name of at most so many characters; a longer one would leave no room for the figures."""
    return name if len(name) <= most else name[:most - 3] + "..."


def words_names(rows: Sequence[Mapping[str, str]], most: int = NAME_MAX) -> list[str]:
    """The values of words as names of bars or rows. Numbers have their word before them if all
    names are short enough; else only numbers without a unit have it; else none."""
    for is_named in (size_parse, str.isdigit, lambda _: False):
        names = [" ".join(f"{word}={value}" if is_named(value) else value or "none"
                          for word, value in row.items()) for row in rows]
        if max(map(len, names), default=0) <= most:
            break
    return [name_cut(name, most) for name in names]


def name_safe(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9.+-]+", "_", text).strip("_")


def axis_words(axes: Iterable[str], values: Iterable[str]) -> str:
    return " ".join(f"{axis}={value}" for axis, value in zip(axes, values, strict=True) if value)


def place_name(name: str, values: Iterable[str]) -> str:
    return name_safe("-".join([name, *filter(None, values)]))


def measure_text(what: str, unit: str) -> str:
    """What an axis shows: `time per message, us`. A rate has its unit in its name."""
    return ", ".join(filter(None, (what, RATE_UNITS.get(unit, unit))))


def word_text(word: str) -> str:
    """The label of an axis along the values of a word: `message, bytes`."""
    return measure_text(word, WORD_UNITS.get(word, ""))


def what_text(what: str, unit: str, better: str) -> str:
    """The figures of a picture in its headline: `time per message, us (lower is better)`."""
    return f"{measure_text(what, unit)} ({better} is better)"


def headline_text(matrix: Matrix, what: str, place: str = "") -> str:
    """The name comes behind what is shown, because it may look like a unit."""
    result = matrix.result
    name = result.scenario.name if result.scenario.question else result.name
    return f"{what}: {', '.join(filter(None, (name, place)))}"


def medians_text(matrix: Matrix, cells: Sequence[Cell], *metrics: Metric) -> str:
    coverage = (coverage_text(matrix, cells, metric) for metric in metrics)
    return "; ".join([f"median of {counted_text(matrix.rounds, 'round')}, {interval_kind(matrix)}",
                      *filter(None, coverage)])


def note_text(matrix: Matrix, cells: Iterable[Cell], figures: str) -> str:
    return (f"{figures}; place {places_text(cells)}; "
            f"congestion {congestion_text(matrix)}; {machines_text(matrix)}")


def verdict_signs(verdicts: Container[Verdict | None], points: bool = False) -> list[Sign]:
    """The legend of these verdicts. points: drawn as the points of a forest plot too."""
    signs = []
    for verdict, (_, point, meaning) in POINT_SIGNS.items():
        if verdict in verdicts:
            mark = "" if verdict is Verdict.WITHHELD else marked("", verdict)
            signs.append(Sign(f"{point} {mark}".strip() if points else mark, mark, meaning))
    return signs


def interval_kind(matrix: Matrix) -> str:
    return "95 % interval" if matrix.rounds >= stats.ROUNDS_NEEDED else "min..max"


@functools.cache
def variants_listed(kind: str) -> list[str]:
    """The names of all strategies or readings, in the order of the list.def of the build."""
    text = (ROOT / "common" / kind / "list.def").read_text(encoding="utf-8")
    return [name.replace("_", "-") for name in re.findall(r"^VARIANT\((\w+)\)", text, re.MULTILINE)]


def strategy_place(axes: Mapping[str, str]) -> int | None:
    """The index of the strategy or reading of these axes in its list; `cork:64K` is `cork`."""
    for word, kind in VARIANTS.items():
        for axis, value in axes.items():
            name, known = value.partition(":")[0], variants_listed(kind)
            if axis.endswith(word) and name in known:
                return known.index(name)
    return None


def colour_places(series: Sequence[Mapping[str, str]]) -> list[int]:
    """The place of each series in COLOURS: that of its strategy, else a free one."""
    known = [strategy_place(axes) for axes in series]
    places = range(len(COLOURS))
    free = itertools.cycle([place for place in places if place not in known] or places)
    return [next(free) if place is None else place for place in known]


def series_settings(canvas: Canvas, matrix: Matrix, axes: tuple[str, ...],
                    names: Mapping[tuple[str, ...], str]) -> dict[str, Any]:
    """Names, colours, points and dashes of the series, the same in all pictures of a result, and
    the rows of their key, which is below the axes. names: by values on the axes. Series of one
    strategy share its colour."""
    every = [*cells_group(matrix.whole.cells.values(), axes)]
    places = colour_places([dict(zip(axes, values, strict=True)) for values in every])
    styles = {values: (place, places[:number].count(place))
              for number, (values, place) in enumerate(zip(every, places, strict=True))}
    shown = [styles[values] for values in names]
    entry = KEY_LETTER * max(map(len, names.values())) + KEY_SAMPLE
    columns = max(1, int(canvas.axes_width / entry))
    return {"series": len(names), "names": [*names.values()],
            "key_rows": -(-len(names) // columns),
            "colours": [COLOURS[place % len(COLOURS)] for place, _ in shown],
            "points": [POINTS[(place + turn) % len(POINTS)] for place, turn in shown],
            "dashes": [1 + (2 * place // len(COLOURS) + turn) % 4 for place, turn in shown]}


def rounds_shown(canvas: Canvas, matrix: Matrix, series: int) -> bool:
    """Whether a picture of so many series draws each round: as asked, else if there is room."""
    if canvas.points is None:
        return 1 < matrix.rounds <= ROUNDS_MOST and series <= SERIES_MOST
    return canvas.points


def dots_of(matrix: Matrix, cell: Cell, metric: Metric, scale: Scale) -> list[tuple[float, float]]:
    """(value, offset) of each round of a cell; offsets of -0.5 to 0.5 keep the dots apart."""
    series = matrix.series(cell.name, metric.name)
    return [(scale.apply(value), number * GOLDEN % 1 - 0.5)
            for number, value in enumerate(series.values.tolist()) if math.isfinite(value)]


def dots_signs(shown: bool, beyond: int) -> list[Sign]:
    return [Sign("dots", "", "rounds" + f" ({beyond} beyond the axis)" * bool(beyond))] * shown


def floor_ends(floors: Iterable[float]) -> list[float]:
    """Both ends of the shades of A/A intervals, except those above FLOOR_WIDE."""
    return [end for floor in floors if floor < FLOOR_WIDE for end in (1 / floor, floor)]


def floor_signs(drawn: str, text: str, floors: Collection[float]) -> list[Sign]:
    """The legend of A/A intervals; empty without any."""
    return [Sign(drawn, text, f"A/A interval, at most {noise_text(max(floors))}")] if floors else []


def ratio_axis(ends: Iterable[float]) -> dict[str, Any]:
    """The settings of an axis of ratios that holds all ends. Its template chooses the tics."""
    ends = [*RATIOS_LEAST, *ends]
    low, high = min(ends), max(ends)
    margin = (high / low) ** 0.06
    return {"ratio_low": low / margin, "ratio_high": high * margin,
            "ratio_steep": high / low > STEEP_RATIOS}


def figures_of(matrix: Matrix, metric: Metric) -> dict[str, Figure]:
    found = {cell.name: figure_build(matrix, cell, metric) for cell in matrix.cells.values()}
    return {name: figure for name, figure in found.items() if figure is not None}
