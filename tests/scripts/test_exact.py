# SPDX-License-Identifier: MIT
"""What is called exact: a count that was the same in every run, the second runs of a baseline
included."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path
from typing import Any

import pytest

from answers import NODELAY, changed, uncork

CLAIM = """
[[claim]]
says = "fifteen segments"
that = "segments_per_message(write=nodelay place=apart) == 15"
"""


def segments_set(record: dict[str, Any], count: int) -> None:
    """The baseline's segments a message."""
    if record["words"]["write"] == "nodelay":
        client = record["client"]["threads"][0]
        segments = count * client["messages_sent"]
        client["tcp_info"]["data_segs_out"] = dict.fromkeys(("sum", "min", "median", "max"),
                                                            segments)


def alternating(record: dict[str, Any]) -> None:
    """14 segments in one run of a round and 16 in the other, which is the first in every second
    round."""
    first = record["run"]["label"] == "A"
    segments_set(record, 14 if first == (record["run"]["round"] % 2 == 0) else 16)


def split(record: dict[str, Any]) -> None:
    """14 segments in every first run, 16 in every second."""
    segments_set(record, 14 if record["run"]["label"] == "A" else 16)


@pytest.fixture(params=[alternating, split])
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """The stored result with such counts."""
    made = changed(NODELAY, tmp_path, request.param)
    scenario = made / "scenario.toml"
    scenario.write_text(scenario.read_text() + CLAIM)
    return made


def test_a_count_that_differs_between_the_two_runs_of_a_round_has_an_interval(folder: Path) -> None:
    rows = csv.DictReader(io.StringIO(uncork("table", folder, "--csv").stdout))
    exact = {row["write"]: row["segments_per_message_low"] == "" for row in rows
             if row["place"] == "apart"}
    assert exact == {"nagle": False, "nodelay": False, "cork": True, "more": True, "writev": True,
                     "coalesce": True}


def test_show_calls_it_a_measurement(folder: Path) -> None:
    lines = uncork("show", folder, "write=nodelay", "place=apart").stdout
    assert not re.search(r"segments_per_message .*the same in every run", lines)
    assert re.search(r"sends_per_message .*the same in every run of 7 rounds", lines)
    assert "segments_per_message differs between runs" in lines


def test_no_claim_about_it_is_decided_exactly(folder: Path) -> None:
    lines = uncork("check", folder).stdout
    assert "fifteen segments # TODO undecided" in lines or "not ok 6 - fifteen segments" in lines
    assert not re.search(r"fifteen segments.*\n.*\n# exactly", lines)


def test_a_comparison_with_it_is_not_exact(folder: Path) -> None:
    done = uncork("compare", folder, "write=cork", "columns=segments_per_message", "--csv")
    assert {row["verdict"] for row in csv.DictReader(io.StringIO(done.stdout))} <= {
        "changed",
        "bracketed",
        "same",
    }


def test_counts_that_are_0_in_every_run_of_both_sides_are_the_same(tmp_path: Path) -> None:
    def none_sent_again(record: dict[str, Any]) -> None:
        for end in ("client", "server"):
            for thread in record.get(end, {"threads": []})["threads"]:
                thread["tcp_info"]["total_retrans"] = dict.fromkeys(
                    ("sum", "min", "median", "max"), 0)
    told = uncork("paste", changed(NODELAY, tmp_path, none_sent_again), "write=cork",
                  "columns=retransmits_per_message").stdout
    assert re.search(r"^together +0\.00 +0\.00 +\+0\.0% +exact$", told, re.M), told
