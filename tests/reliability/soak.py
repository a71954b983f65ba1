# SPDX-License-Identifier: MIT
"""Sessions of random plans, beside kills, stopped processes and strangers, for some minutes.

    tests/soak minutes=N [seed=N] [--json FILE]

Four ends run all the time: a server and a proxy, each with and without a key. Other ends are
started to be killed. Every session that nothing disturbs must be served, its content verified, and
all bytes that were sent must be received. Twice a minute the work stops for some seconds, and
descriptors, threads and resident memory of the four ends are read. They must not grow after the
warm-up, which is a quarter of the time. The exit status is 1 if anything else happened.
"""

from __future__ import annotations

import argparse
import json
import random
import signal
import socket
import statistics
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from combinations import OTHERS, VOCABULARY, agreeing, line
from ends import MIB, End, Use, end_started, keys_write, place_of
from programs import client_run, client_start, record_sum, stands_still

# Words that name other ends or machines, and those that only a runner has.
NOT_HERE = {"build", "command", "control", "direction", "hosts", "lab", "load", "peer", "place",
            "protocol", "subject", "target", "timer", "verify", "via", "workload"}
OPERATIONS = {"nbd": ("read:4K", "write:64K"), "nbd-structured": ("read:4K*3+write:4K",),
              "memcached": ("get:100", "set:4K"), "resp": ("ping", "get:4K"), "http": ("get:4K",)}
LENGTHS = ("messages=1", "messages=3", "messages=40", "duration=20ms", "duration=100ms",
           "duration=400ms")
ENDS_WITHIN_S = 15.0  # of an end that was killed; other work may have both CPUs meanwhile
RESIDENT_MIB = 4  # how much memory may grow
SAMPLE_S = 30.0
QUIET_S = 2.5  # a server gives free memory back after 1 s without a client
# Fewer than --max-strangers in all, so none of them ever makes a client leave.
SOURCES, PER_SOURCE = 3, 64
STOPS = {signal.SIGKILL: "killed", signal.SIGTERM: "ended", signal.SIGSTOP: "stopped"}


@dataclass
class Totals:
    """What happened, from all threads."""

    counts: Counter[str] = field(default_factory=Counter)
    unexpected: list[str] = field(default_factory=list)
    longest_s: float = 0.0  # from a kill to the end of the client
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, **counts: int) -> None:
        with self._lock:
            self.counts.update(counts)

    def wrong(self, what: str) -> None:
        with self._lock:
            self.unexpected.append(what)
            print(f"unexpected: {what}", file=sys.stderr, flush=True)

    def took(self, seconds: float) -> None:
        with self._lock:
            self.longest_s = max(self.longest_s, seconds)


class Gate:
    """Lets workers in, or waits until none is inside and keeps all out."""

    def __init__(self) -> None:
        self._changed, self._inside, self._closed = threading.Condition(), 0, False

    @contextmanager
    def entered(self) -> Iterator[None]:
        with self._changed:
            self._changed.wait_for(lambda: not self._closed)
            self._inside += 1
        try:
            yield
        finally:
            with self._changed:
                self._inside -= 1
                self._changed.notify_all()

    @contextmanager
    def closed(self) -> Iterator[None]:
        with self._changed:
            self._closed = True
            self._changed.wait_for(lambda: not self._inside)
        try:
            yield
        finally:
            with self._changed:
                self._closed = False
                self._changed.notify_all()


# ---- plans ----

def values_of(word: dict[str, Any]) -> list[str]:
    """Values of a word of the vocabulary that a random plan may have."""
    return OTHERS.get(word["key"]) or word.get("choices", [])


VALUES = {word["key"]: values for word in VOCABULARY["words"]
          if word["scope"] == "cell" and word["key"] not in NOT_HERE
          and (values := values_of(word))}
VALUES["transport"] = [name for name in VALUES["transport"] if name != "null"]
# With less the kernel waits for its timers, for seconds: docs/kernel-notes.md
VALUES["sndbuf"] = VALUES["rcvbuf"] = ["default", "64K"]
USED_BY_AGREEING = {"touch": "none", "message": "64", "chunk": "64K", "transport": "tcp",
                    "write": "nodelay", "quickack": "default", "rcvbuf": "default"}
WHOLE = {"read", "rcvbuf", "sndbuf"}  # agreeing() looks at both ends at once
AT_ENDS = {word["key"] for word in VOCABULARY["words"] if word["ends"]}


def plan_draw(chance: random.Random, proxied: bool) -> str:
    """A line of random words. The client has the last word on whether it is legal."""
    drawn = {key: chance.choice(values) for key, values in VALUES.items()
             if key == "read" or chance.random() < 0.2}
    workload = "proxy" if proxied else chance.choice(["request", "request", "stream", "connect"])
    words = agreeing(USED_BY_AGREEING | {"workload": workload} | drawn)
    if workload in ("stream", "proxy"):
        words["direction"] = chance.choice(["send", "receive", "both"])
    if workload == "request" and chance.random() < 0.2:
        words["protocol"] = chance.choice(list(OPERATIONS))
        words["op"] = chance.choice(OPERATIONS[words["protocol"]])
        words.pop("message")
        words.pop("reply", None)
    words = {(f"{chance.choice(['client', 'server'])}." * (
        key in AT_ENDS - WHOLE and chance.random() < 0.2)) + key: value
        for key, value in words.items()}
    length = chance.choice(LENGTHS[:2] if "1M" in words.get("message", "") else LENGTHS)
    return f"{line(words)} warmup={chance.choice(['0s', '5ms'])} place=free {length}"


def plan_legal(chance: random.Random, proxied: bool, totals: Totals) -> str:
    """A plan that this machine can run, without the words that have no effect in it."""
    while True:
        text = plan_draw(chance, proxied)
        done = client_run("--check", "-", stdin=f"{text}\n")
        if done.returncode == 2:
            totals.add(illegal_plans=1)
            continue
        check = json.loads(done.stdout.splitlines()[0])
        if "unsupported" not in check:
            return " ".join(word for word in text.split() if word.split("=")[0] not in check[
                "unused"])
        totals.add(unsupported_plans=1)


def record_wrong(record: dict[str, Any]) -> str | None:
    """What is wrong with the record of an undisturbed session."""
    if record["status"] != "ok":
        return record["reason"]
    client, server, proxy = record["client"], record["server"], record.get("proxy")
    for sender, receiver in ((client, server), (server, client)):
        sent, received = (record_sum(sender, "bytes_sent"), record_sum(receiver, "bytes_received"))
        if sent != received:
            return f"{sent} bytes were sent and {received} received"
    if proxy and record_sum(proxy, "bytes_sent") != record_sum(proxy, "bytes_received"):
        return "the proxy kept bytes"
    return None


def bytes_of(record: dict[str, Any]) -> int:
    """Bytes that an end received and compared."""
    return record_sum(record["client"], "bytes_received") + record_sum(record["server"],
                                                                       "bytes_received")


# ---- what workers do ----

@dataclass(frozen=True)
class Scene:
    """The ends that run all the time, and where to count."""

    pairs: list[tuple[End, End]]  # a server and a proxy
    folder: Path
    totals: Totals

    @property
    def ends(self) -> list[End]:
        return [end for pair in self.pairs for end in pair]


def session_run(scene: Scene, chance: random.Random) -> None:
    """One session that nothing disturbs but other sessions and strangers."""
    server, proxy = chance.choice(scene.pairs)
    proxied = chance.random() < 0.25
    words = plan_legal(chance, proxied, scene.totals)
    place = place_of(server, proxy if proxied else None)
    done = client_run("--json", *words.split(), *place, within_s=90)
    scene.totals.add(sessions=1)
    try:
        record = json.loads(done.stdout)
        wrong = record_wrong(record)
    except (ValueError, KeyError) as error:
        record, wrong = {}, f"no record ({error!r}); {done.stderr.strip()}"
    if wrong and stands_still(words, record | {"reason": wrong}):
        scene.totals.add(stood_still_in_mptcp=1)
    elif wrong:
        scene.totals.wrong(f"{words}: {wrong}")
    elif "verify=on" in words:
        scene.totals.add(bytes_verified=bytes_of(record))
    else:
        scene.totals.add(bytes_discarded=bytes_of(record))


def long_plan(scene: Scene, chance: random.Random, proxied: bool) -> list[str]:
    words = plan_legal(chance, proxied, scene.totals).split()
    return [word for word in words if not word.startswith(("messages=", "duration="))] + [
        "duration=60s"]


def client_kill(scene: Scene, chance: random.Random) -> None:
    """A client of an end that runs all the time is killed, ended, or stopped for a while."""
    server, proxy = chance.choice(scene.pairs)
    proxied = chance.random() < 0.3
    client = client_start("--json", *long_plan(scene, chance, proxied),
                          *place_of(server, proxy if proxied else None))
    time.sleep(chance.uniform(0, 0.6))
    how = chance.choice([signal.SIGKILL, signal.SIGKILL, signal.SIGTERM, signal.SIGSTOP])
    client.send_signal(how)
    if how == signal.SIGSTOP:
        time.sleep(chance.choice([0.2, 2, 7]))
        client.kill()
    client.communicate(timeout=ENDS_WITHIN_S)
    scene.totals.add(kills=1, **{f"clients_{STOPS[how]}": 1})


def end_kill(scene: Scene, chance: random.Random) -> None:
    """A server or a proxy dies under its client, which has to say so in one line."""
    proxied = chance.random() < 0.4
    with ExitStack() as stack:
        name = threading.current_thread().name
        server = stack.enter_context(end_started(scene.folder, f"server-{name}"))
        proxy = stack.enter_context(end_started(scene.folder, f"proxy-{name}", "--proxy"
                                                )) if proxied else None
        words = long_plan(scene, chance, proxied)
        client = client_start(*words, *place_of(server, proxy))
        time.sleep(chance.uniform(0, 0.6))
        how, victim = chance.choice(list(STOPS)), chance.choice([server, proxy or server])
        victim.process.send_signal(how)
        began = time.monotonic()
        kind = f"{victim.name.split('-')[0]} {STOPS[how]}, {' '.join(words)}"
        try:
            said = client.communicate(timeout=ENDS_WITHIN_S)[1]
        except subprocess.TimeoutExpired:
            client.kill()
            client.wait()
            scene.totals.wrong(f"{kind}: the client did not end within {ENDS_WITHIN_S} s")
        else:
            scene.totals.took(time.monotonic() - began)
            if client.returncode != 1 or said.count("\n") != 1:
                scene.totals.wrong(f"{kind}: exit status {client.returncode}, {said!r}")
        for end in {server, proxy or server} - {victim}:
            if end.process.poll() is not None or end.strange_lines():
                scene.totals.wrong(f"{kind}: {end.name} ended too: {end.log.read_text()!r}")
        scene.totals.add(kills=1, **{f"{victim.name.split('-')[0]}s_{STOPS[how]}": 1})


def says(chance: random.Random) -> bytes:
    """What a stranger sends."""
    return chance.choice([
        b"", b"", b"\0\0", bytes.fromhex("16030100c8010000c40303"), struct.pack(">I", 40) + b"{",
        chance.randbytes(chance.choice([1, 4, 36, 5000])), b"GET / HTTP/1.1\r\n\r\n"])


def strangers_come(scene: Scene, chance: random.Random) -> None:
    """Connections of some hosts that stay for a while; half of them are reset."""
    end = chance.choice(scene.ends)
    host, port = end.address.rsplit(":", 1)
    with ExitStack() as stack:
        count = 0
        for source in chance.sample(range(2, 250), SOURCES):
            for _ in range(chance.choice([1, 5, PER_SOURCE, PER_SOURCE + 20])):
                one = stack.enter_context(socket.create_connection(
                    (host, int(port)), timeout=10, source_address=(f"127.0.0.{source}", 0)))
                with suppress(OSError):
                    one.sendall(says(chance))
                    if chance.random() < 0.5:
                        one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                count += 1
        time.sleep(chance.choice([0, 0.1, 1.5]))
    scene.totals.add(strangers=count)
    time.sleep(chance.uniform(0, 8))


def work(scene: Scene, does: Callable[[Scene, random.Random], None], seed: int, gate: Gate,
         until: float) -> None:
    """Does it again and again."""
    chance = random.Random(seed)
    while time.monotonic() < until:
        with gate.entered():
            try:
                does(scene, chance)
            except Exception as error:  # a worker that ends would hide what comes after it
                scene.totals.wrong(f"{does.__name__}: {error!r}")


# ---- what must not grow ----

def uses_read(ends: list[End]) -> dict[str, Use]:
    return {end.name: end.use() for end in ends if end.process.poll() is None}


def growth_find(samples: list[tuple[float, dict[str, Use]]], totals: Totals) -> dict[str, Any]:
    """What each end used after the warm-up, first and last. More at the end is unexpected."""
    kept = [uses for at_s, uses in samples if at_s >= samples[-1][0] / 4]
    third = max(1, len(kept) // 3)
    table: dict[str, Any] = {}
    for name in kept[0]:
        of = [uses[name] for uses in kept if name in uses]
        first, last = of[:third], of[-third:]
        grown = statistics.median(use.resident for use in last) - statistics.median(
            use.resident for use in first)
        table[name] = {"descriptors": [of[0].descriptors, of[-1].descriptors],
                       "threads": [of[0].threads, of[-1].threads],
                       "resident_mib": [round(of[0].resident / MIB, 1),
                                        round(of[-1].resident / MIB, 1)],
                       "grown_mib": round(grown / MIB, 2),
                       "each_mib": [round(use.resident / MIB, 1) for use in of]}
        if (of[-1].descriptors > of[0].descriptors or of[-1].threads > of[0].threads
                or grown > RESIDENT_MIB * MIB):
            totals.wrong(f"{name} has grown: {table[name] | {'each_mib': '...'}}")
    return table


def soak(minutes: float, seed: int) -> dict[str, Any]:
    """Runs it, and returns what it prints."""
    totals, gate, samples = Totals(), Gate(), []
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        folder = Path(name)
        psk = keys_write(folder)
        pairs = []
        for kind, options in (("", ()), ("-with-key", psk)):
            server, proxy = (stack.enter_context(end_started(
                folder, f"{role}{kind}", *flags, *options, options=options))
                for role, flags in (("server", ()), ("proxy", ("--proxy",))))
            pairs.append((server, proxy))
        scene = Scene(pairs, folder, totals)
        began = time.monotonic()
        until = began + minutes * 60
        workers = [threading.Thread(target=work, name=str(number),
                                    args=(scene, does, seed * 100 + number, gate, until))
                   for number, does in enumerate([session_run, session_run, session_run,
                                                  client_kill, end_kill, strangers_come])]
        for worker in workers:
            worker.start()
        while time.monotonic() < until:
            time.sleep(max(0.0, min(SAMPLE_S, minutes * 60 / 10, until - time.monotonic())))
            with gate.closed():
                time.sleep(QUIET_S)
                samples.append((time.monotonic() - began, uses_read(scene.ends)))
        for worker in workers:
            worker.join()
        ended_s = time.monotonic() - began
        uses = growth_find(samples, totals)
        for end in scene.ends:
            if end.process.poll() is not None:
                totals.wrong(f"{end.name} ended by itself: {end.log.read_text()[-500:]!r}")
                continue
            end.process.terminate()
            if end.process.wait(20) != 0 or end.strange_lines():
                totals.wrong(f"{end.name}: exit status {end.process.returncode}, "
                             f"{end.strange_lines()[:3]}")
    return {"minutes": round(ended_s / 60, 1), "seed": seed, "counts": dict(sorted(
        totals.counts.items())), "longest_s": round(totals.longest_s, 1), "ends": uses,
        "samples": len(samples), "unexpected": totals.unexpected}


def main() -> int:
    parser = argparse.ArgumentParser(prog="tests/soak", description=__doc__.split("\n\n")[0])
    parser.add_argument("words", nargs="*", metavar="minutes=N seed=N")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the totals to FILE too")
    given = parser.parse_args()
    words = {"minutes": 2.0, "seed": 1.0}
    for word in given.words:
        key, _, value = word.partition("=")
        try:
            words[key] = {"minutes": float, "seed": int}[key](value)
        except (KeyError, ValueError):
            parser.error(f"{word}: write minutes=N or seed=N")
    result = soak(words["minutes"], int(words["seed"]))
    if given.json:
        given.json.write_text(json.dumps(result, indent=1) + "\n")
    counts = result["counts"]
    print(f"{result['minutes']} minutes: {counts.get('sessions', 0)} sessions, "
          f"{counts.get('bytes_verified', 0) / (1 << 30):.1f} GiB verified, "
          f"{counts.get('kills', 0)} kills, {counts.get('strangers', 0)} strangers; "
          f"after a kill the client ended within {result['longest_s']} s")
    for name, use in result["ends"].items():
        print(f"  {name}: descriptors {use['descriptors']}, threads {use['threads']}, "
              f"resident {use['resident_mib']} MiB, grown {use['grown_mib']:+} MiB")
    print(f"{len(result['unexpected'])} unexpected")
    return 1 if result["unexpected"] else 0


if __name__ == "__main__":
    sys.exit(main())
