# SPDX-License-Identifier: MIT
"""The facts for hosts.json: about the machines of the ends, and about the runner's programs."""

import platform
import time
from collections.abc import Iterable, Mapping
from typing import Any

from suite.base.client import ROOT, Client, build_client, build_digest, client_list
from suite.base.errors import Failure
from suite.base.installation import PROGRAMS
from suite.base.process import first_line
from suite.base.runner_words import LOCAL, TARGET, target_of
from suite.doctor.checks import findings_collect
from suite.doctor.finding import CellWords, finding_document
from suite.places.targets import Targets
from suite.result.machine import disturbed_text
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
    stamp = {TARGET: target} if target != LOCAL else {}
    for end in reversed([end for end in ENDS if answer.get(end) is not None]):
        facts = answer[end]
        if not isinstance(facts.get("id"), str):
            raise Failure(f"--facts names no id of the {end}'s machine (target={target})")
        hosts[facts["id"]] = {key: value for key, value in facts.items() if key != "id"} | stamp
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
    samples = cells_sample(plan)
    here = targets.target({}).facts(samples.pop(LOCAL, {}))
    mine = here["client"]["id"]
    hosts = host_facts(here, LOCAL)
    for target, given in samples.items():
        hosts = host_facts(targets.target(given).facts(given), target) | hosts
    findings = findings_collect(CellWords(tuple(cell.words for cell in plan.cells)), DOCTOR_WATCH_S)
    doctor = [{"unix_ns": time.time_ns(),
               "findings": [finding_document(*named) for named in findings.items()]}]
    hosts[mine] |= {"runner": runner_facts(), "doctor": doctor}
    return hosts, mine


def hosts_header(facts: Mapping[str, Any]) -> list[str]:
    """A line about the runner's machine, and one about what disturbs it, if anything does."""
    cpus, kind = facts.get("cpus_online"), facts.get("virtualisation")
    parts = [
        facts.get("distribution"),
        " ".join(str(facts[key]) for key in ("system", "kernel") if key in facts),
        " x ".join(str(fact) for fact in (cpus, facts.get("cpu")) if fact),
        kind if kind != "none" else None,
    ]
    disturbed = disturbed_text(facts["doctor"])
    return [", ".join(str(part) for part in parts if part),
            *([f"doctor: {disturbed}: see uncork doctor"] if disturbed else [])]


def builds_read(client: Client, values: Iterable[str]) -> dict[str, Build]:
    """These builds, by the value of build=."""
    found = {}
    for value in values:
        other = build_client(client, value)
        listed = client_list(other).document
        found[value] = Build(str(other.folder), listed.get("revision", "unknown"),
                             build_digest(other), listed.get("uncork", "unknown"))
    return found
