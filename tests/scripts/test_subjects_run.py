# SPDX-License-Identifier: MIT
"""Runs of the subjects that are installed here: what each command tells of them, and what is left
where one of them ends."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from conftest import Uncork, records_of
from faked import Faked, faked
from processes import descendants_of, has_ended
from suite.base.client import Client
from suite.measure.plan import plan_make
from suite.measure.runner import batch_run
from suite.observe.metrics import metrics_compute
from suite.places.targets import Targets
from suite.result.record import Record
from suite.scenario import subject as subjects
from suite.scenario.scenario import Scenario
from test_ssh import client, hosts, records_in
from test_subjects import LOADED, LOADS, NAMES, READS, RELAYS, SHORT, folder, needs

__all__ = ["client", "faked", "folder", "hosts"]

pytestmark = pytest.mark.usefixtures("elsewhere")

# what each is asked, and values of one of its parameters
ASKED = dict.fromkeys(("nbdkit", "qemu-nbd"), (READS, "size", ("32M", "64M"))) | {
    "uncork": (READS, "reply_write", ("writev", "coalesce")),
    "memcached": (("protocol=memcached", "op=get:100"), "megabytes", ("64", "128")),
    "redis": (("protocol=resp", "op=get:100"), "io_threads", ("1", "2")),
    "nginx": (("protocol=http", "op=get:4K"), "tcp_nodelay", ("on", "off")),  # in a file
}
# of Debian 12; the claims of scenario qemu_nbd are of it too
QEMU_WITHOUT_NODELAY = "7.2"


@pytest.fixture
def copied(folder: Path) -> Path:
    """A copy of qemu-nbd."""
    return Path(shutil.copy(needs("qemu-nbd").find() or "", folder / "qemu-nbd"))


def another_make(program: Path) -> None:
    """Makes it another file, which is the same program."""
    with open(program, "ab") as file:
        file.write(b"another")  # behind the last segment


@pytest.mark.parametrize("name", sorted({*NAMES} - {*RELAYS}))
def test_a_subject_is_measured_and_every_command_tells_of_it(uncork: Uncork, name: str) -> None:
    found = needs(name)
    asks, parameter, values = ASKED[name]
    word = f"{name}.{parameter}"
    done = uncork.run("run", *asks, f"subject={name}", f"{word}={','.join(values)}", *SHORT, "-o",
                      "measured")
    assert done.returncode == 0, done.stderr
    records = records_of(Path("measured"))
    assert {record["status"] for record in records} == {"ok"}
    for record in records:
        assert record["subject"]["name"] == name and "server" not in record
        assert name == "nginx" or any(record["words"][word] in one
                                      for one in record["subject"]["arguments"])
    assert "\nsubject " in done.stdout and f"\n{word}" in done.stdout
    csv = uncork.run("table", "measured", "--csv", "columns=segments_per_reply").stdout
    assert {line.split(",")[2] for line in csv.splitlines()[1:]} == {"1"} or "1.0" in csv
    shown = uncork.run("show", "measured", f"{word}={values[1]}").stdout
    assert f"started as  {found.find()} " in shown
    block = uncork.run("paste", "measured").stdout
    assert "\nsubject: " in block
    Path("block").write_text(block)
    assert uncork.run("verify", "block", "measured").returncode == 0
    assert uncork.run("export", "measured", f"{word}={values[1]}", "-o", "-").returncode == 0
    gated = uncork.run("compare", "measured", "--fail-if", "segments_per_reply > 1")
    assert gated.returncode in (0, 3), gated.stdout + gated.stderr


@pytest.mark.parametrize("name", RELAYS)
def test_a_relay_is_measured_beside_our_proxy(uncork: Uncork, name: str) -> None:
    needs(name)
    done = uncork.run("run", "workload=proxy", f"subject=own,{name}", "direction=send,receive",
                      "messages=20", "verify=on", "place=free", "warmup=10ms", "rounds=1", "-o",
                      "relayed")
    assert done.returncode == 0, done.stderr
    for record in records_of(Path("relayed")):
        figures = metrics_compute(Record(record))
        assert record["status"] == "ok" and ("proxy" in record) == ("subject" not in record)
        assert figures["segments_per_message"] and figures["segments_per_message"] >= 1
        assert figures["proxy_cpu_per_byte"] and figures["server_cpu_per_message"]
        assert (figures["proxy_sends_per_message"] is None) == ("subject" in record)
    refused = uncork.refused("run", "workload=request", f"subject={name}")
    assert "needs a protocol, like protocol=nbd, or workload=proxy" in refused


def test_a_result_of_a_subject_is_gone_on_with(uncork: Uncork) -> None:
    needs("qemu-nbd")
    words = ("run", *READS, "subject=qemu-nbd", "qemu-nbd.size=32M", *SHORT, "seed=1", "-o", "one")
    assert uncork.run(*words).returncode == 0
    lines = Path("one/records.jsonl").read_text().splitlines(keepends=True)
    Path("one/records.jsonl").write_text("".join(lines[:-1]))
    done = uncork.run(*words)
    assert done.returncode == 0 and "resuming" in done.stderr, done.stderr
    assert len(records_of(Path("one"))) == len(lines)


def test_a_result_is_not_gone_on_with_by_another_program(uncork: Uncork, copied: Path) -> None:
    words = ("run", *READS, "subject=qemu-nbd", f"qemu-nbd.program={copied}", *SHORT, "seed=1",
             "-o", "one")
    assert uncork.run(*words).returncode == 0
    another_make(copied)
    told = uncork.refused(*words, "--more")
    assert told.startswith(f"uncork: one was measured with another {copied} (")
    assert "now it is" in told


def test_two_programs_are_told_apart_by_file_and_digest(uncork: Uncork, copied: Path) -> None:
    another_make(copied)
    done = uncork.run("run", *READS, "subject=qemu-nbd", f"qemu-nbd.program=qemu-nbd,{copied}",
                      *SHORT, "-o", "both")
    assert done.returncode == 0, done.stderr
    digests = {record["subject"]["program"]: record["subject"]["sha256"][:16]
               for record in records_of(Path("both"))}
    assert len(digests) == len(set(digests.values())) == 2
    told = " ".join(done.stdout.split())
    for path, digest in digests.items():
        assert f"({path} {digest})" in told.replace("- ", "-")
    block = " ".join(uncork.run("paste", "both").stdout.split())
    assert "compared: subject qemu-nbd.program " in block and "differs: nothing else" in block


def test_under_tls_qemu_nbd_waits_for_the_acknowledgement_of_a_header(uncork: Uncork) -> None:
    found = needs("qemu-nbd")
    version = subjects.version_read(found) or ""
    if f" {QEMU_WITHOUT_NODELAY}." not in version:
        pytest.skip(f"{version}: the claims are of {QEMU_WITHOUT_NODELAY}")
    done = uncork.run("run", "qemu_nbd", "op=read:4K", "protocol=nbd", "override=off",
                      "duration=300ms", "warmup=50ms", "rounds=2", "-o", "qemu")
    assert done.returncode == 0, done.stderr
    answers = uncork.run("check", "qemu").stdout.splitlines()
    holds = [line for line in answers if line.startswith("ok ")]
    for claim in ("header and data of a simple reply leave as one segment",
                  "under TLS header and data are two records", "which leave as two segments"):
        assert any(claim in line for line in holds), "\n".join(answers)
    slow = [metrics_compute(Record(record))["latency_p50"] for record in records_of(Path("qemu"))
            if record["words"]["security"] == "gnutls"]
    assert all(value and value > 0.035 for value in slow)


def test_nbdkit_joins_header_and_data_plain_and_under_tls(uncork: Uncork) -> None:
    needs("nbdkit")
    done = uncork.run("run", "nbdkit", "op=read:4K", "override=off", "duration=50ms",
                      "warmup=10ms", "rounds=2", "-o", "nbdkit")
    assert done.returncode == 0, done.stderr
    figures = [metrics_compute(Record(record)) for record in records_of(Path("nbdkit"))]
    assert {figure["segments_per_reply"] for figure in figures} == {1}
    assert {figure["records_per_reply"] for figure in figures} == {None, 1}


@pytest.mark.parametrize(("name", "override", "joins"), [
    ("memcached", "off", False), ("memcached", "join", True), ("redis", "off", True)])
def test_a_reply_is_one_segment_and_redis_joins_those_of_a_pipeline(
        uncork: Uncork, name: str, override: str, joins: bool) -> None:
    needs(name)
    protocol = {"memcached": "memcached", "redis": "resp"}[name]
    done = uncork.run("run", "pipelines", f"subject={name}", f"protocol={protocol}", "depth=1,16",
                      "transport=tcp", f"override={override}", "duration=50ms", "warmup=10ms",
                      "rounds=2", "-o", name)
    assert done.returncode == 0, done.stderr
    records = records_of(Path(name))
    segments = [(record["words"]["depth"], metrics_compute(Record(record))["segments_per_reply"])
                for record in records]
    assert {value for depth, value in segments if depth == "1"} <= {1}
    if joins:
        assert all(value and value < 0.5 for depth, value in segments if depth == "16")


def test_of_a_server_that_is_there_the_table_has_what_came_in(uncork: Uncork) -> None:
    program = needs("nbdkit").find() or ""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        os.set_inheritable(listener.fileno(), True)
        port = listener.getsockname()[1]
        served = subprocess.Popen(
            ["bash", "-c", 'exec 3<&"$1"; shift; LISTEN_FDS=1 LISTEN_PID=$$ exec "$@"', "bash",
             str(listener.fileno()), program, "-f", "memory", "1M"], pass_fds=[listener.fileno()])
    try:
        done = uncork.run("run", *READS, f"peer=127.0.0.1:{port}", "control=none", *SHORT, "-o",
                          "there")
        assert done.returncode == 0, done.stderr
        figures = [metrics_compute(Record(record)) for record in records_of(Path("there"))]
        assert {figure["segments_per_reply"] for figure in figures} == {1}
        assert "segments_per_reply" in done.stdout and "server_cpu" not in done.stdout
    finally:
        served.kill()
        served.wait()


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_killed_runner_leaves_no_process_and_no_folder(uncork: Uncork, folder: Path,
                                                         monkeypatch: pytest.MonkeyPatch,
                                                         number: signal.Signals) -> None:
    needs("qemu-nbd")
    monkeypatch.setenv("TMPDIR", str(folder))
    runner = uncork.start("run", *READS, "subject=qemu-nbd", "duration=60s", "-o", "killed")
    until = time.monotonic() + 60
    try:
        while not any(is_measured(pid) for pid in descendants_of(runner.pid)):
            assert time.monotonic() < until and runner.poll() is None
            time.sleep(0.01)
        started = descendants_of(runner.pid)
        runner.send_signal(number)
        runner.communicate(timeout=60)
    finally:
        runner.kill()
    assert len(started) >= 3 and all(map(has_ended, started))
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("number, says", [
    (signal.SIGKILL, "the subject qemu-nbd was ended by signal 9; "),
    # it is noticed after 5 s
    pytest.param(signal.SIGSTOP, "the subject qemu-nbd was stopped by signal 19; ",
                 marks=pytest.mark.long),
])
def test_a_subject_that_is_killed_or_stopped_is_named_and_the_command_fails(
    uncork: Uncork, number: signal.Signals, says: str,
) -> None:
    needs("qemu-nbd")
    runner = uncork.start("run", *READS, "subject=qemu-nbd", "place=free", "duration=500ms",
                          "warmup=0s", "rounds=1", "-o", "hurt")
    until, hurt = time.monotonic() + 60, list[int]()
    while not hurt:
        assert time.monotonic() < until and runner.poll() is None
        hurt = [pid for pid in descendants_of(runner.pid) if is_measured(pid)]
    os.kill(hurt[0], number)
    _, stderr = runner.communicate(timeout=60)
    last = stderr.splitlines()[-1]
    assert runner.returncode == 1 and last.startswith("uncork: 1 of 4 runs failed: 1 of 4 of ")
    assert says in last, last
    assert [record["status"] for record in records_of(Path("hurt"))] == ["failed"] + 3 * ["ok"]


def is_measured(pid: int) -> bool:
    """Whether a process is the subject and has a connection: one that it listens on, and another
    socket."""
    try:
        links = [os.readlink(link) for link in Path(f"/proc/{pid}/fd").iterdir()]
        return os.readlink(f"/proc/{pid}/exe").endswith("/qemu-nbd") and sum(
            link.startswith("socket:") for link in links) > 1
    except OSError:
        return False


@pytest.mark.parametrize("target", ["ssh:one", "ssh:one+ssh:two"])
def test_a_load_runs_on_the_machine_of_the_client(
    client: Client, faked: Faked, hosts: Callable[[str], None], target: str,
) -> None:
    needs("nbdkit"), needs("nbdcopy")
    words = (f"target={target}", *LOADED, "load=nbdcopy")
    with Targets(client) as targets:
        (cell,) = plan_make(targets, Scenario("words"), None, words).plan.cells
        ((_, record),) = batch_run(targets, [cell])
    assert record["status"] == "ok", record.get("reason")
    assert record["load"]["moved_bytes"] > 1 << 20
    assert [*(faked.folder / "one").glob(".cache/uncork/bin/*/subjects-*.json")]


@pytest.mark.parametrize("target", ["ssh:one", "ssh:one+ssh:two"])
def test_a_subject_runs_on_the_machine_of_the_server(
    client: Client, faked: Faked, hosts: Callable[[str], None], target: str,
) -> None:
    needs("qemu-nbd")
    (record,) = records_in(replace(client), f"target={target}", *READS, "subject=qemu-nbd",
                           "qemu-nbd.size=1M")
    assert record["status"] == "ok", record.get("reason")
    assert record["subject"]["name"] == "qemu-nbd" and record["words"]["target"] == target
    serving = faked.folder / target.rpartition("ssh:")[2]
    (copied,) = serving.glob(".cache/uncork/bin/*/subjects-*.json")
    assert sorted(json.loads(copied.read_text())) == sorted(NAMES + LOADS)


def test_a_load_is_timed_in_rounds_and_the_table_has_both_sides(uncork: Uncork) -> None:
    needs("nbdkit"), needs("nbdcopy")
    uncork.run("run", *LOADED, "load=nbdcopy", "nbdcopy.override=off,none", "rounds=2", "-o", "r")
    table = uncork.run("table", "r").stdout
    assert re.search(r"subject +nbdkit \S+; nbdcopy ", table) and "the load" in table
    assert re.search(r"^time .*\n^load_cpu .*\n^subject_cpu ", table, re.MULTILINE)
    for record in records_of(Path("r")):
        values = metrics_compute(Record(record))
        times = record["hyperfine"]
        assert values["time"] == times["wall_ns"] * 1e-9 > 0
        assert values["load_cpu"] == pytest.approx((times["user_ns"] + times["system_ns"]) * 1e-9)
        assert values["subject_cpu"] == record["subject"]["cpu_ns"] * 1e-9 > 0
        assert values["messages_per_second"] is None and record["load"]["moved_bytes"] > 1 << 20


def test_holes_are_no_result(uncork: Uncork) -> None:
    needs("nbdkit"), needs("nbdcopy")
    done = uncork.run("run", "workload=command", "subject=nbdkit", "nbdkit.size=2G", "load=nbdcopy",
                      "nbdkit.filter=noparallel", "rounds=1", "-o", "holes")
    assert done.returncode == 1
    assert re.search(r"nbdcopy moved \d{3,5} of 2147483648 bytes by its sockets: holes, ",
                     done.stderr)


@pytest.mark.parametrize(("load", "words"), [
    ("nbdcopy", ("subject=nbdkit", "security=gnutls", "transport=unix")),
    ("qemu-img-read", ("subject=qemu-nbd", "qemu-nbd.size=1M")),
    ("qemu-img-write", ("subject=nbdkit", "nbdkit.size=1M")),
    ("qemu-img-null", ("subject=qemu-nbd", "qemu-nbd.size=1M")),
    ("nbdcopy-hash", ("subject=nbdkit", "nbdkit.size=1M")), ("fio", ("subject=nbdkit",)),
    ("redis-benchmark", ("subject=redis", "redis-benchmark.requests=1000")),
    ("wrk", ("subject=nginx", "protocol=http", "op=get:4K"))])
def test_every_load_that_ships_asks_a_real_server(uncork: Uncork, load: str,
                                                  words: tuple[str, ...]) -> None:
    needs(load), needs(words[0].partition("=")[2])
    uncork.run("run", "workload=command", f"load={load}", *words, "rounds=1", "-o", "r")
    assert {record["status"] for record in records_of(Path("r"))} == {"ok"}
