# SPDX-License-Identifier: MIT
"""The page of a result, or of two that are compared: all of it, in order. Pure: gives a string."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Sequence
from pathlib import Path

from suite.analyse.answers import deciding_pairs
from suite.analyse.arrangement import Layout
from suite.analyse.claims import ClaimVerdict
from suite.analyse.comparison.model import Comparison
from suite.analyse.summary import Summary
from suite.present.comparison.document import sides_pairs, title_of
from suite.present.report.drawings import Drawn, figure_element, switch_rules
from suite.present.report.elements import element, page_text, pairs_list
from suite.present.report.sections import (
    by_hand_make,
    changes_make,
    machine_make,
    repeat_make,
    verdicts_make,
)
from suite.present.table import answers_of, answers_tell, result_document
from suite.present.tables.html import document_elements, list_elements

PAGE_FOLDER = Path(__file__).resolve().parent
NOTHING_LOADED = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'"
# the name in addresses, the heading, the elements
PageSection = tuple[str, str, Sequence[ET.Element]]


def head_make(title: str, drawings: Sequence[Drawn]) -> ET.Element:
    """Title and style; the page may load nothing."""
    series = max((len(drawn.drawing.series) for drawn in drawings), default=0)
    style = (PAGE_FOLDER / "page.css").read_text(encoding="utf-8") + switch_rules(series)
    return element("head", element("meta", charset="utf-8"),
                   element("meta", http_equiv="Content-Security-Policy", content=NOTHING_LOADED),
                   element("meta", name="viewport", content="width=device-width"),
                   element("title", title), element("style", style))


def page_make(title: str, heading: str, below: str, sections: Sequence[PageSection],
              drawings: Sequence[Drawn]) -> str:
    """The whole page, drawings: all on it; a section without anything to say is left out."""
    filled = [section for section in sections if section[2]]
    body = element(
        "body", element("h1", heading), element("p", below),
        element("nav", *(element("a", text, href=f"#{name}") for name, text, _ in filled)),
        *(element("section", element("h2", text), *children, id=name)
          for name, text, children in filled),
        element("script", (PAGE_FOLDER / "page.js").read_text(encoding="utf-8")))
    return page_text(head_make(title, drawings), body)


def result_page(summary: Summary, layout: Layout, verdicts: Sequence[ClaimVerdict],
                comparisons: Sequence[Comparison], again: Sequence[Sequence[str]],
                figures: Sequence[Drawn] = (), changes: Sequence[Drawn] = (),
                notes: Sequence[str] = ()) -> str:
    """The page of one result; comparisons: its baseline against each other value, changes: their
    pictures; again: the commands that measure it again; notes: what it has not, and why."""
    matrix = summary.matrix
    result, answers = matrix.result, answers_of(summary)
    commands = [f"uncork {name} {result.folder}"
                for name in ("table", "compare", "plot", "check", "paste", "report")]
    sections: list[PageSection] = [
        ("answer", "Answer", list_elements([*answers_tell(summary, answers),
                                             *deciding_pairs(answers)])),
        ("claims", "Claims", verdicts_make(verdicts) if verdicts else []),
        ("changes", "Changes", [*map(figure_element, changes), *changes_make(comparisons)]),
        ("table", "Table", document_elements(result_document(summary, layout))),
        ("pictures", "Pictures", [*map(figure_element, figures)]),
        ("notes", "Notes", [pairs_list(("", note) for note in notes)] if notes else []),
        ("machine", "Machine", machine_make(result.machines.values())),
        ("commands", "Commands", [*repeat_make(again, commands), by_hand_make(matrix)]),
    ]
    below = [result.name] if result.scenario.question else []
    below += [f"after {result.scenario.source}"] if result.scenario.source else []
    return page_make(result.name, result.scenario.question or result.name, "; ".join(below),
                     sections, [*changes, *figures])


def pair_page(comparison: Comparison, commands: Sequence[Sequence[str]],
              changes: Sequence[Drawn] = ()) -> str:
    """The page of two results that are compared: first of all what differs between them."""
    base, new = comparison.base.matrix.result, comparison.new.matrix.result
    answers = [f"uncork {name} {base.folder} {new.folder}"
               for name in ("compare", "paste", "report")]
    machines = [machine for side in (base, new) for machine in side.machines.values()]
    sections: list[PageSection] = [
        ("sides", "Sides", [pairs_list(sides_pairs(comparison))]),
        ("changes", "Changes", [*map(figure_element, changes), *changes_make([comparison])]),
        ("machine", "Machine", machine_make(machines)),
        ("commands", "Commands", repeat_make(commands, answers)),
    ]
    return page_make(f"{new.name} against {base.name}", title_of(comparison), new.scenario.source,
                     sections, changes)
