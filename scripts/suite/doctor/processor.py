# SPDX-License-Identifier: MIT
"""The CPUs themselves: how fast they run, how deep they sleep, what tells the time, who pretends to
be one."""

from __future__ import annotations

from collections import Counter

from suite.base.units import counted_text
from suite.doctor.asked import Asked
from suite.doctor.facts import CLOCKSOURCE, CPU, Facts
from suite.doctor.finding import Answer, Status, Unknown, fine

HIDDEN = "in a virtual machine it is the host's matter"
STEADY_GOVERNOR = "performance"
DEEP_US = 10  # an idle state that takes longer to leave than a request and its reply on one CPU
CLOCKS_FAST = ("tsc", "kvm-clock", "arch_sys_counter", "hyperv_clocksource_tsc_page", "timebase",
               "riscv_clocksource")


def processor_field(facts: Facts, name: str) -> str:
    """The first value with that name in /proc/cpuinfo, empty where there is none."""
    for line in facts.text("proc/cpuinfo").splitlines():
        key, _, value = line.partition(":")
        if key.strip() == name:
            return value.strip()
    return ""


def is_virtual(facts: Facts) -> bool:
    """Whether a hypervisor says of itself that it is one (x86: a CPU flag)."""
    return "hypervisor" in processor_field(facts, "flags").split()


def emulator_of(facts: Facts) -> str:
    """What carries out this machine's instructions in place of a CPU or a kernel; empty where
    nothing seems to.

    QEMU's own CPU models name themselves; one without KVM's clock under QEMU's firmware has no KVM
    below it.
    """
    if "gVisor" in facts.text("proc/version"):
        return "gVisor"
    model = processor_field(facts, "model name")
    if "TCG" in model:
        return f"QEMU without KVM ({model})"
    clocks = (facts.find(f"{CLOCKSOURCE}/available_clocksource") or "").split()
    if model.startswith("QEMU Virtual CPU") and "kvm-clock" not in clocks:
        return f"QEMU, it seems without KVM ({model})"
    return ""


def emulation_look(facts: Facts, asked: Asked) -> Answer:
    """Instructions or system calls that are carried out by a program: QEMU's TCG, gVisor."""
    emulator = emulator_of(facts)
    if not emulator:
        return fine("a hypervisor, no emulation seen" if is_virtual(facts) else "no emulation seen")
    return Answer(
        Status.DISTURBS, f"emulated by {emulator}",
        "Times are those of the emulator, and calls weigh otherwise against bytes: counts may be believed, times and "
        "their ratios not.",
        remark="measure on the machine itself or under KVM; what such a system does wrong may still be looked at")


def cpus_look(facts: Facts, asked: Asked) -> Answer:
    """How many CPUs this process may use: sched_getaffinity(2)."""
    cpus = facts.probes.cpus
    if cpus > 1:
        return fine(counted_text(cpus, "CPU"))
    return Answer(
        Status.DISTURBS, "1 CPU for this process",
        "place=apart, the default, is unsupported; both ends and everybody else share it.",
        remark="a VM or a container: give it two; a shell: taskset -cp 0-1 $$ where the machine has more")


def governor_look(facts: Facts, asked: Asked) -> Answer:
    """cpufreq's governors: Documentation/admin-guide/pm/cpufreq.rst of Linux."""
    governors = Counter(facts.matching(f"{CPU}/cpu*/cpufreq/scaling_governor").values())
    if not governors:
        raise Unknown(f"no cpufreq here: {HIDDEN}, else the firmware's")
    seen = "governor " + ", ".join(f"{name} on {counted_text(count, 'CPU')}"
                                   for name, count in governors.items())
    preferences = set(facts.matching(f"{CPU}/cpu*/cpufreq/energy_performance_preference").values())
    if set(governors) == {STEADY_GOVERNOR}:
        return fine(seen)
    files = f"{CPU}/cpu*/cpufreq/scaling_governor"
    before = next(name for name in governors if name != STEADY_GOVERNOR)
    return Answer(
        Status.DISTURBS, seen + (f" ({', '.join(sorted(preferences))})" if preferences else ""),
        "The clock follows the load some milliseconds late: what rests between requests (rate=, place=apart) runs "
        "slower than what never sleeps, and strategies are told apart by that instead.",
        f"echo {STEADY_GOVERNOR} | tee /{files}", f"echo {before} | tee /{files}",
        "" if len(governors) == 1
        else "CPUs differ: the command that takes it back gives all of them one governor")


def turbo_look(facts: Facts, asked: Asked) -> Answer:
    """Clocks above the nominal one: intel_pstate.rst, cpufreq.rst ("Frequency Boost Support") of
    Linux."""
    for path, on, off in ((f"{CPU}/intel_pstate/no_turbo", "0", "1"),
                          (f"{CPU}/cpufreq/boost", "1", "0")):
        value = facts.find(path)
        if value is None:
            continue
        if value != on:
            return fine("turbo off")
        return Answer(
            Status.DISTURBS, "turbo on",
            "How fast a CPU is depends on its heat and on how many are busy: place=together and apart run at different "
            "clocks, and later rounds slower than the first.", f"echo {off} > /{path}",
            f"echo {on} > /{path}")
    raise Unknown(f"no switch for turbo here: {HIDDEN}, else the firmware's")


def idle_look(facts: Facts, asked: Asked) -> Answer:
    """Idle states and how long it takes to leave them: Documentation/admin-guide/pm/cpuidle.rst of
    Linux.

    The effect is that of docs/methodology.md, "Under load".
    """
    driver = facts.find(f"{CPU}/cpuidle/current_driver") or "none"
    latencies = facts.matching(f"{CPU}/cpu0/cpuidle/state*/latency")
    if not latencies:
        raise Unknown(f"no idle states to be seen (driver {driver}): {HIDDEN}")
    states = {path.removesuffix("/latency"): int(value) for path, value in latencies.items()}
    deep = {path: value for path, value in states.items()
            if value >= DEEP_US and facts.find(f"{path}/disable") != "1"}
    if not deep:
        return fine(f"idle driver {driver}, states up to {max(states.values())} us")
    numbers = "".join(path.rpartition("state")[2] for path in deep)
    files = f"/{CPU}/cpu*/cpuidle/state[{numbers}]/disable"
    return Answer(
        Status.DISTURBS, f"idle states of up to {max(deep.values())} us ({driver})",
        "A CPU that has slept takes that long to wake: it is in every request of place=apart and of an open loop, "
        "whose median here was 1.05 times as high at half of the capacity and 1.31 times at a tenth of it.",
        f"echo 1 | tee {files}", f"echo 0 | tee {files}")


def power_look(facts: Facts, asked: Asked) -> Answer:
    """Batteries and the platform's profile: sysfs-class-power, sysfs-platform_profile of Linux."""
    offline = [path for path, value in facts.matching("sys/class/power_supply/*/online").items()
               if value == "0"]
    supplies = facts.matching("sys/class/power_supply/*/online")
    profile = facts.find("sys/firmware/acpi/platform_profile")
    if supplies and len(offline) == len(supplies):
        return Answer(Status.DISTURBS, "runs on battery",
                      "Firmware caps the clock, and other than under mains.",
                      remark="plug it in")
    if profile not in (None, "performance", "balanced-performance"):
        return Answer(Status.DISTURBS, f"platform profile {profile}",
                      "Firmware holds clocks down to save power, and raises them late.",
                      "echo performance > /sys/firmware/acpi/platform_profile",
                      f"echo {profile} > /sys/firmware/acpi/platform_profile")
    return fine("no power saving by battery or platform profile")


def smt_look(facts: Facts, asked: Asked) -> Answer:
    """Two threads on one core: Documentation/ABI/testing/sysfs-devices-system-cpu of Linux."""
    active = facts.text(f"{CPU}/smt/active")
    if active != "1":
        if is_virtual(facts):
            raise Unknown(f"no SMT is shown here: {HIDDEN}")
        return fine("SMT off")
    return Answer(
        Status.NOTE, "SMT on",
        "Whatever runs on the sibling of a measured CPU takes part of its core, and no CPU time shows it. uncork never "
        "puts its two ends on siblings; others do.",
        f"echo off > /{CPU}/smt/control", f"echo on > /{CPU}/smt/control")


def thermal_look(facts: Facts, asked: Asked) -> Answer:
    """How often a core was slowed down for its heat since boot (x86:
    thermal_throttle/core_throttle_count)."""
    counts = facts.matching(f"{CPU}/cpu*/thermal_throttle/core_throttle_count")
    if not counts:
        raise Unknown(f"no count of thermal throttling: {HIDDEN}, or not counted on this processor")
    worst = max(map(int, counts.values()))
    if worst == 0:
        return fine("never throttled for heat")
    return Answer(
        Status.NOTE, f"throttled for heat {worst} times since boot",
        "A core that is too hot is slowed down: later runs are slower than earlier ones. Rounds in random order keep "
        "that out of ratios, not out of medians.", remark="cool it, or lower the clock: turbo off")


def clocksource_look(facts: Facts, asked: Asked) -> Answer:
    """Which clock answers clock_gettime(2), and whether without a system call: Documentation/timers
    of Linux."""
    current = facts.text(f"{CLOCKSOURCE}/current_clocksource")
    if current in CLOCKS_FAST:
        return fine(f"clocksource {current}")
    available = (facts.find(f"{CLOCKSOURCE}/available_clocksource") or "").split()
    better = next((clock for clock in CLOCKS_FAST if clock in available), "")
    path = f"/{CLOCKSOURCE}/current_clocksource"
    return Answer(
        Status.DISTURBS, f"clocksource {current}",
        "Every look at the clock, once for each message, is a system call that may wait for a slow device: it is in "
        "every time, and weighs most on the shortest.",
        *((f"echo {better} > {path}", f"echo {current} > {path}") if better else ("", "")),
        remark="" if better
        else "the kernel trusts no faster one here: dmesg says why (clocksource, tsc)")
