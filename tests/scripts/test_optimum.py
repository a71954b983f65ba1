# SPDX-License-Identifier: MIT
"""The best value of a word by group, what cannot be told apart from it, and what that advises."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from answers import golden_check, judged_as, matrix_of, refused, result_make
from rendered import table_rendered, table_text
from suite import stats
from suite.base.errors import UsageError
from suite.base.words import words_split
from suite.commands.results import table_asked
from suite.contrast.contrast import Verdict
from suite.decide.optimum import ALIKE, BEST, UNKNOWN, WORSE, BestRatio, Optimum, optima_build
from suite.decide.summary import summary_build
from suite.observe.metrics import METRICS
from suite.observe.selection import layout_choose
from suite.present.answers import advice_text, optimum_text
from suite.present.pictures.curve import axis_make
from suite.present.pictures.plot import drawings_make
from suite.present.show import show_text
from suite.scenario.scenario import TableLayout, scenario_load
from test_plot import draw, needs_gnuplot

TIME, BANDWIDTH = METRICS["time"], METRICS["bandwidth"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Buffers of a Unix socket in two directions, seven rounds."""
    return result_make.result_write(result_make.recipe_buffers(),
                                    tmp_path_factory.mktemp("results"))


@pytest.fixture(scope="module")
def buffers(folder):
    return matrix_of(folder)


@pytest.fixture(scope="module")
def few(tmp_path_factory):
    """The same in three rounds."""
    return matrix_of(result_make.result_write(result_make.recipe_buffers(rounds=3),
                                              tmp_path_factory.mktemp("few")))


def summary_of(matrix, asked=None):
    """Summary and layout with the scenario's table, or another."""
    asked = asked or matrix.result.scenario.table
    layout = layout_choose(matrix, asked)
    return summary_build(matrix, layout.metrics, asked.gain, layout.best), layout


def optimum(**marks):
    """An optimum whose values have these marks; `size_` stands before what is no name in Python."""
    marks = {value.removeprefix("size_"): mark for value, mark in marks.items()}
    return Optimum("sndbuf", TIME, {}, dict.fromkeys(marks, 1.0), marks)


def test_a_table_marks_the_best_and_begins_with_the_answer(buffers):
    summary, layout = summary_of(buffers)
    golden_check("table-best-100.txt", table_text(summary, layout, 100))
    golden_check("table-best.csv", table_rendered("csv", summary))


def test_the_json_has_the_answer_by_group_and_the_mark_by_cell(buffers):
    value = json.loads(table_rendered("json", summary_of(buffers)[0]))
    assert value["best"]["axis"] == "sndbuf" and value["best"]["metric"] == "time"
    send, receive = value["best"]["groups"]
    assert (send["words"], send["best"]) == ({"direction": "send"}, "256K")
    assert (send["alike"], receive["alike"]) == (["256K", "1M"], ["256K", "1M", "4M"])
    cells = {(cell["axes"]["direction"], cell["axes"]["sndbuf"]): cell["best"]
             for cell in value["cells"]}
    assert cells["send", "256K"]["mark"] == "*" and cells["send", "4M"]["mark"] == ""
    assert cells["send", "256K"]["better_low"] < 1.5 < cells["send", "256K"]["better_high"]
    assert cells["send", "default"] == {"mark": ""}


def test_a_curve_shades_what_cannot_be_told_apart_and_leaves_default_by_itself(buffers):
    (drawing,) = drawings_make(buffers)
    golden_check("curve-best.dat", drawing.data)
    golden_check("curve-best.gp", drawing.script)


@needs_gnuplot
def test_a_shaded_curve_is_drawn(buffers, tmp_path):
    (drawing,) = draw(buffers, tmp_path)
    svg = (tmp_path / f"{drawing.name}.svg").read_text()
    assert svg.count('stroke-width="18.00"') >= 2  # a stretch of each line
    text = (tmp_path / f"{drawing.name}.txt").read_text().splitlines()
    assert max(line.count("-") for line in text) > 50, "names of lines stand below, not beside"
    assert any("send" in line.split() for line in text) and max(map(len, text)) <= 72


def test_a_word_beside_numbers_stands_left_of_them(buffers):
    axis = axis_make(buffers, "sndbuf")
    assert axis.apart == axis.positions["default"] == 16384 < min(
        at for value, at in axis.positions.items() if value != "default")
    assert axis_make(buffers, "direction") is None


@pytest.mark.parametrize("marks, said", [
    ({"default": WORSE, "size_64K": WORSE, "size_256K": BEST, "size_1M": ALIKE},
     "Set sndbuf=256K"),
    ({"size_64K": WORSE, "size_256K": ALIKE, "size_1M": BEST, "size_4M": WORSE},
     "Set sndbuf=256K, the smallest that may be as good"),
    ({"size_64K": WORSE, "size_1M": BEST},
     "Set sndbuf=1M, the largest that was tried: more may be better still"),
    ({"default": ALIKE, "size_64K": BEST}, "Leave it at default"),
    ({"default": BEST, "size_64K": WORSE}, "Leave it at default"),
    ({"nodelay": WORSE, "cork": BEST}, ""),
    ({"size_64K": BEST, "size_1M": UNKNOWN}, ""),
])
def test_the_advice_is_the_smallest_value_that_is_good_enough(marks, said):
    assert advice_text(optimum(**marks)) == said


def test_noise_does_not_make_the_advice_smaller_than_what_is_better_than_the_baseline():
    marks = {"default": WORSE, "size_64K": ALIKE, "size_256K": ALIKE, "size_1M": BEST}
    twice = stats.Estimate(2.0, None, 7)
    shown = replace(optimum(**marks), best_ratio=BestRatio(
        "default", twice, judged_as(Verdict.CHANGED, twice)))
    assert advice_text(shown) == "Set sndbuf=64K, the smallest that may be as good"
    shown = replace(shown, better=frozenset(("256K", "1M")))
    assert advice_text(shown) == "Set sndbuf=256K, the smallest that may be as good"
    shown = replace(shown, better=frozenset(("256K",)))  # what is best is not shown to be better
    assert advice_text(shown) == "Set sndbuf=64K, the smallest that may be as good"


def test_the_answer_says_what_is_known():
    def said(text, **marks):
        return text in optimum_text(optimum(**marks))
    assert said("64K is the only value with a good run (1.00 s).", size_64K=BEST)
    assert said(" Slower than 64K: 1M, 4M.", size_64K=BEST, size_1M=WORSE, size_4M=WORSE)
    assert said(" May be as fast: 1M. Slower than 64K: 4M.", size_64K=BEST, size_1M=ALIKE,
                size_4M=WORSE)
    assert said(" No verdict against 64K: 1M.", size_64K=BEST, size_1M=UNKNOWN)


def test_values_are_better_than_a_baseline_of_their_group_only(buffers):
    plan = replace(buffers.result.plan, baseline="direction=send")
    other = replace(buffers, result=replace(buffers.result, plan=plan))
    assert any(found.better for found in optima_build(buffers, "sndbuf", TIME))
    assert not any(found.better for found in optima_build(other, "sndbuf", TIME))


def test_few_rounds_have_a_best_median_and_no_advice(few):
    found = optima_build(few, "sndbuf", TIME)
    assert all(set(each.marks.values()) == {BEST, UNKNOWN} for each in found)
    text = table_text(*summary_of(few), 120)
    assert "3 rounds cannot tell 1M from default: it takes 6" in text and "Set sndbuf" not in text


def test_a_picture_says_shaded_only_where_it_is(buffers, few):
    for matrix, shaded in ((buffers, True), (few, False)):
        (drawing,) = drawings_make(matrix)
        assert ("shaded: as good as the best" in drawing.script) == shaded


def test_a_cell_that_nothing_stands_beside_asks_no_question(buffers):
    alone = {name: cell for name, cell in buffers.cells.items()
             if "direction=send" in name or "sndbuf=1M" in name}
    (send,) = optima_build(replace(buffers, cells=alone), "sndbuf", TIME)
    assert send.place == {"direction": "send"}


def test_a_cell_without_a_good_run_is_in_no_group(buffers):
    gone = next(name for name in buffers.cells if name.endswith("direction=send sndbuf=256K"))
    times = buffers.frame[TIME.name].mask(buffers.frame["cell"] == gone)
    without = replace(buffers, frame=buffers.frame.assign(**{TIME.name: times}))
    send, _ = optima_build(without, "sndbuf", TIME)
    assert "256K" not in send.marks and send.best == "1M"


def test_user_and_system_are_absent_where_too_little_cpu_was_used(buffers):
    for name, cell in buffers.cells.items():
        absent = cell.axes["direction"] == "receive"
        assert ({"user", "system"} <= cell.unsplit) == absent
        assert len(buffers.series(name, "user")) == (0 if absent else 7)
        assert len(buffers.series(name, "time")) == 7


@pytest.mark.parametrize("unsplit, rows", [
    ((), ["all", "user", "system"]),
    (("client_user", "client_system", "server_user", "server_system"), ["all"]),
])
def test_parts_of_a_cpu_time_that_is_too_short_to_be_split_are_not_shown(buffers, unsplit, rows):
    cell = replace(next(iter(buffers.cells.values())), unsplit=frozenset(unsplit))
    lines = show_text(buffers, cell, 100).splitlines()
    below = lines[lines.index("CPU per message") + 3:]
    assert [line.split()[0] for line in below[:below.index("")]] == rows


def test_a_cell_that_hyperfine_timed_is_shown_with_the_command_that_does_it_again(buffers):
    timed = replace(buffers,
                    result=replace(buffers.result,
                                   plan=replace(buffers.result.plan, timer="hyperfine")))
    cell = next(cell for cell in timed.cells.values() if "send" in cell.axes.values())
    *_, command = show_text(timed, cell, 100).splitlines()
    assert command.startswith(
        "  hyperfine -N") and f"'uncork-client --json record.json {cell.name}'" in command


def test_the_shell_and_the_scenario_choose_of_which_word_the_best_is_shown(buffers, folder):
    table = buffers.result.scenario.table
    assert table_asked(words_split([]), table).best == "sndbuf"
    assert table_asked(words_split(["best=off"]), table).best is None
    assert table_asked(words_split(["gain=time"]), table) == replace(table, gain="time", best=None)
    assert table_asked(words_split(["best=sndbuf"]),
                       TableLayout(gain="time")) == TableLayout(best="sndbuf")
    with pytest.raises(UsageError, match="gain or best, not both"):
        table_asked(words_split(["best=sndbuf", "gain=time"]), table)
    assert "did you mean sndbuf" in refused("table", folder, "best=sndbuff")


def test_a_scenario_with_gain_and_best_is_refused(tmp_path):
    path = tmp_path / "both.toml"
    path.write_text('[table]\ngain = "time"\nbest = "sndbuf"\n')
    with pytest.raises(UsageError, match="gain or best, not both"):
        scenario_load(path)
