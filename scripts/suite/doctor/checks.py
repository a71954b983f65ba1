# SPDX-License-Identifier: MIT
"""The list of all checks, and how they run. Their names stay: --json and hosts.json have them."""

import sys
from collections.abc import Callable
from dataclasses import dataclass

from suite.doctor import kernel, limits, load, network, processor
from suite.doctor.facts import SystemFacts, facts_collect
from suite.doctor.finding import CellWords, Finding, Status, Unknown


@dataclass(frozen=True)
class Check:
    """One check: what it finds in facts, and which planned runs it concerns."""

    name: str
    finding: Callable[[SystemFacts], Finding]
    concerns: Callable[[CellWords], bool] = lambda words: True


def on_loopback(words: CellWords) -> bool:
    return True in words.tcp_is_local()


# The most serious first: findings are shown in this order.
CHECKS = (
    Check("emulation", processor.emulation),
    Check("kernel_debug", kernel.kernel_debug),
    Check("tracers", kernel.tracers),
    Check("load", load.load),
    Check("steal", load.steal),
    Check("cpu_quota", load.cpu_quota),
    Check("priority", load.priority),
    Check("preload", kernel.preload),
    Check("congestion", network.congestion, on_loopback),
    Check("loopback_queue", network.loopback_queue, on_loopback),
    Check("loopback_mtu", network.loopback_mtu, on_loopback),
    Check("loopback_offloads", network.loopback_offloads, on_loopback),
    Check("firewall", network.firewall, on_loopback),
    Check("bpf_programs", kernel.bpf_programs),
    Check("clocksource", processor.clocksource),
    Check("governor", processor.governor),
    Check("idle_states", processor.idle_states),
    Check("turbo", processor.turbo),
    Check("power", processor.power),
    Check("thermal", processor.thermal),
    Check("swap", load.swap),
    Check("cpus", processor.cpus, lambda words: words.has("place", "apart")),
    Check("io_uring", limits.io_uring, lambda words: words.has("engine", "ring")
          or words.has("write reply_write read", "uring")),
    # an end lends its memory to the kernel
    Check("memlock", limits.memlock,
          lambda words: words.has("write reply_write", "zerocopy", "uring-zc")),
    # a cell makes a connection for each request, or holds many
    Check("ports", limits.ports, lambda words: words.has("workload", "connect")
          or words.largest("connections") >= limits.CONNECTIONS_MANY),
    Check("open_files", limits.open_files),
    Check("socket_buffers", network.socket_buffers,
          lambda words: words.values(*network.BUFFERS) - {"default"} != set()),
    Check("realtime_throttle", kernel.realtime_throttle,
          lambda words: words.has("sched", "rr", "fifo")),
    Check("seccomp", kernel.seccomp),
    Check("smt", processor.smt),
    Check("irqbalance", load.irqbalance),
    Check("cpu_accounting", kernel.cpu_accounting),
    Check("autocorking", network.autocorking, lambda words: False in words.tcp_is_local()),
    Check("huge_pages", kernel.huge_pages),
)


def finding_make(check: Check, facts: SystemFacts) -> Finding:
    """The finding of a check; `unknown`, with a reason, where a fact is missing or malformed."""
    try:
        return check.finding(facts)
    except Unknown as error:
        return Finding(Status.UNKNOWN, str(error))
    except (ValueError, IndexError, KeyError) as error:
        return Finding(Status.UNKNOWN, f"not understood: {type(error).__name__}: {error}")


def findings_make(facts: SystemFacts) -> dict[str, Finding]:
    """The findings of all checks that concern the planned cells, by name, by their status."""
    found = {check.name: finding_make(check, facts) for check in checks_for(facts.words)}
    return dict(sorted(found.items(), key=lambda named: list(Status).index(named[1].status)))


def checks_for(words: CellWords) -> list[Check]:
    return [check for check in CHECKS if words.unplanned or check.concerns(words)]


def findings_collect(words: CellWords, watch_s: float) -> dict[str, Finding]:
    """Checks this machine and watches its counters for watch_s. Without Linux all is `unknown`."""
    if sys.platform == "linux":
        return findings_make(facts_collect(words, watch_s))
    unknown = Finding(Status.UNKNOWN, f"the doctor checks Linux only, and this is {sys.platform}")
    return {check.name: unknown for check in checks_for(words)}
