# SPDX-License-Identifier: MIT
"""The page of a result: question, verdicts, table, pictures, machines, commands. Pure: gives a string."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Sequence
from pathlib import Path

from suite.builds import command_by_hand, folders_of
from suite.claims import Verdict
from suite.columns import Footnotes, scales_choose
from suite.frame import Matrix
from suite.heading import heading_pairs, host_text
from suite.hyperfine import by_hand
from suite.lab.network import by_hand_lines
from suite.report.drawings import Drawn, figure_make, series_names, switch_rules
from suite.report.elements import element, folded, page_text, pairs_list
from suite.report.tables import machines_make, table_make
from suite.summary import Summary
from suite.table import Layout, answer_pairs, columns_build, foot_pairs

HERE = Path(__file__).resolve().parent
OUTCOMES = {"ok": "holds", "not ok": "does not hold", "undecided": "undecided"}
NOTHING_LOADED = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'"
Section = tuple[str, str, Sequence[ET.Element]]  # its name in addresses, its heading, what stands in it


def head_make(title: str, drawings: Sequence[Drawn]) -> ET.Element:
    """Title and style; the page may load nothing."""
    series = max((len(series_names(drawn.drawing)) for drawn in drawings), default=0)
    style = (HERE / "page.css").read_text(encoding="utf-8") + switch_rules(series)
    return element("head", element("meta", charset="utf-8"),
                   element("meta", http_equiv="Content-Security-Policy", content=NOTHING_LOADED),
                   element("meta", name="viewport", content="width=device-width"),
                   element("title", title), element("style", style))


def verdicts_make(verdicts: Sequence[Verdict]) -> list[ET.Element]:
    """Each claim with what came of it and what was measured."""
    items = [element("li", element("span", OUTCOMES[verdict.outcome], class_="outcome"), verdict.claim.says,
                     element("div", element("code", verdict.claim.that), class_="remark"),
                     *(element("div", remark, class_="remark") for remark in verdict.remarks),
                     class_=verdict.outcome.replace(" ", "-"))
             for verdict in verdicts]
    return [element("ul", *items, class_="verdicts")]


def figures_make(summary: Summary, layout: Layout) -> list[ET.Element]:
    """The table as `uncork table` has it, with what belongs above and below."""
    notes = Footnotes()
    keys, groups, breaks = columns_build(summary, layout, notes)
    return [pairs_list(heading_pairs(summary, scales_choose(summary))), table_make(keys, groups, breaks),
            pairs_list(foot_pairs(summary, notes))]


def machine_make(matrix: Matrix) -> list[ET.Element]:
    """The machines in a line each, and all that is known of them; unfolded where they differ."""
    hosts = matrix.result.hosts
    texts = [("machine" if number == 1 else "", host_text(facts)) for number, facts in enumerate(hosts.values(), 1)]
    facts = "what differs between them, and all other facts" if len(hosts) > 1 else "all facts"
    return [pairs_list(texts), folded(facts, machines_make(hosts), open_=len(hosts) > 1)]


def commands_make(matrix: Matrix) -> list[ET.Element]:
    """Every command behind the page: the answers from the result, and each cell by hand."""
    result = matrix.result
    folders = folders_of(result.plan)
    timed = by_hand if result.plan.get("timer") == "hyperfine" else str
    cells = [cell.given or cell.words for cell in matrix.cells.values() if cell.status != "unsupported"]
    lines = [timed(line) for line in by_hand_lines(cells, lambda given: command_by_hand(given, (), folders))]
    answers = [f"scripts/uncork {name} {result.folder}" for name in ("table", "plot", "check", "report")]
    return [element("p", "From the records:"), element("pre", "\n".join(answers)),
            folded(f"every cell by hand ({len(cells)})", element("pre", "\n".join(lines)))]


def sections_make(summary: Summary, layout: Layout, verdicts: Sequence[Verdict], drawings: Sequence[Drawn]
                  ) -> list[Section]:
    """What the page has, in order; a section without anything to say is left out."""
    answers = answer_pairs(summary)
    sections: list[Section] = [
        ("answer", "Answer", [pairs_list(answers)] if answers else []),
        ("claims", "Claims", verdicts_make(verdicts) if verdicts else []),
        ("table", "Table", figures_make(summary, layout)),
        ("pictures", "Pictures", [figure_make(drawn, number) for number, drawn in enumerate(drawings, start=1)]),
        ("machine", "Machine", machine_make(summary.matrix)),
        ("commands", "Commands", commands_make(summary.matrix)),
    ]
    return [section for section in sections if section[2]]


def page_make(summary: Summary, layout: Layout, verdicts: Sequence[Verdict], drawings: Sequence[Drawn]) -> str:
    """The whole page."""
    matrix = summary.matrix
    scenario = matrix.result.scenario
    sections = sections_make(summary, layout, verdicts, drawings)
    body = element(
        "body", element("h1", scenario.question or matrix.result.name),
        element("p", f"{matrix.result.name}" + (f"; after {scenario.source}" if scenario.source else "")),
        element("nav", *(element("a", heading, href=f"#{name}") for name, heading, _ in sections)),
        *(element("section", element("h2", heading), *children, id=name) for name, heading, children in sections),
        element("script", (HERE / "page.js").read_text(encoding="utf-8")))
    return page_text(head_make(matrix.result.name, drawings), body)
