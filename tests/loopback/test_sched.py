# SPDX-License-Identifier: MIT
"""The scheduling class of the data threads: taken and seen on the live threads, or refused with
what would allow it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from programs import CLIENT, client_start, records_ok, server_started, trouble

SHORT = ["messages=50", "warmup=0s", "place=free"]
FIFO, RR = os.SCHED_FIFO, os.SCHED_RR
DROPPED = ["setpriv", "--bounding-set=-sys_nice", "--inh-caps=-sys_nice"]
GROUPS = Path("/sys/fs/cgroup/cpu")


@pytest.fixture
def permitted() -> None:
    """Skips what needs a real-time class."""
    if why := trouble("sched=rr:2 place=free"):
        pytest.skip(why)


def limited(priority: int) -> list[str]:
    """What to put before a command so that it has no right but a limit of that priority."""
    missing = [name for name in ("prlimit", "setpriv") if not shutil.which(name)]
    if missing:
        pytest.skip(f"{missing[0]} is not installed")
    limit = ["prlimit", f"--rtprio={priority}"]
    if subprocess.run([*limit, "true"], capture_output=True).returncode:
        pytest.skip(f"the limit of real-time priorities cannot be made {priority} here")
    return [*limit, *(DROPPED if os.geteuid() == 0 else [])]


def run(before: list[str], *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*before, str(CLIENT), *words], capture_output=True, text=True,
                          timeout=60)


def scheduling(pid: int) -> list[tuple[int, int]]:
    """(policy, priority) of every thread of a process, the first thread first, but for those that
    end meanwhile."""
    found = []
    for task in sorted(os.listdir(f"/proc/{pid}/task"), key=int):
        with suppress(FileNotFoundError, ProcessLookupError):
            fields = Path(f"/proc/{pid}/task/{task}/stat").read_text().rsplit(")", 1)[1].split()
            found.append((int(fields[38]), int(fields[37])))
    return found


@pytest.mark.usefixtures("permitted")
@pytest.mark.parametrize(("words", "expected"), [
    ({"client": "rr:2", "server": "fifo:3"}, {"client": 2 * [(RR, 2)], "server": 2 * [(FIFO, 3)]}),
    ({"client": "fifo:1", "server": "other"}, {"client": 2 * [(FIFO, 1)], "server": []}),
])
def test_live_data_threads_have_the_class_that_was_asked_for_and_others_have_not(
    words: dict[str, str], expected: dict[str, list[tuple[int, int]]]
) -> None:
    with server_started("127.0.0.1:0", "--allow-word", "sched") as server:
        client = client_start(f"server={server.address}",
                              *(f"{end}.sched={value}" for end, value in words.items()),
                              "place=free", "connections=2", "engine=block", "rate=100",
                              "duration=60s")
        pids = {"client": client.pid, "server": server.pid}
        for _ in range(500):
            found = {end: [each for each in scheduling(pid) if each != (0, 0)]
                     for end, pid in pids.items()}
            if found == expected:
                break
            time.sleep(0.01)
        control = [scheduling(pid)[0] for pid in pids.values()]
        client.kill()
        client.communicate()
    assert found == expected
    assert control == 2 * [(0, 0)]


@pytest.mark.usefixtures("permitted")
def test_a_record_says_which_class_each_thread_had() -> None:
    records = records_ok([f"{words} {' '.join(SHORT)}" for words in
                          ("sched=rr:2 server.sched=fifo:99",
                           "workload=stream sched=fifo:1 engine=poll", "connections=2")])
    found = [[thread["sched"] for end in ("client", "server") for thread in record[end]["threads"]]
             for record in records]
    assert found == [["rr:2", "fifo:99"], ["fifo:1", "fifo:1"], ["other", "other"]]


@pytest.mark.usefixtures("permitted")
def test_a_class_that_was_inherited_is_given_back() -> None:
    if not shutil.which("chrt"):
        pytest.skip("chrt is not installed")
    done = run(["chrt", "-r", "1"], "--json", *SHORT)
    assert done.returncode == 0, done.stderr
    record = json.loads(done.stdout)
    assert [thread["sched"] for end in ("client", "server")
            for thread in record[end]["threads"]] == ["other", "other"]


def test_without_the_right_a_cell_is_unsupported_with_the_command_that_allows_it() -> None:
    done = run(limited(0), "sched=rr:2", *SHORT)
    assert done.returncode == 1 and done.stderr.count("\n") == 1
    assert "unsupported: sched=rr:2 is not permitted" in done.stderr
    assert done.stderr.endswith("sudo prlimit --pid $$ --rtprio=2\n")


def test_a_class_that_was_inherited_and_may_not_be_left_is_named_as_the_reason() -> None:
    if not hasattr(os, "SCHED_IDLE") or not shutil.which("chrt"):
        pytest.skip("there is no chrt, or no class of the idle")
    for _ in range(10):  # on a busy machine this class may get no CPU for seconds
        done = run([*limited(0), "chrt", "--idle", "0"], *SHORT, "transport=unix")
        if done.returncode == 0 or "sched=other: " in done.stderr:
            break
    if done.returncode == 0:
        pytest.skip("this process may leave the class of the idle")
    assert done.returncode == 1
    assert "sched=other: this process may not leave the class" in done.stderr


def test_only_the_cells_that_need_the_right_are_unsupported() -> None:
    lines = "\n".join(f"{sched} {' '.join(SHORT)}"
                      for sched in ("sched=rr:2", "sched=other", "server.sched=rr:2"))
    done = subprocess.run([*limited(0), str(CLIENT), "--batch", "-"], input=lines,
                          capture_output=True, text=True, timeout=60)
    assert done.returncode == 0
    *records, _ = map(json.loads, done.stdout.splitlines())
    assert [record["status"] for record in records] == ["unsupported", "ok", "unsupported"]


@pytest.mark.usefixtures("permitted")
def test_the_limit_of_that_command_allows_its_priority_and_no_more() -> None:
    before = limited(2)
    assert run(before, "sched=rr:2", *SHORT).returncode == 0
    done = run(before, "sched=rr:3", *SHORT)
    assert done.returncode == 1 and "the limit of real-time priorities is 2" in done.stderr


@pytest.fixture
def group() -> Iterator[Path]:
    """An empty control group without a real-time budget."""
    path = GROUPS / f"uncork-test-{os.getpid()}"
    try:
        path.mkdir()
    except OSError as error:
        pytest.skip(f"no control group of the first version can be made here: {error}")
    try:
        if not (path / "cpu.rt_runtime_us").exists():
            pytest.skip("this kernel's control groups have no real-time budget")
        yield path
    finally:
        path.rmdir()


@pytest.mark.usefixtures("permitted")
def test_in_a_group_without_real_time_time_the_file_is_named_that_gives_it_some(
        group: Path) -> None:
    inside = ["sh", "-c", f'echo $$ >{group}/cgroup.procs && exec "$@"', "sh"]
    done = run(inside, "sched=rr:2", *SHORT)
    assert done.returncode == 1
    assert done.stderr.endswith(
        f"no real-time budget; as root: echo 500000 > {group}/cpu.rt_runtime_us\n")
    try:
        (group / "cpu.rt_runtime_us").write_text("100000")
    except OSError as error:
        pytest.skip(f"the groups above have none to give: {error}")
    assert run(inside, "sched=rr:2", *SHORT).returncode == 0


SPINS = "rate=1000 pace=spin duration=20ms warmup=0s"


@pytest.mark.usefixtures("permitted")
def test_it_may_share_one_with_a_server_that_goes_first() -> None:
    lines = [f"client.sched=fifo:5 server.sched=fifo:6 place=together {SPINS}"]
    if not trouble("place=apart"):
        lines.append(f"sched=fifo:5 place=apart {SPINS}")
    records_ok(lines)


@pytest.mark.usefixtures("permitted")
def test_real_time_threads_of_both_ends_leave_control_enough_to_end_the_run() -> None:
    places = ["together"] if trouble("place=apart") else ["together", "apart"]
    lines = [f"sched={sched} place={place} {work} duration=150ms warmup=20ms" for place in places
             for sched, work in
             [("rr:2", "workload=stream message=64K"),
              ("fifo:2", "workload=stream direction=both engine=poll")]]
    records_ok(lines)
