# SPDX-License-Identifier: MIT
"""Pictures of comparisons, of runs in their order and of counts: data and scripts byte for byte,
and drawn."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from picture_make import LONG, recipe_same

from answers import NODELAY, golden_check, judged_as, matrix_of, result_make
from conftest import ROOT
from drawn import draw, made, needs_gnuplot, signs_of
from suite.base.errors import UsageError
from suite.base.units import value_text
from suite.base.words import words_split
from suite.commands.results import pictures_asked
from suite.contrast.contrast import Status, Verdict
from suite.decide.comparison.build import compare_baseline
from suite.decide.summary import figure_build
from suite.observe.metrics import METRICS
from suite.present.pictures.canvas import Canvas
from suite.present.pictures.forest import forest_draw
from suite.present.pictures.gnuplot import IMAGE_FORMATS, drawing_write
from suite.present.pictures.heatmap import (
    BETTER_COLOUR,
    WHITE,
    WORSE_COLOUR,
    axes_choose,
    colour_of,
    grid_settings,
    text_colour,
    tile_make,
)
from suite.present.pictures.order import RunSeries, ratios_range
from suite.present.pictures.parts import words_names
from suite.present.pictures.plot import drawings_make
from suite.scenario.scenario import Picture

FOREST = Picture("forest", name="forest")


def asked(kind, metric=None, x=None):
    """One picture as the shell asks for it."""
    return Picture(kind, metric, None, x, None)


def cells_of(drawing):
    """The texts of a heat map by (column, row)."""
    rows = (line.split(" ", 4) for line in drawing.data.splitlines()[1:])
    return {(int(row[0]), int(row[1])): row[4].strip('"') for row in rows}


STRANGER = '''
"""Rounds: how many rounds there are, as one bar of each cell."""

from suite.base.units import Scale
from suite.decide.summary import Figure
from suite.observe.metrics import METRICS
from suite.present.pictures.bars import Bar, Panel, bars_drawing
from suite.present.pictures.parts import page_make


def draw(matrix, picture):
    figure = Figure(matrix.rounds, None, matrix.rounds, True)
    panel = Panel("", METRICS["sends_per_message"], Scale(1.0, ""), [
        Bar(name, cell, figure) for name, cell in matrix.cells.items()])
    page = page_make(matrix, picture, "all", {}, matrix.cells.values())
    return [bars_drawing(page, "how many rounds", "rounds", [panel])]
'''


@needs_gnuplot
def test_a_stranger_adds_a_kind_of_picture_with_one_file_and_one_line(tmp_path):
    for folder in ("scripts", "plots", "common/write", "common/read"):
        shutil.copytree(ROOT / folder, tmp_path / folder,
                        ignore=shutil.ignore_patterns("__pycache__"))
    suite = tmp_path / "scripts" / "suite"
    (suite / "present" / "pictures" / "rounds.py").write_text(STRANGER)
    scenario = suite / "scenario" / "scenario.py"
    listed = scenario.read_text().replace('    "counts": None,\n',
                                          '    "counts": None,\n    "rounds": None,\n')
    scenario.write_text(listed)
    result = shutil.copytree(NODELAY, tmp_path / "result")
    with (result / "scenario.toml").open("a") as file:
        file.write('\n[[picture]]\nkind = "rounds"\nname = "told"\n')

    def stranger(*words):
        done = subprocess.run([sys.executable, "-m", "suite", *map(str, words)], text=True,
                              capture_output=True, timeout=60, cwd=tmp_path,
                              env=os.environ | {"PYTHONPATH": os.pathsep.join(
                                  [str(tmp_path / "scripts"), *sys.path])})
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert stranger("plot", NODELAY, "kind=rounds", "-o", "asked").split() == [
        f"asked/all-rounds.{form}" for form in IMAGE_FORMATS]
    assert "told.png" in stranger("plot", result, "-o", "written")
    assert "how many rounds" in (tmp_path / "written" / "told.txt").read_text()
    assert "counts, rounds, percentiles" in " ".join(stranger("plot", "--help").split())


@pytest.mark.parametrize("kind", ["heatmap", "forest"])
def test_data_and_script_of_comparisons(verdicts, kind):
    (drawing,) = drawings_make(verdicts, [asked(kind)])
    assert drawing.name == f"bandwidth-{kind}"
    golden_check(f"{kind}.dat", drawing.data)
    golden_check(f"{kind}.gp", drawing.script)


def test_data_and_script_of_runs_in_their_order(verdicts):
    drawings = {drawing.name: drawing for drawing in drawings_make(verdicts, [asked("order")])}
    assert list(drawings) == [f"bandwidth-order-{size}"
                              for size in ("64", "256", "1K", "4K", "16K")]
    golden_check("order.dat", drawings["bandwidth-order-4K"].data)
    golden_check("order.gp", drawings["bandwidth-order-4K"].script)


def test_data_and_script_of_counts(nodelay):
    together, apart = drawings_make(nodelay, [asked("counts")])
    assert [together.name, apart.name] == ["counts-together", "counts-apart"]
    assert together.template == "bars"  # a panel for each metric
    golden_check("counts.dat", together.data)
    golden_check("counts.gp", together.script)


def test_a_heat_map_turns_what_is_better_low_so_that_above_1_is_faster(nodelay):
    (drawing,) = drawings_make(nodelay, [asked("heatmap")])
    texts = cells_of(drawing)
    assert "'time per message, times faster than write=nodelay: nodelay'" in drawing.script
    assert float(texts[0, 4]) > 7 and float(texts[0, 0]) < 0.001  # coalesce and nagle, together
    assert texts[1, 3] == "~"  # writev, apart
    forest = drawings_make(nodelay, [asked("forest")])[0]
    assert '"together" "0.133x' in forest.data  # and a forest does not


def test_the_axis_of_a_heat_map_may_be_that_of_the_baseline(nodelay):
    (drawing,) = drawings_make(nodelay, [asked("heatmap", x="write")])
    assert "array rows[2] = ['together', 'apart']" in drawing.script
    assert "array columns[5] = ['nagle', 'cork'" in drawing.script
    assert cells_of(drawing)[3, 1] == "~"


def test_rows_of_a_heat_map_have_all_words_of_the_baseline(nodelay):
    plan = replace(nodelay.result.plan, baseline="place=together write=nodelay")
    both = replace(nodelay, result=replace(nodelay.result, plan=plan))
    assert axes_choose(both, None) == (("place", "write"), "")
    assert axes_choose(both, "place") == (("write",), "place")


def verdict_set(comparison, verdict, status=Status.OK):
    """The comparison whose first row has this verdict and status, and its ratio as before."""
    row, name = comparison.rows[0], comparison.metrics[0].name
    change = row.changes[name]
    judged = judged_as(verdict, None if status is Status.ZERO else change.ratio,
                       replace(change.contrast, status=status))
    changed = replace(row, changes={name: replace(change, judged=judged)})
    return replace(comparison, rows=(changed, *comparison.rows[1:]))


def tile_of(matrix, verdict, status):
    """The tile of a cell with this verdict and status, and its ratio as before."""
    metric = METRICS["time_per_message"]
    cell = next(cell for cell in matrix.cells.values() if cell.axes["write"] == "cork")
    figure = figure_build(matrix, cell, metric)
    judged = judged_as(verdict, None if status is Status.ZERO else figure.ratio,
                       replace(figure.judged.contrast, status=status))
    return tile_make(matrix, cell, replace(figure, judged=judged), metric)


@pytest.mark.parametrize("verdict, status, marked, text", [
    (Verdict.UNKNOWN, Status.OK, "4.13?", ' 6 NaN "together" "0.242x?" "[0.239x, 0.245x]"'),
    (Verdict.EXACT, Status.OK, "4.13", ' 7 NaN "together" "0.242x" "[0.239x, 0.245x]"'),
    (Verdict.UNDECIDED, Status.OK, "~", ' 6 NaN "together" "~" "[0.239x, 0.245x]"'),
    (Verdict.WITHHELD, Status.MIXED, "mixed", ' 0 NaN "together" "mixed"'),
    (Verdict.WITHHELD, Status.ZERO, "zero", ' 0 NaN "together" "zero"'),
])
def test_a_figure_shows_what_may_be_said_of_it(nodelay, verdict, status, marked, text):
    metric = METRICS["time_per_message"]
    _, cork, *_ = compare_baseline(nodelay, (metric,))
    cork = floor_set(verdict_set(cork, verdict, status), None)
    (forest,) = forest_draw([cork], FOREST)
    assert text in forest.data
    tile = tile_of(nodelay, verdict, status)
    assert tile.text == marked and (tile.times is None) == (status is Status.ZERO)


def test_a_forest_names_what_opposite_rows_depend_on_in_place_of_a_mean(nodelay):
    _, cork, more, *_ = compare_baseline(nodelay, (METRICS["time_per_message"],))
    (forest,) = forest_draw([cork], FOREST)
    assert '2 NaN NaN NaN 0 NaN "geomean" "depends on place"' in forest.data
    assert "diamond" not in signs_of(forest)
    (forest,) = forest_draw([more], FOREST)
    assert "depends" not in forest.data and "diamond" in signs_of(forest)


def test_only_the_signs_that_occur_are_explained(nodelay):
    metric = METRICS["time_per_message"]
    _, cork, *_ = compare_baseline(nodelay, (metric,))
    cork = replace(cork, rows=cork.rows[:1], geomeans={})
    def signs(verdict):
        (drawing,) = forest_draw([floor_set(verdict_set(cork, verdict), None)], FOREST)
        return signs_of(drawing), drawing.settings["signs_text"]
    assert signs(Verdict.UNDECIDED) == ("hollow: no change is claimed; ~: undecided",
                                        "---: 95 % interval; ~: undecided")
    assert signs(Verdict.CHANGED) == ("", "---: 95 % interval")


def luminance(colour):
    """Relative luminance, 0 to 1, by WCAG 2.2."""
    parts = [(colour >> bits & 255) / 255 for bits in (16, 8, 0)]
    return float(np.dot([0.2126, 0.7152, 0.0722], [
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]))


def test_colours_begin_at_white_and_text_can_be_read_on_all_of_them():
    assert colour_of(1.0, 2.0) == WHITE
    assert [colour_of(times, 8.0) for times in (1000.0, 0.001)] == [BETTER_COLOUR, WORSE_COLOUR]
    for step in range(-30, 31):
        colour = colour_of(8 ** (step / 30), 8.0)
        light, dark = sorted(map(luminance, (colour, text_colour(colour))), reverse=True)
        assert (light + 0.05) / (dark + 0.05) >= 4.5


def floor_set(comparison, floor):
    """The comparison with this A/A interval in all of its rows."""
    return replace(comparison, rows=tuple(replace(row, changes={
        name: replace(change, same=floor) for name, change in row.changes.items()})
        for row in comparison.rows))


@needs_gnuplot
def test_the_text_of_a_forest_has_the_ends_of_aa_intervals_and_no_marks_of_an_axis(
        nodelay, tmp_path):
    comparisons = [floor_set(one, 1.4) for one in compare_baseline(
        nodelay, (METRICS["time_per_message"],))[1:2]]
    (drawing,) = forest_draw(comparisons, FOREST)
    drawing_write(drawing, tmp_path)
    rows = [line for line in (tmp_path / "forest.txt").read_text().splitlines()
            if line.lstrip().startswith(("together", "apart"))]
    assert len(rows) == 2 and all(line.count("|") >= 2 for line in rows), rows
    assert all("+ " not in line for line in rows), rows


def test_the_name_of_a_row_says_what_its_numbers_are_and_there_is_none_without_cells(tmp_path):
    matrix = made(tmp_path, result_make.recipe_open(("5000", "20000")))
    (drawing,) = drawings_make(matrix, [asked("forest", "latency_p50")])
    assert '"rate=5000"' in drawing.data
    comparisons = compare_baseline(matrix, (METRICS["latency_p50"],))
    lost = [replace(one, rows=(replace(one.rows[0], new=None), *one.rows[1:]), geomeans={})
            for one in comparisons]
    (drawing,) = forest_draw(lost, FOREST)
    assert '"rate=5000"' not in drawing.data and '"rate=20000"' not in drawing.data
    assert '"cork"' in drawing.data, "groups of one row are the rows of one forest"


def test_names_have_the_words_of_their_numbers_as_far_as_there_is_room_for_all():
    def names(touch, *sizes):
        return words_names([{"connections": "4", "touch": touch, "sndbuf": size} for size in sizes])
    assert names("none", "64K", "128K") == ["connections=4 none sndbuf=64K",
                                            "connections=4 none sndbuf=128K"]
    assert names("checksum", "64K", "128K") == ["connections=4 checksum 64K",
                                                "connections=4 checksum 128K"]
    assert names("checksum-of-all", "64K", "128K") == ["4 checksum-of-all 64K",
                                                       "4 checksum-of-all 128K"]
    assert names("", "default") == ["connections=4 none default"] and words_names([]) == []


def test_columns_are_as_wide_as_their_names_where_there_is_room_else_names_are_slanted(nodelay):
    (drawing,) = drawings_make(nodelay, [asked("heatmap")])
    assert (drawing.settings["slanted"], drawing.settings["pixels"]) == (False, 130)
    def settings(name, count):
        return grid_settings(["row"], [f"{name}{number}" for number in range(count)], ["1.5"],
                             Canvas())
    few, many = settings("32/2x4K/2x4K/2x4K/2x4K", 2), settings("32/2x4K/2x4K/2x4K/2x4K", 9)
    assert not few["slanted"] and few["pixels"] > 190
    assert many["slanted"] and many["below"] > few["below"] + 50
    assert 24 + 8.2 * len("row") + 9 * many["pixels"] <= 960


def test_an_unsupported_cell_is_explained(tmp_path):
    matrix = made(tmp_path, result_make.recipe_transports())
    heatmaps, forests = (drawings_make(matrix, [asked(kind)]) for kind in ("heatmap", "forest"))
    assert any("-: unsupported" in signs_of(drawing) for drawing in heatmaps)
    assert any('"unsupported"' in drawing.data for drawing in forests)


@needs_gnuplot
def test_an_aa_interval_wider_than_the_axis_ends_with_it(nodelay, tmp_path):
    metric = METRICS["time_per_message"]
    comparisons = compare_baseline(nodelay, (metric,))[1:]
    (narrow,), (drawing,) = (forest_draw([floor_set(one, floor) for one in comparisons], FOREST)
                             for floor in (None, 2.5))
    assert " 2.5 " not in narrow.data and " 2.5 " in drawing.data
    assert all(drawing.settings[end] == narrow.settings[end] for end in ("ratio_low", "ratio_high"))
    assert all(path.exists() for path in drawing_write(drawing, tmp_path))


def test_comparisons_of_one_row_each_are_the_rows_of_one_forest(tmp_path):
    matrix = made(tmp_path, result_make.recipe_sizes(3, 1))
    (drawing,) = drawings_make(matrix, [asked("forest")])
    assert "lines = 2\n" in drawing.script
    assert '"nodelay" "-44.8%' in drawing.data and '"cork" "-61.7%' in drawing.data


def test_many_rows_become_several_forests_and_a_comparison_stays_whole(nodelay):
    def heads(comparisons, rows):
        many = [replace(one, rows=one.rows * (rows // len(one.rows)), geomeans={})
                for one in comparisons]
        return [[line.split('"')[1] for line in drawing.data.splitlines() if " -1 NaN " in line]
                for drawing in forest_draw(many, FOREST)]
    metric = METRICS["time_per_message"]
    comparisons = compare_baseline(nodelay, (metric,))[:3]
    assert [len(found) for found in heads(comparisons, 16)] == [2, 1]
    assert [len(found) for found in heads(comparisons, 50)] == [1, 1, 1]


def test_one_bad_run_makes_no_flat_line_of_all_others():
    def series(*ratios):
        good = pd.DataFrame({"at": 0.5, "ratio": np.array(ratios)}, index=range(len(ratios)))
        return [RunSeries("", good.assign(outlier=good["ratio"] > 2), ())]
    assert ratios_range(series(0.99, 1.0, 1.03, 30.0)) == (0.98, 1.03)
    assert ratios_range(series(0.9, 1.0, 1.1)) == (0.9, 1.1)
    assert ratios_range(series()) == (0.98, 1.02)
    assert ratios_range(series(0.0, 1.0, 1.1)) == (0.98, 1.1), "a run of 0 lies beyond the axis"


def test_a_run_is_divided_by_the_median_of_the_table(nodelay):
    for drawing in drawings_make(nodelay, [asked("order", "time_per_message")]):
        place = drawing.name.rpartition("-")[2]
        for cell in nodelay.cells.values():
            if cell.axes["place"] == place:
                middle = np.median(nodelay.series(cell.name, "time_per_message").values)
                label = f"{cell.axes['write']}, {value_text(middle, 's')}"
                assert label in drawing.series, "of the baseline the second runs do not count"


def test_runs_stand_in_the_order_in_which_they_were_run(nodelay):
    drawing = drawings_make(nodelay, [asked("order")])[0]
    at = sorted(float(line.split()[0]) for block in drawing.data.split("\n\n\n")[:-1]
                for line in block.splitlines()[1:])
    frame = nodelay.frame
    assert len(at) == len(frame[(frame["round"] > 0) & frame["cell"].str.contains(
        "place=together")]) and at[0] > 0 and at[-1] < 7
    in_first = frame.loc[frame["round"] == 1, "cell"].tolist()
    place = next(index for index, cell in enumerate(in_first)
                 if "place=together write=cork" in cell)
    cork = next(block for block in drawing.data.split("\n\n\n") if block.startswith("# cork"))
    assert float(cork.splitlines()[1].split()[0]) == pytest.approx(
        (place + 0.5) / len(in_first), rel=1e-5
    )


@needs_gnuplot
@pytest.mark.parametrize("recipe, kinds", [
    (result_make.recipe_sizes(14, 2, rounds=1), ("heatmap", "forest")),
    (result_make.recipe_sizes(2, 1), ("heatmap", "forest", "order", "counts")),
    (recipe_same(), ("heatmap", "forest")),
    (result_make.recipe_transports(), ("heatmap", "order", "counts")),
], ids=lambda value: getattr(value, "name", None))
def test_pictures_of_few_and_many_cells_are_drawn(tmp_path, recipe, kinds):
    matrix = made(tmp_path, recipe)
    for kind in kinds:
        assert draw(matrix, tmp_path, [asked(kind)])


@needs_gnuplot
def test_one_bar_of_a_count_that_was_the_same_in_every_run_is_drawn(nodelay, tmp_path):
    name = next(name for name in nodelay.cells if name.endswith("write=cork"))
    assert draw(replace(nodelay, cells={name: nodelay.cells[name]}), tmp_path, [asked("counts")])


@needs_gnuplot
def test_figures_names_and_reasons_are_in_the_text_of_a_picture(tmp_path, verdicts):
    for kind in ("heatmap", "forest"):
        draw(verdicts, tmp_path, [asked(kind)])
        text = (tmp_path / f"bandwidth-{kind}.txt").read_text()
        assert all(name in text for name in ("cork", "writev", LONG[:29] + "...", "16K", "failed",
                                             "~", "999"))
        assert text.splitlines()[0].strip().startswith("bandwidth") and "verdicts" in text


@needs_gnuplot
def test_pictures_of_nothing_but_failures_are_drawn_and_say_so(tmp_path):
    path = result_make.result_write(result_make.recipe_sizes(2, 2, rounds=1), tmp_path)
    records = (path / "records.jsonl").read_text()
    (path / "records.jsonl").write_text(records.replace('"status":"ok"', '"status":"failed"'))
    for drawing in draw(matrix_of(path), tmp_path,
                        [asked("heatmap"), asked("forest"), asked("order")]):
        text = (tmp_path / f"{drawing.name}.txt").read_text()
        assert "failed" in text and (drawing.template != "order" or " x" in text)


def test_each_kind_is_drawn_with_each_metric_and_takes_its_own_words():
    pictures = pictures_asked(words_split(
        ["kind=forest,ecdf,counts", "metric=bandwidth,time", "of=service", "x=message"]))
    assert [(p.kind, p.metric, p.of, p.x) for p in pictures] == [
        ("forest", "bandwidth", None, "message"), ("forest", "time", None, "message"),
        ("ecdf", None, "service", "message"), ("counts", None, None, "message")]
    assert pictures_asked({}) == []


@pytest.mark.parametrize("words, said", [
    (["kind=heatmaps"], 'kind cannot be "heatmaps": did you mean heatmap?'),
    (["kind=forest", "kind=order"], 'kind is given twice: "kind=forest" and "kind=order"'),
    (["kind=forest,forest"], "a name is given twice"), (["kind=forest,"], "an empty name"),
    (["kind=forest", "x=write,place"], '"x=write,place": x takes one word'),
    (["metric=time"], '"metric=time": add the kind of picture, kind='),
    (["kind=counts", "metric=time"], '"metric=time": no picture of kind=counts takes it'),
    (["kind=ecdf", "of=latencies"], 'of cannot be "latencies": did you mean latency?'),
    (["kind=forest", "metric=bandwith"], "did you mean bandwidth?"),
    (["kind=forest", "x=wirte"], 'picture: x: no word "wirte" in this result: did you mean write?'),
])
def test_words_that_cannot_be_are_refused(nodelay, words, said):
    with pytest.raises(UsageError, match=re.escape(said)):
        drawings_make(nodelay, pictures_asked(words_split(words)))


def test_nothing_beside_a_baseline_and_nothing_counted_are_said(tmp_path):
    alone = made(tmp_path, result_make.recipe_sizes(1, 2, rounds=1))
    for kind in ("heatmap", "forest"):
        with pytest.raises(UsageError,
                           match=f"picture: {kind}: nothing stands beside a baseline here"):
            drawings_make(alone, [asked(kind)])
    timed = made(tmp_path, result_make.recipe_buffers(rounds=1))
    with pytest.raises(UsageError, match="picture: counts: nothing was counted here"):
        drawings_make(timed, [asked("counts")])
