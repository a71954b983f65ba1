# SPDX-License-Identifier: MIT
"""capture=on in a matrix: what is kept of it, what is derived from it, and that it tells the
truth."""

from __future__ import annotations

import copy
import re
from typing import Any

import pytest

from answers import remarks
from conftest import Uncork, records_of
from hosts import namespaces_refusal
from suite.base.client import Client, client_check
from suite.measure.runner import capture_file
from suite.measure.schedule import Run
from suite.observe.metrics import metrics_compute
from suite.present.show import capture_rows, sizes_text
from suite.result.plan import Plan, PlannedCell
from suite.result.record import Record

Document = dict[str, Any]
QUICK = ("capture=on", "messages=20", "warmup=2ms", "place=free", "rounds=1")


@pytest.fixture
def can_capture(binaries: Client) -> None:
    """Skips where this machine or this build cannot."""
    refused = client_check(binaries, ["capture=on"])[0].unsupported
    if refused is not None:
        pytest.skip(refused)


def way(sizes: list[list[int]], **more: Any) -> Document:
    """One way of a capture; every packet is a segment."""
    segments = sum(count for _, count in sizes)
    known = {"smallest_bytes": sizes[0][0], "largest_bytes": sizes[-1][0], "sizes": sizes,
             "first": [size for size, count in sizes for _ in range(count)]} if sizes else {}
    return {"data_segments": segments, "payload_bytes": sum(size * count for size, count in sizes),
            "packets": segments, "super_packets": 0, "retransmitted_segments": 0,
            "retransmitted_bytes": 0} | known | more


def end(drives: bool, sent: int, segments_out: int, segments_in: int, again: int = 0) -> Document:
    tcp = {"data_segs_out": {"sum": segments_out}, "data_segs_in": {"sum": segments_in},
           "retrans_segs": {"sum": again}}
    return {"drives": drives, "threads": [{"messages_sent": sent, "messages_received": sent,
                                           "tcp_info": tcp}]}


@pytest.fixture
def record() -> Document:
    """Ten requests of 32/100/100 in three segments each, with replies of 7 bytes."""
    capture = {"device": "lo", "snap_bytes": 96, "stored_packets": 99, "dropped": 0,
               "truncated": False, "sent": way([[32, 10], [100, 20]]), "received": way([[7, 10]])}
    return {"status": "ok", "words": {"workload": "request", "capture": "on"},
            "run": {"round": 3}, "client": end(True, 10, 30, 10) | {"capture": capture},
            "server": end(False, 10, 10, 30)}


def test_segments_as_captured_are_told_by_message_and_by_size(record: Document) -> None:
    values = metrics_compute(Record(record))
    told = {"captured_segments_per_message": 3, "captured_segments_per_reply": 1,
            "smallest_segment": 32, "largest_segment": 100, "super_packets": 0,
            "capture_difference": 0}
    assert {name: values[name] for name in told} == told
    assert remarks(record) == ()


def test_the_messages_of_a_server_are_what_the_client_receives(record: Document) -> None:
    record["words"] = {"workload": "stream", "direction": "receive"}
    record["client"]["drives"], record["server"]["drives"] = False, True
    values = metrics_compute(Record(record))
    assert values["captured_segments_per_message"] == 1
    assert (values["smallest_segment"], values["largest_segment"]) == (7, 7)
    assert values["captured_segments_per_reply"] is None


@pytest.mark.parametrize("change, said", [
    ({"dropped": 4}, "the capture lost packets and gives no figures"),
    ({"truncated": True}, "there were more packets than a capture stores, so it gives no figures"),
])
def test_a_capture_that_is_not_whole_has_no_figures(
    record: Document, change: Document, said: str,
) -> None:
    part = copy.deepcopy(record)
    part["client"]["capture"] |= change
    values = metrics_compute(Record(part))
    assert {values[name] for name in ("captured_segments_per_message", "super_packets",
                                      "largest_segment", "capture_difference")} == {None}
    assert remarks(record, part) == (f"{said} in 1 of 2 runs",)


@pytest.mark.parametrize("name, key", [
    ("client", "data_segs_out"), ("client", "data_segs_in"), ("server", "data_segs_out"),
    ("server", "data_segs_in"),
])
def test_whatever_counter_contradicts_the_capture_is_a_remark(
    record: Document, name: str, key: str,
) -> None:
    record[name]["threads"][0]["tcp_info"][key]["sum"] += 2
    assert metrics_compute(Record(record))["capture_difference"] == 2
    assert remarks(record, record) == (
        "capture and TCP_INFO differ by at most 2 segments",)


def test_where_both_ends_send_only_receivers_contradict_the_capture(record: Document) -> None:
    """What an end has sent may leave after its last look at TCP_INFO."""
    record["words"] = {"workload": "stream", "direction": "both"}
    record["server"]["drives"] = True
    for name in ("client", "server"):
        record[name]["threads"][0]["tcp_info"]["data_segs_out"]["sum"] -= 5
    assert metrics_compute(Record(record))["capture_difference"] == 0
    record["server"]["threads"][0]["tcp_info"]["data_segs_in"]["sum"] -= 1
    assert metrics_compute(Record(record))["capture_difference"] == 1


def test_what_was_sent_again_or_shared_with_a_close_notify_is_no_difference(
    record: Document,
) -> None:
    capture = record["client"]["capture"]
    capture["received"] |= {"retransmitted_segments": 1}
    record["client"]["threads"][0]["tcp_info"]["data_segs_in"]["sum"] += 1
    record["server"] = end(False, 10, 10, 28, again=1)  # two of the client's never came
    capture["sent"] |= {"shared_close_notifies": 1}
    record["client"]["threads"][0]["tcp_info"]["data_segs_out"]["sum"] -= 1
    assert metrics_compute(Record(record))["capture_difference"] == 0


def test_sizes_stand_in_one_line_with_the_order_of_the_first_packets() -> None:
    assert sizes_text(way([])) == "no segments with payload"
    assert sizes_text(way([[32, 1], [8192, 2]])) == \
        "1 x 32, 2 x 8192 bytes; in order 32, 8192, 8192"
    many = way([[size, 1] for size in range(1, 20)] + [[20, 5]], super_packets=3,
               retransmitted_segments=2)
    assert sizes_text(many) == (
        "1 x 1, 1 x 2, 1 x 3, 1 x 4, 1 x 5, 1 x 6, 1 x 7, 5 x 20 bytes, 12 of other sizes; "
        "3 packets not cut up yet; 2 sent again; in order 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, "
        "...")


def test_of_a_cell_the_run_is_shown_whose_packets_were_kept(record: Document) -> None:
    kept = copy.deepcopy(record)
    kept["client"]["capture"] |= {"file": "captures/cell-001.pcap"}
    kept["run"]["round"] = 1
    rows = dict(capture_rows([Record(kept), Record(record)]))
    assert rows["captured on"] == "lo, 99 packets of round 1"
    assert rows["packets"] == "captures/cell-001.pcap"
    assert dict(capture_rows([Record(record)]))["captured on"] == "lo, 99 packets of round 3"
    assert capture_rows([Record({"client": {}})]) == []


@pytest.mark.parametrize("round_, label, words, file", [
    (1, "A", {"capture": "on"}, "captures/cell-002.pcap"), (0, "A", {"capture": "on"}, None),
    (2, "A", {"capture": "on"}, None), (1, "A'", {"capture": "on"}, None),
    (1, "A", {"capture": "off"}, None), (1, "A", {}, None),
])
def test_packets_are_kept_of_the_first_counted_round(
    round_: int, label: str, words: dict[str, str], file: str | None,
) -> None:
    cells = PlannedCell("a", {}, {}), PlannedCell("b", words, {})
    assert capture_file(Run(cells[1], label, round_, 0), Plan("x", (), cells, rounds=1)) == file


MESSAGE = "32/2x4K/2x4K/2x4K/2x4K"
PAYLOADS = {"nodelay": [32, *[4096] * 8], "writev": [32, *[8192] * 4],
            "more": [32, *[8192] * 4], "cork": [32, *[8192] * 4]}


def sizes_joined(sizes: list[int]) -> list[int]:
    """Payloads of segments with the halves of a group as one.

    MSG_MORE holds until the next send, not longer: an acknowledgement that comes between two sends
    lets the first half go, and on a busy machine one does. A cork holds what it holds.
    """
    joined: list[int] = []
    for size in sizes:
        if joined and size == joined[-1] == 4096:
            joined[-1] = 8192
        else:
            joined.append(size)
    return joined


@pytest.mark.skipif(namespaces_refusal() is not None, reason=str(namespaces_refusal()))
def test_in_a_lab_the_payloads_of_segments_are_what_the_strategy_makes_of_a_message(
    uncork: Uncork, can_capture: None,
) -> None:
    folder = uncork.results / "x"
    done = uncork.run("run", "lab=on", "link_mtu=9000", f"message={MESSAGE}",
                      f"write={','.join(PAYLOADS)}", *QUICK, "-o", str(folder))
    assert done.returncode == 0, done.stderr
    records = records_of(folder)
    assert len(records) == 2 * (4 + 1)  # a warm-up and a round, the baseline twice in each
    for one in records:
        words, capture = one["words"], one["client"]["capture"]
        wanted = PAYLOADS[words["write"]]
        sizes, first = dict(capture["sent"]["sizes"]), capture["sent"]["first"]
        if words["write"] == "more":
            first = sizes_joined(first)[:-1]  # the last may be a half
            sizes[8192] = sizes.get(8192, 0) + sizes.pop(4096, 0) // 2
        assert len(first) >= 31 and first == (wanted * 20)[:len(first)], words
        assert sizes == {size: 20 * wanted.count(size) for size in set(wanted)}, words
        assert capture["sent"]["payload_bytes"] == 20 * one["client"]["message_bytes"]
        assert metrics_compute(Record(one))["capture_difference"] == 0, words
        assert metrics_compute(Record(one))["super_packets"] == 0, words
    files = sorted(path.name for path in (folder / "captures").iterdir())
    assert files == [f"cell-{number:03}.pcap" for number in range(1, 5)]
    kept = [one for one in records if "file" in one["client"]["capture"]]
    assert {one["run"]["round"] for one in kept} == {1} and len(kept) == 4
    for one in kept:
        size = (folder / one["client"]["capture"]["file"]).stat().st_size
        assert size > one["client"]["capture"]["stored_packets"] * (16 + 54)
    shown = uncork.run("show", str(folder), "write=cork").stdout
    # on a busy machine a segment may be sent again
    assert re.search("20 x 32, 80 x 8192 bytes(; [0-9]+ sent again)?; in order 32, 8192, 8192,",
                     shown), shown
    assert "captures/cell-" in shown


@pytest.mark.skipif(namespaces_refusal() is not None, reason=str(namespaces_refusal()))
def test_packets_that_nobody_has_cut_up_count_as_tcp_counts_them(
    uncork: Uncork, can_capture: None,
) -> None:
    folder = uncork.results / "x"
    done = uncork.run("run", "lab=on", "workload=stream", "message=64K", "direction=send,receive",
                      *QUICK, "-o", str(folder))
    assert done.returncode == 0, done.stderr
    for one in records_of(folder):
        values = metrics_compute(Record(one))
        assert values["capture_difference"] == 0 and values["super_packets"] > 0
        assert values["largest_segment"] == 1448
