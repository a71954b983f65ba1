# SPDX-License-Identifier: MIT
"""What may not be done at all, or not as often as a run wants to: rings, locked memory, ports,
files."""

from __future__ import annotations

from suite.base.units import counted_text, size_text
from suite.doctor.asked import Asked
from suite.doctor.facts import Facts
from suite.doctor.finding import Answer, Status, Unknown, fine, sysctl_set

RINGS = "kernel.io_uring_disabled"
PORTS = "net.ipv4.ip_local_port_range"
PORTS_WIDE = "1024 65535"
PORTS_LEAST = 20_000  # Linux has 28232 by default
WAITING_SHARE = 0.5  # of the ports: beyond, a run may find none
MEMLOCK_LEAST_BYTES = 8 << 20  # Linux' own default since 5.16
CAPABILITY_IPC_LOCK = 14  # linux/capability.h
FILES_SPARE = 64  # descriptors that a process has beside its connections
FILES_LEAST = 4096


def status_field(facts: Facts, name: str) -> str:
    """A line of /proc/self/status; Unknown where it has none."""
    for line in facts.text("proc/self/status").splitlines():
        if line.startswith(f"{name}:"):
            return line.split(":", 1)[1].strip()
    raise Unknown(f"/proc/self/status has no {name}")


def ring_look(facts: Facts, asked: Asked) -> Answer:
    """Whether io_uring_setup(2) is permitted here, by effect; why not:
    admin-guide/sysctl/kernel.rst of Linux."""
    refusal = facts.probes.ring_refusal
    setting = facts.find(f"proc/sys/{RINGS.replace('.', '/')}") or "0"
    if not refusal:
        return fine("io_uring is permitted")
    effect = "write=uring-*, read=uring-* and engine=ring are unsupported: their cells show - and the reason."
    if setting != "0":
        return Answer(Status.DISTURBS, f"io_uring is off ({RINGS}={setting})", effect,
                      sysctl_set(RINGS, "0"),
                      sysctl_set(RINGS, setting))
    why = "a filter of calls" if status_field(facts, "Seccomp") != "0" else "the kernel"
    return Answer(Status.DISTURBS, f"io_uring is refused by {why} ({refusal})", effect,
                  remark="docker run --security-opt seccomp=unconfined, or outside the container"
                  if why != "the kernel"
                  else "the kernel has none (before 5.1, or built without CONFIG_IO_URING)")


def memlock_look(facts: Facts, asked: Asked) -> Answer:
    """Memory that may be pinned: getrlimit(2), mm_account_pinned_pages() of Linux; CAP_IPC_LOCK
    knows no limit."""
    limit = facts.probes.memlock_bytes
    if limit is None or int(status_field(facts, "CapEff"), 16) >> CAPABILITY_IPC_LOCK & 1:
        return fine("memory may be locked without limit")
    if limit >= MEMLOCK_LEAST_BYTES:
        return fine(f"{size_text(limit)} may be locked")
    return Answer(
        Status.DISTURBS, f"only {size_text(limit)} may be locked",
        "write=zerocopy and uring-zc pin what they send: above the limit they wait for memory to come back after every "
        "few messages.", "prlimit --pid $$ --memlock=unlimited",
        f"prlimit --pid $$ --memlock={limit}",
        "in the shell that starts uncork; ulimit -l and limits.conf(5) for later ones")


def files_look(facts: Facts, asked: Asked) -> Answer:
    """Descriptors of one process: getrlimit(2). uncork raises the soft limit itself, up to the hard
    one."""
    limit = facts.probes.files_limit
    needed = FILES_LEAST if asked.anything else 2 * asked.largest("connections") + FILES_SPARE
    if limit is None or limit >= needed:
        return fine("open files without limit" if limit is None else f"{limit} open files")
    return Answer(
        Status.DISTURBS if not asked.anything else Status.NOTE, f"only {limit} open files",
        "Cells with more connections than that are unsupported: a connection is one or two descriptors at each end.",
        f"prlimit --pid $$ --nofile={max(needed, FILES_LEAST)}:{max(needed, FILES_LEAST)}",
        f"prlimit --pid $$ --nofile={limit}:{limit}", "in the shell that starts uncork")


def waiting_count(facts: Facts) -> int:
    """Connections in TIME_WAIT: `tw` of /proc/net/sockstat."""
    for line in facts.text("proc/net/sockstat").splitlines():
        words = line.split()
        if words[:1] == ["TCP:"] and "tw" in words:
            return int(words[words.index("tw") + 1])
    raise Unknown("/proc/net/sockstat has no tw")


def ports_look(facts: Facts, asked: Asked) -> Answer:
    """Ports for connections and those that rest in TIME_WAIT: ip(7), docs/methodology.md,
    "Connections"."""
    first, last = map(int, facts.sysctl(PORTS).split())
    ports, waiting = last - first + 1, waiting_count(facts)
    needed = max(PORTS_LEAST, asked.largest("connections"))
    seen = f"{counted_text(ports, 'port')} for connections, {waiting} in TIME_WAIT"
    if ports >= needed and waiting < WAITING_SHARE * ports:
        return fine(seen)
    reuse = facts.sysctl("net.ipv4.tcp_tw_reuse")
    return Answer(
        Status.DISTURBS, seen,
        "Each connection of workload=connect keeps its port for a minute: connect(2) looks for a free one ever longer, "
        "and where there is none the run fails. Loopback takes a port again after a second "
        f"(net.ipv4.tcp_tw_reuse is {reuse} here, 2 is needed).",
        *(("", "") if ports >= needed
          else (sysctl_set(PORTS, PORTS_WIDE), sysctl_set(PORTS, f"{first} {last}"))),
        remark="" if ports < needed else "a minute from now they are free, if nobody makes more")
