# SPDX-License-Identifier: MIT
"""target=ssh:HOST with ssh(1) and sshd(8): machines made of namespaces, over links that can be
cut."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from conftest import Uncork, records_of
from hosts import Hosts, hosts_open, hosts_refusal
from processes import until
from suite.base.client import ROOT, Client, client_check
from suite.measure.plan import plan_make
from suite.measure.runner import batch_run
from suite.places.targets import Targets
from suite.result.plan import PlannedCell
from suite.scenario.scenario import Scenario

pytestmark = pytest.mark.skipif(hosts_refusal() is not None, reason=str(hosts_refusal()))

SHORT = ("duration=20ms", "warmup=5ms")
ENDS = ("client", "server", "proxy")
PROXIED = "target=ssh:h1+ssh:h2+ssh:h3,ssh:h4+ssh:h2+ssh:h3"
# uring_bundles.toml's
BUNDLES = ("workload=proxy", "read=uring-multishot", "window=256", "chunk=1K", "write=uring-bundle")


@pytest.fixture(scope="module")
def hosts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hosts]:
    """Four machines that do not see this tree."""
    with hosts_open(tmp_path_factory.mktemp("hosts") / "made", 4, hidden=ROOT) as made:
        yield made


@pytest.fixture
def targets(binaries: Client, hosts: Hosts, monkeypatch: pytest.MonkeyPatch) -> Iterator[Targets]:
    """Targets that are opened where the hosts can be reached."""
    monkeypatch.setenv("UNCORK_SSH", hosts.ssh)
    with hosts.inside(), Targets(replace(binaries, built=None)) as opened:
        yield opened


def cells_of(targets: Targets, *words: str) -> tuple[PlannedCell, ...]:
    """The cells of a plan."""
    return plan_make(targets, Scenario("words"), None, words).plan.cells


def round_run(targets: Targets, cells: Sequence[PlannedCell]) -> dict[str, list[dict[str, Any]]]:
    """The records of a round, by target."""
    found: dict[str, list[dict[str, Any]]] = {}
    targets.round_begin()
    for cell in cells:
        ((_, record),) = batch_run(targets, [cell])
        found.setdefault(cell.words["target"], []).append(record)
    return found


def statuses(records: Sequence[dict[str, Any]]) -> set[str]:
    """What became of runs; why, of those that failed."""
    return {record.get("reason", record["status"]) for record in records}


def left_on(hosts: Hosts) -> list[str]:
    """Our programs that run on the hosts."""
    return [f"{name} on {host.name}" for host in hosts.hosts.values() if host.process
            for name in ("uncork-client", "uncork-server") for _ in host.programs(name)]


def bundles_require(client: Client) -> None:
    """Skips where this machine cannot send bundles."""
    if trouble := client_check(client, [" ".join(BUNDLES)])[0].unsupported:
        pytest.skip(trouble)


def arguments_on(hosts: Hosts, host: str, program: str) -> list[str]:
    """All that such programs were started with there."""
    return [word for pid in hosts.hosts[host].programs(program)
            for word in Path(f"/proc/{pid}/cmdline").read_bytes().decode().split("\0")]


def test_bundles_go_across_three_machines_and_a_killed_sshd_fails_its_cells_only(
    hosts: Hosts, targets: Targets,
) -> None:
    bundles_require(targets.local)
    cells = cells_of(targets, PROXIED, *BUNDLES, *SHORT)
    first = round_run(targets, cells)
    assert [statuses(records) for records in first.values()] == [{"ok"}, {"ok"}]
    (record,), _ = first.values()
    assert len({record[end]["host"] for end in ENDS}) == 3
    assert record["peer"].startswith("198.19.0.2:") and record["via"].startswith("198.19.0.3:")
    target = targets.target(cells[0].words)
    folder = target.client(cells[0].words).folder
    assert target.pairs.serve({target: ENDS}, folder) == {}
    assert {"--psk", "/dev/fd/3", "198.19.0.2:0"} <= set(arguments_on(hosts, "h2", "uncork-server"))
    assert {"--proxy", "198.19.0.2/32"} <= set(arguments_on(hosts, "h3", "uncork-server"))
    target.pairs.servers_end()
    assert left_on(hosts) == []
    hosts.hosts["h4"].sshd_kill()
    whole, lost = round_run(targets, cells).values()
    assert statuses(whole) == {"ok"} and all(reason.startswith("h4 was lost: ")
                                             for reason in statuses(lost))
    hosts.hosts["h4"].stop()
    hosts.hosts["h4"].start()
    hosts.await_ready("h4")
    assert [statuses(records) for records in round_run(targets, cells).values()] == [{"ok"}, {"ok"}]


def exact_figures(record: dict[str, Any]) -> tuple[float, ...]:
    """Segments and sends for each message of a request. Where others are busy the kernel sends some
    segments twice, and joins some that wait: in whole numbers that is none."""
    (thread,) = record["client"]["threads"]
    segments = thread["tcp_info"]["data_segs_out"]["sum"] - thread["tcp_info"]["retrans_segs"][
        "sum"]
    return round(segments /
                 thread["messages_sent"]), thread["write_calls"] / thread["messages_sent"]


def test_exact_figures_are_the_same_on_other_machines(targets: Targets) -> None:
    cells = cells_of(targets, "target=local,ssh:h1,ssh:h1+ssh:h2", "write=nodelay,cork,writev",
                     "message=15x2", "reply=2",
                     "messages=50", "warmup=0s")
    found = {target: [exact_figures(record) for record in records]
             for target, records in round_run(targets, cells).items()}
    assert found["local"] == found["ssh:h1"] == found["ssh:h1+ssh:h2"] and len(
        set(found["local"])) == 3, found


@pytest.mark.long
def test_a_link_that_is_cut_fails_runs_that_name_the_machine(hosts: Hosts,
                                                             targets: Targets) -> None:
    cells = cells_of(targets, "target=ssh:h1+ssh:h2,ssh:h3", "duration=1s")
    assert statuses(sum(round_run(targets, cells).values(), [])) == {"ok"}
    hosts.hosts["h2"].link_set("down")
    try:
        lost, whole = round_run(targets, cells).values()
    finally:
        hosts.hosts["h2"].link_set("up")
    assert statuses(whole) == {"ok"} and all(reason.startswith("h2 was lost: ")
                                             for reason in statuses(lost))
    assert statuses(sum(round_run(targets, cells).values(), [])) == {"ok"}


@pytest.fixture
def start(uncork: Uncork, hosts: Hosts,
          folder_short: Path) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Starts `uncork` where it reaches the hosts."""
    started: list[subprocess.Popen[str]] = []

    def begin(*words: str) -> subprocess.Popen[str]:
        environment = uncork.environment | {"UNCORK_SSH": hosts.ssh}
        with hosts.inside():
            started.append(subprocess.Popen(uncork.command(*words), env=environment, text=True,
                                            stdout=subprocess.PIPE, stderr=subprocess.PIPE))
        return started[-1]

    yield begin
    for process in started:
        if process.poll() is None:
            process.kill()
            process.communicate()


@pytest.mark.long
def test_a_matrix_goes_on_without_a_machine_that_is_lost_in_the_middle(
    uncork: Uncork, binaries: Client, hosts: Hosts, start: Callable[..., subprocess.Popen[str]],
) -> None:
    bundles_require(binaries)
    folder = uncork.results / "x"
    process = start("run", "uring_bundles", "lab=off", "chunk=1K", "write=writev,uring-bundle",
                    PROXIED, "rounds=6", *SHORT,
                    "-o", str(folder))
    path = folder / "records.jsonl"
    until(lambda: process.poll() is not None
          or (path.exists() and path.read_bytes().count(b"\n") >= 12), "no round is over")
    hosts.hosts["h4"].stop()
    try:
        _, stderr = process.communicate(timeout=200)
    finally:
        hosts.hosts["h4"].start()
        hosts.await_ready("h4")
    assert process.returncode == 1 and "h4 was lost: " in stderr.splitlines()[-1], stderr
    records = records_of(folder)
    assert {"ssh:h4" in record["run"]["cell"] for record in records
            if record["status"] != "ok"} == {True}
    whole = [record for record in records if "ssh:h1" in record["run"]["cell"]]
    assert len(whole) == 4 * 7 and statuses(whole) == {
        "ok"}, "baseline cells run twice, and round 0 warms up"
    facts = json.loads((folder / "hosts.json").read_text())
    assert {facts[record[end]["host"]]["host_name"] for record in whole for end in ENDS} == {
        "h1",
        "h2",
        "h3",
    }
    assert left_on(hosts) == []


@pytest.mark.long
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_an_ended_runner_leaves_nothing_on_other_machines(
    hosts: Hosts, start: Callable[..., subprocess.Popen[str]], number: signal.Signals,
) -> None:
    process = start("run", "target=ssh:h1+ssh:h2", "duration=60s")
    until(lambda: process.poll() is not None
          or len(left_on(hosts)) == 2, f"no run: {left_on(hosts)}")
    os.kill(process.pid, number)
    process.communicate(timeout=30)
    until(lambda: not left_on(hosts), f"{left_on(hosts)} is left")
