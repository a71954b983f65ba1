# SPDX-License-Identifier: MIT
"""Both ends name a failure of TLS within 5 s, serve the next client, and never print a key."""

from __future__ import annotations

import base64
import json
import os
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from itertools import cycle, permutations, product
from pathlib import Path
from typing import Any

import pytest

from between import Between, Fault, between
from combinations import LIBRARIES
from programs import (
    WITHIN_S,
    Server,
    batch_run,
    busy,
    client_json,
    client_run,
    client_start,
    record_ok,
    record_sum,
    ring_trouble,
    server_started,
)

SIDES = [f"client.security={client} server.security={server}"
         for client, server in product(LIBRARIES, LIBRARIES)]
LOOPS = ["poll", "ring"] if ring_trouble() is None else ["poll"]
CARRIERS = [f"engine={engine}" for engine in ("block", *LOOPS)] + \
           [f"workload=connect engine={engine} connections=3" for engine in LOOPS]
FEW = "messages=6 warmup=0s place=free"
LONG = "duration=60s warmup=0s place=free"

HELLO = 20  # bytes, before the first of TLS
HTTP = b"GET / HTTP/1.0\r\n\r\n"
ALERT_200 = bytes.fromhex("150303000202c8")  # fatal; no RFC defines this code
TOO_LONG = bytes.fromhex("160303ffff") + bytes(64)  # a record has 16384 bytes and 256 at most

SPOILT_HANDSHAKES = {
    "the key is another": Fault(wrong_key=True),
    "it ends before the first byte": Fault(after=HELLO, closes=True),
    "it ends within the ClientHello": Fault(after=HELLO + 100, closes=True),
    "it ends within the header of the ServerHello": Fault("client", after=3, closes=True),
    "it ends within the ServerHello": Fault("client", after=80, closes=True),
    "a stranger's protocol instead of the ClientHello": Fault(after=HELLO, says=HTTP),
    "a stranger's protocol instead of the ServerHello": Fault("client", after=0, says=HTTP),
    "a record that is too long instead of the ClientHello": Fault(after=HELLO, says=TOO_LONG),
    "a record that is too long instead of the ServerHello": Fault("client", after=0, says=TOO_LONG),
    "an alert without a name instead of the ClientHello": Fault(after=HELLO, says=ALERT_200),
    "an alert without a name instead of the ServerHello": Fault("client", after=0, says=ALERT_200),
    "a ClientHello of zeros": Fault(after=HELLO, says=bytes.fromhex("16030300c8") + bytes(200)),
    "data before the handshake": Fault(after=HELLO, says=bytes.fromhex("1703030064") + bytes(100)),
}
STALLS = [
    Fault(after=HELLO),
    Fault(after=HELLO + 100),
    Fault("client", after=0),
    Fault("client", after=80),
]

pytestmark = pytest.mark.skipif(not LIBRARIES, reason="this build has neither GnuTLS nor OpenSSL")


def check_handshake(text: str, record: dict[str, Any], one: Between, session: int) -> None:
    """Each end has said by itself that a handshake failed, and the client's record says it."""
    assert (record["status"], record["phase"]) == ("failed", "handshake"), f"{text}: {record}"
    for end in ("client", "server"):
        failure = one.failure(session, end)
        assert failure["phase"] == "handshake" and "hand" in failure[
            "text"], f"{text}: {end}: {failure}"
    assert record["reason"] == one.failure(session, "client")["text"]


@pytest.mark.parametrize("carrier", CARRIERS)
def test_a_spoilt_handshake_is_named_by_both_ends_and_the_next_is_whole(carrier: str) -> None:
    faults = [fault for spoilt in SPOILT_HANDSHAKES.values() for fault in (spoilt, None)]
    titles = [title for spoilt in SPOILT_HANDSHAKES for title in (spoilt, "")]
    with server_started() as server, between(server.address, *faults) as one:
        sides = [side for side, _ in zip(cycle(SIDES + SIDES[:1]), SPOILT_HANDSHAKES)
                 for _ in (0, 1)]
        records = batch_run([f"server={one.address} {FEW} {carrier} {side}" for side in sides])
        for session, (title, side, record) in enumerate(zip(titles, sides, records, strict=True)):
            text = f"{carrier} {side} {title}"
            if title:
                check_handshake(text, record, one, session)
            else:
                assert record["status"] == "ok", f"after {text}: {record['reason']}"


@pytest.mark.skipif("gnutls" not in LIBRARIES, reason="this build has no GnuTLS")
def test_a_wrong_key_is_called_that_at_both_ends() -> None:
    with server_started() as server, between(server.address, Fault(wrong_key=True)) as one:
        batch_run([f"server={one.address} {FEW} security=gnutls"])
        for end in ("client", "server"):
            assert one.failure(0, end)["text"].endswith("gnutls: it has another key")


def stall(words: str, fault: Fault) -> None:
    with server_started() as server, between(server.address, fault) as one:
        stalled, whole = batch_run([f"server={one.address} {FEW} {words}"] * 2)
        check_handshake(f"{words} {fault}", stalled, one, 0)
        assert stalled["wall_ns"] < WITHIN_S * 1e9
        assert whole["status"] == "ok", whole.get("reason")


def stop_client(words: str) -> None:
    """Nobody is there whom the server could tell; it serves the next."""
    with server_started() as server:
        client = client_start(f"server={server.address}", *f"{LONG} {words}".split())
        busy(server.pid)
        os.kill(client.pid, signal.SIGSTOP)
        began = time.monotonic()
        assert client_run(f"server={server.address}", *f"{FEW} {words}".split()).returncode == 0
        assert time.monotonic() - began < WITHIN_S
        client.kill()
        client.communicate()


def stop_server(words: str) -> None:
    with server_started() as server:
        client = client_start("--json", f"server={server.address}", *f"{LONG} {words}".split())
        busy(server.pid)
        os.kill(server.pid, signal.SIGSTOP)
        began = time.monotonic()
        out, error = client.communicate(timeout=20)
        assert time.monotonic() - began < WITHIN_S
        record = json.loads(out)
        assert record["status"] == "failed" and "server" in record["reason"] and error.count(
            "\n") == 1
        server.process.kill()
        server.process.wait()


def test_whoever_stalls_or_stops_is_named_within_5_s() -> None:
    """All at the same time: they wait."""
    sides, carriers = cycle(SIDES + SIDES[:1]), cycle(CARRIERS)
    with ThreadPoolExecutor(16) as pool:
        waits = [pool.submit(stall, f"{next(carriers)} {next(sides)}", fault) for fault in STALLS +
                 STALLS]
        waits += [pool.submit(stop, f"{carrier} {next(sides)}") for stop, carrier in
                  zip((stop_client, stop_server, stop_client),
                      (CARRIERS[0], CARRIERS[1], CARRIERS[-1]), strict=False)]
        for wait in waits:
            wait.result()


@pytest.mark.parametrize(("direction", "taker"), [("send", "server"), ("receive", "client")])
@pytest.mark.parametrize("engine", ["block", *LOOPS])
def test_a_stream_that_ends_in_the_middle_of_a_record_is_no_end(engine: str, direction: str,
                                                                taker: str) -> None:
    with server_started() as server, between(server.address,
                                             *[Fault(taker, after=4000, closes=True)] *
                                             len(SIDES)) as one:
        records = batch_run([f"server={one.address} workload=stream direction={direction} "
                             f"message=1000 messages=100 warmup=0s place=free engine={engine} "
                             f"{side}"
                             for side in SIDES])
        for session, record in enumerate(records):
            assert record["status"] == "failed" and record["phase"] != "handshake"
            assert "without a close_notify" in one.failure(session, taker)["text"]
            assert one.failure(session, "client" if taker == "server" else "server")["text"]


@pytest.mark.parametrize("side", SIDES)
def test_a_client_that_is_killed_between_two_records_did_not_end_its_stream(side: str) -> None:
    with server_started() as server, between(server.address, Fault()) as one:
        client = client_start(f"server={one.address}", "workload=stream", "message=10000",
                              "engine=block", *f"{LONG} {side}".split())
        one.await_data(100_000)
        client.kill()
        client.communicate()
        assert "without a close_notify" in one.failure(0, "server")["text"]
        assert client_run(f"server={server.address}", *f"{FEW} {side}".split()).returncode == 0


def test_a_listener_that_has_no_room_for_a_second_is_waited_for() -> None:
    """Until the connection is there nothing can be said on it, and the token comes before the
    handshake."""
    with server_started() as server, between(server.address, full_for_s=0.2) as one:
        record_ok(f"server={one.address} workload=connect messages=1 warmup=0s "
                  f"client.engine=poll {SIDES[0]}")


@pytest.mark.parametrize("security", LIBRARIES)
def test_what_ends_a_stream_is_no_record_of_it(security: str) -> None:
    words = ["workload=stream direction=both", "workload=stream", "workload=request",
             "workload=connect"]
    for text, record in zip(words,
                            batch_run([f"security={security} {FEW} connections=2 {each}"
                                       for each in words]), strict=True):
        for one, other in permutations([record["client"], record["server"]]):
            for what in ("records", "tls_bytes"):
                assert record_sum(
                    one, f"{what}_sent") == record_sum(other, f"{what}_received"), (text)


def told(pids: list[int]) -> bytes:
    """What everybody may read of these processes, and what they were given."""
    return b"".join(Path(f"/proc/{pid}/{file}").read_bytes() for pid in pids
                    for file in ("cmdline", "environ", "comm"))


def run_watched(words: str, server: Server,
                proxy: Server | None = None) -> tuple[list[bytes], bytes]:
    """The keys of a run, and all that can be seen of it."""
    with ExitStack() as stack:
        servers = [server, proxy] if proxy else [server]
        gates = [stack.enter_context(between(each.address)) for each in servers]
        places = [f"{key}={gate.address}"
                  for key, gate in zip(("server", "via"), gates, strict=False)]
        client = client_start("--json", *places, "duration=100ms", "warmup=0s", "place=free",
                              *words.split())
        keys = [bytes.fromhex(gate.first_ready()["key"]) for gate in gates]
        seen = told([client.pid, *[each.pid for each in servers]])
        out, error = client.communicate(timeout=20)
        assert client.returncode == 0, error
        return keys, seen + (out + error).encode()


@pytest.mark.parametrize("security", LIBRARIES)
def test_nobody_tells_the_key_of_a_run(security: str) -> None:
    with server_started() as server, server_started("127.0.0.1:0", "--proxy") as proxy:
        runs = [run_watched(f"workload={workload} security={security}", server)
                for workload in ("request", "connect handshake=ticket")]
        runs.append(run_watched(f"workload=proxy security={security}", server, proxy))
        for process in (server.process, proxy.process):
            process.terminate()
            runs.append(([], "".join(process.communicate(timeout=10)).encode()))
    keys, seen = [key for of_run, _ in runs for key in of_run], b"".join(each for _, each in runs)
    assert len(keys) == 4 and len(set(keys)) == 4 and all(len(key) == 32 for key in keys)
    for key in keys:
        for spelling in (key, key.hex().encode(), key.hex().upper().encode(),
                         base64.b64encode(key)[:40]):
            assert spelling not in seen
    assert security.encode() in seen


def test_a_run_in_the_clear_has_no_key() -> None:
    with server_started() as server, between(server.address) as one:
        client_json("--json", f"server={one.address}", *FEW.split())
        assert one.ready[0]["key"] == ""
