# SPDX-License-Identifier: MIT
"""What the kernel does beside its work: checks that it was built with, tracers, how it counts
time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from suite.base.units import counted_text
from suite.doctor.asked import Asked
from suite.doctor.facts import TRACING, Facts, config_files
from suite.doctor.finding import Answer, Status, Unknown, fine, sysctl_set
from suite.doctor.probes import known

# Options of Kconfig that slow every path down, some of them several times; then those that cost a
# little.
HEAVY = ("KASAN", "KMSAN", "KCSAN", "LOCKDEP", "PROVE_LOCKING", "LOCK_STAT", "DEBUG_LOCK_ALLOC",
         "DEBUG_KMEMLEAK",
         "DEBUG_PAGEALLOC_ENABLE_DEFAULT", "DEBUG_OBJECTS", "DEBUG_SPINLOCK", "DEBUG_MUTEXES",
         "DEBUG_VM",
         "SLUB_DEBUG_ON", "PROVE_RCU", "TRACE_IRQFLAGS", "KCOV", "GCOV_PROFILE_ALL",
         "UBSAN_ALIGNMENT",
         "PAGE_POISONING_ENABLE_DEFAULT")
LIGHT = ("DEBUG_ATOMIC_SLEEP", "DEBUG_PREEMPT", "DEBUG_NET", "DEBUG_LIST", "DEBUG_SG",
         "DEBUG_NOTIFIERS", "UBSAN",
         "DEBUG_RWSEMS", "DEBUG_RT_MUTEXES", "DEBUG_STACK_USAGE", "FAULT_INJECTION")
# built in, and silent until somebody asks
SWITCHED_OFF = {"DEBUG_KMEMLEAK": "DEBUG_KMEMLEAK_DEFAULT_OFF"}
BOOT_SWITCHES = ("slub_debug", "slab_debug", "debug_pagealloc", "page_poison", "kmemleak=on",
                 "ftrace=", "kcsan.")
TRACER_PROCESSES = ("perf", "bpftrace", "trace-cmd", "sysdig", "strace", "ltrace", "gdb", "stap",
                    "tcpdump", "dumpcap")
TRACING_PROGRAMS = {2: "kprobe", 5: "tracepoint", 7: "perf_event", 17: "raw_tracepoint",
                    24: "raw_tracepoint_writable",
                    26: "tracing", 29: "lsm"}  # enum bpf_prog_type of linux/bpf.h
PACKET_PROGRAMS = {1: "socket_filter", 3: "sched_cls", 6: "xdp", 8: "cgroup_skb", 13: "sock_ops",
                   14: "sk_skb",
                   16: "sk_msg", 25: "cgroup_sockopt"}


def config_of(facts: Facts) -> Mapping[str, str]:
    """The options of the running kernel without CONFIG_; Unknown where they are not to be had."""
    names = config_files(facts.text("proc/version"))
    text = next((found for found in map(facts.find, names) if found), None)
    if text is None:
        raise Unknown("the kernel's options are not to be read: none of " +
                      ", ".join(f"/{name}" for name in names))
    pairs = (line.removeprefix("CONFIG_").split("=", 1) for line in text.splitlines()
             if line.startswith("CONFIG_"))
    return {pair[0]: pair[1] for pair in pairs if len(pair) == 2}


def debug_look(facts: Facts, asked: Asked) -> Answer:
    """Options that check every access or every lock: Documentation/dev-tools and lib/Kconfig.debug
    of Linux."""
    config, words = config_of(facts), facts.text("proc/cmdline").split()
    built = [name for name in HEAVY + LIGHT
             if config.get(name) == "y" and config.get(SWITCHED_OFF.get(name, "")) != "y"]
    booted = [word for word in words if word.startswith(BOOT_SWITCHES)]
    heavy = [name for name in built if name in HEAVY] + booted
    if not built and not booted:
        return fine("no debugging kernel")
    if not heavy:
        return Answer(Status.NOTE, f"kernel with {', '.join(built)}",
                      "These check a little on many paths: a little CPU, how much was not measured here.",
                      remark="they are built in: only another kernel is without them")
    return Answer(
        Status.DISTURBS, f"debugging kernel: {', '.join(heavy)}",
        "Every lock, access or allocation is checked: calls take longer, some of them several times, and what "
        "allocates or locks more suffers more, so that ratios are wrong as well as times.",
        remark="they are built in" + (" or set at boot" if booted else "") +
        ": boot another kernel")


def accounting_look(facts: Facts, asked: Asked) -> Answer:
    """How user and system time are told apart: CONFIG_TICK_CPU_ACCOUNTING of init/Kconfig,
    cputime_adjust() of Linux.

    CONFIG_VIRT_CPU_ACCOUNTING_GEN counts each switch only on CPUs that nohz_full= names.
    """
    config = config_of(facts)
    exact = config.get("VIRT_CPU_ACCOUNTING_NATIVE") == "y" or (
        config.get("VIRT_CPU_ACCOUNTING_GEN") == "y"
        and any(word.startswith("nohz_full=") for word in facts.text("proc/cmdline").split()))
    if exact:
        return fine("CPU time is counted at each switch")
    tick_hz = int(config.get("HZ", "0")) or 250
    return Answer(
        Status.NOTE, f"CPU time is split by ticks of {1000 // tick_hz} ms",
        "The sum of user and system is right; how it splits is sampled, and with less than 1 s of CPU in a run uncork "
        "shows no split.",
        remark="only a kernel with CONFIG_VIRT_CPU_ACCOUNTING_GEN and nohz_full= on its command line counts it")


@dataclass(frozen=True)
class Watched:
    """What watches: how it is called, and the command that ends it with the one that takes that
    back, or how else."""

    seen: str
    fix: str = ""
    undo: str = ""
    remark: str = ""


def ftrace_watched(facts: Facts) -> list[Watched]:
    """What ftrace is doing, from tracefs: Documentation/trace/ftrace.rst of Linux. Unknown without
    it."""
    folder = next((folder for folder in TRACING
                   if facts.find(f"{folder}/current_tracer") is not None), None)
    if folder is None:
        raise Unknown(
            "tracefs is not mounted: mount -t tracefs nodev /sys/kernel/tracing shows it to root")
    found = []
    tracer, events = facts.text(f"{folder}/current_tracer"), facts.find(
        f"{folder}/events/enable") or "0"
    if tracer != "nop":
        path = f"/{folder}/current_tracer"
        found.append(Watched(f"ftrace's {tracer}", f"echo nop > {path}", f"echo {tracer} > {path}"))
    if events != "0":
        path = f"/{folder}/events/enable"
        found.append(Watched("events of ftrace", f"echo 0 > {path}",
                             "echo 1 > " + path if events == "1" else "",
                             "" if events == "1"
                             else f"/{folder}/set_event lists which events are on"))
    for name in ("kprobe", "uprobe"):
        probes = len((facts.find(f"{folder}/{name}_events") or "").splitlines())
        if probes:
            found.append(Watched(counted_text(probes, name),
                                 remark=f"/{folder}/{name}_events lists what was set"))
    return found


def processes_watched(facts: Facts) -> list[Watched]:
    """Who traces this process by ptrace(2), and programs that trace, by their names."""
    tracer = next((line.split()[1] for line in facts.text("proc/self/status").splitlines()
                   if line.startswith("TracerPid:")), "0")
    running = [name for name in TRACER_PROCESSES if name in facts.probes.processes]
    return [*([Watched(f"this process is traced by {tracer}",
                       remark=f"start uncork without process {tracer}")]
              if tracer != "0" else []), *(Watched(name, remark=f"end {name}") for name in running)]


def tracers_look(facts: Facts, asked: Asked) -> Answer:
    """Whoever watches: ftrace and its probes, perf(1), strace(1) and others by name, ptrace(2) of
    this process."""
    found = processes_watched(facts)
    try:
        found += ftrace_watched(facts)
    except Unknown:
        if not found:  # else it disturbs, whatever else there is
            raise
    if not found:
        return fine("no tracer")
    fix, undo, remark = ("; ".join(filter(None, texts)) for texts in zip(
        *((each.fix, each.undo, each.remark) for each in found), strict=True))
    return Answer(
        Status.DISTURBS, f"tracers: {', '.join(each.seen for each in found)}",
        "What is watched takes longer for it, under strace(1) many times as long: a strategy that makes more calls or "
        "packets pays more.", fix, undo, remark)


def programs_look(facts: Facts, asked: Asked) -> Answer:
    """BPF programs that watch the kernel or look at packets: bpf(2)."""
    found = known(facts.probes.programs)
    watching, packets = ([f"{found[kind]} {name}" for kind, name in names.items() if kind in found]
                         for names in (TRACING_PROGRAMS, PACKET_PROGRAMS))
    if not watching and not packets:
        return fine("no BPF programs")
    effect = (
        "A program runs at each pass through what it is attached to: at a call or a packet it weighs on "
              "strategies that make more of them.")
    remark = "bpftool prog show and bpftool link show name them and who loaded them: end that"
    return Answer(Status.DISTURBS if watching else Status.NOTE,
                  f"BPF programs: {', '.join(watching + packets)}",
                  effect, remark=remark)


def seccomp_look(facts: Facts, asked: Asked) -> Answer:
    """A filter that every system call passes: seccomp(2), proc_pid_status(5)."""
    status = dict(line.split(":", 1) for line in facts.text("proc/self/status").splitlines()
                  if ":" in line)
    if "Seccomp" not in status:
        raise Unknown("/proc/self/status has no Seccomp")
    if status["Seccomp"].strip() == "0":
        return fine("no seccomp filter")
    count = int(status.get("Seccomp_filters", "1"))
    return Answer(
        Status.NOTE, f"{counted_text(count, 'seccomp filter')} on every call",
        "Each system call pays for them: what makes fewer calls looks a little better than outside. "
        "They may refuse io_uring and perf as well.",
        remark="docker run --security-opt seccomp=unconfined, or outside the container")


def preload_look(facts: Facts, asked: Asked) -> Answer:
    """Libraries that are loaded before all others: ld.so(8)."""
    if not facts.probes.preload:
        return fine("no LD_PRELOAD")
    return Answer(Status.DISTURBS, f"LD_PRELOAD={facts.probes.preload}",
                  "The library is in both ends and may stand before every call that is measured.",
                  "unset LD_PRELOAD", f"export LD_PRELOAD={facts.probes.preload}")


def hugepages_look(facts: Facts, asked: Asked) -> Answer:
    """Transparent huge pages: Documentation/admin-guide/mm/transhuge.rst of Linux."""
    path = "sys/kernel/mm/transparent_hugepage/enabled"
    setting = facts.find(path)
    chosen = setting.partition("[")[2].partition("]")[0] if setting else "never"
    if chosen != "always":
        return fine(f"transparent huge pages: {chosen}")
    return Answer(
        Status.NOTE, "transparent huge pages: always",
        "Memory comes in pieces of 2 MiB: memory_per_connection is rounded up to them, and khugepaged may move pages "
        "under a run.", f"echo madvise > /{path}", f"echo always > /{path}")


def throttle_look(facts: Facts, asked: Asked) -> Answer:
    """The part of a second that real-time threads may not have: sched(7), docs/methodology.md,
    "Scheduling class"."""
    name = "kernel.sched_rt_runtime_us"
    runtime, period = int(facts.sysctl(name)), int(facts.sysctl("kernel.sched_rt_period_us"))
    if runtime < 0:
        return Answer(
            Status.NOTE, f"{name}=-1",
            "Real-time data threads that fill every CPU leave no control thread one: such a run can only be killed.",
            sysctl_set(name, str(period * 95 // 100)), sysctl_set(name, "-1"))
    return Answer(
        Status.DISTURBS if not asked.anything else Status.NOTE,
        f"real-time threads rest {(period - runtime) // 1000} ms of each {period // 1000} ms",
        "A cell with sched=rr or fifo that fills a CPU has a tail of 20 to 50 ms: the throttle's, not the strategy's.",
        sysctl_set(name, "-1"), sysctl_set(name, str(runtime)),
        "then a run that fills every CPU can only be killed")
