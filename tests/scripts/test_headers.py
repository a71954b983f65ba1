# SPDX-License-Identifier: MIT
"""What the head of a scenario says of its time is near what a dry run says."""

from __future__ import annotations

import re

import pytest

from answers import uncork
from conftest import ROOT

MINUTES = {"a": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8,
           "nine": 9}


@pytest.mark.parametrize("name", ["connections", "drbd_handoff", "drbd_window", "handshakes",
                                  "kernels", "latency", "nbd_cork", "sizes", "tls", "tls_cork"])
def test_the_minutes_in_the_head_of_a_scenario_are_those_of_a_dry_run(name):
    head = (ROOT / "scenarios" / f"{name}.toml").read_text().splitlines()[1]
    told = MINUTES[re.match(r"# About (\w+) minutes?\b", head)[1]]
    planned = re.search(r"runs, about (\d+):(\d\d)", uncork("run", name, "-n").stdout)
    minutes = int(planned[1]) + int(planned[2]) / 60
    assert 0.8 * minutes <= told <= 1.6 * minutes + 0.5, f"{name}: {head}: {minutes:.1f} minutes"
