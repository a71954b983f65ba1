# SPDX-License-Identifier: MIT
"""What every document holds: width, links, names of files, sentences, keys of real results."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from conftest import ROOT
from suite.base.client import client_list
from suite.commands import COMMANDS, parser_make
from suite.observe.metrics import METRICS
from suite.result.files import reference_names, result_find

PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
COLUMNS = 100
WORDS = 25  # in a sentence

FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"!?\[((?:[^\]\[]|\[[^\]]*\])*)\]\(([^)\s]+)\)")
ELSEWHERE = ("http://", "https://", "mailto:")
SUFFIXES = "c|h|py|sh|toml|def|md|cmake|gp|in|j2"
# A name in backticks that has a folder or is a file of a kind that the tree has.
NAMED = re.compile(rf"`((?:[\w.-]+/)+[\w.-]*|[\w-]+\.(?:{SUFFIXES}))`")
TOPS = ("bench", "client", "server", "common", "scripts", "scenarios", "plots", "tests", "docs",
        "cmake")
# Names of files that a user, another program or the program makes.
MADE = {"io_uring/poll.c", "common/write/pairs.c", "common/security/xor.c",
        "common/protocol/tiny.c", "mine.toml", "rpc.toml", "scenarios/subjects/walk.toml"}


def parametrize(pages: list[Path]) -> pytest.MarkDecorator:
    """One case for each page, by its name."""
    return pytest.mark.parametrize("page", pages, ids=lambda page: str(page.relative_to(ROOT)))


def prose(page: Path) -> str:
    """The text of a page without its code blocks."""
    return FENCE.sub("", page.read_text())


def anchors(page: Path) -> set[str]:
    """What a link may name behind `#`, as GitHub makes it of the headings."""
    found: dict[str, int] = {}
    made = set()
    for heading in re.findall(r"^#+ (.*)$", prose(page), re.MULTILINE):
        text = LINK.sub(r"\1", heading).replace("`", "").strip().lower()
        name = re.sub(r"[^\w\- ]", "", text).replace(" ", "-")
        made.add(f"{name}-{found[name]}" if name in found else name)
        found[name] = found.get(name, 0) + 1
    return made


@cache
def files() -> set[str]:
    """Every file and folder of the tree, each behind a slash."""
    paths = (path.relative_to(ROOT) for top in TOPS for path in [ROOT / top,
                                                                 *(ROOT / top).rglob("*")])
    return {f"/{path}" for path in paths} | {f"/{path.name}" for path in ROOT.iterdir()}


def exists(name: str) -> bool:
    """Whether the tree has this, from its top or at the end of a longer path."""
    end = f"/{name.rstrip('/')}"
    return any(path.endswith(end) for path in files())


def sentences(page: Path) -> Iterator[str]:
    """The sentences of paragraphs and of items; headings, tables and code are none.

    Code in backticks, or a list of such names, counts as one word.
    """
    text = re.sub(r"^(?:\||#|<|!\[).*$", "", prose(page), flags=re.MULTILINE)
    for part in re.split(r"\n\s*\n|^\s*(?:[-*]|\d+\.) ", text, flags=re.MULTILINE):
        words = re.sub(r"`[^`]*`", "code", LINK.sub(r"\1", " ".join(part.split())))
        words = re.sub(r"(?:code,? )+(?:and )?code", "code", words)
        yield from re.split(r"(?<=[.!?])[\"*)]*\s+", words)


@parametrize(PAGES)
def test_no_line_is_wider_than_100_columns_but_rows_of_tables(page):
    wide = [f"{number}: {line}" for number, line in enumerate(page.read_text().splitlines(), 1)
            if len(line) > COLUMNS and not line.startswith("|")]
    assert not wide


@parametrize(PAGES)
def test_every_link_leads_to_a_file_and_a_heading_that_exist(page):
    broken = []
    for _, target in LINK.findall(prose(page)):
        path, _, anchor = target.partition("#")
        other = (page.parent / path).resolve() if path else page
        if not target.startswith(ELSEWHERE) and (
                not other.exists() or anchor and anchor not in anchors(other)):
            broken.append(target)
    assert not broken


@parametrize(PAGES)
def test_every_file_that_a_page_names_exists(page):
    names = {*NAMED.findall(prose(page)), *re.findall(r"[a-z_/]+\.py\b", page.read_text())}
    missing = {name for name in names
               if name not in MADE and not exists(name)
               and (name.startswith(tuple(f"{top}/" for top in TOPS))
                    or re.search(rf"\.(?:{SUFFIXES})$", name))}
    assert not missing


@parametrize(PAGES)
def test_no_sentence_has_more_than_25_words(page):
    long = [f"{len(text.split())}: {text}" for text in sentences(page)
            if len(text.split()) > WORDS]
    assert not long


@parametrize([*PAGES, *sorted((ROOT / "scenarios").glob("*.toml"))])
def test_every_subject_has_a_name(page):
    text = page.read_text().replace("`nobody`", "a user")
    assert not re.findall(r"\b(?:who|any|some|no)(?:ever|body)\b", text, re.IGNORECASE)


def test_no_help_has_a_sentence_of_more_than_25_words(binaries):
    document = client_list(binaries).document
    helps = {f"{key} {entry['name' if key != 'word' else 'key']}": entry["help"]
             for key, entries in [("word", document["words"]), *document["variants"].items()]
             for entry in entries}
    helps |= {f"metric {name}": metric.means for name, metric in METRICS.items()}
    for name, command in COMMANDS.items():
        helps |= {f"{name} {number}": text for number, text in enumerate(
            [command.help, command.exit, *(action.help for action in parser_make(name)._actions)])
            if text}
    long = {name: part for name, text in helps.items() for part in re.split(r"[.;]\s", text)
            if len(part.split()) > WORDS}
    assert len(helps) > 150 and not long


@pytest.mark.parametrize("title, folder", [("write", "write"), ("read", "read")])
def test_every_variant_is_in_its_table_in_the_order_of_the_list(title, folder):
    page = (ROOT / "docs" / "design" / "strategies-and-readings.md").read_text()
    rows = page.partition(f"| `{title}=` |")[2].partition("\n\n")[0].splitlines()[2:]
    listed = re.findall(r"^VARIANT\((\w+)\)", (ROOT / "common" / folder / "list.def").read_text(),
                        re.MULTILINE)
    assert [row.split("`")[1] for row in rows] == [name.replace("_", "-") for name in listed]


# A section that a comment names: docs/record.md, "Files of a result". The name may go on in the
# next line of the comment.
SECTION = re.compile(r'(docs/[\w/-]+\.md)(?:, "([^"]+)")?')


def test_every_section_that_a_comment_names_exists():
    missing = set()
    for path in (path for top in TOPS for path in (ROOT / top).rglob("*")
                 if path.suffix in (".c", ".h", ".py", ".sh", ".toml")):
        text = re.sub(r"\n[ #*]*", " ", path.read_text())
        for name, section in SECTION.findall(text):
            page = ROOT / name
            headings = re.findall(r"^#+ (.*)$", prose(page), re.MULTILINE) if page.exists() else []
            if not page.exists() or section and section.replace("`", "") not in [
                    heading.replace("`", "") for heading in headings]:
                missing.add(f"{path.relative_to(ROOT)}: {name}, {section}")
    assert not missing


def test_the_steps_that_take_minutes_are_called_long():
    page = (ROOT / "CONTRIBUTING.md").read_text()
    for name, long in re.findall(r"^\| `(\w+)`( \(long\))? \|", page, re.MULTILINE):
        step, = (ROOT / "scripts" / "setup" / "steps").glob(f"??-{name}.sh")
        assert ("# long: yes" in step.read_text()) == bool(long), name


RECORD = ROOT / "docs" / "record.md"
# Objects whose keys are words, kinds of calls, names of settings and values of axes.
MAPS = {"words", "given", "calls", "sysctl", "mitigations", "offloads", "sizes", "builds",
        "targets", "subjects", "other_calls"}


def keys(value: Any) -> Iterator[str]:
    """The keys of a JSON value at any depth, but of maps."""
    if isinstance(value, list):
        for item in value:
            yield from keys(item)
    elif isinstance(value, dict):
        for key, item in value.items():
            yield key
            if key not in MAPS:
                yield from keys(item)


@pytest.mark.parametrize("name", reference_names())
def test_every_key_of_a_real_result_is_documented(name):
    folder = result_find(Path(name))
    hosts = json.loads((folder / "hosts.json").read_text())
    found = {*keys(json.loads((folder / "plan.json").read_text())), *keys(list(hosts.values()))}
    for line in (folder / "records.jsonl").read_text().splitlines():
        found.update(keys(json.loads(line)))
    known = set(re.findall(r"\w+", " ".join(re.findall(r"`[^`]+`", RECORD.read_text()))))
    assert len(found) > 100 and not found - known


def test_the_words_of_a_run_are_all_documented(binaries):
    words = list(client_list(binaries).run_words)
    page = RECORD.read_text()
    listed = page.partition("and the words of the run: ")[2].partition(" |")[0]
    assert re.findall(r"`(\w+)`", listed) == words
    assert re.findall(r"`(\w+)`", page.partition("`run`: of the run, not of a cell (")[2].partition(
        ")")[0]) == words
