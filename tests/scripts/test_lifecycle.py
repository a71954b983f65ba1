# SPDX-License-Identifier: MIT
"""The tables of docs/architecture.md on the C core are those of the code."""

from __future__ import annotations

import re

from conftest import ROOT

STATES = (ROOT / "common/connection/lifecycle.def").read_text()
SESSION = (ROOT / "common/team/session.def").read_text()
PHASES = (ROOT / "common/team/phases.def").read_text()
PAGE = (ROOT / "docs/architecture.md").read_text()


def declared(table, kind):
    """The arguments of STATE(...) or NEXT(...) in the table."""
    found = re.findall(rf"^{kind}\((.*?)\)$", table, re.MULTILINE | re.DOTALL)
    return [tuple(word.strip('"') for word in re.findall(r'"[^"]*"|\w+', line)) for line in found]


def rows(heading):
    """The cells of the table of the page with this first heading."""
    lines = PAGE[PAGE.index(f"| {heading} |"):].split("\n\n")[0].splitlines()
    return [tuple(cell.strip() for cell in line[1:-1].split("|")) for line in lines[2:]]


def code(word):
    return f"`{word.lower()}`" if word else ""


def wait_of(release):
    return {"NOTHING": "", "NEVER": "–"}.get(release, release.lower())


def test_the_page_has_every_state_with_what_it_means_and_where_it_leads():
    following = {name: [] for name, _ in declared(STATES, "STATE")}
    for state, event, after in declared(STATES, "NEXT"):
        following[state].append(f"{event.lower()} ▷ {after.lower()}")
    assert rows("state") == [(code(name), text, ", ".join(following[name]))
                             for name, text in declared(STATES, "STATE")]


LIMITS = {"0": "", "PLAN_LIMIT_MS": "2 h", "plan_limit_ms(plan)": "run",
          "join_limit_ms(plan)": "join", "plan->ready_ns / NS_PER_MS": "`ready=`",
          "plan_has_subject(plan) ? 1000 : 300": "300 ms; 1 s with a subject"}


def limit_of(text):
    if text not in LIMITS:
        return f"{int(text) // 1000} s" if int(text) >= 1000 else f"{text} ms"
    return LIMITS[text]


def messages_of(mask):
    names = re.findall(r"COORDINATION|IS\((\w+)\)", mask)
    return ", ".join(name.lower() or "phases" for name in names)


def test_the_page_has_every_state_of_a_session_with_its_limits_and_what_may_follow():
    states = re.findall(r'^STATE\((\w+), "([^"]*)",\s+(.*?), (.*?),\n\s+(.*?),\n\s+(.*?), (.*?)\)$',
                        SESSION, re.MULTILINE)
    assert len(states) == SESSION.count("\nSTATE(")
    assert rows("session") == [
        (code(name), text, limit_of(client), limit_of(server),
         ", ".join(map(code, re.findall(r"TO\((\w+)\)", follow))),
         messages_of(of_client), messages_of(of_server))
        for name, text, client, server, follow, of_client, of_server in states]


def test_the_page_has_every_phase_with_what_is_waited_for_and_done():
    assert rows("phase") == [
        (code(name), code(record), *map(wait_of, waits), text,
         reported_by.lower().replace("none", ""), code(message))
        for name, record, *waits, reported_by, message, text in declared(PHASES, "PHASE")]
    assert rows("release") == [(code(name), text) for name, text in declared(PHASES, "RELEASE")]


def test_only_one_function_changes_a_state():
    sources = [path for part in ("common", "client", "server")
               for path in (ROOT / part).rglob("*.[ch]")
               if path.name not in ("lifecycle.c", "session.c")]
    for path in sources:
        assert not re.search(r"state = (\(enum state\))?(STATE|SESSION)_", path.read_text()), path


def test_every_function_of_the_walks_through_the_core_is_defined_once():
    section = PAGE[PAGE.index("## The stack"):PAGE.index("## The life of a connection")]
    walked = re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE)
    sources = "\n".join(path.read_text() for path in (ROOT / "common").rglob("*.[ch]")
                        if not path.name.startswith("absent_"))
    assert len(walked) > 10
    for function in walked:
        defined = re.findall(rf"^(?:static )?\w[\w ]*[ *]{function}\([^;{{]*\)\n{{", sources,
                             re.MULTILINE)
        assert len(defined) == 1, (function, len(defined))
