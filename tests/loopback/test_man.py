# SPDX-License-Identifier: MIT
"""The man pages say what the programs say."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from programs import CLIENT, SERVER, TOP, client_json

PAGES = TOP / "docs/man"


def options_of_help(program: Path) -> set[str]:
    text = subprocess.run([str(program), "--help"], capture_output=True, text=True,
                          check=True).stdout
    return set(re.findall(r"^  (?:-h, )?--([a-z-]+)", text, re.MULTILINE))


def options_of_page(page: str) -> set[str]:
    return set(re.findall(r"^\.It Fl (?:h , Fl )?-([a-z-]+)", page, re.MULTILINE))


@pytest.fixture(scope="module")
def client_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    page = tmp_path_factory.mktemp("man") / "uncork-client.1"
    template = str(PAGES / "uncork-client.1.in")
    subprocess.run([sys.executable, str(PAGES / "words.py"), str(CLIENT), template, str(page)],
                   check=True)
    return page


@pytest.mark.parametrize("program", [CLIENT, SERVER], ids=["client", "server"])
def test_h_prints_the_same_help(program: Path) -> None:
    short, long = (subprocess.run([str(program), option], capture_output=True, text=True)
                   for option in ("-h", "--help"))
    assert (short.returncode, short.stdout) == (0, long.stdout) and long.stdout


def test_the_servers_page_has_the_servers_options() -> None:
    assert options_of_page((PAGES / "uncork-server.1").read_text()) == options_of_help(SERVER)


def test_the_servers_page_has_the_servers_plain_services() -> None:
    text = subprocess.run([str(SERVER), "--help"], capture_output=True, text=True,
                          check=True).stdout
    services = re.findall(r"^  ([a-z]+) ", text, re.MULTILINE)
    assert services and services == re.findall(r"^\.It Cm (\S+)",
                                               (PAGES / "uncork-server.1").read_text(),
                                               re.MULTILINE)


def test_the_clients_page_has_the_clients_options(client_page: Path) -> None:
    assert options_of_page(client_page.read_text()) == options_of_help(CLIENT)


def test_the_clients_page_has_every_word_and_every_value_of_one(client_page: Path) -> None:
    (listed,) = client_json("--list=json")
    named = {name.replace("\\-", "-")
             for name in re.findall(r"^\.It Cm (\S+)", client_page.read_text(), re.MULTILINE)}
    words = {word["key"] for word in listed["words"] if word["scope"] == "cell"}
    values = {variant["name"] for variants in listed["variants"].values() for variant in variants}
    assert named == words | values


def test_the_examples_of_the_clients_page_have_words_that_are_used(
    client_page: Path, tmp_path: Path
) -> None:
    examples = re.findall(r"^\.Dl uncork-client (?:--(?:psk|pcap) \S+ )?(.*)",
                          client_page.read_text(), re.MULTILINE)
    (tmp_path / "lines").write_text("\n".join(examples))
    *checked, end = client_json("--check", str(tmp_path / "lines"))
    assert end == {"end": len(examples)} and len(examples) > 3
    assert [line["unused"] for line in checked] == [[]] * len(examples)


def test_the_pages_are_without_errors(client_page: Path) -> None:
    mandoc = shutil.which("mandoc") or shutil.which("groff")
    if not mandoc:
        pytest.skip("neither mandoc nor groff is installed")
    for page in (client_page, PAGES / "uncork-server.1"):
        check = (
            ["-Tlint", "-Werror"] if mandoc.endswith("mandoc") else ["-mdoc", "-Tutf8", "-ww", "-z"]
        )
        done = subprocess.run([mandoc, *check, str(page)], capture_output=True, text=True)
        assert done.returncode == 0 and not done.stderr, done.stdout + done.stderr
