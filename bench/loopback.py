# SPDX-License-Identifier: MIT
"""The network of a run: a namespace of its own, in which every TCP connection is cubic.

Over loopback a congestion control that paces is measured instead of the socket, and not every
tool can choose its own. In the namespace the route to 127.0.0.1 names it (congctl,
ip-route(8)): that holds for both ends of every connection, whatever the machine's default is, and
needs no entry in net.ipv4.tcp_allowed_congestion_control. Where no namespace can be made, the run
goes on in the machine's own network, says so, and leaves out tools that would run with another
congestion control.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Sequence

from bench.contenders.contender import ADDRESS, CONGESTION

INSIDE = "UNCORK_BENCH_LOOPBACK"  # says, inside and where none could be made, what the network is
OWN = "a network namespace of its own"
# The second address: getaddrinfo() with AI_ADDRCONFIG (netperf) finds nothing where all that there
# is is 127.0.0.1. It is from the block for documentation, RFC 5737.
SETUP = ("ip link set lo up && ip address add 192.0.2.1/32 dev lo && "
         f"ip route replace local {ADDRESS} dev lo table local proto kernel scope host "
         f"src {ADDRESS} congctl {CONGESTION}")
WAYS = (("unshare", "--net"), ("unshare", "--user", "--map-root-user", "--net"))


def inside(way: Sequence[str], command: Sequence[str]) -> list[str]:
    """The command in a new namespace that is set up."""
    return [*way, "sh", "-c", f'{SETUP} && exec "$@"', "sh", *command]


def namespace_enter(arguments: Sequence[str]) -> str:
    """Becomes this program again in a namespace; inside, or without one, says which network."""
    told = os.environ.get(INSIDE)
    if told:
        return told
    why = ""
    for way in WAYS:
        try:
            tried = subprocess.run(inside(way, ["true"]), capture_output=True, text=True)
        except OSError as error:
            why = why or f"{way[0]}: {error.strerror}"
            continue
        if tried.returncode == 0:
            os.environ[INSIDE] = OWN
            sys.stdout.flush()
            again = [sys.executable, "-P", "-m", "bench", *arguments]
            os.execvp(way[0], inside(way, again))
        why = why or (tried.stderr.strip().splitlines() or ["no reason"])[-1]
    return f"the machine's own, for no namespace could be made ({why})"


def congestion_probe() -> str:
    """The congestion control that a connection gets which asks for none, as its ends tell it."""
    with (socket.create_server((ADDRESS, 0)) as listener,
          socket.create_connection(listener.getsockname()) as client):
        server, _ = listener.accept()
        with server:
            names = {end.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16)
                     .rstrip(b"\0").decode() for end in (client, server)}
    return " and ".join(sorted(names))
