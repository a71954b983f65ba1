# SPDX-License-Identifier: MIT
"""Runs the steps of a fleet by ansible-runner, in a Python that has it; the Python of the suite
needs no part of Ansible.

Standard input has a line of JSON for each step: {"inventory": FILE, "folder": FOLDER with the jobs,
"hosts": [NAME, ...], "limit_s": N, "forks": N, "last": false}. For each step, standard output has a
line for each host that Ansible reports, {"host": NAME, "how": "ok", "failed" or "unreachable",
"status": N, "why": TEXT, "stderr": TEXT}, then {"end": STATUS}.

A step with "last": true is only stored. Standard input closes when the runner ends, in whatever
way. Then the driver stops the current step, runs the stored step and removes the runner's folder,
its only argument. So a fleet is always taken down in the same way.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ansible_runner

HERE = Path(__file__).resolve().parent
POLL_S = 1  # a step that is stopped ends within this time
MARGIN_S = 15  # a job ends itself after limit_s; Ansible ends a job that does not, so much later
WHY_MAX = 2000  # characters
HOW = {"runner_on_ok": "ok", "runner_on_failed": "failed", "runner_on_unreachable": "unreachable"}
SETTINGS = {"pexpect_timeout": POLL_S, "suppress_output_file": True}


def line_print(line: dict[str, Any]) -> None:
    """Prints one line for the runner; the runner may have ended."""
    with contextlib.suppress(BrokenPipeError):
        print(json.dumps(line), flush=True)


def event_outcome(event: dict[str, Any]) -> dict[str, Any] | None:
    """The outcome of a host from an event of ansible-runner; None if the event is another."""
    how, data = HOW.get(event.get("event", "")), event.get("event_data", {})
    if how is None:
        return None
    result = data.get("res") or {}
    why = "" if how == "ok" else str(result.get("msg") or "it does not say why")
    return {"host": data.get("host"), "how": how, "status": result.get("status"),
            "why": why[-WHY_MAX:], "stderr": result.get("stderr")}


def runner_ended() -> bool:
    """Whether standard input has closed: during a step it becomes readable by that alone."""
    return bool(select.select([sys.stdin], [], [], 0)[0])


def step_run(step: dict[str, Any], place: Path, must_stop: Callable[[], bool]) -> None:
    """Runs one step and prints its outcomes. must_stop: whether to stop it now."""
    messages: list[str] = []

    def event_take(event: dict[str, Any]) -> bool:
        outcome = event_outcome(event)
        if outcome:
            line_print(outcome)
        elif event.get("event") in ("error", "warning"):
            messages.append(event.get("stdout", ""))
        return False  # ansible-runner then does not write the event into a file

    hosts = place / "hosts"
    hosts.write_text("".join(f"{host}\n" for host in step["hosts"]))
    done = ansible_runner.run(
        private_data_dir=str(place), project_dir=str(HERE), playbook="step.yml",
        inventory=[step["inventory"]], limit=f"@{hosts}", forks=step["forks"], quiet=True,
        settings=SETTINGS, suppress_env_files=True, rotate_artifacts=1,
        extravars={"folder": step["folder"], "limit_s": step["limit_s"] + MARGIN_S},
        event_handler=event_take, cancel_callback=must_stop)
    line_print({"end": done.status, "why": "\n".join(messages)[-WHY_MAX:]})


def connections_close(folder: Path) -> None:
    """Closes the connections that ssh(1) would keep open for a minute."""
    ssh = [os.environ.get("ANSIBLE_SSH_EXECUTABLE", "ssh"),
           *shlex.split(os.environ.get("ANSIBLE_SSH_COMMON_ARGS", ""))]
    for path in folder.glob("*"):
        with contextlib.suppress(OSError, subprocess.TimeoutExpired):
            subprocess.run([*ssh, "-o", f"ControlPath={path}", "-O", "exit", "any"], timeout=5,
                           stdin=subprocess.DEVNULL, capture_output=True)


def main() -> None:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: None)  # only the end of standard input ends it
    last = None
    with tempfile.TemporaryDirectory(prefix="uncork-", dir="/tmp") as folder:
        place, control = Path(folder), Path(folder) / "ssh"
        os.environ["ANSIBLE_SSH_CONTROL_PATH_DIR"] = str(control)
        for line in iter(sys.stdin.readline, ""):
            step = json.loads(line)
            if step["last"]:
                last = step
            else:
                step_run(step, place, runner_ended)
        if last:
            step_run(last, place, lambda: False)
        connections_close(control)
    shutil.rmtree(sys.argv[1], ignore_errors=True)


if __name__ == "__main__":
    main()
