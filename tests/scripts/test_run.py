# SPDX-License-Identifier: MIT
"""One run and one matrix: whatever the client does, there is one record for every run."""

from __future__ import annotations

import shlex
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from conftest import Uncork, only_folder, records_of
from processes import descendants_await, has_ended
from suite.base.client import Client
from suite.base.errors import Failure
from suite.measure.plan import Plan, plan_make
from suite.measure.runner import batch_run, cells_run
from suite.places.batch import runs_limit
from suite.places.targets import Targets
from suite.result.plan import PlannedCell
from suite.scenario.scenario import Scenario

Misbehave = Callable[[str], Uncork]
SHORT = ("duration=10ms", "warmup=0s")


def plan_short(client: Client, *words: str) -> Plan:
    return plan_make(Targets(client), Scenario("words"), None, [*words, *SHORT]).plan


def record_of(uncork: Uncork, limit_s: float = 30) -> dict[str, Any]:
    client = Client(uncork.bin, None)
    ((number, record),) = cells_run(client, plan_short(client, "place=free").cells[:1], limit_s)
    assert number == 0
    return record


def test_a_lab_that_cannot_be_made_is_a_failed_run(
    binaries: Client, monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("suite.places.lab.lab_try", lambda text: f"no lab with {text[:14]}")
    cells = plan_short(binaries, "place=free", "lab=on", "link_rate=1gbit").cells
    assert list(batch_run(Targets(binaries), cells)) == [
        (0, {"status": "failed", "reason": "no lab with link_rate=1gbi"})]


def test_a_client_that_does_not_start_ends_the_matrix(
    binaries: Client, tmp_path: Path,
) -> None:
    cells = plan_short(binaries, "place=free").cells
    with pytest.raises(Failure, match="does not start"):
        list(batch_run(Targets(Client(tmp_path, None)), cells))


@pytest.mark.parametrize("script", [
    '"$REAL" "$@" | head -c 200',             # torn in the record
    '"$REAL" "$@" | head -n 1',               # no end
    '"$REAL" "$@" | tail -n 1',               # no record
    '"$REAL" "$@" | sed "s/^{.end.: *1}/{}/"',  # another end
])
def test_output_that_is_not_whole_is_a_failed_run(misbehave: Misbehave, script: str) -> None:
    record = record_of(misbehave(script))
    assert record["status"] == "failed"
    assert record["reason"].startswith("uncork-client ")  # it may also say that its pipe broke


BEFORE_IT_READS = """head -c 300000 /dev/zero | tr '\\0' '\\n'; head -c 300000 /dev/zero >&2"""


def records_of_many(uncork: Uncork, limit_s: float = 100) -> list[dict[str, Any]]:
    """The records of cells whose lines are more than a pipe holds; TimeoutError if it hangs."""
    def stop(number: int, frame: object) -> None:
        raise TimeoutError("it hangs for a minute")

    words = {"write": "nodelay", "message": "x".join(["32/2K"] * 9)}
    cells = [PlannedCell(f"cell {number}", words, words) for number in range(3000)]
    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(60)
    try:
        return list(dict(cells_run(Client(uncork.bin, None), cells, limit_s)).values())
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def test_a_batch_may_say_more_than_a_pipe_holds_before_it_reads(misbehave: Misbehave) -> None:
    record = '{"status": "ok", "words": {}}'
    uncork = misbehave(f"{BEFORE_IT_READS}; sed '/^end$/q; s/.*/{record}/'"
                       """ | sed 's/^end$/{"end": 3000}/'""")
    records = records_of_many(uncork)
    assert len(records) == 3000 and {record["status"] for record in records} == {"ok"}


def test_a_batch_that_reads_nothing_is_ended_at_its_limit(misbehave: Misbehave) -> None:
    records = records_of_many(misbehave("exec sleep 600"), 0.5)
    assert all("not finished after" in record["reason"] for record in records)


def test_a_batch_that_closes_its_input_is_heard_to_its_end(misbehave: Misbehave) -> None:
    uncork = misbehave(f"exec <&-; {BEFORE_IT_READS}; echo 'uncork-client: no' >&2; exit 3")
    assert all("ended with status 3" in record["reason"] for record in records_of_many(uncork))


def test_a_run_that_ignores_the_request_to_end_is_killed_with_its_server(
    misbehave: Misbehave, monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("suite.base.process.GRACE_S", 0.5)
    uncork = misbehave("trap '' TERM; sleep 600 & echo $! > \"$STATE/pid\"; wait; wait; sleep 600")
    assert "not finished after" in record_of(uncork, limit_s=0.5)["reason"]
    assert has_ended(int((uncork.bin / "pid").read_text()))


def test_the_time_limit_is_generous_and_finite() -> None:
    timed = PlannedCell("x", {"duration": "2s", "warmup": "200ms"}, {}, planned_s=2.2)
    assert 20 < runs_limit([timed]) < 120
    assert runs_limit([PlannedCell("x", {"messages": "10"}, {})]) >= 600


def test_a_matrix_stores_every_run_and_prints_its_table_and_a_line_for_each_round(
    uncork: Uncork,
) -> None:
    done = uncork.run("run", "write=nodelay,writev", "place=free", "rounds=2", *SHORT)
    assert done.returncode == 0, done.stderr
    folder = only_folder(uncork)
    assert folder.name.startswith("words-2")
    assert str(folder) in done.stdout and "writev" in done.stdout
    records = records_of(folder)
    assert [record["status"] for record in records] == ["ok"] * 9
    assert {record["run"]["round"] for record in records} == {0, 1, 2}
    assert {path.name for path in folder.iterdir()} == {
        "scenario.toml", "plan.json", "hosts.json", "records.jsonl"}
    assert "\x1b" not in done.stderr
    assert all(line.startswith("uncork: ") for line in done.stderr.splitlines())
    for text in ("warm-up", "round 1 of 2", "round 2 of 2", "left"):
        assert text in done.stderr


def test_an_unsupported_cell_is_stored_once_and_fails_nothing(uncork: Uncork) -> None:
    done = uncork.run("run", "transport=unix", "write=nodelay,cork", "place=free", "rounds=2",
                      *SHORT)
    assert done.returncode == 0, done.stderr
    records = records_of(only_folder(uncork))
    assert "resuming" not in done.stderr and "1 cell and 1 unsupported" in done.stderr
    (refused,) = [record for record in records if record["status"] == "unsupported"]
    assert refused["reason"] and refused["run"]["round"] == 0
    assert "write=cork" in refused["run"]["cell"]
    assert len(records) == 1 + 3 * 2


@pytest.mark.parametrize("options", [[], ["--keep-going"]])
def test_a_run_that_failed_is_stored_and_said_and_the_rest_goes_on(misbehave: Misbehave,
                                                                   options: list[str]) -> None:
    uncork = misbehave('echo x >> "$STATE/count"; [ "$(wc -l < "$STATE/count")" = 3 ] && '
                       '{ echo "out of luck" >&2; exit 1; }; exec "$REAL" "$@"')
    done = uncork.run("run", "place=free", "rounds=3", *SHORT, *options)
    assert done.returncode == (0 if options else 1), done.stderr
    assert done.stderr.splitlines()[-1] == (
        f"uncork: 1 of 8 runs failed: 1 of 8 of place=free {' '.join(SHORT)}; the first: "
        "uncork-client ended with status 1: out of luck")
    assert "time per" in done.stdout  # the table
    records = records_of(only_folder(uncork))
    failed = records[2]
    assert failed.keys() == {"status", "reason", "run", "crc"} and failed["status"] == "failed"
    assert [record["status"] for record in records].count("ok") == 7


@pytest.mark.parametrize(("words", "failed"), [
    (["place=free"], "1 of 1 cell failed: uncork-client ended with status 1: no luck"),
    (["transport=unix", "write=nodelay,writev,cork"],  # one of them is unsupported
     "2 of 3 cells failed: uncork-client ended with status 1: no luck; 1 other reason"),
])
def test_a_matrix_in_which_every_run_fails_is_a_failure(
    misbehave: Misbehave, words: list[str], failed: str,
) -> None:
    done = misbehave("echo 'no luck' >&2; exit 1").run("run", *words, "rounds=1", *SHORT)
    assert done.returncode == 1 and "Traceback" not in done.stderr
    assert done.stderr.splitlines()[-1] == f"uncork: nothing was measured: {failed}"


def test_a_run_of_which_no_cell_can_run_is_a_failure_and_writes_nothing(uncork: Uncork) -> None:
    done = uncork.run("run", "transport=unix", "write=cork,more", "message=64,16+48", "rounds=1")
    assert done.returncode == 1 and not uncork.results.exists()
    line = done.stderr.splitlines()[-1]
    assert line.startswith("uncork: nothing can be measured: 2 of 4 cells unsupported: write=cork")
    assert line.endswith("a cork holds nothing back; 1 other reason")


def test_a_cell_of_which_only_the_warm_up_was_good_has_failed(misbehave: Misbehave) -> None:
    done = misbehave('echo x >> "$STATE/count"; [ "$(wc -l < "$STATE/count")" -gt 2 ] && '
                     '{ echo "late bad luck" >&2; exit 1; }; exec "$REAL" "$@"').run(
        "run", "place=free", "rounds=1", *SHORT)
    assert done.returncode == 1
    last = done.stderr.splitlines()[-1]
    assert last.startswith("uncork: nothing was measured") and last.endswith("late bad luck")


def wait_for_records(process: subprocess.Popen[str], uncork: Uncork, count: int) -> Path:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and process.poll() is None:
        for path in uncork.results.glob("*/records.jsonl"):
            if path.read_bytes().count(b"\n") >= count:
                return path.parent
        time.sleep(0.02)
    raise AssertionError(f"no {count} records: {process.communicate()}")


SIGNALS = {signal.SIGINT: "interrupted", signal.SIGTERM: "ended by SIGTERM",
           signal.SIGHUP: "ended by SIGHUP"}


@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_keeps_what_is_done_and_says_how_to_go_on(
    uncork: Uncork, number: signal.Signals,
) -> None:
    words = ("run", "place=free", "rounds=500", *SHORT)
    process = uncork.start(*words)
    folder = wait_for_records(process, uncork, 3)
    process.send_signal(number)
    _, stderr = process.communicate(timeout=30)
    assert process.returncode == 128 + number
    last = stderr.splitlines()[-1]
    assert last.startswith(f"uncork: {SIGNALS[number]}: ") and "Traceback" not in stderr
    assert "runs are kept" in last and " ".join(words) in last
    assert len(records_of(folder)) >= 3  # every line is whole


@pytest.mark.parametrize("asked", [False, True])
@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_ends_the_client_that_runs_or_is_asked_which_words_there_are(
    misbehave: Misbehave, number: signal.Signals, asked: bool,
) -> None:
    uncork = misbehave('echo $$ > "$STATE/pid"; exec sleep 600')
    marker, fake = uncork.bin / "pid", uncork.bin / "uncork-client"
    marker.touch()
    if asked:
        fake.write_text(f"#!/bin/sh\necho $$ > {marker}\nexec sleep 600\n")
    process = uncork.start("run", "place=free", *SHORT)
    while not marker.read_text() and process.poll() is None:
        time.sleep(0.02)
    process.send_signal(number)
    stderr = process.communicate(timeout=30)[1]
    assert process.returncode == 128 + number and has_ended(int(marker.read_text()))
    assert stderr == f"uncork: {SIGNALS[number]}\n" or not asked


def test_a_signal_that_is_ignored_ends_nothing(uncork: Uncork) -> None:
    command = shlex.join(uncork.command("run", "place=free", "rounds=2", *SHORT))
    process = subprocess.Popen(["sh", "-c", f"trap '' HUP; exec {command}"], text=True,
                               env=uncork.environment, stdout=subprocess.DEVNULL)
    wait_for_records(process, uncork, 1)
    process.send_signal(signal.SIGHUP)
    assert (process.wait(60), len(records_of(only_folder(uncork)))) == (0, 6)


def test_a_killed_runner_takes_its_client_and_server_with_it(uncork: Uncork) -> None:
    process = uncork.start("run", "duration=60s", "warmup=0s", "place=free", "rounds=2")
    below = descendants_await(process.pid, 2)
    process.kill()
    process.communicate(timeout=30)
    assert all(map(has_ended, below))
