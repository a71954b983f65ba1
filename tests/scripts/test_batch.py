# SPDX-License-Identifier: MIT
"""What a batch leaves, wherever it ran: every cell has one record, and nothing is believed that was
not whole."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from processes import has_ended
from suite.base.process import ProcessOutput
from suite.places.batch import batch_records
from suite.result.plan import PlannedCell

NAMES = ("cork", "more", "writev")
CELLS = [PlannedCell(f"write={name}", {"write": name, "target": "vng:a"}, {"write": name})
         for name in NAMES]
END = '{"end": 3}'


def record(name: str, **more: Any) -> str:
    """The line of a record."""
    return json.dumps({"status": "ok", "words": {"write": name}} | more)


def heard(script: str, limit_s: float = 20) -> ProcessOutput:
    """Listens to a script for the shell."""
    return ProcessOutput(["sh", "-c", script], limit_s)


def outcome(script: str, cells: Sequence[PlannedCell] = CELLS,
            limit_s: float = 20) -> dict[str, str]:
    """The status, or the reason of a failure, by the strategy of the cell; each has one."""
    found = list(batch_records(heard(script, limit_s), cells))
    assert sorted(number for number, _ in found) == list(range(len(cells)))
    return {cells[number].words["write"]: one.get("reason", one["status"])
            for number, one in sorted(found)}


def script_of(*lines: str, then: str = "true") -> str:
    """A script that prints lines, each by a call of its own, and then does something."""
    return "\n".join([*(f"printf '%s\\n' '{line}'" for line in lines), then])


def test_a_batch_that_ends_as_it_should_has_a_record_for_every_cell():
    assert outcome(script_of(*map(record, NAMES), END)) == dict.fromkeys(NAMES, "ok")


def test_records_come_as_soon_as_the_next_line_is_there():
    script = script_of(record("cork"), record("more"), then="cat >/dev/null")
    listener = heard(script, limit_s=30)
    records = batch_records(listener, CELLS)
    assert next(records)[0] == 0 and listener.child.poll() is None
    records.close()
    assert listener.status is not None  # who does not want the rest ends it


@pytest.mark.parametrize("garbage",
                         ["Welcome to h1", "", "[    1.5] random: crng init done", "{", "[]", "7",
                          '{"a": 1}',
                                     '{"status": "ok"}',
                                     '{"status": "ok", "words": {"write": "nagle"}}',
                                     '{"status": 7, "words": {"write": "cork"}}',
                                     '{"status": "ok", "words": 7}'])
def test_what_is_no_record_of_the_batch_is_passed_over(garbage: str):
    lines = [part for name in NAMES for part in (garbage, record(name))]
    assert outcome(script_of(*lines, garbage, END, garbage)) == dict.fromkeys(NAMES, "ok")


def test_bytes_that_are_no_text_are_passed_over():
    script = "head -c 4096 /dev/urandom | tr -d '\\n'; echo\n" + script_of(*map(record, NAMES), END)
    assert outcome(script) == dict.fromkeys(NAMES, "ok")


def test_a_record_that_was_torn_in_the_middle_costs_one_cell():
    torn = record("more")[:20] + "[    1.5] a message of the kernel"
    assert outcome(script_of(record("cork"), torn, record("writev"), END)) == {
        "cork": "ok", "more": "uncork-client left no whole record", "writev": "ok"}


def test_output_that_is_cut_costs_the_last_record_and_those_behind_it():
    cut = script_of(record("cork"), record("more"), then=f"printf '%s' '{record('writev')[:30]}'")
    assert outcome(cut) == {"cork": "ok"} | dict.fromkeys(NAMES[1:],
                                                          "uncork-client left no whole record")


@pytest.mark.parametrize(("then", "says"), [
    ("exit 255", "uncork-client ended with status 255"),
    ("echo noise >&2; echo 'ssh: lost' >&2; exit 255",
     "uncork-client ended with status 255: ssh: lost"),
    ("echo 'uncork-client: no server' >&2; exit 1", "uncork-client ended with status 1: no server"),
    # a record with what controls a terminal would not be read again either
    ("printf 'a\\033[31mred\\007\\tline\\n' >&2; exit 1",
     "uncork-client ended with status 1: a?[31mred??line"),
    ("kill -KILL $$", "uncork-client was ended by SIGKILL"),
    ("kill -SEGV $$", "uncork-client was ended by SIGSEGV"),
])
def test_how_a_batch_ended_and_said_last_is_the_reason_of_what_is_missing(then: str, says: str):
    assert outcome(script_of(record("cork"), record("more"), then=then)) == {
        "cork": "ok",
        "more": says,
        "writev": says,
    }


def test_the_last_record_is_not_believed_without_its_end_or_with_a_bad_one():
    for end in ("", '{"end": 2}', '{"end": "3"}'):
        assert outcome(script_of(*map(record, NAMES),
                                 end))["writev"] == "uncork-client left no whole record"
    assert outcome(script_of(*map(record, NAMES), END,
                             then="exit 3"))["writev"].endswith("status 3")


def test_a_batch_that_hangs_is_ended_with_all_that_it_started():
    script = script_of(record("cork"), record("more"), then="sleep 600 & echo $! >&2; wait")
    listener = heard(script, limit_s=0.7)
    found = dict(batch_records(listener, CELLS))
    assert found[0]["status"] == "ok"
    assert "not finished after 1 s, so it was ended" in found[1]["reason"] and found[2][
        "status"] == "failed"
    assert has_ended(int(listener.stderr.split()[0]))


def test_one_that_closes_its_output_and_goes_on_is_ended_at_its_limit():
    assert "not finished" in outcome("exec >&- 2>&-; sleep 600", limit_s=0.5)["cork"]


def test_the_same_cell_twice_has_two_records():
    cells = [CELLS[0], CELLS[0]]
    found = dict(batch_records(heard(script_of(record("cork", n=1), record("cork", n=2),
                                               '{"end": 2}')), cells))
    assert [found[0]["n"], found[1]["n"]] == [1, 2]


def test_a_flood_on_standard_error_blocks_nothing():
    assert outcome("head -c 2000000 /dev/zero | tr '\\0' x >&2\n" +
                   script_of(*map(record, NAMES), END)) == dict.fromkeys(
        NAMES, "ok")
