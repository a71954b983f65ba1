# SPDX-License-Identifier: MIT
"""`openssl speed`: the cipher alone, records of 16 KiB, one direction, no socket: what is left of
it."""

from __future__ import annotations

from bench.contenders.contender import Broken, Contender, Job, whole_seconds

RECORD = "16384"  # bytes of a full TLS record


def client(job: Job) -> list[str]:
    """-mr: figures for programs."""
    return ["openssl", "speed", "-mr", "-elapsed", "-evp", job.words["cipher"], "-bytes", RECORD,
            "-seconds", str(whole_seconds(job.seconds))]


def rate(output: str, job: Job) -> float:
    """bit/s: the last field of `+F:NUMBER:CIPHER:BYTES PER SECOND`."""
    for line in output.splitlines():
        fields = line.split(":")
        if line.startswith("+F:") and fields[2].lower() == job.words["cipher"]:
            return 8 * float(fields[-1])
    raise Broken("openssl speed printed no figure that is known here")


CONTENDER = Contender("openssl-speed", ("openssl",), True, client, rate, measures=whole_seconds,
                      version=("openssl", "version"))
