# SPDX-License-Identifier: MIT
"""Other programs that uncork measures: subjects (servers, in place of uncork-server) and loads
(clients, in place of uncork-client). Each is a file in scenarios/subjects or scenarios/loads.

uncork-server and uncork-client start them: they get the definitions as JSON by `--subjects`
(common/words/definition.h). This module reads the files, checks words about them, and finds out
what this machine lacks.
"""

import contextlib
import functools
import hashlib
import json
import os
import re
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

from suite.base import ROOT
from suite.base.client import client_place
from suite.base.errors import UsageError, error_in, nearest_hint
from suite.base.installation import setup_hint
from suite.base.process import first_line
from suite.base.runner_words import LOAD, NOT_LOADED, OVERRIDE, SUBJECT, subject_of
from suite.scenario import toml

ENDS = ("client", "server", "proxy")  # prefixes of words, so no names of subjects
NAME_PATTERN = re.compile(r"[a-z0-9-]{1,23}")
PLACEHOLDER = re.compile(r"\{([a-z][a-z0-9_]*)\}")
PROGRAM = "program"  # the parameter that every subject and load has
PROXY = "proxy"  # the workload whose subject relays bytes, also of protocols it does not know
# a regular expression for the names of parameters, and what it allows
PARAMETERS = (rf"(?!({PROGRAM}|{OVERRIDE})$)[a-z][a-z0-9_]{{0,22}}",
              f"lower-case letters, digits and _, not {PROGRAM} or {OVERRIDE}")
FILES = r"[^/.][^/]*", "without / and no . in front"  # and for those of files
NO_PACKAGE = "-"  # value of the keys apt and dnf
LIMIT_S = 600  # default of the key limit_s of a load
LISTENS = ("inherited", "address")
NEEDS = ("content", "certificate")
# where uncork-server looks for a program
PROGRAM_FOLDERS = "/usr/local/bin:/usr/local/sbin:/usr/bin:/usr/sbin:/bin:/sbin"
OWN_PROGRAM = "uncork-server"
VERSION_S = 5.0
BLANK = re.compile(r"[\s,]")


def named_texts_read(names: str, right: str, value: Any, key: str) -> dict[str, str]:
    """A table of texts. names: the pattern of their names; right: what it allows."""
    found = toml.table_read(value, key)
    for name, text in found.items():
        if not isinstance(text, str):
            raise UsageError(f"[{key}] {name} must be text")
        if not re.fullmatch(names, name):
            raise UsageError(f"[{key}] {name}: a name here is {right}")
    return found


def counts_read(value: Any, key: str) -> str:
    """A pattern with one group."""
    pattern = toml.string_read(value, key)
    with contextlib.suppress(re.error):
        if re.compile(pattern).groups == 1:
            return pattern
    raise UsageError(f'{key} must be a pattern with one group, as in "([0-9]+) requests"')


def limit_read(value: Any, key: str) -> int:
    if type(value) is not int or value < 1:
        raise UsageError(f"{key} must be seconds, a whole number from 1 on")
    return value


texts = partial(toml.key, toml.strings_read)
list_field = partial(toml.key, partial(toml.strings_read, repeat=True), default=None)


NOT_DEFINED = ("says", "apt", "dnf")  # keys that neither client nor server needs


@dataclass(frozen=True, kw_only=True)
class Program:
    """The file of a subject or a load; docs/real-programs.md explains the keys."""

    kind: ClassVar[str]  # the word whose value is its name
    home: ClassVar[Path]  # the folder of the files of this kind
    placed: ClassVar[tuple[str, ...]]  # names that uncork replaces, such as {folder} and {host}
    folders: ClassVar[str | None]  # where its program is searched; None: on PATH
    own: ClassVar[Mapping[str, str]] = {}  # parameters that each program of this kind has
    name: str
    says: str = toml.required()
    program: str = toml.required()
    apt: str = toml.required()
    dnf: str = toml.required()
    protocols: tuple[str, ...] = texts()
    transports: tuple[str, ...] = texts()
    version: str = toml.required()
    arguments: tuple[str, ...] | None = list_field()
    arguments_tls: tuple[str, ...] | None = list_field()
    arguments_tcp: tuple[str, ...] | None = list_field()
    arguments_unix: tuple[str, ...] | None = list_field()
    needs: tuple[str, ...] = toml.key(partial(toml.strings_read, choices=NEEDS), default=())
    parameters: Mapping[str, str] = toml.key(
        partial(named_texts_read, *PARAMETERS), default_factory=dict)

    @property
    def defaults(self) -> dict[str, str]:
        """The parameters with their defaults; the word of a parameter is NAME.key."""
        return {PROGRAM: self.program, **self.parameters, **self.own}

    @property
    def definition(self) -> dict[str, Any]:
        """Its definition for uncork-client and uncork-server (docs/real-programs.md)."""
        defined = {key: getattr(self, key) for key in toml.keys_of(self) if key not in NOT_DEFINED}
        defined["parameters"] = {**self.parameters, **self.own}
        return {key: value for key, value in defined.items() if value is not None}

    def find(self, program: str = "") -> str | None:
        """The path of its program here, or of another one. uncork-server is beside the client."""
        program = program or self.program
        folders = str(client_place().folder) if program == OWN_PROGRAM else self.folders
        return shutil.which(program, path=folders)


@dataclass(frozen=True, kw_only=True)
class Subject(Program):
    """A server. uncork-server searches its program in PROGRAM_FOLDERS."""

    kind, home, folders = SUBJECT, ROOT / "scenarios" / "subjects", PROGRAM_FOLDERS
    placed = ("folder", "host", "port", "path", "sink", "protocol", "transport", "security")
    listens: str = toml.choice(LISTENS)
    arguments_command: tuple[str, ...] | None = list_field()
    files: Mapping[str, str] = toml.key(partial(named_texts_read, *FILES), default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Load(Program):
    """A client. {size} is a parameter of its subject. version: empty if it prints no version."""

    kind, home, folders = LOAD, ROOT / "scenarios" / "loads", None
    own = {OVERRIDE: NOT_LOADED}
    placed = ("folder", "host", "port", "path", "uri", "size")
    version: str = toml.optional()
    moves: str = toml.required()
    limit_s: int = toml.key(limit_read, default=LIMIT_S)
    counts: str | None = toml.key(counts_read, default=None)


def placeholders_check(program: Program) -> None:
    """UsageError for a {name} that is neither a parameter nor replaced by uncork."""
    known = (*program.placed, *program.parameters)
    for key, value in program.definition.items():
        for name in PLACEHOLDER.findall(json.dumps(value)):
            if name not in known:
                raise UsageError(f"{key}: {{{name}}} is no parameter{nearest_hint(name, known)}")


def program_load(path: Path, kind: type[Program]) -> Program:
    """Reads the file NAME.toml of the program NAME. UsageError names the file and the key."""
    name = path.stem
    if not NAME_PATTERN.fullmatch(name) or name in ("own", *ENDS):
        raise UsageError(f"{path}: the name of a {kind.kind} is lower-case letters, digits and -, "
                         f"and none of own, {', '.join(ENDS)}")
    document = toml.document_read(path, kind.kind, "uncork subjects")
    with error_in(f"{path}: "):
        program = kind(name=name, **toml.entry_read(document, kind))
        placeholders_check(program)
    return program


@functools.cache
def programs_read() -> dict[str, Program]:
    """The subjects, then the loads, by name. UsageError if a load has the name of a subject."""
    found: dict[str, Program] = {}
    for kind in (Subject, Load):
        for path in sorted(kind.home.glob("*.toml")):
            if path.stem in found:
                raise UsageError(f"{path}: a subject has this name")
            found[path.stem] = program_load(path, kind)
    return found


@functools.cache
def definitions_file() -> str:
    """The path of a file with the definitions as JSON. It exists in memory only (memfd_create(2)),
    so that it ends with this process, however that ends."""
    descriptor = os.memfd_create("uncork-subjects")
    with open(descriptor, "w", encoding="utf-8", closefd=False) as file:
        json.dump({name: one.definition for name, one in programs_read().items()}, file, indent=1)
    return f"/proc/{os.getpid()}/fd/{descriptor}"


# ---- words ----

def name_check(key: str, name: str, where: str = "") -> None:
    """UsageError if a value of `subject` or `load` names no such program."""
    known = [one.name for one in programs_read().values() if one.kind == key]
    if (key, name) != (SUBJECT, "own") and name not in known:
        raise UsageError(f"{where}{key}={name}: there is no such {key}{nearest_hint(name, known)}")


def is_parameter(key: str) -> bool:
    """Whether a word is the parameter of a program, NAME.key: its NAME is no end."""
    return "." in key and key.partition(".")[0] not in ENDS


def parameter_values(key: str, values: Iterable[str], where: str = "") -> tuple[str, ...]:
    """The values of a parameter NAME.key; a relative path of a program becomes absolute."""
    name, _, own = key.partition(".")
    programs = programs_read()
    if name not in programs:
        raise UsageError(f"{where}{key}: no subject or load is called {name}"
                         f"{nearest_hint(name, (*programs, *ENDS))}")
    known = programs[name].defaults
    if own not in known:
        raise UsageError(f"{where}{key}: the {programs[name].kind} {name} has no such parameter"
                         f"{nearest_hint(own, known)}")
    for value in values:
        if not value or BLANK.search(value):
            raise UsageError(f"{where}{key}={value}: the value may have neither blanks nor commas, "
                             "and not be empty")
    return tuple(os.path.abspath(Path(value).expanduser()) if own == PROGRAM and "/" in value
                 else value for value in values)


# ---- what this machine has ----

def programs_of(words: Mapping[str, str]) -> list[tuple[Program, str]]:
    """The subject and the load of a cell, each with the name or path of its program."""
    names = filter(None, (subject_of(words), words.get(LOAD)))
    found = [programs_read()[name] for name in names]
    return [(one, words.get(f"{one.name}.{PROGRAM}", one.program)) for one in found]


def programs_used(cells: Iterable[Mapping[str, str]]) -> dict[str, str]:
    """The first 16 digits of the SHA-256 of each program of these cells, by its path here."""
    paths = dict.fromkeys(one.find(program) for words in cells
                          for one, program in programs_of(words))
    return {path: hashlib.sha256(Path(path).read_bytes()).hexdigest()[:16]
            for path in paths if path}


def missing_text(subject: Program) -> str:
    """A message: its program is missing, and the command that installs it or the word to use."""
    if subject.apt == NO_PACKAGE:
        return f"{subject.program} is in no package: {subject.name}.{PROGRAM}=PATH names it"
    return f"{subject.program} is missing: {setup_hint(subject.name)}"


def version_read(subject: Program) -> str | None:
    """The first line that its program prints about its version; None if it is not here."""
    if (program := subject.find()) is None:
        return None
    if not subject.version:
        return "unknown"
    line = first_line([program, subject.version], VERSION_S, failing=True) or "unknown"
    name, blank, rest = line.partition(" ")
    return name.rpartition("/")[2] + blank + rest  # some programs print their path


def speaks_refusal(one: Program, words: Mapping[str, str]) -> str | None:
    """Why this subject or load cannot serve these words (protocol, transport, TLS); else None."""
    for key, known in (("protocol", one.protocols), ("transport", one.transports)):
        spoken = words.get(key, "raw")  # a relay has no protocol
        if spoken not in known and (words.get("workload") != "command" or spoken != "raw"):
            return (f"{one.kind}={one.name} does not work with {key}={spoken} "
                    f"(it does with {', '.join(known)})")
    if words.get("security", "plain") != "plain" and one.arguments_tls is None and (
            words.get("workload") != PROXY):
        return f"{one.kind}={one.name} does not work with TLS"
    return None


def subject_refusal(words: Mapping[str, str], here: bool) -> str | None:
    """Why a cell of these words is unsupported, by its subject and load; else None. here: whether
    they run on this machine. UsageError if words name a program that is not there."""
    programs = programs_of(words)
    for one, program in programs:
        if refusal := speaks_refusal(one, words):
            return refusal
        if here and not one.find(program):
            if program != one.program:
                raise UsageError(f"{one.name}.{PROGRAM}={program}: there is no such program")
            return f"{one.kind}={one.name}: {missing_text(one)}"
    if len(programs) > 1 and not {*programs[0][0].protocols} & {*programs[1][0].protocols}:
        return " and ".join(f"{one.kind}={one.name} speaks {', '.join(one.protocols)}"
                            for one, _ in programs)
    return None
