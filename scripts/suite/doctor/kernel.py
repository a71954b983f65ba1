# SPDX-License-Identifier: MIT
"""Checks of the kernel: what slows its calls, and what it may refuse to a run."""

import contextlib
import resource

from suite.base.units import counted_text, size_text
from suite.doctor.facts import NAMES, SystemFacts
from suite.doctor.finding import Finding, Unknown, disturbs, fine, note

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
PORTS_LEAST = 20_000  # Linux has 28232 by default
WAITING_SHARE = 0.5  # of the ports in TIME_WAIT: above it a run may find no free one
CONNECTIONS_MANY = 1000  # from here on a cell may run out of ports
MEMLOCK_LEAST_BYTES = 8 << 20  # Linux' own default since 5.16
CAPABILITY_IPC_LOCK = 14  # linux/capability.h
FILES_SPARE = 64  # descriptors that a process has beyond its connections
FILES_LEAST = 4096


def kernel_debug(facts: SystemFacts) -> Finding:
    """Options that check each access or lock: dev-tools and lib/Kconfig.debug of Linux."""
    config, boot_words = facts.kernel_config(), facts.text("proc/cmdline").split()
    built = [name for name in HEAVY + LIGHT
             if config.get(name) == "y" and config.get(SWITCHED_OFF.get(name, "")) != "y"]
    booted = [word for word in boot_words if word.startswith(BOOT_SWITCHES)]
    if heavy := [name for name in built if name in HEAVY] + booted:
        return disturbs("kernel_debug.heavy", f"debugging kernel: {', '.join(heavy)}",
                        or_booted=" or set at boot" if booted else "")
    if built:
        return note("kernel_debug.light", f"kernel with {', '.join(built)}")
    return fine("no debugging kernel")


def cpu_accounting(facts: SystemFacts) -> Finding:
    """How the kernel splits user and system time: CONFIG_TICK_CPU_ACCOUNTING of init/Kconfig,
    cputime_adjust(). CONFIG_VIRT_CPU_ACCOUNTING_GEN counts switches on CPUs of nohz_full= only."""
    config = facts.kernel_config()
    if config.get("VIRT_CPU_ACCOUNTING_NATIVE") == "y" or (
            config.get("VIRT_CPU_ACCOUNTING_GEN") == "y"
            and any(word.startswith("nohz_full=") for word in facts.text("proc/cmdline").split())):
        return fine("CPU time is counted at each switch")
    tick_hz = int(config.get("HZ", "0")) or 250
    return note("cpu_accounting", f"CPU time is split by ticks of {1000 // tick_hz} ms")


def tracers(facts: SystemFacts) -> Finding:
    """ptrace(2) of this process; strace(1), perf(1) and others; what ftrace traces now:
    Documentation/trace/ftrace.rst of Linux. A tracer that was found disturbs in any case."""
    tracer, running = facts.fields("proc/self/status")["TracerPid"], facts.matching(NAMES)
    seen = [f"this process is traced by {tracer}"] if tracer != "0" else []
    seen += [name for name in TRACER_PROCESSES if name in running.values()]
    fixes, undos = [], []
    with contextlib.suppress(Unknown) if seen else contextlib.nullcontext():
        folder = next((folder for folder in TRACING
                       if facts.find(f"{folder}/current_tracer") is not None), None)
        if folder is None:
            raise Unknown("tracefs is not mounted: mount -t tracefs nodev /sys/kernel/tracing "
                          "shows it to root")
        for file, quiet, what in (("current_tracer", "nop", "ftrace's {}"),
                                  ("events/enable", "0", "events of ftrace")):
            path, value = f"/{folder}/{file}", facts.find(f"{folder}/{file}") or quiet
            if value != quiet:
                seen.append(what.format(value))
                fixes.append(f"echo {quiet} > {path}")
                undos += [f"echo {value} > {path}"] if value not in EVENTS_PARTLY else []
        for name in ("kprobe", "uprobe"):
            probes = (facts.find(f"{folder}/{name}_events") or "").splitlines()
            seen += [counted_text(len(probes), name)] if probes else []
    return disturbs("tracers", f"tracers: {', '.join(seen) or 'none'}", when=seen != [],
                    fixes="; ".join(fixes), undos="; ".join(undos))


def bpf_programs(facts: SystemFacts) -> Finding:
    """BPF programs that trace the kernel or inspect packets: bpf(2)."""
    found = facts.programs
    tracing, packets = ([f"{found[kind]} {name}" for kind, name in names.items() if kind in found]
                        for names in (TRACING_PROGRAMS, PACKET_PROGRAMS))
    seen = f"BPF programs: {', '.join(tracing + packets)}"
    if tracing:
        return disturbs("bpf_programs", seen)
    return note("bpf_programs", seen) if packets else fine("no BPF programs")


def realtime_throttle(facts: SystemFacts) -> Finding:
    """sched(7)."""
    name = "kernel.sched_rt_runtime_us"
    runtime_us, period_us = (int(facts.sysctl(each))
                             for each in (name, "kernel.sched_rt_period_us"))
    if runtime_us < 0:
        return note("realtime_throttle.off", f"{name}=-1", wanted=period_us * 95 // 100)
    return (note if facts.words.unplanned else disturbs)(
        "realtime_throttle.on", f"real-time threads may use {runtime_us // 1000} ms of each "
        f"{period_us // 1000} ms", now=runtime_us)


def seccomp(facts: SystemFacts) -> Finding:
    """Filters that every system call passes: seccomp(2), proc_pid_status(5)."""
    status = facts.fields("proc/self/status")
    if status["Seccomp"] == "0":
        return fine("no seccomp filter")
    count = int(status.get("Seccomp_filters", "1"))
    return note("seccomp", f"{counted_text(count, 'seccomp filter')} on every call")


def preload(facts: SystemFacts) -> Finding:
    """Libraries that are loaded before all others: ld.so(8)."""
    now = facts.preload
    return disturbs("preload", f"LD_PRELOAD={now}", when=now != "", now=now)


def huge_pages(facts: SystemFacts) -> Finding:
    """Transparent huge pages: Documentation/admin-guide/mm/transhuge.rst of Linux."""
    path = "sys/kernel/mm/transparent_hugepage/enabled"
    chosen = (facts.find(path) or "[never]").partition("[")[2].partition("]")[0]
    return note("huge_pages", f"transparent huge pages: {chosen}", when=chosen == "always",
                path=f"/{path}", now=chosen)


def io_uring(facts: SystemFacts) -> Finding:
    """Whether io_uring_setup(2) is permitted; the sysctl: admin-guide/sysctl/kernel.rst."""
    refusal = facts.ring_refusal
    setting = facts.find("proc/sys/kernel/io_uring_disabled") or "0"
    if not refusal:
        return fine("io_uring is permitted")
    if setting != "0":
        return disturbs("io_uring.off", f"io_uring is off (kernel.io_uring_disabled={setting})",
                        now=setting)
    if facts.fields("proc/self/status")["Seccomp"] == "0":
        return disturbs("io_uring.missing", f"io_uring is refused by the kernel ({refusal})")
    return disturbs("io_uring.filtered", f"io_uring is refused by a seccomp filter ({refusal})")


def memlock(facts: SystemFacts) -> Finding:
    """The limit of pinned memory, without CAP_IPC_LOCK: getrlimit(2), mm_account_pinned_pages()."""
    limit = facts.hard_limit(resource.RLIMIT_MEMLOCK)
    if (limit is None
            or int(facts.fields("proc/self/status")["CapEff"], 16) >> CAPABILITY_IPC_LOCK & 1):
        return fine("memory may be locked without limit")
    return disturbs("memlock", f"{size_text(limit)} may be locked",
                    when=limit < MEMLOCK_LEAST_BYTES, now=limit)


def open_files(facts: SystemFacts) -> Finding:
    """Descriptors of one process: getrlimit(2). uncork raises the soft limit to the hard one."""
    limit, words = facts.hard_limit(resource.RLIMIT_NOFILE), facts.words
    needed = FILES_LEAST if words.unplanned else 2 * words.largest("connections") + FILES_SPARE
    if limit is None:
        return fine("open files without limit")
    return (note if words.unplanned else disturbs)(
        "open_files", f"{limit} open files", when=limit < needed, wanted=max(needed, FILES_LEAST),
        now=limit)


def ports(facts: SystemFacts) -> Finding:
    """`tw` of /proc/net/sockstat: ip(7), docs/load.md, "A connection for every request"."""
    limits = facts.sysctl("net.ipv4.ip_local_port_range")
    first, last = map(int, limits.split())
    count = last - first + 1
    tcp = facts.fields("proc/net/sockstat")["TCP"].split()
    waiting = int(tcp[tcp.index("tw") + 1])
    few = count < max(PORTS_LEAST, facts.words.largest("connections"))
    seen = f"{counted_text(count, 'port')} for connections, {waiting} in TIME_WAIT"
    if not few and waiting < WAITING_SHARE * count:
        return fine(seen)
    return disturbs("ports.few" if few else "ports.waiting", seen, now=limits,
                    reuse=facts.sysctl("net.ipv4.tcp_tw_reuse"))
