# SPDX-License-Identifier: MIT
"""From words to cells, with the real client as the only source of words."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from conftest import ROOT
from suite.base.client import Client
from suite.base.errors import UsageError
from suite.measure.dry_run import deciding_lines
from suite.measure.plan import Planned, plan_make
from suite.measure.schedule import round_order
from suite.places.targets import Targets
from suite.result.plan import Plan, PlannedCell, baseline_default
from suite.scenario.scenario import Published, Scenario, scenario_load, scenario_text

SCENE = Scenario(
    "scene", fixed={"workload": "request", "message": "15x2", "reply": "2"},
    sweep={"place": ("together", "free"), "write": ("nodelay", "cork", "writev")},
    run={"rounds": "3", "duration": "0.2s"})


def plan_of(binaries: Client, *words: str, scenario: Scenario = Scenario("words")) -> Plan:
    return planned_of(binaries, *words, scenario=scenario).plan


def planned_of(binaries: Client, *words: str, scenario: Scenario = Scenario("words")) -> Planned:
    return plan_make(Targets(binaries), scenario,
                     Path("scene.toml") if scenario is SCENE else None, words)


def values_of(plan: Plan, key: str) -> list[str | None]:
    return [cell.given.get(key) for cell in plan.cells]


def refused(binaries: Client, *words: str, scenario: Scenario = Scenario("words")) -> str:
    with pytest.raises(UsageError) as error:
        plan_of(binaries, *words, scenario=scenario)
    assert "\n" not in str(error.value)
    return str(error.value)


def test_the_last_axis_varies_fastest(binaries: Client) -> None:
    plan = plan_of(binaries, scenario=SCENE)
    assert plan.axes == ("place", "write")
    assert values_of(plan, "place") == ["together"] * 3 + ["free"] * 3
    assert values_of(plan, "write") == ["nodelay", "cork", "writev"] * 2


def test_a_name_has_the_words_of_the_plan_and_can_be_run_by_hand(binaries: Client) -> None:
    cell = plan_of(binaries, scenario=SCENE).cells[0]
    assert cell.name == ("workload=request message=15x2 reply=2 place=together write=nodelay "
                         "duration=200ms")
    assert cell.given.items() <= cell.words.items()
    assert cell.words["transport"] == "tcp"


def test_published_figures_are_of_the_fixed_words_that_the_shell_has_changed(
        binaries: Client) -> None:
    scene = replace(SCENE, published=(Published("write=cork", "time_per_message", 1e-6,
                                                "a.csv:b"),))
    for words, published in ((["write=cork,nodelay", "rounds=6", "place=free"], "write=cork"),
                             (["message=64,15x2"], "write=cork message=15x2")):
        (figure,) = planned_of(binaries, *words, scenario=scene).scenario.published
        assert figure.words == published


FEW = ("{} can decide a single change in a table of {}; for the {} rows here it takes "
       "rounds=8").format


@pytest.mark.parametrize("words, lines", [
    (["rounds=6"], [FEW("6 rounds", "1 row", 4)]), (["rounds=7"], [FEW("7 rounds", "3 rows", 4)]),
    (["rounds=8"], []),
    (["rounds=1"], ["1 round can decide nothing; for the 4 rows here it takes rounds=8"]),
    (["write=cork", "place=free", "rounds=2"], []),
    (["write=nodelay,cork,more", "rounds=6"], [FEW("6 rounds", "1 row", 4)]),
])
def test_a_plan_says_how_many_rounds_can_decide_where_it_has_fewer(
        binaries: Client, words: list[str], lines: list[str]) -> None:
    plan = plan_of(binaries, *words, scenario=SCENE)
    assert deciding_lines(plan, plan.rounds) == lines


SHIPPED = [*(ROOT / "scenarios").glob("*.toml"), *(ROOT / "claims").glob("*.toml")]


@pytest.mark.parametrize("path", sorted(SHIPPED), ids=lambda path: path.stem)
def test_a_shipped_scenario_has_the_rounds_that_its_rows_need(path: Path, binaries: Client) -> None:
    plan = plan_make(Targets(binaries), scenario_load(path), path, []).plan
    assert deciding_lines(plan, plan.rounds) == []


def test_a_range_doubles_and_spellings_become_canonical(binaries: Client) -> None:
    plan = plan_of(binaries, "message=64..1024")
    assert values_of(plan, "message") == ["64", "128", "256", "512", "1K"]
    assert plan.axes == ("message",)


def test_a_word_of_the_shell_replaces_that_of_the_scenario(binaries: Client) -> None:
    plan = plan_of(binaries, "reply=1", "write=writev,cork", "rounds=7", scenario=SCENE)
    assert set(values_of(plan, "reply")) == {"1"}
    assert values_of(plan, "write") == ["writev", "cork"] * 2
    assert plan.rounds == 7


def test_an_axis_with_one_value_becomes_fixed(binaries: Client) -> None:
    planned = planned_of(binaries, "place=free", scenario=SCENE)
    assert planned.plan.axes == ("write",)
    assert planned.scenario.fixed["place"] == "free" and "place" not in planned.scenario.sweep


@pytest.mark.parametrize(("key", "values"), [("reply", "1 2"), ("duration", "10ms 20ms")])
def test_a_fixed_word_or_the_time_with_several_values_becomes_the_last_axis(
    binaries: Client, key: str, values: str,
) -> None:
    planned = planned_of(binaries, f"{key}={values.replace(' ', ',')}", scenario=SCENE)
    assert planned.plan.axes == ("place", "write", key)
    assert values_of(planned.plan, key)[:4] == values.split() * 2
    assert planned.plan.baseline == "write=nodelay" and key not in planned.scenario.run


@pytest.mark.parametrize("words, baseline", [
    (["write=nagle,nodelay,cork", "message=64,256"], "write=nodelay"),
    (["write=cork,writev", "message=64,256"], "write=cork"),
    (["reply=16+4K", "reply_write=cork,nodelay", "depth=1,4"], "reply_write=nodelay"),
    (["write=nodelay,cork", "reply=16+4K", "reply_write=cork,nodelay"], "reply_write=nodelay"),
    (["message=64,256", "depth=1,4"], "depth=1"),
])
def test_the_baseline_prefers_a_write_axis_and_in_it_nodelay(
        binaries: Client, words: list[str], baseline: str) -> None:
    assert plan_of(binaries, *words).baseline == baseline


def test_two_builds_or_targets_are_held_against_each_other() -> None:
    cells = [PlannedCell(f"{write} {target}", {}, {"write": write, "target": target})
             for write in ("nagle", "nodelay") for target in ("vng:old", "vng:new")]
    assert baseline_default(cells, ("write", "target")) == "target=vng:old"
    assert baseline_default(cells, ("target", "write")) == "write=nodelay"


@pytest.mark.parametrize(("words", "cells"), [
    ([], [True, False, False] * 2),  # the first value of the last axis
    (["baseline=write=cork place=free"], [False] * 4 + [True, False]),
    (["write=cork", "place=free"], [True]),  # a single cell is its own
])
def test_the_cells_of_the_baseline_are_marked_and_run_twice(
    binaries: Client, words: list[str], cells: list[bool],
) -> None:
    plan = plan_of(binaries, *words, scenario=SCENE)
    assert [cell.baseline for cell in plan.cells] == cells
    assert len(round_order(plan.runnable, 0, 1)) == len(cells) + sum(cells)


def test_a_baseline_that_no_cell_has_is_refused(binaries: Client) -> None:
    assert 'no cell has the words "write=more"' in refused(
        binaries, "baseline=write=more", scenario=SCENE)


def test_a_scenario_whose_baseline_the_shell_removed_takes_the_default(binaries: Client) -> None:
    scenario = scenario_load(ROOT / "scenarios" / "nodelay.toml")
    planned = planned_of(binaries, "rounds=20", "write=cork,more", scenario=scenario)
    plan = planned.plan
    assert plan.baseline == "write=cork"
    assert any("write=nodelay" in note for note in planned.notes)


def test_not_leaves_out_the_cells_that_match_all_its_words_and_may_be_repeated(
    binaries: Client,
) -> None:
    plan = plan_of(binaries, "not=write=cork,writev place=free", scenario=SCENE)
    assert values_of(plan, "write") == ["nodelay", "cork", "writev", "nodelay"]
    plan = plan_of(binaries, "not=write=cork", "not=write=writev", scenario=SCENE)
    assert plan.axes == ("place",)


@pytest.mark.parametrize(("text", "says"), [
    ("write=more", "leaves out no cell"), ("direction=send", "direction is no word of this plan"),
    ("place=together,free", "leaves no cell"), ("", "names no words"), ("cork", "not a word"),
    ("write=crok", "crok"),
])
def test_a_wrong_not_is_refused(binaries: Client, text: str, says: str) -> None:
    message = refused(binaries, f"not={text}", scenario=SCENE)
    assert says in message and message.startswith("not=") or says == "not a word"


def test_a_scenario_excludes_too(binaries: Client) -> None:
    scene = replace(SCENE, exclude=("write=cork place=free", "write=more"))
    assert len(plan_of(binaries, scenario=scene).cells) == 5


def test_a_cell_leaves_a_word_that_it_does_not_use_out_of_its_name(binaries: Client) -> None:
    plan = plan_of(binaries, "workload=request,stream", "direction=send,receive")
    assert [(cell.given["workload"], cell.given.get("direction")) for cell in plan.cells] == [
        ("request", None), ("stream", "send"), ("stream", "receive")]


@pytest.mark.parametrize(("words", "says"), [
    (("link_rate=1gbit",), "no cell uses link_rate: it needs lab=on"),
    (("workload=request", "direction=send"),
     "no cell uses direction: it needs workload=stream or workload=proxy"),
    (("lab=on", "transport=unix"),
     "no cell uses lab: it needs transport=tcp or transport=mptcp"),
    (("pace=spin",), "no cell uses pace"),
])
def test_a_word_that_no_cell_uses_is_refused_with_the_word_that_it_needs(
    binaries: Client, words: tuple[str, ...], says: str,
) -> None:
    assert refused(binaries, *words).endswith(f": {says}")


def test_a_word_of_a_scenario_that_the_shell_made_useless_is_left_out(binaries: Client) -> None:
    planned = planned_of(binaries, "workload=stream", scenario=SCENE)
    plan = planned.plan
    assert set(values_of(plan, "reply")) == {None} and "reply" not in planned.scenario.fixed
    assert any("reply" in note for note in planned.notes)


def test_a_cell_that_this_machine_cannot_run_keeps_its_reason(binaries: Client) -> None:
    plan = plan_of(binaries, "transport=unix", "write=cork,nodelay")
    cork, nodelay = plan.cells
    assert cork.unsupported and nodelay.unsupported is None
    assert plan.runnable == (nodelay,)
    assert plan.baseline == "write=nodelay"  # the first that can run


@pytest.mark.parametrize(("words", "says"), [
    (["message=x2"], "message"), (["message=0x2"], "message"), (["message=-1"], "message"),
    (["message=1e99"], "message"), (["message="], "message"),
    (["bytes=1K", "duration=1s"], "contradict"),
    (["connections=0"], "connections"), (["connections=10001"], "out of range"),
    (["rounds=1,2"], "one value"), (["rounds=x"], "rounds"),
    (["seed=1,2"], "one value"), (["cork"], "not a word"), (["=cork"], "not a word"),
    (["message=1..1M:+1"], "message"),
    (["message=1..1000:+1", "chunk=1..200:+1"], "too many"),
])
def test_wrong_words_are_refused_in_one_line(binaries: Client, words: list[str], says: str) -> None:
    assert says in refused(binaries, *words)


@pytest.mark.parametrize("tables, says", [
    ({"sweep": {"write": ("cork", "writv")}}, r"\[sweep\] write: .*writev"),
    ({"fixed": {"rounds": "3"}}, r"\[fixed\] rounds: .*\[run\]"),
    ({"fixed": {"write": "cork,more"}}, r"\[fixed\] write: .*\[sweep\]"),
    ({"run": {"not": "write=cork"}}, r"\[run\] not: .*exclude"),
])
def test_a_wrong_word_of_a_scenario_is_named_with_file_and_key(
        binaries: Client, tables: dict[str, Any], says: str) -> None:
    with pytest.raises(UsageError, match=f"^scene.toml: {says}"):
        plan_make(Targets(binaries), Scenario("x", **tables), Path("scene.toml"), [])


def test_a_plan_written_as_a_scenario_is_the_same_plan(binaries: Client, tmp_path: Path) -> None:
    planned = planned_of(binaries, "reply=1,2", "not=reply=2 write=cork", "place=free",
                         scenario=SCENE)
    plan, as_run = planned.plan, replace(
        planned.scenario, run=planned.scenario.run | {"seed": "5"})
    path = tmp_path / "scene.toml"
    path.write_text(scenario_text(as_run))
    again_planned = plan_make(Targets(binaries), scenario_load(path), path, [])
    again = again_planned.plan
    assert (again.cells, again.axes, again.rounds, again.seed, again.baseline) == (
        plan.cells, plan.axes, plan.rounds, 5, plan.baseline)
    assert again_planned.scenario == as_run


def test_fixed_work_has_no_planned_time(binaries: Client) -> None:
    assert plan_of(binaries, "messages=10").cells[0].planned_s is None
    timed = plan_of(binaries, "duration=100ms", "warmup=20ms").cells[0]
    assert timed.planned_s == pytest.approx(0.12)


def test_quick_takes_less_than_a_minute(binaries: Client) -> None:
    plan = plan_of(binaries, scenario=scenario_load(ROOT / "scenarios" / "quick.toml"))
    runs = len(round_order(plan.cells, 0, 1)) * (plan.rounds + 1)
    seconds = plan.cells[0].planned_s
    assert seconds is not None and runs * (seconds + 0.1) < 60
