# SPDX-License-Identifier: MIT
"""What the log of a server says of sessions, and what it does before it says that it is ready."""

from __future__ import annotations

import fcntl
import os
import re
import signal
import subprocess
from pathlib import Path

import pytest

from programs import SERVER, busy, client_run, client_start, log_of, records_ok, server_started
from test_strangers import KEY, KEYED, ONE


def keys_of(folder: Path) -> list[str]:
    """The option for a file with a key of alice."""
    keys = folder / "keys"
    keys.touch(0o600)
    keys.write_text(f"alice:{KEY}\n")
    return ["--psk", str(keys)]


@pytest.mark.parametrize("keyed", KEYED)
def test_a_session_has_a_line_for_its_beginning_and_one_for_its_end(keyed: bool,
                                                                    tmp_path: Path) -> None:
    psk = keys_of(tmp_path) if keyed else []
    with server_started("127.0.0.1:0", "--max-time", "60s", *psk) as server:
        to = [*psk, f"server={server.address}", "place=free", "warmup=0s"]
        assert client_run(*to, "messages=1").returncode == 0
        with client_start(*to, "duration=20s") as client:
            busy(server.pid)
            client.kill()
        assert client_run(*to, "duration=61s").returncode == 1
        with client_start(*to, "duration=20s"):
            busy(server.pid)
            server.process.send_signal(signal.SIGTERM)
        who = r"uncork-server: 127\.0\.0\.1:\d+" + (r" \(alice\)" if keyed else "") + ": "
        ends = r"the session ended after \d+\.\d{3} s: "
        says = ["the session begins", ends + "its report was sent",
                "the session begins", ends + ".+",  # of what it sees first of a killed client
                r"no session: duration=61s: this server allows 60s \(--max-time\)",
                "the session begins", ends + "the server was stopped"]
        lines = log_of(server).splitlines()
        for line, says_it in zip(lines, says, strict=True):
            assert re.fullmatch(who + says_it, line), lines


def test_the_session_of_a_parent_has_no_line() -> None:
    done = client_run("messages=1", "place=free", "warmup=0s")
    assert (done.returncode, done.stderr) == (0, "")


def test_a_log_that_is_not_read_stops_no_session(tmp_path: Path) -> None:
    """A pipe takes so many bytes; the first line after that says what is missing."""
    with server_started() as server:
        assert server.process.stderr
        fcntl.fcntl(server.process.stderr, fcntl.F_SETPIPE_SZ, 4096)
        records_ok([f"server={server.address} {' '.join(ONE)}"] * 60)
        os.set_blocking(server.process.stderr.fileno(), False)
        assert server.process.stderr.read().count("the session begins") < 60
        os.set_blocking(server.process.stderr.fileno(), True)
        assert client_run(f"server={server.address}", *ONE).returncode == 0
        assert re.search(r"\(\d+ lines were lost before\) .* the session begins", log_of(server))


@pytest.mark.skipif(KEYED == [False], reason="this build has no GnuTLS")
@pytest.mark.parametrize("flags", ["", "--proxy"])
def test_a_server_that_no_client_could_use_says_so_in_place_of_the_ready_line(
        flags: str, tmp_path: Path) -> None:
    policy = tmp_path / "policy"
    policy.write_text("[overrides]\ndisabled-version = tls1.3\n")
    done = subprocess.run(
        [str(SERVER), "--listen", "127.0.0.1:0", *keys_of(tmp_path), *flags.split()],
        capture_output=True, text=True, timeout=20,
        env=os.environ | {"GNUTLS_SYSTEM_PRIORITY_FILE": str(policy)})
    assert (done.returncode, done.stdout) == (1, "")
    assert re.fullmatch("uncork-server: .*TLS.*\n", done.stderr), done.stderr
