# SPDX-License-Identifier: MIT
"""The CPU account of a thread holds its work, and nothing that an end does for its record."""

from __future__ import annotations

import re
from typing import Any

import pytest

from programs import SANITIZED, strace_run, strace_trouble

TROUBLE = strace_trouble()
pytestmark = pytest.mark.skipif(TROUBLE is not None, reason=str(TROUBLE))

WORK = {"sendto", "recvfrom"}
WAITS = {"epoll_wait", "epoll_pwait", "epoll_ctl", "io_uring_enter"}  # of a loop of libuv
HANDS_OVER = {"futex"}
TAKES_REST = {"shutdown", "read"}  # the half-close; control's wake-up, which the loop may see late
RUNTIME = {"mmap", "munmap", "madvise", "mprotect", "sched_yield", "futex"}  # of sanitizers
ACCOUNT = "getrusage(RUSAGE_THREAD"
MACHINE = '"/proc/stat"'
# words, calls of the work, data threads of all ends with their senders
CASES = {
    "block": ("message=15x2 reply=2", WORK, 2),
    "unix": ("message=15x2 reply=2 transport=unix", WORK, 2),
    "poll": ("message=64 connections=4 threads=2 engine=poll", WORK | WAITS, 4),
    "handoff": ("message=64 handoff=thread", WORK | HANDS_OVER, 3),
    "stream": ("workload=stream message=1K", WORK, 2),
    "both": ("workload=stream direction=both message=1K engine=poll", WORK | WAITS | TAKES_REST, 2),
    "proxy": ("workload=proxy", WORK, 3),
}


def traced(words: str) -> tuple[list[list[str]], dict[str, Any]]:
    """The calls of each thread that has read its account twice, and the record."""
    traces, record = strace_run("all", *f"{words} messages=100 warmup=20ms place=free".split())
    return [trace.splitlines() for trace in traces if trace.count(ACCOUNT) == 2], record


def parts_of(lines: list[str]) -> tuple[list[str], list[str], list[str]]:
    """The calls before the first reading of the account, between the two, and after the second."""
    calls = [line for line in lines if re.match(r"(?!clock_gettime)\w+\(", line)]
    first, second = [index for index, line in enumerate(calls) if ACCOUNT in line]
    return calls[:first], calls[first + 1:second], calls[second + 1:]


def name_of(line: str) -> str:
    return line[:line.index("(")]


def samples(record: dict[str, Any]) -> int:
    """Points of all samples: at each a thread asks TCP_INFO of its connections."""
    ends = [record[end] for end in ("client", "server", "proxy") if end in record]
    found = [thread.get("samples", {"points": []}) for end in ends for thread in end["threads"]]
    return sum(len(sample["points"]) for sample in found)


@pytest.mark.parametrize("case", CASES)
def test_only_its_work_is_in_the_account_of_a_thread(case: str) -> None:
    words, work, count = CASES[case]
    threads, record = traced(words)
    assert len(threads) == count
    looks = 0
    for lines in threads:
        _, inside, _ = parts_of(lines)
        looks += sum("TCP_INFO" in line for line in inside)
        known = work | RUNTIME if SANITIZED else work
        strange = [line for line in inside if name_of(line) not in known]
        assert [line for line in strange if "TCP_INFO" not in line] == []
        assert any(name_of(line) in work for line in inside)
    assert looks <= samples(record) * int(record["words"].get("connections", 1))


@pytest.mark.parametrize("case", ["block", "stream", "proxy"])
def test_the_account_of_the_machine_is_read_after_all_that_prepares_and_before_all_that_looks_back(
    case: str,
) -> None:
    words, *_ = CASES[case]
    threads, _ = traced(words)
    for lines in threads:
        before, _, after = parts_of(lines)
        begun = max(index for index, line in enumerate(before) if MACHINE in line)
        ended = min(index for index, line in enumerate(after) if MACHINE in line)
        reading = {"newfstatat", "fstat", "read", "close"}  # as the C library has it
        ready = {"write", "futex"}  # a follower says so
        assert {name_of(line) for line in before[begun + 1:]} <= reading | ready
        assert not any("TCP_INFO" in line or "/proc/thread-self" in line for line in after[:ended])
