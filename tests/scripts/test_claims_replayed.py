# SPDX-License-Identifier: MIT
"""Claims that others published: their files, the comparison by `~`, every verdict."""

from __future__ import annotations

import csv
import os
import re
import shutil
from collections import defaultdict
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from answers import NODELAY, ROOT, emulated, matrix_of
from simulated import lognormal, matrix_simulated, normal
from suite.base.errors import UsageError
from suite.decide.claims import NEAR, Decision, band_of
from suite.decide.expressions import Operation, claim_parse, evaluate, references_of
from suite.decide.replays import (
    CANNOT_RUN,
    VERDICTS,
    Row,
    System,
    count_verdict,
    replay_load,
    replays_status,
    rows_decide,
    rows_of,
    systems_differences,
    systems_read,
    verdicts_join,
    verdicts_of,
)
from suite.observe.frame import Matrix, matrix_build
from suite.observe.metrics import METRICS
from suite.present.claims import (
    agreement_text,
    explained_text,
    measured_text,
    rows_frame,
    system_text,
    systems_named,
)
from suite.scenario.scenario import Claim, Origin, Published, Scenario, scenario_load, scenario_text

CLAIMS = ROOT / "claims"
FILES = sorted(CLAIMS.glob("*.toml"))
ORIGIN = Origin("a title", "somebody", "a commit", "first hand", date="2020", kernel="5.0")
RATIO = "time_per_message(write=w1) / time_per_message(write=w0)"
UNITS = {  # a unit that was printed: that of the metric, and how many of it
    "ns": ("s", 1e-9), "us": ("s", 1e-6), "us (about)": ("s", 1e-6), "ms": ("s", 1e-3),
    "ms (about)": ("s", 1e-3), "s": ("s", 1), "s (about)": ("s", 1),
    "s (nearly 4 minutes)": ("s", 1), "usec per MB": ("s", 1e-6), "percent of a CPU": ("s", 0.01),
    "GiB/s": ("bit/s", 8 * 2**30), "MB/s": ("bit/s", 8e6), "GB/s": ("bit/s", 8e9),
    "Mbit/s": ("bit/s", 1e6), "Gbit/s": ("bit/s", 1e9), "Gbit/s (about)": ("bit/s", 1e9),
    "as printed: GB/sec": ("bit/s", 1e9), "super_netperf sum": ("bit/s", 1e6),
    "MB": ("bit/s", 8e6), "IOPS": ("1/s", 1), "req/s": ("1/s", 1), "per s": ("1/s", 1),
    "msg/s": ("1/s", 1), "count": ("1", 1),
}
HEAD = """
[origin]
title = "Fifteen writes"
who = "somebody"
date = "2020-01-01"
reference = "a page"
read = "second hand"
kernel = "5.0"
"""


def result_of(factor: float, *claims: Claim, noise=normal, rounds: int = 12,
              **origin: str) -> Matrix:
    """A result of two cells, of which w1 takes so many times as long, with these claims. The
    program of the origin ran in both."""
    chance = np.random.default_rng(7)
    first = 1e-5 * noise(chance, (1, 2, rounds))
    first[:, 1] *= factor
    matrix = matrix_simulated(first, 1e-5 * noise(chance, (1, rounds)))
    return claimed(served_by(matrix, "nbdkit"), *claims, **origin)


def served_by(matrix: Matrix, subject: str, write: str = "") -> Matrix:
    """The same result with this server in each cell, or in the cells with this value of write."""
    plan = matrix.result.plan
    cells = tuple(replace(cell, words={**cell.words, "subject": subject})
                  if write in ("", cell.words["write"]) else cell for cell in plan.cells)
    return matrix_build(replace(matrix.result, plan=replace(plan, cells=cells)))


def claimed(matrix: Matrix, *claims: Claim, **origin: str) -> Matrix:
    """The same result with claims that were published."""
    scenario = replace(matrix.result.scenario, claims=claims, origin=replace(ORIGIN, **origin))
    return matrix_build(replace(matrix.result, scenario=scenario))


def rows_decided(matrix: Matrix) -> list[Row]:
    return [row for *_, row in rows_decide(matrix)]


def verdict(matrix: Matrix) -> str:
    [row] = rows_decided(matrix)
    assert row["verdict"] in VERDICTS
    return row["verdict"]


@pytest.mark.parametrize(("text", "band"), [
    ("time ~ 1.87", (1.87 / 1.5, 1.87 * 1.5)), ("time ~ 1.87 within 2", (1.1, 1.87 * 2)),
    ("time ~ 0.5 within 4", (0.125, 1 / 1.1)), ("time ~ 1.3", (1.1, 1.3 * 1.5)),
    ("time ~ 1.13", (1.13 ** 0.5, 1.13 * 1.5)), ("time ~ 0.9", (0.6, 0.9 ** 0.5)),
    ("time ~ 1.03 within 1.1", (1.03 / 1.1, 1.03 * 1.1)), ("time ~ 1.03", None),
    ("time ~ 0.95", None),
])
def test_a_number_has_a_band_that_ends_near_no_change_unless_it_claims_none(text, band):
    assert band_of(claim_parse(text)) == (band and pytest.approx(band))


@pytest.mark.parametrize(("factor", "that", "expected"), [
    (1.87, "~ 1.87", "reproduced"), (2.7, "~ 1.87", "reproduced"),
    (4, "~ 1.87", "direction only"), (1.2, "~ 1.87", "direction only"),
    (0.5, "~ 1.87", "contradicted"), (1, "~ 1.87", "contradicted"),
    (1.03, "~ 1.87", "contradicted"), (1.1, "~ 1.87", "undecided"),
    (1.03, "~ 1.13", "contradicted"), (0.92, "~ 0.5", "undecided"), (0.96, "~ 0.5", "contradicted"),
    (0.5, "~ 0.6", "reproduced"), (0.2, "~ 0.6", "direction only"), (1.5, "~ 0.6", "contradicted"),
    (1, "~ 1.03 within 1.1", "reproduced"), (1.5, "~ 1.03 within 1.1", "contradicted"),
    (1, "~ 1.03", "undecided"), (1, "~ 1.2", "contradicted"),
])
def test_a_ratio_is_judged_by_its_band_and_by_its_side_of_1(factor, that, expected):
    assert verdict(result_of(factor, Claim("it is so", f"{RATIO} {that}", "ratio"))) == expected


@pytest.mark.parametrize(("evidence", "explained"), [
    (f"{RATIO} > 0.4", "the other is slower: 0.495 [0.482, 0.506]"), (f"{RATIO} > 1", ""),
    ("", "")])
def test_a_verdict_that_differs_is_explained_where_the_result_shows_why(evidence, explained):
    claim = Claim("it is so", f"{RATIO} ~ 1.87", "ratio", "the other is slower", evidence)
    [row] = rows_decided(result_of(0.5, claim))
    assert row["verdict"] == "contradicted" and explained_text(row) == explained
    [same] = rows_decided(result_of(1.87, replace(claim, evidence=f"{RATIO} > 1")))
    assert (same["verdict"], same["explained"]) == ("reproduced", [])


def test_a_stall_is_also_known_where_the_cpu_is_emulated_and_a_time_is_not(tmp_path):
    folder = Path(shutil.copytree(NODELAY, tmp_path / "idle"))  # its ends compute half of the time
    text = (folder / "records.jsonl").read_text()
    (folder / "records.jsonl").write_text(re.sub(
        r'"(user|system)_ns":(\d+)', lambda found: f'"{found[1]}_ns":{int(found[2]) // 50}', text))
    claims = (Claim("it waits", "stall_per_message(write=nagle place=apart) >= 35ms", "stall"),
              Claim("it takes long", "time_per_message(write=nagle place=apart) >= 35ms", "stall"))
    waits, times = rows_decided(emulated(claimed(matrix_of(folder), *claims)))
    assert (waits["verdict"], times["verdict"]) == ("reproduced", "cannot run here")


@pytest.mark.parametrize(("factor", "that", "rounds", "expected"), [
    (2, f"{RATIO} > 1", 12, "reproduced"), (0.5, f"{RATIO} > 1", 12, "contradicted"),
    (1, f"{RATIO} > 1", 12, "undecided"), (1.87, f"{RATIO} ~ 1.87", 3, "undecided"),
    (2, "time_per_message(write=w1) >= 35ms", 12, "contradicted"),
    (2, "time_per_message(write=w1) >= 5us", 12, "reproduced"),
    (2, "time_per_message(write=w1) >= 5us", 4, "undecided"),
])
def test_a_direction_and_a_floor_need_the_whole_interval_on_their_side(
        factor, that, rounds, expected):
    kind = {">": "direction", "~": "ratio", ">=": "stall"}[that.split()[-2]]
    assert verdict(result_of(factor, Claim("it is so", that, kind), rounds=rounds)) == expected


@pytest.mark.parametrize(("factor", "value"), [
    (1.9, "1.87"), (1.11, "9"),
    (1.004, "1 within 1.02"),  # that nothing changes is not asked how far it is from 1
])
def test_noisy_rounds_are_undecided_and_say_how_many_would_decide(factor, value):
    claim = Claim("it is so", f"{RATIO} ~ {value}", "ratio")
    [row] = rows_decided(result_of(factor, claim, noise=lognormal))
    assert row["verdict"] == "undecided" and 0 < row["places"][0]["needed"] < 1000


@pytest.mark.parametrize(("factor", "that", "origin", "expected"), [
    (1.87, "~ 1.87", {"fidelity": "in kind"}, "direction only"),
    (0.5, "~ 1.87", {"fidelity": "in kind"}, "not seen here"),
    (1.5, "~ 1.01 within 1.1", {"fidelity": "in kind"}, "not seen here"),
    (1.5, "~ 1.01 within 1.1", {}, "contradicted"),
    (1, "~ 1.87", {"needs": "a real-time thread beside it"}, "cannot decide here"),
    (1.87, "~ 1.87", {"needs": "a real-time thread beside it"}, "reproduced"),
])
def test_a_whole_program_that_did_not_run_and_load_that_is_not_there_limit_the_verdict(
        factor, that, origin, expected):
    claim = Claim("it is so", f"{RATIO} {that}", "ratio")
    assert verdict(result_of(factor, claim, **origin)) == expected


@pytest.mark.parametrize(("that", "kind"), [
    (f"{RATIO} ~ 1.87", "ratio"), (f"{RATIO} ~ 1 within 1.1", "ratio"),
    (f"{RATIO} > 1", "direction"), (f"{RATIO} < 0.4", "direction"),
    ("time_per_message(write=w1) >= 35ms", "stall")])
def test_only_a_run_of_the_program_of_the_origin_contradicts_a_claim(that, kind):
    ran = result_of(0.5, Claim("it is so", that, kind))
    assert verdict(ran) == "contradicted"
    for subject, write in (("own", ""), ("own", "w0")):
        expected = "contradicted" if kind == "stall" and write else "not seen here"
        assert verdict(served_by(ran, subject, write)) == expected


@pytest.mark.parametrize(("that", "expected"), [
    ("segments_per_message(write=nodelay place=apart) == 15", "reproduced"),
    ("segments_per_message(write=nodelay place=apart) == 14", "contradicted"),
    ("segments_per_message(write=nodelay) == 15", "reproduced"),
    ("segments_per_message(write=zerocopy) == 15", "undecided"),
    # 2.05 segments, of which a loss probe may be some
    ("segments_per_message(write=nagle place=apart) == 2", "undecided"),
    ("segments_per_message(write=nagle place=apart) == 15", "contradicted"),
    # of calls a program decides, and not the protocol
    ("sends_per_message(write=nodelay place=apart) == 14", "not seen here"),
])
def test_a_count_travels_and_is_exact(that, expected):
    matrix = claimed(matrix_of(NODELAY), Claim("so many", that, "count"), fidelity="in kind")
    assert verdict(matrix) == expected


@pytest.mark.parametrize(("that", "span", "outcome", "expected"), [
    ("segments_per_reply == 2", (2, 2, 2.004), "undecided", "reproduced"),
    ("segments_per_reply == 0.25", (0.25, 0.25, 0.251), "not ok", "reproduced"),
    ("segments_per_reply == 2", (2, 1.99, 2.004), "undecided", "undecided"),
    ("segments_per_reply == 2", (2.01, 2, 2.05), "not ok", "undecided"),
    ("segments_per_reply == 2", (2.1, 2.03, 2.2), "not ok", "contradicted"),
    ("segments_per_reply == 2", (1, 1, 1.001), "not ok", "contradicted"),
    ("segments_per_reply == 2", (2.002, 2.002, 2.002), "not ok", "reproduced"),
    ("segments_per_message == 2", (2, 2, 2.004), "undecided", "undecided"),
    ("segments_per_reply == 2", (), "undecided", "undecided"),
    ("records_per_reply == 2", (2, 2, 2.004), "undecided", "undecided"),
    ("records_per_reply == 2", (2.002, 2, 2.004), "not ok", "contradicted"),
])
def test_only_segments_that_a_subject_sent_may_be_a_few_more(that, span, outcome, expected):
    decided = Decision(outcome=outcome, span=span, foreign=True)
    assert count_verdict(claim_parse(that), decided) == expected
    if expected == "reproduced":  # uncork's own ends subtract retransmissions
        assert count_verdict(claim_parse(that), replace(decided, foreign=False)) != "reproduced"


@pytest.mark.parametrize(("verdicts", "joined"), [
    (["reproduced", "reproduced"], "reproduced"), (["reproduced", "direction only"],
                                                   "direction only"),
    (["reproduced", "contradicted"], "depends on place"),
    (["direction only", "not seen here"], "depends on place"),
    (["not seen here", "undecided"], "undecided"),
    (["not seen here", "not seen here"], "not seen here"),
    (["direction only", "contradicted", "undecided"], "depends on place"),
    (["contradicted", "undecided"], "undecided"), (["contradicted", "contradicted"],
                                                   "contradicted"),
    (["reproduced", "cannot run here"], "reproduced"),
    (["reproduced", "cannot decide here"], "cannot decide here"),
    (["cannot run here", "cannot run here"], "cannot run here"),
])
def test_places_are_decided_one_by_one(verdicts, joined):
    assert verdicts_join(verdicts) == joined


def test_a_claim_that_differs_by_place_says_what_each_place_showed():
    # in the stored result only the writes of one place are that slow
    matrix = matrix_of(NODELAY)
    medians = [float(np.median(matrix.series(cell.name, "time_per_message").values))
               for place in ("together", "apart") for cell in matrix.cells.values()
               if cell.axes == {"place": place, "write": "nodelay"}]
    between = sum(medians) / 2
    [row] = rows_decided(claimed(matrix, Claim(
        "slow", f"time_per_message(write=nodelay) > {between:.9f}", "direction")))
    assert row["verdict"] == "depends on place"
    assert [one["place"] for one in row["places"]] == ["together", "apart"]
    measured = measured_text(row)
    assert measured.startswith("together ") and "; apart " in measured


@pytest.mark.parametrize(("verdicts", "status"), [
    (["reproduced", "direction only", "depends on place"], 0),
    (["reproduced", "contradicted", "undecided"], 1), (["reproduced", "undecided"], 3),
    (["reproduced", "not seen here"], 3), (["reproduced", "cannot decide here"], 3),
    (["reproduced", "cannot run here"], 3), (["cannot run here"], 4), ([], 4),
])
def test_the_exit_status(verdicts, status):
    assert replays_status(verdicts) == status


# ---- the files ----


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_file_has_an_origin_and_kinds_and_is_the_same_when_it_is_written_again(path, tmp_path):
    scenario = replay_load(path)
    again = tmp_path / path.name
    again.write_text(scenario_text(scenario))
    assert scenario_load(again) == scenario
    for other in scenario.disputes:
        assert path.stem in scenario_load(CLAIMS / f"{other}.toml").disputes and other != path.stem


def test_so_many_files_run_a_real_program_or_explain_another_verdict():
    scenarios = [scenario_load(path) for path in FILES]
    assert len(scenarios) >= 61
    assert sum("subject" in scenario.fixed for scenario in scenarios) >= 17
    assert sum(any(claim.because for claim in scenario.claims) for scenario in scenarios) >= 26


def is_relative(figure: Published) -> bool:
    """Whether a figure is a ratio to the figure of other words."""
    return figure.unit.startswith(("percent", "ratio")) and figure.unit not in UNITS


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_published_figures_are_those_of_their_file_in_the_unit_of_their_metric(path):
    for figure in scenario_load(path).published:
        name, _, row = figure.source.partition(":")
        with (CLAIMS / "published" / name).open(newline="") as file:
            rows = {f"{line['case']}: {line['metric']}": line for line in csv.DictReader(file)}
        assert figure.unit == rows[row]["unit"]
        number = float(rows[row]["value"])
        if is_relative(figure):
            value = 1 + number / 100 if figure.unit.startswith("percent") else number
        else:
            unit, times = UNITS[figure.unit]
            value = number * times
            assert METRICS[figure.metric].unit == unit, figure
        assert figure.value == pytest.approx(value), figure


def ratios_published(scenario: Scenario, claim: Operation) -> list[float]:
    """The ratios of published figures for the two cells of a claim, by the metric of the claim
    where that was published. Of several sets the mean counts."""
    sides = [(one.metric, frozenset(one.words.split())) for one in references_of(claim.left)]
    found = defaultdict(list)
    for figure in scenario.published:
        key = figure.metric, frozenset(figure.words.split()), is_relative(figure)
        found[key].append(figure.value)
    ratios = {}
    for metric in {figure.metric for figure in scenario.published}:
        for relative in (False, True):
            values = [found.get((metric, words, relative)) for _, words in sides]
            if all(values):
                ratios.setdefault(metric, []).append(np.mean(values[0]) / np.mean(values[1]))
            elif relative:
                ratios.setdefault(metric, []).extend(sum(filter(None, values), []))
    own = ratios.get(sides[0][0])
    return own or [ratio for each in ratios.values() for ratio in each]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_claimed_ratio_is_that_of_the_published_figures(path):
    scenario = scenario_load(path)
    for claim in scenario.claims:
        if claim.kind != "ratio":
            continue
        parsed = claim_parse(claim.that)
        ratios = ratios_published(scenario, parsed)
        value = evaluate(parsed.right, {})
        if 1 / NEAR < value < NEAR:  # it claims that nothing changes
            assert any(1 / parsed.within <= ratio <= parsed.within for ratio in ratios), claim
        else:
            assert any(value == pytest.approx(one, rel=0.03)
                       for ratio in ratios for one in (ratio, 1 / ratio)), (claim, ratios)


def test_every_file_of_figures_is_quoted():
    quoted = {figure.source.partition(":")[0] for path in FILES
              for figure in scenario_load(path).published}
    assert quoted == {path.name for path in (CLAIMS / "published").glob("*.csv")}


@pytest.mark.parametrize(("text", "said"), [
    ("[[claim]]\nsays = 'x'\nthat = 'time > 1'\nkind = 'direction'", "has an .origin. and"),
    (f"{HEAD}\n[[claim]]\nsays = 'x'\nthat = 'time > 1'", "it has no kind: count"),
    (f"{HEAD}\n[[claim]]\nsays = 'x'\nthat = 'time > 1'\nkind = 'ratio'", "compares by ~"),
    (f"{HEAD}\n[[claim]]\nsays = 'x'\nthat = 'time >= user'\nkind = 'stall'", "with a number"),
    (f"{HEAD}\n[[claim]]\nsays = 'x'\nthat = 'time > 1'\nkind = 'often'", 'kind cannot be "often"'),
    (f"{HEAD}\n[[claim]]\nsays = 'x'\nthat = 'time ~ 1'\nkind = 'ratio'", "ratio of two figures"),
    (f"{HEAD}\n[[claim]]\nsays = 'x'\nthat = 'time == 1'\nkind = 'count'", "metrics that count"),
    (f"{HEAD}\n[[claim]]\nsays = 'x'\nthat = 'bandwidth >= 1'\nkind = 'stall'", "a time"),
    (f"{HEAD}fidelity = 'whole'", 'fidelity cannot be "whole"'),
    (HEAD.replace("second hand", "somewhere"), 'read cannot be "somewhere"'),
])
def test_a_file_that_is_no_claim_says_what_is_missing(tmp_path, text, said):
    path = tmp_path / "claim.toml"
    path.write_text(text)
    with pytest.raises(UsageError, match=said):
        replay_load(path)


# ---- results of record ----

RECORDS = sorted((CLAIMS / "results").glob("*/*.json"))
PAGE = ROOT / "docs/claims.md"
MARKS = "<!-- verdicts -->\n", "<!-- end of verdicts -->\n"


def kernels_read() -> dict[str, list[System]]:
    """The systems of record by kernel, in the order of their files."""
    found: dict[str, list[System]] = {}
    for path in RECORDS:
        found.setdefault(path.parent.name, []).extend(systems_read(path))
    return found


def verdicts_table() -> str:
    """The verdicts of record: a table of runs, and one of claims with two columns a kernel. These
    have the first run in which the claim could run."""
    kernels = kernels_read()
    runs = [f"| run | system | {' | '.join(VERDICTS)} |",
            "| --- | --- |" + " ---: |" * len(VERDICTS)]
    for path in RECORDS:
        for system in systems_read(path):
            counts = [verdicts_of([system]).count(verdict) for verdict in VERDICTS]
            runs.append(f"| `{path.stem}` | {system_text(system)} | "
                        + " | ".join(map(str, counts)) + " |")
    everything = [system for systems in kernels.values() for system in systems]
    frame = rows_frame(systems_named(everything))
    rows = frame.drop_duplicates(["claim", "that"]).sort_values("kind", kind="stable")
    lines = ["", "| claim | says | claimed |" + "".join(
        f" Linux {kernel} | verdict |" for kernel in kernels),
        "| --- | --- | --- |" + " --- | --- |" * len(kernels)]
    for row in rows.to_dict("records"):
        name, line = row["claim"], f"| `{row['claim']}` | {row['says']} | {row['published']} |"
        for systems in kernels.values():
            ran = [one.row for one in rows_of(systems)
                   if (one.name, one.row["that"]) == (name, row["that"])]
            one = next((one for one in ran if one["verdict"] != CANNOT_RUN), next(iter(ran), None))
            why = explained_text(one) if one else ""
            line += (f" {measured_text(one)} | {one['verdict']}{': ' * bool(why)}{why} |" if one
                     else " | |")
        lines.append(" ".join(line.split()))
    return "\n".join(runs + lines) + "\n"


def test_the_page_shows_the_verdicts_of_record():
    text = PAGE.read_text()
    before, shown = text.split(MARKS[0])
    shown, after = shown.split(MARKS[1])
    table = f"\n{verdicts_table()}\n"
    if os.environ.get("UNCORK_GOLDEN") == "write":
        PAGE.write_text(before + MARKS[0] + table + MARKS[1] + after)
        shown = table
    assert RECORDS and shown == table, "UNCORK_GOLDEN=write writes them"


def test_the_runs_of_record_of_one_kernel_agree_on_every_verdict_that_they_have():
    several = [systems for systems in kernels_read().values() if len(systems) >= 3]
    assert several and all(
        "differ" not in agreement_text(rows_frame(systems_named(systems))) for systems in several)


@pytest.mark.parametrize("path", RECORDS, ids=lambda path: path.stem)
def test_a_result_of_record_is_of_the_claims_as_they_stand_and_is_what_its_archive_says(path):
    told = systems_read(path)
    for system in told:
        assert path.parent.name == system["machine"]["kernel"]
        for name, claim in system["claims"].items():
            assert {row["that"] for row in claim["rows"]} == {
                claim.that for claim in scenario_load(CLAIMS / f"{name}.toml").claims}
    assert systems_differences(told, systems_read(path.with_suffix(".tar.xz"))) == []


def test_a_report_differs_by_a_changed_figure_and_not_by_the_rounding_of_a_library():
    def scaled(value, factor):
        if isinstance(value, dict):
            return {key: scaled(one, factor) for key, one in value.items()}
        if isinstance(value, list):
            return [scaled(one, factor) for one in value]
        return value * factor if isinstance(value, float) else value

    told = systems_read(RECORDS[0])
    assert systems_differences(told, scaled(told, 1 + 1e-15)) == []
    assert any("places is" in line for line in systems_differences(told, scaled(told, 1 + 1e-6)))


def test_one_result_of_record_has_every_claim():
    assert {path.stem for path in FILES} in [
        system["claims"].keys() for path in RECORDS for system in systems_read(path)]
