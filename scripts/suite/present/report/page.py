# SPDX-License-Identifier: MIT
"""The page of a result, or of two results that are compared. Pure: gives a string."""

import xml.etree.ElementTree as ET
from collections.abc import Iterable, Sequence
from pathlib import Path

import pandas as pd

from suite.base.by_hand import by_hand_lines
from suite.decide.claims import ClaimVerdict
from suite.decide.comparison.model import Comparison
from suite.decide.summary import Summary
from suite.observe.machines import machines_group
from suite.observe.results import Result
from suite.observe.selection import Layout
from suite.present.answers import deciding_pairs
from suite.present.claims import OUTCOMES, outcome_texts
from suite.present.comparison import document
from suite.present.heading import machine_text
from suite.present.mail.command import command_lines, word_quoted
from suite.present.report.drawings import RenderedDrawing, checkbox_rules, figure_element
from suite.present.table import answers_and_opposed, answers_of, result_document
from suite.present.tables import html
from suite.present.tables.html import element
from suite.present.tables.model import Group, Table, text_columns
from suite.result.machine import Machine, findings_last
from suite.result.plan import folders_of

PAGE_FOLDER = Path(__file__).resolve().parent
NOTHING_LOADED = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'"
READING = ("table", "compare", "plot", "check", "paste", "report")  # commands for a result
READING_TWO = ("compare", "paste", "report")
PageSection = tuple[str, str, Sequence[ET.Element]]  # id, heading, elements


def facts_table(machines: Iterable[Machine]) -> ET.Element:
    """All facts of each machine; those that differ between machines come first, above a rule."""
    flat = [pd.json_normalize({**machine.facts, "doctor": findings_last(machine.inspections)}
                              ).iloc[0].map(lambda value: " ".join(str(value).split()))
            for machine in machines]
    frame = pd.DataFrame(flat).T.fillna("")
    differing = frame.nunique(axis=1) > 1
    frame = frame.loc[differing.sort_values(ascending=False, kind="stable").index]
    differs, names, *facts = text_columns({
        "differs": differing[frame.index].map({True: "yes", False: ""}), "fact": frame.index} | {
        f"machine {number}": frame.iloc[:, number - 1] for number in range(1, len(flat) + 1)},
        left=True)
    keys = (names,) if differs.is_empty else (differs, names)
    return html.table_element(Table(keys, (Group("", tuple(facts)),)))


def machines_elements(boots: Iterable[Machine]) -> list[ET.Element]:
    machines = machines_group(boots)
    if not machines:
        return []
    texts = [("machine" * (machine is machines[0]),
              machine_text(machine) + f", {len(machine.hosts)} boots" * (len(machine.hosts) > 1))
             for machine in machines]
    facts = "what differs between them, and all other facts" if len(machines) > 1 else "all facts"
    return [*html.pairs_list(texts),
            html.details(facts, facts_table(machines), open_=len(machines) > 1)]


def commands_elements(measuring: Sequence[Sequence[str]], reading: Iterable[str],
                      *results: Result) -> list[ET.Element]:
    """The commands that measure the results again, and those that read them. reading: names."""
    measured = "\n".join(line for words in measuring for line in command_lines(words))
    folders = " ".join(word_quoted(str(result.folder)) for result in results)
    return [element("p", "To measure it again:"), element("pre", measured),
            element("p", "From the records:"),
            element("pre", "\n".join(f"uncork {name} {folders}" for name in reading))]


def page_build(title: str, heading: str, below: str, sections: Sequence[PageSection],
              drawings: Sequence[RenderedDrawing]) -> str:
    """The whole page, which loads nothing; an empty section is left out. drawings: all of them."""
    series = max((len(drawn.drawing.series) for drawn in drawings), default=0)
    style = (PAGE_FOLDER / "page.css").read_text(encoding="utf-8") + checkbox_rules(series)
    head = element("head", element("meta", charset="utf-8"),
                   element("meta", http_equiv="Content-Security-Policy", content=NOTHING_LOADED),
                   element("meta", name="viewport", content="width=device-width"),
                   element("title", title), element("style", style))
    filled = [section for section in sections if section[2]]
    body = element(
        "body", element("h1", heading), element("p", below),
        element("nav", *(element("a", text, href=f"#{name}") for name, text, _ in filled)),
        *(element("section", element("h2", text), *children, id=name)
          for name, text, children in filled),
        element("script", (PAGE_FOLDER / "page.js").read_text(encoding="utf-8")))
    return html.page_text(head, body)


def result_page(summary: Summary, layout: Layout, verdicts: Sequence[ClaimVerdict],
                comparisons: Sequence[Comparison], measuring: Sequence[Sequence[str]],
                pictures: Sequence[RenderedDrawing] = (), changes: Sequence[RenderedDrawing] = (),
                notes: Sequence[str] = ()) -> str:
    """comparisons: the baseline against each other value. notes: what the page lacks, and why."""
    result, answers = summary.matrix.result, answers_of(summary)
    cells = [cell.given or cell.words for cell in summary.matrix.cells.values()
             if cell.status != "unsupported"]
    by_hand = html.details(f"every cell by hand ({len(cells)})", element("pre", "\n".join(
        by_hand_lines(cells, folders_of(result.plan), result.plan.timer))))
    sections: list[PageSection] = [
        ("answer", "Answer",
         html.pairs_list([*answers_and_opposed(summary, answers), *deciding_pairs(answers)])),
        ("claims", "Claims", html.pairs_list(
            (OUTCOMES[one.outcome], "; ".join([one.says, one.claim.that, *outcome_texts(one)]))
            for one in verdicts)),
        ("changes", "Changes", [*map(figure_element, changes), *html.document_elements(
            document.comparison_document(comparisons))] if comparisons else ()),
        ("table", "Table", html.document_elements(result_document(summary, layout))),
        ("pictures", "Pictures", [*map(figure_element, pictures)]),
        ("notes", "Notes", html.pairs_list(("", note) for note in notes)),
        ("machine", "Machine", machines_elements(result.machines.values())),
        ("commands", "Commands", [*commands_elements(measuring, READING, result), by_hand]),
    ]
    after = f"; after {result.scenario.source}" if result.scenario.source else ""
    return page_build(result.name, result.scenario.question or result.name, result.name + after,
                     sections, [*changes, *pictures])


def pair_page(comparison: Comparison, measuring: Sequence[Sequence[str]],
              changes: Sequence[RenderedDrawing] = ()) -> str:
    """The page of two results that are compared. It begins with what differs between them."""
    base, new = comparison.base.matrix.result, comparison.new.matrix.result
    machines = [machine for side in (base, new) for machine in side.machines.values()]
    sections: list[PageSection] = [
        ("changes", "Changes", [*html.document_elements(document.comparison_document([comparison])),
                                *map(figure_element, changes)]),
        ("machine", "Machine", machines_elements(machines)),
        ("commands", "Commands", commands_elements(measuring, READING_TWO, base, new)),
    ]
    title = document.title_of(comparison)
    return page_build(title, title, new.scenario.source, sections, changes)
