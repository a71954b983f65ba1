# SPDX-License-Identifier: MIT
"""The keys of a scenario: type, default and meaning, for `uncork list` and uncork-scenario(5)."""

from typing import NamedTuple

from suite.scenario import scenario
from suite.stats.histogram import HISTOGRAMS

TOP = ""  # the keys in front of the first table
TYPES = {  # by reader: the type of a key, and its default; None: the key is required
    scenario.string_read: ("text", "empty"),
    scenario.string_require: ("text", None),
    scenario.string_or_none: ("text", "none"),
    scenario.strings_read: ("list of texts", "empty"),
    scenario.numbers_read: ("number above 0, or a list of them", None),
    scenario.claim_kind_read: (f"one of {', '.join(scenario.CLAIM_KINDS)}", "empty"),
    scenario.fidelity_read: (scenario.IN_KIND, "empty"),
    scenario.hand_read: (" or ".join(scenario.READ), None),
    scenario.label_read: (f"{scenario.LABEL} or {scenario.LABEL_REPEAT}", scenario.LABEL),
    scenario.kind_read: (f"one of {', '.join(scenario.PICTURES)}", None),
    scenario.histogram_name_read: (f"one of {', '.join(HISTOGRAMS)}", "none"),
    scenario.size_read: ("column, page or WIDTHxHEIGHT with in, mm or px", "none"),
    scenario.shown_read: ("yes or no", "none"),
    scenario.name_read: ("letters, digits, _, - and .", "the name of the file without .toml"),
}
PARTS = {  # the dataclass of each part that has keys
    TOP: scenario.Scenario, "origin": scenario.Origin, "arm": scenario.Arm,
    "published": scenario.Published, "claim": scenario.Claim, "answer": scenario.Question,
    "table": scenario.TableLayout, "picture": scenario.Picture,
}


class Key(NamedTuple):
    """A key of a part of a scenario. default: None where the key is required."""

    name: str
    type: str
    default: str | None
    means: str


def part_keys(part: str) -> list[Key]:
    """The keys of a part, in the order of their fields; none of a part that has only words."""
    keys = scenario.keys_of(PARTS[part]).items() if part in PARTS else ()
    return [Key(name, *TYPES[one.metadata["reader"]], means)
            for name, one in keys if (means := one.metadata["means"])]
