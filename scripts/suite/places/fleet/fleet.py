# SPDX-License-Identifier: MIT
"""The pairs of an inventory, open: what is known of their hosts, and what runs there.

Programs, servers and questions go to all hosts in one step. A failure on a host concerns only its
pair, with a reason. When a round begins, the host is tried again.
"""

from __future__ import annotations

import functools
import os
import secrets
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from suite.base.client import BINARIES, Client, build_digest, complaint_text
from suite.base.errors import Failure
from suite.places.fleet.driver import Driver, Job, Outcome, inventory_list
from suite.places.fleet.inventory import CLIENT, PROXY, SERVER, WORD, pairs_read
from suite.places.fleet.jobs import (
    ALIVE,
    client_words,
    down_words,
    greet_words,
    note_path,
    server_words,
)
from suite.places.remote import RemoteTarget
from suite.places.ssh.machine import Greeting, first_parsed, greeting_parse, script_words
from suite.places.ssh.programs import (
    COPIES_S,
    COPY_SCRIPT,
    LOOKS_S,
    PROGRAMS_FOLDER,
    STATIC_HINT,
    checksum,
    programs_missing,
    system_refusal,
)
from suite.places.ssh.server import (
    ADDRESS_WORDS,
    KEY_BYTES,
    endpoint,
    key_line,
    key_options,
    ready_parse,
)
from suite.places.target import word_list

GREETS_S, STARTS_S, ASKS_S = 30.0, 30.0, 120.0
IDLE_S = 4 * 3600.0  # a server waits for its client while other pairs are still in their round
Reasons = dict[str, str]  # by host or by pair: why something failed


def reasons_of(outcomes: Mapping[str, Outcome]) -> Reasons:
    """Why a job did not run or failed, by host; only of those that did."""
    found = {}
    for host, outcome in outcomes.items():
        if outcome.how != "ok" or outcome.status != 0:
            why = outcome.why or complaint_text(outcome.stderr) or (
                f"ended with status {outcome.status}")
            lost = " cannot be reached" if outcome.how == "unreachable" else ""
            found[host] = f"{host}{lost}: {why}"
    return found


def reasons_by_pair(pairs: Iterable[RemoteTarget], reasons: Reasons) -> Reasons:
    """The reasons by value of `target`: that of the first host that has one."""
    found = {pair.value: [reasons[host] for host in pair.hosts if host in reasons]
             for pair in pairs}
    return {value: first[0] for value, first in found.items() if first}


class Fleet:
    """All pairs. Opening it reads the inventory; the first step connects to hosts.

    values: of `target`, one for each pair; used: the pairs that have cells, by value; greetings: by
    host; caches: of all hosts that ever greeted; copies: the folder there, by host and digest of
    the programs; servers: where one listens, by host, role and digest.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self.values = pairs_read(inventory_list(path), path)
        self.used: dict[str, RemoteTarget] = {}
        self.folder = tempfile.TemporaryDirectory(prefix="uncork-", ignore_cleanup_errors=True)
        self.run_id = secrets.token_hex(8)
        # the key of this run is in memory only; a process of the same user opens its path
        self.key = os.memfd_create("uncork-key")
        os.write(self.key, key_line(secrets.token_hex(KEY_BYTES)).encode())
        self.key_path = Path(f"/proc/{os.getpid()}/fd/{self.key}")
        self.driver: Driver | None = None
        self.greetings: dict[str, Greeting] = {}
        self.caches: dict[str, str] = {}
        self.copies: dict[tuple[str, str], str] = {}
        self.servers: dict[tuple[str, str, str], str] = {}
        # by folder here; hosts keep the programs that were copied first, even if the files change
        self.digest = functools.cache(lambda folder: build_digest(Client(folder, None)))
        self.answers: dict[tuple[str, tuple[str, ...], str], dict[str, Outcome]] = {}

    def file(self, name: str, content: bytes) -> Path:
        """A file that a job reads."""
        path = Path(self.folder.name) / name
        path.write_bytes(content)
        return path

    def step(self, jobs: Mapping[str, Job], limit_s: float,
             keep: bool = False) -> dict[str, Outcome]:
        """One step on the hosts that have a job (Driver.step)."""
        if self.driver is None:
            self.driver = Driver(self.path, Path(self.folder.name))
        return self.driver.step(jobs, limit_s, keep)

    # ---- what must be there before a client runs ----

    def greet(self, hosts: Iterable[str], folder: Path) -> tuple[dict[str, list[str]], Reasons]:
        """Greets the hosts that are not known to have the programs in a folder.

        (programs that each of them lacks, why others failed), both by host.
        """
        digest = self.digest(folder)
        sums = {name: checksum(folder / name) for name in BINARIES}
        new = [host for host in hosts if (host, digest) not in self.copies]
        outcomes = self.step(dict.fromkeys(new, Job(greet_words(digest, BINARIES))), GREETS_S)
        lack = {}
        for host, outcome in outcomes.items():
            greeting = first_parsed(outcome.lines(), greeting_parse)
            refusal = system_refusal(host, greeting) if greeting else "it does not run sh"
            if greeting and not refusal:
                self.greetings[host] = greeting
                lack[host] = programs_missing(outcome.stdout, sums)
            elif outcome.how == "ok":
                outcomes[host] = replace(outcome, how="failed", why=str(refusal))
        if self.driver:  # from now on it can take down all hosts that ever greeted
            self.caches |= {host: greeting.cache for host, greeting in self.greetings.items()}
            self.driver.send({host: Job(down_words(cache, self.run_name(host)))
                              for host, cache in self.caches.items()}, STARTS_S, last=True)
        return lack, reasons_of(outcomes)

    def copy(self, lack: Mapping[str, Sequence[str]], folder: Path) -> Reasons:
        """Copies to hosts the programs that they lack, and starts them once."""
        digest, reasons = self.digest(folder), Reasons()
        folders = {host: f"{self.greetings[host].cache}/{PROGRAMS_FOLDER}/{digest}"
                   for host in lack}
        for name in BINARIES:
            path = folder / name
            reasons |= reasons_of(self.step({
                host: Job(script_words(COPY_SCRIPT, [folders[host], name, checksum(path)]), (path,))
                for host, names in lack.items() if name in names and host not in reasons},
                COPIES_S))
        started = self.step({
            host: Job((f"{folders[host]}/{BINARIES[0]}", "--version"))
            for host, names in lack.items() if names and host not in reasons}, LOOKS_S)
        reasons |= {host: f"{why}; {STATIC_HINT}" for host, why in reasons_of(started).items()}
        self.copies |= {(host, digest): copy for host, copy in folders.items()
                        if host not in reasons}
        return reasons

    def run_name(self, host: str) -> str:
        """The folder of this run on a host; several hosts may share one home."""
        return f"{self.run_id}-{host}"

    def note(self, host: str, role: str, digest: str) -> str:
        """The file on a host for the process id of a role."""
        return note_path(self.greetings[host].cache, self.run_name(host), f"{role}-{digest}")

    def prepare(self, pairs: Sequence[RemoteTarget], folder: Path) -> Reasons:
        """Greets the hosts of pairs and copies programs; gives failures by pair."""
        lack, reasons = self.greet((host for pair in pairs for host in pair.hosts), folder)
        return reasons_by_pair(pairs, reasons | self.copy(lack, folder))

    def serve(self, pairs: Sequence[RemoteTarget], folder: Path) -> Reasons:
        """Starts the servers, then the proxies of pairs that have none; gives failures by pair."""
        digest, lost = self.digest(folder), dict[str, Outcome]()
        for role in (SERVER, PROXY):
            new = {pair.host(role): pair for pair in pairs
                   if not pair.alone and role in pair.parts
                   and (pair.host(role), role, digest) not in self.servers}
            jobs = {host: Job(server_words(
                f"{self.copies[host, digest]}/{BINARIES[1]}", self.note(host, role, digest),
                endpoint(pair.address(role), 0), IDLE_S, pair.server_options(role)),
                (self.key_path,)) for host, pair in new.items()}
            for host, outcome in self.step(jobs, STARTS_S).items():
                port = first_parsed(outcome.lines(), ready_parse)
                if port:
                    self.servers[host, role, digest] = endpoint(new[host].address(role), port)
                else:
                    lost[host] = replace(outcome, status=outcome.status or 1)
        return reasons_by_pair(pairs, reasons_of(lost))

    # ---- clients ----

    def client_job(self, pair: RemoteTarget, folder: Path, arguments: Sequence[str], given: str,
                   limit_s: float) -> Job:
        """A client of a pair that is prepared. given: its standard input behind the key."""
        host, digest = pair.host(CLIENT), self.digest(folder)
        words = client_words(f"{self.copies[host, digest]}/{BINARIES[0]}",
                             self.note(host, "client", digest), limit_s, arguments)
        return Job(words, (self.key_path, self.file(f"{host}.in", given.encode())))

    def ask(
        self, pair: RemoteTarget, folder: Path, arguments: Sequence[str], given: str = "",
        ends: Sequence[str] = (),
    ) -> Outcome:
        """The answer of a pair's client; all clients get the question in one step, once.

        ends: whose addresses go behind the arguments. Failure where a pair cannot be prepared.
        """
        key = self.digest(folder), (*arguments, *ends), given
        if key not in self.answers:
            pairs = list(self.used.values())
            reasons = self.prepare(pairs, folder)
            if ends and not reasons:
                reasons = self.serve(pairs, folder)
            if reasons:
                others = len(reasons) - 1
                more = f" (and {others} more pairs have troubles)" if others else ""
                raise Failure(f"{WORD}={self.path}: {next(iter(reasons.values()))}{more}")
            jobs = {}
            for other in pairs:
                addresses = self.addresses(other, folder, ends)
                jobs[other.host(CLIENT)] = self.client_job(
                    other, folder, [*key_options(addresses), *arguments, *word_list(addresses)],
                    given, ASKS_S)
            self.answers[key] = self.step(jobs, ASKS_S, keep=True)
        return self.answers[key][pair.host(CLIENT)]

    def addresses(self, pair: RemoteTarget, folder: Path, ends: Sequence[str]) -> dict[str, str]:
        """The words with the addresses of these ends; none for a pair that is one host."""
        return {ADDRESS_WORDS[end]: self.servers[pair.host(end), end, self.digest(folder)]
                for end in (() if pair.alone else ends)}

    def check(self, pairs: Sequence[RemoteTarget], folder: Path) -> Reasons:
        """Which hosts or servers of these pairs were lost, by pair, after runs have failed.

        What is known of such a host is dropped, so that the next round greets it and starts its
        server again.
        """
        digest = self.digest(folder)
        notes: dict[str, list[str]] = {host: [] for pair in pairs for host in pair.hosts}
        for host, role, known in self.servers:
            if host in notes and known == digest:
                notes[host].append(self.note(host, role, digest))
        reasons = reasons_of(self.step({host: Job(script_words(ALIVE, found))
                                        for host, found in notes.items()}, GREETS_S))
        self.greetings = {host: said for host, said in self.greetings.items()
                          if host not in reasons}
        self.copies = {key: copy for key, copy in self.copies.items() if key[0] not in reasons}
        self.servers = {key: where for key, where in self.servers.items() if key[0] not in reasons}
        return reasons_by_pair(pairs, reasons)

    def close(self) -> None:
        """Takes all hosts down; one line on standard error for each where that failed."""
        try:
            for host, why in self.driver.close().items() if self.driver else ():
                print(f"uncork: what runs on {host} could not be taken down and ends by itself: "
                      f"{why}", file=sys.stderr)
        finally:
            os.close(self.key)
            self.folder.cleanup()
