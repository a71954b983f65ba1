# SPDX-License-Identifier: MIT
"""Programs that are compiled when they are needed: NAME.c of this bench, into build/bench."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

from suite.base.client import ROOT
from suite.base.errors import Failure

FOLDER = Path(__file__).resolve().parents[1]
OPTIONS = ("-std=c11", "-O2", "-Wall", "-Wextra", "-Wpedantic", "-Wshadow")


def compiler() -> list[str]:
    """$CC, or cc."""
    return os.environ.get("CC", "cc").split()


def compiled(name: str) -> Path:
    """Where the program of NAME.c is, once it is compiled."""
    return ROOT / "build" / "bench" / name


def compile_if_newer(name: str, libraries: Sequence[str] = ()) -> None:
    """Compiles NAME.c, unless the program is newer than its source.

    The program gets its name when it is whole: other tests may compile or start it meanwhile.
    """
    source, program = FOLDER / f"{name}.c", compiled(name)
    if program.exists() and program.stat().st_mtime_ns > source.stat().st_mtime_ns:
        return
    program.parent.mkdir(parents=True, exist_ok=True)
    unnamed = program.with_name(f"{name}.{os.getpid()}")
    try:
        done = subprocess.run([*compiler(), *OPTIONS, "-o", unnamed, source, *libraries],
                              capture_output=True, text=True, errors="replace")
    except OSError as error:
        raise Failure(f"{compiler()[0]} does not start: {error.strerror}: "
                      "scripts/demo installs a compiler") from None
    if done.returncode != 0:
        wrong = next((line for line in done.stderr.splitlines() if "error" in line), "no reason")
        raise Failure(f"{source} does not compile: {wrong}")
    unnamed.replace(program)
