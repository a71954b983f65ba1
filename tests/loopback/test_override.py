# SPDX-License-Identifier: MIT
"""The preloaded library under programs of our own: what it sees, what it changes, and that it
changes nothing else."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from overridden import EXEC, REPEATED, asked, connected, sender_command, sent, under
from programs import SANITIZED, received

pytestmark = pytest.mark.skipif(not EXEC.exists(), reason=f"no {EXEC.name} in this build")
TWO = [38, 4118]
ANSWER = bytes(range(256)) * 64


@pytest.mark.parametrize("how", ["plain", "write", "epoll", "thread", "fork"])
def test_two_sends_between_two_waits_are_a_group_however_the_program_waits(tmp_path, how):
    clients = 2 if how in ("thread", "fork") else 1
    run, _ = sent(tmp_path, 50, pieces=TWO, nodelay=True, clients=clients, **{how: True})
    kind = run.kind()
    groups, sizes = run.shape()
    # a thread of Python may wait for the interpreter's lock between two sends
    assert sizes == TWO and groups == kind["groups"] == 50 * clients or how == "thread"
    assert sizes == TWO and groups > 40 * clients
    assert kind["role"] == "accepted" and kind["connections"] == clients and kind["nodelay"] is True
    assert kind["changed"] == 0
    assert kind["calls"]["write" if how == "write" else "sendto"] == 100 * clients
    assert kind["sent_bytes"] == 50 * clients * sum(TWO)
    assert kind["received_bytes"] == 50 * clients * 28
    assert run.report["processes"] == (3 if how == "fork" else 1)


@pytest.mark.parametrize("override, options, segments", [
    ("none", {"nodelay": True}, 2), ("more:64", {"nodelay": True}, 1),
    ("more:64", {"nodelay": True, "write": True}, 1), ("more:64", {}, 1),
    ("more:37", {"nodelay": True}, 2), ("join", {"nodelay": True}, 1), ("join", {}, 1),
    ("join", {"nodelay": True, "write": True, "epoll": True}, 1),
    ("nodelay", {}, 2), ("nodelay+more:64", {}, 1),
    ("none", {"nodelay": True, "more": True}, 1), ("nomore", {"nodelay": True, "more": True}, 2),
    ("none", {"nodelay": True, "cork": True}, 1), ("nocork", {"nodelay": True, "cork": True}, 2),
])
def test_an_override_makes_so_many_segments_of_a_reply(tmp_path, override, options, segments):
    run, replies = sent(tmp_path, 40, override, pieces=TWO, **options)
    assert replies.came_as(segments)
    assert replies.data == 40 * b"".join(ANSWER[:size] for size in TWO)
    assert (run.kind()["changed"] > 0) is (override not in ("none", "more:37"))
    assert ("limit" in run.report) is (override == "more:37")  # nothing was so short
    assert not replies.stalled


def test_without_tcp_nodelay_the_second_send_waits_and_the_report_says_so(tmp_path):
    run, replies = sent(tmp_path, 30, pieces=TWO)
    assert replies.segments == pytest.approx(2, abs=0.1) and replies.stalled
    kind = run.kind()
    assert kind["nodelay"] is False and kind["waits_40ms"] > 15
    assert kind["try"] == "more:64" and "38, 4118" in kind["says"]
    assert "no TCP_NODELAY" in kind["says"] and "40 ms" in kind["says"]
    assert kind["measure"] == ("uncork run workload=request message=64 reply=38+4118 "
                               "reply_write=nagle,more")


def test_nagle_is_kept_from_a_program_that_does_not_want_it(tmp_path):
    run, replies = sent(tmp_path, 20, "nagle", pieces=TWO, nodelay=True)
    assert run.kind()["nodelay"] is False and replies.stalled


@pytest.mark.parametrize("override", ["more:64", "join"])
@pytest.mark.parametrize("nodelay", [True, False])
@pytest.mark.parametrize("how", ["plain", "epoll", "thread"])
def test_a_lone_short_send_goes_at_once(tmp_path, override, nodelay, how):
    run, replies = sent(tmp_path, 30, override, pieces=[38], nodelay=nodelay, **{how: True})
    assert replies.came_as(1) and not replies.stalled
    kind = run.kind()
    assert kind["pushes"] == 30 and kind["nodelay"] is nodelay  # it has the program's setting again


def test_a_send_leaves_before_the_program_sleeps_closes_or_ends(tmp_path):
    program = """
import os, socket, sys, time
s = socket.create_server(("127.0.0.1", 0)); print(s.getsockname()[1], flush=True)
c, _ = s.accept()
c.send(b"a"); time.sleep(0.5)
c.send(b"b"); os.read(0, 1)
c.send(b"c"); c.shutdown(socket.SHUT_WR)
c.recv(1)
"""
    with under(tmp_path, sys.executable, "-c", program, override="join",
               stdin=subprocess.PIPE) as run:
        assert run.process.stdout and run.process.stdin
        client = connected(int(run.process.stdout.readline()))
        client.settimeout(20)
        assert client.recv(1) == b"a"
        slept = time.monotonic()
        assert client.recv(1) == b"b"
        assert 0.2 < time.monotonic() - slept < 5
        run.process.stdin.write("x")
        run.process.stdin.close()
        run.process.stdin = None
        assert client.recv(1) == b"c" and client.recv(1) == b""
        client.close()
        assert run.ended() == 0
    kind = run.kind()
    assert kind["pushes"] == 3 and kind["waits_200ms"] == 0


def test_what_is_held_on_one_connection_leaves_before_a_send_on_another(tmp_path):
    program = """
import socket, time
s = socket.create_server(("127.0.0.1", 0)); print(s.getsockname()[1], flush=True)
a, _ = s.accept(); b, _ = s.accept()
a.send(b"a"); b.send(b"b")
until = time.monotonic() + 2
while time.monotonic() < until: pass
"""
    with under(tmp_path, sys.executable, "-c", program, override="join") as run:
        assert run.process.stdout
        port = int(run.process.stdout.readline())
        first, second = connected(port), connected(port)
        assert first.recv(1) == b"a"
        began = time.monotonic()
        assert second.recv(1) == b"b"
        # the thread waits for nothing: the kernel alone sends this, after 200 ms
        assert time.monotonic() - began > 0.1
        first.close()
        second.close()
        assert run.ended() == 0


@pytest.mark.parametrize("override", ["none", "join"])
@pytest.mark.parametrize("call", ["os.write(fd, b'text')", "os.writev(fd, [b'te', b'xt'])"])
def test_a_file_that_takes_the_number_of_a_closed_connection_is_written(tmp_path, override, call):
    program = f"""
import os, socket
s = socket.create_server(("127.0.0.1", 0)); print(s.getsockname()[1], flush=True)
c, _ = s.accept()
c.send(b"a")
fd = c.detach()
os.closerange(fd, fd + 1)
assert os.open({str(tmp_path / 'file')!r}, os.O_CREAT | os.O_WRONLY) == fd
{call}
"""
    with under(tmp_path, sys.executable, "-c", program, override=override) as run:
        assert run.process.stdout
        with connected(int(run.process.stdout.readline())) as client:
            assert client.recv(1) == b"a"
            assert run.ended() == 0, run.stderr
    assert (tmp_path / "file").read_bytes() == b"text"


EVERY_SEND = """
import ctypes, errno, os, socket, sys
libc = ctypes.CDLL(None, use_errno=True)
s = socket.create_server(("127.0.0.1", 0)); print(s.getsockname()[1], flush=True)
c, _ = s.accept()
d = libc.dup(c.fileno())
file = os.open(sys.argv[1], os.O_RDONLY)
assert os.write(d, b"write") == 5 and os.writev(d, [b"wri", b"tev"]) == 6
assert os.sendfile(d, file, 2, 6) == 6
os.close(d)
assert c.sendmsg([b"send", b"msg"]) == 7 and c.send(b"send") == 4

class Vector(ctypes.Structure):
    _fields_ = [("base", ctypes.c_char_p), ("size", ctypes.c_size_t)]

class Message(ctypes.Structure):
    _fields_ = [("name", ctypes.c_void_p), ("name_size", ctypes.c_uint),
                ("vector", ctypes.POINTER(Vector)), ("count", ctypes.c_size_t),
                ("control", ctypes.c_void_p), ("control_size", ctypes.c_size_t),
                ("flags", ctypes.c_int)]

class Sent(ctypes.Structure):
    _fields_ = [("message", Message), ("sent", ctypes.c_uint)]

two = (Sent * 2)(*(Sent(Message(vector=ctypes.pointer(Vector(text, len(text))), count=1))
                   for text in (b"one", b"two!")))
assert libc.sendmmsg(c.fileno(), two, 2, 0) == 2 and [one.sent for one in two] == [3, 4]
assert c.recv(1) == b"q"
c.setblocking(False)
pieces = []
try:
    while True:
        pieces.append(c.send(b"x" * 1000003))
except BlockingIOError as error:
    assert error.errno == errno.EAGAIN
print(sum(pieces), int(pieces[-1] < 1000003), flush=True)
for call in (lambda: libc.send(-1, b"a", 1, 0), lambda: libc.write(d, b"a", 1),
             lambda: libc.recv(d, b"a", 1, 0), lambda: libc.dup(d), lambda: libc.close(d)):
    ctypes.set_errno(0)
    assert call() == -1 and ctypes.get_errno() == errno.EBADF
ctypes.set_errno(0)
assert libc.send(file, b"a", 1, 0) == -1 and ctypes.get_errno() == errno.ENOTSOCK
c.close()
"""


@pytest.mark.parametrize("override", ["none", "join", "more:5", "nomore+nodelay"])
def test_every_send_returns_what_it_sent_or_its_error(tmp_path, override):
    (tmp_path / "file").write_bytes(b"..on a disk")
    with under(tmp_path, sys.executable, "-c", EVERY_SEND, str(tmp_path / "file"),
               override=override) as run:
        assert run.process.stdout
        with connected(int(run.process.stdout.readline())) as client:
            text = b"writewritevon a dsendmsgsendonetwo!"
            assert received(client, len(text)) == text
            client.sendall(b"q")
            total, partial = map(int, run.process.stdout.readline().split())
            assert received(client, total) == b"x" * total and partial
            assert client.recv(1) == b""
        assert run.ended() == 0, run.stderr
    kind = run.kind()
    assert kind["would_block"] == 1 and kind["sent_bytes"] == len(text) + total
    assert [kind["calls"][name] for name in ("write", "writev", "sendfile", "sendmsg", "sendmmsg")
            ] == [1, 1, 1, 1, 2]


def test_on_a_unix_socket_nothing_joins_and_the_report_says_so(tmp_path):
    path = str(tmp_path / "s")
    run, _ = sent(tmp_path, 20, "join", pieces=TWO, path=path)
    kind = run.kind()
    assert kind["family"] == "unix" and kind["path"] == path and kind["changed"] == 0
    assert run.shape() == (20, TWO) and "writev(2)" in kind["says"] and "try" not in kind
    assert run.report["limit"] == "no TCP connection: a Unix socket does not have this option"
    assert kind["measure"].endswith("reply_write=nodelay,writev,coalesce transport=unix")


@pytest.mark.parametrize("unix", [False, True])
def test_a_buffer_is_set_and_read_back_twice_as_large_as_the_kernel_has_it(tmp_path, unix):
    path = {"path": str(tmp_path / "s")} if unix else {}
    run, _ = sent(tmp_path, 5, "sndbuf:32K+rcvbuf:64K", pieces=TWO, **path)
    kind = run.kind()
    assert (kind["sndbuf_bytes"], kind["rcvbuf_bytes"]) == (65536, 131072) and kind["changed"] == 2


@pytest.mark.parametrize("options", [{}, {"more": True}, {"cork": True}, {"epoll": True}])
def test_the_traffic_of_1000_requests_is_the_same_with_and_without_watching(tmp_path, options):
    options = {"pieces": TWO, "nodelay": True, **options}
    _, watched = sent(tmp_path, 1000, **options)
    with subprocess.Popen(sender_command(**options), stdout=subprocess.PIPE, text=True) as alone:
        assert alone.stdout
        with connected(int(alone.stdout.readline())) as client:
            plain = asked(client, 1000, sum(TWO))
    assert watched.data == plain.data and alone.returncode == 0
    assert watched.different(plain) <= REPEATED and len(plain.each) == 1000


def test_a_connection_that_the_program_makes_is_named_by_where_it_goes(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        program = ("import socket; c = socket.create_connection(('127.0.0.1', "
                   f"{port})); c.send(b'a' * 16); c.send(b'b' * 4096); c.recv(1)")
        with under(tmp_path, sys.executable, "-c", program) as run:
            accepted, _ = server.accept()
            accepted.send(b"x")
            assert run.ended() == 0
            accepted.close()
    kind = run.kind()
    assert (kind["role"], kind["port"], run.shape()) == ("connected", port, (1, [16, 4096]))
    assert kind["measure"] == "uncork run message=16+4096 reply=64 write=nagle,more"


# ---- as nice(1) does ----

def run_exec(*arguments: str, **options) -> subprocess.CompletedProcess[str]:
    return subprocess.run([EXEC, *arguments], capture_output=True, text=True, timeout=60, **options)


@pytest.mark.parametrize("command, status", [
    (("true",), 0), (("sh", "-c", "exit 7"), 7), (("no-such-program",), 127),
    (("/etc/passwd",), 126), (("sh", "-c", "kill -9 $$"), -9), (("sh", "-c", "kill $$"), -15)])
def test_the_status_is_that_of_the_command(command, status):
    assert run_exec("--", *command).returncode == status


def test_the_program_has_its_own_arguments_environment_input_and_descriptors(tmp_path):
    shown = "printf '%s,' \"$@\"; cat; ls /proc/self/fd | wc -l"
    plain, under_it = (subprocess.run([*before, "sh", "-c", shown, "sh", "-n", "--json", "a=b"],
                                      input="text\n", capture_output=True, text=True)
                       for before in ((), (EXEC, "--")))
    assert under_it.stdout == plain.stdout and "-n,--json,a=b,text" in plain.stdout


def test_programs_that_the_program_starts_are_counted_each_once(tmp_path):
    with under(tmp_path, "sh", "-c", "sh -c true; (exec sh -c true); true") as run:
        assert run.ended() == 0
    assert run.report["processes"] == 3


@pytest.mark.parametrize("words, says", [
    (("override=mor:64", "--", "true"), "write none, nodelay"),
    (("override=more", "--", "true"), "write more:SIZE"),
    (("override=nodelay+nagle", "--", "true"), "undoes"),
    (("--jason", "--", "true"), "--json"), (("override=join",), "nothing to run")])
def test_wrong_words_are_one_line_and_status_2(words, says):
    done = run_exec(*words)
    assert done.returncode == 2 and says in done.stderr and done.stderr.count("\n") == 1


def test_signals_are_passed_on_but_for_the_one_that_asks_for_a_report():
    shell = ("trap 'echo hup' HUP; trap 'echo usr1' USR1; trap 'exit 3' TERM; echo ready; "
             "while :; do sleep 0.05; done")
    with subprocess.Popen([EXEC, "--", "sh", "-c", shell], text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE) as process:
        assert process.stdout and process.stderr
        assert process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGHUP)
        assert process.stdout.readline() == "hup\n"
        process.send_signal(signal.SIGUSR1)
        assert process.stderr.readline().startswith("uncork exec: override=none")
        process.send_signal(signal.SIGTERM)
        out, _ = process.communicate(timeout=20)
    assert process.returncode == 3 and "usr1" not in out


def test_the_program_goes_on_where_nothing_reads_the_report():
    with subprocess.Popen([EXEC, "--", "sh", "-c", "echo ready; read line; echo $line; exit 4"],
                          text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE) as process:
        assert process.stdin and process.stdout and process.stderr
        assert process.stdout.readline() == "ready\n"
        process.stderr.close()
        process.stderr = None
        process.send_signal(signal.SIGUSR1)
        time.sleep(0.5)
        out, _ = process.communicate("text\n", timeout=20)
    assert process.returncode == 4 and out == "text\n"


def test_a_kill_of_it_is_a_kill_of_the_program():
    with subprocess.Popen([EXEC, "--", "sh", "-c", "echo $$; exec sleep 60"], text=True,
                          stdout=subprocess.PIPE) as process:
        assert process.stdout
        pid = int(process.stdout.readline())
        process.kill()
        assert process.stdout.read() == ""  # the end: the program had it open
    assert not Path(f"/proc/{pid}/exe").exists()


# ---- what it cannot reach ----

def refused(path: Path | str, *arguments: str) -> str:
    done = run_exec("--", str(path), *arguments)
    assert done.returncode == 125 and done.stderr.count("\n") == 1, done.stderr
    return done.stderr


def test_a_static_program_is_refused_also_as_the_interpreter_of_a_script(tmp_path):
    (tmp_path / "p.c").write_text("int main(void) { return 0; }\n")
    built = subprocess.run(["cc", "-static", "-o", tmp_path / "p", tmp_path / "p.c"],
                           capture_output=True, text=True)
    if built.returncode != 0:
        pytest.skip("cc builds no static program here")
    assert "is a static program" in refused(tmp_path / "p")
    script = tmp_path / "script"
    script.write_text(f"#! {tmp_path / 'p'} -x\n")
    script.chmod(0o755)
    assert f"{tmp_path / 'p'} is a static program" in refused(script)
    script.write_text("#!/bin/sh\nexit 5\n")
    assert run_exec("--", str(script)).returncode == 5


def test_a_go_program_is_refused(tmp_path):
    if not shutil.which("objcopy"):
        pytest.skip("objcopy is not installed")
    (tmp_path / "build").write_text("go")
    subprocess.run(["objcopy", "--add-section", f".go.buildinfo={tmp_path / 'build'}", "/bin/true",
                    tmp_path / "go"], check=True)
    assert "is a Go program" in refused(tmp_path / "go")


def test_a_program_of_another_class_is_refused(tmp_path):
    image = bytearray(Path("/bin/true").read_bytes())
    image[4] = 3 - image[4]
    (tmp_path / "other").write_bytes(image)
    (tmp_path / "other").chmod(0o755)
    assert "-bit program" in refused(tmp_path / "other")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a program of another user")
def test_a_setuid_program_is_refused(tmp_path):
    shutil.copy("/bin/true", tmp_path / "setuid")
    os.chown(tmp_path / "setuid", 65534, 65534)
    (tmp_path / "setuid").chmod(0o4755)
    assert "setuid" in refused(tmp_path / "setuid")


@pytest.mark.parametrize("code, says", [
    ("libc.syscall(425, 4, ctypes.create_string_buffer(120))", "io_uring"),
    ("libc.prctl(38, 1, 0, 0, 0); libc.prctl(22, 2, ctypes.byref(program))", "seccomp")])
def test_what_the_library_cannot_see_is_said(tmp_path, code, says):
    text = ("import ctypes, struct, time; libc = ctypes.CDLL(None, use_errno=True); "
            "allow = ctypes.create_string_buffer(struct.pack('HBBI', 6, 0, 0, 0x7fff0000)); "
            "program = ctypes.create_string_buffer(struct.pack('HxxxxxxP', 1, "
            f"ctypes.addressof(allow))); {code}; print(flush=True); time.sleep(1)")
    with under(tmp_path, sys.executable, "-c", text) as run:
        assert run.ended() == 0, run.stderr
    if says == "io_uring" and Path("/proc/sys/kernel/io_uring_disabled").exists() and \
            Path("/proc/sys/kernel/io_uring_disabled").read_text() != "0\n":
        pytest.skip("this system has no io_uring")
    assert says in run.report["limit"]


def test_the_cost_of_a_call_is_said_in_ns(tmp_path):
    with under(tmp_path, "true") as run:
        assert run.ended() == 0
    assert 0 <= run.report["call_ns"] < (100_000 if SANITIZED else 5_000)
