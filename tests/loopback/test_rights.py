# SPDX-License-Identifier: MIT
"""What a server gives up before it serves: its user, capabilities, later rights; and its keys."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from control import Channel, plan_send
from programs import (
    SANITIZED,
    SERVER,
    WITHIN_S,
    Server,
    client_json,
    client_run,
    server_run,
    server_started,
    trouble,
)

CHOWN, KILL, SETGID, SETUID, NET_ADMIN, SYS_NICE, PERFMON = 0, 5, 6, 7, 12, 23, 38  # capabilities
VERSION = client_json("--list=json")[0]["uncork"]
NOBODY = 65534
AS_ROOT = pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("setpriv"),
                             reason="only root has rights to give up, and setpriv is needed")


@pytest.fixture
def keys(tmp_path: Path) -> str:
    """A file of a key that only its owner may read."""
    path = tmp_path / "keys"
    path.touch(0o600)
    path.write_text(f"lab:{os.urandom(32).hex()}\n")
    return str(path)


def status_of(pid: int | str, key: str) -> str:
    status = Path(f"/proc/{pid}/status").read_text()
    found = re.search(rf"^{key}:[ \t]*(.*?)[ \t]*$", status, re.MULTILINE)
    assert found
    return found[1]


def capabilities_of(pid: int | str, key: str) -> set[int]:
    bits = int(status_of(pid, key), 16)
    return {bit for bit in range(64) if bits >> bit & 1}


@AS_ROOT
@pytest.mark.parametrize(("options", "kept"), [
    ("", set()),
    ("--proxy", set()),
    ("--plain echo", set()),
    ("--allow-word sched --allow-word perf", {SYS_NICE, PERFMON}),
    ("--user nobody --allow-word sched", {SYS_NICE}),
    ("--serve http reply_write=writev", set()),
    ("--serve http congestion=cubic", {NET_ADMIN})])
def test_a_server_keeps_the_capabilities_that_an_option_asks_for(options: str,
                                                                 kept: set[int]) -> None:
    with server_started("127.0.0.1:0", *options.split()) as server:
        own = capabilities_of("self", "CapPrm")
        for key in ("CapPrm", "CapEff", "CapBnd"):
            assert capabilities_of(server.pid, key) == kept & own, key
        assert status_of(server.pid, "NoNewPrivs") == "1"
        user = NOBODY if "--user" in options else 0
        assert {*status_of(server.pid, "Uid").split()} == {str(user)}


@AS_ROOT
@pytest.mark.parametrize("options", [[], ["--allow-word", "congestion"]])
def test_a_server_that_may_not_choose_cubic_says_so_at_its_start(options: list[str]) -> None:
    algorithms = [Path(f"/proc/sys/net/ipv4/tcp_{which}_congestion_control").read_text().split()
                  for which in ("available", "allowed")]
    with server_started("127.0.0.1:0", *options) as server:
        server.process.terminate()
        said = server.process.communicate()[1]
    is_forbidden = not options and ["cubic" in names for names in algorithms] == [True, False]
    assert ("congestion=default is not cubic here" in said) == is_forbidden


@AS_ROOT
def test_a_server_of_subjects_keeps_what_starts_them_and_no_more(tmp_path: Path) -> None:
    definitions = tmp_path / "subjects"
    definitions.write_text("{}")
    with server_started("127.0.0.1:0", "--subjects", str(definitions)) as server:
        kept = capabilities_of(server.pid, "CapPrm")
        assert {CHOWN, KILL, SETGID, SETUID} <= kept and not {NET_ADMIN, SYS_NICE} & kept


@AS_ROOT
def test_a_server_becomes_a_user_and_serves_with_what_root_has_opened(keys: str,
                                                                      tmp_path: Path) -> None:
    """The key and the key log are in a folder that this user may not enter."""
    log, word = tmp_path / "keylog", "security=gnutls"
    options = ["--psk", keys, "--keylog", str(log), "--user", "nobody"]
    with server_started("127.0.0.1:0", *options) as server:
        for key in ("Uid", "Gid"):
            assert {*status_of(server.pid, key).split()} == {str(NOBODY)}
        assert status_of(server.pid, "Groups") == ""
        for words in (["messages=10"], ["messages=10", word] if not trouble(word) else []):
            done = client_run("--psk", keys, f"server={server.address}", *words)
            assert done.returncode == 0, done.stderr
    assert "CLIENT_TRAFFIC_SECRET_0 " in log.read_text()


@AS_ROOT
@pytest.mark.parametrize(("name", "before", "status", "says"), [
    ("root", [], 2, "--user root: that is root; name another user"),
    ("no-such-user", [], 2, "--user no-such-user: this machine has no such user"),
    ("nobody", ["setpriv", "--reuid=1234", "--clear-groups"], 1,
     "--user nobody: only root may become another user, and this is user 1234")])
def test_a_user_that_the_server_cannot_become_is_one_line(name: str, before: list[str],
                                                          status: int, says: str) -> None:
    done = subprocess.run([*before, SERVER, "--listen", "127.0.0.1:0", "--user", name],
                          capture_output=True, text=True, timeout=20)
    assert (done.returncode, done.stdout, done.stderr) == (status, "", f"uncork-server: {says}\n")


def test_a_word_without_a_right_is_refused_with_those_that_have_one() -> None:
    done = server_run("--listen", "127.0.0.1:0", "--allow-word", "message")
    assert done.returncode == 2 and done.stderr.endswith(
        "--allow-word message: only these words need a right: sched, busy_poll, congestion, "
        "connections, write, perf\n")


@AS_ROOT
@pytest.mark.skipif(SANITIZED, reason="LeakSanitizer has to read the memory")
@pytest.mark.parametrize("has_key", [False, True])
def test_a_server_with_keys_hides_its_memory_from_other_programs_of_its_user(has_key: bool,
                                                                             keys: str) -> None:
    options = ["--user", "nobody", *(["--psk", keys] if has_key else [])]
    with server_started("127.0.0.1:0", *options) as server:
        done = subprocess.run(["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}",
                               "--clear-groups", "head", "-c1", f"/proc/{server.pid}/environ"],
                              capture_output=True, timeout=20)
        assert (done.returncode != 0) == has_key


# ---- keys in memory ----


def writable_memory(server: Server) -> list[bytes]:
    """What the server can write to, read again while threads that end give their stacks back."""
    until = time.monotonic() + WITHIN_S
    while True:
        maps = Path(f"/proc/{server.pid}/maps").read_text()
        try:
            with open(f"/proc/{server.pid}/mem", "rb", 0) as memory:
                return [os.pread(memory.fileno(), int(end, 16) - int(begin, 16), int(begin, 16))
                        for begin, end in re.findall(r"^(\w+)-(\w+) rw", maps, re.MULTILINE)]
        except OSError:
            if time.monotonic() > until:
                raise


def copies_in(server: Server, *texts: bytes) -> list[int]:
    """How often each text is in memory that the server can write to."""
    mappings = writable_memory(server)
    return [sum(mapping.count(text) for mapping in mappings) for text in texts]


def copies_become(server: Server, texts: list[bytes], counts: list[int]) -> None:
    """The session ends a moment after its client."""
    until = time.monotonic() + WITHIN_S
    while (found := copies_in(server, *texts)) != counts and time.monotonic() < until:
        time.sleep(0.05)
    assert found == counts


@AS_ROOT
@pytest.mark.skipif(SANITIZED, reason="a sanitizer keeps freed memory, and maps terabytes")
@pytest.mark.parametrize("word", ["security=gnutls", "security=openssl"])
def test_the_key_of_a_run_is_nowhere_in_memory_after_it(word: str) -> None:
    if why := trouble(word):
        pytest.skip(why)
    with server_started() as server:
        channel = Channel(server.address)
        key = plan_send(channel, VERSION, word, "messages=10")["key"]
        assert sum(copies_in(server, bytes.fromhex(key))) > 0
        channel.close()
        copies_become(server, [key.encode(), bytes.fromhex(key)], [0, 0])


@AS_ROOT
@pytest.mark.skipif(SANITIZED, reason="a sanitizer keeps freed memory, and maps terabytes")
def test_the_key_of_a_file_is_in_memory_once_and_never_as_text(keys: str) -> None:
    key = Path(keys).read_text().strip().partition(":")[2]
    with server_started("127.0.0.1:0", "--psk", keys) as server:
        done = client_run("--psk", keys, f"server={server.address}", "messages=10")
        assert done.returncode == 0, done.stderr
        copies_become(server, [key.encode(), bytes.fromhex(key)], [0, 1])
