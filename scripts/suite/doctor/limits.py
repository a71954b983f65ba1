# SPDX-License-Identifier: MIT
"""Checks of what a run may be refused: io_uring, locked memory, ports, open files."""

import resource

from suite.base.units import counted_text, size_text
from suite.doctor.facts import SystemFacts, sysctl_path
from suite.doctor.finding import Finding, disturbs, fine, note

PORTS_LEAST = 20_000  # Linux has 28232 by default
WAITING_SHARE = 0.5  # of the ports in TIME_WAIT: above it a run may find no free one
CONNECTIONS_MANY = 1000  # from here on a cell may run out of ports
MEMLOCK_LEAST_BYTES = 8 << 20  # Linux' own default since 5.16
CAPABILITY_IPC_LOCK = 14  # linux/capability.h
FILES_SPARE = 64  # descriptors that a process has beyond its connections
FILES_LEAST = 4096


def io_uring(facts: SystemFacts) -> Finding:
    """Whether io_uring_setup(2) is permitted; the sysctl: admin-guide/sysctl/kernel.rst."""
    sysctl = "kernel.io_uring_disabled"
    refusal, setting = facts.ring_refusal, facts.find(sysctl_path(sysctl)) or "0"
    if not refusal:
        return fine("io_uring is permitted")
    if setting != "0":
        return disturbs("io_uring.off", f"io_uring is off ({sysctl}={setting})", now=setting)
    if facts.fields("proc/self/status")["Seccomp"] == "0":
        return disturbs("io_uring.missing", f"io_uring is refused by the kernel ({refusal})")
    return disturbs("io_uring.filtered", f"io_uring is refused by a seccomp filter ({refusal})")


def memlock(facts: SystemFacts) -> Finding:
    """The limit of pinned memory, without CAP_IPC_LOCK: getrlimit(2), mm_account_pinned_pages()."""
    limit = facts.hard_limit(resource.RLIMIT_MEMLOCK)
    if (limit is None
            or int(facts.fields("proc/self/status")["CapEff"], 16) >> CAPABILITY_IPC_LOCK & 1):
        return fine("memory may be locked without limit")
    return disturbs("memlock", f"{size_text(limit)} may be locked", limit < MEMLOCK_LEAST_BYTES,
                    now=limit)


def open_files(facts: SystemFacts) -> Finding:
    """Descriptors of one process: getrlimit(2). uncork raises the soft limit to the hard one."""
    limit, words = facts.hard_limit(resource.RLIMIT_NOFILE), facts.words
    needed = FILES_LEAST if words.unplanned else 2 * words.largest("connections") + FILES_SPARE
    if limit is None:
        return fine("open files without limit")
    return (note if words.unplanned else disturbs)(
        "open_files", f"{limit} open files", limit < needed, wanted=max(needed, FILES_LEAST),
        now=limit)


def ports(facts: SystemFacts) -> Finding:
    """`tw` of /proc/net/sockstat: ip(7), docs/load.md, "A connection for every request"."""
    limits = facts.sysctl("net.ipv4.ip_local_port_range")
    first, last = map(int, limits.split())
    count = last - first + 1
    tcp = facts.fields("proc/net/sockstat")["TCP"].split()
    waiting = int(tcp[tcp.index("tw") + 1])
    few = count < max(PORTS_LEAST, facts.words.largest("connections"))
    seen = f"{counted_text(count, 'port')} for connections, {waiting} in TIME_WAIT"
    if not few and waiting < WAITING_SHARE * count:
        return fine(seen)
    return disturbs("ports.few" if few else "ports.waiting", seen, now=limits,
                    reuse=facts.sysctl("net.ipv4.tcp_tw_reuse"))
