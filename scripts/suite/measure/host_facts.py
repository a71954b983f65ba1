# SPDX-License-Identifier: MIT
"""The facts for hosts.json: about the machines of the ends, and about the runner's programs."""

import platform
import time
from collections.abc import Mapping
from typing import Any

from suite.base.client import ROOT, Client, build_client, build_digest, client_list
from suite.base.errors import Failure
from suite.base.installation import PROGRAMS
from suite.base.process import first_line
from suite.base.runner_words import LOCAL, TARGET, THIS, build_of, target_of
from suite.doctor.checks import findings_collect
from suite.doctor.finding import CellWords, findings_documents
from suite.places.targets import Targets
from suite.result.plan import Build, Plan
from suite.result.record import ENDS

DOCTOR_WATCH_S = 0.05  # every start waits so long: enough to see other load
VERSION_LIMIT_S = 30.0  # for a program that prints its version


def runner_facts() -> dict[str, str]:
    facts = {
        "python": platform.python_version(),
        "gnuplot": first_line(["gnuplot", "--version"], VERSION_LIMIT_S),
        "kernel": platform.release(),
        "project": None if PROGRAMS else first_line(
            ["git", "-C", str(ROOT), "describe", "--always", "--dirty", "--tags"], VERSION_LIMIT_S),
    }
    return {key: value for key, value in facts.items() if value}


def host_facts(answer: Mapping[str, Any], target: str) -> dict[str, Any]:
    """Facts by host id, from those by end that `--facts` prints."""
    hosts: dict[str, Any] = {}
    for end in reversed(ENDS):
        if (facts := answer.get(end)) is not None:
            if not isinstance(facts.get("id"), str):
                raise Failure(f"--facts names no id of the {end}'s machine (target={target})")
            own = {key: value for key, value in facts.items() if key != "id"}
            hosts[facts["id"]] = own | ({TARGET: target} if target != LOCAL else {})
    return hosts


def cells_sample(plan: Plan) -> dict[str, Mapping[str, str]]:
    """The words of one cell for each target, for `--facts`: runnable, with a proxy if possible."""
    samples: dict[str, Mapping[str, str]] = {}
    for cell in sorted(plan.runnable, key=lambda cell: "via" not in cell.words):
        samples.setdefault(target_of(cell.words), cell.given)
    return samples


def hosts_collect(targets: Targets, plan: Plan) -> tuple[dict[str, Any], str]:
    """(facts by host id, id of the runner's machine). The latter's facts have what the doctor finds
    there for the cells of the plan. Failure where a target gives no facts."""
    samples = {LOCAL: {}, **cells_sample(plan)}
    answers = {target: targets.target(given).facts(given) for target, given in samples.items()}
    hosts, mine = dict[str, Any](), answers[LOCAL]["client"]["id"]
    for target in reversed(answers):
        hosts |= host_facts(answers[target], target)
    findings = findings_collect(CellWords(tuple(cell.words for cell in plan.cells)), DOCTOR_WATCH_S)
    doctor = {"unix_ns": time.time_ns(), "findings": findings_documents(findings)}
    hosts[mine] |= {"runner": runner_facts(), "doctor": [doctor]}
    return hosts, mine


def clients_of(client: Client, plan: Plan) -> dict[str, Client]:
    """The clients of the other builds of a plan, by the value of build=."""
    values = dict.fromkeys(build_of(cell.words) for cell in plan.cells)
    return {value: build_client(client, value) for value in values if value != THIS}


def builds_read(client: Client, plan: Plan) -> dict[str, Build]:
    """The client's own build and the others of a plan, by the value of build=."""
    found = {}
    for value, other in {THIS: client, **clients_of(client, plan)}.items():
        listed = client_list(other).document
        found[value] = Build("" if value == THIS else str(other.folder),
                             listed.get("revision", "unknown"), build_digest(other.folder),
                             listed.get("uncork", "unknown"))
    return found
