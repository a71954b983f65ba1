# SPDX-License-Identifier: MIT
"""`uncork run` with servers that are there already: a key, and where it must not be found."""

from __future__ import annotations

import contextlib
import json
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from conftest import Uncork, records_of

KEY = bytes(range(32)).hex()
SHORT = ("rounds=1", "messages=5", "warmup=0s", "place=free")


@pytest.fixture
def keys(tmp_path: Path) -> Path:
    path = tmp_path / "keys"
    path.touch(0o600)
    path.write_text(f"alice:{KEY}\n")
    return path


@contextlib.contextmanager
def server_started(uncork: Uncork, *options: str) -> Iterator[str]:
    """A server on loopback; gives the word that names it."""
    with subprocess.Popen([uncork.bin / "uncork-server", "--listen", "127.0.0.1:0", *options],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout and process.stderr
            line = process.stdout.readline()
            if "no GnuTLS" in (trouble := "" if line else process.stderr.read()):
                pytest.skip(trouble.strip())
            ready = json.loads(line)["ready"]
            yield f"server={ready['address']}:{ready['port']}"
        finally:
            process.terminate()


def test_a_matrix_is_run_with_a_key_and_no_file_of_it_knows(uncork: Uncork, keys: Path) -> None:
    folder = uncork.results / "x"
    with server_started(uncork, "--psk", str(keys)) as server:
        words = ("run", server, "write=nodelay,cork", *SHORT, "-o", str(folder))
        assert "only clients with a key" in uncork.refused(*words, status=1)
        done = uncork.run(*words, "--psk", str(keys))
        assert done.returncode == 0, done.stderr
    records = records_of(folder)
    assert {record["status"] for record in records} == {"ok"}
    assert sum(record["server"]["turned_away"] for record in records) == 1
    kept = b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())
    for trace in (KEY.encode(), bytes.fromhex(KEY), b"alice", b"psk", bytes(str(keys), "ascii")):
        assert trace not in kept.lower()
    assert KEY not in done.stdout + done.stderr


def test_the_commands_of_n_have_the_option_where_a_server_is_named(
    uncork: Uncork, keys: Path
) -> None:
    with server_started(uncork, "--psk", str(keys)) as server:
        planned = uncork.run("run", "-n", server, "workload=stream", "transport=tcp,null", *SHORT,
                             "--psk", str(keys))
        assert planned.returncode == 0, planned.stderr
        commands = [shlex.split(line, comments=True) for line in planned.stdout.splitlines()]
        named, alone = [command for command in commands if command]
        assert named[:3] == ["uncork-client", "--psk", str(keys)]
        assert alone[0] == "uncork-client" and "--psk" not in alone
        done = subprocess.run([uncork.bin / named[0], *named[1:]], capture_output=True, text=True,
                              timeout=60)
        assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(("arguments", "says"), [
    (["--psk", "{keys}", *SHORT], "--psk is for a server that is there already: add server="),
    (["--insecure", *SHORT], "--insecure is for a server that is there already: add server="),
    (["--psk", "{keys}", "--insecure", "server=127.0.0.1:1"], "not allowed with argument"),
    (["--psk", "/nonexistent", "server=127.0.0.1:1"], "it must be a file"),
    (["--psk", "/dev/null", "server=127.0.0.1:1"], "it must be a file"),
    (["server=192.0.2.1:7", *SHORT], "is on another machine: give --psk FILE"),
])
def test_what_does_not_fit_is_refused_in_one_line(
    uncork: Uncork, keys: Path, arguments: list[str], says: str,
) -> None:
    filled = [argument.format(keys=keys) for argument in arguments]
    assert says in uncork.refused("run", *filled)
