# SPDX-License-Identifier: MIT
"""Checks of the path from socket to socket on this machine."""

from suite.base.units import counted_text, size_text
from suite.doctor.facts import SystemFacts, ValueCheck, sysctl_path
from suite.doctor.finding import CellWords, Finding, Status, Unknown, known, sysctl_set

PACING = ("bbr",)  # tcp_bbr.c and its successors ask the stack to pace packets
CONGESTION = "net.ipv4.tcp_congestion_control"
LOOPBACK_MTU_BYTES = 65536
BUFFERS = {"sndbuf": "net.core.wmem_max", "rcvbuf": "net.core.rmem_max"}
BUFFERS_LEAST_BYTES = 1 << 20
AUTOCORK = "net.ipv4.tcp_autocorking"
NOTRACK = ("nft 'table inet uncork_doctor { chain output { type filter hook output priority raw; "
           "oif lo notrack; }; }'")


def congestion_finding(facts: SystemFacts, words: CellWords) -> Finding:
    """The congestion control. One that paces hides what a socket costs: docs/machine.md."""
    name = facts.sysctl(CONGESTION)
    if not name.startswith(PACING):
        return Finding.fine(f"congestion control {name}")
    cubic = "cubic" in facts.sysctl("net.ipv4.tcp_available_congestion_control").split()
    pinned = cubic and not words.has("congestion", "system", *PACING)
    return Finding(
        Status.NOTE if pinned else Status.DISTURBS,
        f"{name} paces loopback" + (" (pinned to cubic here)" if pinned else ""),
        "It delays packets. A stream of 64 KiB over loopback carried 20 Gbit/s with bbr on one CPU "
        "and 65 with cubic, 11 and 75 on two. uncork pins cubic, where the kernel has it and "
        "congestion= names no other; other programs do not.",
        sysctl_set(CONGESTION, "cubic" if cubic else "reno"), sysctl_set(CONGESTION, name))


def offloads_finding(facts: SystemFacts, words: CellWords) -> Finding:
    """Offloads of lo, which delay segmentation: ethtool(8), segmentation-offloads.rst of Linux."""
    off = [name for name, on in known(facts.probes.offloads).items() if not on]
    if not set(off) - {"gro"}:  # packets on lo are never merged: nothing has cut them
        return Finding.fine("lo has segmentation offload")
    return Finding(
        Status.NOTE if known(facts.probes.mtu_bytes) >= LOOPBACK_MTU_BYTES else Status.DISTURBS,
        f"{', '.join(off)} off on lo",
        "The kernel cuts what is larger than the MTU into segments early. With a small MTU large "
        "messages cost more CPU; with lo's own MTU of 65536 no difference was found here.",
        "ethtool -K lo " + " ".join(f"{name} on" for name in off),
        "ethtool -K lo " + " ".join(f"{name} off" for name in off))


def firewall_finding(facts: SystemFacts, words: CellWords) -> Finding:
    """Rules of nftables and iptables; tracking: nft(8), iptables(8), nf_conntrack-sysctl.rst."""
    tables = sorted({name for path in ("ip", "ip6")
                     for name in (facts.find(f"proc/net/{path}_tables_names") or "").split()})
    tracked = int(facts.find(sysctl_path("net.netfilter.nf_conntrack_count")) or 0)
    found = facts.probes.rules
    rules = 0 if isinstance(found, Unknown) else found
    seen = [text for count, text in (
        (rules, f"{counted_text(rules, 'rule')} of nftables"),
        (len(tables), f"iptables' {', '.join(tables)}"),
        (tracked, f"{counted_text(tracked, 'connection')} tracked")) if count]
    if not seen:
        known(found)
        return Finding.fine("no firewall rules, nothing tracked")
    fix, undo, remark = "", "", "lab=on measures in namespaces that have no rules at all"
    if tracked or rules:
        fix, undo = NOTRACK, "nft delete table inet uncork_doctor"
        remark = ("the command keeps loopback out of connection tracking and changes no rule; "
                  + remark)
    return Finding(
        Status.DISTURBS, f"firewall: {', '.join(seen)}",
        "The kernel applies the rules to every packet and looks up its connection, on loopback as "
        "well. With one rule each way 15x2 with nodelay took 19 % more CPU here (95 % interval 13 "
        "to 25 %); for a stream of 64 KiB no difference was found. So strategies with fewer "
        "segments gain more than on other machines.", fix, undo, remark)


def buffers_finding(facts: SystemFacts, words: CellWords) -> Finding:
    """The largest SO_SNDBUF and SO_RCVBUF: socket(7), docs/machine.md, "Options of a socket"."""
    limits = {word: int(facts.sysctl(name)) for word, name in BUFFERS.items()}
    wanted = {word: BUFFERS_LEAST_BYTES if words.unplanned else words.largest(word)
              for word in BUFFERS}
    small = [word for word in BUFFERS if limits[word] < wanted[word]]
    seen = ", ".join(f"{BUFFERS[word]} {size_text(limits[word])}" for word in (small or BUFFERS))
    if not small:
        return Finding.fine(seen)
    return Finding(
        Status.NOTE if words.unplanned else Status.DISTURBS, f"small {seen}",
        "The kernel clamps sndbuf= and rcvbuf= above it: several cells then have the same size, "
        "with a footnote.",
        "; ".join(sysctl_set(BUFFERS[word], str(max(wanted[word], BUFFERS_LEAST_BYTES)))
                  for word in small),
        "; ".join(sysctl_set(BUFFERS[word], str(limits[word])) for word in small))


# a queueing discipline on lo, which has none by default: tc(8)
QUEUE = ValueCheck(
    lambda facts: known(facts.probes.queue), lambda kind: kind == "noqueue", "lo has no queue",
    Finding(
        Status.DISTURBS, "{} on lo",
        "Packets wait in a queue under a lock, and may be paced (fq), delayed or dropped (netem, "
        "tbf): the queue is measured in place of the socket.",
        "tc qdisc del dev lo root",
        remark="to restore it: tc qdisc add dev lo root {} and the options that tc qdisc show dev "
               "lo prints"))

# the MTU of lo, which decides into how many segments a message is cut
MTU = ValueCheck(
    lambda facts: known(facts.probes.mtu_bytes), lambda mtu: mtu == LOOPBACK_MTU_BYTES,
    "lo has an MTU of {}", Finding(
        Status.DISTURBS, "lo has an MTU of {}",
        "Segments have other sizes than on other machines, so counts per message differ. A stream "
        "of 64 KiB took 1.24 times as long with 1500 here (95 % interval 1.04 to 1.42).",
        f"ip link set lo mtu {LOOPBACK_MTU_BYTES}", "ip link set lo mtu {}"))

# joins small writes while an earlier packet waits in a device's queue: ip-sysctl.rst of Linux
AUTOCORKING = ValueCheck(
    lambda facts: facts.sysctl(AUTOCORK), lambda value: value != "1", "no autocorking", Finding(
        Status.NOTE, f"{AUTOCORK}={{}}",
        "The kernel may join small writes while an earlier packet waits for a device: over a "
        "shaped link nodelay then makes fewer segments than writes. Loopback has no such queue.",
        sysctl_set(AUTOCORK, "0"), sysctl_set(AUTOCORK, "1"),
        f"in a lab: sysctl={AUTOCORK}:0,1 makes it an axis"))
