# SPDX-License-Identifier: MIT
"""Claims in words: the outcomes of a scenario's claims, and the verdicts on published ones as a
document. That has a table for each claim, with columns for each system. A system is what
suite/decide/replays.py reads from a result or a report."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from suite import stats
from suite.base import grouped
from suite.base.units import counted_text, number_text, value_text
from suite.decide import replays
from suite.decide.claims import ClaimVerdict, Decision, claims_decide
from suite.decide.expressions import ABOUT, UNKNOWN, Operation, claim_parse, references_of, unit_of
from suite.decide.replays import SCHEMA, Row, System, claim_head, rows_of, verdicts_of
from suite.observe.frame import Matrix
from suite.observe.metrics import METRICS
from suite.present.answers import labelled
from suite.present.tables.model import Column, Document, Group, Item, Pair, Section, Table
from suite.scenario.scenario import CLAIM_KINDS

FIELDS = ("claim", "says", "kind", "published", "system", "place", "measured", "low", "high",
          "verdict", "differs")
OUTCOMES = {"ok": "holds", "not ok": "does not hold", "undecided": "undecided"}


def figure_text(claim: Operation, value: float) -> str:
    """A figure of the left side, or of the ratio or difference of both."""
    unit = "1" if claim.limit is None else unit_of(claim.left)
    if unit not in ("", "1", UNKNOWN):
        return value_text(value, unit)
    return f"{value:g}" if value == round(value) else number_text(value)


def span_text(claim: Operation, span: Sequence[float]) -> str:
    """A figure with its interval, `4.12 [3.90, 4.31]`; empty without a figure."""
    centre, *ends = [figure_text(claim, value)
                     for value in (span if len(set(span)) > 1 else span[:1])] or [""]
    return f"{centre} [{', '.join(ends)}]" if ends else centre


def published_text(claim: Operation) -> str:
    """The right side: `2`, `1.87x`, `>= 35.0 ms`, `> 1`."""
    value, sign = claim.limit, claim.sign.replace("==", "")
    if value is None:
        return f"{sign or '='} the other"
    if claim.sign == ABOUT:
        return f"{value:g}x" + (f" within {claim.within:g}" if claim.within else "")
    text = figure_text(claim, value) if unit_of(claim.left) != "1" else f"{value:g}"
    return f"{sign} {text}".strip()


def measured_text(row: Row) -> str:
    """The figures of a row at each place."""
    claim = claim_parse(row["that"])
    return "; ".join(f"{one['place']} {span_text(claim, one['span'])}".strip()
                     for one in row["places"] if "span" in one)


def decision_texts(that: str, decided: Decision, is_open: bool) -> list[str]:
    """How a claim was decided: the figures, the reasons, and how many rounds would decide it, if it
    is open."""
    claim, texts = claim_parse(that), list(decided.reasons)
    if decided.span:
        rounds = (f"{counted_text(decided.rounds, 'boot')} a side" if decided.boots else
                  counted_text(decided.rounds, "round"))
        needed = stats.SIDES_NEEDED if decided.boots else stats.ROUNDS_NEEDED
        what = ("measured" if claim.limit is not None or decided.by not in "/-" else
                f"left {decided.by} right")
        texts.insert(0, f"exactly {figure_text(claim, decided.span[0])} against "
                        f"{figure_text(claim, decided.right)} in all of {rounds}"
                     if decided.by == "=" else
                     f"{what} {span_text(claim, decided.span)}, {rounds}"
                     + f": an interval needs {needed}" * (len(decided.span) == 1))
    if is_open and decided.needed:
        texts.append(f"rounds={decided.needed} would decide it"
                     if decided.needed <= stats.ROUNDS_ADVISED else
                     f"rounds={stats.ROUNDS_ADVISED} would not decide it")
    return texts


def outcome_texts(verdict: ClaimVerdict) -> list[str]:
    return decision_texts(verdict.claim.that, verdict, verdict.outcome == replays.UNDECIDED)


def tap_text(verdicts: Sequence[ClaimVerdict]) -> str:
    """The outcomes in the Test Anything Protocol; remarks follow their line as comments."""
    if not verdicts:
        return "1..0 # SKIP the scenario makes no claim\n"
    lines = [f"1..{len(verdicts)}"]
    for number, verdict in enumerate(verdicts, start=1):
        result = "ok" if verdict.outcome == "ok" else "not ok"
        says = verdict.says.replace("\\", "\\\\").replace("#", "\\#")
        todo = " # TODO undecided" * (verdict.outcome == replays.UNDECIDED)
        lines += [f"{result} {number} - {says}{todo}",
                  *(f"# {remark}" for remark in (verdict.claim.that, *outcome_texts(verdict)))]
    return "\n".join(lines) + "\n"


def claims_pairs(matrix: Matrix) -> list[Pair]:
    """Every claim with its outcome, and the measured figures if it does not hold. Claims about
    cells that this result does not have are counted, by reason."""
    verdicts = claims_decide(matrix)
    texts = [f"{OUTCOMES[verdict.outcome]}: {verdict.says}"
             + ("" if verdict.outcome == "ok" else f" ({'; '.join(outcome_texts(verdict))})")
             for verdict in verdicts if not verdict.absent]
    absent = Counter("; ".join(verdict.reasons) for verdict in verdicts if verdict.absent)
    texts += [f"{counted_text(count, 'claim')} about cells that this result does not have: {why}"
              for why, count in absent.items()]
    return labelled("claims", texts)


def publication_pairs(matrix: Matrix) -> list[Pair]:
    """The publication that a result replays, and the verdict on each of its claims; else empty."""
    scenario = matrix.result.scenario
    if scenario.origin is None:
        return []
    head, systems = claim_head(scenario), replays.systems_make(replays.rows_decide(matrix))
    told, texts = origin_text(head, systems), []
    for _, _, _, row in rows_of(systems):
        published = published_text(claim_parse(row["that"]))
        explained = explained_text(row)
        texts.append(("claim", f"{row['says']}: {published} there, "
                      f"{measured_text(row) or 'nothing'} here: {row['verdict']}"
                      + (f": {explained}" if explained else "")))
    origin = head["origin"]
    return [("published", f"{title_text(origin)}, read {origin['read']}: {origin['reference']}"),
            *([("origin", told)] if told else []), *texts]


def explained_text(row: Row) -> str:
    """Why a claim differs from the published figure, if the result shows that; else empty."""
    if not row["explained"]:
        return ""
    parsed = claim_parse(row["evidence"])
    return f"{row['because']}: " + "; ".join(span_text(parsed, span) for span in row["explained"])


def title_text(origin: Mapping[str, str]) -> str:
    date = f", {origin['date']}" if "date" in origin else ""
    return f"{origin['title']} ({origin['who']}{date})"


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
            all(row["kind"] != replays.COUNT for row in claims[one]["rows"]), one)):
        against = [other for other in claims if other in claims[name]["disputes"]
                   or name in claims[other]["disputes"]]
        found += [one for one in (name, *against) if one not in found]
    return found


def column_of(head: str, texts: Iterable[str]) -> Column:
    return Column(head, tuple(map(Item, texts)), True)


def rows_beside(systems: Sequence[System], names: Sequence[str]
                ) -> tuple[list[tuple[str, Row]], list[list[Row | None]]]:
    """All comparisons of the named claims, counts first, and by system the same rows there."""
    by_system = [{(one.name, one.row["that"]): one.row for one in rows_of([system])
                  if one.name in names} for system in systems]
    found = {key: row for rows in by_system for key, row in rows.items()}
    order = sorted(found, key=lambda key: (CLAIM_KINDS.index(found[key]["kind"]),
                                           names.index(key[0])))
    return [(key[0], found[key]) for key in order], [
        [rows.get(key) for key in order] for rows in by_system]


def claimed_text(row: Row) -> str:
    """The metric that a comparison is about, and the claim in short: `segments per reply 2`,
    `bandwidth 1.87x`, `CPU per message <`."""
    claim = claim_parse(row["that"])
    claimed = published_text(claim).partition(" within ")[0].removesuffix(" the other")
    return f"{METRICS[next(references_of(claim)).metric].text} {claimed}"


def verdict_columns(rows: Sequence[Row | None], measured: bool) -> tuple[Column, ...]:
    """The verdicts of a system, with the measured figures before them."""
    shown = [column_of("measured", (measured_text(row) if row else "" for row in rows))]
    return (*(shown if measured else []),
            column_of("verdict", (row["verdict"] if row else "" for row in rows)))


def verdicts_table(names: Sequence[str], systems: Sequence[System]) -> Table:
    """Claims by systems: the verdicts alone, counts first."""
    rows, beside = rows_beside(systems, names)
    return Table((column_of("claim", (name for name, _ in rows)),
                  column_of("claimed", (claimed_text(row) for _, row in rows))),
                 tuple(Group(head, verdict_columns(mine, False))
                       for head, mine in zip(heads_of(systems), beside, strict=True)))


def agreement_text(systems: Sequence[System]) -> str:
    """On how many comparisons the systems agree, of those that several decided, and on which they
    do not."""
    decided = grouped(((one.name, one.row["that"]), one.row) for one in rows_of(systems)
                      if one.row["verdict"] in replays.DECIDED)
    several = [(name, rows[0]["says"], dict.fromkeys(row["verdict"] for row in rows))
               for (name, _), rows in decided.items() if len(rows) > 1]
    differing = [f"{name}: {says}: {' and '.join(verdicts)}"
                 for name, says, verdicts in several if len(verdicts) > 1]
    text = (f"{len(several) - len(differing)} of {counted_text(len(several), 'comparison')} "
            "that more than one of them decided")
    return text + (f"; they differ on {'; '.join(differing)}" if differing else "")


def disputes_text(claim: Mapping[str, Any], systems: Sequence[System]) -> str:
    """The claims that dispute this one, with their verdicts in these systems."""
    texts = []
    for name in claim["disputes"]:
        verdicts = [one.row["verdict"] for one in rows_of(systems) if one.name == name]
        texts.append(name + (f" ({counts_text(verdicts)})" if verdicts else ""))
    return f"disputed by {', '.join(texts)}" if texts else ""


def claim_table(name: str, systems: Sequence[System]) -> Table:
    """The table of a claim: a row for each of its comparisons, counts first."""
    having = [system for system in systems if name in system["claims"]]
    claim = having[0]["claims"][name]
    origin, (rows, beside) = claim["origin"], rows_beside(systems, [name])
    groups = [Group(head if len(systems) > 1 else "", verdict_columns(mine, True))
              for head, mine in zip(heads_of(systems), beside, strict=True)]
    programs = dict.fromkeys(system["claims"][name].get("programs", "") for system in having)
    told = origin_text(claim, having)
    texts = [("origin", f"{origin['reference']}, read {origin['read']}{': ' * bool(told)}{told}"),
             ("ran", "; ".join(filter(None, programs)))]
    return Table(
        (column_of("claim", (row["says"] for _, row in rows)),
         column_of("claimed", (published_text(claim_parse(row["that"])) for _, row in rows))),
        tuple(groups), f"{name}: {title_text(origin)}",
        below=". ".join(f"{label}: {text}" for label, text in texts if text),
        remark=disputes_text(claim, systems))


def row_reasons(claim: Mapping[str, Any], row: Row, system: System) -> str:
    """How a row was decided at each place, why it differs, and if it was not seen at a place, what
    differs from the publication."""
    texts, unseen = [], any(one["verdict"] == replays.NOT_SEEN for one in row["places"])
    for one in row["places"]:
        decided = "; ".join(decision_texts(row["that"], Decision(**one),
                                           one["verdict"] == replays.UNDECIDED))
        texts.append(f"{one['place']}: {one['verdict']}: " * (len(row["places"]) > 1) + decided)
    explained = explained_text(row)
    differs = differs_text(claim, [system]) or "another program"
    return "; ".join([*texts, *([f"because {explained}"] if explained else []),
                      *([f"what differs: {differs}"] if unseen else [])])


def notes_of(name: str, systems: Sequence[System]) -> list[Pair]:
    """The reasons for the verdicts of a claim that are not REPRODUCED, each reason once."""
    heads = heads_of(systems)
    notes = grouped(((row["verdict"], row_reasons(claim, row, system), head), row["says"])
                    for head, system in zip(heads, systems, strict=True)
                    for _, other, claim, row in rows_of([system])
                    if other == name and row["verdict"] != replays.REPRODUCED)
    return labelled(name, [f"{verdict}: {'; '.join(says)}: {why}"
                           + (f" ({head})" if len(systems) > 1 else "")
                           for (verdict, why, head), says in notes.items()])


def counts_text(verdicts: Sequence[str]) -> str:
    return ", ".join(f"{verdicts.count(verdict)} {verdict}" for verdict in replays.VERDICTS
                     if verdict in verdicts)


def claims_document(systems: Sequence[System]) -> Document:
    names = names_order({name: claim for system in reversed(systems)
                         for name, claim in system["claims"].items()})
    heads, several = heads_of(systems), len(systems) > 1
    records = [{key: row.get(key) for key in FIELDS}
               | {"claim": name, "system": head, "place": one["place"],
                  "published": published_text(claim_parse(row["that"])),
                  "differs": differs_text(claim, [system])}
               | dict(zip(("measured", "low", "high"), [*one.get("span", ()), None, None, None],
                          strict=False))
               for head, system in zip(heads, systems, strict=True)
               for _, name, claim, row in rows_of([system]) for one in row["places"]]
    return Document(
        f"{counted_text(len(names), 'claim')} that others published, replayed",
        [*([Section((), [verdicts_table(names, systems)])] if several else []),
         *(Section((), [claim_table(name, systems)]) for name in names)],
        foot=[note for name in names for note in notes_of(name, systems)],
        end=[*((head, f"{system_text(system)}: " * (head != system_text(system))
                + counts_text(verdicts_of([system])))
               for head, system in zip(heads, systems, strict=True)),
             *([("agree", agreement_text(systems))] if several else [])],
        fields=FIELDS, records=lambda: records,
        data=lambda: {"schema": SCHEMA, "systems": list(systems)})
