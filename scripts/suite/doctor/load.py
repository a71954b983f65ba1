# SPDX-License-Identifier: MIT
"""Checks of what else uses the CPUs: other programs, other tenants, a quota, swapping."""

import math
from itertools import product
from pathlib import Path

from suite.base.units import counted_text, number_text, percent_text
from suite.doctor.facts import NAMES, SystemFacts, fields_read
from suite.doctor.finding import Finding, Unknown, disturbs, fine, note

LOAD_LEAST = 0.5  # runnable threads of others: on two CPUs two threads of a run cannot avoid them
LOAD_PER_CPU = 0.25  # with more CPUs the scheduler moves other threads away
BUSY_LEAST = 0.1  # share of CPU time during the watch: below it the load has ended
STEAL_NOW, STEAL_SINCE_BOOT = 0.02, 0.01  # shares of time; the first is of some ticks only
TICKS_LEAST = 2  # fewer ticks tell no share
STAT_TIMES = 8  # user nice system idle iowait irq softirq steal: proc_stat(5)
STEAL_TIME, IDLE_TIMES = 7, (3, 4)  # indices in STAT_TIMES
CGROUP, QUOTA = "sys/fs/cgroup", "cpu.max"
OLD_QUOTA, OLD_PERIOD = "cpu.cfs_quota_us", "cpu.cfs_period_us"  # of version 1
CGROUP_MOUNTS = (CGROUP, f"{CGROUP}/unified", f"{CGROUP}/cpu", f"{CGROUP}/cpu,cpuacct")


def stat_times(text: str) -> list[int]:
    """The clock ticks of all CPUs together (proc_stat(5)); Unknown where the kernel counts none."""
    times = [int(value) for value in text.splitlines()[0].split()[1:STAT_TIMES + 1]] if text else []
    if len(times) < STAT_TIMES or not sum(times):
        raise Unknown("/proc/stat counts no time")
    return times


def ticks_in_watch(facts: SystemFacts) -> list[int]:
    """The clock ticks during the watch; all 0 without a watch."""
    if not facts.before.get("proc/stat"):
        return [0] * STAT_TIMES
    pairs = zip(stat_times(facts.text("proc/stat")), stat_times(facts.before["proc/stat"]),
                strict=True)
    return [max(now - before, 0) for now, before in pairs]


def load(facts: SystemFacts) -> Finding:
    """The load average of the last minute (proc_loadavg(5)), and the CPU use during the watch."""
    average, cpus = float(facts.text("proc/loadavg").split()[0]), facts.cpus
    times = ticks_in_watch(facts)
    used = sum(times) - sum(times[kind] for kind in IDLE_TIMES)
    watched = sum(times) > TICKS_LEAST
    seen = f"load {number_text(average, 2)} on {counted_text(cpus, 'CPU')}"
    seen += f", {percent_text(used / sum(times))} busy" if watched else ""
    ended = watched and used < BUSY_LEAST * sum(times)  # the average falls later
    heavy = average >= LOAD_PER_CPU * cpus and not ended
    return (disturbs if heavy else note)("load", seen, when=average >= LOAD_LEAST)


def steal(facts: SystemFacts) -> Finding:
    """Time that the hypervisor gave to others (proc_stat(5)): now, or with few ticks since boot."""
    since, now = stat_times(facts.text("proc/stat")), ticks_in_watch(facts)
    share, share_now = since[STEAL_TIME] / sum(since), now[STEAL_TIME] / max(sum(now), 1)
    if now[STEAL_TIME] >= TICKS_LEAST and share_now >= STEAL_NOW:
        return disturbs("steal", f"steal {percent_text(share_now)} now")
    return disturbs("steal", f"steal {percent_text(share)} since boot",
                    when=share >= STEAL_SINCE_BOOT)


def cpu_quota(facts: SystemFacts) -> Finding:
    """CPU bandwidth control of cgroups: Documentation/scheduler/sched-bwc.rst of Linux. The
    smallest quota of the groups of this process counts. In a container the path may be one of the
    host, which is not visible; the top folder is then the cgroup of the container."""
    groups = {""}
    for line in (facts.find("proc/self/cgroup") or "").splitlines():
        own = Path(line.split(":", 2)[-1])
        groups |= {str(each).strip("/") for each in (own, *own.parents)}
    quotas = []  # (CPUs, file, text)
    for mount, group, name in product(CGROUP_MOUNTS, sorted(groups), (QUOTA, OLD_QUOTA)):
        path = str(Path(mount, group, name))
        text = facts.find(path)
        if text is not None:
            quota, period = text.split() if name == QUOTA else (
                text, facts.text(path.removesuffix(OLD_QUOTA) + OLD_PERIOD))
            cpus = math.inf if quota in ("max", "-1") else int(quota) / int(period)
            quotas.append((cpus, path, text))
    # cgroups of version 2 may have no file of the CPU controller
    if not quotas and facts.find(f"{CGROUP}/cgroup.controllers") is None:
        raise Unknown(f"no cgroups are visible in /{CGROUP}")
    cpus, path, text = min(quotas, default=(math.inf, "", ""))
    if math.isinf(cpus):
        return fine("no CPU quota")
    return disturbs("cpu_quota", f"quota of {number_text(cpus)} CPUs by a cgroup", path=f"/{path}",
                    now=text, unlimited="-1" if path.endswith(OLD_QUOTA) else "max")


def swap(facts: SystemFacts) -> Finding:
    """Pages moved during the watch (pswpin, pswpout of /proc/vmstat), and memory swapped out."""
    memory = facts.fields("proc/meminfo")
    now = fields_read(facts.text("proc/vmstat"), " ")
    before = now | fields_read(facts.before.get("proc/vmstat", ""), " ")
    moved = sum(int(now[key]) - int(before[key]) for key in ("pswpin", "pswpout") if key in now)
    total, free = (int(memory.get(key, "0").split()[0]) for key in ("SwapTotal", "SwapFree"))
    used_mib = (total - free) / 1024
    seen = f"{number_text(used_mib)} MiB swapped out"
    if moved:
        return disturbs("swap", f"{seen}, {counted_text(moved, 'page')} moved just now")
    return note("swap", seen, when=used_mib >= 1)


def irqbalance(facts: SystemFacts) -> Finding:
    """irqbalance(1) moves interrupts to other CPUs every 10 s; loopback has none."""
    if "irqbalance" not in facts.matching(NAMES).values():
        return fine("no irqbalance")
    outside = facts.words.values("server") - {"own"} or facts.words.values("peer")
    return (disturbs if outside else note)("irqbalance", "irqbalance runs")


def priority(facts: SystemFacts) -> Finding:
    """nice(2) of this process, which every run inherits."""
    nice = facts.nice
    return disturbs("priority", f"nice {nice}", when=nice > 0, now=nice)
