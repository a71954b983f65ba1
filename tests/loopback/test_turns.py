# SPDX-License-Identifier: MIT
"""One client is measured at a time; meanwhile the server probes nothing for those that wait."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from control import Channel, plan_send
from programs import Server, children_of, client_json, client_start, server_started, strace_trouble

VERSION = client_json("--list=json")[0]["uncork"]
PLAIN = ["message=4", "reply=2", "messages=1", "warmup=0s", "place=free"]
# what is tried out: sockets, rings, whether a thread stays on its CPU
PROBES = re.compile(r"\b(socket|socketpair|bind|io_uring_setup|clone3?|sched_setaffinity)\(")
PROBED = [["security=gnutls"], ["reply_write=more"], ["quickack=once"], ["engine=ring"],
          ["place=together"], ["rcvbuf=64K"]]
TROUBLE = strace_trouble()


@contextmanager
def traced(server: Server, path: Path) -> Iterator[None]:
    """Writes the system calls of a server, of all its threads, into a file while it goes on."""
    command = ["strace", "-f", "-p", str(server.pid), "-o", str(path)]
    strace = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    assert strace.stderr
    assert "attached" in strace.stderr.readline()
    try:
        yield
    finally:
        strace.terminate()
        strace.communicate()


def probes(path: Path) -> list[str]:
    return [line for line in path.read_text(errors="replace").splitlines() if PROBES.search(line)]


@pytest.mark.skipif(TROUBLE is not None, reason=str(TROUBLE))
@pytest.mark.parametrize("words", PROBED, ids=" ".join)
def test_nothing_is_probed_for_a_client_before_its_turn(words: list[str], tmp_path: Path) -> None:
    with server_started() as server:
        first, second = Channel(server.address), Channel(server.address)
        assert plan_send(first, VERSION, "transport=unix", *PLAIN)["type"] == "ready"
        with traced(server, tmp_path / "trace"):
            assert plan_send(second, VERSION, *PLAIN[:4], *words)["type"] == "wait"
            assert probes(tmp_path / "trace") == []
            first.close()
            answer = second.receive()
            if answer["type"] == "ready":  # a system may know without a probe that it cannot do it
                assert probes(tmp_path / "trace") != []
            else:
                assert answer["kind"] == "unsupported", answer


@pytest.mark.parametrize(("words", "kind", "says"), [
    (["transport=unix", "reply_write=cork:segment"], "unsupported", "not work with transport=unix"),
    (["connections=9", "chunk=1G", "engine=block"], "unsupported", "8G is the limit of an end"),
])
def test_what_the_server_cannot_do_it_says_when_the_turn_comes(
    words: list[str], kind: str, says: str,
) -> None:
    with server_started() as server:
        first, second, third = (Channel(server.address) for _ in range(3))
        assert plan_send(first, VERSION, *PLAIN)["type"] == "ready"
        assert plan_send(second, VERSION, *PLAIN, *words)["type"] == "wait"
        assert plan_send(third, VERSION, *PLAIN)["type"] == "wait"
        first.close()
        answer = second.receive()
        assert (answer["type"], answer["kind"]) == ("refused", kind)
        assert says in answer["text"]
        assert third.receive()["type"] == "ready"


def test_a_plan_that_no_server_could_run_is_refused_without_waiting() -> None:
    with server_started() as server:
        first, second = Channel(server.address), Channel(server.address)
        assert plan_send(first, VERSION, *PLAIN)["type"] == "ready"
        assert plan_send(second, VERSION, "mesage=4")["type"] == "refused"


def test_a_client_that_waits_is_told_that_the_server_ends() -> None:
    with server_started() as server:
        first, second = Channel(server.address), Channel(server.address)
        assert plan_send(first, VERSION, *PLAIN)["type"] == "ready"
        assert plan_send(second, VERSION, *PLAIN)["type"] == "wait"
        server.process.terminate()
        answer = second.receive()
        assert (answer["type"], answer["text"]) == ("refused", "the server was stopped")
        assert server.process.wait(10) == 0


def test_a_server_of_a_batch_that_ends_between_two_runs_is_started_again() -> None:
    with server_started("127.0.0.1:0", "--proxy") as proxy:
        first = Channel(proxy.address)
        ready = plan_send(first, VERSION, "workload=proxy", "messages=10", end="proxy")
        assert ready["type"] == "ready"
        proxied = f"workload=proxy messages=10 place=free via={proxy.address}"
        client = client_start("--batch", "-", stdin=subprocess.PIPE)
        assert client.stdin and client.stderr
        client.stdin.write(f"messages=10 place=free\n{proxied}\nend\n")
        client.stdin.flush()
        assert "waiting" in client.stderr.readline()
        os.kill(*children_of(client.pid), signal.SIGKILL)
        time.sleep(0.1)
        first.close()
        said, _ = client.communicate(timeout=30)
    assert [json.loads(line).get("status") for line in said.splitlines()] == ["ok", "ok", None]
