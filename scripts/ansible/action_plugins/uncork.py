# SPDX-License-Identifier: MIT
"""An action of Ansible: runs one command on a host. The command's standard input and output are
files on this machine.

The host needs only a shell; Ansible's own modules need Python there. Standard input is no variable,
argument or result of Ansible, so that a key in it gets into no log. Standard output may have any
length; ansible-runner silently drops a result of more than 700000 characters.

The job is a file of JSON: {"command": TEXT for sh, "inputs": [FILE, ...], "output": FILE}.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ansible.plugins.action import ActionBase

STDERR_MAX = 2000  # characters, of the end
NOTHING = b"\n"  # without any input the command would get a terminal


class ActionModule(ActionBase):  # type: ignore[misc]
    """`uncork: job=FILE`. It succeeds if the command has run, whatever its exit status."""

    TRANSFERS_FILES = False

    def run(self, tmp: Any = None, task_vars: Any = None) -> dict[str, Any]:
        """Ansible calls this, in one process for each host."""
        result: dict[str, Any] = super().run(tmp, task_vars)
        job = json.loads(Path(self._task.args["job"]).read_text())
        given = b"".join(Path(path).read_bytes() for path in job["inputs"])
        done = self._low_level_execute_command(job["command"], in_data=given or NOTHING,
                                               executable="/bin/sh")
        Path(job["output"]).write_text(done["stdout"], errors="surrogateescape")
        return result | {"status": done["rc"], "stderr": done["stderr"][-STDERR_MAX:]}
