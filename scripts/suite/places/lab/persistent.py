# SPDX-License-Identifier: MIT
"""The lab that stands until it is taken down: namespaces with names, as `ip netns` lists them.

A lab is built without names and gets them when it is whole. What is ours is told by a mark inside
the namespace, the alias of its loopback: there is no file that could say something else. A name
without that mark is somebody else's and is never touched.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from suite.base.errors import Failure
from suite.base.lab_words import (
    HOSTS,
    SETTING_WORD,
    facts_rows,
    host_file,
    host_name,
    link_of,
    setting_split,
    words_text,
)
from suite.places.lab.lab import facts_read, lab_close, lab_make
from suite.places.lab.namespace import lines_run, output_read, setting_read, setting_write

MARK = "uncork lab"
NONE = "no lab stands"


def host_path(host: str) -> Path:
    """The file of the name of a host."""
    return Path(host_file(host))


@contextlib.contextmanager
def standing_open() -> Iterator[dict[str, int]]:
    """Descriptors of the namespaces that have a lab's names."""
    with contextlib.ExitStack() as closing:
        found = {}
        for host in HOSTS:
            if host_path(host).exists():
                found[host] = os.open(host_path(host), os.O_RDONLY | os.O_CLOEXEC)
                closing.callback(os.close, found[host])
        yield found


def mark_read(host: str, descriptor: int) -> str:
    """The words of the lab that a namespace is of; Failure where it is nobody's lab."""
    try:
        (loopback,) = json.loads(output_read(descriptor, "ip", "-json", "link", "show", "lo"))
        alias = loopback.get("ifalias", "")
    except Failure as error:
        if "Invalid argument" not in str(error):  # a file that no namespace is mounted on
            raise
        alias = ""
    if not alias.startswith(MARK):
        raise Failure(f"{host_path(host)} is no namespace of a lab: uncork did not make it and "
                      "leaves it alone")
    return alias.removeprefix(MARK).strip()


def names_give(namespaces: Mapping[str, int]) -> None:
    """Names all of them; a name that was taken meanwhile undoes the others."""
    named: list[str] = []
    try:
        for host, descriptor in namespaces.items():
            # This thread's namespace is that of the process as `ip` sees it from inside.
            output_read(descriptor, "ip", "netns", "attach", host_name(host), str(os.getpid()))
            named.append(host)
    except BaseException:
        for host in named:
            name_take(host)
        raise


def name_take(host: str) -> None:
    """Takes the name of a namespace away."""
    output_read(None, "ip", "netns", "delete", host_name(host))


def lab_up(words: Mapping[str, str]) -> None:
    """Makes the lab of these words and names it; Failure where one stands."""
    with standing_open() as standing:
        for host, descriptor in standing.items():
            text = mark_read(host, descriptor)
            raise Failure(f"a lab stands already ({text}): uncork lab down ends it")
    lab = lab_make(link_of(words))
    try:
        setting = setting_split(words[SETTING_WORD])
        if setting is not None:
            setting_write(lab.namespaces, *setting)
        for descriptor in lab.namespaces.values():
            lines_run(descriptor, "ip", [f'link set lo alias "{MARK} {words_text(words)}"'])
        names_give(lab.namespaces)
    finally:
        lab_close(lab)


def lab_down() -> list[str]:
    """Takes the lab down, harmless where none stands: lines for the person who asked."""
    with standing_open() as standing:
        for host, descriptor in standing.items():
            mark_read(host, descriptor)  # all of them are ours, or nothing is touched
        left = []
        for host in standing:
            pids = output_read(None, "ip", "netns", "pids", host_name(host)).split()
            left += [f"processes still run in {host} and keep it until they end: "
                     f"{' '.join(pids)}"] if pids else []
            name_take(host)
    return left if standing else [NONE]


def setting_now(namespaces: Mapping[str, int], text: str) -> dict[str, dict[str, str]]:
    """The setting that a lab was made with, as it reads now."""
    words = dict(word.partition("=")[::2] for word in text.split())
    setting = setting_split(words.get(SETTING_WORD, "none"))
    if setting is None:
        return {}
    return {SETTING_WORD: {"name": setting[0]} | setting_read(namespaces, setting[0])}


def lab_status() -> list[str]:
    """What stands, as read back now: lines."""
    with standing_open() as standing:
        if not standing:
            return [NONE]
        texts = [mark_read(host, descriptor) for host, descriptor in standing.items()]
        facts = facts_read(standing)
        if len(standing) == len(HOSTS):
            facts |= setting_now(standing, texts[0])
    missing = [host for host in HOSTS if host not in standing]
    lines = [f"lab: {texts[0]}"]
    lines += [f"  {where:<8} {what}" for where, what in facts_rows(facts)]
    lines += [f"  {host} is missing: uncork lab down, then up again" for host in missing]
    return lines


def host_open(host: str) -> int:
    """A descriptor of a host of the lab that stands; Failure where none does."""
    path = host_path(host)
    if not path.exists():
        raise Failure(f"{NONE}: uncork lab up makes one")
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    mark_read(host, descriptor)
    return descriptor
