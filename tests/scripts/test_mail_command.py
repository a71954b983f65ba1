# SPDX-License-Identifier: MIT
"""The command below a block measures the same plan again, as a shell reads it."""

from __future__ import annotations

import subprocess
from dataclasses import replace

import pytest

from answers import ROOT
from suite.measure.plan import plan_make
from suite.measure.words import scenario_choose
from suite.places.targets import Targets
from suite.present.mail.command import RUN_COMMAND, command_lines, command_words
from suite.present.mail.rules import lines_require
from suite.result.plan import Plan
from suite.scenario.scenario import scenario_load, scenario_text


def stored(binaries, folder, *arguments):
    """(scenario, plan) as `uncork run ARGUMENTS` would store them."""
    scenario, path, words = scenario_choose(arguments)
    planned = plan_make(Targets(binaries), scenario, path, words)
    as_run = replace(planned.scenario, run=planned.scenario.run | {"seed": "7"})
    (folder / "scenario.toml").write_text(scenario_text(as_run))
    return scenario_load(folder / "scenario.toml"), replace(planned.plan, seed=7)


def words_typed(lines):
    """The words that a shell makes of the command."""
    text = "\n".join(lines)
    assert text.startswith(f"{RUN_COMMAND} ")
    return subprocess.run(["sh", "-c", text.replace(RUN_COMMAND, "printf '%s\\n'", 1)],
                          capture_output=True, text=True,
                          timeout=60, check=True).stdout.splitlines()


def shipped_of(name):
    """A scenario that ships."""
    return scenario_load(ROOT / "scenarios" / f"{name}.toml")


@pytest.mark.parametrize("arguments, short", [
    (["nodelay", "rounds=20", "write=cork,more"],
     "uncork run nodelay write=cork,more rounds=20 baseline=write=cork \\\n  seed=7"),
    (["sizes", "message=64..1K", "not=write=nagle message=64"], None),
    (["connections", "place=apart"], "uncork run connections place=apart seed=7"),
])
def test_the_command_of_a_scenario_that_ships_is_short_and_makes_the_same_plan(
    binaries, tmp_path, arguments, short
):
    scenario, plan = stored(binaries, tmp_path, *arguments)
    lines = command_lines(command_words(scenario, plan, shipped_of(arguments[0])))
    lines_require(lines)
    assert lines[0].startswith(f"uncork run {arguments[0]}")
    assert short is None or "\n".join(lines) == short
    again, path, words = scenario_choose(words_typed(lines))
    assert plan.difference(plan_make(Targets(binaries), again, path, words).plan) == ""


@pytest.mark.parametrize("arguments", [
    ["message=16+4K,15x2", "write=cork,nodelay", "baseline=write=nodelay", "duration=300ms",
     "not=message=15x2 write=cork"],
    ["message=" + ",".join(str(size) for size in range(100, 140)), "write=nodelay"],
    ["not=message=64 write=cork,more,nagle,writev,coalesce,nodelay,sendfile place=together",
     "message=64,128",
     "write=cork,more,coalesce", "place=together,apart"],
    ["latency", "rate=closed", "write=cork", "place=together,apart", "reply=4,2"],
])
def test_a_command_of_all_words_makes_the_same_cells_in_the_same_order(
    binaries, tmp_path, arguments
):
    scenario, known = stored(binaries, tmp_path, *arguments)
    lines = command_lines(command_words(scenario, known, None))
    lines_require(lines)
    again, path, words = scenario_choose(words_typed(lines))
    plan = plan_make(Targets(binaries), again, path, words).plan
    cells = [[(cell.words, cell.given, cell.baseline) for cell in one.cells]
             for one in (plan, known)]
    assert cells[0] == cells[1]
    assert (plan.seed, plan.rounds, plan.axes) == (known.seed, known.rounds, known.axes)


@pytest.mark.parametrize("word", [
    "build=/srv/" + "x" * 300, "build=/srv/it's/" + "y'" * 99, "build=/$HOME/`id`/\\" + "z\\" * 99,
    "not=write=nagle place=" + "together," * 40, 'not=a="1" b=' + "2" * 90, "build=/" + "," * 200,
], ids=lambda word: word[:14])
def test_a_word_of_any_length_reaches_the_shell_whole(word):
    lines = command_lines(["nodelay", word, "rounds=7"])
    lines_require(lines)
    assert words_typed(lines) == ["nodelay", word, "rounds=7"]


def test_a_scenario_that_ships_otherwise_now_is_written_out():
    scenario = shipped_of("nodelay")
    plan = Plan("nodelay", ("place", "write"), (), rounds=10, seed=7, timer="client")
    assert command_words(scenario, plan, scenario) == ["nodelay", "seed=7"]
    older = replace(scenario, sweep={"write": scenario.sweep["write"]})
    assert command_words(older, plan, scenario)[0] == "workload=request"
    turned = replace(scenario, sweep=dict(reversed(scenario.sweep.items())))
    assert command_words(turned, plan, scenario)[0] == "workload=request"
