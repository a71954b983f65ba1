# SPDX-License-Identifier: MIT
"""What else uses the CPUs: other programs, other tenants, a quota, a page file."""

import math
from itertools import product
from pathlib import Path

from suite.base.units import counted_text, number_text, percent_text
from suite.doctor.facts import SystemFacts, ValueCheck, fields_read
from suite.doctor.finding import OWN_SERVER, CellWords, Finding, Status, Unknown, fine

LOAD_LEAST = 0.5  # runnable threads of others that a run of two threads cannot pass by on two CPUs
LOAD_PER_CPU = 0.25  # with more CPUs the scheduler moves the others away
BUSY_LEAST = 0.1  # of the CPUs' time during the watch: below, the load is over
STEAL_NOW, STEAL_SINCE_BOOT = 0.02, 0.01  # of all time; the first is of some ticks only
TICKS_LEAST = 2  # fewer are no share of anything
STAT_TIMES = 8  # user nice system idle iowait irq softirq steal: proc_stat(5)
STEAL_TIME, IDLE_TIMES = 7, (3, 4)  # places among them
CGROUP, QUOTA, PERIOD = "sys/fs/cgroup", "cpu.cfs_quota_us", "cpu.cfs_period_us"
CGROUP_MOUNTS = (CGROUP, f"{CGROUP}/unified", f"{CGROUP}/cpu", f"{CGROUP}/cpu,cpuacct")


def stat_times(text: str) -> list[int]:
    """The clock ticks of all CPUs together, by proc_stat(5); Unknown where none are counted."""
    times = [int(value) for value in text.splitlines()[0].split()[1:STAT_TIMES + 1]] if text else []
    if len(times) < STAT_TIMES or not sum(times):
        raise Unknown("/proc/stat counts no time")
    return times


def times_now(facts: SystemFacts) -> list[int]:
    if not facts.before.get("proc/stat"):
        return [0] * STAT_TIMES
    pairs = zip(stat_times(facts.text("proc/stat")), stat_times(facts.before["proc/stat"]),
                strict=True)
    return [max(now - before, 0) for now, before in pairs]


def load_look(facts: SystemFacts, words: CellWords) -> Finding:
    """The load average of the last minute (proc_loadavg(5)), and what was used during the watch.
    The effect is that of docs/performance.md, "The machine" and "Figures: the ends on two CPUs"."""
    load, cpus = float(facts.text("proc/loadavg").split()[0]), facts.probes.cpus
    times = times_now(facts)
    used = sum(times) - sum(times[kind] for kind in IDLE_TIMES)
    now = f", {percent_text(used / sum(times))} busy" if sum(times) > TICKS_LEAST else ""
    seen = f"load {number_text(load, 2)} on {counted_text(cpus, 'CPU')}"
    if load < LOAD_LEAST:
        return fine(seen)
    gone = bool(now) and used < BUSY_LEAST * sum(times)  # an average is slower than its subject
    heavy = load >= max(LOAD_LEAST, LOAD_PER_CPU * cpus) and not gone
    return Finding(
        Status.DISTURBS if heavy else Status.NOTE, seen + now,
        "Others take a CPU away in the middle of a run: on two CPUs with a load of 2 to 5 that was "
        "so in every fourth run, and a bare loop differed from itself by up to 50 %.",
        remark="ps -eo pcpu,pid,comm --sort=-pcpu shows who; a load average counts the last "
               "minute, so that of a run of uncork just before is in it")


def steal_look(facts: SystemFacts, words: CellWords) -> Finding:
    """What a hypervisor gave to others (proc_stat(5)): now, if ticks suffice, else since boot."""
    since, now = stat_times(facts.text("proc/stat")), times_now(facts)
    share, share_now = since[STEAL_TIME] / sum(since), now[STEAL_TIME] / max(sum(now), 1)
    is_now = now[STEAL_TIME] >= TICKS_LEAST and share_now >= STEAL_NOW
    seen = "steal " + (f"{percent_text(share_now)} now" if is_now
                       else f"{percent_text(share)} since boot")
    if not is_now and share < STEAL_SINCE_BOOT:
        return fine(seen)
    return Finding(
        Status.DISTURBS, seen,
        "The host gives that share of the time to other tenants: it is in every time and latency, "
        "and in no CPU figure; uncork show has it for each cell.",
        remark="only the host can give CPUs of their own to this machine")


def quotas_find(facts: SystemFacts) -> list[tuple[float, str, str]]:
    """(CPUs, file, text) of all that may limit this process, infinite where it does not: cgroup
    v2's cpu.max, v1's cfs_quota_us."""
    groups = {""}
    for line in facts.readable("proc/self/cgroup").splitlines():
        own = Path(line.split(":", 2)[-1])
        groups |= {str(each).strip("/") for each in (own, *own.parents)}
    # In a container the path may be one of the host's, which is not to be seen; then the top is the
    # container's own.
    found = []
    for mount, group, name in product(CGROUP_MOUNTS, sorted(groups), ("cpu.max", QUOTA)):
        path = "/".join(filter(None, (mount, group, name)))
        text = facts.find(path)
        if text is not None:
            quota, period = text.split() if name != QUOTA else (
                text, facts.text(path.removesuffix(QUOTA) + PERIOD))
            cpus = math.inf if quota in ("max", "-1") else int(quota) / int(period)
            found.append((cpus, f"/{path}", text))
    return found


def quota_look(facts: SystemFacts, words: CellWords) -> Finding:
    """CPU bandwidth control of cgroups: Documentation/scheduler/sched-bwc.rst of Linux."""
    quotas = quotas_find(facts)
    # groups of version 2 may be without any file of the CPU controller
    if not quotas and facts.find(f"{CGROUP}/cgroup.controllers") is None:
        raise Unknown(f"no cgroups are to be seen in /{CGROUP}")
    cpus, path, text = min(quotas, key=lambda quota: quota[0], default=(math.inf, "", ""))
    if math.isinf(cpus):
        return fine("no CPU quota")
    unlimited = "-1" if path.endswith("us") else "max"
    return Finding(
        Status.DISTURBS, f"quota of {number_text(cpus)} CPUs by a cgroup",
        "What is used up early stops every thread until the period, mostly 100 ms, is over: "
        "throughput is that of the quota, and tails are as long as the period.",
        f"echo {unlimited} > {path}", f'echo "{text}" > {path}',
        "a container: start it without --cpus")


def swap_look(facts: SystemFacts, words: CellWords) -> Finding:
    """Pages moved during the watch (pswpin, pswpout of /proc/vmstat), and what is out."""
    memory = fields_read(facts.text("proc/meminfo"))
    now = fields_read(facts.text("proc/vmstat"), " ")
    before = now | fields_read(facts.before.get("proc/vmstat", ""), " ")
    moved = sum(int(now[key]) - int(before[key]) for key in ("pswpin", "pswpout") if key in now)
    total, free = (int(memory.get(key, "0").split()[0]) for key in ("SwapTotal", "SwapFree"))
    if not moved and total - free < 1024:
        return fine("nothing swapped out")
    return Finding(
        Status.DISTURBS if moved else Status.NOTE,
        f"{number_text((total - free) / 1024)} MiB swapped out" +
        (f", {counted_text(moved, 'page')} moved just now" if moved else ""),
        "A message waits for the disk where its page has to be fetched back, in the first round "
        "most of all.",
        "swapoff -a", "swapon -a", "fetches all of it back first: memory must be free for it")


def irqbalance_look(facts: SystemFacts, words: CellWords) -> Finding:
    """irqbalance(1) moves interrupts to other CPUs every 10 s; loopback has none."""
    if "irqbalance" not in facts.probes.processes:
        return fine("no irqbalance")
    outside = words.values("server") - {OWN_SERVER} or words.values("peer")
    return Finding(
        Status.DISTURBS if outside else Status.NOTE, "irqbalance runs",
        "Interrupts of a network card change their CPU in the middle of a matrix: a run has them "
        "on its CPU or not. Loopback and labs have no interrupts.",
        "systemctl stop irqbalance", "systemctl start irqbalance")


# nice(2) of this process, which every run inherits
PRIORITY = ValueCheck(
    lambda facts: facts.probes.nice, lambda nice: nice <= 0, "nice {}", Finding(
        Status.DISTURBS, "nice {} here",
        "Every other program goes first: by sched(7) a step of nice weighs 1.25 times less where a "
        "CPU is contended.",
        "renice -n 0 -p $$", "renice -n {} -p $$"))
