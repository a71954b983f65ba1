# SPDX-License-Identifier: MIT
"""Results survive any kill, and only what belongs together is put together."""

from __future__ import annotations

import errno
import json
import os
import shutil
import signal
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from conftest import Uncork, keys_of, records_of
from suite.base.client import Client
from suite.commands.run import resume_command
from suite.measure.plan import plan_make
from suite.measure.resume import programs_changed
from suite.measure.schedule import session_schedule
from suite.observe import load
from suite.observe.results import result_load
from suite.places.targets import Targets
from suite.result import files
from suite.result.plan import Programs
from suite.scenario.scenario import Scenario
from test_run import SHORT, wait_for_records
from within import uncork_call

WORDS = ("run", "write=nodelay,writev,coalesce", "place=free", "rounds=6", *SHORT)
RUNS = 7 * 4  # warm-up and 6 rounds of three cells, one of them twice


def plan_read(folder: Path) -> dict[str, Any]:
    return json.loads((folder / "plan.json").read_text())


def plan_change(folder: Path, change: Callable[[dict[str, Any]], None]) -> None:
    document = plan_read(folder)
    change(document)
    (folder / "plan.json").write_text(json.dumps(document))


def assert_complete(folder: Path) -> None:
    """The records are those of the schedule: all, none twice, in the seed's order."""
    plan = files.plan_read(folder)
    expected = [(session.name, run.round, run.cell.name, run.label)
                for session in plan.sessions
                for run in session_schedule(plan, session)]
    assert keys_of(folder) == expected


def killed(uncork: Uncork, *words: str, after: int = 5) -> Path:
    """The folder of a matrix that was killed in the middle."""
    process = uncork.start(*words)
    folder = wait_for_records(process, uncork, after)
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=30)
    return folder


AGAIN = ("run", "place=free", "rounds=1", *SHORT, "-o")


@pytest.fixture(scope="module")
def finished_once(binaries: Client, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small result that is complete, made with -o, for copies."""
    results = tmp_path_factory.mktemp("finished")
    folder = results / "mine"
    done = Uncork(binaries.folder, results).run(*AGAIN, str(folder))
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture
def finished(uncork: Uncork, finished_once: Path) -> Path:
    """The same as a folder of the test's own."""
    return shutil.copytree(finished_once, uncork.results / "mine")


@pytest.fixture(scope="module")
def killed_once(binaries: Client, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a matrix of WORDS that was killed in the middle, for copies."""
    return killed(Uncork(binaries.folder, tmp_path_factory.mktemp("killed")), *WORDS)


@pytest.fixture
def unfinished(uncork: Uncork, killed_once: Path) -> Path:
    """The same as a folder of the test's own."""
    return shutil.copytree(killed_once, uncork.results / killed_once.name)


def test_a_killed_matrix_goes_on_where_it_was(uncork: Uncork, unfinished: Path) -> None:
    before = records_of(unfinished)
    assert 5 <= len(before) < RUNS
    done = uncork.run(*WORDS)
    assert done.returncode == 0, done.stderr
    assert [path.name for path in uncork.results.iterdir()] == [unfinished.name]
    line = done.stderr.splitlines()[0]
    assert line.startswith("uncork: resuming ") and done.stderr.count("resuming") == 1
    assert unfinished.name in line and f"({len(before)} of {RUNS} runs done)" in line
    assert records_of(unfinished)[:len(before)] == before
    assert len(records_of(unfinished)) == RUNS
    assert_complete(unfinished)


def test_a_matrix_that_is_killed_again_and_again_is_complete_in_the_end(uncork: Uncork) -> None:
    folder = killed(uncork, *WORDS, after=3)
    for count in (6, 12):
        assert killed(uncork, *WORDS, after=count) == folder
    assert uncork.run(*WORDS).returncode == 0
    assert_complete(folder)


def test_a_new_run_resumes_nothing(uncork: Uncork, finished: Path, unfinished: Path) -> None:
    done = uncork.run(*WORDS, "--new")
    assert done.returncode == 0 and "resuming" not in done.stderr, done.stderr
    (folder,) = set(uncork.results.iterdir()) - {unfinished, finished}
    assert len(records_of(folder)) == RUNS and len(records_of(unfinished)) < RUNS
    assert f"{finished} has a result: --new begins another" in uncork.refused(
        *AGAIN, str(finished), "--new")
    assert "not allowed with" in uncork.refused(*WORDS, "--new", "--more")


def test_a_torn_last_line_is_dropped_and_its_run_done_again(
    uncork: Uncork, unfinished: Path,
) -> None:
    path = unfinished / "records.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:4]) + lines[4][:50])
    assert uncork.run(*WORDS).returncode == 0
    assert_complete(unfinished)


def test_a_start_that_was_killed_before_its_plan_is_started_over(uncork: Uncork) -> None:
    folder = uncork.results / "mine"
    folder.mkdir(parents=True)
    (folder / "records.jsonl").touch()
    (folder / "scenario.toml").write_text("half")
    assert uncork.run(*AGAIN, str(folder)).returncode == 0
    assert_complete(folder)


def test_a_finished_result_and_one_of_another_plan_are_not_continued(
    uncork: Uncork, finished: Path, unfinished: Path,
) -> None:
    done = uncork.run(*AGAIN[:-1])  # the plan of the finished one
    assert done.returncode == 0 and "resuming" not in done.stderr
    assert len(list(uncork.results.iterdir())) == 3
    assert len(records_of(unfinished)) < RUNS


def test_another_seed_starts_a_new_folder_and_the_same_seed_goes_on(uncork: Uncork) -> None:
    folder = killed(uncork, *WORDS, "seed=5", after=3)
    assert uncork.run(*WORDS, "seed=6", "-n").returncode == 0
    done = uncork.run(*WORDS, "seed=5")
    assert "resuming" in done.stderr and plan_read(folder)["seed"] == 5
    assert_complete(folder)


def test_an_unfinished_folder_of_another_boot_is_left_alone(
    uncork: Uncork, unfinished: Path,
) -> None:
    plan_change(unfinished, lambda plan: plan["sessions"][0].update(boot="another"))
    before = records_of(unfinished)
    done = uncork.run(*WORDS)
    assert done.returncode == 0 and "resuming" not in done.stderr
    assert records_of(unfinished) == before


def test_more_adds_a_session_of_as_many_rounds(uncork: Uncork, finished: Path) -> None:
    assert "is finished: add a session with --more" in uncork.refused(*AGAIN, str(finished))
    done = uncork.run(*AGAIN, str(finished), "--more")
    assert done.returncode == 0, done.stderr
    sessions = plan_read(finished)["sessions"]
    assert [session["rounds"] for session in sessions] == [[1, 1], [2, 2]]
    assert sessions[0]["session"] != sessions[1]["session"]
    assert uncork.run(*AGAIN[:-1], "--more").returncode == 0  # of the newest result
    assert len(plan_read(finished)["sessions"]) == 3
    assert_complete(finished)


def test_more_of_nothing_is_refused(uncork: Uncork) -> None:
    assert "no finished result" in uncork.refused(*AGAIN[:-1], "--more")
    assert "no such folder" in uncork.refused(*AGAIN, str(uncork.results / "new"), "--more")
    uncork.results.mkdir()
    for words in (AGAIN, ("run", "-o")):
        assert "no result to add a session to" in uncork.refused(*words, ".", "--more")


@pytest.mark.parametrize("options", [(), ("--quick",)])
def test_more_without_words_takes_those_of_the_result(
    uncork: Uncork, options: tuple[str, ...], tmp_path: Path,
) -> None:
    path = tmp_path / "scene.toml"
    path.write_text("[sweep]\nwrite = ['nodelay', 'cork']\n[[claim]]\nsays = 'one segment'\n"
                    "that = 'segments_per_message(write=cork) == 1'\n")
    words = ("rounds=1", "duration=5ms", "warmup=0s", "place=free", "message=15x2,64")
    folder = uncork.results / "mine"
    done = uncork.run("run", str(path), *words, *options, "-o", str(folder))
    assert done.returncode == 0, done.stderr
    path.unlink()
    for name in ("mine", str(folder)):
        assert uncork.run("run", "--more", "-o", name, "-n").returncode == 0
        done = uncork.run("run", "--more", "-o", name)
        assert done.returncode == 0, done.stderr
    assert [one["rounds"] for one in plan_read(folder)["sessions"]] == [[1, 1], [2, 2], [3, 3]]
    assert_complete(folder)


def test_a_result_in_place_of_a_scenario_is_what_o_names(uncork: Uncork, finished: Path) -> None:
    for name in (str(finished), finished.name):
        assert "is finished: add a session with --more" in uncork.refused("run", name)
        assert "has nothing left to do: --more adds a session" in uncork.run("run", name,
                                                                             "-n").stdout
        assert uncork.run("run", "--more", name).returncode == 0
    assert len(plan_read(finished)["sessions"]) == 3
    assert "no such folder, here or in" in uncork.refused("run", "--more", "nope")
    assert "can be read there: Is a directory" in uncork.refused("run", str(finished.parent))
    path = finished / "records.jsonl"
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:-2]))
    assert "has 2 runs left" in uncork.run("run", str(finished), "-n").stdout
    assert uncork.run("run", str(finished)).returncode == 0
    assert_complete(finished)


@pytest.mark.parametrize("name", ["records.jsonl", "plan.json"])
def test_a_full_disk_names_the_file_and_the_command_that_goes_on(
    uncork: Uncork, monkeypatch: pytest.MonkeyPatch, name: str,
) -> None:
    """Part of what is written fits, its rest does not."""
    fsync, calls = os.fsync, [0]

    def fsync_full(descriptor: int) -> None:
        calls[0] += name in os.readlink(f"/proc/self/fd/{descriptor}")
        if calls[0] <= (name == "records.jsonl") * 3:
            return fsync(descriptor)
        os.truncate(descriptor, os.fstat(descriptor).st_size - 50)
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    words = ("run", "place=free", "rounds=2", *SHORT, "-o", str(uncork.results / "mine"))
    with monkeypatch.context() as full:
        full.setattr(os, "fsync", fsync_full)
        done = uncork_call(words, uncork.environment)
    assert done.returncode == 1 and "Traceback" not in done.stderr
    assert done.stderr.splitlines()[-1] == (
        f"uncork: {uncork.results}/mine/{name}: No space left on device: what is stored is kept; "
        f"when there is space, to go on: uncork {' '.join(words)}")
    assert uncork.run(*words).returncode == 0
    assert_complete(uncork.results / "mine")


def test_a_session_that_more_began_goes_on_without_more(
    uncork: Uncork, finished: Path, monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("sys.argv", ["uncork", "run", "--more", "-o", str(finished)])
    assert resume_command() == f"uncork run -o {finished}"
    assert uncork.run("run", "--more", "-o", str(finished)).returncode == 0
    path = finished / "records.jsonl"
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:-2]))
    assert "finish it without --more" in uncork.refused("run", "--more", "-o", str(finished))
    done = uncork.run("run", "-o", str(finished))
    assert done.returncode == 0 and f"into {finished}" in done.stderr
    assert_complete(finished)


@pytest.mark.parametrize(("words", "differs"), [
    (("place=free", "rounds=2", *SHORT), "there rounds=1, here rounds=2"),
    (("place=free", "rounds=1", "write=cork,more", *SHORT),
     "there no write, here write=cork,more"),
    (("place=free", "rounds=1", "write=cork", "baseline=write=cork", *SHORT),
     "there no write, here write=cork"),
    (("rounds=1", *SHORT), "there place=free, here no place"),
    (("place=free", "rounds=1", "--quick", *SHORT), "there no quick, here quick=yes"),
    (("quick", "place=free", "rounds=1", "message=64", "write=cork", *SHORT),
     "there scenario=words no workload no message no reply no write, here scenario=quick "
     "workload=request message=64 reply=2 write=cork"),
])
def test_another_plan_in_a_folder_is_refused_with_what_differs(
    uncork: Uncork, finished: Path, words: tuple[str, ...], differs: str,
) -> None:
    assert uncork.refused("run", *words, "-o", str(finished)) == (
        f"uncork: {finished} has another plan ({differs}): write its words, or choose another "
        "folder with -o")


def test_plans_that_only_leave_out_other_cells_differ_by_their_cells(binaries: Client) -> None:
    one, other = (plan_make(Targets(binaries), Scenario("words"), None,
                            ["write=nagle,nodelay,cork", "place=free,together", *leaves]).plan
                  for leaves in ((), ("not=write=cork place=free",)))
    assert one.difference(other) == "its cells, or their order"


def test_records_without_a_plan_are_refused_and_nothing_beside_them_is_touched(
    uncork: Uncork, finished: Path,
) -> None:
    (finished / "plan.json").unlink()
    before = {path.name: path.read_bytes() for path in finished.iterdir()}
    assert "records but no plan.json" in uncork.refused(*AGAIN, str(finished))
    assert {path.name: path.read_bytes() for path in finished.iterdir()} == before


def test_another_boot_is_refused_by_name_and_a_session_of_it_can_be_added(
    uncork: Uncork, finished: Path,
) -> None:
    plan_change(finished, lambda plan: plan["sessions"][0].update(boot="another-boot"))
    assert "another boot (another-boot" in uncork.refused(*AGAIN, str(finished))
    done = uncork.run(*AGAIN, str(finished), "--more")
    assert done.returncode == 0 and "another kernel" not in done.stderr
    assert len(plan_read(finished)["sessions"]) == 2
    path = finished / "hosts.json"
    hosts = json.loads(path.read_text())
    kernel = next(iter(hosts.values()))["kernel"]
    path.write_text(json.dumps({host: facts | {"kernel": "6.1.0-old"}
                                for host, facts in hosts.items()}))
    done = uncork.run(*AGAIN, str(finished), "--more")
    assert done.returncode == 0
    assert (f"uncork: another kernel: {kernel}, in sessions before 6.1.0-old; a table joins their "
            "rounds, -o DIR keeps them apart\n") in done.stderr


def test_another_build_is_refused_by_name(
    finished: Path, misbehave: Callable[[str], Uncork],
) -> None:
    other = misbehave('exec "$REAL" "$@"')
    for flags in ([], ["--more"]):
        message = other.refused(*AGAIN, str(finished), *flags)
        assert "another build" in message and plan_read(finished)["build"] in message


def test_a_program_of_the_same_name_in_another_folder_is_another_program_if_its_bytes_differ(
) -> None:
    before, same, other = (Programs(subjects=subjects) for subjects in (
        {"/usr/bin/x": "one"}, {"/opt/x": "one", "/usr/bin/y": "new"}, {"/opt/x": "two"}))
    assert programs_changed(before, same) == ""
    assert programs_changed(before, other) == "with another /opt/x (one; now it is two)"


def test_a_folder_of_a_newer_schema_is_refused(uncork: Uncork, finished: Path) -> None:
    plan_change(finished, lambda plan: plan.update(schema=2))
    message = uncork.refused(*AGAIN, str(finished), "--more")
    assert "schema 2" in message and "newer" in message


def test_a_folder_with_other_things_in_it_is_refused(uncork: Uncork, tmp_path: Path) -> None:
    folder = tmp_path / "home"
    folder.mkdir()
    (folder / "thesis.tex").touch()
    assert "thesis.tex" in uncork.refused(*AGAIN, str(folder))
    assert [path.name for path in folder.iterdir()] == ["thesis.tex"]


def test_a_start_that_goes_on_parses_each_record_once(
    uncork: Uncork, unfinished: Path, finished: Path, monkeypatch: pytest.MonkeyPatch,
) -> None:
    parsed = list[bytes]()
    whole = json.loads

    def loads(text: str | bytes, **how: Any) -> Any:
        line = text.encode() if isinstance(text, str) else text
        if b'"run":{' in line:
            parsed.append(line.rstrip(b"\n"))
        return whole(text, **how)
    monkeypatch.setattr(json, "loads", loads)
    load.LAST.clear()
    for folder, words in ((unfinished, WORDS), (finished, ("run", str(finished), "--more"))):
        parsed.clear()
        stored = len((folder / "records.jsonl").read_bytes().splitlines())
        done = uncork.run(*words)
        assert done.returncode == 0, done.stderr
        lines = (folder / "records.jsonl").read_bytes().splitlines()
        assert len(lines) > stored and sorted(parsed) == sorted(lines)


def test_every_line_that_the_runner_writes_has_its_crc(finished: Path) -> None:
    lines = (finished / "records.jsonl").read_bytes().splitlines()
    for line in lines:
        head, _, tail = line.rpartition(b',"crc":')
        assert json.loads(line)["crc"] == zlib.crc32(head) == int(tail.removesuffix(b"}"))
    assert not result_load(finished).notes


def test_a_damaged_record_is_a_failure_that_names_its_line(
    uncork: Uncork, unfinished: Path,
) -> None:
    path = unfinished / "records.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(lines[0] + b"broken\n" + lines[1])
    assert "records.jsonl:2" in uncork.refused(*WORDS, "-o", str(unfinished), status=1)


PLANS = {  # what a line says of it: a change of plan.json
    "sessions[0] has no started_unix_ns": lambda plan: plan["sessions"][0].pop("started_unix_ns"),
    "has no sessions": lambda plan: plan.update(sessions=[]),
    "cells[0] has no given": lambda plan: plan["cells"][0].pop("given"),
    "cells[0].baseline is 1, not true or false": lambda plan: plan["cells"][0].update(baseline=1),
    'seed is "7", not a whole number': lambda plan: plan.update(seed="7"),
    "has no schema": lambda plan: plan.pop("schema"),
    'targets.x is "y", not an object': lambda plan: plan.update(targets={"x": "y"}),
}


@pytest.mark.parametrize("says", PLANS)
def test_a_folder_with_a_damaged_plan_is_passed_over_in_one_line(
    uncork: Uncork, finished: Path, says: str,
) -> None:
    plan_change(finished, PLANS[says])
    before = (finished / "records.jsonl").read_bytes()
    done = uncork.run(*AGAIN[:-1])
    assert done.returncode == 0, done.stderr
    lines = [line for line in done.stderr.splitlines() if str(finished) in line]
    assert lines == [f"uncork: skipped: {finished}/plan.json: damaged: {says}"]
    assert (finished / "records.jsonl").read_bytes() == before
    assert says in uncork.refused(*AGAIN, str(finished), status=1)
    assert says in uncork.refused("table", str(finished), status=1)


@pytest.mark.parametrize(("line", "says"), [
    (b"broken", "not JSON: "), (b"[]", "is a list, not an object: "),
    (b'{"status": "ok", "run": 7}', "run is 7, not an object: "),
    (b'{"status": "ok", "run": {"cell": "a", "label": "A"}}', "run has no round: "),
    (b'{"status": "ok", "run": {"cell": [], "label": "A", "round": 1}}', "run.cell is a list"),
    (b'{"run": {"cell": "a", "label": "A", "round": 1}}', "has no status: "),
    (b'{"status": "failed", "run": {"cell": "a", "label": "A", "round": 1},"crc":1}',
     "its bytes are not those that were written: its crc differs: "),
])
def test_a_folder_with_a_damaged_record_is_passed_over_in_one_line(
    uncork: Uncork, finished: Path, line: bytes, says: str,
) -> None:
    path = finished / "records.jsonl"
    path.write_bytes(path.read_bytes() + line + b"\n")
    where = f"{path}:{len(path.read_bytes().splitlines())}: {says}"
    done = uncork.run(*AGAIN[:-1])
    assert done.returncode == 0, done.stderr
    (told,) = [line for line in done.stderr.splitlines() if str(finished) in line]
    assert told.startswith(f"uncork: skipped: {where}") and told.endswith("cannot be continued")
    assert where in uncork.refused(*AGAIN, str(finished), status=1)


def test_what_is_no_result_is_passed_over_without_a_word(uncork: Uncork, finished: Path) -> None:
    (finished / "plan.json").unlink()
    (uncork.results / "notes").write_text("a file")
    done = uncork.run(*AGAIN[:-1])
    assert done.returncode == 0 and "skipped" not in done.stderr


def test_damaged_facts_of_machines_are_replaced(uncork: Uncork, unfinished: Path) -> None:
    (unfinished / "hosts.json").write_text("[]")
    assert uncork.run(*WORDS).returncode == 0
    assert (unfinished / "hosts.json.damaged").read_text() == "[]"
    host = records_of(unfinished)[0]["client"]["host"]
    assert json.loads((unfinished / "hosts.json").read_text()).keys() == {host}


def test_two_runners_never_write_one_folder(uncork: Uncork) -> None:
    process = uncork.start(*WORDS, "seed=1")
    folder = wait_for_records(process, uncork, 1)
    message = uncork.refused(*WORDS, "seed=1", "-o", str(folder), status=1)
    assert "being written by another uncork run" in message
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=30)
