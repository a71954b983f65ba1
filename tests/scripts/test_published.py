# SPDX-License-Identifier: MIT
"""Every published figure that a scenario quotes is worked out again from its file."""

from __future__ import annotations

import csv

import pytest

from answers import ROOT
from published import RULES, published_recompute
from suite.base.errors import UsageError
from suite.scenario.scenario import scenario_load

SCENARIOS = sorted((ROOT / "scenarios").glob("*.toml"))
FOLDER = ROOT / "scenarios" / "published"


@pytest.mark.parametrize("path", SCENARIOS, ids=lambda path: path.stem)
def test_published_values_of_a_scenario_are_those_of_their_files(path):
    for figure in scenario_load(path).published:
        value = published_recompute(figure.source, figure.metric, FOLDER)
        assert figure.value == pytest.approx(value, rel=1e-3), figure


@pytest.mark.parametrize("row, seconds", [("nagle", 40.0129781e-3), ("nodelay", 164.977124e-6),
                                          ("cork", 85.0796448e-6)])
def test_the_tcp_nodelay_guide_gives_seconds_per_message(row, seconds):
    value = published_recompute(f"tcp_nodelay.csv:{row}", "time_per_message", FOLDER)
    assert value == pytest.approx(seconds)


@pytest.mark.parametrize("row", ["uring-ring", "uring-bundle"])
def test_the_series_on_bundles_gives_the_bits_per_second_that_it_tells_itself(row):
    with (FOLDER / "uring_bundles.csv").open(newline="") as file:
        told = {line["method"]: float(line["mbit_per_s"]) for line in csv.DictReader(file)}
    value = published_recompute(f"uring_bundles.csv:{row}", "bandwidth", FOLDER)
    assert value / 1e6 == pytest.approx(told[row], rel=1e-3)


@pytest.mark.parametrize("row", ["unix/plain", "unix/tls", "tcp/plain", "tcp/tls"])
def test_before_and_after_the_cork_give_the_average_gain_that_was_told(row):
    with (FOLDER / "nbd_cork.csv").open(newline="") as file:
        told = {f"{line['transport']}/{line['security']}": line["gain_avg_pct"]
                for line in csv.DictReader(file) if line["set"] == "ten_runs"}
    pre, post = (published_recompute(f"nbd_cork.csv:ten_runs/{row}/{case}", "messages_per_second",
                                     FOLDER) for case in ("pre", "post"))
    assert 100 * (post / pre - 1) == pytest.approx(float(told[row]), abs=0.1)


def test_the_cut_off_of_a_cork_gives_replies_per_second():
    corked, apart = (published_recompute(f"nbd_tls_cutoff.csv:{row}", "messages_per_second",
                                         FOLDER) for row in ("all/512", "none/512"))
    assert corked / apart == pytest.approx(1.418, rel=1e-3)


@pytest.mark.parametrize("case, metric, size", [
    ("window/buffers set after connect (SO_RCVBUF 4 MB)", "peer_window", 128 << 10),
    ("window/buffers set before connect (SO_RCVBUF 4 MB)", "peer_window", 2 << 20),
    ("packetize/header segment payload", "smallest_segment", 32),
    ("packetize/each of four data segments payload", "largest_segment", 8192)])
def test_windows_and_segments_of_drbd_are_told_in_bytes(case, metric, size):
    assert published_recompute(f"drbd.csv:{case}", metric, FOLDER) == size


@pytest.mark.parametrize("case, seconds", [
    ("ordinary scheduling", 20e-6), ("SCHED_RR priority 2 and schedule() after submit", 7e-6)])
def test_the_hand_over_to_a_sender_thread_is_told_in_microseconds(case, seconds):
    value = published_recompute(f"drbd.csv:handoff/{case}", "handover_p50", FOLDER)
    assert value == pytest.approx(seconds)


def test_every_row_by_send_buffer_is_quoted_by_its_scenario():
    with (FOLDER / "unix_sndbuf.csv").open(newline="") as file:
        rows = {f"unix_sndbuf.csv:{row['test']}/{row['sndbuf']}" for row in csv.DictReader(file)}
    quoted = scenario_load(ROOT / "scenarios" / "unix_sndbuf.toml").published
    assert {figure.source for figure in quoted} == rows and len(quoted) == len(rows)


def test_every_rule_is_of_a_file_that_is_there():
    assert all((FOLDER / name).exists() for name in RULES)


@pytest.mark.parametrize("source, metric, said", [
    ("tcp_nodelay.csv:corc", "time_per_message", "did you mean cork"),
    ("tcp_nodelay.csv", "time_per_message", 'no row ""'),
    ("tcp_nodely.csv:cork", "time_per_message", "did you mean tcp_nodelay.csv"),
    ("tcp_nodelay.csv:cork", "bandwidth", "does not tell bandwidth"),
    ("nbd_cork.csv:single/tcp/tls", "messages_per_second", "did you mean single/tcp/tls/"),
    ("drbd.csv:packetize/header segment payload", "handover_p50", "is in bytes, not in micros"),
    ("nbd_cork.csv:single/tcp/tls/bost", "messages_per_second", "did you mean single/tcp/tls/post"),
])
def test_a_source_that_is_not_there_is_named(source, metric, said):
    with pytest.raises(UsageError, match=said):
        published_recompute(source, metric, FOLDER)
