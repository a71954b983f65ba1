# SPDX-License-Identifier: MIT
"""What is said of runs that did otherwise than their words, or could not count."""

from __future__ import annotations

from answers import runs_of
from suite.observe.remarks import remarks_of, uncounted_of

ASKED = {"security": "gnutls", "handshake": "ticket", "cipher": "aes-128-gcm"}


def end(layer, **thread):
    """One end with a thread."""
    return {"security": layer, "threads": [thread]}


def options(key_exchange, cipher="aes-128-gcm"):
    """What TLS agreed on."""
    return {"key_exchange": key_exchange, "cipher": cipher}


def test_what_tls_used_instead_of_what_was_asked_for_is_said_once():
    other = end("gnutls", options=options("psk"), records_sent=1)
    missed = {"client": end("gnutls", options=options("ticket")), "server": other}
    said = "handshake=ticket was asked for, psk was used"
    assert remarks_of(ASKED, runs_of(missed, missed)) == (said,)
    assert remarks_of(ASKED, runs_of(missed, {}, missed)) == (f"{said} in 2 of 3 runs",)
    certified = {"client": end("gnutls", options=options("certificate"))}
    assert remarks_of(ASKED, runs_of(certified)) == ()
    assert remarks_of(ASKED | {"handshake": "psk"}, runs_of({"server": other})) == ()


def test_each_end_is_held_against_its_own_words():
    words = {"client.cipher": "chacha20-poly1305", "server.cipher": "aes-128-gcm"}
    record = {"client": end("gnutls", options=options("psk", "aes-128-gcm")),
              "server": end("openssl", options=options("psk", "aes-128-gcm"))}
    assert remarks_of(words, runs_of(record)) == (
        "cipher=chacha20-poly1305 was asked for, aes-128-gcm was used",)


def test_a_plain_end_agreed_on_nothing_and_has_no_records_to_show():
    record = {"client": end("plain"), "server": {"threads": [{}]}}
    assert remarks_of(ASKED, runs_of(record)) == () and uncounted_of(runs_of(record)) == ""


def test_the_layer_that_shows_no_records_is_named():
    record = {"client": end("gnutls", records_sent=0), "server": end("ktls")}
    assert uncounted_of(runs_of(record, record)) == "security=ktls"


def test_memory_that_was_copied_after_all_is_a_remark():
    record = {"words": {}, "client": {"drives": True, "threads": [{"lent": 10, "copied": 9}]}}
    assert remarks_of({}, runs_of(record)) == (
        "the kernel copied 90% of the zero-copy sends",)
    record["client"]["threads"] = [{"lent": 10, "copied": 10}]
    (remark,) = remarks_of({}, runs_of(record))
    assert remark.endswith("zero-copy sends, as it does for a receiver on the same machine")


def test_pages_of_which_none_could_be_mapped_are_a_remark_and_a_few_that_could_are_not():
    def record(mapped):
        return {"words": {}, "client": {"drives": True, "threads": [{}]},
                "server": {"threads": [{"mapped_bytes": mapped, "copied_bytes": 10}]}}
    assert remarks_of({}, runs_of(record(0), record(0))) == (
        "no received page could be mapped: all received bytes were copied",)
    assert remarks_of({}, runs_of(record(0), record(1))) == ()
