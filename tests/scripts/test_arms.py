# SPDX-License-Identifier: MIT
"""Arms: named sets of words of a scenario, which the runner expands."""

from __future__ import annotations

from pathlib import Path

import pytest

from conftest import Uncork, records_of
from suite.base.client import Client
from suite.base.errors import UsageError
from suite.measure.plan import plan_make
from suite.places.targets import Targets
from suite.result.plan import Plan
from suite.scenario.scenario import Arm, scenario_load, scenario_text

SCENE = """
[fixed]
workload = "stream"
transport = "unix"
place = "free"
[sweep]
write = ["nodelay", "coalesce"]
arm = ["small", "large"]
[run]
rounds = 1
duration = "20ms"
warmup = "0s"
baseline = "arm=small"
[[arm]]
name = "small"
sndbuf = "65536"
rcvbuf = "64K"
[[arm]]
name = "large"
client.sndbuf = "1M"
[[claim]]
says = "large buffers carry more"
that = "bandwidth(arm=large write=nodelay) / bandwidth(arm=small write=nodelay) > 0"
[[answer]]
asks = "Which buffers?"
word = "arm"
metric = "bandwidth"
"""


@pytest.fixture
def scene(tmp_path: Path) -> Path:
    path = tmp_path / "scene.toml"
    path.write_text(SCENE)
    return path


def plan_of(client: Client, path: Path, *words: str) -> Plan:
    return plan_make(Targets(client), scenario_load(path), path, words).plan


def refused(client: Client, path: Path, *words: str) -> str:
    with pytest.raises(UsageError) as error:
        plan_of(client, path, *words)
    assert "\n" not in str(error.value)
    return str(error.value)


def test_an_arm_becomes_its_words_and_stays_an_axis(binaries: Client, scene: Path) -> None:
    plan = plan_of(binaries, scene)
    assert plan.axes == ("write", "arm") and len(plan.cells) == 4
    small, large = plan.cells[:2]
    assert (small.given["arm"], small.given["sndbuf"], small.given["rcvbuf"]) == (
        "small", "64K", "64K")
    assert large.given["client.sndbuf"] == "1M" and "sndbuf" not in large.given
    assert [cell.baseline for cell in plan.cells] == [True, False] * 2


def test_one_arm_can_be_chosen_or_left_out(binaries: Client, scene: Path) -> None:
    for words in (["arm=large"], ["not=arm=small", "baseline=write=nodelay"]):
        cells = plan_of(binaries, scene, *words).cells
        assert {cell.given["arm"] for cell in cells} == {"large"}


def test_an_arm_wins_over_fixed_and_sweep_and_equal_cells_are_one(
        binaries: Client, scene: Path) -> None:
    scene.write_text(SCENE.replace("[sweep]", '[sweep]\nsndbuf = ["128K", "256K"]'))
    cells = plan_of(binaries, scene).cells
    assert len([cell for cell in cells if cell.given["arm"] == "small"]) == 2
    assert {cell.given["sndbuf"] for cell in cells if cell.given["arm"] == "small"} == {"64K"}
    assert {cell.given["sndbuf"] for cell in cells if cell.given["arm"] == "large"} == {
        "128K", "256K"}


@pytest.mark.parametrize("word", ["sndbuf=1M", "client.sndbuf=1M", "sndbuf=64K,1M"])
def test_a_word_of_the_shell_that_contradicts_an_arm_is_refused(
        binaries: Client, scene: Path, word: str) -> None:
    assert refused(binaries, scene, word, "arm=small") == (
        f"{word} and arm=small contradict each other: the arm has sndbuf=65536")


def test_a_word_of_the_shell_that_says_what_the_arm_says_is_taken(
        binaries: Client, scene: Path) -> None:
    assert len(plan_of(binaries, scene, "sndbuf=64K", "arm=small").cells) == 2


def test_an_unknown_arm_names_the_nearest(binaries: Client, scene: Path) -> None:
    assert refused(binaries, scene, "arm=smal").endswith(
        "arm=smal: there is no such arm: did you mean small?")
    scene.write_text(SCENE.replace("arm = [", "arm = ").replace('"small", "large"]', '"tiny"', 1))
    assert "arm=tiny: there is no such arm (there is large, small)" in refused(binaries, scene)


@pytest.mark.parametrize("line, said", [
    ('rcvbuf = "64K"\nrounds = 3', '[[arm]] "small": rounds: an arm has words of cells only'),
    ('rcvbuf = "1K,2K"', "rcvbuf: has several values: make an arm for each"),
    ('rcvbuff = "64K"', "the nearest is 'rcvbuf'"),
    ('reply = "1"', "arm=small: no cell of it uses reply=1"),
])
def test_a_slip_in_an_arm_is_refused(binaries: Client, scene: Path, line: str, said: str) -> None:
    scene.write_text(SCENE.replace('rcvbuf = "64K"', line))
    assert said in refused(binaries, scene)


@pytest.mark.parametrize("text, said", [
    ('[[arm]]\nsndbuf = "1K"', "name is missing"), ('[[arm]]\nname = "a"', "has no words"),
    ('[[arm]]\nname = "a"\nreply = "1"\n' * 2, "is there twice"),
    ('[[arm]]\nname = "a,b"\nreply = "1"', "must be letters"),
    ('[arm]\nname = "a"', "must be a list of tables"),
])
def test_an_arm_is_read_strictly(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "wrong.toml"
    path.write_text(text)
    with pytest.raises(UsageError, match=said):
        scenario_load(path)


def test_arms_are_written_as_they_were_read(scene: Path) -> None:
    scenario = scenario_load(scene)
    assert scenario.arms[1] == Arm("large", {"client.sndbuf": "1M"})
    scene.write_text(scenario_text(scenario))
    assert scenario_load(scene) == scenario


def test_a_run_has_arms_in_records_table_claims_answers_and_the_command_of_a_block(
        uncork: Uncork, scene: Path) -> None:
    folder = uncork.results / "arms"
    done = uncork.run("run", str(scene), "-o", str(folder))
    assert done.returncode == 0, done.stderr
    assert {record["words"]["arm"] for record in records_of(folder)} == {"small", "large"}
    assert "\nnodelay   large" in done.stdout and "vs small" in done.stdout
    assert "large buffers carry more" in done.stdout and "answer  Which buffers?" in done.stdout
    assert "large" not in uncork.run("table", str(folder), "arm=small").stdout.split("answer")[0]
    assert "uncork run arms/scenario.toml" in uncork.run("paste", str(folder)).stdout
    again = uncork.run("run", str(folder / "scenario.toml"), "-n")
    assert again.returncode == 0 and again.stdout.count("uncork-client ") == 4
