# SPDX-License-Identifier: MIT
"""capture=on: what passes the device is what TCP counted at both ends, and the file can be read by
others."""

from __future__ import annotations

import ctypes
import os
import socket
import struct
import threading
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from combinations import LIBRARIES
from programs import batch_run, client_json, client_run, record_ok, record_sum, ring_trouble

PR_CAPBSET_DROP = 24
CAP_NET_RAW = 13
QUICK = "capture=on messages=20 place=free"
WARM = f"{QUICK} warmup=2ms"
COLD = f"{QUICK} warmup=0s"
(_checked,) = client_json("--check", "-", stdin=f"{QUICK}\n")[:-1]
can_capture = pytest.mark.skipif("unsupported" in _checked, reason=str(_checked.get("unsupported")))


@dataclass(frozen=True)
class Packet:
    """A packet of IPv4 in a file: its ports, flags of TCP and bytes of payload."""

    source: int
    destination: int
    flags: int
    payload: int


def pcap_read(path: Path) -> list[Packet]:
    """A file with time stamps in ns, of frames with an Ethernet header."""
    data = path.read_bytes()
    magic, major, minor, _, _, snap, link = struct.unpack_from("=IHHiIII", data)
    assert (magic, major, minor, snap, link) == (0xA1B23C4D, 2, 4, 96, 1)
    packets, at, before = [], 24, 0
    while at < len(data):
        seconds, fraction, size, whole = struct.unpack_from("=IIII", data, at)
        taken = seconds * 10**9 + fraction
        assert size == min(whole, snap) and before < taken + 10**6  # by the clocks of two CPUs
        before, frame = taken, data[at + 16:at + 16 + size]
        assert len(frame) == size and frame[12:15] == b"\x08\x00\x45" and frame[23] == 6
        (length,) = struct.unpack(">H", frame[16:18])
        source, destination = struct.unpack(">HH", frame[34:38])
        packets.append(Packet(source, destination, frame[47], length - 20 - 4 * (frame[46] >> 4)))
        at += 16 + size
    return packets


def tcp_sum(end: dict[str, Any], key: str) -> int:
    return sum(thread["tcp_info"][key]["sum"] for thread in end["threads"])


def sent_in_all(end: dict[str, Any]) -> int:
    """The segments with data that TCP counted, retransmissions among them: what a record leaves out
    of `data_segs_out` is put back. A FIN by itself that was sent again is left out with them."""
    again = sum(
        segments
        for thread in end["threads"]
        for segments, size in zip(
            thread["tcp_info"]["retrans_segs"]["each"],
            thread["tcp_info"]["bytes_retrans"]["each"],
            strict=True,
        )
        if size
    )
    return tcp_sum(end, "data_segs_out") + again


def assert_agrees(text: str, record: dict[str, Any]) -> dict[str, Any]:
    """The capture counts what TCP counted: that of the client, and that of the server where it is
    the other end.

    In direction=both an end reads its last figures when the other has no more to send. What it has
    sent itself may then still wait for room in the congestion window and is not in `data_segs_out`
    yet: there the receivers know."""
    assert record["status"] == "ok", f"{text}: {record['reason']}"
    client, other = record["client"], record.get("proxy") or record["server"]
    capture = client["capture"]
    sent, received = capture["sent"], capture["received"]
    assert (capture["dropped"], capture["truncated"]) == (0, False)
    both = record["words"].get("direction") == "both"
    # TCP_INFO has one less where a close_notify shared a segment.
    out = sent["data_segments"] - sent.get("shared_close_notifies", 0)
    back = received["data_segments"] - received.get("shared_close_notifies", 0)
    # What is sent again after an end has read its last figures is captured and not counted.
    out_most = out + sent["retransmitted_segments"]
    back_most = back + received["retransmitted_segments"]
    assert back <= tcp_sum(client, "data_segs_in") <= back_most, text
    assert both or out <= sent_in_all(client) <= out_most, text
    if other is record["server"]:
        assert out <= tcp_sum(other, "data_segs_in") <= out_most, text
        assert both or back <= sent_in_all(other) <= back_most, text
    if record["words"]["security"] == "plain":
        assert sent["payload_bytes"] == record_sum(client, "bytes_sent"), text
        assert received["payload_bytes"] == record_sum(client, "bytes_received"), text
    return capture


# Fifteen segments are more than a young congestion window: some may have to wait, and leave
# together.
PIECES = {"15x2": None, "32/2x4K/2x4K": [32, 4096, 4096, 4096, 4096]}
GROUPS = {"15x2": [30], "32/2x4K/2x4K": [32, 8192, 8192]}
# An acknowledgement of the group before lets go of what MSG_MORE holds between two sends, and not
# of what a cork does.
ONE_GROUP = GROUPS | {"32/2x4K/2x4K": None}
IN_ORDER = {"nodelay": PIECES, "cork": GROUPS, "more": ONE_GROUP, "writev": GROUPS,
            "coalesce": GROUPS}


@can_capture
def test_at_depth_1_segments_are_those_of_tcp_info_and_of_the_strategy() -> None:
    cells = [(write, message) for write in IN_ORDER for message in PIECES]
    lines = [f"{WARM} write={write} message={message} reply=3" for write, message in cells]
    for (write, message), text, record in zip(cells, lines, batch_run(lines), strict=True):
        capture = assert_agrees(text, record)
        assert capture["received"]["sizes"] == [[3, 20]], text
        wanted = IN_ORDER[write][message]
        assert capture["sent"]["super_packets"] == 0, text
        if wanted is None:
            continue
        assert capture["sent"]["sizes"] == sorted([size, 20 * wanted.count(size)]
                                                  for size in {*wanted}), text
        assert capture["sent"]["first"] == (wanted * 20)[:64], text


@can_capture
def test_every_workload_and_many_connections_agree() -> None:
    lines = [
        f"{COLD} message=15x2", f"{WARM} message=15x2 connections=5 threads=2 depth=3 write=more",
        f"{WARM} workload=stream message=1M", f"{COLD} workload=stream direction=both message=15x2",
        f"{WARM} workload=stream direction=receive message=15x2 connections=3",
        f"{WARM} workload=proxy chunk=1K",
        f"{WARM} workload=proxy direction=receive",
        *(f"{WARM} security={name} message=15x2" for name in LIBRARIES),
        *(f"{WARM} security={name} message=15x2 workload=stream direction=receive"
          for name in LIBRARIES),
    ]
    for text, record in zip(lines, batch_run(lines), strict=True):
        assert_agrees(text, record)


@can_capture
def test_what_still_waits_to_be_sent_when_the_interval_begins_is_of_the_warm_up() -> None:
    """In direction=both an end marks while its own last bytes may be held by Nagle's algorithm."""
    text = f"{WARM} workload=stream direction=both message=64 nodelay=off"
    for record in batch_run([text] * 40):
        assert_agrees(text, record)


@can_capture
def test_where_connections_come_and_go_those_of_the_interval_are_counted() -> None:
    # a ring connects without a call
    engines = ["block", "poll"] if ring_trouble() else ["block", "poll", "ring"]
    lines = [f"{WARM} workload=connect message=15x2 write=cork reply=7 connections={count} "
             f"client.engine={engine}"
             for count in (1, 4)
             for engine in engines]
    for record in batch_run(lines):
        capture = record["client"]["capture"]
        # with the token and the number of the connection
        assert capture["sent"]["sizes"] == [[20 + 30, 20]]
        assert capture["received"]["sizes"] == [[7, 20]]


@can_capture
def test_ipv6_and_a_foreign_peer_are_captured_too() -> None:
    def echo(listener: socket.socket) -> None:
        one = listener.accept()[0]
        while data := one.recv(65536):
            one.sendall(data)
        one.close()

    with socket.create_server(("::1", 0), family=socket.AF_INET6) as listener:
        threading.Thread(target=echo, args=[listener], daemon=True).start()
        port = listener.getsockname()[1]
        record = record_ok(f"{COLD} peer=[::1]:{port} control=none message=100")
    capture = record["client"]["capture"]
    assert capture["sent"]["sizes"] == [[100, 20]] and capture["received"]["payload_bytes"] == 2000
    assert capture["sent"]["data_segments"] == tcp_sum(record["client"], "data_segs_out")


@can_capture
def test_the_file_has_all_packets_of_the_run_and_no_others(tmp_path: Path) -> None:
    path = tmp_path / "run.pcap"
    words = f"{COLD} message=15x2 connections=2 write=cork".split()
    (record,) = client_json("--pcap", str(path), "--json", *words)
    packets, capture = pcap_read(path), record["client"]["capture"]
    assert capture["file"] == str(path) and [*tmp_path.iterdir()] == [path]
    assert len(packets) == capture["stored_packets"]
    server = packets[0].destination
    assert packets[0].flags == 2 and all(server in (one.source, one.destination) for one in packets)
    assert len({one.source for one in packets} - {server}) == 2
    sent = Counter(one.payload for one in packets if one.destination == server and one.payload)
    assert sent == {20: 2, 30: 20}  # the token and the number of each connection, then the messages


def test_a_file_for_many_runs_is_refused(tmp_path: Path) -> None:
    done = client_run("--pcap", str(tmp_path / "x"), "--batch", "-", stdin=f"{QUICK}\n{QUICK}\n")
    assert done.returncode == 2 and "--pcap is for one run, and this batch has 2" in done.stderr
    assert not [*tmp_path.iterdir()]


@can_capture
def test_a_file_that_cannot_be_written_ends_the_run_before_it_began(tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to("/dev/null")
    for path, why in (tmp_path / "none" / "x",
                      "No such file or directory"), (tmp_path, "it is a directory"), (
            link, "it is a symbolic link"):
        done = client_run("--pcap", str(path), "capture=on", "duration=60s")
        assert done.returncode == 1 and f"cannot write {path}: {why}" in done.stderr
    assert link.is_symlink() and [*tmp_path.iterdir()] == [link]


@can_capture
def test_a_run_that_fails_leaves_no_file(tmp_path: Path) -> None:
    done = client_run("--pcap", str(tmp_path / "x"), *QUICK.split(), "peer=127.0.0.1:1",
                      "control=none")
    assert done.returncode == 1 and "refused" in done.stderr
    assert not [*tmp_path.iterdir()]


def drop_right() -> None:
    assert ctypes.CDLL(None).prctl(PR_CAPBSET_DROP, CAP_NET_RAW, 0, 0, 0) == 0


@pytest.mark.skipif(os.geteuid() != 0, reason="only root has a right to give up")
@can_capture
def test_without_the_right_it_is_unsupported_and_says_what_would_give_it() -> None:
    check, _ = client_json("--check", "-", stdin=f"{QUICK}\n", preexec_fn=drop_right)
    assert "CAP_NET_RAW: sudo setcap cap_net_raw+ep" in check["unsupported"]
    (record,) = batch_run([QUICK], preexec_fn=drop_right)
    assert (record["status"], record["reason"]) == ("unsupported", check["unsupported"])
