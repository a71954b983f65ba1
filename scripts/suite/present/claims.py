# SPDX-License-Identifier: MIT
"""The verdicts on published claims as a document: a table for each claim, with columns for each
system. A system is what suite/analyse/systems.py reads from a result or a report."""

from collections.abc import Mapping, Sequence
from typing import Any

from suite.analyse.expressions import claim_parse, references_of
from suite.analyse.metrics import METRICS
from suite.analyse.replays import COUNT, DECIDED, NOT_SEEN, REPRODUCED, VERDICTS
from suite.analyse.systems import System, verdicts_of
from suite.base.units import counted_text
from suite.present.answers import labelled
from suite.present.tables.model import Column, Document, Group, Item, Pair, Section, Table
from suite.scenario.scenario import CLAIM_KINDS

FIELDS = ("claim", "says", "kind", "published", "system", "place", "measured", "low", "high",
          "verdict", "differs")
Row = Mapping[str, Any]  # a comparison of a claim, with its verdict
NOT_MEASURED: Row = {"measured": "", "verdict": ""}


def system_text(system: System) -> str:
    """A system's kernel, processor, and words target and build."""
    machine = system["machine"]
    known = [f"{machine.get('system', '')} {machine.get('kernel', '')}".strip(),
             machine.get("cpu", ""), *(f"{key}={machine[key]}" for key in ("target", "build")
                                       if key in machine)]
    return ", ".join(filter(None, known)) or system["name"]


def heads_of(systems: Sequence[System]) -> list[str]:
    """The heads of the columns of systems. Runs of one system have the names of their results."""
    texts = [system_text(system) for system in systems]
    heads = [system["name"] if texts.count(text) > 1 else text
             for text, system in zip(texts, systems, strict=True)]
    return [f"{head} ({heads[:number].count(head) + 1})" if heads.count(head) > 1 else head
            for number, head in enumerate(heads)]


def differs_text(claim: Mapping[str, Any], systems: Sequence[System]) -> str:
    """How these systems differ from the one of the publication."""
    origin = claim["origin"]
    here = dict.fromkeys(system["machine"].get("kernel", "") for system in systems)
    kernels = ", ".join(filter(None, here))
    texts = [f"kernel {origin['kernel']} there, {kernels} here" if "kernel" in origin and kernels
             else "", "a whole program there, its socket work here" * ("fidelity" in origin),
             origin.get("differs", ""), f"lacks {origin['needs']}" if "needs" in origin else ""]
    return "; ".join(filter(None, texts))


def origin_text(claim: Mapping[str, Any], systems: Sequence[System]) -> str:
    """What was measured there and on what, and how these systems differ."""
    measured = [claim["origin"].get(key, "") for key in ("conditions", "machine")]
    return "; ".join(filter(None, [*measured, differs_text(claim, systems)]))


def names_order(claims: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """The names of claims: those with counts first, those that dispute each other together."""
    found: list[str] = []
    for name in sorted(claims, key=lambda one: (
            all(row["kind"] != COUNT for row in claims[one]["rows"]), one)):
        against = [other for other in claims if other in claims[name]["disputes"]
                   or name in claims[other]["disputes"]]
        found += [one for one in (name, *against) if one not in found]
    return found


def column_of(head: str, rows: Sequence[Row]) -> Column:
    return Column(head, tuple(Item(row[head]) for row in rows), True)


def rows_of(system: System, names: Sequence[str]) -> list[tuple[str, Row]]:
    """The comparisons of the named claims in a system, each after its claim's name."""
    return [(name, row) for name in names
            for row in system["claims"].get(name, {"rows": []})["rows"]]


def rows_beside(systems: Sequence[System], names: Sequence[str]
                ) -> tuple[list[tuple[str, Row]], list[list[Row]]]:
    """All comparisons of the named claims, counts first, and by system the same rows there."""
    found = {(name, row["that"]): row for system in systems for name, row in rows_of(system, names)}
    order = sorted(found, key=lambda key: (CLAIM_KINDS.index(found[key]["kind"]),
                                           names.index(key[0])))
    beside = []
    for system in systems:
        mine = {(name, row["that"]): row for name, row in rows_of(system, names)}
        beside.append([mine.get(key, NOT_MEASURED) for key in order])
    return [(name, found[name, that]) for name, that in order], beside


def figure_text(row: Row) -> str:
    """The metric that a comparison is about, and the claim in short: `segments per reply 2`,
    `bandwidth 1.87x`, `CPU per message <`."""
    metric = next(iter(references_of(claim_parse(row["that"])))).metric
    claimed = row["published"].partition(" within ")[0].removesuffix(" the other")
    return f"{METRICS[metric].text} {claimed}"


def verdicts_table(names: Sequence[str], systems: Sequence[System]) -> Table:
    """Claims by systems: the verdicts alone, counts first."""
    rows, beside = rows_beside(systems, names)
    return Table((Column("claim", tuple(Item(name) for name, _ in rows), True),
                  Column("claimed", tuple(Item(figure_text(row)) for _, row in rows), True)),
                 tuple(Group(head, (column_of("verdict", mine),))
                       for head, mine in zip(heads_of(systems), beside, strict=True)))


def agreement_text(systems: Sequence[System]) -> str:
    """On how many comparisons the systems agree, of those that several decided, and on which they
    do not."""
    decided: dict[tuple[str, str], list[Row]] = {}
    for system in systems:
        for name, row in rows_of(system, list(system["claims"])):
            if row["verdict"] in DECIDED:
                decided.setdefault((name, row["that"]), []).append(row)
    several = [(name, [row["verdict"] for row in rows], rows[0]["says"])
               for (name, _), rows in decided.items() if len(rows) > 1]
    differing = [f"{name}: {says}: {' and '.join(dict.fromkeys(verdicts))}"
                 for name, verdicts, says in several if len(set(verdicts)) > 1]
    text = (f"{len(several) - len(differing)} of {counted_text(len(several), 'comparison')} "
            "that more than one of them decided")
    return text + (f"; they differ on {'; '.join(differing)}" if differing else "")


def disputes_text(claim: Mapping[str, Any], systems: Sequence[System]) -> str:
    """The claims that dispute this one, with their verdicts in these systems."""
    texts = []
    for name in claim["disputes"]:
        verdicts = [row["verdict"] for system in systems for _, row in rows_of(system, [name])]
        texts.append(name + (f" ({counts_text(verdicts)})" if verdicts else ""))
    return f"disputed by {', '.join(texts)}" if texts else ""


def claim_table(name: str, systems: Sequence[System]) -> Table:
    """The table of a claim: a row for each of its comparisons, counts first."""
    having = [system for system in systems if name in system["claims"]]
    claim = having[0]["claims"][name]
    origin, (rows, beside) = claim["origin"], rows_beside(systems, [name])
    groups = [Group(head if len(systems) > 1 else "",
                    tuple(column_of(one, mine) for one in ("measured", "verdict")))
              for head, mine in zip(heads_of(systems), beside, strict=True)]
    date = f", {origin['date']}" if "date" in origin else ""
    programs = dict.fromkeys(system["claims"][name].get("programs", "") for system in having)
    told = origin_text(claim, having)
    texts = [("origin", f"{origin['reference']}, read {origin['read']}{': ' * bool(told)}{told}"),
             ("ran", "; ".join(filter(None, programs)))]
    return Table(
        (Column("claim", tuple(Item(row["says"]) for _, row in rows), True),
         Column("claimed", tuple(Item(row["published"]) for _, row in rows), True)),
        tuple(groups), f"{name}: {origin['title']} ({origin['who']}{date})",
        below=". ".join(f"{label}: {text}" for label, text in texts if text),
        remark=disputes_text(claim, systems))


def unlike_text(claim: Mapping[str, Any], systems: Sequence[System]) -> str:
    """Why a claim that was not seen in these systems is not contradicted."""
    return f"what differs: {differs_text(claim, systems) or 'another program'}"


def notes_of(name: str, systems: Sequence[System]) -> list[Pair]:
    """The reasons for the verdicts of a claim that are not REPRODUCED, each reason once."""
    notes: dict[tuple[str, str, str], list[str]] = {}
    for head, system in zip(heads_of(systems), systems, strict=True):
        for _, row in rows_of(system, [name]):
            if row["verdict"] != REPRODUCED:
                why = [*row["remarks"],
                       f"because {row['explained']}" if row.get("explained") else "",
                       unlike_text(system["claims"][name], [system])
                       if row["verdict"] == NOT_SEEN else ""]
                notes.setdefault((row["verdict"], "; ".join(filter(None, why)), head),
                                 []).append(row["says"])
    return labelled(name, [f"{verdict}: {'; '.join(says)}: {why}"
                           + (f" ({head})" if len(systems) > 1 else "")
                           for (verdict, why, head), says in notes.items()])


def counts_text(verdicts: Sequence[str]) -> str:
    return ", ".join(f"{verdicts.count(verdict)} {verdict}" for verdict in VERDICTS
                     if verdict in verdicts)


def claims_document(systems: Sequence[System]) -> Document:
    claims: dict[str, Mapping[str, Any]] = {}
    for system in systems:
        claims = {**system["claims"], **claims}
    names, heads, several = names_order(claims), heads_of(systems), len(systems) > 1
    rows = [{key: row.get(key) for key in FIELDS}
            | {"claim": name, "system": head, "place": place,
               "differs": differs_text(claim, [system])}
            | dict(zip(("measured", "low", "high"), [*span, None, None, None], strict=False))
            for head, system in zip(heads, systems, strict=True)
            for name, claim in system["claims"].items()
            for row in claim["rows"] for place, span in (row["spans"] or {"": ()}).items()]
    return Document(
        f"{counted_text(len(claims), 'claim')} that others published, replayed",
        [*([Section((), [verdicts_table(names, systems)])] if several else []),
         *(Section((), [claim_table(name, systems)]) for name in names)],
        foot=[note for name in names for note in notes_of(name, systems)],
        end=[*((head, f"{system_text(system)}: " * (head != system_text(system))
                + counts_text(verdicts_of([system])))
               for head, system in zip(heads, systems, strict=True)),
             *([("agree", agreement_text(systems))] if several else [])],
        fields=FIELDS, records=lambda: rows,
        data=lambda: {"schema": 1, "systems": list(systems)})
