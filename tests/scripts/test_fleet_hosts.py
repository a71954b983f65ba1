# SPDX-License-Identifier: MIT
"""hosts=INVENTORY with Ansible, ssh(1) and sshd(8): two pairs of machines made of namespaces,
driven at the same time."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from conftest import Uncork, only_folder, records_of
from hosts import Hosts, hosts_open, hosts_refusal
from suite.base.client import ROOT
from suite.base.errors import Failure
from suite.places.remote.ansible import programs_find


def refusal() -> str | None:
    """Why there can be no fleet here."""
    try:
        programs_find()
    except Failure as error:
        return str(error)
    return hosts_refusal()


pytestmark = [pytest.mark.long, pytest.mark.skipif(refusal() is not None, reason=str(refusal()))]

GROUPS = "[client]\nh1\nh3\n[server]\nh2\nh4\n"
PAIRS = ("ssh:h1+ssh:h2", "ssh:h3+ssh:h4")
CELLS = ("write=nodelay,writev", "message=2x64", "warmup=5ms")
GONE_S = 60.0


@pytest.fixture(scope="module")
def hosts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hosts]:
    """Four machines that do not see this tree, and an inventory of them."""
    with hosts_open(tmp_path_factory.mktemp("hosts") / "made", 4, hidden=ROOT) as made:
        (made.folder / "inventory.ini").write_text(GROUPS)
        yield made


@pytest.fixture(autouse=True)
def nothing_is_left(hosts: Hosts) -> Iterator[None]:
    """Whatever a test does to a run, none of our programs and no folder of a run stays anywhere."""
    yield
    deadline = time.monotonic() + GONE_S
    while left := [*left_on(hosts), *Path("/tmp").glob("uncork-*/last")]:
        assert time.monotonic() < deadline, left
        time.sleep(0.05)


def left_on(hosts: Hosts) -> list[str]:
    """Our programs and folders of runs on hosts."""
    found = []
    for host in hosts.hosts.values():
        found += [f"{host.name} {name}" for name in ("uncork-client", "uncork-server")
                  if host.programs(name)]
        found += map(str, host.home.glob(".cache/uncork/run/*"))
    return found


def started(uncork: Uncork, hosts: Hosts, *words: str) -> subprocess.Popen[str]:
    """A run of a fleet under way."""
    command = uncork.command("run", f"hosts={hosts.folder}/inventory.ini", *CELLS, *words)
    environment = uncork.environment | {"UNCORK_SSH": hosts.ssh}
    with hosts.inside():
        return subprocess.Popen(command, env=environment, text=True, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE)


def ended(run: subprocess.Popen[str]) -> tuple[int, str]:
    """(exit status, standard error) of a run that ends by itself."""
    _, said = run.communicate(timeout=240)
    return run.returncode, said


def records_until(uncork: Uncork, what: Callable[[list[dict[str, Any]]], bool]) -> None:
    """Waits until the stored records are so."""
    deadline = time.monotonic() + 120
    while True:
        with contextlib.suppress(ValueError, OSError):
            if what(records_of(only_folder(uncork))):
                return
        assert time.monotonic() < deadline
        time.sleep(0.02)


def of_pair(records: list[dict[str, Any]], pair: str) -> list[dict[str, Any]]:
    """The records of a pair."""
    return [record for record in records if f"target={pair} " in record["run"]["cell"]]


def test_all_pairs_run_the_same_schedule_and_the_key_is_nowhere_to_be_seen(
    hosts: Hosts, uncork: Uncork
) -> None:
    run = started(uncork, hosts, "rounds=2", "duration=300ms", "seed=7")
    seen: set[bytes] = set()
    key = b""
    while run.poll() is None:
        key = key or key_of(run)
        seen |= visible_texts(hosts)
        time.sleep(0.1)
    status, said = ended(run)
    assert status == 0, said
    assert len(key) == 64 and not [text for text in seen if key in text]
    records = records_of(only_folder(uncork))
    assert {record["status"] for record in records} == {"ok"}
    orders = [[(record["run"]["round"], record["run"]["position"], record["words"]["write"],
                record["run"]["label"])
               for record in of_pair(records, pair)] for pair in PAIRS]
    assert sorted(orders[0]) == sorted(orders[1]) and len(orders[0]) == 3 * 3
    facts = json.loads((only_folder(uncork) / "hosts.json").read_text())
    names = [{facts[record[end]["host"]]["host_name"] for record in of_pair(records, pair)
              for end in ("client", "server")}
             for pair in PAIRS]
    assert names == [{"h1", "h2"}, {"h3", "h4"}]


def key_of(run: subprocess.Popen[str]) -> bytes:
    """The key that a runner keeps in memory; empty while it has none."""
    for path in Path(f"/proc/{run.pid}/fd").glob("*"):
        with contextlib.suppress(OSError):
            if "uncork-key" in os.readlink(path):
                return path.read_bytes().strip().partition(b":")[2]
    return b""


def visible_texts(hosts: Hosts) -> set[bytes]:
    """Arguments and environments of all processes, here and on the hosts, and what stands in files
    of a run. Those of other tests may end meanwhile."""
    paths = [path for name in ("cmdline", "environ")
             for path in Path("/proc").glob(f"[0-9]*/{name}")]
    for folder in (Path("/tmp").glob("uncork-*"), *(
            host.home.glob(".cache/uncork/run") for host in hosts.hosts.values())):
        paths += [Path(place, name) for top in folder
                  for place, _, names in os.walk(top) for name in names]
    found = set()
    for path in paths:
        with contextlib.suppress(OSError):
            if path.is_file():
                found.add(path.read_bytes())
    return found


def batches(hosts: Hosts, name: str) -> list[int]:
    """Clients on a host that run cells, and do not answer a question."""
    found = hosts.hosts[name].programs("uncork-client")
    return [pid for pid in found if b"--batch" in Path(f"/proc/{pid}/cmdline").read_bytes()]


def test_a_host_that_disappears_costs_its_pair_only_which_goes_on_when_it_is_back(
    hosts: Hosts, uncork: Uncork
) -> None:
    run = started(uncork, hosts, "rounds=4", "duration=500ms")
    records_until(uncork, lambda records: len(records) >= 6)
    hosts.hosts["h4"].stop()
    records_until(uncork, lambda records: any(record["status"] == "failed" for record in records))
    hosts.hosts["h4"].start()
    hosts.await_ready("h4")
    shutil.rmtree(hosts.hosts["h4"].home / ".cache/uncork/run")  # what its sudden end has left
    status, said = ended(run)
    assert status == 0, said
    records = records_of(only_folder(uncork))
    assert len(records) == 2 * 5 * 3 and {record["status"]
                                          for record in of_pair(records, PAIRS[0])} == {"ok"}
    lost = [record for record in of_pair(records, PAIRS[1]) if record["status"] != "ok"]
    assert lost and all("h4" in record["reason"] for record in lost), lost
    last = [record for record in of_pair(records, PAIRS[1]) if record["run"]["round"] == 4]
    assert [record["status"] for record in last] == ["ok"] * 3, last


def test_a_host_that_stays_away_fails_its_cells_to_the_end(hosts: Hosts, uncork: Uncork) -> None:
    run = started(uncork, hosts, "rounds=1", "duration=500ms")
    deadline = time.monotonic() + GONE_S
    while not batches(hosts, "h3"):
        assert run.poll() is None and time.monotonic() < deadline
        time.sleep(0.02)
    hosts.hosts["h3"].stop()
    status, said = ended(run)
    hosts.hosts["h3"].start()
    hosts.await_ready("h3")
    shutil.rmtree(hosts.hosts["h3"].home / ".cache/uncork/run")
    assert status == 1 and "h3 cannot be reached" in said and "h3 could not be stopped" in said
    records = records_of(only_folder(uncork))
    assert {record["status"] for record in of_pair(records, PAIRS[0])} == {"ok"}
    assert all("h3" in record["reason"] for record in of_pair(records, PAIRS[1]))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL], ids=lambda number: number.name)
def test_a_run_that_is_interrupted_or_killed_leaves_nothing_behind(
    number: signal.Signals, hosts: Hosts, uncork: Uncork,
) -> None:
    run = started(uncork, hosts, "rounds=3", "duration=20s")
    deadline = time.monotonic() + 120
    while not all(batches(hosts, name) for name in ("h1", "h3")):
        assert run.poll() is None and time.monotonic() < deadline
        time.sleep(0.02)
    os.kill(run.pid, number)
    begun = time.monotonic()
    status, said = ended(run)
    assert status == (130 if number == signal.SIGINT else -number), said
    assert time.monotonic() - begun < GONE_S
