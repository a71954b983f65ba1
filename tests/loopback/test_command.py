# SPDX-License-Identifier: MIT
"""workload=command: a program of others asks the subject. Both are scripts here: the subject
answers a byte with a megabyte, and the load does what its parameter says."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import sys
import time
from pathlib import Path

import pytest

from overridden import EXEC
from programs import WITHIN_S, client_json, client_run, client_start

SENT = 1 << 20
SUBJECT = f"""
import socket
listener = socket.socket(fileno=3)
listener.setblocking(True)
while True:
    peer, _ = listener.accept()
    try:
        peer.recv(1)
        peer.sendall(bytes({SENT}))
    except ConnectionError:
        pass
    peer.close()
"""
LOAD = """
import os, socket, subprocess, sys, time
mode, where, folder = sys.argv[1:]
if mode == "facts":
    print(os.getcwd() == folder, os.environ.get("LD_PRELOAD"), sorted(os.listdir(".")),
          sorted(os.sched_getaffinity(0)), file=open(os.environ["FACTS"], "a"))
if mode == "fails":
    sys.exit("the disk is full")
if mode == "dies":
    os.kill(os.getpid(), 9)
if mode in ("hangs", "waits", "leaves"):
    subprocess.Popen(["sleep", "1000"], start_new_session=mode != "waits")
if mode in ("hangs", "waits"):
    time.sleep(1000)
if where.startswith("/"):
    peer = socket.socket(socket.AF_UNIX)
    peer.connect(where)
else:
    peer = socket.create_connection(where.rsplit(":", 1))
peer.sendall(b"x")
wanted, got = 1000 if mode == "holes" else 1 << 20, 0
while got < wanted and (data := peer.recv(min(65536, wanted - got))):
    got += len(data)
if mode == "late" and os.path.exists("timed"):
    time.sleep(1.1)
"""
WORDS = ("workload=command", "subject=served", "load=asks")
VERSION = "v" * 70

pytestmark = [
    pytest.mark.skipif(shutil.which("hyperfine") is None, reason="hyperfine is missing"),
    pytest.mark.skipif(not EXEC.exists(), reason=f"no {EXEC.name} in this build, nor its library")]


@pytest.fixture
def definitions(tmp_path: Path) -> str:
    """The file of --subjects."""
    common = {"program": sys.executable, "protocols": ["nbd"], "transports": ["tcp", "unix"],
              "version": "--version", "arguments_tls": []}
    asks = common | {
        "arguments": ["-c", LOAD, "{mode}", "{host}:{port}", "{folder}"],
        "moves": "{blocks}*1K", "parameters": {"mode": "all", "blocks": "1K", "override": "off"}}
    file = tmp_path / "programs.json"
    file.write_text(json.dumps({
        "served": common | {"listens": "inherited", "arguments": ["-c", SUBJECT],
                            "parameters": {"size": "64K"}},
        "asks": asks,
        "hasty": asks | {"limit_s": 1},
        "coy": asks | {"version": "-cimport time; time.sleep(1000)"},
        "unix": asks | {"arguments": ["-c", LOAD, "{mode}", "{path}", "{folder}"],
                        "version": f"-cprint('{VERSION}')"},
        "filled": asks | {"needs": ["content"], "arguments": [
            "-c", "import os, sys; sys.exit(os.path.getsize('content') != 65536)"]},
        "absent": asks | {"program": "no-such-program"},
        "static": asks | {"program": str(tmp_path / "static")},
    }))
    return str(file)


def record_of(definitions: str, *words: str) -> dict:
    (record,) = client_json("--subjects", definitions, "--json", *words)
    return record


def refusal_of(definitions: str, *words: str) -> str:
    done = client_run("--subjects", definitions, *words)
    assert done.returncode in (1, 2), done.stdout
    return done.stderr


@pytest.mark.parametrize("words", [(), ("transport=unix", "load=unix"), ("security=gnutls",)],
                         ids=" ".join)
def test_a_load_is_timed_and_its_bytes_are_counted(definitions: str, temporary: Path,
                                                   words: tuple[str, ...]) -> None:
    given = [word for word in WORDS if not any(word[:5] == each[:5] for each in words)]
    record = record_of(definitions, *given, *words)
    load, times = record["load"], record["hyperfine"]
    assert load["moves_bytes"] == SENT < load["moved_bytes"] < SENT + 1000
    assert load["program"] == shutil.which(sys.executable)
    assert load["version"].startswith(VERSION if load["name"] == "unix" else "Python ")
    assert len(load["sha256"]) == 64 and load["arguments"][0] == load["program"]
    assert times["wall_ns"] > 0 and times["user_ns"] + times["system_ns"] > 0
    assert record["subject"]["cpu_ns"] > 0 and "client" not in record and "server" not in record


def test_the_rehearsal_alone_is_watched_and_both_run_in_a_folder_of_their_own(
        definitions: str, temporary: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FACTS", str(tmp_path / "facts"))
    monkeypatch.delenv("LD_PRELOAD", raising=False)
    record_of(definitions, *WORDS, "asks.mode=facts", "place=0/0", "security=gnutls")
    watched, timed = (tmp_path / "facts").read_text().splitlines()
    assert watched.startswith("True /") and "libuncork-override.so" in watched
    assert timed.startswith("True None") and timed.endswith("[0]") and "'keys.psk'" in timed


def test_an_override_changes_the_timed_run(definitions: str, temporary: Path) -> None:
    record = record_of(definitions, *WORDS, "asks.override=rcvbuf:32K")
    (kind,) = record["load"]["override"]["connections"]
    assert kind["connections"] == 2 and kind["changed"] >= 2 and kind["rcvbuf_bytes"] == 65536


def test_a_text_is_a_command_of_the_shell_and_its_values_are_quoted(definitions: str,
                                                                    temporary: Path) -> None:
    record = record_of(definitions, *WORDS[:2], "moves=1M", "protocol=nbd",
                       f"command=true 1, 2; {sys.executable} -c 'import sys' {{uri}}; "
                       "bash -c 'exec 9<>/dev/tcp/$0/$1; echo >&9; cat <&9' {host} {port} | wc -c")
    assert "'nbd://127.0.0.1:" in record["load"]["arguments"][2]
    assert " " not in record["words"]["command"] and "," not in record["words"]["command"]


@pytest.mark.parametrize(("words", "told"), [
    ("asks.mode=holes", "asks moved 1001 of 1048576 bytes by its sockets: holes, a copy within"),
    ("asks.blocks=2K", "asks moved 1048577 of 2097152 bytes"),
    ("asks.mode=fails", "asks ended with status 1; its output ends: the disk is full"),
    ("asks.mode=dies", "asks was ended by signal 9; its output ends: (empty)"),
    ("load=hasty hasty.mode=hangs", "hasty did not end within 1 s and was killed"),
    ("load=hasty hasty.mode=late", "hasty did not end within 1 s and was killed"),  # it ends well
    ("load=coy", "coy did not end within 5 s and was killed"),
    ("load=absent", "workload=command needs the program no-such-program: uncork setup absent"),
    ("load=other", "load=other: this client has no definition of it"),
    ("load=filled", "filled moved 0 of 1048576 bytes"),  # and its content is whole
    ("asks.mode=all asks.size=1", "asks.size: the load asks has no such parameter"),
    ("protocol=resp", "subject=served does not work with protocol=resp"),
    ("asks.blocks=x", "the load asks: moves='{blocks}*1K' is not a size"),
    ("asks.override=mour", "override=mour"),
    ("duration=1s", "'duration' has no effect with these other words"),
    ("command=ls", "workload=command needs either load=NAME"),
    ("subject=own", "workload=command needs subject="),
])
def test_a_load_that_is_no_result_says_why(definitions: str, temporary: Path, words: str,
                                           told: str) -> None:
    given = {word.partition("=")[0]: word for word in (*WORDS, *words.split())}
    assert told in refusal_of(definitions, *given.values())


def test_a_program_that_the_library_cannot_reach_is_unsupported(definitions: str, temporary: Path,
                                                                tmp_path: Path) -> None:
    (tmp_path / "static").write_bytes(
        bytes.fromhex("7f454c46020101") + bytes(9) + bytes.fromhex("02003e0001") + bytes(47))
    (tmp_path / "static").chmod(0o755)
    assert "unsupported: " in refusal_of(definitions, *WORDS[:2], "load=static")


def test_a_command_that_names_no_bytes_is_refused(definitions: str) -> None:
    assert "command= needs moves=" in refusal_of(definitions, *WORDS[:2], "command=ls")


def test_what_a_load_leaves_running_ends_with_it(definitions: str, temporary: Path) -> None:
    assert record_of(definitions, *WORDS, "asks.mode=leaves")["status"] == "ok"


def children(pid: int) -> list[int]:
    with contextlib.suppress(OSError):
        return [*map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split())]
    return []


def supervisor_of(client: int) -> int:
    """The child of the client that is no server; 0: not yet."""
    for pid in children(client):
        with contextlib.suppress(OSError):
            if (Path(f"/proc/{pid}/comm").read_text() == "uncork-client\n"
                    and "uncork-load" in str(Path(f"/proc/{pid}/cwd").readlink())):
                return pid
    return 0


@pytest.mark.parametrize(("victim", "number", "mode"), [
    ("client", signal.SIGTERM, "hangs"), ("client", signal.SIGKILL, "hangs"),
    ("load", signal.SIGTERM, "hangs"), ("load", signal.SIGKILL, "hangs"),
    ("supervisor", signal.SIGKILL, "waits")])  # what has left its session has no other end
def test_a_kill_leaves_no_process_and_no_folder(definitions: str, temporary: Path, victim: str,
                                                number: signal.Signals, mode: str) -> None:
    """The fixture `temporary` looks."""
    client = client_start("--subjects", definitions, *WORDS, f"asks.mode={mode}")
    until = time.monotonic() + WITHIN_S
    while not (load := [pid for pid in children(supervisor_of(client.pid)) if children(pid)]):
        assert time.monotonic() < until and client.poll() is None
        time.sleep(0.01)
    pids = {"client": client.pid, "load": load[0], "supervisor": supervisor_of(client.pid)}
    os.kill(pids[victim], number)
    client.communicate(timeout=WITHIN_S)
    assert client.returncode != 0


@pytest.mark.parametrize(("counts", "told"), [
    ("made ([0-9]+) requests", 17),
    ("did ([0-9]+) requests", "the output of counted has no count of what it did"),
    ("(never)|made", "the output of counted has no count of what it did"),
    ("made [0-9]+",
     "the load counted: counts='made [0-9]+' is not a regular expression with one group"),
    ("made (", "is not a regular expression with one group")])
def test_a_load_may_say_how_many_requests_it_made(definitions: str, temporary: Path, counts: str,
                                                  told: int | str) -> None:
    programs = json.loads(Path(definitions).read_text())
    said = f"{LOAD}\nprint('about 5 requests'); print('it made 17 requests in 1 s')"
    programs["counted"] = programs["asks"] | {
        "counts": counts, "arguments": ["-c", said, "{mode}", "{host}:{port}", "{folder}"]}
    Path(definitions).write_text(json.dumps(programs))
    words = (*WORDS[:2], "load=counted")
    if isinstance(told, int):
        assert record_of(definitions, *words)["load"]["requests"] == told
    else:
        assert told in refusal_of(definitions, *words)
