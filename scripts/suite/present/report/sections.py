# SPDX-License-Identifier: MIT
"""What stands in the sections of a page. Pure."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Iterable, Sequence

from suite.analyse.answers import OUTCOMES
from suite.analyse.claims import ClaimVerdict
from suite.analyse.comparison.model import Comparison
from suite.analyse.frame import Matrix
from suite.analyse.machines import machines_group
from suite.base.by_hand import by_hand_lines
from suite.present.columns import Footnotes
from suite.present.comparison.document import comparison_foot, differences_pairs, tables_build
from suite.present.heading import machine_text
from suite.present.mail.command import command_lines
from suite.present.report.elements import element, folded, pairs_list
from suite.present.report.tables import machines_make
from suite.present.tables.html import document_elements
from suite.present.tables.model import Document, Section
from suite.result.machine import Machine
from suite.result.plan import folders_of


def verdicts_make(verdicts: Sequence[ClaimVerdict]) -> list[ET.Element]:
    """Each claim with what came of it and what was measured."""
    items = [element("li", element("span", OUTCOMES[verdict.outcome], class_="outcome"),
                     verdict.claim.says,
                     element("div", element("code", verdict.claim.that), class_="remark"),
                     *(element("div", remark, class_="remark") for remark in verdict.remarks),
                     class_=verdict.outcome.replace(" ", "-"))
             for verdict in verdicts]
    return [element("ul", *items, class_="verdicts")]


def machine_make(boots: Iterable[Machine]) -> list[ET.Element]:
    """The machines in a line each, several boots of one only once, and all that is known of them;
    unfolded where they differ."""
    machines = machines_group(boots)
    texts = [("machine" if number == 1 else "",
              machine_text(machine) + boots_count_text(len(machine.hosts)))
             for number, machine in enumerate(machines, 1)]
    facts = "what differs between them, and all other facts" if len(machines) > 1 else "all facts"
    return [pairs_list(texts), folded(facts, machines_make(machines), open_=len(machines) > 1)]


def boots_count_text(count: int) -> str:
    """How many boots are one machine, where there are several."""
    return f", {count} boots" if count > 1 else ""


def changes_make(comparisons: Sequence[Comparison]) -> list[ET.Element]:
    """Each comparison: within a result what else differs, a table for each metric, and below all of
    them what the marks mean."""
    notes = Footnotes()
    sections = [Section(differences_pairs(one) if one.within else (), tables_build(one, notes),
                        f"{one.new.name} against {one.base.name}") for one in comparisons]
    return document_elements(Document("", sections, comparison_foot(comparisons, notes)))


def repeat_make(commands: Sequence[Sequence[str]], answers: Sequence[str]) -> list[ET.Element]:
    """The commands that measure again, and those that made the answers from the records."""
    lines = ["\n".join(command_lines(words)) for words in commands]
    return [element("p", "To measure it again:"), element("pre", "\n".join(lines)),
            element("p", "From the records:"), element("pre", "\n".join(answers))]


def by_hand_make(matrix: Matrix) -> ET.Element:
    """Every cell by hand."""
    plan = matrix.result.plan
    cells = [cell.given or cell.words for cell in matrix.cells.values()
             if cell.status != "unsupported"]
    lines = by_hand_lines(cells, folders_of(plan), plan.timer)
    return folded(f"every cell by hand ({len(cells)})", element("pre", "\n".join(lines)))
