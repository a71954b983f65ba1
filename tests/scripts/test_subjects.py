# SPDX-License-Identifier: MIT
"""Subjects: their files, their words as axes of a plan, and what a result tells of them."""

from __future__ import annotations

import copy
import json
import os
import random
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from result_make import HOST, Recipe, ends_of, histogram_of, tcp_info_of, thread_of
from sessions_make import sessions_write

import answers
from conftest import ROOT, Uncork
from faked import faked
from suite.base.client import Client
from suite.base.errors import UsageError
from suite.measure.plan import plan_make
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
from test_ssh import client, hosts

__all__ = ["client", "faked", "hosts"]

pytestmark = pytest.mark.usefixtures("elsewhere")

NAMES = sorted(path.stem for path in (ROOT / "scenarios/subjects").glob("*.toml"))
LOADS = sorted(path.stem for path in (ROOT / "scenarios/loads").glob("*.toml"))
RELAYS = ("haproxy",)
READS = ("protocol=nbd", "op=read:4K")
SHORT = ("place=free", "messages=40", "warmup=0s", "rounds=2")
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
