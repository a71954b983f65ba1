# SPDX-License-Identifier: MIT
"""An action of Ansible: runs one command on a host. The command's standard input and output, and
its outcome, are files on this machine.

The host needs only a shell; Ansible's own modules need Python there. Standard input is no variable,
argument or result of Ansible, so that a key in it gets into no log.

The job HOST.json is {"command": TEXT for sh, "script": TEXT, "files": [PATH, ...], "given": TEXT};
script, files and given are standard input. Standard output becomes HOST.out, then the outcome
HOST.result: {"status": N, "stderr": TEXT}, or {"why": TEXT, "unreachable": BOOL}.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ansible.errors import AnsibleConnectionFailure
from ansible.plugins.action import ActionBase

STDERR_MAX = 2000  # characters, of the end


class ActionModule(ActionBase):  # type: ignore[misc]
    """`uncork: folder=FOLDER`. It succeeds if the command has run, whatever its exit status."""

    TRANSFERS_FILES = False

    def run(self, tmp: Any = None, task_vars: Any = None) -> dict[str, Any]:
        """Ansible calls this, in one process for each host."""
        result: dict[str, Any] = super().run(tmp, task_vars)
        files = Path(self._task.args["folder"]) / task_vars["inventory_hostname"]
        try:
            outcome = self.job_run(json.loads(Path(f"{files}.json").read_text()), f"{files}.out")
        except BaseException as error:  # such as the end of the task's time
            outcome = {"why": str(error) or "it does not say why",
                       "unreachable": isinstance(error, AnsibleConnectionFailure)}
            raise
        finally:
            Path(f"{files}.result").write_text(json.dumps(outcome))
        return result

    def job_run(self, job: dict[str, Any], output: str) -> dict[str, Any]:
        given = b"".join([job["script"].encode(), *(Path(path).read_bytes()
                                                    for path in job["files"]),
                          job["given"].encode()])
        done = self._low_level_execute_command(job["command"], in_data=given, executable="/bin/sh")
        Path(output).write_text(done["stdout"], errors="surrogateescape")
        return {"status": done["rc"], "stderr": done["stderr"][-STDERR_MAX:]}
