# SPDX-License-Identifier: MIT
"""Checks of the path from socket to socket on this machine."""

from suite.base.units import counted_text, size_text
from suite.doctor.facts import SystemFacts, fields_read, sysctl_path
from suite.doctor.finding import Seen, Unknown, disturbs, fine, note

PACING = ("bbr",)  # tcp_bbr.c and its successors ask the stack to pace packets
LOOPBACK_MTU_BYTES = 65536
BUFFERS = {"sndbuf": "net.core.wmem_max", "rcvbuf": "net.core.rmem_max"}
BUFFERS_LEAST_BYTES = 1 << 20


def congestion(facts: SystemFacts) -> Seen:
    """The congestion control. One that paces hides what a socket costs."""
    name = facts.sysctl("net.ipv4.tcp_congestion_control")
    if not name.startswith(PACING):
        return fine(f"congestion control {name}")
    cubic = "cubic" in facts.sysctl("net.ipv4.tcp_available_congestion_control").split()
    values = {"wanted": "cubic" if cubic else "reno", "now": name}
    if cubic and not facts.words.has("congestion", "system", *PACING):
        return note(f"{name} paces loopback (pinned to cubic here)", **values)
    return disturbs(f"{name} paces loopback", **values)


def loopback_queue(facts: SystemFacts) -> Seen:
    """A queueing discipline on lo, which has none by default: tc(8)."""
    kind = facts.probes.queue
    return fine("lo has no queue") if kind == "noqueue" else disturbs(f"{kind} on lo", kind=kind)


def loopback_mtu(facts: SystemFacts) -> Seen:
    """The MTU of lo, which decides into how many segments a message is cut."""
    mtu = facts.probes.mtu_bytes
    seen = f"lo has an MTU of {mtu}"
    return fine(seen) if mtu == LOOPBACK_MTU_BYTES else disturbs(
        seen, wanted=LOOPBACK_MTU_BYTES, now=mtu)


def loopback_offloads(facts: SystemFacts) -> Seen:
    """Offloads of lo, which delay segmentation: ethtool(8), segmentation-offloads.rst of Linux."""
    off = [name for name, on in facts.probes.offloads.items() if not on]
    if not set(off) - {"gro"}:  # packets on lo are never merged: nothing has cut them
        return fine("lo has segmentation offload")
    found = note if facts.probes.mtu_bytes >= LOOPBACK_MTU_BYTES else disturbs
    return found(f"{', '.join(off)} off on lo", all_on=" ".join(f"{name} on" for name in off),
                 all_off=" ".join(f"{name} off" for name in off))


def rules_number(facts: SystemFacts) -> int:
    """The number of nftables rules. Files say whether the kernel has nf_tables, because a question
    for its rules would load the module."""
    if "nf_tables" not in fields_read(facts.text_or_empty("proc/modules"), " "):
        try:
            built_in = facts.kernel_config().get("NF_TABLES") == "y"
        except Unknown:
            raise Unknown("nf_tables may be built in: "
                          "the kernel's options cannot be read") from None
        if not built_in:
            return 0
    return facts.probes.rules


def firewall(facts: SystemFacts) -> Seen:
    """Rules of nftables and iptables; tracking: nft(8), iptables(8), nf_conntrack-sysctl.rst."""
    tables = sorted({name for path in ("ip", "ip6")
                     for name in (facts.find(f"proc/net/{path}_tables_names") or "").split()})
    tracked = int(facts.find(sysctl_path("net.netfilter.nf_conntrack_count")) or 0)
    rules, unknown = 0, None
    try:
        rules = rules_number(facts)
    except Unknown as error:
        unknown = error
    seen = [text for count, text in (
        (rules, f"{counted_text(rules, 'rule')} of nftables"),
        (len(tables), f"iptables' {', '.join(tables)}"),
        (tracked, f"{counted_text(tracked, 'connection')} tracked")) if count]
    if seen:
        return disturbs(f"firewall: {', '.join(seen)}", "tracking" if tracked or rules else "")
    if unknown:
        raise unknown
    return fine("no firewall rules, nothing tracked")


def socket_buffers(facts: SystemFacts) -> Seen:
    """The largest SO_SNDBUF and SO_RCVBUF: socket(7), docs/machine.md, "Options of a socket"."""
    words = facts.words
    limits = {word: int(facts.sysctl(name)) for word, name in BUFFERS.items()}
    wanted = {word: BUFFERS_LEAST_BYTES if words.unplanned else words.largest(word)
              for word in BUFFERS}
    small = [word for word in BUFFERS if limits[word] < wanted[word]]
    seen = ", ".join(f"{BUFFERS[word]} {size_text(limits[word])}" for word in (small or BUFFERS))
    if not small:
        return fine(seen)
    enough = {word: max(wanted[word], BUFFERS_LEAST_BYTES) for word in small}
    fixes, undos = ("; ".join(f"sysctl -w {BUFFERS[word]}={values[word]}" for word in small)
                    for values in (enough, limits))
    return words.disturbs_if_planned(f"small {seen}", fixes=fixes, undos=undos)


def autocorking(facts: SystemFacts) -> Seen:
    """Joins small writes while an earlier packet waits in a device's queue: ip-sysctl.rst."""
    sysctl = "net.ipv4.tcp_autocorking"
    return note(f"{sysctl}=1") if facts.sysctl(sysctl) == "1" else fine("no autocorking")
