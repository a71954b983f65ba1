# SPDX-License-Identifier: MIT
"""All checks, and how they are carried out. --json and hosts.json have these names: they stay."""

import sys
from collections.abc import Callable
from dataclasses import dataclass

from suite.doctor import kernel, limits, load, network, processor
from suite.doctor.facts import SystemFacts, facts_collect
from suite.doctor.finding import CellWords, Finding, Status, Unknown


def on_loopback(words: CellWords) -> bool:
    """Some cell speaks TCP to an end of its own on this machine, outside a lab."""
    return True in words.tcp_is_local()


@dataclass(frozen=True)
class Check:
    """One check: what it finds in facts, and which planned runs it concerns."""

    name: str
    look: Callable[[SystemFacts, CellWords], Finding]
    concerns: Callable[[CellWords], bool] = lambda words: True


# The heaviest first: findings are shown in this order.
CHECKS = (
    Check("emulation", processor.emulation_look),
    Check("kernel_debug", kernel.debug_look),
    Check("tracers", kernel.tracers_look),
    Check("load", load.load_look),
    Check("steal", load.steal_look),
    Check("cpu_quota", load.quota_look),
    Check("priority", load.PRIORITY.look),
    Check("preload", kernel.PRELOAD.look),
    Check("congestion", network.congestion_look, on_loopback),
    Check("loopback_queue", network.QUEUE.look, on_loopback),
    Check("loopback_mtu", network.MTU.look, on_loopback),
    Check("loopback_offloads", network.offloads_look, on_loopback),
    Check("firewall", network.firewall_look, on_loopback),
    Check("bpf_programs", kernel.programs_look),
    Check("clocksource", processor.clocksource_look),
    Check("governor", processor.governor_look),
    Check("idle_states", processor.idle_look),
    Check("turbo", processor.turbo_look),
    Check("power", processor.power_look),
    Check("thermal", processor.THERMAL.look),
    Check("swap", load.swap_look),
    Check("cpus", processor.CPUS.look, lambda words: words.has("place", "apart")),
    Check("io_uring", limits.ring_look, lambda words: words.has("engine", "ring")
          or words.has("write reply_write read", "uring")),
    # an end lends its memory to the kernel
    Check("memlock", limits.memlock_look,
          lambda words: words.has("write reply_write", "zerocopy", "uring-zc")),
    # a cell makes a connection for each request, or holds many
    Check("ports", limits.ports_look, lambda words: words.has("workload", "connect")
          or words.largest("connections") >= limits.CONNECTIONS_MANY),
    Check("open_files", limits.files_look),
    Check("socket_buffers", network.buffers_look,
          lambda words: words.values(*network.BUFFERS) - {"default"} != set()),
    Check("realtime_throttle", kernel.throttle_look,
          lambda words: words.has("sched", "rr", "fifo")),
    Check("seccomp", kernel.SECCOMP.look),
    Check("smt", processor.SMT.look),
    Check("irqbalance", load.irqbalance_look),
    Check("cpu_accounting", kernel.accounting_look),
    Check("autocorking", network.AUTOCORKING.look, lambda words: False in words.tcp_is_local()),
    Check("huge_pages", kernel.HUGE_PAGES.look),
)


def finding_make(check: Check, facts: SystemFacts, words: CellWords) -> Finding:
    """What a check finds; `unknown` with the reason where a fact is missing or of unknown form."""
    try:
        return check.look(facts, words)
    except Unknown as error:
        return Finding(Status.UNKNOWN, str(error))
    except (ValueError, IndexError, KeyError) as error:
        return Finding(Status.UNKNOWN, f"not understood: {type(error).__name__}: {error}")


def findings_make(facts: SystemFacts, words: CellWords) -> dict[str, Finding]:
    """By the names of all checks that concern these cells: by status, the heaviest first."""
    found = {check.name: finding_make(check, facts, words) for check in CHECKS
             if words.unplanned or check.concerns(words)}
    return dict(sorted(found.items(), key=lambda named: list(Status).index(named[1].status)))


def findings_collect(words: CellWords, watch_s: float) -> dict[str, Finding]:
    """Looks at this machine for watch_s; on a system that is no Linux nothing is known."""
    if sys.platform == "linux":
        return findings_make(facts_collect(watch_s=watch_s), words)
    unknown = Finding(Status.UNKNOWN, f"only Linux is looked at, and this is {sys.platform}")
    return {check.name: unknown for check in CHECKS if words.unplanned or check.concerns(words)}
