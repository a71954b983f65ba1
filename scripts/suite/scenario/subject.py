# SPDX-License-Identifier: MIT
"""Subjects: servers that know nothing of uncork and are measured in place of uncork-server. Each is
a file of scenarios/subjects; there is no other list of them.

`uncork-server --subjects` takes their definitions as JSON (server/subject.h) and starts them. This
module reads the files, checks words about them, and finds out what this machine lacks.
"""

import functools
import hashlib
import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from suite.base import ROOT
from suite.base.errors import UsageError, nearest_hint
from suite.base.installation import setup_hint
from suite.base.runner_words import SUBJECT, subject_of
from suite.scenario.scenario import (
    KeyReader,
    document_read,
    entry_read,
    string_require,
    strings_read,
    table_read,
)

FOLDER = ROOT / "scenarios" / "subjects"
ENDS = ("client", "server", "proxy")  # prefixes of words, so no names of subjects
NAME_PATTERN = re.compile(r"[a-z0-9-]{1,23}")
KEY_PATTERN = re.compile(r"[a-z][a-z0-9_]{0,22}")
PLACEHOLDER = re.compile(r"\{([a-z][a-z0-9_]*)\}")
# what uncork-server puts in place of {folder}, {host}
PLACED = ("folder", "host", "port", "path", "sink", "transport", "security")
PROGRAM = "program"  # the parameter that every subject has
PROXY = "proxy"  # the workload with a subject that relays, also what it cannot read
LISTENS = ("inherited", "address")
NEEDS = ("content", "certificate")
# where uncork-server looks
PROGRAM_FOLDERS = "/usr/local/bin:/usr/local/sbin:/usr/bin:/usr/sbin:/bin:/sbin"
VERSION_S = 5.0
SPEAKS = {"protocol": "protocols", "transport": "transports"}  # words, by the key of a definition
BLANK = re.compile(r"[\s,]")


def texts_read(table: dict[str, Any], key: str, where: str) -> tuple[str, ...] | None:
    """A list of texts, which may repeat; None where it is absent."""
    value = table.get(key)
    if value is not None and (not isinstance(value, list)
                              or not all(isinstance(item, str) for item in value)):
        raise UsageError(f'{where}{key} must be a list of text, as in {key} = ["-f", "{{size}}"]')
    return None if value is None else tuple(value)


def texts_require(table: dict[str, Any], key: str, where: str) -> tuple[str, ...]:
    """A list of different texts, one or more."""
    if not (found := strings_read(table, key, where)):
        raise UsageError(f"{where}{key} is missing: name at least one")
    return found


def listens_read(table: dict[str, Any], key: str, where: str) -> str:
    """One of LISTENS."""
    if (value := string_require(table, key, where)) not in LISTENS:
        raise UsageError(f"{where}{key} must be {' or '.join(LISTENS)}, not {value}")
    return value


def needs_read(table: dict[str, Any], key: str, where: str) -> tuple[str, ...]:
    """Some of NEEDS; absent is none."""
    found = strings_read(table, key, where)
    if unknown := next((name for name in found if name not in NEEDS), None):
        raise UsageError(f"{where}{key} must name {' or '.join(NEEDS)}, not {unknown}")
    return found


def named_texts_read(table: dict[str, Any], key: str, where: str) -> dict[str, str]:
    """A table of texts, `[files]` or `[parameters]`; absent is empty."""
    found = table_read(table, key, where)
    for name, value in found.items():
        if not isinstance(value, str):
            raise UsageError(f"{where}[{key}] {name} must be text")
        if key == "parameters" and (name == PROGRAM or not KEY_PATTERN.fullmatch(name)):
            raise UsageError(f"{where}[{key}] {name}: a parameter is letters, digits and _, and "
                             f"not {PROGRAM}, which is the key above")
        if key == "files" and (not name or "/" in name or name.startswith(".")):
            raise UsageError(f"{where}[{key}] {name}: a file has a name without /")
    return found


SUBJECT_KEYS: dict[str, KeyReader] = {
    "says": string_require, "program": string_require, "apt": string_require,
    "dnf": string_require, "protocols": texts_require, "transports": texts_require,
    "listens": listens_read, "version": string_require, "arguments": texts_read,
    "arguments_tls": texts_read, "arguments_tcp": texts_read, "arguments_unix": texts_read,
    "needs": needs_read, "files": named_texts_read, "parameters": named_texts_read,
}
OF_SERVER = tuple(key for key in SUBJECT_KEYS if key not in ("says", "apt", "dnf"))


@dataclass(frozen=True)
class Subject:
    """One subject as its file has it; docs/real-programs.md says what the keys mean. apt, dnf: its
    packages. arguments_tls: None where it has no TLS that takes the key
    or the certificate of a run."""

    name: str
    says: str
    program: str
    apt: str
    dnf: str
    protocols: tuple[str, ...]
    transports: tuple[str, ...]
    listens: str
    version: str
    arguments: tuple[str, ...] | None
    arguments_tls: tuple[str, ...] | None
    arguments_tcp: tuple[str, ...] | None
    arguments_unix: tuple[str, ...] | None
    needs: tuple[str, ...]
    files: Mapping[str, str]
    parameters: Mapping[str, str]

    @property
    def defaults(self) -> dict[str, str]:
        """The parameters with their defaults; NAME.key is the word of each."""
        return {PROGRAM: self.program, **self.parameters}

    @property
    def definition(self) -> dict[str, Any]:
        """What uncork-server takes: server/subject.h."""
        return {key: value for key in OF_SERVER if (value := getattr(self, key)) is not None}


def placeholders_check(subject: Subject, where: str) -> None:
    """UsageError for a {name} that nothing replaces."""
    known = (*PLACED, *subject.parameters)
    texts: dict[str, Iterable[str]] = {
        key: getattr(subject, key) or () for key in SUBJECT_KEYS if key.startswith("arguments")}
    texts |= {f"[files] {name}": (text,) for name, text in subject.files.items()}
    for key, each in texts.items():
        for name in PLACEHOLDER.findall(" ".join(each)):
            if name not in known:
                raise UsageError(f"{where}{key}: {{{name}}} is no parameter"
                                 f"{nearest_hint(name, known)}")


def subject_load(path: Path) -> Subject:
    """Reads the file of one subject, which has its name. UsageError names the file and the key."""
    where, name = f"{path}: ", path.stem
    if not NAME_PATTERN.fullmatch(name) or name in ("own", *ENDS):
        raise UsageError(f"{where}the name of a subject is small letters, digits and -, and none "
                         f"of own, {', '.join(ENDS)}")
    document = document_read(path, "subject", "uncork subjects")
    subject = Subject(name, **entry_read(document, SUBJECT_KEYS, where))
    placeholders_check(subject, where)
    return subject


@functools.cache
def subjects_read(folder: Path = FOLDER) -> dict[str, Subject]:
    """All subjects by name, in alphabetical order."""
    return {path.stem: subject_load(path) for path in sorted(folder.glob("*.toml"))}


def definitions_text(subjects: Mapping[str, Subject]) -> str:
    """The JSON for --subjects."""
    return json.dumps({name: subject.definition for name, subject in subjects.items()}, indent=1)


@functools.cache
def definitions_file() -> str:
    """The path of a file with the definitions. It has no name in any folder (memfd_create(2)), so
    that it is gone with this process however that ends."""
    descriptor = os.memfd_create("uncork-subjects")
    with open(descriptor, "w", encoding="utf-8", closefd=False) as file:
        file.write(definitions_text(subjects_read()))
    return f"/proc/{os.getpid()}/fd/{descriptor}"


# ---- words ----

def subject_check(name: str, where: str = "") -> None:
    """UsageError for a value of `subject` that is no subject, with the nearest."""
    if name != "own" and name not in subjects_read():
        raise UsageError(f"{where}{SUBJECT}={name}: there is no such subject"
                         f"{nearest_hint(name, subjects_read())}")


def is_parameter(key: str) -> bool:
    """Whether the key of a word is NAME.key, and NAME is no end."""
    return "." in key and key.partition(".")[0] not in ENDS


def parameter_values(key: str, values: Iterable[str], where: str = "") -> tuple[str, ...]:
    """The values of a parameter NAME.key; of a program that is a path the whole path. UsageError
    where there is no such parameter, or for a value that a word cannot have."""
    name, _, own = key.partition(".")
    if name not in subjects_read():
        raise UsageError(f"{where}{key}: no subject is called {name}"
                         f"{nearest_hint(name, (*subjects_read(), *ENDS))}")
    known = subjects_read()[name].defaults
    if own not in known:
        raise UsageError(f"{where}{key}: the subject {name} has no such parameter"
                         f"{nearest_hint(own, known)}")
    for value in values:
        if not value or BLANK.search(value):
            raise UsageError(f"{where}{key}={value}: the value may have neither blanks nor commas, "
                             "and not be empty")
    return tuple(os.path.abspath(Path(value).expanduser()) if own == PROGRAM and "/" in value
                 else value for value in values)


# ---- what this machine has ----

def program_find(program: str) -> str | None:
    """The path of a program, a name or a path, where uncork-server on this machine finds it."""
    return shutil.which(program, path=PROGRAM_FOLDERS)


def programs_used(cells: Iterable[Mapping[str, str]]) -> dict[str, str]:
    """The first digits of the SHA-256 of the programs of subjects on this machine, by path. cells:
    their words."""
    found = {}
    for words in cells:
        if name := subject_of(words):
            program = words.get(f"{name}.{PROGRAM}", subjects_read()[name].program)
            if (path := program_find(program)) and path not in found:
                found[path] = hashlib.sha256(Path(path).read_bytes()).hexdigest()[:16]
    return found


def missing_text(subject: Subject) -> str:
    """That its program is missing, with the command that installs it."""
    return f"{subject.program} is missing: {setup_hint(subject.name)}"


def version_read(subject: Subject) -> str | None:
    """The first line that the program on this machine prints about its version; None without it."""
    if (program := program_find(subject.program)) is None:
        return None
    try:
        done = subprocess.run([program, subject.version], capture_output=True, text=True,
                              stdin=subprocess.DEVNULL, errors="replace", timeout=VERSION_S)
    except (OSError, subprocess.TimeoutExpired):
        return "unknown"
    said = next(iter((done.stdout or done.stderr).splitlines()), "unknown")
    name, blank, rest = said.partition(" ")
    return name.rpartition("/")[2] + blank + rest  # some print their path


def subject_refusal(words: Mapping[str, str], here: bool) -> str | None:
    """Why a cell that uses these words is unsupported; None also where it has no subject. here:
    whether the subject runs on this machine. UsageError for a program of the words that is not
    there."""
    if not (name := subject_of(words)):
        return None
    subject = subjects_read()[name]
    for key, speaks in SPEAKS.items():
        known, spoken = getattr(subject, speaks), words.get(key, "raw")  # a relay has no protocol
        if spoken not in known:
            return (f"{SUBJECT}={name} does not work with {key}={spoken} "
                    f"(it does with {', '.join(known)})")
    if words.get("security", "plain") != "plain" and subject.arguments_tls is None and (
            words.get("workload") != PROXY):
        return f"{SUBJECT}={name} does not work with TLS"
    program = words.get(f"{name}.{PROGRAM}", subject.program)
    if not here or program_find(program):
        return None
    if program != subject.program:
        raise UsageError(f"{name}.{PROGRAM}={program}: there is no such program")
    return f"{SUBJECT}={name}: {missing_text(subject)}"
