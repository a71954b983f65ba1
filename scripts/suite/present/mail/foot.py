# SPDX-License-Identifier: MIT
"""The lines below the figures of a block: where and how it was measured, what differs. Pure."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from suite.base.lab_words import lab_wanted
from suite.base.units import counted_text
from suite.contrast.contrast import Contrast
from suite.decide.comparison.model import Comparison, Difference
from suite.decide.summary import Figure
from suite.observe.frame import Cell, Matrix
from suite.observe.machines import TIMES_INVALID, hosts_by_end, machine_find
from suite.observe.metrics import METRICS, Metric
from suite.present import heading
from suite.present.claims import publication_pairs
from suite.present.comparison import wording
from suite.present.judged import withheld_note
from suite.present.mail.rules import COLUMNS
from suite.present.tables.model import Pair, Table
from suite.result.machine import Machine
from suite.result.plan import builds_text

LABELS = ("subject", "machine", "network", "tls", "uncork", "compared", "differs", "remarks",
          "disturbed", "legend")
LABELS_OF_CLAIMS = ("published", "origin", "claim")  # below these, if the result replays a claim
# Signs of a block: as the legend has them, the pattern of texts with the sign, the meaning.
BLOCK_SIGNS = (
    ("+/-", r"\+/-", "farther end of the 95% CI"),
    ("r", r".*%r", "minimum and maximum, too few rounds for a CI"),
    ("~", "~", "undecided, its CI contains 0% (1x)"),
    ("mixed", "mixed", "two groups of rounds contradict each other, no change is claimed"),
    ("timing", "timing", "emulated, and not the same count in every run"),
    ("zero", "zero", "a figure is 0 in some round, no ratio"),
    ("disturbed", "disturbed", "unexpected connections reached a data port"),
    ("A/A", "A/A", "A and A' differ, no change is claimed"),
    ("?", r"[-+<>\d].*[%x]\?", "too few rounds to say"),
    (">0% <0%", r"\(?[<>]0%.*", "more, less, by how much is not known"),
    ("change", "change", "ratio of the two medians"),
    ("2x", r"\(?\d\S*x\)?\??|\[\S+x, \S+x\]", "new is 2 times base"),
    ("exact", "exact", "the same count in every run"),
    ("-", "-", "no figure"),
    ("FCR", r".*\bFCR (over )?\d.*", "5% of the CIs of changed rows may miss, over all rows"),
    ("A/A max", r".*\bA/A( within a boot)? (max|unknown)\b.*",
     "baseline against itself, the farther end of its CI"),
)
# parts of a processor's name that say nothing about it
CPU_NOISE = re.compile(r"\((?:R|TM)\)|(?: CPU)? @ \S+| CPU$", re.IGNORECASE)
# what a block names of the facts that differ, by kind, or by kind and name; of others their number
NAMED = frozenset(("words", "binaries", "subject", ("kernel", "kernel"),
                   ("clocksource", "clocksource")))
PATH = re.compile(r"(^|[:,])[~.]*/")  # a word with a path: base, new and the command have it
LOOPBACK = "lo"  # the loopback device of every system begins so
NO_NETWORK = {"null": "none, nothing is sent", "unix": "Unix sockets"}  # by transport
LINE_WIDTH = COLUMNS - 2  # the md style begins a line with `- `
# in the order in which a line of rounds that is too long is shortened
ABBREVIATIONS = (("FCR over", "FCR"), ("signed-rank CI", "rank CI"), ("rank-sum CI", "rank CI"),
                 (" a side,", ","), (" in turns,", ""))


def line_shorten(line: str) -> str:
    """The line with as many ABBREVIATIONS as it needs to fit."""
    for long, short in ABBREVIATIONS:
        line = line.replace(long, short) if len(line) > LINE_WIDTH else line
    return line


def table_rounds_text(figures: Sequence[Figure], sames: Iterable[Contrast], metric: Metric
                      ) -> str:
    """The line of rounds below a table without a comparison."""
    rounds = wording.span_text([figure.rounds for figure in figures])
    parts = [f"n={rounds} round{'s' if rounds != '1' else ''}, medians"]
    if any(figure.interval and figure.interval.level for figure in figures):
        parts.append("order statistics CI")
    return ", ".join(parts) + wording.floor_text(
        metric, max(filter(None, (same.reach for same in sames)), default=None))


def comparison_remarks(comparison: Comparison) -> list[str]:
    """What a reader must not overlook, in few words: failed runs, and doubts about figures."""
    sessions = len(comparison.base.sessions)
    cells = [cell for _, _, cell in comparison.cells()]
    few = any(comparison.family(metric.name).hopeless for metric in comparison.metrics)
    geomean_all = any(mean.every for mean in comparison.geomeans.values())
    doubts = {f"{sessions} sessions": comparison.within and sessions > 1,
              "too few rounds for so many rows": few,
              f"{wording.MEAN}={wording.EVERY}": geomean_all}
    coverage = [text for side in comparison.sides for text in coverage_remarks(
        side.matrix, [cell for _, own, cell in comparison.cells() if own is side],
        comparison.metrics)]
    return [*cells_remarks(cells), *(remark for remark, holds in doubts.items() if holds),
            *(f"geomean without {wording.rows_left_out(comparison, mean)}"
              for mean in comparison.geomeans.values()
              if any(why.startswith("n=") for why in mean.left_out.values())),
            *(f"{metric.name} {opposed}" for metric in comparison.metrics
              if (opposed := wording.opposed_of(comparison, metric))),
            *dict.fromkeys(filter(None, (
                withheld_note(change.judged, METRICS[name])
                for row in comparison.rows for name, change in row.changes.items()))),
            *dict.fromkeys(coverage),
            *(note for note in comparison.notes if note != TIMES_INVALID),
            *dict.fromkeys(note for cell in cells for note in cell.remarks)]


def coverage_remarks(matrix: Matrix, cells: Iterable[Cell], metrics: Iterable[Metric]) -> list[str]:
    """For each metric the cells that have it in a part of their rounds only."""
    return [text for metric in metrics if (text := heading.coverage_text(matrix, cells, metric))]


def cells_remarks(cells: Sequence[Cell]) -> list[str]:
    """The numbers of failed runs, of cells that did not run, and of emulated cells."""
    emulated = sum(bool(cell.emulated) for cell in cells)
    failed = sum(cell.runs_failed for cell in cells)
    all_emulated = all(cell.emulated or not cell.runs_ok for cell in cells)
    statuses = Counter(cell.status for cell in cells)
    counts = [
        (emulated, ("" if all_emulated else f"{counted_text(emulated, 'cell')} ") + TIMES_INVALID),
        (failed, f"{counted_text(failed, 'run')} failed"),
        *((statuses[status], f"{counted_text(statuses[status], 'cell')} {status}")
          for status in ("unsupported", "failed", "missing"))]
    return [remark for count, remark in counts if count]


def cpu_name(name: str) -> str:
    return " ".join(CPU_NOISE.sub(" ", name).split())


def mitigations_text(machine: Machine) -> str:
    """`mitigations spectre_v1 spectre_v2 (vulnerable: mds)`, the latter without a mitigation."""
    facts: Mapping[str, str] = machine.facts.get("mitigations", {})
    done = [name for name, text in facts.items() if "Mitigation" in text]
    open_ = [name for name, text in facts.items() if name not in done and "ulnerable" in text]
    vulnerable = f" (vulnerable: {' '.join(sorted(open_))})" if open_ else ""
    return f"mitigations {' '.join(sorted(done)) or ('none' if facts else 'unknown')}{vulnerable}"


def device_text(machine: Machine) -> str:
    """`eth0 MTU 1500`: the network device through which a machine reaches its peer."""
    device = machine.facts.get("device", {})
    mtu = f" MTU {device['mtu_bytes']}" if "mtu_bytes" in device else ""
    return f"{device.get('name', '')}{mtu}".strip() or "device unknown"


def carrier_text(matrix: Matrix, cell: Cell) -> str:
    """What carries the bytes of a cell outside a lab: nothing, a Unix socket, loopback, devices."""
    transport = cell.words.get("transport", "")
    if transport in NO_NETWORK:
        return NO_NETWORK[transport]
    ends = hosts_by_end(matrix.result, {cell.name: cell.target}, counted=True)
    devices = {end: ", ".join(dict.fromkeys(
        device_text(machine_find(matrix.result, *host)) for host in hosts.items()))
        for end, hosts in ends.items()}
    if len(ends) > 1 and len({frozenset(hosts) for hosts in ends.values()}) == 1:
        device = devices["client"]
        return f"loopback ({device})" if device.startswith(LOOPBACK) else "loopback"
    return "hosts: " + ", ".join(f"{end} {device}" for end, device in devices.items())


def network_text(matrix: Matrix, cells: Sequence[Cell]) -> str:
    """Each network path of these cells once, and the congestion control of their sockets."""
    ran = [cell for cell in cells if cell.runs_ok]
    paths = dict.fromkeys(carrier_text(matrix, cell) for cell in ran if not lab_wanted(cell.words))
    links = heading.labs_text(ran)
    name = heading.congestion_text(matrix)
    congestion = {"none": "", "unknown": "congestion unknown"}.get(name, name)
    return "; ".join(filter(None, [
        *paths, f"lab of three namespaces, {links}" if links else "", congestion]))


def legend_text(tables: Sequence[Table]) -> str:
    """The meaning of the signs that occur in these tables."""
    texts = {text for table in tables for text in (table.below, *(
        one for column in table.columns[len(table.keys):]
        for one in (column.head, *(item.text for item in column.items))))}
    return "; ".join(f"{sign} = {means}" for sign, pattern, means in BLOCK_SIGNS
                     if any(re.fullmatch(pattern, text) for text in texts))


def is_named(difference: Difference) -> bool:
    kind, name = difference.kind, difference.name.rsplit(".", 1)[-1]  # without the end before it
    path = kind == "words" and (PATH.search(difference.base) or PATH.search(difference.new))
    return difference.refuses or not path and not NAMED.isdisjoint((kind, (kind, name)))


def differences_text(differences: Iterable[Difference]) -> str:
    """`kernel 6.17.0 -> 6.18.0; and 14 other settings`, which `uncork compare` lists. A boot is no
    setting."""
    found = sorted((one for one in differences if one.kind != "boot"),
                   key=lambda one: not one.refuses)
    named = [one.text for one in found if is_named(one)]
    if others := len(found) - len(named):
        named.append(("and " if named else "") + counted_text(others, "other setting"))
    return "; ".join(named)


def foot_pairs(matrix: Matrix, cells: Sequence[Cell], tables: Sequence[Table],
               remarks: Sequence[str], comparison: Comparison | None = None) -> list[Pair]:
    """The lines below the figures of these cells, each with its label. Empty lines are left out."""
    differences = comparison.differences if comparison else ()
    matrices = [side.matrix for side in comparison.sides] if comparison else [matrix]
    compared, others = (differences_text(one for one in differences if one.declared is declared)
                        for declared in (True, False))
    programs = matrix.result.plan.programs
    builds = "" if any(one.kind == "binaries" for one in differences) else builds_text(
        matrix.result.plan)
    ran = heading.machines_text(matrix, cells, lambda machine: ", ".join(
        (heading.machine_text(machine, cpu_name), mitigations_text(machine))))
    security = heading.security_text(matrix) if any(
        cell.words.get("security", "plain") != "plain" for cell in cells) else ""
    subjects = "; ".join(filter(None, dict.fromkeys(map(heading.subjects_text, matrices))))
    texts = (subjects, ran, network_text(matrix, cells), security,
             "; ".join(filter(None, [f"version {programs.uncork}, revision {programs.revision}",
                                     programs.homepage, builds])),
             compared, others or "nothing else" if comparison else "", "; ".join(remarks),
             "; ".join(filter(None, dict.fromkeys(map(heading.disturbances_text, matrices)))),
             legend_text(tables))
    return [*(pair for pair in zip(LABELS, texts, strict=True) if pair[1]),
            *publication_pairs(matrix)]
