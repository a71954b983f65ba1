# SPDX-License-Identifier: MIT
"""The one way to the binaries: finds them and asks `uncork-client`. It never builds them.

`uncork-client` alone knows words and their values; docs/record.md documents what it prints for
programs. Its one-line errors pass through: exit 2 becomes UsageError, others Failure.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import signal
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from suite.base import ROOT
from suite.base.errors import Failure, UsageError, nearest_hint
from suite.base.installation import BUILD_HINT, PROGRAMS
from suite.base.process import Place, PlacedCommand, ProcessOutput, process_run
from suite.base.runner_words import BUILD, THIS
from suite.base.text import say

RELEASE = ROOT / "build" / "release"
BINARIES = ("uncork-client", "uncork-server")
LIBRARY = "libuncork-override.so"  # beside them, where they are no static programs
ASK_SECONDS = 120  # a question answers at once, but probes of a slow machine are given time
BUILD_FOLDERS = ("bin", "build/release/bin")  # where a build or a checkout has them
BUILD_TRIAL = "messages=1 warmup=0s"
BATCH_END = "end"  # the line behind the last of a batch
SERVER_WORDS, OWN_VALUE = ("server=", "via="), "=own"


@dataclass(frozen=True)
class Client:
    """The folder of both binaries. built: their build folder, where they are those of this tree.
    server_options: for servers that words name. place: where it is started, None: here; boot_s:
    until it says anything. retry_place: where a run that left no record is tried once more."""

    folder: Path
    built: Path | None
    server_options: tuple[str, ...] = ()
    place: Place | None = None
    boot_s: float = 0.0
    retry_place: Place | None = None

    @property
    def program(self) -> str:
        return str(self.folder / "uncork-client")

    @property
    def name(self) -> str:
        """The program as messages name it: `/path/uncork-client in gVisor`."""
        return f"{self.program} {self.place.name}" if self.place else self.program

    def command(self, arguments: Sequence[str], given: str = "") -> PlacedCommand:
        """What starts it with these arguments; given: what it reads."""
        if not self.place:
            return PlacedCommand((self.program, *arguments), given)
        return self.place.command(self.folder / "uncork-client", arguments, given)

    def retry(self) -> Client | None:
        """The same for the second time; None where there is none."""
        return None if self.retry_place is None else replace(self, place=self.retry_place,
                                                             retry_place=None)


@dataclass(frozen=True)
class Vocabulary:
    """What `--list=json` printed; `words` by key, in the client's order."""

    document: dict[str, Any]
    words: dict[str, dict[str, Any]]

    @property
    def version(self) -> str:
        return str(self.document.get("uncork", "unknown"))

    @property
    def revision(self) -> str:
        return str(self.document.get("revision", "unknown"))

    @property
    def homepage(self) -> str | None:
        """The address that these sources were cloned from; None where it is not public."""
        return self.document.get("homepage")

    @property
    def run_words(self) -> tuple[str, ...]:
        """The words of the run, as opposed to those of a cell."""
        return tuple(key for key, word in self.words.items() if word.get("scope") == "run")

    def variants(self, word: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
        """The variants that are the values of a word, by name; none where values have none."""
        axes = ({one["name"]: one for one in axis} for axis in self.document["variants"].values())
        return next((named for named in axes if [*named] == word.get("choices")), {})


@dataclass(frozen=True)
class Checked:
    """What `--check` says of a line: words with defaults, those given and used, those unused."""

    words: dict[str, str]
    given: dict[str, str]
    unused: tuple[str, ...]
    planned_s: float | None  # warm-up and measured time; None for fixed work
    unsupported: str | None


def client_place(environ: Mapping[str, str] = os.environ) -> Client:
    """Where the binaries should be: $UNCORK_BIN, else in the installation or in build/release."""
    chosen = environ.get("UNCORK_BIN")
    if chosen:
        return Client(Path(chosen).expanduser().absolute(), None)
    return Client(PROGRAMS, None) if PROGRAMS else Client(RELEASE / "bin", RELEASE)


def client_require(client: Client) -> Client:
    """The same client if both binaries are there; else Failure names what builds them."""
    if name := binary_missing(client.folder):
        chosen = "" if client.built or client.folder == PROGRAMS else " (UNCORK_BIN)"
        raise Failure(f"no {name} in {client.folder}{chosen}: {BUILD_HINT}")
    return client


def binary_missing(folder: Path) -> str | None:
    """The first binary that is not in a folder."""
    return next((name for name in BINARIES if shutil.which(folder / name) is None), None)


def client_open(environ: Mapping[str, str] = os.environ) -> Client:
    """Finds the binaries; says on standard error where sources are newer, and builds nothing."""
    client = client_require(client_place(environ))
    if client.built is not None and sources_newer(client):
        say(f"the sources are newer than {client.folder}: cmake --build {client.built}")
    return client


def sources_newer(client: Client) -> bool:
    """Whether a source of the binaries has changed since the last of them was linked."""
    linked = max((client.folder / name).stat().st_mtime_ns for name in BINARIES)
    return any(path.stat().st_mtime_ns > linked for folder in ("common", "client", "server")
               for path in (ROOT / folder).rglob("*.[ch]"))


def build_digest(client: Client) -> str:
    """What was built, as 16 hexadecimal digits: SHA-256 over both binaries."""
    digest = hashlib.sha256()
    for name in BINARIES:
        digest.update(hashlib.sha256((client.folder / name).read_bytes()).digest())
    return digest.hexdigest()[:16]


def build_client(client: Client, value: str) -> Client:
    """The client of a value of the word build: a checkout, the folder of a build, or its bin/.
    UsageError where there is none."""
    if value == THIS:
        return client
    folder = Path(value).expanduser().absolute()
    for place in (folder, *(folder / inner for inner in BUILD_FOLDERS)):
        if not binary_missing(place):
            return replace(client, folder=place, built=None)
    raise UsageError(
        f"{BUILD}={value}: {' and '.join(BINARIES)} are not in {folder}, nor in its "
        f"{' or '.join(BUILD_FOLDERS)}: give a checkout that is built, or the folder of a build"
    )


def exit_text(status: int) -> str:
    if status < 0:
        return f"was ended by {signal.Signals(-status).name}"
    return f"ended with status {status}"


def complaint_text(stderr: str) -> str:
    """The last line of standard error, without the name of the program before it, and printable."""
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    last = lines[-1].removeprefix("uncork-client: ").removeprefix("uncork: ") if lines else ""
    return "".join(letter if letter.isprintable() else "?" for letter in last)


def client_ask(client: Client, arguments: Sequence[str], stdin: str = "",
               server_options: Sequence[str] = ()) -> list[Any]:
    """Asks uncork-client a question and gives its lines of JSON; once more where that may help."""
    if client.place and client.boot_s:
        say(f"asking what can be done {client.place.name}; to start it may take "
            f"{client.boot_s:.0f} s")
    try:
        return client_answers(client, arguments, stdin, server_options)
    except Failure:
        if (again := client.retry()) is None:
            raise
    try:
        return client_answers(again, arguments, stdin, server_options)
    except Failure as error:
        raise Failure(f"{client.name} failed twice: {error}") from None


def client_answers(client: Client, arguments: Sequence[str], stdin: str,
                   server_options: Sequence[str]) -> list[Any]:
    """client_ask(), once."""
    command = client.command([*server_options, *arguments], stdin)
    limit_s = ASK_SECONDS + client.boot_s
    try:
        done = process_run(command.argv, command.given, limit_s)
    except subprocess.TimeoutExpired:
        raise Failure(f"{client.name} {arguments[0]} did not answer in {limit_s:.0f} s") from None
    except OSError as error:
        raise Failure(f"{client.name} does not start: {error.strerror}") from None
    if done.returncode != 0:
        complaint = complaint_text(done.stderr)
        raised = UsageError if done.returncode == 2 and complaint else Failure
        raise raised(complaint or f"{client.name} {arguments[0]} {exit_text(done.returncode)}")
    answers = [line_read(line) for line in done.stdout.splitlines() if line.strip()]
    if not client.place and None in answers:
        raise Failure(f"{client.name} {arguments[0]} printed what is not JSON: "
                      "is it of another version?")
    return [answer for answer in answers if answer is not None]


def line_read(line: str | bytes) -> dict[str, Any] | None:
    """A line of output that is a JSON object, else None: elsewhere shells and kernels print too."""
    try:
        value = json.loads(line)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def client_answer(client: Client, arguments: Sequence[str], key: str,
                  server_options: Sequence[str] = ()) -> dict[str, Any]:
    """The one object that a question is answered with; key must be in it."""
    answers = client_ask(client, arguments, server_options=server_options)
    if len(answers) != 1 or key not in answers[0]:
        raise Failure(f'{client.name} {arguments[0]} answered without "{key}": '
                      "is it of another version?")
    return answers[0]


def client_list(client: Client) -> Vocabulary:
    """All words and variants: `--list=json`."""
    document = client_answer(client, ["--list=json"], "words")
    return Vocabulary(document, {word["key"]: word for word in document["words"]})


def client_expand(client: Client, words: Sequence[str]) -> list[tuple[str, ...]]:
    """The values of each word in canonical spelling, lists and ranges written out: `--expand`."""
    if not words:
        return []
    answer = client_answer(client, ["--expand", *words], "words")
    return [tuple(word["values"]) for word in answer["words"]]


def client_check(client: Client, lines: Sequence[str]) -> list[Checked]:
    """What each line of words comes to: `--check`, one call for all lines."""
    answers = client_ask(client, ["--check", "-"], "".join(f"{line}\n" for line in lines))
    if not answers or answers.pop() != {"end": len(lines)} or len(answers) != len(lines):
        raise Failure(f"{client.name} --check did not answer all of {len(lines)} lines")
    return [Checked(answer["words"], answer["given"], tuple(answer.get("unused", ())),
                    None if (planned_ns := answer.get("planned_ns")) is None else planned_ns / 1e9,
                    answer.get("unsupported")) for answer in answers]


def client_facts(client: Client, words: Iterable[str],
                 options: Sequence[str] = ()) -> dict[str, Any]:
    """Facts about both ends' machines: `--facts`; options: of the client, for named ends."""
    asked = list(words)
    return client_answer(client, ["--facts", *asked], "client",
                         [*options_for_server(client.server_options, asked), *options])


def client_batch(client: Client, lines: Sequence[str], limit_s: float,
                 options: Sequence[str] = ()) -> ProcessOutput:
    """`--batch` with these lines and options, in a process group of its own. The group keeps
    Ctrl-C away from a run; the runner ends it by its id. Standard input stays open behind the line
    `end`; when this process is killed, it closes, and the client gives up."""
    server_options = options_for_server(client.server_options, " ".join(lines).split())
    command = client.command([*server_options, *options, "--batch", "-", "--with-parent"],
                             "".join(f"{line}\n" for line in [*lines, BATCH_END]))
    try:
        child = subprocess.Popen(command.argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE, process_group=0)
    except OSError as error:
        raise Failure(f"{client.name} does not start: {error.strerror}") from None
    return ProcessOutput(child, limit_s, client.boot_s, command.given.encode())


def build_try(client: Client, value: str) -> None:
    """Tries the build of a value of build= on this machine. Failure where its client tells no
    words, does not know the line `end`, as old ones do, or cannot send a message to its server."""
    tried = build_client(client, value)
    try:
        client_list(tried)
        heard = client_batch(tried, [BUILD_TRIAL], ASK_SECONDS)
        record, end, *_ = *map(line_read, heard.lines()), None, None
        if end != {BATCH_END: 1}:
            why = complaint_text(heard.stderr) or exit_text(heard.status)
            raise Failure(f'its client does not know the line "{BATCH_END}" of a batch ({why}): '
                          "is it of another version?")
        if not record or record.get("status") != "ok":
            raise Failure(f"a run of {BUILD_TRIAL} failed: {(record or {}).get('reason')}")
    except (Failure, UsageError) as error:
        raise Failure(f"{BUILD}={value}: {error}") from None


# ---- the files that ship in scenarios/ and claims/ ----

def toml_names(folder: str) -> list[str]:
    return sorted(path.stem for path in (ROOT / folder).glob("*.toml"))


def toml_path(kind: str, folders: Sequence[str], name: str) -> Path:
    """A path if it looks like one, else NAME.toml in the first of folders that has it."""
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


# ---- options for servers that run already, with a key or in the clear. These are options and no
# words, so that neither records nor names of cells have them. ----


def server_named(words: Iterable[str]) -> bool:
    """Whether words name a server or a proxy that runs already."""
    return any(word.startswith(SERVER_WORDS) and not word.endswith(OWN_VALUE) for word in words)


def options_for_server(options: Sequence[str], words: Iterable[str]) -> tuple[str, ...]:
    """The options, where the words of a cell name a server; else none."""
    return tuple(options) if server_named(words) else ()


def server_options_choose(psk: Path | None, insecure: bool) -> tuple[str, ...]:
    """The client's options for those of a command; every run reads the file of keys anew.
    UsageError where there is no such file."""
    if psk is None:
        return ("--insecure",) if insecure else ()
    if not psk.is_file():
        what = "no file, and every run reads it again" if psk.exists() else "there is no such file"
        raise UsageError(f"--psk {psk}: {what}")
    return ("--psk", str(psk.resolve()))


def server_options_check(options: Sequence[str], cells: Iterable[Iterable[str]]) -> None:
    """UsageError where there are options and no cell has a use for them."""
    if options and not any(map(server_named, cells)):
        raise UsageError(
            f"{options[0]} is for a server that is there already: add server=HOST:PORT")
