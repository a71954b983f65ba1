# SPDX-License-Identifier: MIT
"""Checks of the kernel: debugging options, tracers, BPF programs, filters, CPU accounting."""

from collections.abc import Iterator

from suite.base.units import counted_text
from suite.doctor.facts import WITHOUT_SECCOMP, SystemFacts, ValueCheck, fields_read, kernel_config
from suite.doctor.finding import CellWords, Finding, Status, Unknown, known, sysctl_set

# Kconfig options: HEAVY slow every path down, some of them several times; LIGHT cost a little
HEAVY = (
    "KASAN", "KMSAN", "KCSAN", "LOCKDEP", "PROVE_LOCKING", "LOCK_STAT", "DEBUG_LOCK_ALLOC",
    "DEBUG_KMEMLEAK", "DEBUG_PAGEALLOC_ENABLE_DEFAULT", "DEBUG_OBJECTS", "DEBUG_SPINLOCK",
    "DEBUG_MUTEXES", "DEBUG_VM", "SLUB_DEBUG_ON", "PROVE_RCU", "TRACE_IRQFLAGS", "KCOV",
    "GCOV_PROFILE_ALL", "UBSAN_ALIGNMENT", "PAGE_POISONING_ENABLE_DEFAULT")
LIGHT = (
    "DEBUG_ATOMIC_SLEEP", "DEBUG_PREEMPT", "DEBUG_NET", "DEBUG_LIST", "DEBUG_SG", "DEBUG_NOTIFIERS",
    "UBSAN", "DEBUG_RWSEMS", "DEBUG_RT_MUTEXES", "DEBUG_STACK_USAGE", "FAULT_INJECTION")
# an option that is built in, and the option that leaves it off by default
SWITCHED_OFF = {"DEBUG_KMEMLEAK": "DEBUG_KMEMLEAK_DEFAULT_OFF"}
BOOT_SWITCHES = ("slub_debug", "slab_debug", "debug_pagealloc", "page_poison", "kmemleak=on",
                 "ftrace=", "kcsan.")
TRACER_PROCESSES = ("perf", "bpftrace", "trace-cmd", "sysdig", "strace", "ltrace", "gdb", "stap",
                    "tcpdump", "dumpcap")
# enum bpf_prog_type of linux/bpf.h
TRACING_PROGRAMS = {2: "kprobe", 5: "tracepoint", 7: "perf_event", 17: "raw_tracepoint",
                    24: "raw_tracepoint_writable", 26: "tracing", 29: "lsm"}
PACKET_PROGRAMS = {1: "socket_filter", 3: "sched_cls", 6: "xdp", 8: "cgroup_skb", 13: "sock_ops",
                   14: "sk_skb", 16: "sk_msg", 25: "cgroup_sockopt"}
# the folder of tracefs, and its folder before Linux 4.1
TRACING = ("sys/kernel/tracing", "sys/kernel/debug/tracing")
EVENTS_PARTLY = ("X", "?")  # values of events/enable: some events are on; unknown
HUGE_PAGES_FILE = "sys/kernel/mm/transparent_hugepage/enabled"


def debug_finding(facts: SystemFacts, words: CellWords) -> Finding:
    """Options that check each access or lock: dev-tools and lib/Kconfig.debug of Linux."""
    config, boot_words = kernel_config(facts), facts.text("proc/cmdline").split()
    built = [name for name in HEAVY + LIGHT
             if config.get(name) == "y" and config.get(SWITCHED_OFF.get(name, "")) != "y"]
    booted = [word for word in boot_words if word.startswith(BOOT_SWITCHES)]
    heavy = [name for name in built if name in HEAVY] + booted
    if heavy:
        return Finding(
            Status.DISTURBS, f"debugging kernel: {', '.join(heavy)}",
            "The kernel checks every lock, access or allocation. Calls take longer, some of them "
            "several times. Strategies that allocate or lock more lose more, so that ratios are "
            "as wrong as times.",
            remark="the options are built in" + (" or set at boot" if booted else "") +
                   ": boot another kernel")
    if built:
        return Finding(
            Status.NOTE, f"kernel with {', '.join(built)}",
            "These options add small checks to many paths. They cost a little CPU; how much was "
            "not measured here.",
            remark="the options are built in: boot another kernel")
    return Finding.fine("no debugging kernel")


def accounting_finding(facts: SystemFacts, words: CellWords) -> Finding:
    """How the kernel splits user and system time: CONFIG_TICK_CPU_ACCOUNTING of init/Kconfig,
    cputime_adjust(). CONFIG_VIRT_CPU_ACCOUNTING_GEN counts switches on CPUs of nohz_full= only."""
    config = kernel_config(facts)
    if config.get("VIRT_CPU_ACCOUNTING_NATIVE") == "y" or (
            config.get("VIRT_CPU_ACCOUNTING_GEN") == "y"
            and any(word.startswith("nohz_full=") for word in facts.text("proc/cmdline").split())):
        return Finding.fine("CPU time is counted at each switch")
    tick_hz = int(config.get("HZ", "0")) or 250
    return Finding(
        Status.NOTE, f"CPU time is split by ticks of {1000 // tick_hz} ms",
        "The sum of user and system time is right, but the split is sampled. uncork shows no split "
        "for a run with less than 1 s of CPU.",
        remark="a kernel with CONFIG_VIRT_CPU_ACCOUNTING_GEN and nohz_full= on its command line "
               "counts the split")


def process_tracers(facts: SystemFacts) -> Iterator[tuple[str, str, str, str]]:
    """(seen, fix, undo, remark) of a ptrace(2) tracer of this process, and of running tracers."""
    tracer = fields_read(facts.text("proc/self/status")).get("TracerPid", "0")
    if tracer != "0":
        yield (f"this process is traced by {tracer}", "", "",
               f"start uncork without process {tracer}")
    for name in TRACER_PROCESSES:
        if name in facts.probes.processes:
            yield name, "", "", f"end {name}"


def ftrace_tracers(facts: SystemFacts) -> Iterator[tuple[str, str, str, str]]:
    """(seen, fix, undo, remark) of what ftrace traces now: Documentation/trace/ftrace.rst of Linux.
    Unknown without tracefs."""
    folder = next((folder for folder in TRACING
                   if facts.find(f"{folder}/current_tracer") is not None), None)
    if folder is None:
        raise Unknown(
            "tracefs is not mounted: mount -t tracefs nodev /sys/kernel/tracing shows it to root")
    for file, quiet, seen in (("current_tracer", "nop", "ftrace's {}"),
                              ("events/enable", "0", "events of ftrace")):
        path, value = f"/{folder}/{file}", facts.find(f"{folder}/{file}") or quiet
        if value != quiet:
            undo = (f"echo {value} > {path}", "") if value not in EVENTS_PARTLY else (
                "", f"/{folder}/set_event lists which events are on")
            yield seen.format(value), f"echo {quiet} > {path}", *undo
    for name in ("kprobe", "uprobe"):
        probes = len((facts.find(f"{folder}/{name}_events") or "").splitlines())
        if probes:
            yield (counted_text(probes, name), "", "",
                   f"/{folder}/{name}_events lists what was set")


def tracers_finding(facts: SystemFacts, words: CellWords) -> Finding:
    """All tracers: ftrace and its probes, perf(1), strace(1) and others, ptrace(2)."""
    found = list(process_tracers(facts))
    try:
        found += ftrace_tracers(facts)
    except Unknown:
        if not found:  # a tracer that was found disturbs in any case
            raise
    if not found:
        return Finding.fine("no tracer")
    seen, *commands = (list(filter(None, texts)) for texts in zip(*found, strict=True))
    return Finding(
        Status.DISTURBS, f"tracers: {', '.join(seen)}",
        "Traced calls and events take longer, under strace(1) many times as long. A strategy that "
        "makes more calls or packets loses more.", *map("; ".join, commands))


def programs_finding(facts: SystemFacts, words: CellWords) -> Finding:
    """BPF programs that trace the kernel or inspect packets: bpf(2)."""
    found = known(facts.probes.programs)
    tracing, packets = ([f"{found[kind]} {name}" for kind, name in names.items() if kind in found]
                        for names in (TRACING_PROGRAMS, PACKET_PROGRAMS))
    if not tracing and not packets:
        return Finding.fine("no BPF programs")
    return Finding(
        Status.DISTURBS if tracing else Status.NOTE,
        f"BPF programs: {', '.join(tracing + packets)}",
        "A program runs each time that its hook is reached. At a hook for calls or packets, "
        "strategies that make more of them lose more.",
        remark="bpftool prog show and bpftool link show list them and the process that loaded "
               "them: end that process")


def throttle_finding(facts: SystemFacts, words: CellWords) -> Finding:
    """sched(7), docs/machine.md, "Scheduling class"."""
    name = "kernel.sched_rt_runtime_us"
    runtime_us, period_us = (int(facts.sysctl(each))
                             for each in (name, "kernel.sched_rt_period_us"))
    if runtime_us < 0:
        return Finding(
            Status.NOTE, f"{name}=-1",
            "Real-time data threads that use all CPUs fully stop the control threads: such a run "
            "can only be killed.",
            sysctl_set(name, str(period_us * 95 // 100)), sysctl_set(name, "-1"))
    return Finding(
        Status.NOTE if words.unplanned else Status.DISTURBS,
        f"real-time threads may use {runtime_us // 1000} ms of each {period_us // 1000} ms",
        "A cell with sched=rr or fifo that uses a CPU fully has latency tails of 20 to 50 ms. This "
        "limit causes them, not the strategy.",
        sysctl_set(name, "-1"), sysctl_set(name, str(runtime_us)),
        "then a run that uses all CPUs fully can only be killed")


def seccomp_filters(facts: SystemFacts) -> str:
    """`2 seccomp filters`; empty without filters. Unknown where the kernel does not tell."""
    if facts.field("proc/self/status", "Seccomp") == "0":
        return ""
    status = fields_read(facts.text("proc/self/status"))
    return counted_text(int(status.get("Seccomp_filters", "1")), "seccomp filter")


# filters that every system call passes: seccomp(2), proc_pid_status(5)
SECCOMP = ValueCheck(
    seccomp_filters, lambda filters: not filters, "no seccomp filter", Finding(
        Status.NOTE, "{} on every call",
        "Each system call runs the filters: strategies with fewer calls look a little better than "
        "without. The filters may also refuse io_uring and perf.", remark=WITHOUT_SECCOMP))

# libraries that are loaded before all others: ld.so(8)
PRELOAD = ValueCheck(
    lambda facts: facts.probes.preload, lambda preload: not preload, "no LD_PRELOAD", Finding(
        Status.DISTURBS, "LD_PRELOAD={}",
        "Both ends load the library, and it may intercept every measured call.",
        "unset LD_PRELOAD", "export LD_PRELOAD={}"))

# transparent huge pages: Documentation/admin-guide/mm/transhuge.rst of Linux
HUGE_PAGES = ValueCheck(
    lambda facts: (facts.find(HUGE_PAGES_FILE) or "[never]").partition("[")[2].partition("]")[0],
    lambda chosen: chosen != "always", "transparent huge pages: {}", Finding(
        Status.NOTE, "transparent huge pages: {}",
        "Memory comes in pages of 2 MiB: memory_per_connection is rounded up to them, and "
        "khugepaged may move pages during a run.",
        f"echo madvise > /{HUGE_PAGES_FILE}", f"echo {{}} > /{HUGE_PAGES_FILE}"))
