# SPDX-License-Identifier: MIT
"""Quantiles of rounds that have too few requests for them, and of open loops that could not send
all that was due."""

from __future__ import annotations

import csv
import io
import json
import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from answers import changed, matrix_of, result_make, uncork
from suite import stats
from suite.contrast.contrast import Verdict
from suite.decide.claims import claim_decide
from suite.decide.comparison.build import compare_pair
from suite.observe.frame import Matrix
from suite.observe.histogram import Histogram, histogram_read, histograms_merge
from suite.observe.metrics import METRICS
from suite.scenario.scenario import Claim
from suite.stats import Beyond

P50, P99 = METRICS["latency_p50"], METRICS["latency_p99"]
ROUNDS = 10


def cells_where(matrix: Matrix, **words: str) -> Any:
    """The one cell with these words."""
    (cell,) = [cell for cell in matrix.cells.values() if words.items() <= cell.words.items()]
    return cell


def slow_rounds_short(record: dict[str, Any]) -> None:
    """The corked cell is slow in every third round, and makes fewer requests then than a p99
    needs."""
    client = record["client"]["threads"][0]
    if record["words"]["write"] == "cork" and record["run"]["round"] % 3 == 0:
        client["latency"] = result_make.histogram_of(1e6, 60)


def overloaded(record: dict[str, Any]) -> None:
    """The corked cell sends 50 of 1000 requests that were due in all rounds but two."""
    client = record["client"]["threads"][0]
    if record["words"]["write"] == "cork" and record["run"]["round"] > 2:
        client["latency"] = result_make.histogram_count([1000 * number for number in range(1, 51)])
        client |= {"due": 1000, "late": 950}


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An open loop at a rate that all strategies carry."""
    recipe = result_make.recipe_open(("5000",), ROUNDS)
    return result_make.result_write(recipe, tmp_path_factory.mktemp("results"))


@pytest.fixture(scope="module")
def short(stored: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same with slow rounds that have few requests."""
    return changed(stored, tmp_path_factory.mktemp("short"), slow_rounds_short)


@pytest.fixture(scope="module")
def late(stored: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same with a cell that sends a twentieth of what is due."""
    return changed(stored, tmp_path_factory.mktemp("late"), overloaded)


def rows_of(folder: Path, command: str, *words: str) -> list[dict[str, str]]:
    """What a command prints as CSV."""
    return list(csv.DictReader(io.StringIO(uncork(command, folder, *words, "--csv").stdout)))


def histogram(values: list[int], beyond: int) -> Histogram:
    """A histogram of small values, each in a bin of its own, with so many more beyond them."""
    bins = tuple((value, 1, 1) for value in sorted(values))
    return Histogram(len(values), max(values), min(values), sum(values), bins, beyond)


def test_requests_that_were_never_sent_rank_behind_all_others() -> None:
    sent = list(range(1, 61))
    assert histogram(sent, 0).quantile(0.5) == 30 and histogram(sent, 40).quantile(0.5) == 50
    p90 = histogram(sent, 40).quantile(0.9)
    assert isinstance(p90, Beyond) and p90 == 60
    assert [isinstance(histogram(sent, more).largest(), Beyond) for more in (0, 1)] == [False, True]
    assert histogram(sent, 39).quantile(0.99) is None
    assert histogram(sent, 40).quantile(0.99) is not None


TOP = (99857989632, 1 << 30, 3)  # the last bin of older records: from 99.9 s, all above 100 s


def older(maximum: int, count: int = 3) -> Histogram:
    """As an older record has it: 7 values of 5 ns, and these at the top."""
    return histogram_read({"unit": "ns", "count": 7 + count, "minimum": 5, "maximum": maximum,
                           "sum": 10**12, "bins": [[5, 1, 7], [*TOP[:2], count]]})


def test_a_quantile_in_the_last_bin_of_an_older_record_is_a_bound_and_its_maximum_exact() -> None:
    read = older(400 * 10**9)
    assert read.quantile(0.7) == 5 and not isinstance(read.quantile(0.7), Beyond)
    p90 = read.quantile(0.9)
    assert isinstance(p90, Beyond) and p90 == TOP[0]
    assert read.largest() == 400e9 and not isinstance(read.largest(), Beyond)
    within = older(TOP[0] + TOP[1] - 1).quantile(0.9)
    assert within == pytest.approx(100.4e9, rel=0.008) and not isinstance(within, Beyond)


def test_merged_with_a_record_that_has_longer_bins_no_value_from_the_bound_on_is_exact() -> None:
    long = Histogram(10, 300 * 10**9, 7, 10**12, ((7, 1, 2), (200 * 10**9, 1 << 31, 8)))
    for parts in ([older(150 * 10**9), long], [long, older(150 * 10**9), older(400 * 10**9)]):
        merged = histograms_merge(parts)
        assert merged is not None and merged.quantile(0.3) == 5
        for share in (0.6, 0.75, 0.9, 0.95):
            value = merged.quantile(share)
            assert isinstance(value, Beyond) and value == TOP[0]
        assert merged.largest() == max(part.maximum for part in parts)


def test_a_quantile_that_some_round_does_not_know_is_none_of_the_cell(short: Path) -> None:
    matrix = matrix_of(short)
    cork = cells_where(matrix, write="cork")
    assert len(matrix.series(cork.name, P99.name)) == 0
    assert len(matrix.series(cork.name, P50.name)) == ROUNDS
    assert matrix.coverage_text(cork, P99.name).startswith("latency_p99 known in 7 of 10 rounds")
    assert len(matrix.series(cells_where(matrix, write="writev").name, P99.name)) == ROUNDS
    by_write = {row["write"]: row for row in rows_of(short, "table")}
    assert by_write["cork"]["latency_p99"] == "" and by_write["writev"]["latency_p99"] != ""


@pytest.mark.parametrize("arguments", [
    ("table",), ("table", "gain=latency_p99"), ("table", "best=write", "columns=latency_p99"),
    ("compare", "write=cork", "columns=latency_p99"),
    ("compare", "write=cork", "columns=latency_p99", "--md"),
    ("show", "write=cork")])
def test_in_how_many_rounds_it_is_known_is_said_wherever_it_would_stand(
        short: Path, late: Path, arguments: tuple[str, ...]) -> None:
    for folder, known in ((short, 7), (late, 2)):
        text = " ".join(uncork(arguments[0], folder, *arguments[1:]).stdout.split())
        assert f"latency_p99 known in {known} of 10 rounds" in text, text


def test_a_block_and_a_picture_say_it_too(late: Path, tmp_path: Path) -> None:
    block = uncork("paste", late, "write=cork", "columns=latency_p50").stdout
    assert "latency_p50 known in 2 of 10 rounds;" in " ".join(block.split()), block
    assert re.search(r" > 50\.0 ", block)
    (tmp_path / "block").write_text(block)
    assert "the same" in uncork("verify", tmp_path / "block", late).stdout
    plots = shutil.copytree(late, tmp_path / "copy")
    for kind in ("bars", "heatmap", "forest"):
        done = uncork("plot", plots, f"kind={kind}", "metric=latency_p50", "-o", tmp_path / kind)
        assert done.returncode == 0, done.stderr
        (script,) = (tmp_path / kind).glob("*.gp")
        assert "latency_p50 known in 2 of 10 rounds of cork" in script.read_text(), kind


def test_benchstat_is_told_which_metric_is_left_out_as_a_bound(late: Path) -> None:
    text = uncork("compare", late, "columns=latency_p50,cpu_per_message", "--benchstat").stdout
    (said,) = (line for line in text.splitlines() if line.startswith("#"))
    assert said == ("# left out: latency_p50-sec of BenchmarkOpen/side=*: in some round only a "
                    "lower bound is known")
    cork, writev = (section.split("\n\n")[1]
                    for section in text.replace(said, "").split("new: ")[1:])
    assert "cpu_per_message-sec" in cork and "latency_p50-sec" not in cork
    assert "latency_p50-sec" in writev


def test_a_cell_of_which_nothing_was_sent_does_not_stretch_the_axis(stored: Path,
                                                                    tmp_path: Path) -> None:
    def never(record: dict[str, Any]) -> None:
        if record["words"]["write"] == "cork":
            client = record["client"]["threads"][0]
            del client["latency"]
            client |= {"due": 1000, "late": 1000, "messages_received": 0}
    folder = changed(stored, tmp_path, never)
    for kind in ("ecdf", "percentiles"):
        uncork("plot", folder, f"kind={kind}", "-o", tmp_path / kind)
        (script,), (data,) = (tmp_path.glob(f"{kind}/*.{suffix}") for suffix in ("gp", "dat"))
        assert "cork (100% never sent)" in script.read_text()
        low = re.search(r"^low = (.*)$", script.read_text(), re.MULTILINE)
        assert low and float(low[1]) > 1e-3, kind
        (cork,) = re.findall(r"^# cork.*\n(.*)$", data.read_text(), re.MULTILINE)
        assert set(cork.split()) == {"NaN"}


def test_pictures_of_a_bound_have_an_arrow(stored: Path, tmp_path: Path) -> None:
    def always(record: dict[str, Any]) -> None:
        overloaded(record | {"run": record["run"] | {"round": 3}})
    late = changed(stored, tmp_path, always)
    assert re.search(r"^cork .* >1x", uncork("table", late).stdout, re.MULTILINE)
    marks = {"bars": "\u2192", "heatmap": "worse", "forest": ">0%"}
    for kind, mark in marks.items():
        uncork("plot", late, f"kind={kind}", "metric=latency_p50", "-o", tmp_path / kind)
        (data,) = (tmp_path / kind).glob("*.dat")
        assert mark in data.read_text(), kind


def test_a_curve_of_a_bound_has_an_arrow_there_and_no_ratio(tmp_path: Path) -> None:
    def beyond(record: dict[str, Any]) -> None:
        if record["words"]["rate"] == "20000":
            overloaded(record | {"run": record["run"] | {"round": 3}})
    rates = result_make.result_write(result_make.recipe_open(("5000", "20000"), ROUNDS), tmp_path)
    late = changed(rates, tmp_path / "late", beyond)
    uncork("plot", late, "kind=curve", "x=rate", "metric=latency_p50", "-o", tmp_path / "plots")
    (data,) = (tmp_path / "plots").glob("*.dat")
    blocks = {block.splitlines()[0]: [line.split() for line in block.strip().splitlines()[1:]]
              for block in data.read_text().split("\n\n\n")}
    below, bound = blocks["# cork"]
    assert below[8] == "NaN" and below[4] != "NaN", "a value has a ratio and no arrow"
    assert bound[8] == bound[1] != "NaN" and bound[4:7] == ["NaN"] * 3, "a bound has no ratio"
    assert all(line[8] == "NaN" for line in [*blocks["# nodelay"], *blocks["# writev"]])
    script, text = (data.with_suffix(suffix).read_text() for suffix in (".gp", ".txt"))
    assert "small_print[3] = ['arrow: at least so much; " in script
    assert text.count("^") == 2 and "^: at least so much" in text


def test_a_median_that_is_a_bound_is_the_last_and_its_ratio_is_a_direction(late: Path) -> None:
    matrix = matrix_of(late)
    (row,) = compare_pair([matrix], {"write": "nodelay"}, {"write": "cork"}, [P50]).rows
    change = row.changes[P50.name]
    assert isinstance(change.new.median, Beyond)
    assert change.new.median == pytest.approx(50e-6, rel=0.02)
    assert isinstance(change.new.interval.high, Beyond)
    assert change.ratio.directed and change.ratio.value == np.inf
    assert change.ratio.p == pytest.approx(2 * 56 / 1024)
    assert change.verdict is Verdict.UNDECIDED  # 8 of 10 rounds are sure: p is 11 %


def test_csv_and_json_carry_the_bound_and_that_it_is_one_which_is_never_best(late: Path) -> None:
    by_write = {row["write"]: row for row in rows_of(late, "table")}
    assert by_write["cork"]["latency_p50_censored"] == "median" and by_write["writev"][
        "latency_p50_censored"] == ""
    assert float(by_write["cork"]["latency_p50"]) == pytest.approx(50e-6, rel=0.02)
    (row,) = rows_of(late, "compare", "write=cork", "columns=latency_p50")
    assert (row["new_censored"], row["base_censored"], row["change"],
            row["change_low"]) == ("median", "", "", "")
    value = json.loads(uncork("table", late, "--json").stdout)
    (cork,) = [cell for cell in value["cells"] if cell["axes"]["write"] == "cork"]
    figure = cork["metrics"]["latency_p50"]
    assert figure["censored"] == "median" and figure["ratio"]["value"] is None
    assert figure["ratio"]["direction"] == "above"
    text = uncork("table", late, "best=write", "columns=latency_p50").stdout
    assert re.search(r"^writev .*\*", text, re.MULTILINE) and "> 50.0" in text


@pytest.mark.parametrize("that, outcome", [
    ("latency_p50(write=cork) > 20e-6", "undecided"),  # sure in 8 of 10 rounds, p 11 %
    ("latency_p50(write=cork) > 200e-6", "undecided"),
    ("latency_p50(write=writev) < latency_p50(write=nodelay)", "ok"),
    ("latency_max(write=cork) < latency_p50(write=writev)", "not ok"),
])
def test_a_claim_about_a_bound_is_decided_by_what_is_sure(late: Path, that: str,
                                                          outcome: str) -> None:
    assert claim_decide(matrix_of(late), Claim("it is so", that)).outcome == outcome


def bounds_of(values: list[float], censored: list[bool]) -> stats.Bounds:
    """The lower and the upper bound of each value."""
    array = np.array(values, dtype=float)
    return array, np.where(censored, np.inf, array)


def test_a_direction_counts_only_pairs_that_are_sure() -> None:
    base = bounds_of([1.0] * 8, [False] * 8)
    sure = stats.ratio_directed(bounds_of([2.0] * 8, [True] * 8), base, True)
    assert sure.value == np.inf and sure.p == 2 / 2**8 and not sure.interval.contains(1.0)
    unsure = stats.ratio_directed(bounds_of([0.5] * 8, [True] * 8), base, True)
    assert unsure.p == 1 and unsure.interval.contains(1.0)
    both = stats.ratio_directed(bounds_of([2.0] * 8, [True] * 8),
                                bounds_of([1.0] * 8, [True] * 8), True)
    assert both.interval.contains(1.0)
    apart = stats.ratio_directed(bounds_of([2.0] * 4, [True] * 4),
                                 bounds_of([1.0] * 4, [False] * 4), False)
    assert apart.p == 2 / 70 and apart.value == np.inf


def test_directions_of_identical_cells_are_claimed_in_no_more_than_5_percent() -> None:
    chance, claimed = np.random.default_rng(12), []
    for _ in range(2000):
        values = chance.exponential(1, (2, 10))
        sides = [bounds_of(np.minimum(side, 1.0).tolist(), (side > 1.0).tolist())
                 for side in values]
        claimed.append(not stats.ratio_directed(*sides, True).interval.contains(1.0))
    assert np.mean(claimed) <= 0.05
