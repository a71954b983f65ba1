# SPDX-License-Identifier: MIT
"""Whatever dies, the other end says who, where and why within 5 s, and nothing is left behind."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import socket
import time
from contextlib import ExitStack
from pathlib import Path

import pytest

from programs import (
    WITHIN_S,
    Ending,
    Server,
    busy,
    children_of,
    client_run,
    client_start,
    open_files,
    preloaded,
    ring_trouble,
    server_run,
    server_started,
    settled,
)

LONG = ["duration=60s", "warmup=0s", "place=free"]
SHORT = ["messages=10", "warmup=0s", "place=free"]


WORKLOADS = [
    ["workload=request"],
    ["workload=stream", "message=64K"],
    ["workload=stream", "message=64K", "direction=receive"],
    ["workload=request", "connections=5", "transport=unix"],
    ["workload=stream", "message=1M", "write=uv", "connections=3"],
    ["workload=request", "write=uv", "reply_write=uv", "transport=unix"],
    ["workload=connect", "connections=3", "engine=poll"],
    ["handoff=thread", "connections=2"],  # the sender waits for a request
    ["handoff=thread", "connections=2", "message=1M", "sndbuf=4K", "server.chunk=7"],  # in a call
]
if ring_trouble() is None:
    WORKLOADS.append(["workload=connect", "connections=3", "engine=ring"])


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP])
def test_a_server_that_goes_away_is_named_within_5_s(number: signal.Signals) -> None:
    with ExitStack() as stack:
        servers = [stack.enter_context(server_started()) for _ in WORKLOADS]
        clients = [client_that_loses(server, number, words)
                   for server, words in zip(servers, WORKLOADS, strict=True)]
        # what one waits for, the others wait for meanwhile
        for server, client in zip(servers, clients, strict=True):
            assert_server_named(server, client)
            server.process.kill()
            server.process.wait()


def client_that_loses(server: Server, number: signal.Signals, words: list[str]) -> Ending:
    """A client in the middle of a run, whose server is stopped or killed now."""
    client = client_start("--json", f"server={server.address}", *words, *LONG)
    busy(server.pid)
    os.kill(server.pid, number)
    return Ending(client)


def assert_server_named(server: Server, ending: Ending) -> None:
    out, error, took_s = ending.awaited()
    assert took_s < WITHIN_S
    assert ending.client.returncode == 1
    record = json.loads(out)
    # to a client that receives, the end of a killed server's stream may look like a half-close
    assert record["status"] == "failed" and record["phase"] in ("run", "report")
    assert "server" in record["reason"] and record["peer"] == server.address
    assert error.count("\n") == 1


@pytest.mark.parametrize("words", WORKLOADS)
def test_a_client_that_is_killed_leaves_nothing_in_the_server(words: list[str]) -> None:
    with server_started() as server:
        assert client_run(f"server={server.address}", *SHORT).returncode == 0
        files = open_files(server.pid)
        for after_s in (0.05, 0.1, 0.3):
            client = client_start(f"server={server.address}", *words, *LONG)
            time.sleep(after_s)
            client.kill()
            client.wait()
        settled(server.pid, files)
        assert client_run(f"server={server.address}", *SHORT).returncode == 0


def test_a_client_that_is_killed_takes_its_own_server_with_it() -> None:
    client = client_start("--json", *LONG)
    children = children_of(client.pid)
    client.kill()
    client.wait()
    for _ in range(int(WITHIN_S * 100)):
        if not any(Path(f"/proc/{child}").exists() for child in children):
            return
        time.sleep(0.01)
    raise AssertionError(f"{children} still run")


def test_a_client_that_was_suspended_says_so_and_blames_no_other_end() -> None:
    """Ended by its server, whose connections and whose channel it finds closed; by no server."""
    with (server_started() as first, server_started() as second,
          server_started("127.0.0.1:0", "--plain", "echo") as echo):
        clients = [client_start(*words, *LONG) for words in (
            [], [f"server={first.address}", "workload=stream"],
            [f"server={second.address}", "workload=connect", "engine=poll"],
            [f"peer={echo.address}", "control=none"])]
        busy(first.pid, second.pid)
        for client in clients:
            client.send_signal(signal.SIGSTOP)
        time.sleep(5.5)
        for client in clients:
            client.send_signal(signal.SIGCONT)
        for client in clients:
            error = client.communicate(timeout=30)[1]
            assert client.returncode == 1 and error.count("\n") == 1, error
            assert re.search(r"this process was suspended for [5-9] s\n$", error), error


# The clock that counts sleep is a minute ahead from the second second of the client on.
ASLEEP = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <time.h>

int clock_gettime(clockid_t id, struct timespec *now)
{
    static time_t first;
    int (*real)(clockid_t, struct timespec *) = dlsym(RTLD_NEXT, "clock_gettime");
    int result = real(id, now);

    if (id != CLOCK_BOOTTIME)
        return result;
    first = first ? first : now->tv_sec;
    now->tv_sec += now->tv_sec - first < 2 ? 0 : 60;
    return result;
}
"""


def test_a_client_on_a_machine_that_slept_says_so(tmp_path: Path) -> None:
    environment = preloaded(tmp_path, ASLEEP)
    with server_started() as server:
        done = client_run(f"server={server.address}", *LONG, env=environment)
    assert done.returncode == 1 and done.stderr.count("\n") == 1, done
    assert re.search(r"this process was suspended for 6\d s\n$", done.stderr), done


def test_no_server_there_says_where_it_tried() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
        done = client_run(f"server={address}", *SHORT)
    assert done.returncode == 1
    assert done.stderr == (f"uncork-client: failed: cannot connect to {address}: Connection "
                           "refused\n")


def test_a_port_in_use_is_named() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        done = server_run("--listen", address)
    assert done.returncode == 1
    assert address in done.stderr and "in use" in done.stderr and done.stderr.count("\n") == 1


HERE = "--listen 127.0.0.1:0"


@pytest.mark.parametrize(("arguments", "says"), [
    ("--listen 0.0.0.0:0", "--insecure"),
    ("--listen [::]:0", "--insecure"),
    ("--listen 0.0.0.0:0 --plain echo", "--insecure"),
    ("--listen [::]:0 --plain chargen", "--insecure"),
    ("--listen nowhere", "HOST:PORT"),
    ("--listen 127.0.0.1:99999", "HOST:PORT"),
    ("--listen", "needs a value"),
    ("--lisen x", "no option"),
    ("", "--listen"),
    ("--plain echo", "--listen"),
    (f"{HERE} message=64", "takes no words; give them to uncork-client or uncork run"),
    (f"{HERE} --plain ehco", "'echo'"),
    (f"{HERE} --plain discrad", "'discard'"),
    (f"{HERE} --plain ''", "nearest"),
    (f"{HERE} --plain", "needs a value"),
    (f"{HERE} --plain echo --plain discard", "twice"),
    (f"{HERE} --plain echo discard", "'discard': the server takes no words"),
    (f"{HERE} --plain echo chunk=64", "'chunk=64': the server takes no words"),
    (f"{HERE} --idle 0s", "--idle 0s: write a time from 1s to 86400s"),
    (f"{HERE} --idle 2d", "--idle 2d: write a time"),
    (f"{HERE} --idle 2s --plain echo", "--idle and --plain contradict each other"),
    (f"{HERE} --allow-sink 10.0.0.0/8", "--allow-sink"),
    (f"{HERE} --proxy --plain echo", "contradict"),
    (f"{HERE} --proxy --allow-sink 10.0.0.0/33", "10.0.0.0/33"),
    (f"{HERE} --proxy --allow-sink example.org", "example.org"),
    (f"{HERE} --proxy --allow-sink 10.0.0.0/", "10.0.0.0/"),
    (f"{HERE} --proxy --allow-sink ''", "'' is not a prefix"),
    (f"{HERE} --serve nbs", "nbs"),
    (f"{HERE} --serve raw", "--plain echo serves raw bytes"),
    (f"{HERE} --serve nbd message=64", "'message=64' is no word for --serve; it takes security"),
    (f"{HERE} --serve nbd client.sndbuf=64K", "is no word for --serve"),
    (f"{HERE} --serve nbd sndbuff=64K", "sndbuf"),
    (f"{HERE} --serve resp op=ping", "op=get:100"),
    (f"{HERE} --serve http op=get:32M --size 1M", "--size is less than the longest reply"),
    (f"{HERE} --serve nbd security=gnutls", "needs --psk FILE"),
    (f"{HERE} --serve nbd --size 1", "write a size from 4K to 64G"),
    (f"{HERE} --serve nbd --plain echo", "contradict each other"),
    (f"{HERE} --size 1M", "--size is for --serve"),
    (f"{HERE} --max-strangers 0", "--max-strangers 0: write a value from 1 to 4096"),
    (f"{HERE} --max-time 3h", "--max-time 3h: write a value from 1s to 7200s"),
    (f"{HERE} --max-clients 9", "--max-clients is for --serve and --plain"),
    (f"{HERE} --serve http --max-sessions 9", "--max-sessions has no effect with --serve"),
    (f"{HERE} --plain echo --max-time 9s", "--max-time has no effect with --plain"),
])
def test_a_server_started_wrongly_says_so_in_one_line(arguments: str, says: str) -> None:
    done = server_run(*shlex.split(arguments))
    assert (done.returncode, done.stdout) == (2, "")
    assert says in done.stderr and done.stderr.count("\n") == 1


def test_insecure_is_allowed_and_warned_about() -> None:
    with server_started("0.0.0.0:0", "--insecure") as server:
        port = server.address.rsplit(":", 1)[1]
        assert client_run(f"server=127.0.0.1:{port}", *SHORT).returncode == 0
        server.ended()
        assert server.process.stderr and "warning" in server.process.stderr.read()


def test_a_server_that_burns_for_a_client_that_has_gone_soon_serves_the_next() -> None:
    with server_started() as server:
        client = client_start(f"server={server.address}", "spin=1s", "depth=64", "window=64",
                              "engine=poll", *LONG)
        busy(server.pid)
        time.sleep(0.5)
        client.kill()
        client.wait()
        began = time.monotonic()
        assert client_run(f"server={server.address}", *SHORT).returncode == 0
        assert time.monotonic() - began < WITHIN_S


@pytest.mark.parametrize("words",
                         [["workload=connect"], ["pace=spin"], ["pace=spin", "workload=connect"]])
def test_a_pause_of_an_open_loop_ends_with_the_server(words: list[str]) -> None:
    with server_started() as server:
        client = client_start(f"server={server.address}", "client.engine=block", "rate=1",
                              "connections=40", "warmup=0s", "duration=60s", "place=free", *words)
        time.sleep(0.7)
        server.process.kill()
        server.process.wait()
        began = time.monotonic()
        _, error = client.communicate(timeout=60)
        assert client.returncode == 1 and error.count("\n") == 1, error
        assert time.monotonic() - began < WITHIN_S


def test_every_thread_can_end_those_of_the_others() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        client = client_start("--json", f"peer=127.0.0.1:{listener.getsockname()[1]}",
                              "control=none", "connections=16", "threads=16", "engine=poll", *LONG)
        connections = [listener.accept()[0] for _ in range(16)]
        for connection in connections:
            connection.recv(64)
        for connection in connections:
            connection.close()
        out, error = client.communicate(timeout=20)
        assert client.returncode == 1, error
        assert "closed its connection" in json.loads(out)["reason"]


def test_a_server_with_several_threads_that_is_told_to_end_ends_well() -> None:
    for _ in range(15):  # each ends the others, in whatever order they break
        with server_started() as server:
            client = client_start(f"server={server.address}", "connections=8", "threads=8",
                                  "engine=poll", *LONG)
            busy(server.pid)
            assert server.ended() == 0
            client.communicate(timeout=20)
            assert client.returncode == 1


def test_counters_of_perf_are_closed_with_their_run() -> None:
    with server_started("127.0.0.1:0", "--allow-word", "perf") as server:
        words = ["--json", f"server={server.address}", "perf=on", "messages=10", "warmup=0s",
                 "place=free"]
        cpu = json.loads(client_run(*words).stdout)["server"]["threads"][0]["cpu"]
        if "cycles" not in cpu and "instructions" not in cpu:
            pytest.skip("perf_event_open(2) counts nothing here")
        files = open_files(server.pid)  # and what is not closed yet
        for _ in range(20):
            assert client_run(*words).returncode == 0
        settled(server.pid, files)
