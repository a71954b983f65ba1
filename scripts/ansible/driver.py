# SPDX-License-Identifier: MIT
"""Runs the steps of a fleet by ansible-runner, in an interpreter that has it; that of the suite
needs no part of Ansible.

Standard input has a line of JSON for each step: {"inventory": FILE, "folder": FOLDER with the jobs,
"hosts": [NAME, ...], "limit_s": N, "forks": N, "last": false}. Standard output has for each step a
line for each host that Ansible says something of, {"host": NAME, "how": "ok", "failed" or
"unreachable", "status": N, "why": TEXT, "stderr": TEXT}, then {"end": STATUS}.

A step with "last": true is only remembered. When standard input closes the fleet is over, whether
it was finished, interrupted or killed: a step under way is given up, the one that was remembered is
done, and the folder that is the only argument, that of who asked, is removed. So there is one way
to take a fleet down.
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
POLL_S = 1  # how soon a step that is given up ends
SPARE_S = 15  # a job ends itself when its time is over: this is for those that cannot
WHY_MAX = 2000  # characters
HOW = {"runner_on_ok": "ok", "runner_on_failed": "failed", "runner_on_unreachable": "unreachable"}
SETTINGS = {"pexpect_timeout": POLL_S, "suppress_output_file": True}


def say(line: dict[str, Any]) -> None:
    """One line for who asked, who may have gone."""
    with contextlib.suppress(BrokenPipeError):
        print(json.dumps(line), flush=True)


def outcome_of(event: dict[str, Any]) -> dict[str, Any] | None:
    """What an event of ansible-runner says of a host; None: nothing."""
    how, data = HOW.get(event.get("event", "")), event.get("event_data", {})
    if how is None:
        return None
    result = data.get("res") or {}
    why = "" if how == "ok" else str(result.get("msg") or "it does not say why")
    return {"host": data.get("host"), "how": how, "status": result.get("status"),
            "why": why[-WHY_MAX:],
            "stderr": result.get("stderr")}


def asker_gone() -> bool:
    """Whether standard input has closed: while a step is under way nothing else makes it
    readable."""
    return bool(select.select([sys.stdin], [], [], 0)[0])


def step_run(step: dict[str, Any], place: Path, given_up: Callable[[], bool]) -> None:
    """Does one step, and says how it went."""
    troubles: list[str] = []

    def event_take(event: dict[str, Any]) -> bool:
        outcome = outcome_of(event)
        if outcome:
            say(outcome)
        elif event.get("event") in ("error", "warning"):
            troubles.append(event.get("stdout", ""))
        return False  # ansible-runner is not to write it into a file

    hosts = place / "hosts"
    hosts.write_text("".join(f"{host}\n" for host in step["hosts"]))
    done = ansible_runner.run(
        private_data_dir=str(place), project_dir=str(HERE), playbook="step.yml",
        inventory=[step["inventory"]],
        limit=f"@{hosts}", forks=step["forks"], quiet=True, settings=SETTINGS,
        suppress_env_files=True, rotate_artifacts=1,
        extravars={"folder": step["folder"], "limit_s": step["limit_s"] + SPARE_S},
        event_handler=event_take,
        cancel_callback=given_up)
    say({"end": done.status, "why": "\n".join(troubles)[-WHY_MAX:]})


def connections_close(folder: Path) -> None:
    """Ends the connections that ssh(1) would keep for a minute."""
    ssh = [os.environ.get("ANSIBLE_SSH_EXECUTABLE", "ssh"),
           *shlex.split(os.environ.get("ANSIBLE_SSH_COMMON_ARGS", ""))]
    for path in folder.glob("*"):
        with contextlib.suppress(OSError, subprocess.TimeoutExpired):
            subprocess.run([*ssh, "-o", f"ControlPath={path}", "-O", "exit", "any"], timeout=5,
                           check=False,
                           stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                           stderr=subprocess.DEVNULL)


def main() -> None:
    """All steps, then the last."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: None)  # the end of standard input says that it is over
    last = None
    with tempfile.TemporaryDirectory(prefix="uncork-", dir="/tmp") as folder:
        place, control = Path(folder), Path(folder) / "ssh"
        os.environ["ANSIBLE_SSH_CONTROL_PATH_DIR"] = str(control)
        for line in iter(sys.stdin.readline, ""):
            step = json.loads(line)
            if step["last"]:
                last = step
            else:
                step_run(step, place, asker_gone)
        if last:
            step_run(last, place, lambda: False)
        connections_close(control)
    shutil.rmtree(sys.argv[1], ignore_errors=True)


if __name__ == "__main__":
    main()
