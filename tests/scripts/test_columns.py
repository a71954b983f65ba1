# SPDX-License-Identifier: MIT
"""Columns that were kept are the columns of what is there now, and of this program, and of this user; or they are
made again."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import numpy as np
import pytest
from suite.records import cache, lines, load

from answers import NODELAY, uncork
from suite.analyse.cache import FILE
from suite.analyse.results import result_load
from suite.analyse.runs import Runs
from suite.base.errors import Failure


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    """A place for the key of a user."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture
def path(tmp_path) -> Path:
    """The records of a stored result, whose columns are kept."""
    path = shutil.copytree(NODELAY, tmp_path / "result") / "records.jsonl"
    assert columns(path) and (path.parent / FILE).exists()
    return path


def columns(path: Path) -> tuple[str, list[str]]:
    """Everything that a file's columns say, made or kept, in one comparable text, and the notes."""
    runs, problems, notes = load.runs_load(path, least_bytes=0)
    return text_of(runs), problems.notes() + notes


def text_of(runs: Runs) -> str:
    """All columns as text."""
    return repr([[column.expanded().tolist() for column in (*runs.words.values(), runs.traits)],
                 [column.tolist() for column in runs.places.values()], runs.metrics.tolist()])


def fresh(path: Path) -> tuple[str, list[str]]:
    """The columns of the same bytes in a folder where nothing was kept."""
    other = path.parent.parent / "fresh"
    shutil.rmtree(other, ignore_errors=True)
    other.mkdir()
    return columns(Path(shutil.copy(path, other)))


def parsed(monkeypatch) -> list[int]:
    """The numbers of the lines that are parsed from now on."""
    found = []
    inner = load.Builder.line

    def line(builder, one):
        found.append(builder.lines + 1)
        inner(builder, one)
    monkeypatch.setattr(load.Builder, "line", line)
    return found


def test_kept_columns_are_what_they_were(path, monkeypatch):
    numbers = parsed(monkeypatch)
    kept = columns(path)
    assert numbers == []
    assert kept == fresh(path) and len(numbers) == 112


def test_small_results_keep_nothing_and_need_no_key(tmp_path, home):
    folder = shutil.copytree(NODELAY, tmp_path / "small")
    result_load(folder)
    assert not (folder / FILE).exists() and not home.exists()


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


@pytest.mark.parametrize("change", [line_edit, line_remove, tail_cut, tail_lose, tail_append, replace, empty])
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
    monkeypatch.setattr(cache, "program_digest", lambda: "another")
    columns(path)
    assert len(numbers) == 112
    columns(path)
    assert len(numbers) == 112


def test_the_source_of_every_module_is_in_the_digest_of_the_program(tmp_path, monkeypatch):
    copied = shutil.copytree(cache.SUITE, tmp_path / "suite", ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(cache, "SUITE", copied)
    digest = cache.program_digest.__wrapped__
    before = digest()
    (copied / "formulas.py").write_bytes((copied / "formulas.py").read_bytes() + b"\n")
    assert digest() != before


@pytest.mark.parametrize("size", [0, 10, 32, 1000, -1])
def test_a_torn_cache_is_made_again(path, size, monkeypatch):
    kept = path.parent / FILE
    whole = kept.read_bytes()
    kept.write_bytes(whole[:size])
    numbers = parsed(monkeypatch)
    assert columns(path) == fresh(path) and numbers[:112] == list(range(1, 113))
    numbers.clear()
    columns(path)
    assert numbers == []


def test_a_cache_that_another_user_made_is_not_believed(path, home, monkeypatch):
    (home / "uncork" / "key").write_bytes(bytes(32))
    numbers = parsed(monkeypatch)
    columns(path)
    assert len(numbers) == 112


def pipe_make(path):
    """A pipe that nobody writes."""
    os.mkfifo(path)


def link_make(path):
    """A link to what has no end."""
    path.symlink_to("/dev/zero")


def hole_make(path):
    """A file of zeros, larger than memory."""
    path.touch()
    os.truncate(path, 1 << 40)


@pytest.mark.parametrize("make", [pipe_make, link_make, hole_make])
def test_what_is_no_file_of_columns_is_not_read(path, make, monkeypatch):
    (path.parent / FILE).unlink()
    make(path.parent / FILE)
    numbers = parsed(monkeypatch)
    columns(path)
    assert len(numbers) == 112


@pytest.mark.parametrize("place", [0, 31, 32, 200, -1])
def test_a_cache_with_one_byte_changed_is_not_believed(path, place, monkeypatch):
    kept = path.parent / FILE
    data = bytearray(kept.read_bytes())
    data[place] ^= 1
    kept.write_bytes(data)
    numbers = parsed(monkeypatch)
    columns(path)
    assert len(numbers) == 112


def test_a_key_that_others_could_know_is_none(path, home):
    (home / "uncork" / "key").chmod(0o640)
    (path.parent / FILE).unlink()
    assert columns(path) == fresh(path)
    assert cache.key_read() is None and not (path.parent / FILE).exists()


def test_nobody_else_can_read_the_key(path, home):
    assert (home / "uncork" / "key").stat().st_mode & 0o777 == 0o600
    assert [file.name for file in (home / "uncork").iterdir()] == ["key"]


@pytest.mark.parametrize("where", ["no folder for a key", "no place for the cache"])
def test_where_nothing_can_be_kept_everything_is_made(path, where, tmp_path, monkeypatch):
    (path.parent / FILE).unlink()
    if where == "no folder for a key":
        (tmp_path / "file").write_text("")
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    else:
        (path.parent / FILE).mkdir()
    assert columns(path) == fresh(path)
    assert {file.name for file in path.parent.iterdir()} - {FILE} == {file.name for file in NODELAY.iterdir()}


def test_records_that_were_changed_after_their_columns_were_made_are_a_failure(path):
    result = result_load(path.parent)
    line_remove(path)
    with pytest.raises(Failure, match="changed while it was read"):
        list(result.records([0, 1]))


def test_a_large_result_is_kept_and_tells_the_same_from_its_cache(path, tmp_path):
    """Blanks between records' parts make it large."""
    (path.parent / FILE).unlink()
    blank = b" " * (cache.LEAST_BYTES // 112)
    path.write_bytes(b"".join(blank + line for line in path.read_bytes().splitlines(keepends=True)))
    first = uncork("table", path.parent)
    assert (path.parent / FILE).exists() and first.returncode == 0
    assert uncork("table", path.parent).stdout == first.stdout


def test_a_line_without_end_is_no_record_and_is_not_held_in_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(lines, "LINE_BYTES_MOST", 10000)
    path = shutil.copytree(NODELAY, tmp_path / "long") / "records.jsonl"
    whole = path.read_bytes()
    path.write_bytes(b"[" * 123456 + b"\n" + whole + b"[" * 54321)
    runs, problems, notes = load.runs_load(path)
    assert len(runs) == 112 and problems.count == 1 and notes == [load.TORN]
    assert "records.jsonl:1: longer than " in problems.told[0]
    assert np.array_equal(runs.places["offset"][:1], [123457])
