# SPDX-License-Identifier: MIT
"""The two programs under test, and how to drive them."""

from __future__ import annotations

import json
import os
import subprocess
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Iterator

TOP = Path(__file__).resolve().parents[2]
BIN = Path(os.environ.get("UNCORK_BIN", TOP / "build/release/bin")).absolute()
CLIENT = BIN / "uncork-client"
SERVER = BIN / "uncork-server"


def client_start(*arguments: str, **options: Any) -> subprocess.Popen[str]:
    """The client under way, its output piped."""
    return subprocess.Popen(
        [str(CLIENT), *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options
    )


def client_run(*arguments: str, stdin: str = "", within_s: float = 120) -> subprocess.CompletedProcess[str]:
    """The client from beginning to end."""
    return subprocess.run(
        [str(CLIENT), *arguments], input=stdin, capture_output=True, text=True, timeout=within_s
    )


def client_json(*arguments: str, stdin: str = "", within_s: float = 300) -> list[dict[str, Any]]:
    """The lines that the client printed, parsed; it must end well."""
    done = client_run(*arguments, stdin=stdin, within_s=within_s)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def batch_run(lines: list[str], within_s: float = 300) -> list[dict[str, Any]]:
    """A record for each line; the batch must come to its end."""
    *records, end = client_json("--batch", "-", stdin="\n".join(lines) + "\n", within_s=within_s)
    assert end == {"end": len(lines)}
    assert len(records) == len(lines)
    return records


@dataclass(frozen=True)
class Server:
    """A server that listens at `address`, as the word server= takes it."""

    process: subprocess.Popen[str]
    address: str

    @property
    def pid(self) -> int:
        return self.process.pid


@contextmanager
def server_started(listen: str = "127.0.0.1:0", *flags: str) -> Iterator[Server]:
    """A server that is ready; ended, if the test has not done so, and required to end well when told to."""
    process = subprocess.Popen(
        [str(SERVER), "--listen", listen, *flags], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout
        line = process.stdout.readline()
        assert line, process.stderr.read() if process.stderr else ""
        ready = json.loads(line)["ready"]
        address = ready["address"] if "port" not in ready else f"{ready['address']}:{ready['port']}"
        yield Server(process, address)
        if process.poll() is None:
            process.terminate()
            assert process.wait(10) == 0, process.stderr.read() if process.stderr else ""
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()


def record_sum(end: dict[str, Any], key: str) -> int:
    """Sum of a count over the threads of an end."""
    return sum(thread.get(key, 0) for thread in end["threads"])
