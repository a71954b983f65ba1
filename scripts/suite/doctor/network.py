# SPDX-License-Identifier: MIT
"""What lies on the way from socket to socket on this machine."""

from __future__ import annotations

from suite.base.units import counted_text, size_text
from suite.doctor.asked import Asked
from suite.doctor.facts import Facts
from suite.doctor.finding import Answer, Status, Unknown, fine, sysctl_set
from suite.doctor.probes import known

PACING = ("bbr",)  # tcp_bbr.c and its successors ask the stack to space packets out
CONGESTION = "net.ipv4.tcp_congestion_control"
LOOPBACK_MTU_BYTES = 65536
BUFFERS = {"sndbuf": "net.core.wmem_max", "rcvbuf": "net.core.rmem_max"}
BUFFERS_LEAST_BYTES = 1 << 20
AUTOCORKING = "net.ipv4.tcp_autocorking"
NOTRACK = ("nft 'table inet uncork_doctor { chain output { type filter hook output priority raw; "
           "oif lo notrack; }; }'")


def congestion_look(facts: Facts, asked: Asked) -> Answer:
    """The machine's congestion control: a pacer is measured in place of the socket.
    docs/methodology.md."""
    name = facts.sysctl(CONGESTION)
    if not name.startswith(PACING):
        return fine(f"congestion control {name}")
    cubic = "cubic" in facts.sysctl("net.ipv4.tcp_available_congestion_control").split()
    left = not cubic or (not asked.anything and asked.has("congestion", "system", *PACING))
    pinned = "" if left else " (pinned to cubic here)"
    return Answer(
        Status.DISTURBS if left else Status.NOTE, f"{name} paces loopback{pinned}",
        "It spaces packets out: a stream of 64 KiB over loopback carried 20 Gbit/s by bbr on one CPU and 65 by cubic, "
        "11 and 75 on two. uncork pins cubic, where there is one and congestion= says nothing else; others do not.",
        sysctl_set(CONGESTION, "cubic" if cubic else "reno"), sysctl_set(CONGESTION, name))


def queue_look(facts: Facts, asked: Asked) -> Answer:
    """A queueing discipline on lo: tc(8). It has none unless somebody gave it one."""
    kind = known(facts.probes.queue)
    if kind == "noqueue":
        return fine("lo has no queue")
    return Answer(
        Status.DISTURBS, f"{kind} on lo",
        "Packets wait in a queue under a lock, and may be paced (fq), delayed or dropped (netem, tbf): that is "
        "measured in place of the socket.", "tc qdisc del dev lo root",
        remark=f"to give it back: tc qdisc add dev lo root {kind} and what tc qdisc show dev lo prints behind that")


def mtu_look(facts: Facts, asked: Asked) -> Answer:
    """The MTU of lo, which decides into how many segments a message is cut."""
    mtu = known(facts.probes.mtu_bytes)
    if mtu == LOOPBACK_MTU_BYTES:
        return fine(f"lo has an MTU of {mtu}")
    return Answer(
        Status.DISTURBS, f"lo has an MTU of {mtu}",
        "Segments end at another size than elsewhere, so counts per message do too; a stream of 64 KiB took 1.24 times "
        "as long with 1500 here (95 % interval 1.04 to 1.42).",
        f"ip link set lo mtu {LOOPBACK_MTU_BYTES}", f"ip link set lo mtu {mtu}")


def offloads_look(facts: Facts, asked: Asked) -> Answer:
    """Segmentation that is put off until a packet leaves, on lo for good: ethtool(8),
    segmentation-offloads.rst."""
    off = [name for name, on in known(facts.probes.offloads).items() if not on]
    # packets on lo are never merged: nothing has cut them
    cut = [name for name in off if name != "gro"]
    if not cut:
        return fine("lo puts segmentation off")
    whole = known(facts.probes.mtu_bytes) >= LOOPBACK_MTU_BYTES
    return Answer(
        Status.NOTE if whole else Status.DISTURBS, f"{', '.join(off)} off on lo",
        "What is larger than the MTU is cut up segment by segment before it leaves: more CPU for large messages with a "
        "small MTU, and nothing that could be told here with lo's own of 65536.",
        "ethtool -K lo " + " ".join(f"{name} on" for name in off),
        "ethtool -K lo " + " ".join(f"{name} off" for name in off))


def firewall_look(facts: Facts, asked: Asked) -> Answer:
    """Rules of nftables and iptables, and connection tracking: nft(8), iptables(8),
    nf_conntrack-sysctl.rst."""
    tables = sorted({name for path in ("ip", "ip6")
                     for name in (facts.find(f"proc/net/{path}_tables_names") or "").split()})
    tracked = int(facts.find("proc/sys/net/netfilter/nf_conntrack_count") or 0)
    problem, rules = "", 0
    try:
        rules = known(facts.probes.rules)
    except Unknown as error:
        problem = str(error)
    seen = [text for count, text in (
        (rules, f"{counted_text(rules, 'rule')} of nftables"),
        (len(tables), f"iptables' {', '.join(tables)}"),
        (tracked, f"{counted_text(tracked, 'connection')} tracked")) if count]
    if not seen:
        if problem:
            raise Unknown(problem)
        return fine("no firewall rules, nothing tracked")
    return Answer(
        Status.DISTURBS, f"firewall: {', '.join(seen)}",
        "Every packet walks through the rules and is looked up in the table of connections, on loopback as well: with "
        "one rule each way 15x2 by nodelay took 19 % more CPU here (95 % interval 13 to 25 %), and a stream of 64 KiB "
        "no more that could be told. So strategies which make fewer segments gain more than elsewhere.",
        NOTRACK if tracked or rules else "",
        "nft delete table inet uncork_doctor" if tracked or rules else "",
        "the command keeps loopback out of connection tracking and leaves every rule; lab=on measures in namespaces "
        "that have no rules at all" if tracked or rules
        else "lab=on measures in namespaces that have no rules at all")


def autocorking_look(facts: Facts, asked: Asked) -> Answer:
    """Small writes that wait for a packet of theirs that is still in a device's queue:
    ip-sysctl.rst of Linux."""
    if facts.sysctl(AUTOCORKING) != "1":
        return fine("no autocorking")
    return Answer(
        Status.NOTE, f"{AUTOCORKING}=1",
        "The kernel may join small writes by itself while a packet before them waits for a device: over a shaped link "
        "nodelay then makes fewer segments than writes. Loopback has no queue to wait in.",
        sysctl_set(AUTOCORKING, "0"), sysctl_set(AUTOCORKING, "1"),
        f"in a lab: sysctl={AUTOCORKING}:0,1 makes it an axis")


def buffers_look(facts: Facts, asked: Asked) -> Answer:
    """The most that SO_SNDBUF and SO_RCVBUF can ask for: socket(7), docs/methodology.md, "Options
    of a socket"."""
    limits = {word: int(facts.sysctl(name)) for word, name in BUFFERS.items()}
    wanted = {word: max(asked.largest(word), 0) for word in BUFFERS}
    if asked.anything:
        wanted = dict.fromkeys(BUFFERS, BUFFERS_LEAST_BYTES)
    small = [word for word in BUFFERS if limits[word] < wanted[word]]
    seen = ", ".join(f"{BUFFERS[word]} {size_text(limits[word])}" for word in (small or BUFFERS))
    if not small:
        return fine(seen)
    needed = {word: max(wanted[word], BUFFERS_LEAST_BYTES) for word in small}
    return Answer(
        Status.NOTE if asked.anything else Status.DISTURBS, f"small {seen}",
        "sndbuf= and rcvbuf= above it are clamped: a column of sizes shows one size many times, with a footnote.",
        "; ".join(sysctl_set(BUFFERS[word], str(needed[word])) for word in small),
        "; ".join(sysctl_set(BUFFERS[word], str(limits[word])) for word in small))
