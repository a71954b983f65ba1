# SPDX-License-Identifier: MIT
"""Unix sockets as files: one that a killed server has left, and the folder of those for data."""

from __future__ import annotations

import json
import os
import socket
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from programs import SERVER, client_run, preloaded, server_run, server_started

SHORT = ["messages=1", "warmup=0s", "place=free"]
IN_USE = "Address already in use"


def leave_stale(path: Path) -> None:
    """A socket as a killed process leaves it."""
    with socket.socket(socket.AF_UNIX) as gone:
        gone.bind(str(path))
        gone.listen()


def works(path: Path) -> bool:
    return client_run(f"server=unix:{path}", *SHORT).returncode == 0


# ---- the path of a server ----

@pytest.mark.parametrize("flags", ["", "--plain echo", "--serve nbd", "--proxy"])
def test_a_server_takes_the_path_of_one_that_was_killed(flags: str, tmp_path: Path) -> None:
    path = tmp_path / "socket"
    with server_started(f"unix:{path}", *flags.split()) as killed:
        killed.process.kill()
        killed.process.wait()
    assert path.is_socket()
    with server_started(f"unix:{path}", *flags.split()):
        assert flags or works(path)
        assert [*tmp_path.iterdir()] == [path]
    assert not [*tmp_path.iterdir()]


def test_a_server_that_answers_keeps_its_path(tmp_path: Path) -> None:
    path = tmp_path / "socket"
    with server_started(f"unix:{path}"):
        done = server_run("--listen", f"unix:{path}")
        assert done.returncode == 1 and works(path)
    assert done.stderr == f"uncork-server: cannot bind on unix:{path}: {IN_USE}\n"


datagram = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)


def test_a_server_that_ends_leaves_the_path_to_another(tmp_path: Path) -> None:
    path = tmp_path / "socket"
    with server_started(f"unix:{path}") as first:
        path.unlink()
        with server_started(f"unix:{path}"):
            assert first.ended() == 0
            assert works(path)
    assert not [*tmp_path.iterdir()]


def make_datagram(path: Path) -> None:
    datagram.bind(str(path))


def make_link(path: Path) -> None:
    leave_stale(path.with_name("behind"))
    path.symlink_to("behind")


@pytest.mark.parametrize("make", [
    lambda path: path.write_text("mine"), Path.mkdir, os.mkfifo, make_datagram, make_link])
def test_what_is_no_stream_socket_stays(make: Callable[[Path], None], tmp_path: Path) -> None:
    path = tmp_path / "path"
    make(path)
    before = {file: file.lstat().st_ino for file in tmp_path.iterdir()}
    done = server_run("--listen", f"unix:{path}")
    assert done.returncode == 1 and IN_USE in done.stderr and done.stderr.count("\n") == 1
    assert {file: file.lstat().st_ino for file in tmp_path.iterdir()} == before


# In the moment in which a server takes the place of the one that was killed, another program puts
# its own file there.
INTRUDER = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <unistd.h>

int rename(const char *from, const char *to)
{
    int (*real)(const char *, const char *) = dlsym(RTLD_NEXT, "rename");
    FILE *file;

    unlink(from);
    file = fopen(from, "w");
    fputs("mine", file);
    fclose(file);
    return real(from, to);
}
"""


def test_a_file_that_another_program_puts_there_meanwhile_stays(tmp_path: Path) -> None:
    environment, path = preloaded(tmp_path, INTRUDER), tmp_path / "s/path"
    path.parent.mkdir()
    leave_stale(path)
    done = subprocess.run([SERVER, "--listen", f"unix:{path}"], capture_output=True, text=True,
                          timeout=20, env=environment)
    assert done.returncode == 1 and IN_USE in done.stderr, done
    assert path.read_text() == "mine" and [*path.parent.iterdir()] == [path]


def test_of_two_servers_that_start_at_once_on_a_stale_path_one_serves(tmp_path: Path) -> None:
    path, other = tmp_path / "socket", tmp_path / "other"
    other.write_text("other")
    for _ in range(5):
        leave_stale(path)
        servers = [subprocess.Popen([SERVER, "--listen", f"unix:{path}"], stdout=subprocess.PIPE,
                                    stderr=subprocess.PIPE, text=True) for _ in range(2)]
        said = [server.stdout.readline() for server in servers if server.stdout]
        assert any(said) and works(path)
        for server in servers:
            server.terminate()
            error = server.communicate(timeout=20)[1]
            assert server.returncode == 0 or IN_USE in error, error
        assert [*tmp_path.iterdir()] == [other]


# ---- the folder of data connections ----

def reason_with(folder: str) -> str:
    """Why a run over Unix sockets fails where this is TMPDIR."""
    done = client_run("--json", "transport=unix", *SHORT, env=os.environ | {"TMPDIR": folder})
    assert done.returncode == 1 and done.stderr.count("\n") == 1, done
    return json.loads(done.stdout)["reason"]


def test_a_folder_for_data_connections_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    for folder, why in ((tmp_path / "none", "No such file or directory"),
                        (file, "Not a directory")):
        assert reason_with(str(folder)) == (f"cannot make a folder in {folder}: {why}; set TMPDIR "
                                            "to a folder that is writable")


@pytest.mark.parametrize("length", [90, 120])
def test_a_path_of_data_connections_that_is_too_long_is_named(length: int, tmp_path: Path) -> None:
    folder = Path(str(tmp_path / "x").ljust(length, "x"))
    folder.mkdir()
    reason = reason_with(str(folder))
    assert "too long" in reason and str(folder)[:80] in reason and "TMPDIR" in reason, reason
    assert not [*folder.iterdir()]


def test_an_empty_tmpdir_is_none() -> None:
    done = client_run("transport=unix", *SHORT, env=os.environ | {"TMPDIR": ""})
    assert done.returncode == 0, done.stderr
