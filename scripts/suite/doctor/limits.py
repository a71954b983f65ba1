# SPDX-License-Identifier: MIT
"""Checks of what a run may be refused: io_uring, locked memory, ports, open files."""

import re

from suite.base.units import counted_text, size_text
from suite.doctor.facts import WITHOUT_SECCOMP, SystemFacts, sysctl_path
from suite.doctor.finding import CellWords, Finding, Status, Unknown, sysctl_set

RINGS = "kernel.io_uring_disabled"
PORTS = "net.ipv4.ip_local_port_range"
PORTS_WIDE = "1024 65535"
PORTS_LEAST = 20_000  # Linux has 28232 by default
WAITING_SHARE = 0.5  # of the ports in TIME_WAIT: above it a run may find no free one
CONNECTIONS_MANY = 1000  # from here on a cell may run out of ports
MEMLOCK_LEAST_BYTES = 8 << 20  # Linux' own default since 5.16
CAPABILITY_IPC_LOCK = 14  # linux/capability.h
FILES_SPARE = 64  # descriptors that a process has beyond its connections
FILES_LEAST = 4096


def ring_finding(facts: SystemFacts, words: CellWords) -> Finding:
    """Whether io_uring_setup(2) is permitted; the sysctl: admin-guide/sysctl/kernel.rst."""
    refusal, setting = facts.probes.ring_refusal, facts.find(sysctl_path(RINGS)) or "0"
    if not refusal:
        return Finding.fine("io_uring is permitted")
    effect = ("write=uring-*, read=uring-* and engine=ring are unsupported: their cells show - and "
              "the reason.")
    if setting != "0":
        return Finding(Status.DISTURBS, f"io_uring is off ({RINGS}={setting})", effect,
                       sysctl_set(RINGS, "0"), sysctl_set(RINGS, setting))
    why, remark = (
        ("the kernel", "the kernel has none (before 5.1, or built without CONFIG_IO_URING)")
        if facts.field("proc/self/status", "Seccomp") == "0" else
        ("a seccomp filter", WITHOUT_SECCOMP))
    return Finding(Status.DISTURBS, f"io_uring is refused by {why} ({refusal})", effect,
                   remark=remark)


def memlock_finding(facts: SystemFacts, words: CellWords) -> Finding:
    """The limit of pinned memory, without CAP_IPC_LOCK: getrlimit(2), mm_account_pinned_pages()."""
    limit = facts.probes.memlock_bytes
    if (limit is None
            or int(facts.field("proc/self/status", "CapEff"), 16) >> CAPABILITY_IPC_LOCK & 1):
        return Finding.fine("memory may be locked without limit")
    if limit >= MEMLOCK_LEAST_BYTES:
        return Finding.fine(f"{size_text(limit)} may be locked")
    return Finding(
        Status.DISTURBS, f"only {size_text(limit)} may be locked",
        "write=zerocopy and uring-zc pin the memory that they send. Above the limit they wait for "
        "its release after every few messages.",
        "prlimit --pid $$ --memlock=unlimited", f"prlimit --pid $$ --memlock={limit}",
        "in the shell that starts uncork; ulimit -l and limits.conf(5) for later shells")


def files_finding(facts: SystemFacts, words: CellWords) -> Finding:
    """Descriptors of one process: getrlimit(2). uncork raises the soft limit to the hard one."""
    limit = facts.probes.files_limit
    needed = FILES_LEAST if words.unplanned else 2 * words.largest("connections") + FILES_SPARE
    if limit is None or limit >= needed:
        return Finding.fine("open files without limit" if limit is None else f"{limit} open files")
    enough = max(needed, FILES_LEAST)
    return Finding(
        Status.NOTE if words.unplanned else Status.DISTURBS, f"only {limit} open files",
        "Cells with more connections are unsupported: a connection takes one or two descriptors at "
        "each end.",
        f"prlimit --pid $$ --nofile={enough}:{enough}",
        f"prlimit --pid $$ --nofile={limit}:{limit}",
        "in the shell that starts uncork")


def ports_finding(facts: SystemFacts, words: CellWords) -> Finding:
    """`tw` of /proc/net/sockstat: ip(7), docs/load.md, "A connection for every request"."""
    first, last = map(int, facts.sysctl(PORTS).split())
    ports = last - first + 1
    time_wait = re.search(r"^TCP:.* tw (\d+)", facts.text("proc/net/sockstat"), re.MULTILINE)
    if time_wait is None:
        raise Unknown("/proc/net/sockstat has no tw")
    waiting, few = int(time_wait[1]), ports < max(PORTS_LEAST, words.largest("connections"))
    seen = f"{counted_text(ports, 'port')} for connections, {waiting} in TIME_WAIT"
    if not few and waiting < WAITING_SHARE * ports:
        return Finding.fine(seen)
    return Finding(
        Status.DISTURBS, seen,
        "Each connection of workload=connect keeps its port for a minute. connect(2) searches ever "
        "longer for a free port, and fails when there is none. Loopback reuses a port after a "
        "second if net.ipv4.tcp_tw_reuse is 2; here it is "
        f"{facts.sysctl('net.ipv4.tcp_tw_reuse')}.",
        sysctl_set(PORTS, PORTS_WIDE) if few else "",
        sysctl_set(PORTS, f"{first} {last}") if few else "",
        "" if few else "the kernel frees these ports within a minute, if none is used again")
