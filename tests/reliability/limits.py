# SPDX-License-Identifier: MIT
"""Each limit of a server reached, and each program with far too little memory, descriptors or
processes: one line says why, no program crashes, and the exit status is right."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from pathlib import Path

from control import Channel, connect, plan_send
from ends import SHORT, End, end_started, next_session, place_of
from programs import BIN, CLIENT, SERVER, TOP, client_json, client_run
from result import Row, part_main

AT_ONCE = 3
RUN = (*SHORT, "warmup=0s", "place=free")
GET = b"GET /1 HTTP/1.1\r\nHost: a\r\n\r\n"
NOBODY = 61234  # a user without processes: limits of processes do not hold for root
LIMITS = re.findall(r'^LIMIT\(\w+, "([\w-]+)"', (TOP / "common/base/limits.def").read_text(), re.M)

# ---- the limits of common/base/limits.def ----


def strangers_come(server: End, stack: ExitStack, hosts: int) -> None:
    """Nine connections of each host that say nothing."""
    host, port = server.address.rsplit(":", 1)
    for last in range(2, 2 + hosts):
        for _ in range(9):
            stack.enter_context(socket.create_connection(
                (host, int(port)), timeout=10, source_address=(f"127.0.0.{last}", 0)))


def sessions_come(server: End, stack: ExitStack) -> None:
    version = client_json("--list=json")[0]["uncork"]
    for _ in range(3):
        channel = Channel(server.address)
        stack.callback(channel.close)
        with suppress(EOFError):
            plan_send(channel, version, *RUN)
    time.sleep(0.2)


def clients_come(server: End, stack: ExitStack) -> None:
    for _ in range(3):
        client = stack.enter_context(connect(server.address))
        client.settimeout(5)
        with suppress(ConnectionError):
            client.sendall(GET)
            client.recv(1)


def plan_comes(words: str) -> Callable[[End, ExitStack], str]:
    return lambda server, stack: client_run(*place_of(server), *words.split(), "place=free").stderr


REACHED: dict[str, tuple[str, Callable[[End, ExitStack], str | None]]] = {
    "max-strangers": ("8", lambda server, stack: strangers_come(server, stack, 4)),
    "max-strangers-per-source": ("8", lambda server, stack: strangers_come(server, stack, 1)),
    "max-sessions": ("2", sessions_come),
    "max-clients": ("2 --serve http", clients_come),
    "max-memory": ("1M", plan_comes("connections=100 messages=100 engine=block")),
    "max-threads": ("2", plan_comes("connections=3 messages=3 engine=block")),
    "max-time": ("1s", plan_comes("duration=2s")),
}


def limit_reach(name: str) -> Row:
    """Has a server of a small limit that is reached, and one more client afterwards."""
    value, come = REACHED[name]
    with tempfile.TemporaryDirectory() as folder, end_started(
            Path(folder), "server", f"--{name}", *value.split()) as server:
        with ExitStack() as stack:
            said = come(server, stack) or ""
        time.sleep(0.5)
        lines = [*said.splitlines(), *server.log.read_text().splitlines()]
        line = next((line for line in lines if f"--{name}" in line), "")
        wrong = "" if line else f"no line names it: {lines[:3]}"
        if not wrong and "--serve" not in value:
            wrong = next_session(server)[0]
    return {"limit": f"--{name} {value}", "said": re.sub(
        r"^uncork-\w+: (failed: )?(127\S+: )?", "", line).replace(server.address, "ADDRESS"),
        "wrong": wrong}


# ---- far too small limits of the system ----

PYTHON = subprocess.run([TOP / "scripts/setup/python", "--which"], capture_output=True, text=True,
                        check=True).stdout.strip()
PROGRAMS = {
    "client": f"{CLIENT} {' '.join(RUN)}", "client in memory": f"{CLIENT} {' '.join(RUN)} "
    "transport=null", "server": f"{SERVER} --listen 127.0.0.1:0",
    "proxy": f"{SERVER} --listen 127.0.0.1:0 --proxy", "server of http":
    f"{SERVER} --listen 127.0.0.1:0 --serve http", "exec": f"{BIN}/uncork-exec -- true",
    "suite": f"{PYTHON} -P -m suite list", "table":
    f"{PYTHON} -P -m suite table reference/nbd_cork"}
SMALL = {"v": [*range(2000, 20000, 3000), *range(20000, 120000, 4000)],
         "n": [*range(3, 24), 40, 70], "u": [1, 2, 3, 4, 5, 6, 8]}
PYTHON_LEAST = {"v": 20000, "n": 5}  # with less the interpreter does not start
# Before main(): the loader of the system speaks, or setpriv, and not the program.
LOADER = ("error while loading shared libraries", "setpriv: failed to execute")


def is_loader(text: str) -> bool:
    return any(one in text for one in LOADER)


def speakers(text: str) -> list[str]:
    """Who says something; sentences of a client and of its own server are one line each."""
    return [line.split(":")[0].split()[0] for line in text.splitlines() if line.strip()]


def judged(status: int, error: str) -> str:
    """What is wrong with how a program ended that could not work."""
    says = speakers(error)
    if is_loader(error):
        return "" if status in (1, 126, 127) and len(says) <= 2 else f"status {status}, {error!r}"
    one = len(says) == 1 or says == ["uncork-server", "uncork-client"]
    return "" if status in (1, 125, 127) and one else f"status {status}, {error[-300:]!r}"


def small_run(program: str, letter: str, value: int) -> tuple[str, str]:
    """What happened (works, or what was said) and what is wrong with it."""
    command = PROGRAMS[program]
    if letter == "u":
        command = f"setpriv --reuid {NOBODY} --clear-groups {command}"
    with subprocess.Popen(
            ["bash", "-c", f"ulimit -{letter} {value} && exec {command}"], text=True, cwd=TOP,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env=os.environ | {"PYTHONPATH": str(TOP / "scripts"), "OPENBLAS_NUM_THREADS": "1",
                              "UNCORK_BIN": str(BIN)}) as process:
        assert process.stdout
        if "--listen" in command and (line := process.stdout.readline()):
            refused = ""
            if "--serve" not in command and "--proxy" not in command:
                address = re.sub(r'.*"address": "(.*?)", "port": (\d+).*\n', r"\1:\2", line)
                done = client_run(f"server={address}", *RUN, within_s=40)
                refused = done.stderr
                if done.returncode > 1 or len(speakers(refused)) > 1:
                    return "", f"its client: status {done.returncode}, {refused!r}"
            process.terminate()
            status = process.wait(20)
            return "works" if not refused else refused.strip(), (
                f"status {status} at the end" if status else "")
        try:
            _, error = process.communicate(timeout=40)
        except subprocess.TimeoutExpired:
            process.kill()
            return "", "it did not end"
    if process.returncode == 0:
        return "works", ""
    said = error.strip().splitlines()
    return said[-1] if said else "", judged(process.returncode, error)


def small_runs(of: tuple[str, str]) -> Row:
    """All small values of a limit for a program: up to where it does not work, and what it says."""
    program, letter = of
    least = PYTHON_LEAST.get(letter, 0) if "suite" in PROGRAMS[program] else 0
    values = [value for value in SMALL[letter] if value >= least]
    ran = [(value, *small_run(program, letter, value)) for value in values]
    failed = [(value, said) for value, said, wrong in ran if said != "works" and not wrong]
    says = [said for _, said in failed if not is_loader(said)]
    return {"limit": f"ulimit -{letter}", "program": program, "tried": len(ran),
            "fails_to": max((value for value, _ in failed), default=0),
            "said": re.sub(r"127\.0\.0\.1:\d+", "ADDRESS", says[-1]).replace(
                f"{BIN}/", "") if says else "",
            "wrong": "; ".join(f"{value}: {wrong}" for value, _, wrong in ran if wrong)[:800]}


def rows_make(quick: bool) -> list[Row]:
    assert [*REACHED] == LIMITS
    SMALL.update({letter: values[::4] for letter, values in SMALL.items()} if quick else {})
    letters = [letter for letter in SMALL if letter != "u" or (
        os.geteuid() == 0 and shutil.which("setpriv"))]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        return [*pool.map(limit_reach, LIMITS),
                *pool.map(small_runs, [(program, letter) for letter in letters
                                       for program in PROGRAMS])]


if __name__ == "__main__":
    sys.exit(part_main("limits", __doc__, rows_make,
                       lambda row: f"{row['limit']} {row.get('program', '')}"))
