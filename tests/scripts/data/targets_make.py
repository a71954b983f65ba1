# SPDX-License-Identifier: MIT
"""Invented results of several targets: two systems in the same rounds, kernels booted for each, and
emulation."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from result_make import FACTS, HOST, Recipe, request_record, result_write
from sessions_make import record_slow

FIXED = {"workload": "request", "message": "15x2", "reply": "2", "place": "together"}
ALIKE = {"uring-bundle": "writev"}  # strategies that are recorded as another one is
TABLE = '''
[table]
rows = ["write", "target"]
columns = ["time_per_message", "segments_per_message", "sends_per_message"]
'''
CLAIMS = '''
[[claim]]
says = "a cork is one segment in the new kernel too"
that = "segments_per_message(write=cork target=vng:6.18) == segments_per_message(write=cork target=vng:6.1)"

[[claim]]
says = "a vectored send is one call"
that = "sends_per_message(write=writev) == 1"

[[claim]]
says = "the new kernel is faster by a vectored send"
that = "time_per_message(write=writev target=vng:6.1) / time_per_message(write=writev target=vng:6.18) > 1"

[[claim]]
says = "in the old kernel a cork is faster than no delay"
that = "time_per_message(write=cork target=vng:6.1) < time_per_message(write=nodelay target=vng:6.1)"
'''


@dataclass(frozen=True)
class System:
    """A target: facts of its machine beside the usual ones, how slow it is, its congestion control,
    whether it counts segments, and how much its boots differ, as a standard deviation."""

    facts: Mapping[str, Any]
    slow: float = 1.0
    congestion: str = "cubic"
    counts: bool = True
    boots: float = 0.0


LOCAL = System({})
GVISOR = System({"kernel": "4.4.0", "virtualisation": "gvisor", "target": "gvisor"}, 1.6, "reno",
                False)


def booted(kernel: str, kind: str, slow: float, boots: float = 0.02) -> System:
    """A kernel in a virtual machine."""
    cpu = "QEMU TCG CPU version 2.5+" if kind == "tcg" else FACTS["cpu"]
    return System({"kernel": kernel, "virtualisation": kind, "cpu": cpu, "memory": "1013804 kB"},
                  slow, boots=boots)


SYSTEMS = {"local": LOCAL, "gvisor": GVISOR}
KERNELS = {"vng:6.1": booted("6.1.0-test", "kvm", 1.3),
           "vng:6.18": booted("6.18.5-test", "kvm", 1.15)}
EMULATED = {"local": LOCAL, "vng:6.1": booted("6.1.0-test", "tcg", 30.0),
            "vng:6.18": booted("6.18.5-test", "tcg", 33.0)}


def host_of(target: str, number: int, cell: str) -> str:
    """The host id of a run: this machine, a sandbox for each cell and round, a boot for each
    round."""
    if target == "local":
        return HOST
    return f"{target}-boot-{number}" if target.startswith("vng:") else f"{target}-{cell}-{number}"


def system_record(systems: Mapping[str, System], words: dict[str, str], number: int,
                  chance: random.Random
                  ) -> dict[str, Any]:
    """A record as this target would have made it; what a boot brings with it is the same in all
    runs of that boot."""
    target = words["target"]
    system = systems[target]
    boot = random.Random(f"{target} {number}").gauss(1, system.boots) if system.boots else 1.0
    record = request_record(words | {"write": ALIKE.get(words["write"], words["write"])}, number,
                            chance)
    record = record_slow(record, system.slow * boot) | {"words": words}
    for thread in (thread for end in ("client", "server") for thread in record[end]["threads"]):
        thread["options"]["congestion"] = system.congestion
        if not system.counts:
            del thread["tcp_info"]
    return record


def targets_recipe(name: str, systems: Mapping[str, System], writes: list[str], rounds: int,
                   baseline: str,
                   unsupported: Mapping[tuple[str, str], str]) -> Recipe:
    """A recipe; unsupported: why, by strategy and target."""
    fixed = " ".join(f"{key}={value}" for key, value in FIXED.items())
    return Recipe(name, FIXED, {"write": writes, "target": list(systems)}, rounds, baseline,
                  lambda words, number, chance: system_record(systems, words, number, chance),
                  TABLE + (CLAIMS if "vng:6.1" in systems else ""),
                  {f"{fixed} write={write} target={target}": why
                   for (write, target), why in unsupported.items()})


def hosts_json(systems: Mapping[str, System], rounds: int) -> dict[str, Any]:
    """hosts.json: of a kernel every boot, each with a little more memory or less."""
    hosts: dict[str, Any] = {}
    for target, system in systems.items():
        facts = {**FACTS, **system.facts}
        if target.startswith("vng:"):
            hosts |= {host_of(target, number, ""): facts |
                      {"memory": f"{1013804 + 4 * (number % 3)} kB"}
                      for number in range(rounds + 1)}
        else:
            hosts[HOST if target == "local" else f"{target}-asked"] = facts
    return hosts


def targets_write(recipe: Recipe, systems: Mapping[str, System], folder: Path) -> Path:
    """Writes the result of a recipe with the machines of its targets."""
    path = result_write(recipe, folder)
    (path / "hosts.json").write_text(json.dumps(hosts_json(systems, recipe.rounds), indent=1) +
                                     "\n")
    records = [json.loads(line) for line in (path / "records.jsonl").read_text().splitlines()]
    for record in records:
        for end in ("client", "server"):
            if end in record:
                run = record["run"]
                record[end]["host"] = host_of(record["words"]["target"], run["round"], run["cell"])
    (path / "records.jsonl").write_text("".join(json.dumps(record, separators=(",", ":")) + "\n"
                                                for record in records))
    return path


def systems_write(folder: Path) -> Path:
    """This machine and gVisor in the same rounds; gVisor has no ring and counts no segments."""
    recipe = targets_recipe("systems", SYSTEMS, ["nodelay", "cork", "writev", "uring-bundle"], 7,
                            "write=nodelay",
                            {("uring-bundle", "gvisor"): "io_uring is switched off here"})
    return targets_write(recipe, SYSTEMS, folder)


def kernels_write(folder: Path, rounds: int = 8) -> Path:
    """Two kernels with hardware virtualisation, one boot of each in a round."""
    recipe = targets_recipe("kernels", KERNELS, ["nodelay", "cork", "writev"], rounds,
                            "target=vng:6.1", {})
    return targets_write(recipe, KERNELS, folder)


def emulated_write(folder: Path) -> Path:
    """This machine beside two emulated kernels, of which the older has no bundles."""
    recipe = targets_recipe("emulated", EMULATED, ["nodelay", "cork", "writev", "uring-bundle"], 6,
                            "write=nodelay",
                            {("uring-bundle", "vng:6.1"): "bundles need Linux 6.10"})
    return targets_write(recipe, EMULATED, folder)
