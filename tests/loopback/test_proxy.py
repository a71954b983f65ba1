# SPDX-License-Identifier: MIT
"""workload=proxy: what it sends on, for whom it does not, and what is left when one of the three
dies."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from itertools import product, repeat
from pathlib import Path

import pytest

from combinations import strategies, thinned
from control import Channel, data_join, long_value_receive, plan_send, sink_accept
from programs import (
    CLIENT,
    LOOP_WAITS,
    WITHIN_S,
    Server,
    batch_run,
    busy,
    calls_counted,
    children_of,
    client_json,
    client_run,
    client_start,
    open_files,
    record_ok,
    record_sum,
    records_ok,
    ring_trouble,
    server_started,
    settled,
    strace_run,
    strace_trouble,
)

VERSION = client_json("--list=json")[0]["uncork"]
MESSAGE = 65536  # what the source sends in one call
ONE = ["workload=proxy", "messages=1", "warmup=0s", "place=free"]


@contextmanager
def proxy_and_server(*flags: str) -> Iterator[tuple[Server, Server]]:
    with server_started("127.0.0.1:0", "--proxy", *flags) as proxy, server_started() as server:
        yield proxy, server


def places(proxy: Server, server: Server) -> list[str]:
    return [f"via={proxy.address}", f"server={server.address}"]


# ---- what it sends on ----

SIZES = [
    "chunk=32 window=256 messages=1 warmup=0s",
    "chunk=64K window=256 messages=6 warmup=2ms sndbuf=4K rcvbuf=4K",
    "chunk=4099 window=1 messages=9 warmup=2ms connections=3",
    "chunk=1000 window=7 messages=9 warmup=2ms connections=3 threads=2",
]


@pytest.mark.parametrize("transport", ["tcp", "unix"])
def test_every_strategy_sends_on_what_came_whichever_way(transport: str) -> None:
    lines = [f"workload=proxy transport={transport} direction={direction} write={write} "
             f"engine=poll {size} verify=on place=free"
             for write, direction, size in product(strategies(), ["send", "receive", "both"],
                                                   SIZES)]
    lines += [line.replace("engine=poll", "engine=block").replace("threads=2 ", "")
              for line in lines if "both" not in line]
    lines = thinned(lines, transport == "unix")
    for text, record in zip(lines, batch_run(lines), strict=True):
        assert record["status"] in ("ok", "unsupported"), f"{text}: {record['reason']}"
        if record["status"] != "ok":
            continue
        messages = int(re.findall(r"messages=(\d+)", text)[0]) * (2 if "both" in text else 1)
        proxy = record["proxy"]
        assert (
            record_sum(proxy, "bytes_received")
            == record_sum(proxy, "bytes_sent")
            == messages * MESSAGE
        ), text
        chunk, window = (int(re.findall(rf"{key}=(\d+)", text)[0]) for key in ("chunk", "window"))
        if "chunk=64K" not in text:
            assert record_sum(proxy, "chunks_sent") >= messages * MESSAGE / chunk, text
        assert record_sum(proxy, "groups_sent") >= record_sum(proxy, "chunks_sent") / window, text


def test_nothing_is_lost_between_warm_up_and_run() -> None:
    """The proxy begins to count at the byte that was announced, whoever sends it."""
    lines = [
        f"workload=proxy direction={direction} messages=4 chunk=999 window=8 connections=2 "
        "warmup=5ms verify=on "
        f"place=free engine={engine}"
        for direction in ("send", "receive", "both")
        for engine in ("poll", "auto")
    ] * 3
    for text, record in zip(lines, records_ok(lines), strict=True):
        assert record_sum(record["proxy"],
                          "bytes_received") == (8 if "both" in text else 4) * MESSAGE, text


@pytest.mark.parametrize("engine", ["block", "poll"])
def test_a_group_is_what_one_wake_up_filled(engine: str) -> None:
    words = f"workload=proxy messages=20 chunk=32 engine={engine} warmup=0s place=free"
    wide, narrow, apart = (record["proxy"]["threads"][0] for record in batch_run(
        [f"{words} write=writev window=256", f"{words} write=writev window=1",
         f"{words} write=nodelay window=256"]))
    assert wide["write_calls"] - wide["would_block"] <= wide["groups_sent"] < wide[
        "chunks_sent"] / 8
    assert narrow["groups_sent"] == narrow["chunks_sent"] == narrow["calls"]["sendmsg"]
    assert apart["calls"]["sendto"] >= apart["chunks_sent"] >= 20 * MESSAGE / 32


def test_source_and_sink_are_what_they_are_and_say_so() -> None:
    record = record_ok(
        "workload=proxy write=cork chunk=100 messages=2 warmup=0s place=free verify=on")
    assert record["client"]["write"] == "coalesce" and record["client"]["message_bytes"] == MESSAGE
    assert record["server"]["read"] == "recv" and record["proxy"]["write"] == "cork"
    assert record["words"]["chunk"] == "100" and "message" not in record["words"]
    assert "message_bytes" not in record["proxy"] and "messages_sent" not in record["proxy"][
        "threads"][0]


def test_the_third_list_of_a_placement_is_the_proxys() -> None:
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("there is one CPU only")
    first, second = sorted(os.sched_getaffinity(0))[:2]
    lines = [f"workload=proxy messages=1 warmup=0s place={place}"
             for place in (f"{first}/{second}/{first}", f"{first}/{second}", "apart")]
    asked = [[record[end]["threads"][0]["cpus"]["asked"][0]
              for end in ("client", "server", "proxy")]
             for record in batch_run(lines)]
    assert asked[:2] == [[first, second, first], [first, second, second]]
    assert asked[2][0] == asked[2][1] != asked[2][2]


def test_a_proxy_and_a_server_of_others_are_used_where_they_are(tmp_path: Path) -> None:
    with server_started(f"unix:{tmp_path}/proxy", "--proxy") as proxy, server_started() as server:
        assert proxy.ready["proxy"] is True
        for _ in range(2):
            done = client_run("--json", *ONE, *places(proxy, server))
            record = json.loads(done.stdout)
            assert record["status"] == "ok" and record["via"] == proxy.address and record[
                "peer"] == server.address
        assert client_json("--facts", "workload=proxy",
                           *places(proxy, server))[0].keys() == {"client", "server", "proxy"}
        assert "per message" in client_run(*ONE, *places(proxy, server)).stdout


def test_facts_have_both_ends_that_the_client_starts() -> None:
    facts = client_json("--facts", "workload=proxy")[0]
    assert facts.keys() == {"client", "server", "proxy"}


@pytest.mark.skipif(strace_trouble() is not None, reason=str(strace_trouble()))
@pytest.mark.parametrize("engine", ["block", "poll"])
def test_the_calls_of_a_proxy_are_those_that_strace_counts(engine: str) -> None:
    traces, record = strace_run(
        f"sendto,sendmsg,recvfrom,{LOOP_WAITS},shutdown", "workload=proxy", "write=writev",
        "chunk=4K", "window=8", "messages=30", "warmup=0s", "place=free", f"engine={engine}")
    (trace,) = [trace for trace in traces if "\nsendmsg(" in trace]
    # after the sink's answer, up to the half-close
    trace = trace[trace.rindex("MSG_WAITALL"): trace.index("shutdown(")]
    counts = calls_counted(trace)
    counts["recvfrom"] -= len(re.findall(r"^recvfrom\(.*= 0$", trace, re.MULTILINE))
    (thread,) = record["proxy"]["threads"]
    assert thread["calls"] == {name: counts[name]
                               for name in ("sendmsg", "recvfrom", "epoll_wait") if counts[name]}


# ---- for whom it sends on ----


@pytest.fixture
def sink() -> Iterator[socket.socket]:
    """A listener that a run has as its sink. A test says how it answers a connection."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(10)
        yield listener


def address_of(listener: socket.socket) -> str:
    return f"127.0.0.1:{listener.getsockname()[1]}"


def accepted(listener: socket.socket) -> socket.socket:
    connection = listener.accept()[0]
    connection.settimeout(10)
    return connection


def run_opened(proxy: Server, sink: str, token: str = "00" * 16) -> tuple[Channel, socket.socket]:
    """A run of one message as far as the source's data connection, which says already what it has
    to say."""
    channel = Channel(proxy.address)
    ready = plan_send(channel, VERSION, *ONE, end="proxy")
    assert ready["type"] == "ready", ready
    channel.send("sink", address=sink, token=token, key="", host="a test")
    source = data_join(ready)
    source.sendall(b"GET / HTTP/1.0\r\n\r\n")
    return channel, source


def rest_of(connection: socket.socket) -> bytes:
    """Up to the end, which is a reset if the other end has not read everything."""
    data = b""
    with suppress(ConnectionResetError):
        while part := connection.recv(65536):
            data += part
    return data


def test_what_is_sent_on_is_what_came_and_its_end_comes_last(sink: socket.socket) -> None:
    """The source's half-close is answered when the sink's has come, which has taken everything by
    then."""
    token, message = os.urandom(16), os.urandom(MESSAGE)
    with server_started("127.0.0.1:0", "--proxy") as proxy:
        channel = Channel(proxy.address)
        ready = plan_send(channel, VERSION, *ONE, "chunk=999", "window=4", end="proxy")
        channel.send("sink", address=address_of(sink), token=token.hex(), key="", host="a test")
        source = data_join(ready)
        taker = accepted(sink)
        sink_accept(taker, token)
        assert channel.receive()["type"] == "joined" and channel.receive()["type"] == "marked"
        source.sendall(message)
        source.shutdown(socket.SHUT_WR)
        assert rest_of(taker) == message
        source.settimeout(0.3)
        with pytest.raises(TimeoutError):
            source.recv(1)
        taker.shutdown(socket.SHUT_WR)
        source.settimeout(10)
        assert source.recv(1) == b""
        assert long_value_receive(channel, "report")["threads"][0]["bytes_sent"] == MESSAGE


def echo(connection: socket.socket) -> None:
    while data := connection.recv(65536):
        connection.sendall(data)


TOKEN = b"FLUSHALL\r\nQUIT\r\n"
ANSWERS = {
    "says nothing": lambda connection: None,
    "greets everybody": lambda connection: connection.sendall(
        b"SSH-2.0-OpenSSH_9.2p1 Debian-2\r\n"),
    "greets by the token": lambda connection: connection.sendall(TOKEN),
    "echoes": lambda connection: threading.Thread(target=echo, args=(connection.dup(),),
                                                  daemon=True).start(),
    "stops in the middle": lambda connection: (connection.sendall(bytes(15)),
                                               connection.shutdown(socket.SHUT_WR)),
    "closes": lambda connection: connection.shutdown(socket.SHUT_RDWR),
    "is a sink that knows half": lambda connection: connection.sendall(
        b"\0uncork\xff" + TOKEN[:8] + bytes(16)),
}


def failure_of(proxy: Server, sink: str) -> tuple[str, float]:
    """What a proxy says of an address that is no sink, and after how many seconds."""
    channel, source = run_opened(proxy, sink, TOKEN.hex())
    began = time.monotonic()
    failed = channel.receive()
    took_s = time.monotonic() - began
    assert failed["type"] == "failed" and failed["phase"] == "hello"
    channel.close()
    source.close()
    return failed["text"].replace(sink, "ADDRESS"), took_s


def test_open_ports_and_closed_ones_look_the_same(tmp_path: Path) -> None:
    """The proxies wait at the same time."""
    with ExitStack() as stack:
        listeners = [stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in ANSWERS]
        filtered = stack.enter_context(socket.create_server(("127.0.0.1", 0), backlog=0))
        crowd = [stack.enter_context(socket.socket()) for _ in range(4)]
        for one in crowd:  # a full backlog answers no SYN
            one.setblocking(False)
            one.connect_ex(filtered.getsockname())
        with socket.create_server(("127.0.0.1", 0)) as closed:
            addresses = [address_of(closed)]
        addresses += [address_of(filtered), *map(address_of, listeners)]
        proxies = [stack.enter_context(server_started("127.0.0.1:0", "--proxy"))
                   for _ in addresses]
        pool = stack.enter_context(ThreadPoolExecutor(len(addresses)))
        told = list(map(pool.submit, repeat(failure_of), proxies, addresses))
        services = dict(zip(ANSWERS, map(accepted, listeners), strict=True))
        for does, service in services.items():
            ANSWERS[does](service)
        texts, seconds = zip(*(one.result() for one in told), strict=True)
        assert set(texts) == {
            "the server of this run did not answer the proxy at ADDRESS within 2 s: it has ended, "
            "it cannot be reached, or another program listens there"}
        assert min(seconds) > 1.9 and max(seconds) < WITHIN_S
        for does, service in services.items():
            if does not in ("echoes", "closes"):
                knows = does == "is a sink that knows half"
                got = rest_of(service)
                assert len(got) == 36 * knows and TOKEN not in got and b"GET" not in got, does


def test_a_server_that_waits_for_another_run_accepts_nothing() -> None:
    with proxy_and_server() as (proxy, server):
        assert client_run(*ONE, f"via={proxy.address}").returncode == 0
        files = open_files(proxy.pid)
        other = Channel(server.address)
        ready = plan_send(other, VERSION, *ONE)
        text, _ = failure_of(proxy, ready["address"])
        assert "did not answer the proxy" in text
        settled(proxy.pid, files)


@pytest.mark.parametrize(("flags", "allowed"), [
    ([], True), (["--allow-sink", "192.0.2.0/24"], False), (["--allow-sink", "unix"], False),
    (["--allow-sink", "192.0.2.0/24", "--allow-sink", "127.0.0.1"], True),
    (["--allow-sink", "::/0"], False),
])
def test_a_proxy_connects_only_where_it_may(flags: list[str], allowed: bool,
                                            sink: socket.socket) -> None:
    with server_started("127.0.0.1:0", "--proxy", *flags) as proxy:
        channel = Channel(proxy.address)
        ready = plan_send(channel, VERSION, *ONE, end="proxy")
        channel.send("sink", address=address_of(sink), token="00" * 16, key="", host="a test")
        if allowed:
            data_join(ready)
            accepted(sink)
        else:
            failed = channel.receive()
            assert failed["type"] == "failed"
            assert f"may not connect to {address_of(sink)}" in failed["text"]
            sink.settimeout(0.2)
            with pytest.raises(TimeoutError):
                accepted(sink)


@pytest.mark.parametrize("address", ["localhost:80", "127.0.0.1", "unix:", "127.0.0.1:0x50", ""])
def test_a_sink_is_named_in_numbers(address: str) -> None:
    with server_started("127.0.0.1:0", "--proxy") as proxy:
        channel = Channel(proxy.address)
        plan_send(channel, VERSION, *ONE, end="proxy")
        channel.send("sink", address=address, token="00" * 16, key="", host="a test")
        assert channel.receive()["type"] == "failed"
        assert client_run(*ONE, f"via={proxy.address}").returncode == 0


def test_a_server_is_no_proxy_and_a_proxy_no_server() -> None:
    with proxy_and_server() as (proxy, server):
        done = client_run(*ONE, f"via={server.address}")
        assert done.returncode == 1 and "this is a server, not a proxy" in done.stderr
        done = client_run(*ONE, f"server={proxy.address}")
        assert done.returncode == 1 and "this is a proxy, not a server" in done.stderr
        channel = Channel(proxy.address)
        assert "has no proxy" in plan_send(channel, VERSION, "workload=stream", end="proxy")["text"]


# ---- whatever dies ----

RUNS = [["direction=send"], ["direction=receive", "transport=unix"],
        ["direction=both", "connections=3", "write=uv"]]
if ring_trouble() is None:
    RUNS.append(["direction=both", "connections=3", "write=uring-bundle", "read=uring-multishot",
                 "engine=ring", "chunk=512", "window=64"])
LONG = ["workload=proxy", "duration=60s", "warmup=0s", "place=free"]


@pytest.mark.parametrize("victim", ["proxy", "server"])
@pytest.mark.parametrize(("number", "words"),
                         [*((signal.SIGKILL, words) for words in RUNS), (signal.SIGSTOP, RUNS[0])])
def test_a_proxy_or_a_server_that_goes_away_is_told_within_5_s(number: signal.Signals,
                                                               words: list[str], victim: str,
                                                               ) -> None:
    with proxy_and_server() as (proxy, server):
        dies, other = (proxy, f"server={server.address}") if victim == "proxy" else (
            server, f"via={proxy.address}")
        client = client_start("--json", *places(proxy, server), *LONG, *words)
        busy(proxy.pid, server.pid)
        os.kill(dies.pid, number)
        began = time.monotonic()
        out, error = client.communicate(timeout=20)
        assert time.monotonic() - began < WITHIN_S
        assert client.returncode == 1 and error.count("\n") == 1
        record = json.loads(out)
        assert record["status"] == "failed" and record["phase"] in ("run", "report")
        assert number == signal.SIGSTOP or victim in record["reason"]
        dies.process.kill()
        dies.process.wait()
        assert client_run(*ONE, other).returncode == 0


@pytest.mark.parametrize("victim", ["proxy", "server"])
def test_a_proxy_or_a_server_that_is_told_to_end_names_itself(victim: str) -> None:
    with proxy_and_server() as (proxy, server):
        client = client_start("--json", *places(proxy, server), *LONG)
        busy(proxy.pid, server.pid)
        told = (proxy if victim == "proxy" else server).process
        told.terminate()
        out, _ = client.communicate(timeout=20)
        told.wait(20)  # a second signal would find it on its way out
        assert client.returncode == 1
        assert f"the {victim} was stopped" in json.loads(out)["reason"]


@pytest.mark.parametrize(("words", "after_ms"), [
    *(([*LONG, *words], (100, 300)) for words in RUNS),
    (["workload=proxy", "connections=4", "duration=60s", "warmup=50ms", "place=free"],
     (1, 2, 4, 7, 10, 14, 20, 30, 60, 120))])
def test_whenever_a_client_is_killed_proxy_and_server_are_soon_free_again(
    words: list[str], after_ms: tuple[int, ...]
) -> None:
    with proxy_and_server() as (proxy, server):
        assert client_run(*ONE, *places(proxy, server)).returncode == 0
        files = [open_files(one.pid) for one in (proxy, server)]
        for milliseconds in after_ms:
            client = client_start(*places(proxy, server), *words)
            time.sleep(milliseconds / 1000)
            client.kill()
            client.wait()
        for one, count in zip((proxy, server), files, strict=True):
            settled(one.pid, count)
        assert client_run(*ONE, *places(proxy, server)).returncode == 0


@pytest.mark.parametrize("victim", ["proxy", "server"])
def test_whenever_one_of_them_ends_the_client_says_so(victim: str) -> None:
    for milliseconds in (1, 3, 6, 10, 15, 20, 30, 60, 130):
        with proxy_and_server() as (proxy, server):
            client = client_start("--json", *places(proxy, server), "workload=proxy",
                                  "duration=60s", "warmup=20ms", "place=free")
            time.sleep(milliseconds / 1000)
            dies = (proxy if victim == "proxy" else server).process
            dies.kill()
            dies.wait()
            out, error = client.communicate(timeout=20)
            assert client.returncode == 1 and error.count(
                "\n") == 1, f"after {milliseconds} ms: {error}"
            record = json.loads(out)
            assert record["status"] == "failed" and record["phase"], record


def test_a_busy_proxy_keeps_no_server_waiting() -> None:
    with proxy_and_server() as (proxy, server):
        first = client_start(f"via={proxy.address}", *LONG)
        busy(proxy.pid)
        second = client_start(*ONE, *places(proxy, server))
        time.sleep(0.5)
        assert client_run("messages=1", "warmup=0s", "place=free",
                          f"server={server.address}").returncode == 0
        first.kill()
        first.wait()
        _, error = second.communicate(timeout=20)
        assert second.returncode == 0 and "the proxy is busy" in error


@pytest.mark.parametrize(("victim", "words"), [("server", []), ("proxy", ["workload=proxy"])])
def test_a_server_or_proxy_of_our_own_is_started_again_after_it_died(victim: str,
                                                                     words: list[str]) -> None:
    client = subprocess.Popen([str(CLIENT), "--batch", "-"], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, text=True)
    assert client.stdin and client.stdout
    client.stdin.write(f"{' '.join([*words, *LONG[1:]])}\n{' '.join([*words, *ONE[1:]])}\n")
    client.stdin.close()
    children = children_of(client.pid, 1 + len(words))
    busy(*children)
    (child,) = [child for child in children if (victim == "proxy") is (
        b"--proxy" in Path(f"/proc/{child}/cmdline").read_bytes())]
    os.kill(child, signal.SIGKILL)
    first, second, end = map(json.loads, client.stdout.read().splitlines())
    assert client.wait(20) == 0
    assert first["status"] == "failed" and f"the {victim} was ended by signal 9" in first["reason"]
    assert second["status"] == "ok" and end == {"end": 2}
