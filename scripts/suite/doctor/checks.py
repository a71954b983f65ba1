# SPDX-License-Identifier: MIT
"""The list of all checks, and how they run. Their names stay: --json and hosts.json have them."""

import contextlib
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from suite.doctor import kernel, load, network, processor
from suite.doctor.facts import COUNTERS, SystemFacts
from suite.doctor.finding import CellWords, Finding, Status, Unknown

Check = Callable[[SystemFacts], Finding]

# The most serious first: findings are shown in this order, each by the name of its function.
CHECKS: tuple[Check, ...] = (
    processor.emulation, kernel.kernel_debug, kernel.tracers, load.load, load.steal, load.cpu_quota,
    load.priority, kernel.preload, network.congestion, network.loopback_queue, network.loopback_mtu,
    network.loopback_offloads, network.firewall, kernel.bpf_programs, processor.clocksource,
    processor.governor, processor.idle_states, processor.turbo, processor.power, processor.thermal,
    load.swap, processor.cpus, kernel.io_uring, kernel.memlock, kernel.ports, kernel.open_files,
    network.socket_buffers, kernel.realtime_throttle, kernel.seccomp, processor.smt,
    load.irqbalance, kernel.cpu_accounting, network.autocorking, kernel.huge_pages,
)
# for the checks that concern some planned cells only
CONCERNS: dict[Check, Callable[[CellWords], bool]] = {
    **dict.fromkeys((network.congestion, network.loopback_queue, network.loopback_mtu,
                     network.loopback_offloads, network.firewall),
                    lambda words: True in words.tcp_is_local()),
    processor.cpus: lambda words: words.has("place", "apart"),
    kernel.io_uring: lambda words: words.has("engine", "ring") or words.has(
        "write reply_write read", "uring"),
    # an end lends its memory to the kernel
    kernel.memlock: lambda words: words.has("write reply_write", "zerocopy", "uring-zc"),
    # a cell makes a connection for each request, or holds many
    kernel.ports: lambda words: words.has("workload", "connect")
    or words.largest("connections") >= kernel.CONNECTIONS_MANY,
    network.socket_buffers: lambda words: words.values(*network.BUFFERS) - {"default"} != set(),
    kernel.realtime_throttle: lambda words: words.has("sched", "rr", "fifo"),
    network.autocorking: lambda words: False in words.tcp_is_local(),
}


def checks_for(words: CellWords) -> dict[str, Check]:
    return {check.__name__: check for check in CHECKS
            if words.unplanned or check not in CONCERNS or CONCERNS[check](words)}


def findings_make(facts: SystemFacts) -> dict[str, Finding]:
    """The findings of all checks that concern the planned cells, by name, by their status:
    `unknown`, with a reason, where a fact is missing or malformed."""
    found = {}
    for name, check in checks_for(facts.words).items():
        try:
            found[name] = check(facts)
        except Unknown as error:
            found[name] = Finding(Status.UNKNOWN, str(error))
        except (ValueError, IndexError, KeyError) as error:
            why = f"not understood: {type(error).__name__}: {error}"
            found[name] = Finding(Status.UNKNOWN, why)
    return dict(sorted(found.items(), key=lambda named: list(Status).index(named[1].status)))


def findings_collect(words: CellWords, watch_s: float) -> dict[str, Finding]:
    """Checks this machine and watches its counters for watch_s. Without Linux all is `unknown`."""
    if sys.platform != "linux":
        why = f"the doctor checks Linux only, and this is {sys.platform}"
        return dict.fromkeys(checks_for(words), Finding(Status.UNKNOWN, why))
    facts, before = SystemFacts(Path("/"), words), {}
    for path in COUNTERS:
        with contextlib.suppress(Unknown):
            before[path] = facts.text(path)
    time.sleep(watch_s)
    return findings_make(replace(facts, before=before))
