# SPDX-License-Identifier: MIT
"""The sandbox of a server: which servers have one, what it forbids, and that runs need no more. The
last is checked by each test that starts a server, too (programs.py)."""

from __future__ import annotations

import os
import re
import socket
from pathlib import Path

import pytest

from programs import client_json, preloaded, received, server_run, server_started

RUNS = ["message=8+8", "workload=stream", "engine=ring", "engine=poll connections=20",
        "write=sendfile", "write=zerocopy", "read=zerocopy", "security=gnutls",
        "security=openssl", "security=ktls",
        "workload=connect", "workload=stream direction=both", "connections=3 transport=mptcp",
        "write=uring-zc", "write=uring-bundle read=uring-multishot", "write=uv", "sched=rr:2",
        "handoff=thread", "place=together", "touch=checksum", "rate=1000",
        "protocol=nbd op=read:4K", "protocol=http op=get:4K",
        "handshake=ticket security=gnutls workload=connect"]


def has_sandbox() -> bool:
    with server_started() as server:
        return bool(server.ready["sandbox"])


NEEDED = pytest.mark.skipif(not has_sandbox(), reason="this build has no sandbox")

# Each call fails with EPERM, else the program ends. The first connection is that of the trial.
CALLS = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>
#define FAILS(call) if ((long)(call) != -1 || errno != EPERM) abort()
int accept4(int fd, struct sockaddr *address, socklen_t *size, int flags)
{
    int (*next)(int, struct sockaddr *, socklen_t *, int) = dlsym(RTLD_NEXT, "accept4");
    int accepted = next(fd, address, size, flags);
    if (accepted < 0)
        return accepted;
    FAILS(ptrace(PTRACE_TRACEME, 0, 0, 0));
    FAILS(socket(AF_PACKET, SOCK_RAW, 0));
    FAILS(socketpair(AF_INET, SOCK_STREAM, 0, (int[2]){0}));
    FAILS(open("/tmp/never", O_WRONLY | O_CREAT, 0600));
    FAILS(mmap(NULL, 4096, PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    FAILS(syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0)); /* fork(3) of glibc 2.41 blocks SIGSYS */
    FAILS(execl("/bin/true", "true", NULL));
    FAILS(kill(1, 0));
    FAILS(setuid(0));
    return accepted;
}
"""
FORBIDDEN = ["ptrace", "socket", "socketpair", "openat", "mmap", "clone", "execve", "kill",
             "setuid"]


@NEEDED
def test_a_forbidden_call_fails_and_is_logged_once_with_its_name(tmp_path: Path) -> None:
    with server_started(environment=preloaded(tmp_path, CALLS)) as server:
        for _ in range(2):
            client_json("--json", f"server={server.address}", "messages=10")
        assert server.ended() == 0 and server.process.stderr
        said = server.process.stderr.read()
    assert re.findall(r"^uncork-server: the sandbox forbids the call (\w+) \(EPERM\); "
                      r"--sandbox off would allow it$", said, re.MULTILINE) == FORBIDDEN


@NEEDED
@pytest.mark.parametrize(("options", "has_one", "says"), [
    ("", True, ""), ("--user nobody", True, ""), ("--plain echo", True, ""), ("--proxy", True, ""),
    ("--serve http", True, ""), ("--sandbox off", False, ""),
    ("--subjects {definitions}", False, "no sandbox: --subjects starts other programs\n")])
def test_the_ready_line_says_whether_a_server_has_a_sandbox(options: str, has_one: bool, says: str,
                                                           tmp_path: Path) -> None:
    if "--user" in options and os.geteuid() != 0:
        pytest.skip("only root may become another user")
    (definitions := tmp_path / "definitions").write_text("{}")
    with server_started("127.0.0.1:0", *options.format(definitions=definitions).split()) as server:
        status = Path(f"/proc/{server.pid}/status").read_text()
        assert server.ready["sandbox"] == ("\nSeccomp:\t2\n" in status) == has_one
        assert server.ended() == 0 and server.process.stderr
        assert says in server.process.stderr.read()


@pytest.mark.parametrize(("options", "says"), [
    (["--sandbox", "no"], "--sandbox no: write on or off"),
    (["--sandbox", "on", "--subjects", "/dev/null"], "a sandbox starts no programs|no libseccomp")])
def test_a_sandbox_that_cannot_be_is_refused(options: list[str], says: str, tmp_path: Path) -> None:
    (definitions := tmp_path / "definitions").write_text("{}")
    done = server_run("--listen", "127.0.0.1:0",
                      *(str(definitions) if part == "/dev/null" else part for part in options))
    assert done.returncode == 2 and re.search(says, done.stderr), done.stderr


@NEEDED
@pytest.mark.parametrize("address", ["127.0.0.1:0", "unix:{folder}/s"])
def test_runs_of_every_kind_need_no_other_call(address: str, tmp_path: Path) -> None:
    """What this machine supports; also as the proxy."""
    is_unix = address.startswith("unix")
    with server_started(address.format(folder=tmp_path)) as server, \
            server_started("127.0.0.1:0", "--proxy") as proxy:
        runs = ["", "write=writev", "security=gnutls"] if is_unix else RUNS
        lines = [f"server={server.address} messages=100 warmup=0s {words}"
                 + (" transport=unix" if is_unix else "") for words in runs]
        if not is_unix:
            lines.append(f"server={server.address} via={proxy.address} workload=proxy messages=100")
        *records, _ = client_json("--batch", "-", stdin="\n".join(lines) + "\n")
        assert {record["status"] for record in records} <= {"ok", "unsupported"}, records
        assert sum(record["status"] == "ok" for record in records) > len(records) * 2 // 3


@NEEDED
@pytest.mark.parametrize(("protocol", "asked", "answered"), [
    ("http", b"GET /4096 HTTP/1.1\r\nHost: x\r\n\r\n", b"HTTP/1.1 200"),
    ("memcached", b"get a\r\n", b"VALUE a "),
    ("resp", b"*2\r\n$3\r\nGET\r\n$1\r\na\r\n", b"$4096\r\n"),
    ("nbd", b"", b"NBDMAGICIHAVEOPT")])
@pytest.mark.parametrize("words", ["", "reply_write=uring-send"])
def test_a_server_of_real_clients_answers_in_its_sandbox(protocol: str, asked: bytes,
                                                         answered: bytes, words: str) -> None:
    with server_started("127.0.0.1:0", "--serve", protocol, *words.split()) as server:
        assert server.ready["sandbox"]
        with socket.create_connection(("127.0.0.1", server.ready["port"]), timeout=20) as client:
            client.sendall(asked)
            assert received(client, len(answered)) == answered
