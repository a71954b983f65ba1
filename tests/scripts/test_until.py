# SPDX-License-Identifier: MIT
"""until=: rounds are added until intervals are narrow, whatever kills come between; --quick does
the opposite."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from answers import NODELAY, matrix_of
from conftest import Uncork, keys_of, only_folder, records_of
from suite import stats
from suite.base.client import Client, Vocabulary
from suite.base.errors import UsageError
from suite.decide.precision import precision_measure, width_of
from suite.measure.plan import plan_make
from suite.measure.resume import Start, plan_continued, rounds_added
from suite.measure.words import QUICK, Word, quick_apply
from suite.observe.frame import Matrix
from suite.observe.load import stored_runs
from suite.observe.metrics import METRICS
from suite.places.targets import Targets
from suite.present.heading import machine_pairs
from suite.result import files
from suite.result.plan import Plan, WordChange, quick_text
from suite.scenario.scenario import Scenario, TableLayout, scenario_load
from test_resume import assert_complete, killed, plan_change, plan_read
from test_run import SHORT

TIME = METRICS["time_per_message"]
# which no interval of a time is: so 10 rounds
NARROW = ("run", "place=free", "rounds=1", "until=0.01%", *SHORT)
RUNS = 2 * 11


def asked(until: str, columns: tuple[str, ...] = ()) -> Matrix:
    """The stored result as if it had been measured with until=, and had this table."""
    matrix = matrix_of(NODELAY)
    scenario = replace(matrix.result.scenario, table=TableLayout(columns=columns))
    result = replace(matrix.result, scenario=scenario,
                     plan=replace(matrix.result.plan, until=until))
    return replace(matrix, result=result)


def test_the_width_is_that_of_the_farther_end_of_a_95_percent_interval() -> None:
    assert width_of([9, 10, 10, 10, 11, 13], False) == pytest.approx(0.3)
    assert width_of([10, 10], False) == math.inf  # two rounds have no interval
    assert width_of([15, 15], True) == 0  # a count that is exact needs none
    assert width_of([0, 0, 0, 0, 0, 1], False) == math.inf
    assert width_of([0] * 6, False) == 0


def test_cells_that_missed_are_those_that_the_table_shows_wider_than_asked() -> None:
    matrix = asked("2%")
    precision = precision_measure(matrix)
    assert precision is not None
    widths = {}
    for cell in matrix.cells:
        values = matrix.series(cell, TIME.name).values.tolist()
        widths[cell] = stats.relative_width(stats.median(values), stats.median_interval(values))
    assert [cell.name for cell, _ in precision.wide] == sorted(
        (cell for cell, width in widths.items() if width > 0.02), key=lambda cell: -widths[cell])
    assert 0 < len(precision.wide) < 12
    assert precision.text.startswith(
        f"2% of time_per_message, missed by {len(precision.wide)} of 12 cells: place=")
    assert ("until", precision.text) in machine_pairs(matrix)


def test_a_metric_that_is_exact_holds_nothing_up_and_without_until_nothing_is_asked() -> None:
    exact = precision_measure(asked("0.01%", ("write", "sends_per_message", "time_per_message")))
    assert exact is not None and not exact.wide
    assert exact.text == "0.01% of sends_per_message, and every interval is that narrow"
    assert precision_measure(matrix_of(NODELAY)) is None


def test_a_cell_that_fails_more_often_than_not_is_not_waited_for() -> None:
    matrix = asked("0.01%")
    name, cell = next(iter(matrix.cells.items()))
    failing = replace(matrix,
                      cells=dict(matrix.cells) | {name: replace(cell, runs_failed=cell.runs_ok)})
    assert {cell.name for cell, _ in precision_measure(matrix).wide} \
        - {cell.name for cell, _ in precision_measure(failing).wide} == {name}


def test_many_cells_that_missed_are_counted_and_only_the_widest_named() -> None:
    text = precision_measure(asked("0.01%")).text
    assert text.count("%") == 1 + 8 and text.endswith(" and 4 more")


def test_rounds_are_added_by_tenths_up_to_ten_times_as_many() -> None:
    plan = Plan("x", (), (), rounds=10, seed=1, until="1%")
    assert plan.rounds_max == 100 and replace(plan, until=None).rounds_max == 10
    done, looks = 10, 0
    while done < 100:
        done, looks = done + rounds_added(done, 100), looks + 1
    assert (done, looks) == (100, 29)
    assert rounds_added(1, 10) == 1


def cut(folder: Path, rounds: int) -> None:
    """The folder as a kill left it when that round was over and no other had been asked for."""
    plan_change(folder, lambda plan: plan["sessions"][0].update(rounds=[1, rounds]))
    lines = (folder / "records.jsonl").read_text().splitlines(keepends=True)
    (folder / "records.jsonl").write_text("".join(lines[:2 * (rounds + 1)]))


def test_a_run_that_is_killed_within_added_rounds_or_between_two_comes_to_as_many(
        uncork: Uncork) -> None:
    folder = killed(uncork, *NARROW, after=7)
    assert plan_read(folder)["sessions"][0]["rounds"][1] >= 3
    assert killed(uncork, *NARROW, after=12) == folder and 12 <= len(records_of(folder)) < RUNS
    cut(folder, 4)
    before = records_of(folder)
    plan = files.plan_read(folder)
    start = Start(plan, plan.session.boots, True, lambda _: True, stored_runs)
    with pytest.raises(UsageError,
                       match="rounds left that until=0.01% adds: finish it without --more first"):
        plan_continued(start, folder, plan)
    done = uncork.run(*NARROW)
    assert done.returncode == 0 and only_folder(uncork) == folder
    assert plan_read(folder)["sessions"][0]["rounds"] == [1, 10] and len(keys_of(folder)) == RUNS
    assert_complete(folder)
    assert records_of(folder)[:10] == before
    assert "at least 10 runs (10 of 10 runs done)" in done.stderr
    assert "round 6 of 6, until=0.01%: 2 of at least 4 runs done, at least " in done.stderr
    assert ("round 10 was the last: until=0.01% of time_per_message, missed by 1 of 1 cell: the "
            "only cell ") in done.stderr
    assert "until                 0.01% of time_per_message, missed by 1 of 1 cell" in done.stdout
    assert 'until = "0.01%"' in (folder / "scenario.toml").read_text()


def test_what_is_exact_and_what_fails_is_waited_for_in_no_run(misbehave: Callable[[str], Uncork],
                                                              tmp_path: Path) -> None:
    scene = tmp_path / "scene.toml"
    scene.write_text(
        '[sweep]\nwrite = ["nodelay", "cork"]\n[fixed]\nplace = "free"\nduration = "20ms"\nwarmup '
        '= "0s"\n'
        '[run]\nrounds = 2\nuntil = "0.01%"\n[table]\ncolumns = '
        '["sends_per_message"]\n'
    )
    uncork = misbehave('read -r line; case $line in *cork*) exit 1;; esac\n'
                       'echo "$line" > "$STATE/line"; exec "$REAL" --batch "$STATE/line" '
                       '--with-parent')
    done = uncork.run("run", str(scene))
    assert done.returncode == 1 and "3 of 3 of place=free" in done.stderr
    assert ("round 2 was the last: until=0.01% of sends_per_message, and every interval is that "
            "narrow") in done.stderr
    assert plan_read(only_folder(uncork))["sessions"][0]["rounds"] == [1, 2]


def test_n_says_how_many_rounds_there_are_at_least_and_at_most(uncork: Uncork) -> None:
    text = uncork.run("run", "-n", "place=free", "until=1%", "rounds=6").stdout
    assert ("at least 6 rounds (until=1%: at most 60) and a warm-up round: at least 14 runs, at "
            "least 0:" in text)


GIVEN = {"rounds": "12", "duration": "2s", "warmup": "200ms"}


def quick_changes(given: dict[str, str], typed: dict[str, str]) -> dict[str, WordChange]:
    """What a quick look changes of these words of a scenario and of the shell."""
    vocabulary = Vocabulary({}, {key: {"default": value} for key, value in GIVEN.items()})
    words = {key: Word(key, value, typed=key in typed, values=(value,))
             for key, value in (given | typed).items()}
    return quick_apply(words, vocabulary)[1]


def test_a_quick_look_shortens_and_never_lengthens() -> None:
    for given in ({}, GIVEN):
        changes = quick_changes(given, {})
        assert {key: change["is"] for key, change in changes.items()} == QUICK
    assert quick_changes({"rounds": "3", "duration": "50ms", "warmup": "0s"}, {}) == {}
    assert quick_changes({"rounds": "10", "duration": "100000us", "warmup": "50ms"}, {}) == {}
    assert list(quick_changes(GIVEN | {"bytes": "1G"}, {})) == ["rounds", "warmup"]
    assert list(quick_changes(GIVEN | {"workload": "command"}, {})) == ["rounds"]
    assert quick_text(quick_changes(GIVEN | {"until": "1%", "warmup": "0s"}, {})) \
        == "a first look: rounds=10 in place of 12, duration=100ms in place of 2s, without until=1%"


@pytest.mark.parametrize("typed",
                         [("rounds", "11"), ("duration", "1s"), ("warmup", "51ms"),
                          ("until", "50%")])
def test_a_quick_look_is_refused_together_with_words_that_ask_for_more(
        typed: tuple[str, str]) -> None:
    with pytest.raises(UsageError,
                       match=f"--quick and {typed[0]}={typed[1]} contradict each other"):
        quick_changes(GIVEN, dict([typed]))


def quick_of(binaries: Client, scenario: Scenario, *words: str) -> Any:
    return plan_make(Targets(binaries), scenario, None, words, quick=True)


def test_a_quick_plan_says_what_it_changed_and_is_a_plan_of_its_own(binaries: Client) -> None:
    scene = Scenario("scene", fixed={"place": "free", "duration": "1s"},
                     run={"rounds": "20", "until": "1%"})
    planned = quick_of(binaries, scene, "write=nodelay,cork")
    plan = planned.plan
    assert (plan.rounds, plan.until) == (10, None)
    assert plan.cells[0].name == "place=free duration=100ms write=nodelay warmup=50ms"
    assert planned.scenario.run == {"warmup": "50ms", "rounds": "10", "baseline": "write=nodelay"}
    assert planned.notes == (
        "--quick: a first look: rounds=10 in place of 20, duration=100ms in place of 1s, "
        "warmup=50ms in place of 200ms, without until=1%",
    )
    with pytest.raises(UsageError, match="several values"):
        quick_of(binaries, scene, "duration=1s,2s")
    with pytest.raises(UsageError, match="--quick and until=2% contradict"):
        quick_of(binaries, scene, "until=2%")
    assert quick_of(binaries, Scenario("words"), "messages=10",
                    "rounds=2").plan.cells[0].name == "messages=10 warmup=50ms"


def test_a_quick_run_says_so_in_its_heading_and_in_its_plan(uncork: Uncork) -> None:
    done = uncork.run("run", "place=free", "--quick", "rounds=1", "duration=20ms")
    assert done.returncode == 0
    assert "uncork: --quick: a first look: warmup=50ms in place of 200ms" in done.stderr
    assert "quick                 a first look: warmup=50ms in place of 200ms" in done.stdout
    folder = only_folder(uncork)
    assert json.loads((folder / "plan.json").read_text())["quick"] == {
        "warmup": {"was": "200ms", "is": "50ms"}
    }
    assert scenario_load(folder / "scenario.toml").run["warmup"] == "50ms"


@pytest.mark.parametrize("words, says", [
    (["until=0%"], "0.01% to 50%"), (["until=1"], "is not a valid percent"),
    (["until=1%,2%"], "one value")])
def test_a_wrong_until_is_refused(binaries: Client, words: list[str], says: str) -> None:
    with pytest.raises(UsageError, match=says):
        plan_make(Targets(binaries), Scenario("words"), None, words)
