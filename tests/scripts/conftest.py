# SPDX-License-Identifier: MIT
"""What the tests of the suite share: the real binaries, a runner, and a client that misbehaves."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
sys.path.insert(0, str(ROOT / "tests" / "scripts" / "data"))

from picture_make import recipe_verdicts  # noqa: E402

from answers import NODELAY, matrix_of, result_make  # noqa: E402
from drawn import made  # noqa: E402
from suite.base.client import BINARIES, Client, client_place  # noqa: E402
from suite.observe.frame import Matrix  # noqa: E402
from within import uncork_call  # noqa: E402

LONGEST = ("test_bisect.py", "test_pages.py", "test_reference.py", "test_truth.py")
LONG = "long: takes so long that only `scripts/test --all` runs it"


def pytest_configure(config: pytest.Config) -> None:
    """What tests here are marked with; and what they interrupt can be."""
    config.addinivalue_line("markers", LONG)
    # A shell starts what runs in the background with SIGINT ignored, and children inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What takes longest begins first: files are spread over processes in this order."""
    items.sort(key=lambda item: item.path.name not in LONGEST)


@dataclass(frozen=True)
class Uncork:
    """`uncork` as a user starts it, with results in a folder of the test's own."""

    bin: Path
    results: Path

    @property
    def environment(self) -> dict[str, str]:
        """The environment of the command: also for tests that start it themselves."""
        return os.environ | {
            "PYTHONPATH": str(ROOT / "scripts"), "UNCORK_BIN": str(self.bin),
            "UNCORK_RESULTS": str(self.results), "COLUMNS": "100",
        }

    def command(self, *arguments: str) -> list[str]:
        """The words that start it."""
        return [sys.executable, "-m", "suite", *arguments]

    def run(self, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        """Runs it to its end, within this process."""
        return uncork_call(arguments, self.environment | environment)

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        """Starts it as a process, for tests that interrupt it."""
        return subprocess.Popen(self.command(*arguments), env=self.environment, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def refused(self, *arguments: str, status: int = 2) -> str:
        """Calls what must be refused: gives its one line on standard error."""
        done = uncork_call(arguments, self.environment)
        assert done.returncode == status, done.stderr + done.stdout
        assert "Traceback" not in done.stderr
        assert done.stderr.startswith("uncork: ") and done.stderr.count("\n") == 1, done.stderr
        return done.stderr.strip()


@pytest.fixture(scope="session")
def binaries() -> Client:
    """The real binaries; the test fails, and says what builds them, where there are none."""
    client = client_place()
    missing = [name for name in BINARIES if not os.access(client.folder / name, os.X_OK)]
    if missing:
        pytest.fail(f"no {missing[0]} in {client.folder}: build it first "
                    "(cmake --build build/release, or scripts/demo)", pytrace=False)
    return client


@pytest.fixture
def uncork(binaries: Client, tmp_path: Path) -> Uncork:
    """`uncork` with the real binaries."""
    return Uncork(binaries.folder, tmp_path / "results")


@pytest.fixture
def misbehave(binaries: Client, tmp_path: Path) -> Callable[[str], Uncork]:
    """Gives an `uncork` whose client is the real one, but for `--batch`, which runs a shell script.

    The script finds the real client in $REAL, and a folder of its own, to count in, in $STATE.
    """
    def make(script: str) -> Uncork:
        folder = tmp_path / "bin"
        folder.mkdir(exist_ok=True)
        fake = folder / "uncork-client"
        fake.write_text(
            "#!/bin/sh\n"
            f"REAL='{binaries.program}'; STATE='{folder}'\n"
            'if [ "$1" != --batch ]; then exec "$REAL" "$@"; fi\n'
            f"{script}\n")
        fake.chmod(fake.stat().st_mode | stat.S_IXUSR)
        server = folder / "uncork-server"
        if not server.exists():
            server.symlink_to(binaries.folder / "uncork-server")
        return Uncork(folder, tmp_path / "results")
    return make


@pytest.fixture
def folder_short(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder of temporary files of programs. A killed runner leaves its files in it, and the
    test removes them. Its path is short enough for a Unix socket."""
    with tempfile.TemporaryDirectory(prefix="uncork-") as folder:
        monkeypatch.setenv("TMPDIR", folder)
        yield Path(folder)


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Results go to a folder of the test."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture(scope="module")
def nodelay() -> Matrix:
    """The stored result."""
    return matrix_of(NODELAY)


@pytest.fixture(scope="module")
def replies(tmp_path_factory: pytest.TempPathFactory) -> Matrix:
    """Replies by transport, security and strategy, seven rounds; one library of TLS shows its
    records, another does not."""
    return matrix_of(result_make.result_write(result_make.recipe_replies(),
                                              tmp_path_factory.mktemp("results")))


@pytest.fixture(scope="module")
def verdicts(tmp_path_factory: pytest.TempPathFactory) -> Matrix:
    """A result with every verdict."""
    return made(tmp_path_factory.mktemp("verdicts"), recipe_verdicts())


def only_folder(uncork: Uncork) -> Path:
    """The one result that was made."""
    (folder,) = uncork.results.iterdir()
    return folder


def records_of(folder: Path) -> list[dict[str, Any]]:
    """The records of a result."""
    return [json.loads(line) for line in (folder / "records.jsonl").read_text().splitlines()]


def keys_of(folder: Path) -> list[tuple[str, int, str, str]]:
    """(session, round, cell, label) of every record, in the order in which they were run."""
    runs = [record["run"] for record in records_of(folder)]
    return [(run["session"], run["round"], run["cell"], run["label"]) for run in runs]
