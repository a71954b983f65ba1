# SPDX-License-Identifier: MIT
"""What the keys of a scenario mean: one text for each, for `uncork list` and uncork-scenario(5).

The type of a key follows from its reader in scenario.py.
"""

from typing import NamedTuple

from suite.scenario import scenario
from suite.scenario.scenario import (
    CLAIM_KINDS,
    IN_KIND,
    LABEL,
    LABEL_REPEAT,
    PART_KEYS,
    PICTURES,
    READ,
    SCENARIO_KEYS,
)
from suite.stats.histogram import HISTOGRAMS

TOP = ""  # the keys in front of the first table
TYPES = {  # by reader: the type, and what holds where the key is absent; None: it must be there
    scenario.string_read: ("text", "empty"),
    scenario.string_require: ("text", None),
    scenario.string_or_none: ("text", "none"),
    scenario.strings_read: ("list of texts", "empty"),
    scenario.numbers_read: ("number above 0, or a list of them", None),
    scenario.claim_kind_read: (f"one of {', '.join(CLAIM_KINDS)}", "empty"),
    scenario.fidelity_read: (IN_KIND, "empty"),
    scenario.hand_read: (" or ".join(READ), None),
    scenario.label_read: (f"{LABEL} or {LABEL_REPEAT}", LABEL),
    scenario.kind_read: (f"one of {', '.join(PICTURES)}", None),
    scenario.histogram_name_read: (f"one of {', '.join(HISTOGRAMS)}", "none"),
    scenario.size_read: ("column, page or WIDTHxHEIGHT with in, mm or px", "none"),
    scenario.shown_read: ("yes or no", "none"),
    scenario.name_read: ("letters, digits, _, - and .", "the name of the file without .toml"),
}
MEANS = {
    TOP: {
        "name": "name of the scenario; a result is named by it",
        "question": "the question that the scenario answers, one sentence",
        "source": "where the question, or the published figures, come from",
        "exclude": "each text is some words: cells that have all of them are left out",
        "disputes": "claims, by the names of their files, that say the contrary",
    },
    "origin": {
        "title": "title under which it was published",
        "who": "who published it",
        "reference": "where it can be read: a project with a commit, an issue, a page",
        "read": "whether that text was read, or another one that cites it",
        "date": "when it was published",
        "machine": "machine that was measured there",
        "kernel": "its kernel",
        "conditions": "what was measured there, and how",
        "fidelity": f"{IN_KIND} where a whole program was measured there and does not run here",
        "differs": "what the replay does otherwise",
        "needs": "what an idle machine lacks for it, as other load on the CPU",
    },
    "arm": {
        "name": "value of the word arm that stands for the words of this table",
    },
    "published": {
        "words": "words of the cell that the figure is of; of a list of figures one word lists too",
        "metric": "metric of the figure",
        "value": "the figure in the base unit of the metric: s, 1/s, bit/s, B or 1",
        "from": "where the figure stands, as FILE:PLACE; of a list of figures PLACE ends with one",
        "set": "name of a series, where several series are of the same cells",
        "label": f"{LABEL_REPEAT} for the repeated run of the baseline",
        "unit": "unit in which it was printed",
        "about": "why it is only about right: rounded, or told in words",
    },
    "claim": {
        "says": "the claim as a sentence",
        "that": "the comparison that decides it, see EXPRESSIONS",
        "kind": "what was published: a count, the direction of a change, a ratio, or a stall",
        "because": "why another verdict was seen, as a sentence",
        "evidence": "the comparison that shows it, in the same result",
    },
    "answer": {
        "asks": "the question as a sentence",
        "word": "the word whose best value is the answer",
        "metric": "the metric that decides which value is best",
        "where": "words of the cells that the question is about; empty: all cells",
    },
    "table": {
        "rows": "words whose values make the rows; empty: all words that vary",
        "columns": "metrics in this order; empty: those that suit the workload",
        "gain": "metric whose values before and after, and whose gain, are shown",
        "best": "word whose best value by the first metric is marked; not with gain",
    },
    "picture": {
        "kind": "kind of the picture",
        "metric": "metric that it shows; not for "
                  + ", ".join(kind for kind, key in PICTURES.items() if key != "metric"),
        "of": "histogram that it shows; only for "
              + ", ".join(kind for kind, key in PICTURES.items() if key == "of"),
        "x": "word along which bars and curves run, columns of a heat map, lines of other kinds",
        "name": "name of the files of the picture; none: metric or histogram, and kind",
        "size": "size in print, column (3.3 in), page (6.9 in) or any other; none: a screen",
        "title": "whether the title is shown; none: yes",
        "points": "whether each round is shown, as a dot or in a band; none: where there is room",
        "note": "whether the small print about rounds and machines is shown; none: yes",
    },
}


class Key(NamedTuple):
    """A key of a part of a scenario. default: None where the key must be there."""

    name: str
    type: str
    default: str | None
    means: str


def part_keys(part: str) -> list[Key]:
    """The keys of a part, in the order of their texts; none of a part that has only words."""
    readers = {"name": scenario.name_read, **SCENARIO_KEYS} if part == TOP else PART_KEYS.get(
        part, {"name": scenario.string_require})
    return [Key(name, *TYPES[readers[name]], means) for name, means in MEANS.get(part, {}).items()]
