# SPDX-License-Identifier: MIT
"""`uncork export`: what it writes is read back by a strict reader of HdrHistogram's text."""

from __future__ import annotations

import re
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from answers import NODELAY, changed, golden_check, matrix_of, refused, result_make, uncork
from suite.observe.histogram import Histogram, histogram_read, histograms_merge
from suite.observe.measured import histogram_of
from suite.present.comparison import HGRM_UNITS
from suite.present.comparison.hgrm import hgrm_text

UNSENT = re.compile(r"#\[Never sent = +(\d+) of +(\d+) due \((.*)\), ranked last\]")
HEADER = "       Value     Percentile TotalCount 1/(1-Percentile)"
ROW = re.compile(r" *(\d+\.\d{3,9}) ([01]\.\d{12}) +(\d+)(?: +(\d+\.\d\d))?")
FOOT = (re.compile(r"#\[Mean    = +(\d+\.\d+), StdDeviation   = +(\d+\.\d+)\]"),
        re.compile(r"#\[Max     = +(\d+\.\d+), Total count    = +(\d+)\]"),
        re.compile(r"#\[Buckets = +(\d+), SubBuckets     = +(\d+)\]"))


@dataclass(frozen=True)
class Parsed:
    """A .hgrm: rows are (value, percentile, count, 1/(1-percentile) or None at 100 %). unsent: how
    many of how many requests were never sent, and their share."""

    rows: list[tuple[float, float, int, float | None]]
    mean: float
    deviation: float
    maximum: float
    count: int
    unsent: tuple[str, ...] | None


def parse(text: str) -> Parsed:
    """Reads a .hgrm; whatever is not exactly as it must be fails the test."""
    unsent = UNSENT.fullmatch(text.splitlines()[-1])
    table = text[:unsent and -len(unsent[0]) - 1]
    head, blank, *lines, mean, maximum, buckets, end = table.split("\n")
    assert (head, blank, end) == (HEADER, "", "")
    rows = []
    for line in lines:
        match = ROW.fullmatch(line)
        assert match, line
        rows.append((float(match[1]), float(match[2]), int(match[3]),
                     float(match[4]) if match[4] else None))
    feet = [pattern.fullmatch(line) for pattern, line in
            zip(FOOT, (mean, maximum, buckets), strict=True)]
    assert all(feet), (mean, maximum, buckets)
    return Parsed(rows, float(feet[0][1]), float(feet[0][2]), float(feet[1][1]), int(feet[1][2]),
                  unsent and unsent.groups())


def test_a_run_without_a_single_request_adds_nothing_to_a_histogram():
    empty, counted = Histogram(0, 0, 0, 0, ()), Histogram(2, 9, 5, 14, ((5, 1, 1), (9, 1, 1)))
    assert histograms_merge([empty, counted, empty]) == counted
    assert histograms_merge([empty]) is None and histograms_merge([empty, empty]) is None


@pytest.fixture(scope="module")
def opened(tmp_path_factory) -> Path:
    """A result of open loops."""
    return result_make.result_write(result_make.recipe_open(), tmp_path_factory.mktemp("results"))


def histogram(folder: Path, words: str, of: str = "latency") -> Histogram:
    """The histogram of the one cell whose name ends so."""
    matrix = matrix_of(folder)
    (name,) = [name for name in matrix.cells if name.endswith(words)]
    found = histogram_of(matrix.runs_good(name), of)
    assert found is not None
    return found


@pytest.mark.parametrize("of", result_make.OF_OPEN_LOOPS)
@pytest.mark.parametrize("unit", HGRM_UNITS)
def test_what_is_written_reads_back_as_the_quantiles_of_all_rounds(opened, of, unit):
    done = uncork("export", opened, "rate=20000", "write=cork", "-o", "-", "--of", of,
                  f"--unit={unit}")
    assert done.returncode == 0 and done.stderr == ""
    parsed, told = parse(done.stdout), histogram(opened, "rate=20000 write=cork", of)
    factor = HGRM_UNITS[unit][0]
    compared = 0
    for value, share, count, inverse in parsed.rows[:-1]:
        assert inverse == pytest.approx(1 / (1 - share), abs=0.006)
        assert count >= share * parsed.count - 1e-6
        known = told.quantile(share)
        if known is not None:
            assert value * factor == pytest.approx(known, rel=0.01, abs=1)
            compared += 1
    assert compared > 40
    assert parsed.rows[-1] == (parsed.maximum, 1.0, parsed.count, None)
    assert parsed.count == told.count
    assert parsed.maximum * factor == pytest.approx(told.maximum, abs=1)
    assert parsed.mean * factor == pytest.approx(told.sum / told.count, rel=1e-3)


def test_each_half_of_what_is_left_has_five_steps():
    values = Histogram(100_000, 100_000, 1, 5e9, tuple((v, 1, 1) for v in range(1, 100_001)))
    rows = parse(hgrm_text(values, "ns")).rows
    shares = [share for _, share, _, _ in rows]
    assert shares[:11] == pytest.approx([0, .1, .2, .3, .4, .5, .55, .6, .65, .7, .75])
    assert shares[16:21] == pytest.approx([.8875, .9, .9125, .925, .9375])
    assert all(value == count for value, _, count, _ in rows)
    assert rows[10][:3] == (75_000, 0.75, 75_000)


def test_a_single_value_is_the_first_and_the_last():
    parsed = parse(hgrm_text(Histogram(1, 1234, 1234, 1234, ((1232, 16, 1),)), "us"))
    assert parsed.rows == [(1.234, 0.0, 1, 1.0), (1.234, 1.0, 1, None)]
    assert parsed.mean == 1.234 and parsed.count == 1


def test_the_deviation_is_that_of_the_values():
    parsed = parse(hgrm_text(Histogram(2, 30, 10, 40, ((10, 1, 1), (30, 1, 1))), "ns"))
    assert (parsed.mean, parsed.deviation) == (20, 10)


def test_requests_that_were_never_sent_are_ranked_last_and_end_the_percentiles() -> None:
    bins = tuple((value, 1, 1) for value in range(1, 301))
    parsed = parse(hgrm_text(Histogram(300, 300, 1, 45150, bins, 700), "ns"))
    assert parsed.unsent == ("700", "1000", "70%")
    assert [row[:3] for row in parsed.rows] == [
        (1, 0, 1), (100, .1, 100), (200, .2, 200), (300, .3, 300), (300, .3, 300)]
    assert [row[3] for row in parsed.rows] == [1, 1.11, 1.25, 1.43, 1.43]
    assert (parsed.maximum, parsed.count, parsed.mean) == (300, 300, 150.5)
    few = parse(hgrm_text(Histogram(300, 300, 1, 45150, bins, 1), "ns"))
    assert few.unsent == ("1", "301", "0.3%")
    assert few.rows[-1] == (300, pytest.approx(300 / 301), 300, 301)


def test_a_cell_of_which_nothing_was_sent_says_so() -> None:
    parsed = parse(hgrm_text(Histogram(0, 0, 0, 0, (), 200), "us"))
    assert parsed.unsent == ("200", "200", "100%")
    assert parsed.count == 0 and parsed.rows == []


def test_what_an_older_record_counted_in_its_last_bin_ends_at_the_exact_maximum() -> None:
    read = histogram_read({"unit": "ns", "count": 10, "minimum": 5, "maximum": 400 * 10**9,
                           "sum": 10**12, "bins": [[5, 1, 7], [99857989632, 1 << 30, 3]]})
    parsed = parse(hgrm_text(read, "s"))
    assert parsed.rows[-2][0] == parsed.rows[-1][0] == parsed.maximum == 400
    assert parsed.deviation < 400


def unsent_most(record: dict[str, Any]) -> None:
    """The cork sends 300 of 1000 requests that are due, and more nothing."""
    client = record["client"]["threads"][0]
    if record["words"]["write"] == "cork":
        client["latency"] = client["late_start"] = result_make.histogram_of(1e6, 300)
        client |= {"due": 1000, "late": 700}
    elif record["words"]["write"] == "writev":
        del client["latency"], client["late_start"], client["service"]
        client |= {"due": 1000, "late": 1000, "messages_sent": 0, "messages_received": 0}


def test_export_and_compare_say_what_was_never_sent(tmp_path: Path) -> None:
    stored = result_make.result_write(result_make.recipe_open(("5000",), 3), tmp_path)
    folder = changed(stored, tmp_path / "changed", unsent_most)
    export = {of: uncork("export", folder, "write=cork", "-o", "-", "--of", of)
              for of in ("latency", "late_start", "service")}
    assert {of: parse(done.stdout).unsent for of, done in export.items()} == {
        "latency": ("2100", "3000", "70%"), "late_start": ("2100", "3000", "70%"),
        "service": None}
    nothing = parse(uncork("export", folder, "write=writev", "-o", "-").stdout)
    assert nothing.count == 0 and nothing.unsent == ("3000", "3000", "100%")
    compared = uncork("compare", folder, "write=cork", "--hgrm")
    assert compared.returncode == 0
    assert compared.stdout.count("#[Never sent = ") == 1
    assert "2100 of" in compared.stdout


def test_the_text_of_a_cell(tmp_path):
    few = result_make.result_write(result_make.recipe_open(("500",), rounds=1), tmp_path)
    done = uncork("export", few, "write=cork", "-o", "-")
    golden_check("cork.hgrm", done.stdout)


def test_every_cell_becomes_a_file_in_the_result(tmp_path):
    folder = shutil.copytree(NODELAY, tmp_path / "result")
    done = uncork("export", folder)
    assert done.returncode == 0 and done.stderr == ""
    files = [Path(line) for line in done.stdout.splitlines()]
    assert len(files) == 12 and files[0] == folder / "hgrm" / "together-nagle.hgrm"
    assert sorted(files) == sorted((folder / "hgrm").iterdir())
    assert {parse(path.read_text()).count for path in files} == {
        histogram(folder, f"place={place} write={write}").count
        for place, write in (path.stem.split("-") for path in files)}
    assert uncork("table", folder).returncode == 0


def test_words_select_cells_and_the_name_says_what_it_is(opened, tmp_path):
    done = uncork("export", opened, "write=cork", "--of=service", "-o", tmp_path / "out")
    assert done.returncode == 0
    assert [Path(line).name for line in done.stdout.splitlines()] == [
        "5000-cork-service.hgrm", "20000-cork-service.hgrm", "40000-cork-service.hgrm"]


def test_cells_without_a_histogram_are_left_out_and_named(tmp_path):
    folder = result_make.result_write(result_make.recipe_transports(), tmp_path)
    done = uncork("export", folder)
    assert done.returncode == 0 and len(done.stdout.splitlines()) == 5
    assert done.stderr == (
        "uncork: left out, unsupported (unix sockets hold nothing back): "
        "transport=unix write=cork; transport=unix write=more; "
        "failed (killed by signal 9): transport=unix write=coalesce\n")


def test_two_cells_never_share_a_file(tmp_path):
    folder = shutil.copytree(NODELAY, tmp_path / "result")
    for path in folder.iterdir():
        path.write_text(path.read_text().replace("apart", "0/1").replace("together", "0:1"))
    said = refused("export", folder)
    assert "place=0:1 write=nagle and place=0/1 write=nagle would both be 0_1-nagle.hgrm" in said
    assert not (folder / "hgrm").exists()


@pytest.mark.parametrize("words, said", [
    (["-o", "-"], "12 cells are meant, name one: place=together write=nagle"),
    (["write=cork", "-o", "-"], "2 cells are meant, name one"),
    (["write=corc"], "no cell of nodelay has write=corc: did you mean cork?"),
    (["cork"], '"cork" is not a word'),
    (["--of", "servce"], "argument --of: invalid choice: 'servce' (choose from "),
    (["--of", "service"], "no run has service: place=together write=nagle; "),
    (["--unit", "min"], "argument --unit: invalid choice: 'min' (choose from "),
])
def test_what_export_refuses(words, said):
    assert said in refused("export", NODELAY, *words)
    assert not (NODELAY / "hgrm").exists()
