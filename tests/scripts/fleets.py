# SPDX-License-Identifier: MIT
"""An Ansible that only pretends: all of its hosts are this machine. It is asked, and answers, as
the real one.

The file `lost` beside the programs has a line for a host that cannot be reached, with the number of
the first step of which that is so.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

DRIVER = '''
import json, pathlib, subprocess, sys
lines = (pathlib.Path(sys.argv[0]).parent / "lost").read_text().splitlines()
lost = {host: int(number) for host, number in map(str.split, lines)}
steps = 0

def step_run(step):
    global steps
    steps, jobs, children = steps + 1, {}, {}
    for host in step["hosts"]:
        if steps >= lost.get(host, 1000):
            print(json.dumps({"host": host, "how": "unreachable", "why": "it is away"}), flush=True)
            continue
        job = jobs[host] = json.loads((pathlib.Path(step["folder"]) / f"{host}.json").read_text())
        children[host] = subprocess.Popen(["sh", "-c", job["command"]],
                                          stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                          stderr=subprocess.PIPE)
    for host, child in children.items():
        given = b"".join(pathlib.Path(path).read_bytes() for path in jobs[host]["inputs"])
        stdout, stderr = child.communicate(given)
        pathlib.Path(jobs[host]["output"]).write_bytes(b"Welcome!\\n" + stdout)
        print(json.dumps({"host": host, "how": "ok", "status": child.returncode,
                          "stderr": stderr.decode()}), flush=True)
    print("no line of JSON", json.dumps({"end": "successful"}), sep="\\n", flush=True)

last = None
for line in sys.stdin:
    step = json.loads(line)
    if step["last"]:
        last = step
    else:
        step_run(step)
if last:
    step_run(last)
'''


def listing_make(groups: Mapping[str, list[str]], **variables: Mapping[str, str]) -> dict[str, Any]:
    """What ansible-inventory prints for these groups, and variables of hosts."""
    return {"_meta": {"hostvars": dict(variables)}} | {group: {"hosts": hosts}
                                                       for group, hosts in groups.items()}


def ansible_pretend(folder: Path, listing: Mapping[str, Any]) -> Path:
    """A folder of programs for $UNCORK_ANSIBLE, and beside them an inventory, whatever stands in
    it."""
    folder.mkdir()
    (folder / "lost").write_text("")
    (folder / "inventory.ini").write_text("")
    (folder / "listing.json").write_text(json.dumps(listing))
    (folder / "driver.py").write_text(DRIVER)
    for name, script in {"ansible-inventory": f"cat '{folder}/listing.json'",
                         "python": f"exec '{sys.executable}' '{folder}/driver.py'"}.items():
        (folder / name).write_text(f"#!/bin/sh\n{script}\n")
        (folder / name).chmod(0o755)
    return folder
