# SPDX-License-Identifier: MIT
"""What a lab is, as text: nothing here touches the system."""

from __future__ import annotations

import pytest

from suite.base.by_hand import by_hand_lines
from suite.base.lab_words import LAB_WORDS, facts_rows, lab_text
from suite.places.lab import burst_bytes, host_lines, queue_lines
from suite.result.checks import DEVICE_SHAPE

WORDS = {"lab": "on", "link_rate": "1gbit", "link_mtu": "9000", "link_delay": "0s",
         "link_loss": "0%", "sysctl": "net.ipv4.tcp_sack:0"}
FAR = WORDS | {"link_rate": "100mbit", "link_mtu": "1500", "link_delay": "1ms", "link_loss": "0.1%"}


def test_the_words_of_a_lab_are_those_of_its_command() -> None:
    assert set(WORDS) == set(LAB_WORDS)
    assert lab_text(WORDS) == (
        "link_rate=1gbit link_mtu=9000 link_delay=0s link_loss=0% sysctl=net.ipv4.tcp_sack:0"
    )


@pytest.mark.parametrize(("rate", "mtu", "bytes_"), [
    ("10gbit", "1500", 2500000), ("1gbit", "1500", 250000), ("100mbit", "1500", 65536),
    ("1mbit", "1500", 65536), ("1500kbit", "65535", 131070),
])
def test_a_burst_holds_two_milliseconds_a_segment_of_tso_and_two_packets(
    rate: str, mtu: str, bytes_: int,
) -> None:
    assert burst_bytes(rate, mtu) == bytes_


def test_every_end_of_a_link_has_the_queues_that_were_asked_for_and_no_others() -> None:
    assert host_lines("b", WORDS) == [
        "ip link set lo up",
        "ip link set dev to-a mtu 9000 up", "ip address add 198.18.1.2/24 dev to-a",
        "tc qdisc add dev to-a root tbf rate 1gbit burst 250000 latency 10ms",
        "ip link set dev to-c mtu 9000 up", "ip address add 198.18.2.2/24 dev to-c",
        "tc qdisc add dev to-c root tbf rate 1gbit burst 250000 latency 10ms"]
    assert queue_lines("to-b", FAR) == [
        "tc qdisc add dev to-b root handle 1: netem limit 100000 delay 1ms loss 0.1%",
        "tc qdisc add dev to-b parent 1:1 handle 10: tbf rate 100mbit burst 65536 latency 10ms"]
    assert queue_lines("to-b", FAR | {"link_rate": "none", "link_delay": "0s"}) == [
        "tc qdisc add dev to-b root handle 1: netem limit 100000 loss 0.1%"]


def test_options_of_several_values_are_kept_in_a_record_and_can_be_read() -> None:
    netem = {"kind": "netem", "options": {
        "limit": 100000, "delay": {"delay": 0.05, "jitter": 0, "correlation": 0}, "ecn": False}}
    device = {"device": "to-b", "address": "198.18.1.1/24", "mtu_bytes": 1500, "queues": [netem]}
    assert not DEVICE_SHAPE(device)
    assert facts_rows({"a": [device]})[0][1].endswith(
        'netem limit=100000 delay={"delay": 0.05, "jitter": 0, "correlation": 0} ecn=false')
    wrong = device | {"queues": [netem | {"options": {"delay": {"delay": [1]}}}]}
    assert DEVICE_SHAPE(wrong) == ".queues[0].options.delay.delay is a list, not a number"


def test_cells_of_one_lab_stand_together_between_its_up_and_its_down() -> None:
    on = {"lab": "on", "link_rate": "1gbit"}
    lines = by_hand_lines([{"write": "cork"} | on, {"write": "cork", "lab": "off"},
                           {"write": "more"} | on, {"write": "uv", "lab": "on"}], {})
    inside = "uncork lab run uncork-client --server-in 198.18.2.3@/run/netns/uncork-c"
    assert lines == [
        "uncork-client write=cork lab=off",
        "uncork lab up link_rate=1gbit",
        f"{inside} write=cork lab=on link_rate=1gbit",
        f"{inside} write=more lab=on link_rate=1gbit",
        "uncork lab down",
        "uncork lab up",
        f"{inside} write=uv lab=on",
        "uncork lab down"]


def test_a_proxy_is_in_the_middle_and_has_a_place_of_its_own() -> None:
    _, run, _ = by_hand_lines([{"workload": "proxy", "lab": "on"}], {})
    assert run == ("uncork lab run uncork-client --server-in 198.18.2.3@/run/netns/uncork-c "
                   "--proxy-in 198.18.1.2@/run/netns/uncork-b workload=proxy lab=on")
