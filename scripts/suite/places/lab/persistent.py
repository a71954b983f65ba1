# SPDX-License-Identifier: MIT
"""The lab that stands until it is taken down: namespaces with names, as `ip netns` lists them.

A lab gets its names when it is whole. A mark inside the namespace, the alias of its loopback, says
that uncork made it; so no file can contradict the kernel. A name without that mark belongs to
another program, and uncork never touches it.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator, Mapping
from io import FileIO
from pathlib import Path

from suite.base.errors import Failure
from suite.base.lab_words import (
    LAB_HOSTS,
    SETTING_WORD,
    facts_rows,
    lab_text,
    link_of,
    namespace_file,
    namespace_name,
    setting_split,
)
from suite.places.lab.lab import facts_read, lab_make
from suite.places.lab.namespace import (
    lines_run,
    namespace_enter,
    output_read,
    setting_read,
    setting_write,
)

MARK = "uncork lab"
NONE = "no lab stands"


@contextlib.contextmanager
def standing_open() -> Iterator[tuple[dict[str, FileIO], str]]:
    """(the namespaces that have a lab's names, by host, the words of their lab). Failure where one
    of them belongs to another program."""
    with contextlib.ExitStack() as held:
        standing = {host: held.enter_context(FileIO(namespace_file(host))) for host in LAB_HOSTS
                    if Path(namespace_file(host)).exists()}
        texts = [mark_read(host, namespace) for host, namespace in standing.items()]
        yield standing, texts[0] if texts else ""


def mark_read(host: str, namespace: FileIO) -> str:
    """The words of the lab that a namespace belongs to; Failure where it belongs to none."""
    try:
        (loopback,) = json.loads(output_read(namespace, "ip", "-json", "link", "show", "lo"))
        alias = loopback.get("ifalias", "")
    except Failure as error:
        if "Invalid argument" not in str(error):  # a file that no namespace is mounted on
            raise
        alias = ""
    if not alias.startswith(MARK):
        raise Failure(f"{namespace_file(host)} is no namespace of a lab: "
                      "uncork did not make it and leaves it alone")
    return alias.removeprefix(MARK).strip()


def names_give(namespaces: Mapping[str, FileIO]) -> None:
    """Names all namespaces; where a name is taken by then, the others are removed again."""
    with contextlib.ExitStack() as failing:
        for host, namespace in namespaces.items():
            # ip(8) runs inside and takes this thread's namespace for that of the process.
            output_read(namespace, "ip", "netns", "attach", namespace_name(host), str(os.getpid()))
            failing.callback(output_read, None, "ip", "netns", "delete", namespace_name(host))
        failing.pop_all()


def lab_up(words: Mapping[str, str]) -> None:
    """Makes the lab of these words and names it; Failure where one stands."""
    with standing_open() as (standing, text):
        if standing:
            raise Failure(f"a lab stands already ({text}): uncork lab down ends it")
    with lab_make(link_of(words)) as lab:
        if setting := setting_split(words[SETTING_WORD]):
            name, value = setting
            setting_write(lab.namespaces, name, dict.fromkeys(lab.namespaces, value))
        for namespace in lab.namespaces.values():
            lines_run(namespace, "ip", [f'link set lo alias "{MARK} {lab_text(words)}"'])
        names_give(lab.namespaces)


def lab_down() -> list[str]:
    """Takes the lab down, if one stands; gives lines to print."""
    with standing_open() as (standing, _):
        left = []
        for host in standing:
            pids = output_read(None, "ip", "netns", "pids", namespace_name(host)).split()
            if pids:
                left.append(f"processes still run in {host} and keep it until they end: "
                            f"{' '.join(pids)}")
            output_read(None, "ip", "netns", "delete", namespace_name(host))
    return left if standing else [NONE]


def lab_status() -> list[str]:
    """The lab that stands, as read back now: lines to print."""
    with standing_open() as (standing, text):
        if not standing:
            return [NONE]
        facts = facts_read(standing)
        words = dict(word.partition("=")[::2] for word in text.split())
        setting = setting_split(words.get(SETTING_WORD, "none"))
        if setting and len(standing) == len(LAB_HOSTS):
            facts[SETTING_WORD] = {"name": setting[0]} | setting_read(standing, setting[0])
    return [f"lab: {text}",
            *(f"  {where:<8} {what}" for where, what in facts_rows(facts)),
            *(f"  {host} is missing: uncork lab down, then up again"
              for host in LAB_HOSTS if host not in standing)]


def host_enter(host: str) -> None:
    """Moves the calling thread into a host of the lab that stands; Failure where none does."""
    with standing_open() as (standing, _):
        if host not in standing:
            raise Failure(f"{NONE}: uncork lab up makes one")
        namespace_enter(standing[host])
