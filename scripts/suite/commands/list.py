# SPDX-License-Identifier: MIT
"""`uncork list`: scenarios, words, metrics, and variants with what this machine supports."""

import argparse
import json
import re
import textwrap
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from suite.analyse.metrics import METRICS
from suite.base.client import (
    ROOT,
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
from suite.places.lab.lab import lab_refusal
from suite.places.targets import targets_require
from suite.result.files import reference_names
from suite.result.record import ENDS
from suite.scenario.keys import part_keys
from suite.scenario.scenario import Scenario, scenario_load
from suite.scenario.subject import programs_read

WIDTH_MAX = 100
READING = ROOT / "docs" / "reading.md"  # what signs and terms mean, in tables of two columns
BOUND_MAX = 2**40  # what is larger than this only keeps a number from overflowing
NAME_MOST = 28  # characters of a name that has its text beside it
# what the file of a scenario may have (SCENARIO_KEYS), but name, question and source
SCENARIO_PARTS = {
    "fixed": '[fixed]: words that all cells have, write = "cork"',
    "sweep": '[sweep]: words that vary, write = ["nodelay", "cork"]; a cell is one combination',
    "run": "[run]: words of the whole matrix: rounds, duration, baseline",
    "exclude": 'exclude = ["lab=on write=uv"]: cells that are left out',
    "disputes": 'disputes = ["ID"]: of a published claim, those that say the contrary',
    "origin": "[origin]: who published the claims, where, and what was measured there; "
              "uncork claims",
    "arm": '[[arm]]: a name and words that belong together: name = "small", sndbuf = "64K", '
           'message = "15x2"; arm = ["small", "large"] under [sweep] and arm=small,large in the '
           "shell choose them; where [fixed] or [sweep] has the same word, the arm wins",
    "published": "[[published]]: a figure that others measured: words, metric, value, from",
    "claim": "[[claim]]: a sentence (says) and the comparison of metrics that decides it (that); "
             "uncork check; kind where it was published",
    "answer": "[[answer]]: a question (asks), and what answers it: which value of word is best by "
              "metric, where the cells have these words; uncork table prints the answer first",
    "table": "[table]: rows, columns, and gain or best",
    "picture": "[[picture]]: kind, metric or of, x, name, size, title, note, points; "
               "uncork plot",
}
SPELLED = {  # units whose numbers carry a unit of their own when they are typed, largest first
    "duration": {"s": 10**9, "ms": 10**6, "us": 1000, "ns": 1},
    "rate": RATE_UNITS,
    "percent": {"%": 10**4},
}


def scenarios_read() -> list[Scenario]:
    return [scenario_load(scenario_path(name)) for name in scenario_names()]


def rows_lines(rows: Iterable[tuple[str, str]], width: int) -> list[str]:
    """Two columns: a name, and a text that wraps in its column."""
    return labelled_lines(list(rows), width, "  ", NAME_MOST)


def bound_text(number: int, unit: str) -> str:
    """A bound as it would be typed: sizes in K, M, G, durations and the like in the largest whole
    unit, with decimals where even the smallest is too large."""
    if unit == "bytes":
        return size_text(number)
    if unit in SPELLED:
        units = SPELLED[unit]
        whole = (name for name, factor in units.items() if number % factor == 0)
        name = next(whole, list(units)[-1])
        return f"{number / units[name]:.10g}{name}"
    return str(number)


def bounds_text(word: Mapping[str, Any]) -> str:
    """`1 to 10000`, `1 to 1G bytes`, or nothing for words without bounds."""
    if "minimum" not in word or "maximum" not in word:
        return ""
    unit = str(word.get("unit", ""))
    low, high = (bound_text(word[key], unit) for key in ("minimum", "maximum"))
    if word["maximum"] > BOUND_MAX and unit not in SPELLED:
        return f"from {low}"
    return f"{low} to {high} {'' if unit in (*SPELLED, word['key']) else unit}".strip()


def word_row(word: Mapping[str, Any]) -> tuple[str, str]:
    """A word with its default, its help, its values, and whether ends may differ."""
    default = word.get("default")
    name = f"{word['key']}={default}" if default is not None else f"{word['key']}="
    parts = [str(word.get("help", "")).rstrip(".")]
    choices = word.get("choices")
    if choices:
        parts.append(", ".join(str(choice) for choice in choices))
    elif bounds_text(word):
        parts.append(bounds_text(word))
    if word.get("ends"):
        parts.append("each end")
    return name, "; ".join(part for part in parts if part)


def variant_row(variant: Mapping[str, Any]) -> tuple[str, str]:
    size = variant.get("parameter")
    takes = "SIZE" if size else variant.get("takes")
    name = variant["name"] + (f":{takes}" if takes else "")
    text = str(variant.get("help", "")).rstrip(".") + (f"; :SIZE {size}" if size else "")
    missing = variant.get("unsupported") or {}
    # A reason begins with the words that it was asked for, which stand here already.
    reasons = [f"not on {where}: {why.rpartition(' here: ')[2]}" for where, why in missing.items()]
    return name, "; ".join([text, *reasons])


def list_text(vocabulary: Vocabulary, scenarios: list[Scenario], width: int) -> str:
    words = vocabulary.words.values()
    lines = ["Scenarios (uncork run NAME)"]
    lines += rows_lines(((item.name, item.question) for item in scenarios), width)
    questions = {item.name: item.question for item in scenarios}
    lines += ["", "Reference results (uncork table NAME), to read before you measure"]
    lines += rows_lines(((name, questions.get(name.rpartition("/")[2], ""))
                         for name in reference_names()), width)
    lines += ["", "Parts of a scenario (a file of TOML, uncork run FILE)"]
    lines += rows_lines(SCENARIO_PARTS.items(), width)
    for kind, head in (("subject", "Subjects"), ("load", "Loads")):
        lines += ["", f"{head} ({kind}=NAME; uncork subjects has their versions and parameters)"]
        lines += rows_lines(((item.name, item.says) for item in programs_read().values()
                             if item.kind == kind), width)
    lines += ["", "Words (key=value; with their defaults; each end: client., server., proxy. too)"]
    lines += rows_lines((word_row(word) for word in words if word.get("scope") != "run"), width)
    lines += ["", "Words of a whole matrix (uncork run only)"]
    lines += rows_lines((word_row(word) for word in words if word.get("scope") == "run"), width)
    for axis, variants in vocabulary.document.get("variants", {}).items():
        lines += ["", f"{axis.capitalize()}"]
        lines += rows_lines((variant_row(variant) for variant in variants), width)
    lines += ["", "Metrics (uncork table RESULTS columns=...; tables, pictures, claims)"]
    lines += rows_lines(((metric.name, metric.means + f"; {metric.unit}" * (metric.unit != "1"))
                         for metric in METRICS.values()), width)
    return "\n".join(lines)


def list_json(vocabulary: Vocabulary, scenarios: list[Scenario]) -> str:
    """What the client printed, with the scenarios beside it."""
    listed = [{"name": item.name, "question": item.question, "source": item.source}
              for item in scenarios]
    metrics = [{"name": metric.name, "unit": metric.unit, "better": metric.better,
                "means": metric.means}
               for metric in METRICS.values()]
    document = vocabulary.document | {"scenarios": listed, "metrics": metrics,
                                      "references": reference_names()}
    return json.dumps(document, indent=1, ensure_ascii=False)


def variants_of(vocabulary: Vocabulary, word: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The variants that are the values of a word; none where its values explain themselves."""
    return next((variants for variants in vocabulary.document.get("variants", {}).values()
                 if [one["name"] for one in variants] == word.get("choices")), [])


def lacking_find(client: Client, word: Mapping[str, Any]) -> dict[str, str]:
    """Why this machine lacks values of a word, by value: the client says it of the defaults."""
    key, choices = word["key"], [str(choice) for choice in word.get("choices") or ()]
    found: dict[str, str] = {}
    for target in choices if key == TARGET else ():
        try:
            targets_require([target])
        except Failure as error:
            found[target] = str(error).removeprefix(f"{TARGET}={target}: ")
    if key == TARGET:
        return found
    try:
        pairs = list(zip(choices, client_check(client, [f"{key}={choice}" for choice in choices]),
                         strict=True))
    except UsageError:  # a value that contradicts a default is not one that is lacking
        return found
    for choice, checked in pairs:
        if reason := checked.unsupported or lab_refusal(checked.words):
            found[choice] = reason.removeprefix(f"{key}={choice} does not work here: ")
    return found


def word_text(vocabulary: Vocabulary, client: Client, word: Mapping[str, Any], width: int) -> str:
    """One word: what it does, how it is typed, and each value with what this machine lacks."""
    listed = [what for key, what in (("lists", "lists a,b"), ("ranges", "ranges a..b"))
              if word.get(key)]
    ends = ", ".join(f"{end}.{word['key']}" for end in ENDS) if word.get("ends") else ""
    rows = [("default", str(word["default"]) if word.get("default") is not None else "none"),
            ("values", "; ".join(filter(None, (", ".join(word.get("names", ())),
                                               bounds_text(word))))),
            ("takes", " and ".join(listed)), ("each end", ends),
            ("for", "the whole run (uncork run only)" if word.get("scope") == "run" else "")]
    lines = [f"{word['key']}=",
             *textwrap.wrap(str(word.get("help", "")), width - 2, initial_indent="  ",
                                               subsequent_indent="  ")]
    lines += ["", *labelled_lines([(name, text) for name, text in rows if text], width, "  ")]
    choices = [str(choice) for choice in word.get("choices") or ()]
    if choices:
        helps = {variant["name"]: str(variant.get("help", "")).rstrip(".")
                 for variant in variants_of(vocabulary, word)}
        lacking = lacking_find(client, word)
        notes = {choice: f"not here: {reason}" for choice, reason in lacking.items()}
        lines += ["", *rows_lines([(choice, "; ".join(filter(None, (
            helps.get(choice, ""), notes.get(choice, ""))))) for choice in choices], width)]
    return "\n".join(lines)


def value_texts(name: str, vocabulary: Vocabulary, width: int) -> list[str]:
    """What each variant of this name means, below the words that take it."""
    found: dict[str, list[str]] = {}
    for key, word in vocabulary.words.items():
        for variant in variants_of(vocabulary, word):
            if variant["name"] == name:
                text = "\n".join(rows_lines([variant_row(variant)], width))
                found.setdefault(text, []).append(f"{key}={name}")
    return ["\n".join([" ".join(words), text]) for text, words in found.items()]


def scenario_rows(scenario: Scenario, path: str) -> list[tuple[str, str]]:
    """What a scenario is about, its arms and its answers. path: as the shell names it."""
    return [("asks", scenario.question or "nothing"), ("source", scenario.source or "none"),
            *(("arm", f"{arm.name}: {words_text(arm.words)}") for arm in scenario.arms),
            *(("answer", question.asks) for question in scenario.answers),
            ("runs by", f"uncork run {path}")]


def key_rows(part: str) -> list[tuple[str, str]]:
    """The keys of a part of a scenario: type, default and meaning."""
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


def term_texts(name: str, width: int) -> list[str]:
    """What a sign or a term means: `~`, `noise` of the noise floor, `gates`."""
    return ["\n".join([", ".join(names), *rows_lines([("means", text)], width)])
            for names, text in terms_read()
            if {name, name.removesuffix("s")} & {one for term in names
                                                 for one in (term, *term.split())}]


def name_text(name: str, vocabulary: Vocabulary, client: Client, width: int) -> str:
    """All that has this name: a word, values of words, a metric, a part of scenarios, a scenario,
    an arm, a sign of a table, a term; UsageError names the nearest."""
    scenarios = {item.name: item for item in scenarios_read()}
    if name.endswith(".toml"):
        scenarios[name] = scenario_load(Path(name))
    end, dot, key = name.partition("=")[0].rpartition(".")
    found = []
    if (not dot or end in ENDS) and key in vocabulary.words:
        found.append(word_text(vocabulary, client, vocabulary.words[key], width))
    found += value_texts(name.partition(":")[0], vocabulary, width)
    rows = {metric.name: [("means", metric.means), ("unit", metric.unit), ("better", metric.better)]
            for metric in METRICS.values()}
    rows |= {part: [("in a scenario", text), *key_rows(part)]
             for part, text in SCENARIO_PARTS.items() if part not in vocabulary.words}
    rows |= {f"scenario {key}": scenario_rows(item, key) for key, item in scenarios.items()}
    rows |= {f"arm={arm.name}": [("in", item.name), ("words", words_text(arm.words))]
             for item in scenarios.values() for arm in item.arms}
    rows |= {f"{one.kind}={one.name}": [("is", one.says), ("more", "uncork subjects")]
             for one in programs_read().values()}
    found += ["\n".join([head, *rows_lines(told, width)]) for head, told in rows.items()
              if name in (head, re.sub("^(scenario |arm=|subject=|load=)", "", head))]
    found += term_texts(name, width)
    if not found:
        values = [variant["name"] for word in vocabulary.words.values()
                  for variant in variants_of(vocabulary, word)]
        known = [*vocabulary.words, *values, *METRICS, *SCENARIO_PARTS, *scenarios,
                 *programs_read(), *(one for names, _ in terms_read() for one in names)]
        raise UsageError(f'no word, value, metric, scenario, sign or term "{name}"'
                         f"{nearest_hint(name, known)}")
    return "\n\n".join(found)


def main(options: argparse.Namespace) -> int:
    client = client_open()
    vocabulary = client_list(client)
    width = terminal_width(WIDTH_MAX)
    if options.name and options.json:
        raise UsageError("--json is of the whole list: leave out the word")
    if options.name:
        print(name_text(options.name, vocabulary, client, width))
    elif options.json:
        print(list_json(vocabulary, scenarios_read()))
    else:
        print(list_text(vocabulary, scenarios_read(), width))
    return 0
