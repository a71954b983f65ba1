# SPDX-License-Identifier: MIT
"""The open pairs of an inventory: what is known about their hosts, and what runs there.

A pair is a value of target= like ssh:C+ssh:S. One step copies programs to all hosts, starts all
servers, or runs all clients. A failure on a host concerns only its pair, whose runs have the
reason. The next round tries the host again.
"""

from __future__ import annotations

import functools
import os
import secrets
import shlex
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from suite.base.client import BINARIES, Client, build_digest, complaint_text, fault_text, line_read
from suite.base.errors import Failure
from suite.base.installation import STATIC_HINT
from suite.base.lab_words import LAB_WORDS
from suite.base.process import PlacedCommand
from suite.base.runner_words import line_for_client, subject_of, words_for_client
from suite.base.text import say
from suite.base.words import word_list
from suite.places.batch import batch_records, cells_by_target, failed_record, runs_limit
from suite.places.fleet import scripts
from suite.places.fleet.driver import Driver, Job, Outcome, inventory_list
from suite.places.fleet.inventory import ADDRESS_VARIABLE, CLIENT, PROXY, SERVER, pairs_read
from suite.places.remote import PLANNED_PORT, RemoteTarget
from suite.places.ssh import machine, programs
from suite.places.target import Target
from suite.result.plan import PlannedCell
from suite.result.record import JsonObject

GREET_LIMIT_S, START_LIMIT_S, ASK_LIMIT_S = 30.0, 30.0, 120.0
BATCH_START_S = 10.0  # a batch may take so much longer than its runs
IDLE_S = 4 * 3600.0  # a server waits so long for its client while other pairs finish their round
# RFC 5737 reserves it for documents: a check of words names an end without a connection to it
PLANNED_ADDRESS = "192.0.2.1"
Reasons = dict[str, str]  # by host or by pair: why something failed


def reasons_of(outcomes: Mapping[str, Outcome]) -> Reasons:
    """Why jobs failed or did not run, by host; without the hosts whose job succeeded."""
    found = {}
    for host, outcome in outcomes.items():
        if outcome.how != "ok" or outcome.status != 0:
            why = outcome.why or fault_text(outcome.stderr, outcome.status)
            lost = " cannot be reached" if outcome.how == "unreachable" else ""
            found[host] = f"{host}{lost}: {why}"
    return found


def reasons_by_pair(pairs: Iterable[FleetPair], reasons: Reasons) -> Reasons:
    """The reasons by value of `target`: of a pair that of its first host with a reason."""
    found = {pair.value: [reasons[host] for host in pair.hosts if host in reasons]
             for pair in pairs}
    return {value: first[0] for value, first in found.items() if first}


class FleetPair(RemoteTarget):
    """One pair, whose cells Fleet.run() runs."""

    def __init__(self, value: str, client: Client, fleet: Fleet) -> None:
        super().__init__(value, client)
        self.fleet = fleet
        fleet.used[value] = self

    def command(self, program: Path, arguments: Sequence[str], given: str = "") -> PlacedCommand:
        """The command that prints the client's answer here: all pairs were asked in one step."""
        outcome = self.fleet.ask(self, program.parent, arguments, given)
        if outcome.how != "ok":
            raise Failure(f"{self.host(CLIENT)}: {outcome.why}")
        return PlacedCommand(("sh", "-c", 'cat "$1"; printf %s "$2" >&2; exit "$3"', "answer",
                              str(outcome.output), outcome.stderr, str(outcome.status)))

    def planned_words(self, words: Mapping[str, str]) -> dict[str, str]:
        """Words that tell the client which ends are elsewhere: the same for all pairs."""
        return {machine.ADDRESS_WORDS[end]: machine.endpoint(PLANNED_ADDRESS, PLANNED_PORT)
                for end in self.ends_to_start(words)}

    def facts(self, words: Mapping[str, str]) -> dict[str, Any]:
        given = words_for_client({key: value for key, value in words.items()
                                  if key not in LAB_WORDS})
        outcome = self.fleet.ask(self, self.client(words).folder, ["--facts", *word_list(given)],
                                 ends=self.ends_to_start(words))
        found = [line for line in map(line_read, outcome.lines()) if line and "client" in line]
        if len(found) != 1:
            why = outcome.why or complaint_text(outcome.stderr) or "it prints no facts"
            raise Failure(f"hosts={self.fleet.path}: {self.host(CLIENT)}: {why}")
        return found[0]

    def greetings(self) -> dict[str, machine.Greeting]:
        known = self.fleet.greetings
        return {host: known[host] for host in self.hosts if host in known}

    def identity(self) -> dict[str, str]:
        return {"programs": build_digest(programs.programs_choose(self.local))} | {
            name: greeting.system for name, greeting in self.greetings().items()}

    def boot_ids(self) -> dict[str, str]:
        return {name: greeting.boot for name, greeting in self.greetings().items()}

    def address(self, end: str) -> str:
        """The address where an end listens: of the inventory, else to which Ansible connected."""
        part = self.parts[end]
        greeting = self.fleet.greetings.get(part.host)
        found = part.address or (greeting.own_address if greeting else "")
        if not found:
            raise Failure(f"hosts={self.fleet.path}: host {part.host} is not reached by ssh: "
                          f"set its address by {ADDRESS_VARIABLE}")
        return found

    def words_check(self, words: Mapping[str, str]) -> None:
        """As above; also notes whether a cell has a subject, whose definitions the hosts need."""
        super().words_check(words)
        self.fleet.needs_definitions |= bool(subject_of(words))

    def definitions_at(self, end: str) -> str:
        return self.fleet.definitions[self.host(end)]

    def by_hand_at(self, end: str, folder: Path, command: Sequence[str]) -> str:
        host = self.host(end)
        copy = self.fleet.copies[host, self.fleet.digest(folder)]
        return shlex.join(["ansible", "-i", self.fleet.path, host, "-m", "raw", "-a",
                           shlex.join([f"{copy}/{command[0]}", *command[1:]])])


class Fleet:
    """All pairs. Opening reads the inventory; the first step connects to hosts. values: of
    `target`, one for each pair. used: the pairs that have cells, by value. greetings: by host.
    folders: of this run, by host, for all hosts that ever greeted. copies: the folder of programs
    there, by host and digest. servers: the endpoint, by host, role and digest. needs_definitions:
    whether a cell has a subject. definitions: the file there with those of subjects, by host."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.values = pairs_read(inventory_list(path), path)
        self.used: dict[str, FleetPair] = {}
        self.folder = tempfile.TemporaryDirectory(prefix="uncork-", ignore_cleanup_errors=True)
        self.run_id = secrets.token_hex(8)
        # the key of this run is in memory only; a process of the same user opens its path
        self.key = os.memfd_create("uncork-key")
        os.write(self.key, machine.key_line(secrets.token_hex(machine.KEY_BYTES)).encode())
        self.key_path = Path(f"/proc/{os.getpid()}/fd/{self.key}")
        self.driver: Driver | None = None
        self.greetings: dict[str, machine.Greeting] = {}
        self.folders: dict[str, str] = {}
        self.copies: dict[tuple[str, str], str] = {}
        self.servers: dict[tuple[str, str, str], str] = {}
        self.needs_definitions = False
        self.definitions: dict[str, str] = {}
        # cached by folder: hosts keep the programs copied first, even if the files change
        self.digest = functools.cache(lambda folder: build_digest(Client(folder, None)))
        self.answers: dict[tuple[str, tuple[str, ...], str], dict[str, Outcome]] = {}

    def target(self, value: str, client: Client) -> Target:
        return FleetPair(value, client, self)

    def step(self, jobs: Mapping[str, Job], limit_s: float,
             keep: bool = False) -> dict[str, Outcome]:
        if self.driver is None:
            self.driver = Driver(self.path, Path(self.folder.name))
        return self.driver.step(jobs, limit_s, keep)

    # ---- what must be there before a client runs ----

    def greet(self, hosts: Iterable[str], folder: Path) -> tuple[dict[str, list[str]], Reasons]:
        """Greets the hosts that may lack the programs in a folder. Returns (the programs that each
        lacks, why others failed), both by host."""
        digest = self.digest(folder)
        sums = {name: programs.checksum(folder / name) for name in BINARIES}
        new = [host for host in hosts if (host, digest) not in self.copies]
        job = Job(machine.script_argv(scripts.GREET_SCRIPT, [digest, *BINARIES]))
        outcomes, missing = self.step(dict.fromkeys(new, job), GREET_LIMIT_S), {}
        for host, outcome in outcomes.items():
            greeting = next(filter(None, map(machine.greeting_parse, outcome.lines())), None)
            refusal = programs.system_refusal(host, greeting) if greeting else "it does not run sh"
            if greeting and not refusal:
                self.greetings[host] = greeting
                # several hosts may share one home
                self.folders[host] = f"{greeting.cache}/{scripts.RUNS}/{self.run_id}-{host}"
                missing[host] = programs.files_missing(outcome.stdout, sums)
            elif outcome.how == "ok":
                outcomes[host] = replace(outcome, how="failed", why=str(refusal))
        if self.driver:  # from now on its last step covers all hosts that ever greeted
            self.driver.send({host: Job(machine.script_argv(scripts.STOP_SCRIPT, [there]))
                              for host, there in self.folders.items()}, START_LIMIT_S, last=True)
        return missing, reasons_of(outcomes)

    def file_copy(self, path: Path, name: str, folders: Mapping[str, str]) -> Reasons:
        """Copies a file, under this name, to the folder of each host. Returns failures."""
        checksum = programs.checksum(path)
        return reasons_of(self.step({
            host: Job(machine.script_argv(programs.COPY_SCRIPT, [folder, name, checksum]), (path,))
            for host, folder in folders.items()}, programs.COPY_LIMIT_S))

    def copy(self, missing: Mapping[str, Sequence[str]], folder: Path) -> Reasons:
        """Copies the missing programs to each host, and tries to start them. Returns failures."""
        digest, reasons = self.digest(folder), Reasons()
        folders = {host: f"{self.greetings[host].cache}/{programs.PROGRAMS_FOLDER}/{digest}"
                   for host in missing}
        for name in BINARIES:
            reasons |= self.file_copy(folder / name, name, {
                host: folders[host] for host, names in missing.items()
                if name in names and host not in reasons})
        started = self.step({
            host: Job((f"{folders[host]}/{BINARIES[0]}", "--version"))
            for host, names in missing.items() if names and host not in reasons},
            programs.CHECK_LIMIT_S)
        reasons |= {host: f"{why}; {STATIC_HINT}" for host, why in reasons_of(started).items()}
        self.copies |= {(host, digest): copy for host, copy in folders.items()
                        if host not in reasons}
        return reasons

    def define(self, hosts: Iterable[str]) -> Reasons:
        path, name = programs.definitions_copy()
        folders = {host: f"{self.greetings[host].cache}/{programs.SUBJECTS_FOLDER}"
                   for host in hosts if host not in self.definitions}
        reasons = self.file_copy(path, name, folders)
        self.definitions |= {host: f"{folder}/{name}" for host, folder in folders.items()
                             if host not in reasons}
        return reasons

    def pid_file(self, host: str, role: str, digest: str) -> str:
        return f"{self.folders[host]}/{role}-{digest}.pid"

    def prepare(self, pairs: Sequence[FleetPair], folder: Path) -> Reasons:
        hosts = [host for pair in pairs for host in pair.hosts]
        missing, reasons = self.greet(hosts, folder)
        reasons |= self.copy(missing, folder)
        if self.needs_definitions:
            reasons |= self.define(host for host in hosts if host not in reasons)
        return reasons_by_pair(pairs, reasons)

    def serve(self, pairs: Sequence[FleetPair], folder: Path) -> Reasons:
        """Starts missing servers, then missing proxies of pairs. Returns failures by pair."""
        digest, lost = self.digest(folder), dict[str, Outcome]()
        for role in (SERVER, PROXY):
            new = {pair.host(role): pair for pair in pairs
                   if not pair.one_machine and role in pair.parts
                   and (pair.host(role), role, digest) not in self.servers}
            starts = {host: Job(scripts.server_argv(
                f"{self.copies[host, digest]}/{BINARIES[1]}", self.pid_file(host, role, digest),
                machine.endpoint(pair.address(role), 0), IDLE_S,
                (*pair.server_options(role), *self.subject_options(host))),
                (self.key_path,)) for host, pair in new.items()}
            for host, outcome in self.step(starts, START_LIMIT_S).items():
                port = next(filter(None, map(machine.ready_parse, outcome.lines())), None)
                if port:
                    address = new[host].address(role)
                    self.servers[host, role, digest] = machine.endpoint(address, port)
                else:
                    lost[host] = replace(outcome, status=outcome.status or 1)
        return reasons_by_pair(pairs, reasons_of(lost))

    def subject_options(self, host: str) -> tuple[str, ...]:
        return ("--subjects", self.definitions[host]) if self.needs_definitions else ()

    # ---- clients ----

    def client_job(self, pair: FleetPair, folder: Path, arguments: Sequence[str], given: str,
                   limit_s: float) -> Job:
        """The client of a prepared pair. given: its standard input behind the key."""
        host, digest = pair.host(CLIENT), self.digest(folder)
        argv = scripts.client_argv(f"{self.copies[host, digest]}/{BINARIES[0]}",
                                self.pid_file(host, "client", digest), limit_s, arguments)
        lines = Path(self.folder.name, f"{host}.in")
        lines.write_text(given)
        return Job(argv, (self.key_path, lines))

    def ask(self, pair: FleetPair, folder: Path, arguments: Sequence[str], given: str = "",
            ends: Sequence[str] = ()) -> Outcome:
        """The answer of a pair's client; the first call asks those of all pairs in one step."""
        key = self.digest(folder), (*arguments, *ends), given
        if key not in self.answers:
            pairs = list(self.used.values())
            reasons = self.prepare(pairs, folder)
            if ends and not reasons:
                reasons = self.serve(pairs, folder)
            if reasons:
                others = len(reasons) - 1
                more = f" (and {others} more pairs fail)" if others else ""
                raise Failure(f"hosts={self.path}: {next(iter(reasons.values()))}{more}")
            questions = {}
            for other in pairs:
                addresses = self.addresses(other, folder, ends)
                questions[other.host(CLIENT)] = self.client_job(
                    other, folder,
                    [*machine.key_options(addresses), *arguments, *word_list(addresses)],
                    given, ASK_LIMIT_S)
            self.answers[key] = self.step(questions, ASK_LIMIT_S, keep=True)
        return self.answers[key][pair.host(CLIENT)]

    def addresses(self, pair: FleetPair, folder: Path, ends: Sequence[str]) -> dict[str, str]:
        """The words with the addresses of these ends; none for a pair that is one host."""
        return {machine.ADDRESS_WORDS[end]: self.servers[pair.host(end), end, self.digest(folder)]
                for end in (() if pair.one_machine else ends)}

    def lost_find(self, pairs: Sequence[FleetPair], folder: Path) -> Reasons:
        """The lost hosts and servers of pairs with failed runs, by pair. What is known about these
        hosts is dropped, so that the next round greets them and starts their servers again."""
        digest = self.digest(folder)
        pid_files = {host: [self.pid_file(host, role, digest) for name, role, known in self.servers
                            if (name, known) == (host, digest)]
                     for pair in pairs for host in pair.hosts}
        reasons = reasons_of(self.step({host: Job(machine.script_argv(scripts.ALIVE_SCRIPT, found))
                                        for host, found in pid_files.items()}, GREET_LIMIT_S))
        self.greetings = {host: greeting for host, greeting in self.greetings.items()
                          if host not in reasons}
        self.copies = {key: copy for key, copy in self.copies.items() if key[0] not in reasons}
        self.servers = {key: where for key, where in self.servers.items() if key[0] not in reasons}
        return reasons_by_pair(pairs, reasons)

    # ---- rounds ----

    def run(self, cells: Sequence[PlannedCell]) -> Iterator[tuple[int, JsonObject]]:
        """(number, record) of each cell, pair by pair, from one batch for each pair. Pairs with a
        failed run come last, after a search for lost hosts, which records of failed runs name."""
        numbers = {self.used[value]: own for value, own in cells_by_target(cells).items()}
        folder = next(iter(numbers)).client(cells[0].words).folder
        records = self.batches_run(
            {pair: [cells[number] for number in own] for pair, own in numbers.items()}, folder)
        failed = [pair for pair, found in records.items()
                  if any(record["status"] == "failed" for record in found)]
        for pair, found in records.items():
            if pair not in failed:
                yield from zip(numbers[pair], found, strict=True)
        lost = self.lost_find(failed, folder)
        for pair in failed:
            why = lost.get(pair.value)
            for number, record in zip(numbers[pair], records[pair], strict=True):
                if why and record["status"] == "failed" and why != record["reason"]:
                    record["reason"] = f"{why}; {record['reason']}"
                yield number, record

    def batches_run(self, pairs: Mapping[FleetPair, Sequence[PlannedCell]], folder: Path,
                    ) -> dict[FleetPair, list[JsonObject]]:
        """The records of the cells of each pair. All pairs run at once."""
        reasons = self.prepare(list(pairs), folder)
        reasons |= self.serve([pair for pair in pairs if pair.value not in reasons], folder)
        clients, limits, records = {}, {}, {}
        for pair, cells in pairs.items():
            if pair.value not in reasons:
                limits[pair] = BATCH_START_S + runs_limit(cells)
                ends = [self.addresses(pair, folder, pair.ends_to_start(cell.words))
                        for cell in cells]
                lines = [line_for_client(cell.given, words) for cell, words
                         in zip(cells, ends, strict=True)]
                clients[pair.host(CLIENT)] = self.client_job(
                    pair, folder, [*machine.key_options(ends[0]), *(
                        self.subject_options(pair.host(CLIENT)) if pair.one_machine else ()),
                        "--batch", "-"],
                    "".join(f"{line}\n" for line in lines), limits[pair])
        outcomes = self.step(clients, max(limits.values(), default=0.0))
        reasons |= reasons_by_pair(limits, reasons_of(
            {host: outcome for host, outcome in outcomes.items() if outcome.how != "ok"}))
        for pair, cells in pairs.items():
            if pair.value in reasons:
                records[pair] = [failed_record(reasons[pair.value]) for _ in cells]
            else:
                outcome = replace(outcomes[pair.host(CLIENT)], limit_s=limits[pair])
                found = dict(batch_records(outcome, cells))
                records[pair] = [found[index] for index in range(len(cells))]
        return records

    def close(self) -> None:
        """Stops all programs on all hosts; prints a line for each host where that failed."""
        try:
            for host, why in self.driver.close().items() if self.driver else ():
                say(f"programs on {host} could not be stopped, and end by themselves: {why}")
        finally:
            os.close(self.key)
            self.folder.cleanup()
