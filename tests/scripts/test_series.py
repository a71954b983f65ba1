# SPDX-License-Identifier: MIT
"""Curves, and how the series and bars of pictures look."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import numpy as np
import pytest

from answers import NODELAY, golden_check, matrix_of, refused, result_make, uncork
from conftest import ROOT
from drawn import draw, figure, made, needs_gnuplot, records_change, signs_of
from drawn_readers import blocks_of
from suite.base.errors import UsageError
from suite.contrast.contrast import Verdict
from suite.observe.metrics import METRICS
from suite.present.columns import ratio_item
from suite.present.pictures import parts
from suite.present.pictures.bars import bar_colour
from suite.present.pictures.canvas import Canvas
from suite.present.pictures.curve import Curves, labels_lines
from suite.present.pictures.gnuplot import drawing_write
from suite.present.pictures.parts import COLOURS, Page, colour_places, figures_of
from suite.present.pictures.plot import drawings_make, pictures_default
from suite.scenario.scenario import Picture, scenario_load


def test_data_and_script_of_a_curve(tmp_path):
    recipe = result_make.recipe_sizes(3, 4)
    recipe.sweep["write"].remove("nodelay")
    (drawing,) = drawings_make(made(tmp_path, recipe))
    assert drawing.name == "bandwidth-curve"
    golden_check("curve.dat", drawing.data)
    golden_check("curve.gp", drawing.script)


def test_a_curve_of_the_baseline_alone_has_no_panel_of_ratios_to_it(tmp_path):
    matrix = made(tmp_path, result_make.recipe_sizes(3, 2), '\n[[picture]]\nkind = "curve"\n')
    alone = {name: cell for name, cell in matrix.cells.items() if cell.baseline}
    runs = matrix.result.runs
    rows = np.concatenate([runs.rows_of_cells[cell] for cell in alone])
    (drawing,) = drawings_make(matrix)
    assert "base = 0\n" not in drawing.script
    result = replace(matrix.result, runs=runs.take(rows))
    (drawing,) = drawings_make(replace(matrix, cells=alone, result=result))
    assert "series = 1\n" in drawing.script and "base = 0\n" in drawing.script


@needs_gnuplot
@pytest.mark.parametrize("sizes", [1, 15])
@pytest.mark.parametrize("series", [1, 2, 6, 14])
def test_few_and_many_series_and_sizes_are_drawn(tmp_path, series, sizes):
    matrix = made(tmp_path, result_make.recipe_sizes(series, sizes, rounds=2))
    (drawing,) = draw(matrix, tmp_path)
    assert drawing.template == ("curve" if sizes > 3 else "bars")


@pytest.mark.parametrize("x, said", [
    ("write", "curve: a curve runs along numbers, and write has fewer than two here: type "
              "x=message or kind=bars"),
    ("segments", "and segments has fewer than two here: type x=message or kind=bars"),
])
def test_a_curve_along_words_is_refused_and_the_line_says_what_would_do(tmp_path, x, said):
    folder = result_make.result_write(result_make.recipe_sizes(3, 4, rounds=1), tmp_path)
    words = matrix_of(folder).cells.values()
    fixed = next(word for word in next(iter(words)).words if word not in ("write", "message"))
    said = said.replace("segments", fixed)
    assert said in refused("plot", folder, "kind=curve", f"x={x.replace('segments', fixed)}")
    assert not (folder / "plots").exists()


def test_a_curve_along_an_axis_of_one_value_is_refused(tmp_path):
    matrix = made(tmp_path, result_make.recipe_sizes(3, 1))
    with pytest.raises(UsageError, match="and message has fewer than two here: type kind=bars$"):
        drawings_make(matrix, [Picture("curve")])


def test_a_curve_of_nothing_but_failures_is_refused(tmp_path):
    path = result_make.result_write(result_make.recipe_sizes(2, 5), tmp_path)
    records = (path / "records.jsonl").read_text()
    (path / "records.jsonl").write_text(records.replace('"status":"ok"', '"status":"failed"'))
    assert "picture: curve: no cell has messages_per_second; kind=bars says" in refused(
        "plot", path, "kind=curve")


def test_four_message_sizes_make_a_curve_and_three_make_bars(tmp_path):
    four = made(tmp_path, result_make.recipe_sizes(2, 4, rounds=1))
    three = made(tmp_path, result_make.recipe_sizes(2, 3, rounds=1))
    assert [pictures_default(matrix)[0].kind for matrix in (four, three)] == ["curve", "bars"]


def test_four_numbers_on_an_axis_make_a_curve_and_words_do_not(tmp_path):
    rates = made(tmp_path, result_make.recipe_open(("500", "1000", "2000", "4000"), rounds=1))
    kinds = [(picture.kind, picture.x) for picture in pictures_default(rates)]
    assert kinds == [("curve", "rate"), ("percentiles", None)]
    assert [(p.kind, p.x) for p in pictures_default(matrix_of(NODELAY))] == [("bars", None)]


def test_a_label_that_would_run_into_the_one_before_it_stands_a_line_lower():
    labels, steps = ["256", "320", "512", "1K"], [0.0, 0.04, 0.5, 1.0]
    lines = {columns: labels_lines(labels, steps, columns) for columns in (80, 200, 4)}
    assert lines == {80: [0, 1, 0, 0], 200: [0, 0, 0, 0], 4: [0, 1, 2, 0]}


def strategies_listed():
    """Every value of a word for strategies, as the client names them."""
    words = json.loads(uncork("list", "--json").stdout)["words"]
    return {word["key"]: word["choices"] for word in words
            if word["key"] in ("write", "reply_write", "read")}


def looks(axis, names):
    """The place in COLOURS of these series of one word by name."""
    return dict(zip(names, colour_places([{axis: name} for name in names]), strict=True))


def test_a_strategy_has_one_colour_whatever_else_is_in_a_picture():
    for axis, names in strategies_listed().items():
        together = looks(axis, names)
        assert len(set(together.values())) == len(names) <= len(COLOURS)
        assert all(looks(axis, ["other", name])[name] == together[name] for name in names)
        assert looks(axis, names[::-1]) == together
        assert looks(f"server.{axis}", names) == together


def page_of(matrix, cells=None):
    return Page(matrix, Canvas(), "", "", cells or [*matrix.cells.values()])


def look(series):
    return series.colour, series.point, series.dash


def test_a_strategy_more_than_there_are_colours_looks_otherwise_all_the_same(monkeypatch, tmp_path):
    names = [f"way{number}" for number in range(2 * len(COLOURS))]
    monkeypatch.setattr(parts, "variants_listed", lambda kind: names)
    monkeypatch.setattr(parts, "cells_group",
                        lambda cells, axes: [({"write": name}, []) for name in names])
    matrix = made(tmp_path, result_make.recipe_sizes(14, 1, rounds=1))
    assert len({look(series) for series in page_of(matrix).series(("write",))}) == len(names)


def test_a_strategy_decides_before_a_reading_and_other_words_do_not():
    assert colour_places([{"server.read": "zerocopy", "write": "cork"}]) == [2]
    assert colour_places([{"server.read": "zerocopy"}, {"name": "cork"}]) == [2, 0]


def test_other_series_take_colours_that_no_strategy_of_the_picture_has():
    names = ("nagle", "fast", "nodelay:64K", "slow")
    assert colour_places([{"write": name} for name in names]) == [0, 2, 1, 3]


def test_series_look_the_same_in_all_pictures_of_a_result_and_those_of_one_colour_differ():
    matrix = matrix_of(NODELAY)
    corked = [cell for cell in matrix.cells.values() if cell.axes["write"] == "cork"]
    both = page_of(matrix, corked).series(("place", "write"))
    (alone,) = page_of(matrix, corked[1:]).series(("place", "write"))
    assert both[0].colour == both[1].colour and both[0].dash != both[1].dash
    assert look(alone) == look(both[1])
    assert [series.colour for series in page_of(matrix).series(("place",))] == [*COLOURS[:2]]


def test_series_are_named_by_their_values_and_numbers_by_their_word_too(tmp_path):
    (drawing,) = drawings_make(made(tmp_path, result_make.recipe_buffers(rounds=1)))
    assert [*drawing.series] == ["send", "receive"]
    rates = made(tmp_path / "open", result_make.recipe_open(("5000", "20000"), rounds=1))
    assert [one.name for one in page_of(rates).series(("rate",))] == ["rate=5000", "rate=20000"]


def test_the_programs_of_the_published_figures_of_buffers_are_arms():
    scenario = scenario_load(ROOT / "scenarios" / "unix_sndbuf.toml")
    assert scenario.sweep["arm"] == tuple(arm.name for arm in scenario.arms) == (
        "read", "write", "hash", "hash-4conn")
    assert {figure.words.split()[0] for figure in scenario.published} == {
        f"arm={arm.name}" for arm in scenario.arms}


def test_the_bar_of_a_strategy_has_its_colour(tmp_path):
    (drawing,) = drawings_make(matrix_of(NODELAY))
    rows = [line for line in drawing.data.splitlines() if line.endswith('"cork"')]
    colour = str(int(COLOURS[2][1:], 16))
    assert len(rows) == 2 and all(row.split()[5] == colour for row in rows)
    assert bar_colour({"write": "sendfile"}, {}) == 0, "black is a colour too"
    bars = drawings_make(made(tmp_path, result_make.recipe_sizes(14, 1, rounds=1)))
    assert [line.split()[5] for line in bars[0].data.splitlines()
            if line.endswith('"sendfile"')] == ["0"]


@needs_gnuplot
@pytest.mark.parametrize("series", [2, 6, 14])
def test_the_text_of_a_curve_has_whiskers_all_labels_and_every_series(tmp_path, series):
    matrix = made(tmp_path, result_make.recipe_sizes(series, 15, rounds=2))
    (drawing,) = draw(matrix, tmp_path)
    text = (tmp_path / f"{drawing.name}.txt").read_text()
    sizes = {cell.axes["message"] for cell in matrix.cells.values()}
    assert sizes <= set(text.split()) and all(name in text for name in drawing.series)
    assert "|: min..max" in text
    low = [" ".join([*line.split()[:2], "0.01", *line.split()[3:]])
           if line[:1].isdigit() else line for line in drawing.data.splitlines()]
    drawing_write(replace(drawing, data="\n".join(low) + "\n"), tmp_path)
    assert (tmp_path / f"{drawing.name}.txt").read_text().count("|") > text.count("|") + 30


def test_a_bar_has_the_ratio_and_the_mark_of_the_table_and_says_what_marks_mean(verdicts):
    drawings = drawings_make(verdicts, [Picture("bars", "bandwidth")])
    labels = re.findall(r'"([0-9][^"]*)" "', "".join(drawing.data for drawing in drawings))
    metric = METRICS["bandwidth"]
    table = [ratio_item(figure) for figure in figures_of(verdicts, metric).values()]
    marked = {re.sub(r" \[.*\]", "", item.text + item.mark) for item in table if item.text}
    assert marked == {label.split(", ")[1] for label in labels if "x" in label}
    assert any(text.endswith("~") for text in marked)
    assert "~: undecided" in signs_of(drawings[0])


@needs_gnuplot
def test_a_curve_shows_what_is_no_change_pale_and_in_text_by_small_letters(verdicts, tmp_path):
    (drawing,) = draw(verdicts, tmp_path, [Picture("curve", "bandwidth", None, "message", None)])
    assert signs_of(drawing).startswith("pale: undecided; grey: A/A interval, at most ")
    figures = figures_of(verdicts, METRICS["bandwidth"]).values()
    changed = [figure.verdict in (Verdict.CHANGED, Verdict.EXACT)
               for figure in figures if figure.ratio]
    column = [line.split()[7] for block in blocks_of(drawing) for line in block.splitlines()
              if line[:1].isdigit()]
    assert (column.count("1"), column.count("0")) == (sum(changed), len(changed) - sum(changed))
    ratios = (tmp_path / f"{drawing.name}.txt").read_text().partition("ratio to")[2]
    assert "small letter: undecided" in ratios
    assert re.search(r"[|.] *[b-e]\b", ratios) and re.search(r"[|.] *[B-E]\b", ratios)


@needs_gnuplot
def test_a_curve_of_which_one_series_alone_has_ratios_is_drawn(tmp_path):
    path = result_make.result_write(result_make.recipe_sizes(3, 4, rounds=6), tmp_path)
    records_change(path, lambda record: record["words"]["write"] == "cork"
                   and record.update(status="failed"))
    (drawing,) = draw(matrix_of(path), tmp_path, [Picture("curve")])
    assert drawing.series[-1] == "cork (failed)"


def test_values_that_span_a_lot_are_on_a_logarithmic_axis():
    def steep(metric, *medians):
        figures = {str(one): figure(one, one, one) for one in medians}
        return Curves(None, METRICS[metric], None, None, figures, None).is_steep
    assert steep("bandwidth", 2, 1000) and not steep("bandwidth", 20, 1000)
    assert not steep("bandwidth") and not steep("bandwidth", 0, 1000)
