# SPDX-License-Identifier: MIT
"""The verdicts on published claims as a document: a table for each claim, with columns for each
system. A system is what suite/analyse/systems.py reads from a result or a report."""

from collections.abc import Mapping, Sequence
from typing import Any

from suite.analyse.answers import labelled
from suite.analyse.replays import COUNT, REPRODUCED, VERDICTS
from suite.analyse.systems import System, verdicts_of
from suite.base.units import counted_text
from suite.present.tables.model import Column, Document, Group, Item, Pair, Section, Table
from suite.scenario.scenario import CLAIM_KINDS

FIELDS = ("claim", "says", "kind", "published", "system", "place", "measured", "low", "high",
          "verdict", "differs")
NOT_MEASURED = {"measured": "", "verdict": ""}


def system_text(system: System) -> str:
    """The head of a system's columns: kernel, processor, the words target and build."""
    machine = system["machine"]
    known = [f"{machine.get('system', '')} {machine.get('kernel', '')}".strip(),
             machine.get("cpu", ""), *(f"{key}={machine[key]}" for key in ("target", "build")
                                       if key in machine)]
    return ", ".join(filter(None, known)) or system["name"]


def differs_text(claim: Mapping[str, Any], systems: Sequence[System]) -> str:
    """How these systems differ from the one of the publication."""
    origin = claim["origin"]
    here = dict.fromkeys(system["machine"].get("kernel", "") for system in systems)
    kernels = ", ".join(filter(None, here))
    texts = [f"kernel {origin['kernel']} there, {kernels} here" if "kernel" in origin and kernels
             else "", "a whole program there, its socket work here" * ("fidelity" in origin),
             origin.get("differs", "")]
    return "; ".join(filter(None, texts))


def names_order(claims: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """The names of claims: those with counts first, those that dispute each other together."""
    found: list[str] = []
    for name in sorted(claims, key=lambda one: (
            all(row["kind"] != COUNT for row in claims[one]["rows"]), one)):
        against = [other for other in claims if other in claims[name]["disputes"]
                   or name in claims[other]["disputes"]]
        found += [one for one in (name, *against) if one not in found]
    return found


def claim_table(name: str, systems: Sequence[System]) -> Table:
    """The table of a claim: a row for each of its comparisons, counts first."""
    having = [system for system in systems if name in system["claims"]]
    claim = having[0]["claims"][name]
    origin, rows = claim["origin"], sorted(
        claim["rows"], key=lambda row: CLAIM_KINDS.index(row["kind"]))
    groups = []
    for system in systems:
        mine = {row["that"]: row for row in system["claims"].get(name, {"rows": []})["rows"]}
        cells = [mine.get(row["that"], NOT_MEASURED) for row in rows]
        groups.append(Group(system_text(system) if len(systems) > 1 else "", tuple(
            Column(head, tuple(Item(cell[head]) for cell in cells), True)
            for head in ("measured", "verdict"))))
    date = f", {origin['date']}" if "date" in origin else ""
    disputes = f"disputed by {', '.join(claim['disputes'])}" if claim["disputes"] else ""
    differs = differs_text(claim, having)
    return Table(
        (Column("claim", tuple(Item(row["says"]) for row in rows), True),
         Column("claimed", tuple(Item(row["published"]) for row in rows), True)),
        tuple(groups), f"{name}: {origin['title']} ({origin['who']}{date})",
        below=f"differs: {differs}" if differs else "", remark=disputes)


def notes_of(name: str, systems: Sequence[System]) -> list[Pair]:
    """The reasons for the verdicts of a claim that are not REPRODUCED."""
    notes = [f"{row['verdict']}: {row['says']}: {'; '.join(row['remarks'])}"
             + (f"; because {row['explained']}" if row.get("explained") else "")
             + (f" ({system_text(system)})" if len(systems) > 1 else "") for system in systems
             for row in system["claims"].get(name, {"rows": []})["rows"]
             if row["verdict"] != REPRODUCED]
    return labelled(name, notes)


def counts_text(verdicts: Sequence[str]) -> str:
    return ", ".join(f"{verdicts.count(verdict)} {verdict}" for verdict in VERDICTS
                     if verdict in verdicts)


def claims_document(systems: Sequence[System]) -> Document:
    claims: dict[str, Mapping[str, Any]] = {}
    for system in systems:
        claims = {**system["claims"], **claims}
    names = names_order(claims)
    rows = [{key: row.get(key) for key in FIELDS}
            | {"claim": name, "system": system_text(system), "place": place,
               "differs": differs_text(claim, [system])}
            | dict(zip(("measured", "low", "high"), [*span, None, None, None], strict=False))
            for system in systems for name, claim in system["claims"].items()
            for row in claim["rows"] for place, span in (row["spans"] or {"": ()}).items()]
    return Document(
        f"{counted_text(len(claims), 'claim')} that others published, replayed",
        [Section((), [claim_table(name, systems)]) for name in names],
        foot=[note for name in names for note in notes_of(name, systems)],
        end=[(system_text(system), counts_text(verdicts_of([system]))) for system in systems],
        fields=FIELDS, records=lambda: rows,
        data=lambda: {"schema": 1, "systems": list(systems)})
