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
    finding: Callable[[SystemFacts, CellWords], Finding]
    concerns: Callable[[CellWords], bool] = lambda words: True


def on_loopback(words: CellWords) -> bool:
    return True in words.tcp_is_local()


# The most serious first: findings are shown in this order.
CHECKS = (
    Check("emulation", processor.emulation_finding),
    Check("kernel_debug", kernel.debug_finding),
    Check("tracers", kernel.tracers_finding),
    Check("load", load.load_finding),
    Check("steal", load.steal_finding),
    Check("cpu_quota", load.quota_finding),
    Check("priority", load.PRIORITY.finding),
    Check("preload", kernel.PRELOAD.finding),
    Check("congestion", network.congestion_finding, on_loopback),
    Check("loopback_queue", network.QUEUE.finding, on_loopback),
    Check("loopback_mtu", network.MTU.finding, on_loopback),
    Check("loopback_offloads", network.offloads_finding, on_loopback),
    Check("firewall", network.firewall_finding, on_loopback),
    Check("bpf_programs", kernel.programs_finding),
    Check("clocksource", processor.clocksource_finding),
    Check("governor", processor.governor_finding),
    Check("idle_states", processor.idle_finding),
    Check("turbo", processor.turbo_finding),
    Check("power", processor.power_finding),
    Check("thermal", processor.THERMAL.finding),
    Check("swap", load.swap_finding),
    Check("cpus", processor.CPUS.finding, lambda words: words.has("place", "apart")),
    Check("io_uring", limits.ring_finding, lambda words: words.has("engine", "ring")
          or words.has("write reply_write read", "uring")),
    # an end lends its memory to the kernel
    Check("memlock", limits.memlock_finding,
          lambda words: words.has("write reply_write", "zerocopy", "uring-zc")),
    # a cell makes a connection for each request, or holds many
    Check("ports", limits.ports_finding, lambda words: words.has("workload", "connect")
          or words.largest("connections") >= limits.CONNECTIONS_MANY),
    Check("open_files", limits.files_finding),
    Check("socket_buffers", network.buffers_finding,
          lambda words: words.values(*network.BUFFERS) - {"default"} != set()),
    Check("realtime_throttle", kernel.throttle_finding,
          lambda words: words.has("sched", "rr", "fifo")),
    Check("seccomp", kernel.SECCOMP.finding),
    Check("smt", processor.SMT.finding),
    Check("irqbalance", load.irqbalance_finding),
    Check("cpu_accounting", kernel.accounting_finding),
    Check("autocorking", network.AUTOCORKING.finding, lambda words: False in words.tcp_is_local()),
    Check("huge_pages", kernel.HUGE_PAGES.finding),
)


def finding_make(check: Check, facts: SystemFacts, words: CellWords) -> Finding:
    """The finding of a check; `unknown`, with a reason, where a fact is missing or malformed."""
    try:
        return check.finding(facts, words)
    except Unknown as error:
        return Finding(Status.UNKNOWN, str(error))
    except (ValueError, IndexError, KeyError) as error:
        return Finding(Status.UNKNOWN, f"not understood: {type(error).__name__}: {error}")


def findings_make(facts: SystemFacts, words: CellWords) -> dict[str, Finding]:
    """The findings of all checks that concern these cells, by name; the most serious first."""
    found = {check.name: finding_make(check, facts, words) for check in CHECKS
             if words.unplanned or check.concerns(words)}
    return dict(sorted(found.items(), key=lambda named: list(Status).index(named[1].status)))


def findings_collect(words: CellWords, watch_s: float) -> dict[str, Finding]:
    """Checks this machine and watches its counters for watch_s. Without Linux all is `unknown`."""
    if sys.platform == "linux":
        return findings_make(facts_collect(watch_s=watch_s), words)
    unknown = Finding(Status.UNKNOWN, f"the doctor checks Linux only, and this is {sys.platform}")
    return {check.name: unknown for check in CHECKS if words.unplanned or check.concerns(words)}
