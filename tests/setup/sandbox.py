# SPDX-License-Identifier: MIT
"""A copy of the launchers with commands that only pretend: nothing here installs anything."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parents[2]

SUITE = """import json, os, sys
print(json.dumps({"arguments": sys.argv[1:], "folder": os.getcwd(), "path": sys.path,
                  "python": sys.executable, "marker": os.environ.get("MARKER")}))
sys.exit(int(os.environ.get("STATUS", "0")))
"""
# comes with pandas, and is imported in a quarter of the time
TABLE = "python:numpy  python3-numpy  python3-numpy  run\n"


def targets_named() -> set[str]:
    """The names in the table of what targets need."""
    lines = (TOP / "scripts/setup/targets").read_text().splitlines()
    return {line.split()[0] for line in lines if not line.startswith("#")}


@dataclass(frozen=True)
class Sandbox:
    """`tree` is the copy, `bin` comes first on PATH, `calls` is where the pretenders write."""

    tree: Path
    bin: Path
    calls: Path

    @property
    def cache(self) -> Path:
        """Where what is fetched is kept for all trees."""
        return self.tree.parent / "cache"

    def command_add(self, name: str, *lines: str) -> Path:
        """A shell script on PATH, before all others."""
        path = self.bin / name
        path.write_text("\n".join(["#!/bin/sh", *lines, ""]))
        path.chmod(0o755)
        return path

    def recorder_add(self, name: str, *lines: str) -> Path:
        """A command that notes its arguments in `calls`, then does the lines."""
        return self.command_add(name, f'echo "{name} $*" >>"{self.calls}"', *lines)

    def table_write(self, *rows: str) -> None:
        """The table of packages: a module, and these rows."""
        text = TABLE + "".join(f"{row}\n" for row in rows)
        (self.tree / "scripts/setup/packages").write_text(text)

    def calls_read(self) -> list[str]:
        """What the recorders were called with, in order."""
        return self.calls.read_text().splitlines()

    def run(self, *command: str | Path, folder: Path | None = None, path: str | None = None,
            **variables: str) -> subprocess.CompletedProcess[str]:
        """Runs a command of the copy by its full path. A virtual environment alone takes more than
        60 s on a machine with a load of 16."""
        program, *rest = map(str, command)
        if program.startswith("scripts/"):
            program = str(self.tree / program)
        environment = {key: value for key, value in os.environ.items()
                       if not key.startswith(("UNCORK", "PYTHON"))}
        environment |= {"UNCORK_CACHE": str(self.cache),
                        "PATH": f"{self.bin}:{path or os.environ['PATH']}", **variables}
        return subprocess.run([program, *rest], cwd=folder or self.tree, env=environment,
                              capture_output=True, text=True, timeout=300)

    def shell(self, script: str, **options: str) -> subprocess.CompletedProcess[str]:
        """Runs lines of bash that have the functions of scripts/setup."""
        head = f'set -u; UNCORK_TOP="{self.tree}"; . "$UNCORK_TOP/scripts/setup/build.sh"\n'
        return self.run("bash", "-c", head + script, **options)


def sandbox_make(folder: Path) -> Sandbox:
    """The copy below folder, with a suite that prints what it was given."""
    tree, binaries = folder / "a tree", folder / "bin"
    ignored = shutil.ignore_patterns("suite", "__pycache__")
    shutil.copytree(TOP / "scripts", tree / "scripts", ignore=ignored)
    (tree / "scripts/suite").mkdir()
    (tree / "scripts/suite/__main__.py").write_text(SUITE)
    binaries.mkdir()
    sandbox = Sandbox(tree, binaries, folder / "calls")
    sandbox.calls.write_text("")
    sandbox.table_write()
    # Whatever a test forgets to replace must not reach the real ones.
    for name in ("apt-get", "dnf", "sudo", "su"):
        sandbox.recorder_add(name, "exit 1")
    return sandbox


@pytest.fixture
def sandbox() -> Iterator[Sandbox]:
    """A fresh copy, in a folder that other users may enter too."""
    with tempfile.TemporaryDirectory(prefix="uncork-setup-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        yield sandbox_make(folder)


def package_make(folder: Path, files: dict[str, bytes]) -> Path:
    """A package of Debian with these files."""
    root = folder / "package"
    for name, content in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(content)
        (root / name).chmod(0o755)
    (root / "DEBIAN").mkdir()
    (root / "DEBIAN/control").write_text(
        "Package: one\nVersion: 1\nArchitecture: all\nMaintainer: nobody\nDescription: none\n")
    subprocess.run(["dpkg-deb", "--build", root, folder / "one.deb"], check=True,
                   capture_output=True)
    return folder / "one.deb"


def path_without(folder: Path, *names: str) -> str:
    """A folder for PATH with links to all commands of the system but those named."""
    folder.mkdir()
    for place in ("/usr/bin", "/bin", "/usr/sbin", "/sbin"):
        for program in Path(place).iterdir():
            link = folder / program.name
            if program.name not in names and not link.is_symlink():
                link.symlink_to(program)
    return str(folder)
