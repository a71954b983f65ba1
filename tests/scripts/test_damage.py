# SPDX-License-Identifier: MIT
"""A damaged result is answered by one clear line or shown without what is damaged: never by a
traceback, never by a figure that is none."""

from __future__ import annotations

import contextlib
import json
import os
import random
import shutil
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from answers import NODELAY, golden_check
from conftest import records_of
from suite.observe.metrics import METRICS
from suite.observe.results import result_load
from suite.present.pictures import gnuplot
from suite.result.files import line_make
from within import uncork_call

COMMANDS = {  # name: what it is asked
    "table": (), "check": (), "show": ("place=together", "write=cork"), "plot": (),
    "export": ("write=cork",),
    "paste": ("write=nodelay", "write=cork", "place=together"), "report": (),
    "compare": ("write=nodelay", "write=cork", "place=together")}
STATUSES = {0, 1, 2, 3}
# UNCORK_MUTATIONS=1000 and another UNCORK_SEED make a longer campaign.
SEED, MUTATIONS = 7, 15


@pytest.fixture(autouse=True)
def nothing_drawn(monkeypatch):
    """Pictures are as far as their data goes: gnuplot has its own tests."""
    def draw(script: Path) -> None:
        for suffix in (".txt", ".pdf", ".png"):
            script.with_suffix(suffix).write_text("")
        script.with_suffix(".svg").write_text(
            '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1 1"/>')
    monkeypatch.setattr(gnuplot, "gnuplot_run", draw)


@pytest.fixture
def folder(tmp_path) -> Path:
    """A copy of a round of the stored result and its warm-up, to be damaged."""
    folder = shutil.copytree(NODELAY, tmp_path / "result")
    lines_write(folder, [line for line in records_of(folder) if line["run"]["round"] < 2])
    return folder


def lines_write(folder: Path, records: list[Any]) -> None:
    """Replaces them; what is bytes is a line of its own."""
    with (folder / "records.jsonl").open("wb") as file:
        for record in records:
            file.write((record if isinstance(record, bytes) else json.dumps(record).encode()) +
                       b"\n")


def answer(command: str, folder: Path) -> tuple[int, str, str]:
    """Exit status and both outputs of one command, within this process: a traceback would fail the
    test."""
    place = ["-o", folder.parent / command] if command in ("plot", "export", "report") else []
    done = uncork_call([command, folder, *COMMANDS[command], *place], {"COLUMNS": "100"})
    return done.returncode, done.stdout, done.stderr


def said(folder: Path, command: str, status: set[int] = STATUSES) -> str:
    """What a command says; it must be one line where it fails, and something where it does not."""
    found, out, error = answer(command, folder)
    assert found in status, (found, out, error)
    if found and not out:
        assert error.startswith("uncork: ") and error.count("\n") == 1, error
    else:
        assert out
    return out + error


def change(path: str, value: Any) -> Callable[[Path], None]:
    """A damage: the value at a path of the first counted record is another."""
    def damage(folder: Path) -> None:
        records = records_of(folder)
        *inner, last = [int(key) if key.isdigit() else key for key in path.split("/")]
        part = records[15]
        for key in inner:
            part = part[key]
        part[last] = value
        lines_write(folder, records)
    return damage


def insert(line: bytes) -> Callable[[Path], None]:
    """A damage: another line in the middle."""
    return lambda folder: lines_write(folder,
                                      [*records_of(folder)[:15], line, *records_of(folder)[15:]])


THREAD = "client/threads/0"
LEFT_OUT = {  # damage: what the note says of line 16
    "an array": (insert(b"[1]"), "is a list, not an object"),
    "no run": (insert(b'{"status": "ok"}'), "has no run"),
    "another status": (insert(b'{"status": "fine", "run": {}}'),
                       'status is "fine", not ok or unsupported or failed'),
    "half an object": (insert(b'{"schema": 1, "sta'),
                       "not JSON: Unterminated string starting at: line 1 column 15"),
    "not UTF-8": (insert(b'{"status": "\xff"}'),
                  "not JSON: 'utf-8' codec can't decode byte 0xff in position 12"),
    "UTF-16": (insert('{"status": "ok"}'.encode("utf-16-le")), "not JSON: "),
    "nested deeply": (insert(b"[" * 100_000), "not JSON: maximum recursion depth exceeded"),
    "NaN": (insert(b'{"wall_ns": NaN}'), "not JSON: NaN is no number"),
    "infinite": (insert(b'{"wall_ns": -Infinity}'), "not JSON: -Infinity is no number"),
    "another schema": (change("schema", 2),
                       "schema 2 is of a newer uncork; this one understands schema 1"),
    "a schema of text": (change("schema", "1"),
                         'schema "1" is unknown; this one understands schema 1'),
    "many digits": (insert(b'{"wall_ns": %s}' % (b"9" * 5000)),
                    "not JSON: Exceeds the limit (4300 digits)"),
    "a huge integer": (change(f"{THREAD}/elapsed_ns", 10**300),
                       f"client.threads[0].elapsed_ns is 1{'0' * 39}..., not a number"),
    "a huge float": (change("wall_ns", 1e300), "wall_ns is 1e+300, not a number"),
    "null for a number": (change(f"{THREAD}/messages_sent", None),
                          "client.threads[0].messages_sent is null, not a number"),
    "text for a number": (change(f"{THREAD}/cpu/user_ns", "7"),
                          'client.threads[0].cpu.user_ns is "7", not a number'),
    "a list for an object": (change("server", []), "server is a list, not an object"),
    "an object for a list": (change("client/threads", {}),
                             "client.threads is an object, not a list"),
    "true for a number": (change("run/round", True),
                          "run.round is true, not a whole number from 0 to 1000000"),
    "a fraction of a round": (change("run/round", 1.5), "run.round is 1.5, not a whole number"),
    "another unit": (change(f"{THREAD}/latency/unit", "us"),
                     'client.threads[0].latency.unit is "us", not ns'),
    "a bin of two": (change(f"{THREAD}/latency/bins", [[1, 2]]),
                     "client.threads[0].latency.bins[0] is a list, not [low, width, count]"),
    "another label": (change("run/label", "B"), 'run.label is "B", not A or A\''),
    "a line feed in a name": (change("client/engine", "a\nb"),
                              'client.engine is "a\\nb", not one line of text'),
    "half a character": (change("client/library", "\ud800"),
                         'client.library is "\\ud800", not one line of text'),
    "no rate": (change("words/rate", "0"), 'words.rate is "0", not a number above 0 or closed'),
}


@pytest.mark.parametrize("name", LEFT_OUT)
def test_a_damaged_record_is_left_out_and_said(folder, name):
    damage, why = LEFT_OUT[name]
    before = records_of(folder)
    damage(folder)
    result = result_load(folder)
    (note,) = result.notes
    assert note.startswith(f"records.jsonl:16: {why}")
    left = before if len(result.runs) == len(before) else before[:15] + before[16:]
    cell = before[15]["run"]["cell"]
    if result.damaged_cells:
        assert result.damaged_cells == {cell} and not result.damage_unknown
        assert note.endswith(f"; no figure of {cell} is used")
    else:
        assert result.damage_unknown == note.partition("; the line was left out, and no check")[0]
    assert [record.document for record in result.records(range(len(result.runs)))] == left


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_shows_the_rest_where_many_records_are_damaged(folder, command):
    damaged = []
    for damage, _ in LEFT_OUT.values():
        whole = (folder / "records.jsonl").read_bytes()
        damage(folder)
        damaged.append((folder / "records.jsonl").read_bytes().split(b"\n")[15])
        (folder / "records.jsonl").write_bytes(whole)
    lines_write(folder, [*damaged, *records_of(folder)])
    text = " ".join(said(folder, command, {0, 1, 3} if command == "check" else {0}).split())
    if command in ("table", "show"):
        assert ("records.jsonl:1: is a list, not an object; the line was left out, and "
                "no check of this result passes") in text
        more = len(LEFT_OUT) - 5
        assert f"{more} more lines of records.jsonl are damaged and were left out" in text


def file_remove(name: str) -> Callable[[Path], None]:
    """A damage: that file is not there."""
    return lambda folder: (folder / name).unlink()


def file_write(name: str, data: bytes) -> Callable[[Path], None]:
    """A damage: that file is another."""
    return lambda folder: (folder / name).write_bytes(data)


def plan_change(**values: Any) -> Callable[[Path], None]:
    """A damage: these values of plan.json are others."""
    def damage(folder: Path) -> None:
        plan = json.loads((folder / "plan.json").read_text())
        (folder / "plan.json").write_text(json.dumps(plan | values))
    return damage


def cells_keep(count: int) -> Callable[[Path], None]:
    """A damage: plan.json has only so many of its cells."""
    def damage(folder: Path) -> None:
        cells = json.loads((folder / "plan.json").read_text())["cells"]
        plan_change(cells=cells[-count:])(folder)
    return damage


def records_twice(folder: Path) -> None:
    """A damage: every record is there twice."""
    lines_write(folder, records_of(folder) * 2)


def all_failed(folder: Path) -> None:
    """No damage: no run was good."""
    lines_write(folder, [{"schema": 1, "status": "failed", "reason": "no luck",
                          "run": record["run"]}
                         for record in records_of(folder)])


def torn(folder: Path) -> None:
    """A damage: the last line has no end."""
    path = folder / "records.jsonl"
    os.truncate(path, path.stat().st_size - 100)


SHOWN = {  # damage: what tables say of it
    "torn": (torn, "the last line is torn"),
    "twice": (records_twice, "is there twice: the first was kept"),
    "no hosts": (file_remove("hosts.json"),
                 "hosts.json: No such file or directory: nothing is known of the machine"),
    "empty hosts": (file_write("hosts.json", b""), "hosts.json: damaged: not JSON"),
    "hosts of numbers": (file_write("hosts.json", b'{"a": {"cpus_online": "x"}}'),
                         'hosts.json: damaged: a.cpus_online is "x"'),
    "other cells": (cells_keep(7),
                    "12 records of cells that are not in plan.json were left out"),
    "nothing good": (all_failed, "failed: no luck"),
}
REFUSED = {  # damage: exit status, what is said
    "no records": (file_remove("records.jsonl"), 2, "no such file, so"),
    "empty records": (file_write("records.jsonl", b""), 2, "no record yet, nothing was measured"),
    "blank records": (file_write("records.jsonl", b"\n \n"), 2,
                      "no record yet, nothing was measured"),
    "only a torn line": (file_write("records.jsonl", b'{"sch'), 2,
                         "nothing was measured; records.jsonl: the last line is torn"),
    "no whole record": (file_write("records.jsonl", b"{\n[]\n"), 1, "records.jsonl:1: not JSON"),
    "all newer": (file_write("records.jsonl", b'{"schema": 2}\n' * 9), 1,
                  "this one understands schema 1"),
    "no scenario": (file_remove("scenario.toml"), 2, "scenario.toml: no scenario can be read"),
    "no plan": (file_remove("plan.json"), 2, "plan.json: no such file, so"),
    "half a plan": (file_write("plan.json", b"{"), 1, "plan.json: damaged: not JSON"),
    "a list of a plan": (file_write("plan.json", b"[]"), 1, "is a list, not an object"),
    "a plan without seed": (file_write("plan.json", b'{"schema": 1}'), 1, "has no seed"),
    "binary plan": (file_write("plan.json", b"\xff\xfe"), 1,
                    "plan.json: damaged: not JSON: 'utf-8' codec can't decode byte 0xff"),
    "plan without cells": (plan_change(cells=[]), 1,
                           "records of cells that are not in plan.json"),
    "plan of texts": (plan_change(cells=["a"]), 1,
                      'plan.json: damaged: cells[0] is "a", not an object'),
    "axes of numbers": (plan_change(axes=[1]), 1,
                        "plan.json: damaged: axes[0] is 1, not one line of text"),
    "sessions of nulls": (plan_change(sessions=[None]), 1,
                          "damaged: sessions[0] is null, not an object"),
    "newer plan": (plan_change(schema=2), 2, "schema 2 is of a newer uncork"),
    "binary scenario": (file_write("scenario.toml", b"\xff"), 2, "scenario.toml"),
}


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("name", SHOWN)
def test_what_is_whole_is_shown_with_a_note(folder, name, command):
    damage, why = SHOWN[name]
    damage(folder)
    selects = command in ("show", "export", "paste", "compare")
    text = said(folder, command, {0, 1, 3} if command == "check" else
                {0, 2} if selects and name in ("other cells", "nothing good") else {0})
    if command == "table":
        assert why in " ".join(text.split())


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_shown_is_refused_in_one_line(folder, name, command):
    damage, status, why = REFUSED[name]
    damage(folder)
    text = said(folder, command, {status})
    assert why in text and str(folder) in text and text.startswith("uncork: ")


def test_the_table_of_a_damaged_result_is_that_of_the_rest(folder):
    lines_write(folder, [*records_of(folder)[:20], b"{", *records_of(folder)[20:],
                         records_of(folder)[3]])
    (folder / "hosts.json").unlink()
    golden_check("damage/table.txt", said(folder, "table", {0}))


def line_of(record: dict[str, Any]) -> bytes:
    """A record as the runner stores it, with its crc."""
    return line_make(json.dumps(record, separators=(",", ":")).encode().removesuffix(b"}"))


@pytest.fixture
def sealed(folder) -> Path:
    """The same result with a crc in each line."""
    lines_write(folder, list(map(line_of, records_of(folder))))
    return folder


def test_a_result_with_and_without_crc_is_read_the_same(folder):
    assert line_make(b'{"a":1') == b'{"a":1,"crc":%d}' % zlib.crc32(b'{"a":1')
    plain = result_load(folder)
    lines_write(folder, [line_of(record) if number % 2 else record
                         for number, record in enumerate(records_of(folder))])
    mixed = result_load(folder)
    assert not mixed.notes and not mixed.damaged_cells and not mixed.damage_unknown
    assert figures_of(mixed).equals(figures_of(plain))


def figures_of(result):
    """All figures of all records."""
    return result.runs.frame[list(METRICS)]


def test_no_flipped_bit_changes_a_figure_unnoticed(sealed):
    before, path = result_load(sealed), sealed / "records.jsonl"
    whole, chance = path.read_bytes(), random.Random(SEED)
    lines = whole.splitlines(keepends=True)
    start = sum(map(len, lines[:15]))
    crc = lines[15].index(b',"crc":') + 1
    places = [*chance.sample(range(len(lines[15])), 200), *range(crc, len(lines[15]))]
    unnoticed = 0
    for place in places:
        data = bytearray(whole)
        data[start + place] ^= 1 << chance.randrange(8)
        path.write_bytes(data)
        result = result_load(sealed)
        if not result.damaged_cells and not result.damage_unknown:
            unnoticed += 1  # the key crc has another name: the line is read as one without
            assert place in range(crc + 1, crc + 4)
            assert figures_of(result).equals(figures_of(before))
    assert unnoticed <= 3


def figure_change(folder: Path) -> str:
    """A damage: in a sealed result the time of a counted run is another. Returns the cell."""
    path, record = folder / "records.jsonl", records_of(folder)[15]
    lines = path.read_bytes().splitlines(keepends=True)
    old = str(record["client"]["threads"][0]["elapsed_ns"]).encode()
    lines[15] = lines[15].replace(old, old[:-1] + bytes([old[-1] ^ 1]))
    path.write_bytes(b"".join(lines))
    return record["run"]["cell"]


def test_a_changed_figure_fails_its_cell_and_no_other(sealed):
    before = result_load(sealed).runs
    cell = figure_change(sealed)
    result = result_load(sealed)
    assert result.damaged_cells == {cell} and not result.damage_unknown
    (note,) = result.notes
    assert note == ("records.jsonl:16: its bytes are not those that were written: its crc differs; "
                    f"no figure of {cell} is used")
    assert not result.runs.good[result.runs.rows_of(cell)].any()
    assert result.runs.good.sum() == before.good.sum() - before.good[before.rows_of(cell)].sum()


@pytest.mark.parametrize("command", COMMANDS)
def test_no_command_shows_a_figure_of_a_cell_with_a_damaged_line(sealed, command):
    cell = figure_change(sealed)
    words = [word for word in cell.split() if word.split("=")[0] in ("write", "place")]
    arguments = {"check": [], "paste": ["write=nagle", *words],
                 "compare": ["write=nagle", *words]}.get(command, words)
    place = ["-o", sealed.parent / command] if command in ("plot", "export", "report") else []
    done = uncork_call([command, sealed, *arguments, *place], {"COLUMNS": "1000"})
    assert not done.stdout or done.returncode != 2
    text = done.stdout + done.stderr
    assert ("records.jsonl:16: its bytes are not those" in text or
            "records.jsonl is damaged: no figure of 1 cell is used" in text)


@pytest.mark.parametrize("damage", ["a line of unknown cell", "a line of a cell"])
def test_no_check_passes_over_a_damaged_line(tmp_path, damage):
    folder = shutil.copytree(NODELAY, tmp_path / "result")
    records = [record for record in records_of(folder)
               if "write=nagle" not in record["run"]["cell"]]
    (folder / "scenario.toml").write_text(
        (folder / "scenario.toml").read_text().partition("[[claim]]")[0] +
        '[[claim]]\nsays = "a corked message is one segment"\n'
        'that = "segments_per_message(write=cork place=apart) == 1"\n')
    lines_write(folder, records)
    assert uncork_call(["check", folder], {}).returncode == 0
    posted = uncork_call(["paste", folder, "write=cork", "write=writev", "place=apart"], {})
    (tmp_path / "mail").write_text(posted.stdout)
    assert uncork_call(["verify", tmp_path / "mail", folder], {}).returncode == 0
    number = next(number for number, record in enumerate(records) if record["run"]["round"] and
                  {"write=cork", "place=apart"} <= {*record["run"]["cell"].split()})
    lines_write(folder, [*records[:number], b"{" if "unknown" in damage else
                         line_of(records[number]).replace(b'"status":"ok"', b'"status": "ok"'),
                         *records[number:]])
    done = uncork_call(["check", folder], {})
    assert done.returncode == 3 and "records.jsonl is damaged: no " in done.stderr, done.stdout
    done = uncork_call(["verify", tmp_path / "mail", folder], {})
    assert done.returncode == 1 and "the same: all" not in done.stdout


def test_the_columns_of_a_sysctl_are_no_damage(folder):
    path = folder / "hosts.json"
    hosts = json.loads(path.read_text())
    for facts in hosts.values():
        facts["sysctl"] = {"net.ipv4.ip_local_port_range": "32768\t60999"}
    path.write_text(json.dumps(hosts))
    assert not result_load(folder).notes


def bytes_flip(data: bytes, chance: random.Random) -> bytes:
    """A few bytes are others."""
    changed = bytearray(data)
    for _ in range(chance.choice((1, 2, 20))):
        changed[chance.randrange(len(changed))] = chance.randrange(256)
    return bytes(changed)


def part_cut(data: bytes, chance: random.Random) -> bytes:
    """A stretch is missing."""
    begin = chance.randrange(len(data))
    return data[:begin] + data[begin + chance.randrange(1, 2000):]


STRANGE = (None, True, -1, 0, 1.5, 2**63, 10**30, 1e308, "", "x", "\u202e\x1b[31m", [], {}, [[]],
           {"": None})


def value_swap(value: Any, chance: random.Random) -> Any:
    """Somewhere inside a value something is of another type, or gone."""
    if isinstance(value, dict) and value and chance.random() < 0.9:
        key = chance.choice(list(value))
        if chance.random() < 0.2:
            return {name: item for name, item in value.items() if name != key}
        return value | {key: value_swap(value[key], chance)}
    if isinstance(value, list) and value and chance.random() < 0.9:
        place = chance.randrange(len(value))
        return [*value[:place], value_swap(value[place], chance), *value[place + 1:]]
    return chance.choice(STRANGE)


def values_swap(data: bytes, chance: random.Random) -> bytes:
    """In some lines, or in the one object of a file, a value is another."""
    if data.count(b"\n{") < 2:
        return json.dumps(value_swap(json.loads(data), chance)).encode()
    lines = data.splitlines()
    for _ in range(chance.choice((1, 5, 40))):
        place = chance.randrange(len(lines))
        with contextlib.suppress(ValueError):
            lines[place] = json.dumps(value_swap(json.loads(lines[place]), chance)).encode()
    return b"\n".join(lines) + b"\n"


@pytest.mark.parametrize("command", COMMANDS)
def test_no_mutation_of_a_result_ends_in_a_traceback(folder, command):
    chance = random.Random(f"{os.environ.get('UNCORK_SEED', SEED)} {command}")
    whole = {path: path.read_bytes() for path in folder.iterdir()}
    for number in range(int(os.environ.get("UNCORK_MUTATIONS", MUTATIONS))):
        path = chance.choices(
            [folder / name for name in ("records.jsonl", "plan.json", "hosts.json")], (6, 3, 1)
        )[0]
        mutate = chance.choices((values_swap, bytes_flip, part_cut), (6, 3, 1))[0]
        path.write_bytes(mutate(whole[path], chance))
        try:
            said(folder, command)
        except Exception as error:
            raise AssertionError(
                f"mutation {number}, {mutate.__name__} of {path.name}: {error!r}") from error
        path.write_bytes(whole[path])
