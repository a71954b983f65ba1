# SPDX-License-Identifier: MIT
"""Finds the binaries and asks `uncork-client`; all other modules ask here. It never builds them.

`uncork-client` alone knows words and their values; docs/record.md documents what it prints for
programs. Its error, one line, is raised: as UsageError for the exit status 2, else as Failure.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import signal
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from suite.base import ROOT
from suite.base.errors import Failure, UsageError, nearest_hint
from suite.base.installation import BUILD_HINT, PROGRAMS
from suite.base.process import Place, PlacedCommand, ProcessOutput, process_run
from suite.base.runner_words import THIS
from suite.base.text import say

RELEASE = ROOT / "build" / "release"
BINARIES = ("uncork-client", "uncork-server")
LIBRARY = "libuncork-override.so"  # in the same folder, unless the binaries are static
ASK_SECONDS = 120  # limit of a question: most take 0.1 s, but probes on a slow machine take long
BUILD_FOLDERS = ("bin", "build/release/bin")  # of the binaries, in a build and in a checkout
BUILD_TRIAL = "messages=1 warmup=0s"
BATCH_END = "end"  # the line behind the last of a batch


@dataclass(frozen=True)
class Client:
    """The folder of both binaries. built: their build folder, if they are those of this tree.
    server_options: for a server that words name. place: where the client is started, if not here;
    boot_s: how long that may take. retry: the client that tries a run without a record again."""

    folder: Path
    built: Path | None
    server_options: tuple[str, ...] = ()
    place: Place | None = None
    boot_s: float = 0.0
    retry: Client | None = None

    @property
    def program(self) -> str:
        return str(self.folder / "uncork-client")

    @property
    def name(self) -> str:
        """The program as messages name it: `/path/uncork-client in gVisor`."""
        return f"{self.program} {self.place.name}" if self.place else self.program

    def command(self, arguments: Sequence[str], given: str = "") -> PlacedCommand:
        """The command that starts it with these arguments; given: its standard input."""
        if not self.place:
            return (self.program, *arguments), given
        return self.place.command(Path(self.program), arguments, given)


@dataclass(frozen=True)
class Vocabulary:
    """The output of `--list=json`; words: by key, in the client's order."""

    document: dict[str, Any]
    words: dict[str, dict[str, Any]]

    @property
    def run_words(self) -> tuple[str, ...]:
        return tuple(key for key, word in self.words.items() if word.get("scope") == "run")

    def variants(self, word: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
        """The variants that are the values of a word, by name; empty for other values."""
        axes = ({one["name"]: one for one in axis} for axis in self.document["variants"].values())
        return next((named for named in axes if [*named] == word.get("choices")), {})


@dataclass(frozen=True)
class Checked:
    """The answer of `--check`. words: all that the cell uses; given, unused: those of the line."""

    words: dict[str, str]
    given: dict[str, str]
    unused: tuple[str, ...]
    planned_s: float | None  # warm-up and measured time; None for fixed work
    unsupported: str | None


def client_place() -> Client:
    """Where the binaries should be: $UNCORK_BIN, else in the installation or in build/release."""
    if chosen := os.environ.get("UNCORK_BIN"):
        return Client(Path(chosen).expanduser().absolute(), None)
    return Client(PROGRAMS, None) if PROGRAMS else Client(RELEASE / "bin", RELEASE)


def client_require(client: Client) -> Client:
    """Returns the client. If a binary is missing, Failure names what builds it."""
    if name := binary_missing(client.folder):
        chosen = "" if client.built or client.folder == PROGRAMS else " (UNCORK_BIN)"
        raise Failure(f"no {name} in {client.folder}{chosen}: {BUILD_HINT}")
    return client


def binary_missing(folder: Path) -> str | None:
    """The first binary that is not in a folder; None if both are."""
    return next((name for name in BINARIES if shutil.which(folder / name) is None), None)


def client_open() -> Client:
    """Finds the binaries. If sources are newer, one line on standard error says so."""
    client = client_require(client_place())
    if client.built is not None:
        linked = max((client.folder / name).stat().st_mtime_ns for name in BINARIES)
        if any(path.stat().st_mtime_ns > linked for folder in ("common", "client", "server")
               for path in (ROOT / folder).rglob("*.[ch]")):
            say(f"the sources are newer than {client.folder}: cmake --build {client.built}")
    return client


def build_digest(folder: Path) -> str:
    """The first 16 hexadecimal digits of a SHA-256 over both binaries."""
    digests = [hashlib.sha256((folder / name).read_bytes()).digest() for name in BINARIES]
    return hashlib.sha256(b"".join(digests)).hexdigest()[:16]


def build_client(client: Client, value: str) -> Client:
    """The client in a value of build=: a checkout, the folder of a build, or its bin/."""
    if value == THIS:
        return client
    folder = Path(value).expanduser().absolute()
    for place in (folder, *(folder / inner for inner in BUILD_FOLDERS)):
        if not binary_missing(place):
            return replace(client, folder=place, built=None)
    raise UsageError(
        f"build={value}: {' and '.join(BINARIES)} are not in {folder}, nor in its "
        f"{' or '.join(BUILD_FOLDERS)}: give a checkout that is built, or the folder of a build")


def exit_text(status: int) -> str:
    if status < 0:
        return f"was ended by {signal.Signals(-status).name}"
    return f"ended with status {status}"


def complaint_text(stderr: str) -> str:
    """The last line of standard error: printable, and without the name of the program."""
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    last = re.sub(r"^uncork(-client|-server)?: ", "", lines[-1]) if lines else ""
    return "".join(letter if letter.isprintable() else "?" for letter in last)


def fault_text(stderr: str, status: int) -> str:
    """Why a program failed: its complaint, else how it ended."""
    return complaint_text(stderr) or exit_text(status)


def client_ask(client: Client, arguments: Sequence[str], stdin: str = "") -> list[Any]:
    """Asks uncork-client a question and returns its lines of JSON. Where a target has a second way
    to start it, a failure is tried again."""
    if client.place and client.boot_s:
        say(f"asking what can run {client.place.name}; its start may take {client.boot_s:.0f} s")
    try:
        return client_ask_once(client, arguments, stdin)
    except Failure:
        if client.retry is None:
            raise
    try:
        return client_ask_once(client.retry, arguments, stdin)
    except Failure as error:
        raise Failure(f"{client.name} failed twice: {error}") from None


def client_ask_once(client: Client, arguments: Sequence[str], stdin: str) -> list[Any]:
    name = f"{client.name} {arguments[0]}"
    done = process_run(*client.command(arguments, stdin), ASK_SECONDS + client.boot_s, name)
    if done.returncode != 0:
        complaint = complaint_text(done.stderr)
        raised = UsageError if done.returncode == 2 and complaint else Failure
        raise raised(complaint or f"{name} {exit_text(done.returncode)}")
    return [answer for answer in map(line_read, done.stdout.splitlines()) if answer is not None]


def line_read(line: str | bytes) -> dict[str, Any] | None:
    """A line of output as a JSON object, else None: on a target shells and kernels print too."""
    try:
        value = json.loads(line)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def client_ask_object(client: Client, arguments: Sequence[str], key: str) -> dict[str, Any]:
    """Asks a question whose answer is one object that has this key."""
    answers = client_ask(client, arguments)
    if len(answers) != 1 or key not in answers[0]:
        raise Failure(f'{client.name} {arguments[0]} answered without "{key}": '
                      "is it of another version?")
    return answers[0]


def client_list(client: Client) -> Vocabulary:
    document = client_ask_object(client, ["--list=json"], "words")
    return Vocabulary(document, {word["key"]: word for word in document["words"]})


def client_expand(client: Client, words: Sequence[str]) -> list[tuple[str, ...]]:
    if not words:
        return []
    answer = client_ask_object(client, ["--expand", *words], "words")
    return [tuple(word["values"]) for word in answer["words"]]


class LineRefused(UsageError):
    """The client refuses a line of several. number: counts from 0."""

    def __init__(self, text: str, number: int) -> None:
        super().__init__(text)
        self.number = number


def client_check(client: Client, lines: Sequence[str]) -> list[Checked]:
    """Checks each line of words: `--check`, one call for all lines. LineRefused names the line that
    the client refuses, if there are several."""
    try:
        answers = client_ask(client, ["--check", "-"], "".join(f"{line}\n" for line in lines))
    except UsageError as error:
        found = re.fullmatch(r"standard input:(\d+): (.*)", str(error))
        if found is None:
            raise
        number = int(found[1]) - 1
        line = f", as in {lines[number]}" if len(lines) > 1 else ""
        raise LineRefused(found[2] + line, number) from None
    if not answers or answers.pop() != {"end": len(lines)} or len(answers) != len(lines):
        raise Failure(f"{client.name} --check did not answer all of {len(lines)} lines")
    return [Checked(answer["words"], answer["given"], tuple(answer.get("unused", ())),
                    None if (planned_ns := answer.get("planned_ns")) is None else planned_ns / 1e9,
                    answer.get("unsupported")) for answer in answers]


def client_facts(client: Client, words: Sequence[str]) -> dict[str, Any]:
    """Facts about the machines of both ends: `--facts`."""
    options = options_for_server(client.server_options, words)
    return client_ask_object(client, ["--facts", *options, *words], "client")


def client_batch(client: Client, lines: Sequence[str], limit_s: float,
                 options: Sequence[str] = ()) -> ProcessOutput:
    """Starts `--batch`. Ctrl-C does not reach it: the runner ends it. Standard input stays open;
    when it closes, the client gives up."""
    server_options = options_for_server(client.server_options, " ".join(lines).split())
    argv, given = client.command([*server_options, *options, "--batch", "-", "--with-parent"],
                                 "".join(f"{line}\n" for line in [*lines, BATCH_END]))
    return ProcessOutput(argv, limit_s, client.boot_s, given)


def build_try(client: Client, value: str) -> None:
    """Tries a value of build= on this machine. Failure if its client does not list its words, does
    not know the line `end` (old versions do not), or cannot send a message to its server."""
    tried = build_client(client, value)
    try:
        client_list(tried)
        output = client_batch(tried, [BUILD_TRIAL], ASK_SECONDS)
        record, end, *_ = *map(line_read, output.lines()), None, None
        if end != {BATCH_END: 1}:
            raise Failure(f'its client does not know the line "{BATCH_END}" of a batch '
                          f"({fault_text(output.stderr, output.status)}): "
                          "is it of another version?")
        if not record or record.get("status") != "ok":
            raise Failure(f"a run of {BUILD_TRIAL} failed: {(record or {}).get('reason')}")
    except (Failure, UsageError) as error:
        raise Failure(f"build={value}: {error}") from None


# ---- the files that ship in scenarios/ and claims/ ----

def toml_names(folder: str) -> list[str]:
    return sorted(path.stem for path in (ROOT / folder).glob("*.toml"))


def toml_path(kind: str, folders: Sequence[str], name: str) -> Path:
    """The path of a file by its path, or by NAME: NAME.toml in the first of folders that has it."""
    if "/" in name or name.endswith(".toml"):
        return Path(name)
    paths = {one: ROOT / folder / f"{one}.toml"
             for folder in reversed(folders) for one in toml_names(folder)}
    if name not in paths:
        raise UsageError(f'no {kind} "{name}" in {ROOT / folders[0]}{nearest_hint(name, paths)}')
    return paths[name]


scenario_names, claim_names = partial(toml_names, "scenarios"), partial(toml_names, "claims")
scenario_path = partial(toml_path, "scenario", ("scenarios", "claims"))  # claims are scenarios
claim_path = partial(toml_path, "claim", ("claims",))


# ---- --psk and --insecure, for servers that run already. They are options and no words, so that
# neither a record nor the name of a cell has them. ----

def options_for_server(options: Sequence[str], words: Iterable[str]) -> tuple[str, ...]:
    """The options, if words name a server or a proxy that runs already; else none."""
    return tuple(options) if any(word.startswith(("server=", "via=")) and not word.endswith("=own")
                                 for word in words) else ()


def server_options_choose(psk: str | None, insecure: bool) -> tuple[str, ...]:
    """The client's options. UsageError if the file of keys is no regular file."""
    if psk is None:
        return ("--insecure",) if insecure else ()
    if not Path(psk).is_file():
        raise UsageError(f"--psk {psk}: it must be a file, which every run reads again")
    return ("--psk", str(Path(psk).resolve()))


def server_options_check(options: Sequence[str], cells: Iterable[Iterable[str]]) -> None:
    """UsageError if there are options, but no cell uses them."""
    if options and not any(options_for_server(options, words) for words in cells):
        raise UsageError(
            f"{options[0]} is for a server that is there already: add server=HOST:PORT")
