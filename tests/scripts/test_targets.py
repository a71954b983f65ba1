# SPDX-License-Identifier: MIT
"""Targets: where cells run. gVisor's program only pretends here."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from conftest import Uncork, records_of
from faked import Faked, faked
from suite.base.client import Client, client_list
from suite.base.errors import Failure, UsageError
from suite.measure.plan import plan_make
from suite.measure.runner import batch_run
from suite.places import gvisor
from suite.places.targets import KINDS, Targets
from suite.scenario.scenario import Scenario

__all__ = ["faked"]

SHORT = ("message=15x2", "reply=2", "duration=5ms", "warmup=1ms")
# Does what `runsc OPTIONS do COMMAND` does, but here.
HERE = """case $1 in --version) echo 'runsc version release-1.2'; exit ;; esac
while [ "$1" != do ]; do shift; done; shift; exec "$@"
"""


def records_in(client: Client, *words: str) -> list[dict[str, Any]]:
    """The records of the cells of these words, each run once."""
    with Targets(client) as targets:
        cells = plan_make(targets, Scenario("words"), None, [*words, *SHORT]).plan.cells
        return [record for cell in cells for _, record in batch_run(targets, [cell])]


def test_targets_are_those_of_the_list(binaries: Client):
    listed = {entry["name"] for entry in client_list(binaries).document["variants"]["target"]}
    assert set(KINDS) <= listed


def test_a_cell_runs_behind_its_prefix_and_its_record_says_where(binaries: Client, faked: Faked):
    faked.program("runsc", HERE)
    (record,) = records_in(binaries, "target=gvisor", "place=free")
    assert record["status"] == "ok" and record["words"]["target"] == "gvisor"
    assert "target=gvisor" not in faked.asked() and "--network=none" in faked.asked()


def test_both_ends_on_one_cpu_are_bound_from_outside(binaries: Client, faked: Faked):
    faked.program("runsc", HERE)
    faked.program("taskset", 'shift 2; exec "$@"')
    (record,) = records_in(binaries, "target=gvisor", "place=together")
    assert record["status"] == "ok"
    first = min(os.sched_getaffinity(0))
    asked = faked.asked()
    assert asked[asked.index("taskset"):][:4] == ["taskset", "--cpu-list", str(first), "runsc"]


@pytest.mark.parametrize(("script", "says"), [
    ("echo 'cannot create sandbox' >&2; exit 128",
     "a sandbox does not start here: cannot create sandbox"),
    ("exit 0", "a sandbox does not start here: it prints nothing"),
    ("exec sleep 60", "target=gvisor: a sandbox did not answer in 0 s"),
])
def test_a_sandbox_that_does_not_start_is_said_before_anything_runs(
    uncork: Uncork, faked: Faked, monkeypatch: pytest.MonkeyPatch, script: str, says: str,
):
    monkeypatch.setattr(gvisor, "START_LIMIT_S", 0.5)
    faked.program("runsc", f"case $1 in --version) echo 'runsc version 1'; exit ;; esac\n{script}")
    assert says in uncork.refused("run", "target=gvisor", *SHORT, status=1)
    assert not uncork.results.exists()


def test_a_missing_program_names_the_one_command(uncork: Uncork, faked: Faked,
                                                 monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(gvisor, "RUNSC", "uncork-no-runsc")
    said = uncork.refused("run", "target=gvisor", *SHORT, status=1)
    assert said == ("uncork: target=gvisor: uncork-no-runsc is missing: scripts/setup/target "
                    "gvisor installs it")


def test_what_a_target_cannot_do_is_refused_before_anything_runs(binaries: Client, faked: Faked):
    faked.program("runsc", HERE)
    with Targets(binaries) as targets:
        with pytest.raises(UsageError,
                           match="target=gvisor: lab=on makes namespaces on this machine"):
            plan_make(targets, Scenario("words"), None, ["target=gvisor", "lab=on"])
        with pytest.raises(UsageError, match="leave out target=gvisor"):
            plan_make(targets, Scenario("words"), None,
                      ["target=gvisor", "timer=hyperfine", "bytes=1M", "warmup=0s",
                       "workload=stream"])


@pytest.mark.parametrize("word",
                         ["server=127.0.0.1:7411", "peer=127.0.0.1:7", "via=127.0.0.1:7412",
                          "capture=on"])
def test_what_is_outside_of_a_sandbox_is_refused_before_it_is_looked_for_inside(
    uncork: Uncork, faked: Faked, word: str,
):
    faked.program("runsc", HERE)
    said = uncork.refused("run", "target=gvisor", word, *SHORT, status=2)
    assert said.endswith(f"its own loopback, and its files end with it: leave out {word}")


def test_a_result_of_another_sandbox_is_not_gone_on_with(uncork: Uncork, faked: Faked,
                                                         tmp_path: Path):
    faked.program("runsc", HERE)
    words = ("run", "target=local,gvisor", "place=free", "rounds=1", *SHORT, "-o",
             str(tmp_path / "r"))
    assert uncork.run(*words).returncode == 0
    assert {record["words"]["target"] for record in records_of(tmp_path / "r")} == {
        "local",
        "gvisor",
    }
    faked.program("runsc", HERE.replace("release-1.2", "release-1.3"))
    said = uncork.refused(*words, "--more")
    assert ("was measured with another target=gvisor (runsc release-1.2; now it is runsc "
            "release-1.3)") in said


def test_a_target_that_this_runner_does_not_have_is_said(binaries: Client,
                                                         monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("suite.places.targets.KINDS", {})
    with Targets(binaries) as targets, pytest.raises(Failure, match="does not know target=gvisor"):
        targets.target({"target": "gvisor"})
