# SPDX-License-Identifier: MIT
"""Every metric from records small enough to work out by hand."""

from __future__ import annotations

import copy
import json

import pytest

import answers
from suite.base.errors import UsageError
from suite.observe.histogram import Histogram
from suite.observe.metrics import METRICS, metric_find, metrics_compute
from suite.result.record import Record
from suite.stats import Beyond

NAMES = list(METRICS)  # docs/stability.md lists them
OF_PROXY = [name for name in NAMES if name.startswith("proxy_")]
OF_RING = ["ring_requests_per_message", "ring_completions_per_message", "copied_share",
           "mapped_share"]
OF_HANDOVER = [name for name in NAMES if name.startswith("handover_")]
OF_CAPTURE = [name for name in NAMES if name.startswith("capture") or name in (
    "smallest_segment", "largest_segment", "super_packets")]
OF_TLS = [name for name in NAMES if name.startswith(("records_", "tls_", "handshake"))]
OPEN_LOOP = [name for name in NAMES
             if name.startswith(("service_", "late_start_")) or name == "requests_late"]


def thread(sent, received, elapsed_ns, size_out, size_in, writes, reads, segments=None, **more):
    """One data thread; its CPU is 30 ns user and 70 ns system a message."""
    count = max(sent, received)
    value = {"connections": 1, "messages_sent": sent, "messages_received": received,
             "bytes_sent": sent * size_out, "bytes_received": received * size_in,
             "begun_ns": 0, "ended_ns": elapsed_ns, "elapsed_ns": elapsed_ns,
             "write_calls": writes, "read_calls": reads, "wait_calls": 0,
             "cpu": {"user_ns": 30 * count, "system_ns": 70 * count}}
    if segments is not None:
        value["tcp_info"] = {"data_segs_out": {"sum": segments}}
    return value | more


def latency(*values):
    """A histogram with bins of width 1."""
    bins = [[value, 1, values.count(value)] for value in sorted(set(values))]
    return {"unit": "ns", "count": len(values), "minimum": min(values), "maximum": max(values),
            "sum": sum(values), "bins": bins}


@pytest.fixture
def request_record():
    """Two connections with a thread each: 100 requests in 1 ms, 300 in 2 ms, of 30 and 2 bytes."""
    return {
        "status": "ok", "wall_ns": 5_000_000, "words": {"workload": "request"},
        "client": {"drives": True, "threads": [
            thread(100, 100, 1_000_000, 30, 2, 1700, 100, 1500, latency=latency(*range(1, 101))),
            thread(300, 300, 2_000_000, 30, 2, 5100, 300, 4500, latency=latency(*[500] * 900)),
        ]},
        "server": {"drives": False, "threads": [
            thread(100, 100, 1_000_000, 2, 30, 100, 200, 100),
            thread(300, 300, 2_000_000, 2, 30, 300, 600, 400),
        ]},
    }


@pytest.fixture
def open_record(request_record):
    """The same requests in an open loop: 50 ns late each, 7 and 3 of those due were never sent."""
    words = request_record["words"] | {"rate": "210000"}
    for each, late in zip(request_record["client"]["threads"], (7, 3), strict=True):
        count = each["messages_sent"]
        each |= {"due": count + late, "late": late,
                 "latency": latency(*[450] * (count - 1), 9050),
                 "service": latency(*[400] * (count - 1), 9000),
                 "late_start": latency(*[50] * (count - 1), 90)}
    return request_record | {"words": words}


@pytest.fixture
def stream_record():
    """1000 messages of 64 bytes, sent in 1 ms, received in 2 ms."""
    return {
        "status": "ok", "wall_ns": 4_000_000, "words": {"workload": "stream"},
        "client": {"drives": True, "threads": [
            thread(1000, 0, 1_000_000, 64, 0, 1000, 1, 50)]},
        "server": {"drives": False, "threads": [
            thread(0, 1000, 2_000_000, 0, 64, 0, 20, 0)]},
    }


def test_metrics_of_a_request_run(request_record):
    values = metrics_compute(Record(request_record))
    expected = {
        "time_per_message": 3e-3 / 400, "stall_per_message": (3e-3 - 2 * 80e-6) / 400,
        "messages_per_second": 400 / 2e-3,
        "bandwidth": 8 * 30 * 400 / 2e-3, "segments_per_message": 6000 / 400,
        "segments_per_reply": 500 / 400, "sends_per_message": 6800 / 400, "sends_per_reply": 1.0,
        "reads_per_reply": 1.0,
        "syscalls_per_message": 18.0, "server_syscalls_per_message": 3.0,
        "cpu_per_message": 200e-9, "client_cpu_per_message": 100e-9,
        "server_cpu_per_message": 100e-9, "cpu_per_byte": 200e-9 / 30,
        "latency_p50": 500e-9, "latency_p90": 500e-9, "latency_p99": 500e-9,
        "latency_p999": 500e-9, "latency_max": 500e-9,
        "time": 5e-3, "user": 800 * 30e-9, "system": 800 * 70e-9, "client_user": 400 * 30e-9,
        "client_system": 400 * 70e-9, "server_user": 400 * 30e-9, "server_system": 400 * 70e-9,
        "softirq": None,
    } | dict.fromkeys([*OPEN_LOOP, *OF_PROXY, *OF_RING, *OF_HANDOVER, *OF_CAPTURE, *OF_TLS,
                       "load_cpu", "subject_cpu",
                       "retransmits_per_message", "peer_window", "memory_per_connection",
                       "server_memory_per_connection"])
    assert list(values) == NAMES
    assert values == pytest.approx(expected)
    assert {metric.unit for metric in METRICS.values()} <= {"s", "bit/s", "1/s", "B", "1"}
    assert {metric.better for metric in METRICS.values()} <= {"lower", "higher"}


def test_what_computed_all_the_time_did_not_wait_and_an_open_loop_waits_by_itself(
        request_record, open_record, stream_record):
    for thread_of in request_record["client"]["threads"]:
        thread_of["cpu"]["user_ns"] = 10_000_000
    assert metrics_compute(Record(request_record))["stall_per_message"] is None  # 2 connections
    request_record["client"]["threads"] = request_record["client"]["threads"][:1]
    assert metrics_compute(Record(request_record))["stall_per_message"] == 0
    for record in (open_record, stream_record):
        assert metrics_compute(Record(record))["stall_per_message"] is None


def test_an_open_loop_adds_service_time_late_starts_and_what_was_never_sent(open_record):
    values = metrics_compute(Record(open_record))
    expected = {
        "latency_p50": 450e-9, "latency_p90": 450e-9, "latency_p99": 9050e-9, "latency_p999": None,
        "latency_max": 9050e-9, "service_p50": 400e-9, "service_p90": 400e-9,
        "service_p99": 400e-9, "service_p999": None, "service_max": 9000e-9,
        "late_start_p50": 50e-9, "late_start_p99": 90e-9, "late_start_max": 90e-9,
        "requests_late": 10.0,
    }
    assert {name: values[name] for name in expected} == pytest.approx(expected)
    assert {name for name in expected if isinstance(values[name], Beyond)} == {
        # 10 of 410 were never sent
        "latency_p99", "latency_max", "late_start_p99", "late_start_max"}


def test_an_open_loop_takes_as_long_as_its_schedule_and_what_was_never_sent_is_no_message(
        open_record):
    values = metrics_compute(Record(open_record))
    assert values["messages_per_second"] == 400 / 2e-3
    assert values["sends_per_message"] == 6800 / 400
    open_record["words"]["rate"] = "10000"
    values = metrics_compute(Record(open_record))
    assert values["messages_per_second"] == pytest.approx(400 / (410 / 10000))
    assert values["time_per_message"] == pytest.approx(2 * (410 / 10000) / 400)


def test_a_thread_without_work_hides_no_rate(request_record):
    rate = metrics_compute(Record(request_record))["messages_per_second"]
    idle = request_record["client"]["threads"][-1] | {"messages_sent": 0, "messages_received": 0}
    for key in ("begun_ns", "ended_ns", "elapsed_ns", "latency"):
        del idle[key]
    request_record["client"]["threads"].append(idle)
    assert metrics_compute(Record(request_record))["messages_per_second"] == rate


def test_a_thread_without_any_reply_has_nothing_to_add_to_a_histogram(open_record):
    idle = thread(0, 0, 1_000_000, 30, 2, 0, 0, 0, due=2, late=2)
    open_record["client"]["threads"].append(idle)
    values = metrics_compute(Record(open_record))
    assert [values["latency_p50"], values["service_max"]] == pytest.approx([450e-9, 9000e-9])
    assert values["requests_late"] == 12.0
    open_record["client"]["threads"] = [idle]
    latency = metrics_compute(Record(open_record))["latency_p50"]
    assert isinstance(latency, Beyond) and latency == 0


def test_metrics_of_a_stream_are_the_receivers_whichever_end_that_is(stream_record):
    values = metrics_compute(Record(stream_record))
    assert values["time_per_message"] == pytest.approx(2e-6)
    assert values["messages_per_second"] == pytest.approx(5e5)
    assert values["bandwidth"] == pytest.approx(8 * 64000 / 2e-3)
    assert values["segments_per_message"] == pytest.approx(0.05)
    assert values["sends_per_message"] == 1.0
    assert values["syscalls_per_message"] == pytest.approx(1.001)
    assert values["server_syscalls_per_message"] == pytest.approx(0.02)
    assert values["cpu_per_message"] == pytest.approx(200e-9)
    for name in ("segments_per_reply", "sends_per_reply", "latency_p50", "latency_max"):
        assert values[name] is None
    turned = metrics_compute(Record(stream_record | {
        "client": stream_record["server"], "server": stream_record["client"]}))
    for name in ("time_per_message", "bandwidth", "segments_per_message", "sends_per_message"):
        assert turned[name] == values[name]
    assert turned["syscalls_per_message"] == values["server_syscalls_per_message"]


def test_tls_records_are_counted_at_the_side_that_sends_them(request_record, stream_record):
    for each, (records, size) in zip([*request_record["client"]["threads"],
                                      *request_record["server"]["threads"]],
                                     [(100, 52), (600, 104), (200, 46), (800, 46)], strict=True):
        each |= {"records_sent": records, "tls_bytes_sent": each["messages_sent"] * size}
    values = metrics_compute(Record(request_record))
    assert values["records_per_message"] == 700 / 400 and values["records_per_reply"] == 1000 / 400
    assert values["tls_bytes_per_message"] == (100 * 52 + 300 * 104) / 400
    assert values["tls_bytes_per_reply"] == 46
    del request_record["server"]["threads"][1]["records_sent"]
    assert metrics_compute(Record(request_record))["records_per_reply"] is None
    for end in ("client", "server"):
        stream_record[end]["threads"][0] |= {"records_sent": 2000, "tls_bytes_sent": 108000}
    values = metrics_compute(Record(stream_record))
    assert values["records_per_message"] == 2 and values["tls_bytes_per_message"] == 108
    assert values["records_per_reply"] is None and values["tls_bytes_per_reply"] is None


def test_handshakes_are_the_drivers(request_record):
    for each in request_record["client"]["threads"]:
        each |= {"handshakes": each["messages_sent"],
                 "handshake": latency(*[700] * (each["messages_sent"] - 1), 9000)}
    request_record["server"]["threads"][0]["handshakes"] = 7
    values = metrics_compute(Record(request_record))
    assert values["handshakes_per_second"] == pytest.approx(400 / 2e-3)
    assert values["handshake_p50"] == values["handshake_p99"] == pytest.approx(700e-9)
    assert values["handshake_max"] == pytest.approx(9000e-9) and values["handshake_p999"] is None


def test_metrics_of_a_proxy_are_its_own_beside_those_of_the_stream(stream_record):
    stream = metrics_compute(Record(stream_record))
    proxy = thread(0, 1000, 0, 0, 64, 250, 500, 125) | {"chunks_sent": 2000, "groups_sent": 250}
    del proxy["messages_sent"], proxy["messages_received"]
    values = metrics_compute(Record(stream_record | {
        "words": {"workload": "proxy"}, "proxy": {"drives": False, "threads": [proxy]}}))
    assert values["segments_per_message"] == 0.125 and values["records_per_message"] is None
    assert values["proxy_sends_per_message"] == 0.25
    assert values["proxy_syscalls_per_message"] == 0.75
    assert values["proxy_chunks_per_group"] == 8
    assert values["proxy_cpu_per_message"] == pytest.approx(100e-9)
    assert values["proxy_cpu_per_byte"] == pytest.approx(100e-9 / 64)
    assert values["cpu_per_message"] == pytest.approx(300e-9)
    for name in ("time_per_message", "bandwidth", "messages_per_second", "sends_per_message"):
        assert values[name] == pytest.approx(stream[name])


def test_threads_are_timed_together_and_what_had_arrived_before_is_not_timed(stream_record):
    first = thread(0, 1000, 2_000_000, 0, 64, 0, 20, 0)
    second = first | {"begun_ns": 1_000_000, "ended_ns": 3_000_000}
    several = stream_record | {"server": {"drives": False, "threads": [first, second]}}
    assert metrics_compute(Record(several))["bandwidth"] == pytest.approx(8 * 128000 / 3e-3)
    stream_record["server"]["threads"][0]["first_bytes"] = 32000
    values = metrics_compute(Record(stream_record))
    assert values["bandwidth"] == pytest.approx(8 * 32000 / 2e-3)
    assert values["time_per_message"] == pytest.approx(4e-6)
    stream_record["server"]["threads"][0]["first_bytes"] = 64000
    assert metrics_compute(Record(stream_record))["bandwidth"] is None


def test_a_run_without_another_end_has_times_but_no_bandwidth(request_record, stream_record):
    for record in (request_record, stream_record):
        values = metrics_compute(Record({k: v for k, v in record.items() if k != "server"}))
        assert values["time_per_message"] > 0 and values["cpu_per_message"] > 0
        assert values["bandwidth"] is None and values["server_syscalls_per_message"] is None
        assert values["server_cpu_per_message"] is None and values["cpu_per_byte"] is None


@pytest.mark.parametrize("key, gone", [
    ("tcp_info", ["segments_per_message", "segments_per_reply"]),
    ("cpu", ["cpu_per_message", "client_cpu_per_message", "user", "system", "cpu_per_byte"]),
    ("write_calls", ["sends_per_message", "sends_per_reply", "syscalls_per_message"]),
    ("read_calls", ["syscalls_per_message", "server_syscalls_per_message"]),
    ("wait_calls", ["syscalls_per_message", "server_syscalls_per_message"]),
    ("elapsed_ns", ["time_per_message"]),
    ("begun_ns", ["messages_per_second", "bandwidth"]),
    ("messages_sent", ["time_per_message", "sends_per_message", "cpu_per_message"]),
    ("bytes_received", ["bandwidth", "cpu_per_byte"]),
    ("latency", ["latency_p50", "latency_max"]),
    ("service", ["service_p50", "service_max"]),
    ("late_start", ["late_start_p50", "late_start_max"]),
    ("late", ["requests_late"]),
])
def test_an_absent_input_is_absent_and_never_zero(open_record, key, gone):
    assert None not in [metrics_compute(Record(open_record))[name] for name in gone]
    for end in ("client", "server"):
        del_from = open_record[end]["threads"][-1]
        del_from.pop(key, None)
    values = metrics_compute(Record(open_record))
    assert {values[name] for name in gone} == {None}
    assert values["time"] is not None


def test_delays_of_a_hand_over_are_those_of_all_sender_threads(request_record):
    delays = [40] * 99 + [80], [60] * 300
    for each, values in zip(request_record["client"]["threads"], delays, strict=True):
        each["handover"] = latency(*values)
    values = metrics_compute(Record(request_record))
    assert {name: values[name] for name in OF_HANDOVER} == pytest.approx({
        "handover_p50": 60e-9, "handover_p90": 60e-9, "handover_p99": 60e-9, "handover_p999": None,
        "handover_max": 80e-9})
    del request_record["client"]["threads"][0]["handover"]
    assert {metrics_compute(Record(request_record))[name] for name in OF_HANDOVER} == {None}


def test_waits_are_calls_of_a_message_and_requests_of_a_ring_are_counted(request_record):
    before = metrics_compute(Record(request_record))
    for number, each in enumerate(request_record["client"]["threads"]):
        each |= {"wait_calls": each["messages_sent"] // 4, "enters": 100,
                 "requests": 200 + number * 200, "completions": 50}
    after = metrics_compute(Record(request_record))
    assert after["syscalls_per_message"] == pytest.approx(before["syscalls_per_message"] + 0.25)
    assert after["sends_per_message"] == before["sends_per_message"]
    assert after["ring_requests_per_message"] == 600 / 400
    assert after["ring_completions_per_message"] == 100 / 400
    assert after["proxy_ring_requests_per_message"] is None


def test_two_directions_at_once_add_up_their_rates():
    record = {
        "status": "ok", "wall_ns": 1, "words": {"workload": "stream"},
        "client": {"drives": True, "threads": [  # receives 200 messages of 10 bytes in 1 ms
            thread(100, 200, 1_000_000, 10, 10, 100, 3, 50)]},
        "server": {"drives": True, "threads": [  # receives 100 in 2 ms
            thread(200, 100, 2_000_000, 10, 10, 600, 3, 100)]},
    }
    values = metrics_compute(Record(record))
    assert values["messages_per_second"] == pytest.approx(200 / 1e-3 + 100 / 2e-3)
    assert values["bandwidth"] == pytest.approx(80 * (200 / 1e-3 + 100 / 2e-3))
    assert values["time_per_message"] == pytest.approx(1 / 250_000)
    assert values["segments_per_message"] == 0.5 and values["sends_per_message"] == pytest.approx(
        700 / 300)
    assert values["segments_per_reply"] is None


def test_retransmits_are_those_of_both_ends_and_memory_is_what_a_process_grew_by(request_record):
    assert metrics_compute(Record(request_record))["memory_per_connection"] is None
    request_record["client"] |= {"resident_before_bytes": 1000, "resident_bytes": 1500}
    for end, count in (("client", 1), ("server", 4)):
        for one in request_record[end]["threads"]:
            one.setdefault("tcp_info", {})["retrans_segs"] = {"sum": count}
    values = metrics_compute(Record(request_record))
    assert values["retransmits_per_message"] == pytest.approx(10 / 400)
    assert values["memory_per_connection"] == 250


def test_the_cpu_of_both_ends_is_not_known_of_a_foreign_peer(request_record):
    del request_record["server"]
    alone = metrics_compute(Record(request_record))
    assert alone["cpu_per_message"] == pytest.approx(100e-9)
    request_record["words"]["peer"] = "127.0.0.1:7"
    foreign = metrics_compute(Record(request_record))
    assert foreign["client_cpu_per_message"] == pytest.approx(100e-9)
    assert {foreign[name] for name in ("cpu_per_message", "user", "system")} == {None}


def test_what_a_foreign_peer_sends_without_end_is_timed_where_it_arrives():
    record = {"status": "ok", "wall_ns": 1,
              "words": {"workload": "stream", "direction": "receive", "peer": "127.0.0.1:19"},
              "client": {"drives": True, "threads": [
                  thread(0, 101, 1_000_000, 0, 10, 0, 5, 0, first_bytes=10)]}}
    values = metrics_compute(Record(record))
    assert values["messages_per_second"] == pytest.approx(100 / 1e-3)
    assert values["bandwidth"] == pytest.approx(8000 / 1e-3)
    assert values["sends_per_message"] is None and values["segments_per_message"] is None


def test_a_run_that_is_not_ok_has_no_metric_and_nothing_done_divides_nothing(request_record):
    values = metrics_compute(Record({"status": "failed", "reason": "x", "client": {"threads": []}}))
    assert set(values.values()) == {None} and list(values) == NAMES
    for end in ("client", "server"):
        for each in request_record[end]["threads"]:
            each |= {"messages_sent": 0, "messages_received": 0}
    assert metrics_compute(Record(request_record))["time_per_message"] is None


def test_several_connections_of_a_thread_each_waited_for_their_own_requests(request_record):
    request_record["client"]["threads"][1]["connections"] = 3
    assert metrics_compute(Record(request_record))["time_per_message"] == pytest.approx(7e-3 / 400)


def test_quantiles_take_the_middle_of_a_bin_within_minimum_and_maximum():
    histogram = Histogram(4, 1003.0, 100.0, 3109.0, ((100, 1, 1), (1000, 16, 3)))
    assert histogram.quantile(0.25) == 100
    assert histogram.quantile(0.5) == 1003  # the middle, 1007.5, is above the maximum


@pytest.mark.parametrize("count, share, known", [
    (9, 0.9, False), (10, 0.9, True), (99, 0.99, False), (100, 0.99, True),
    (999, 0.999, False), (1000, 0.999, True), (1, 0.5, False), (2, 0.5, True),
])
def test_a_quantile_whose_tail_was_not_seen_is_absent(count, share, known):
    value = Histogram(count, 7.0, 7.0, 7.0 * count, ((7, 1, count),)).quantile(share)
    assert value == (7.0 if known else None)


@pytest.mark.parametrize("share", [0.5, 0.9, 0.99, 0.999])
def test_quantiles_of_merged_threads_are_those_of_all_values(request_record, share):
    values = sorted([*range(1, 101), *[500] * 900])
    name = {0.5: "p50", 0.9: "p90", 0.99: "p99", 0.999: "p999"}[share]
    rank = -(-round(share * 1e6) * len(values) // 10**6)
    assert metrics_compute(Record(request_record))[f"latency_{name}"] == pytest.approx(
        values[rank - 1] * 1e-9)


def test_an_unknown_metric_names_the_nearest():
    with pytest.raises(UsageError, match="did you mean bandwidth"):
        metric_find("bandwith", "here")


def test_computing_leaves_the_record_as_it_was():
    with (answers.NODELAY / "records.jsonl").open() as file:
        record = json.loads(file.readline())
    before = copy.deepcopy(record)
    metrics_compute(Record(record))
    assert record == before


@pytest.mark.parametrize("part, rest", [("copied", "lent"), ("mapped_bytes", "copied_bytes")])
def test_a_share_is_of_what_all_ends_sent_or_received_that_count_it(request_record, part, rest):
    name = f"{part.removesuffix('_bytes')}_share"
    assert metrics_compute(Record(request_record))[name] is None
    for worker in request_record["client"]["threads"]:
        worker |= {part: 10, rest: 10 if part == "copied" else 0}
    assert metrics_compute(Record(request_record))[name] == 1
    for worker in request_record["server"]["threads"]:
        worker |= {part: 0, rest: 30}
    assert metrics_compute(Record(request_record))[name] == 0.25
