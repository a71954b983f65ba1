# SPDX-License-Identifier: MIT
"""The man pages say what the programs say."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from programs import CLIENT, SERVER, TOP, client_json


def options_of_help(program: Path) -> set[str]:
    text = subprocess.run([str(program), "--help"], capture_output=True, text=True,
                          check=True).stdout
    return set(re.findall(r"^  (?:-h, )?--([a-z-]+)", text, re.MULTILINE))


def options_of_page(page: str) -> set[str]:
    return set(re.findall(r"^\.It Fl (?:h , Fl )?-([a-z-]+)", page, re.MULTILINE))


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("man")
    subprocess.run([sys.executable, str(TOP / "docs/man/pages.py"), str(CLIENT), str(folder)],
                   check=True)
    return folder / "man1"


@pytest.fixture(scope="module")
def client_page(pages: Path) -> str:
    return (pages / "uncork-client.1").read_text()


@pytest.fixture(scope="module")
def server_page(pages: Path) -> str:
    return (pages / "uncork-server.1").read_text()


@pytest.mark.parametrize("program", [CLIENT, SERVER], ids=["client", "server"])
def test_h_prints_the_same_help(program: Path) -> None:
    short, long = (subprocess.run([str(program), option], capture_output=True, text=True)
                   for option in ("-h", "--help"))
    assert (short.returncode, short.stdout) == (0, long.stdout) and long.stdout


def test_the_servers_page_has_the_servers_options(server_page: str) -> None:
    assert options_of_page(server_page) == options_of_help(SERVER)


def test_the_servers_page_has_the_servers_plain_services(server_page: str) -> None:
    text = subprocess.run([str(SERVER), "--help"], capture_output=True, text=True,
                          check=True).stdout
    services = re.findall(r"^  ([a-z]+) ", text, re.MULTILINE)
    assert services and services == re.findall(r"^\.It Cm (\S+)", server_page, re.MULTILINE)


def test_the_clients_page_has_the_clients_options(client_page: str) -> None:
    assert options_of_page(client_page) == options_of_help(CLIENT)


def items(page: str) -> dict[str, str]:
    """What stands below each item of a page, by its name."""
    found = re.findall(r'^\.It Cm "?([^"\n]+)"?\n((?:[^.].*\n)*)', page.replace("\\%", ""),
                       re.MULTILINE)
    return {name.replace("\\-", "-").partition(":")[0]: text.replace("\\-", "-")
            for name, text in found}


def test_the_clients_page_has_every_word_and_every_value_of_one(client_page: str) -> None:
    (listed,) = client_json("--list=json")
    words = {word["key"]: word for word in listed["words"] if word["scope"] == "cell"}
    values = {variant["name"] for variants in listed["variants"].values() for variant in variants}
    assert set(items(client_page)) == words.keys() | values
    text = client_page.partition(".Sh WORDS")[2].partition(".Ss ")[0]
    for key, word in words.items():
        said = items(text)[key]
        assert all(choice in said for choice in word.get("choices", ())), key
        assert ("Takes client., server. or proxy. before it." in said) == word["ends"], key
        assert word["default"] is None or f"Default: {word['default']}." in said, key


def test_the_list_for_people_has_every_word_those_of_the_runner_too() -> None:
    text = subprocess.run([str(CLIENT), "--list"], capture_output=True, text=True,
                          check=True).stdout
    (listed,) = client_json("--list=json")
    cells, _, rest = text.partition("\n\nWords for all cells together")
    of_run = rest.partition("\n\n")[0]
    for word in listed["words"]:
        part, other = (cells, of_run) if word["scope"] == "cell" else (of_run, cells)
        assert re.search(rf"^  {word['key']} ", part, re.MULTILINE), word["key"]
        assert not re.search(rf"^  {word['key']} ", other, re.MULTILINE), word["key"]


def test_names_of_a_word_are_values_that_it_takes(tmp_path: Path) -> None:
    (listed,) = client_json("--list=json")
    lines = [f"{word['key']}={name.replace('SIZE', '1M').replace('N', '1')}"
             for word in listed["words"] for name in word.get("names", ())]
    assert {"place=apart", "place=together", "place=free", "sched=rr:1"} <= set(lines)
    (tmp_path / "lines").write_text("\n".join(lines))
    *checked, end = client_json("--check", str(tmp_path / "lines"))
    assert end == {"end": len(lines)} and [line["unused"] for line in checked] == [[]] * len(lines)


def test_the_examples_of_the_clients_page_have_words_that_are_used(
    client_page: str, tmp_path: Path
) -> None:
    page = client_page.replace(' \\e\n.Dl "   ', "").replace('"\n', "\n")
    examples = re.findall(r"^\.Dl uncork-client (?:--(?:psk|pcap) \S+ )?(.*)", page, re.MULTILINE)
    (tmp_path / "lines").write_text("\n".join(examples))
    *checked, end = client_json("--check", str(tmp_path / "lines"))
    assert end == {"end": len(examples)} and len(examples) > 3
    assert [line["unused"] for line in checked] == [[]] * len(examples)
