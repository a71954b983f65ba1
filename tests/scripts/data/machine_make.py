# SPDX-License-Identifier: MIT
"""An invented machine for the doctor: a tree of files in which nothing disturbs, and parts to
change."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from suite.doctor.facts import OFFLOADS, SystemFacts
from suite.doctor.finding import CellWords

CPU = "sys/devices/system/cpu"
STATE = f"{CPU}/cpu0/cpuidle/state"
CLOCKSOURCE = "sys/devices/system/clocksource/clocksource0"
IDLE_STAT = "cpu  1000 0 1000 98000 0 0 0 0 0 0"
STATUS = ("Name:\tpython3\nTracerPid:\t0\nCapEff:\t0000000000000000\nSeccomp:\t0\n"
          "Seccomp_filters:\t0")

QUIET: Mapping[str, str] = {
    "proc/loadavg": "0.01 0.02 0.00 1/100 1234",
    "proc/stat": f"{IDLE_STAT}\ncpu0 500 0 500 49000 0 0 0 0 0 0",
    "proc/vmstat": "pswpin 0\npswpout 0",
    "proc/meminfo": "MemTotal: 8000000 kB\nSwapTotal: 1000000 kB\nSwapFree: 1000000 kB",
    "proc/version": "Linux version 6.18.0-test (somebody@somewhere) #1 SMP",
    "proc/cpuinfo": "processor\t: 0\nmodel name\t: Invented CPU @ 3.00GHz\nflags\t\t: fpu tsc\n",
    "proc/cmdline": "root=/dev/sda1 quiet nohz_full=2-7",
    "proc/modules": "nf_tables 32768 0 - Live 0x0",
    "proc/self/status": STATUS,
    "proc/self/cgroup": "0::/user.slice",
    "proc/net/sockstat": "sockets: used 14\nTCP: inuse 1 orphan 0 tw 3 alloc 1 mem 12",
    "proc/sys/kernel/io_uring_disabled": "0",
    "proc/sys/kernel/sched_rt_runtime_us": "950000",
    "proc/sys/kernel/sched_rt_period_us": "1000000",
    "proc/sys/net/core/rmem_max": "4194304",
    "proc/sys/net/core/wmem_max": "4194304",
    "proc/sys/net/ipv4/ip_local_port_range": "32768\t60999",
    "proc/sys/net/ipv4/tcp_autocorking": "0",
    "proc/sys/net/ipv4/tcp_available_congestion_control": "reno cubic",
    "proc/sys/net/ipv4/tcp_congestion_control": "cubic",
    "proc/sys/net/ipv4/tcp_tw_reuse": "2",
    "boot/config-6.18.0-test": "# CONFIG_KASAN is not "
                               "set\nCONFIG_VIRT_CPU_ACCOUNTING_GEN=y\nCONFIG_HZ=250",
    "sys/fs/cgroup/user.slice/cpu.max": "max 100000",
    "sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never",
    "sys/kernel/tracing/current_tracer": "nop",
    "sys/kernel/tracing/events/enable": "0",
    f"{CPU}/smt/active": "0",
    f"{CPU}/intel_pstate/no_turbo": "1",
    f"{CPU}/cpu0/cpufreq/scaling_governor": "performance",
    f"{CPU}/cpu1/cpufreq/scaling_governor": "performance",
    f"{CPU}/cpu0/thermal_throttle/core_throttle_count": "0",
    f"{CPU}/cpuidle/current_driver": "intel_idle",
    f"{STATE}0/latency": "0", f"{STATE}0/disable": "0",
    f"{STATE}1/latency": "2", f"{STATE}1/disable": "0",
    f"{STATE}2/latency": "133", f"{STATE}2/disable": "1",
    f"{CLOCKSOURCE}/current_clocksource": "tsc",
    f"{CLOCKSOURCE}/available_clocksource": "tsc hpet acpi_pm",
}


def tree_make(root: Path, changes: Mapping[str, str | None]) -> Path:
    """Writes the quiet machine below root, with some files changed or (None) left out."""
    for name, text in ({**QUIET, **changes}).items():
        if text is not None:
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text + "\n")
    return root


Answers = dict  # by the name of a fact, what the kernel answers; an exception is raised
QUIET_ANSWERS: Mapping[str, Any] = {
    "cpus": 8, "nice": 0, "preload": "", "ring_refusal": "", "rules": 0, "programs": {},
    "offloads": dict.fromkeys(OFFLOADS, True), "loopback": {"mtu": 65536, "qdisc": "noqueue"},
    "hard_limit": lambda which: None,
}


@dataclass(frozen=True)
class Invented(SystemFacts):
    """The facts of an invented machine."""

    answers: Mapping[str, Any] = field(default_factory=dict)

    def __getattribute__(self, name: str) -> Any:
        if name not in QUIET_ANSWERS:
            return super().__getattribute__(name)
        answer = {**QUIET_ANSWERS, **self.answers}[name]
        if isinstance(answer, Exception):
            raise answer
        return answer


def facts_make(root: Path, changes: Mapping[str, str | None],
               answers: Mapping[str, Any] | None = None, words: CellWords | None = None,
               before: Mapping[str, str] | None = None) -> SystemFacts:
    """The facts of the quiet machine with some files and answers changed."""
    return Invented(tree_make(root, changes), words or CellWords(), before or {},
                    answers=answers or {})
