# SPDX-License-Identifier: MIT
"""One fault in one phase of a session, for each fault and phase: what each side said, how long it
took, and whether the next session was served."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from ends import End, end_started, next_session
from programs import CLIENT
from relay import Relay
from result import Row, part_main

LIMIT_S = 7.5  # to say so, and to serve the next session
AT_ONCE = 3  # cells; most of them wait
PHASES = ("connect", "plan", "ready", "hello", "data", "report", "between")
SIGNALS = {"killed": signal.SIGKILL, "stopped": signal.SIGSTOP, "ended": signal.SIGTERM}
LINK = ("cut", "silent", "corrupted")
RUN = ("verify=on", "warmup=0s", "place=free")


@dataclass(frozen=True)
class Cell:
    """The victim is client, server, proxy or link: the connections from client to the next end."""

    victim: str
    fault: str
    proxied: bool
    phase: str

    @property
    def name(self) -> str:
        return f"{self.victim} {self.fault}" + ", with a proxy" * self.proxied


def cells() -> list[Cell]:
    """All faults in all phases. Bytes that do not pass cannot be corrupted."""
    link = [("link", fault) for fault in LINK]
    plain = [(victim, fault) for victim in ("client", "server") for fault in SIGNALS]
    proxied = [(victim, fault) for victim in ("client", "server", "proxy")
               for fault in ("killed", "stopped")]
    return [Cell(victim, fault, with_proxy, phase)
            for with_proxy, faults in ((False, plain + link), (True, proxied + link))
            for victim, fault in faults for phase in PHASES
            if fault != "corrupted" or phase not in ("connect", "between")]


@dataclass
class Stage:
    """The programs of a cell."""

    cell: Cell
    folder: Path
    stack: ExitStack
    server: End = field(init=False)
    proxy: End | None = field(init=False)
    client: subprocess.Popen[str] = field(init=False)
    relay: Relay = field(init=False)
    fault_at: float = 0.0
    logged: dict[str, int] = field(default_factory=dict)

    def start(self) -> None:
        """Starts all of them. The client of the phase between has two sessions."""
        self.server = self.stack.enter_context(end_started(self.folder, "server"))
        self.proxy = self.stack.enter_context(
            end_started(self.folder, "proxy", "--proxy")) if self.cell.proxied else None
        self.relay = Relay((self.proxy or self.server).address, self.cell.phase, self.make_fault)
        words = [*RUN, *(["workload=proxy", f"via={self.relay.address}",
                          f"server={self.server.address}"] if self.proxy else
                         ["workload=stream", "message=64K", f"server={self.relay.address}"])]
        length = {"report": "duration=100ms", "between": "duration=20ms"}.get(
            self.cell.phase, "duration=60s")
        arguments = [*words, length]
        if self.cell.phase == "between":
            (self.folder / "two").write_text((" ".join(arguments) + "\n") * 2)
            arguments = ["--batch", str(self.folder / "two")]
        self.client = subprocess.Popen([str(CLIENT), *arguments], text=True,
                                       stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                       stderr=subprocess.PIPE)
        self.stack.callback(self.client.kill)

    def ends(self) -> dict[str, End]:
        return {"server": self.server} | ({"proxy": self.proxy} if self.proxy else {})

    def make_fault(self) -> str:
        """Makes the fault, and says what becomes of the link."""
        while not hasattr(self, "client"):  # it connects before it is known here
            time.sleep(0.001)
        self.logged = {name: end.log.stat().st_size for name, end in self.ends().items()}
        self.fault_at = time.monotonic()
        if self.cell.victim == "link":
            return self.cell.fault
        process = self.client if self.cell.victim == "client" else self.ends()[
            self.cell.victim].process
        process.send_signal(SIGNALS[self.cell.fault])
        if self.cell.fault == "killed":
            process.wait()
        return "passes"

    def restored(self) -> tuple[End, End | None]:
        """The ends for the next session: others in place of those that died."""
        ends = self.ends()
        if (victim := ends.get(self.cell.victim)) and self.cell.fault == "stopped":
            victim.process.send_signal(signal.SIGCONT)
        elif victim:
            victim.process.wait(LIMIT_S)
            flags = ["--proxy"] * (self.cell.victim == "proxy")
            ends[self.cell.victim] = self.stack.enter_context(end_started(
                self.folder, f"{self.cell.victim}-again", *flags))
        return ends["server"], ends.get("proxy")

    def next_used(self, name: str) -> bool:
        """Whether the next session used the same process."""
        return name != self.cell.victim or self.cell.fault == "stopped"

    def log_said(self, name: str) -> str:
        """What an end said first after the fault."""
        if name not in self.ends():
            return ""
        with self.ends()[name].log.open(errors="replace") as log:
            log.seek(self.logged[name])
            lines = [text for line in log if not (text := line.rstrip()).endswith(
                "the session begins")]
        if lines and self.next_used(name):
            lines.pop()  # of the next session
        said = re.sub(r"^uncork-server: (127\S+: )?(the session ended after \S+ s: )?", "",
                      lines[0]) if lines else "nothing"
        return generalised(said)


def generalised(text: str) -> str:
    """Without what differs from run to run."""
    text = re.sub(r"^uncork-client: (failed: )?", "", text)
    return re.sub(r"\d+ s\b", "N s", re.sub(r" ?127\.0\.0\.1:\d+", " ADDRESS", text))


def client_said(stage: Stage, out: str, error: str) -> tuple[str, str]:
    """What a client said that has ended, and what is wrong with that."""
    records = [json.loads(line) for line in out.splitlines()] if (
        stage.cell.phase == "between") else []
    said = error.strip() or next((f"failed: {record['reason']}" for record in records
                                  if record.get("status") == "failed"), "served")
    status, lines = stage.client.returncode, error.count("\n")
    if stage.cell.victim == "client" and stage.cell.fault != "stopped":
        return generalised(said) if error else "–", ""
    if stage.cell.phase == "between":
        wrong = status != 0 or not records[-1].get("end")
    elif said == "served":
        wrong = status != 0 or stage.cell.phase != "report"
    else:
        wrong = status != 1 or lines != 1
    return generalised(said), f"exit status {status}, {error!r}" if wrong else ""


def cell_run(cell: Cell) -> Row:
    """Makes the fault of a cell and sees what comes of it."""
    wrong: list[str] = []
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        stage = Stage(cell, Path(name), stack)
        stage.start()
        stack.callback(stage.relay.close)
        if not stage.relay.fired.wait(20):
            return {"fault": cell.name, "phase": cell.phase, "wrong": "the phase never came"}
        stops_client = (cell.victim, cell.fault) == ("client", "stopped")
        out = error = ""
        try:
            if not stops_client:
                out, error = stage.client.communicate(timeout=LIMIT_S + 10)
            after_s = time.monotonic() - stage.fault_at
            server, proxy = stage.restored()
            began = stage.fault_at if cell.victim == "client" else time.monotonic()
            said_next, _ = next_session(server, proxy)
            next_s = time.monotonic() - began
            if stops_client:
                after_s = next_s
                stage.client.send_signal(signal.SIGCONT)
                out, error = stage.client.communicate(timeout=LIMIT_S + 10)
        except subprocess.TimeoutExpired as late:
            return {"fault": cell.name, "phase": cell.phase, "wrong": f"{late}"}
        time.sleep(0.1)  # the line of the next session comes after its report
        said, wrong_said = client_said(stage, out, error)
        wrong += [wrong_said] * bool(wrong_said)
        wrong += [f"the next session: {said_next}"] * bool(said_next)
        wrong += [f"{what} took {seconds:.1f} s" for what, seconds in (
            ("the client", after_s), ("the next session", next_s)) if seconds > LIMIT_S]
        wrong += [f"{role} ended too" for role, end in stage.ends().items()
                  if role != cell.victim and end.process.poll() is not None]
        wrong += [f"{role}: {line}" for role, end in stage.ends().items()
                  for line in end.strange_lines()]
        return {"fault": cell.name, "phase": cell.phase, "client": said,
                "server": stage.log_said("server"), "proxy": stage.log_said("proxy"),
                "after_s": round(after_s, 1), "next_s": round(next_s, 1),
                "wrong": "; ".join(wrong)}


def rows_make(quick: bool) -> list[Row]:
    with ThreadPoolExecutor(AT_ONCE) as pool:
        return list(pool.map(cell_run, cells()[::6 if quick else 1]))


if __name__ == "__main__":
    sys.exit(part_main("faults", __doc__, rows_make,
                       lambda row: f"{row['fault']} in {row['phase']}"))
