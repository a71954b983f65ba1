# SPDX-License-Identifier: MIT
"""`uncork list`: scenarios, words, metrics, and variants with what this machine supports."""

import argparse
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, NamedTuple

from suite.base import ROOT, client, grouped
from suite.base.errors import Failure, UsageError, nearest_hint
from suite.base.lab_words import RATE_UNITS
from suite.base.runner_words import TARGET
from suite.base.text import block
from suite.base.units import size_text
from suite.base.words import words_text
from suite.observe.metrics import METRICS
from suite.places.lab import lab_refusal
from suite.places.targets import targets_require
from suite.result.files import reference_names
from suite.result.record import ENDS
from suite.scenario.scenario import TOP, Key, part_keys, scenario_load
from suite.scenario.subject import programs_read

READING = ROOT / "docs" / "reading.md"  # explains signs and terms, in tables of two columns
BOUND_MAX = 2**40  # a larger bound is not printed: it only keeps a number from overflowing
# the tables of a scenario
SCENARIO_PARTS = {
    "fixed": '[fixed]: words that all cells have, write = "cork"',
    "sweep": '[sweep]: words that vary, write = ["nodelay", "cork"]; a cell is one combination',
    "run": "[run]: how all cells are run: rounds, duration, baseline",
    "origin": "[origin]: who published the claims, where, and what was measured; uncork claims",
    "arm": '[[arm]]: a name and words that belong together: name = "small", sndbuf = "64K"; '
           "arm=NAME,... chooses them, and they win over the same words in [fixed] and [sweep]",
    "published": "[[published]]: a figure that others measured: words, metric, value, from",
    "claim": "[[claim]]: a sentence (says) and the comparison of metrics that decides it (that); "
             "a published claim has a kind; uncork check",
    "answer": "[[answer]]: a question (asks); the answer is which value of word is best by metric, "
              "among cells with the words of where; uncork table prints the answer first",
    "table": "[table]: rows, columns, and gain or best",
    "picture": "[[picture]]: a picture that uncork plot and uncork report draw",
}
SPELLED = {  # units of numbers that are typed with a suffix: the suffixes, largest first
    "duration": {"s": 10**9, "ms": 10**6, "us": 1000, "ns": 1},
    "rate": RATE_UNITS,
    "percent": {"%": 10**4},
}


class Entry(NamedTuple):
    """Something that has a name. section: of the list, empty if it is not listed; names: those that
    people may type, the first as the list has it; rows: what is known beside its meaning."""

    section: str
    head: str
    names: Sequence[str]
    means: str
    rows: Sequence[tuple[str, str]] = ()


def joined(*texts: str | None) -> str:
    return "; ".join(text.rstrip(".") for text in texts if text)


def bound_text(number: int, unit: str) -> str:
    """A bound as it is typed: sizes with K, M or G, others with the largest suffix that fits."""
    if unit not in SPELLED:
        return size_text(number) if unit == "bytes" else str(number)
    name, factor = next((one for one in SPELLED[unit].items() if number % one[1] == 0),
                        [*SPELLED[unit].items()][-1])
    return f"{number / factor:.10g}{name}"


def bounds_text(word: Mapping[str, Any]) -> str:
    """`1 to 10000`, `1 to 1G bytes`; empty for words without bounds."""
    if "minimum" not in word or "maximum" not in word:
        return ""
    unit = str(word.get("unit", ""))
    low, high = (bound_text(word[key], unit) for key in ("minimum", "maximum"))
    if word["maximum"] > BOUND_MAX and unit not in SPELLED:
        return f"from {low}"
    return f"{low} to {high} {'' if unit in (*SPELLED, word['key']) else unit}".strip()


def word_entry(word: Mapping[str, Any]) -> Entry:
    key, default = word["key"], word["default"]
    takes = ["lists a,b"] * word["lists"] + ["ranges a..b"] * word["ranges"]
    rows = {"default": default or "none", "takes": joined(*takes),
            "each end": ", ".join(f"{end}.{key}" for end in ENDS if word["ends"])}
    return Entry("Words (key=default; each end: client., server. or proxy. may precede the key)",
                 f"{key}=", [f"{key}={default or ''}", key], joined(
                     word["help"], ", ".join(word.get("choices", word.get("names", ()))),
                     bounds_text(word), "each end" if word["ends"] else "",
                     "for the whole run (uncork run only)" if word["scope"] == "run" else ""),
                 [row for row in rows.items() if row[1]])


def variant_entry(axis: str, keys: Iterable[str], variant: Mapping[str, Any]) -> Entry:
    """The entry of a value. keys: of the words that take it."""
    name, size = variant["name"], variant.get("parameter")
    takes = "SIZE" if size else variant.get("takes")
    reasons = [f"not on {where}: {why.rpartition(' here: ')[2]}"
               for where, why in variant.get("unsupported", {}).items()]
    return Entry(axis.capitalize(), " ".join(f"{key}={name}" for key in keys),
                 [f"{name}:{takes}" if takes else name, name],
                 joined(variant["help"], f":SIZE {size}" if size else "", *reasons))


def scenario_entries(path: str) -> Iterator[Entry]:
    """The entries of a scenario, by its name or path, and of its arms."""
    scenario = scenario_load(client.scenario_path(path))
    arms = {arm.name: words_text(arm.words) for arm in scenario.arms}
    yield Entry("Scenarios (uncork run NAME)", f"scenario {path}", [path], scenario.question, [
        ("source", scenario.source or "none"),
        *(("arm", f"{name}: {words}") for name, words in arms.items()),
        *(("answer", question.asks) for question in scenario.answers),
        ("runs by", f"uncork run {path}")])
    for name, words in arms.items():
        yield Entry("", f"arm={name}", [name], words, [("in", scenario.name)])


def part_entries() -> Iterator[Entry]:
    """The entries of the keys at the top of a scenario, and of its tables with their keys."""
    parts = {key.name: (key.means, [key]) for key in part_keys(TOP)} | {
        part: (text, part_keys(part)) for part, text in SCENARIO_PARTS.items()}
    for part, (text, keys) in parts.items():
        yield Entry("Parts of a scenario (a file of TOML, uncork run FILE)",
                    f"{part} in a scenario", [part], text, [*map(key_row, keys)])


def key_row(key: Key) -> tuple[str, str]:
    default = "required" if key.default is None else f"default {key.default}"
    return key.name, f"{key.type}, {default}: {key.means}"


def term_entries() -> Iterator[Entry]:
    """The signs and terms of docs/reading.md; one word of a term will do."""
    for table in re.findall(r"^\| --- \| --- \|\n((?:\|.*\n)+)", READING.read_text("utf-8"), re.M):
        for cell, text in re.findall(r"^\| (.+?) \| (.+) \|$", table, re.M):
            names = re.findall(r"`(.+?)`", cell) or cell.split(", ")
            names += re.findall(r"\*\*(.+?)\*\*", text)
            means = re.sub(r"\[(.+?)\]\(.+?\)", r"\1", text).replace("**", "").replace("`", "")
            yield Entry("", ", ".join(names),
                        [one for name in names for one in (name, *name.split())], means)


def entries_read(vocabulary: client.Vocabulary, scenarios: Sequence[str]) -> Iterator[Entry]:
    """All that can be listed or explained, in the order of the list."""
    found = [entry for path in scenarios for entry in scenario_entries(path)]
    yield from found
    questions = {entry.names[0]: entry.means for entry in found}
    for name in reference_names():
        yield Entry("Reference results (uncork table NAME), to read before you measure", name,
                    [name], questions.get(name.rpartition("/")[2], ""))
    yield from part_entries()
    for one in sorted(programs_read().values(), key=lambda one: one.kind, reverse=True):
        yield Entry(f"{one.kind.capitalize()}s ({one.kind}=NAME; uncork subjects has their "
                    "parameters)", f"{one.kind}={one.name}", [one.name], one.says)
    yield from map(word_entry, vocabulary.words.values())
    for axis, variants in vocabulary.document["variants"].items():
        names = [one["name"] for one in variants]
        keys = [key for key, word in vocabulary.words.items() if word.get("choices") == names]
        yield from map(partial(variant_entry, axis, keys), variants)
    for metric in METRICS.values():
        yield Entry("Metrics (uncork table RESULTS columns=...; tables, pictures, claims)",
                    metric.name, [metric.name],
                    joined(metric.means, metric.unit if metric.unit != "1" else ""),
                    [("better", metric.better)])
    yield from term_entries()


def list_text(vocabulary: client.Vocabulary) -> str:
    sections = grouped((one.section, (one.names[0], one.means))
                       for one in entries_read(vocabulary, client.scenario_names()) if one.section)
    return "\n\n".join(block(title, rows) for title, rows in sections.items())


def list_json(vocabulary: client.Vocabulary) -> str:
    def picked(items: Iterable[object], *keys: str) -> list[dict[str, Any]]:
        return [{key: getattr(item, key) for key in keys} for item in items]

    scenarios = [scenario_load(client.scenario_path(name)) for name in client.scenario_names()]
    return json.dumps(vocabulary.document | {
        "scenarios": picked(scenarios, "name", "question", "source"),
        "metrics": picked(METRICS.values(), "name", "unit", "better", "means"),
        "references": reference_names()}, indent=1, ensure_ascii=False)


def value_rows(vocabulary: client.Vocabulary, programs: client.Client, key: str
               ) -> list[tuple[str, str]]:
    """The values of a word, each with its meaning, and why this machine does not support it."""
    word = vocabulary.words[key]
    choices, variants = word.get("choices", []), vocabulary.variants(word)
    reasons: list[str | None] = [None] * len(choices)
    if key != TARGET:
        with suppress(UsageError):  # a value contradicts the default of another word
            reasons = [one.unsupported or lab_refusal(one.words) for one in client.client_check(
                programs, [f"{key}={choice}" for choice in choices])]
    for number, target in enumerate(choices if key == TARGET else ()):
        try:
            targets_require([target])
        except Failure as error:
            reasons[number] = str(error)
    return [(choice, joined(variants.get(choice, {}).get("help"),
                            reason and f"not here: {reason.rpartition(' here: ')[2]}"))
            for choice, reason in zip(choices, reasons, strict=True)]


def name_text(name: str, vocabulary: client.Vocabulary, programs: client.Client) -> str:
    """Explains everything that has this name."""
    files = [name] if name.endswith(".toml") else []
    known = [*entries_read(vocabulary, [*client.scenario_names(), *files])]
    end, _, key = name.partition("=")[0].rpartition(".")
    asked = {name, name.partition(":")[0], name.removesuffix("s")}
    if end in ("", *ENDS):
        asked.add(key)
    texts = []
    for one in known:
        if asked & {*one.names, one.head}:
            texts.append(block(one.head, [("means", one.means), *one.rows]))
            if one.head.endswith("="):
                texts.append(block("", value_rows(vocabulary, programs, one.head[:-1])).strip("\n"))
    if not texts:
        raise UsageError(f'no word, value, metric, scenario, sign or term "{name}"'
                         + nearest_hint(name, [one for entry in known for one in entry.names]))
    return "\n\n".join(filter(None, texts))


def uncork_list(options: argparse.Namespace) -> None:
    programs = client.client_open()
    vocabulary = client.client_list(programs)
    if options.name and options.json:
        raise UsageError("--json prints the whole list: leave out the word")
    print(name_text(options.name, vocabulary, programs) if options.name else
          list_json(vocabulary) if options.json else list_text(vocabulary))
