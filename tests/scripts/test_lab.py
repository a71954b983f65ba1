# SPDX-License-Identifier: MIT
"""Labs on this machine: what they carry, what they refuse, and that nothing is left of them."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shlex
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from conftest import Uncork, records_of
from hosts import namespaces_refusal
from processes import children_of, is_gone, until
from suite.base.errors import Failure
from suite.places.lab import Lab, lab_make, lab_of, namespace_inside, sysctl_read

SHORT = ("duration=20ms", "warmup=0s", "place=free")
PLAIN = {"link_rate": "none", "link_mtu": "1500", "link_delay": "0s", "link_loss": "0%",
         "sysctl": "none"}
PROXIED = "workload=proxy"
GONE_S = 10.0  # the client and its server notice within 5 s that nobody is there

pytestmark = pytest.mark.skipif(namespaces_refusal() is not None, reason=str(namespaces_refusal()))


def namespaces_of(pid: int) -> set[str]:
    """The namespaces that a process is in or holds by descriptors."""
    found = set()
    process = Path(f"/proc/{pid}")
    for pattern in ("task/*/ns/net", "fd/*"):
        # it ends while it is looked at
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            for path in process.glob(pattern):
                with contextlib.suppress(OSError):  # or closes what was there
                    found |= set(re.findall(r"^net:\[\d+\]$", os.readlink(path)))
    return found


def namespaces_held() -> set[str]:
    """The namespaces that any process is in or holds, and those that have a name."""
    found = set(re.findall(r"net:\[\d+\]", Path("/proc/self/mountinfo").read_text()))
    for process in Path("/proc").glob("[0-9]*"):
        found |= namespaces_of(int(process.name))
    return found


@contextlib.contextmanager
def lab_open(**words: str) -> Iterator[Lab]:
    """A lab of these words."""
    lab = lab_make(" ".join(f"{key}={value}" for key, value in (PLAIN | words).items()))
    with lab.held:
        yield lab


def devices() -> list[str]:
    """The names of this machine's network devices."""
    return sorted(path.name for path in Path("/sys/class/net").iterdir())


@dataclass
class Running:
    """A runner in the middle of a run in a lab, and who is below it."""

    process: subprocess.Popen[str]
    client: int
    server: int
    proxy: int | None

    @property
    def below(self) -> list[int]:
        """All of its processes but itself."""
        return [pid for pid in (self.client, self.server, self.proxy) if pid is not None]

    @property
    def lab(self) -> set[str]:
        """The namespaces of its lab."""
        return namespaces_of(self.process.pid) - namespaces_of(os.getpid())


def is_proxy(pid: int) -> bool:
    """Whether a process was started as a proxy."""
    try:
        return b"--proxy" in Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except (FileNotFoundError, ProcessLookupError):
        return False


def ends_find(process: subprocess.Popen[str], client: int, proxied: bool) -> Running | None:
    """The run of a client, if all of its ends are there and each is in a place of its own."""
    started = children_of(client)
    servers = [pid for pid in started if not is_proxy(pid)]
    proxies = [pid for pid in started if is_proxy(pid)]
    if len(servers) != 1 or len(proxies) != proxied:
        return None
    run = Running(process, client, servers[0], proxies[0] if proxied else None)
    places = [frozenset(namespaces_of(pid) - namespaces_of(os.getpid())) for pid in run.below]
    return run if all(places) and len(set(places)) == len(places) else None


def run_await(process: subprocess.Popen[str], but: int = 0, proxied: bool = False) -> Running:
    """Waits until a runner has a client, another than `but`, with its other ends, in a lab."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and process.poll() is None:
        for client in children_of(process.pid):
            run = ends_find(process, client, proxied) if client != but else None
            if run is not None:
                return run
        time.sleep(0.005)
    process.kill()
    raise AssertionError(f"no run in a lab: {process.communicate()}")


@pytest.fixture
def running(uncork: Uncork) -> Iterator[Callable[..., Running]]:
    """Starts a runner and waits until its first run in a lab is under way."""
    started: list[subprocess.Popen[str]] = []

    def start(*words: str) -> Running:
        process = uncork.start("run", "lab=on", "warmup=0s", "place=free", *words)
        started.append(process)
        return run_await(process, proxied=PROXIED in words)

    yield start
    for process in started:
        if process.poll() is None:
            process.kill()
        process.communicate()


def rate_of(record: dict[str, Any]) -> float:
    """Gbit/s that the server received."""
    (thread,) = record["server"]["threads"]
    return 8 * (thread["bytes_received"] - thread["first_bytes"]) / thread["elapsed_ns"]


def test_a_shaped_link_carries_its_rate_and_the_record_says_what_it_was(uncork: Uncork) -> None:
    done = uncork.run("run", "workload=stream", "message=64K", "lab=on", "link_rate=100mbit",
                      "rounds=1", "duration=200ms", "warmup=200ms", "place=free",
                      "-o", str(uncork.results / "x"))
    assert done.returncode == 0, done.stderr
    record = records_of(uncork.results / "x")[-1]
    assert record["status"] == "ok", record
    assert 0.05 < rate_of(record) < 0.11  # Gbit/s; 0.0956 where nothing else runs
    assert record["words"]["lab"] == "on" and record["words"]["link_rate"] == "100mbit"
    assert record["peer"].startswith("198.18.2.3:")
    lab = record["lab"]
    found = [(host, *[device[key] for key in ("device", "address", "mtu_bytes")])
             for host in "abc" for device in lab[host]]
    assert found == [("a", "to-b", "198.18.1.1/24", 1500), ("b", "to-a", "198.18.1.2/24", 1500),
                     ("b", "to-c", "198.18.2.2/24", 1500), ("c", "to-b", "198.18.2.3/24", 1500)]
    queues = [device["queues"] for host in "abc" for device in lab[host]]
    assert [[queue["kind"] for queue in ends] for ends in queues] == [["tbf"]] * 4
    assert queues[0][0]["options"]["rate"] == 100_000_000 // 8


def test_cells_in_a_lab_and_outside_stand_in_one_table(uncork: Uncork) -> None:
    folder = str(uncork.results / "x")
    done = uncork.run("run", "lab=off,on", "link_mtu=9000", "write=nodelay,cork", "message=15x2",
                      "rounds=2", *SHORT, "-o", folder)
    assert done.returncode == 0, done.stderr
    assert "link_mtu=9000" in done.stdout and "warning" not in done.stderr
    records = records_of(Path(folder))
    assert {record["status"] for record in records} == {"ok"}
    assert {("lab" in record) for record in records if record["words"]["lab"] == "on"} == {True}
    assert {("lab" in record) for record in records if record["words"]["lab"] == "off"} == {False}
    mss = {record["words"]["lab"]: record["client"]["threads"][0]["options"]["mss_bytes"]
           for record in records}
    assert 8000 < mss["on"] < 9000 < mss["off"]
    shown = uncork.run("show", folder, "lab=on", "write=cork").stdout
    assert "198.18.1.2/24, mtu 9000" in shown and "uncork lab up link_mtu=9000" in shown
    host, = json.loads((Path(folder) / "hosts.json").read_text()).values()
    assert host["device"]["name"] == "lo"


def test_a_proxy_is_in_the_middle_and_sends_on_what_came(uncork: Uncork) -> None:
    done = uncork.run("run", PROXIED, "chunk=1K", "lab=on", "link_rate=100mbit", "verify=on",
                      "write=writev", "window=16", "rounds=1", "duration=200ms", "warmup=200ms",
                      "place=free", "-o", str(uncork.results / "x"))
    assert done.returncode == 0, done.stderr
    record = records_of(uncork.results / "x")[-1]
    assert record["status"] == "ok", record
    assert record["via"].startswith("198.18.1.2:") and record["peer"].startswith("198.18.2.3:")
    assert 0.05 < rate_of(record) < 0.11


@pytest.mark.parametrize("workload", ["workload=request", PROXIED])
def test_a_killed_runner_leaves_nothing_and_can_go_on(
    uncork: Uncork, running: Callable[..., Running], workload: str,
) -> None:
    folder = uncork.results / "x"
    words = (workload, "rounds=1", "duration=400ms", "-o", str(folder))
    before = devices()
    run = running(*words)
    lab = run.lab
    assert len(lab) == 3
    assert all(namespaces_of(pid) & lab for pid in run.below)
    run.process.kill()
    run.process.communicate()
    until(lambda: all(map(is_gone, run.below)), f"one of {run.below} still runs", GONE_S)
    until(lambda: not lab & namespaces_held(), f"some of {lab} are still held", GONE_S)
    assert devices() == before
    done = uncork.run("run", "lab=on", "warmup=0s", "place=free", *words)
    assert done.returncode == 0, done.stderr
    assert [record["status"] for record in records_of(folder)] == ["ok"] * 4


@pytest.mark.parametrize("victims", [("client", "server"), (PROXIED, "proxy", "server", "client")],
                         ids=["request", "proxy"])
def test_a_killed_end_is_one_failed_run_and_the_others_go_on(
    uncork: Uncork, running: Callable[..., Running], victims: tuple[str, ...],
) -> None:
    folder, before, hurt = uncork.results / "x", devices(), list[Running]()
    words = [word for word in victims if word == PROXIED]
    run = running(*words, "rounds=1", "duration=2s", "-o", str(folder))
    lab = run.lab
    for victim in victims[len(words):]:
        if hurt:
            run = run_await(run.process, but=run.client, proxied=bool(words))
        hurt.append(run)
        os.kill(getattr(run, victim), signal.SIGKILL)
    _, stderr = run.process.communicate(timeout=60)
    assert run.process.returncode == 1 and f"{len(hurt)} of 4 runs failed: " in stderr, stderr
    assert [record["status"] for record in records_of(folder)] == [
        "failed"] * len(hurt) + ["ok"] * (4 - len(hurt))
    assert all(is_gone(pid) for run in hurt for pid in run.below)
    until(lambda: not lab & namespaces_held(), f"some of {lab} are still held", GONE_S)
    assert devices() == before


def test_an_interrupted_runner_leaves_nothing(running: Callable[..., Running]) -> None:
    run = running("rounds=1", "duration=60s")
    lab = run.lab
    run.process.send_signal(signal.SIGINT)
    run.process.communicate(timeout=30)
    assert run.process.returncode == 130
    until(lambda: not lab & namespaces_held(), f"some of {lab} are still held", GONE_S)


def test_a_server_that_others_reach_takes_nobody_without_its_key(
    uncork: Uncork, tmp_path: Path,
) -> None:
    """A named server in C, clients in A: no key, a wrong one, no TLS; then one that is let in."""
    files = {name: tmp_path / name for name in ("keys", "wrong")}
    for name, path in files.items():
        path.touch(0o600)
        path.write_text(f"alice:{name.encode().hex():0>64}\n")
    program = str(uncork.bin / "uncork-client")

    def ask(*options: str) -> subprocess.CompletedProcess[str]:
        with namespace_inside(held.namespaces["a"]):
            return subprocess.run([program, *options, "messages=5", "warmup=0s", "place=free"],
                                  capture_output=True, text=True, timeout=60)

    with lab_open() as held:
        command = [uncork.bin / "uncork-server", "--listen", "198.18.2.3:0"]
        with namespace_inside(held.namespaces["c"]):
            refused = subprocess.run(command, capture_output=True, text=True, timeout=60)
            server = subprocess.Popen([*command, "--psk", files["keys"]], text=True,
                                      stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        assert refused.returncode == 2 and "give --psk FILE, or --insecure" in refused.stderr
        assert server.stdout and server.stderr
        place = f"198.18.2.3:{json.loads(server.stdout.readline())['ready']['port']}"
        try:
            unasked = ask(f"server={place}")
            plain = ask("--insecure", f"server={place}")
            wrong = ask("--psk", str(files["wrong"]), f"server={place}")
            good = ask("--psk", str(files["keys"]), "--json", f"server={place}", "security=gnutls")
        finally:
            server.terminate()
            told = server.communicate(timeout=30)[1]
    assert unasked.returncode == 2 and "is on another machine: give --psk FILE" in unasked.stderr
    assert plain.returncode == 1 and "takes only clients with a key" in plain.stderr
    assert wrong.returncode == 1 and "has another key for 'alice'" in wrong.stderr
    assert good.returncode == 0, good.stderr
    record = json.loads(good.stdout)
    assert record["server"]["turned_away"] == 2
    assert record["words"][
        "security"] == "gnutls", "the key of its connections may cross the channel"
    assert "rejected a client at 198.18.1.1:" in told and "warning" not in told


def test_ends_of_a_lab_have_a_key_that_is_not_to_be_seen(running: Callable[..., Running]) -> None:
    run = running(PROXIED, "rounds=1", "duration=60s")
    environment = Path(f"/proc/{run.process.pid}/environ").read_bytes()
    for pid in (run.server, run.proxy):
        process = Path(f"/proc/{pid}")
        command = process / "cmdline"
        until(lambda path=command: b"--psk" in path.read_bytes(), "it does not start")
        arguments = command.read_bytes().split(b"\0")
        assert arguments[arguments.index(b"--psk") + 1] == b"/dev/fd/3"
        assert b"--insecure" not in arguments
        assert not re.search(rb"[0-9a-f]{32}", b"\0".join(arguments).lower())
        assert (process / "environ").read_bytes() == environment, "nothing was added to it"
    run.process.send_signal(signal.SIGINT)
    run.process.communicate(timeout=30)


def test_a_setting_holds_inside_its_lab_and_nowhere_else() -> None:
    name, outside = "net.ipv4.tcp_rmem", sysctl_read("net.ipv4.tcp_rmem")
    other = "4096 100000 200000"
    with lab_open() as plain, lab_open(sysctl=f"{name}:{other.replace(' ', ':')}") as lab:
        assert {sysctl_read(name, path) for path in lab.namespaces.values()} == {other}
        assert {sysctl_read(name, path) for path in plain.namespaces.values()} == {outside}
        assert sysctl_read(name) == outside and "sysctl" not in plain.facts
        assert lab.facts["sysctl"] == {"name": name, "a": other, "b": other, "c": other}


@pytest.mark.parametrize(("text", "why"), [
    ("net.ipv4.nonexistent:1", "cannot be read"), ("net.ipv4.tcp_sack:many", "does not take many"),
    ("net.core.netdev_max_backlog:1000", "net.core.netdev_max_backlog"),
])
def test_a_setting_that_no_namespace_has_is_refused(text: str, why: str) -> None:
    before = namespaces_of(os.getpid())
    with pytest.raises(Failure, match=why):
        lab_make(" ".join(f"{key}={value}" for key, value in (PLAIN | {"sysctl": text}).items()))
    assert namespaces_of(os.getpid()) == before


def test_cells_of_the_same_words_have_the_same_lab() -> None:
    assert lab_of({"lab": "off"}) is None
    assert lab_of(PLAIN | {"lab": "on"}) is lab_of(PLAIN | {"lab": "on", "write": "cork"})


def test_a_delay_is_there_or_refused_with_the_reason(uncork: Uncork) -> None:
    words = ("run", "lab=on", "link_delay=2ms", "rounds=1", "duration=100ms", "warmup=0s",
             "place=free", "-o", str(uncork.results / "x"))
    done = uncork.run(*words)
    if done.returncode == 0:
        record = records_of(uncork.results / "x")[-1]
        assert record["client"]["threads"][0]["latency"]["minimum"] > 7_900_000
    else:
        assert "netem limit 100000 delay 2ms)" in done.stderr


def test_without_the_right_to_make_namespaces_it_says_so(uncork: Uncork) -> None:
    weak = ["setpriv", "--bounding-set=-sys_admin"]
    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([*weak, *uncork.command(*arguments)], env=uncork.environment,
                              capture_output=True, text=True, timeout=60)
    refused = run("lab", "up")
    reason = "a lab needs root: unshare(2): Operation not permitted"
    assert (refused.returncode, refused.stderr) == (1, f"uncork: {reason}\n")
    planned = run("run", "-n", "lab=on,off", "write=cork")
    assert planned.returncode == 0, planned.stderr
    (line,) = [line for line in planned.stdout.splitlines() if line.startswith("# unsupported")]
    assert reason in line and "lab=on" in line


@pytest.mark.parametrize(("words", "status", "says"), [
    (["lab"], 2, "up|status|run|down"), (["lab", "frob"], 2, "frob"),
    (["lab", "up", "link_rtae=1gbit"], 2, "did you mean link_rate?"),
    (["lab", "up", "write=cork"], 2, "no word of a lab"),
    (["lab", "up", "link_rate=7"], 2, "link_rate=7 is not a valid rate"),
    (["lab", "up", "link_mtu=100"], 2, "576 to 65535"),
    (["lab", "up", "sysctl=net.ipv4.nonexistent:1"], 1, "net.ipv4.nonexistent"),
    (["lab", "run"], 2, "nothing to run"), (["lab", "run", "--on", "d", "true"], 2, "'d'"),
    (["run", "link_rate=1gbit", "write=cork"], 2, "no cell uses link_rate"),
    (["run", "lab=on", "transport=unix"], 2, "no cell uses lab"),
])
def test_what_is_typed_wrong_is_answered_in_one_line(
    uncork: Uncork, words: list[str], status: int, says: str,
) -> None:
    assert says in uncork.refused(*words, status=status)


@dataclass(frozen=True)
class Elsewhere:
    """`uncork` where the names of namespaces are this test's own: nobody else sees or has them."""

    uncork: Uncork
    pid: int

    def run(self, *command: str, status: int = 0) -> str:
        """Runs a command to its end; gives what it printed."""
        done = subprocess.run(["nsenter", "-t", str(self.pid), "--mount", "--root", "--", *command],
                              env=self.uncork.environment, capture_output=True, text=True,
                              timeout=60)
        assert done.returncode == status, done.stdout + done.stderr
        assert "Traceback" not in done.stderr
        return done.stdout + done.stderr

    def lab(self, *arguments: str, status: int = 0) -> str:
        """Runs `uncork lab`."""
        return self.run(*self.uncork.command("lab", *arguments), status=status)


@pytest.fixture
def elsewhere(uncork: Uncork) -> Iterator[Elsewhere]:
    """A mount namespace with a /run of its own; what has a name in it goes with it."""
    script = "mount -t tmpfs none /run && echo ready && exec cat"
    with subprocess.Popen(["unshare", "--mount", "sh", "-c", script], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as holder:
        assert holder.stdout and holder.stderr
        if holder.stdout.readline() != "ready\n":
            pytest.skip(f"no mount namespace can be made here: {holder.stderr.read().strip()}")
        yield Elsewhere(uncork, holder.pid)
        holder.kill()


def test_a_lab_stands_from_up_to_down(elsewhere: Elsewhere) -> None:
    assert elsewhere.lab("status") == elsewhere.lab("down") == "no lab is up\n"
    assert "uncork lab up makes one" in elsewhere.lab("run", "true", status=1)
    up = elsewhere.lab("up", "link_rate=10mbit", "link_mtu=9000", "sysctl=net.ipv4.tcp_sack:0")
    assert up == elsewhere.lab("status")
    assert up.startswith("lab: link_rate=10mbit link_mtu=9000 ")
    assert "c to-b   198.18.2.3/24, mtu 9000, tbf 10.0 Mbit/s" in up
    assert "net.ipv4.tcp_sack is 0 in a, 0 in b, 0 in c" in up
    assert "a lab is up already (link_rate=10mbit " in elsewhere.lab("up", status=1)
    assert "198.18.1.1" in elsewhere.lab("run", "ip", "-br", "address")
    assert "198.18.2.3" in elsewhere.lab("run", "--on", "c", "ip", "-br", "address")
    elsewhere.lab("run", "sh", "-c", "exit 7", status=7)
    assert "no-such-program" in elsewhere.lab("run", "no-such-program", "--flag", status=1)
    assert elsewhere.lab("down") == ""
    assert elsewhere.run("ip", "netns") == "" and elsewhere.lab("status") == "no lab is up\n"


def test_what_up_did_not_make_is_not_touched(elsewhere: Elsewhere) -> None:
    elsewhere.run("ip", "netns", "add", "uncork-b")
    for part in ("up", "down", "status"):
        assert "uncork-b is no namespace of a lab" in elsewhere.lab(part, status=1)
    assert elsewhere.run("ip", "netns").split() == ["uncork-b"]
    elsewhere.run("ip", "netns", "delete", "uncork-b")
    elsewhere.run("touch", "/run/netns/uncork-c")
    assert "uncork-c is no namespace of a lab" in elsewhere.lab("down", status=1)
    elsewhere.run("test", "-e", "/run/netns/uncork-c")


def test_what_is_left_of_a_lab_can_be_taken_down(elsewhere: Elsewhere) -> None:
    elsewhere.lab("up")
    elsewhere.run("ip", "netns", "delete", "uncork-b")
    assert "b is missing" in elsewhere.lab("status")
    assert "a lab is up already" in elsewhere.lab("up", status=1)
    elsewhere.lab("down")
    assert elsewhere.run("ip", "netns") == ""


@pytest.mark.parametrize("words", [("message=15x2",), (PROXIED, "chunk=1K")])
def test_the_commands_of_n_run_a_cell_by_hand(
    elsewhere: Elsewhere, words: tuple[str, ...],
) -> None:
    planned = elsewhere.run(*elsewhere.uncork.command(
        "run", "-n", "lab=on", "link_rate=1gbit", "write=cork", *words, *SHORT))
    commands = [shlex.split(line, comments=True) for line in planned.splitlines()]
    up, run, down = [command[1:] for command in commands if command]
    assert elsewhere.run(*elsewhere.uncork.command(*up)).startswith("lab: link_rate=1gbit ")
    answer = elsewhere.run(*elsewhere.uncork.command(*run))
    assert "by cork" in answer and "lab=on link_rate=1gbit" in answer and "warning" not in answer
    elsewhere.run(*elsewhere.uncork.command(*down))


@pytest.mark.parametrize("rate", ["1mbit", "10gbit", "400gbit"])
def test_a_link_of_any_rate_can_be_made(rate: str) -> None:
    with lab_open(link_rate=rate, link_mtu="65535") as lab:
        assert lab.facts["a"][0]["mtu_bytes"] == 65535
