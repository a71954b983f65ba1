# SPDX-License-Identifier: MIT
"""`uncork list`: scenarios, words, metrics, and variants with what this machine supports."""

import argparse
import json
import re
import textwrap
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from suite.base import ROOT, grouped
from suite.base.client import (
    Client,
    Vocabulary,
    client_check,
    client_list,
    client_open,
    scenario_names,
    scenario_path,
)
from suite.base.errors import Failure, UsageError, nearest_hint
from suite.base.lab_words import RATE_UNITS
from suite.base.runner_words import TARGET
from suite.base.text import labelled_lines, terminal_width
from suite.base.units import size_text
from suite.base.words import words_text
from suite.observe.metrics import METRICS
from suite.places.lab import lab_refusal
from suite.places.targets import targets_require
from suite.result.files import reference_names
from suite.result.record import ENDS
from suite.scenario.scenario import Scenario, part_keys, scenario_load
from suite.scenario.subject import programs_read

WIDTH_MAX = 100
READING = ROOT / "docs" / "reading.md"  # explains signs and terms, in tables of two columns
BOUND_MAX = 2**40  # a larger bound is not printed: it only keeps a number from overflowing
NAME_MOST = 28  # a longer name has a line of its own
# the parts and keys of a scenario, without name, question and source
SCENARIO_PARTS = {
    "fixed": '[fixed]: words that all cells have, write = "cork"',
    "sweep": '[sweep]: words that vary, write = ["nodelay", "cork"]; a cell is one combination',
    "run": "[run]: how all cells are run: rounds, duration, baseline",
    "exclude": 'exclude = ["lab=on write=uv"]: cells that are left out',
    "disputes": 'disputes = ["ID"]: other published claims that say the contrary of this one',
    "origin": "[origin]: who published the claims, where, and what was measured there; "
              "uncork claims",
    "arm": '[[arm]]: a name and words that belong together: name = "small", sndbuf = "64K", '
           'message = "15x2"; arm = ["small", "large"] under [sweep], or arm=small,large on the '
           "command line, chooses them; where [fixed] or [sweep] has the same word, the arm wins",
    "published": "[[published]]: a figure that others measured: words, metric, value, from",
    "claim": "[[claim]]: a sentence (says) and the comparison of metrics that decides it (that); "
             "a published claim has a kind; uncork check",
    "answer": "[[answer]]: a question (asks); the answer is which value of word is best by metric, "
              "among cells with the words of where; uncork table prints the answer first",
    "table": "[table]: rows, columns, and gain or best",
    "picture": "[[picture]]: kind, metric or of, x, name, size, title, note, points; "
               "uncork plot",
}
SPELLED = {  # units of numbers that are typed with a suffix: the suffixes, largest first
    "duration": {"s": 10**9, "ms": 10**6, "us": 1000, "ns": 1},
    "rate": RATE_UNITS,
    "percent": {"%": 10**4},
}


def scenarios_read() -> list[Scenario]:
    return [scenario_load(scenario_path(name)) for name in scenario_names()]


def block(head: str, rows: Iterable[tuple[str, str]], longest: int | None = NAME_MOST) -> str:
    """A head and below it rows, each a name with a text."""
    lines = labelled_lines(list(rows), terminal_width(WIDTH_MAX), "  ", longest)
    return "\n".join([head, *lines] if head else lines)


def bound_text(number: int, unit: str) -> str:
    """A bound as it is typed: sizes with K, M or G, others with the largest suffix that fits."""
    if unit == "bytes":
        return size_text(number)
    if unit in SPELLED:
        units = SPELLED[unit]
        whole = (name for name, factor in units.items() if number % factor == 0)
        name = next(whole, list(units)[-1])
        return f"{number / units[name]:.10g}{name}"
    return str(number)


def bounds_text(word: Mapping[str, Any]) -> str:
    """`1 to 10000`, `1 to 1G bytes`; empty for words without bounds."""
    if "minimum" not in word or "maximum" not in word:
        return ""
    unit = str(word.get("unit", ""))
    low, high = (bound_text(word[key], unit) for key in ("minimum", "maximum"))
    if word["maximum"] > BOUND_MAX and unit not in SPELLED:
        return f"from {low}"
    return f"{low} to {high} {'' if unit in (*SPELLED, word['key']) else unit}".strip()


def word_row(word: Mapping[str, Any]) -> tuple[str, str]:
    """A word with its default, its help, its values, and whether ends may differ."""
    parts = [word["help"].rstrip("."), ", ".join(word.get("choices", ())) or bounds_text(word),
             "each end" if word["ends"] else ""]
    return f"{word['key']}={word['default'] or ''}", "; ".join(filter(None, parts))


def variant_row(variant: Mapping[str, Any]) -> tuple[str, str]:
    size = variant.get("parameter")
    takes = "SIZE" if size else variant.get("takes")
    name = variant["name"] + (f":{takes}" if takes else "")
    text = variant["help"].rstrip(".") + (f"; :SIZE {size}" if size else "")
    # A reason begins with the words that were checked: the reader sees them already.
    reasons = [f"not on {where}: {why.rpartition(' here: ')[2]}"
               for where, why in variant.get("unsupported", {}).items()]
    return name, "; ".join([text, *reasons])


def list_text(vocabulary: Vocabulary, scenarios: list[Scenario]) -> str:
    questions = {item.name: item.question for item in scenarios}
    words, programs = vocabulary.words.values(), programs_read().values()
    parts: dict[str, Iterable[tuple[str, str]]] = {
        "Scenarios (uncork run NAME)": questions.items(),
        "Reference results (uncork table NAME), to read before you measure": [
            (name, questions.get(name.rpartition("/")[2], "")) for name in reference_names()],
        "Parts of a scenario (a file of TOML, uncork run FILE)": SCENARIO_PARTS.items(),
        **{f"{kind.capitalize()}s ({kind}=NAME; uncork subjects has their versions and parameters)":
           [(item.name, item.says) for item in programs if item.kind == kind]
           for kind in ("subject", "load")},
        "Words (key=default; each end: client., server. or proxy. may precede the key)": [
            word_row(word) for word in words if word["scope"] != "run"],
        "Words for all cells together (uncork run only)": [
            word_row(word) for word in words if word["scope"] == "run"],
        **{axis.capitalize(): map(variant_row, variants)
           for axis, variants in vocabulary.document["variants"].items()},
        "Metrics (uncork table RESULTS columns=...; tables, pictures, claims)": [
            (metric.name, metric.means + f"; {metric.unit}" * (metric.unit != "1"))
            for metric in METRICS.values()]}
    return "\n\n".join(block(head, rows) for head, rows in parts.items())


def list_json(vocabulary: Vocabulary, scenarios: list[Scenario]) -> str:
    def picked(items: Iterable[object], *keys: str) -> list[dict[str, Any]]:
        return [{key: getattr(item, key) for key in keys} for item in items]

    return json.dumps(vocabulary.document | {
        "scenarios": picked(scenarios, "name", "question", "source"),
        "metrics": picked(METRICS.values(), "name", "unit", "better", "means"),
        "references": reference_names()}, indent=1, ensure_ascii=False)


def unsupported_find(client: Client, word: Mapping[str, Any]) -> dict[str, str]:
    """Why this machine does not support a value of a word, by value."""
    key, choices = word["key"], word["choices"]
    found: dict[str, str] = {}
    if key == TARGET:
        for target in choices:
            try:
                targets_require([target])
            except Failure as error:
                found[target] = str(error).removeprefix(f"{TARGET}={target}: ")
        return found
    try:
        answers = client_check(client, [f"{key}={choice}" for choice in choices])
    except UsageError:  # a value contradicts the default of another word: no question of support
        return found
    for choice, checked in zip(choices, answers, strict=True):
        if reason := checked.unsupported or lab_refusal(checked.words):
            found[choice] = reason.removeprefix(f"{key}={choice} does not work here: ")
    return found


def word_text(vocabulary: Vocabulary, client: Client, word: Mapping[str, Any]) -> str:
    listed = [what for key, what in (("lists", "lists a,b"), ("ranges", "ranges a..b"))
              if word[key]]
    rows = [("default", word["default"] or "none"),
            ("values", "; ".join(filter(None, (", ".join(word.get("names", ())),
                                               bounds_text(word))))),
            ("takes", " and ".join(listed)),
            ("each end", ", ".join(f"{end}.{word['key']}" for end in ENDS if word["ends"])),
            ("for", "the whole run (uncork run only)" if word["scope"] == "run" else "")]
    means = textwrap.fill(word["help"], terminal_width(WIDTH_MAX) - 2, initial_indent="  ",
                          subsequent_indent="  ")
    parts = [f"{word['key']}=\n{means}", block("", [row for row in rows if row[1]], None)]
    if "choices" in word:
        helps = {name: variant["help"].rstrip(".")
                 for name, variant in vocabulary.variants(word).items()}
        notes = {choice: f"not here: {reason}"
                 for choice, reason in unsupported_find(client, word).items()}
        parts.append(block("", [(choice, "; ".join(filter(None, (
            helps.get(choice), notes.get(choice))))) for choice in word["choices"]]))
    return "\n\n".join(parts)


def value_texts(name: str, vocabulary: Vocabulary) -> list[str]:
    found = grouped((block("", [variant_row(variant)]), f"{key}={name}")
                    for key, word in vocabulary.words.items()
                    if (variant := vocabulary.variants(word).get(name)))
    return ["\n".join([" ".join(words), text]) for text, words in found.items()]


def scenario_rows(scenario: Scenario, path: str) -> list[tuple[str, str]]:
    return [("asks", scenario.question or "nothing"), ("source", scenario.source or "none"),
            *(("arm", f"{arm.name}: {words_text(arm.words)}") for arm in scenario.arms),
            *(("answer", question.asks) for question in scenario.answers),
            ("runs by", f"uncork run {path}")]


def key_rows(part: str) -> list[tuple[str, str]]:
    return [(key.name, f"{key.type}, "
             f"{'required' if key.default is None else f'default {key.default}'}: {key.means}")
            for key in part_keys(part)]


def terms_read() -> list[tuple[list[str], str]]:
    terms = []
    for table in re.findall(r"^\| --- \| --- \|\n((?:\|.*\n)+)", READING.read_text("utf-8"), re.M):
        for cell, text in re.findall(r"^\| (.+?) \| (.+) \|$", table, re.M):
            names = re.findall(r"`(.+?)`", cell) or cell.split(", ")
            terms.append((names + re.findall(r"\*\*(.+?)\*\*", text), re.sub(
                r"\[(.+?)\]\(.+?\)", r"\1", text).replace("**", "").replace("`", "")))
    return terms


def term_texts(name: str) -> list[str]:
    """The meaning of a sign or a term; one word of a term will do, and its plural."""
    return [block(", ".join(names), [("means", text)]) for names, text in terms_read()
            if {name, name.removesuffix("s")} & {one for term in names
                                                 for one in (term, *term.split())}]


def name_text(name: str, vocabulary: Vocabulary, client: Client) -> str:
    """Explains everything that has this name."""
    scenarios = {item.name: item for item in scenarios_read()}
    if name.endswith(".toml"):
        scenarios[name] = scenario_load(Path(name))
    end, dot, key = name.partition("=")[0].rpartition(".")
    found = []
    if (not dot or end in ENDS) and key in vocabulary.words:
        found.append(word_text(vocabulary, client, vocabulary.words[key]))
    found += value_texts(name.partition(":")[0], vocabulary)
    rows = {metric.name: [("means", metric.means), ("unit", metric.unit), ("better", metric.better)]
            for metric in METRICS.values()}
    rows |= {part: [("in a scenario", text), *key_rows(part)]
             for part, text in SCENARIO_PARTS.items() if part not in vocabulary.words}
    rows |= {f"scenario {key}": scenario_rows(item, key) for key, item in scenarios.items()}
    rows |= {f"arm={arm.name}": [("in", item.name), ("words", words_text(arm.words))]
             for item in scenarios.values() for arm in item.arms}
    rows |= {f"{one.kind}={one.name}": [("is", one.says), ("more", "uncork subjects")]
             for one in programs_read().values()}
    found += [block(head, lines) for head, lines in rows.items()
              if name in (head, re.sub("^(scenario |arm=|subject=|load=)", "", head))]
    found += term_texts(name)
    if not found:
        values = [value for word in vocabulary.words.values()
                  for value in vocabulary.variants(word)]
        known = [*vocabulary.words, *values, *METRICS, *SCENARIO_PARTS, *scenarios,
                 *programs_read(), *(one for names, _ in terms_read() for one in names)]
        raise UsageError(f'no word, value, metric, scenario, sign or term "{name}"'
                         f"{nearest_hint(name, known)}")
    return "\n\n".join(found)


def main(options: argparse.Namespace) -> None:
    client = client_open()
    vocabulary = client_list(client)
    if options.name and options.json:
        raise UsageError("--json prints the whole list: leave out the word")
    print(name_text(options.name, vocabulary, client) if options.name else
          list_json(vocabulary, scenarios_read()) if options.json else
          list_text(vocabulary, scenarios_read()))
