# SPDX-License-Identifier: MIT
"""subject=: a program that uncork-server starts in place of its own data threads. The program of
these tests is a script that answers reads of NBD with zeros, and does what its parameters say."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from combinations import names
from control import Channel, plan_send
from programs import (
    SERVER,
    WITHIN_S,
    client_run,
    client_start,
    record_sum,
    server_run,
    server_started,
)

SCRIPT = r'''
import os, socket, ssl, struct, sys, time
mode = sys.argv[1]
if mode == "version":
    sys.exit(print("script 1.2\nnot this line"))
if mode == "dies":
    sys.exit("it has no licence")
if mode == "needs":
    sys.exit(f"{os.listdir('content')} {os.path.getsize('content/4096')} {sys.argv[2:]}")
if mode == "late":
    time.sleep(6)
if mode == "never":
    time.sleep(60)
if mode == "forks" and os.fork() == 0:
    time.sleep(60)
if mode == "dates":
    shown = ssl._ssl._test_decode_cert("certificate.pem")
    sys.exit(f"{shown['notBefore']} to {shown['notAfter']}")
if "LISTEN_FDS" in os.environ:
    listener = socket.socket(fileno=3)
elif sys.argv[3:] and sys.argv[3]:
    listener = socket.create_server(sys.argv[3], family=socket.AF_UNIX)
else:
    listener = socket.create_server(("127.0.0.1", int(sys.argv[2])))
with open("pid", "w") as file:
    print(os.getpid(), file=file)
print("serves", flush=True)
while True:
    peer, _ = listener.accept()
    def take(size):
        data = b""
        while len(data) < size:
            part = peer.recv(size - len(data))
            if not part:
                raise ConnectionError
            data += part
        return data
    try:
        peer.sendall(b"NBDMAGICIHAVEOPT\0\3")
        reply = lambda option, kind, body: struct.pack(
            ">QIII", 0x3E889045565A9, option, kind, len(body)) + body
        take(4), take(16)
        if mode == "tls":
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(sys.argv[2])
            peer.sendall(reply(5, 1, b""))
            peer = context.wrap_socket(peer, server_side=True)
            take(16)
        take(6)
        peer.sendall(reply(7, 3, struct.pack(">HQH", 0, 1 << 26, 1)) + reply(7, 1, b""))
        served = 0
        while True:
            _, _, _, cookie, _, size = struct.unpack(">IHHQQI", take(28))
            if mode in ("leaves", "forks") and served == 50:
                sys.exit("had enough")
            peer.sendall(struct.pack(">IIQ", 0x67446698, 0, cookie) + bytes(size))
            served += 1
    except (ConnectionError, ssl.SSLError):
        peer.close()
'''
RELAY = r'''
import socket, sys, threading
host, port = sys.argv[1].rsplit(":", 1)
listener = socket.socket(fileno=3)
def carry(source, sink):
    while data := source.recv(65536):
        sink.sendall((DAMAGE)(data))
    sink.shutdown(socket.SHUT_WR)
while True:
    one, _ = listener.accept()
    two = socket.create_connection((host, int(port)))
    for pair in ((one, two), (two, one)):
        threading.Thread(target=carry, args=pair, daemon=True).start()
'''
SWAP = "lambda data: data.swapcase() if len(data) > 99 else data"  # not the token


@pytest.fixture
def definitions(tmp_path: Path) -> Path:
    """The file of --subjects. The folder of a test is closed to `nobody`, so the script is an
    argument."""
    common = {"program": sys.executable, "version": "--version", "protocols": ["nbd"],
              "transports": ["tcp", "unix"], "parameters": {"mode": "serve"}}
    other = subprocess.run(["openssl", "req", "-x509", "-newkey", "ed25519", "-nodes", "-subj",
                            "/CN=uncork", "-keyout", "-"], check=True, capture_output=True,
                           text=True).stdout if shutil.which("openssl") else ""
    relay = common | {"protocols": ["raw"], "transports": ["tcp"], "listens": "inherited"}
    closed = tmp_path / "closed"
    closed.write_text("#!/no/such/interpreter\n")
    closed.chmod(0o755)
    path = tmp_path / "subjects.json"
    path.write_text(json.dumps({
        "script": common | {"listens": "inherited", "arguments": ["-c", SCRIPT, "{mode}"]},
        "binds": common | {"listens": "address", "arguments": ["-c", SCRIPT, "{mode}", "{port}",
                                                              "{path}"]},
        "needs": common | {"listens": "address", "needs": ["content", "certificate"],
                           "arguments_tls": [],
                           "arguments": ["-c", SCRIPT, "needs", "{transport}.{security}"]},
        "dated": common | {"listens": "address", "needs": ["certificate"], "arguments_tls": [],
                           "arguments": ["-c", SCRIPT, "dates"]},
        "certified": common | {
            "listens": "inherited", "needs": ["certificate"], "arguments_tls": [],
            "parameters": {"shows": "certificate.pem"}, "files": {"other.pem": other},
            "arguments": ["-c", SCRIPT, "tls", "{shows}"]},
        "closed": common | {"listens": "inherited", "program": str(closed), "arguments": []},
        "absent": common | {"listens": "inherited", "program": "no-such-program", "arguments": []},
        "relay": relay | {"arguments": ["-c", RELAY.replace("DAMAGE", "bytes"), "{sink}"]},
        "damages": relay | {"arguments": ["-c", RELAY.replace("DAMAGE", SWAP),
                                          "{sink}"]},
    }))
    return path


@pytest.fixture(scope="module", autouse=True)
def late(tmp_path_factory: pytest.TempPathFactory) -> Iterator[subprocess.Popen[str]]:
    """A run whose subject needs six seconds to listen, beside the other tests."""
    path = tmp_path_factory.mktemp("late") / "subjects.json"
    path.write_text(json.dumps({"late": {
        "program": sys.executable, "version": "--version", "protocols": ["nbd"],
        "transports": ["tcp"], "listens": "address",
        "arguments": ["-c", SCRIPT, "late", "{port}"]}}))
    client = client_start("--subjects", str(path), *WORDS.split(), "subject=late")
    yield client
    client.kill()
    client.communicate()


def serving_in(folder: Path) -> int:
    """The process of the one subject there, when it serves."""
    until = time.monotonic() + WITHIN_S
    while not (said := "".join(file.read_text() for file in folder.glob("uncork-subject-*/pid"))):
        assert time.monotonic() < until
        time.sleep(0.01)
    return int(said)


WORDS = "protocol=nbd op=read:4K messages=100 place=free"


@pytest.mark.parametrize("subject", ["script", "binds"])
@pytest.mark.parametrize("rest", ["", "warmup=0s", "depth=8 connections=1", "transport=unix"])
def test_a_subject_answers_in_place_of_the_server(subject: str, rest: str, definitions: Path,
                                                  temporary: Path) -> None:
    done = client_run("--subjects", str(definitions), "--json",
                      *f"{WORDS} subject={subject} {rest}".split())
    assert done.returncode == 0, done.stderr
    record = json.loads(done.stdout)
    assert "server" not in record
    assert record_sum(record["client"], "messages_received") == 100
    assert record["subject"]["name"] == subject
    assert record["subject"]["version"].startswith("Python 3")
    assert record["subject"]["cpu_ns"] > 0
    assert re.fullmatch("[0-9a-f]{64}", record["subject"]["sha256"])
    assert record["subject"]["arguments"][1] == "-c"
    if shutil.which("dpkg-query") and Path(sys.executable).is_relative_to("/usr/bin"):
        assert record["subject"]["package"].startswith("python3")


@pytest.mark.parametrize("wrong", [
    "[]", '{"script": []}', '{"script": {"protocols": [7]}}', '{"script": {"arguments": [null]}}',
    '{"script": {"parameters": {"mode": 7}}}', '{"script": {"files": {"a": ["b"]}}}',
    '{"script": {"listens": "address"}}', '{"script": {"program": ["sh"]}}',
])
def test_a_file_that_has_no_definitions_is_one_line(wrong: str, tmp_path: Path) -> None:
    (tmp_path / "wrong.json").write_text(wrong)
    done = client_run("--subjects", str(tmp_path / "wrong.json"), *WORDS.split())
    first, second = done.stderr.splitlines()  # of the server, and of the client that started it
    assert first == (f"uncork-server: --subjects {tmp_path}/wrong.json: not an object of "
                     "definitions by name, each with a program, and with lists and tables of texts")
    assert done.returncode == 1 and second.endswith("the server ended with status 2")


def test_a_load_is_no_subject(tmp_path: Path) -> None:
    """Its definition has the keys of a subject but `listens`."""
    load = {"program": sys.executable, "protocols": ["nbd"], "transports": ["tcp"], "arguments": []}
    (tmp_path / "subjects.json").write_text(json.dumps({"asks": load}))
    done = client_run("--subjects", str(tmp_path / "subjects.json"), *WORDS.split(), "subject=asks")
    assert "subject=asks: its definition does not say how it listens" in done.stderr


TLS = [name for name in names("security") if name not in ("plain", "ktls")]


@pytest.mark.parametrize("security", TLS)
def test_a_subject_shows_the_certificate_of_its_run(security: str, definitions: Path,
                                                    temporary: Path) -> None:
    done = client_run("--subjects", str(definitions), "--json", *WORDS.split(),
                      "subject=certified", f"security={security}")
    assert done.returncode == 0, done.stderr
    options = json.loads(done.stdout)["client"]["threads"][0]["options"]
    assert (options["tls_version"], options["key_exchange"]) == ("1.3", "certificate")


@pytest.mark.parametrize("security", TLS)
def test_another_certificate_is_refused(security: str, definitions: Path, temporary: Path) -> None:
    if not shutil.which("openssl"):
        pytest.skip("openssl is not installed, which makes the other certificate")
    done = client_run("--subjects", str(definitions), *WORDS.split(), "subject=certified",
                      "certified.shows=other.pem", f"security={security}")
    assert done.returncode == 1
    assert "its certificate is not the one of this run" in done.stderr
    assert done.stderr.count("\n") == 1


STREAM = "workload=proxy subject=relay messages=20 verify=on place=free"


@pytest.mark.parametrize("words", [
    "direction=send", "direction=receive connections=4 warmup=0s", "direction=both connections=2",
    "direction=send security=gnutls", "direction=receive security=openssl connections=2"])
def test_a_subject_relays_in_place_of_the_proxy(words: str, definitions: Path, temporary: Path,
                                                ) -> None:
    done = client_run("--subjects", str(definitions), "--json", *f"{STREAM} {words}".split())
    assert done.returncode == 0, done.stderr
    record = json.loads(done.stdout)
    assert "proxy" not in record and record["subject"]["cpu_ns"] > 0
    sink = record["subject"]["arguments"][-1]
    assert re.fullmatch(r"127\.0\.0\.1:\d+", sink)
    for sender, receiver in (("client", "server"), ("server", "client")):
        drives = record[sender]["drives"]
        assert record_sum(record[sender], "bytes_sent") == record_sum(
            record[receiver], "bytes_received") == (20 * 65536 if drives else 0)


@pytest.mark.parametrize(("run", "words", "why"), [
    (WORDS, "subject=script script.mode=dies",
     "ended with status 1; its log ends: it has no licence"),
    (WORDS, "subject=binds binds.mode=dies",
     "ended with status 1; its log ends: it has no licence"),
    (WORDS, "subject=script script.mode=leaves",
     "ended with status 1; its log ends: serves;had enough"),
    (WORDS, "subject=script script.mode=forks", "its log ends: serves;had enough"),
    (WORDS, "subject=binds binds.mode=never ready=1s",
     "the subject binds accepted no connection on 127.0.0.1:"),
    (WORDS, "subject=binds binds.mode=never ready=1s", " within 1 s; ready= gives it more time"),
    (WORDS, "subject=closed", "/closed: Permission denied" if os.getuid() == 0 else
     "this user cannot execute"),
    (WORDS, "subject=absent", "needs the program no-such-program: uncork setup absent"),
    (WORDS, "subject=needs security=gnutls",
     "ended with status 1; its log ends: ['4096'] 4096 ['tcp.tls']"),
    (WORDS, "subject=dated security=gnutls",
     "its log ends: Jan  1 00:00:00 1970 GMT to "),
    (WORDS, "subject=needs security=gnutls handshake=psk",
     "not work with handshake=psk: it uses a cert"),
    (WORDS, "subject=other", "has no definition of it"),
    (WORDS, "subject=script script.colour=red", "has no such parameter"),
    (WORDS, "subject=script protocol=nbd-structured", "does not work with protocol=nbd-structured"),
    (WORDS, "subject=script security=gnutls", "does not work with TLS"),
    (WORDS, "subject=script other.mode=1", "'other.mode' has no effect"),
    (WORDS, "subject=relay", "subject=relay does not work with protocol=nbd"),
    (WORDS, "subject=Script", "uncork subjects lists"),
    (STREAM, "subject=damages", "received wrong content at byte"),
    (STREAM, "subject=script", "subject=script does not work with protocol=raw"),
    (STREAM, "transport=unix", "subject=relay does not work with transport=unix"),
    (STREAM, "write=cork", "'write' has no effect"),
    (STREAM, "peer=127.0.0.1:1 control=none", "needs no peer=: uncork starts it"),
    (STREAM, "workload=stream", "needs a protocol, like protocol=nbd, or workload=proxy"),
])
def test_a_subject_that_cannot_run_says_why(run: str, words: str, why: str, definitions: Path,
                                            temporary: Path) -> None:
    given = {word.partition("=")[0]: word for word in f"{run} {words}".split()}
    done = client_run("--subjects", str(definitions), *given.values())
    assert done.returncode in (1, 2)
    assert why in done.stderr and done.stderr.count("\n") == 1, done.stderr


def test_a_proxy_starts_a_relay_only_to_a_sink_that_its_owner_allows(definitions: Path,
                                                                     temporary: Path) -> None:
    with server_started("127.0.0.1:0", "--proxy", "--subjects", str(definitions), "--allow-sink",
                        "192.0.2.0/24") as proxy, server_started() as server:
        done = client_run(*STREAM.split(), f"via={proxy.address}", f"server={server.address}")
    assert done.returncode == 1
    assert "this proxy may not connect to 127.0.0.1" in done.stderr
    done = server_run("--listen", "127.0.0.1:0", "--proxy", "--subjects", str(definitions))
    assert done.returncode == 2 and "give --allow-sink or --psk" in done.stderr


def test_a_server_starts_no_program_unless_its_owner_allows_it(definitions: Path) -> None:
    with server_started() as server:
        done = client_run("--subjects", str(definitions), *WORDS.split(), "subject=script",
                          f"server={server.address}")
    assert done.returncode == 1
    assert "this server has no definition" in done.stderr


def test_two_runs_of_a_batch_each_have_a_subject_of_their_own(definitions: Path,
                                                              temporary: Path) -> None:
    done = client_run("--subjects", str(definitions), "--batch", "-",
                      stdin="".join(f"{WORDS} subject={name}\n"
                                    for name in ("script", "own", "script")))
    first, own, last, _ = map(json.loads, done.stdout.splitlines())
    assert first["status"] == own["status"] == last["status"] == "ok", done.stdout
    assert "server" in own and "subject" not in own
    assert first["words"]["subject"] == "script"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_client_that_is_killed_leaves_no_process_and_no_folder(
        number: signal.Signals, definitions: Path, temporary: Path) -> None:
    """The fixture `temporary` looks."""
    client = client_start("--subjects", str(definitions), "protocol=nbd", "op=read:4K",
                          "place=free", "subject=script", "duration=60s")
    assert serving_in(temporary)
    client.send_signal(number)
    client.communicate(timeout=10)


def test_a_subject_that_is_killed_fails_its_run(definitions: Path, temporary: Path) -> None:
    client = client_start("--subjects", str(definitions), "protocol=nbd", "op=read:4K",
                          "place=free", "subject=script", "duration=60s")
    os.kill(serving_in(temporary), signal.SIGKILL)
    _, said = client.communicate(timeout=20)
    assert client.returncode == 1
    assert "was ended by signal 9" in said


def test_a_subject_that_listens_after_six_seconds_runs(late: subprocess.Popen[str]) -> None:
    _, said = late.communicate(timeout=60)
    assert (late.returncode, said) == (0, "")


def test_the_output_of_a_program_is_a_new_file_and_no_device_changes_its_owner(
        tmp_path: Path) -> None:
    """root gives the output to the user of the program."""
    before = os.stat("/dev/null")
    (tmp_path / "link").symlink_to("/dev/null")
    no_program = (str(SERVER), "--start-child", "1", "/tmp", "x", "-", "0", "", "no/slash")
    assert subprocess.run(no_program, capture_output=True).returncode == 126
    for output in ("/dev/null", "link"):
        done = subprocess.run(
            [str(SERVER), "--start-child", str(os.getpid()), str(tmp_path), output,
             "nobody" if os.getuid() == 0 else "-", "0", "", "/bin/true"],
            capture_output=True, text=True)
        assert done.returncode == 126
        assert done.stderr == "cannot make the file for the output: File exists\n"
    (tmp_path / "subjects.json").write_text(json.dumps({"writes": {
        "program": "true", "version": "--version", "protocols": ["nbd"], "transports": ["tcp"],
        "listens": "inherited", "arguments": [], "files": {"../../../../dev/null": "all"}}}))
    done = client_run("--subjects", str(tmp_path / "subjects.json"), *WORDS.split(),
                      "subject=writes")
    assert "cannot prepare the subject writes" in done.stderr
    after = os.stat("/dev/null")
    assert (after.st_uid, after.st_gid, after.st_mode) == (before.st_uid, before.st_gid,
                                                           before.st_mode)


@pytest.mark.parametrize("messages", [["marked"] * 4, ["failed", "marked", "marked"]])
def test_a_client_that_repeats_its_messages_ends_no_server(messages: list[str],
                                                           definitions: Path) -> None:
    version = json.loads(client_run("--facts").stdout)["client"]["versions"]["uncork"]
    words = (*WORDS.split(), "subject=script")
    failure = {"kind": "failed", "phase": "run", "text": "for a test"}
    with server_started("127.0.0.1:0", "--subjects", str(definitions)) as server:
        channel = Channel(server.address)
        assert plan_send(channel, version, *words)["type"] == "ready"
        for message in messages:
            channel.send(message, **(failure if message == "failed" else {}))
        channel.close()
        channel = Channel(server.address)
        channel.socket.settimeout(20)
        assert plan_send(channel, version, *words)["type"] in ("wait", "ready")
        assert server.process.poll() is None
        channel.close()
