# SPDX-License-Identifier: MIT
"""What a lab is, as text: nothing here touches the system."""

from __future__ import annotations

import pytest

from suite.base.by_hand import by_hand_lines
from suite.base.lab_words import (
    LAB_WORDS,
    Link,
    burst_bytes,
    cable_lines,
    device_facts,
    facts_rows,
    host_lines,
    host_queue_lines,
    lab_text,
    link_of,
    queue_lines,
    rate_bits,
    sysctl_split,
)
from suite.result.checks import DEVICE_SHAPE, Damaged

PLAIN = Link(rate="none", mtu="1500", delay="0s", loss="0%")
SHAPED = Link(rate="1gbit", mtu="9000", delay="0s", loss="0%")
FAR = Link(rate="100mbit", mtu="1500", delay="1ms", loss="0.1%")
WORDS = {"lab": "on", "link_rate": "1gbit", "link_mtu": "9000", "link_delay": "0s",
         "link_loss": "0%", "sysctl": "net.ipv4.tcp_sack:0"}


def test_the_words_of_a_cell_are_its_links() -> None:
    assert link_of(WORDS) == SHAPED
    assert set(WORDS) == set(LAB_WORDS)
    assert lab_text(WORDS) == (
        "link_rate=1gbit link_mtu=9000 link_delay=0s link_loss=0% sysctl=net.ipv4.tcp_sack:0"
    )


@pytest.mark.parametrize(("text", "bits"), [
    ("1mbit", 10**6), ("2500mbit", 25 * 10**8), ("10gbit", 10**10), ("1500kbit", 1500000),
])
def test_a_rate_is_a_number_of_bits(text: str, bits: int) -> None:
    assert rate_bits(text) == bits


@pytest.mark.parametrize(("rate", "mtu", "bytes_"), [
    ("10gbit", "1500", 2500000), ("1gbit", "1500", 250000), ("100mbit", "1500", 65536),
    ("1mbit", "1500", 65536), ("1mbit", "65535", 131070),
])
def test_a_burst_holds_two_milliseconds_a_segment_of_tso_and_two_packets(
    rate: str, mtu: str, bytes_: int,
) -> None:
    assert burst_bytes(Link(rate, mtu, "0s", "0%")) == bytes_


def test_a_router_has_a_device_for_each_side_and_the_others_one_and_a_way_out() -> None:
    assert host_lines("a", PLAIN) == [
        "link set lo up", "link set dev to-b mtu 1500 up",
        "address add 198.18.1.1/24 dev to-b", "route add default via 198.18.1.2"]
    assert host_lines("b", SHAPED) == [
        "link set lo up", "link set dev to-a mtu 9000 up", "address add 198.18.1.2/24 dev to-a",
        "link set dev to-c mtu 9000 up", "address add 198.18.2.2/24 dev to-c"]
    assert cable_lines({"a": "/A", "b": "/B", "c": "/C"}) == [
        "link add name to-b netns /A type veth peer name to-a netns /B",
        "link add name to-c netns /B type veth peer name to-b netns /C"]


def test_every_end_of_a_link_has_the_queues_that_were_asked_for_and_no_others() -> None:
    assert host_queue_lines("b", PLAIN) == []
    assert host_queue_lines("b", SHAPED) == [
        "qdisc add dev to-a root tbf rate 1gbit burst 250000 latency 10ms",
        "qdisc add dev to-c root tbf rate 1gbit burst 250000 latency 10ms"]
    assert queue_lines("to-b", FAR) == [
        "qdisc add dev to-b root handle 1: netem limit 100000 delay 1ms loss 0.1%",
        "qdisc add dev to-b parent 1:1 handle 10: tbf rate 100mbit burst 65536 latency 10ms"]
    assert queue_lines("to-b", Link("none", "1500", "0s", "1%")) == [
        "qdisc add dev to-b root handle 1: netem limit 100000 loss 1%"]


def test_a_setting_is_a_name_and_a_value_with_blanks() -> None:
    assert sysctl_split("none") is None
    assert sysctl_split("net.ipv4.tcp_sack:0") == ("net.ipv4.tcp_sack", "0")
    assert sysctl_split("net.ipv4.tcp_rmem:4096:131072:6291456") == (
        "net.ipv4.tcp_rmem", "4096 131072 6291456")


def test_what_the_system_says_of_a_device_is_kept_and_can_be_read() -> None:
    addresses = [
        {"ifname": "lo", "mtu": 65536, "addr_info": []},
        {"ifname": "to-b", "mtu": 9000, "operstate": "UP", "addr_info": [
            {"family": "inet6", "local": "fe80::1", "prefixlen": 64},
            {"family": "inet", "local": "198.18.1.1", "prefixlen": 24}]}]
    queues = [{"kind": "noqueue", "dev": "lo", "options": {}},
              {"kind": "tbf", "dev": "to-b", "handle": "8001:", "root": True,
               "options": {"rate": 125000000, "burst": 250000, "lat": 10000}}]
    facts = device_facts(addresses, queues)
    assert facts == [{
        "device": "to-b", "address": "198.18.1.1/24", "mtu_bytes": 9000,
        "queues": [{"kind": "tbf",
                    "options": {"rate": 125000000, "burst": 250000, "lat": 10000}}]}]
    setting = {"name": "net.ipv4.tcp_sack", "a": "0", "b": "0", "c": "0"}
    assert facts_rows({"a": facts, "sysctl": setting}) == [
        ("a to-b", "198.18.1.1/24, mtu 9000, tbf 1.00 Gbit/s burst=250000 lat=10000"),
        ("sysctl", "net.ipv4.tcp_sack is 0 in a, 0 in b, 0 in c")]


def test_options_of_several_values_are_kept_in_a_record_and_can_be_read() -> None:
    netem = {"kind": "netem", "options": {
        "limit": 100000, "delay": {"delay": 0.05, "jitter": 0, "correlation": 0}, "ecn": False}}
    device = {"device": "to-b", "address": "198.18.1.1/24", "mtu_bytes": 1500, "queues": [netem]}
    DEVICE_SHAPE(device)
    assert facts_rows({"a": [device]})[0][1].endswith(
        "netem limit=100000 delay=0.05 jitter=0 correlation=0 ecn=false")
    with pytest.raises(Damaged, match="delay"):
        DEVICE_SHAPE(device | {"queues": [netem | {"options": {"delay": {"delay": [1]}}}]})


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
