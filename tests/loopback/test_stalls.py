# SPDX-License-Identifier: MIT
"""No end waits on its loop: while one session stalls for ten seconds, all others are answered.
A name may have several addresses. The reason of a failure is that of the end that failed first."""

from __future__ import annotations

import json
import os
import signal
import statistics
import subprocess
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from control import Channel, data_join, plan_send
from programs import CLIENT, SANITIZED, busy, client_json, client_start, server_started, trouble

VERSION = client_json("--facts")[0]["client"]["versions"]["uncork"]
ANSWERED_WITHIN_S = 2.0 if SANITIZED else 0.2  # the median of the answers
REQUEST = ("message=64", "reply=1", "messages=1000000", "warmup=0s")


@pytest.fixture(scope="module")
def preloaded(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], dict[str, str]]:
    """The environment of a program in which a function stalls, once its file `when` exists."""
    library = tmp_path_factory.mktemp("preloaded") / "preloaded.so"
    subprocess.run(["cc", "-D_GNU_SOURCE", "-shared", "-fPIC", "-o", str(library),
                    str(Path(__file__).with_name("preloaded.c")), "-ldl"], check=True)

    def environment(function: str) -> dict[str, str]:
        options = os.environ.get("ASAN_OPTIONS", "")
        return os.environ | {
            "LD_PRELOAD": str(library), "STALL": function,
            "STALL_WHEN": str(library.with_name(f"when-{function}")),
            "ASAN_OPTIONS": f"{options}:verify_asan_link_order=0"}
    return environment


def answers_of(address: str, for_s: float) -> list[float]:
    """The seconds until other clients get the facts of the machine."""
    took = []
    until = time.monotonic() + for_s
    while time.monotonic() < until:
        began = time.monotonic()
        channel = Channel(address)
        channel.socket.settimeout(30)
        channel.send("ask", version=VERSION)
        assert channel.receive()["type"] == "facts"
        took.append(time.monotonic() - began)
        channel.close()
        time.sleep(0.3)
    return took


def stalls_in_its_subject(preloaded: Callable[[str], dict[str, str]], folder: Path) -> list[float]:
    """First its version takes longer than a server waits, and then it never listens."""
    definitions = folder / "subjects.json"
    definitions.write_text(json.dumps({"sleeper": {
        "program": "sleep", "version": "10", "listens": "address", "arguments": ["30"],
        "protocols": ["nbd"], "transports": ["tcp"], "parameters": {}}}))
    with server_started("127.0.0.1:0", "--subjects", str(definitions)) as server:
        channel = Channel(server.address)
        channel.send("plan", version=VERSION, end="server", host="a test",
                     words=["protocol=nbd", "op=read:4K", "subject=sleeper", "place=free"])
        return answers_of(server.address, 8)


def stalls_in_its_check(preloaded: Callable[[str], dict[str, str]], folder: Path) -> list[float]:
    environment = preloaded("getrlimit")
    with server_started(environment=environment) as server:
        Path(environment["STALL_WHEN"]).touch()
        channel = Channel(server.address)
        channel.send("plan", version=VERSION, end="server", host="a test", words=list(REQUEST))
        took = answers_of(server.address, 8)
        Path(environment["STALL_WHEN"]).unlink()
        return took


def stalls_in_a_thread(preloaded: Callable[[str], dict[str, str]], folder: Path) -> list[float]:
    """The client leaves while a data thread of the server is in a call."""
    environment = preloaded("recv")
    with server_started(environment=environment) as server:
        channel = Channel(server.address)
        ready = plan_send(channel, VERSION, *REQUEST)
        data = data_join(ready)
        assert channel.receive()["type"] == "joined"
        Path(environment["STALL_WHEN"]).touch()
        data.sendall(bytes(64))
        time.sleep(0.5)
        channel.close()
        took = answers_of(server.address, 8)
        Path(environment["STALL_WHEN"]).unlink()
        return took


def looks_up_its_server(preloaded: Callable[[str], dict[str, str]], folder: Path) -> str:
    """What a client says that hears nothing of a resolver for ten seconds, while a proxy waits."""
    environment = preloaded("getaddrinfo")
    Path(environment["STALL_WHEN"]).touch()
    with server_started() as server, server_started("127.0.0.1:0", "--proxy") as proxy:
        port = server.address.rpartition(":")[2]
        return subprocess.run(
            [str(CLIENT), "workload=proxy", f"via={proxy.address}", f"server=localhost:{port}",
             "messages=10", "place=free"], env=environment, capture_output=True, text=True,
            timeout=60).stderr


STALLS = [stalls_in_its_subject, stalls_in_its_check, stalls_in_a_thread]


@pytest.fixture(scope="module")
def stalled(preloaded: Callable[[str], dict[str, str]],
            tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[Any], Any]]:
    """All stalls at the same time: the result of each."""
    with ThreadPoolExecutor(len(STALLS) + 1) as pool:
        results = {stall: pool.submit(stall, preloaded, tmp_path_factory.mktemp("stall"))
                   for stall in (*STALLS, looks_up_its_server)}
        yield lambda stall: results[stall].result()


@pytest.mark.parametrize("stall", STALLS)
def test_a_session_that_stalls_keeps_no_other_waiting(stall: Callable[..., list[float]],
                                                      stalled: Callable[[Any], Any]) -> None:
    assert len(stalled(stall)) > 2
    assert statistics.median(stalled(stall)) < ANSWERED_WITHIN_S


def test_a_proxy_hears_of_a_client_that_looks_up_the_name_of_its_server(
        stalled: Callable[[Any], Any]) -> None:
    assert stalled(looks_up_its_server) == ""


@pytest.mark.parametrize("words", [
    "server=twofold:{port}", "server=twofold:{port} connections=5",
    "peer=twofold:{plain} control=none message=1", "peer=twofold:{plain} control=none message=1 "
    "workload=connect", "peer=twofold:{plain} control=none connections=4 message=1"])
def test_the_second_address_of_a_name_is_used_if_the_first_refuses(
        words: str, preloaded: Callable[[str], dict[str, str]]) -> None:
    with server_started() as server, server_started("127.0.0.1:0", "--plain", "echo") as plain:
        given = words.format(port=server.ready["port"], plain=plain.ready["port"])
        done = subprocess.run(
            [str(CLIENT), "--json", *given.split(), "messages=20", "place=free"],
            env=preloaded(""), capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert "127.0.0.1" in json.loads(done.stdout)["peer"]


@pytest.mark.parametrize("engine", ["poll", "block"])
@pytest.mark.parametrize("failing", ["client", "server"])
def test_the_end_that_failed_first_gives_the_reason(
        preloaded: Callable[[str], dict[str, str]], failing: str, engine: str) -> None:
    """The other end only sees that its connections close, and may report that earlier."""
    fails = preloaded("nothing") | {"FAIL_AFTER": "2000"}
    other = "server" if failing == "client" else "client"
    reasons = set()
    for _ in range(5):
        with server_started(environment=fails if failing == "server" else None) as server:
            run = subprocess.run(
                [CLIENT, "--json", f"server={server.address}", *REQUEST, "connections=4",
                 f"engine={engine}"], env=fails if failing == "client" else None,
                capture_output=True, text=True, timeout=60)
        reasons.add(json.loads(run.stdout)["reason"].rpartition("; ")[2])
    assert reasons == {f"the {failing} could not receive from the {other}: Input/output error"}


@pytest.mark.parametrize("words", ["workload=stream direction=receive", "handoff=thread reply=16K"])
def test_a_reading_that_maps_pages_ends_with_a_server_that_is_stopped(words: str) -> None:
    """After shutdown(2) the call that maps pages says that nothing has come, again and again."""
    if why := trouble("read=zerocopy"):
        pytest.skip(why)
    with server_started() as server:
        client = client_start("read=zerocopy", f"server={server.address}", *words.split(),
                              "warmup=0s", "place=free", "duration=60s")
        busy(server.pid)
        server.process.send_signal(signal.SIGSTOP)
        error = client.communicate(timeout=30)[1]
        server.process.kill()
        server.process.wait()
    assert client.returncode == 1 and error.count("\n") == 1, error
