# SPDX-License-Identifier: MIT
"""Targets with ends on other machines, independent of what connects the machines.

A value is CLIENT+SERVER or CLIENT+SERVER+PROXY, each `local`, `ssh:HOST` or `ssh:HOST/ADDRESS`: a
pair of hosts, or three. A single part is the machine of all ends; the client there starts the
others. Between machines the runner starts server and proxy. They accept only the key of the run,
and TLS encrypts the control channel.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from suite.base.client import Client, build_digest, complaint_text, line_read
from suite.base.errors import Failure, UsageError
from suite.base.lab_words import LAB_WORDS
from suite.base.process import Place, PlacedCommand
from suite.base.runner_words import (
    LOCAL,
    OWN_ENDS,
    line_for_client,
    serving_ends,
    subject_of,
    words_for_client,
)
from suite.base.words import word_list
from suite.places.batch import batch_records, cells_by_target, failed_record, runs_limit
from suite.places.remote.hosts import (
    HERE,
    THIS_MACHINE,
    Hosts,
    Job,
    Outcome,
    Reasons,
    digest_of,
    programs_choose,
)
from suite.places.remote.shell import KEY_FILE, endpoint, ready_parse
from suite.places.target import Target
from suite.result.plan import PlannedCell
from suite.result.record import ENDS, JsonObject

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


@dataclass(frozen=True)
class Part:
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
    if text == LOCAL:
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
    """Its own place, which asks clients. parts: by end. one_machine: whether it has all ends."""

    def __init__(self, value: str, client: Client, pairs: Pairs) -> None:
        super().__init__(value, client)
        parts = parts_parse(value)
        self.one_machine = len(parts) == 1
        self.parts = dict(zip(ENDS, parts * len(ENDS) if self.one_machine else parts, strict=False))
        self.pairs = pairs
        pairs.used[value] = self

    @property
    def name(self) -> str:
        """`on h1`."""
        return f"on {self.host(CLIENT) or THIS_MACHINE}"

    def command(self, program: Path, arguments: Sequence[str], given: str = "") -> PlacedCommand:
        """The command that prints here what the client there has answered (base.process.Place)."""
        outcome = self.pairs.ask(self, program.parent, arguments, given)
        return PlacedCommand(("sh", "-c", ANSWER, "answer", outcome.stderr, str(outcome.status)),
                             outcome.stdout.decode(errors="replace"))

    def host(self, end: str) -> str:
        return self.parts[end].host

    def hosts(self, ends: Iterable[str] = ENDS) -> list[str]:
        """The hosts of the client and of these ends."""
        return list(dict.fromkeys(part.host for end, part in self.parts.items()
                                  if end in (CLIENT, *ends)))

    def ends_to_start(self, words: Mapping[str, str]) -> tuple[str, ...]:
        """The ends that the runner starts for a cell, and not its client."""
        return () if self.one_machine else serving_ends(words)

    def words_check(self, words: Mapping[str, str]) -> None:
        """UsageError for a word with the address of an end, and for a proxy that has no part."""
        for word, own in OWN_ENDS.items():
            if words.get(word, own) != own:
                raise UsageError(
                    f"target={self.value} starts the ends itself: leave out {word}={words[word]}")
        if PROXY in self.ends_to_start(words) and PROXY not in self.parts:
            raise UsageError(
                f"target={self.value}: workload=proxy has three ends: write client+server+proxy")
        self.pairs.needs_definitions |= bool(subject_of(words))

    def unsupported(self, words: Mapping[str, str]) -> str | None:
        """transport=unix between machines: a client takes the path only from a local server."""
        ends = self.ends_to_start(words)
        if words.get("transport") == "unix" and ends and any(self.hosts(ends)):
            return "transport=unix needs all ends on one machine; a target names it once: ssh:HOST"
        return None

    def place(self, words: Mapping[str, str]) -> Place:
        return self

    def client(self, words: Mapping[str, str]) -> Client:
        """The programs for a cell of these words: static ones, unless others were chosen."""
        return replace(programs_choose(super().client(words)), server_options=())

    def planned_words(self, words: Mapping[str, str]) -> dict[str, str]:
        """Words for the ends elsewhere. What these ends support, they report in the run."""
        return {ADDRESS_WORDS[end]: PLANNED for end in self.ends_to_start(words)}

    def facts(self, words: Mapping[str, str]) -> dict[str, Any]:
        given = words_for_client({key: value for key, value in words.items()
                                  if key not in LAB_WORDS})
        outcome = self.pairs.ask(self, self.client(words).folder, ["--facts", *word_list(given)],
                                 ends=self.ends_to_start(words))
        found = [line for line in map(line_read, outcome.lines()) if line and CLIENT in line]
        if len(found) != 1:
            why = complaint_text(outcome.stderr) or "it prints no facts"
            raise Failure(f"{self.pairs.hosts.where}: {self.host(CLIENT)}: {why}")
        return found[0]

    def identity(self) -> dict[str, str]:
        """The digest of the programs, and by end the name and system of its machine."""
        known = self.pairs.hosts.greetings
        return {"programs": build_digest(programs_choose(self.local))} | {
            end: f"{part.host} {known[part.host].system}"
            for end, part in self.parts.items() if part.host in known and part.host != HERE}

    def boot_ids(self) -> dict[str, str]:
        return {host: boot for host, boot in self.pairs.hosts.boots.items()
                if host in self.hosts() and host != HERE}

    def address(self, end: str) -> str:
        """Where an end listens: the address of its part, else the one to which it was connected;
        Failure where it is unknown."""
        part, known = self.parts[end], self.pairs.hosts.greetings
        if part.host == HERE:
            return next((known[host].peer_address for host in self.hosts()
                         if host in known and known[host].peer_address), "127.0.0.1")
        found = part.address or (known[part.host].own_address if part.host in known else "")
        if not found:
            raise Failure(f"{self.pairs.hosts.where}: "
                          f"{self.pairs.hosts.address_missing.format(part.host)}")
        return found

    def server_options(self, end: str) -> tuple[str, ...]:
        """The options of uncork-server for an end, besides its address and its key."""
        if end != PROXY:
            return ()
        server = self.address(SERVER)
        return "--proxy", "--allow-sink", f"{server}/{ipaddress.ip_address(server).max_prefixlen}"

    def by_hand(self, given: Mapping[str, str]) -> list[str]:
        """The lines to type to run a cell of these words once: server and proxy first."""
        hosts, folder = self.pairs.hosts, self.client(given).folder
        ends = self.ends_to_start(given)
        addresses = {ADDRESS_WORDS[end]: endpoint(self.address(end), BY_HAND_PORT + ENDS.index(end))
                     for end in ends}
        keys = ("--psk", "KEYS") if ends else ()
        note = "# KEYS: a file with the same key on each machine, as psktool(1) writes it"
        starters = {(CLIENT, *ends)[-1], CLIENT if given.get("workload") == "command" else ""}
        lines = [note] if ends else []
        for end in (*ends, CLIENT):
            host = self.host(end)
            subjects = (("--subjects", hosts.definitions[host])
                        if end in starters and subject_of(given) else ())
            own = (["uncork-client", *keys, *subjects, *word_list(
                       words_for_client(given) | addresses)] if end == CLIENT else
                   ["uncork-server", "--with-parent", "--listen", addresses[ADDRESS_WORDS[end]],
                    *keys, *self.server_options(end), *subjects])
            lines.append(hosts.by_hand(host, [f"{hosts.copies[host, folder]}/{own[0]}", *own[1:]]))
        return lines

    def round_begin(self) -> None:
        self.pairs.hosts.lost.clear()


def process_name(end: str, folder: Path) -> str:
    """The name of a process in the folder of a run, where several builds may run."""
    return f"{end}-{digest_of(folder)}"


PairEnds = Mapping[RemoteTarget, Sequence[str]]  # pairs, and the ends that cells of each need


class Pairs:
    """Pairs that run their cells at the same time: one of target=ssh:HOST, or all of an inventory.
    used: those that have cells, by value. keeps_servers: whether servers stay for other cells.
    needs_definitions: whether a cell has a subject. answers: of clients, by question and host."""

    def __init__(self, hosts: Hosts, keeps_servers: bool) -> None:
        self.hosts = hosts
        self.keeps_servers = keeps_servers
        self.used: dict[str, RemoteTarget] = {}
        self.needs_definitions = False
        self.answers: dict[tuple[object, ...], dict[str, Outcome]] = {}

    def reasons_by_pair(self, pairs: PairEnds, reasons: Reasons) -> Reasons:
        """The reasons by value of `target`: of a pair that of its first host with a reason."""
        found = {pair.value: [reasons[host] for host in pair.hosts(ends) if host in reasons]
                 for pair, ends in pairs.items()}
        return {value: first[0] for value, first in found.items() if first}

    def prepare(self, pairs: PairEnds, folder: Path) -> Reasons:
        """Makes the hosts of these ends ready to start programs. Returns failures by pair."""
        hosts = dict.fromkeys(host for pair, ends in pairs.items() for host in pair.hosts(ends))
        return self.reasons_by_pair(
            pairs, self.hosts.prepare(hosts, folder, self.needs_definitions))

    def serve(self, pairs: PairEnds, folder: Path) -> Reasons:
        """Starts missing servers, then missing proxies. Returns failures by pair."""
        reasons = Reasons()
        for end in (SERVER, PROXY):
            new = {pair.host(end): pair for pair, ends in pairs.items() if end in ends
                   and (pair.host(end), process_name(end, folder)) not in self.hosts.servers
                   and not self.reasons_by_pair({pair: ends}, reasons)}
            started = self.hosts.step({host: self.program_job(pair, end, folder, [
                "--listen", endpoint(pair.address(end), 0), *KEYED, "--idle", f"{IDLE_S}s",
                *pair.server_options(end), *self.subject_options(host)])
                for host, pair in new.items()}, START_LIMIT_S)
            for host, outcome in started.items():
                if port := ready_parse(outcome.lines()):
                    self.hosts.servers[host, process_name(end, folder)] = endpoint(
                        new[host].address(end), port)
                else:
                    reasons[host] = outcome.reason(f"no server on {host or THIS_MACHINE}")
        return self.reasons_by_pair(pairs, reasons)

    def servers_end(self) -> None:
        """Ends the servers of a cell, where the next cell gets new ones."""
        if not self.keeps_servers:
            self.hosts.step({host: Job("stop", (self.hosts.run_name(host),))
                             for host, _ in self.hosts.servers})
            self.hosts.servers.clear()

    def program_job(self, pair: RemoteTarget, end: str, folder: Path, arguments: Sequence[str],
                    limit_s: float = 0.0, given: str = "") -> Job:
        """A job that runs an end. limit_s and given: of a client."""
        host, function = pair.host(end), "client" if end == CLIENT else "server"
        limit = (f"{limit_s:.0f}",) if end == CLIENT else ()
        return Job(function, (
            self.hosts.run_name(host), process_name(end, folder), *limit,
            f"{self.hosts.copies[host, folder]}/uncork-{function}", *arguments),
            (self.hosts.key_path,), given)

    def subject_options(self, host: str) -> tuple[str, ...]:
        """The option with the definitions of subjects, for programs that run cells."""
        return ("--subjects", self.hosts.definitions[host]) if self.needs_definitions else ()

    def addresses(self, pair: RemoteTarget, folder: Path, ends: Iterable[str]) -> dict[str, str]:
        """The words with the addresses of these ends."""
        return {ADDRESS_WORDS[end]: self.hosts.servers[pair.host(end), process_name(end, folder)]
                for end in ends}

    def ask(self, pair: RemoteTarget, folder: Path, arguments: Sequence[str], given: str = "",
            ends: Sequence[str] = ()) -> Outcome:
        """The answer of a pair's client; the first call asks those of all pairs in one step."""
        key = folder, (*arguments, *ends), given
        if key not in self.answers:
            pairs = {other: () if other.one_machine else ends for other in self.used.values()}
            reasons = (self.prepare(dict.fromkeys(pairs, ENDS), folder)
                       or self.serve(pairs, folder))
            if reasons:
                others = len(reasons) - 1
                more = f" (and {others} more pairs fail)" if others else ""
                raise Failure(f"{self.hosts.where}: {next(iter(reasons.values()))}{more}")
            self.answers[key] = self.hosts.step({
                other.host(CLIENT): self.program_job(other, CLIENT, folder, [
                    *(KEYED if own else ()), *arguments,
                    *word_list(self.addresses(other, folder, own))], ASK_LIMIT_S, given)
                for other, own in pairs.items()}, ASK_LIMIT_S)
            self.servers_end()
        outcome = self.answers[key][pair.host(CLIENT)]
        if outcome.why:
            raise Failure(f"{self.hosts.where}: {outcome.why}")
        return outcome

    def lost_find(self, pairs: PairEnds) -> Reasons:
        """The lost hosts and servers of pairs with failed runs, by pair."""
        hosts = {host for pair, ends in pairs.items() for host in pair.hosts(ends)}
        outcomes = self.hosts.step({
            host: Job("alive", (self.hosts.run_name(host), *(
                process for place, process in self.hosts.servers if place == host)))
            for host in hosts - self.hosts.lost.keys()}, ALIVE_LIMIT_S)
        reasons = {host: outcome.reason(f"{host or THIS_MACHINE} was lost")
                   for host, outcome in outcomes.items() if outcome.failed}
        self.hosts.lose(reasons)
        return self.reasons_by_pair(pairs, reasons)

    def run(self, cells: Sequence[PlannedCell]) -> Iterator[tuple[int, JsonObject]]:
        """(number, record) of each cell, from one batch for each pair; all pairs run at once. The
        records of failed runs name hosts that were lost."""
        numbers = {self.used[value]: own for value, own in cells_by_target(cells).items()}
        batches = {pair: [cells[number] for number in own] for pair, own in numbers.items()}
        pairs = {pair: tuple(dict.fromkeys(end for cell in batch for end in pair.ends_to_start(
            cell.words))) for pair, batch in batches.items()}
        records = self.batches_run(pairs, batches)
        lost = self.lost_find({pair: pairs[pair] for pair, found in records.items() if any(
            record["status"] == "failed" for record in found)})
        self.servers_end()
        for pair, found in records.items():
            why = lost.get(pair.value)
            for number, record in zip(numbers[pair], found, strict=True):
                if why and record["status"] == "failed" and why != record["reason"]:
                    record["reason"] = f"{why}; {record['reason']}"
                yield number, record

    def batches_run(self, pairs: PairEnds, batches: Mapping[RemoteTarget, Sequence[PlannedCell]]
                    ) -> dict[RemoteTarget, list[JsonObject]]:
        """The records of the cells of each pair, all of which have the same build."""
        first, (cell, *_) = next(iter(batches.items()))
        folder = first.client(cell.words).folder
        reasons = self.prepare(pairs, folder)
        reasons |= self.serve({pair: ends for pair, ends in pairs.items()
                               if pair.value not in reasons}, folder)
        limits = {pair: BATCH_START_S + runs_limit(cells) for pair, cells in batches.items()
                  if pair.value not in reasons}
        jobs, records = {}, {}
        for pair, limit_s in limits.items():
            lines = [line_for_client(cell.given, self.addresses(
                pair, folder, pair.ends_to_start(cell.words))) for cell in batches[pair]]
            jobs[pair.host(CLIENT)] = self.program_job(pair, CLIENT, folder, [
                *(KEYED if pairs[pair] else ()), *self.subject_options(pair.host(CLIENT)),
                "--batch", "-"], limit_s, "".join(f"{line}\n" for line in lines))
        outcomes = self.hosts.step(jobs, max(limits.values(), default=0.0) + END_MARGIN_S)
        for pair, cells in batches.items():
            outcome = outcomes.get(pair.host(CLIENT), Outcome())
            if reason := reasons.get(pair.value) or outcome.why:
                records[pair] = [failed_record(reason) for _ in cells]
            else:
                found = dict(batch_records(replace(outcome, limit_s=limits[pair]), cells))
                records[pair] = [found[index] for index in range(len(cells))]
        return records
