# SPDX-License-Identifier: MIT
"""`bench/run` as a whole, and the loops that it compiles. No figure is judged."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys

import pytest

from bench.__main__ import main
from bench.contenders import CONTENDERS, libnbd, liburing, nbdkit
from bench.contenders.compiled import FOLDER, OPTIONS, compiled
from bench.contenders.contender import ADDRESS, Broken, Job, ports_free
from bench.contests import CONTESTS
from bench.stored import SCHEMA
from suite.base.client import ROOT

RUN = ROOT / "bench" / "run"
CPU = str(min(os.sched_getaffinity(0)))
SHORT = ("rounds=1", "duration=20ms", "warmup=10ms")


def bench(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """The launcher, from its beginning to its end."""
    return subprocess.run([str(RUN), *arguments], capture_output=True, text=True, timeout=200,
                          env=os.environ | environment)


def table_of(output: str) -> list[list[str]]:
    """The lines of the table, in words."""
    lines = output.splitlines()
    begins = next(n for n, line in enumerate(lines) if line.startswith("---")) + 1
    return [line.split() for line in lines[begins:] if line and line.split()[0] in CONTESTS]


def loop_run(name: str, *words: str, descriptors: tuple[int, ...] = (),
             ) -> subprocess.CompletedProcess[str]:
    """A bare loop with these words, compiled if it is not."""
    if name == "libnbd" and (why := libnbd.absent()):
        pytest.skip(why)
    CONTENDERS[name].prepare()
    return subprocess.run([str(compiled(name)), *words, *map(str, descriptors)],
                          capture_output=True, text=True, timeout=60, pass_fds=descriptors)


def test_a_run_of_all_contests_prints_each_of_them_in_each_place(tmp_path):
    keep = tmp_path / "figures.jsonl"
    done = bench(*SHORT, "--json", str(keep))
    assert done.returncode == 0, done.stderr
    rows = {(row[0], row[1]) for row in table_of(done.stdout)}
    assert rows == {(c.name, place) for c in CONTESTS.values() for place in c.places}
    head, *samples, foot = [json.loads(line) for line in keep.read_text().splitlines()]
    assert head["bench"] == SCHEMA and "; TCP connects with " in head["head"]["network"]
    again = bench("--read", str(keep))
    assert again.stdout.partition("\ncontest ")[2] == done.stdout.partition("\ncontest ")[2]
    assert " after, " in foot["load"] and foot["load"] in " ".join(again.stdout.split())
    ran = {(sample["contest"], sample["who"]) for sample in samples if "figures" in sample}
    assert {("request", "uncork"), ("request", "floor"), ("request", "floor again"),
            ("stream-64K", "floor"), ("null-stream", "uncork")} <= ran
    rings = {"proxy/bundle-bundle/32", "proxy/ring/4K"}
    broken = {sample["contest"]: sample["failed"] for sample in samples if "failed" in sample}
    assert all((name, "uncork") in ran or "io_uring" in broken[name] for name in rings), broken
    installed = {c.name for c in CONTENDERS.values() if c.missing() is None}
    assert {sample["who"] for sample in samples} == installed | {
        "uncork", "floor again", "uncork, block", "uncork, raw"}


def test_of_a_run_that_was_ended_early_all_that_is_whole_is_printed(tmp_path):
    keep = tmp_path / "figures.jsonl"
    assert bench(*SHORT, "null-request", "--json", str(keep)).returncode == 0
    whole = keep.read_text()
    keep.write_text(whole[:whole.rindex('{"load"') + 5])
    again = bench("--read", str(keep))
    assert again.returncode == 0 and "null-request" in again.stdout
    done = bench("--read", str(keep), "request")
    assert done.returncode == 2 and "it has no contest request" in done.stderr


def test_a_contender_that_breaks_is_shown_with_its_reason(tmp_path):
    fake = tmp_path / "iperf3"
    fake.write_text('#!/bin/sh\ncase "$1" in --server) exit 3 ;; esac\n')
    fake.chmod(0o755)
    done = bench(*SHORT, "stream-64K-poll", PATH=f"{tmp_path}:{os.environ['PATH']}")
    assert done.returncode == 0, done.stderr
    assert ["stream-64K-poll", "together", "iperf3", "failed", "[1]"] in table_of(done.stdout)
    assert "iperf3: 1 of 1 runs failed: the server iperf3 ended with status 3" in done.stdout


FAKE_PROXY = """#!{python}
import socket, sys

told = dict(zip(sys.argv[-4::2], sys.argv[-3::2]))  # -r PORT -p PORT
listener = socket.create_server(("127.0.0.1", int(told["-r"])))
source, _ = listener.accept()
sink = socket.create_connection(("127.0.0.1", int(told["-p"])))
{then}
while data := source.recv(65536):
    sink.sendall(data)
"""


@pytest.mark.parametrize("then, row, told", [
    ("", "undecided:", ""),
    ("sys.exit()", "failed", "[1] liburing: 1 of 1 runs failed: floor ended with status 1: "),
])
def test_another_proxy_is_run_between_the_same_source_and_sink(then, row, told, tmp_path):
    fake = tmp_path / "proxy"
    fake.write_text(FAKE_PROXY.format(python=sys.executable, then=then))
    fake.chmod(0o755)
    keep = tmp_path / "figures.jsonl"
    done = bench(*SHORT, "proxy/bundle/4K", "--json", str(keep), **{liburing.NAMED_BY: str(fake)})
    assert done.returncode == 0, done.stderr
    (found,) = table_of(done.stdout)
    assert found[:3] == ["proxy/bundle/4K", "apart", "liburing"]
    assert row in found and told in done.stdout
    samples = [json.loads(line) for line in keep.read_text().splitlines()[1:-1]]
    theirs = [sample.get("figures", {}) for sample in samples if sample["who"] == "liburing"]
    assert [figures.get("bandwidth", 0) > 0 for figures in theirs] == [not told]


def test_a_proxy_that_nobody_named_is_skipped_with_the_way_to_have_it(monkeypatch):
    monkeypatch.delenv(liburing.NAMED_BY, raising=False)
    done = bench(*SHORT, "proxy/ring/4K")
    assert "not installed [1]" in done.stdout
    assert f"[1] {liburing.NAMED_BY} names no program: {liburing.BUILD_HINT}" in done.stdout


def test_an_uncork_that_breaks_is_shown_with_its_reason(tmp_path):
    for name in ("uncork-client", "uncork-server"):
        (tmp_path / name).write_text("#!/bin/sh\necho uncork: it is full >&2; exit 1\n")
        (tmp_path / name).chmod(0o755)
    done = bench(*SHORT, "request", UNCORK_BIN=str(tmp_path))
    assert done.returncode == 1
    assert done.stderr.strip().endswith("uncork: it is full")


@pytest.mark.parametrize("words, complaint", [
    (("requst",), 'no contest "requst": did you mean request?'),
    (("round=3",), 'no word "round": did you mean rounds?'),
    (("rounds=0",), "rounds=0: write a whole number from 1"),
    (("rounds=x",), "rounds=x: write a whole number from 1"),
    (("duration=1",), "duration=1: write a time like 1s or 200ms, at least 10ms"),
    (("duration=1.2.3s",), "duration=1.2.3s: write a time like 1s or 200ms, at least 10ms"),
    (("duration=nans",), "duration=nans: write a time like 1s or 200ms, at least 10ms"),
    (("rounds=1", "rounds=2"), "rounds is given twice"),
    (("--read", "/nowhere"), "/nowhere: cannot be read: No such file or directory"),
    (("--read", "/dev/null"), "/dev/null: bench/run --json wrote no such file"),
    (("--read", "/dev/null", "--json", "x"), "--json keeps what runs, and with --read "
                                                 "nothing runs: leave one out"),
    (("--lits",), "unrecognized arguments: --lits: did you mean --list? "
                  "(see bench/run --help)"),
])
def test_what_was_typed_wrong_is_one_line_and_exit_2(words, complaint, capsys):
    assert (main(words), *capsys.readouterr()) == (2, "", f"uncork: {complaint}\n")


def test_the_list_names_every_contest_and_every_contender():
    listed = bench("--list").stdout.splitlines()
    for name in (*CONTESTS, *CONTENDERS):
        assert any(line.startswith(f"  {name} ") for line in listed)


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
@pytest.mark.parametrize("name, libraries", [("floor", ()), ("libnbd", ("-lnbd",))])
def test_what_is_compiled_has_no_warning(name, libraries, compiler, tmp_path):
    if shutil.which(compiler) is None:
        pytest.skip(f"{compiler} is not installed")
    if libraries and (why := libnbd.absent()):
        pytest.skip(why)
    done = subprocess.run([compiler, *OPTIONS, "-Werror", "-o", tmp_path / name,
                           FOLDER / f"{name}.c", *libraries], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("depth", ["1", "7", "64"])
def test_the_loop_over_libnbd_reads_what_it_counts(depth):
    if why := libnbd.absent():
        pytest.skip(why)
    job = Job({}, "", int(CPU), int(CPU), 0, 0, ports_free())
    with nbdkit.served(job, nbdkit.server):
        done = loop_run("libnbd", ADDRESS, str(job.ports[0]), depth, "4096", "5", "20")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["bytes"] == 4096 * told["messages"] > 0 and told["elapsed_ns"] >= 20_000_000


def test_a_server_whose_bytes_are_others_at_the_end_gives_no_figure():
    if why := nbdkit.CONTENDER.missing():
        pytest.skip(why)
    job = Job({}, "", int(CPU), int(CPU), 0, 0, ports_free())
    with pytest.raises(Broken, match="differ: byte 1,"), nbdkit.served(
            job, nbdkit.server) as export:
        subprocess.run(["nbdcopy", "/dev/stdin", export.uri], input=bytes(1 << 20), check=True)


def test_a_server_of_both_clients_that_is_missing_is_named_with_the_way_to_have_it(tmp_path):
    tools = ("bash", "dirname", "readlink", "env", "uname", "sh", "ip", "unshare", "taskset")
    for name in tools:
        if found := shutil.which(name):
            (tmp_path / name).symlink_to(found)
    (tmp_path / "python3").symlink_to(sys.executable)
    # compiles it
    loop_run("floor", *f"request 1 1 64 0 {CPU} {CPU} reno 5 20 nodelay 0".split())
    done = bench(*SHORT, "nbd/libnbd/1", PATH=str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert "not installed [1]" in done.stdout
    assert "[1] nbdkit is not installed: scripts/uncork setup nbdkit" in done.stdout


@pytest.mark.parametrize("message, reply, chunk", [(1, 1, 65536), (3, 70000, 64), (200000, 5, 100)])
def test_the_floor_moves_whole_messages(message, reply, chunk):
    sizes = [str(size) for size in (message, reply, chunk)]
    for workload in ("request", "stream", "request-poll", "stream-poll"):
        done = loop_run("floor", workload, *sizes, "0", CPU, CPU, "reno", "5", "20", "nodelay", "0")
        assert done.returncode == 0, done.stderr
        told = json.loads(done.stdout)
        assert told["messages"] == told["bytes"] // message > 0
        assert told["elapsed_ns"] > 0 and told["congestion"] == "reno"


@pytest.mark.parametrize("write", ["nodelay", "more", "cork", "writev", "coalesce"])
@pytest.mark.parametrize("first", ["0", "16"])
def test_the_floor_sends_two_fragments_by_the_calls_of_a_strategy(write, first):
    done = loop_run("floor", *f"request 80 1 64 0 {CPU} {CPU} reno 5 20".split(), write, first)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["messages"] == told["bytes"] // 80 > 0


def test_the_floor_takes_at_the_sink_what_its_source_sent():
    """Through a proxy that cannot be simpler: the source's connection is the sink's."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        source = socket.create_connection(listener.getsockname())
        sink, _ = listener.accept()
    with source, sink:
        done = loop_run("floor", *f"stream 1000 1 300 0 {CPU} {CPU} reno 5 20 nodelay 0".split(),
                        descriptors=(source.fileno(), sink.fileno()))
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["messages"] == told["bytes"] // 1000 > 0
    assert told["elapsed_ns"] >= 20_000_000 and told["congestion"] == "reno"


@pytest.mark.parametrize("name, words", [
    ("floor", ""), ("floor", "other 1 1 1 0 0 0 reno 5 20 nodelay 0"),
    ("floor", "request 0 1 1 0 0 0 reno 5 20 nodelay 0"),
    ("floor", "request 1 1 -1 0 0 0 reno 5 20 nodelay 0"),
    ("floor", "stream 1 1 1 0 0 x reno 5 20 nodelay 0"),
    ("floor", "stream 1 1 1 0 0 0 reno 5 20 nodelay 0 3"),
    ("floor", "request 1 1 1 0 0 0 reno 5 20 nodelay 0 3 4"),
    ("floor", "request- 1 1 1 0 0 0 reno 5 20 nodelay 0"),
    ("floor", "request 8 1 1 0 0 0 reno 5 20 corc 0"),
    ("floor", "request 8 1 1 0 0 0 reno 5 20 cork 8"),
    ("libnbd", ""), ("libnbd", f"{ADDRESS} 1 0 4096 5 20"), ("libnbd", f"{ADDRESS} 1 1 4K 5 20"),
    ("libnbd", f"{ADDRESS} 1 1 4096 5"),
])
def test_a_loop_refuses_words_that_make_no_sense(name, words):
    done = loop_run(name, *words.split())
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"usage: {name} ")


@pytest.mark.parametrize("name, words, why", [
    ("floor", f"request 1 1 1 0 {CPU} {CPU} nonsense 5 20 nodelay 0", "floor: TCP_CONGESTION: "),
    ("libnbd", f"{ADDRESS} 1 1 4096 5 20", "libnbd: nbd_connect_tcp: "),
])
def test_a_loop_that_cannot_run_says_why(name, words, why):
    done = loop_run(name, *words.split())
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(why)


@pytest.mark.long
def test_the_bench_of_tables_invents_a_result_and_says_what_its_tables_cost(tmp_path):
    done = subprocess.run([str(RUN.with_name("table")), "records=980", f"folder={tmp_path}"],
                          capture_output=True,
                          text=True, timeout=200)
    assert done.returncode == 0, done.stderr
    lines = [line.split() for line in done.stdout.splitlines()]
    assert lines[0][:2] == ["records", "980,"]
    assert [line[:2] for line in lines if line[0] == "columns"] == [
        ["columns", "made"], *[["columns", "kept"]] * 3]


@pytest.mark.parametrize("program, word", [
    ("table", "records=0"), ("table", "records"), ("start", "fast")])
def test_a_wrong_word_is_named_in_one_line(program, word):
    done = subprocess.run([str(RUN.with_name(program)), word], capture_output=True, text=True,
                          timeout=60)
    assert done.returncode == 2 and done.stderr.count("\n") == 1
    assert word.split("=")[0] in done.stderr


@pytest.mark.long
def test_start_prints_a_ratio_of_every_start():
    done = subprocess.run([str(RUN.parent / "start"), "rounds=1"], capture_output=True, text=True,
                          timeout=200)
    assert done.returncode == 0, done.stderr
    for name in ("--help", "tabel", "list", "table none", "table quick"):
        assert f"uncork {name} " in done.stdout
    assert done.stdout.count("at most ") == 2
