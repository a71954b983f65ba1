# SPDX-License-Identifier: MIT
"""Programs of -DUNCORK_STATIC=ON: they run in a folder that holds nothing else, and count what
those of build/release count."""

from __future__ import annotations

import json
import os
import shutil
import struct
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

TOP = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TOP / "tests/setup"))

from hardening import missing_of  # noqa: E402

STATIC, SHARED = TOP / "build/static/bin", TOP / "build/release/bin"
ELF_LOADED, ELF_INTERPRETER = 1, 3  # types of a program's segments
PROGRAMS = ("uncork-client", "uncork-server")
WORK = "messages=200 warmup=0s place=free verify=on"
CELLS = (
    "message=8+8",
    "message=8+8 capture=on",
    "message=15x16 write=writev touch=checksum",
    "message=15x16 write=uring-bundle read=uring-multishot",
    "message=8+8 security=gnutls",
    "message=8+8 security=openssl",
    "workload=stream message=15x16 write=writev",
)
CHECKED = (*CELLS, "security=ktls", "transport=mptcp", "write=zerocopy", "read=zerocopy", "perf=on")


@dataclass(frozen=True)
class Place:
    """Where programs are: what stands in front of a command, their folder, and a key for the
    control channel."""

    prefix: tuple[str, ...]
    folder: str
    key: str

    def command(self, program: str, *arguments: str) -> list[str]:
        return [*self.prefix, f"{self.folder}/{program}", *arguments]

    def client(self, *arguments: str, stdin: str = "") -> list[dict[str, Any]]:
        """The lines that uncork-client prints."""
        done = subprocess.run(self.command("uncork-client", *arguments), input=stdin,
                              capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr
        return [json.loads(line) for line in done.stdout.splitlines()]

    @contextmanager
    def server(self) -> Iterator[str]:
        """The address of a server that is under way."""
        command = self.command("uncork-server", "--listen", "127.0.0.1:0", "--psk", self.key)
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
            try:
                assert server.stdout
                ready = json.loads(server.stdout.readline())["ready"]
                yield f"{ready['address']}:{ready['port']}"
            finally:
                server.terminate()

    def measured(self) -> list[dict[str, Any]]:
        """The records of the cells."""
        with self.server() as address:
            lines = "".join(f"{cell} {WORK} server={address}\n" for cell in CELLS)
            return self.client("--psk", self.key, "--batch", "-", stdin=lines)[:-1]


def root_trouble(prefix: tuple[str, ...]) -> str | None:
    """Why nothing can have another root here, None if it can."""
    try:
        tried = subprocess.run([*prefix, "/", "true"], capture_output=True, text=True, timeout=20)
    except FileNotFoundError as error:
        return f"{error.filename} is not installed"
    return None if tried.returncode == 0 else (f"{prefix[0]} does not work here: "
                                               f"{tried.stderr.strip()}")


@pytest.fixture(scope="module")
def empty() -> Iterator[Place]:
    """A root with both programs, the key, and nothing else: no device, no /proc, no library."""
    prefix = ("chroot",) if os.geteuid() == 0 else ("unshare", "--map-root-user", "chroot")
    if trouble := root_trouble(prefix):
        pytest.skip(trouble)
    with tempfile.TemporaryDirectory(prefix="uncork-static-") as folder:
        for program in PROGRAMS:
            shutil.copy(STATIC / program, folder)
        key_write(Path(folder) / "key")
        yield Place((*prefix, folder), "", "/key")


@pytest.fixture(scope="module")
def usual(tmp_path_factory: pytest.TempPathFactory) -> Place:
    """The programs of build/release."""
    return Place((), str(SHARED), key_write(tmp_path_factory.mktemp("usual") / "key"))


@pytest.fixture(scope="module")
def static() -> Place:
    """The static programs, where all else is there too."""
    return Place((), str(STATIC), "")


def key_write(path: Path) -> str:
    path.touch(0o600)
    path.write_text(f"tester:{os.urandom(32).hex()}\n")
    return str(path)


@pytest.fixture(scope="module")
def pairs(empty: Place, usual: Place) -> dict[str, tuple[dict[str, Any], dict[str, Any]]]:
    """The records of each cell: of the static programs in the empty root, and of the usual ones."""
    return dict(zip(CELLS, zip(empty.measured(), usual.measured(), strict=True), strict=True))


def counted(record: dict[str, Any]) -> dict[str, Any]:
    """What the client counts alike in every run of a cell. How a stream is cut into segments is a
    matter of time."""
    (thread,) = record["client"]["threads"]
    kept = {key: count for key, count in thread.items() if isinstance(count, int | str)
            and not key.endswith("_ns")}
    segments = {key: count["sum"] for key, count in thread["tcp_info"].items()}
    if record["words"]["workload"] == "request":
        kept["segments"] = segments["data_segs_out"] - segments["retrans_segs"]
        kept["captured"] = record["client"].get("capture", {}).get("sent", {}).get("data_segments")
    return kept | {"calls": thread["calls"], "options": thread["options"]}


@pytest.mark.parametrize("cell", CELLS)
def test_an_empty_root_is_enough_and_all_counts_are_those_of_the_usual_build(
    pairs: dict[str, Any], cell: str
) -> None:
    static, usual = pairs[cell]
    if usual["status"] == "unsupported":
        assert static["status"] == "unsupported"
        pytest.skip(usual["reason"])
    assert static["status"] == "ok", static["reason"]
    assert counted(static) == counted(usual)


@pytest.mark.parametrize("program", PROGRAMS)
def test_no_loader_and_no_names_of_hosts_or_users(program: str) -> None:
    content = (STATIC / program).read_bytes()
    (first,), (size, number) = struct.unpack_from("<Q", content,
                                                  32), struct.unpack_from("<HH", content, 54)
    segments = {struct.unpack_from("<I", content, first + size * i)[0] for i in range(number)}
    assert ELF_LOADED in segments and ELF_INTERPRETER not in segments
    assert b"/bin" in content and b"nsswitch" not in content


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_program_is_hardened(program: str) -> None:
    assert missing_of(STATIC / program) == []


def test_its_words_and_what_this_machine_can_do_are_the_same(usual: Place, static: Place) -> None:
    lines = "".join(f"{words}\n" for words in CHECKED)
    for question in (["--list=json"], ["--check", "-"]):
        said = [json.dumps(place.client(*question, stdin=lines)).replace(place.folder, "")
                for place in (usual, static)]
        assert said[0] == said[1]


def test_it_starts_a_server_of_its_own(static: Place) -> None:
    lines = "".join(f"message=8+8 transport={transport} {WORK}\n" for transport in ("tcp", "unix"))
    assert [record["status"]
            for record in static.client("--batch", "-", stdin=lines)[:-1]] == ["ok", "ok"]


def test_an_address_is_in_numbers(empty: Place) -> None:
    (record, _) = empty.client("--insecure", "--batch", "-", stdin="server=localhost:1\n")
    assert record["reason"] == ("cannot look up localhost: a static build looks up no names, give "
                                "the address in numbers")


def test_an_archive_that_is_missing_is_named_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "jansson.pc").write_text(
        "Name: jansson\nDescription: one\nVersion: 2.14\nLibs: -luncork-none\n")
    done = subprocess.run(["cmake", "-S", TOP, "-B", tmp_path / "build", "-G", "Ninja",
                           "-DUNCORK_STATIC=ON"],
                          env=os.environ | {"PKG_CONFIG_PATH": str(tmp_path)}, capture_output=True,
                          text=True, timeout=60)
    assert done.returncode == 1
    assert "UNCORK_STATIC=ON: jansson needs libuncork-none.a, which is missing" in done.stderr
