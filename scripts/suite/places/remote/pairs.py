# SPDX-License-Identifier: MIT
"""Targets with ends on other machines, independent of what connects the machines.

A value is CLIENT+SERVER or CLIENT+SERVER+PROXY, each `local`, `ssh:HOST` or `ssh:HOST/ADDRESS`: a
pair of hosts, or three. A single part is the machine of all ends; the client there starts the
others. Between machines the runner starts server and proxy. They accept only the key of the run,
and TLS encrypts the control channel.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from suite.base import ROOT, runner_words
from suite.base.client import Client, client_require, line_read
from suite.base.errors import Failure, UsageError
from suite.base.process import PlacedCommand
from suite.base.words import word_list, words_split
from suite.places.batch import batch_records, cells_by_target, runs_limit
from suite.places.remote.hosts import HERE, Hosts, Reasons, definitions_name, digest_of
from suite.places.remote.shell import KEY_FILE, Job, Outcome, endpoint
from suite.places.target import Target
from suite.result.plan import PlannedCell
from suite.result.record import ENDS, JsonObject

STATIC = ROOT / "build" / "static"
JOIN = "+"  # between the parts, which are in the order of ENDS
CLIENT, SERVER, PROXY = ENDS
ADDRESS_WORDS = {SERVER: "server", PROXY: "via"}  # the word with the address of each end
# A check of words names an end without a connection to it, at an address that RFC 5737 reserves for
# documents.
PLANNED = endpoint("192.0.2.1", 1)
BY_HAND_PORT = 7411
START_LIMIT_S, ASK_LIMIT_S, ALIVE_LIMIT_S = 30.0, 120.0, 4.0
BATCH_START_S = 10.0  # a batch may take so much longer than its runs
END_MARGIN_S = 15.0  # a client ends itself when its time is over; its step ends one that does not
IDLE_S = 4 * 3600  # a server waits so long for its client while other pairs finish their round
KEYED = ("--psk", KEY_FILE)
ANSWER = 'cat; printf %s "$1" >&2; exit "$2"'  # prints again what a client has printed there


def programs_choose(client: Client) -> Client:
    """The static build, if it has been configured and the user has chosen no other build."""
    if client.built is None or not (STATIC / "CMakeCache.txt").exists():
        return client
    return client_require(replace(client, folder=STATIC / "bin", built=STATIC))


class Part(NamedTuple):
    """The machine of an end. host: as connected to. address: where it listens."""

    host: str
    address: str = ""


def address_usable(text: str) -> bool:
    """Whether a text is a numeric IP address that other machines can connect to."""
    try:
        return not ipaddress.ip_address(text).is_unspecified
    except ValueError:
        return False


def part_parse(text: str) -> Part:
    """`local`, `ssh:HOST` or `ssh:HOST/ADDRESS`; UsageError for anything else."""
    if text == runner_words.LOCAL:
        return Part(HERE)
    kind, _, rest = text.partition(":")
    host, slash, address = rest.partition("/")
    if kind != "ssh" or not host or host.startswith("-") or (slash and not address):
        raise UsageError(f"target={text}: write ssh:HOST or ssh:HOST/ADDRESS")
    if address and not address_usable(address):
        raise UsageError(f"target={text}: {address} is no IP address that other "
                         "machines reach: write one, like 192.0.2.1 or fd00::1")
    return Part(host, address)


def parts_parse(value: str) -> list[Part]:
    return [part_parse(text) for text in value.split(JOIN)]


class RemoteTarget(Target):
    """Its own place, which asks clients. parts: by end. one_machine: whether it has all ends.
    name: as a place."""

    def __init__(self, value: str, client: Client, pairs: Pairs) -> None:
        super().__init__(value, client)
        parts = parts_parse(value)
        self.one_machine = len(parts) == 1
        self.parts = dict(zip(ENDS, parts * len(ENDS) if self.one_machine else parts, strict=False))
        self.name = f"on {self.host(CLIENT)}"
        self.pairs = pairs
        pairs.used[value] = self

    def command(self, program: Path, arguments: Sequence[str], given: str = "") -> PlacedCommand:
        """The command that prints here what the client there has answered (base.process.Place).
        Facts are those of the machines of all ends."""
        ends = self.ends_to_start(words_split(arguments[1:])) if arguments[0] == "--facts" else ()
        outcome = self.pairs.ask(self, program.parent, arguments, given, ends)
        return (("sh", "-c", ANSWER, "answer", outcome.stderr, str(outcome.status)),
                outcome.stdout.decode(errors="replace"))

    def host(self, end: str) -> str:
        return self.parts[end].host

    def hosts(self, ends: Iterable[str] = ENDS) -> list[str]:
        """The hosts of the client and of these ends."""
        return list(dict.fromkeys(part.host for end, part in self.parts.items()
                                  if end in (CLIENT, *ends)))

    def reason(self, ends: Iterable[str], reasons: Reasons) -> str:
        """Why it cannot run cells with these ends: of the first host with a reason; else empty."""
        return next((reasons[host] for host in self.hosts(ends) if host in reasons), "")

    def ends_to_start(self, words: Mapping[str, str]) -> tuple[str, ...]:
        """The ends that the runner starts for a cell, and not its client."""
        return () if self.one_machine else runner_words.serving_ends(words)

    def words_check(self, words: Mapping[str, str]) -> None:
        """UsageError for a word with the address of an end, and for a proxy that has no part."""
        for word, own in runner_words.OWN_ENDS.items():
            if words.get(word, own) != own:
                raise UsageError(
                    f"target={self.value} starts the ends itself: leave out {word}={words[word]}")
        if PROXY in self.ends_to_start(words) and PROXY not in self.parts:
            raise UsageError(
                f"target={self.value}: workload=proxy has three ends: write client+server+proxy")
        self.pairs.needs_definitions |= bool(runner_words.subject_of(words))

    def unsupported(self, words: Mapping[str, str]) -> str | None:
        """transport=unix between machines: a client takes the path only from a local server."""
        ends = self.ends_to_start(words)
        if words.get("transport") == "unix" and ends and self.hosts(ends) != [HERE]:
            return "transport=unix needs all ends on one machine; a target names it once: ssh:HOST"
        return None

    def client(self, words: Mapping[str, str]) -> Client:
        """The programs for a cell of these words: static ones, unless others were chosen."""
        return replace(programs_choose(super().client(words)), server_options=(), place=self)

    def planned_words(self, words: Mapping[str, str]) -> dict[str, str]:
        """Words for the ends elsewhere. What these ends support, they report in the run."""
        return {ADDRESS_WORDS[end]: PLANNED for end in self.ends_to_start(words)}

    def identity(self) -> dict[str, str]:
        """The digest of the programs, and by end the name and system of its machine."""
        known = self.pairs.greetings
        return {"programs": digest_of(programs_choose(self.local).folder)} | {
            end: f"{part.host} {known[part.host].system}"
            for end, part in self.parts.items() if part.host in known and part.host != HERE}

    def boot_ids(self) -> dict[str, str]:
        return {host: boot for host, boot in self.pairs.boots.items()
                if host in self.hosts() and host != HERE}

    def address(self, end: str) -> str:
        """Where an end listens: the address of its part, else the one to which it was connected;
        Failure where it is unknown."""
        part, known = self.parts[end], self.pairs.greetings
        if part.host == HERE:
            seen = [known[host].peer_address for host in self.hosts() if host in known]
            return next(filter(address_usable, seen), "127.0.0.1")
        found = part.address or (known[part.host].own_address if part.host in known else "")
        if not address_usable(found):
            raise Failure(f"{self.pairs.where}: ssh does not tell the address of {part.host}: "
                          f"write ssh:{part.host}/ADDRESS, in an inventory uncork_address=ADDRESS")
        return found

    def server_options(self, end: str) -> tuple[str, ...]:
        """The options of uncork-server for an end, besides its address and its key."""
        if end != PROXY:
            return ()
        server = self.address(SERVER)
        return "--proxy", "--allow-sink", f"{server}/{ipaddress.ip_address(server).max_prefixlen}"

    def program(self, end: str, folder: Path) -> str:
        return (f"{self.pairs.programs(self.host(end), folder)}/"
                f"{'uncork-client' if end == CLIENT else 'uncork-server'}")

    def subject_options(self, end: str, folder: Path) -> tuple[str, ...]:
        """The option with the definitions of subjects, for programs that run cells."""
        path = f"{self.pairs.programs(self.host(end), folder)}/{definitions_name()}"
        return ("--subjects", path) if self.pairs.needs_definitions else ()

    def addresses(self, folder: Path, ends: Iterable[str]) -> dict[str, str]:
        """The words with the addresses of these ends, whose servers run."""
        return {ADDRESS_WORDS[end]: self.pairs.servers[self.host(end), process_name(end, folder)]
                for end in ends}

    def by_hand(self, given: Mapping[str, str]) -> list[str]:
        """The lines to type to run a cell of these words once: server and proxy first."""
        ends, folder = self.ends_to_start(given), self.client(given).folder
        addresses = {ADDRESS_WORDS[end]: endpoint(self.address(end), BY_HAND_PORT + ENDS.index(end))
                     for end in ends}
        note = "# KEYS: a file with the same key on each machine, as psktool(1) writes it"
        lines, keys = ([note], ["--psk", "KEYS"]) if ends else ([], [])
        for end in (*ends, CLIENT):
            options = word_list(runner_words.words_for_client(given) | addresses) if (
                end == CLIENT) else ["--with-parent", "--listen", addresses[ADDRESS_WORDS[end]],
                                     *self.server_options(end)]
            lines.append(self.pairs.by_hand(self.host(end), [
                self.program(end, folder), *keys, *self.subject_options(end, folder), *options]))
        return lines

    def round_begin(self) -> None:
        self.pairs.lost.clear()


def process_name(end: str, folder: Path) -> str:
    """The name of a process in the folder of a run, where several builds may run."""
    return f"{end}-{digest_of(folder)}"


PairEnds = Mapping[RemoteTarget, Sequence[str]]  # pairs, and the ends that cells of each need


class Pairs(Hosts):
    """Pairs that run their cells at the same time: one of target=ssh:HOST, or all of an inventory.
    used: those that have cells, by value. keeps_servers: whether servers stay for other cells.
    needs_definitions: whether a cell has a subject. answers: of clients, by question and pair."""

    keeps_servers = False

    def __init__(self, where: str) -> None:
        super().__init__(where)
        self.used: dict[str, RemoteTarget] = {}
        self.needs_definitions = False
        self.answers: dict[tuple[object, ...], dict[RemoteTarget, Outcome]] = {}

    def serve(self, pairs: PairEnds, folder: Path) -> Reasons:
        """Prepares the hosts of these ends, starts missing servers, then missing proxies. Returns
        failures by host."""
        reasons = self.prepare(dict.fromkeys(
            host for pair, ends in pairs.items() for host in pair.hosts(ends)), folder)
        for end in (SERVER, PROXY):
            process = process_name(end, folder)
            new = {pair.host(end): pair for pair, ends in pairs.items() if end in ends
                   and (pair.host(end), process) not in self.servers
                   and not pair.reason(ends, reasons)}
            started = self.step({host: Job("server", (
                self.run_name(host), process, pair.program(end, folder),
                "--listen", endpoint(pair.address(end), 0), *KEYED, "--idle", f"{IDLE_S}s",
                *pair.server_options(end), *pair.subject_options(end, folder)), (self.key_path,))
                for host, pair in new.items()}, START_LIMIT_S)
            for host, outcome in started.items():
                ready = [line["ready"] for line in map(line_read, outcome.lines())
                         if line and "ready" in line]
                if ready:
                    self.servers[host, process] = endpoint(
                        new[host].address(end), ready[0]["port"])
                else:
                    reasons[host] = outcome.reason(f"no server on {host}")
        return reasons

    def servers_end(self) -> None:
        """Ends the servers of a cell, where the next cell gets new ones."""
        if not self.keeps_servers:
            self.step({host: Job("stop", (self.run_name(host),)) for host, _ in self.servers})
            self.servers.clear()

    def clients_run(self, pairs: PairEnds, folder: Path, limit_s: float,
                    question: Callable[[RemoteTarget], tuple[Sequence[str], str]]
                    ) -> dict[RemoteTarget, Outcome]:
        """Starts what is missing of these ends, then all clients, each for limit_s at most.
        question: the arguments of a client, and its standard input."""
        reasons, jobs = self.serve(pairs, folder), dict[str, Job]()
        for pair, ends in pairs.items():
            if not pair.reason(ends, reasons):
                host, (arguments, given) = pair.host(CLIENT), question(pair)
                jobs[host] = Job("client", (
                    self.run_name(host), process_name(CLIENT, folder), f"{limit_s:.0f}",
                    pair.program(CLIENT, folder), *(KEYED if ends else ()), *arguments),
                    (self.key_path,), given)
        outcomes = self.step(jobs, limit_s + END_MARGIN_S)
        return {pair: replace(outcomes[pair.host(CLIENT)], limit_s=limit_s)
                if pair.host(CLIENT) in outcomes else Outcome(why=pair.reason(ends, reasons))
                for pair, ends in pairs.items()}

    def ask(self, pair: RemoteTarget, folder: Path, arguments: Sequence[str], given: str,
            ends: Sequence[str]) -> Outcome:
        """The answer of a pair's client; the first call asks those of all pairs in one step.
        Failure if a host of any pair cannot be used."""
        key = folder, (*arguments, *ends), given
        if key not in self.answers:
            pairs = {other: () if other.one_machine else ends for other in self.used.values()}
            for why in self.prepare([host for other in pairs for host in other.hosts()],
                                    folder).values():
                raise Failure(f"{self.where}: {why}")
            self.answers[key] = self.clients_run(pairs, folder, ASK_LIMIT_S, lambda other: (
                [*arguments, *word_list(other.addresses(folder, pairs[other]))], given))
            self.servers_end()
        outcome = self.answers[key][pair]
        if outcome.why:
            raise Failure(f"{self.where}: {outcome.why}")
        return outcome

    def lost_find(self, hosts: Iterable[str]) -> Reasons:
        """Which of these hosts, or their servers, were lost meanwhile."""
        outcomes = self.step({
            host: Job("alive", (self.run_name(host), *(
                process for place, process in self.servers if place == host)))
            for host in dict.fromkeys(hosts) if host not in self.lost}, ALIVE_LIMIT_S)
        reasons = {host: outcome.reason(f"{host} was lost")
                   for host, outcome in outcomes.items() if outcome.failed}
        self.lose(reasons)
        return reasons

    def run(self, cells: Sequence[PlannedCell]) -> Iterator[tuple[int, JsonObject]]:
        """(number, record) of each cell, from one batch for each pair; all pairs run at once, and
        all cells have the same build. The records of failed runs name hosts that were lost."""
        numbers = {self.used[value]: own for value, own in cells_by_target(cells).items()}
        batches = {pair: [cells[number] for number in own] for pair, own in numbers.items()}
        pairs = {pair: tuple(dict.fromkeys(end for cell in batch
                                           for end in pair.ends_to_start(cell.words)))
                 for pair, batch in batches.items()}
        folder = next(iter(batches)).client(cells[0].words).folder

        def question(pair: RemoteTarget) -> tuple[Sequence[str], str]:
            lines = [runner_words.line_for_client(
                cell.given, pair.addresses(folder, pair.ends_to_start(cell.words))) + "\n"
                for cell in batches[pair]]
            return [*pair.subject_options(CLIENT, folder), "--batch", "-"], "".join(lines)

        records, limit_s = [], BATCH_START_S + max(map(runs_limit, batches.values()))
        for pair, outcome in self.clients_run(pairs, folder, limit_s, question).items():
            records += [(pair, numbers[pair][index], record)
                        for index, record in batch_records(outcome, batches[pair])]
        lost = self.lost_find([host for pair, _, record in records if record["status"] == "failed"
                               for host in pair.hosts(pairs[pair])])
        self.servers_end()
        for pair, number, record in records:
            why = pair.reason(pairs[pair], lost)
            if why and record["status"] == "failed" and why != record["reason"]:
                record["reason"] = f"{why}; {record['reason']}"
            yield number, record
