# SPDX-License-Identifier: MIT
"""Scenario files: read strictly, written so that they read the same again."""

from __future__ import annotations

from pathlib import Path

import pytest

from conftest import ROOT
from suite.base.client import Client, client_list
from suite.base.errors import UsageError
from suite.commands.run import answers_check
from suite.measure.words import words_collect
from suite.places.targets import Targets
from suite.scenario.scenario import (
    Claim,
    Picture,
    Published,
    Scenario,
    TableLayout,
    scenario_load,
    scenario_text,
)

SHIPPED = sorted((ROOT / "scenarios").glob("*.toml"))


def load(tmp_path: Path, text: str) -> Scenario:
    """The scenario in text, from a file scene.toml."""
    path = tmp_path / "scene.toml"
    path.write_text(text)
    return scenario_load(path)


def refused(tmp_path: Path, text: str) -> str:
    """The message with which text is refused; it always names the file, in one line."""
    with pytest.raises(UsageError) as error:
        load(tmp_path, text)
    message = str(error.value)
    assert message.startswith(str(tmp_path / "scene.toml")) and "\n" not in message
    return message


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_a_shipped_scenario_is_whole(path: Path) -> None:
    scenario = scenario_load(path)
    assert scenario.name == path.stem
    assert scenario.question.endswith("?")
    assert scenario.sweep and scenario.claims and scenario.table.rows and scenario.pictures


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_a_shipped_scenario_names_words_and_metrics_that_there_are(path: Path, binaries: Client
                                                                   ) -> None:
    scenario = scenario_load(path)
    vocabulary = client_list(binaries)
    words = words_collect(Targets(binaries), vocabulary, scenario, path, {})
    assert set(scenario.sweep) <= set(words)
    answers_check(binaries, vocabulary.words, scenario, path)


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_a_shipped_scenario_is_written_as_it_was_read(path: Path, tmp_path: Path) -> None:
    scenario = scenario_load(path)
    written = tmp_path / path.name
    written.write_text(scenario_text(scenario))
    assert scenario_load(written) == scenario


def test_everything_that_a_scenario_can_say_survives_writing(tmp_path: Path) -> None:
    scenario = Scenario(
        name="whole", question='a "quoted" \\ question?', source="ümlaut", fixed={"reply": "2"},
        sweep={"client.sndbuf": ("4K", "1M"), "write": ("cork:64K",)},
        run={"rounds": "3", "baseline": "write=cork message=64"}, exclude=("a=1 b=2", "c=3"),
        published=(Published("write=cork", "time_per_message", 8.5e-05, "f.csv:cork"),
                   Published("write=cork", "time", 2.0, "f.csv:again", "later", "A'")),
        claims=(Claim("says", "time(a=1) >= 1.5"),),
        table=TableLayout(("write",), ("time",), "time"),
        pictures=(Picture("curve", "time", None, "message", "one"),
                  Picture("percentiles", None, "service", "write", "two"),
                  Picture("bars", None, None, None, None)))
    assert load(tmp_path, scenario_text(scenario)) == scenario


def test_words_may_be_numbers_switches_or_nested_by_end(tmp_path: Path) -> None:
    scenario = load(tmp_path, "[fixed]\nreply = 2\nverify = true\nclient.sndbuf = '4K'\n"
                              "[sweep]\nmessage = '64..1M'\n")
    assert scenario.fixed == {"reply": "2", "verify": "on", "client.sndbuf": "4K"}
    assert scenario.sweep == {"message": ("64..1M",)}


def test_broken_toml_names_the_line(tmp_path: Path) -> None:
    assert "line 2" in refused(tmp_path, '[fixed]\nreply = \n')


@pytest.mark.parametrize(("text", "names"), [
    ("quesiton = 'x'", ["quesiton", "did you mean question?"]),
    ("[sweeep]\nwrite = ['a']", ["sweeep", "did you mean sweep?"]),
    ("[[claim]]\nsays = 'x'\nthta = 'y'", ["[claim] thta", "did you mean that?"]),
    ("[[claim]]\nsays = 'x'", ["[claim] that", "is missing"]),
    ("[claim]\nsays = 'x'", ["claim", "[[claim]]"]),
    ("[[published]]\nwords='a=1,2'\nmetric='time'\nfrom='f:a,b,c'\nvalue=[1,2]",
     ["[published] from", "f:a,b,c", "list of 2"]),
    ("[[published]]\nwords='a=1'\nmetric='time'\nfrom='f:a,b'\nvalue=[1,2]",
     ["[published] words", "a=1", "list of 2"]),
    *((f"[[published]]\nwords='a=1'\nmetric='time'\nfrom='f'\nvalue={value}",
       ["[published] value must be a number above 0"])
      for value in ("[]", "'1'", "true", "nan", "1e999", "-1", "1" + "0" * 400)),
    ("[[published]]\nwords='a=1'\nmetric='time'\nfrom='f'\nvalue=1\nlabel='B'",
     ["[published] label", "there is A, A'"]),
    ("[[picture]]\nkind = 'bar'", ["[picture] kind", "did you mean bars?"]),
    ("[table]\nrows = 'write'", ["[table] rows", "a list"]),
    ("[table]\nrows = ['a', 'a']", ["[table] rows", "twice"]),
    ("[fixed]\nwrite = ['a', 'b']", ["[fixed] write", "several belong under [sweep]"]),
    ("[fixed]\nmessage = '1 2'", ["[fixed] message", "one value"]),
    ("[fixed]\nrate = 1.5", ["[fixed] rate", "one value"]),
    ("[sweep]\nwrite = []", ["[sweep] write", "no values"]),
    ("[fixed]\nwrite = 'a'\n[sweep]\nwrite = ['b']", ["[sweep] write", "twice", "[fixed]"]),
    ("[fixed]\n'a b' = 'x'", ["a b", "not a word"]),
    ("name = '../up'", ["name"]),
    ("exclude = 'a=1'", ["exclude", "a list"]),
    ("fixed = 3", ["fixed", "a table"]),
])
def test_what_is_wrong_is_named(tmp_path: Path, text: str, names: list[str]) -> None:
    message = refused(tmp_path, text)
    for name in names:
        assert name in message


def test_a_file_that_is_not_text_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "scene.toml"
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(UsageError, match="broken TOML: 'utf-8'"):
        scenario_load(path)
