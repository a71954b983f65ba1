# SPDX-License-Identifier: MIT
"""Columns that were kept are the columns of what is there now, and of this program; or they are
made again."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from pathlib import Path

import numpy as np
import pytest

from answers import NODELAY, uncork
from suite.base.errors import Failure
from suite.observe import load
from suite.observe.results import result_load
from suite.result import files


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    """The folder for caches of a user."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture
def path(tmp_path) -> Path:
    """The records of a stored result, whose columns are kept."""
    path = shutil.copytree(NODELAY, tmp_path / "result") / "records.jsonl"
    assert columns(path) and load.cache_file(path).exists()
    return path


def columns(path: Path) -> tuple[str, list[str]]:
    """Everything that a file's columns say, made or kept, in one comparable text, and the notes."""
    load.LAST.clear()  # as another process
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(load, "CACHE_FROM_BYTES", 0)
        runs, builder, notes = load.runs_load(path)
    return (repr([runs.frame.to_dict("list"), runs.traits]),
            [*builder.damaged, *notes])


def fresh(path: Path) -> tuple[str, list[str]]:
    """The columns of the same bytes where nothing was kept."""
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory() as empty:
        patch.setenv("XDG_CACHE_HOME", empty)
        return columns(path)


def parsed(monkeypatch) -> list[int]:
    """The numbers of the lines that are parsed from now on."""
    found = []
    inner = load.RunsBuilder.add_line

    def line(builder, *one):
        found.append(builder.lines + 1)
        inner(builder, *one)
    monkeypatch.setattr(load.RunsBuilder, "add_line", line)
    return found


def test_kept_columns_are_what_they_were(path, monkeypatch):
    numbers = parsed(monkeypatch)
    kept = columns(path)
    assert numbers == []
    assert kept == fresh(path) and len(numbers) == 112


def test_small_results_keep_nothing(tmp_path):
    folder = Path(shutil.copytree(NODELAY, tmp_path / "small"))
    records = folder / "records.jsonl"
    records.write_bytes(b"".join(records.read_bytes().splitlines(keepends=True)[:40]))
    result_load(folder)
    assert not load.cache_file(records).exists()


def test_columns_stay_with_a_result_that_is_moved_and_nothing_is_written_into_it(
    path, tmp_path, monkeypatch
):
    assert {file.name for file in path.parent.iterdir()} == {file.name
                                                             for file in NODELAY.iterdir()}
    moved = path.parent.rename(tmp_path / "moved") / "records.jsonl"
    numbers = parsed(monkeypatch)
    columns(moved)
    assert numbers == []


def line_edit(path):
    """Another figure, of the same length and with the same times."""
    found = path.stat()
    path.write_text(path.read_text().replace('"wall_ns":1209997717', '"wall_ns":9209997717', 1))
    os.utime(path, ns=(found.st_atime_ns, found.st_mtime_ns))


def line_remove(path):
    """The first line is gone."""
    path.write_text("".join(path.read_text().splitlines(keepends=True)[1:]))


def tail_cut(path):
    """The last line is torn."""
    os.truncate(path, path.stat().st_size - 10)


def tail_lose(path):
    """The last 50 lines are gone."""
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:-50]))


def tail_append(path):
    """Two more records, one of them damaged, and a torn one."""
    lines = path.read_text().splitlines()
    more = json.loads(lines[-1])
    more["run"] |= {"round": 8, "session": "s2"}
    path.write_text("\n".join([*lines, json.dumps(more), "{", lines[0][:50]]))


def replace(path):
    """Another file with the lines in another order."""
    other = path.with_name("other")
    other.write_text("".join(reversed(path.read_text().splitlines(keepends=True))))
    other.replace(path)


def empty(path):
    """Nothing is left."""
    path.write_bytes(b"")


@pytest.mark.parametrize("change",
                         [line_edit, line_remove, tail_cut, tail_lose, tail_append, replace, empty])
def test_what_changed_is_never_told_from_kept_columns(path, change):
    before = columns(path)
    change(path)
    after = columns(path)
    assert after == fresh(path) and after != before
    assert columns(path) == after


def test_of_a_file_that_grew_only_the_new_lines_are_parsed(path, monkeypatch):
    tail_append(path)
    numbers = parsed(monkeypatch)
    after = columns(path)
    assert numbers == [113, 114]
    assert after[1][0].startswith("records.jsonl:114: not JSON") and "torn" in after[1][1]
    with path.open("a") as file:
        file.write("\n")
    numbers.clear()
    assert "records.jsonl:115: " in columns(path)[1][1] and numbers == [115]


def test_columns_of_other_formulas_are_made_again(path, monkeypatch):
    numbers = parsed(monkeypatch)
    monkeypatch.setattr(load, "program_digest", lambda: b"another")
    columns(path)
    columns(path)
    assert len(numbers) == 112


def test_the_source_of_every_module_is_in_the_digest_of_the_program(tmp_path, monkeypatch):
    copied = shutil.copytree(load.SUITE, tmp_path / "suite",
                             ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(load, "SUITE", copied)
    digest = load.program_digest.__wrapped__
    before = digest()
    formulas = copied / "observe" / "metrics.py"
    formulas.write_bytes(formulas.read_bytes() + b"\n")
    assert digest() != before


def spoilt(data, place):
    """The same with another byte at this place."""
    return data[:place] + bytes([data[place] ^ 1]) + data[place + 1:]


@pytest.mark.parametrize("damage", [
    *(lambda data, size=size: data[:size] for size in (0, 10, 32, 1000, -1)),
    *(lambda data, place=place: spoilt(data, place) for place in (0, 200, 5000))])
def test_a_torn_or_spoilt_cache_is_made_again(path, damage, monkeypatch):
    kept = load.cache_file(path)
    kept.write_bytes(damage(kept.read_bytes()))
    numbers = parsed(monkeypatch)
    assert columns(path) == fresh(path) and numbers[:112] == list(range(1, 113))
    numbers.clear()
    columns(path)
    assert numbers == []


def test_a_folder_that_others_can_write_is_not_used(path, monkeypatch):
    load.cache_file(path).parent.chmod(0o770)
    numbers = parsed(monkeypatch)
    columns(path)
    assert load.cache_file(path) is None and len(numbers) == 112


def test_what_was_used_longest_ago_goes_first(path, tmp_path, monkeypatch):
    kept = load.cache_file(path)
    monkeypatch.setattr(load, "CACHE_MAX_BYTES", kept.stat().st_size * 3 // 2)
    os.utime(kept, (1, 1))
    other = shutil.copytree(NODELAY, tmp_path / "other") / "records.jsonl"
    line_remove(other)
    columns(other)
    assert load.cache_file(other).exists() and not kept.exists()


@pytest.mark.parametrize("where", ["no folder", "no place for the file"])
def test_where_nothing_can_be_kept_everything_is_made(path, where, tmp_path, monkeypatch):
    load.cache_file(path).unlink()
    if where == "no folder":
        (tmp_path / "file").write_text("")
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    else:
        load.cache_file(path).mkdir()
    assert columns(path) == fresh(path)


def test_records_that_were_changed_after_their_columns_were_made_are_a_failure(path):
    result = result_load(path.parent)
    line_remove(path)
    with pytest.raises(Failure, match="changed while it was read"):
        list(result.records([0, 1]))


def test_a_result_of_a_hundred_runs_is_kept_and_says_the_same_from_its_cache(path, monkeypatch):
    load.cache_file(path).unlink()
    load.LAST.clear()
    first = uncork("table", path.parent)
    assert load.cache_file(path).exists() and first.returncode == 0
    load.LAST.clear()
    numbers = parsed(monkeypatch)
    assert uncork("table", path.parent).stdout == first.stdout and numbers == []


def test_a_line_without_end_is_no_record_and_is_not_held_in_memory(tmp_path, monkeypatch):
    for module in (files, load):
        monkeypatch.setattr(module, "LINE_BYTES_MAX", 10000)
    path = shutil.copytree(NODELAY, tmp_path / "long") / "records.jsonl"
    whole = path.read_bytes()
    path.write_bytes(b"[" * 123456 + b"\n" + whole + b"[" * 54321)
    runs, builder, notes = load.runs_load(path)
    assert len(runs) == 112 and notes == [load.TORN]
    assert [text.split(": ")[:2] for text in builder.damaged] == [
        ["records.jsonl:1", "longer than 0 MiB"], ["records.jsonl:1", "not JSON"],
        ["records.jsonl:114", "longer than 0 MiB"]]
    assert np.array_equal(runs.frame["offset"][:1], [123457])
