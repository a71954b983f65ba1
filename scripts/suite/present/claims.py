# SPDX-License-Identifier: MIT
"""Claims in words: the outcomes of a scenario's claims, and the verdicts on published ones as a
document. That has a table for each claim, with columns for each system. A system is what
suite/decide/replays.py reads from a result or a report."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pandas as pd

from suite import stats
from suite.base import grouped
from suite.base.units import counted_text, number_text, value_text
from suite.decide import replays
from suite.decide.claims import ClaimVerdict, Decision, claims_decide
from suite.decide.expressions import ABOUT, UNKNOWN, Operation, claim_parse, references_of, unit_of
from suite.decide.replays import SCHEMA, Row, System, claim_head, rows_of
from suite.observe.frame import Matrix
from suite.observe.metrics import METRICS
from suite.present.answers import labelled, rounds_text
from suite.present.tables.model import Document, Group, Pair, Section, Table, text_columns
from suite.scenario.scenario import CLAIM_KINDS

FIELDS = ("claim", "says", "kind", "published", "system", "place", "measured", "low", "high",
          "verdict", "differs")
OUTCOMES = {"ok": "holds", "not ok": "does not hold", "undecided": "undecided"}
Systems = Mapping[str, System]  # by the head of their column


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
        texts.append(rounds_text(decided.needed))
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
    told = origin_text(head, systems)
    claims = [("claim", ": ".join(filter(None, (
        row["says"], f"{published_text(claim_parse(row['that']))} there, "
                     f"{measured_text(row) or 'nothing'} here", row["verdict"],
        explained_text(row))))) for _, _, _, row in rows_of(systems)]
    return [("published", f"{title_text(head['origin'])}: {source_text(head['origin'])}"),
            *([("origin", told)] if told else []), *claims]


def explained_text(row: Row) -> str:
    """Why a claim differs from the published figure, if the result shows that; else empty."""
    if not row["explained"]:
        return ""
    parsed = claim_parse(row["evidence"])
    return f"{row['because']}: " + "; ".join(span_text(parsed, span) for span in row["explained"])


def source_text(origin: Mapping[str, str]) -> str:
    return f"{origin['reference']}, read {origin['read']}"


def title_text(origin: Mapping[str, str]) -> str:
    told = ", ".join(filter(None, (origin["who"], origin.get("date"))))
    return f"{origin['title']} ({told})"


def system_text(system: System) -> str:
    """A system's kernel, processor, and words target and build."""
    machine = system["machine"]
    known = [f"{machine.get('system', '')} {machine.get('kernel', '')}".strip(),
             machine.get("cpu", ""), *(f"{key}={machine[key]}" for key in ("target", "build")
                                       if key in machine)]
    return ", ".join(filter(None, known)) or system["name"]


def systems_named(systems: Iterable[System]) -> Systems:
    """The systems by the heads of their columns; runs of one system are numbered."""
    found = grouped((system_text(system), system) for system in systems)
    return {f"{text} ({number})" if number > 1 else text: system
            for text, same in found.items() for number, system in enumerate(same, start=1)}


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


def row_reasons(claim: Mapping[str, Any], row: Row, system: System) -> str:
    """How a row was decided at each place, why it differs, and if it was not seen at a place, what
    differs from the publication."""
    texts = []
    for one in row["places"]:
        decided = decision_texts(row["that"], Decision(**one),
                                 one["verdict"] == replays.UNDECIDED)
        place = f"{one['place']}: {one['verdict']}: " if len(row["places"]) > 1 else ""
        texts.append(place + "; ".join(decided))
    if explained := explained_text(row):
        texts.append(f"because {explained}")
    if any(one["verdict"] == replays.NOT_SEEN for one in row["places"]):
        texts.append(f"what differs: {differs_text(claim, [system]) or 'another program'}")
    return "; ".join(texts)


def claimed_text(row: Row) -> str:
    """The metric that a comparison is about, and the claim: `segments per reply 2`, `bandwidth
    1.87x within 1.5`, `CPU per message < the other`."""
    claim = claim_parse(row["that"])
    return f"{METRICS[next(references_of(claim)).metric].text} {published_text(claim)}"


def rows_frame(systems: Systems) -> pd.DataFrame:
    """A line of texts for each comparison in each system: claims with counts first."""
    frame = pd.DataFrame([{
        "system": head, "claim": name, "kind": CLAIM_KINDS.index(row["kind"]),
        "that": row["that"], "says": row["says"], "claimed": claimed_text(row),
        "published": published_text(claim_parse(row["that"])), "measured": measured_text(row),
        "verdict": row["verdict"], "why": row_reasons(claim, row, system)}
        for head, system in systems.items() for _, name, claim, row in rows_of([system])])
    frame["first"] = frame.groupby("claim")["kind"].transform("min")
    return frame.sort_values(["first", "claim", "kind"], kind="stable")


def rows_table(frame: pd.DataFrame, keys: Mapping[str, str], values: Sequence[str]) -> Table:
    """The values of each system beside the keys, which have these heads."""
    beside = frame.pivot_table(values, [*keys, "that"], "system", aggfunc="first", fill_value="",
                               sort=False)
    groups = {head: {value: beside[value, head] for value in values}
              for head in frame["system"].unique()}
    return Table(text_columns({head: beside.index.get_level_values(key)
                               for key, head in keys.items()}, left=True),
                 tuple(Group(head, text_columns(texts, left=True))
                       for head, texts in groups.items()))


def agreement_text(frame: pd.DataFrame) -> str:
    """On how many comparisons the systems agree, of those that several decided, and on which they
    do not."""
    decided = frame[frame["verdict"].isin(replays.DECIDED)].groupby(
        ["claim", "says", "that"], sort=False)["verdict"]
    several = decided.unique()[decided.size() > 1]
    differing = [f"{name}: {says}: {' and '.join(verdicts)}"
                 for (name, says, _), verdicts in several.items() if len(verdicts) > 1]
    text = (f"{len(several) - len(differing)} of {counted_text(len(several), 'comparison')} "
            "that more than one of them decided")
    return text + (f"; they differ on {'; '.join(differing)}" if differing else "")


def counts_text(verdicts: Iterable[str]) -> str:
    counts = Counter(verdicts)
    return ", ".join(f"{counts[verdict]} {verdict}" for verdict in replays.VERDICTS
                     if verdict in counts)


def disputes_text(claim: Mapping[str, Any], frame: pd.DataFrame) -> str:
    """The claims that dispute this one, with their verdicts in these systems."""
    verdicts = {name: counts_text(frame["verdict"][frame["claim"] == name])
                for name in claim["disputes"]}
    texts = [f"{name} ({text})" if text else name for name, text in verdicts.items()]
    return f"disputed by {', '.join(texts)}" if texts else ""


def claim_table(name: str, systems: Systems, frame: pd.DataFrame) -> Table:
    """The table of a claim: a row for each of its comparisons."""
    having = [system for system in systems.values() if name in system["claims"]]
    claim = having[0]["claims"][name]
    ran = dict.fromkeys(system["claims"][name].get("programs", "") for system in having)
    told = f"{source_text(claim['origin'])}: {origin_text(claim, having)}".removesuffix(": ")
    texts = [("origin", told), ("ran", "; ".join(filter(None, ran)))]
    table = rows_table(frame[frame["claim"] == name], {"says": "claim", "published": "claimed"},
                       ("measured", "verdict"))
    return replace(table, title=f"{name}: {title_text(claim['origin'])}",
                   below=tuple(filter(None, (
                       ". ".join(f"{label}: {text}" for label, text in texts if text),
                       disputes_text(claim, frame)))))


def reasons_pairs(name: str, frame: pd.DataFrame) -> list[Pair]:
    """The reasons for the verdicts of a claim that are not REPRODUCED, each reason once."""
    shown = frame[(frame["claim"] == name) & (frame["verdict"] != replays.REPRODUCED)]
    several = frame["system"].nunique() > 1
    return labelled(name, [
        f"{verdict}: {'; '.join(says)}: {why}" + (f" ({head})" if several else "")
        for (verdict, why, head), says in shown.groupby(["verdict", "why", "system"],
                                                        sort=False)["says"]])


def claims_records(systems: Systems) -> list[dict[str, Any]]:
    """FIELDS of every comparison at every place."""
    return [{key: row.get(key) for key in FIELDS}
            | {"claim": name, "system": head, "place": one["place"],
               "published": published_text(claim_parse(row["that"])),
               "differs": differs_text(claim, [system])}
            | dict(zip(("measured", "low", "high"), one.get("span", ()), strict=False))
            for head, system in systems.items()
            for _, name, claim, row in rows_of([system]) for one in row["places"]]


def claims_document(found: Sequence[System]) -> Document:
    systems = systems_named(found)
    frame = rows_frame(systems)
    names = frame["claim"].unique()
    tables = [claim_table(name, systems, frame) for name in names]
    verdicts = frame.groupby("system", sort=False)["verdict"]
    end = [(head, f"{systems[head]['name']}: {counts_text(found)}") for head, found in verdicts]
    if len(found) > 1:
        tables.insert(0, rows_table(frame, {"claim": "claim", "claimed": "claimed"}, ["verdict"]))
        end.append(("agree", agreement_text(frame)))
    return Document(
        f"{counted_text(len(names), 'claim')} that others published, replayed",
        [Section((), [table]) for table in tables],
        foot=[pair for name in names for pair in reasons_pairs(name, frame)], end=end,
        fields=FIELDS, records=lambda: claims_records(systems),
        data=lambda: {"schema": SCHEMA, "systems": list(found)})
