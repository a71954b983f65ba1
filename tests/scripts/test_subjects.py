# SPDX-License-Identifier: MIT
"""Subjects: their files, their words as axes of a plan, what a result tells of them, and runs of
those that are installed here."""

from __future__ import annotations

import copy
import json
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from result_make import HOST, Recipe, ends_of, histogram_of, tcp_info_of, thread_of
from sessions_make import sessions_write

import answers
from conftest import ROOT, Uncork, records_of
from faked import Faked, faked
from processes import descendants_of, has_ended
from suite.base.client import Client
from suite.base.errors import UsageError
from suite.measure.plan import plan_make
from suite.measure.runner import batch_run
from suite.observe.metrics import METRICS, metrics_compute
from suite.observe.traits import Program, traits_of
from suite.places.gvisor import Gvisor
from suite.places.targets import Targets
from suite.present.answers import library_pairs
from suite.result.plan import PlannedCell
from suite.result.record import Record
from suite.scenario import subject as subjects
from suite.scenario.scenario import Scenario
from suite.scenario.subject import Load, Subject, definitions_file, program_load, programs_read
from test_ssh import client, hosts, records_in

__all__ = ["client", "faked", "hosts"]

pytestmark = pytest.mark.usefixtures("elsewhere")

NAMES = sorted(path.stem for path in (ROOT / "scenarios/subjects").glob("*.toml"))
LOADS = sorted(path.stem for path in (ROOT / "scenarios/loads").glob("*.toml"))
RELAYS = ("haproxy",)
READS = ("protocol=nbd", "op=read:4K")
# what each is asked, and values of one of its parameters
ASKED = dict.fromkeys(("nbdkit", "qemu-nbd"), (READS, "size", ("32M", "64M"))) | {
    "uncork": (READS, "reply_write", ("writev", "coalesce")),
    "memcached": (("protocol=memcached", "op=get:100"), "megabytes", ("64", "128")),
    "redis": (("protocol=resp", "op=get:100"), "io_threads", ("1", "2")),
    "nginx": (("protocol=http", "op=get:4K"), "tcp_nodelay", ("on", "off")),  # in a file
}
SHORT = ("place=free", "messages=40", "warmup=0s", "rounds=2")
# of Debian 12; the claims of scenario qemu_nbd are of it too
QEMU_WITHOUT_NODELAY = "7.2"

WHOLE = '''says = "a server"
program = "served"
apt = "served"
dnf = "served"
protocols = ["nbd"]
transports = ["tcp"]
listens = "inherited"
version = "--version"
arguments = ["-s", "{size}", "-s", '{"a": {size}}']
[parameters]
size = "1M"
[files]
"served.conf" = "port {port}"
'''

LOAD = """says = "a client"
program = "asks"
apt = "asks"
dnf = "asks"
protocols = ["nbd"]
transports = ["tcp"]
version = "--version"
arguments = ["{uri}", "{count}"]
moves = "{size}*{count}"
[parameters]
count = "2"
"""


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder for temporary files that `nobody` may enter, as subjects run. uncork-server takes a
    TMPDIR of 30 bytes."""
    path = Path(tempfile.mkdtemp(prefix="unc-", dir="/tmp"))
    path.chmod(0o755)
    yield path
    shutil.rmtree(path)


@pytest.fixture
def copied(folder: Path) -> Path:
    """A copy of qemu-nbd."""
    return Path(shutil.copy(needs("qemu-nbd").find() or "", folder / "qemu-nbd"))


def another_make(program: Path) -> None:
    """Makes it another file, which is the same program."""
    with open(program, "ab") as file:
        file.write(b"another")  # behind the last segment


def needs(name: str) -> subjects.Program:
    """The subject or load; the test is skipped where its program is missing."""
    found = programs_read()[name]
    if found.find() is None:
        pytest.skip(subjects.missing_text(found))
    return found


# ---- files ----

@pytest.mark.parametrize("name", NAMES)
def test_a_subject_that_ships_is_whole_and_no_name_stands_elsewhere(name: str) -> None:
    found = programs_read()[name]
    assert found.name == name and found.arguments and found.parameters
    # what the server reads
    assert set(found.definition) <= set(json.loads(Path(definitions_file()).read_text())[name])


def test_the_name_of_a_subject_is_that_of_its_file(tmp_path: Path) -> None:
    path = tmp_path / "served.toml"
    path.write_text(WHOLE)
    found = program_load(path, Subject)
    assert (found.name, found.arguments_tls) == ("served", None)
    assert found.defaults == {"program": "served", "size": "1M"}
    assert found.definition["arguments"] == ("-s", "{size}", "-s", '{"a": {size}}')
    assert not {"says", "apt", "arguments_tls"} & found.definition.keys()


SUBJECT_MISTAKES = [
    ("listens =", "listend =", "listend: unknown key: did you mean listens?"),
    ('"inherited"', '"port"', 'listens cannot be "port" (there is address, inherited)'),
    ('program = "served"\n', "", "program is missing"),
    ('["nbd"]', '"nbd"', 'protocols must be a list of text, as in protocols = ["..."'),
    ('["nbd"]', "[]", "protocols is missing"),
    ('"-s", "{size}"', '"-s", "{sice}"',
     "arguments: {sice} is no parameter: did you mean size?"),
    ('"-s", "{size}"', '"-s", 7', "arguments must be a list of text, as in arguments = ["),
    ("{port}", "{prot}", "files: {prot} is no parameter: did you mean port?"),
    ('size = "1M"', "size = 1", "[parameters] size must be text"),
    ('size = "1M"', 'program = "x"', "[parameters] program: a name here is lower-case letters,"),
    ('size = "1M"', 'Size = "1M"', "[parameters] Size: a name here is lower-case letters,"),
    ('listens = "inherited"', 'listens = "inherited"\nneeds = ["keys"]',
     'needs cannot be "keys" (there is certificate, content)'),
    ('"served.conf"', '"../x"', "[files] ../x: a name here is without /"),
    ('version = "--version"', "version = ", "broken TOML: Invalid value (at line 8"),
]
LOAD_MISTAKES = [
    ("moves =", "move =", "move: unknown key: did you mean moves?"),
    ('"{uri}"', '"{url}"', "arguments: {url} is no parameter: did you mean uri?"),
    ('"{size}*', '"{siz}*', "moves: {siz} is no parameter: did you mean size?"),
    ('count = "2"', 'override = "off"', "[parameters] override: a name here is"),
    ("arguments =", "limit_s = 0\narguments =", "limit_s must be seconds, a whole number"),
    ("arguments =", "limit_s = true\narguments =", "limit_s must be seconds, a whole number"),
    ("arguments =", 'listens = "address"\narguments =', "listens: unknown key"),
    ("arguments =", 'counts = "requests"\narguments =', "counts must be a pattern with one group"),
    ("arguments =", 'counts = "(requests"\narguments =', "counts must be a pattern with one group"),
]


@pytest.mark.parametrize(("kind", "text", "was", "wrong", "told"), [
    *((Subject, WHOLE, *one) for one in SUBJECT_MISTAKES),
    *((Load, LOAD, *one) for one in LOAD_MISTAKES)])
def test_a_mistake_in_a_file_is_one_line_that_names_the_key(
        tmp_path: Path, kind: Any, text: str, was: str, wrong: str, told: str) -> None:
    path = tmp_path / "served.toml"
    assert was in text
    path.write_text(text.replace(was, wrong, 1))
    with pytest.raises(UsageError) as raised:
        program_load(path, kind)
    assert str(raised.value).startswith(f"{path}: {told}") and "\n" not in str(raised.value)


@pytest.mark.parametrize("name", LOADS)
def test_a_load_that_ships_has_a_name_and_says_what_it_moves(name: str) -> None:
    found = programs_read()[name]
    assert found.moves and found.arguments and name not in NAMES
    assert found.definition["parameters"]["override"] == "off"
    assert {*found.defaults} == {"program", "override", *found.parameters}
    assert found.limit_s == 600


def test_no_load_has_the_name_of_a_subject(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "nbdkit.toml").write_text(LOAD)
    monkeypatch.setattr(Load, "home", tmp_path)
    with pytest.raises(UsageError, match="nbdkit.toml: a subject has this name"):
        programs_read.__wrapped__()


LOADED = ("workload=command", "subject=nbdkit", "nbdkit.size=1M")
REFUSED = {
    ("load=nbdcpy",): "uncork: load=nbdcpy: there is no such load: did you mean nbdcopy?",
    ("load=nbdcopy", "nbdcopy.request=1"):
        "uncork: nbdcopy.request: the load nbdcopy has no such parameter: did you mean requests?",
    ("load=nbdcopy", "fio.bs=4k"): "uncork: fio.bs=4k: no cell uses fio.bs",
    ("load=nbdcopy", "duration=1s"): "uncork: duration=1s: no cell uses duration",
    ("load=nbdcopy", "timer=hyperfine"):
        "workload=command is timed by hyperfine already",
    ("load=redis-benchmark",): "subject=nbdkit speaks nbd, nbd-structured and load=redis-benchmark",
    ("load=nbdcopy", "protocol=http"): "subject=nbdkit does not work with protocol=http",
    ("load=qemu-img-read", "security=gnutls"): "load=qemu-img-read does not work with TLS",
    ("command=true",): "uncork: command= needs moves=",
}


@pytest.mark.parametrize("words", list(REFUSED), ids=" ".join)
def test_a_wrong_word_about_a_load_is_told(uncork: Uncork, words: tuple[str, ...],
                                           all_there: None) -> None:
    done = uncork.run("run", *LOADED, *words, "-n")
    assert REFUSED[words] in done.stdout + done.stderr


def test_a_load_is_timed_in_rounds_and_the_table_has_both_sides(uncork: Uncork) -> None:
    needs("nbdkit"), needs("nbdcopy")
    uncork.run("run", *LOADED, "load=nbdcopy", "nbdcopy.override=off,none", "rounds=2", "-o", "r")
    table = uncork.run("table", "r").stdout
    assert re.search(r"subject +nbdkit \S+; nbdcopy ", table) and "the load" in table
    assert re.search(r"^time .*\n^load_cpu .*\n^subject_cpu ", table, re.MULTILINE)
    for record in records_of(Path("r")):
        values = metrics_compute(Record(record))
        times = record["hyperfine"]
        assert values["time"] == times["wall_ns"] * 1e-9 > 0
        assert values["load_cpu"] == pytest.approx((times["user_ns"] + times["system_ns"]) * 1e-9)
        assert values["subject_cpu"] == record["subject"]["cpu_ns"] * 1e-9 > 0
        assert values["messages_per_second"] is None and record["load"]["moved_bytes"] > 1 << 20


def test_holes_are_no_result(uncork: Uncork) -> None:
    needs("nbdkit"), needs("nbdcopy")
    done = uncork.run("run", "workload=command", "subject=nbdkit", "nbdkit.size=2G", "load=nbdcopy",
                      "nbdkit.filter=noparallel", "rounds=1", "-o", "holes")
    assert done.returncode == 1
    assert re.search(r"nbdcopy moved \d{3,5} of 2147483648 bytes by its sockets: holes, ",
                     done.stderr)


@pytest.mark.parametrize(("load", "words"), [
    ("nbdcopy", ("subject=nbdkit", "security=gnutls", "transport=unix")),
    ("qemu-img-read", ("subject=qemu-nbd", "qemu-nbd.size=1M")),
    ("qemu-img-write", ("subject=nbdkit", "nbdkit.size=1M")),
    ("qemu-img-null", ("subject=qemu-nbd", "qemu-nbd.size=1M")),
    ("nbdcopy-hash", ("subject=nbdkit", "nbdkit.size=1M")), ("fio", ("subject=nbdkit",)),
    ("redis-benchmark", ("subject=redis", "redis-benchmark.requests=1000")),
    ("wrk", ("subject=nginx", "protocol=http", "op=get:4K"))])
def test_every_load_that_ships_asks_a_real_server(uncork: Uncork, load: str,
                                                  words: tuple[str, ...]) -> None:
    needs(load), needs(words[0].partition("=")[2])
    uncork.run("run", "workload=command", f"load={load}", *words, "rounds=1", "-o", "r")
    assert {record["status"] for record in records_of(Path("r"))} == {"ok"}


@pytest.mark.parametrize("name", ["own", "server", "Served", "a_b", "a" * 24])
def test_a_file_whose_name_no_word_can_have_is_refused(tmp_path: Path, name: str) -> None:
    path = tmp_path / f"{name}.toml"
    path.write_text(WHOLE)
    with pytest.raises(UsageError, match="of a subject is lower-case letters, digits and -"):
        program_load(path, Subject)


def test_the_definitions_stand_in_no_folder(binaries: Client) -> None:
    path = Path(definitions_file())
    assert path.parts[:3] == ("/", "proc", str(os.getpid())) and sorted(
        json.loads(path.read_text())) == sorted(NAMES + LOADS)
    assert " (deleted)" in os.readlink(path)


# ---- words ----

def cells_of(binaries: Client, *words: str) -> tuple[PlannedCell, ...]:
    """The cells of a plan on this machine."""
    with Targets(binaries) as targets:
        return plan_make(targets, Scenario("words"), None, [*READS, *words]).plan.cells


@pytest.fixture
def all_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every program seems to be installed."""
    monkeypatch.setattr(subjects.Program, "find",
                        lambda self, program="": program or self.program)


def test_a_parameter_is_an_axis_of_its_own_subject_only(binaries: Client, all_there: None) -> None:
    cells = cells_of(binaries, "subject=nbdkit,qemu-nbd", "nbdkit.size=64M,1G")
    assert [cell.name.removeprefix("protocol=nbd op=read:4K ") for cell in cells] == [
        "subject=nbdkit nbdkit.size=64M", "subject=nbdkit nbdkit.size=1G", "subject=qemu-nbd"]
    assert not any(cell.unsupported for cell in cells)


def test_two_programs_of_a_subject_are_two_cells_with_whole_paths(
    binaries: Client, tmp_path: Path, all_there: None,
) -> None:
    cells = cells_of(binaries, "subject=nbdkit", "nbdkit.program=nbdkit,../server/nbdkit")
    assert [cell.words["nbdkit.program"] for cell in cells] == [
        "nbdkit", f"{tmp_path.parent}/server/nbdkit"]


WRONG = {
    ("subject=nbdkti",): "subject=nbdkti: there is no such subject: did you mean nbdkit?",
    ("subject=nbdkit", "nbdkit.sise=1M"):
        "nbdkit.sise: the subject nbdkit has no such parameter: did you mean size?",
    ("subject=nbdkit", "nbdkti.size=1M"):
        "nbdkti.size: no subject or load is called nbdkti: did you mean nbdkit?",
    ("clinet.write=cork",):
        "clinet.write: no subject or load is called clinet: did you mean client?",
    ("subject=nbdkit", "qemu-nbd.size=1M"): "qemu-nbd.size=1M: no cell uses qemu-nbd.size",
    ("subject=nbdkit", "nbdkit.program=/a b/nbdkit"):
        "nbdkit.program=/a b/nbdkit: the value may have neither blanks nor commas",
    ("subject=nbdkit", "nbdkit.program=/no/such/nbdkit"):
        "nbdkit.program=/no/such/nbdkit: there is no such program",
    ("subject=nbdkit", "nbdkit.program=nbdkot"):
        "nbdkit.program=nbdkot: there is no such program",
    ("subject=nbdkit", "not=nbdkit.sise=1M"):
        'not="nbdkit.sise=1M": nbdkit.sise: the subject nbdkit has no such parameter',
}


@pytest.mark.parametrize("words", list(WRONG), ids=" ".join)
def test_a_wrong_word_about_a_subject_is_told_with_the_nearest(uncork: Uncork,
                                                               words: tuple[str, ...]) -> None:
    assert uncork.refused("run", *READS, *words, "-n").startswith(f"uncork: {WRONG[words]}")


SCENARIO = """[fixed]
protocol = "nbd"
op = "read:4K"
subject = "nbdkit"
[sweep]
nbdkit.size = ["1M", "2M"]
[run]
baseline = "nbdkit.size=1M"
[table]
rows = ["nbdkit.size"]
[[picture]]
kind = "bars"
metric = "latency_p50"
x = "nbdkit.size"
"""


def test_a_scenario_sweeps_a_parameter_and_shows_it(uncork: Uncork) -> None:
    needs("nbdkit")
    path = Path("sizes.toml")
    path.write_text(SCENARIO)
    done = uncork.run("run", str(path), "-n")
    assert done.returncode == 0 and "# varies: nbdkit.size;" in done.stdout, done.stderr
    path.write_text(SCENARIO.replace('x = "nbdkit.size"', 'x = "nbdkit.sise"'))
    assert uncork.refused("run", str(path), "-n").endswith(
        "nbdkit.sise: the subject nbdkit has no such parameter: did you mean size?")


@pytest.mark.parametrize(("words", "why"), [
    (("subject=served",),
     "subject=served: served is missing: scripts/setup/target served installs it"),
    (("subject=served", "transport=unix"),
     "subject=served does not work with transport=unix (it does with tcp)"),
    (("subject=served", "protocol=nbd-structured"),
     "subject=served does not work with protocol=nbd-structured (it does with nbd)"),
    (("subject=served", "security=gnutls"), "subject=served does not work with TLS"),
])
def test_what_a_subject_cannot_do_is_unsupported_with_the_reason(
    binaries: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...],
    why: str,
) -> None:
    path = tmp_path / "served.toml"
    path.write_text(WHOLE)
    known = {**programs_read(), "served": program_load(path, Subject)}
    monkeypatch.setattr(subjects, "programs_read", lambda: known)
    given = {word.partition("=")[0]: word for word in (*READS, *words)}
    with Targets(binaries) as targets:
        (cell,) = plan_make(targets, Scenario("words"), None, [*given.values()]).plan.cells
    assert cell.unsupported == why


@pytest.mark.parametrize("given, planned", [
    ("none,more:64", ["none", "more:64", "off"]), ("nodelay,join", ["nodelay", "join", "off"]),
    ("off,none", ["off", "none"]), ("more:64", ["more:64"]), ("off", ["off"])])
def test_overrides_that_are_compared_stand_beside_a_row_without_the_library(
        binaries: Client, all_there: None, given: str, planned: list[str]) -> None:
    cells = cells_of(binaries, "subject=nbdkit", f"override={given}")
    assert [cell.words["override"] for cell in cells] == planned
    if len(planned) > 1:
        cells = cells_of(binaries, "subject=nbdkit", f"override={given}", "not=override=off")
        assert [cell.words["override"] for cell in cells] == [
            one for one in planned if one != "off"]


def test_what_the_library_costs_is_said_once_for_each_cell_that_it_does_not_change(
        monkeypatch: pytest.MonkeyPatch) -> None:
    matrix = answers.matrix_of(answers.NODELAY)
    timed = (METRICS["time_per_message"], METRICS["segments_per_message"])
    assert library_pairs(matrix, timed) == []
    for name, value in (("OVERRIDE", "write"), ("NO_CHANGE", "cork"), ("NOT_LOADED", "nodelay")):
        monkeypatch.setattr(f"suite.decide.optimum.{name}", value)
    assert library_pairs(matrix, timed) == [
        ("note", "the library of override= costs with place=together, none against off: "
                 "time_per_message 0.242x [0.240x, 0.244x]"),
        (None, "the library of override= costs with place=apart, none against off: "
               "time_per_message +4.9% [+4.5%, +5.8%]")]


def test_where_no_subject_can_be_started_the_target_says_so(binaries: Client) -> None:
    with Targets(binaries) as targets:
        targets.opened["gvisor"] = Gvisor.__new__(Gvisor)
        with pytest.raises(UsageError, match="target=gvisor: subject=nbdkit cannot be started "
                                             "there: take target=local or target=ssh:HOST"):
            targets.target({"target": "gvisor", "subject": "nbdkit"})
        targets.opened.clear()


def test_a_command_by_hand_begins_with_the_definitions(uncork: Uncork) -> None:
    needs("nbdkit")
    lines = uncork.run("run", *READS, "subject=nbdkit", "nbdkit.size=1M", "-n").stdout.splitlines()
    assert [line for line in lines if not line.startswith("#")] == [
        "uncork subjects --json >subjects.json",
        "uncork-client --subjects subjects.json protocol=nbd op=read:4K subject=nbdkit "
        "nbdkit.size=1M"]
    assert sorted(json.loads(uncork.run("subjects", "--json").stdout)) == sorted(NAMES + LOADS)


def test_the_list_has_the_version_or_the_command_that_installs(uncork: Uncork) -> None:
    listed = " ".join(uncork.run("subjects").stdout.split())
    for found in programs_read().values():
        assert f"{found.kind}={found.name} is {found.says} here " in listed
        assert f"{found.name}.program={found.program}" in listed
        here = found.find()
        packaged = found.apt != subjects.NO_PACKAGE
        assert (f"setup/target {found.name} installs it" in listed) == (here is None and packaged)


# ---- records ----

THREAD = {"connections": 1, "messages_sent": 100, "messages_received": 100, "bytes_sent": 2800,
          "bytes_received": 411200, "begun_ns": 0, "ended_ns": 10_000_000, "elapsed_ns": 10_000_000,
          "write_calls": 100, "read_calls": 200, "wait_calls": 0, "records_sent": 100,
          "records_received": 200, "tls_bytes_sent": 5000, "tls_bytes_received": 415600,
          "cpu": {"user_ns": 1_000_000, "system_ns": 3_000_000},
          "tcp_info": {key: {"sum": count} for key, count in
                       (("data_segs_out", 100), ("data_segs_in", 200), ("retrans_segs", 0))}}
RECORD: dict[str, Any] = {
    "status": "ok", "words": {"workload": "request", "protocol": "nbd", "subject": "served"},
    "run": {"cell": "a", "label": "A", "round": 1},
    "client": {"host": "h1", "drives": True, "security": "gnutls", "threads": [THREAD],
               "machine": {"softirq_ns": 7_000_000}},
    "subject": {"name": "served", "host": "h1", "program": "/usr/bin/served",
                "version": "/usr/bin/served 1.2", "sha256": "0123456789abcdef" * 4,
                "arguments": ["/usr/bin/served"], "user": "nobody", "cpu_ns": 6_000_000},
}
ABSENT = ("sends_per_reply", "server_syscalls_per_message", "retransmits_per_message",
          "server_memory_per_connection", "user", "system", "server_user")


def test_of_a_subject_is_known_what_came_in_here_and_its_cpu() -> None:
    figures = metrics_compute(Record(RECORD))
    assert {key: figures[key] for key in (
        "segments_per_reply", "records_per_reply", "tls_bytes_per_reply", "reads_per_reply",
    )} == {"segments_per_reply": 2, "records_per_reply": 2, "tls_bytes_per_reply": 4156,
           "reads_per_reply": 2}
    assert figures["server_cpu_per_message"] == pytest.approx(60e-6)
    assert figures["cpu_per_message"] == pytest.approx(100e-6)
    assert figures["softirq"] == pytest.approx(7e-3)
    assert [key for key in ABSENT if figures[key] is not None] == []


def test_of_a_foreign_peer_nothing_is_known_but_what_came_in() -> None:
    peer = {key: value for key, value in RECORD.items() if key != "subject"}
    peer["words"] = {"workload": "request", "protocol": "nbd", "peer": "127.0.0.1:10809"}
    figures = metrics_compute(Record(peer))
    assert figures["segments_per_reply"] == figures["records_per_reply"] == 2
    assert [key for key in (*ABSENT, "server_cpu_per_message", "cpu_per_message")
            if figures[key] is not None] == []
    peer["words"] = {"workload": "request", "peer": "127.0.0.1:7"}  # an echo without a protocol
    assert metrics_compute(Record(peer))["segments_per_reply"] is None


def test_of_a_load_that_counts_rate_and_cpu_are_those_of_the_whole_programs() -> None:
    words = {"workload": "command", "load": "wrk", "subject": "served"}
    load = {"name": "wrk", "host": "h1", "program": "/usr/bin/wrk", "moves_bytes": 1,
            "moved_bytes": 2, "requests": 200}
    times = {"version": "1", "wall_ns": 2_000_000_000, "user_ns": 1_000_000, "system_ns": 3_000_000}
    record = {key: RECORD[key] for key in ("status", "run", "subject")} | {
        "words": words, "load": load, "hyperfine": times}
    figures = metrics_compute(Record(record))
    assert figures["messages_per_second"] == pytest.approx(100)
    assert figures["client_cpu_per_message"] == pytest.approx(20e-6)
    assert figures["server_cpu_per_message"] == pytest.approx(30e-6)
    del load["requests"]
    figures = metrics_compute(Record(record))
    assert figures["messages_per_second"] is figures["server_cpu_per_message"] is None


def test_the_softirq_of_a_machine_that_nobody_looked_at_is_not_known() -> None:
    elsewhere = copy.deepcopy(RECORD)
    elsewhere["subject"]["host"] = "h2"
    assert metrics_compute(Record(elsewhere))["softirq"] is None


def test_a_record_names_the_program_of_its_subject_and_where_it_ran() -> None:
    traits = traits_of(Record(RECORD))
    assert traits.subjects == (Program("served", "served 1.2", "/usr/bin/served",
                                       "0123456789abcdef"),)
    assert [(end.name, end.host) for end in traits.ends] == [("client", "h1"), ("server", "h1")]


# ---- a result that was not measured, byte for byte ----

VERSIONS = {"nbdkit": "nbdkit 1.32.5", "qemu-nbd": "/usr/bin/qemu-nbd 7.2.22 (Debian)"}
GOLDEN = {"table.txt": ("table",), "table.csv": ("table", "--csv"),
          "show.txt": ("show", "subject=qemu-nbd"), "paste.plain": ("paste",)}


def record_made(words: dict[str, str], number: int, chance: random.Random) -> dict[str, Any]:
    """The record of a run of 1000 reads."""
    name, count = words["subject"], 1000
    mean_ns = {"nbdkit": 60_000, "qemu-nbd": 90_000}[name] * chance.lognormvariate(0, 0.01)
    told = {"message": "28", "write": "nodelay"} | words
    thread = thread_of(told, 0, int(mean_ns * count), {"send": count, "recv": count},
                       int(mean_ns * count) // 3, messages_sent=count, bytes_sent=28 * count,
                       messages_received=count, bytes_received=4112 * count,
                       latency=histogram_of(mean_ns, count))
    thread["tcp_info"] = tcp_info_of(count, count) | {"data_segs_in": {
        "sum": count * (1 + (name == "qemu-nbd"))}}
    record = ends_of(told, thread, {}) | {"words": words, "subject": {
        "name": name, "host": HOST, "program": f"/usr/bin/{name}", "version": VERSIONS[name],
        "sha256": f"{len(name):x}" * 64, "arguments": [f"/usr/bin/{name}", "-f", "a b"],
        "user": "nobody", "cpu_ns": int(mean_ns * count) // 2}}
    del record["server"]
    return record


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the result."""
    fixed = {"workload": "request", "protocol": "nbd", "op": "read:4K", "place": "apart"}
    recipe = Recipe("subjects", fixed, {"subject": ["nbdkit", "qemu-nbd"]}, 6, "subject=nbdkit",
                    record_made)
    folder = tmp_path_factory.mktemp("golden")
    # each session is of another machine
    return answers.changed(
        sessions_write(recipe, folder / "made", 1, {}), folder,
        lambda record: record["subject"].update(host=record["client"]["host"]))


@pytest.mark.parametrize("name", GOLDEN)
def test_each_command_tells_of_subjects(made: Path, name: str) -> None:
    command, *words = GOLDEN[name]
    done = answers.uncork(command, made, *words)
    assert done.returncode == 0, done.stderr
    answers.golden_check(f"subjects/{name}", done.stdout.replace(str(made), "RESULTS"))


# ---- runs ----

@pytest.mark.parametrize("name", sorted({*NAMES} - {*RELAYS}))
def test_a_subject_is_measured_and_every_command_tells_of_it(uncork: Uncork, name: str) -> None:
    found = needs(name)
    asks, parameter, values = ASKED[name]
    word = f"{name}.{parameter}"
    done = uncork.run("run", *asks, f"subject={name}", f"{word}={','.join(values)}", *SHORT, "-o",
                      "measured")
    assert done.returncode == 0, done.stderr
    records = records_of(Path("measured"))
    assert {record["status"] for record in records} == {"ok"}
    for record in records:
        assert record["subject"]["name"] == name and "server" not in record
        assert name == "nginx" or any(record["words"][word] in one
                                      for one in record["subject"]["arguments"])
    assert "\nsubject " in done.stdout and f"\n{word}" in done.stdout
    csv = uncork.run("table", "measured", "--csv", "columns=segments_per_reply").stdout
    assert {line.split(",")[2] for line in csv.splitlines()[1:]} == {"1"} or "1.0" in csv
    shown = uncork.run("show", "measured", f"{word}={values[1]}").stdout
    assert f"started as  {found.find()} " in shown
    block = uncork.run("paste", "measured").stdout
    assert "\nsubject: " in block
    Path("block").write_text(block)
    assert uncork.run("verify", "block", "measured").returncode == 0
    assert uncork.run("export", "measured", f"{word}={values[1]}", "-o", "-").returncode == 0
    gated = uncork.run("compare", "measured", "--fail-if", "segments_per_reply > 1")
    assert gated.returncode in (0, 3), gated.stdout + gated.stderr


@pytest.mark.parametrize("name", RELAYS)
def test_a_relay_is_measured_beside_our_proxy(uncork: Uncork, name: str) -> None:
    needs(name)
    done = uncork.run("run", "workload=proxy", f"subject=own,{name}", "direction=send,receive",
                      "messages=20", "verify=on", "place=free", "warmup=10ms", "rounds=1", "-o",
                      "relayed")
    assert done.returncode == 0, done.stderr
    for record in records_of(Path("relayed")):
        figures = metrics_compute(Record(record))
        assert record["status"] == "ok" and ("proxy" in record) == ("subject" not in record)
        assert figures["segments_per_message"] and figures["segments_per_message"] >= 1
        assert figures["proxy_cpu_per_byte"] and figures["server_cpu_per_message"]
        assert (figures["proxy_sends_per_message"] is None) == ("subject" in record)
    refused = uncork.refused("run", "workload=request", f"subject={name}")
    assert "needs a protocol, like protocol=nbd, or workload=proxy" in refused


def test_a_result_of_a_subject_is_gone_on_with(uncork: Uncork) -> None:
    needs("qemu-nbd")
    words = ("run", *READS, "subject=qemu-nbd", "qemu-nbd.size=32M", *SHORT, "seed=1", "-o", "one")
    assert uncork.run(*words).returncode == 0
    lines = Path("one/records.jsonl").read_text().splitlines(keepends=True)
    Path("one/records.jsonl").write_text("".join(lines[:-1]))
    done = uncork.run(*words)
    assert done.returncode == 0 and "resuming" in done.stderr, done.stderr
    assert len(records_of(Path("one"))) == len(lines)


def test_a_result_is_not_gone_on_with_by_another_program(uncork: Uncork, copied: Path) -> None:
    words = ("run", *READS, "subject=qemu-nbd", f"qemu-nbd.program={copied}", *SHORT, "seed=1",
             "-o", "one")
    assert uncork.run(*words).returncode == 0
    another_make(copied)
    told = uncork.refused(*words, "--more")
    assert told.startswith(f"uncork: one was measured with another {copied} (")
    assert "now it is" in told


def test_two_programs_are_told_apart_by_file_and_digest(uncork: Uncork, copied: Path) -> None:
    another_make(copied)
    done = uncork.run("run", *READS, "subject=qemu-nbd", f"qemu-nbd.program=qemu-nbd,{copied}",
                      *SHORT, "-o", "both")
    assert done.returncode == 0, done.stderr
    digests = {record["subject"]["program"]: record["subject"]["sha256"][:16]
               for record in records_of(Path("both"))}
    assert len(digests) == len(set(digests.values())) == 2
    told = " ".join(done.stdout.split())
    for path, digest in digests.items():
        assert f"({path} {digest})" in told.replace("- ", "-")
    block = " ".join(uncork.run("paste", "both").stdout.split())
    assert "compared: subject qemu-nbd.program " in block and "differs: nothing else" in block


def test_under_tls_qemu_nbd_waits_for_the_acknowledgement_of_a_header(uncork: Uncork) -> None:
    found = needs("qemu-nbd")
    version = subjects.version_read(found) or ""
    if f" {QEMU_WITHOUT_NODELAY}." not in version:
        pytest.skip(f"{version}: the claims are of {QEMU_WITHOUT_NODELAY}")
    done = uncork.run("run", "qemu_nbd", "op=read:4K", "protocol=nbd", "override=off",
                      "duration=300ms", "warmup=50ms", "rounds=2", "-o", "qemu")
    assert done.returncode == 0, done.stderr
    answers = uncork.run("check", "qemu").stdout.splitlines()
    holds = [line for line in answers if line.startswith("ok ")]
    for claim in ("header and data of a simple reply leave as one segment",
                  "under TLS header and data are two records", "which leave as two segments"):
        assert any(claim in line for line in holds), "\n".join(answers)
    slow = [metrics_compute(Record(record))["latency_p50"] for record in records_of(Path("qemu"))
            if record["words"]["security"] == "gnutls"]
    assert all(value and value > 0.035 for value in slow)


def test_nbdkit_joins_header_and_data_plain_and_under_tls(uncork: Uncork) -> None:
    needs("nbdkit")
    done = uncork.run("run", "nbdkit", "op=read:4K", "override=off", "duration=50ms",
                      "warmup=10ms", "rounds=2", "-o", "nbdkit")
    assert done.returncode == 0, done.stderr
    figures = [metrics_compute(Record(record)) for record in records_of(Path("nbdkit"))]
    assert {figure["segments_per_reply"] for figure in figures} == {1}
    assert {figure["records_per_reply"] for figure in figures} == {None, 1}


@pytest.mark.parametrize(("name", "override", "joins"), [
    ("memcached", "off", False), ("memcached", "join", True), ("redis", "off", True)])
def test_a_reply_is_one_segment_and_redis_joins_those_of_a_pipeline(
        uncork: Uncork, name: str, override: str, joins: bool) -> None:
    needs(name)
    protocol = {"memcached": "memcached", "redis": "resp"}[name]
    done = uncork.run("run", "pipelines", f"subject={name}", f"protocol={protocol}", "depth=1,16",
                      "transport=tcp", f"override={override}", "duration=50ms", "warmup=10ms",
                      "rounds=2", "-o", name)
    assert done.returncode == 0, done.stderr
    records = records_of(Path(name))
    segments = [(record["words"]["depth"], metrics_compute(Record(record))["segments_per_reply"])
                for record in records]
    assert {value for depth, value in segments if depth == "1"} <= {1}
    if joins:
        assert all(value and value < 0.5 for depth, value in segments if depth == "16")


def test_of_a_server_that_is_there_the_table_has_what_came_in(uncork: Uncork) -> None:
    program = needs("nbdkit").find() or ""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        os.set_inheritable(listener.fileno(), True)
        port = listener.getsockname()[1]
        served = subprocess.Popen(
            ["bash", "-c", 'exec 3<&"$1"; shift; LISTEN_FDS=1 LISTEN_PID=$$ exec "$@"', "bash",
             str(listener.fileno()), program, "-f", "memory", "1M"], pass_fds=[listener.fileno()])
    try:
        done = uncork.run("run", *READS, f"peer=127.0.0.1:{port}", "control=none", *SHORT, "-o",
                          "there")
        assert done.returncode == 0, done.stderr
        figures = [metrics_compute(Record(record)) for record in records_of(Path("there"))]
        assert {figure["segments_per_reply"] for figure in figures} == {1}
        assert "segments_per_reply" in done.stdout and "server_cpu" not in done.stdout
    finally:
        served.kill()
        served.wait()


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_killed_runner_leaves_no_process_and_no_folder(uncork: Uncork, folder: Path,
                                                         monkeypatch: pytest.MonkeyPatch,
                                                         number: signal.Signals) -> None:
    needs("qemu-nbd")
    monkeypatch.setenv("TMPDIR", str(folder))
    runner = uncork.start("run", *READS, "subject=qemu-nbd", "duration=60s", "-o", "killed")
    until = time.monotonic() + 60
    try:
        while not any(is_measured(pid) for pid in descendants_of(runner.pid)):
            assert time.monotonic() < until and runner.poll() is None
            time.sleep(0.01)
        started = descendants_of(runner.pid)
        runner.send_signal(number)
        runner.communicate(timeout=60)
    finally:
        runner.kill()
    assert len(started) >= 3 and all(map(has_ended, started))
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("number, says", [
    (signal.SIGKILL, "the subject qemu-nbd was ended by signal 9; "),
    # it is noticed after 5 s
    pytest.param(signal.SIGSTOP, "the subject qemu-nbd was stopped by signal 19; ",
                 marks=pytest.mark.long),
])
def test_a_subject_that_is_killed_or_stopped_is_named_and_the_command_fails(
    uncork: Uncork, number: signal.Signals, says: str,
) -> None:
    needs("qemu-nbd")
    runner = uncork.start("run", *READS, "subject=qemu-nbd", "place=free", "duration=500ms",
                          "warmup=0s", "rounds=1", "-o", "hurt")
    until, hurt = time.monotonic() + 60, list[int]()
    while not hurt:
        assert time.monotonic() < until and runner.poll() is None
        hurt = [pid for pid in descendants_of(runner.pid) if is_measured(pid)]
    os.kill(hurt[0], number)
    _, stderr = runner.communicate(timeout=60)
    last = stderr.splitlines()[-1]
    assert runner.returncode == 1 and last.startswith("uncork: 1 of 4 runs failed: 1 of 4 of ")
    assert says in last, last
    assert [record["status"] for record in records_of(Path("hurt"))] == ["failed"] + 3 * ["ok"]


def is_measured(pid: int) -> bool:
    """Whether a process is the subject and has a connection: one that it listens on, and another
    socket."""
    try:
        links = [os.readlink(link) for link in Path(f"/proc/{pid}/fd").iterdir()]
        return os.readlink(f"/proc/{pid}/exe").endswith("/qemu-nbd") and sum(
            link.startswith("socket:") for link in links) > 1
    except OSError:
        return False


@pytest.mark.parametrize("target", ["ssh:one", "ssh:one+ssh:two"])
def test_a_load_runs_on_the_machine_of_the_client(
    client: Client, faked: Faked, hosts: Callable[[str], None], target: str,
) -> None:
    needs("nbdkit"), needs("nbdcopy")
    words = (f"target={target}", *LOADED, "load=nbdcopy")
    with Targets(client) as targets:
        (cell,) = plan_make(targets, Scenario("words"), None, words).plan.cells
        ((_, record),) = batch_run(targets, [cell])
    assert record["status"] == "ok", record.get("reason")
    assert record["load"]["moved_bytes"] > 1 << 20
    assert [*(faked.folder / "one").glob(".cache/uncork/bin/*/subjects-*.json")]


@pytest.mark.parametrize("target", ["ssh:one", "ssh:one+ssh:two"])
def test_a_subject_runs_on_the_machine_of_the_server(
    client: Client, faked: Faked, hosts: Callable[[str], None], target: str,
) -> None:
    needs("qemu-nbd")
    (record,) = records_in(replace(client), f"target={target}", *READS, "subject=qemu-nbd",
                           "qemu-nbd.size=1M")
    assert record["status"] == "ok", record.get("reason")
    assert record["subject"]["name"] == "qemu-nbd" and record["words"]["target"] == target
    serving = faked.folder / target.rpartition("ssh:")[2]
    (copied,) = serving.glob(".cache/uncork/bin/*/subjects-*.json")
    assert sorted(json.loads(copied.read_text())) == sorted(NAMES + LOADS)
