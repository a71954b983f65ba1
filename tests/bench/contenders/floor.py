# SPDX-License-Identifier: MIT
"""The floor: tests/bench/floor.c, compiled when it is needed."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

from bench.contenders.contender import CONGESTION, Broken, Contender, Job
from suite.client import ROOT
from suite.errors import Failure

SOURCE = Path(__file__).resolve().parents[1] / "floor.c"
PROGRAM = ROOT / "build" / "bench" / "floor"
OPTIONS = ("-std=c11", "-O2", "-Wall", "-Wextra", "-Wpedantic", "-Wshadow")


def prepare() -> None:
    """Compiles the loops, unless what is there is newer than their source."""
    if PROGRAM.exists() and PROGRAM.stat().st_mtime_ns > SOURCE.stat().st_mtime_ns:
        return
    PROGRAM.parent.mkdir(parents=True, exist_ok=True)
    compiler = os.environ.get("CC", "cc").split()
    try:
        done = subprocess.run([*compiler, *OPTIONS, "-o", PROGRAM, SOURCE],
                              capture_output=True, text=True, errors="replace")
    except OSError as error:
        raise Failure(f"{compiler[0]} does not start: {error.strerror}: "
                      "scripts/demo installs a compiler") from None
    if done.returncode != 0:
        wrong = next((line for line in done.stderr.splitlines() if "error" in line), "no reason")
        raise Failure(f"{SOURCE} does not compile: {wrong}")


def command(job: Job) -> list[str]:
    """Both ends: it forks, and pins each itself."""
    return [str(PROGRAM), job.words["workload"], str(job.number("message", "64")),
            str(job.number("reply", "1")), str(job.number("chunk", "64K")),
            str(job.number("rcvbuf", "0")), str(job.client_cpu), str(job.server_cpu), CONGESTION,
            f"{1000 * job.warmup:.0f}", f"{1000 * job.seconds:.0f}"]


def rate(output: str, job: Job) -> float:
    """From its one line of JSON."""
    figures = json.loads(output)
    if figures["congestion"] != CONGESTION:
        raise Broken(f"the floor ran with {figures['congestion']}, not {CONGESTION}")
    work = 8 * figures["bytes"] if job.metric == "bandwidth" else figures["messages"]
    return work / (figures["elapsed_ns"] / 1e9)


CONTENDER = Contender("floor", (), True, command, rate, prepare=prepare)
