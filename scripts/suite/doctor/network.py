# SPDX-License-Identifier: MIT
"""Checks of the path from socket to socket on this machine."""

from suite.base.units import counted_text, size_text
from suite.doctor.facts import SystemFacts, fields_read
from suite.doctor.finding import Finding, Unknown, disturbs, fine, note

PACING = ("bbr",)  # tcp_bbr.c and its successors ask the stack to pace packets
LOOPBACK_MTU_BYTES = 65536
BUFFERS = {"sndbuf": "net.core.wmem_max", "rcvbuf": "net.core.rmem_max"}
BUFFERS_LEAST_BYTES = 1 << 20


def congestion(facts: SystemFacts) -> Finding:
    """The congestion control. One that paces hides what a socket costs."""
    name = facts.sysctl("net.ipv4.tcp_congestion_control")
    if not name.startswith(PACING):
        return fine(f"congestion control {name}")
    cubic = "cubic" in facts.sysctl("net.ipv4.tcp_available_congestion_control").split()
    pinned = cubic and not facts.words.has("congestion", "system", *PACING)
    return (note if pinned else disturbs)(
        "congestion", f"{name} paces loopback{' (pinned to cubic here)' if pinned else ''}",
        wanted="cubic" if cubic else "reno", now=name)


def loopback_queue(facts: SystemFacts) -> Finding:
    """A queueing discipline on lo, which has none by default: tc(8)."""
    kind = facts.loopback["qdisc"]
    return disturbs("loopback_queue", f"{kind} on lo", when=kind != "noqueue", kind=kind)


def loopback_mtu(facts: SystemFacts) -> Finding:
    """The MTU of lo, which decides into how many segments a message is cut."""
    mtu = facts.loopback["mtu"]
    return disturbs("loopback_mtu", f"lo has an MTU of {mtu}", when=mtu != LOOPBACK_MTU_BYTES,
                    wanted=LOOPBACK_MTU_BYTES, now=mtu)


def loopback_offloads(facts: SystemFacts) -> Finding:
    """Offloads of lo, which delay segmentation: ethtool(8), segmentation-offloads.rst of Linux."""
    off = [name for name, on in facts.offloads.items() if not on]
    if not set(off) - {"gro"}:  # packets on lo are never merged: nothing has cut them
        return fine("lo has segmentation offload")
    return (note if facts.loopback["mtu"] >= LOOPBACK_MTU_BYTES else disturbs)(
        "loopback_offloads", f"{', '.join(off)} off on lo",
        all_on=" ".join(f"{name} on" for name in off),
        all_off=" ".join(f"{name} off" for name in off))


def firewall(facts: SystemFacts) -> Finding:
    """Rules of nftables and iptables; tracking: nft(8), iptables(8), nf_conntrack-sysctl.rst."""
    tables = sorted({name for path in ("ip", "ip6")
                     for name in (facts.find(f"proc/net/{path}_tables_names") or "").split()})
    tracked = int(facts.find("proc/sys/net/netfilter/nf_conntrack_count") or 0)
    rules = 0
    try:
        # a question for rules would load a module: files say whether the kernel has nf_tables
        if ("nf_tables" in fields_read(facts.find("proc/modules") or "", " ")
                or facts.kernel_config().get("NF_TABLES") == "y"):
            rules = facts.rules
    except Unknown:
        if not tables and not tracked:
            raise
    seen = [text for count, text in (
        (rules, f"{counted_text(rules, 'rule')} of nftables"),
        (len(tables), f"iptables' {', '.join(tables)}"),
        (tracked, f"{counted_text(tracked, 'connection')} tracked")) if count]
    return disturbs("firewall.tracking" if tracked or rules else "firewall",
                    f"firewall: {', '.join(seen) or 'no rules, nothing tracked'}", when=seen != [])


def socket_buffers(facts: SystemFacts) -> Finding:
    """The largest SO_SNDBUF and SO_RCVBUF: socket(7), docs/machine.md, "Options of a socket"."""
    words = facts.words
    seen, fixes, undos = [], [], []
    for word, name in BUFFERS.items():
        limit = int(facts.sysctl(name))
        wanted = BUFFERS_LEAST_BYTES if words.unplanned else words.largest(word)
        seen.append(f"{name} {size_text(limit)}")
        if limit < wanted:
            fixes.append(f"sysctl -w {name}={max(wanted, BUFFERS_LEAST_BYTES)}")
            undos.append(f"sysctl -w {name}={limit}")
    return (note if words.unplanned else disturbs)(
        "socket_buffers", ", ".join(seen), when=fixes != [], fixes="; ".join(fixes),
        undos="; ".join(undos))


def autocorking(facts: SystemFacts) -> Finding:
    """Joins small writes while an earlier packet waits in a device's queue: ip-sysctl.rst."""
    sysctl = "net.ipv4.tcp_autocorking"
    value = facts.sysctl(sysctl)
    return note("autocorking", f"{sysctl}={value}", when=value == "1")
