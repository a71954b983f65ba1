# SPDX-License-Identifier: MIT
"""In gVisor, which says yes to almost everything: what it only pretends is unsupported or absent,
the rest runs.

Both ends run in one sandbox of runsc(1). Nothing in them asks whether it is gVisor: what these
cells say was found out by effect.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from typing import Any

import pytest

from programs import CLIENT, SANITIZED

SANDBOX = ["runsc", "--ignore-cgroups", "--network=none",
           *([] if os.geteuid() == 0 else ["--rootless"]), "do"]
WITHIN_S = 60


def sandbox_run(*arguments: str, stdin: str = "", cpu: int | None = None) -> list[dict[str, Any]]:
    """The lines that the client prints in a sandbox of its own, bound from outside to one CPU where
    that is given."""
    bound = [] if cpu is None else ["taskset", "--cpu-list", str(cpu)]
    done = subprocess.run([*bound, *SANDBOX, str(CLIENT), *arguments], input=stdin,
                          capture_output=True, text=True, timeout=WITHIN_S)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def trouble() -> str | None:
    """Why nothing can be tested here, None if it can."""
    if SANITIZED:
        return "sanitizers need more of a system than gVisor has"
    if not shutil.which("runsc"):
        return "runsc is not installed: scripts/setup/target gvisor"
    try:
        # no device as input: runsc gives what it gets to the user nobody
        tried = subprocess.run([*SANDBOX, "true"], input="", capture_output=True, text=True,
                               timeout=WITHIN_S)
    except subprocess.TimeoutExpired:
        return f"runsc does not start a sandbox within {WITHIN_S} s"
    said = tried.stderr.strip().splitlines() or ["it says nothing"]
    return None if tried.returncode == 0 else f"runsc does not start a sandbox here: {said[-1]}"


TROUBLE = trouble()
pytestmark = pytest.mark.skipif(TROUBLE is not None, reason=str(TROUBLE))
with_two_cpus = pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="this needs two CPUs")

WORK = "messages=20 warmup=0s"
RUN = [
    "write=nagle message=8/8", "write=nodelay message=15x2", "write=cork message=15x2",
    "write=writev message=15x2",
    "write=coalesce message=15x2", "write=uv message=15x2 engine=poll",
    "write=sendfile transport=unix message=16+4K",
    "transport=unix engine=poll", "transport=null", "read=msgtrunc", "security=gnutls",
    "security=openssl write=cork message=15x2",
    "workload=connect", "workload=stream message=64K verify=on", "workload=proxy",
    "engine=poll connections=4 threads=2 depth=4",
    "handoff=thread", "rate=2000", "rate=2000 pace=spin", "sndbuf=64K rcvbuf=64K buffers=after",
    "congestion=reno",
    "client.congestion=cubic", "touch=checksum", "perf=on",
]  # fmt: skip
PRETENDED = {
    "write=more": "MSG_MORE holds nothing back",
    "write=sendfile message=16+4K": "MSG_MORE holds nothing back",
    "write=cork transport=unix": "a cork holds nothing back",
    "write=zerocopy": "does not come back",
    "write=uring-send": "io_uring cannot be used here",
    "read=uring-bundle": "io_uring cannot be used here",
    "engine=ring defer_taskrun=off single_issuer=off": "io_uring cannot be used here",
    "read=zerocopy": "pages that arrived cannot be mapped",
    "read=msgtrunc transport=unix": "MSG_TRUNC does not discard",
    "security=ktls": "encrypts nothing",
    "transport=mptcp": "transport=mptcp is not available here",
    "quickack=once": "neither delays an acknowledgement nor sends one at once",
    "quickack=rearm": "neither delays an acknowledgement nor sends one at once",
    "busy_poll=50us": "reads back 0",
    "notsent_lowat=16K": "reads back 0",
    "server.sndbuf=64K": "does not have the SO_SNDBUF of its listener here; write buffers=after",
    "server.rcvbuf=64K": "does not inherit the SO_RCVBUF of its listener; write buffers=after",
    "congestion=cubic": "does not have the congestion control of its listener here, but reno",
    "congestion=bbr": "congestion=bbr is not available here",
    "sched=fifo:50": "has no priority 50",
    "capture=on": "needs CAP_NET_RAW",
}


def threads(record: dict[str, Any]) -> list[dict[str, Any]]:
    return [thread for end in ("client", "server", "proxy")
            for thread in record.get(end, {}).get("threads", [])]


STALL = "has sent and received nothing for"
ATTEMPTS = 4


def batch(cells: list[str]) -> dict[str, dict[str, Any]]:
    *ran, end = sandbox_run("--batch", "-",
                            stdin="".join(f"{words} {WORK} place=free\n" for words in cells))
    assert end == {"end": len(cells)}
    return dict(zip(cells, ran, strict=True))


@pytest.fixture(scope="module")
def records() -> dict[str, dict[str, Any]]:
    """Of all that runs, by its words. A cell that stalls runs again: at a load of 5, release
    20221219 never delivers a small segment in 1 of 90 runs of 15 writes a message, and it does so
    in a bare loop of send(2) between two processes too."""
    ran = batch(RUN)
    for _ in range(ATTEMPTS):
        stalled = [words for words, record in ran.items() if STALL in record.get("reason", "")]
        ran |= batch(stalled) if stalled else {}
    return ran


def test_what_gvisor_has_carries_every_message(records: dict[str, dict[str, Any]]) -> None:
    assert {words: record.get("reason") for words, record in records.items()
            if record["status"] != "ok"} == {}
    driven = {words: sum(thread.get("messages_sent", 0) for thread in record["client"]["threads"])
              for words, record in records.items()}  # fmt: skip
    assert {words for words, messages in driven.items() if messages < 20} == set()


def test_counters_that_do_not_move_are_absent(records: dict[str, dict[str, Any]]) -> None:
    for words, record in records.items():
        for end in ("client", "server", "proxy"):
            assert not {"process", "machine"} & record.get(end, {}).keys(), words
        for thread in threads(record):
            assert not thread.get("cpu", {}).keys() & {"user_ns", "system_ns",
                                                       "voluntary_switches", "cycles"}, words
            assert set(thread.get("tcp_info", {})) <= {"cwnd_segments", "rtt_ns"}, words
            assert "mss_bytes" not in thread.get("options", {}), words


@with_two_cpus
def test_where_threads_ran_is_not_told_where_nobody_knows(
        records: dict[str, dict[str, Any]]) -> None:
    # A process that another load kept from finding out believes what it is told: rare, but a test
    # may not count on it.
    told = [words for words, record in records.items()
            if any("cpus" in thread for thread in threads(record))]
    assert len(told) < len(RUN) / 2, told


def test_what_gvisor_only_pretends_is_unsupported_with_its_reason() -> None:
    *checks, _ = sandbox_run("--check", "-",
                             stdin="".join(f"{words} place=free\n" for words in PRETENDED))
    for (words, reason), check in zip(PRETENDED.items(), checks, strict=True):
        assert reason in check.get("unsupported", "it would run"), words


@with_two_cpus
def test_a_placement_that_has_no_effect_is_unsupported() -> None:
    *checks, _ = sandbox_run("--check", "-", stdin="place=together\nplace=apart\nplace=0/1\n")
    for check in checks:
        assert "pinning has no effect here" in check["unsupported"]
    assert ["taskset" in check["unsupported"] for check in checks] == [True, False, False]


def test_a_sandbox_on_one_cpu_has_both_ends_together() -> None:
    cells = f"place=together {WORK}\nplace=apart {WORK}\n"
    together, apart, _ = sandbox_run("--batch", "-", stdin=cells, cpu=min(os.sched_getaffinity(0)))
    assert together["status"] == "ok", together.get("reason")
    assert {(thread["cpus"]["start"], thread["cpus"]["end"])
            for thread in threads(together)} == {(0, 0)}
    assert apart["status"] == "unsupported"
    assert "this process may use only one" in apart["reason"]


def test_each_sandbox_is_a_machine_of_its_own_and_says_what_it_is() -> None:
    (first,), (second,) = sandbox_run("--facts"), sandbox_run("--facts")
    (native,) = map(json.loads, subprocess.run([str(CLIENT), "--facts"], capture_output=True,
                                               text=True).stdout.splitlines())
    assert first["client"]["id"] == first["server"]["id"]
    assert len({facts["client"]["id"] for facts in (first, second, native)}) == 3
    assert first["client"]["virtualisation"] == "gvisor"
    assert native["client"].get("virtualisation") != "gvisor"
    assert "cpu" not in first["client"]
