# SPDX-License-Identifier: MIT
"""Who else uses the CPUs: other programs, other tenants, a quota, a page file."""

from __future__ import annotations

from collections.abc import Mapping

from suite.base.units import counted_text, number_text, percent_text
from suite.doctor.asked import Asked
from suite.doctor.facts import CGROUP, PERIOD, QUOTA, Facts
from suite.doctor.finding import Answer, Status, Unknown, fine

LOAD_LEAST = 0.5  # runnable threads of others that a run of two threads cannot pass by on two CPUs
LOAD_PER_CPU = 0.25  # with more CPUs the scheduler moves the others away
BUSY_LEAST = 0.1  # of the CPUs' time while we look: below, the load is over
STEAL_NOW, STEAL_SINCE_BOOT = 0.02, 0.01  # of all time; the first is of some ticks only
TICKS_LEAST = 2  # fewer are no share of anything
STAT_TIMES = 8  # user nice system idle iowait irq softirq steal: proc_stat(5)
STEAL, IDLE = 7, (3, 4)


def stat_times(text: str) -> list[int]:
    """The clock ticks of all CPUs together, by proc_stat(5); Unknown where the system does not
    count."""
    times = [int(value) for value in text.splitlines()[0].split()[1:STAT_TIMES + 1]] if text else []
    if len(times) < STAT_TIMES or not sum(times):
        raise Unknown("/proc/stat counts no time")
    return times


def times_now(facts: Facts) -> list[int]:
    """What the clock ticks grew by while we looked."""
    if "proc/stat" not in facts.before:
        return [0] * STAT_TIMES
    pairs = zip(stat_times(facts.text("proc/stat")), stat_times(facts.before["proc/stat"]),
                strict=True)
    return [max(now - before, 0) for now, before in pairs]


def load_look(facts: Facts, asked: Asked) -> Answer:
    """The load average of the last minute (proc_loadavg(5)), and what was used while we looked.

    The effect is that of docs/performance.md, "The machine" and "Figures: the ends on two CPUs".
    """
    load, cpus = float(facts.text("proc/loadavg").split()[0]), facts.probes.cpus
    times = times_now(facts)
    used = sum(times) - sum(times[kind] for kind in IDLE)
    now = f", {percent_text(used / sum(times))} busy just now" if sum(times) > TICKS_LEAST else ""
    seen = f"load {number_text(load, 2)} on {counted_text(cpus, 'CPU')}"
    if load < LOAD_LEAST:
        return fine(seen)
    gone = bool(now) and used < BUSY_LEAST * sum(times)  # an average is slower than what it is of
    heavy = load >= max(LOAD_LEAST, LOAD_PER_CPU * cpus) and not gone
    return Answer(
        Status.DISTURBS if heavy else Status.NOTE, seen + now,
        "Others take a CPU away in the middle of a run: on two CPUs with a load of 2 to 5 that was so in every "
        "fourth run, and a bare loop differed from itself by up to 50 %.",
        remark="ps -eo pcpu,pid,comm --sort=-pcpu shows who; a load average counts the last minute, so that of a run "
               "of uncork just before is in it")


def steal_look(facts: Facts, asked: Asked) -> Answer:
    """What a hypervisor gave to somebody else (proc_stat(5)): now, where ticks suffice, else since
    boot."""
    since, now = stat_times(facts.text("proc/stat")), times_now(facts)
    share, share_now = since[STEAL] / sum(since), now[STEAL] / max(sum(now), 1)
    is_now = now[STEAL] >= TICKS_LEAST and share_now >= STEAL_NOW
    seen = f"steal {percent_text(share_now)} now" if is_now else f"steal {percent_text(share)} since boot"
    if not is_now and share < STEAL_SINCE_BOOT:
        return fine(seen)
    return Answer(
        Status.DISTURBS, seen,
        "The host gives that share of the time to other tenants: it is in every time and latency, and in no CPU "
        "figure; uncork show has it for each cell.",
        remark="only the host can give CPUs of their own to this machine")


def quotas_find(facts: Facts) -> list[tuple[str, float, str]]:
    """(file, CPUs, its text) of every quota that this process is under: cgroup v2's cpu.max, v1's
    cfs_quota_us."""
    found = []
    for path, text in facts.matching(f"{CGROUP}/*").items():
        quota, _, period = text.partition(" ")
        if path.endswith(QUOTA):
            period = facts.text(path.removesuffix(QUOTA) + PERIOD)
        elif not path.endswith("cpu.max"):
            continue
        if quota not in ("max", "-1"):
            found.append((f"/{path}", int(quota) / int(period), text))
    return found


def quota_look(facts: Facts, asked: Asked) -> Answer:
    """CPU bandwidth control of cgroups: Documentation/scheduler/sched-bwc.rst of Linux."""
    quotas = quotas_find(facts)
    if not quotas:
        if facts.matching(f"{CGROUP}/*"):
            return fine("no CPU quota")
        raise Unknown(f"no cgroups are to be seen in /{CGROUP}")
    path, cpus, text = min(quotas, key=lambda quota: quota[1])
    unlimited = "-1" if path.endswith("us") else "max"
    return Answer(
        Status.DISTURBS, f"quota of {number_text(cpus)} CPUs by a cgroup",
        "What is used up early stops every thread until the period, mostly 100 ms, is over: throughput is that of the "
        "quota, and tails are as long as the period.",
        f"echo {unlimited} > {path}", f'echo "{text}" > {path}',
        "a container: start it without --cpus")


def numbers(text: str) -> Mapping[str, int]:
    """`name value` or `name: value kB` lines, as of /proc/vmstat and /proc/meminfo."""
    pairs = (line.replace(":", " ").split()[:2] for line in text.splitlines())
    return {pair[0]: int(pair[1]) for pair in pairs if len(pair) == 2 and pair[1].isdigit()}


def swap_look(facts: Facts, asked: Asked) -> Answer:
    """Pages that are written out or fetched back while we look (pswpin, pswpout of /proc/vmstat),
    and what is out."""
    memory, now = numbers(facts.text("proc/meminfo")), numbers(facts.text("proc/vmstat"))
    before = numbers(facts.before.get("proc/vmstat", ""))
    moved = sum(now.get(key, 0) - before.get(key, now.get(key, 0)) for key in ("pswpin", "pswpout"))
    out_mib = (memory.get("SwapTotal", 0) - memory.get("SwapFree", 0)) / 1024
    if not moved and out_mib < 1:
        return fine("nothing swapped out")
    return Answer(
        Status.DISTURBS if moved else Status.NOTE,
        f"{number_text(out_mib)} MiB swapped out" +
        (f", {counted_text(moved, 'page')} moved just now" if moved else ""),
        "A message waits for the disk where its page has to be fetched back, in the first round most of all.",
        "swapoff -a", "swapon -a", "fetches all of it back first: memory must be free for it")


def irqbalance_look(facts: Facts, asked: Asked) -> Answer:
    """irqbalance(1) moves interrupts to other CPUs every 10 s; loopback has none."""
    if "irqbalance" not in facts.probes.processes:
        return fine("no irqbalance")
    outside = any(value != "own" for value in asked.values("server")) or bool(asked.values("peer"))
    return Answer(
        Status.DISTURBS if outside else Status.NOTE, "irqbalance runs",
        "Interrupts of a network card change their CPU in the middle of a matrix: a run has them on its CPU or not. "
        "Loopback and labs have no interrupts.", "systemctl stop irqbalance",
        "systemctl start irqbalance")


def priority_look(facts: Facts, asked: Asked) -> Answer:
    """nice(2) of this process, which every run inherits."""
    nice = facts.probes.nice
    if nice <= 0:
        return fine(f"nice {nice}")
    return Answer(
        Status.DISTURBS, f"nice {nice} here",
        "Every other program goes first: by sched(7) a step of nice weighs 1.25 times less where a CPU is contended.",
        "renice -n 0 -p $$", f"renice -n {nice} -p $$")
