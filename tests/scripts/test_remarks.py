# SPDX-License-Identifier: MIT
"""What is said of runs that did otherwise than their words, or could not count."""

from __future__ import annotations

from answers import remarks, runs_of

ASKED = {"security": "gnutls", "handshake": "ticket", "cipher": "aes-128-gcm"}


def end(layer, **thread):
    """One end with a thread."""
    return {"security": layer, "threads": [thread]}


def options(key_exchange, cipher="aes-128-gcm"):
    """What TLS agreed on."""
    return {"key_exchange": key_exchange, "cipher": cipher}


def test_what_tls_used_instead_of_what_was_asked_for_is_said_once():
    other = end("gnutls", options=options("psk"), records_sent=1)
    missed = {"words": ASKED, "client": end("gnutls", options=options("ticket")), "server": other}
    said = "handshake=ticket was asked for, psk was used"
    assert remarks(missed, missed) == (said,)
    assert remarks(missed, {}, missed) == (f"{said} in 2 of 3 runs",)
    certified = {"words": ASKED, "client": end("gnutls", options=options("certificate"))}
    assert remarks(certified) == ()
    assert remarks({"words": ASKED | {"handshake": "psk"}, "server": other}) == ()


def test_each_end_is_held_against_its_own_words():
    assert remarks({
        "words": {"client.cipher": "chacha20-poly1305", "server.cipher": "aes-128-gcm"},
        "client": end("gnutls", options=options("psk", "aes-128-gcm")),
        "server": end("openssl", options=options("psk", "aes-128-gcm"))}) == (
        "cipher=chacha20-poly1305 was asked for, aes-128-gcm was used",)


def test_a_plain_end_agreed_on_nothing_and_the_layer_that_shows_no_records_is_named():
    plain = {"words": ASKED, "client": end("plain"), "server": {"threads": [{}]}}
    assert remarks(plain) == () and runs_of(plain).traits[0].uncounted == ()
    record = {"client": end("gnutls", records_sent=0), "server": end("ktls")}
    assert runs_of(record).traits[0].uncounted == ("security=ktls",)


def test_buffers_that_are_smaller_and_unexpected_connections_are_remarks():
    clamped = {"rcvbuf": {"asked_bytes": 2048, "given_bytes": 1024}}
    record = {"client": end("plain", options={"clamped": clamped}),
              "server": end("plain") | {"strangers": 2}}
    assert remarks(record, {}) == (
        "unexpected connections reached a data port in 1 of 2 runs",
        "rcvbuf=2K: the client got 1K, the most that the system has in 1 of 2 runs")


def test_memory_that_was_copied_after_all_is_a_remark():
    record = {"words": {}, "client": {"drives": True, "threads": [{"lent": 10, "copied": 9}]}}
    assert remarks(record) == (
        "the kernel copied 90% of the zero-copy sends",)
    none = {"client": {"threads": [{"lent": 10, "copied": 0}]}}
    assert remarks(none, none, record) == remarks({}) == ()
    record["client"]["threads"] = [{"lent": 10, "copied": 10}]
    (remark,) = remarks(record)
    assert remark.endswith("zero-copy sends, as it does for a receiver on the same machine")


def test_pages_of_which_none_could_be_mapped_are_a_remark_and_a_few_that_could_are_not():
    def record(mapped):
        return {"words": {}, "client": {"drives": True, "threads": [{}]},
                "server": {"threads": [{"mapped_bytes": mapped, "copied_bytes": 10}]}}
    assert remarks(record(0), record(0)) == (
        "no received page could be mapped: all received bytes were copied",)
    assert remarks(record(0), record(1)) == ()
