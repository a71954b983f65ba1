# SPDX-License-Identifier: MIT
"""The client as a user meets it: answers, files, and one clear line for what is wrong."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from programs import CLIENT, batch_run, client_json, client_run, record_ok, record_sum, records_ok

QUICK = ["messages=200", "warmup=0s", "place=free"]


def test_a_bad_line_of_a_batch_is_named_before_anything_runs(tmp_path: Path) -> None:
    path = tmp_path / "cells"
    path.write_text("message=64 messages=5\n\n# a comment\nmessage=15x\n")
    done = client_run("--batch", str(path))
    assert (done.returncode, done.stdout) == (2, "")
    assert f"{path}:4: " in done.stderr


def test_a_namespace_that_does_not_exist_is_a_failed_run() -> None:
    done = client_run("--server-in", "127.0.0.1@/nonexistent", "lab=on", "duration=10ms")
    assert done.returncode == 1
    assert done.stderr == ("uncork-client: failed: cannot enter the network namespace "
                           "/nonexistent: No such file or directory\n")


def test_one_run_answers_in_a_few_readable_lines() -> None:
    done = client_run("message=15x2", "reply=2", "write=cork", *QUICK)
    assert done.returncode == 0
    lines = done.stdout.splitlines()
    assert 5 <= len(lines) <= 8 and max(map(len, lines)) <= 100
    assert "17.00 write calls" in done.stdout


@pytest.mark.parametrize(
    "words, said",
    [
        ("connections=8 depth=4 window=2 messages=2000 verify=on",
         ["8 connections, depth 4, window 2, verified", "engine poll"]),
        ("rate=1000 messages=20",
         ["1000 requests/s are due, arrival=even pace=sleep",
          "20 requests were due, all of them were sent", "from the intended start"]),
        ("rate=10 messages=1", ["1 request was due, and was sent", "late start max "]),
        ("rate=1000000 duration=50ms", [" of them never sent; ", "messages/s"]),
        ("workload=connect messages=20 connections=2",
         ["2 connections at a time", "20 connections\n", " to connect and close"]),
        ("workload=stream direction=both message=64K messages=200",
         [" to the server, ", " to the client\n", "(the client)", "(the server)"]),
        ("workload=stream message=64K messages=200", ["read calls (the server)"]),
    ],
)
def test_a_readable_answer_says_what_was_asked_and_what_came_of_it(
    words: str, said: list[str]
) -> None:
    done = client_run("place=free", "warmup=0s", *words.split())
    assert (done.returncode, done.stderr) == (0, "")
    for part in said:
        assert part in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 110


def test_a_readable_answer_names_a_quantile_only_where_the_tail_behind_it_was_seen() -> None:
    done = client_run("messages=50", "warmup=0s", "place=free")
    assert "p90" in done.stdout and "p99" not in done.stdout


def test_work_that_leaves_threads_idle_is_timed_by_the_others() -> None:
    done = client_run("messages=2", "connections=8", "threads=4", "engine=poll", "warmup=0s",
                      "place=free")
    assert " messages/s, 2 messages\n" in done.stdout and "on its connection" not in done.stdout


def test_what_is_not_supported_is_said_and_recorded() -> None:
    done = client_run("--json", "transport=unix", "write=cork", *QUICK)
    assert done.returncode == 1
    record = json.loads(done.stdout)
    assert record["status"] == "unsupported"
    assert record["reason"] in done.stderr


def test_a_record_written_to_a_file_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "record.json"
    assert client_run("--json", str(path), *QUICK).returncode == 0
    assert json.loads(path.read_text())["status"] == "ok"
    assert [entry.name for entry in tmp_path.iterdir()] == ["record.json"]


@pytest.mark.parametrize("make, why", [
    (os.mkdir, "a directory"), (os.mkfifo, "a special file"),
    (lambda path: os.symlink("/dev/null", path), "a symbolic link"),
])
def test_what_is_no_file_is_not_replaced_by_one(tmp_path: Path, make: Callable[[Path], None],
                                                why: str) -> None:
    """For root a record would otherwise stand in the place of /dev/stdout or /dev/null ever
    after."""
    path = tmp_path / "there"
    make(path)
    before = path.lstat()
    done = client_run("--json", str(path), "duration=60s")  # and it is said before the run
    assert (done.returncode,
            done.stderr.count("\n")) == (1,
                                         1) and f"cannot write {path}: it is {why}" in done.stderr
    after = path.lstat()
    assert (after.st_ino, after.st_mode) == (before.st_ino,
                                             before.st_mode) and [*tmp_path.iterdir()] == [path]


def test_each_end_tells_the_cpu_of_its_whole_process() -> None:
    record = batch_run(["workload=stream message=64K bytes=64M warmup=0s place=free"])[0]
    for end in ("client", "server"):
        process, threads = record[end]["process"], record[end]["threads"]
        of_threads = sum(thread["cpu"][key] for thread in threads
                         for key in ("user_ns", "system_ns"))
        assert process["user_ns"] + process["system_ns"] >= of_threads > 0


def test_who_asked_for_a_record_and_has_gone_waits_for_nothing(tmp_path: Path) -> None:
    path = tmp_path / "record.json"
    command = [CLIENT, "--json", str(path), "--with-parent", "duration=60s", "place=free"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True) as child:
        _, said = child.communicate(timeout=30)
    assert child.returncode == 1 and "has ended" in said
    assert json.loads(path.read_text())["status"] == "failed"


def test_words_of_a_record_run_again_are_the_same_words() -> None:
    first = record_ok(
        "client.chunk=4K chunk=8K message=2+2+2 write=cork:64K warmup=0s messages=10 place=free")
    again = record_ok(" ".join(f"{key}={value}" for key, value in first["words"].items()))
    assert again["words"] == first["words"]
    assert first["words"]["client.chunk"] == "4K" and first["words"]["server.chunk"] == "8K"
    assert first["words"]["message"] == "3x2"


def test_ranges_and_lists_are_written_out() -> None:
    (expanded,) = client_json("--expand", "message=64..1M:4,15x2", "write=cork:64K,more",
                              "connections=1..4:+1", "rounds=5")
    assert expanded == {
        "words": [
            {"key": "message", "values": ["64", "256", "1K", "4K", "16K", "64K", "256K", "1M",
                                          "15x2"]},
            {"key": "write", "values": ["cork:64K", "more"]},
            {"key": "connections", "values": ["1", "2", "3", "4"]},
            {"key": "rounds", "values": ["5"]},
        ]
    }


def test_fixed_work_is_divided_among_connections() -> None:
    record = record_ok("messages=10 connections=3 engine=block warmup=0s place=free")
    assert [thread["messages_sent"] for thread in record["client"]["threads"]] == [4, 3, 3]


def test_connections_are_divided_among_threads() -> None:
    record = record_ok("messages=100 connections=10 client.threads=4 warmup=0s place=free")
    assert [thread["connections"] for thread in record["client"]["threads"]] == [2, 3, 2, 3]
    assert [thread["messages_sent"] for thread in record["client"]["threads"]] == [20, 30, 20, 30]
    assert [thread["connections"] for thread in record["server"]["threads"]] == [10]


@pytest.mark.parametrize(
    ("words", "client", "server"),
    [
        ("messages=5", "block", "block"),
        ("messages=5 connections=3", "poll", "poll"),
        ("messages=5 connections=3 threads=3", "block", "block"),
        ("messages=5 depth=4", "poll", "block"),
        ("workload=stream direction=both messages=5", "poll", "poll"),
        ("messages=5 server.engine=poll", "block", "poll"),
        ("messages=5 write=uv", "poll", "block"),
        ("messages=5 reply_write=uv", "block", "poll"),
        ("transport=null messages=5 connections=3", "block", None),
    ],
)
def test_the_record_says_which_engine_was_chosen(words: str, client: str,
                                                 server: str | None) -> None:
    record = record_ok(f"{words} warmup=0s place=free")
    assert record["client"]["engine"] == client
    assert record.get("server", {}).get("engine") == server


def test_a_window_joins_what_is_due_into_fewer_segments() -> None:
    shape = "message=2x10 depth=12 messages=1200 write=writev warmup=0s place=free"
    for words, calls in ((f"{shape}", 1200), (f"{shape} window=4", 300)):
        record = record_ok(words)
        (thread,) = record["client"]["threads"]
        assert thread["messages_sent"] == 1200
        assert calls <= thread["write_calls"] <= 1200
    assert thread["write_calls"] < 1200


def test_a_window_never_joins_across_the_end_of_a_group() -> None:
    record = record_ok(
        "workload=stream message=8/2x16 window=4 messages=40 write=writev warmup=0s place=free")
    # of four messages: 8 | 2x16 8 | 2x16 8 | 2x16 8 | 2x16
    assert record["client"]["threads"][0]["calls"] == {"sendmsg": 50}


@pytest.mark.parametrize("transport", ["tcp", "unix"])
def test_calls_that_libuv_makes_are_absent_and_never_0(transport: str) -> None:
    record = record_ok(f"transport={transport} write=uv messages=100 warmup=0s place=free")
    (client,), (server,) = record["client"]["threads"], record["server"]["threads"]
    assert not {"write_calls", "read_calls", "would_block"} & client.keys()
    assert client["calls"] == {"epoll_wait": client["wait_calls"]} and client["wait_calls"] >= 100
    assert server["calls"] == {"sendto": 100, "recvfrom": 100}


def test_an_end_that_only_receives_counts_its_calls_whoever_writes_by_uv() -> None:
    record = record_ok("workload=stream write=uv messages=100 warmup=0s place=free")
    assert "write_calls" not in record["client"]["threads"][0]
    assert record["server"]["threads"][0]["read_calls"] > 0


def test_waits_are_absent_where_libuv_may_wait_again_by_itself() -> None:
    shape = "write=uv messages=1100 warmup=0s place=free transport=unix"
    few, many = records_ok([f"{shape} connections={connections}" for connections in (1000, 1100)])
    assert few["client"]["threads"][0]["wait_calls"] > 0
    assert "wait_calls" not in many["client"]["threads"][0] and many["client"]["threads"][0][
        "calls"] == {}


def test_a_readable_answer_says_that_calls_of_libuv_are_not_counted() -> None:
    done = client_run("write=uv", *QUICK)
    assert done.returncode == 0
    assert ("per message: 1.00 segments, 1.00 waits, uncounted calls of libuv (the client)"
            in done.stdout)
    assert "per reply: 1.00 segments, 1.00 write calls, 1.00 read calls (the server)" in done.stdout


def test_fixed_bytes_are_rounded_up_to_whole_messages() -> None:
    record = record_ok("workload=stream message=1000 bytes=2500 warmup=0s place=free")
    assert record_sum(record["server"], "bytes_received") == 3000


@pytest.mark.parametrize("warmup", ["0s", "50ms"])
def test_the_warm_up_and_the_end_of_a_stream_are_outside_every_figure(warmup: str) -> None:
    record = record_ok(f"messages=100 warmup={warmup} place=free")
    assert record_sum(record["client"], "messages_sent") == 100
    assert record_sum(record["server"], "messages_received") == 100
    assert record["client"]["threads"][0]["latency"]["count"] == 100
    for end in ("client", "server"):
        assert record[end]["threads"][0]["calls"] == {"sendto": 100, "recvfrom": 100}


def test_what_came_before_the_receivers_clock_is_told() -> None:
    one, two = records_ok(
        [f"workload=stream message=64K messages={n} warmup=0s chunk=64K place=free"
         for n in (1, 200)])
    assert "first_bytes" not in one["server"]["threads"][0] or one["server"]["threads"][0][
        "first_bytes"] < 65536
    assert 0 < two["server"]["threads"][0]["first_bytes"] <= 65536


def test_a_receiving_client_measures_by_its_own_clock() -> None:
    record = record_ok("workload=stream direction=receive message=64K messages=500 place=free")
    assert record["server"]["drives"] and not record["client"]["drives"]
    assert record["client"]["threads"][0]["elapsed_ns"] > 0


def test_without_another_end_the_harness_is_measured() -> None:
    record = record_ok("transport=null messages=1000 place=free")
    assert "server" not in record and "peer" not in record
    assert record["client"]["threads"][0]["calls"] == {"sendto": 1000, "recvfrom": 1000}
    assert "tcp_info" not in record["client"]["threads"][0]


def test_unix_sockets_have_no_tcp_figures() -> None:
    record = record_ok("transport=unix messages=10 place=free")
    assert "tcp_info" not in record["client"]["threads"][0]
    assert "congestion" not in record["words"]


def test_asked_buffers_and_congestion_control_are_read_back() -> None:
    record = record_ok("sndbuf=64K server.rcvbuf=128K congestion=reno messages=10 place=free")
    client = record["client"]["threads"][0]["options"]
    server = record["server"]["threads"][0]["options"]
    assert client["sndbuf_bytes"] >= 65536 and server["rcvbuf_bytes"] >= 131072
    assert client["congestion"] == server["congestion"] == "reno"


def test_every_thread_is_pinned_where_it_was_asked_to_run() -> None:
    record = record_ok("place=together connections=2 messages=10")
    for end in (record["client"], record["server"]):
        for thread in end["threads"]:
            (asked,) = thread["cpus"]["asked"]
            assert thread["cpus"]["start"] == thread["cpus"]["end"] == asked


def test_the_output_of_a_full_disk_is_an_error() -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run([str(CLIENT), "--batch", "-"], input="messages=5 place=free\n",
                              stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 1 and "standard output" in done.stderr
