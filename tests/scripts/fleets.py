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

ANSIBLE = '''
import json, pathlib, subprocess, sys
here = pathlib.Path(sys.argv[0]).parent
lost = dict(map(str.split, (here / "lost").read_text().splitlines()))
with open(here / "steps", "a+") as file:
    file.write("step\\n")
    file.seek(0)
    steps = len(file.readlines())
folder = pathlib.Path(json.loads(sys.argv[sys.argv.index("-a") + 1])["folder"])
children = {}
for host in (folder / "hosts").read_text().split():
    if steps >= int(lost.get(host, 1000)):
        (folder / f"{host}.result").write_text('{"unreachable": true, "why": "it is away"}')
        continue
    job = json.loads((folder / f"{host}.json").read_text())
    given = b"".join([job["script"].encode(), *(pathlib.Path(path).read_bytes()
                                                for path in job["files"]), job["given"].encode()])
    children[host] = given, subprocess.Popen(["sh", "-c", job["command"]], stdin=subprocess.PIPE,
                                             stdout=subprocess.PIPE, stderr=subprocess.PIPE)
for host, (given, child) in children.items():
    stdout, stderr = child.communicate(given)
    (folder / f"{host}.out").write_bytes(b"Welcome!\\n" + stdout)
    (folder / f"{host}.result").write_text(json.dumps({"status": child.returncode,
                                                       "stderr": stderr.decode()}))
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
    (folder / "ansible.py").write_text(ANSIBLE)
    scripts = {"ansible-inventory": f"cat '{folder}/listing.json'",
               "ansible": f"exec '{sys.executable}' '{folder}/ansible.py' \"$@\""}
    for name, script in scripts.items():
        (folder / name).write_text(f"#!/bin/sh\n{script}\n")
        (folder / name).chmod(0o755)
    return folder
