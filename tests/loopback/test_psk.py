# SPDX-License-Identifier: MIT
"""The control channel by TLS with a pre-shared key: who is let in, who is not, and what each is
told."""

from __future__ import annotations

import os
import re
import signal
import socket
import time
from contextlib import ExitStack
from pathlib import Path

import pytest

from control import Channel, connect, plan_send
from programs import (
    WITHIN_S,
    Server,
    busy,
    client_json,
    client_run,
    client_start,
    log_of,
    server_run,
    server_started,
    trouble,
)

ONE = ["message=4", "reply=2", "messages=1", "warmup=0s", "place=free"]
LONG = ["duration=60s", "warmup=0s", "place=free"]
KEY = bytes(range(32)).hex()
ANOTHER_KEY = bytes(range(1, 33)).hex()
HELLO = bytes.fromhex("16030100c8010000c40303")  # the beginning of a ClientHello of 200 bytes

_tried = client_run("--psk", "/dev/null", "server=127.0.0.1:1")
pytestmark = pytest.mark.skipif("no GnuTLS" in _tried.stderr, reason=_tried.stderr.strip())


def keys_write(path: Path, **keys: str) -> str:
    path.touch(0o600)
    path.write_text("".join(f"{identity}:{key}\n" for identity, key in keys.items()))
    return str(path)


@pytest.fixture
def keys(tmp_path: Path) -> str:
    """What the server has: two identities."""
    return keys_write(tmp_path / "keys", alice=KEY, bob=ANOTHER_KEY)


def turned_away(server: Server, keys: str) -> int:
    """What the report of a run says, which must go well."""
    (record,) = client_json("--psk", keys, "--json", f"server={server.address}", *ONE)
    assert record["status"] == "ok" and "turned_away" not in record["client"]
    return record["server"]["turned_away"]


@pytest.mark.parametrize("words", [
    ["verify=on", "messages=10", "message=3x1000"],
    ["connections=200", "engine=poll", "messages=200"],  # a report in many pieces
    ["workload=stream", "direction=both", "messages=100", "transport=unix"],
    ["workload=connect", "engine=poll", "messages=20"],
])
def test_a_run_goes_as_without_a_key(keys: str, words: list[str]) -> None:
    with server_started("127.0.0.1:0", "--psk", keys) as server:
        (record,) = client_json("--psk", keys, "--json", f"server={server.address}", "warmup=10ms",
                                "place=free", *words)
        assert record["status"] == "ok"
        assert record["server"]["turned_away"] == 0


def test_facts_batches_and_unix_sockets_go_by_tls_too(keys: str, tmp_path: Path) -> None:
    with server_started(f"unix:{tmp_path}/control", "--psk", keys) as server:
        (facts,) = client_json("--psk", keys, "--facts", f"server={server.address}")
        assert facts["client"]["id"] == facts["server"]["id"]
        *records, end = client_json("--psk", keys, "--batch", "-",
                                    stdin=f"server={server.address} {' '.join(ONE)}\n" * 3)
        assert [record["status"] for record in records] == ["ok"] * 3 and end == {"end": 3}


def test_a_proxy_and_its_sink_have_the_key_too(keys: str) -> None:
    with server_started("127.0.0.1:0", "--psk",
                        keys) as server, server_started("127.0.0.1:0", "--psk", keys,
                                                        "--proxy") as proxy:
        (record,) = client_json("--psk", keys, "--json", "workload=proxy", f"via={proxy.address}",
                                f"server={server.address}",
                                "messages=20", "warmup=0s", "place=free", "verify=on")
        assert record["status"] == "ok"
        assert record["proxy"]["turned_away"] == record["server"]["turned_away"] == 0


def test_any_identity_of_the_server_is_let_in_by_any_file(keys: str, tmp_path: Path) -> None:
    bob = keys_write(tmp_path / "bob", bob=ANOTHER_KEY.upper())
    hidden = tmp_path / "hidden"
    hidden.touch(0o600)
    hidden.write_text(f"#{b'alice'.hex()}:{KEY}")
    with server_started("127.0.0.1:0", "--psk", keys) as server:
        assert turned_away(server, bob) == turned_away(server, str(hidden)) == 0
        reading, writing = os.pipe()
        os.write(writing, f"alice:{KEY}\n".encode())
        os.close(writing)
        done = client_run("--psk", f"/dev/fd/{reading}", f"server={server.address}", *ONE,
                          pass_fds=[reading])
        os.close(reading)
        assert done.returncode == 0, done.stderr


def test_who_has_no_key_or_a_wrong_one_is_told_so_and_counted(keys: str, tmp_path: Path) -> None:
    wrong = keys_write(tmp_path / "wrong", alice=ANOTHER_KEY)
    unknown = keys_write(tmp_path / "unknown", mallory=KEY)
    first = time.monotonic()
    with server_started("127.0.0.1:0", "--psk", keys) as server:
        for options, says in (
            ([], "this server takes only clients with a key: give --psk FILE"),
            (["--psk", wrong],
             f"the server {server.address} has another key for 'alice' than our --psk file"),
            (["--psk", unknown], f"the server {server.address} knows no key for 'mallory'"),
        ):
            began = time.monotonic()
            done = client_run(*options, f"server={server.address}", *ONE)
            assert done.returncode == 1
            assert says in done.stderr and done.stderr.count("\n") == 1
            assert time.monotonic() - began < WITHIN_S
        assert turned_away(server, keys) == 3
        assert turned_away(server, keys) == 0
        lines = [line for line in log_of(server).splitlines() if " session " not in line]
        assert len(lines) <= 1 + time.monotonic() - first, "at most one line a second"
        assert lines[0].startswith("uncork-server: rejected a client at 127.0.0.1:")
        assert "speaks no TLS" in lines[0]


def test_a_client_with_a_key_says_that_a_server_has_none(keys: str) -> None:
    with server_started() as server:
        done = client_run("--psk", keys, f"server={server.address}", *ONE)
        assert done.returncode == 1 and done.stderr.count("\n") == 1
        assert f"{server.address} closed the connection at the first bytes of TLS" in done.stderr
        (record,) = client_json("--json", f"server={server.address}", *ONE)
        assert record["server"]["turned_away"] == 1
        assert "speaks TLS, but this end has no key: give --psk FILE" in log_of(server)


def test_garbage_and_plain_messages_end_their_own_connection_only(keys: str) -> None:
    with server_started("127.0.0.1:0", "--psk", keys) as server:
        garbage = [b"GET / HTTP/1.1\r\n\r\n", b"\0", HELLO + bytes(194),
                   b"\x15\x03\x03\x00\x02\x02\x28", b"\x16\x03\x03\xff\xff" + bytes(100)]
        for sent in garbage:
            with connect(server.address) as stranger:
                stranger.settimeout(WITHIN_S)
                stranger.sendall(sent)
                while stranger.recv(4096):
                    pass
        channel = Channel(server.address)
        assert plan_send(channel, "0", *ONE)["type"] == "refused"
        with pytest.raises(EOFError):
            channel.receive()
        with connect(server.address):  # came to the wrong door, said nothing, went: nobody
            pass
        assert turned_away(server, keys) == len(garbage) + 1


def test_who_stalls_at_the_door_is_sent_away_and_the_next_is_served(keys: str) -> None:
    with server_started("127.0.0.1:0", "--psk", keys) as server, ExitStack() as open_ones:
        began = time.monotonic()
        silent, half, cut = (open_ones.enter_context(connect(server.address)) for _ in range(3))
        half.sendall(HELLO)
        cut.sendall(HELLO)
        cut.close()
        assert turned_away(server, keys) == 1
        for stranger in (silent, half):
            stranger.settimeout(WITHIN_S)
            assert stranger.recv(4096) == b""
        assert time.monotonic() - began < WITHIN_S
        assert turned_away(server, keys) == 2
        assert "closed the connection in the middle of the TLS handshake" in log_of(server)


def test_a_refusal_of_a_full_server_crosses_the_handshake(keys: str) -> None:
    with server_started("127.0.0.1:0", "--psk", keys, "--max-sessions", "1") as server:
        running = client_start("--psk", keys, f"server={server.address}", *LONG)
        busy(server.pid)
        done = client_run("--psk", keys, f"server={server.address}", *ONE)
        running.terminate()
        running.communicate(timeout=20)
        assert done.returncode == 1
        assert "this server has 1 sessions already, as many as --max-sessions allows" in done.stderr


def answer(listener: socket.socket, sent: bytes) -> socket.socket:
    """Takes the connection of a client, reads its hello, and answers it."""
    listener.settimeout(WITHIN_S)
    connection, _ = listener.accept()
    hello = connection.recv(4096)
    assert hello[:2] == b"\x16\x03", "a client with a key speaks TLS and nothing else"
    connection.sendall(sent)
    return connection


def test_what_a_client_meets_in_place_of_a_server_is_named_within_5_s(keys: str) -> None:
    meets = [
        ("the server did not finish the TLS handshake within 4 s", (b"", False)),
        ("the server did not finish the TLS handshake within 4 s",
         (b"\x16\x03\x03\x00\x7a\x02\x00", False)),
        ("the server closed the connection at the first bytes of TLS", (b"", True)),
        ("the server closed the connection in the middle of the TLS handshake",
         (b"\x16\x03\x03\x00\x7a\x02\x00", True)),
        ("the server speaks no TLS: start it with --psk FILE", (b"SSH-2.0-x\r\n", False)),
        ("the server sent no valid TLS",
         (b"\x16\x03\x03\x00\x04\xff\x00\x00\x00", False)),
    ]
    with ExitStack() as stack:
        stopped = stack.enter_context(server_started("127.0.0.1:0", "--psk", keys))
        clients = [("the server has been silent for 4 s",
                    client_start("--psk", keys, f"server={stopped.address}", *LONG))]
        busy(stopped.pid)
        for says, (sent, closes) in meets:
            listener = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
            clients.append((says, client_start("--psk", keys,
                                               f"server=127.0.0.1:{listener.getsockname()[1]}",
                                               *ONE)))
            connection = stack.enter_context(answer(listener, sent))
            if closes:
                connection.close()
        stopped.process.send_signal(signal.SIGSTOP)
        began = time.monotonic()
        for says, client in clients:
            _, error = client.communicate(timeout=20)
            assert client.returncode == 1 and error.count("\n") == 1, error
            assert says in re.sub(r" 127\.0\.0\.1:\d+", "", error)
        assert time.monotonic() - began < WITHIN_S
        stopped.process.send_signal(signal.SIGCONT)


def test_no_byte_of_a_key_is_where_others_look(keys: str) -> None:
    with server_started("127.0.0.1:0", "--psk", keys) as server:
        client = client_start("--psk", keys, "--json", f"server={server.address}",
                              "duration=300ms", "warmup=0s", "place=free")
        seen = [Path(f"/proc/{pid}/{name}").read_bytes() for pid in (client.pid, server.pid)
                for name in ("cmdline", "environ")]
        out, error = client.communicate(timeout=20)
        assert client.returncode == 0, error
        everything = b"".join(seen) + out.encode() + error.encode() + log_of(server).encode()
    assert b"--psk" in everything, "it was looked at while they ran"
    for key in (KEY, ANOTHER_KEY):
        for part in (key[:16], key[-16:]):
            assert part.encode() not in everything.lower() and bytes.fromhex(part) not in everything


def test_another_machine_needs_a_key_or_a_word(keys: str) -> None:
    with server_started("0.0.0.0:0", "--psk", keys) as server:
        assert turned_away(server, keys) == 0
        refused = client_run(f"server={server.address}", *ONE)
        assert refused.returncode == 2 and refused.stderr.count("\n") == 1
        assert (f"the server {server.address} is on another machine: give --psk FILE here and "
                "there, or --insecure") in refused.stderr
        assert client_run("--insecure", f"server={server.address}", *ONE).returncode == 1
        assert "warning" not in log_of(server)
    with server_started("0.0.0.0:0", "--insecure") as server:
        assert client_run("--insecure", f"server={server.address}", *ONE).returncode == 0


def test_a_key_crosses_only_what_nobody_else_can_read(keys: str) -> None:
    if why := trouble("security=gnutls"):
        pytest.skip(why)
    with server_started("127.0.0.1:0", "--psk", keys) as server:
        done = client_run("--psk", keys, f"server={server.address}", "security=gnutls",
                          "verify=on", *ONE)
        assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(("arguments", "says"), [
    (["--psk", "/nonexistent"], "/nonexistent: No such file or directory"),
    (["--psk"], "needs a"),
    (["--psk", "{keys}", "--psk", "{keys}"], "given twice"),
    (["--psk", "{keys}", "--insecure"], "contradict"),
    (["--psk", "{open}"], "other users may use these keys, by mode 0640; chmod 600 "),
    (["--psk", "{wrong}"], "wrong:2: no colon"),
])
def test_a_wrong_key_file_or_option_is_answered_in_one_line_by_both(
    arguments: list[str], says: str, keys: str, tmp_path: Path
) -> None:
    (tmp_path / "open").write_text(f"alice:{KEY}\n")
    (tmp_path / "open").chmod(0o640)
    keys_write(tmp_path / "wrong")
    (tmp_path / "wrong").write_text(f"alice:{KEY}\n{ANOTHER_KEY}\n")
    filled = [argument.format(keys=keys, open=tmp_path / "open", wrong=tmp_path / "wrong")
              for argument in arguments]
    asked = server_run("--listen", "127.0.0.1:0", *filled)
    for done in (asked, client_run(*filled, *(["server=127.0.0.1:1"] if len(filled) > 1 else []))):
        assert done.returncode == 2 and done.stderr.count("\n") == 1
        assert says in done.stderr and KEY[:8] not in done.stderr and ANOTHER_KEY[
            :8] not in done.stderr


@pytest.mark.parametrize("security", ["plain", "gnutls", "openssl", "ktls"])
def test_no_end_writes_its_keys_because_of_a_variable(
    security: str, keys: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
) -> None:
    """On a control channel with TLS and on the data connections of its run."""
    if why := trouble(f"security={security}"):
        pytest.skip(why)
    log = tmp_path / "log"
    monkeypatch.setenv("SSLKEYLOGFILE", str(log))
    with server_started("127.0.0.1:0", "--psk", keys) as server:
        done = client_run("--psk", keys, f"server={server.address}", f"security={security}", *ONE)
        assert done.returncode == 0, done.stderr
    assert not log.exists(), log.read_text()[:40]


@pytest.mark.parametrize("security", ["plain", "gnutls", "openssl", "ktls"])
def test_an_end_writes_its_keys_where_an_option_says(security: str, keys: str,
                                                     tmp_path: Path) -> None:
    if why := trouble(f"security={security}"):
        pytest.skip(why)
    logs = [tmp_path / "server", tmp_path / "client"]
    with server_started("127.0.0.1:0", "--psk", keys, "--keylog", str(logs[0])) as server:
        done = client_run("--psk", keys, "--keylog", str(logs[1]), f"server={server.address}",
                          f"security={security}", *ONE)
        assert done.returncode == 0, done.stderr
    secrets = [{line for line in log.read_text().splitlines() if "_TRAFFIC_SECRET_0 " in line}
               for log in logs]
    assert len(secrets[0] & secrets[1]) == (2 if security == "plain" else 4)
    assert [log.stat().st_mode & 0o777 for log in logs] == [0o600, 0o600]
    logs[1].chmod(0o644)
    done = client_run("--keylog", str(logs[1]), *ONE)
    assert (done.returncode, done.stderr) == (
        1, f"uncork-client: --keylog {logs[1]}: other users can read it; chmod 600\n")


def test_options_that_say_nothing_here_are_refused(keys: str) -> None:
    for options in (["--psk", keys], ["--insecure"]):
        done = client_run(*options, *ONE)
        assert done.returncode == 2
        assert (f"{options[0]} is for a server that is there already: add server=HOST:PORT"
                in done.stderr)
    done = server_run("--listen", "127.0.0.1:0", "--plain", "echo", "--psk", keys)
    assert done.returncode == 2 and "--plain serves clients without a key" in done.stderr
