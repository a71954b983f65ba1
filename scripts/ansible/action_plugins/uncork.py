# SPDX-License-Identifier: MIT
"""An action of Ansible: starts one command on a host, whose standard input and output are files of
this machine.

It needs nothing there but a shell, where Ansible's own modules need Python. What the command reads
never becomes a variable, an argument or a result of Ansible, so that a key among it is in no log;
and what it prints may be as long as it likes, where ansible-runner drops a result of more than
700000 characters without a word.

The job is a file of JSON: {"command": TEXT for sh, "inputs": [FILE, ...], "output": FILE}.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ansible.plugins.action import ActionBase

SAID_MAX = 2000  # characters of standard error: its end says what was wrong
NOTHING = b"\n"  # a command that is given nothing at all is given a terminal


class ActionModule(ActionBase):  # type: ignore[misc]
    """`uncork: job=FILE`. That the command has run is a success, whatever its status."""

    TRANSFERS_FILES = False

    def run(self, tmp: Any = None, task_vars: Any = None) -> dict[str, Any]:
        """What Ansible calls, in a process of its own for each host."""
        result: dict[str, Any] = super().run(tmp, task_vars)
        job = json.loads(Path(self._task.args["job"]).read_text())
        given = b"".join(Path(path).read_bytes() for path in job["inputs"])
        done = self._low_level_execute_command(job["command"], in_data=given or NOTHING,
                                               executable="/bin/sh")
        Path(job["output"]).write_text(done["stdout"], errors="surrogateescape")
        return result | {"status": done["rc"], "stderr": done["stderr"][-SAID_MAX:]}
