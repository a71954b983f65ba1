# SPDX-License-Identifier: MIT
"""Makes results that nobody measured, in the exact shape of docs/record.md, from a fixed seed.

`/usr/bin/python3 tests/scripts/data/result_make.py` writes the stored one, `nodelay/`, again;
tests make the others in temporary folders.
"""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HOST = "5a0c2f6e-boot"
FACTS = {"system": "Linux", "kernel": "6.18.0-test", "cpu": "Invented CPU @ 3.00GHz",
         "cpus_online": 2, "virtualisation": "hypervisor"}
STRATEGIES = {  # calls on the write path and segments for 15x2
    "nagle": ({"send": 15}, 2), "nodelay": ({"send": 15}, 15),
    "cork": ({"send": 15, "setsockopt": 2}, 1), "more": ({"send": 15}, 1),
    "writev": ({"sendmsg": 1}, 1), "coalesce": ({"send": 1}, 1),
}
TIMES_US = {  # per message: together, apart
    "nagle": (43100, 43900), "nodelay": (35, 92), "cork": (8.5, 97), "more": (8.45, 86),
    "writev": (5.1, 83), "coalesce": (4.7, 81),
}
OF_OPEN_LOOPS = ("latency", "service", "late_start")  # histograms of recipe_open()
SCENARIO = '''name = "nodelay"
question = "What do small writes cost with Nagle, without it, and corked?"
source = "TCP_NODELAY and Small Buffer Writes"
'''
CLAIMS = '''
[[published]]
words = "write=nagle"
metric = "time_per_message"
value = 40.01e-3
from = "tcp_nodelay.csv:nagle"

[[published]]
words = "write=nodelay"
metric = "time_per_message"
value = 165.0e-6
from = "tcp_nodelay.csv:nodelay"

[[published]]
words = "write=cork"
metric = "time_per_message"
value = 85.08e-6
from = "tcp_nodelay.csv:cork"

[[claim]]
says = "corking is at least 1.5 times faster when both ends share a CPU"
that = """
time_per_message(write=nodelay place=together) / time_per_message(write=cork place=together) >= 1.5
"""

[[claim]]
says = "a corked message is one segment"
that = "segments_per_message(write=cork place=apart) == 1"

[[claim]]
says = "MSG_MORE is faster than corking on one CPU"
that = "time_per_message(write=more place=together) < time_per_message(write=cork place=together)"

[[claim]]
says = "writev pays on two CPUs"
that = """
time_per_message(write=nodelay place=apart) / time_per_message(write=writev place=apart) > 1
"""

[[claim]]
says = "Nagle costs less than 10 ms a message"
that = "time_per_message(write=nagle place=together) < 10e-3"

[table]
rows = ["place", "write"]
columns = ["time_per_message", "segments_per_message", "sends_per_message", "cpu_per_message"]

[[picture]]
kind = "bars"
'''


@dataclass
class Recipe:
    """A result to invent. record(words, round, random) gives the record without `run`."""

    name: str
    fixed: dict[str, str]
    sweep: dict[str, list[str]]
    rounds: int
    baseline: str
    record: Callable[[dict[str, str], int, random.Random], dict[str, Any]]
    scenario: str = ""
    unsupported: dict[str, str] = field(default_factory=dict)


def histogram_of(mean_ns: float, count: int) -> dict[str, Any]:
    """A few bins around a mean."""
    bins, left = [], count
    for factor, share in ((0.9, 0.3), (1.0, 0.5), (1.1, 0.15), (1.5, 0.045), (3.0, 0.005)):
        low = int(mean_ns * factor)
        width = max(1, low // 128)
        number = min(left, round(count * share)) if factor < 3 else left
        left -= number
        if number:
            bins.append([low, width, number])
    last = bins[-1]
    return {"unit": "ns", "count": count, "minimum": bins[0][0], "maximum": last[0] + last[1] - 1,
            "sum": int(mean_ns * count), "bins": bins}


def histogram_count(values: list[int]) -> dict[str, Any]:
    """Values in ns, counted in the bins of docs/record.md: 64 to a power of two."""
    counts: dict[tuple[int, int], int] = {}
    for value in values:
        width = 1 << max(value.bit_length() - 7, 0)
        low = value // width * width
        counts[low, width] = counts.get((low, width), 0) + 1
    return {"unit": "ns", "count": len(values), "minimum": min(values), "maximum": max(values),
            "sum": sum(values),
            "bins": [[low, width, count] for (low, width), count in sorted(counts.items())]}


def tcp_info_of(data_out: int, data_in: int) -> dict[str, Any]:
    """One connection's TCP_INFO."""
    figures = {"data_segs_out": data_out, "segs_in": data_in + 3, "retrans_segs": 0,
               "busy_ns": 812000000, "cwnd_segments": 10, "min_rtt_ns": 9000,
               "largest_peer_window_bytes": 65536}
    return {key: {"sum": n, "min": n, "median": n, "max": n}
            for key, n in figures.items()}


def thread_of(words: dict[str, str], side: int, elapsed_ns: int, calls: dict[str, int],
              cpu_ns: int, **figures: Any) -> dict[str, Any]:
    """One data thread; side 0 is the client."""
    tcp = words.get("transport", "tcp") == "tcp"
    writes = sum(calls.get(kind, 0) for kind in ("send", "sendmsg", "setsockopt"))
    cpu = {"together": 0, "apart": side}.get(words.get("place", "apart"), side)
    switches = figures.get("messages_sent", figures.get("messages_received", 0)) + 3
    options = {"sndbuf_bytes": 2626560, "rcvbuf_bytes": 131072}
    if tcp:
        options |= {"nodelay": words["write"] != "nagle", "congestion": "cubic",
                    "mss_bytes": 32741}
    return {"connections": 1, **figures, "begun_ns": 0, "ended_ns": elapsed_ns,
            "elapsed_ns": elapsed_ns, "calls": calls,
            "write_calls": writes, "read_calls": calls.get("recv", 0), "wait_calls": 0,
            "would_block": 0,
            "cpu": {"user_ns": cpu_ns // 5, "system_ns": cpu_ns - cpu_ns // 5,
                    "voluntary_switches": switches, "forced_switches": 2},
            "options": options, "cpus": {"asked": [cpu], "start": cpu, "end": cpu}}


def ends_of(words: dict[str, str], client: dict[str, Any],
            server: dict[str, Any]) -> dict[str, Any]:
    """A whole record of status ok around two data threads."""
    machine = {"user_ns": 110000000, "system_ns": 740000000, "softirq_ns": 90000000,
               "irq_ns": 0, "steal_ns": 10000000, "idle_ns": 1050000000}
    reply = {"write": "nodelay", "message_bytes": 2, "message_fragments": 1,
             "message_groups": 1} if words["workload"] == "request" else {}
    common = {"host": HOST, "engine": "block", "read": "recv", "machine": machine}
    return {
        "schema": 1, "uncork": "0.1.0", "status": "ok", "words": words,
        "started_unix_ns": 1790000000000000000, "wall_ns": client["elapsed_ns"] + 210000000,
        "peer": "127.0.0.1:40123",
        "client": {**common, "drives": True, "message_bytes": message_bytes(words["message"]),
                   "message_fragments": 15, "message_groups": 1, "write": words["write"],
                   "threads": [client]},
        "server": {**common, **reply, "drives": False, "strangers": 0, "threads": [server]},
    }


def message_bytes(text: str) -> int:
    """Bytes of the two forms that occur here: 15x2 and 4K."""
    units = {"K": 1024, "M": 1024**2}
    size = 1
    for part in text.split("x"):
        size *= int(part.rstrip("KM")) * units.get(part[-1], 1)
    return size


def request_record(words: dict[str, str], number: int, chance: random.Random) -> dict[str, Any]:
    """A request/reply run of one second with 15x2 and 2 bytes of reply."""
    calls, segments = STRATEGIES[words["write"]]
    mean_us = TIMES_US[words["write"]][words.get("place") == "apart"]
    mean_ns = 1000 * mean_us * chance.gauss(1.0, 0.004) * (1 + 0.003 * number)
    if number == 4 and words["write"] == "writev":
        mean_ns *= 1.35  # an outlier, to be marked
    count = max(int(1e9 / mean_ns), 20)
    elapsed = int(mean_ns * count)
    extra = chance.randrange(count // 10 + 1) if words["write"] == "nagle" else 0
    client = thread_of(words, 0, elapsed, {k: n * count for k, n in calls.items()}
                       | {"recv": count}, elapsed // 3, messages_sent=count, bytes_sent=30 * count,
                       messages_received=count, bytes_received=2 * count,
                       latency=histogram_of(mean_ns, count))
    server = thread_of(words, 1, elapsed, {"send": count, "recv": segments * count + extra},
                       elapsed // 4, messages_sent=count, bytes_sent=2 * count,
                       messages_received=count, bytes_received=30 * count)
    if words.get("transport", "tcp") == "tcp":
        client["tcp_info"] = tcp_info_of(segments * count + extra, count)
        server["tcp_info"] = tcp_info_of(count, segments * count + extra)
    return ends_of(words, client, server)


def open_record(words: dict[str, str], number: int, chance: random.Random) -> dict[str, Any]:
    """An open loop of 0.1 s at an even rate: one request at a time, a stall in about 1500.

    What is due while another is under way starts late; at the end it was never sent.
    """
    calls, segments = STRATEGIES[words["write"]]
    mean_ns, gap_ns = 1000 * TIMES_US[words["write"]][0], 10**9 // int(words["rate"])
    due = 10**8 // gap_ns
    latency, service, late_start = [], [], []
    free_ns = 0
    for intended_ns in range(0, due * gap_ns, gap_ns):
        start_ns = max(intended_ns, free_ns)
        if start_ns >= 10**8:
            break
        stall_ns = 1_000_000 if chance.random() < 1 / 1500 else 0
        took_ns = int(mean_ns * chance.lognormvariate(0, 0.15)) + stall_ns
        free_ns = start_ns + took_ns
        service.append(took_ns)
        late_start.append(start_ns - intended_ns)
        latency.append(free_ns - intended_ns)
    count = len(service)
    client = thread_of(words, 0, 10**8, {k: n * count for k, n in calls.items()} | {"recv": count},
                       sum(service) // 3, messages_sent=count, bytes_sent=30 * count,
                       messages_received=count, bytes_received=2 * count,
                       due=due, late=due - count, latency=histogram_count(latency),
                       service=histogram_count(service), late_start=histogram_count(late_start))
    server = thread_of(words, 1, 10**8, {"send": count, "recv": segments * count},
                       sum(service) // 4, messages_sent=count, bytes_sent=2 * count,
                       messages_received=count, bytes_received=30 * count)
    client["tcp_info"] = tcp_info_of(segments * count, count)
    server["tcp_info"] = tcp_info_of(count, segments * count)
    return ends_of(words, client, server)


def stream_record(words: dict[str, str], number: int, chance: random.Random) -> dict[str, Any]:
    """A one-way stream of half a second: a cost per message and one per byte."""
    size = message_bytes(words["message"])
    rank = sum(map(ord, words["write"])) % 14
    seconds = (0.4e-6 + 0.08e-6 * rank + size * (1 + rank / 30) / 9e9) * chance.gauss(1, 0.01)
    count = max(int(0.5 / seconds), 1)
    elapsed = int(seconds * count * 1e9)
    segments = max(count * size // 32741, 1) + chance.randrange(100)
    client = thread_of(words, 0, elapsed, {"send": count}, int(0.9 * elapsed),
                       messages_sent=count, bytes_sent=size * count)
    server = thread_of(words, 1, elapsed, {"recv": count // 2 + 1}, int(0.8 * elapsed),
                       messages_received=count, bytes_received=size * count)
    client["tcp_info"], server["tcp_info"] = tcp_info_of(segments, 0), tcp_info_of(0, segments)
    return ends_of(words, client, server)


REPLIES = {  # calls, segments and records of a reply of 16+4K, and how much faster than nodelay
    "nodelay": (2, 2, 2, 1.0), "cork": (4, 1, 1, 1.08), "coalesce": (1, 1, 1, 1.15),
}
LAYERS = {"plain": 100_000, "gnutls": 60_000, "ktls": 65_000}  # replies by nodelay a second
TLS = {"tls_version": "1.3", "cipher": "aes-128-gcm", "key_exchange": "psk-ecdhe"}


def reply_record(words: dict[str, str], number: int, chance: random.Random) -> dict[str, Any]:
    """64 requests of 28 bytes at a time and replies of 16+4K, for a second, plain and by TLS."""
    layer, (calls, segments, records, gain) = words["security"], REPLIES[words["reply_write"]]
    held = layer == "plain" and words["transport"] == "unix"  # nothing to gain there but noise
    count = round(LAYERS[layer] * (1 if held else gain) * chance.gauss(1, 0.01) *
                  (1 + 0.003 * number))
    ends = [thread_of(words | {"write": words[key]}, side, 10**9,
                      {"send": sends * count, "recv": count},
                      10**9 // 2, messages_sent=count, messages_received=count,
                      bytes_sent=out * count, bytes_received=back * count)
            for side, (key, sends, out, back) in enumerate([
                ("reply_write", 1, 28, 4112), ("reply_write", calls, 4112, 28)])]
    ends[0]["latency"] = histogram_of(64e9 / count, count)
    for end, (out, made) in zip(ends, [(28, 1), (4112, records)], strict=True):
        if words["transport"] == "tcp":
            merged = chance.randrange(50)
            end["tcp_info"] = tcp_info_of((segments if made == records else 1) * count - merged,
                                          count)
        if layer != "plain":
            end["options"] |= TLS
        if layer == "gnutls":
            end |= {"records_sent": made * count, "tls_bytes_sent": (out + 22 * made) * count}
    record = ends_of(words | {"write": "nodelay", "message": "28"}, *ends)
    for name in ("client", "server"):
        record[name] |= {"security": layer} | ({"library": "GnuTLS 3.7.9"} if layer != "plain"
                                               else {})
    return record | {"words": words}


def cells_of(recipe: Recipe) -> list[dict[str, Any]]:
    """The cells of plan.json."""
    cells = []
    for values in itertools.product(*recipe.sweep.values()):
        given = recipe.fixed | dict(zip(recipe.sweep, values, strict=True))
        name = " ".join(f"{key}={value}" for key, value in given.items())
        base = all(given.get(w.split("=")[0]) == w.split("=")[1] for w in recipe.baseline.split())
        entry = {"cell": name, "words": {**given, "duration": "1s", "warmup": "0.2s"},
                 "given": given, "baseline": bool(recipe.baseline) and base}
        reason = recipe.unsupported.get(name)
        cells.append(entry | ({"unsupported": reason} if reason else {}))
    return cells


def records_of(recipe: Recipe, cells: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """All records in the order in which they would have been run."""
    chance = random.Random(f"{recipe.name} 7")
    for cell in cells:
        if "unsupported" in cell:
            yield {"schema": 1, "uncork": "0.1.0", "status": "unsupported",
                   "reason": cell["unsupported"], "words": cell["words"],
                   "run": {"cell": cell["cell"], "label": "A", "round": 0, "session": "s1"}}
    able = [cell for cell in cells if "unsupported" not in cell]
    runs = [(cell, "A") for cell in able] + [(cell, "A'") for cell in able if cell["baseline"]]
    for number in range(recipe.rounds + 1):
        chance.shuffle(runs)
        for position, (cell, label) in enumerate(runs):
            record = recipe.record(cell["words"], number, chance)
            yield record | {"run": {"cell": cell["cell"], "label": label, "round": number,
                                    "position": position, "session": "s1"}}


def scenario_text(recipe: Recipe) -> str:
    """scenario.toml as the runner writes it."""
    quoted = {key: ", ".join(f'"{value}"' for value in values)
              for key, values in recipe.sweep.items()}
    lines = [SCENARIO.replace("nodelay", recipe.name, 1) if recipe.scenario
             else f'name = "{recipe.name}"\n', "[fixed]",
             *(f'{key} = "{value}"' for key, value in recipe.fixed.items()), "", "[sweep]",
             *(f"{key} = [{values}]" for key, values in quoted.items()), "", "[run]",
             f'rounds = "{recipe.rounds}"', 'seed = "7"', f'baseline = "{recipe.baseline}"']
    return "\n".join(lines) + "\n" + recipe.scenario


def result_write(recipe: Recipe, folder: Path) -> Path:
    """Writes the result into folder/NAME and gives that path."""
    path = folder / recipe.name
    path.mkdir(parents=True, exist_ok=True)
    cells = cells_of(recipe)
    plan = {"schema": 1, "name": recipe.name, "uncork": "0.1.0", "revision": "0123abcd",
            "build": "0123456789abcdef", "boot": HOST, "seed": 7, "rounds": recipe.rounds,
            "baseline": recipe.baseline,
            "axes": [key for key, values in recipe.sweep.items() if len(values) > 1],
            "cells": cells, "sessions": [{"session": "s1", "boot": HOST, "started_unix_ns": 1,
                                          "rounds": [1, recipe.rounds]}]}
    (path / "scenario.toml").write_text(scenario_text(recipe))
    (path / "plan.json").write_text(json.dumps(plan, indent=1) + "\n")
    (path / "hosts.json").write_text(json.dumps({HOST: FACTS}, indent=1) + "\n")
    with (path / "records.jsonl").open("w") as file:
        for record in records_of(recipe, cells):
            file.write(json.dumps(record, separators=(",", ":")) + "\n")
    return path


def nodelay_record(words: dict[str, str], number: int, chance: random.Random) -> dict[str, Any]:
    """As request_record, but one run fails."""
    record = request_record(words, number, chance)
    if number == 3 and words["write"] == "coalesce" and words["place"] == "apart":
        return {"schema": 1, "uncork": "0.1.0", "status": "failed", "phase": "run",
                "reason": "server: connection reset by peer", "words": words}
    return record


def recipe_nodelay() -> Recipe:
    """Two placements, six strategies, seven rounds, one failed run, an outlier in each writev."""
    return Recipe("nodelay", {"workload": "request", "message": "15x2", "reply": "2"},
                  {"place": ["together", "apart"], "write": list(STRATEGIES)}, 7,
                  "write=nodelay", nodelay_record, CLAIMS)


def recipe_transports() -> Recipe:
    """Three rounds (too few for intervals), two unsupported cells and one that always fails."""
    def record(words: dict[str, str], number: int, chance: random.Random) -> dict[str, Any]:
        if words["transport"] == "unix" and words["write"] == "coalesce":
            return {"schema": 1, "status": "failed", "reason": "killed by signal 9"}
        return request_record(words, number, chance)
    fixed = {"workload": "request", "message": "15x2", "reply": "2", "place": "apart"}
    name = " ".join(f"{key}={value}" for key, value in fixed.items())
    why = "unix sockets hold nothing back"
    return Recipe("transports", fixed, {"transport": ["tcp", "unix"],
                                        "write": ["nodelay", "cork", "more", "coalesce"]},
                  3, "write=nodelay", record,
                  unsupported={f"{name} transport=unix write={w}": why for w in ("cork", "more")})


REPLY_SCENARIO = '''
[[published]]
words = "transport=unix security=plain reply_write=nodelay"
metric = "messages_per_second"
value = 809534.6
from = "nbd_cork.csv:ten_runs/unix/plain/pre"
set = "ten runs"

[[published]]
words = "transport=unix security=plain reply_write=nodelay"
metric = "messages_per_second"
value = 812175.4
from = "nbd_cork.csv:ten_runs/unix/plain/post"
set = "ten runs"
label = "A'"

[[published]]
words = "transport=tcp security=gnutls reply_write=nodelay"
metric = "messages_per_second"
value = 11058.5
from = "nbd_cork.csv:single/tcp/tls/pre"
set = "single"

[[published]]
words = "transport=tcp security=gnutls reply_write=cork"
metric = "messages_per_second"
value = 11762.0
from = "nbd_cork.csv:single/tcp/tls/post"
set = "single"

[table]
rows = ["transport", "security", "reply_write"]
columns = ["records_per_reply", "tls_bytes_per_reply", "segments_per_reply", "sends_per_reply"]
gain = "messages_per_second"
'''


def recipe_replies(rounds: int = 7) -> Recipe:
    """Replies of a header and a payload by transport, security and strategy, with gains."""
    fixed = {"workload": "request", "message": "28", "reply": "16+4K", "depth": "64",
             "place": "apart", "handshake": "psk-ecdhe", "cipher": "aes-128-gcm"}
    name = " ".join(f"{key}={value}" for key, value in fixed.items())
    return Recipe("replies", fixed, {"transport": ["unix", "tcp"], "security": list(LAYERS),
                                     "reply_write": list(REPLIES)},
                  rounds, "reply_write=nodelay", reply_record, REPLY_SCENARIO, unsupported={
                      f"{name} transport=unix security={layer} reply_write=cork":
                      "unix sockets hold nothing back" for layer in ("plain", "ktls")})


def recipe_open(rates: tuple[str, ...] = ("5000", "20000", "40000"), rounds: int = 3) -> Recipe:
    """An open loop at several rates; 40000 is too much for nodelay."""
    fixed = {"workload": "request", "message": "15x2", "reply": "2", "place": "together"}
    return Recipe("open", fixed, {"rate": list(rates), "write": ["nodelay", "cork", "writev"]},
                  rounds, "write=nodelay", open_record)


def recipe_sizes(series: int, sizes: int, rounds: int = 7) -> Recipe:
    """A stream matrix of that many strategies and message sizes, from 64 bytes doubling."""
    names = [*STRATEGIES, "sendfile", "zerocopy", "uv", "uring-send", "uring-sendmsg",
             "uring-ring", "uring-bundle", "uring-zc"][:series]
    messages = [f"{2**k}" if k < 10 else f"{2**(k - 10)}K" if k < 20 else f"{2**(k - 20)}M"
                for k in range(6, 6 + sizes)]
    return Recipe(f"sizes-{series}-{sizes}", {"workload": "stream", "place": "apart"},
                  {"message": messages, "write": names}, rounds, f"write={names[0]}",
                  stream_record)


BUFFERS = {  # seconds by direction and SO_SNDBUF
    "send": {"default": 1.5, "64K": 2.0, "256K": 1.0, "1M": 1.003, "4M": 1.4},
    "receive": {"default": 0.3, "64K": 0.45, "256K": 0.22, "1M": 0.219, "4M": 0.2205},
}
BUFFER_SCENARIO = '''
[[published]]
words = "direction=send sndbuf=default"
metric = "time"
value = 8.063
from = "unix_sndbuf.csv:write_1conn/default"

[[published]]
words = "direction=send sndbuf=256K"
metric = "time"
value = 1.012
from = "unix_sndbuf.csv:write_1conn/262144"

[table]
rows = ["direction", "sndbuf"]
columns = ["time", "user", "system"]
best = "sndbuf"

[[picture]]
kind = "curve"
metric = "time"
x = "sndbuf"
'''


def buffer_record(words: dict[str, str], number: int, chance: random.Random) -> dict[str, Any]:
    """Fixed work by SO_SNDBUF, timed by hyperfine; a receiver takes less than a second of CPU."""
    took = (
        BUFFERS[words["direction"]][words["sndbuf"]] * chance.gauss(1, 0.006) * (1 + 0.003 * number)
    )
    count, elapsed = 4096, int(took * 1e9)
    ends = [thread_of(words, side, elapsed, {kind: count}, elapsed // 2, **{
        f"messages_{way}": count, f"bytes_{way}": count << 18})
        for side, (kind, way) in enumerate([("send", "sent"), ("recv", "received")])]
    record = ends_of(words, *ends)
    for end in ("client", "server"):
        record[end]["process"] = {"user_ns": elapsed // 10, "system_ns": elapsed // 2}
    return record | {"hyperfine": {"version": "1.15.0", "wall_ns": elapsed + 9_000_000,
                                   "user_ns": elapsed // 5, "system_ns": elapsed}}


def recipe_buffers(rounds: int = 7) -> Recipe:
    """A Unix socket by direction and SO_SNDBUF: where the best is one, and where it is many."""
    fixed = {"transport": "unix", "workload": "stream", "message": "256K", "place": "apart",
             "bytes": "1G", "write": "nodelay"}
    return Recipe("buffers", fixed, {"direction": list(BUFFERS), "sndbuf": list(BUFFERS["send"])},
                  rounds, "sndbuf=default", buffer_record, BUFFER_SCENARIO)


if __name__ == "__main__":
    print(result_write(recipe_nodelay(), Path(__file__).parent))
