# SPDX-License-Identifier: MIT
"""The list of all checks, and how they are carried out. Names are those of --json and hosts.json:
they stay."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass

from suite.doctor import kernel, limits, load, network, processor
from suite.doctor.asked import (
    Asked,
    always,
    apart,
    by_lending,
    by_ring,
    in_realtime,
    over_device,
    over_loopback,
    with_buffers,
    with_connections,
)
from suite.doctor.facts import Facts, facts_collect
from suite.doctor.finding import Answer, Finding, Status, Unknown


@dataclass(frozen=True)
class Check:
    """One check: what it answers to facts, and which runs it concerns."""

    name: str
    look: Callable[[Facts, Asked], Answer]
    concerns: Callable[[Asked], bool] = always


# The heaviest first: findings are shown in this order.
CHECKS = (
    Check("emulation", processor.emulation_look),
    Check("kernel_debug", kernel.debug_look),
    Check("tracers", kernel.tracers_look),
    Check("load", load.load_look),
    Check("steal", load.steal_look),
    Check("cpu_quota", load.quota_look),
    Check("priority", load.priority_look),
    Check("preload", kernel.preload_look),
    Check("congestion", network.congestion_look, over_loopback),
    Check("loopback_queue", network.queue_look, over_loopback),
    Check("loopback_mtu", network.mtu_look, over_loopback),
    Check("loopback_offloads", network.offloads_look, over_loopback),
    Check("firewall", network.firewall_look, over_loopback),
    Check("bpf_programs", kernel.programs_look),
    Check("clocksource", processor.clocksource_look),
    Check("governor", processor.governor_look),
    Check("idle_states", processor.idle_look),
    Check("turbo", processor.turbo_look),
    Check("power", processor.power_look),
    Check("thermal", processor.thermal_look),
    Check("swap", load.swap_look),
    Check("cpus", processor.cpus_look, apart),
    Check("io_uring", limits.ring_look, by_ring),
    Check("memlock", limits.memlock_look, by_lending),
    Check("ports", limits.ports_look, with_connections),
    Check("open_files", limits.files_look),
    Check("socket_buffers", network.buffers_look, with_buffers),
    Check("realtime_throttle", kernel.throttle_look, in_realtime),
    Check("seccomp", kernel.seccomp_look),
    Check("smt", processor.smt_look),
    Check("irqbalance", load.irqbalance_look),
    Check("cpu_accounting", kernel.accounting_look),
    Check("autocorking", network.autocorking_look, over_device),
    Check("huge_pages", kernel.hugepages_look),
)


def answer_of(check: Check, facts: Facts, asked: Asked) -> Answer:
    """What a check answers; where a fact is missing or is not what it was ever seen to be: unknown,
    and why."""
    try:
        return check.look(facts, asked)
    except Unknown as error:
        return Answer(Status.UNKNOWN, str(error))
    except (ValueError, IndexError, KeyError) as error:
        return Answer(Status.UNKNOWN, f"not understood: {type(error).__name__}: {error}")


def findings_make(facts: Facts, asked: Asked) -> list[Finding]:
    """The answers of all checks that concern what is to be run: by status, the heaviest first."""
    found = [Finding(check.name, answer_of(check, facts, asked)) for check in CHECKS
             if check.concerns(asked)]
    order = list(Status)
    return sorted(found, key=lambda finding: order.index(finding.answer.status))


def findings_collect(asked: Asked, watch_s: float) -> list[Finding]:
    """Looks at this machine; where it is no Linux nothing is known of it."""
    if sys.platform != "linux":
        answer = Answer(Status.UNKNOWN, f"only Linux is looked at, and this is {sys.platform}")
        return [Finding(check.name, answer) for check in CHECKS if check.concerns(asked)]
    return findings_make(facts_collect(watch_s=watch_s), asked)
