# SPDX-License-Identifier: MIT
"""Each limit of a server reached, and each program with far too little memory, descriptors or
processes: what is said, in one line, and with which exit status."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from pathlib import Path

from control import Channel, connect, plan_send
from ends import SHORT, End, end_started, place_of
from programs import BIN, CLIENT, SERVER, TOP, client_json, client_run
from result import Row, part_main

AT_ONCE = 3
SHORT_RUN = (*SHORT, "warmup=0s", "place=free")
GET = b"GET /1 HTTP/1.1\r\nHost: a\r\n\r\n"

# ---- the limits of common/base/limits.def ----


def strangers_come(server: End, stack: ExitStack, hosts: int, each: int) -> None:
    host, port = server.address.rsplit(":", 1)
    for last in range(2, 2 + hosts):
        for _ in range(each):
            one = stack.enter_context(connect(server.address)) if hosts == 1 else (
                stack.enter_context(socket_from(f"127.0.0.{last}", host, int(port))))
            with suppress(OSError):
                one.sendall(b"\0")


def socket_from(source: str, host: str, port: int):
    import socket
    return socket.create_connection((host, port), timeout=10, source_address=(source, 0))
