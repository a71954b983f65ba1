# SPDX-License-Identifier: MIT
"""Checks of the CPUs: emulation, clock source, frequencies, idle states, SMT."""

from collections import Counter

from suite.base.runner_words import EXACT_ONLY
from suite.base.units import counted_text
from suite.doctor.facts import SystemFacts
from suite.doctor.finding import Finding, Unknown, disturbs, fine, note

HIDDEN = "in a virtual machine the host controls this"
STEADY_GOVERNOR = "performance"
DEEP_US = 10  # an idle state that takes longer to leave than a request and its reply on one CPU
CPU = "sys/devices/system/cpu"
CLOCK, CLOCKS = (f"sys/devices/system/clocksource/clocksource0/{which}_clocksource"
                 for which in ("current", "available"))
CLOCKS_FAST = ("tsc", "kvm-clock", "arch_sys_counter", "hyperv_clocksource_tsc_page", "timebase",
               "riscv_clocksource")
PROFILE = "sys/firmware/acpi/platform_profile"
# files that switch frequencies above the nominal one, with the values for on and off:
# intel_pstate.rst, cpufreq.rst ("Frequency Boost Support") of Linux
TURBO_SWITCHES = ((f"{CPU}/intel_pstate/no_turbo", "0", "1"), (f"{CPU}/cpufreq/boost", "1", "0"))


def emulation(facts: SystemFacts) -> Finding:
    """A program that executes instructions or system calls: QEMU's TCG, gVisor. The CPU models of
    QEMU have its name. One without the clock source of KVM runs without KVM."""
    model, name = facts.fields("proc/cpuinfo").get("model name", ""), ""
    if "gVisor" in facts.text("proc/version"):
        name = "gVisor"
    elif "TCG" in model:
        name = f"QEMU without KVM ({model})"
    elif model.startswith("QEMU Virtual CPU") and "kvm-clock" not in (facts.find(CLOCKS) or ""):
        name = f"QEMU, it seems without KVM ({model})"
    return (disturbs("emulation", f"emulated by {name}", comparable=EXACT_ONLY) if name
            else fine("no emulation seen"))


def governor(facts: SystemFacts) -> Finding:
    """cpufreq's governors: Documentation/admin-guide/pm/cpufreq.rst of Linux."""
    files = f"{CPU}/cpu*/cpufreq/scaling_governor"
    governors = Counter(facts.matching(files).values())
    if not governors:
        raise Unknown(f"no cpufreq here: {HIDDEN}, else the firmware")
    seen = "governor " + ", ".join(f"{name} on {counted_text(count, 'CPU')}"
                                   for name, count in governors.items())
    before = next((name for name in governors if name != STEADY_GOVERNOR), None)
    if before is None:
        return fine(seen)
    preferences = set(facts.matching(f"{CPU}/cpu*/cpufreq/energy_performance_preference").values())
    return disturbs("governor.mixed" if len(governors) > 1 else "governor",
                    ", preference ".join([seen, *sorted(preferences)]),
                    wanted=STEADY_GOVERNOR, now=before, files=f"/{files}")


def turbo(facts: SystemFacts) -> Finding:
    """Frequencies above the nominal one, by the first switch that exists."""
    for path, on, off in TURBO_SWITCHES:
        value = facts.find(path)
        if value is not None:
            return disturbs("turbo", f"turbo {'on' if value == on else 'off'}", when=value == on,
                            on=on, off=off, path=f"/{path}")
    raise Unknown(f"no switch for turbo here: {HIDDEN}, else the firmware")


def idle_states(facts: SystemFacts) -> Finding:
    """Idle states and how long it takes to leave them: admin-guide/pm/cpuidle.rst of Linux."""
    driver = facts.find(f"{CPU}/cpuidle/current_driver") or "none"
    latencies_us = {path.removesuffix("/latency"): int(value) for path, value in facts.matching(
        f"{CPU}/cpu0/cpuidle/state*/latency").items()}
    if not latencies_us:
        raise Unknown(f"no idle states are visible (driver {driver}): {HIDDEN}")
    deep = {path.rpartition("state")[2]: value for path, value in latencies_us.items()
            if value >= DEEP_US and facts.find(f"{path}/disable") != "1"}
    if not deep:
        return fine(f"idle driver {driver}, states up to {max(latencies_us.values())} us")
    return disturbs("idle_states", f"idle states of up to {max(deep.values())} us ({driver})",
                    files=f"/{CPU}/cpu*/cpuidle/state[{''.join(deep)}]/disable")


def power(facts: SystemFacts) -> Finding:
    """Battery and platform profile: sysfs-class-power, sysfs-platform_profile of Linux."""
    if set(facts.matching("sys/class/power_supply/*/online").values()) == {"0"}:
        return disturbs("power.battery", "runs on battery")
    profile = facts.find(PROFILE)
    if profile not in (None, "performance", "balanced-performance"):
        return disturbs("power.profile", f"platform profile {profile}", path=f"/{PROFILE}",
                        now=profile)
    return fine("no power saving by battery or platform profile")


def clocksource(facts: SystemFacts) -> Finding:
    """The clock source of clock_gettime(2), which may need a system call: Documentation/timers."""
    current, available = facts.text(CLOCK), (facts.find(CLOCKS) or "").split()
    better = next((clock for clock in CLOCKS_FAST if clock in available), None)
    return disturbs("clocksource.better" if better else "clocksource.only",
                    f"clocksource {current}", when=current not in CLOCKS_FAST, better=better,
                    now=current, path=f"/{CLOCK}")


def smt(facts: SystemFacts) -> Finding:
    """Two threads of one core: Documentation/ABI/testing/sysfs-devices-system-cpu of Linux."""
    active = facts.text(f"{CPU}/smt/active") == "1"
    if not active and "hypervisor" in facts.fields("proc/cpuinfo").get("flags", "").split():
        raise Unknown(f"no SMT is shown here: {HIDDEN}")
    return note("smt", f"SMT {'on' if active else 'off'}", when=active, path=f"/{CPU}/smt/control")


def thermal(facts: SystemFacts) -> Finding:
    """The most throttled core since boot (x86: thermal_throttle/core_throttle_count)."""
    counts = facts.matching(f"{CPU}/cpu*/thermal_throttle/core_throttle_count")
    if not counts:
        raise Unknown(f"no count of thermal throttling: {HIDDEN}, or not counted on this processor")
    times = max(map(int, counts.values()))
    return note("thermal", f"throttled for heat {times} times since boot", when=times > 0)


def cpus(facts: SystemFacts) -> Finding:
    """How many CPUs this process may use: sched_getaffinity(2)."""
    count = facts.cpus
    return disturbs("cpus", f"{counted_text(count, 'CPU')} for this process", when=count < 2)
