# SPDX-License-Identifier: MIT
"""How programs start and end where little is there: closed standard streams, few descriptors,
output that takes nothing."""

from __future__ import annotations

import json
import resource
import shlex
import subprocess
from pathlib import Path

import pytest

from control import connect
from programs import BIN, SANITIZED, SERVER, client_run, server_started

EXEC = BIN / "uncork-exec"
SHORT = "messages=1 warmup=0s place=free"


def shell(command: str) -> subprocess.CompletedProcess[str]:
    """A command with redirections; its programs are named by their part of uncork."""
    for name in ("client", "server", "exec"):
        command = command.replace(f"uncork-{name}", shlex.quote(str(BIN / f"uncork-{name}")))
    return subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=60)


# ---- closed descriptors ----

@pytest.mark.parametrize("closed", ["<&-", "2>&-", "<&- 2>&-"])
@pytest.mark.parametrize("words", ["", "transport=unix", "engine=poll"])
def test_a_run_needs_neither_standard_input_nor_standard_error(closed: str, words: str) -> None:
    done = shell(f"uncork-client --json {SHORT} {words} {closed}")
    assert done.returncode == 0, done
    assert json.loads(done.stdout)["status"] == "ok"


def test_a_server_serves_without_standard_input_and_standard_error() -> None:
    command = f"exec {shlex.quote(str(SERVER))} --listen 127.0.0.1:0 <&- 2>&-"
    with subprocess.Popen(["bash", "-c", command], stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout
        port = json.loads(server.stdout.readline())["ready"]["port"]
        done = client_run(f"server=127.0.0.1:{port}", *SHORT.split())
        server.terminate()
        assert (done.returncode, server.wait(10)) == (0, 0), done.stderr


def test_a_program_under_exec_sees_its_streams_closed_as_they_are() -> None:
    done = shell("uncork-exec -- cat <&-")
    assert done.returncode == 1 and "cat: -: Bad file descriptor\n" in done.stderr, done


@pytest.mark.parametrize("option", ["--with-parent", "--with-parent=0"])
def test_with_parent_takes_no_file_for_a_parent(option: str) -> None:
    """libuv aborts where epoll(7) does not take the descriptor."""
    for program in (f"uncork-client --json {option} {SHORT}", "uncork-server --listen 127.0.0.1:0 "
                    "--with-parent"):
        for stream in ("</dev/null", "<&-", f"<{shlex.quote(__file__)}"):
            done = shell(f"{program} {stream}")
            assert done.returncode == 2, done
            assert "--with-parent needs a pipe or a socket; descriptor 0 is neither" in done.stderr


def test_a_file_of_cells_that_cannot_be_read_is_no_empty_one(tmp_path: Path) -> None:
    for option in ("--batch", "--check"):
        done = client_run(option, str(tmp_path))
        assert (done.returncode, done.stdout) == (2, ""), done
        assert done.stderr == f"uncork-client: {tmp_path}: Is a directory\n"
        done = shell(f"uncork-client {option} - <&-")
        assert (done.returncode, done.stdout) == (2, ""), done
        assert done.stderr == "uncork-client: standard input: Bad file descriptor\n"


# ---- few descriptors ----

@pytest.mark.skipif(SANITIZED, reason="a sanitizer needs descriptors of its own")
@pytest.mark.parametrize("flags", ["", "--serve http", "--serve http engine=poll", "--plain echo"])
def test_a_server_that_is_ready_with_few_descriptors_serves_what_fits(flags: str) -> None:
    for files in (10, 20, 40, 68, 69, 70, 71, 80, 100):
        limit = f"ulimit -n {files}; exec {SERVER} --listen 127.0.0.1:0 {flags}"
        with subprocess.Popen(["bash", "-c", limit], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True) as server:
            assert server.stdout and server.stderr
            says = json.loads(server.stdout.readline() or "{}")
            if says:
                address = f"127.0.0.1:{says['ready']['port']}"
                if flags:
                    with connect(address) as client:
                        client.settimeout(10)
                        client.sendall(b"GET /1 HTTP/1.1\r\nHost: a\r\n\r\n")
                        assert client.recv(1)
                else:
                    assert client_run(f"server={address}", *SHORT.split()).returncode == 0
                server.terminate()
            assert "(ulimit -n)" in server.stderr.readline() and server.wait(20) == (not says)
            assert says or files < 80


@pytest.mark.skipif(SANITIZED, reason="a sanitizer needs descriptors of its own")
def test_a_server_of_a_protocol_says_why_it_closes_a_client() -> None:
    """Each client has a loop of its own, for which there are no descriptors in the end."""
    with server_started("127.0.0.1:0", "--serve", "http", "engine=poll") as server:
        resource.prlimit(server.pid, resource.RLIMIT_NOFILE, (80, 80))
        clients = [connect(server.address) for _ in range(40)]
        for client in clients:
            client.sendall(b"GET")
        assert server.process.stderr
        assert server.process.stderr.readline() == (
            "uncork-server: cannot serve a client by engine=poll: Too many open files\n")
        for client in clients:
            client.close()


# ---- output that takes nothing ----

@pytest.mark.parametrize(("stream", "says"), [
    (">&-", "standard output is closed"),
    (">/dev/full", "cannot write to standard output: No space left on device")])
@pytest.mark.parametrize("command", [
    "uncork-client --help", "uncork-client --version", "uncork-client --list",
    "uncork-client --list=json", "uncork-client --expand write=cork,nagle", "uncork-client --facts",
    f"uncork-client {SHORT}", f"uncork-client --json {SHORT}",
    f"uncork-client --check - <<<'{SHORT}'", f"uncork-client --batch - <<<'{SHORT}'",
    "uncork-server --help", "uncork-server --version", "uncork-server --listen 127.0.0.1:0",
    "uncork-server --listen 127.0.0.1:0 --plain echo", "uncork-server --listen 127.0.0.1:0 "
    "--serve nbd", "uncork-exec --help", "uncork-exec --version"])
def test_no_output_is_lost_with_status_0(command: str, stream: str, says: str) -> None:
    done = shell(f"{command} {stream}")
    name = command.split()[0]
    assert done.returncode == 1, done
    assert done.stderr == f"{'uncork' if name == 'uncork-exec' else name}: {says}\n"


def test_what_prints_nothing_needs_no_standard_output(tmp_path: Path) -> None:
    done = shell(f"uncork-client --json {tmp_path}/record {SHORT} >&-")
    assert done.returncode == 0, done
    assert json.loads((tmp_path / "record").read_text())["status"] == "ok"
    done = shell("uncork-exec -- true >&-")
    assert done.returncode == 0, done


def test_a_server_that_could_not_say_that_it_is_ready_leaves_no_socket(tmp_path: Path) -> None:
    assert shell(f"uncork-server --listen unix:{tmp_path}/s >/dev/full").returncode == 1
    assert not list(tmp_path.iterdir())
    with server_started(f"unix:{tmp_path}/s"):
        pass


@pytest.mark.skipif(SANITIZED, reason="a sanitizer reserves address space of its own")
@pytest.mark.parametrize("command", [f"uncork-client {SHORT}",
                                     "uncork-server --listen 127.0.0.1:0"])
def test_without_room_for_the_threads_of_libuv_a_program_says_so(command: str) -> None:
    """libuv calls abort(3) where they cannot start."""
    done = shell(f"ulimit -v 44000; {command}")
    assert done.returncode == 1 and done.stderr.count("\n") == 1, done
    assert "ulimit -v is 44000" in done.stderr
