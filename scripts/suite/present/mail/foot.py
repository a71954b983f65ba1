# SPDX-License-Identifier: MIT
"""The lines below the figures of a block: how they were measured, where, and what differs. Pure."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from suite.analyse.comparison.build import NO_TIMES
from suite.analyse.comparison.model import Comparison
from suite.analyse.frame import Cell, Matrix
from suite.analyse.machines import TIMES_INVALID, hosts_by_end, machine_find
from suite.analyse.metrics import Metric
from suite.analyse.replays import replays_decide
from suite.analyse.summary import Figure
from suite.analyse.verdicts import Verdict
from suite.base.lab_words import lab_wanted
from suite.base.units import counted_text
from suite.present import heading
from suite.present.comparison import wording
from suite.present.comparison.document import KIND_MOST, kinds_texts
from suite.present.mail.rules import COLUMNS
from suite.present.tables.model import Pair, Table
from suite.result.machine import Machine
from suite.result.plan import builds_text

# of the lines below all figures
LABELS = ("subject", "machine", "network", "tls", "uncork", "compared", "differs", "remarks",
          "disturbed", "legend")
LABELS_OF_CLAIMS = ("published", "claim")  # below these, of a claim that was replayed
# signs of a block, as they are found in its texts, and what they mean
BLOCK_SIGNS = (
    ("+/-", r"\+/-", "farther end of the 95% CI"),
    ("r", r".*%r", "minimum and maximum, too few rounds for a CI"),
    ("~", "~", "undecided, its CI contains 0% (1x)"),
    ("( )", r"\([-+<>\d].*\)", "within the noise (A/A) of its row, or chance among so many"),
    ("?", r"[-+<>\d].*[%x]\?", "too few rounds to say"),
    (">0% <0%", r"\(?[<>]0%.*", "more, less, by how much is not known"),
    ("change", "change", "Hodges-Lehmann ratio, base and new are medians"),
    ("2x", r"\(?\d\S*x\)?\??|\[\S+x, \S+x\]", "new is 2 times base"),
    ("exact", "exact", "the same count in every run"),
    ("-", "-", "no figure"),
    ("BH", r".*\bBH (over )?\d.*", "Benjamini-Hochberg, 5% of all rows of the metric"),
    ("A/A", r".*\bA/A\b.*", "baseline against itself, the farther end of its CI"),
)
# what makers add to the names of their processors
CPU_NOISE = re.compile(r"\((?:R|TM)\)|(?: CPU)? @ \S+| CPU$", re.IGNORECASE)
LOOPBACK = "lo"  # how the name of its device begins, in every system
NO_NETWORK = {"null": "none, nothing is sent", "unix": "Unix sockets"}  # by transport
LINE_WIDTH = COLUMNS - 2  # a style may put a mark before a line
# What gives way in a line of rounds that is too long, in turn.
SHORTER = (("BH over", "BH"), ("signed-rank CI", "rank CI"), ("rank-sum CI", "rank CI"),
           (" a side,", ","), (" in turns,", ""))


def line_shorten(line: str) -> str:
    """The line in fewer words, as far as it has to be."""
    for long, short in SHORTER:
        line = line.replace(long, short) if len(line) > LINE_WIDTH else line
    return line


def table_rounds_text(figures: Sequence[Figure], floor: float | None, metric: Metric) -> str:
    """The line of rounds of a table that compares nothing."""
    rounds = wording.span_text([figure.rounds for figure in figures])
    parts = [f"n={rounds} round{'s' if rounds != '1' else ''}, medians"]
    if any(figure.interval and figure.interval.level for figure in figures):
        parts.append("order statistics CI")
    return ", ".join(parts) + wording.floor_text(metric, floor)


def comparison_remarks(comparison: Comparison) -> list[str]:
    """What must not be overlooked, in few words: failures, and marks that the figures have."""
    changes, sessions = comparison.changes(), len(comparison.base.sessions)
    cells = [cell for _, _, cell in comparison.cells()]
    small = sum(change.verdict is Verdict.WITHIN_NOISE for change in changes)
    chance = sum(change.verdict is Verdict.BRACKETED for change in changes)
    few = any(comparison.tested.get(name, 0) for name in comparison.hopeless)
    every = any(mean and mean.every for mean in comparison.geomeans.values())
    marks = {f"{small} within A/A": small > 0, f"{chance} may be chance": chance > 0,
             f"{sessions} sessions": comparison.within and sessions > 1,
             "too few rounds for so many rows": few, f"{wording.MEAN}={wording.EVERY}": every}
    partly = [text for side in comparison.sides for text in known_remarks(
        side.matrix, [cell for _, own, cell in comparison.cells() if own is side],
        comparison.metrics)]
    return [*cells_remarks(cells), *(remark for remark, holds in marks.items() if holds),
            *(f"geomean without {wording.rows_left_out(comparison, mean)}"
              for mean in comparison.geomeans.values()
              if mean and any(why.startswith("n=") for why in mean.left_out.values())),
            *(f"{metric.name} {opposed}" for metric in comparison.metrics
              if (opposed := wording.opposed_of(comparison, metric))),
            *dict.fromkeys(partly),
            *(note for note in comparison.notes if note != NO_TIMES),
            *dict.fromkeys(note for cell in cells for note in cell.remarks)]


def known_remarks(matrix: Matrix, cells: Iterable[Cell], metrics: Iterable[Metric]) -> list[str]:
    """Which cells know a metric in a part of their rounds only, in few words."""
    return [text for metric in metrics if (text := heading.known_text(matrix, cells, metric))]


def cells_remarks(cells: Sequence[Cell]) -> list[str]:
    """Runs that failed, cells that could not run, and those that have no times."""
    emulated = sum(bool(cell.emulated) for cell in cells)
    failed = sum(cell.runs_failed for cell in cells)
    every = all(cell.emulated or not cell.runs_ok for cell in cells)
    statuses = Counter(cell.status for cell in cells)
    counts = [
        (emulated, f"{'' if every else counted_text(emulated, 'cell') + ' '}{TIMES_INVALID}"),
        (failed, f"{counted_text(failed, 'run')} failed"),
        *((statuses[status], f"{counted_text(statuses[status], 'cell')} {status}")
          for status in ("unsupported", "failed", "missing"))]
    return [remark for count, remark in counts if count]


def cpu_name(name: str) -> str:
    return " ".join(CPU_NOISE.sub(" ", name).split())


def mitigations_text(machine: Machine) -> str:
    """`mitigations spectre_v1 spectre_v2 (vulnerable: mds)`: what the kernel mitigates, and what it
    does not although the processor needs it."""
    told: Mapping[str, str] = machine.facts.get("mitigations", {})
    done = [name for name, text in told.items() if "Mitigation" in text]
    open_ = [name for name, text in told.items() if name not in done and "ulnerable" in text]
    vulnerable = f" (vulnerable: {' '.join(sorted(open_))})" if open_ else ""
    return f"mitigations {' '.join(sorted(done)) or ('none' if told else 'unknown')}{vulnerable}"


def device_text(machine: Machine) -> str:
    """`eth0 MTU 1500`: the device by which a machine reaches its peer."""
    device = machine.facts.get("device", {})
    mtu = f" MTU {device['mtu_bytes']}" if "mtu_bytes" in device else ""
    return f"{device.get('name', '')}{mtu}".strip() or "device unknown"


def carrier_text(matrix: Matrix, cell: Cell) -> str:
    """What carries the bytes of a cell in no lab: nothing, a Unix socket, loopback, or devices."""
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
    """Every path of these cells once, and the congestion control of their sockets."""
    ran = [cell for cell in cells if cell.runs_ok]
    paths = dict.fromkeys(carrier_text(matrix, cell) for cell in ran if not lab_wanted(cell.words))
    links = heading.labs_text(ran)
    name = heading.congestion_text(matrix)
    congestion = {"none": "", "unknown": "congestion unknown"}.get(name, name)
    return "; ".join(filter(None, [
        *paths, f"lab of three namespaces, {links}" if links else "", congestion]))


def legend_text(tables: Sequence[Table]) -> str:
    """What the signs mean that occur in these tables."""
    texts = {text for table in tables for text in (table.below, *(
        one for column in table.columns[len(table.keys):]
        for one in (column.head, *(item.text for item in column.items))))}
    return "; ".join(f"{sign} = {means}" for sign, pattern, means in BLOCK_SIGNS
                     if any(re.fullmatch(pattern, text) for text in texts))


def foot_pairs(matrix: Matrix, cells: Sequence[Cell], tables: Sequence[Table],
               remarks: Sequence[str], comparison: Comparison | None = None) -> list[Pair]:
    """All lines below the figures of these cells, each with its label, without empty ones."""
    differences = comparison.differences if comparison else ()
    matrices = [side.matrix for side in comparison.sides] if comparison else [matrix]
    ordered = sorted(differences, key=lambda difference: not difference.refuses)
    compared, others = ("; ".join(kinds_texts(
        (one for one in ordered if one.declared is declared), KIND_MOST))
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
            *claims_pairs(matrix)]


def claims_pairs(matrix: Matrix) -> list[Pair]:
    """Where the figures were published that a result measures again, and what became of each
    claim; nothing of a result of something else."""
    if (origin := matrix.result.scenario.origin) is None:
        return []
    date = f", {origin.date}" if origin.date else ""
    told = (f"{replay.claim.says}: {replay.published} there, {replay.measured or 'nothing'} here: "
            f"{replay.verdict}" for replay in replays_decide(matrix))
    return [("published", f"{origin.title} ({origin.who}{date}), {origin.reference}"),
            *(("claim", text) for text in told)]
