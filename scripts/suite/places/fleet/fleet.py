# SPDX-License-Identifier: MIT
"""The pairs of an inventory, open: what is known of their hosts, and what runs there.

Whatever is wanted of a pair is wanted of all of them: programs, servers and questions go to all
hosts in one step. What fails on a host is that host's trouble, with a reason, and nobody else's;
when a round begins it may try again.
"""

from __future__ import annotations

import os
import secrets
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from suite.base.client import BINARIES, Client, build_digest, complaint_text
from suite.base.errors import Failure
from suite.places.fleet.driver import Driver, Job, Outcome, inventory_list
from suite.places.fleet.inventory import ADDRESS_OF, PROXY, SERVER, WORD, Pair, pairs_read
from suite.places.fleet.jobs import (
    OVERDUE_STATUS,
    alive_words,
    client_words,
    down_words,
    greet_words,
    note_path,
    server_words,
)
from suite.places.ssh.machine import Greeting, greeting_parse
from suite.places.ssh.programs import (
    COPIES_S,
    COPY_SCRIPT,
    FOLDER,
    LOOKS_S,
    STATIC_HINT,
    checksum,
    missing_of,
    system_refusal,
)
from suite.places.ssh.server import ADDRESS_WORDS, endpoint, key_line, prefix_of, ready_parse
from suite.places.ssh.shell import KEY_FILE, script_words

KEY_BYTES = 32
GREETS_S, STARTS_S, ASKS_S = 30.0, 30.0, 120.0
IDLE_S = 4 * 3600.0  # a server waits for its client while other pairs are still in their round
Served = tuple[str, str, str]  # host, role, digest of the programs
Reasons = dict[str, str]  # by host or by pair: why something was not to be had


@dataclass
class Answer:
    """What a client has said, all of it; to read as one listens to a child (child.Heard)."""

    output: Path
    stderr: str
    status: int
    limit_s: float
    torn: bytes = b""

    @property
    def overdue(self) -> bool:
        """Whether it had to be ended."""
        return self.status == OVERDUE_STATUS

    def lines(self) -> Iterator[bytes]:
        """Each whole line."""
        with open(self.output, "rb") as file:
            for line in file:
                if line.endswith(b"\n"):
                    yield line[:-1]
                else:
                    self.torn = line


@dataclass(frozen=True)
class Batch:
    """What the client of a pair is to do: lines for its standard input, and options before
    --batch."""

    pair: Pair
    options: tuple[str, ...]
    lines: tuple[str, ...]
    limit_s: float


class Key:
    """A key of this run, in memory only, and its path for a process of the same user."""

    def __init__(self) -> None:
        self.descriptor = os.memfd_create("uncork-key")
        os.write(self.descriptor, key_line(secrets.token_hex(KEY_BYTES)).encode())
        self.path = Path(f"/proc/{os.getpid()}/fd/{self.descriptor}")

    def close(self) -> None:
        """Forgets it."""
        os.close(self.descriptor)


def key_options(ends: Mapping[str, str]) -> tuple[str, ...]:
    """The client's options for ends that words name."""
    return ("--psk", KEY_FILE) if ends else ()


def words_of(words: Mapping[str, str]) -> list[str]:
    """Words as a client takes them."""
    return [f"{key}={value}" for key, value in words.items()]


def reasons_of(outcomes: Mapping[str, Outcome]) -> Reasons:
    """Why a job has not run, or has failed, for those of which that is so."""
    told = {host: outcome.why or complaint_text(outcome.stderr)
            or f"ended with status {outcome.status}"
            for host, outcome in outcomes.items() if outcome.how != "ok" or outcome.status != 0}
    return {host: f"{host} cannot be reached: {why}" if outcomes[host].how == "unreachable"
            else f"{host}: {why}"
            for host, why in told.items()}


def reasons_by_pair(pairs: Iterable[Pair], reasons: Reasons) -> Reasons:
    """The same by pair: that of its first host that has one."""
    found = {pair.target: [reasons[host.name] for host in pair.hosts if host.name in reasons]
             for pair in pairs}
    return {target: told[0] for target, told in found.items() if told}


class Fleet:
    """All pairs. Opening it reads the inventory; hosts are spoken to when something is first wanted
    of them."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.pairs = {pair.target: pair for pair in pairs_read(inventory_list(path), path)}
        self.wanted: dict[str, Pair] = {}
        self.folder = tempfile.TemporaryDirectory(prefix="uncork-", ignore_cleanup_errors=True)
        self.place = Path(self.folder.name)
        run, hosts = secrets.token_hex(8), dict.fromkeys(host.name for pair in self.pairs.values()
                                                         for host in pair.hosts)
        # a home may be one of many hosts
        self.runs = {host: f"{run}-{number}" for number, host in enumerate(hosts)}
        self.key = Key()
        self.nothing = self.file("nothing", b"\n")
        self.driver: Driver | None = None
        self.greetings: dict[str, Greeting] = {}
        self.caches: dict[str, str] = {}
        self.copies: dict[tuple[str, str], str] = {}  # (host, digest) -> folder there
        self.served: dict[Served, str] = {}  # where it listens
        self.digests: dict[Path, str] = {}
        self.answers: dict[tuple[str, tuple[str, ...], str], dict[str, Outcome]] = {}

    def want(self, target: str) -> Pair:
        """A pair that cells are for."""
        return self.wanted.setdefault(target, self.pairs[target])

    def file(self, name: str, content: bytes) -> Path:
        """A file for a job to read."""
        path = self.place / name
        path.write_bytes(content)
        return path

    def step(self, jobs: Mapping[str, Job], limit_s: float,
             keep: bool = False) -> dict[str, Outcome]:
        """One step on the hosts that have a job."""
        if self.driver is None:
            self.driver = Driver(self.path, self.place)
        return self.driver.step(jobs, limit_s, keep)

    def digest(self, client: Client) -> str:
        """What programs these are: hosts keep what they were given, whatever becomes of it here."""
        if client.folder not in self.digests:
            self.digests[client.folder] = build_digest(client)
        return self.digests[client.folder]

    # ---- what has to be there before a client runs ----

    def greet(self, hosts: Iterable[str], client: Client) -> tuple[dict[str, list[str]], Reasons]:
        """Finds out what those of these hosts are that are not known with these programs.

        (which programs each of them lacks, why others are not to be had).
        """
        digest, sums = self.digest(client), [checksum(client.folder / name) for name in BINARIES]
        new = [host for host in hosts if (host, digest) not in self.copies]
        job = Job(greet_words(digest, BINARIES), (self.nothing,))
        outcomes, lack = self.step(dict.fromkeys(new, job), GREETS_S), {}
        for host, outcome in outcomes.items():
            greeting = next(filter(None, map(greeting_parse, outcome.stdout.split(b"\n"))), None)
            refusal = system_refusal(host, greeting) if greeting else "it does not run sh"
            if greeting and not refusal:
                self.greetings[host] = greeting
                lack[host] = missing_of(outcome.stdout, sums)
            elif outcome.how == "ok":
                outcomes[host] = replace(outcome, how="failed", why=str(refusal))
        self.down_remember()
        return lack, reasons_of(outcomes)

    def down_remember(self) -> None:
        """Tells the driver how to take down all hosts that were ever reached."""
        if self.driver:
            self.caches |= {host: greeting.cache for host, greeting in self.greetings.items()}
            downs = {host: Job(down_words(cache, self.runs[host]), (self.nothing,))
                     for host, cache in self.caches.items()}
            self.driver.ask(downs, STARTS_S, last=True)

    def copy(self, lack: Mapping[str, Sequence[str]], client: Client) -> Reasons:
        """Copies to hosts the programs that they lack, and tries these."""
        digest, reasons = self.digest(client), Reasons()
        folders = {host: f"{self.greetings[host].cache}/{FOLDER}/{digest}" for host in lack}
        for name in BINARIES:
            path = client.folder / name
            reasons |= reasons_of(self.step({
                host: Job(script_words(COPY_SCRIPT, [folders[host], name, checksum(path)]), (path,))
                for host, names in lack.items() if name in names and host not in reasons},
                COPIES_S))
        tried = self.step({host: Job((f"{folders[host]}/{BINARIES[0]}", "--version"),
                                     (self.nothing,))
                           for host, names in lack.items() if names and host not in reasons},
                           LOOKS_S)
        reasons |= {host: f"{why}; {STATIC_HINT}" for host, why in reasons_of(tried).items()}
        self.copies |= {(host, digest): folder for host, folder in folders.items()
                        if host not in reasons}
        return reasons

    def address(self, pair: Pair, role: str) -> str:
        """Where a host of a pair listens: as the inventory says, else where it was reached."""
        host = pair.host(role)
        found = host.address or (self.greetings[host.name].seen_at if host.name in self.greetings else "")
        if not found:
            raise Failure(f"{WORD}={self.path}: host {host.name} is not reached by ssh: "
                          f"say where it listens by {ADDRESS_OF}")
        return found

    def note(self, host: str, role: str, digest: str) -> str:
        """Where a process of that role is noted on a host."""
        return note_path(self.greetings[host].cache, self.runs[host], f"{role}-{digest}")

    def serve_job(self, pair: Pair, role: str, digest: str) -> Job:
        """Starts the server or the proxy of a pair."""
        sinks = () if role == SERVER else ("--proxy", "--allow-sink",
                                           prefix_of(self.address(pair, SERVER)))
        host = pair.host(role).name
        words = server_words(f"{self.copies[host, digest]}/{BINARIES[1]}",
                             self.note(host, role, digest),
                             endpoint(self.address(pair, role), 0), IDLE_S, sinks)
        return Job(words, (self.key.path,))

    def serve_role(self, pairs: Iterable[Pair], role: str, digest: str) -> Reasons:
        """Starts the servers or the proxies of pairs that have none yet."""
        new = {pair.host(role).name: pair for pair in pairs
               if pair.apart and getattr(pair, role)
               and (pair.host(role).name, role, digest) not in self.served}
        outcomes = self.step({host: self.serve_job(pair, role, digest)
                              for host, pair in new.items()}, STARTS_S)
        lost: dict[str, Outcome] = {}
        for host, outcome in outcomes.items():
            port = next(filter(None, map(ready_parse, outcome.stdout.split(b"\n"))), None)
            if port:
                self.served[host, role, digest] = endpoint(self.address(new[host], role), port)
            else:
                lost[host] = replace(outcome, status=outcome.status or 1)
        return reasons_of(lost)

    def prepare(self, pairs: Sequence[Pair], client: Client) -> Reasons:
        """Programs on all hosts of pairs: why not, by pair."""
        lack, reasons = self.greet((host.name for pair in pairs for host in pair.hosts), client)
        return reasons_by_pair(pairs, reasons | self.copy(lack, client))

    def serve(self, pairs: Sequence[Pair], client: Client) -> Reasons:
        """Servers and proxies of pairs: why not, by pair."""
        reasons = Reasons()
        for role in (SERVER, PROXY):
            reasons |= self.serve_role(pairs, role, self.digest(client))
        return reasons_by_pair(pairs, reasons)

    # ---- clients ----

    def client_job(self, pair: Pair, client: Client, arguments: Sequence[str], given: str,
                   limit_s: float) -> Job:
        """A client of a pair, by all that was prepared."""
        host, digest = pair.client.name, self.digest(client)
        program, note = f"{self.copies[host, digest]}/{BINARIES[0]}", self.note(host, "client",
            digest)
        words = client_words(program, note, limit_s, arguments)
        return Job(words, (self.key.path, self.file(f"{host}.in", given.encode() or b"\n")))

    def ask(
        self, pair: Pair, client: Client, arguments: Sequence[str], given: str = "",
        named: Sequence[str] = (),
    ) -> Outcome:
        """What the client of a pair answers; all clients are asked together, and once. named: the
        ends that are to be named behind the arguments. Failure where one is not to be had."""
        key = self.digest(client), (*arguments, *named), given
        if key not in self.answers:
            pairs = list(self.wanted.values())
            self.require(self.prepare(pairs, client))
            if named:
                self.require(self.serve(pairs, client))
            jobs = {}
            for other in pairs:
                ends = self.ends(other, client, named)
                told = [*key_options(ends), *arguments, *words_of(ends)]
                jobs[other.client.name] = self.client_job(other, client, told, given, ASKS_S)
            self.answers[key] = self.step(jobs, ASKS_S, keep=True)
        return self.answers[key][pair.client.name]

    def require(self, reasons: Reasons) -> None:
        """Failure where there is any reason."""
        if reasons:
            more = f" (and {len(reasons) - 1} more pairs have troubles)" if len(reasons) > 1 else ""
            raise Failure(f"{WORD}={self.path}: {next(iter(reasons.values()))}{more}")

    def ends(self, pair: Pair, client: Client, named: Sequence[str]) -> dict[str, str]:
        """The words that say where these ends of a pair are."""
        digest = self.digest(client)
        return {ADDRESS_WORDS[end]: self.served[pair.host(end).name, end, digest]
                for end in (named if pair.apart else ())}

    def batches_run(self, batches: Sequence[Batch], client: Client) -> tuple[dict[str, Answer], Reasons]:
        """Runs the batch of each pair, all at the same time: what its client said, or why it did
        not run, by target."""
        jobs = {batch.pair.client.name: self.client_job(batch.pair, client,
                                                        [*batch.options, "--batch", "-"],
                                                        "".join(f"{line}\n"
                                                                for line in batch.lines),
                                                                batch.limit_s)
                for batch in batches}
        outcomes = self.step(jobs, max((batch.limit_s for batch in batches), default=0.0))
        reasons, answers = reasons_of(outcomes), {}
        for batch in batches:
            outcome = outcomes[batch.pair.client.name]
            if outcome.how == "ok":
                answers[batch.pair.target] = Answer(outcome.output, outcome.stderr, outcome.status,
                                                    batch.limit_s)
        return answers, {batch.pair.target: reasons[batch.pair.client.name] for batch in batches
                         if batch.pair.target not in answers}

    def check(self, pairs: Sequence[Pair], client: Client) -> Reasons:
        """After failures of these pairs: which of their hosts have gone, or have no server any
        more. What is known of them is forgotten, so that it is found out and made again when the
        next round begins."""
        digest = self.digest(client)
        notes: dict[str, list[str]] = {host.name: [] for pair in pairs for host in pair.hosts}
        for host, role, known in self.served:
            if host in notes and known == digest:
                notes[host].append(self.note(host, role, digest))
        jobs = {host: Job(alive_words(found), (self.nothing,)) for host, found in notes.items()}
        reasons = reasons_of(self.step(jobs, GREETS_S))
        for host in reasons:
            self.forget(host)
        return reasons_by_pair(pairs, reasons)

    def forget(self, host: str) -> None:
        """All that is known of a host."""
        self.greetings.pop(host, None)
        self.copies = {key: folder for key, folder in self.copies.items() if key[0] != host}
        self.served = {key: where for key, where in self.served.items() if key[0] != host}

    def close(self) -> Reasons:
        """Takes everything down; gives what could not be, by host."""
        try:
            return self.driver.close() if self.driver else {}
        finally:
            self.key.close()
            self.folder.cleanup()
