# SPDX-License-Identifier: MIT
"""What a client and a proxy do not believe of the other ends."""

from __future__ import annotations

import json
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from control import Channel, connect
from programs import client_run, preloaded, server_started

HERE, ELSEWHERE = "127.0.0.1", "127.0.0.2"  # two hosts, as far as an address tells
SHORT = ["messages=1", "warmup=0s", "place=free"]


# ---- where data connections go ----

def pour(source: socket.socket, target: socket.socket) -> None:
    """Passes bytes on until the source ends."""
    with suppress(OSError):
        while data := source.recv(65536):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)


@contextmanager
def control_relayed(server: str) -> Iterator[str]:
    """A host of its own that passes one control connection on to a server, and nothing else."""
    listener = socket.create_server((ELSEWHERE, 0))

    def relay() -> None:
        client = listener.accept()[0]
        target = connect(server)
        threading.Thread(target=pour, args=(target, client), daemon=True).start()
        pour(client, target)

    threading.Thread(target=relay, daemon=True).start()
    yield f"{ELSEWHERE}:{listener.getsockname()[1]}"
    listener.close()


def test_data_connections_go_to_the_host_that_control_has_reached() -> None:
    """The server behind the relay listens for data where control did not lead."""
    with server_started(f"{HERE}:0") as server, control_relayed(server.address) as relayed:
        done = client_run("--json", f"server={relayed}", *SHORT)
        assert done.returncode == 1
        assert f"cannot connect to {ELSEWHERE}:" in json.loads(done.stdout)["reason"]


def test_a_proxy_is_given_the_host_of_the_server_that_the_client_has_reached() -> None:
    with (server_started(f"{HERE}:0", "--proxy", "--allow-sink", HERE) as proxy,
          server_started(f"{HERE}:0") as server, control_relayed(server.address) as relayed):
        places = f"server={relayed}", f"via={proxy.address}"
        done = client_run("--json", *places, "workload=proxy", *SHORT)
        assert done.returncode == 1
        assert f"this proxy may not connect to {ELSEWHERE}:" in json.loads(done.stdout)["reason"]


@pytest.mark.parametrize(("listen", "hosts"), [
    ("0.0.0.0:0", [HERE, ELSEWHERE]), ("[::]:0", ["[::1]", HERE, ELSEWHERE]),
])
@pytest.mark.parametrize("transport", ["tcp", "unix"])
def test_a_server_on_all_addresses_is_reached_by_each_of_them(
    listen: str, hosts: list[str], transport: str,
) -> None:
    with server_started(listen, "--insecure") as server:
        for host in hosts:
            place = f"server={host}:{server.ready['port']}"
            done = client_run(place, f"transport={transport}", "connections=2", *SHORT)
            assert done.returncode == 0, done.stderr


# ---- what another end says ----

class Liar(Channel):
    """A server that says what a test tells it to: one session, on a client's control channel."""

    def __init__(self, listener: socket.socket) -> None:
        self.socket = listener.accept()[0]
        self.socket.settimeout(10)
        self.asked = self.receive()

    def run_play(self) -> None:
        """A run of one message from the client, up to its report."""
        with socket.create_server((HERE, 0)) as listener:
            self.ready_send(port=listener.getsockname()[1])
            data = listener.accept()[0]
        data.recv(20, socket.MSG_WAITALL)
        self.send("joined")
        self.send("marked")
        while data.recv(65536):
            pass
        data.close()

    def ready_send(self, **fields: object) -> None:
        """The message that says where the data connections come to."""
        usual = {"port": 1, "path": "", "token": "00" * 16, "key": "",
                 "handshake": "psk", "host": "a liar"}
        self.send("ready", **usual | fields)

    def report_send(self, report: object) -> None:
        """The last message of a run."""
        self.send("report", value=report)


def lied_to(
    lie: Callable[[Liar], object], *words: str, **options: Any,
) -> subprocess.CompletedProcess[str]:
    """A client whose server lies to it."""
    with socket.create_server((HERE, 0)) as listener:
        def play() -> None:
            liar = Liar(listener)
            with suppress(OSError, EOFError):
                lie(liar)
                liar.receive()  # until the client has gone
            liar.close()

        thread = threading.Thread(target=play)
        thread.start()
        place = f"server={HERE}:{listener.getsockname()[1]}"
        done = client_run(*words, place, within_s=30, **options)
        thread.join()
    return done


def run_lied_to(lie: Callable[[Liar], object]) -> tuple[str, dict[str, Any]]:
    """Standard error and the record of such a run, of one message of 4 bytes."""
    done = lied_to(lie, "--json", "workload=stream", "message=4", *SHORT)
    assert done.returncode in (0, 1) and done.stderr.count("\n") == done.returncode
    return done.stderr, json.loads(done.stdout)


def figures(**more: object) -> dict[str, object]:
    """A report that goes with the run."""
    return {"threads": [{"bytes_received": 4, "bytes_sent": 0}], **more}


def played_first(lie: Callable[[Liar], object]) -> Callable[[Liar], object]:
    """The lie after a run that went well."""
    def both(liar: Liar) -> None:
        liar.run_play()
        lie(liar)
    return both


HARMFUL = "\x1b]0;title\x07red\x7f \u009b31m \u202e end\r\n"
HARMLESS = "?]0;title?red? ??31m ??? end??"


def test_a_server_that_does_not_lie_is_believed() -> None:
    report = figures(engine="one\ttwo")
    error, record = run_lied_to(played_first(lambda liar: liar.report_send(report)))
    assert (error, record["status"], record["server"]["engine"]) == ("", "ok", "one\ttwo")


@pytest.mark.parametrize("kind", ["ok", "", "fine", "Failed", "failed "])
@pytest.mark.parametrize("type_", ["refused", "failed"])
def test_a_failure_that_says_that_all_is_well_is_no_good_record(type_: str, kind: str) -> None:
    said = {"kind": kind, "text": "all is well"} | ({"phase": "run"} if type_ == "failed" else {})
    error, record = run_lied_to(lambda liar: liar.send(type_, **said))
    assert record["status"] == "failed" and "server" not in record
    assert f"sent a control message '{type_}' without a valid 'kind'" in error


@pytest.mark.parametrize("lie", [
    lambda liar: liar.report_send(figures()), lambda liar: liar.send("facts", value={}),
    played_first(lambda liar: liar.send("facts", value=figures())),
])
def test_a_report_that_does_not_belong_here_ends_no_run_well(lie: Callable[[Liar], object]) -> None:
    error, record = run_lied_to(lie)
    assert record["status"] == "failed" and "server" not in record
    assert "the server sent a message that does not belong here" in error


@pytest.mark.parametrize(("report", "says"), [
    ([], "without a valid 'value'"), ([figures()], "without a valid 'value'"),
    ({}, "has no threads"),
    ({"threads": []}, "has no threads"), ({"threads": "one"}, "has no threads"),
    ({"threads": [7]}, "sent 4 bytes and the server received 0"),
    (figures(**{HARMFUL: 1}), "sent the name '?]0;title?red?"),
])
def test_a_report_without_figures_is_a_failed_run(report: object, says: str) -> None:
    error, record = run_lied_to(played_first(lambda liar: liar.report_send(report)))
    assert record["status"] == "failed" and says in error


@pytest.mark.parametrize("type_", ["refused", "failed"])
def test_what_a_server_says_when_it_fails_cannot_control_a_terminal(type_: str) -> None:
    phase = {"phase": HARMFUL} if type_ == "failed" else {}
    said = {"kind": "failed", "text": f"because {HARMFUL}"} | phase
    error, record = run_lied_to(lambda liar: liar.send(type_, **said))
    assert error == f"uncork-client: failed: because {HARMLESS}\n"
    assert record["reason"] == f"because {HARMLESS}"
    assert record["phase"] == (HARMLESS if phase else "start")


def test_a_text_of_any_length_comes_through_and_is_cut() -> None:
    """Cut in the middle of a character it would be no text that a record can hold."""
    for shift in range(3):
        said = {"kind": "failed", "text": "x" * shift + "\u2014" * 999}
        _, record = run_lied_to(lambda liar, said=said: liar.send("refused", **said))
        assert record["reason"].startswith("x" * shift + "???") and len(record["reason"]) == 599


def test_what_a_server_reports_cannot_control_a_terminal() -> None:
    report = figures(engine=HARMFUL, deep=[{"text": [HARMFUL]}])
    _, record = run_lied_to(played_first(lambda liar: liar.report_send(report)))
    assert record["server"]["engine"] == HARMLESS
    assert record["server"]["deep"] == [{"text": [HARMLESS]}]
    done = lied_to(lambda liar: liar.send("facts", value={"id": HARMFUL}), "--facts")
    assert json.loads(done.stdout)["server"] == {"id": HARMLESS}


@pytest.mark.parametrize("place", [
    {"port": 0}, {"port": -1}, {"port": 65536}, {"port": 1 << 40},
    {"port": 7, "path": "/run/docker.sock"}, {"port": 0, "path": "/run/docker.sock"},
])
def test_a_place_that_is_no_port_is_not_connected_to(place: dict[str, object]) -> None:
    error, record = run_lied_to(lambda liar: liar.ready_send(**place))
    assert record["status"] == "failed" and "has no valid port or path for transport=tcp" in error


# ---- when it says so ----

# The client waits 30 s for a report. This lets the end of that time fall into the turn of the loop
# that takes the report.
MEETING = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <uv.h>

static uv_timer_t *patience;
static uv_timer_cb ended;

int uv_timer_start(uv_timer_t *timer, uv_timer_cb callback, uint64_t ms, uint64_t repeat)
{
    int (*real)(uv_timer_t *, uv_timer_cb, uint64_t, uint64_t) = dlsym(RTLD_NEXT, "uv_timer_start");

    if (ms == 30000) {
        patience = timer;
        ended = callback;
    }
    return real(timer, callback, ms, repeat);
}

json_t *json_loadb(const char *text, size_t size, size_t flags, json_error_t *error)
{
    json_t *(*real)(const char *, size_t, size_t, json_error_t *) = dlsym(RTLD_NEXT, "json_loadb");

    if (patience && memmem(text, size, "\"report\"", 8)) {
        fputs("they meet\n", stderr);
        uv_timer_start(patience, ended, 0, 0);
    }
    return real(text, size, flags, error);
}
"""


def test_the_last_report_may_come_when_the_time_for_it_is_over(tmp_path: Path) -> None:
    environment = preloaded(tmp_path, MEETING)

    def lie(liar: Liar) -> None:
        liar.run_play()
        time.sleep(pause_s)  # for the client's own part to end before
        liar.report_send(figures())

    for seconds in (0.1, 0.5, 2.0, 8.0):
        pause_s = seconds
        done = lied_to(lie, "--json", "workload=stream", "message=4", *SHORT,
                       env=environment)
        if "they meet" in done.stderr:
            break
    assert (done.returncode, done.stderr) == (0, "they meet\n")
    assert json.loads(done.stdout)["status"] == "ok"
