# SPDX-License-Identifier: MIT
"""Our count of system calls is what strace counts."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from programs import (
    CLIENT,
    LOOP_CHANGES,
    LOOP_WAITS,
    as_recorded,
    client_json,
    server_started,
    strace_trouble,
)

CALLS = ("sendto", "sendmsg", "sendfile", "recvmsg", "setsockopt", "recvfrom", "io_uring_enter")
PER_MESSAGE = {"nagle": 15, "nodelay": 15, "cork": 17, "more": 15, "writev": 1, "coalesce": 1,
               "sendfile": 17}
FEW, MANY = 20, 60


TROUBLE = strace_trouble()
pytestmark = pytest.mark.skipif(TROUBLE is not None, reason=str(TROUBLE))


def counted(
    address: str, words: list[str], messages: int, folder: Path,
) -> tuple[Counter[str], dict]:
    """What strace counted in the client's data thread, and the client's record. In the main thread
    libuv has a ring of its own and may enter it once more or less."""
    command = ["strace", "-ff", "-o", str(folder / str(messages)), "-e", f"trace={','.join(CALLS)}",
               str(CLIENT), "--json"]
    done = subprocess.run(
        [*command, f"server={address}", f"messages={messages}", *words],
        capture_output=True,
        text=True,
        timeout=60,
        # it cannot look for leaks while it is traced
        env=os.environ | {"ASAN_OPTIONS": "detect_leaks=0"},
    )
    assert done.returncode == 0, done.stderr
    threads = [Counter(re.findall(r"^(\w+)\(", path.read_text(), re.MULTILINE))
               for path in folder.glob(f"{messages}.*")]
    # the data thread repeats a call for every message; the main thread has many calls of all kinds
    return max(threads, key=lambda calls: max(calls.values(), default=0)), json.loads(done.stdout)


@pytest.mark.parametrize("write", PER_MESSAGE)
def test_calls_of_a_message_are_those_that_strace_counts(write: str, tmp_path: Path) -> None:
    words = ["message=15x2", "reply=2", f"write={write}", "warmup=0s", "place=free"]
    with server_started() as server:
        few, _ = counted(server.address, words, FEW, tmp_path)
        many, record = counted(server.address, words, MANY, tmp_path)
    (thread,) = record["client"]["threads"]
    # what a run needs besides its messages is the same in both
    seen = {name: many[name] - few[name] for name in CALLS}
    ours = {name: thread["calls"].get(name, 0) * (MANY - FEW) / MANY for name in CALLS}
    assert seen == ours
    assert thread["write_calls"] == MANY * PER_MESSAGE[write]


BY_RING = {"uring-send": 1, "uring-sendmsg": 1, "uring-ring": 15, "uring-bundle": 1,
           "uring-zc": None}


@pytest.mark.parametrize("write", BY_RING)
def test_enters_of_a_message_are_those_that_strace_counts(write: str, tmp_path: Path) -> None:
    words = ["message=15x2", "reply=2", f"write={write}", "client.read=uring-multishot",
             "warmup=0s", "place=free"]
    with server_started() as server:
        (check,) = client_json("--check", "-", stdin=" ".join(words) + "\n")[:-1]
        if "unsupported" in check:
            pytest.skip(check["unsupported"])
        few, _ = counted(server.address, words, FEW, tmp_path)
        many, record = counted(server.address, words, MANY, tmp_path)
    (thread,) = record["client"]["threads"]
    assert thread["calls"] == {"io_uring_enter": thread["enters"]}
    if BY_RING[write]:  # when lent memory comes back is the kernel's
        assert many["io_uring_enter"] - few["io_uring_enter"] == (MANY - FEW) * BY_RING[write]
        assert thread["enters"] == MANY * BY_RING[write]


def test_a_message_by_uv_is_one_writev_that_nobody_counts(tmp_path: Path) -> None:
    with server_started() as server:
        done = subprocess.run(
            ["strace", "-ff", "-o", str(tmp_path / "trace"), "-e",
             f"trace=write,writev,sendto,sendmsg,read,recvfrom,{LOOP_WAITS},shutdown",
             str(CLIENT), "--json",
             f"server={server.address}", f"messages={MANY}", "message=15x2", "reply=2", "write=uv",
             "warmup=0s", "place=free"],
            capture_output=True, text=True, timeout=60,
            env=os.environ | {"ASAN_OPTIONS": "detect_leaks=0"})
    assert done.returncode == 0, done.stderr
    (thread,) = json.loads(done.stdout)["client"]["threads"]
    whole = re.compile(r"^writev\(\d+, .*, 15\) += 30$", re.MULTILINE)
    (trace,) = [text for path in tmp_path.glob("trace.*")
                if whole.search(text := as_recorded(path.read_text()))]
    assert len(whole.findall(trace)) == len(re.findall(r"^(?:writev|sendmsg)\(", trace,
                                                       re.MULTILINE)) == MANY
    assert len(re.findall(r"^sendto\(", trace, re.MULTILINE)) == 1  # the token
    assert len(re.findall(r"^read\(\d+, .*, 65536\) += 2$", trace, re.MULTILINE)) == MANY
    assert len(re.findall(r"^recvfrom\(", trace, re.MULTILINE)) == 0
    waits = len(re.findall(r"^epoll_wait\(", trace[: trace.index("shutdown(")], re.MULTILINE))
    assert thread["calls"] == {"epoll_wait": waits}


CONNECTIONS, REQUESTS = 64, 3000
WORK = ["message=64", "reply=1", f"connections={CONNECTIONS}", "engine=poll", "place=together",
        "warmup=0s"]


def calls_in_interval(lines: list[str]) -> dict[str, int]:
    """Of a data thread: from its first look at all of its connections to its first half-close,
    without the reads that found the end of a stream and the writes of the token."""
    text = "\n".join(lines)
    text = text[: text.index("shutdown(")]
    counts = {name: len(re.findall(rf"^{name}\(", text, re.MULTILINE))
              for name in ("sendto", "recvfrom", "epoll_wait")}
    counts["recvfrom"] -= len(re.findall(r"^recvfrom\(.*= 0$", text, re.MULTILINE))
    counts["sendto"] -= len(re.findall(r"^sendto\(\d+, .*, 20, ", text, re.MULTILINE))
    return counts


def data_threads(folder: Path, size: int) -> list[list[str]]:
    """The traces of the threads that sent messages of this size."""
    traces = [as_recorded(path.read_text()).splitlines() for path in folder.glob("trace.*")]
    return [lines for lines in traces
            if sum(f", {size}, MSG_NOSIGNAL" in line for line in lines) >= REQUESTS]


def test_the_poll_engine_counts_its_waits_as_strace_does_on_both_sides(tmp_path: Path) -> None:
    command = ["strace", "-ff", "-o", str(tmp_path / "trace"), "-e",
               f"trace=sendto,recvfrom,{LOOP_WAITS},shutdown", str(CLIENT), "--json",
               f"messages={REQUESTS}", *WORK]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120,
                          env=os.environ | {"ASAN_OPTIONS": "detect_leaks=0"})
    assert done.returncode == 0, done.stderr
    record = json.loads(done.stdout)
    for end, size in (("client", 64), ("server", 1)):
        (thread,) = record[end]["threads"]
        (trace,) = data_threads(tmp_path, size)
        assert calls_in_interval(trace) == thread["calls"], end
        assert thread["calls"]["sendto"] == thread["calls"]["recvfrom"] == REQUESTS, end
        assert thread["wait_calls"] == thread["calls"]["epoll_wait"], end


def test_the_poll_engine_changes_nothing_in_what_it_watches_while_it_runs(tmp_path: Path) -> None:
    """What it watches changes when a connection begins and ends: in a long run as often as in a
    short one."""
    made = []
    for messages in (REQUESTS, 3 * REQUESTS):
        with server_started() as server:
            command = ["strace", "-f", "-c", "-o", str(tmp_path / "summary"), "-e",
                       f"trace={LOOP_CHANGES}", str(CLIENT), "--json"]
            done = subprocess.run([*command, f"server={server.address}", f"messages={messages}",
                                   *WORK],
                                  capture_output=True, text=True, timeout=120,
                                  env=os.environ | {"ASAN_OPTIONS": "detect_leaks=0"})
        assert done.returncode == 0, done.stderr
        rows = re.findall(r"^\s*\S+\s+\S+\s+\S+\s+(\d+)\s.*(?:epoll_ctl|io_uring_enter)$",
                          (tmp_path / "summary").read_text(), re.MULTILINE)
        made.append(sum(map(int, rows)))
    assert abs(made[0] - made[1]) < CONNECTIONS / 4, made
