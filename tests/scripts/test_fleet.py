# SPDX-License-Identifier: MIT
"""hosts=INVENTORY without Ansible: inventories, schedules, answers, what hosts are told, whole runs
by one that pretends."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from conftest import Uncork, records_of
from fleets import ansible_pretend, listing_make
from processes import has_ended, until
from suite.base.client import Client
from suite.base.errors import Failure, UsageError
from suite.measure.plan import Plan, plan_make
from suite.measure.runner import runs_seconds
from suite.measure.schedule import batches_make, concurrent_round
from suite.places.remote import ansible
from suite.places.remote.ansible import Fleet, inventory_list, outcome_read, programs_find
from suite.places.remote.inventory import pairs_read
from suite.places.remote.shell import Job
from suite.places.targets import LocalTargets
from suite.result.plan import PlannedCell
from suite.scenario.scenario import Scenario
from suite.scenario.subject import missing_text, programs_read

PATH = "inventory.ini"
UNREACHABLE = (
    'Task failed: Data could not be sent to remote host "b". Make sure this host can be reached '
    "over ssh: ssh: "
    "connect to\r\nhost b: No route to host\r\n"
)  # as Ansible says it
LISTING = listing_make({"client": ["a"], "server": ["b"]})
KEY = b"uncork:00112233445566778899aabbccddeeff\n"


def targets_of(listing: Mapping[str, Any]) -> list[str]:
    """The pairs of a listing as values of target."""
    return list(pairs_read(listing))


# ---- inventories ----

def test_hosts_of_the_same_index_are_a_pair() -> None:
    assert targets_of(listing_make({"client": ["c1", "c2"],
                                    "server": ["s2", "s1"]})) == ["ssh:c1+ssh:s2", "ssh:c2+ssh:s1"]


def test_with_a_proxy_they_are_three_and_where_they_listen_is_in_the_value() -> None:
    listing = listing_make({"client": ["c"], "server": ["s"], "proxy": ["p"]},
                           s={"uncork_address": "10.0.0.1"})
    assert targets_of(listing) == ["ssh:c+ssh:s/10.0.0.1+ssh:p"]


def test_a_host_that_is_both_ends_is_one_target() -> None:
    assert targets_of(listing_make({"client": ["a", "b"], "server": ["a", "b"]})) == [
        "ssh:a",
        "ssh:b",
    ]


def test_groups_may_have_groups() -> None:
    listing = listing_make({"client": ["c1"], "server": ["s1", "s2"], "rack2": ["c2"]})
    listing["client"]["children"] = ["rack2"]
    assert targets_of(listing) == ["ssh:c1+ssh:s1", "ssh:c2+ssh:s2"]


def test_pairs_may_have_names() -> None:
    def of(pair: str, role: str) -> dict[str, str]:
        return {"uncork_pair": pair, "uncork_role": role}
    listing = listing_make({"pairs": ["a", "b", "c", "d", "e"]}, a=of("x", "server"),
                           b=of("y", "client"), c=of("x", "client"),
                           d=of("y", "server"), e=of("y", "proxy"))
    assert targets_of(listing) == ["ssh:c+ssh:a", "ssh:b+ssh:d+ssh:e"]


@pytest.mark.parametrize(("listing", "says"), [
    (listing_make({"web": ["a"]}), "it needs groups client and server, or a group pairs"),
    (listing_make({"client": [], "server": []}), "there is no host in its groups"),
    (listing_make({"client": ["a", "b"], "server": ["c"]}),
     "groups must have one size, but client has 2, server has 1"),
    (listing_make({"client": ["a"], "server": ["b"], "proxy": ["c", "d"]}), "proxy has 2"),
    (listing_make({"client": ["a"], "server": ["b"], "pairs": ["c"]}),
     "it has a group pairs and a group client"),
    (listing_make({"client": ["a", "b"], "server": ["c", "a"]}), "host a is in 2 pairs"),
    (listing_make({"client": ["a+b"], "server": ["c"]}), 'host "a+b": give it a name of letters'),
    (listing_make({"client": ["a"], "server": ["b"]}, b={"uncork_address": "10.0.0.1 -x"}),
     "is no IP address"),
    (listing_make({"pairs": ["a"]}, a={"uncork_pair": "x"}),
     "host a of the group pairs needs uncork_pair=NAME and uncork_role="),
    (listing_make({"pairs": ["a"]}, a={"uncork_pair": "x", "uncork_role": "client"}),
     "pair x has no host of uncork_role=server"),
    (listing_make({"pairs": ["a", "b"]}, a={"uncork_pair": "x", "uncork_role": "client"},
                  b={"uncork_pair": "x", "uncork_role": "client"}),
                  "pair x has two hosts of uncork_role=client: a and b"),
])
def test_an_inventory_that_is_not_clear_is_refused_in_one_line(
    monkeypatch: pytest.MonkeyPatch, listing: dict[str, Any], says: str,
) -> None:
    monkeypatch.setattr(ansible, "inventory_list", lambda path: listing)
    with pytest.raises(UsageError) as refused:
        Fleet(PATH)
    assert str(refused.value).startswith(f"hosts={PATH}: ") and says in str(refused.value)
    assert "\n" not in str(refused.value)


def test_an_inventory_that_is_not_there_or_cannot_be_read_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
) -> None:
    programs = ansible_pretend(tmp_path / "ansible", {})
    monkeypatch.setenv("UNCORK_ANSIBLE", str(programs))
    with pytest.raises(UsageError, match="there is no such file"):
        inventory_list(str(tmp_path / "none.ini"))
    (programs /
     "ansible-inventory").write_text(
         "#!/bin/sh\necho '[WARNING]: Failed to parse x: line 3' >&2; exit 1\n")
    with pytest.raises(UsageError, match="Ansible cannot read it: Failed to parse x: line 3"):
        inventory_list(str(programs / PATH))


def test_without_ansible_the_one_command_is_named(tmp_path: Path,
                                                  monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ansible, "pypi_find", lambda pattern: [])
    monkeypatch.delenv("UNCORK_ANSIBLE", raising=False)
    with pytest.raises(Failure,
                       match="ansible-core is missing: scripts/setup/target fleet installs it"):
        programs_find()
    monkeypatch.setenv("UNCORK_ANSIBLE", str(tmp_path))
    with pytest.raises(Failure,
                       match=f"there is no ansible-inventory in {tmp_path} \\(UNCORK_ANSIBLE\\)"):
        programs_find()


# ---- the plan ----

class Pretended(LocalTargets):
    """Two pairs, and every cell is asked about here."""

    def hosts_open(self, path: str) -> tuple[str, ...]:
        """Whatever the path."""
        return "ssh:c1+ssh:s1", "ssh:c2+ssh:s2"


def planned(binaries: Client, *words: str) -> Plan:
    """A plan of these words."""
    return plan_make(Pretended(binaries), Scenario("words"), None, words).plan


def test_the_pairs_are_the_first_axis_and_the_result_keeps_the_word_that_was_typed(
        binaries: Client) -> None:
    made = plan_make(Pretended(binaries), Scenario("words"), None,
                     ["hosts=inventory.ini", "write=nodelay,writev"])
    plan, scenario = made.plan, made.scenario
    assert plan.axes == ("target", "write") and plan.baseline == "write=nodelay"
    assert plan.hosts == "inventory.ini" and scenario.run["hosts"] == "inventory.ini"
    assert "target" not in scenario.sweep | scenario.fixed


def test_a_fleet_and_a_target_contradict_each_other(binaries: Client) -> None:
    with pytest.raises(UsageError, match="hosts=a.ini and target=local contradict each other"):
        planned(binaries, "hosts=a.ini", "target=local")


def test_all_pairs_have_the_same_order_and_a_round_is_one_batch(binaries: Client) -> None:
    cells = planned(binaries, "hosts=a.ini", "write=nodelay,writev,more,cork").cells
    runs = [run for number in (1, 2) for run in concurrent_round(cells, 5, number)]
    orders = [
        [
            (run.round, run.position, run.cell.words["write"], run.label)
            for run in runs
            if run.cell.words["target"] == target
        ]
        for target in Pretended(binaries).hosts_open("")
    ]
    assert orders[0] == orders[1] and len(orders[0]) == 2 * 5
    assert [len(batch) for batch in batches_make(runs, True)] == [10, 10]
    assert runs_seconds(runs, concurrent=True)[0] == pytest.approx(runs_seconds(runs)[0] / 2)


def test_cells_of_other_programs_and_without_another_end_are_batches_of_their_own() -> None:
    cells = [PlannedCell(f"{number}", {"target": "ssh:a", "transport": transport, "build": build},
                         {})
             for number, (transport, build) in enumerate([("tcp", "x"), ("tcp", "y"),
                                                          ("null", "x")])]
    batches = batches_make(concurrent_round(cells, 1, 1), True)
    assert [len(batch) for batch in batches] == [1, 1, 1]


# ---- answers ----

def test_a_host_of_which_nothing_is_said_has_failed(tmp_path: Path) -> None:
    (tmp_path / "a.result").write_text('{"status": 3, "stderr": "no"}')
    (tmp_path / "a.out").write_text("yes")
    (tmp_path / "b.result").write_text(json.dumps({"unreachable": True, "why": UNREACHABLE}))
    (tmp_path / "c.result").write_text(json.dumps({"unreachable": False, "why": "timed out"}))
    ran, *others = [outcome_read(tmp_path, host, "Ansible is silent") for host in "abcd"]
    assert (ran.status, ran.stdout, ran.stderr, ran.why) == (3, b"yes", "no", "")
    assert [outcome.why for outcome in others] == [
        "b cannot be reached: ssh: connect to host b: No route to host",
        "c: timed out", "d: Ansible is silent"]


def test_an_ansible_that_fails_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    programs = ansible_pretend(tmp_path / "ansible", LISTING)
    monkeypatch.setenv("UNCORK_ANSIBLE", str(programs))
    (programs / "ansible").write_text("#!/bin/sh\necho '[ERROR]: no such option' >&2; exit 2\n")
    hosts = Fleet(str(programs / PATH))
    outcome = hosts.step({"a": Job("stop", ("x",))})["a"]
    assert outcome.why == "a: Ansible reports nothing about it (no such option)"
    hosts.close()
    assert not hosts.folder.exists()


@pytest.mark.parametrize("ends", ["is killed", "is killed in a step"])
def test_a_runner_that_is_killed_stops_its_step_then_all_programs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ends: str,
) -> None:
    programs = ansible_pretend(tmp_path / "ansible", LISTING)
    (programs / "ansible").write_text(
        f"#!/bin/sh\ncd {tmp_path}; echo begun >>log; [ -e last ] || exec sleep 600\n"
        "echo stopped >>log\n")
    script = f"""
import os, threading, time
from suite.places.remote.ansible import Fleet
from suite.places.remote.shell import Job
hosts = Fleet({str(programs / PATH)!r})
hosts.boots["a"] = "first"
hosts.greet([], hosts.folder)
print(hosts.folder, flush=True)
if {ends == "is killed in a step"}:
    threading.Thread(target=hosts.step, args=({{"a": Job("stop", ("x",))}},), daemon=True).start()
    while not os.path.exists({str(tmp_path / "log")!r}):
        time.sleep(0.01)
open({str(tmp_path / "last")!r}, "w").close()
os.kill(os.getpid(), 9)
"""
    environment = os.environ | {"UNCORK_ANSIBLE": str(programs),
                                "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True,
                          timeout=60, env=environment)
    folder = Path(done.stdout.strip())
    until(lambda: not folder.exists(), "the guard does not end")
    begun = ["begun"] * (ends == "is killed in a step")
    assert (tmp_path / "log").read_text().split() == [*begun, "begun", "stopped"]


# ---- what hosts are told ----

def told(folder: Path, script: str, *arguments: str, given: str = "",
         ) -> subprocess.CompletedProcess[bytes]:
    """What a host does."""
    (folder / "key").write_bytes(KEY)
    job = Job(script, ("r", *arguments), (folder / "key",), given)
    return subprocess.run(job.argv, input=job.input, capture_output=True, timeout=60,
                          env=os.environ | {"XDG_CACHE_HOME": str(folder)})


def run_folder(folder: Path) -> Path:
    """The folder of the run on a host."""
    return folder / "uncork/run/r"


def program_write(folder: Path, name: str, script: str) -> str:
    """A program for it."""
    (folder / name).write_text(f"#!/bin/sh\n{script}\n")
    (folder / name).chmod(0o755)
    return str(folder / name)


def test_a_client_gets_its_key_its_words_and_its_lines(tmp_path: Path) -> None:
    program = program_write(tmp_path, "uncork-client",
                            'echo "$*"; cat /dev/fd/3; cat; echo no >&2; exit 3')
    done = told(tmp_path, "client", "c", "60", program, "--psk", "/dev/fd/3", "a b", "'$c'",
                given="line 1\nline 2\n")
    assert (done.returncode, done.stderr) == (3, b"no\n")
    assert done.stdout == b"--psk /dev/fd/3 a b '$c'\n" + KEY + b"line 1\nline 2\n"
    assert list(run_folder(tmp_path).iterdir()) == []


def test_a_client_whose_time_is_over_is_ended_and_what_it_has_said_comes_back(
        tmp_path: Path) -> None:
    program = program_write(tmp_path, "uncork-client", "echo begun; exec sleep 60")
    begun = time.monotonic()
    done = told(tmp_path, "client", "c", "1", program)
    assert (done.returncode, done.stdout) == (124, b"begun\n") and time.monotonic() - begun < 30


def test_a_server_stays_until_it_is_stopped_and_nothing_else_is(tmp_path: Path) -> None:
    program = program_write(tmp_path, "uncork-server",
                            f'cat /dev/fd/3 >{tmp_path}/sent; echo "$*"; read -r never </dev/zero')
    done = told(tmp_path, "server", "s", program, "--listen", "127.0.0.1:0")
    assert done.stdout == b"--listen 127.0.0.1:0\n", done.stderr
    assert (tmp_path / "sent").read_bytes() == KEY
    assert told(tmp_path, "alive", "s").returncode == 0
    assert told(tmp_path, "alive", "s", "other").stderr == b"its server has ended\n"
    note = run_folder(tmp_path) / "s.pid"
    server, other = int(note.read_text()), subprocess.Popen(["sleep", "60"])
    note.with_name("o.pid").write_text(str(other.pid))  # the kernel has reused the process id
    assert told(tmp_path, "stop").returncode == 0
    assert has_ended(server) and other.poll() is None
    assert not run_folder(tmp_path).exists()
    other.kill()
    other.wait()


def test_a_server_that_does_not_start_says_why(tmp_path: Path) -> None:
    program = program_write(tmp_path, "uncork-server",
                            "echo 'uncork-server: no such address' >&2; exit 1")
    done = told(tmp_path, "server", "s", program)
    assert done.returncode == 1 and done.stderr == b"uncork-server: no such address\n"


# ---- whole runs ----

def fleet_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two pairs that are all here; gives the folder of their Ansible."""
    address = {"uncork_address": "127.0.0.1"}
    programs = ansible_pretend(tmp_path / "ansible", listing_make(
        {"client": ["c1", "c2"], "server": ["s1", "s2"]}, s1=address, s2=address))
    monkeypatch.setenv("UNCORK_ANSIBLE", str(programs))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return programs


CELLS = ("write=nodelay,writev", "message=2x64", "duration=20ms", "warmup=5ms")


def started_from(folder: Path) -> list[str]:
    """The command lines of processes whose program is below a folder."""
    lines = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            lines.append(path.read_bytes().replace(b"\0", b" ").decode(errors="replace"))
    return [line for line in lines if line.startswith(str(folder))]


def test_the_servers_of_a_fleet_start_subjects(uncork: Uncork, tmp_path: Path,
                                               monkeypatch: pytest.MonkeyPatch) -> None:
    if programs_read()["qemu-nbd"].find() is None:
        pytest.skip(missing_text(programs_read()["qemu-nbd"]))
    programs = fleet_of(tmp_path, monkeypatch)
    done = uncork.run("run", f"hosts={programs / PATH}", "protocol=nbd", "op=read:4K",
                      "subject=own,qemu-nbd", "messages=20", "warmup=0s", "rounds=1", "place=free",
                      "-o", str(tmp_path / "served"))
    assert done.returncode == 0, done.stderr
    records = records_of(tmp_path / "served")
    assert {record["status"] for record in records} == {"ok"}
    assert {record.get("subject", {}).get("name", "own") for record in records} == {
        "own", "qemu-nbd"}
    assert not started_from(tmp_path)


def test_a_fleet_runs_a_matrix_and_leaves_nothing_behind(
    uncork: Uncork, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
) -> None:
    programs = fleet_of(tmp_path, monkeypatch)
    done = uncork.run("run", f"hosts={programs}/{PATH}", *CELLS, "rounds=1", "place=free")
    assert done.returncode == 0, done.stderr
    (folder,) = uncork.results.iterdir()
    records = records_of(folder)
    assert len(records) == 2 * 2 * 3 and {record["status"] for record in records} == {"ok"}
    assert {record["words"]["target"] for record in records} == {
        "ssh:c1+ssh:s1/127.0.0.1",
        "ssh:c2+ssh:s2/127.0.0.1",
    }
    assert not any("psk" in json.dumps(record) or record["words"].get("server", "own") != "own"
                   for record in records)
    assert set(json.loads((folder / "plan.json").read_text())["targets"]) == {
        record["words"]["target"] for record in records
    }
    assert list((tmp_path / "cache/uncork/run").iterdir()) == []
    assert not started_from(tmp_path), "hosts that share a home take down what is theirs"
    compared = uncork.run("compare", str(folder), "write=nodelay", "write=writev")
    assert "ssh:c1" in compared.stdout, compared.stdout + compared.stderr
    assert "ssh:c2" in compared.stdout


def test_a_host_that_is_away_when_a_run_begins_is_named(
    uncork: Uncork, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
) -> None:
    programs = fleet_of(tmp_path, monkeypatch)
    (programs / "lost").write_text("s2 1\n")
    done = uncork.run("run", f"hosts={programs}/{PATH}", *CELLS)
    assert done.returncode == 1 and "s2 cannot be reached: it is away" in done.stderr
    assert not uncork.results.exists() and list((tmp_path / "cache/uncork").glob("run/*")) == []


def test_a_host_that_goes_away_costs_the_runs_of_its_pair(
    uncork: Uncork, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
) -> None:
    programs = fleet_of(tmp_path, monkeypatch)
    (programs / "lost").write_text("c2 11\n")  # nine steps prepare the first round, which warms up
    done = uncork.run("run", f"hosts={programs}/{PATH}", *CELLS, "rounds=2", "place=free")
    assert done.returncode == 1  # all failed but the warm-up
    assert done.stderr.splitlines()[-1].endswith("; the first: c2 cannot be reached: it is away")
    (folder,) = uncork.results.iterdir()
    away = {(record["run"]["round"], record["reason"]) for record in records_of(folder)
            if record["status"] != "ok"}
    assert away == {(1, "c2 cannot be reached: it is away"),
                    (2, "c2 cannot be reached: it is away")}
    lost = [record["run"]["cell"] for record in records_of(folder) if record["status"] != "ok"]
    assert len(lost) == 2 * 3 and all("target=ssh:c2+" in cell for cell in lost)
    assert "programs on c2 could not be stopped, and end by themselves: it is away" in done.stderr
