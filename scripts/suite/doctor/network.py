# SPDX-License-Identifier: MIT
"""Checks of the path from socket to socket on this machine."""

from suite.base.units import counted_text, size_text
from suite.doctor.facts import SystemFacts, fields_read, sysctl_path
from suite.doctor.finding import Finding, Unknown, disturbs, fine, found, note

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
    values = {"wanted": "cubic" if cubic else "reno", "now": name}
    if cubic and not facts.words.has("congestion", "system", *PACING):
        return note("congestion", f"{name} paces loopback (pinned to cubic here)", **values)
    return disturbs("congestion", f"{name} paces loopback", **values)


def loopback_queue(facts: SystemFacts) -> Finding:
    """A queueing discipline on lo, which has none by default: tc(8)."""
    kind = facts.probes.queue
    if kind == "noqueue":
        return fine("lo has no queue")
    return disturbs("loopback_queue", f"{kind} on lo", kind=kind)


def loopback_mtu(facts: SystemFacts) -> Finding:
    """The MTU of lo, which decides into how many segments a message is cut."""
    mtu = facts.probes.mtu_bytes
    seen = f"lo has an MTU of {mtu}"
    if mtu == LOOPBACK_MTU_BYTES:
        return fine(seen)
    return disturbs("loopback_mtu", seen, wanted=LOOPBACK_MTU_BYTES, now=mtu)


def loopback_offloads(facts: SystemFacts) -> Finding:
    """Offloads of lo, which delay segmentation: ethtool(8), segmentation-offloads.rst of Linux."""
    off = [name for name, on in facts.probes.offloads.items() if not on]
    if not set(off) - {"gro"}:  # packets on lo are never merged: nothing has cut them
        return fine("lo has segmentation offload")
    on_off = {f"all_{state}": " ".join(f"{name} {state}" for name in off)
              for state in ("on", "off")}
    return (note if facts.probes.mtu_bytes >= LOOPBACK_MTU_BYTES else disturbs)(
        "loopback_offloads", f"{', '.join(off)} off on lo", **on_off)


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


def firewall(facts: SystemFacts) -> Finding:
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
        return disturbs("firewall.tracking" if tracked or rules else "firewall",
                        f"firewall: {', '.join(seen)}")
    if unknown:
        raise unknown
    return fine("no firewall rules, nothing tracked")


def socket_buffers(facts: SystemFacts) -> Finding:
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
    return found(words.status, "socket_buffers", f"small {seen}", fixes=fixes, undos=undos)


def autocorking(facts: SystemFacts) -> Finding:
    """Joins small writes while an earlier packet waits in a device's queue: ip-sysctl.rst."""
    sysctl = "net.ipv4.tcp_autocorking"
    if facts.sysctl(sysctl) == "1":
        return note("autocorking", f"{sysctl}=1")
    return fine("no autocorking")
