# SPDX-License-Identifier: MIT
"""TLS: every supported combination carries its bytes whole, in the records that the strategy
promises."""

from __future__ import annotations

from itertools import cycle, product

import pytest

from combinations import COMMON, LIBRARIES, OTHERS, agreeing, cells_run, shapes, thinned
from pairwise import pairwise_rows
from programs import BIN, record_ok, record_sum, records_ok

SENDERS = ["nagle", "nodelay", "cork:record", "cork:segment", "cork:record:4K", "coalesce",
           "coalesce:1K"]
ACROSS_RECORDS = ["20000+5", "2x16384", "1M/1"]  # a record has 16384 bytes at most
MIXED = {key: values for key, values in OTHERS.items()
         if key not in ("engine", "rate", "arrival", "pace")} | {
    "message": [*OTHERS["message"], *ACROSS_RECORDS],
    "cipher": ["aes-128-gcm", "chacha20-poly1305"],
    "handshake": ["psk-ecdhe", "psk"],
}
ENGINES = ["block", "poll", "ring"]

pytestmark = pytest.mark.skipif(not LIBRARIES, reason="this build has neither GnuTLS nor OpenSSL")


def sides() -> list[dict[str, str]]:
    """Every library with every other; a proxy has that of the server."""
    return [{"client.security": client, "server.security": server, "proxy.security": server}
            for client, server in product(LIBRARIES, LIBRARIES)]


@pytest.mark.parametrize("transport", ["tcp", "unix"])
def test_every_encrypted_combination_carries_its_bytes_whole(transport: str, tally) -> None:
    senders = SENDERS if "tsan" not in BIN.parts else ["nodelay", "cork:record"]
    rows, kinds = cycle(pairwise_rows(MIXED)), cycle(shape for shape in shapes()
                                                     if shape["workload"] != "request")
    planned = []
    for write, engine, security in product(senders, ENGINES, sides()):
        common = COMMON | {"transport": transport, "read": "recv", "write": write,
                           "engine": engine} | security
        if engine == "block":
            common |= {"client.threads": "2"}
        planned.append(agreeing(common | {"workload": "request", "reply_write": write} |
                                next(rows)))
        planned.append(agreeing(common | next(kinds) | next(rows)))
    cells_run(thinned(planned, transport == "unix"), tally)


RECORDS_PER_REPLY = {"nodelay": 2, "cork": 1, "cork:record": 1, "cork:segment": 2, "coalesce": 1,
                     "cork:4K": 2,
                     "cork:5K": 1, "coalesce:4K": 2}


@pytest.mark.parametrize("security", LIBRARIES)
@pytest.mark.parametrize("rest", ["depth=1", "depth=8 engine=poll"])
def test_records_per_reply_are_those_of_the_strategy(security: str, rest: str) -> None:
    common = f"security={security} message=28 reply=16+4K messages=200 warmup=0s verify=on {rest}"
    records = records_ok([f"{common} reply_write={write}" for write in RECORDS_PER_REPLY])
    for record, (write, count) in zip(records, RECORDS_PER_REPLY.items(), strict=True):
        assert record_sum(record["server"], "records_sent") == 200 * count, write
        assert record_sum(record["client"], "records_received") == 200 * count, write


@pytest.mark.parametrize("security", LIBRARIES)
def test_what_left_by_one_cork_of_segments_left_in_one_segment(security: str) -> None:
    record = record_ok(
        f"security={security} reply=16+4K reply_write=cork:segment messages=200 warmup=10ms")
    thread = record["server"]["threads"][0]
    assert thread["tcp_info"]["data_segs_out"]["sum"] == thread["messages_sent"]
    assert thread["records_sent"] == 2 * thread["messages_sent"]


SEGMENTS_PER_REPLY = {"nodelay": 2, "cork": 1, "more": 1, "writev": 1, "coalesce": 1}


def test_a_plain_header_and_page_are_one_segment_unless_they_are_sent_apart() -> None:
    common = "message=28 reply=16+4K messages=200 warmup=10ms"
    records = records_ok([f"{common} reply_write={write}" for write in SEGMENTS_PER_REPLY])
    for record, (write, count) in zip(records, SEGMENTS_PER_REPLY.items(), strict=True):
        assert record["server"]["threads"][0]["tcp_info"]["data_segs_out"][
            "sum"] == 200 * count, write


@pytest.mark.parametrize("security", LIBRARIES)
def test_a_record_carries_sixteen_kibibytes_and_twenty_two_bytes_of_its_own(security: str) -> None:
    """Header 5, type of the content 1, tag 16: RFC 8446, 5.2."""
    record = record_ok(f"security={security} workload=stream message=64K messages=10 warmup=0s")
    client = record["client"]
    assert record_sum(client, "records_sent") == 40
    assert record_sum(client, "tls_bytes_sent") == 10 * 65536 + 40 * 22
    assert record_sum(record["server"], "tls_bytes_received") == 10 * 65536 + 40 * 22


HANDSHAKES = ["psk-ecdhe", "psk", "ticket"]


@pytest.mark.parametrize("engine", ENGINES)
def test_a_connection_for_each_request_shakes_hands_in_the_way_that_was_asked_for(
        engine: str) -> None:
    """A server needs an engine that takes the next connection while one is served."""
    cells = list(product(sides(), HANDSHAKES))
    common = "workload=connect connections=4 messages=40 warmup=20ms verify=on " \
             f"client.engine={engine} " \
             f"server.engine={'poll' if engine == 'block' else engine}"
    records = records_ok([f"{common} handshake={handshake} "
                          f"client.security={security['client.security']} "
                          f"server.security={security['server.security']}"
                          for security, handshake in cells])
    for record, (_, handshake) in zip(records, cells, strict=True):
        for end in (record["client"], record["server"]):
            assert record_sum(end, "handshakes") == 40
            assert record_sum(end, "resumed") == (40 if handshake == "ticket" else 0)
            assert end["threads"][0]["options"]["key_exchange"] == handshake
        assert sum(thread["handshake"]["count"] for thread in record["client"]["threads"]) == 40


@pytest.mark.parametrize("security", LIBRARIES)
def test_a_connection_that_stays_gets_no_ticket(security: str) -> None:
    """Every record of the interval is of the work."""
    record = record_ok(f"security={security} messages=50 warmup=0s")
    for end in (record["client"], record["server"]):
        assert record_sum(end, "records_sent") == record_sum(end, "records_received") == 50


def test_a_record_says_which_library_cipher_and_exchange_it_was() -> None:
    record = record_ok(
        f"security={LIBRARIES[-1]} cipher=chacha20-poly1305 handshake=psk messages=1 warmup=0s")
    assert record["client"]["security"] == LIBRARIES[-1]
    assert record["client"]["library"].split()[0].lower() == LIBRARIES[-1]
    options = record["server"]["threads"][0]["options"]
    assert (options["tls_version"], options["cipher"],
            options["key_exchange"]) == ("1.3", "chacha20-poly1305", "psk")


@pytest.mark.skipif("openssl" not in LIBRARIES, reason="this build has no OpenSSL")
def test_a_key_bound_to_sha384_is_one_that_openssl_can_have() -> None:
    record = record_ok("security=openssl cipher=aes-256-gcm messages=5 warmup=0s verify=on")
    assert record["client"]["threads"][0]["options"]["cipher"] == "aes-256-gcm"
