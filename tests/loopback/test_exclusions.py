# SPDX-License-Identifier: MIT
"""What excludes what (docs/design/exclusions.md): each row refuses a combination."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from control import Channel, plan_send
from programs import CLIENT, SERVER, client_json, client_run, server_run, server_started, trouble

LISTED = client_json("--list=json")[0]
ROWS = LISTED["excludes"]
PEER = "peer=127.0.0.1:7 control=none"
COMMAND = "workload=command subject=nbdkit"
NBD = "protocol=nbd op=read:4K"
PUBLIC = "198.51.100.1:7007"  # of the interface lo, in a network namespace of its own

# A combination for each row, by stage, in the order of the rows.
COMBINATIONS = {
    "words": [
        "op=read:4K", f"{NBD} workload=stream", "protocol=nbd", f"{NBD} message=64",
        f"{NBD} reply=64", f"{NBD} bytes=1M", f"subject=nbdkit {NBD} {PEER}", "subject=nbdkit",
        "workload=command", COMMAND, f"{COMMAND} command=true", "duration=1s messages=1",
        "duration=1s bytes=1", "messages=1 bytes=1", "control=none", "peer=127.0.0.1:7",
        f"{PEER} transport=unix", f"{PEER} workload=proxy", f"{PEER} security=gnutls",
        f"{PEER} workload=stream direction=both", "single_issuer=off", "lab=on server=127.0.0.1:7",
        "lab=on workload=proxy via=127.0.0.1:7", "server.security=gnutls",
        "workload=proxy read=msgtrunc", f"{NBD} read=msgtrunc", "verify=on read=msgtrunc",
        "touch=checksum read=msgtrunc"],
    "options": [
        "--psk KEY messages=1", "--insecure messages=1", "build=/nowhere", "target=gvisor",
        "--pcap FILE messages=1", "lab=on", "--server-in 127.0.0.1@/nowhere messages=1",
        "--proxy-in 127.0.0.1@/nowhere workload=proxy"],
    "session": ["transport=null", "security=gnutls"],
    "serve": [
        "nbd op=write:4K", "memcached --size 4K op=get:64K", "memcached security=gnutls",
        "nbd --psk KEY", "nbd security=gnutls"],
    "ends": [f"transport=null {words}" for words in (
        "workload=stream direction=receive", "workload=proxy", NBD, "security=gnutls",
        "workload=connect")],
    "engine": [
        "transport=null engine=poll", "handoff=thread engine=poll",
        "workload=connect server.threads=2 connections=4",
        "workload=connect server.engine=block", "engine=block workload=stream direction=both",
        "engine=block depth=2"],
    "threads": [
        "workload=connect write=uv", "transport=unix sndbuf=64K buffers=before",
        "workload=connect sndbuf=64K buffers=after", "busy_poll=1500ns",
        "workload=connect busy_poll=50us", "write=uv quickack=rearm",
        "read=uring-multishot quickack=rearm", "handoff=thread security=gnutls",
        "security=gnutls handshake=ticket", "write=uv read=msgtrunc",
        "handoff=thread write=zerocopy", "workload=proxy write=sendfile",
        f"{NBD} reply_write=sendfile", "security=gnutls workload=connect read=uring-multishot",
        "workload=proxy read=zerocopy", "workload=connect read=zerocopy"],
}


def complaint(done: subprocess.CompletedProcess[str]) -> str:
    """The reason of a program that refuses its arguments."""
    assert (done.returncode, done.stdout) == (2, ""), done.stderr
    return re.sub("^uncork-(client|server): (standard input:1: )?", "", done.stderr).strip()


# A server and a client whose control channel is on no loopback address.
IN_PUBLIC = f"""
ip link set lo up && ip addr add {PUBLIC.partition(":")[0]}/32 dev lo || exit 77
{SERVER} --listen {PUBLIC} --insecure > "$1/ready" & server=$!
until [ -s "$1/ready" ]; do sleep 0.05; done
{CLIENT} --insecure server={PUBLIC} "$2"; status=$?
kill $server && wait $server
exit $status
"""


def public_refusal(words: str, folder: Path) -> str:
    if not shutil.which("unshare") or not shutil.which("ip"):
        pytest.skip("unshare or ip is not installed")
    kind = "-n" if os.getuid() == 0 else "-rn"  # a root folder allows no user namespace
    done = subprocess.run(["unshare", kind, "sh", "-c", IN_PUBLIC, "sh", str(folder), words],
                          capture_output=True, text=True, timeout=60)
    if done.returncode not in (1, 2) or "unshare failed" in done.stderr:
        pytest.skip(f"no network namespace: {done.stderr.strip()}")
    (said,) = (line for line in done.stderr.splitlines() if line.startswith("uncork-client: "))
    return said.removeprefix("uncork-client: ")


def session_refusal(words: str, folder: Path) -> str:
    if "security" in words:
        return public_refusal(words, folder)
    with server_started() as server:
        channel = Channel(server.address)
        answer = plan_send(channel, LISTED["uncork"], words)
        channel.close()
        assert answer["kind"] == "usage"
        return answer["text"]


def refusal(stage: str, words: str, folder: Path) -> str:
    """Why a program refuses the combination at this stage."""
    key = folder / "key"
    key.write_text(f"user:{'ab' * 32}\n")
    key.chmod(0o600)
    arguments = words.replace("KEY", str(key)).replace("FILE", str(folder / "pcap")).split()
    if stage == "words":
        return complaint(client_run("--check", "-", stdin=f"{words}\n"))
    if stage == "options":
        return complaint(client_run(*arguments))
    if stage == "serve":
        return complaint(server_run("--listen", "127.0.0.1:0", "--serve", *arguments))
    if stage == "session":
        return session_refusal(words, folder)
    return trouble(words) or "it is not refused"


def first_match(stage: str, reason: str) -> int | None:
    """The row of a stage whose reason this is."""
    for at, row in enumerate(row for row in ROWS if row["stage"] == stage):
        if re.fullmatch(re.sub(r"\\\{[\w.\\]+\\\}", r"[^{}]+", re.escape(row["reason"])), reason):
            return at
    return None


def test_every_row_has_its_combination() -> None:
    assert {stage: len(found) for stage, found in COMBINATIONS.items()} == {
        stage: sum(row["stage"] == stage for row in ROWS) for stage in COMBINATIONS}
    assert len(ROWS) == sum(map(len, COMBINATIONS.values()))


@pytest.mark.parametrize(("stage", "at", "words"), [
    (stage, at, words) for stage, found in COMBINATIONS.items() for at, words in enumerate(found)])
def test_each_row_refuses_its_combination_with_its_reason(
        stage: str, at: int, words: str, tmp_path: Path) -> None:
    reason = refusal(stage, words, tmp_path)
    assert first_match(stage, reason) == at, reason


def test_what_excludes_words_comes_before_what_this_machine_lacks() -> None:
    reason = trouble("congestion=nosuch busy_poll=1500ns")
    assert reason and "SO_BUSY_POLL takes whole microseconds" in reason
