# SPDX-License-Identifier: MIT
"""The heading of a table: units, machine, placement, congestion control, rounds, A/A interval.
Gives (label, text) pairs. `show`, blocks and pictures use parts of it."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

from suite import stats
from suite.base import grouped
from suite.base.lab_words import LAB_WORDS, lab_text, lab_wanted
from suite.base.runner_words import EXACT_ONLY, LOCAL
from suite.base.units import Scale, counted_text, noise_text
from suite.base.words import words_text
from suite.contrast.contrast import same_differ
from suite.decide.precision import precision_measure
from suite.decide.summary import Summary
from suite.observe.frame import SPLIT_MIN_S, Cell, Matrix
from suite.observe.machines import machines_group, machines_of
from suite.observe.metrics import Metric
from suite.observe.traits import AGREED
from suite.result.machine import Machine, disturbed_text
from suite.result.plan import builds_text, quick_text

WITHIN_BOOT = "within a boot, not between boots"  # qualifies an A/A interval beside ratios of boots
FLOORS_LISTED = 4  # more A/A intervals than these become a range
UNSPLIT_NOTE = (
    f"less than {SPLIT_MIN_S:.0f} s of CPU in a run: the kernel knows the sum, and samples what "
    "of it is user and what is system by ticks, too few here")
SHOWN_ALWAYS = ("workload", "place")  # words that a heading has even if they are the default


def machine_text(machine: Machine, shorten: Callable[[str], str] = str) -> str:
    """A machine in one line: processor, number of CPUs, system and kernel, virtualisation."""
    cpus, virtual = machine.facts.get("cpus_online"), machine.fact("virtualisation")
    parts = [shorten(machine.cpu), counted_text(cpus, "CPU") if cpus else "",
             f"{machine.fact('system')} {machine.fact('kernel')}",
             virtual if virtual != "none" else ""]
    return ", ".join(" ".join(part.split()) for part in parts if part.strip()) or "unknown"


def is_elsewhere(matrix: Matrix) -> bool:
    return any(cell.target != LOCAL for cell in matrix.cells.values())


def machines_line(machines: Iterable[Machine], describe: Callable[[Machine], str],
                  booted: Iterable[Machine] = ()) -> str:
    """These machines in a line, each once. booted: the boots among them, which are counted."""
    counts: Counter[str] = Counter()
    boots = {host for machine in booted for host in machine.hosts}
    for machine in machines_group(machines):
        counts[describe(machine)] += len(boots.intersection(machine.hosts))
    return "; ".join(f"{text}, {count} boots" if count > 1 else text
                     for text, count in counts.items()) or "unknown"


def machines_text(matrix: Matrix, cells: Iterable[Cell] | None = None,
                  describe: Callable[[Machine], str] = machine_text) -> str:
    """The machines of the records, or of these cells. Where cells ran elsewhere, each target with
    its machines. describe: one machine as text."""
    if not is_elsewhere(matrix):
        return machines_line(matrix.result.machines.values(), describe)

    def target_text(target: str, same: Sequence[Cell]) -> str:
        names = {cell.name: target for cell in same}
        booted = machines_of(matrix.result, names, counted=True) if same[0].block else ()
        return machines_line(machines_of(matrix.result, names), describe, booted)

    by_target = grouped((cell.target, cell)
                        for cell in (matrix.cells.values() if cells is None else cells))
    named = grouped((target_text(target, same), target) for target, same in by_target.items())
    return "; ".join(f"{', '.join(targets)}: {text}" for text, targets in named.items())


def emulated_pairs(matrix: Matrix) -> list[tuple[str, str]]:
    """Which targets were emulated, or perhaps; empty if all times are valid."""
    found = grouped(dict.fromkeys((cell.emulated, cell.target) for cell in matrix.cells.values()
                                  if cell.emulated))
    return [(reason, f"{', '.join(targets)}: {EXACT_ONLY}" if is_elsewhere(matrix) else EXACT_ONLY)
            for reason, targets in found.items()]


def disturbances_text(matrix: Matrix) -> str:
    """What disturbed a machine when the runner started; empty if nothing did."""
    return disturbed_text(inspection for machine in matrix.result.machines.values()
                          for inspection in machine.inspections)


def congestion_text(matrix: Matrix) -> str:
    """The congestion control that the sockets reported; `none` for sockets without one."""
    names = {name for traits in matrix.traits for name in traits.congestion}
    return ", ".join(sorted(names)) or ("none" if any(traits.threads for traits in matrix.traits)
                                        else "unknown")


def places_text(cells: Iterable[Cell]) -> str:
    values = dict.fromkeys(cell.words.get("place", "") for cell in cells)
    return ", ".join(value for value in values if value) or "unknown"


def labs_text(cells: Iterable[Cell]) -> str:
    """The links of the labs of these cells: each word with all its values. Empty without a lab."""
    cells = [cell for cell in cells if lab_wanted(cell.words)]
    values = {key: dict.fromkeys(cell.words[key] for cell in cells if key in cell.words)
              for key in LAB_WORDS}
    return lab_text({key: ",".join(found) for key, found in values.items() if found})


def security_text(matrix: Matrix) -> str:
    """The TLS libraries and what the ends negotiated; empty if all connections were plain."""
    layers = sorted({(end.security, end.library) for traits in matrix.traits
                     for end in traits.ends if end.security != "plain"})
    named = [f"{layer} ({library})" if library else layer for layer, library in layers]
    agreed = [" or ".join(sorted({value for traits in matrix.traits
                                  for _, key, value in traits.agreed if key == wanted}))
              for wanted in AGREED]
    if agreed[0]:
        agreed[0] = f"TLS {agreed[0]}"
    return "; ".join(filter(None, [", ".join(named), ", ".join(filter(None, agreed))]))


def subjects_text(matrix: Matrix) -> str:
    """The subjects with their versions. A subject with several programs has the file of each."""
    programs = list(dict.fromkeys(program for cell in matrix.cells.values()
                                  for traits in matrix.traits_of(cell.name)
                                  for program in traits.subjects))
    counts = Counter(program.subject for program in programs)
    return "; ".join(dict.fromkeys(
        (program.version if program.subject in program.version.split()
         else f"{program.subject}: {program.version}".rstrip(": "))
        + (f" ({program.path} {program.digest})" if counts[program.subject] > 1 else "")
        for program in programs))


def rounds_heading(matrix: Matrix) -> str:
    plan, done = matrix.result.plan, matrix.rounds
    sessions = plan.sessions
    planned = max(session.last for session in sessions)
    of = f" of {planned}" if planned > done else ""
    several = f" in {len(sessions)} sessions" if len(sessions) > 1 else ""
    boots = "one boot of each kernel in each, " if any(matrix.blocks) else ""
    return (f"{done}{of}{several}, {boots}every cell once in each, in fresh random order"
            + (f", seed {plan.seed}" if plan.seed is not None else "") + "; medians")


def same_text(summary: Summary, metric: Metric) -> str:
    """The A/A intervals of the shown baselines: `5.8% of time_per_message, A and A' differ in 0 of
    2`, `0.9% (together), 12% (apart) of ...`, or for many `0.9% to 12% of ...`; empty without."""
    matrix, shown = summary.matrix, {cell.name for cell in summary.matrix.cells_compared}
    same = {name: one for name, one in summary.same[metric.name].items() if name in shown}
    reaches = {name: reach for name, one in same.items() if (reach := one.reach)}
    if not reaches:
        return ""
    texts = [noise_text(reach) for reach in reaches.values()]
    if len(reaches) > FLOORS_LISTED:
        texts = [" to ".join(map(noise_text, (min(reaches.values()), max(reaches.values()))))]
    elif len(reaches) > 1:
        cells = [matrix.whole.cells[name].axes for name in reaches]
        varying = [axis for axis in matrix.axes if len({axes[axis] for axes in cells}) > 1]
        texts = [f"{text} ({' '.join(axes[axis] or 'none' for axis in varying)})"
                 for text, axes in zip(texts, cells, strict=True)]
    differing = sum(one.p is not None and one.p <= stats.ALPHA for one in same.values())
    return (f"{', '.join(texts)} of {metric.name}, A and A' differ in {differing} of {len(same)}"
            + ("; too many: no change is claimed" if same_differ(matrix, metric.name) else ""))


def sames_text(summary: Summary) -> str:
    """The A/A intervals of each metric that is no count; empty if all metrics are counts."""
    timed = [metric for metric in summary.metrics if not metric.counts]
    parts = list(filter(None, (same_text(summary, metric) for metric in timed)))
    if parts and any(summary.matrix.blocks):
        parts.append(WITHIN_BOOT)
    if parts or not timed:
        return "; ".join(parts)
    if all(cell.emulated for cell in summary.matrix.cells.values() if cell.runs_ok):
        return "not known: no times are shown"
    return f"not known: needs {stats.ROUNDS_NEEDED} rounds with the baseline run twice"


def coverage_text(matrix: Matrix, cells: Iterable[Cell], metric: Metric) -> str:
    """`latency_p99 known in 7 of 10 rounds of nodelay`, or the number of such cells; else empty."""
    incomplete = [cell for cell in cells if matrix.coverage_text(cell, metric.name)]
    if not incomplete:
        return ""
    if len(incomplete) > 1:
        return f"{metric.name} known in a part of the rounds of {len(incomplete)} cells"
    known = matrix.coverage_text(incomplete[0], metric.name).partition(";")[0]
    axes = " ".join(value for value in incomplete[0].axes.values() if value)
    return f"{known} of {axes}" if axes else known


def words_common(cells: Iterable[Cell], excluded: Iterable[str]) -> dict[str, str]:
    """The words of the plan and SHOWN_ALWAYS that all cells share, without the excluded ones."""
    words = [{key: value for key, value in {**cell.words, **cell.given}.items()
              if key in (*SHOWN_ALWAYS, *cell.given)} for cell in cells]
    return {key: value for key, value in next(iter(words), {}).items()
            if key not in set(excluded) and all(own.get(key) == value for own in words)}


def machine_pairs(matrix: Matrix) -> list[tuple[str, str]]:
    plan, precision = matrix.result.plan, precision_measure(matrix)
    timers = ", ".join(filter(None, matrix.frame["hyperfine"].unique()))
    timed = "the load" if matrix.frame["subject_cpu"].notna().any() else "both ends"
    pairs = [
        ("words", words_text(words_common(matrix.cells.values(), ("place", *matrix.axes)))),
        ("subject", subjects_text(matrix)),
        ("machine", machines_text(matrix)),
        *emulated_pairs(matrix),
        ("disturbed", disturbances_text(matrix)),
        ("place", f"{places_text(matrix.cells.values())}; congestion {congestion_text(matrix)}"),
        ("security", security_text(matrix)), ("lab", labs_text(matrix.cells.values())),
        ("timer", timers and f"hyperfine {timers}: whole processes, {timed}"),
        ("builds", builds_text(plan)),
        ("quick", "" if plan.quick is None else quick_text(plan.quick)),
        ("rounds", rounds_heading(matrix)),
        ("until", precision.text if precision else ""),
    ]
    return [(label, text) for label, text in pairs if text]


def heading_pairs(summary: Summary, scales: Mapping[str, Scale]) -> list[tuple[str, str]]:
    metrics = [(metric.name, ", ".join(filter(None, (
        scales[metric.name].unit, f"{metric.better} is better")))) for metric in summary.metrics]
    pairs = [("source", summary.matrix.result.scenario.source), *metrics,
             *machine_pairs(summary.matrix), ("A/A interval", sames_text(summary))]
    return [(label, text) for label, text in pairs if text]


def uncounted_note(cell: Cell) -> str:
    """Why a cell under TLS has no count of records: its TLS layer does not report them."""
    return f"{cell.uncounted} does not show its records: they are not counted"
