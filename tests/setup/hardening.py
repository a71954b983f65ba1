# SPDX-License-Identifier: MIT
"""What cmake/harden.cmake gives a program, read from its ELF file."""

from __future__ import annotations

import platform
import re
import subprocess
from collections.abc import Iterable
from pathlib import Path

# The first instruction of a function that may be called by its address.
LANDINGS = {"x86_64": r"endbr64", "aarch64": r"bti|paci?asp|hint"}


def output_of(*command: str | Path) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout


def first_instruction(file: Path, function: str) -> str:
    """Of a function, nothing if the file has none of that name."""
    text = output_of("objdump", "--disassemble=" + function, "--no-show-raw-insn", file)
    found = re.search(rf"<{function}>:\n\s*[0-9a-f]+:\s*(.*)", text)
    return found[1] if found else ""


def missing_of(file: Path, function: str = "main") -> Iterable[str]:
    """What a program or library lacks."""
    text = output_of("readelf", "--wide", "--file-header", "--segments", "--dynamic", "--syms",
                     file)
    stack = re.search(r"GNU_STACK .* ([R ][W ][E ]) ", text)
    landing = LANDINGS.get(platform.machine())
    symbols = set(re.findall(r" (__\w+_chk)(?:@\S+)?(?: \(\d+\))?$", text, re.M))
    checks = {
        "position-independent code": re.search(r"Type: +DYN ", text),
        "BIND_NOW": re.search(r"\(FLAGS(_1)?\).*\b(BIND_)?NOW\b", text),
        "RELRO": "GNU_RELRO" in text,
        "a stack that is not executable": stack and "E" not in stack[1],
        "the canary of the stack": "__stack_chk_fail" in text,
        "fortified calls": symbols,
        "checked jump targets": not landing or re.match(landing, first_instruction(file, function)),
    }
    return [name for name, holds in checks.items() if not holds]
