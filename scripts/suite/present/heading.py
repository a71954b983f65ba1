# SPDX-License-Identifier: MIT
"""The heading of a table: units, machine, placement, congestion control, rounds, A/A interval.
Gives (label, text) pairs. `show`, blocks and pictures use parts of it."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping

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
from suite.observe.machines import machines_of
from suite.observe.metrics import Metric
from suite.observe.traits import AGREED
from suite.result.machine import Machine, disturbed_text
from suite.result.plan import builds_text, quick_text

UNSPLIT_NOTE = (f"less than {SPLIT_MIN_S:.0f} s of CPU in a run: the kernel splits it into user "
                "and system by ticks, too few here")


def machine_text(machine: Machine) -> str:
    """A machine in one line: processor, number of CPUs, system and kernel, virtualisation."""
    cpus, virtual = machine.facts.get("cpus_online"), machine.fact("virtualisation")
    parts = [machine.cpu, counted_text(cpus, "CPU") if cpus else "",
             f"{machine.fact('system')} {machine.fact('kernel')}",
             virtual if virtual != "none" else ""]
    return ", ".join(" ".join(part.split()) for part in parts if part.strip()) or "unknown"


def machines_text(matrix: Matrix, cells: Iterable[Cell] | None = None,
                  describe: Callable[[Machine], str] = machine_text) -> str:
    """The machines of the records, or of these cells. Where cells ran elsewhere, each target with
    its machines. describe: one machine as text."""
    def texts(machines: Iterable[Machine]) -> str:
        return "; ".join(dict.fromkeys(map(describe, machines))) or "unknown"

    if all(cell.target == LOCAL for cell in matrix.cells.values()):
        return texts(matrix.result.machines.values())
    by_target = grouped((cell.target, cell.name)
                        for cell in (matrix.cells.values() if cells is None else cells))
    named = grouped((texts(machines_of(matrix.result, dict.fromkeys(names, target))), target)
                    for target, names in by_target.items())
    return "; ".join(f"{', '.join(targets)}: {text}" for text, targets in named.items())


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
    planned = max(session.last for session in plan.sessions)
    of = f" of {planned}" if planned > done else ""
    several = f" in {len(plan.sessions)} sessions" if len(plan.sessions) > 1 else ""
    boots = "one boot of each kernel in each, " if any(matrix.blocks) else ""
    return (f"{done}{of}{several}, {boots}every cell once in each, in fresh random order"
            + (f", seed {plan.seed}" if plan.seed is not None else "") + "; medians")


def sames_text(summary: Summary) -> str:
    """The A/A intervals of the shown baselines by each metric that is no count: `0.9% to 5.8% of
    time_per_message, A and A' differ in 0 of 2`; empty if only counts are shown."""
    matrix, parts = summary.matrix, []
    timed = [metric.name for metric in summary.metrics if not metric.counts and any(
        metric.name in figures for figures in summary.figures.values())]
    shown = {cell.name for cell in matrix.cells_compared}
    for name in timed:
        same = [one for cell, one in summary.same[name].items() if cell in shown]
        if reaches := [reach for one in same if (reach := one.reach)]:
            span = " to ".join(dict.fromkeys(map(noise_text, (min(reaches), max(reaches)))))
            differing = sum(one.p is not None and one.p <= stats.ALPHA for one in same)
            parts.append(f"{span} of {name}, A and A' differ in {differing} of {len(same)}" + (
                "; too many: no change is claimed" if same_differ(matrix, name) else ""))
    if parts and any(matrix.blocks):
        parts.append("within a boot, not between boots")
    if parts or not timed:
        return "; ".join(parts)
    return f"not known: needs {stats.ROUNDS_NEEDED} rounds with the baseline run twice"


def coverage_text(matrix: Matrix, cells: Iterable[Cell], metric: Metric) -> str:
    """`latency_p99 known in 7 of 10 rounds of nodelay`, and the number of such other cells; else
    empty."""
    known = [f"{text.partition(';')[0]} of {' '.join(filter(None, cell.axes.values()))}"
             for cell in cells if (text := matrix.coverage_text(cell, metric.name))]
    others = f", not in all of {counted_text(len(known) - 1, 'other cell')}" if known[1:] else ""
    return known[0].removesuffix(" of ") + others if known else ""


def words_common(cells: Iterable[Cell], excluded: Iterable[str]) -> dict[str, str]:
    """The words of the plan, and `workload` and `place` always, that all cells share, without the
    excluded ones."""
    words = [{key: value for key, value in {**cell.words, **cell.given}.items()
              if key in ("workload", "place", *cell.given)} for cell in cells]
    return {key: value for key, value in next(iter(words), {}).items()
            if key not in set(excluded) and all(own.get(key) == value for own in words)}


def machine_pairs(matrix: Matrix) -> list[tuple[str, str]]:
    plan, precision = matrix.result.plan, precision_measure(matrix)
    emulated = grouped(dict.fromkeys((cell.emulated, cell.target) for cell in
                                     matrix.cells.values() if cell.emulated))
    timers = ", ".join(filter(None, matrix.frame["hyperfine"].unique()))
    timed = "the load" if matrix.frame["subject_cpu"].notna().any() else "both ends"
    pairs = [
        ("words", words_text(words_common(matrix.cells.values(), ("place", *matrix.axes)))),
        ("subject", subjects_text(matrix)),
        ("machine", machines_text(matrix)),
        *((why, f"{', '.join(targets)}: {EXACT_ONLY}") for why, targets in emulated.items()),
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
    metrics = [(one.name, f"{scales[one.name].unit}, {one.better} is better".removeprefix(", "))
               for one in summary.metrics]
    pairs = [("source", summary.matrix.result.scenario.source), *metrics,
             *machine_pairs(summary.matrix), ("A/A interval", sames_text(summary))]
    return [(label, text) for label, text in pairs if text]


def uncounted_note(cell: Cell) -> str:
    """Why a cell under TLS has no count of records: its TLS layer does not report them."""
    return f"{cell.uncounted} does not show its records: they are not counted"
