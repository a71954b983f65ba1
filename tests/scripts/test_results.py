# SPDX-License-Identifier: MIT
"""Loading a result: damage, versions and what was left out are said, never guessed."""

from __future__ import annotations

import json
import shutil

import pytest

from answers import NODELAY, refused, uncork
from suite.observe.frame import matrix_build
from suite.observe.results import result_load


@pytest.fixture
def folder(tmp_path):
    """A copy of the stored result, to be damaged."""
    return shutil.copytree(NODELAY, tmp_path / "result")


def lines_of(folder):
    """The lines of records.jsonl."""
    return (folder / "records.jsonl").read_text().splitlines()


def lines_write(folder, lines):
    """Replaces records.jsonl."""
    (folder / "records.jsonl").write_text("".join(f"{line}\n" for line in lines))


def test_a_whole_result_loads_without_notes(folder):
    result = result_load(folder)
    assert len(result.runs) == 14 * 8
    assert result.notes == () and result.name == "result"
    assert result.scenario.claims and result.plan.baseline == "write=nodelay"


def test_a_run_that_is_there_twice_is_noted_and_the_first_kept(folder):
    lines = lines_of(folder)
    again = json.loads(lines[-1])
    again["wall_ns"] = 1
    lines_write(folder, [*lines, json.dumps(again)])
    result = result_load(folder)
    assert len(result.runs) == len(lines)
    assert "is there twice: the first was kept" in result.notes[0]
    (last,) = result.records([len(lines) - 1])
    assert last.document["wall_ns"] != 1


def test_every_session_may_have_a_warm_up_round(folder):
    lines = lines_of(folder)
    more = [json.loads(line) for line in lines if json.loads(line)["run"]["round"] == 0]
    for record in more:
        record["run"]["session"] = "s2"
    lines_write(folder, [*lines, *map(json.dumps, more)])
    result = result_load(folder)
    assert result.notes == () and len(result.runs) == len(lines) + len(more)


def test_a_missing_folder_or_a_file_in_its_place_is_a_usage_error(tmp_path):
    assert "no such folder" in refused("table", tmp_path / "gone")
    (tmp_path / "file").write_text("")
    assert "is a file, not the folder of a result" in refused("show", tmp_path / "file")


@pytest.fixture
def kept(tmp_path, monkeypatch):
    """The folder of results, with one of the scenario nodelay in it; the shell is elsewhere."""
    shutil.copytree(NODELAY, tmp_path / "results/nodelay-20261122-101500")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    monkeypatch.setenv("UNCORK_RESULTS", str(tmp_path / "results"))
    return tmp_path / "results"


@pytest.mark.parametrize("arguments", [
    ("table", "NAME"), ("show", "NAME", "place=apart", "write=cork"), ("check", "NAME"),
    ("compare", "NAME"), ("paste", "NAME", "write=cork"), ("report", "NAME"),
    ("export", "NAME", "write=cork"),
])
def test_a_result_is_found_by_its_name_from_anywhere(kept, tmp_path, arguments):
    done = uncork(*(str(one).replace("NAME", "nodelay-20261122-101500") for one in arguments))
    assert done.stdout and not done.stderr.startswith("uncork: nodelay"), done.stderr
    assert not list((tmp_path / "elsewhere").iterdir())


@pytest.mark.parametrize("command", ["compare", "paste", "report"])
def test_the_second_of_two_results_is_found_by_its_name(kept, command):
    said = refused(command, NODELAY, "nodelay-20261122-101500")
    assert f"{kept}/nodelay-20261122-101500 have a common session" in said


def test_a_folder_that_is_here_comes_before_one_among_the_results(kept, tmp_path):
    (tmp_path / "elsewhere/nodelay-20261122-101500").mkdir()
    assert "is no result" in refused("table", "nodelay-20261122-101500")


@pytest.mark.parametrize(("name", "hint"), [
    ("nodelay", ": did you mean nodelay-20261122-101500?"),
    ("nodelay-20261122-101501", ": did you mean nodelay-20261122-101500?"),
    ("latency", " (there is nodelay-20261122-101500)"),
])
def test_a_name_that_no_result_has_is_refused_with_the_nearest(kept, name, hint):
    assert refused("table", name) .strip() == f"{name}: no such folder, here or in {kept}{hint}"


def test_round_0_is_not_counted_and_the_first_run_of_a_baseline_is_the_value_of_a_round(folder):
    matrix = matrix_build(result_load(folder))
    assert set(matrix.frame["round"]) == set(range(8))
    assert {number for cell in matrix.cells
            for number in matrix.series(cell, "time_per_message").rounds} == set(range(1, 8))
    assert matrix.rounds == 7
    cell = next(cell for cell in matrix.cells.values() if cell.baseline)
    runs = matrix.frame[(matrix.frame["cell"] == cell.name) & (matrix.frame["round"] == 3)]
    assert list(runs["label"]) in (["A", "A'"], ["A'", "A"])
    (first,) = runs[runs["label"] == "A"]["time_per_message"]
    assert matrix.series(cell.name, "time_per_message").by_round[3] == first


def test_a_result_in_which_no_cell_ran_twice_is_shown(folder):
    lines_write(folder, [line for line in lines_of(folder)
                         if json.loads(line)["run"]["label"] == "A"])
    assert "A/A interval          not known" in uncork("table", folder).stdout


def test_a_failed_run_is_counted_as_failed_and_never_averaged(folder):
    matrix = matrix_build(result_load(folder))
    (cell,) = [one for one in matrix.cells.values() if one.text == "place=apart write=coalesce"]
    assert (cell.status, cell.runs_ok, cell.runs_failed) == ("ok", 6, 1)
    assert 3 not in matrix.series(cell.name, "time_per_message").by_round.index


def test_cells_that_were_not_reached_yet_are_missing(folder):
    lines_write(folder, lines_of(folder)[:20])
    cells = matrix_build(result_load(folder)).cells.values()
    assert {cell.status for cell in cells} == {"ok", "missing"}
    assert "missing: not run yet" in uncork("table", folder).stdout
