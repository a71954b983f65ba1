# SPDX-License-Identifier: MIT
"""What the other tools are told, and how their answers are read: from answers that they gave."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from itertools import product
from pathlib import Path

import pytest

from bench.contenders import CONTENDERS, floor, libnbd, liburing, nbdkit
from bench.contenders.contender import ADDRESS, Broken, Contender, Job, whole_seconds
from bench.contests import CONTESTS, contests_named
from bench.ours import serving
from suite.base.client import Client

DATA = Path(__file__).parent / "data"
JOB = Job({"workload": "request", "message": "64K", "reply": "14", "connections": "1000"},
          "messages_per_second", 2, 5, 1.0, 0.2, (7001, 7002))
STREAM = Job({"workload": "stream", "message": "64", "chunk": "64K"}, "bandwidth", 0, 1, 0.3, 0.1,
             (7001, 7002))
PROXY = replace(STREAM, words={"workload": "proxy", "read": "uring-bundle", "chunk": "4K",
                               "write": "uring-bundle", "window": "256"})
WITHOUT_NETWORK = ("openssl-speed",)
NBD = replace(JOB, words={"workload": "request", "protocol": "nbd", "op": "read:4K", "depth": "64",
                          "subject": "nbdkit"})
SERVED = replace(JOB, words={"workload": "command", "load": "fio", "fio.rw": "randread",
                             "fio.bs": "4k", "transport": "tcp"})
CIPHER = replace(STREAM, words={"workload": "stream", "message": "64K",
                                "cipher": "chacha20-poly1305"})
FLOOR = '{"messages": 500, "bytes": 32000, "elapsed_ns": 2000000000, "congestion": "cubic"}\n'


def answer(name: str) -> str:
    return next(DATA.glob(f"{name}.*")).read_text()


def rate(name: str, text: str, job: Job = JOB) -> float:
    """What is read out of it."""
    return CONTENDERS[name].rate(text, job)


def value_after(command: list[str], flag: str) -> str:
    """The word that follows a flag."""
    return command[command.index(flag) + 1]


@pytest.mark.parametrize("name, job, figure", [
    ("iperf3", JOB, 228074277.09223044),  # at the receiver, without what was omitted
    ("sockperf", JOB, 8313 / 0.548),  # its valid duration, as round trips
    ("netperf", JOB, 73399.80),
    ("neper", JOB, 64582.53),  # of its own end
    ("openssl-speed", CIPHER, 8 * 3791950769.23),  # records of 16 KiB
    ("libnbd", NBD, 10726 / 0.500103079),
    ("nbdkit", JOB, 62169.435216),
])
def test_the_figure_of_each_tool_is_read_from_its_answer(name, job, figure):
    assert math.isclose(rate(name, answer(name), job), figure)


def test_the_floor_gives_messages_or_bits_as_the_contest_asks():
    assert rate("floor", FLOOR) == 250
    assert rate("floor", FLOOR, STREAM) == 128_000


def test_both_servers_of_a_real_client_have_the_same_size_and_place():
    client = Client(Path("/there"), None)
    for transport, where in (("unix", "/there/socket"), ("tcp", ADDRESS)):
        export = nbdkit.Export(Path(where) if transport == "unix" else None, 7001)
        job = replace(SERVED, words=SERVED.words | {"transport": transport})
        theirs, us = nbdkit.server(job, export), serving(client, job, export)
        assert "256M" in theirs and us[-1] == "256M"
        assert any(where in word for word in theirs) and any(where in word for word in us)
        assert where in export.uri


@pytest.mark.parametrize("name, text", [
    ("iperf3", answer("iperf3").replace('sender_tcp_congestion":	"cubic', 'x":	"bbr')),
    ("iperf3", answer("iperf3").replace('receiver_tcp_congestion":	"cubic',
                                        'receiver_tcp_congestion":	"bbr')),
    ("netperf", answer("netperf").replace("REMOTE_CONG_CONTROL=cubic", "REMOTE_CONG_CONTROL=bbr")),
    ("netperf", answer("netperf").replace("LOCAL_CONG_CONTROL=cubic\n", "")),
    ("floor", FLOOR.replace("cubic", "reno")),
    ("libnbd", answer("libnbd").replace("cubic", "bbr")),
])
def test_a_run_with_another_congestion_control_gives_no_figure(name, text):
    assert text not in (answer(name) if name != "floor" else FLOOR)
    with pytest.raises(Broken):
        rate(name, text)


@pytest.mark.parametrize("name, text", [
    *product(["iperf3", "sockperf", "netperf", "neper", "nbdkit", *WITHOUT_NETWORK],
             ["", "{}", "nonsense\n", '{"error": "unable to connect"}']),
    ("netperf", answer("netperf").replace("Trans/s", "10^6bits/s")),
    ("nbdkit", answer("nbdkit").replace('total_ios": ', 'total_ios": 0, "x": ')),
])
def test_an_answer_without_a_figure_is_a_failed_run_and_not_a_zero(name, text):
    with pytest.raises(Broken):
        rate(name, text, CIPHER if name in WITHOUT_NETWORK else JOB)


@pytest.mark.parametrize("contender", CONTENDERS.values(), ids=lambda contender: contender.name)
def test_every_contender_stays_on_loopback(contender: Contender):
    usual = CIPHER if contender.name in WITHOUT_NETWORK else JOB
    job = {"liburing": PROXY, "libnbd": NBD, "nbdkit": SERVED}.get(contender.name, usual)
    commands = [contender.client(job)] + ([contender.server(job)] if contender.server else [])
    # it has its address built in
    if contender is not floor.CONTENDER and contender.name not in WITHOUT_NETWORK:
        assert ADDRESS in commands[0] or f"--uri=nbd://{ADDRESS}:7001" in commands[0]
    assert all(isinstance(word, str) for command in commands for word in command)
    assert all(str(port) in commands[0] for port in JOB.ports[:1] if contender.server)


def test_every_contender_gets_the_sizes_of_the_contest():
    assert value_after(CONTENDERS["netperf"].client(JOB), "-r") == "65536,14"
    assert value_after(CONTENDERS["sockperf"].client(JOB), "-m") == "65536"
    assert value_after(CONTENDERS["neper"].client(JOB), "-F") == "1000"
    assert value_after(CONTENDERS["iperf3"].client(STREAM), "--length") == "64"
    assert CONTENDERS["libnbd"].client(NBD)[1:] == [ADDRESS, "7001", "64", "4096", "200", "1000"]
    assert CONTENDERS["floor"].client(STREAM)[1:] == [
        "stream", "64", "1", "65536", "0", "0", "1", "cubic", "100", "300", "nodelay", "0"]
    two = replace(JOB, words=JOB.words | {"message": "16+4K", "write": "more"})
    assert CONTENDERS["floor"].client(two)[2] == "4112"
    assert CONTENDERS["floor"].client(two)[-2:] == ["more", "16"]


def test_the_floor_waits_as_uncork_does_and_no_warm_up_is_none():
    polls = replace(STREAM, words=STREAM.words | {"server.engine": "poll"}, warmup=0.0)
    assert CONTENDERS["floor"].client(polls)[1] == "stream-poll"
    assert value_after(CONTENDERS["iperf3"].client(polls), "--omit") == "0"
    assert value_after(CONTENDERS["iperf3"].client(STREAM), "--omit") == "1"


def test_a_contender_is_named_with_its_version(monkeypatch, tmp_path):
    (tmp_path / "netperf").write_text("#!/bin/sh\necho Netperf version 2.7.1 >&2\n")
    (tmp_path / "netperf").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    assert CONTENDERS["netperf"].named() == "netperf 2.7.1"
    assert CONTENDERS["liburing"].named() == "liburing"


def test_the_proxy_of_liburing_does_what_the_contest_says_of_ours(monkeypatch):
    monkeypatch.setenv(liburing.NAMED_BY, "/somewhere/proxy")
    program, *words = liburing.command(PROXY)
    assert program == "/somewhere/proxy"
    assert {"-m1", "-c1", "-u1", "-C1", "-M0", "-d1", "-f1"} <= set(words)
    assert value_after(words, "-b") == "4096"
    assert value_after(words, "-n") == "256"
    assert [value_after(words, flag) for flag in ("-r", "-p")] == ["7001", "7002"]


@pytest.mark.parametrize("contest", contests_named("proxy"))
def test_every_contest_of_proxies_can_be_put_to_liburings(contest):
    job = replace(PROXY, words=CONTESTS[contest].load)
    flags = liburing.command(job)
    assert ("-c1" in flags) == (job.words["read"] == "uring-bundle")
    assert ("-C1" in flags) == (job.words["write"] == "uring-bundle")
    assert ("-u1" in flags) == (job.words["write"] in ("uring-ring", "uring-bundle"))
    assert ("-M1" in flags) == (job.words["write"] == "uring-sendmsg")


def test_the_proxy_of_liburing_is_there_where_its_path_is_given(monkeypatch, tmp_path):
    monkeypatch.delenv(liburing.NAMED_BY, raising=False)
    assert liburing.CONTENDER.missing() == (
        f"{liburing.NAMED_BY} names no program: {liburing.BUILD_HINT}")
    monkeypatch.setenv(liburing.NAMED_BY, str(tmp_path / "proxy"))
    assert "is no program: unpack the source of liburing" in str(liburing.CONTENDER.missing())
    (tmp_path / "proxy").touch(mode=0o755)
    assert liburing.CONTENDER.missing() is None


def test_tools_that_count_whole_seconds_measure_no_less_than_was_asked():
    assert [whole_seconds(s) for s in (0.01, 1.0, 1.2, 2.0)] == [1, 1, 2, 2]
    assert value_after(CONTENDERS["sockperf"].client(JOB), "-t") == "2"  # it leaves out 0.45 s
    asked = replace(JOB, seconds=CONTENDERS["sockperf"].measures(0.4))
    assert value_after(CONTENDERS["sockperf"].client(asked), "-t") == "1"


def test_every_contender_of_a_contest_is_in_the_list():
    named = {against.contender for contest in CONTESTS.values() for against in contest.against
             if not against.words}
    assert named == set(CONTENDERS)
    for contest in CONTESTS.values():
        assert {one for pair in contest.pairs for one in pair} <= {
            against.contender for against in contest.against}


@pytest.mark.parametrize("name", contests_named("nbd/raw"))
def test_raw_moves_the_bytes_of_its_protocol(name):
    contest = CONTESTS[name]
    raw = contest.loads["uncork, raw"]
    assert contest.load.items() - raw.items() == {
        ("protocol", "nbd"), ("op", "read:4K")}
    assert raw.items() - contest.load.items() == {
        ("message", "28"), ("reply", "16+4K")}


@pytest.mark.parametrize("server, header, why", [
    (None, True, "nbdkit is not installed: scripts/uncork setup nbdkit"),
    ("/usr/sbin/nbdkit", False, "libnbd is not installed: apt-get install libnbd-dev, "
                                "dnf install libnbd-devel"),
    ("/usr/sbin/nbdkit", True, None),
])
def test_libnbd_is_there_with_its_header_and_a_server(server, header, why, monkeypatch, tmp_path):
    compiler = tmp_path / "cc"
    compiler.write_text(f"#!/bin/sh\nexit {0 if header else 1}\n")
    compiler.chmod(0o755)
    monkeypatch.setenv("CC", str(compiler))
    monkeypatch.setattr(libnbd.shutil, "which", lambda name: server)
    libnbd.absent.cache_clear()
    assert libnbd.CONTENDER.missing() == why
    libnbd.absent.cache_clear()


def test_a_contender_is_there_only_with_all_of_its_programs(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert CONTENDERS["netperf"].missing() == "netperf is not installed"
    (tmp_path / "netperf").touch(mode=0o755)
    assert CONTENDERS["netperf"].missing() == "netserver is not installed"
    (tmp_path / "netserver").touch(mode=0o755)
    assert CONTENDERS["netperf"].missing() is None


def test_the_data_are_answers_to_what_is_asked_now():
    assert json.loads(answer("iperf3"))["start"]["test_start"]["blksize"] == 64
    assert set(CONTENDERS) - {"floor", "liburing"} == {path.stem for path in DATA.iterdir()}
