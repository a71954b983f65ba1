# SPDX-License-Identifier: MIT
"""libnbd, the client library of the NBD project: bench/libnbd.c, a loop of reads.

Its server is a real one: nbdkit, which serves its memory (nbdkit.py). uncork asks the same nbdkit.
"""

from __future__ import annotations

import contextlib
import functools
import shutil
import subprocess
from dataclasses import dataclass

from bench.contenders import floor, nbdkit
from bench.contenders.compiled import compile_if_newer, compiled, compiler
from bench.contenders.contender import ADDRESS, Contender, Job, client_run
from suite.base.units import size_parse

NAME = "libnbd"
HEADER = ("-E", "-include", "libnbd.h", "-x", "c", "/dev/null")


@functools.cache
def absent() -> str | None:
    """What is missing, of nbdkit too, and how to have it."""
    if shutil.which("nbdkit") is None:
        return "nbdkit is not installed: scripts/uncork setup nbdkit"
    if shutil.which("nbdcopy") is None:
        return "nbdcopy is not installed: it fills the export"
    with contextlib.suppress(OSError):
        if subprocess.run([*compiler(), *HEADER], capture_output=True).returncode == 0:
            return None
    return "libnbd is not installed: apt-get install libnbd-dev, dnf install libnbd-devel"


def prepare() -> None:
    """Compiles the loop where there is a libnbd."""
    if absent() is None:
        compile_if_newer(NAME, ["-lnbd"])


def client(job: Job) -> list[str]:
    """The words that uncork has, in its order."""
    return [str(compiled(NAME)), ADDRESS, str(job.ports[0]), str(job.number("depth", "1")),
            str(int(size_parse(job.words["op"].removeprefix("read:")) or 0)), *floor.times(job)]


@dataclass(frozen=True)
class Loop(Contender):
    """A contender that is no program."""

    def missing(self) -> str | None:
        return absent()

    def run(self, job: Job) -> float:
        """The rate of one run; Broken where there is none."""
        with nbdkit.served(job, nbdkit.server):
            return self.rate(client_run(self.client(job), job, job.client_cpu), job)


CONTENDER = Loop(NAME, (), False, client, floor.rate, prepare=prepare,
                 version=("nbdcopy", "--version"))
