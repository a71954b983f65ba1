# SPDX-License-Identifier: MIT
"""What all kinds of pictures use: settings and data for gnuplot, titles, series, tics, figures. The
script of a picture is its settings followed by a template, plots/TEMPLATE.gp. So NAME.gp and
NAME.dat are enough to draw it again: `gnuplot NAME.gp`."""

import functools
import itertools
import math
import re
from collections.abc import Callable, Collection, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeVar

from suite import stats
from suite.base import ROOT
from suite.base.units import Scale, counted_text, noise_text, size_parse
from suite.base.words import words_text
from suite.contrast.contrast import Status, Verdict
from suite.contrast.verdicts import Judged
from suite.decide.summary import Figure, figure_build
from suite.observe.frame import Cell, Matrix
from suite.observe.metrics import Metric, metric_find
from suite.observe.selection import metrics_default
from suite.present.heading import congestion_text, coverage_text, machines_text, places_text
from suite.present.judged import judged_marked, marked
from suite.present.pictures.canvas import LINE, NAME_MAX, Canvas, Sign, canvas_of
from suite.present.table import cells_group
from suite.scenario.scenario import Picture

# Okabe and Ito's colours without yellow, then Paul Tol's and others. Each has its own point; the
# lines of the second half are dashed.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#000000", "#332288",
           "#882255", "#117733", "#aa4499", "#999933", "#8c564b", "#777777", "#44aa99", "#cc6677")
POINTS = (7, 5, 9, 11, 13, 15, 3, 6, 4, 8, 10, 12, 14, 1, 2)
# Endings of words whose values have fixed colours (`reply_write` is one). A folder of common/ with
# this name lists the values. If a cell has both, the first one decides.
VARIANTS = "write", "read"
MARKS = {Verdict.UNDECIDED: "undecided", Verdict.EQUIVALENT: "equivalent",
         Verdict.UNKNOWN: "too few rounds"}  # what the mark of a verdict means
WORD_UNITS = {"message": "bytes", "chunk": "bytes", "sndbuf": "bytes", "rcvbuf": "bytes",
              "rate": "requests per second"}
RATE_UNITS = {"1/s": "", "k/s": "thousands", "M/s": "millions"}  # names have `per second` already
ROUNDS_MOST, SERIES_MOST = 50, 6  # a picture with more of either does not draw each round
GOLDEN = 0.618034  # its multiples modulo 1 lie far from each other
AXES_MARGINS = 122  # units on the left and the right of axes
# The height of axes by the number of panels: most, most as a share of the width, least.
AXES_HEIGHTS = {1: (500, 0.8, 210), 2: (680, 1.0, 260)}
KEY_LETTER, KEY_SAMPLE = 9.2, 56  # the width of a letter of a key and of its sample, at most
STEEP_RATIOS = 3.0  # ratios that span more than this factor are on a logarithmic axis
RATIOS_LEAST = (0.98, 1.0, 1.02)  # on every axis of runs or curves: small noise must look small
NO_BASELINE = ("nothing stands beside a baseline here: it needs baseline=WORD=VALUE and another "
               "value of that word")
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


def axes_inside(matrix: Matrix, picture: Picture) -> tuple[str, ...]:
    """The axis that a picture names, if that word varies, else the last one; () without axes."""
    return (picture.x,) if picture.x in matrix.axes else matrix.axes[-1:]


class Series(NamedTuple):
    """The cells of one line, and how it looks in all pictures of a result. words: what they share
    on the axes of the series."""

    name: str
    words: Mapping[str, str]
    cells: Sequence[Cell]
    colour: str
    point: int
    dash: int

    def absent(self, timed: bool = True) -> "Series":
        """The same with a name that says why there is nothing to draw. timed: as a time."""
        reasons = dict.fromkeys(absence_text(cell, timed) for cell in self.cells)
        return self._replace(name=f"{self.name} ({' or '.join(reasons)})")


@dataclass(frozen=True)
class Page:
    """The cells of one drawing. place: the words that they share on the outer axes."""

    matrix: Matrix
    canvas: Canvas
    name: str
    place: str
    cells: Collection[Cell]

    def note(self, figures: str, *metrics: Metric) -> str:
        """The small print. figures: what they are; it adds which metrics some rounds lack."""
        coverage = [coverage_text(self.matrix, self.cells, metric) for metric in metrics]
        return "; ".join(filter(None, [
            figures, *coverage, f"place {places_text(self.cells)}",
            f"congestion {congestion_text(self.matrix)}", machines_text(self.matrix)]))

    def series(self, axes: tuple[str, ...], alone: str = "") -> list[Series]:
        """Those of each combination of values on these axes; without axes one, named `alone`.
        Series of one strategy share its colour, and differ in point and dash."""
        every = [words for words, _ in cells_group(self.matrix.whole.cells.values(), axes)]
        places, found = colour_places(every), []
        groups = cells_group(self.cells, axes)
        names = words_names([words for words, _ in groups])
        for name, (words, cells) in zip(names, groups, strict=True):
            number = every.index(words)
            place, turn = places[number], places[:number].count(places[number])
            found.append(Series(
                name or alone or self.matrix.result.name, words, cells,
                COLOURS[place % len(COLOURS)], POINTS[(place + turn) % len(POINTS)],
                1 + (2 * place // len(COLOURS) + turn) % 4))
        return found

    def divide(self, groups: Iterable[GroupType], size: Callable[[GroupType], int], most: int
               ) -> list[tuple["Page", list[GroupType]]]:
        """Pages of as many groups as have a total size of `most`, but at least one."""
        filled: list[list[GroupType]] = []
        room = 0
        for group in groups:
            if not filled or size(group) > room:
                filled.append([])
                room = most
            filled[-1].append(group)
            room -= size(group)
        return [(replace(self, name=f"{self.name}-{number}") if len(filled) > 1 else self, some)
                for number, some in enumerate(filled, start=1)]

    def drawing(self, template: str, blocks: Iterable[Block], what: str, note: str,
                signs: Sequence[Sign], heights: tuple[int, int], settings: Mapping[str, Any],
                rows: int = 1, around: int = 0) -> Drawing:
        """what: it shows, for the headline. note: the small print. signs: of the legend. heights:
        of a row, wanted and needed. around: the height around the rows."""
        result = self.matrix.result
        name = result.scenario.name if result.scenario.question else result.name
        # The name comes behind what is shown, because it may look like a unit.
        headline = f"{what}: {', '.join(filter(None, (name, self.place)))}"
        wanted, needed = (height * rows + around for height in heights)
        return Drawing(name_safe(self.name), template, data_text(blocks), {
            **self.canvas.titles(wanted, needed, headline, note, signs), **settings})

    def axes_drawing(self, template: str, series: Sequence[Series], blocks: Iterable[Block],
                     what: str, note: str, signs: Sequence[Sign], settings: Mapping[str, Any],
                     panels: int = 1) -> Drawing:
        """A drawing of series, whose key is below the axes. panels: 2 with axes of ratios."""
        entry = KEY_LETTER * max(len(one.name) for one in series) + KEY_SAMPLE
        key_rows = -(-len(series) // max(1, int((self.canvas.width - AXES_MARGINS) / entry)))
        most, share, least = AXES_HEIGHTS[panels]
        heights = min(most, round(share * self.canvas.width)), least
        return self.drawing(template, blocks, what, note, signs, heights, {
            "series": len(series), "key_rows": key_rows, "names": [one.name for one in series],
            "colours": [one.colour for one in series], "points": [one.point for one in series],
            "dashes": [one.dash for one in series], **settings},
            around=LINE * (key_rows + settings.get("x_rows", 0)))


def page_make(matrix: Matrix, picture: Picture, what: str, words: Mapping[str, str],
              cells: Collection[Cell]) -> Page:
    """what: is shown, for the name. words: see Page.place."""
    used = {word: value for word, value in words.items() if value}
    name = picture.name or "-".join(filter(None, (what, picture.kind)))
    return Page(matrix, canvas_of(picture), "-".join([name, *used.values()]),
                words_text(used), cells)


def pages_divide(matrix: Matrix, picture: Picture, what: str, inner: Collection[str]
                 ) -> list[Page]:
    """A page for each combination of values on the axes that are not inner."""
    outer = tuple(axis for axis in matrix.axes if axis not in inner)
    return [page_make(matrix, picture, what, words, cells)
            for words, cells in cells_group(matrix.cells.values(), outer)]


def figure_span(figure: Figure | None, scale: Scale) -> tuple[float | None, ...]:
    """The median and the ends of its interval, in the unit of the scale; None if unknown."""
    ends = figure.interval[:2] if figure and figure.interval else (None, None)
    return tuple(None if value is None else scale.apply(value)
                 for value in (figure.median if figure else None, *ends))


def ratio_span(estimate: stats.Estimate | None) -> tuple[float | None, ...]:
    """A ratio and the ends of its interval; None if unknown."""
    span = estimate.span if estimate and not estimate.directed else ()
    return (*span, None, None, None)[:3]


def absence_text(cell: Cell, timed: bool = True) -> str:
    """Why a cell has no figure. timed: the figure is a time."""
    if cell.status != "ok":
        return "not run" if cell.status == "missing" else cell.status
    return cell.emulated * timed or "n/a"


def unjudged_text(cells: Iterable[Cell | None], judged: Judged | None, timed: bool) -> str:
    """Why these cells have no ratio, in a word or two."""
    for cell in cells:
        if cell and (cell.status != "ok" or cell.emulated and timed):
            return absence_text(cell)
    if judged is None or judged.contrast.status is Status.ABSENT:
        return "n/a"
    return "zero" if judged.contrast.exact else judged_marked("", judged)


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


def measure_text(what: str, unit: str) -> str:
    """What an axis shows: `time per message, us`. A rate has its unit in its name."""
    return ", ".join(filter(None, (what, RATE_UNITS.get(unit, unit))))


def word_text(word: str) -> str:
    """The label of an axis along the values of a word: `message, bytes`."""
    return measure_text(word, WORD_UNITS.get(word, ""))


def what_text(what: str, unit: str, better: str) -> str:
    """The figures of a picture in its headline: `time per message, us (lower is better)`."""
    return f"{measure_text(what, unit)} ({better} is better)"


def medians_text(matrix: Matrix) -> str:
    return f"median of {counted_text(matrix.rounds, 'round')}, {interval_kind(matrix)}"


def verdict_signs(verdicts: Container[Verdict | None]) -> list[Sign]:
    """The legend of the marks of these verdicts."""
    return [Sign(marked("", verdict), marked("", verdict), meaning)
            for verdict, meaning in MARKS.items() if verdict in verdicts]


def interval_kind(matrix: Matrix) -> str:
    return "95 % interval" if matrix.rounds >= stats.ROUNDS_NEEDED else "min..max"


@functools.cache
def variants_listed(word: str) -> list[str]:
    """The values of write= or read=, in the order of the list.def of the build."""
    text = (ROOT / "common" / word / "list.def").read_text(encoding="utf-8")
    return [name.replace("_", "-") for name in re.findall(r"^VARIANT\((\w+)\)", text, re.MULTILINE)]


def strategy_place(axes: Mapping[str, str]) -> int | None:
    """The index of the strategy or reading of these axes in its list; `cork:64K` is `cork`."""
    names = ((variants_listed(word), value.partition(":")[0]) for word in VARIANTS
             for axis, value in axes.items() if axis.endswith(word))
    return next((known.index(name) for known, name in names if name in known), None)


def colour_places(series: Sequence[Mapping[str, str]]) -> list[int]:
    """The place of each series in COLOURS: that of its strategy, else a free one."""
    known = [strategy_place(axes) for axes in series]
    places = range(len(COLOURS))
    free = itertools.cycle([place for place in places if place not in known] or places)
    return [next(free) if place is None else place for place in known]


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


def floor_signs(drawn: str, text: str, floors: Collection[float]) -> list[Sign]:
    """The legend of A/A intervals; empty without any."""
    return [Sign(drawn, text, f"A/A interval, at most {noise_text(max(floors))}")] if floors else []


def ratio_axis(ends: Iterable[float | None]) -> dict[str, Any]:
    """The settings of an axis of ratios that holds all known ends."""
    known = [*RATIOS_LEAST, *(end for end in ends if end is not None)]
    low, high = min(known), max(known)
    margin = (high / low) ** 0.06
    return {"ratio_low": low / margin, "ratio_high": high * margin,
            "ratio_steep": high / low > STEEP_RATIOS}


def figures_of(matrix: Matrix, metric: Metric) -> dict[str, Figure]:
    found = {cell.name: figure_build(matrix, cell, metric) for cell in matrix.cells.values()}
    return {name: figure for name, figure in found.items() if figure is not None}
