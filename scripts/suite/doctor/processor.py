# SPDX-License-Identifier: MIT
"""Checks of the CPUs: emulation, clock source, frequencies, idle states, SMT."""

from collections import Counter

from suite.base.runner_words import EXACT_ONLY
from suite.base.units import counted_text
from suite.doctor.facts import CLOCKSOURCE, CPU_FOLDER, SystemFacts, ValueCheck, fields_read
from suite.doctor.finding import CellWords, Finding, Status, Unknown

HIDDEN = "in a virtual machine the host controls this"
STEADY_GOVERNOR = "performance"
DEEP_US = 10  # an idle state that takes longer to leave than a request and its reply on one CPU
CLOCKS_FAST = ("tsc", "kvm-clock", "arch_sys_counter", "hyperv_clocksource_tsc_page", "timebase",
               "riscv_clocksource")
PROFILE = "sys/firmware/acpi/platform_profile"
# files that switch frequencies above the nominal one, with the values for on and off:
# intel_pstate.rst, cpufreq.rst ("Frequency Boost Support") of Linux
TURBO_SWITCHES = ((f"{CPU_FOLDER}/intel_pstate/no_turbo", "0", "1"),
                  (f"{CPU_FOLDER}/cpufreq/boost", "1", "0"))


def is_virtual(facts: SystemFacts) -> bool:
    """Whether the CPU reports a hypervisor (x86: a flag)."""
    return "hypervisor" in fields_read(facts.text("proc/cpuinfo")).get("flags", "").split()


def clocks_available(facts: SystemFacts) -> list[str]:
    """The clock sources that the kernel could use; empty where it does not tell."""
    return (facts.find(f"{CLOCKSOURCE}/available_clocksource") or "").split()


def emulator(facts: SystemFacts) -> str:
    """The program that emulates this machine's CPU or kernel; empty where none is found. The CPU
    models of QEMU have its name. One without the clock source of KVM runs without KVM."""
    if "gVisor" in facts.text("proc/version"):
        return "gVisor"
    model = fields_read(facts.text("proc/cpuinfo")).get("model name", "")
    if "TCG" in model:
        return f"QEMU without KVM ({model})"
    if model.startswith("QEMU Virtual CPU") and "kvm-clock" not in clocks_available(facts):
        return f"QEMU, it seems without KVM ({model})"
    return ""


def emulation_finding(facts: SystemFacts, words: CellWords) -> Finding:
    """A program that executes instructions or system calls: QEMU's TCG, gVisor."""
    name = emulator(facts)
    if not name:
        return Finding.fine(("a hypervisor, " if is_virtual(facts) else "") + "no emulation seen")
    return Finding(
        Status.DISTURBS, f"emulated by {name}",
        f"Times are those of the emulator: {EXACT_ONLY}.",
        remark="measure on the machine itself or under KVM; faults of such a system can still be "
               "studied")


def governor_finding(facts: SystemFacts, words: CellWords) -> Finding:
    """cpufreq's governors: Documentation/admin-guide/pm/cpufreq.rst of Linux."""
    files = f"{CPU_FOLDER}/cpu*/cpufreq/scaling_governor"
    governors = Counter(facts.matching(files).values())
    if not governors:
        raise Unknown(f"no cpufreq here: {HIDDEN}, else the firmware")
    seen = "governor " + ", ".join(f"{name} on {counted_text(count, 'CPU')}"
                                   for name, count in governors.items())
    preferences = sorted(set(facts.matching(
        f"{CPU_FOLDER}/cpu*/cpufreq/energy_performance_preference").values()))
    before = next((name for name in governors if name != STEADY_GOVERNOR), None)
    if before is None:
        return Finding.fine(seen)
    return Finding(
        Status.DISTURBS, seen + (f" ({', '.join(preferences)})" if preferences else ""),
        "The frequency follows the load some milliseconds late. Ends that sleep between requests "
        "(rate=, place=apart) run slower than ends that never sleep, and that hides what a "
        "strategy costs.",
        f"echo {STEADY_GOVERNOR} | tee /{files}", f"echo {before} | tee /{files}",
        "" if len(governors) == 1
        else "CPUs differ: the undo command gives all of them one governor")


def turbo_finding(facts: SystemFacts, words: CellWords) -> Finding:
    """Frequencies above the nominal one, by the first switch that exists."""
    for path, on, off in TURBO_SWITCHES:
        value = facts.find(path)
        if value == on:
            return Finding(
                Status.DISTURBS, "turbo on",
                "The speed of a CPU depends on its heat and on how many CPUs are busy: "
                "place=together and apart run at different frequencies, and later rounds run "
                "slower than the first.",
                f"echo {off} > /{path}", f"echo {on} > /{path}")
        if value is not None:
            return Finding.fine("turbo off")
    raise Unknown(f"no switch for turbo here: {HIDDEN}, else the firmware")


def idle_finding(facts: SystemFacts, words: CellWords) -> Finding:
    """Idle states and how long it takes to leave them: Documentation/admin-guide/pm/cpuidle.rst of
    Linux. The effect is from docs/load.md, "An open loop"."""
    driver = facts.find(f"{CPU_FOLDER}/cpuidle/current_driver") or "none"
    latencies_us = {path.removesuffix("/latency"): int(value) for path, value in facts.matching(
        f"{CPU_FOLDER}/cpu0/cpuidle/state*/latency").items()}
    if not latencies_us:
        raise Unknown(f"no idle states are visible (driver {driver}): {HIDDEN}")
    deep = {path.rpartition("state")[2]: value for path, value in latencies_us.items()
            if value >= DEEP_US and facts.find(f"{path}/disable") != "1"}
    if not deep:
        return Finding.fine(f"idle driver {driver}, states up to {max(latencies_us.values())} us")
    files = f"/{CPU_FOLDER}/cpu*/cpuidle/state[{''.join(deep)}]/disable"
    return Finding(
        Status.DISTURBS, f"idle states of up to {max(deep.values())} us ({driver})",
        "A CPU that sleeps takes that long to wake. Every request of place=apart and of an open "
        "loop includes it: the median of an open loop was 1.05 times as high here at half of the "
        "capacity, and 1.31 times at a tenth of it.",
        f"echo 1 | tee {files}", f"echo 0 | tee {files}")


def power_finding(facts: SystemFacts, words: CellWords) -> Finding:
    """Battery and platform profile: sysfs-class-power, sysfs-platform_profile of Linux."""
    if set(facts.matching("sys/class/power_supply/*/online").values()) == {"0"}:
        return Finding(Status.DISTURBS, "runs on battery",
                       "The firmware limits the clock, unlike on mains.", remark="plug it in")
    profile = facts.find(PROFILE)
    if profile not in (None, "performance", "balanced-performance"):
        return Finding(Status.DISTURBS, f"platform profile {profile}",
                       "The firmware keeps frequencies low to save power, and raises them late.",
                       f"echo performance > /{PROFILE}", f"echo {profile} > /{PROFILE}")
    return Finding.fine("no power saving by battery or platform profile")


def clocksource_finding(facts: SystemFacts, words: CellWords) -> Finding:
    """The clock source of clock_gettime(2), which may need a system call: Documentation/timers."""
    current = facts.text(f"{CLOCKSOURCE}/current_clocksource")
    if current in CLOCKS_FAST:
        return Finding.fine(f"clocksource {current}")
    better = next((clock for clock in CLOCKS_FAST if clock in clocks_available(facts)), None)
    path = f"/{CLOCKSOURCE}/current_clocksource"
    return Finding(
        Status.DISTURBS, f"clocksource {current}",
        "Every reading of the clock, one for each message, is a system call that may wait for a "
        "slow device. It is in every time, and distorts the shortest most.",
        *((f"echo {better} > {path}", f"echo {current} > {path}") if better else (
            "", "", "the kernel trusts no faster one here: dmesg says why (clocksource, tsc)")))


def smt_active(facts: SystemFacts) -> str:
    """1 where two threads share one core: Documentation/ABI/testing/sysfs-devices-system-cpu of
    Linux. Unknown where a virtual machine shows none."""
    active = facts.text(f"{CPU_FOLDER}/smt/active")
    if active != "1" and is_virtual(facts):
        raise Unknown(f"no SMT is shown here: {HIDDEN}")
    return active


def throttled_most(facts: SystemFacts) -> int:
    """The most throttled core since boot (x86: thermal_throttle/core_throttle_count)."""
    counts = facts.matching(f"{CPU_FOLDER}/cpu*/thermal_throttle/core_throttle_count")
    if not counts:
        raise Unknown(f"no count of thermal throttling: {HIDDEN}, or not counted on this processor")
    return max(map(int, counts.values()))


SMT = ValueCheck(
    smt_active, lambda active: active != "1", "SMT off", Finding(
        Status.NOTE, "SMT on",
        "A program on the sibling of a measured CPU takes part of its core, and no CPU time shows "
        "that. uncork never puts its two ends on siblings; the scheduler may put others there.",
        f"echo off > /{CPU_FOLDER}/smt/control", f"echo on > /{CPU_FOLDER}/smt/control"))

THERMAL = ValueCheck(
    throttled_most, lambda times: times == 0, "never throttled for heat", Finding(
        Status.NOTE, "throttled for heat {} times since boot",
        "A core that is too hot is slowed down: later runs are slower than earlier ones. Rounds in "
        "random order keep this out of ratios, not out of medians.",
        remark="cool it, or lower the frequency: turbo off"))

# how many CPUs this process may use: sched_getaffinity(2)
CPUS = ValueCheck(
    lambda facts: counted_text(facts.probes.cpus, "CPU"), lambda cpus: cpus != "1 CPU", "{}",
    Finding(
        Status.DISTURBS, "{} for this process",
        "place=apart, the default, is unsupported; both ends and all other programs share it.",
        remark="for a VM or a container: give it two; for a shell: taskset -cp 0-1 $$ where the "
               "machine has more"))
