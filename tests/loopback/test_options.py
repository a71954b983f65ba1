# SPDX-License-Identifier: MIT
"""What a socket is given: buffers and when, what the system makes of them, acknowledgements, MPTCP,
and a real hash."""

from __future__ import annotations

import hashlib
import re
import socket
import threading
from pathlib import Path

import pytest

from programs import batch_run, batch_run_again, client_run, pattern, record_ok, records_ok, trouble

STREAM = "workload=stream message=64K messages=20 warmup=0s place=free"


def options(record: dict, end: str) -> dict:
    assert record["status"] == "ok", record["reason"]
    return record[end]["threads"][0]["options"]


def sysctl(name: str) -> int:
    return int(Path("/proc/sys", *name.split(".")).read_text())


@pytest.mark.parametrize("buffers", ["before", "after"])
@pytest.mark.parametrize("end", ["client", "server"])
def test_buffers_are_in_force_at_the_end_that_was_named(end: str, buffers: str) -> None:
    record = record_ok(f"{STREAM} {end}.sndbuf=48K {end}.rcvbuf=96K {end}.buffers={buffers}")
    other = "server" if end == "client" else "client"
    assert (options(record, end)["sndbuf_bytes"],
            options(record, end)["rcvbuf_bytes"]) == (96 << 10, 192 << 10)
    assert options(record, other)["sndbuf_bytes"] != 96 << 10
    assert "clamped" not in options(record, end)


def test_the_buffers_of_a_unix_socket_are_set_after_accept() -> None:
    before, after, usual = batch_run(
        [f"{STREAM} transport=unix sndbuf=48K buffers={word}"
         for word in ("before", "after", "default")])
    assert before["status"] == "unsupported" and "accept(2)" in before["reason"]
    for record in (after, usual):
        assert (
            options(record, "client")["sndbuf_bytes"]
            == options(record, "server")["sndbuf_bytes"]
            == 96 << 10
        )


@pytest.mark.parametrize("transport", ["tcp", "unix"])
def test_a_buffer_that_the_system_clamps_is_told_with_its_sysctl(transport: str) -> None:
    most = sysctl("net.core.wmem_max")
    record, small = records_ok([f"{STREAM} transport={transport} sndbuf={most + 1}",
                                f"{STREAM} transport={transport} sndbuf=1"])
    assert options(record, "client")["clamped"] == {
        "sndbuf": {"asked_bytes": most + 1, "given_bytes": most, "sysctl": "net.core.wmem_max"}}
    least = options(small, "client")["clamped"]["sndbuf"]
    assert least["asked_bytes"] == 1 < least["given_bytes"] and "sysctl" not in least


def test_a_person_is_told_of_a_clamped_buffer_too() -> None:
    done = client_run(*STREAM.split(), "rcvbuf=1G", "buffers=before")
    assert done.returncode == 0, done.stderr
    assert re.search(
        r"rcvbuf=1G: the server was given \S+, the most that sysctl net\.core\.rmem_max allows",
        done.stdout)


def test_busy_polling_of_the_loopback_is_no_silent_success() -> None:
    (record,) = batch_run(["messages=10 busy_poll=50us place=free warmup=0s"])
    assert record["status"] == "unsupported"
    assert "SO_INCOMING_NAPI_ID is 0" in record["reason"] or "CAP_NET_ADMIN" in record["reason"]


def test_what_is_not_sent_yet_is_bounded_by_notsent_lowat() -> None:
    record = record_ok(f"{STREAM} notsent_lowat=16K")
    assert options(record, "client")["notsent_lowat_bytes"] == 16384


@pytest.mark.parametrize("engine", ["block", "poll", "ring"])
def test_every_receive_is_acknowledged_at_once_where_quickack_is_set_again(engine: str) -> None:
    words = f"messages=200 warmup=0s place=free engine={engine}"
    if why := trouble(words):
        pytest.skip(why)
    usual, once, again = records_ok([f"{words} server.quickack={word}"
                                     for word in ("default", "once", "rearm")])
    assert "setsockopt" not in usual["server"]["threads"][0]["calls"]
    assert once["server"]["threads"][0]["calls"] == usual["server"]["threads"][0]["calls"]
    thread = again["server"]["threads"][0]
    assert thread["calls"]["setsockopt"] == thread["calls"]["recvfrom"] == 200
    assert thread["read_calls"] == 400
    # a reply carries the acknowledgement; sent at once it is a segment by itself
    assert thread["tcp_info"]["segs_out"]["sum"] >= usual["server"]["threads"][0]["tcp_info"][
        "segs_out"]["sum"] + 190


def test_the_largest_window_that_the_peer_advertised_is_told() -> None:
    words = "workload=stream message=64K messages=200 place=free"
    records = records_ok([f"{words} server.rcvbuf={size}" for size in ("16K", "1M")])
    small, large = (record["client"]["threads"][0]["tcp_info"]["largest_peer_window_bytes"]["max"]
                    for record in records)
    assert 0 < small <= 32 << 10 < large <= 2 << 20


MPTCP = trouble("transport=mptcp")
with_mptcp = pytest.mark.skipif(MPTCP is not None, reason=str(MPTCP))


@with_mptcp
@pytest.mark.parametrize("write, segments",
                         [("nodelay", 15), ("cork", 1), ("writev", 1), ("coalesce", 1)])
def test_segments_of_multipath_tcp_are_those_of_its_strategy(write: str, segments: int) -> None:
    """Fragments that are sent one by one may be joined where the machine is busy: MPTCP sends from
    a queue of its own."""
    words = (f"transport=mptcp message=15x2 reply=2 write={write} messages=300 place=together "
             "verify=on")
    (record,) = batch_run_again([words], print)
    for end, count in (("client", segments), ("server", 1)):
        assert options(record, end)["nodelay"] == 1
        seen = record[end]["threads"][0]["tcp_info"]["data_segs_out"]["sum"]
        assert seen == 300 * count or (count > 1 and 280 * count < seen < 300 * count)


@with_mptcp
def test_a_connection_that_fell_back_to_tcp_is_not_called_multipath() -> None:
    with socket.create_server(("127.0.0.1", 0)) as plain:
        port = plain.getsockname()[1]
        threading.Thread(target=lambda: plain.accept()[0].recv(1), daemon=True).start()
        (record,) = batch_run([f"transport=mptcp peer=127.0.0.1:{port} control=none messages=1 "
                               "place=free"])
    assert record["status"] == "unsupported" and "fell back to TCP" in record["reason"]


@pytest.mark.parametrize("transport", ["tcp", "unix"])
def test_the_checksum_is_the_sha_256_of_what_was_sent(transport: str) -> None:
    record = record_ok(f"{STREAM} transport={transport} touch=checksum verify=on")
    assert record["server"]["threads"][0]["checksum"] == hashlib.sha256(
        pattern(20 << 16)).hexdigest()
    assert "checksum" not in record["client"]["threads"][0]
