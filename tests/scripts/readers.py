# SPDX-License-Identifier: MIT
"""How each output is read: what it says of every row, as far as it says anything.

A reader gets matrices (one result, or two that are compared) and a metric. It gives a Said for each
row, by the values that name the row, in the order of the result's axes.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from rendered import compared_rendered, compared_text, table_rendered, table_text
from suite.base.words import words_text
from suite.contrast.contrast import Status, Verdict
from suite.decide.claims import claims_decide
from suite.decide.comparison.build import compare_baseline, compare_pair
from suite.decide.comparison.model import Comparison
from suite.decide.optimum import ALIKE, UNKNOWN, WORSE, answers_decide
from suite.decide.summary import Summary, summary_build
from suite.observe.frame import Cell, Matrix
from suite.observe.metrics import METRICS
from suite.observe.selection import Layout
from suite.present.answers import answers_pairs
from suite.present.claims import tap_text
from suite.present.judged import WITHHELD_SIGNS
from suite.present.mail.block import pair_block
from suite.present.report.page import pair_page, result_page
from suite.present.show import show_text
from suite.present.tables.mail import block_lines
from suite.scenario.scenario import Claim, Question

CLEAR, OPEN, FEW, WITHHELD = "clear", "undecided", "unknown", "withheld"
KINDS = {Verdict.CHANGED: CLEAR, Verdict.EXACT: CLEAR, Verdict.UNDECIDED: OPEN,
         Verdict.UNKNOWN: FEW, Verdict.WITHHELD: WITHHELD}
NOT_CLEAR = "not clear"  # of what does not say which of the others
SIGNS_WITHHELD = "|".join(set(WITHHELD_SIGNS.values()) - {"-"})
# `0.24x`, `0.98x~`, `+3.1%?`, `~`, `<0%`, `mixed`
SIGNS = re.compile(
    rf"(?:([<>])[01][x%]|([+-]?[\d.]+)([x%]))([~?])?|(~)|(?P<withheld>{SIGNS_WITHHELD})")
WIDE = 200
Place = tuple[str, ...]
Matrices = Sequence[Matrix]


class Said(NamedTuple):
    """What is said of a row. way: 1 if the new value is larger, -1 if smaller, 0 if that is not
    said. verdict: where it is said in its word."""

    kind: str
    way: int = 0
    verdict: Verdict | None = None


Rows = Mapping[Place, Said]
Reader = Callable[[Matrices, str], Rows]


def of_one(read: Reader) -> Reader:
    """A reader of what only a single result has, and only one with rows."""
    return lambda matrices, metric: (
        read(matrices, metric) if len(matrices) == 1 and places_of(matrices[0]) else {})


def way_of(ratio: float | None) -> int:
    """Which way a ratio goes."""
    return 0 if ratio is None else (ratio > 1) - (ratio < 1)


def said_by_signs(text: str) -> Said | None:
    """What the signs of a ratio or change say; None of another text."""
    found = SIGNS.fullmatch(text)
    if not found:
        return None
    bound, number, unit, mark, alone, withheld = found.groups()
    if withheld:
        return Said(WITHHELD)
    kind = OPEN if alone or mark == "~" else FEW if mark else CLEAR
    if bound:
        return Said(kind, 1 if bound == ">" else -1)
    return Said(kind, 0 if alone else way_of(float(number) + (unit == "%")))


def said_by_word(word: str, ratio: float | None) -> Said:
    """What a program reads: the word of a verdict, or of why it is withheld, and a ratio."""
    if word in {status.value for status in Status}:
        return Said(WITHHELD, way_of(ratio), Verdict.WITHHELD)
    verdict = Verdict(word)
    return Said(KINDS[verdict], way_of(ratio), verdict)


def plain(text: str) -> str:
    """A text without the interval and the footnotes behind it."""
    return re.sub(r" \[[^]]*\]", "", text).strip()


def lines_of(text: str) -> Iterator[list[str]]:
    """The cells of each line of a table, however it is written, without intervals and footnotes."""
    for row in re.findall(r"<tr.*?</tr>", text) or text.splitlines():
        cells = (re.findall(r"<td[^>]*>(.*?)</td>", row) if row.startswith("<tr") else
                 row.strip("|").split("|") if row.startswith("|") else re.split(r"\s{2,}", row))
        yield [plain(re.sub(r"<[^>]*>", "", cell).replace("&lt;", "<").replace("&gt;", ">"))
               for cell in cells]


def first_said(cells: Sequence[str]) -> Said | None:
    """The first that has signs and is no width, which has neither sign nor unit `x`."""
    return next((said for cell in cells if not re.fullmatch(r"[\d.]+%( r)?", cell)
                 and (said := said_by_signs(cell))), None)


def rows_of(text: str, places: Iterable[Place]) -> dict[Place, Said]:
    """What the line of each place says."""
    lines = list(lines_of(text))
    found = {place: first_said(line[len(place):]) for place in places for line in lines
             if tuple(line[:len(place)]) == place}
    return {place: said for place, said in found.items() if said}


def places_of(matrix: Matrix) -> list[Place]:
    """The rows that have a baseline."""
    base = matrix.baseline
    return [tuple(cell.axes.values()) for cell in matrix.cells.values()
            if base and not base.items() <= cell.axes.items()]


def json_ratio(ratio: Mapping[str, object]) -> float | None:
    """The ratio of a value of JSON; of a direction 2 or 0.5."""
    ways = {"above": 2.0, "below": 0.5}
    value = ratio["value"]
    return value if isinstance(value, float) else ways.get(str(ratio.get("direction")))


# table, gain=, best=, show ------------------------------------------------------------------------

def summary_of(matrices: Matrices, metric: str, **more: str) -> Summary:
    """The summary of a result by one metric."""
    return summary_build(matrices[0], (metric,), **more)


def table_read(style: str, **more: str) -> Reader:
    """A table of a style as text; more: gain= or best=, a word or the metric itself."""
    @of_one
    def read(matrices: Matrices, metric: str) -> Rows:
        summary = summary_of(matrices, metric, **{
            key: value or metric for key, value in more.items()})
        layout = Layout(matrices[0].axes, (), (metric,))
        text = (table_rendered(style, summary, layout) if style else
                table_text(summary, layout, WIDE))
        rows = rows_of(text, places_of(matrices[0]))
        better = "best" in more and METRICS[metric].better == "lower"  # how many times better
        return {place: said._replace(way=-said.way if better else said.way)
                for place, said in rows.items()}
    return read


def table_csv(part: str, centre: str, none: float, **more: str) -> Reader:
    """The records of a table: the column of the verdict, and that of the ratio, which is `none`
    where nothing changed."""
    @of_one
    def read(matrices: Matrices, metric: str) -> Rows:
        text = table_rendered("csv", summary_of(matrices, metric, **{
            key: value or metric for key, value in more.items()}))
        rows: dict[Place, Said] = {}
        for row in csv.DictReader(io.StringIO(text)):
            word, value = row.get(f"{metric}{part}"), row.get(f"{metric}{centre}")
            place = tuple(row[axis] for axis in matrices[0].axes)
            if word and place in places_of(matrices[0]):
                ratio = float(value) + 1 - none if value else None
                if ratio and "best" in more and METRICS[metric].better == "lower":
                    ratio = 1 / ratio
                rows[place] = said_by_word(word, ratio)
        return rows
    return read


@of_one
def table_json(matrices: Matrices, metric: str) -> Rows:
    """The JSON of a table."""
    value = json.loads(table_rendered("json", summary_of(matrices, metric)))
    ratios = {tuple(cell["axes"].values()): cell["metrics"][metric]["ratio"]
              for cell in value["cells"] if "ratio" in cell["metrics"].get(metric, {})}
    return {place: said_by_word(ratio["verdict"], json_ratio(ratio))
            for place, ratio in ratios.items()}


@of_one
def gain_json(matrices: Matrices, metric: str) -> Rows:
    """The gains in the JSON of a table."""
    value = json.loads(table_rendered("json", summary_of(matrices, metric, gain=metric)))
    gains = {tuple(cell["axes"].values()): cell["gain"] for cell in value["cells"]
             if "gain" in cell and not cell["baseline"]}
    return {place: said_by_word(gain["gain_verdict"],
                                None if gain["gain"] is None else gain["gain"] + 1)
            for place, gain in gains.items()}


@of_one
def show_read(matrices: Matrices, metric: str) -> Rows:
    """The page of each cell."""
    rows, memo = {}, matrices[0].memo
    for cell in matrices[0].cells.values():
        if ("shown", cell.name) not in memo:
            memo["shown", cell.name] = show_text(matrices[0], cell, WIDE)
        found = re.search(rf"^  {metric} .*; (.+)$", memo["shown", cell.name], re.M)
        if found and (said := said_by_signs(plain(found[1]))):
            rows[tuple(cell.axes.values())] = said
    return rows


@of_one
def marks_read(matrices: Matrices, metric: str) -> Rows:
    """The marks of best=: of the pair of the baseline and the best value of its group."""
    (base_axis, base_value), = matrices[0].baseline.items()
    summary, rows = summary_of(matrices, metric, best=base_axis), {}
    higher = METRICS[metric].better == "higher"
    kinds = {WORSE: CLEAR, ALIKE: NOT_CLEAR, UNKNOWN: NOT_CLEAR}
    for optimum in summary.optima:
        if base_value not in optimum.marks:
            continue
        pairs = ([(value, mark) for value, mark in optimum.marks.items() if value != base_value]
                 if optimum.best == base_value else [(optimum.best, optimum.marks[base_value])])
        for value, mark in pairs:
            words = {**optimum.place, base_axis: value}
            way = 1 if higher == (value == optimum.best) else -1
            rows[tuple(words[axis] for axis in matrices[0].axes)] = Said(
                kinds[mark], way if mark == WORSE else 0)
    return rows


# claims, answers, report --------------------------------------------------------------------------

def selector(metric: str, cell: Cell) -> str:
    """A metric of a cell in a claim."""
    return f"{metric}({words_text({key: value for key, value in cell.axes.items() if value})})"


def scenario_with(matrix: Matrix, **more: object) -> Matrix:
    """The same result, whose scenario claims or asks something."""
    scenario = replace(matrix.result.scenario, **more)  # type: ignore[arg-type]
    return replace(matrix, result=replace(matrix.result, scenario=scenario))


def claims_make(matrix: Matrix, metric: str) -> dict[tuple[Place, str], Claim]:
    """By row and sign the claim that it differs from its baseline that way."""
    pairs = [(cell, matrix.baseline_find(cell, matrix.baseline))
             for cell in matrix.cells.values() if tuple(cell.axes.values()) in places_of(matrix)]
    return {(tuple(cell.axes.values()), sign): Claim(
        f"{'-'.join(cell.axes.values())} {sign}",
        f"{selector(metric, cell)} {sign} {selector(metric, base)}")
        for cell, base in pairs if base for sign in "<>"}


@of_one
def claims_read(matrices: Matrices, metric: str) -> Rows:
    """Claims of a scenario, in the Test Anything Protocol: that a row is less, and more, than its
    baseline."""
    claims = claims_make(matrices[0], metric)
    text = tap_text(claims_decide(scenario_with(matrices[0], claims=tuple(claims.values()))))
    rows: dict[Place, Said] = {}
    for place, sign in claims:
        line = re.search(rf"^.* - {'-'.join(place)} {sign}.*$", text, re.M)
        assert line, text
        holds = line[0].startswith("ok ")
        if holds or place not in rows:
            rows[place] = Said(CLEAR, 1 if sign == ">" else -1) if holds else Said(NOT_CLEAR)
    return rows


SURE = {  # the best value, and the baseline
    r"(\S+) is .* than {base}, but by how much is unknown": CLEAR,
    r"(\S+) is exactly \S+ .* {base}\.": CLEAR,
    r"(\S+) is \S+ (as fast as|better than) {base}\b": CLEAR,
    r"No difference found between (\S+) and {base}[;.]": OPEN,
    r"\d+ \w+ cannot tell (\S+) from {base}: it takes \d+": FEW,
    r"No difference between (\S+) and {base} is claimed: ": WITHHELD,
}


@of_one
def answers_read(matrices: Matrices, metric: str) -> Rows:
    """The sentence of each group: of its best value against the baseline."""
    ((axis, base),), (*others, _) = matrices[0].baseline.items(), matrices[0].axes
    question, rows = Question("Which?", axis, metric), {}
    asked = scenario_with(matrices[0], answers=(question,))
    for _, text in answers_pairs(answers_decide(asked)):
        group, _, told = text.rpartition(": ") if not others else text.partition(": ")
        values = [word.partition("=")[2] for word in group.split()]
        for pattern, kind in SURE.items():
            found = re.match(pattern.format(base=base), told)
            if found:
                rows[(*values, found[1])] = Said(kind)
    return rows


def page_read(matrices: Matrices, metric: str) -> Rows:
    """The tables of a page: that of the result, and those of changes, which must not differ."""
    if len(matrices) > 1:
        comparison, = comparisons_of(matrices, metric)
        return rows_of(pair_page(comparison, []), compared_places(comparison))
    comparisons = comparisons_of(matrices, metric)
    claims = claims_make(matrices[0], metric)
    page = result_page(
        summary_of(matrices, metric), Layout(matrices[0].axes, (), (metric,)),
        claims_decide(scenario_with(matrices[0], claims=tuple(claims.values()))), comparisons,
        [])
    changes, _, table = page.partition('<section id="table"')
    rows = rows_of(table, places_of(matrices[0]))
    for one, part in zip(comparisons, changes.split("<h3>")[1:], strict=False):
        for place, said in rows_of(part, compared_places(one)).items():
            whole = whole_place(matrices[0], one, place)
            assert rows.setdefault(whole, said).kind == said.kind, (whole, said, rows[whole])
    return rows


# compare, paste, pictures -------------------------------------------------------------------------

def comparisons_of(matrices: Matrices, metric: str) -> list[Comparison]:
    """The baseline against each other value, or two results; made once."""
    key = ("comparisons", metric, *(matrix.result.name for matrix in matrices))
    memo = matrices[0].memo
    if key not in memo:
        memo[key] = compare_baseline(matrices[0], [METRICS[metric]]) if len(matrices) == 1 else [
            compare_pair(matrices, {}, {}, [METRICS[metric]])]
    return memo[key]


def compared_places(comparison: Comparison) -> list[Place]:
    """The names of its rows."""
    return [tuple(row.axes.values()) or ("all",) for row in comparison.rows]


def whole_place(matrix: Matrix, comparison: Comparison, place: Place) -> Place:
    """The place of a row of a comparison among all cells."""
    words = {**dict(zip(comparison.axes, place, strict=False)), **comparison.new.words}
    return tuple(words[axis] for axis in matrix.axes)


def compare_read(style: str) -> Reader:
    """A comparison of a style as text."""
    def read(matrices: Matrices, metric: str) -> Rows:
        return {whole_place(matrices[0], one, place): said
                for one in comparisons_of(matrices, metric)
                for place, said in rows_of(
                    compared_rendered(style, [one]) if style else compared_text([one], WIDE),
                    compared_places(one)).items()}
    return read


def compare_csv(matrices: Matrices, metric: str) -> Rows:
    """The records of comparisons."""
    rows = {}
    for one in comparisons_of(matrices, metric):
        for row in csv.DictReader(io.StringIO(compared_rendered("csv", [one]))):
            if row["row"] == "cell" and row["verdict"]:
                place = whole_place(matrices[0], one, tuple(row[axis] for axis in one.axes))
                rows[place] = said_by_word(row["verdict"],
                                           float(row["change"]) + 1 if row["change"] else None)
    return rows


def compare_json(matrices: Matrices, metric: str) -> Rows:
    """The JSON of comparisons."""
    rows = {}
    for one in comparisons_of(matrices, metric):
        (value,) = json.loads(compared_rendered("json", [one]))["comparisons"]
        for row in value["rows"]:
            if metric in row["changes"]:
                change = row["changes"][metric]
                place = whole_place(matrices[0], one, tuple(row["axes"].values()))
                rows[place] = said_by_word(
                    change["verdict"], json_ratio(change["ratio"]) if change["ratio"] else None)
    return rows


@of_one
def compare_one(matrices: Matrices, metric: str) -> Rows:
    """Comparisons of a single row each, which must not be judged otherwise than among all rows."""
    matrix, rows = matrices[0], {}
    for place in places_of(matrix):
        words = dict(zip(matrix.axes, place, strict=True))
        base = {**words, **matrix.baseline}
        (row,) = compare_pair([matrix], base, words, [METRICS[metric]]).rows
        if metric in row.changes:
            change = row.changes[metric]
            rows[place] = Said(KINDS[change.verdict],
                               way_of(change.ratio.value if change.ratio else None),
                               change.verdict)
    return rows


def paste_read(style: str) -> Reader:
    """The block of each pair."""
    def read(matrices: Matrices, metric: str) -> Rows:
        rows = {}
        for one in comparisons_of(matrices, metric):
            if any(row.changes for row in one.rows):
                sides = (one.base.words, one.new.words)
                block = pair_block(matrices, *sides, [METRICS[metric]])
                rows |= {whole_place(matrices[0], one, place): said for place, said in rows_of(
                    "\n".join(block_lines(block, style)), compared_places(one)).items()}
        return rows
    return read


def means_read(matrices: Matrices, one: Comparison, metric: str) -> dict[str, Said | None]:
    """By output what is said of the geometric mean of a comparison; None where nothing is."""
    (value,) = json.loads(compared_rendered("json", [one]))["comparisons"]
    mean = value["metrics"][metric]["geomean"]
    words = [row for row in csv.DictReader(io.StringIO(compared_rendered("csv", [one])))
             if row["row"] == "geomean"]
    texts = {"compare": compared_text([one], WIDE), "md": compared_rendered("md", [one]),
             "html": compared_rendered("html", [one])}
    if any(row.changes for row in one.rows):
        block = pair_block(matrices, one.base.words, one.new.words, [METRICS[metric]])
        texts["paste"] = "\n".join(block_lines(block))
    said = {name: next((first_said(line[1:]) for line in lines_of(text)
                        if len(line) > 1 and line[0].startswith("geomean")), None)
            for name, text in texts.items()}
    return said | {
        "json": said_by_word(mean["verdict"], json_ratio(mean)) if mean else None,
        "csv": said_by_word(words[0]["verdict"], float(words[0]["change"]) + 1) if words else None}
