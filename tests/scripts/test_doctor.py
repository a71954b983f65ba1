# SPDX-License-Identifier: MIT
"""The doctor: what he finds on invented machines and on this one, and that he changes nothing."""

from __future__ import annotations

import ctypes
import json
import os
import re
import resource
import shutil
import struct
import subprocess
import xml.etree.ElementTree as ET
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from machine_make import CLOCKSOURCE, CPU, STATE, STATUS, Answers, Invented, facts_make

from answers import NODELAY, ROOT, golden_check, matrix_of
from conftest import Uncork
from hosts import namespaces_refusal
from suite.doctor.checks import CHECKS, findings_collect, findings_make
from suite.doctor.facts import rules_count
from suite.doctor.finding import (
    TEXTS,
    CellWords,
    Finding,
    Status,
    Unknown,
    findings_documents,
    findings_text,
)
from suite.present.heading import machine_pairs
from suite.present.report.page import facts_table
from suite.present.show import cell_choose, show_text
from suite.result.files import machines_merge
from suite.result.machine import Machine, disturbed_text, findings_last

DISTURBS, NOTE, UNKNOWN, FINE = Status.DISTURBS, Status.NOTE, Status.UNKNOWN, Status.FINE
CONFIG = "boot/config-6.18.0-test"
STAT, STAT_BUSY, STAT_OVER = (f"cpu  {user} 0 1000 {idle} 0 0 0 0" for user, idle in
                             ((1000, 98000), (1080, 98020), (1001, 98099)))
CUT_EARLY = {"tso": False, "gso": True, "gro": True}
MANY = "3.10 1 1 2/9 9"  # a load average
BBR = {"proc/sys/net/ipv4/tcp_congestion_control": "bbr"}


def words_of(**words: str) -> CellWords:
    """One cell with these words, over TCP to a server of its own unless they say otherwise."""
    return CellWords(({"transport": "tcp", "lab": "off", "server": "own"} | words,))


@dataclass(frozen=True)
class Case:
    """A machine that is not quiet: what the check of that name must say."""

    name: str
    status: Status
    seen: str
    files: Mapping[str, str | None] = field(default_factory=dict)
    probes: Answers = field(default_factory=Answers)
    cells: CellWords = field(default_factory=CellWords)
    fix: str = ""
    undo: str = ""
    before: Mapping[str, str] = field(default_factory=dict)


def lo(mtu: int = 65536, qdisc: str = "noqueue") -> dict[str, int | str]:
    return {"mtu": mtu, "qdisc": qdisc}


def sysctl(name: str, value: str | None) -> dict[str, str | None]:
    return {f"proc/sys/{name.replace('.', '/')}": value}


CASES = (
    Case("emulation", DISTURBS, "QEMU without KVM",
         {"proc/cpuinfo": "model name : QEMU TCG CPU version 2.5+"}),
    Case("emulation", DISTURBS, "gVisor", {"proc/version": "Linux version 4.4.0 gVisor"}),
    Case("emulation", DISTURBS, "it seems without KVM",
         {"proc/cpuinfo": "model name : QEMU Virtual CPU version 2.5+"}),
    Case("emulation", UNKNOWN, "cpuinfo is not there", {"proc/cpuinfo": None}),
    Case("kernel_debug", DISTURBS, "KASAN, PROVE_LOCKING",
         {CONFIG: "CONFIG_KASAN=y\nCONFIG_PROVE_LOCKING=y\nCONFIG_DEBUG_LIST=y"}),
    Case("kernel_debug", NOTE, "kernel with DEBUG_LIST", {CONFIG: "CONFIG_DEBUG_LIST=y"}),
    Case("kernel_debug", FINE, "no debugging",
         {CONFIG: "CONFIG_DEBUG_KMEMLEAK=y\nCONFIG_DEBUG_KMEMLEAK_DEFAULT_OFF=y"}),
    Case("kernel_debug", DISTURBS, "slub_debug=FZ", {"proc/cmdline": "quiet slub_debug=FZ"}),
    Case("kernel_debug", UNKNOWN, "/proc/config.gz", {CONFIG: None}),
    Case("tracers", DISTURBS, "ftrace's function",
         {"sys/kernel/tracing/current_tracer": "function"},
         fix="echo nop > /sys/kernel/tracing/current_tracer",
         undo="echo function > /sys/kernel/tracing/current_tracer"),
    Case("tracers", DISTURBS, "events of ftrace", {"sys/kernel/tracing/events/enable": "X"},
         fix="echo 0 > /sys/kernel/tracing/events/enable"),
    Case("tracers", DISTURBS, "2 kprobes",
         {"sys/kernel/tracing/kprobe_events": "p:a tcp_sendmsg\np:b tcp_recvmsg"}),
    Case("tracers", DISTURBS, "traced by 77",
         {"proc/self/status": STATUS.replace("TracerPid:\t0", "TracerPid:\t77")}),
    Case("tracers", DISTURBS, "tracers: perf",
         {"sys/kernel/tracing/current_tracer": None, "proc/77/comm": "perf"}),
    Case("tracers", UNKNOWN, "tracefs is not mounted", {"sys/kernel/tracing/current_tracer": None}),
    Case("load", DISTURBS, "load 3.1 on 2 CPUs, 80% busy",
         {"proc/loadavg": MANY, "proc/stat": STAT_BUSY},
         Answers(cpus=2), before={"proc/stat": STAT}),
    Case("load", DISTURBS, "load 3.1 on 2 CPUs", {"proc/loadavg": MANY}, Answers(cpus=2)),
    Case("load", UNKNOWN, "not understood: ", {"proc/loadavg": "what?"}),
    Case("load", NOTE, "load 3.1 on 64 CPUs", {"proc/loadavg": MANY}, Answers(cpus=64)),
    Case("load", NOTE, "load 3.1 on 2 CPUs, 1.0% busy",
         {"proc/loadavg": MANY, "proc/stat": STAT_OVER},
         Answers(cpus=2), before={"proc/stat": STAT}),
    Case("steal", DISTURBS, "steal 20% now", {"proc/stat": "cpu  1000 0 1000 98080 0 0 0 20"},
         before={"proc/stat": "cpu  1000 0 1000 98000 0 0 0 0"}),
    Case("steal", DISTURBS, "steal 3.8% since boot",
         {"proc/stat": "cpu  1000 0 1000 98000 0 0 0 4000"}),
    Case("steal", UNKNOWN, "counts no time", {"proc/stat": "cpu  0 0 0 0 0 0 0 0"}),
    Case("cpu_quota", DISTURBS, "quota of 1.50 CPUs",
         {"sys/fs/cgroup/user.slice/cpu.max": "150000 100000"},
         fix="echo max > /sys/fs/cgroup/user.slice/cpu.max",
         undo='echo "150000 100000" > /sys/fs/cgroup/user.slice/cpu.max'),
    Case("cpu_quota", DISTURBS, "quota of 0.500 CPUs",  # of a group above, by version 1
         {"proc/self/cgroup": "4:cpu,cpuacct:/docker/1\n0::/",
          "sys/fs/cgroup/user.slice/cpu.max": None,
          "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us": "50000",
          "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us": "100000"},
         fix="echo -1 > /sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us",
         undo='echo "50000" > /sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us'),
    Case("cpu_quota", FINE, "no CPU quota",
         {"sys/fs/cgroup/user.slice/cpu.max": None,
          "sys/fs/cgroup/cgroup.controllers": "memory pids"}),
    Case("cpu_quota", UNKNOWN, "no cgroups are visible",
         {"sys/fs/cgroup/user.slice/cpu.max": None}),
    Case("priority", DISTURBS, "nice 5", probes=Answers(nice=5), fix="renice -n 0 -p $$",
         undo="renice -n 5 -p $$"),
    Case("preload", DISTURBS, "LD_PRELOAD=libx.so", probes=Answers(preload="libx.so")),
    Case("congestion", NOTE, "bbr paces loopback (pinned to cubic here)", BBR,
         fix="sysctl -w net.ipv4.tcp_congestion_control=cubic",
         undo="sysctl -w net.ipv4.tcp_congestion_control=bbr"),
    Case("congestion", DISTURBS, "bbr paces loopback", BBR, cells=words_of(congestion="system")),
    Case("congestion", DISTURBS, "bbr paces loopback",
         BBR | sysctl("net.ipv4.tcp_available_congestion_control", "reno bbr"),
         fix="sysctl -w net.ipv4.tcp_congestion_control=reno",
         undo="sysctl -w net.ipv4.tcp_congestion_control=bbr"),
    Case("loopback_queue", DISTURBS, "fq on lo", probes=Answers(loopback=lo(qdisc="fq")),
         fix="tc qdisc del dev lo root"),
    Case("loopback_queue", UNKNOWN, "ip: no such file",
         probes=Answers(loopback=Unknown("ip: no such file"))),
    Case("loopback_mtu", DISTURBS, "MTU of 1500", probes=Answers(loopback=lo(1500)),
         fix="ip link set lo mtu 65536",
         undo="ip link set lo mtu 1500"),
    Case("loopback_offloads", NOTE, "tso off on lo", probes=Answers(offloads=CUT_EARLY)),
    Case("loopback_offloads", DISTURBS, "tso off on lo",
         probes=Answers(loopback=lo(1500), offloads=CUT_EARLY),
         fix="ethtool -K lo tso on", undo="ethtool -K lo tso off"),
    Case("firewall", FINE, "no rules", {CONFIG: "CONFIG_NF_TABLES=m", "proc/modules": ""},
         Answers(rules=7)),  # asking a module for rules would load it
    Case("firewall", DISTURBS, "7 rules", {CONFIG: "CONFIG_NF_TABLES=y", "proc/modules": ""},
         Answers(rules=7)),
    Case("firewall", UNKNOWN, "options cannot be read", {CONFIG: None, "proc/modules": ""}),
    Case("firewall", DISTURBS, "2 rules of nftables, iptables' filter, 1 connection tracked",
         {"proc/net/ip_tables_names": "filter"} | sysctl("net.netfilter.nf_conntrack_count", "1"),
         Answers(rules=2)),
    Case("firewall", UNKNOWN, "Operation not permitted",
         probes=Answers(rules=Unknown("Operation not permitted"))),
    Case("bpf_programs", DISTURBS, "2 kprobe, 1 cgroup_skb", probes=Answers(programs={8: 1, 2: 2})),
    Case("bpf_programs", NOTE, "1 cgroup_skb", probes=Answers(programs={8: 1})),
    Case("clocksource", DISTURBS, "clocksource hpet",
         {f"{CLOCKSOURCE}/current_clocksource": "hpet"},
         fix=f"echo tsc > /{CLOCKSOURCE}/current_clocksource",
         undo=f"echo hpet > /{CLOCKSOURCE}/current_clocksource"),
    Case("governor", DISTURBS,
         "governor powersave on 1 CPU, performance on 1 CPU, preference balance_power",
         {f"{CPU}/cpu0/cpufreq/scaling_governor": "powersave",
          f"{CPU}/cpu0/cpufreq/energy_performance_preference": "balance_power"},
         fix=f"echo performance | tee /{CPU}/cpu*/cpufreq/scaling_governor",
         undo=f"echo powersave | tee /{CPU}/cpu*/cpufreq/scaling_governor"),
    Case("governor", UNKNOWN, "no cpufreq here",
         {f"{CPU}/cpu{cpu}/cpufreq/scaling_governor": None for cpu in (0, 1)}),
    Case("idle_states", DISTURBS, "idle states of up to 133 us (intel_idle)",
         {f"{STATE}2/disable": "0"},
         fix=f"echo 1 | tee /{CPU}/cpu*/cpuidle/state[2]/disable",
         undo=f"echo 0 | tee /{CPU}/cpu*/cpuidle/state[2]/disable"),
    Case("turbo", DISTURBS, "turbo on", {f"{CPU}/intel_pstate/no_turbo": "0"},
         fix=f"echo 1 > /{CPU}/intel_pstate/no_turbo",
         undo=f"echo 0 > /{CPU}/intel_pstate/no_turbo"),
    Case("turbo", DISTURBS, "turbo on",
         {f"{CPU}/intel_pstate/no_turbo": None, f"{CPU}/cpufreq/boost": "1"},
         fix=f"echo 0 > /{CPU}/cpufreq/boost", undo=f"echo 1 > /{CPU}/cpufreq/boost"),
    Case("power", DISTURBS, "runs on battery", {"sys/class/power_supply/AC/online": "0"}),
    Case("power", DISTURBS, "platform profile low-power",
         {"sys/firmware/acpi/platform_profile": "low-power"},
         fix="echo performance > /sys/firmware/acpi/platform_profile",
         undo="echo low-power > /sys/firmware/acpi/platform_profile"),
    Case("thermal", NOTE, "throttled for heat 12 times",
         {f"{CPU}/cpu0/thermal_throttle/core_throttle_count": "12"}),
    Case("swap", DISTURBS, "9.77 MiB swapped out, 3 pages moved just now",
         {"proc/meminfo": "SwapTotal: 20000 kB\nSwapFree: 10000 kB",
          "proc/vmstat": "pswpin 8\npswpout 0"},
         before={"proc/vmstat": "pswpin 5\npswpout 0"}),
    Case("swap", NOTE, "9.77 MiB swapped out",
         {"proc/meminfo": "SwapTotal: 20000 kB\nSwapFree: 10000 kB"}),
    Case("cpus", DISTURBS, "1 CPU for", probes=Answers(cpus=1)),
    Case("io_uring", DISTURBS, "io_uring is off (kernel.io_uring_disabled=2)",
         sysctl("kernel.io_uring_disabled", "2"),
         Answers(ring_refusal="EPERM"), fix="sysctl -w kernel.io_uring_disabled=0",
         undo="sysctl -w kernel.io_uring_disabled=2"),
    Case("io_uring", DISTURBS, "refused by a seccomp filter (EPERM)",
         {"proc/self/status": STATUS.replace("Seccomp:\t0", "Seccomp:\t2")},
         Answers(ring_refusal="EPERM")),
    Case("io_uring", DISTURBS, "refused by the kernel (ENOSYS)",
         sysctl("kernel.io_uring_disabled", None),
         Answers(ring_refusal="ENOSYS")),
    Case("memlock", DISTURBS, "64K may be locked", probes=Answers(hard_limit=lambda which: 65536),
         fix="prlimit --pid $$ --memlock=unlimited", undo="prlimit --pid $$ --memlock=65536"),
    Case("memlock", FINE, "without limit",
         {"proc/self/status": STATUS.replace("CapEff:\t0", "CapEff:\tf")
                                            .replace("f000000000000000", "0000000000004000")},
         Answers(hard_limit=lambda which: 65536)),
    Case("ports", DISTURBS, "1001 ports", sysctl("net.ipv4.ip_local_port_range", "2000\t3000"),
         fix='sysctl -w net.ipv4.ip_local_port_range="1024 65535"',
         undo='sysctl -w net.ipv4.ip_local_port_range="2000 3000"'),
    Case("ports", DISTURBS, "20000 in TIME_WAIT",
         {"proc/net/sockstat": "TCP: inuse 1 orphan 0 tw 20000 alloc 1"}),
    Case("open_files", DISTURBS, "1024 open files", probes=Answers(hard_limit=lambda which: 1024),
         cells=words_of(connections="10000"), fix="prlimit --pid $$ --nofile=20064:20064",
         undo="prlimit --pid $$ --nofile=1024:1024"),
    Case("socket_buffers", NOTE, "net.core.wmem_max 208K",
         sysctl("net.core.wmem_max", "212992"),
         fix="sysctl -w net.core.wmem_max=1048576", undo="sysctl -w net.core.wmem_max=212992"),
    Case("socket_buffers", DISTURBS, "net.core.rmem_max 4M",
         cells=words_of(**{"server.rcvbuf": "8M"}),
         fix="sysctl -w net.core.rmem_max=8388608", undo="sysctl -w net.core.rmem_max=4194304"),
    Case("realtime_throttle", NOTE, "may use 950 ms of each 1000 ms"),
    Case("realtime_throttle", DISTURBS, "may use 950 ms of each 1000 ms",
         cells=words_of(sched="rr:2"),
         fix="sysctl -w kernel.sched_rt_runtime_us=-1",
         undo="sysctl -w kernel.sched_rt_runtime_us=950000"),
    Case("seccomp", NOTE, "3 seccomp filters",
         {"proc/self/status": STATUS.replace("Seccomp:\t0", "Seccomp:\t2")
                                                .replace("filters:\t0", "filters:\t3")}),
    Case("smt", NOTE, "SMT on", {f"{CPU}/smt/active": "1"}, fix=f"echo off > /{CPU}/smt/control",
         undo=f"echo on > /{CPU}/smt/control"),
    Case("smt", UNKNOWN, "the host controls this", {"proc/cpuinfo": "flags : fpu hypervisor tsc"}),
    Case("irqbalance", NOTE, "irqbalance runs", {"proc/9/comm": "irqbalance"},
         fix="systemctl stop irqbalance", undo="systemctl start irqbalance"),
    Case("irqbalance", DISTURBS, "irqbalance runs", {"proc/9/comm": "irqbalance"},
         cells=words_of(server="there:7007")),
    Case("cpu_accounting", NOTE, "split by ticks of 4 ms", {"proc/cmdline": "quiet"}),
    Case("autocorking", NOTE, "net.ipv4.tcp_autocorking=1", sysctl("net.ipv4.tcp_autocorking", "1"),
         fix="sysctl -w net.ipv4.tcp_autocorking=0", undo="sysctl -w net.ipv4.tcp_autocorking=1"),
    Case("huge_pages", NOTE, "always",
         {"sys/kernel/mm/transparent_hugepage/enabled": "[always] madvise never"}),
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.name}: {case.seen}")
def test_what_disturbs_is_found_with_the_command_that_ends_it(case: Case, tmp_path: Path) -> None:
    facts = facts_make(tmp_path, case.files, case.probes, case.cells, case.before)
    found = findings_make(facts)[case.name]
    assert found.status is case.status and case.seen in found.seen, found
    if case.fix:
        assert (found.fix, found.undo) == (case.fix, case.undo)
    if found.status in (DISTURBS, NOTE):
        assert found.effect.endswith(".") and (found.fix or found.remark), found


def test_every_check_has_been_seen_to_find_something() -> None:
    assert {case.name for case in CASES if case.status in (DISTURBS, NOTE)} == {check.__name__
        for check in CHECKS}


def test_the_names_of_all_checks_are_documented_in_their_order() -> None:
    section = (ROOT / "docs" /
               "record.md").read_text().partition("## What the doctor finds")[2].partition("\n## ")[
                   0]
    names = re.findall(r"`(\w+)`", section.partition("order of names here:")[2])
    assert names == [check.__name__ for check in CHECKS] == list(TEXTS)


def test_on_a_quiet_machine_all_is_fine_but_that_real_time_threads_rest(tmp_path: Path) -> None:
    findings = findings_make(facts_make(tmp_path, {}))
    assert [name for name, found in findings.items()
            if found.status is not FINE] == ["realtime_throttle"]
    assert not disturbed_text([{"findings": findings_documents(findings)}])


def test_what_cannot_be_read_is_unknown_and_never_fine(tmp_path: Path) -> None:
    """Where nothing is to be seen only such checks are fine as rest on the process itself, and
    those for which the absence of a file is the answer."""
    findings = findings_make(Invented(tmp_path))
    of_process = {"priority", "preload", "loopback_queue", "loopback_mtu", "loopback_offloads",
                  "bpf_programs", "cpus", "io_uring", "memlock", "open_files", "irqbalance"}
    absent = {"power", "huge_pages"}
    assert {name for name, found in findings.items() if found.status is FINE} == of_process | absent
    assert {found.status for found in findings.values()} == {FINE, UNKNOWN}


def test_a_file_that_may_not_be_read_is_unknown_with_the_reason(tmp_path: Path) -> None:
    name = "sys/kernel/tracing/current_tracer"
    facts = facts_make(tmp_path, {name: None})
    (tmp_path / name).mkdir()  # root may read every file, and no folder is one
    assert findings_make(facts)["tracers"] == Finding(
        UNKNOWN, "/sys/kernel/tracing/current_tracer: Is a directory")


@pytest.mark.parametrize(("words", "named", "silent"), [
    ({"write": "nodelay", "workload": "request", "sched": "other", "sndbuf": "default"},
     {"congestion"},
     {"io_uring", "ports", "memlock", "realtime_throttle", "socket_buffers", "cpus",
      "autocorking"}),
    ({"write": "uring-zc"}, {"io_uring", "memlock"}, {"ports"}),
    ({"server.read": "uring-bundle"}, {"io_uring"}, {"memlock"}),
    ({"workload": "connect"}, {"ports"}, {"io_uring"}),
    ({"transport": "unix"}, {"load"}, {"congestion", "firewall", "loopback_mtu", "autocorking"}),
    ({"lab": "on"}, {"autocorking"}, {"congestion", "firewall", "loopback_queue"}),
    ({"server": "there:7007"}, {"autocorking"}, {"congestion", "loopback_offloads"}),
    ({"client.sndbuf": "1M", "sched": "fifo:1", "place": "apart"},
     {"socket_buffers", "realtime_throttle", "cpus"}, set()),
])
def test_words_narrow_it_to_what_concerns_them(
    words: dict[str, str], named: set[str], silent: set[str], tmp_path: Path,
) -> None:
    found = set(findings_make(facts_make(tmp_path, {}, words=words_of(**words))))
    assert named <= found and not silent & found


def test_rules_are_counted_in_what_the_kernel_answers() -> None:
    def message(kind: int, body: bytes = b"") -> bytes:
        return struct.pack("IHHII", 16 + len(body), kind, 2, 1, 0) + body

    rule = message(0x0A06, b"\0" * 20)
    assert rules_count([rule * 3, rule + message(3, b"\0" * 4), rule]) == 4
    with pytest.raises(PermissionError):
        rules_count([message(2, struct.pack("i", -1))])


def finding(status: Status, seen: str) -> Finding:
    """A finding with everything that can be shown."""
    return Finding(status, seen, "It costs. " * 15, "echo 1 > /sys/" + "long/" * 30, "echo 0",
                   "but")


def test_commands_are_shown_whole_and_everything_else_fits() -> None:
    found = {"load": finding(DISTURBS, "load 3"), "smt": finding(NOTE, "SMT on"),
             "turbo": finding(UNKNOWN, "hidden"), "swap": finding(FINE, "none")}
    text = findings_text(found, False, 60)
    assert " ".join(text.split()).startswith(
        "doctor: disturbs 1, note 1, unknown 1, fine 1; ")
    assert f"  fix     {found['load'].fix}\n" in text and text.endswith("\nFine\nswap\n")
    assert max(len(line) for line in text.splitlines() if not line.startswith("  fix")) <= 60
    assert "\nFine\nswap: none\n" in findings_text(found, True, 60)


def test_the_text_of_an_invented_machine_is_the_golden_one(tmp_path: Path) -> None:
    facts = facts_make(tmp_path, {"proc/loadavg": MANY, **BBR},
                       Answers(cpus=2, loopback=lo(1500), nice=5))
    golden_check("doctor.txt", findings_text(findings_make(facts), False, 100))


def test_several_starts_say_how_many_of_them_were_disturbed() -> None:
    def look(*seen: str) -> dict[str, Any]:
        return {"findings": [{"name": "load", "status": "disturbs", "seen": text} for text in seen]}

    assert disturbed_text([look("load 2 on 2 CPUs")]) == "load 2 on 2 CPUs"
    assert disturbed_text([look("load 2"), look(), look("load 3")]) == "load 3 (at 2 of 3 starts)"
    assert disturbed_text([look()]) == "" == disturbed_text([])
    assert findings_last([look("load 2"), look(), look("load 3")]) == {"load": "disturbs: load 3"}
    page = ET.tostring(facts_table([Machine(("host",),
                                              {"cpu": "X", "doctor": [look("load 2")]})]),
                                              "unicode")
    assert "doctor.load" in page and ">disturbs: load 2<" in page and "{" not in page


def test_what_disturbed_stands_above_tables_and_cells(tmp_path: Path) -> None:
    folder = Path(shutil.copytree(NODELAY, tmp_path / "result"))
    hosts = json.loads((folder / "hosts.json").read_text())
    look = {"unix_ns": 1, "findings": [{"name": "load", "status": "disturbs",
                                        "seen": "load 3.1 on 2 CPUs"},
                                       {"name": "smt", "status": "note", "seen": "SMT on"}]}
    next(iter(hosts.values()))["doctor"] = [look]
    (folder / "hosts.json").write_text(json.dumps(hosts))
    matrix = matrix_of(folder)
    assert ("disturbed", "load 3.1 on 2 CPUs") in machine_pairs(matrix)
    text = show_text(matrix, cell_choose(matrix, ["place=together", "write=cork"]), 100)
    assert re.search(r"^disturbed +load 3\.1 on 2 CPUs$", text, re.MULTILINE)


def test_a_run_says_what_disturbs_it_and_keeps_all_that_was_found(uncork: Uncork,
    tmp_path: Path) -> None:
    words = ("transport=null", "duration=10ms", "warmup=0s", "rounds=1", "-o",
             str(tmp_path / "result"))
    done = uncork.run("run", *words)
    assert done.returncode == 0, done.stderr
    (host,) = json.loads((tmp_path / "result" / "hosts.json").read_text()).values()
    (look,) = host["doctor"]
    names = {found["name"] for found in look["findings"]}
    assert "load" in names and "congestion" not in names  # transport=null has no loopback
    said = [line for line in done.stderr.splitlines() if line.startswith("uncork: doctor: ")]
    disturbed = disturbed_text([look])
    assert said == ([f"uncork: doctor: {disturbed}: see uncork doctor"] if disturbed else [])


def test_every_start_of_the_runner_adds_what_was_found(tmp_path: Path) -> None:
    one, two, three = ({"findings": [], "unix_ns": number} for number in (1, 2, 3))
    (tmp_path / "hosts.json").write_text(json.dumps({"mine": {"cpu": "old", "doctor": [one]},
                                                     "plain": {"cpu": "old"}}))
    machines_merge(tmp_path,
                   {"mine": {"cpu": "new", "doctor": [two]}, "plain": {"cpu": "new"},
                    "new": {"doctor": [three]}})
    assert json.loads((tmp_path / "hosts.json").read_text()) == {
        "mine": {"cpu": "old", "doctor": [one, two]}, "plain": {"cpu": "old"},
        "new": {"doctor": [three]}}


def test_words_that_are_wrong_are_answered_as_by_run(uncork: Uncork) -> None:
    assert "did you mean quick?" in uncork.refused("doctor", "quik")


SECCOMP_SET, NO_NEW_PRIVILEGES, FILTER_MODE = 22, 38, 2


def rings_refuse() -> None:
    """A seccomp filter in this process and its children: io_uring_setup(2), number 425 everywhere,
    is ENOSYS."""
    rules = struct.pack("HBBI", 0x20, 0, 0, 0) + struct.pack("HBBI", 0x15, 0, 1, 425) + \
        struct.pack("HBBI", 0x06, 0, 0, 0x00050000 | 38) + struct.pack("HBBI", 0x06, 0, 0,
            0x7FFF0000)
    code = ctypes.create_string_buffer(rules)
    program = ctypes.create_string_buffer(struct.pack("HxxxxxxP", 4, ctypes.addressof(code)))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(NO_NEW_PRIVILEGES, 1, 0, 0, 0) or libc.prctl(SECCOMP_SET, FILTER_MODE, program):
        raise OSError(ctypes.get_errno(), "no seccomp filter")


def here_disturb() -> None:
    """In the child: less of everything that can be taken from a process without touching the
    machine."""
    os.nice(3)
    resource.setrlimit(resource.RLIMIT_NOFILE, (512, 512))
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    rings_refuse()


@pytest.mark.skipif(namespaces_refusal() is not None, reason=str(namespaces_refusal()))
def test_what_is_done_to_a_process_and_its_namespace_is_seen(uncork: Uncork) -> None:
    script = ('ip link set lo up mtu 1500 && tc qdisc add dev lo root pfifo && '
              'echo "2000 3000" > /proc/sys/net/ipv4/ip_local_port_range && exec "$@"')
    command = ["unshare", "--net", "sh", "-c", script, "sh", *uncork.command("doctor", "--json")]
    done = subprocess.run(command, env=uncork.environment, capture_output=True, text=True,
                          timeout=60,
                          preexec_fn=here_disturb)
    assert done.returncode == 0, done.stderr
    found = {finding["name"]: finding for finding in json.loads(done.stdout)["findings"]}
    for name, seen in {"priority": "nice", "open_files": "512 open files",
                       "cpus": "1 CPU for this process",
                       "io_uring": "io_uring is refused by a seccomp filter (ENOSYS)",
                       "ports": "1001 ports",
                       "loopback_mtu": "MTU of 1500", "loopback_queue": "pfifo on lo",
                       "seccomp": "seccomp filter"}.items():
        assert seen in found[name]["seen"], found[name]
        assert found[name]["status"] in ("disturbs", "note")


@pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed")
def test_it_writes_nothing_and_sets_nothing(uncork: Uncork, tmp_path: Path) -> None:
    log = tmp_path / "calls"
    calls = ("open,openat,creat,mkdir,mkdirat,unlink,unlinkat,rename,renameat2,truncate,ftruncate,"
             "setsockopt,prctl,kill")
    command = ["strace", "-f", "-o", str(log), "-e", f"trace={calls}",
               *uncork.command("doctor", "--all")]
    done = subprocess.run(command, env=uncork.environment | {"PYTHONDONTWRITEBYTECODE": "1"},
                          capture_output=True,
                          text=True, timeout=120)
    if "ptrace" in done.stderr and done.returncode != 0:
        pytest.skip(f"strace may not trace here: {done.stderr.splitlines()[0]}")
    assert done.returncode == 0, done.stderr
    assert "tracers: this process is traced by" in done.stdout  # strace itself is seen
    lines = log.read_text().splitlines()
    assert any("/proc/loadavg" in line for line in lines)
    # tc(8) sizes the buffers of its own netlink socket.
    allowed = re.compile(
        r"setsockopt\(\d+, SOL_(SOCKET, SO_(SND|RCV)BUF|NETLINK)|PR_(GET|SET_NAME|CAPBSET_READ)|"
                         r"\+\+\+|---|O_RDONLY")
    strange = [line for line in lines if not allowed.search(line)]
    assert not strange


def test_nothing_on_this_machine_is_misunderstood() -> None:
    findings = findings_collect(CellWords(), 0.0)
    assert [name for name, found in findings.items()
            if found.seen.startswith("not understood")] == []
    assert set(findings) == {check.__name__ for check in CHECKS}
