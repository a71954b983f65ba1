# SPDX-License-Identifier: MIT
"""Tables, byte for byte, and what they refuse."""

from __future__ import annotations

import csv
import io
import json
import math
import os
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from answers import NODELAY, ROOT, golden_check, matrix_of, refused, result_make, uncork
from rendered import table_rendered, table_text
from suite.base import units
from suite.decide.summary import summary_build
from suite.observe.metrics import METRICS
from suite.observe.selection import layout_choose
from suite.scenario.scenario import TableLayout

PIVOT = ("write", "bandwidth")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Results that are made, not stored: transports (3 rounds) and sizes (streams)."""
    folder = tmp_path_factory.mktemp("results")
    return {recipe.name: result_make.result_write(recipe, folder) for recipe in (
        result_make.recipe_transports(), result_make.recipe_sizes(4, 5),
        result_make.recipe_sizes(1, 1, rounds=1), result_make.recipe_open(),
        result_make.recipe_replies())}


def summary_of(folder, rows=(), columns=()):
    """Summary and layout of a result, with the scenario's table unless told otherwise."""
    matrix = matrix_of(folder)
    table = matrix.result.scenario.table
    asked = replace(table or TableLayout(), **{key: names for key, names in (
        ("rows", rows), ("columns", columns)) if names})
    layout = layout_choose(matrix, asked)
    return summary_build(matrix, layout.metrics, asked.gain), layout


@pytest.mark.parametrize("width", [80, 160])
def test_the_table_at_a_width(width):
    text = table_text(*summary_of(NODELAY), width)
    assert max(map(len, text.splitlines())) <= width
    assert text.isascii() and "\t" not in text
    assert not any(line != line.rstrip() for line in text.splitlines())
    golden_check(f"table-{width}.txt", text)


def test_a_table_of_counts_alone_has_no_interval_of_a_a_to_tell():
    assert "\nA/A interval" in table_text(*summary_of(NODELAY), 100)
    assert "\nA/A interval" not in table_text(*summary_of(NODELAY, columns=[
        "segments_per_message", "sends_per_message"]), 100)


def test_the_legend_is_in_the_order_of_the_columns_whatever_python_hashes_to(uncork):
    command = uncork.command("table", str(NODELAY), "columns=latency_p99,time_per_message")
    texts = {subprocess.run(command, env=uncork.environment | {"PYTHONHASHSEED": seed}, text=True,
                            check=True, stdout=subprocess.PIPE).stdout for seed in "1234"}
    assert len(texts) == 1 and "are corrected for 8 or 10 rows" in texts.pop()


def test_counts_that_are_the_same_in_every_round_carry_no_interval_and_all_else_does():
    matrix, seen = matrix_of(NODELAY), set()
    summary = summary_build(matrix, ("time_per_message", "segments_per_message",
                                     "sends_per_message", "peer_window", "cpu_per_message"))
    rows = csv.DictReader(io.StringIO(table_rendered("csv", summary)))
    told = json.loads(table_rendered("json", summary))["cells"]
    for cell, row, value in zip(matrix.cells, rows, told, strict=True):
        for name, figure in summary.figures[cell].items():
            same = (METRICS[name].unit in ("1", "B")
                    and matrix.series(cell, name).by_round.nunique() == 1)
            shown = row[f"{name}_low"] != ""
            assert shown == ("low" in value["metrics"][name]) == (figure.interval is not None) == (
                not same)
            seen.add(same)
    assert seen == {True, False}


@pytest.mark.parametrize("name, result, columns, width", [
    ("transports", "transports", (), 100),  # unsupported and failed cells, too few rounds
    ("pivot", "sizes-4-5", PIVOT, 80),  # an axis over the columns
    ("one-round", "sizes-1-1", (), 80),  # no interval
    ("open", "open", (), 80),  # latencies, and what was never sent
])
def test_the_table_of_a_result(made, name, result, columns, width):
    summary, layout = summary_of(made[result], columns=columns)
    golden_check(f"table-{name}.txt", table_text(summary, layout, width))
    if name == "transports":
        golden_check("table-transports.csv", table_rendered("csv", summary))


def test_gains_over_the_baseline_beside_published_ones_and_its_gain_over_itself(made):
    summary, layout = summary_of(made["replies"])
    golden_check("table-gain-100.txt", table_text(summary, layout, 100))
    for width in (100, 140):
        assert max(map(len, table_text(summary, layout, width).splitlines())) <= width
    golden_check("table-gain.md", table_rendered("md", summary, layout))
    golden_check("table-gain.csv", table_rendered("csv", summary))


def test_a_published_size_stands_in_its_row_and_figures_of_no_cell_are_counted(tmp_path):
    folder = Path(shutil.copytree(NODELAY, tmp_path / "nodelay"))
    with (folder / "scenario.toml").open("a") as file:
        file.write("".join(f"""
[[published]]
words = "write=cork{more}"
metric = "peer_window"
value = 2097152.0
from = "drbd.csv:window/buffers set before connect (SO_RCVBUF 4 MB)"
""" for more in ("", " message=1K", " message=2K")))
    text = table_text(*summary_of(folder, columns=("time_per_message", "peer_window")), 120)
    assert re.search(r"^together  cork .* 2\.00 MiB$", text, re.MULTILINE)
    assert "2 published figures of cells that are not in this result, as write=cork message=1K" in (
        " ".join(text.split()))


def test_the_json_is_json_with_ratios_and_published_figures():
    cells = {cell["cell"]: cell for cell in json.loads(
        table_rendered("json", summary_of(NODELAY)[0]))["cells"]}
    cork = next(cell for name, cell in cells.items() if "together write=cork" in name)
    figure = cork["metrics"]["time_per_message"]
    assert figure["ratio"]["low"] < figure["ratio"]["value"] < figure["ratio"]["high"] < 1
    assert figure["published"] == {"value": 85.08e-6, "from": "tcp_nodelay.csv:cork",
                                   "ratio": pytest.approx(85.08 / 165.0)}


def test_every_axis_is_in_the_table_even_if_nobody_named_it(made):
    matrix = matrix_of(made["sizes-4-5"])
    assert layout_choose(matrix, TableLayout(("write",), ("bandwidth",))).rows == (
        "write",
        "message",
    )
    assert layout_choose(matrix, TableLayout(("workload", "write"), PIVOT)).rows == ("message",)


def words_changed(matrix, **words):
    """The same result, as if all of its cells had these words."""
    return replace(matrix, cells={name: replace(cell, words=cell.words | words)
                                  for name, cell in matrix.cells.items()})


@pytest.mark.parametrize("words, first", [
    ({}, "time_per_message"), ({"workload": "stream"}, "bandwidth"),
    ({"workload": "connect"}, "messages_per_second"), ({"depth": "2"}, "messages_per_second"),
    ({"connections": "64"}, "messages_per_second"), ({"rate": "1000"}, "latency_p50"),
    ({"rate": "1000", "connections": "64"}, "latency_p50"),
])
def test_the_columns_for_which_nobody_asked_are_by_what_the_cells_do(words, first):
    matrix = words_changed(matrix_of(NODELAY), **words)
    assert layout_choose(matrix, TableLayout()).metrics[0] == first


def test_closed_and_open_loops_beside_each_other_are_compared_by_latency():
    matrix = matrix_of(NODELAY)
    first, *others = matrix.cells.values()
    loose = replace(first, words=first.words | {"rate": "1000"})
    mixed = replace(matrix, cells={cell.name: cell for cell in (loose, *others)})
    assert layout_choose(mixed, TableLayout()).metrics[0] == "latency_p50"


def test_what_no_run_can_know_is_a_column_only_where_somebody_asks():
    matrix = matrix_of(NODELAY)
    matrix = replace(matrix, frame=matrix.frame.assign(sends_per_message=None))
    assert "sends_per_message" not in layout_choose(matrix, TableLayout()).metrics
    asked = layout_choose(matrix, TableLayout((), ("sends_per_message",))).metrics
    assert asked == ("sends_per_message",)


def test_what_a_foreign_peer_does_not_tell_is_told_by_the_client():
    matrix = words_changed(matrix_of(NODELAY), workload="stream")
    matrix = replace(matrix, frame=matrix.frame.assign(bandwidth=None, cpu_per_byte=None))
    assert layout_choose(matrix, TableLayout()).metrics == (
        "messages_per_second", "segments_per_message", "sends_per_message",
        "client_cpu_per_message")


def test_where_replies_are_swept_the_default_columns_are_theirs(made):
    replies = matrix_of(made["replies"])
    assert layout_choose(replies, TableLayout()).metrics == (
        "messages_per_second", "latency_p99", "segments_per_reply", "records_per_reply",
        "sends_per_reply", "cpu_per_message")
    words = {name: {**cell.words, "write": ("nodelay", "cork")[number % 2]}
             for number, (name, cell) in enumerate(replies.cells.items())}
    both = replace(replies, cells={name: replace(cell, words=words[name])
                                   for name, cell in replies.cells.items()})
    assert layout_choose(both, TableLayout()).metrics[2:8] == (
        "segments_per_message", "segments_per_reply", "records_per_message", "records_per_reply",
        "sends_per_message", "sends_per_reply")
    assert "segments_per_message" in layout_choose(matrix_of(NODELAY), TableLayout()).metrics


def test_the_commands_give_the_same_as_the_functions():
    assert uncork("table", NODELAY).stdout == table_text(*summary_of(NODELAY), 100)
    golden_check("table.csv", uncork("table", NODELAY, "--csv").stdout)
    asked = summary_of(NODELAY, ("write",), ("place", "time_per_message"))
    done = uncork("table", NODELAY, "rows=write", "columns=place,time_per_message", COLUMNS="80")
    assert done.stdout == table_text(*asked, 80)


def test_the_ratio_stands_beside_its_interval_wherever_there_is_one():
    summary, layout = summary_of(NODELAY)
    rows = list(csv.DictReader(io.StringIO(table_rendered("csv", summary))))
    told = {cell["cell"]: cell["metrics"]["time_per_message"].get("ratio")
            for cell in json.loads(table_rendered("json", summary))["cells"]}
    texts = {name: table_rendered(name, summary, layout) for name in ("md", "html")}
    texts["terminal"] = table_text(summary, layout, 100)
    for row, cell in zip(rows, summary.matrix.cells.values(), strict=True):
        low, high = row["time_per_message_ratio_low"], row["time_per_message_ratio_high"]
        assert bool(low) == bool(told[cell.name]) == (not cell.baseline)
        if low:
            assert told[cell.name]["low"] == pytest.approx(float(low))
            shown = f"[{', '.join(units.ratio_text(float(end))[:-1] for end in (low, high))}]"
            assert all(shown in text for text in texts.values()), shown
    assert "ratio to the baseline [95 % interval]" in texts["terminal"]


@pytest.mark.parametrize("words, said", [
    (["columns=bandwith"], "did you mean bandwidth?"),
    (["rows=wirte"], "did you mean write?"),
    (["row=write"], "did you mean rows?"),
    (["write"], '"write" is not a word'),
    (["rows=write", "rows=place"], "given twice"),
    (["rows=write,write"], "given twice"),
    (["columns="], '"columns=" is not a word'), (["columns=time,"], "an empty name"),
    (["--csv", "--json"], "not allowed with"),
])
def test_what_a_table_refuses(words, said):
    assert said in refused("table", NODELAY, *words)


TEXTS = {  # by function of units: what it makes of values
    units.number_text: {  # three significant digits
        8.934: "8.93", 43100.4: "43100", 0.00213: "0.00213", 999.9: "1000", 0: "0", 12.345: "12.3",
        99.96: "100", -3.14159: "-3.14"},
    units.ratio_text: {
        0.417: "0.42x", 1: "1.00x", 17.34: "17.3x", 1230: "1230x", 0.0041: "0.0041x"},
    units.percent_text: {0.008: "0.8%", 0.12: "12%", 9.99: "999%", 433.0: ">999%"},
    units.size_of_change: {  # beyond a factor of three it is a factor
        1.0: "0.0%", 1.053: "5.3%", 3.0: "200%", 8.22: "8.22x", 14.01: "14.0x"},
    units.size_parse: {
        "64": 64, "4K": 4096, "1.5M": 1572864, "default": None, "15x2": None, "0": None},
    units.value_text: {
        (8.93e-6, "s"): "8.93 us", (1e-9, "s"): "1.00 ns", (2.5e-10, "s"): "0.250 ns",
        (0.0431, "s"): "43.1 ms", (7.06e10, "bit/s"): "70.6 Gbit/s", (950, "bit/s"): "950 bit/s",
        (15, "1"): "15.00", (4321, "1"): "4321", (0.00312, "1"): "0.00312",
        (12e3, "1/s"): "12.0 k/s", (0, "s"): "0 s"},
    units.change_texts: {  # a change that is not 0 does not look so
        (1.0,): ["+0.0%"], (1 - 1e-15,): ["+0.0%"], (1.00004,): ["+0.004%"], (0.9997,): ["-0.03%"],
        (1.00051,): ["+0.1%"], (1.024,): ["+2.4%"], (0.34,): ["-66.0%"], (2.42,): ["+142%"],
        # beyond a factor of three it is a factor, and so is its interval
        (5770.0, 5001.0, 6012.0): ["5770x", "5000x", "6010x"], (0.0002,): ["0.000200x"],
        (3.0,): ["+200%"], (0.33,): ["0.330x"],
        (1.1, 0.9, 3.4): ["1.10x", "0.900x", "3.40x"],  # an end too
        (2.6, 1.002, 3.4): ["2.600x", "1.002x", "3.400x"],  # excludes 1, and is seen to
        (2.6, 0.998, 3.4): ["2.60x", "0.998x", "3.40x"],
        (math.inf,): [">0%"], (0.0,): ["<0%"]},
    units.ratio_texts: {
        (1.003, 1.001, 1.004): ["1.003x", "1.001x", "1.004x"],
        (1.003, 0.999, 1.004): ["1.00x", "1.00x", "1.00x"]},
}


@pytest.mark.parametrize("function", TEXTS, ids=lambda function: function.__name__)
def test_values_as_text(function):
    found = {given: function(*given) if isinstance(given, tuple) else function(given)
             for given in TEXTS[function]}
    assert found == TEXTS[function]


NEW_RENDERER = '''# SPDX-License-Identifier: MIT
"""A document as a list of its titles."""

from suite.present.tables.model import Document


def render(document: Document, width: int = 0) -> str:
    """One line for each group of columns."""
    groups = [group for section in document.sections for table in section.tables
              for group in table.groups]
    return "".join(f"* {group.title}\\n" for group in groups)
'''


def test_a_stranger_adds_a_renderer_with_one_file_and_one_line(tmp_path):
    suite = shutil.copytree(ROOT / "scripts" / "suite", tmp_path / "suite")
    (suite / "present" / "tables" / "titles.py").write_text(NEW_RENDERER)
    listed = suite / "present" / "tables" / "__init__.py"
    line = '    "titles": Format("suite.present.tables.titles", "titles"),\n    "md": '
    listed.write_text(listed.read_text().replace('    "md": ', line))
    for words in (["table"], ["compare"]):
        command, *rest = words
        done = subprocess.run(
            [sys.executable, "-P", "-m", "suite", command, str(NODELAY), *rest, "--titles"],
            env=os.environ | {"PYTHONPATH": str(tmp_path)}, capture_output=True, text=True,
            timeout=60)
        assert (done.returncode, done.stderr) == (0, "") and done.stdout.startswith("* ")


def test_a_table_is_whole_in_a_file_and_a_pipe(tmp_path):
    expected = table_text(*summary_of(NODELAY), 100)
    with open(tmp_path / "table", "w") as file:
        subprocess.run([ROOT / "scripts" / "uncork", "table", NODELAY], stdout=file, check=True,
                       env={**os.environ, "PYTHONUNBUFFERED": "", "COLUMNS": ""})
    assert (tmp_path / "table").read_text() == expected
    assert uncork("table", NODELAY, PYTHONUNBUFFERED="", COLUMNS="").stdout == expected
