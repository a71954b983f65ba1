# SPDX-License-Identifier: MIT
"""Makes docs/reliability.md from docs/reliability.json, the results of the parts.

scripts/reliability [PART[=FILE]...] runs parts, or takes the result of one from FILE; then it
makes the page. --check only says whether the page is that of the results, --list names the parts.
The exit status is 1 if a part found something wrong, or the page differs.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
STORED, PAGE = ROOT / "docs/reliability.json", ROOT / "docs/reliability.md"
# name: the command that writes a file of results, and how long it takes
PARTS = {
    "faults": ("tests/reliability/run faults --json", "4 minutes"),
    "strangers": ("tests/reliability/run strangers --json", "5 minutes"),
    "limits": ("tests/reliability/run limits --json", "5 minutes"),
    "fuzz": ("tests/fuzz/run --minutes 30 --coverage --json", "40 minutes"),
    "injection": ("tests/reliability/run injection --json", "hours"),
    "soak": ("tests/soak minutes=60 --json", "1 hour"),
}
Result = dict[str, Any]
HEAD = """\
# Reliability

After this page you know what was done to the programs, and what became of them.
`scripts/reliability` makes it from `docs/reliability.json`, and `scripts/reliability PART` runs a
part again. [security.md](security.md) says what a server promises.
"""


def table(columns: str, rows: list[list[Any]]) -> str:
    heads = columns.split("|")
    return "\n".join(f"| {' | '.join(map(str, row))} |" for row in [
        heads, ["---"] * len(heads), *rows]) + "\n"


def wrong_count(rows: list[Result]) -> str:
    return f"**{sum(bool(row['wrong']) for row in rows)} wrong**"


def faults_text(result: Result) -> str:
    """Phases in which both sides said the same are one row."""
    rows, groups = result["rows"], {}
    for row in rows:
        says = tuple(row.get(key) or "–" for key in ("client", "server", "proxy"))
        groups.setdefault((row["fault"], *says, row["wrong"]), []).append(row)
    slowest = max(row.get("after_s", 0) for row in rows)
    following = max(row.get("next_s", 0) for row in rows)
    return (f"{len(rows)} faults, {wrong_count(rows)}. A side noticed within {slowest} s, and the "
            f"next session was\nserved within {following} s; the limit is 7.5 s each. A "
            "fault comes before the message or the bytes of\nits phase are passed on.\n\n" + table(
                "fault|phase|the client said|the server said|the proxy said|after|next session", [
                    [key[0], ", ".join(row["phase"] for row in of), *key[1:4],
                     f"{max(row.get('after_s', 0) for row in of)} s",
                     key[4] or f"served in {max(row['next_s'] for row in of)} s"]
                    for key, of in groups.items()]))


def rate_text(row: Result) -> str:
    if not row["rate"]:
        return "not measured"
    of = row.get("ratios")
    return f"{row['rate']}" + (f" ({of[0]} to {of[-1]})" if of else "")


def strangers_text(result: Result) -> str:
    rows = result["rows"]
    return (f"{wrong_count(rows)}. A client must get through within 1 s. The median session must\n"
            "keep 0.95 of its rate, in interleaved pairs. 10 MiB may be left.\n\n" + table(
                "idle strangers|key|clients that got through|slowest|rate kept (least to most)|"
                "memory left", [
                    [row["strangers"], "yes" if row["key"] else "no",
                     f"{row['through']} of {row['clients']}", f"{row['slowest_s']} s",
                     rate_text(row),
                     f"{row['grown_mib']} MiB" + f" – {row['wrong']}" * bool(row["wrong"])]
                    for row in rows]))


def limits_text(result: Result) -> str:
    own = [row for row in result["rows"] if "program" not in row]
    small = [row for row in result["rows"] if "program" in row]
    return (f"{len(own)} limits of a server reached, {wrong_count(own)}:\n\n" + table(
        "limit|what is said", [[f"`{row['limit']}`", row["wrong"] or row["said"]] for row in own])
        + f"\n{sum(row['tried'] for row in small)} starts with far too little, "
        f"{wrong_count(small)} of {len(small)} rows.\n"
        "Below the first values the loader of the system speaks.\n\n" + table(
            "limit|program|values tried|fails up to|last line said", [
                [f"`{row['limit']}`", row["program"], row["tried"], row["fails_to"] or "–",
                 re.sub(r"/[\w./-]+/", "", row["wrong"] or row["said"]) or "–"]
                for row in small]))


def fuzz_text(result: Result) -> str:
    targets, coverage = result["targets"], result.get("coverage")
    total = sum(target["executions"] for target in targets.values())
    covered = (f", {coverage['covered']} of {coverage['lines']} lines covered "
               f"({100 * coverage['covered'] / coverage['lines']:.1f} %)") if coverage else ""
    return f"{total} executions of {len(targets)} targets{covered}.\n\n" + table(
        "target|executions", [[name, target["executions"]] for name, target in targets.items()])


def injection_text(result: Result) -> str:
    columns = ("calls failed", "crashes", "leaks", "wrong")
    return table("program|" + "|".join(columns), [
        [name, *(of[column] for column in columns)] for name, of in result.items()])


def soak_text(result: Result) -> str:
    counts = result["counts"]
    found = result["unexpected"]
    return table("minutes|sessions|verified|kills|strangers|a client ended after a kill within|"
                 "unexpected", [[
                     result["minutes"], counts["sessions"],
                     f"{counts['bytes_verified'] / (1 << 30):.1f} GiB", counts["kills"],
                     counts["strangers"], f"{result['longest_s']} s",
                     f"**{len(found)}**"]]) + "\n" + (
        table("unexpected", [[text] for text in found]) + "\n" if found else "") + table(
            "end|descriptors|threads|resident at first and last|grown (median)", [
                [name, *(" → ".join(map(str, use[key])) for key in ("descriptors", "threads")),
                 " → ".join(map(str, use["resident_mib"])) + " MiB", f"{use['grown_mib']} MiB"]
                for name, use in result["ends"].items()])


TEXTS: dict[str, tuple[str, Callable[[Result], str]]] = {
    "faults": ("Faults in each phase", faults_text), "strangers": ("Strangers", strangers_text),
    "limits": ("Limits", limits_text), "fuzz": ("Fuzzing", fuzz_text),
    "injection": ("Injected failures", injection_text), "soak": ("Soak", soak_text)}


def page_make(results: dict[str, Result]) -> str:
    """The page; a part without a result says that it was not run."""
    sections = []
    for name, (title, text) in TEXTS.items():
        stored = results.get(name)
        on = f"Run on {stored['machine']}.\n\n" if stored else ""
        quick = "Only a part of it was run.\n\n" if stored and stored["result"].get("quick") else ""
        sections.append(f"\n## {title}\n\n" + on + quick + (text(stored["result"]) if stored else (
            f"Not run: `scripts/reliability {name}` takes {PARTS[name][1]}.\n")))
    return HEAD + "".join(sections)


def is_wrong(name: str, result: Result) -> bool:
    if name == "soak":
        return bool(result["unexpected"])
    if name == "injection":
        return any(of["crashes"] or of["leaks"] or of["wrong"] for of in result.values())
    return any(row["wrong"] for row in result.get("rows", []))


def part_run(name: str, file: str) -> Result | None:
    """The result of a part, from a file if one is given; None: it wrote none."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(file or f"{folder}/result")
        if not file:
            program, *options = PARTS[name][0].split()
            if not (ROOT / program).exists():
                sys.exit(f"uncork: {name}: there is no {program}")
            subprocess.run([ROOT / program, *options, path])
        return json.loads(path.read_text()) if path.exists() else None


def main(arguments: list[str]) -> int:
    results = json.loads(STORED.read_text()) if STORED.exists() else {}
    if arguments == ["--list"]:
        print("\n".join(f"{name:<10} {command}  ({takes})" for name, (command, takes) in
                        PARTS.items()))
        return 0
    if arguments == ["--check"]:
        differs = PAGE.read_text() != page_make(results)
        if differs:
            print("docs/reliability.md is not that of docs/reliability.json", file=sys.stderr)
        return int(differs)
    chosen = [argument.partition("=")[::2] for argument in arguments or PARTS]
    if unknown := [name for name, _ in chosen if name not in PARTS]:
        print(f"uncork: no part {unknown[0]} (scripts/reliability --list)", file=sys.stderr)
        return 2
    system = os.uname()
    status = 0
    for name, file in chosen:
        result = part_run(name, file)
        if result is None:
            status = 1
            continue
        results[name] = {"machine": f"{os.cpu_count()} CPUs, {system.sysname} "
                         f"{system.release.split('-')[0]}, "
                         f"beside {os.getloadavg()[2]:.0f} other processes on average",
                         "result": result}
        status |= is_wrong(name, result)
    STORED.write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n")
    PAGE.write_text(page_make(results))
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
