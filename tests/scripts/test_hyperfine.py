# SPDX-License-Identifier: MIT
"""timer=hyperfine: whole processes of fixed work, and whatever happens one record for every run."""

from __future__ import annotations

import json
import os
import shlex
import signal
import stat
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from conftest import Uncork, keys_of, records_of
from processes import descendants_await, has_ended
from suite.base.by_hand import TIMES_FILE
from suite.base.client import Client
from suite.base.errors import Failure, UsageError
from suite.measure.hyperfine import hyperfine_run, times_read, version_read
from suite.measure.plan import Plan, plan_make
from suite.observe.metrics import metrics_compute
from suite.places.targets import Targets
from suite.result.record import Record
from suite.scenario.scenario import Scenario

STREAM = ("workload=stream", "transport=unix", "message=256K", "chunk=256K", "place=free")
TIMED = (*STREAM, "warmup=0s", "timer=hyperfine")
ENDLESS = (*TIMED, "bytes=1024G")
Fake = Callable[[str], Client]


def plan_timed(client: Client, *words: str) -> Plan:
    return plan_make(Targets(client), Scenario("words"), None, [*TIMED, *words]).plan


@pytest.fixture
def fake(binaries: Client, tmp_path: Path) -> Fake:
    """Gives a client that runs a shell script where hyperfine starts it, and else is the real
    one."""
    def make(script: str) -> Client:
        folder = tmp_path / "bin"
        folder.mkdir()
        program = folder / "uncork-client"
        program.write_text(f"#!/bin/sh\nREAL='{binaries.program}'; STATE='{folder}'\n"
                           'if [ "$1" != --json ]; then exec "$REAL" "$@"; fi\n' + script + "\n")
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
        (folder / "uncork-server").symlink_to(binaries.folder / "uncork-server")
        return Client(folder, None)
    return make


def test_hyperfine_and_the_ends_agree_on_time_and_cpu(binaries: Client) -> None:
    ((_, record),) = hyperfine_run(binaries, plan_timed(binaries, "bytes=256M").cells, 60)
    assert record["status"] == "ok", record
    timed, ends = record["hyperfine"], [record["client"], record["server"]]
    spent = [end["process"]["user_ns"] + end["process"]["system_ns"] for end in ends]
    # Starting and ending two processes is not in their own figures, and costs little.
    assert timed["wall_ns"] >= record["wall_ns"]
    assert 0 <= timed["user_ns"] + timed["system_ns"] - sum(spent) < 5e8
    assert min(spent) > 0 and timed["user_ns"] + timed["system_ns"] > max(spent)
    assert timed["version"] == version_read()
    values = metrics_compute(Record(record))
    assert values["time"] == pytest.approx(timed["wall_ns"] * 1e-9)
    assert values["server_system"] == pytest.approx(ends[1]["process"]["system_ns"] * 1e-9)


def test_a_matrix_is_resumed_where_it_was_and_its_table_is_of_whole_processes(
    uncork: Uncork,
) -> None:
    folder = uncork.results / "mine"
    command = ("run", *TIMED, "bytes=4M", "sndbuf=default,64K", "rounds=2", "-o", str(folder))
    whole = uncork.run(*command)
    assert whole.returncode == 0, whole.stderr
    assert {"time", "user", "system", "softirq", "timer"} <= set(whole.stdout.split())
    assert "less than 1 s of CPU in a run" in whole.stdout
    before = keys_of(folder)
    path = folder / "records.jsonl"
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:4]))
    resumed = uncork.run(*command)
    assert "resuming" in resumed.stderr and resumed.returncode == 0
    assert keys_of(folder) == before and len(before) == 9
    assert all("hyperfine" in record for record in records_of(folder))
    assert json.loads((folder / "plan.json").read_text())["timer"] == "hyperfine"
    other = uncork.refused(*(word for word in command if not word.startswith("timer=")))
    assert "has another plan" in other


@pytest.mark.parametrize("words, said", [
    ("workload=stream warmup=0s", "times fixed work: add bytes="),
    ("workload=stream bytes=1M", "a warm-up would be in the time: add warmup=0s"),
    ("messages=1 warmup=0s server=127.0.0.1:1", "leave out server=127.0.0.1:1"),
    ("messages=1 warmup=0s lab=on", "leave out lab=on"),
    ("workload=proxy bytes=1M warmup=0s via=127.0.0.1:1", "leave out via=127.0.0.1:1"),
    ("messages=1 warmup=0s peer=127.0.0.1:1 control=none", "leave out peer=127.0.0.1:1"),
])
def test_work_that_cannot_be_timed_from_outside_is_refused_by_name(
    binaries: Client, words: str, said: str,
) -> None:
    with pytest.raises(UsageError) as refused:
        plan_make(Targets(binaries), Scenario("words"), None, [*words.split(), "timer=hyperfine"])
    assert str(refused.value).startswith(f"timer=hyperfine: {words}: ")
    assert said in str(refused.value)


def test_without_hyperfine_nothing_runs_and_the_package_is_named(
    uncork: Uncork, tmp_path: Path,
) -> None:
    (tmp_path / "empty").mkdir()
    done = uncork.run("run", *TIMED, "bytes=1M", PATH=str(tmp_path / "empty"))
    assert done.returncode == 1 and done.stderr.count("\n") == 1
    assert "hyperfine is missing: scripts/setup/target run installs it" in done.stderr
    assert not uncork.results.exists()


@pytest.mark.parametrize("script", ["echo hyperfine 1.12.0", "echo garbage",
                                    "printf '\\377\\376'", "exit 3", "exec sleep 600"])
def test_a_hyperfine_that_is_too_old_or_another_program_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str,
) -> None:
    program = tmp_path / "hyperfine"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    monkeypatch.setattr("suite.measure.hyperfine.VERSION_LIMIT_S", 1)
    with pytest.raises(Failure, match="hyperfine --version prints '.*', and 1.13 or newer is"):
        version_read()


@pytest.mark.parametrize("times", [
    "garbage", "[]", '{"results": []}', '{"results": [{"times": [1], "user": 1}]}',
    '{"results": [{"times": [Infinity], "user": 1, "system": 1}]}',
    '{"results": [{"times": [1], "user": NaN, "system": 1}]}',
    '{"results": [{"times": [1], "user": -1, "system": 1}]}',
    '{"results": [{"times": ["1"], "user": 1, "system": 1}]}',
])
def test_times_that_are_no_times_are_none(tmp_path: Path, times: str) -> None:
    (tmp_path / TIMES_FILE).write_text(times)
    assert times_read(tmp_path, "1.15.0") is None


@pytest.mark.parametrize("script, reason", [
    ("echo noise >&2; echo 'uncork-client: no server' >&2; exit 1",
     "ended with status 1: no server"),
    ("kill -SEGV $$", "ended with status 1: Error: The process has been terminated"),
    ("exit 0", "left no whole record"),
    ("echo '{\"status\": \"o' > record.json", "left no whole record"),
])
def test_a_run_without_a_whole_record_is_failed_with_what_was_said(
    fake: Fake, script: str, reason: str,
) -> None:
    client = fake(script)
    ((_, record),) = hyperfine_run(client, plan_timed(client, "bytes=1M").cells, 60)
    assert record["status"] == "failed"
    assert record["reason"].startswith(f"hyperfine {reason}")


def test_a_run_that_fails_tells_why_in_its_own_record(fake: Fake) -> None:
    client = fake('exec "$REAL" --json "$2" server=127.0.0.1:1 workload=stream bytes=1M')
    ((_, record),) = hyperfine_run(client, plan_timed(client, "bytes=1M").cells, 60)
    assert record["status"] == "failed" and "cannot connect" in record["reason"]
    assert record["phase"] == "start" and "hyperfine" not in record


def test_a_run_that_hangs_is_ended_with_all_that_it_started(fake: Fake) -> None:
    client = fake('echo $$ > "$STATE/pid"; exec sleep 600')
    ((_, record),) = hyperfine_run(client, plan_timed(client, "bytes=1M").cells, 0.5)
    assert record["reason"].startswith("not finished after")
    assert has_ended(int((client.folder / "pid").read_text()))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_a_runner_that_ends_takes_hyperfine_client_and_server_with_it(
    uncork: Uncork, number: signal.Signals,
) -> None:
    process = uncork.start("run", *ENDLESS, "rounds=2")
    found = descendants_await(process.pid, 3)
    assert len(found) == 3, f"{found}: not hyperfine, client and server"
    process.send_signal(number)
    process.communicate(timeout=30)
    assert process.returncode == (130 if number == signal.SIGINT else -number)
    assert all(map(has_ended, found))


def test_a_dry_run_prints_commands_that_can_be_typed(uncork: Uncork, tmp_path: Path) -> None:
    done = uncork.run("run", *TIMED, "bytes=1M", "-n")
    (line,) = [line for line in done.stdout.splitlines() if not line.startswith("#")]
    program, *words = shlex.split(line, comments=True)
    assert program == "hyperfine"
    subprocess.run([program, *words], cwd=tmp_path, check=True, timeout=60, capture_output=True,
                   env=os.environ | {"PATH": f"{uncork.bin}:{os.environ['PATH']}"})
    assert json.loads((tmp_path / "record.json").read_text())["status"] == "ok"
    assert len(json.loads((tmp_path / "times.json").read_text())["results"]) == 1
