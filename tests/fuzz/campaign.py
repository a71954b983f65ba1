# SPDX-License-Identifier: MIT
"""tests/fuzz/run: runs the fuzz targets with their seeds (of build/asan) or for some minutes (of
build/guided), makes their corpora small, and measures which lines they reach (docs/fuzzing.md)."""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
SEEDS = ROOT / "tests/fuzz/corpus"
BUILD = ROOT / "build/fuzz"  # corpora that grow, inputs that were found, logs
FOLDERS = ("common", "server", "client", "exec")  # whose lines are counted
PROGRAMS = ("uncork-client", "uncork-server", "uncork-exec")  # their lines count without a target
KEPT_MAX, KEPT_BYTES = 12, 1024  # what --merge adds to the seeds of a target
OPTIONS = ("-timeout=20", "-rss_limit_mb=4096", "-print_final_stats=1")
ENVIRONMENT = os.environ | {
    "ASAN_OPTIONS": "strict_string_checks=1:detect_stack_use_after_return=1",
    "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1"}


def program(tree: str, name: str) -> Path:
    return ROOT / "build" / tree / "bin" / f"fuzz_{name}"


def call(*command: object, log: Path | None = None, **more: str) -> int:
    """Runs a command, into a log of its own. Returns its status."""
    with (log or Path(os.devnull)).open("wb") as out:
        return subprocess.run([str(word) for word in command], stdout=out, stderr=out, cwd=ROOT,
                              stdin=subprocess.DEVNULL, env=ENVIRONMENT | more).returncode


def make_dictionary(tree: str) -> Path:
    """The words of a plan, for targets that read them."""
    client = ROOT / "build" / tree / "bin/uncork-client"
    listed = subprocess.run([client, "--list=json"], check=True, capture_output=True,
                            env=ENVIRONMENT).stdout
    words = json.loads(listed)
    texts = {f"{word['key']}=" for word in words["words"]}
    texts |= {f"{key}={one['name']}" for key, all_ in words["variants"].items() for one in all_}
    path = BUILD / "words.dict"
    path.write_text("".join(f'"{text}"\n' for text in sorted(texts)))
    return path


def grown(name: str) -> Path:
    folder = BUILD / "corpus" / name
    folder.mkdir(parents=True, exist_ok=True)
    return folder


# ---- running ----

def run_target(tree: str, name: str, seconds: int) -> dict[str, Any]:
    """One target: its seeds, or this many seconds. Prints a line, and the log of a failure."""
    log, seeds = BUILD / f"{name}.log", sorted((SEEDS / name).iterdir())
    found = BUILD / "found" / f"{name}-"
    if seconds:
        status = call(program(tree, name), grown(name), SEEDS / name, *OPTIONS,
                      f"-max_total_time={seconds}", f"-artifact_prefix={found}",
                      *[f"-dict={BUILD / 'words.dict'}"] * (name in ("words", "session")), log=log)
    else:
        status = call(program(tree, name), *seeds, *OPTIONS, f"-artifact_prefix={found}", log=log)
    text = log.read_text(errors="replace")
    done = re.search(r"stat::number_of_executed_units: *(\d+)", text)
    executions = int(done[1]) if done and seconds else len(seeds)
    print(f"{'FAILED' if status else 'ok':<7}{name:<12}{executions:>10} executions", flush=True)
    if status:
        print(*text.splitlines()[-40:], f"the input is at {found}*", sep="\n", flush=True)
    return {"executions": executions, "seeds": len(seeds), "failed": bool(status)}


def run_all(tree: str, names: list[str], minutes: float) -> dict[str, dict[str, Any]]:
    at_once = os.cpu_count() or 1
    seconds = max(1, int(minutes * 60 * at_once / len(names))) if minutes else 0
    with ThreadPoolExecutor(at_once) as pool:
        done = pool.map(lambda name: run_target(tree, name, seconds), names)
        return dict(zip(names, done, strict=True))


# ---- merging ----

def merge(tree: str, name: str) -> None:
    """Adds the smallest inputs that reach more than the seeds. The seeds keep their names."""
    with tempfile.TemporaryDirectory(dir=BUILD) as scratch:
        folder = Path(scratch)
        for seed in (SEEDS / name).iterdir():
            shutil.copy(seed, folder)
        before = {path.name for path in folder.iterdir()}
        call(program(tree, name), "-merge=1", "-use_counters=0", "-timeout=20", folder,
             grown(name), log=BUILD / f"{name}-merge.log")
        new = sorted((path for path in folder.iterdir() if path.name not in before),
                     key=lambda path: (path.stat().st_size, path.name))
        kept = [path for path in new if path.stat().st_size <= KEPT_BYTES][:KEPT_MAX]
        for path in kept:
            shutil.copy(path, SEEDS / name / path.name[:12])
    print(f"{name:<12}{len(kept)} of {len(new)} new inputs added", flush=True)


# ---- coverage ----

def coverage(names: list[str]) -> dict[str, Any]:
    """Runs all corpora in build/coverage, and counts lines by folder: {"lines", "covered",
    "folders"}."""
    profiles = BUILD / "profiles"
    shutil.rmtree(profiles, ignore_errors=True)
    for name in names:
        call(program("coverage", name), "-runs=0", SEEDS / name, grown(name),
             log=BUILD / f"{name}-coverage.log",
             LLVM_PROFILE_FILE=str(profiles / f"{name}.profraw"))
    merged = profiles / "all.profdata"
    subprocess.run(["llvm-profdata", "merge", "-sparse", "-o", merged, *profiles.glob("*.profraw")],
                   check=True)
    objects = [program("coverage", name) for name in names]
    objects += [ROOT / "build/coverage/bin" / name for name in PROGRAMS]
    exported = subprocess.run(
        ["llvm-cov", "export", "-summary-only", f"-instr-profile={merged}", objects[0],
         *[f"-object={path}" for path in objects[1:]]], check=True, capture_output=True).stdout
    folders: dict[str, dict[str, int]] = {}
    for file in json.loads(exported)["data"][0]["files"]:
        parts = Path(os.path.relpath(file["filename"], ROOT)).parts
        if parts[0] in FOLDERS:
            folder = folders.setdefault("/".join(parts[:2 if parts[0] == "common" else 1]),
                                        {"lines": 0, "covered": 0})
            folder["lines"] += file["summary"]["lines"]["count"]
            folder["covered"] += file["summary"]["lines"]["covered"]
    total = {key: sum(one[key] for one in folders.values()) for key in ("lines", "covered")}
    for folder_name, one in [*sorted(folders.items()), ("all", total)]:
        print(f"{folder_name:<20}{one['covered']:>7} of {one['lines']:>6} lines"
              f"{100 * one['covered'] / one['lines']:>7.1f} %")
    return total | {"folders": dict(sorted(folders.items()))}


def main() -> int:
    known = sorted(path.stem[5:] for path in (ROOT / "tests/fuzz").glob("fuzz_*.c"))
    parser = argparse.ArgumentParser(prog="tests/fuzz/run", description=__doc__)
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=", ".join(known))
    parser.add_argument("--tree", default="asan", help="the targets of build/TREE")
    parser.add_argument("--minutes", type=float, default=0, metavar="N",
                        help="fuzz for so long, all targets together (default: seeds only)")
    parser.add_argument("--merge", action="store_true",
                        help="then add few small inputs to the seeds")
    parser.add_argument("--coverage", action="store_true",
                        help="then count the lines that are reached")
    parser.add_argument("--json", type=Path, metavar="FILE",
                        help="write what was done; what FILE has of other targets and parts stays")
    arguments = parser.parse_args()
    names = arguments.targets or known
    if set(names) - set(known):
        parser.error(f"no target {', '.join(sorted(set(names) - set(known)))}")

    (BUILD / "found").mkdir(parents=True, exist_ok=True)
    if arguments.minutes:
        make_dictionary(arguments.tree)
    kept = arguments.json and arguments.json.exists()
    result = json.loads(arguments.json.read_text()) if kept else {"targets": {}}
    began = time.monotonic()
    targets = run_all(arguments.tree, names, arguments.minutes)
    result["targets"] |= targets
    result["minutes"] = round((time.monotonic() - began) / 60, 1) if arguments.minutes else 0
    if arguments.merge:
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            list(pool.map(lambda name: merge(arguments.tree, name), names))
    if arguments.coverage:
        result["coverage"] = coverage(names)
    if arguments.json:
        arguments.json.write_text(json.dumps(result, indent=1) + "\n")
    return int(any(one["failed"] for one in targets.values()))


if __name__ == "__main__":
    sys.exit(main())
