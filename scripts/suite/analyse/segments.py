# SPDX-License-Identifier: MIT
"""Segments that a client captured, for people. Pure: from records to lines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from suite.result.record import Record

WAYS = ("sent", "received")  # by the client; docs/record.md, "Captured segments"
FIRST_SHOWN = 12
SIZES_SHOWN = 8


def sizes_text(way: Mapping[str, Any]) -> str:
    """How many segments of which payload, and the order of the first packets."""
    if not way["data_segments"]:
        return "no segments with payload"
    shown = sorted(sorted(way["sizes"], key=lambda pair: -pair[1])[:SIZES_SHOWN])
    sizes = ", ".join(f"{count} x {size}" for size, count in shown)
    left = way["data_segments"] - sum(count for _, count in shown)
    others = f", {left} of other sizes" if left else ""
    first = ", ".join(str(size) for size in way["first"][:FIRST_SHOWN])
    more = ", ..." if way["packets"] > FIRST_SHOWN else ""
    above = f"; {way['super_packets']} packets not cut up yet" if way["super_packets"] else ""
    again = f"; {way['retransmitted_segments']} sent again" if way["retransmitted_segments"] else ""
    return f"{sizes} bytes{others}{above}{again}; in order {first}{more}"


def capture_rows(records: Sequence[Record]) -> list[tuple[str, str]]:
    """What one run of a cell had, that whose packets were kept or else the last; none without."""
    known = [(client["capture"], record.round) for record in records
             if "capture" in (client := record.end("client") or {})]
    if not known:
        return []
    capture, number = next((one for one in known if "file" in one[0]), known[-1])
    rows = [(f"client {name}", sizes_text(capture[name])) for name in WAYS]
    where = f"{capture['device']}, {capture['stored_packets']} packets of round {number}"
    return [("captured on", where), *rows,
            *([("packets", capture["file"])] if "file" in capture else [])]
