# SPDX-License-Identifier: MIT
"""Two figures and their change agree, in every output; nothing is claimed from what is unknown,
disturbed or in two modes; and gates fail closed."""

from __future__ import annotations

import csv
import io
import json
import re
import tarfile
import tracemalloc
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from result_make import Recipe
from sessions_make import sessions_write

from answers import ROOT, changed, emulated, matrix_of, reframed, uncork
from readers import comparisons_of, scenario_with
from rendered import compared_rendered, compared_text, table_rendered, table_text
from simulated import (
    METRIC,
    NOISES,
    correlated,
    matrix_identical,
    matrix_sessions,
    matrix_simulated,
    normal,
    regimes,
)
from suite import stats
from suite.commands.bisect import SKIP, result_judge
from suite.contrast.contrast import Status, Verdict, same_reach
from suite.contrast.verdicts import baseline_judged
from suite.decide.comparison.build import cells_alone, compare_baseline
from suite.decide.gate import gate_parse, gates_decide
from suite.decide.optimum import UNKNOWN, answers_decide, optima_build
from suite.decide.summary import summary_build
from suite.observe.metrics import METRICS
from suite.observe.selection import Layout, metrics_default
from suite.present.answers import answers_pairs
from suite.present.comparison.gate import gates_document
from suite.present.judged import WITHHELD_SIGNS
from suite.present.mail.block import pair_block
from suite.present.tables import TERMINAL
from suite.present.tables.mail import block_lines
from suite.scenario.scenario import Question
from truth import Truth, record_make, truth_write

TIME, PAIR = METRICS[METRIC], ("write=nodelay", "write=cork")
WRITES = {"write": ["nodelay", "cork"]}
WITHHELD = set(WITHHELD_SIGNS.values())
RESULTS, SIMULATED = 1000, 200


def judged_of(matrix, place=1):
    """The contrast of a cell of the first group with its baseline."""
    return baseline_judged(matrix, list(matrix.cells.values())[place], METRIC)


def gates_of(matrix, text):
    return gates_decide(compare_baseline(matrix, [gate_parse(text).metric]), [gate_parse(text)])


def gate_text(matrix, text):
    comparisons = compare_baseline(matrix, [gate_parse(text).metric])
    gates = gates_decide(comparisons, [gate_parse(text)])
    return " ".join(TERMINAL.render(gates_document(gates, comparisons), 200).split())


# gates fail closed --------------------------------------------------------------------------------

def latency_forget(record):
    """Takes the latency from the record of round 30 of cork."""
    if record["run"]["round"] == 30 and record["words"]["write"] == "cork":
        for thread in record["client"]["threads"]:
            thread.pop("latency", None)
        record["client"].pop("latency", None)


def test_a_regression_that_is_unknown_in_one_of_60_rounds_is_undecided_and_named(tmp_path):
    slow = truth_write("slow", Truth({"write=cork": 25_000}, rounds=60, sweep=WRITES), tmp_path)
    gaps = changed(slow, tmp_path / "gaps", latency_forget)
    for limit in ("+10%", "1 ms"):
        gate = ("--fail-if", f"latency_p99 > {limit}")
        assert uncork("compare", slow, *PAIR, *gate).returncode == 5
        done = uncork("compare", gaps, *PAIR, *gate)
        assert done.returncode == 3
        assert "new: latency_p99 known in 59 of 60 rounds" in " ".join(done.stdout.split())
    gates = [gate_parse("latency_p99 > 1 ms")]
    alone = cells_alone(matrix_of(gaps), {}, [METRICS["latency_p99"]])
    (_, row) = gates_decide([alone], gates).rows
    assert row.verdict == "undecided" and "59 of 60" in row.why
    skipped, why = result_judge(gaps, gates, ["build=x"])
    assert skipped == SKIP and "latency_p99" in why


@pytest.mark.parametrize("status", ["failed", "unsupported"])
@pytest.mark.parametrize("side", ["nodelay", "cork"])
def test_a_side_that_did_not_run_is_undecided_and_named(tmp_path, side, status):
    def refuse(record):
        if record["words"]["write"] == side:
            record.update(status=status, reason="it is broken")
    whole = truth_write("whole", Truth(sweep=WRITES), tmp_path)
    folder = changed(whole, tmp_path / "gone", refuse)
    done = uncork("compare", folder, *PAIR, "--fail-if", "time_per_message > +30%")
    name = "new" if side == "cork" else "base"
    assert done.returncode == 3, done.stdout
    assert f"{name}: {status}: it is broken" in " ".join(done.stdout.split())


def gaps_make(first, again, chance, slow):
    """Takes a tenth of the values away: those of the slow rounds of the new side, or at random of
    one side, of the baseline in both runs."""
    count = first.shape[-1] // 10
    if slow:
        first[0, 1, np.argsort(first[0, 1])[-count:]] = np.nan
    else:
        side, places = chance.integers(2), chance.permutation(first.shape[-1])[:count]
        first[0, side, places] = np.nan
        again[0, places] = np.nan if side == 0 else again[0, places]


@pytest.mark.parametrize("results, known", [
    (200, True), pytest.param(RESULTS, True, marks=pytest.mark.long),
    pytest.param(RESULTS, False, marks=pytest.mark.long)])
def test_of_many_results_with_gaps_none_passes_a_regression_of_a_tenth(results, known):
    statuses = []
    for seed in range(results):
        chance = np.random.default_rng((seed, 77))
        first = 1e-5 * np.exp(chance.normal(0, 0.03, (1, 2, 20))) * [[[1.0], [1.1]]]
        again = 1e-5 * np.exp(chance.normal(0, 0.03, (1, 20)))
        if not known:
            gaps_make(first, again, chance, seed % 2)
        matrix = matrix_simulated(first, again)
        if not known and seed % 4 < 2:  # the run was good, its figure is unknown
            matrix = reframed(matrix, status="ok")
        statuses.append(gates_of(matrix, f"{METRIC} > +5%").status)
    assert 0 not in statuses and (statuses.count(5) > 0.9 * results if known else set(statuses) == {
        3})


def test_emulated_counts_that_differ_between_runs_are_undecided(tmp_path):
    counts = Truth(sweep=WRITES, segments={"write=cork": 16})
    matrix = emulated(matrix_of(truth_write("counts", counts, tmp_path)))
    gate = "segments_per_message > +3%"
    assert gates_of(matrix, gate).status == 5
    counts = matrix.frame["segments_per_message"].copy()
    counts[np.flatnonzero(matrix.frame["cell"].str.contains("cork"))[2]] = 15
    matrix = reframed(matrix, segments_per_message=counts)
    assert gates_of(matrix, gate).status == 3
    assert "emulated, and not the same count in every run" in gate_text(matrix, gate)


# a change and its medians agree -------------------------------------------------------------------

def table_rows(text: str) -> Iterator[dict[str, str]]:
    """The rows of every table in Markdown that has medians and changes."""
    head: list[str] = []
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if not line.startswith("|"):
            head = []
        elif {"base", "new", "change"} <= set(cells):
            head = cells
        elif head and not re.fullmatch(r"[-|: ]+", line):
            yield dict(zip(head, cells, strict=True))


def way(text: str) -> int:
    """The direction of a printed change; 0 of one that says none."""
    found = re.match(r"([+-]?[\d.]+)([x%])", text)
    if not found:
        return 0
    number = float(found[1]) - (found[2] == "x")
    return (number > 0) - (number < 0)


def ordered(base: float, new: float) -> int:
    return (new > base) - (new < base)


def contradictions(matrix, metric) -> Iterator[str]:
    """The rows of all outputs whose change and medians point in opposite directions."""
    table = table_rendered("csv", summary_build(matrix, (metric,)))
    rows = list(csv.DictReader(io.StringIO(table)))
    withheld = {status.value for status in Status} - {"ok", "censored"}
    for row in rows:
        if row.get(f"{metric}_ratio") and row[f"{metric}_verdict"] not in withheld:
            words = {axis: row[axis] for axis in matrix.axes} | matrix.baseline
            base = next(one for one in rows if words.items() <= one.items())
            if ordered(float(base[metric]), float(row[metric])) * (
                    float(row[f"{metric}_ratio"]) - 1) < 0:
                yield f"table: {row}"
    for one in comparisons_of([matrix], metric):
        texts = [compared_rendered("md", [one])]
        if any(row.changes for row in one.rows):
            block = pair_block([matrix], one.base.words, one.new.words, [METRICS[metric]])
            texts.append("\n".join(block_lines(block, "md")))
        for text in texts:
            for row in table_rows(text):
                change = re.sub(r" \[.*| ~.*", "", row["change"])
                if change in WITHHELD or not row["base"][:1].isdigit():
                    continue
                if ordered(*(float(row[side].split()[0]) for side in ("base", "new"))) * way(
                        change) < 0:
                    yield f"compare: {row}"
    if len(matrix.baseline) == 1:
        (axis, base), = matrix.baseline.items()
        asked = scenario_with(matrix, answers=(Question("Which?", axis, metric),))
        for answer in answers_decide(asked):
            for optimum in answer.optima:
                alone = answer._replace(optima=(optimum,))
                text = " ".join(text for _, text in answers_pairs([alone]))
                for new, times in re.findall(rf"(\S+) is ([\d.]+)x \w+ \w+ {base}\b", text):
                    better = ordered(optimum.medians[new], optimum.medians[base])
                    better *= -1 if METRICS[metric].better == "higher" else 1
                    if better * (float(times) - 1) < 0:
                        yield f"answer: {text}"


@pytest.mark.parametrize("name", sorted(path.name.partition(".")[0] for path in (
    ROOT / "results/reference").glob("*.tar.xz")))
def test_no_change_of_a_reference_result_contradicts_its_medians(tmp_path, name):
    with tarfile.open(ROOT / f"results/reference/{name}.tar.xz") as archive:
        archive.extractall(tmp_path)
    matrix = matrix_of(tmp_path / name)
    for metric in metrics_default(matrix):
        assert not list(contradictions(matrix, metric))


@pytest.mark.parametrize("results", [40, pytest.param(SIMULATED, marks=pytest.mark.long)])
def test_no_change_of_a_simulated_result_contradicts_its_medians(results):
    draws = (*NOISES, regimes, correlated(0.4))
    seen = set()
    for seed in range(results):
        chance = np.random.default_rng((seed, 2))
        draw, rounds = draws[seed % len(draws)], int(chance.integers(2, 41))
        first = 1e-5 * draw(chance, (2, 3, rounds)) * chance.choice(
            [0.85, 0.97, 1, 1.02, 1.3, 4], (2, 3, 1))
        first[chance.random(first.shape) < chance.choice([0, 0.1])] = np.nan  # failed rounds
        matrix = matrix_simulated(first, 1e-5 * draw(chance, (2, rounds)))
        assert not list(contradictions(matrix, METRIC)), (draw.__name__, seed)
        seen |= {judged.verdict for cell in matrix.cells.values()
                 if (judged := baseline_judged(matrix, cell, METRIC))}
    assert seen >= {Verdict.CHANGED, Verdict.UNDECIDED, Verdict.UNKNOWN, Verdict.WITHHELD}


def test_rounds_in_two_modes_that_contradict_each_other_say_mixed_and_claim_nothing():
    chance = np.random.default_rng(3)
    first = 1e-5 * normal(chance, (1, 2, 60))
    first[0, 1] *= chance.permutation(np.repeat([0.7, 10], [45, 15]))
    matrix = matrix_simulated(first, 1e-5 * normal(chance, (1, 60)))
    text = compared_text(compare_baseline(matrix, [TIME]), 200)
    assert re.search(r"^all .* mixed \[1\] +-", text, re.M)
    assert re.search(r"\[1\] +mixed: the ratio has 45 of 60 rounds near \S+x, 15 near \S+x", text)


# statistics ---------------------------------------------------------------------------------------

@pytest.mark.parametrize("rounds, paired", [
    (1023, True), (1024, True), (5000, True), (1500, False)])
def test_many_rounds_neither_overflow_nor_need_much_memory(rounds, paired):
    chance = np.random.default_rng(4)
    new, base = np.exp(chance.normal(0.05, 0.1, rounds)), np.exp(chance.normal(0, 0.1, rounds))
    tracemalloc.start()
    found = stats.ratio_make(new, base, paired).estimate()
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert found.interval.low < found.value < found.interval.high and found.interval.contains(1.051)
    assert found.p < 1e-6 and most < 20e6


def test_the_mde_of_a_comparison_has_the_confidence_of_the_family():
    matrix = matrix_identical(normal, 1, 11, 20, 5)
    comparisons = compare_baseline(matrix, [TIME])
    rows = [row for row in csv.DictReader(io.StringIO(compared_rendered("csv", comparisons)))
            if row["detectable"]]
    judged = [one.rows[0].changes[METRIC].judged for one in comparisons]
    assert len(rows) >= 8 and judged[0].family.alpha == pytest.approx(stats.ALPHA / 10)
    for row, one in zip(rows, (one for one in judged if one.detectable), strict=True):
        assert float(row["confidence"]) == pytest.approx(0.995)
        assert float(row["detectable"]) == pytest.approx(stats.smallest_detectable(
            one.contrast.ratio, one.family.alpha))
        assert float(row["detectable"]) > stats.smallest_detectable(one.contrast.ratio)


def test_one_zero_among_60_rounds_is_named_and_counted():
    first = 1e-5 * normal(np.random.default_rng(6), (1, 2, 60))
    first[0, 1, 17] = 0
    matrix = matrix_simulated(first, first[:, 0])
    layout = Layout(matrix.axes, (), (METRIC,))
    for text in (compared_text(compare_baseline(matrix, [TIME]), 200),
                 table_text(summary_build(matrix, (METRIC,)), layout, 200)):
        assert " zero [1]" in text and "no ratio: 0 of the row in 1 of 60 rounds" in text
    assert "0 in some round" in gate_text(matrix, f"{METRIC} > +3%")


def test_the_interval_of_four_sessions_contains_what_they_differ_by():
    outside = plain = 0
    for seed in range(RESULTS // 5):
        matrix = matrix_sessions(2, 4, 10, 0.03, 0.01, seed)
        contrast = judged_of(matrix).contrast
        assert contrast.sessions == 4 and contrast.ratio.spread
        outside += not contrast.ratio.interval().contains(1)
        plain += not replace(contrast.ratio, spread=None).interval().contains(1)
    assert outside <= 0.08 * RESULTS / 5 < plain


def test_six_sessions_are_the_units():
    contrast = judged_of(matrix_sessions(2, 6, 10, 0.03, 0.01, 1)).contrast
    assert contrast.ratio.pairs == 6 and contrast.ratio.spread is None


# A/A and unexpected connections -------------------------------------------------------------------

def test_where_a_baseline_differs_from_itself_nothing_is_claimed():
    first = 1e-5 * normal(np.random.default_rng(8), (1, 3, 20)) * [[[1.0], [0.5], [2.0]]]
    matrix = matrix_simulated(first, 1.1 * first[:, 0])
    summary, comparisons = summary_build(matrix, (METRIC,)), compare_baseline(matrix, [TIME])
    assert table_rendered("csv", summary).count(",incomparable\n") == 2
    assert compared_rendered("csv", comparisons).count(",incomparable,") >= 2
    assert re.search(r"^all .* A/A \[1\] +-", compared_text(comparisons, 200), re.M)
    assert gates_of(matrix, f"{METRIC} > +3%").status == 3
    (optimum,) = optima_build(matrix, "write", TIME)
    assert set(optimum.marks.values()) - {"*"} == {UNKNOWN} and not optimum.better
    asked = scenario_with(matrix, answers=(Question("Which?", "write", METRIC),))
    ((_, text),) = answers_pairs(answers_decide(asked))
    assert "No difference between w1 and w0 is claimed" in text


def test_a_change_smaller_than_the_aa_interval_can_be_claimed():
    chance = np.random.default_rng(9)
    first = 1e-5 * np.exp(chance.normal(0, 0.005, (1, 2, 20))) * [[[1.0], [0.97]]]
    matrix = matrix_simulated(first, first[:, 0] * np.exp(chance.normal(0, 0.3, (1, 20))))
    cell = list(matrix.cells.values())[1]
    assert same_reach(matrix, cell, METRIC) > 1.05
    assert judged_of(matrix).verdict is Verdict.CHANGED


def test_unexpected_connections_are_noted_everywhere_and_claim_nothing(tmp_path):
    def disturb(record):
        if record["run"]["round"] == 3 and record["words"]["write"] == "cork":
            record["server"]["strangers"] = 2
    quiet = truth_write("quiet", Truth({"write=cork": 0.5}, sweep=WRITES), tmp_path)
    folder = changed(quiet, tmp_path / "loud", disturb)
    for command in (["table"], ["compare", *PAIR], ["paste", *PAIR], ["show", "write=cork"]):
        assert "unexpected connections" not in uncork(command[0], quiet, *command[1:]).stdout
        text = " ".join(uncork(command[0], folder, *command[1:]).stdout.split())
        assert "unexpected connections" in text, text
    assert " disturbed " in uncork("compare", folder, *PAIR).stdout
    (comparison,) = json.loads(uncork("compare", folder, *PAIR, "--json").stdout)["comparisons"]
    (row,) = comparison["rows"]
    assert row["changes"][METRIC]["verdict"] == "disturbed"
    table = json.loads(uncork("table", folder, "--json").stdout)
    assert "disturbed" in json.dumps(table)
    gate = ("--fail-if", "time_per_message > +3%")
    assert uncork("compare", quiet, *PAIR, *gate).returncode == 0
    assert uncork("compare", folder, *PAIR, *gate).returncode == 3


# answers and columns ------------------------------------------------------------------------------

def test_the_word_that_matters_most_is_answered_first(tmp_path):
    truth = Truth({"sndbuf=8K": 700, "nodelay=off": 1.1})
    recipe = Recipe("sweep", {"workload": "request", "message": "15x2", "reply": "2",
                               "write": "coalesce"},
                    {"nodelay": ["off", "on"], "sndbuf": ["8K", "default"]},
                    10, "nodelay=off",
                    lambda words, number, chance: record_make(truth, words, number, chance))
    text = uncork("table", sessions_write(recipe, tmp_path, 1)).stdout
    asked = re.findall(r"Which (\w+) is best by time_per_message\?", text)
    assert asked == ["sndbuf", "nodelay"], text


def test_a_column_of_changes_has_one_unit():
    first = 1e-5 * normal(np.random.default_rng(10), (2, 2, 12))
    first[:, 1] *= [[1.2], [9.0]]
    matrix = matrix_simulated(first, first[:, 0])
    for wide, unit in ((matrix, "x"), (matrix_simulated(first[:1], first[:1, 0]), "%")):
        rows = list(table_rows(compared_rendered("md", compare_baseline(wide, [TIME]))))
        changes = [row["change"] for row in rows]
        assert changes and all(change.endswith(unit) for change in changes), changes
        assert all(f"{unit}, " in row["95% CI"] for row in rows)
