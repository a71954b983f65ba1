# SPDX-License-Identifier: MIT
"""gnutls-cli's benchmark of TLS: both ends in one thread, records in memory in place of a socket.

It goes through all ciphers that it knows and cannot be asked for one: it takes a minute.
"""

from __future__ import annotations

import re

from bench.contenders.contender import Broken, Contender, Job

ALL_CIPHERS_SECONDS = 150.0
UNITS = {"GB": 1e9, "MB": 1e6, "KB": 1e3}
SECTION = "payload: 16384 bytes"


def client(job: Job) -> list[str]:
    return ["gnutls-cli", "--benchmark-tls-ciphers"]


def rate(output: str, job: Job) -> float:
    """bit/s of `AES-128-GCM - TLS1.3  1.76 GB/sec` in the part with full records."""
    cipher = re.escape(job.words["cipher"].upper())
    found = re.search(rf"{cipher} - TLS1\.3\s+([\d.]+) ([GMK]B)/sec", output.partition(SECTION)[2])
    if not found:
        raise Broken(f"gnutls-cli printed no figure of {job.words['cipher']}")
    return 8 * float(found[1]) * UNITS[found[2]]


CONTENDER = Contender("gnutls-cli", ("gnutls-cli",), True, client, rate,
                      takes_seconds=ALL_CIPHERS_SECONDS)
